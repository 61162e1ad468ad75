/*
 * egress, kernel - is our table still there, is it the one we made, and what
 * has it counted?
 *
 * libnftables would read every element of every set to answer that: most of a
 * second with 100,000 of them.  One netlink message asks the kernel.
 */
#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "egress.h"
#include "tidemark/base/err.h"

#define ANSWER_MOST 8192
#define START (NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg)))

struct message {
	size_t length;
	char bytes[256];
};

struct bytes {
	const char *at;
	size_t left;
};

static size_t
padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* ---- asking ------------------------------------------------------------ */

static void
add(struct message *m, uint16_t type, const void *value, size_t n)
{
	struct nlattr a = { .nla_type = type,
		.nla_len = (uint16_t)(sizeof a + n) };

	assert(m->length + sizeof a + padded(n) <= sizeof m->bytes);
	memcpy(m->bytes + m->length, &a, sizeof a);
	memcpy(m->bytes + m->length + sizeof a, value, n);
	m->length += sizeof a + padded(n);
}

static void
add_text(struct message *m, uint16_t type, const char *text)
{
	add(m, type, text, strlen(text) + 1);
}

static void
finish(struct message *m, unsigned type)
{
	const struct nlmsghdr head = { .nlmsg_len = (uint32_t)m->length,
		.nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		.nlmsg_flags = NLM_F_REQUEST };
	const struct nfgenmsg family = { .nfgen_family = NFPROTO_INET,
		.version = NFNETLINK_V0 };

	memcpy(m->bytes, &head, sizeof head);
	memcpy(m->bytes + NLMSG_HDRLEN, &family, sizeof family);
}

/* 1 and the attributes of what was asked for, 0 if it is not there, -1. */
static int
understand(const char *answer, size_t n, struct bytes *b, struct tide_err *err)
{
	struct nlmsghdr head;
	struct nlmsgerr bad;

	if (n < START)
		return tide_err_set(err, "the kernel's answer is too short");
	memcpy(&head, answer, sizeof head);
	if (head.nlmsg_type != NLMSG_ERROR) {
		*b = (struct bytes){ answer + START, n - START };
		return 1;
	}
	if (n < NLMSG_HDRLEN + sizeof bad)
		return tide_err_set(err, "the kernel's answer is too short");
	memcpy(&bad, answer + NLMSG_HDRLEN, sizeof bad);
	errno = -bad.error;
	return errno == ENOENT
	    ? 0
	    : tide_err_errno(err, "asking the kernel for its tables");
}

static int
ask(const struct message *m, char answer[ANSWER_MOST], struct bytes *b,
    struct tide_err *err)
{
	const struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	ssize_t n = -1;

	if (fd < 0)
		return tide_err_errno(err, "a netlink socket");
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (send(fd, m->bytes, m->length, 0) == (ssize_t)m->length)
		n = recv(fd, answer, ANSWER_MOST, 0);
	if (n < 0)
		(void)tide_err_errno(err, "asking the kernel for its tables");
	(void)close(fd);
	return n < 0 ? -1 : understand(answer, (size_t)n, b, err);
}

/* ---- attributes -------------------------------------------------------- */

/* What is under that type; nothing if there is none. */
static struct bytes
find(struct bytes b, unsigned type)
{
	struct nlattr a;

	while (b.left >= sizeof a) {
		memcpy(&a, b.at, sizeof a);
		if (a.nla_len < sizeof a || a.nla_len > b.left)
			break;
		if ((a.nla_type & NLA_TYPE_MASK) == type)
			return (struct bytes){ b.at + sizeof a,
				a.nla_len - sizeof a };
		if (padded(a.nla_len) >= b.left)
			break;
		b.at += padded(a.nla_len);
		b.left -= padded(a.nla_len);
	}
	return (struct bytes){ NULL, 0 };
}

/* Big-endian; 0 if it is none. */
static uint64_t
number(struct bytes b)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; b.left == sizeof n && i < sizeof n; i++)
		n = n << 8 | (uint8_t)b.at[i];
	return n;
}

/* ---- the questions ----------------------------------------------------- */

int
kernel_table(const char *name, uint64_t *handle, struct tide_err *err)
{
	struct message m = { .length = START };
	char answer[ANSWER_MOST];
	struct bytes b;
	int there;

	add_text(&m, NFTA_TABLE_NAME, name);
	finish(&m, NFT_MSG_GETTABLE);
	there = ask(&m, answer, &b, err);
	if (there == 1)
		*handle = number(find(b, NFTA_TABLE_HANDLE));
	return there;
}

int
kernel_counter(const char *table, const char *name, uint64_t *packets,
    uint64_t *bytes, struct tide_err *err)
{
	const uint8_t counter[4] = { 0, 0, 0, NFT_OBJECT_COUNTER };
	struct message m = { .length = START };
	char answer[ANSWER_MOST];
	struct bytes b;
	int there;

	add_text(&m, NFTA_OBJ_TABLE, table);
	add_text(&m, NFTA_OBJ_NAME, name);
	add(&m, NFTA_OBJ_TYPE, counter, sizeof counter);
	finish(&m, NFT_MSG_GETOBJ);
	there = ask(&m, answer, &b, err);
	if (there == 1) {
		b = find(b, NFTA_OBJ_DATA);
		*packets = number(find(b, NFTA_COUNTER_PACKETS));
		*bytes = number(find(b, NFTA_COUNTER_BYTES));
	}
	return there;
}
