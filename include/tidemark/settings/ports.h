/*
 * ports - a list of ports, such as egress_ports.
 */
#ifndef TIDEMARK_PORTS_H
#define TIDEMARK_PORTS_H

#include <stdint.h>

#include "tidemark/base/err.h"

#define TIDE_PORTS_MAX 16

/* "25 465 587" to numbers; how many, or -1 with a sentence. */
int tide_ports_parse(
    const char *words, uint16_t port[TIDE_PORTS_MAX], struct tide_err *);

#endif
