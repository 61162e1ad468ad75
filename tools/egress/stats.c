/*
 * egress, stats - what the kernel has counted, and taking our table away.
 */
#include <stdio.h>
#include <string.h>

#include "../read/json.h"
#include "../read/output.h"
#include "../tool.h"
#include "egress.h"
#include "tidemark/base/err.h"
#include "tidemark/settings/config.h"

/* ---- counters ---------------------------------------------------------- */

int
egress_counts(
    const char *table, struct egress_counts *counts, struct tide_err *err)
{
	uint64_t handle;
	unsigned i;
	int there = kernel_table(table, &handle, err);

	memset(counts, 0, sizeof *counts);
	for (i = 0; there == 1 && i < EGRESS_COUNTS; i++)
		if (kernel_counter(table, egress_count_name[i],
			&counts->packets[i], &counts->bytes[i], err) < 0)
			return -1;
	return there;
}

/* ---- the words --------------------------------------------------------- */

static const char *const count_means[EGRESS_COUNTS] = {
	"packets refused: their sender is banned",
	"packets refused: nobody may reach the server",
	"packets refused: the server is not registered for the customer",
	"connections to registered servers",
	"connections that no list speaks of"
};

static void
print_counts(
    const struct tool *t, const char *table, const struct egress_counts *counts)
{
	struct json j;
	unsigned i;

	if (!t->json) {
		for (i = 0; i < EGRESS_COUNTS; i++)
			printf("%-12s  %12llu  %s\n", egress_count_name[i],
			    (unsigned long long)counts->packets[i],
			    count_means[i]);
		return;
	}
	j = json_record(stdout, "egress-stats");
	json_text(&j, "table", table);
	for (i = 0; i < EGRESS_COUNTS; i++) {
		json_object(&j, egress_count_name[i]);
		json_number(&j, "packets", counts->packets[i]);
		json_number(&j, "bytes", counts->bytes[i]);
		json_object_end(&j);
	}
	json_record_end(&j);
}

int
egress_stats(const struct tool *t)
{
	struct egress_counts counts;
	struct tide_config config;
	struct tide_err err;
	int there;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	there = egress_counts(config.egress_table, &counts, &err);
	if (there < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	if (there == 1)
		print_counts(t, config.egress_table, &counts);
	else
		complain("there is no table inet %s; see tidemark egress apply",
		    config.egress_table);
	return there == 1 ? TOOL_OK : TOOL_NO;
}

int
egress_remove(const struct tool *t)
{
	char command[TIDE_NAME_MAX + 40];
	struct tide_config config;
	struct tide_err err;
	uint64_t handle;
	int there;

	if (tool_places(t, &config) < 0)
		return TOOL_ERROR;
	there = kernel_table(config.egress_table, &handle, &err);
	(void)snprintf(command, sizeof command, "delete table inet %s",
	    config.egress_table);
	if (there == 1 && nft_run(command, &err) < 0)
		there = -1;
	if (there < 0) {
		complain("%s", err.text);
		return TOOL_ERROR;
	}
	if (!t->json)
		printf(there == 1 ? "table inet %s is removed\n"
				  : "there is no table inet %s\n",
		    config.egress_table);
	return TOOL_OK;
}
