/*
 * serve - libmicrohttpd's callbacks, and what each path is answered with.
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "../read/metrics.h"
#include "../read/torn.h"
#include "asking.h"
#include "assets.h"
#include "crowd.h"
#include "export.h"
#include "form.h"
#include "guard.h"
#include "page.h"
#include "serve.h"
#include "tidemark/base/clock.h"
#include "tidemark/base/err.h"

#define BODY_MAX 49152	   /* of a question: 4000 letters of any script */
#define IDLE_S 15	   /* and then it is closed */
#define MEMORY (32 * 1024) /* of a connection */
#define BLOCK 16384	   /* of an export */
#define STOP_TRIES 50	   /* of 100 ms */

struct server {
	struct MHD_Daemon *daemon;
	struct sample *sample;
	bool is_file;
	struct MHD_Response *state; /* the last state.json */
	uint64_t state_ms;	    /* of its sample */
};

/* A request, from its first header to its end. */
struct request {
	const char *path;
	bool is_head;
	char *body;
	size_t length;
	bool too_long;
	struct MHD_Connection *connection;
	struct asking asking;
	bool asked, as_page;
};

typedef enum MHD_Result reply;
typedef reply
handler(struct server *, struct MHD_Connection *, struct request *);

/* ---- replies ----------------------------------------------------------- */

static const struct {
	const char *name, *value;
} always[] = {
	{ "Content-Security-Policy",
	    "default-src 'none'; script-src 'self'; style-src 'self'; "
	    "img-src 'self'; connect-src 'self'; form-action 'self'; "
	    "base-uri 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

static void
dress(struct MHD_Response *r, const char *type)
{
	size_t i;

	(void)MHD_add_response_header(r, "Content-Type", type);
	for (i = 0; i < sizeof always / sizeof *always; i++)
		(void)MHD_add_response_header(
		    r, always[i].name, always[i].value);
}

/* Queue it, and let go of it. */
static reply
send_off(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
	reply rc = r != NULL ? MHD_queue_response(c, status, r) : MHD_NO;

	if (r != NULL)
		MHD_destroy_response(r);
	return rc;
}

static struct MHD_Response *
of_bytes(char *bytes, size_t length, enum MHD_ResponseMemoryMode mode,
    const char *type)
{
	struct MHD_Response *r =
	    MHD_create_response_from_buffer(length, bytes, mode);

	if (r != NULL)
		dress(r, type);
	else if (mode == MHD_RESPMEM_MUST_FREE)
		free(bytes);
	return r;
}

static const char plain[] = "text/plain; charset=utf-8";
static const char ndjson[] = "application/x-ndjson; charset=utf-8";

/* A sentence for those who did something wrong; header is NULL or one more. */
static reply
say(struct MHD_Connection *c, unsigned status, const char *header,
    const char *value, const char *sentence)
{
	struct MHD_Response *r;
	size_t n = strlen(sentence);
	char *text = malloc(n + 2);

	if (text == NULL)
		return MHD_NO;
	memcpy(text, sentence, n);
	memcpy(text + n, "\n", 2);
	r = of_bytes(text, n + 1, MHD_RESPMEM_MUST_FREE, plain);
	if (r != NULL && header != NULL)
		(void)MHD_add_response_header(r, header, value);
	return send_off(c, status, r);
}

/* ---- GET --------------------------------------------------------------- */

/* What a printer prints, as a response; NULL without memory. */
static struct MHD_Response *
printed(struct server *s, const char *type,
    void (*print)(FILE *, const struct sample *))
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	bool failed;

	if (f == NULL)
		return NULL;
	print(f, s->sample);
	failed = ferror(f) != 0;
	if (fclose(f) != 0 || failed) {
		free(text);
		return NULL;
	}
	return of_bytes(text, length, MHD_RESPMEM_MUST_FREE, type);
}

/* Of one sample it is written once. */
static reply
get_state(struct server *s, struct MHD_Connection *c, struct request *q)
{
	(void)q;
	if (!sample_take(s->sample) || s->state == NULL ||
	    s->state_ms != s->sample->taken_ms) {
		if (s->state != NULL)
			MHD_destroy_response(s->state);
		s->state =
		    printed(s, "application/json; charset=utf-8", sample_json);
		s->state_ms = s->sample->taken_ms;
	}
	return s->state != NULL ? MHD_queue_response(c, MHD_HTTP_OK, s->state)
				: MHD_NO;
}

static void
print_metrics(FILE *out, const struct sample *s)
{
	metrics_put(out, &s->view, false);
}

static reply
get_metrics(struct server *s, struct MHD_Connection *c, struct request *q)
{
	struct MHD_Response *r = NULL;

	(void)q;
	if (sample_attach(s->sample))
		r = printed(s, "text/plain; version=0.0.4; charset=utf-8",
		    print_metrics);
	if (r != NULL && !torn_seen())
		return send_off(c, MHD_HTTP_OK, r);
	if (r != NULL)
		MHD_destroy_response(r);
	return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, NULL,
	    sample_attach(s->sample) ? "Try again." : s->sample->why.text);
}

