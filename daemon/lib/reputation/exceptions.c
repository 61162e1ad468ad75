/*
 * exceptions - published, and looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/keys/keys.h"
#include "tidemark/reputation/addresses.h"
#include "tidemark/reputation/exceptions.h"
#include "tidemark/settings/published.h"

#define EXCEPTIONS_MAGIC 0x7470656378656469ull /* "idexcept" */

int
tide_exceptions_write(const char *runtime_dir, const struct tide_exception *e,
    size_t n, struct tide_err *err)
{
	return tide_published_write(
	    runtime_dir, "exceptions", EXCEPTIONS_MAGIC, e, sizeof *e, n, err);
}

/* ---- looking up -------------------------------------------------------- */

int
tide_exceptions_attach(
    struct tide_exceptions *x, const char *runtime_dir, struct tide_err *err)
{
	struct tide_published fresh;

	if (tide_published_map(&fresh, runtime_dir, "exceptions",
		EXCEPTIONS_MAGIC, sizeof *x->list, err) < 0)
		return -1;
	tide_exceptions_detach(x);
	*x = (struct tide_exceptions){
		.list = fresh.records, .count = fresh.count, .published = fresh
	};
	return 0;
}

void
tide_exceptions_detach(struct tide_exceptions *x)
{
	tide_published_unmap(&x->published);
	memset(x, 0, sizeof *x);
}

static int
compare(const void *key, const void *element)
{
	const struct tide_exception *e = element;

	return strncmp(key, e->key, sizeof e->key);
}

const struct tide_exception *
tide_exceptions_find(const struct tide_exceptions *x, const char *key)
{
	if (x->count == 0)
		return NULL;
	return bsearch(key, x->list, x->count, sizeof *x->list, compare);
}

const struct tide_exception *
tide_exceptions_for(
    const struct tide_exceptions *x, const struct tide_sender_forms *f)
{
	const struct tide_exception *e = NULL;
	unsigned i;

	for (i = 0; e == NULL && i < f->count; i++)
		e = tide_exceptions_find(x, f->key[i].text);
	return e;
}
