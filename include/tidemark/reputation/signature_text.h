/*
 * signature_text - signatures in one line of letters and digits, for the
 * control socket.
 */
#ifndef TIDEMARK_SIGNATURE_TEXT_H
#define TIDEMARK_SIGNATURE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "tidemark/reputation/signature.h"

struct tide_signature_words {
	char text[2 * 16 + 1];
	char files[2 * 16 * TIDE_SIGNED_FILES + 1];
	char samples[16 * TIDE_SKETCH + 1];
};

void tide_signatures_show(
    const struct tide_signatures *, struct tide_signature_words *);

/* Each may be NULL or "".  False if they are no signatures. */
bool tide_signatures_read(const char *text, const char *files,
    const char *samples, struct tide_signatures *);

#endif
