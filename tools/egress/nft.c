/*
 * egress, nft - libnftables, the one file that knows it.
 *
 * The library, and not the program nft: a transaction's errors come back as
 * text that names the statement, and the unit that applies the rules needs to
 * start no other program.  Text, and not JSON: what is applied can be read,
 * and tried by hand.  It is loaded when it is needed, since it brings a dozen
 * libraries along, and all the other subcommands would pay for them at start.
 */
#include <dlfcn.h>
#include <nftables/libnftables.h>
#include <stdlib.h>
#include <string.h>

#include "egress.h"
#include "tidemark/base/err.h"

#define LIBRARY "libnftables.so.1"

static struct {
	void *handle;
	__typeof__(&nft_ctx_new) new;
	__typeof__(&nft_ctx_free) free;
	__typeof__(&nft_ctx_buffer_error) buffer_error;
	__typeof__(&nft_ctx_get_error_buffer) error;
	__typeof__(&nft_run_cmd_from_buffer) run;
} nft;

/* The way POSIX has it: an object pointer becomes one to a function. */
static bool
find(const char *name, void *to)
{
	void *symbol = dlsym(nft.handle, name);

	memcpy(to, &symbol, sizeof symbol);
	return symbol != NULL;
}

static int
load(struct tide_err *err)
{
	if (nft.handle != NULL)
		return 0;
	nft.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (nft.handle == NULL)
		return tide_err_set(err,
		    "%s cannot be loaded: %s (is libnftables1 installed?)",
		    LIBRARY, dlerror());
	if (find("nft_ctx_new", &nft.new) && find("nft_ctx_free", &nft.free) &&
	    find("nft_ctx_buffer_error", &nft.buffer_error) &&
	    find("nft_ctx_get_error_buffer", &nft.error) &&
	    find("nft_run_cmd_from_buffer", &nft.run))
		return 0;
	(void)dlclose(nft.handle);
	nft.handle = NULL;
	return tide_err_set(err, "%s lacks something we need", LIBRARY);
}

/* Its complaints quote the statement below; the first line says what. */
static int
refused(const char *text, struct tide_err *err)
{
	size_t n = text != NULL ? strcspn(text, "\n") : 0;

	if (n == 0)
		return tide_err_set(
		    err, "nftables refused, and did not say why");
	return tide_err_set(err, "nftables: %.*s", (int)n, text);
}

int
nft_run(const char *commands, struct tide_err *err)
{
	struct nft_ctx *ctx;
	int rc = -1;

	if (load(err) < 0)
		return -1;
	ctx = nft.new(NFT_CTX_DEFAULT);
	if (ctx == NULL)
		return tide_err_set(err, "libnftables cannot start");
	if (nft.buffer_error(ctx) != 0)
		(void)tide_err_set(err, "libnftables has no memory");
	else if (nft.run(ctx, commands) != 0)
		(void)refused(nft.error(ctx), err);
	else
		rc = 0;
	nft.free(ctx);
	return rc;
}
