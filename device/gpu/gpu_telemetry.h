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

/* A sample that is unknown so far becomes this text. Without such a sample, or with "": nothing. */
void gpu_telemetry_fill(struct gpu_telemetry_list *r, const char *name, const char *text);

/* Samples of this name become unknown, for this reason. */
void gpu_telemetry_forget(struct gpu_telemetry_list *r, const char *name, const char *why);

/* "GPU-01234567-89ab-cdef-0123-456789abcdef", as NVIDIA's tools print these bytes; with the prefix
 * "MIG-" of a slice. */
void gpu_format_uuid(const char *prefix, const unsigned char bytes[16], char *text,
		     size_t capacity);

#endif
