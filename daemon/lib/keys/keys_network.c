/*
 * keys_network - client addresses, and the networks they are in.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "keys_priv.h"
#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"

#define V4_AT 12	    /* where an IPv4 address lies in the 16 bytes */
#define V4_BITS (V4_AT * 8) /* in front of it */
#define NET_TEXT (INET6_ADDRSTRLEN + 4)

static const uint8_t v4_front[V4_AT] = { [10] = 0xff, [11] = 0xff };

const uint8_t tide_key_tiers[TIDE_KEY_TIERS] = { 128, 64, 56, 48 };

bool
tide_ip_is_v4(const struct tide_ip *ip)
{
	return memcmp(ip->byte, v4_front, V4_AT) == 0;
}

static void
set_v4(struct tide_ip *ip, const void *bytes)
{
	memcpy(ip->byte, v4_front, V4_AT);
	memcpy(ip->byte + V4_AT, bytes, 4);
}

bool
tide_ip_parse(const char *text, struct tide_ip *ip)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (strncasecmp(text, "IPv6:", 5) == 0)
		text += 5;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		set_v4(ip, &v4);
		return true;
	}
	if (inet_pton(AF_INET6, text, &v6) != 1)
		return false;
	memcpy(ip->byte, &v6, sizeof ip->byte);
	return true;
}

bool
tide_ip_from_sockaddr(const struct sockaddr *sa, struct tide_ip *ip)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (sa != NULL && sa->sa_family == AF_INET) {
		memcpy(&v4, sa, sizeof v4);
		set_v4(ip, &v4.sin_addr);
		return true;
	}
	if (sa == NULL || sa->sa_family != AF_INET6)
		return false;
	memcpy(&v6, sa, sizeof v6);
	memcpy(ip->byte, &v6.sin6_addr, sizeof ip->byte);
	return true;
}

static void
mask(struct tide_ip *ip, unsigned bits)
{
	unsigned i, keep;

	for (i = 0; i < sizeof ip->byte; i++) {
		keep = bits <= i * 8 ? 0 : bits - i * 8;
		if (keep < 8)
			ip->byte[i] &= (uint8_t)(0xff00 >> keep);
	}
}

struct tide_net
tide_net_around(const struct tide_ip *ip, unsigned prefix)
{
	unsigned front = tide_ip_is_v4(ip) ? V4_BITS : 0;
	unsigned most = 128 - front;
	struct tide_net net = { .ip = *ip };

	net.bits = (uint8_t)(front + (prefix < most ? prefix : most));
	mask(&net.ip, net.bits);
	return net;
}

static bool
net_is_v4(const struct tide_net *net)
{
	return net->bits >= V4_BITS && tide_ip_is_v4(&net->ip);
}

bool
tide_net_contains(const struct tide_net *net, const struct tide_ip *ip)
{
	struct tide_ip masked = *ip;

	if (net_is_v4(net) != tide_ip_is_v4(ip))
		return false;
	mask(&masked, net->bits);
	return memcmp(&masked, &net->ip, sizeof masked) == 0;
}

static const char *
show(const struct tide_net *net, char out[NET_TEXT])
{
	bool v4 = net_is_v4(net);
	size_t n;

	inet_ntop(v4 ? AF_INET : AF_INET6, net->ip.byte + (v4 ? V4_AT : 0), out,
	    INET6_ADDRSTRLEN);
	n = strlen(out);
	if (net->bits < 128)
		snprintf(out + n, NET_TEXT - n, "/%d",
		    net->bits - (v4 ? V4_BITS : 0));
	return out;
}

/* The number after a slash; -1 if it is not within its bounds. */
static int
parse_prefix(const char *s, int least, int most)
{
	int n = 0;

	if (*s == '\0' || strlen(s) > 3)
		return -1;
	for (; *s != '\0'; s++) {
		if (!tide_key_is_digit(*s))
			return -1;
		n = n * 10 + (*s - '0');
	}
	return n >= least && n <= most ? n : -1;
}

/* Its own bits in front, as in 192.0.2.0/24 and ::ffff:192.0.2.0/120. */
static int
parse_bits(const char *text, const struct tide_ip *ip, struct tide_err *err)
{
	const char *slash = strchr(text, '/');
	int most = strchr(text, ':') == NULL ? 32 : 128;
	int least = most == 128 && tide_ip_is_v4(ip) ? V4_BITS : 0, n;

	if (slash == NULL)
		return 128;
	n = parse_prefix(slash + 1, least, most);
	if (n < 0)
		return tide_err_set(err,
		    "the prefix of «%s» is not from %d to %d", text, least,
		    most);
	return n - least;
}

int
tide_net_parse(const char *text, struct tide_net *net, struct tide_err *err)
{
	size_t n = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN], shown[NET_TEXT];
	struct tide_ip ip;
	struct tide_net got;
	int bits;

	snprintf(address, sizeof address, "%.*s",
	    (int)(n < sizeof address ? n : 0), text);
	if (n >= sizeof address || !tide_ip_parse(address, &ip))
		return tide_err_set(
		    err, "«%s» is neither an IP address nor a network", text);
	bits = parse_bits(text, &ip, err);
	if (bits < 0)
		return -1;
	got = tide_net_around(&ip, (unsigned)bits);
	if (memcmp(&got.ip, &ip, sizeof ip) != 0)
		return tide_err_set(err,
		    "«%s» has bits beyond its prefix; the network is %s", text,
		    show(&got, shown));
	*net = got;
	return 0;
}

void
tide_key_net(const struct tide_net *net, struct tide_key *key)
{
	char text[NET_TEXT];

	memset(key, 0, sizeof *key);
	show(net, text);
	key->length = (uint8_t)strlen(text);
	memcpy(key->text, text, key->length);
}

void
tide_key_client(
    const struct tide_ip *ip, unsigned ipv6_prefix, struct tide_key *key)
{
	struct tide_net net;

	if (ip == NULL) {
		*key = (struct tide_key){ 5, "local" };
		return;
	}
	net = tide_net_around(ip, tide_ip_is_v4(ip) ? 32 : ipv6_prefix);
	tide_key_net(&net, key);
}
