/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs whose C is in the matrix of an armed tracker: what they may write, and what is counted.
 */
#include "device/sim/machine/device.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/t3/tiles.h"

#include <errno.h>

/* ------------------------------------------------------------------ the start of a GEMM */

/* Demands on other devices by all of C, or by the rows of C that one tile may have. */
static unsigned count_away_demands(const struct op *op, uint32_t row, uint32_t end)
{
	uint64_t marks[DEV_MAX] = {0};
	unsigned demands = 0;
	while (row < end) {
		const struct sim_rows rows = sim_redirect_rows(op, row, end);
		if (rows.away && rows.away->dev != op->stream->dev)
			demands += FLOW_PEER + sim_way_mark(op->stream->dev, rows.away->dev, marks);
		row = rows.end;
	}
	return demands;
}

static int check_demands(const struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint32_t step = op->grid == op->tiles ? op->tile_rows : g->m;
	const unsigned most = FLOW_DEMANDS - FLOW_OWN - FLOW_PEER * op->uses - sim_op_links(op);
	for (uint32_t row = 0; row<g->m; row = g->m - row> step ? row + step : g->m) {
		const unsigned demands =
			count_away_demands(op, row, g->m - row > step ? row + step : g->m);
		if (demands > most)
			return err_note(-ENOTSUP,
					"sim:%u: a block of a gemm passes too many links and "
					"devices; the limit is about %u",
					op->stream->dev->base.index, most);
	}
	return 0;
}

static bool writes_away(const struct op *op)
{
	const uint32_t m = op->work->gemm.m;
	for (uint32_t row = 0; row < m;) {
		const struct sim_rows rows = sim_redirect_rows(op, row, m);
		if (rows.away)
			return true;
		row = rows.end;
	}
	return false;
}

static int check_matrix(const struct op *op)
{
	const struct dev_tracker *t = op->tracker;
	const struct dev_gemm *g = &op->work->gemm;
	const uint64_t bytes = op->work->range[SIM_GEMM_C].bytes, size = t->element_bytes;
	const char *c = g->c;
	const unsigned index = op->stream->dev->base.index;
	if (dev_types[g->type].result != t->map.type || c < t->rows.at ||
	    c + bytes > t->rows.at + t->rows.bytes || (uint64_t)(c - t->rows.at) % size ||
	    (g->m > 1 && g->ldc * size != t->rows.row_bytes) ||
	    (uint64_t)(c - t->rows.at) % t->rows.row_bytes + g->n * size > t->rows.row_bytes)
		return err_note(-EINVAL, "sim:%u: gemm: C is not part of a tracked matrix", index);
	if (!g->adds && (g->beta < 0 || g->beta > 0) && writes_away(op))
		return err_note(-EINVAL,
				"sim:%u: gemm: beta %g, but a tracker redirects writes of C", index,
				g->beta);
	return check_demands(op);
}

/* ------------------------------------------------------------------ the end of a block */

static void count_block(struct op *op, uint32_t block)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint64_t size = dev_type_result_bytes(g->type);
	struct sim_part p;
	for (bool more = sim_part_first(op, block, &p); more; more = sim_part_next(op, &p)) {
		struct alloc *in = p.away ? p.away : op->work->use[SIM_GEMM_C];
		const struct sim_written w = {
			.dev = in->dev,
			.at = p.c + ((uint64_t)p.area.row * g->ldc + p.area.column) * size,
			.rows = p.area.rows_end - p.area.row,
			.bytes = (p.area.columns_end - p.area.column) * size,
			.stride_bytes = g->ldc * size};
		sim_tracker_count_of(op, &w);
		sim_memory_changed(in);
	}
}

static const struct op_tracking tracking_of_gemm = {.end_block = count_block,
						    .release = sim_tracker_release};

int sim_tracker_begin_gemm(struct op *op)
{
	const struct sim_range *c = &op->work->range[SIM_GEMM_C];
	struct dev_tracker *t =
		sim_tracker_armed_at(op->work->use[SIM_GEMM_C]->dev, c->at, c->bytes);
	if (!t)
		return 0;
	op->tracker = t;
	op->tracking = &tracking_of_gemm;
	op->redirect = t->dev == op->stream->dev ? &t->rows : NULL;
	t->holders++;
	const int status = check_matrix(op);
	if (status)
		sim_stream_fail(op->stream, status, "%s", err_text());
	return status;
}
