/*
 * t_classes - every class has one meaning, every meaning at most one class.
 */
#include "check.h"
#include "tidemark/buckets.h"
#include "tidemark/classes.h"

static void
test_back_and_forth(void)
{
	struct tide_class_id id, back;
	unsigned n, class, known;

	for (n = 1; n <= TIDE_PROFILES_MAX; n++) {
		known = 0;
		for (class = 0; class < TIDE_CLASSES; class ++) {
			if (!tide_class_describe(n, class, &id))
				continue;
			known++;
			CHECK_INT(tide_class_number(n, id), class);
			CHECK(tide_class_describe(n, class, &back));
			CHECK(id.tier == 0 || tide_group_is_ip(id.group));
		}
		CHECK_INT(known, n <= 3 ? n * 17 : n * 8);
	}
}

static void
test_none(void)
{
	static const struct tide_class_id none[] = {
		{ .profile = 2, .group = TIDE_OKIP },
		{ .profile = 0, .group = TIDE_GROUPS },
		{ .profile = 0, .group = TIDE_OKSENDER, .tier = 1 },
		{ .profile = 0, .group = TIDE_OKIP, .tier = TIDE_KEY_TIERS },
	};
	unsigned i;

	for (i = 0; i < sizeof none / sizeof *none; i++)
		CHECK_INT(tide_class_number(2, none[i]), -1);
	CHECK_INT(tide_class_number(4,
		      (struct tide_class_id){
			  .profile = 0, .group = TIDE_OKIP, .tier = 1 }),
	    -1);
}

static void
test_depth(void)
{
	struct tide_class_id id = { .profile = 0, .group = TIDE_OKIP };
	struct tide_config c;
	uint64_t leak;

	tide_config_defaults(&c, NULL);
	CHECK_INT(tide_class_depth(&c, id, &leak), 0); /* off */
	c.profile[0].group[TIDE_OKIP].mode = TIDE_MODE_ENFORCE;
	CHECK_INT(tide_class_depth(&c, id, &leak), 200); /* 2000 - 3600/2 */
	CHECK_INT(leak, 2000);
	id.tier = 3; /* a /48: sixteen times as much */
	CHECK_INT(tide_class_depth(&c, id, &leak), 3200);
	CHECK_INT(leak, 125);
	c.profile[0].ipv6_48 = 0;
	CHECK_INT(tide_class_depth(&c, id, &leak), 0);
}

CHECK_CASES({ "numbers and meanings go back and forth", test_back_and_forth },
    { "what has no class", test_none },
    { "depth and leak of a tier", test_depth })
