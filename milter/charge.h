/*
 * charge - who pays for what: keys of the message, drops into the eight
 * groups, bans.
 *
 * Nothing is charged to, and nothing refused from, whoever is on the allow
 * list, nor while the bypass is on; the null sender is charged to the IP
 * groups only, unless it is authenticated; postmaster and abuse can always be
 * written to.
 *
 * A banned client is charged for its guesses and its mail, but not the senders
 * that it names: or one client could have thousands of them banned.
 *
 * A sender's key that many share (keys.h) bans nobody: while its bucket is full
 * their mail is put off.  Their clients are charged and banned as any others.
 */
#ifndef MILTER_CHARGE_H
#define MILTER_CHARGE_H

#include <stdbool.h>

#include "tidemark/flow/bans.h"
#include "tidemark/settings/config.h"
#include "tidemark/keys/keys.h"

struct charge {
	bool exempt; /* on the allow list */
	bool has_client;
	bool has_sender; /* not the null sender */
	struct tide_ip ip;
	struct tide_key sender;	 /* the account, or as sender_key says */
	struct tide_key address; /* the address alone, for bans by hand */
	struct tide_key domain;
};

/* At connect, and at MAIL. */
void charge_client(struct charge *, const char *address);
void charge_sender(struct charge *, const char *sender, const char *user);

/*
 * Add drops to a group.  True if its bucket has overflowed, or is full and its
 * key shared, and the group is enforced.
 */
bool charge_group(const struct charge *, enum tide_group, uint32_t drops);

/* Would one more drop overflow its bucket, and is the group enforced? */
bool charge_is_full(const struct charge *, enum tide_group);

/*
 * In how many ms the group's bucket will have room for one more, if the sender's
 * key is shared, so that it puts off and does not ban; 0 if it bans.
 */
uint64_t charge_put_off(const struct charge *, enum tide_group);

/* The first group whose full bucket puts this sender off, or TIDE_GROUPS. */
enum tide_group charge_full(const struct charge *);

/* Does a ban stand against this sender or client, in this profile? */
bool charge_banned(const struct charge *, struct tide_ban *);

/* Can this recipient be written to whatever stands against the sender? */
bool charge_always_open(const char *recipient);

/* Is it a protected mailbox that this sender may not write to? */
bool charge_protected(const struct charge *, const char *recipient);

#endif
