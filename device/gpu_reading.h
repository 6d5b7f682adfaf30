/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Readings one after the other: what a management library says, or why it says nothing.
 */
#ifndef GPUSIG_GPU_READING_H
#define GPUSIG_GPU_READING_H

#include "device/dev.h"

struct gpu_readings {
	struct dev_reading *at;
	size_t room, count; /* what has no room is left out */
};

void gpu_reading_number(struct gpu_readings *r, const char *name, const char *unit, double number);
void gpu_reading_text(struct gpu_readings *r, const char *name, const char *text); /* "" is unknown, without a reason */
void gpu_reading_unknown(struct gpu_readings *r, const char *name, const char *unit, const char *why);

#endif
