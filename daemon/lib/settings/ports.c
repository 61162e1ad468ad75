/*
 * ports - words to numbers.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"
#include "tidemark/settings/ports.h"

int
tide_ports_parse(
    const char *words, uint16_t port[TIDE_PORTS_MAX], struct tide_err *err)
{
	char copy[TIDE_WORDS_MAX], *rest = NULL, *word, *end;
	unsigned long n;
	int count = 0;

	(void)snprintf(copy, sizeof copy, "%s", words);
	for (word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		n = isdigit((unsigned char)word[0]) ? strtoul(word, &end, 10)
						    : 0;
		if (n == 0 || n > 65535 || *end != '\0')
			return tide_err_set(
			    err, "«%.20s» is no port from 1 to 65535", word);
		if (count == TIDE_PORTS_MAX)
			return tide_err_set(
			    err, "at most %d ports", TIDE_PORTS_MAX);
		port[count++] = (uint16_t)n;
	}
	return count > 0 ? count : tide_err_set(err, "there is no port");
}
