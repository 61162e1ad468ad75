/*
 * content_memory - the reader that remembers: a message's samples, gathered
 * while it streams by, and set in one burst after the verdict (decide.c).
 */
#include <string.h>

#include "content.h"
#include "content_memory.h"
#include "session.h"
#include "tidemark/map/head.h"
#include "tidemark/map/map.h"
#include "tidemark/memory/hbf.h"
#include "tidemark/settings/config.h"
#include "tidemark/text/text.h"

static struct tide_samples *samples;
static enum tide_memory form; /* that they are of */
static bool reading;	      /* the message at hand */
static unsigned place;	      /* of its profile in the map's head */

static bool
wants(const struct tide_profile *p)
{
	return session.config.memory != TIDE_MEMORY_OFF &&
	    p->remember_content != 0;
}

/* The map may be of other settings than ours: ask it, not them. */
static bool
have_samples(const struct tide_map_head *head)
{
	if (samples != NULL && form == head->memory)
		return true;
	tide_samples_free(samples);
	form = head->memory;
	samples = tide_samples_new(session.map->key, form, TIDE_SAMPLES_MOST);
	return samples != NULL;
}

/* Where the map has our profile; false if it is not one of its. */
static bool
find_profile(const struct tide_map_head *head, const char *name)
{
	for (place = 0; place < TIDE_PROFILES_MAX; place++)
		if (strcmp(head->profiles.name[place], name) == 0)
			return true;
	return false;
}

static const struct tide_text_sink *
begin(void)
{
	static struct tide_text_sink sink;
	const struct tide_map_head *head = session.map->head;
	const char *name = session_profile()->name;

	reading = head->memory != TIDE_MEMORY_OFF && find_profile(head, name) &&
	    have_samples(head);
	if (!reading)
		return NULL;
	tide_samples_begin(samples, tide_hbf_profile(name));
	sink = tide_samples_sink(samples);
	return &sink;
}

static void
give_up(void)
{
	reading = false;
}

bool
content_memory_harvest(struct tide_harvest *h, unsigned *profile)
{
	if (!reading)
		return false;
	*h = tide_samples_harvest(samples);
	*profile = place;
	reading = false;
	return true;
}

const struct content_reader content_memory = {
	.wants = wants, .begin = begin, .abort = give_up
};
