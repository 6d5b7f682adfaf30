/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of the chunks of a schedule in a vector, for ranks and devices that move data by one.
 */
#ifndef GPUSIG_PLACEMENT_H
#define GPUSIG_PLACEMENT_H

#include "collectives/schedules/schedule.h"

/* Elements of the whole vector. */
struct schedule_span {
	uint64_t first, count;
};

/* Opens a schedule whose halves begin or end with chunk r on rank r, which only the indexed layout
 * does; an allreduce has the other layout where it exists. Errors are those of schedule_open(). */
int schedule_open_placed(const char *name, const struct grid *grid, enum schedule_ports ports,
			 enum schedule_kind kind, struct schedule **s_p);

/* Begin of part `index` when `total` elements are cut into `parts` as evenly as whole grains of
 * `grain` elements allow. */
uint64_t schedule_cut(uint64_t total, uint64_t parts, uint64_t index, uint64_t grain);

/* Chunks [first, first + count) of a part of `total` elements. An allreduce cuts the vector into
 * parts, and these into chunks. In the halves chunk r of all parts is what rank r has, so they cut
 * it into chunks first; with several parts a message there is one chunk. */
struct schedule_span schedule_place(const struct schedule *s, enum schedule_kind kind,
				    uint64_t total, uint64_t grain, unsigned part, uint32_t first,
				    uint32_t count);

#endif
