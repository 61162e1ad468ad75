/*
 * verbs, key - what only who has the hash key can say about a key.
 */
#include "../collector/collector.h"
#include "verbs.h"
#include "tidemark/archive/addresses_archive.h"
#include "tidemark/base/err.h"
#include "tidemark/base/line.h"
#include "tidemark/keys/keys.h"

/*
 * The key as the map has it (long ones end in a piece of a hash), and what
 * tells our hash key from others in files of lists.
 */
void
do_key(struct collector *c, int fd, const struct tide_line *line)
{
	const char *text = tide_line_get(line, "text");
	struct tide_key_rules rules;
	struct tide_keys keys = { .rules = &rules, .secret = &c->archive.key };
	struct tide_line_out out;
	struct tide_key key;
	struct tide_err err;

	tide_key_rules_defaults(&rules);
	tide_line_start(&out, "key");
	if (text != NULL) {
		if (tide_key_given(&keys, text, &key, &err) < 0) {
			say_err(fd, err.text);
			return;
		}
		tide_line_add(&out, "key", key.text);
	}
	tide_line_add_number(
	    &out, "fingerprint", tide_key_fingerprint(&c->archive.key));
	if (tide_line_send(&out, fd) == 0)
		say_ok(fd);
}
