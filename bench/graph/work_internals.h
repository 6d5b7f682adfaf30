/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes of work graphs. Internal to bench/work_graph.c, whose header is the manual.
 */
#ifndef GPUSIG_WORK_LANES_H
#define GPUSIG_WORK_LANES_H

#include "bench/work_graph.h"

struct lane {
	uint32_t device;
	struct dev_stream *stream;
	struct dev_event *begin, *end;
};

struct work_lanes {
	struct dev **devices;
	struct lane *lanes;
	size_t device_count, count, capacity;
	struct gate *gate;
	int status; /* the first error */
	char error_text[256];
};

struct dev *work_lane_device(const struct work_lanes *l, size_t lane);

/* Waits for all lanes; `status` when it is not 0, else the first error. */
int work_lanes_sync(struct work_lanes *l, int status);

/* Keeps the first error and its text. */
void work_lanes_keep_error(int *first, char text[256], int status);

#endif
