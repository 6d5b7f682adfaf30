/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs whose C is in the matrix of an armed tracker: where their rows go and what that costs.
 */
#include "device/sim/device/calls.h"
#include "device/sim/machine/execution.h"
#include "device/sim/t3/tracker.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct sim_dev *dev_of(const struct op *op) { return op->stream->dev; }

/* ------------------------------------------------------------------ rows */

/* A tracker redirects GEMMs of its own device alone. */
static bool is_redirected(const struct op *op)
{
	return op->tracker && op->tracker->dev == dev_of(op) && !op->tracker->lost;
}

struct sim_rows sim_tracker_rows(const struct op *op, uint32_t row, uint32_t end)
{
	const struct dev_tracker *t = op->tracker;
	const struct dev_gemm *g = &op->work->gemm;
	struct sim_rows rows = {.end = end, .c = g->c};
	if (!is_redirected(op))
		return rows;
	const uint64_t offset = (uint64_t)((char *)g->c - t->at);
	const uint64_t first = offset / t->row_bytes, in_matrix = first + row;
	const struct sim_tracked_range *range = t->ranges;
	while (in_matrix - range->rows.first_row >= range->rows.rows)
		range++;
	const uint64_t range_end = range->rows.first_row + range->rows.rows - first;
	if (range_end < end)
		rows.end = (uint32_t)range_end;
	if (range->rows.what == DEV_TRACKED_AWAY) {
		rows.c = (char *)range->rows.to + offset;
		rows.away = range->target;
	}
	return rows;
}

/* Rows of one of a block's tiles that go to the same place. */
struct part {
	uint32_t number;
	struct tile tile; /* whole */
	struct tile area; /* of it */
	struct alloc *away;
	char *c;
};

static bool begin_part(const struct op *op, struct part *p, uint32_t number, uint32_t row)
{
	p->number = number;
	if (number >= op->tiles)
		return false;
	p->tile = sim_gemm_tile(op, number);
	p->area = p->tile;
	p->area.row = row > p->tile.row ? row : p->tile.row;
	const struct sim_rows rows = sim_tracker_rows(op, p->area.row, p->tile.rows_end);
	p->area.rows_end = rows.end;
	p->away = rows.away;
	p->c = rows.c;
	return true;
}

static bool first_part(const struct op *op, uint32_t block, struct part *p)
{
	return begin_part(op, p, block, 0);
}

static bool next_part(const struct op *op, struct part *p)
{
	return p->area.rows_end < p->tile.rows_end ? begin_part(op, p, p->number, p->area.rows_end)
						   : begin_part(op, p, p->number + op->grid, 0);
}

static double rows_fraction(const struct part *p)
{
	return (double)(p->area.rows_end - p->area.row) / (p->tile.rows_end - p->tile.row);
}

/* ------------------------------------------------------------------ costs */

double sim_tracker_c_part(const struct op *op, uint32_t block)
{
	struct part p;
	double kept = 0, tiles = 0;
	if (!is_redirected(op))
		return 1;
	for (bool more = first_part(op, block, &p); more; more = next_part(op, &p)) {
		kept += p.away ? 0 : rows_fraction(&p);
		tiles += rows_fraction(&p);
	}
	return kept / tiles;
}

/* Traffic of C, if all of it is written to other memory. */
static struct op_traffic traffic_to(const struct op *op, struct alloc *a)
{
	unsigned i = 0;
	while (op->work->traffic[i].use != SIM_GEMM_C || !op->work->traffic[i].write ||
	       op->work->traffic[i].path == PATH_REFILL)
		i++;
	struct op_traffic t = op->work->traffic[i];
	t.at = a;
	t.path = PATH_MEMORY;
	return t;
}

double sim_tracker_need_away(struct flow *f, const struct op *op, uint32_t block)
{
	struct part p;
	double away = 0;
	if (!is_redirected(op))
		return 0;
	for (bool more = first_part(op, block, &p); more; more = next_part(op, &p)) {
		if (!p.away)
			continue;
		const struct op_traffic t = traffic_to(op, p.away);
		const double volume = t.volume / op->tiles * rows_fraction(&p);
		sim_exec_need_memory(op, f, &t, volume);
		away += volume;
	}
	return away;
}

uint32_t sim_tracker_count_away(const struct op *op)
{
	const uint32_t m = op->work->gemm.m;
	uint32_t kept = m;
	for (uint32_t row = 0; is_redirected(op) && row < m;) {
		const struct sim_rows rows = sim_tracker_rows(op, row, m);
		if (rows.away) {
			const struct op_traffic t = traffic_to(op, rows.away);
			sim_memory_count_part(op, &t, t.volume * (rows.end - row) / m);
			kept -= rows.end - row;
		}
		row = rows.end;
	}
	return kept;
}

