/*
 * t_classes - every class has one meaning, every meaning at most one class.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tidemark/flow/buckets.h"
#include "tidemark/flow/classes.h"
#include "tidemark/keys/keys.h"
#include "tidemark/settings/config.h"

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

static struct tide_profile_names
names(const char *a, const char *b, const char *c, const char *d)
{
	const char *const all[] = { a, b, c, d };
	struct tide_config config = { 0 };
	struct tide_profile_names n;

	for (; config.profiles < 4 && all[config.profiles] != NULL;
	     config.profiles++)
		(void)snprintf(config.profile[config.profiles].name,
		    TIDE_NAME_MAX, "%s", all[config.profiles]);
	tide_config_names(&config, &n);
	CHECK_INT(tide_names_count(&n), config.profiles);
	return n;
}

/* Whatever the order, a class goes where its profile, by name, went. */
static void
check_translation(const struct tide_profile_names *from,
    const struct tide_profile_names *to, unsigned want)
{
	struct tide_class_id was, is;
	int class[TIDE_CLASSES];
	unsigned i, kept = 0;

	tide_classes_translate(from, to, class);
	for (i = 0; i < TIDE_CLASSES; i++) {
		if (class[i] < 0)
			continue;
		kept++;
		CHECK(tide_class_describe(tide_names_count(from), i, &was));
		CHECK(tide_class_describe(
		    tide_names_count(to), (unsigned)class[i], &is));
		CHECK_STR(from->name[was.profile], to->name[is.profile]);
		CHECK(was.group == is.group && was.tier == is.tier);
	}
	CHECK_INT(kept, want);
}

static void
test_translated(void)
{
	const struct tide_profile_names ei = names("ext", "int", NULL, NULL),
					ie = names("int", "ext", NULL, NULL),
					all = names("new", "int", "b", "ext"),
					i = names("int", NULL, NULL, NULL),
					none = names(NULL, NULL, NULL, NULL);

	check_translation(&ei, &ei, 2 * 17);
	check_translation(&ei, &ie, 2 * 17);
	check_translation(&ei, &i, 17);
	check_translation(&i, &ei, 17);
	check_translation(&ei, &all, 2 * 8); /* four have no tiers */
	check_translation(&all, &ie, 2 * 8);
	check_translation(&ei, &none, 0);
	check_translation(&none, &ei, 0);
}

/* Bytes of an archive: names without an end are none. */
static void
test_hostile_names(void)
{
	struct tide_profile_names bad, good = names("ext", "int", NULL, NULL);

	memset(&bad, 'x', sizeof bad);
	CHECK_INT(tide_names_count(&bad), 0);
	check_translation(&bad, &good, 0);
	check_translation(&good, &bad, 0);
}

CHECK_CASES({ "numbers and meanings go back and forth", test_back_and_forth },
    { "what has no class", test_none },
    { "depth and leak of a tier", test_depth },
    { "profiles in another order", test_translated },
    { "hostile names of profiles", test_hostile_names })
