/*
 * verbs - what verbs.c, verbs_flow.c and verbs_query.c share.
 */
#ifndef DAEMON_VERBS_H
#define DAEMON_VERBS_H

#include "../collector/collector.h"
#include "tidemark/base/line.h"
#include "tidemark/reputation/addresses.h"

void say_ok(int fd);
void say_err(int fd, const char *text);

/* Somebody's words, to be shown on terminals and in replies: one line,
 * printable. */
void verb_text(char *out, size_t, const char *text);

/* verbs_flow.c */
void do_ban(struct collector *, int fd, const struct tide_line *);
void do_unban(struct collector *, int fd, const struct tide_line *);
void do_bucket_reset(struct collector *, int fd, const struct tide_line *);
void do_report(struct collector *, int fd, const struct tide_line *);
/* verbs_reputation.c */
void do_addresses_install(struct collector *, int fd, const struct tide_line *);
void do_addresses_add(struct collector *, int fd, const struct tide_line *);
void do_addresses_test(struct collector *, int fd, const struct tide_line *);
void do_addresses_del(struct collector *, int fd, const struct tide_line *);
void do_except_add(struct collector *, int fd, const struct tide_line *);
void do_except_del(struct collector *, int fd, const struct tide_line *);

/* A list is in force: its number, and how many are on it. */
void say_installed(int fd, const struct tide_addresses_fresh *);

/* verbs_list.c */
void do_addresses_load(struct collector *, int fd, const struct tide_line *);

/* verbs_spam.c */
void do_spam(struct collector *, int fd, const struct tide_line *);
void do_spam_test(struct collector *, int fd, const struct tide_line *);

/* verbs_message.c */
void do_message(struct collector *, int fd, const struct tide_line *);
void do_bulk_test(struct collector *, int fd, const struct tide_line *);

/* verbs_sharing.c */
void do_export(struct collector *, int fd, const struct tide_line *);
void do_merge(struct collector *, int fd, const struct tide_line *);

void do_audit(struct collector *, int fd, const struct tide_line *);

/* verbs_forget.c */
void do_forget(struct collector *, int fd, const struct tide_line *);

/* verbs_key.c */
void do_key(struct collector *, int fd, const struct tide_line *);

/* verbs_query.c */
void do_query(struct collector *, int fd, const struct tide_line *);
void do_content(struct collector *, int fd, const struct tide_line *);
void do_stop(struct collector *, int fd, const struct tide_line *);

/* verbs_egress.c */
void do_egress_add(struct collector *, int fd, const struct tide_line *);
void do_egress_del(struct collector *, int fd, const struct tide_line *);
void do_egress_list(struct collector *, int fd, const struct tide_line *);
void do_egress_poll(struct collector *, int fd, const struct tide_line *);
void do_egress_checked(struct collector *, int fd, const struct tide_line *);

#endif
