/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of telemetry samples: each has a value, or the reason why it has none.
 */
#ifndef GPUSIG_GPU_TELEMETRY_H
#define GPUSIG_GPU_TELEMETRY_H

#include "device/dev.h"

struct gpu_telemetry_list {
	struct dev_telemetry *samples;
	size_t capacity, count; /* samples beyond the capacity are dropped */
};

void gpu_telemetry_number(struct gpu_telemetry_list *r, const char *name, const char *unit,
			  double number);
void gpu_telemetry_text(struct gpu_telemetry_list *r, const char *name,
			const char *text); /* "" means unknown, without a reason */
void gpu_telemetry_unknown(struct gpu_telemetry_list *r, const char *name, const char *unit,
			   const char *why);

#endif
