/*
 * nullfilter - a filter that does nothing, with the flags that the product
 * negotiates: answers at connect, mail, rcpt and end of message only.
 */
#ifndef TESTS_BENCH_NULLFILTER_H
#define TESTS_BENCH_NULLFILTER_H

#include <libmilter/mfapi.h>
#include <stdbool.h>

/*
 * Fill a description for smfi_register.  envelope_only: no headers and no body
 * either; else they come, unanswered.
 */
void null_filter(struct smfiDesc *, bool envelope_only);

#endif