double sim_tracker_latency_ns(const struct op *op, uint32_t block)
{
	struct part p;
	double latency_ns = 0;
	if (!is_redirected(op))
		return 0;
	for (bool more = first_part(op, block, &p); more; more = next_part(op, &p))
		if (p.away && p.away->dev != dev_of(op))
			latency_ns = fmax(latency_ns, sim_way_latency_ns(dev_of(op), p.away->dev));
	return latency_ns;
}

/* Blocks whose tiles lie in one range of rows are alike; where a tile has rows of two, those of
 * its row of tiles. */
uint32_t sim_tracker_blocks_alike(const struct op *op, uint32_t block, uint32_t most)
{
	const struct dev_gemm *g = &op->work->gemm;
	if (!is_redirected(op))
		return most;
	if (op->grid != op->tiles)
		return 1;
	const uint32_t across = (g->n - 1) / op->tile_columns + 1;
	const struct tile t = sim_gemm_tile(op, block);
	const uint32_t end = sim_tracker_rows(op, t.row, g->m).end;
	uint64_t rows =
		end == g->m ? (end - t.row - 1) / op->tile_rows + 1 : (end - t.row) / op->tile_rows;
	if (rows == 0)
		rows = 1;
	const uint64_t alike = rows * across - t.column / op->tile_columns;
	return alike < most ? (uint32_t)alike : most;
}

/* ------------------------------------------------------------------ the start of a GEMM */

/* Demands on other devices by all of C, or by the rows of C that one tile may have. */
static unsigned count_away_demands(const struct op *op, uint32_t row, uint32_t end)
{
	uint64_t marks[DEV_MAX] = {0};
	unsigned demands = 0;
	while (row < end) {
		const struct sim_rows rows = sim_tracker_rows(op, row, end);
		if (rows.away && rows.away->dev != dev_of(op))
			demands += FLOW_PEER + sim_way_mark(dev_of(op), rows.away->dev, marks);
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
					dev_of(op)->base.index, most);
	}
	return 0;
}

static bool writes_away(const struct op *op)
{
	const uint32_t m = op->work->gemm.m;
	for (uint32_t row = 0; row < m;) {
		const struct sim_rows rows = sim_tracker_rows(op, row, m);
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
	const unsigned index = dev_of(op)->base.index;
	if (dev_types[g->type].result != t->map.type || c < t->at || c + bytes > t->at + t->bytes ||
	    (uint64_t)(c - t->at) % size || (g->m > 1 && g->ldc * size != t->row_bytes) ||
	    (uint64_t)(c - t->at) % t->row_bytes + g->n * size > t->row_bytes)
		return err_note(-EINVAL, "sim:%u: gemm: C is not part of a tracked matrix", index);
	if (!g->adds && (g->beta < 0 || g->beta > 0) && writes_away(op))
		return err_note(-EINVAL,
				"sim:%u: gemm: beta %g, but a tracker redirects writes of C", index,
				g->beta);
	return check_demands(op);
}

int sim_tracker_begin_gemm(struct op *op)
{
	const struct sim_range *c = &op->work->range[SIM_GEMM_C];
	struct dev_tracker *t =
		sim_tracker_armed_at(op->work->use[SIM_GEMM_C]->dev, c->at, c->bytes);
	if (!t)
		return 0;
	op->tracker = t;
	t->holders++;
	const int status = check_matrix(op);
	if (status) {
		op->stream->failed = status;
		text_fit(op->stream->failure, sizeof(op->stream->failure), "%s", err_text());
	}
	return status;
}

/* ------------------------------------------------------------------ the end of a block */

void sim_tracker_count_block(struct op *op, uint32_t block)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint64_t size = dev_type_result_bytes(g->type);
	struct part p;
	for (bool more = first_part(op, block, &p); more; more = next_part(op, &p)) {
		struct alloc *in = p.away ? p.away : op->work->use[SIM_GEMM_C];
		const struct sim_written w = {
			.dev = in->dev,
			.at = p.c + ((uint64_t)p.area.row * g->ldc + p.area.column) * size,
			.rows = p.area.rows_end - p.area.row,
			.bytes = (p.area.columns_end - p.area.column) * size,
			.stride_bytes = g->ldc * size};
		const struct sim_tracked_tile *excess = sim_tracker_count(&w);
		sim_memory_changed(in);
		if (excess && !op->stream->failed)
			op->stream->failed = sim_tracker_note_excess(excess, op->stream->failure,
								     sizeof(op->stream->failure));
	}
}