static reply
get_page(struct server *s, struct MHD_Connection *c, struct request *q)
{
	(void)q;
	(void)sample_take(s->sample);
	return send_off(
	    c, MHD_HTTP_OK, printed(s, asset_page.type, page_print));
}

static reply
get_asset(struct server *s, struct MHD_Connection *c, struct request *q)
{
	const struct asset *a = asset_find(q->path);

	(void)s;
	return send_off(c, MHD_HTTP_OK,
	    of_bytes((char *)(uintptr_t)a->begin, (size_t)(a->end - a->begin),
		MHD_RESPMEM_PERSISTENT, a->type));
}

static ssize_t
read_export(void *arg, uint64_t at, char *buf, size_t size)
{
	long n = export_read(arg, buf, size);

	(void)at;
	return n > 0 ? (ssize_t)n
	    : n == 0 ? (ssize_t)MHD_CONTENT_READER_END_OF_STREAM
		     : (ssize_t)MHD_CONTENT_READER_END_WITH_ERROR;
}

static void
end_export(void *arg)
{
	export_end(arg);
}

static reply
get_export(struct server *s, struct MHD_Connection *c, struct request *q)
{
	const char *name = q->path + strlen("/export/");
	char disposition[80];
	struct MHD_Response *r;
	struct export *e;
	bool known;

	(void)sample_take(s->sample);
	e = export_begin(s->sample, name, &known);
	if (!known)
		return say(c, MHD_HTTP_NOT_FOUND, NULL, NULL,
		    "There is no such export.");
	if (e == NULL)
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, NULL,
		    sample_trouble(s->sample));
	r = MHD_create_response_from_callback(
	    MHD_SIZE_UNKNOWN, BLOCK, read_export, e, end_export);
	if (r == NULL) {
		export_end(e);
		return MHD_NO;
	}
	/* libmicrohttpd would send the end of the chunks that HEAD has not */
	if (q->is_head)
		(void)MHD_set_response_options(
		    r, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	dress(r, export_is_csv(e) ? "text/csv; charset=utf-8" : ndjson);
	(void)snprintf(disposition, sizeof disposition,
	    "attachment; filename=\"tidemark-%s\"", name);
	(void)MHD_add_response_header(r, "Content-Disposition", disposition);
	return send_off(c, MHD_HTTP_OK, r);
}

/* ---- POST /ask --------------------------------------------------------- */

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool
accepts(struct MHD_Connection *c, const char *type)
{
	const char *accept = header(c, "Accept");

	return accept != NULL && strstr(accept, type) != NULL;
}

static void
answered(void *arg)
{
	struct request *q = arg;

	MHD_resume_connection(q->connection);
}

