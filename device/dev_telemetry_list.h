/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of telemetry samples: each has a value, or the reason why it has none.
 */
#ifndef GPUSIG_DEV_TELEMETRY_LIST_H
#define GPUSIG_DEV_TELEMETRY_LIST_H

#include "device/dev.h"

struct dev_telemetry_list {
	struct dev_telemetry *samples;
	size_t capacity, count; /* samples beyond the capacity are dropped */
};

void dev_telemetry_number(struct dev_telemetry_list *r, const char *name, const char *unit,
			  double number);
void dev_telemetry_text(struct dev_telemetry_list *r, const char *name,
			const char *text); /* "" means unknown, without a reason */
void dev_telemetry_unknown(struct dev_telemetry_list *r, const char *name, const char *unit,
			   const char *why);

/* A sample that is unknown so far becomes this text. Without such a sample, or with "": nothing. */
void dev_telemetry_fill(struct dev_telemetry_list *r, const char *name, const char *text);

/* Samples of this name become unknown, for this reason. */
void dev_telemetry_forget(struct dev_telemetry_list *r, const char *name, const char *why);

#endif
