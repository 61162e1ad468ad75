/*
 * message - the message that this thread's connection has given to be signed.
 */
#ifndef DAEMON_MESSAGE_H
#define DAEMON_MESSAGE_H

#include "../collector/collector.h"
#include "tidemark/base/err.h"
#include "tidemark/base/hash.h"
#include "tidemark/reputation/signature.h"

/* Its signatures; it is forgotten then. */
int message_signed(struct tide_signatures *, struct tide_err *);

/* A signature's name for people: no hash, which would tell about the key. */
#define MESSAGE_NAME 33
void message_name(struct collector *, struct tide_hash, char[MESSAGE_NAME]);

#endif
