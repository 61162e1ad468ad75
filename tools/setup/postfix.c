/*
 * setup, postfix - Postfix's files read, and its addresses understood.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "postfix.h"
#include "text.h"
#include "tidemark/settings/config.h"

const char *const pf_places[3] = { "smtpd_recipient_restrictions",
	"smtpd_data_restrictions", "smtpd_end_of_data_restrictions" };

/* Its own postconf knows the defaults of its version. */
static void
load_defaults(const struct setup *s, struct pf_conf *c)
{
	static const char *const paths[] = { "/usr/sbin/postconf",
		"/usr/local/sbin/postconf", NULL };
	const char *program =
	    s->program != NULL ? s->program : setup_which(s, paths);
	const char *argv[] = { program, "-c", NULL, "-d", NULL };
	char *dir, *out, *err;

	if (program == NULL)
		return;
	dir = setup_format(
	    "%s%s", setup_runs_below(s, program) ? "" : s->root, s->main_dir);
	argv[2] = dir;
	if (setup_run(s, argv, &out, &err) == 0)
		pf_parse_main(&c->defaults, out, strlen(out));
	free(out);
	free(err);
	free(dir);
}

int
postfix_load(const struct setup *s, struct postfix *p)
{
	static const char *const names[] = { "main.cf", "master.cf" };
	unsigned i;

	*p = (struct postfix){ .path = { NULL } };
	for (i = 0; i < 2; i++) {
		p->path[i] = setup_format("%s/%s", s->main_dir, names[i]);
		p->text[i] = setup_slurp(s, p->path[i], NULL);
	}
	if (p->text[0] == NULL || p->text[1] == NULL)
		return -1;
	pf_parse_main(&p->conf.main, p->text[0], strlen(p->text[0]));
	pf_parse_master(&p->conf, p->text[1], strlen(p->text[1]));
	load_defaults(s, &p->conf);
	return 0;
}

void
postfix_free(struct postfix *p)
{
	unsigned i;

	pf_free(&p->conf);
	for (i = 0; i < 2; i++) {
		free(p->path[i]);
		free(p->text[i]);
	}
}

/* ---- addresses --------------------------------------------------------- */

char *
pf_socket_path(
    const struct pf_conf *c, const struct pf_service *s, const char *address)
{
	const char *path = setup_socket_path(address), *queue;
	char buf[PF_VALUE_MAX];

	if (path == NULL)
		return NULL;
	queue = pf_value(c, NULL, "queue_directory", buf, sizeof buf);
	if (path[0] != '/')
		return setup_format("%s/%s", queue, path);
	return setup_format("%s%s", pf_is_chrooted(c, s) ? queue : "", path);
}

/* Below the queue directory it is seen from there, chrooted or not. */
char *
pf_address(const struct pf_conf *c, const char *socket)
{
	const char *path = setup_socket_path(socket), *queue;
	char buf[PF_VALUE_MAX];
	size_t n;

	if (path == NULL && strncmp(socket, "inet:", 5) == 0) {
		n = strcspn(socket + 5, "@");
		return setup_format("inet:%s:%.*s",
		    socket[5 + n] == '@' ? socket + 6 + n : "127.0.0.1", (int)n,
		    socket + 5);
	}
	if (path == NULL)
		return setup_format("%s", socket);
	queue = pf_value(c, NULL, "queue_directory", buf, sizeof buf);
	n = strlen(queue);
	if (strncmp(path, queue, n) == 0 && path[n] == '/')
		return setup_format("unix:%s", path + n + 1);
	return setup_format("unix:%s", path);
}

bool
pf_same_inet(const char *address, const char *socket)
{
	static const struct pf_conf none;
	char *ours;
	bool same;

	if (setup_socket_path(socket) != NULL)
		return false;
	ours = pf_address(&none, socket);
	same = strcmp(ours, address) == 0;
	free(ours);
	return same;
}

/* Without links on the way: inside the chroot they lead elsewhere. */
static bool
is_same_folder(const struct setup *s, const char *outside, const char *queue)
{
	char *a = setup_real(s, outside), *q = setup_real(s, queue);
	char *base = realpath(q, NULL), *b, *straight;
	struct stat x, y;
	bool same = false;

	if (base != NULL) {
		b = setup_format("%s%s", base, outside);
		straight = realpath(b, NULL);
		same = straight != NULL && strcmp(straight, b) == 0 &&
		    stat(a, &x) == 0 && stat(b, &y) == 0 &&
		    x.st_dev == y.st_dev && x.st_ino == y.st_ino;
		free(straight);
		free(b);
	}
	free(base);
	free(q);
	free(a);
	return same;
}

bool
pf_is_shown(const struct setup *s, const struct pf_conf *c, const char *path)
{
	char buf[PF_VALUE_MAX];
	const char *queue =
	    pf_value(c, NULL, "queue_directory", buf, sizeof buf);
	char *folder = setup_copy(path, (size_t)(strrchr(path, '/') - path));
	bool shown = folder[0] == '/' && is_same_folder(s, folder, queue);

	free(folder);
	return shown;
}

/* What the service sees at that address, as our settings name it. */
static char *
own_path(const struct setup *s, const struct pf_conf *c,
    const struct pf_service *service, const char *address)
{
	const char *path = setup_socket_path(address);

	return path != NULL && path[0] == '/' && pf_is_chrooted(c, service) &&
		pf_is_shown(s, c, path)
	    ? setup_format("%s", path)
	    : pf_socket_path(c, service, address);
}

int
pf_profile_of(const struct setup *s, const struct pf_conf *c,
    const struct pf_service *service, const char *address)
{
	char *path = own_path(s, c, service, address);
	int found = path != NULL ? setup_profile_by_path(s, path) : -1;
	unsigned i;

	free(path);
	for (i = 0; found < 0 && i < s->config.profiles; i++)
		if (pf_same_inet(address, s->config.profile[i].socket))
			found = (int)i;
	return found;
}

int
pf_policy_of(const struct setup *s, const struct pf_conf *c,
    const struct pf_service *service, const char *address)
{
	char *path = own_path(s, c, service, address);
	int found = -1;
	unsigned i;

	for (i = 0; found < 0 && i < s->config.policies; i++) {
		const char *socket = s->config.policy[i].socket;
		const char *own = setup_socket_path(socket);

		if (own != NULL && path != NULL ? strcmp(own, path) == 0
						: pf_same_inet(address, socket))
			found = (int)i;
	}
	free(path);
	return found;
}
