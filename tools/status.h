/*
 * status - what `tidemark status` gathers before it prints anything.
 */
#ifndef TOOLS_STATUS_H
#define TOOLS_STATUS_H

#include "read/view.h"
#include "read/view_flow.h"

struct status {
	struct view view;
	uint64_t now_ms; /* wall */
	struct view_pulse collector, acceptor;
	bool listening;
	uint32_t waiting; /* whose connections do: a bit a service, slots.h */
	bool has_window;
	struct view_window window;
	uint64_t archive_windows, archive_bytes, archive_from_ms;
	uint64_t archive_failing, archive_until_ms;
	bool disk_known;
	uint64_t disk_free; /* bytes, for the archive */
	uint64_t archive_wire, archive_text, archive_kept;
	struct view_flow flow;
	uint64_t checkpoint_ms, bypass_until_ms, generation;
	uint64_t settled_ms; /* the time by which things expire */
};

bool status_waits(const struct status *, unsigned service);
void status_json(const struct status *);

#endif
