/*
 * overrides_order - how overrides are sorted; private to overrides*.c.
 */
#ifndef OVERRIDES_ORDER_H
#define OVERRIDES_ORDER_H

/* For qsort() and bsearch(). */
int tide_overrides_compare(const void *, const void *);

#endif
