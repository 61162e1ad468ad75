/*
 * egress_kernel - is our table still there, and is it the one we made?
 *
 * libnftables would read every element of every set to answer that: most of a
 * second with 100,000 of them.  One netlink message asks the kernel.
 */
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

struct request {
	struct nlmsghdr head;
	struct nfgenmsg family;
	struct nlattr name;
	char text[TIDE_NAME_MAX];
};

static size_t
padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static void
fill(struct request *r, const char *name)
{
	size_t n = strlen(name) + 1;

	memset(r, 0, sizeof *r);
	r->head.nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE;
	r->head.nlmsg_flags = NLM_F_REQUEST;
	r->family.nfgen_family = NFPROTO_INET;
	r->family.version = NFNETLINK_V0;
	r->name.nla_type = NFTA_TABLE_NAME;
	r->name.nla_len = (uint16_t)(sizeof r->name + n);
	memcpy(r->text, name, n);
	r->head.nlmsg_len =
	    (uint32_t)(offsetof(struct request, text) + padded(n));
}

/* The handle among a table's attributes; 0 if the kernel gives none. */
static uint64_t
find_handle(const char *at, size_t left)
{
	struct nlattr a;
	uint64_t handle = 0;
	unsigned i;

	while (left >= sizeof a) {
		memcpy(&a, at, sizeof a);
		if (a.nla_len < sizeof a || a.nla_len > left)
			break;
		if ((a.nla_type & NLA_TYPE_MASK) == NFTA_TABLE_HANDLE &&
		    a.nla_len == sizeof a + sizeof handle)
			for (i = 0; i < sizeof handle; i++)
				handle =
				    handle << 8 | (uint8_t)at[sizeof a + i];
		if (padded(a.nla_len) >= left)
			break;
		at += padded(a.nla_len);
		left -= padded(a.nla_len);
	}
	return handle;
}

static int
understand(const char *answer, size_t n, uint64_t *handle, struct tide_err *err)
{
	const size_t start =
	    NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	struct nlmsghdr head;
	struct nlmsgerr bad;

	if (n < sizeof head)
		return tide_err_set(err, "the kernel's answer is too short");
	memcpy(&head, answer, sizeof head);
	if (head.nlmsg_type != NLMSG_ERROR) {
		*handle =
		    n > start ? find_handle(answer + start, n - start) : 0;
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

int
kernel_table(const char *name, uint64_t *handle, struct tide_err *err)
{
	const struct timeval patience = { .tv_sec = 10 };
	struct request r;
	char answer[8192];
	ssize_t n = -1;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	if (fd < 0)
		return tide_err_errno(err, "a netlink socket");
	fill(&r, name);
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (send(fd, &r, r.head.nlmsg_len, 0) == (ssize_t)r.head.nlmsg_len)
		n = recv(fd, answer, sizeof answer, 0);
	if (n < 0)
		(void)tide_err_errno(err, "asking the kernel for its tables");
	(void)close(fd);
	return n < 0 ? -1 : understand(answer, (size_t)n, handle, err);
}