static reply
give_answer(struct server *s, struct MHD_Connection *c, struct request *q)
{
	struct asking *a = &q->asking;
	struct MHD_Response *r;
	char *body = a->body;

	a->body = NULL;
	if (body == NULL)
		return MHD_NO;
	if (q->as_page) {
		size_t length;
		char *page;

		(void)sample_take(s->sample);
		page = page_with_answer(s->sample, body, &length);
		free(body);
		if (page == NULL)
			return MHD_NO;
		r = of_bytes(
		    page, length, MHD_RESPMEM_MUST_FREE, asset_page.type);
	} else {
		r = of_bytes(body, a->length, MHD_RESPMEM_MUST_FREE,
		    a->form == ASKING_NDJSON ? ndjson : plain);
	}
	return send_off(c, a->status, r);
}

static struct crowd_place *
place_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i != NULL ? i->socket_context : NULL;
}

/* Its thread may be done before we return: first sleep, then start. */
static reply
start_asking(struct MHD_Connection *c, struct request *q)
{
	if (!asking_reserve())
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "5",
		    "Too many questions at once; try again in a moment.");
	q->asked = true;
	crowd_keep(place_of(c), true);
	MHD_suspend_connection(c);
	asking_start(&q->asking);
	return MHD_YES;
}

static bool
is_form(const char *type)
{
	static const char form[] = "application/x-www-form-urlencoded";
	size_t n = sizeof form - 1;

	return type != NULL && strncasecmp(type, form, n) == 0 &&
	    (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

static reply
post_ask(struct server *s, struct MHD_Connection *c, struct request *q)
{
	struct form_field f[] = { { "text", "" }, { "from", "" }, { "to", "" },
		{ "since", "" }, { "until", "" } };

	if (q->asked) {
		crowd_keep(place_of(c), false);
		return give_answer(s, c, q);
	}
	if (!guard_post(header(c, "Host"), header(c, "Origin"),
		header(c, "Sec-Fetch-Site")))
		return say(c, MHD_HTTP_FORBIDDEN, NULL, NULL,
		    "Only this page itself may ask.");
	if (!is_form(header(c, "Content-Type")))
		return say(c, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL, NULL,
		    "A question is application/x-www-form-urlencoded.");
	if (!form_parse(q->body, q->length, f, sizeof f / sizeof *f))
		return say(c, MHD_HTTP_BAD_REQUEST, NULL, NULL,
		    "That is no form that can be read.");
	q->asking = (struct asking){ .places = &s->sample->places,
		.text = f[0].value,
		.from = f[1].value,
		.to = f[2].value,
		.since = f[3].value,
		.until = f[4].value,
		.form = accepts(c, "json") ? ASKING_NDJSON : ASKING_TEXT,
		.done = answered,
		.arg = q };
	q->as_page = accepts(c, "text/html") && q->asking.form == ASKING_TEXT;
	return start_asking(c, q);
}

/* ---- routes ------------------------------------------------------------ */

static const struct route {
	const char *path;
	bool is_prefix;
	handler *get, *post;
} routes[] = {
	{ "/", false, get_page, NULL },
	{ "/state.json", false, get_state, NULL },
	{ "/metrics", false, get_metrics, NULL },
	{ "/ask", false, NULL, post_ask },
	{ "/export/", true, get_export, NULL },
};

static const struct route *
find_route(const char *path)
{
	static const struct route asset = { "", false, get_asset, NULL };
	size_t i;

	for (i = 0; i < sizeof routes / sizeof *routes; i++)
		if (routes[i].is_prefix ? strncmp(path, routes[i].path,
					      strlen(routes[i].path)) == 0
					: strcmp(path, routes[i].path) == 0)
			return &routes[i];
	return asset_find(path) != NULL ? &asset : NULL;
}

static reply
route(struct server *s, struct MHD_Connection *c, const char *method,
    struct request *q)
{
	const struct route *r = find_route(q->path);

	if (!s->is_file && !guard_host(header(c, "Host")))
		return say(c, MHD_HTTP_MISDIRECTED_REQUEST, NULL, NULL,
		    "This is no name of this machine's loopback.");
	if (q->too_long)
		return say(c, MHD_HTTP_CONTENT_TOO_LARGE, "Connection", "close",
		    "That is too long for a question.");
	if (r == NULL)
		return say(c, MHD_HTTP_NOT_FOUND, NULL, NULL,
		    "There is nothing here by that name.");
	if (r->post != NULL && strcmp(method, "POST") == 0)
		return r->post(s, c, q);
	if (r->get != NULL && (q->is_head || strcmp(method, "GET") == 0))
		return r->get(s, c, q);
	return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow",
	    r->post != NULL ? "POST" : "GET, HEAD",
	    "That is not what can be done with it.");
}

/* ---- requests ---------------------------------------------------------- */

/* How long its body will be, if that is said. */
static bool
is_too_long(struct MHD_Connection *c)
{
	const char *length = header(c, "Content-Length");

	return length != NULL && strtoull(length, NULL, 10) > BODY_MAX;
}

static struct request *
new_request(struct MHD_Connection *c, const char *path, const char *method)
{
	struct request *q = calloc(1, sizeof *q);

	if (q == NULL)
		return NULL;
	q->connection = c;
	q->path = path;
	q->is_head = strcmp(method, "HEAD") == 0;
	q->too_long = is_too_long(c);
	return q;
}

/* What is past the limit is read and dropped: the answer says so. */
static bool
take_body(struct request *q, const char *bytes, size_t length)
{
	if (q->body == NULL)
		q->body = malloc(BODY_MAX + 1);
	if (q->body == NULL)
		return false;
	if (length > BODY_MAX - q->length)
		q->too_long = true;
	if (q->too_long)
		return true;
	memcpy(q->body + q->length, bytes, length);
	q->length += length;
	return true;
}

static reply
on_request(void *arg, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *upload, size_t *length,
    void **context)
{
	struct request *q = *context;

	(void)version;
	if (q == NULL) {
		q = new_request(c, path, method);
		*context = q;
		if (q == NULL)
			return MHD_NO;
		/* before the body is sent: it need not be */
		return q->too_long ? route(arg, c, method, q) : MHD_YES;
	}
	if (*length > 0) {
		if (!take_body(q, upload, *length))
			return MHD_NO;
		*length = 0;
		return MHD_YES;
	}
	if (q->body == NULL && !take_body(q, "", 0))
		return MHD_NO;
	return route(arg, c, method, q);
}

static void
on_completed(void *arg, struct MHD_Connection *c, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct request *q = *context;

	(void)arg;
	(void)code;
	crowd_anew(place_of(c), tide_clock_mono_ms());
	if (q == NULL)
		return;
	free(q->asking.body);
	free(q->body);
	free(q);
	*context = NULL;
}

static void
on_connection(void *arg, struct MHD_Connection *c, void **context,
    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *i =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)arg;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
		crowd_leave(*context);
	else if (i != NULL)
		*context = crowd_enter(i->connect_fd, tide_clock_mono_ms());
}

/* ---- from here --------------------------------------------------------- */

struct server *
serve_start(struct sample *sample, int fd, bool is_file, struct tide_err *err)
{
	struct server *s = calloc(1, sizeof *s);

	if (s == NULL) {
		(void)tide_err_set(err, "no memory");
		return NULL;
	}
	s->sample = sample;
	s->is_file = is_file;
	s->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
	    NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CROWD_ROOM,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
	if (s->daemon == NULL) {
		(void)tide_err_set(err, "libmicrohttpd does not start");
		free(s);
		return NULL;
	}
	return s;
}

void
serve_stop(struct server *s)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	unsigned i;

	asking_close();
	for (i = 0; asking_count() > 0 && i < STOP_TRIES; i++)
		(void)nanosleep(&pause, NULL);
	if (asking_count() > 0)
		_exit(0); /* libmicrohttpd cannot end with one asleep */
	MHD_stop_daemon(s->daemon);
	if (s->state != NULL)
		MHD_destroy_response(s->state);
	free(s);
}
