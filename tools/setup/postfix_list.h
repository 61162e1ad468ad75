/*
 * setup, postfix list - what stands in smtpd_milters and in restrictions.
 */
#ifndef TOOLS_SETUP_POSTFIX_LIST_H
#define TOOLS_SETUP_POSTFIX_LIST_H

#include <stdbool.h>

/* One of smtpd_milters. */
struct pf_milter {
	char *address;
	char action[32];  /* default_action of its own, or "" */
	char text[512];	  /* all of it, without blanks */
	bool complicated; /* more than we can write again */
};

/* Cuts the list in place; false at its end. */
bool pf_next_milter(char **rest, struct pf_milter *);

/* The address after check_policy_service in a list, or NULL; to be freed. */
char *pf_policy_in(const char *list);

#endif
