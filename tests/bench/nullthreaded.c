/*
 * nullthreaded [-x] SOCKET - the null filter on stock smfi_main: one process,
 * a pool of threads.  What one process per connection is measured against.
 *
 * -x switches headers and body off as well.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "nullfilter.h"

int
main(int argc, char **argv)
{
	bool envelope_only = false;
	struct smfiDesc filter;
	int o;

	while ((o = getopt(argc, argv, "x")) == 'x')
		envelope_only = true;
	if (o != -1 || optind != argc - 1) {
		fputs("usage: nullthreaded [-x] SOCKET\n", stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	null_filter(&filter, envelope_only);
	if (smfi_setconn(argv[optind]) != MI_SUCCESS ||
	    smfi_setbacklog(1024) != MI_SUCCESS ||
	    smfi_register(filter) != MI_SUCCESS ||
	    smfi_opensocket(true) != MI_SUCCESS) {
		fprintf(
		    stderr, "nullthreaded: %s: cannot listen\n", argv[optind]);
		return 1;
	}
	return smfi_main() == MI_SUCCESS ? 0 : 1;
}
