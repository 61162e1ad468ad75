/*
 * setup, postfix edit - change main.cf and master.cf, and leave the rest of
 * them as it was written.
 *
 * Each takes a text over and gives the new one back, to be freed.
 */
#ifndef TOOLS_SETUP_POSTFIX_EDIT_H
#define TOOLS_SETUP_POSTFIX_EDIT_H

/* name = value: where it stands, else at the end. */
char *pf_edit_main(char *text, const char *name, const char *value);

/* -o name=value of the service that begins in that line. */
char *
pf_edit_option(char *text, unsigned line, const char *name, const char *value);

/* n in its chroot column. */
char *pf_edit_chroot(char *text, unsigned line);

#endif
