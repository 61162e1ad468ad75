/*
 * form - the body of a POST as a browser sends it
 * (application/x-www-form-urlencoded), taken apart in place.
 */
#ifndef WEB_FORM_H
#define WEB_FORM_H

#include <stdbool.h>
#include <stddef.h>

struct form_field {
	const char *name;
	const char *value; /* "" unless it was sent */
};

/*
 * Fill in the values of the fields that are named.  The body is written to: it
 * holds the values from now on, and has room for a NUL at body[length].
 * Others' fields are passed over; of two of the same name the last counts.
 * False if it is no form: a bad escape, a NUL, a control character other than
 * tab and newline.
 */
bool
form_parse(char *body, size_t length, struct form_field *fields, size_t count);

#endif
