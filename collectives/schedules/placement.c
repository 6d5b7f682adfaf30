/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/placement.h"

#include <assert.h>
#include <errno.h>

int schedule_open_placed(const char *name, const struct grid *grid, enum schedule_ports ports,
			 enum schedule_kind kind, struct schedule **s_p)
{
	int status = -ENOTSUP;
	if (kind == SCHEDULE_ALLREDUCE)
		status = schedule_open(name, grid, ports, kind, SCHEDULE_RENAMED, s_p);
	return status == -ENOTSUP ? schedule_open(name, grid, ports, kind, SCHEDULE_INDEXED, s_p)
				  : status;
}

/* Cannot overflow: there are fewer than 2^31 elements and at most GRID_MAX_NODES chunks. */
uint64_t schedule_cut(uint64_t total, uint64_t parts, uint64_t index, uint64_t grain)
{
	uint64_t at = (total + grain - 1) / grain * index / parts * grain;
	return at < total ? at : total;
}

/* Pieces [first, end) of `of` when it is cut into `pieces`. */
static struct schedule_span cut_span(struct schedule_span of, uint64_t grain, uint64_t pieces,
				     uint64_t first, uint64_t end)
{
	const uint64_t from = schedule_cut(of.count, pieces, first, grain),
		       to = schedule_cut(of.count, pieces, end, grain);
	return (struct schedule_span){of.first + from, to - from};
}

struct schedule_span schedule_place(const struct schedule *s, enum schedule_kind kind,
				    uint64_t total, uint64_t grain, unsigned part, uint32_t first,
				    uint32_t count)
{
	const uint64_t parts = schedule_parts(s), chunks = schedule_chunks(s),
		       end = (uint64_t)first + count;
	const struct schedule_span whole = {0, total};
	if (kind == SCHEDULE_ALLREDUCE)
		return cut_span(cut_span(whole, grain, parts, part, part + 1), grain, chunks, first,
				end);
	assert(parts == 1 || count == 1);
	return cut_span(cut_span(whole, grain, chunks, first, end), grain, parts, part, part + 1);
}
