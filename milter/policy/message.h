/*
 * policy_message - Postfix's requests, tied together into messages.
 *
 * A connection of the policy client serves one SMTP session after another,
 * and an SMTP session has one message after another; the attribute `instance'
 * says which requests are of one.  What each tells us, and what it is for:
 *
 *   RCPT            client, account, sender, one recipient, announced size:
 *                   bans, protected mailboxes, tokens, different recipients
 *   DATA            how many recipients stand after all restrictions: tokens
 *                   are given back for those that do not
 *   END-OF-MESSAGE  the same; the OK groups are charged, the message is
 *                   remembered, the verdict stands in the log
 *
 * A message that does not get to its last request (a new instance, or the
 * connection closed by Postfix) is given its tokens back.  One whose
 * connection we close ourselves, or whose worker dies, is not: its client may
 * have made us wait for just that, and goes on through the next connection.
 * There its first request may be DATA: what was paid stays paid, and nothing
 * is charged again.
 *
 * Not seen here: recipients that Postfix itself refused (the UN groups), and
 * the content (the CB groups).
 */
#ifndef MILTER_POLICY_MESSAGE_H
#define MILTER_POLICY_MESSAGE_H

#include <stdbool.h>

#include "answer.h"
#include "request.h"

void policy_message_begin(unsigned policy);

/* The answer to a request; its length. */
size_t policy_message_ask(
    const struct policy_request *, char answer[POLICY_ANSWER_MAX]);

/* Is a message under way? */
bool policy_message_is_open(void);

/* Is this worker of no use for further messages?  A fresh one may be. */
bool policy_message_is_stale(void);

/* The connection is over.  kept: what was paid for stays paid. */
void policy_message_end(bool kept);

/* The section that we serve, as last reloaded. */
const struct tide_policy *policy_section(void);

#endif
