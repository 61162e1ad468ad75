/*
 * policy_client - dial, compose, ask.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "policy_client.h"

static int
dial_inet(const char *text)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *host = strchr(text, '@');
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons((uint16_t)atoi(text));
	if (fd < 0 ||
	    inet_pton(AF_INET, host != NULL ? host + 1 : "127.0.0.1",
		&at.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static int
dial_local(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

bool
policy_dial(struct policy_wire *w, const char *where, int timeout_ms)
{
	w->timeout_ms = timeout_ms;
	w->have = 0;
	w->fd = strncmp(where, "inet:", 5) == 0
	    ? dial_inet(where + 5)
	    : dial_local(strncmp(where, "local:", 6) == 0 ? where + 6 : where);
	return w->fd >= 0;
}

void
policy_hang_up(struct policy_wire *w)
{
	if (w->fd >= 0)
		(void)close(w->fd);
	w->fd = -1;
}

static const char * or (const char *text, const char *otherwise)
{
	return text != NULL ? text : otherwise;
}

size_t
policy_compose(const struct policy_ask *a, char out[POLICY_ASK_MAX])
{
	int n = snprintf(out, POLICY_ASK_MAX,
	    "request=smtpd_access_policy\nprotocol_state=%s\n"
	    "protocol_name=ESMTP\nclient_address=%s\n"
	    "client_name=client.test\nclient_port=40112\n"
	    "reverse_client_name=client.test\nserver_address=198.51.100.1\n"
	    "server_port=587\nhelo_name=client.test\nsender=%s\n"
	    "recipient=%s\nrecipient_count=%ld\nqueue_id=%s\ninstance=%s\n"
	    "size=%ld\netrn_domain=\nstress=\nsasl_method=%s\n"
	    "sasl_username=%s\nsasl_sender=\nccert_subject=\nccert_issuer=\n"
	    "ccert_fingerprint=\nccert_pubkey_fingerprint=\n"
	    "encryption_protocol=TLSv1.3\n"
	    "encryption_cipher=TLS_AES_256_GCM_SHA384\n"
	    "encryption_keysize=256\npolicy_context=\n%s\n",
	    or (a->state, "RCPT"), or (a->client, "192.0.2.25"),
	    or (a->sender, "sender@from.test"),
	    or (a->recipient, "recipient@to.test"), a->count,
	    or (a->queue_id, ""), or (a->instance, "1.1.1.0"), a->size,
	    a->user != NULL && a->user[0] != '\0' ? "plain" : "",
	    or (a->user, ""), or (a->more, ""));

	return n < POLICY_ASK_MAX ? (size_t)n : POLICY_ASK_MAX - 1;
}

enum policy_result
policy_send(struct policy_wire *w, const char *text, size_t n)
{
	ssize_t sent;

	for (; n > 0; text += sent, n -= (size_t)sent) {
		sent = w->fd < 0 ? -1 : send(w->fd, text, n, MSG_NOSIGNAL);
		if (sent < 0)
			return POLICY_CLOSED;
	}
	return POLICY_ANSWERED;
}

enum policy_result
policy_hear(struct policy_wire *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	char *end;
	ssize_t got;

	w->have = 0;
	for (;;) {
		if (w->fd < 0 || w->have + 1 >= sizeof w->text)
			return POLICY_CLOSED;
		/* a load test pays for no call that it does not need */
		got = recv(w->fd, w->text + w->have,
		    sizeof w->text - 1 - w->have, MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN) {
			if (poll(&p, 1, w->timeout_ms) == 0)
				return POLICY_LATE;
			continue;
		}
		if (got <= 0)
			return POLICY_CLOSED;
		w->have += (size_t)got;
		w->text[w->have] = '\0';
		end = strstr(w->text, "\n\n");
		if (end != NULL) {
			*end = '\0';
			return POLICY_ANSWERED;
		}
	}
}
