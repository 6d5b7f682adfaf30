/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/redirect.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/links.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"

#include <math.h>

static bool is_redirected(const struct op *op) { return op->redirect && !op->redirect->lost; }

struct sim_rows sim_redirect_rows(const struct op *op, uint32_t row, uint32_t end)
{
	const struct sim_redirect *t = op->redirect;
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

static bool begin_part(const struct op *op, struct sim_part *p, uint32_t number, uint32_t row)
{
	p->number = number;
	if (number >= op->tiles)
		return false;
	p->tile = sim_gemm_tile(op, number);
	p->area = p->tile;
	p->area.row = row > p->tile.row ? row : p->tile.row;
	const struct sim_rows rows = sim_redirect_rows(op, p->area.row, p->tile.rows_end);
	p->area.rows_end = rows.end;
	p->away = rows.away;
	p->c = rows.c;
	return true;
}

bool sim_part_first(const struct op *op, uint32_t block, struct sim_part *p)
{
	return begin_part(op, p, block, 0);
}

bool sim_part_next(const struct op *op, struct sim_part *p)
{
	return p->area.rows_end < p->tile.rows_end ? begin_part(op, p, p->number, p->area.rows_end)
						   : begin_part(op, p, p->number + op->grid, 0);
}

static double rows_fraction(const struct sim_part *p)
{
	return (double)(p->area.rows_end - p->area.row) / (p->tile.rows_end - p->tile.row);
}

double sim_redirect_kept_part(const struct op *op, uint32_t block)
{
	struct sim_part p;
	double kept = 0, tiles = 0;
	if (!is_redirected(op))
		return 1;
	for (bool more = sim_part_first(op, block, &p); more; more = sim_part_next(op, &p)) {
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

double sim_redirect_need(struct flow *f, const struct op *op, uint32_t block)
{
	struct sim_part p;
	double away = 0;
	if (!is_redirected(op))
		return 0;
	for (bool more = sim_part_first(op, block, &p); more; more = sim_part_next(op, &p)) {
		if (!p.away)
			continue;
		const struct op_traffic t = traffic_to(op, p.away);
		const double volume = t.volume / op->tiles * rows_fraction(&p);
		sim_traffic_need(op, f, &t, volume);
		away += volume;
	}
	return away;
}

uint32_t sim_redirect_count(const struct op *op)
{
	const uint32_t m = op->work->gemm.m;
	uint32_t kept = m;
	for (uint32_t row = 0; is_redirected(op) && row < m;) {
		const struct sim_rows rows = sim_redirect_rows(op, row, m);
		if (rows.away) {
			const struct op_traffic t = traffic_to(op, rows.away);
			sim_memory_count_part(op, &t, t.volume * (rows.end - row) / m);
			kept -= rows.end - row;
		}
		row = rows.end;
	}
	return kept;
}

double sim_redirect_latency_ns(const struct op *op, uint32_t block)
{
	struct sim_part p;
	double latency_ns = 0;
	if (!is_redirected(op))
		return 0;
	for (bool more = sim_part_first(op, block, &p); more; more = sim_part_next(op, &p))
		if (p.away && p.away->dev != op->stream->dev)
			latency_ns =
				fmax(latency_ns, sim_way_latency_ns(op->stream->dev, p.away->dev));
	return latency_ns;
}

/* Blocks whose tiles lie in one range of rows are alike; where a tile has rows of two, those of
 * its row of tiles. */
uint32_t sim_redirect_blocks_alike(const struct op *op, uint32_t block, uint32_t most)
{
	const struct dev_gemm *g = &op->work->gemm;
	if (!is_redirected(op))
		return most;
	if (op->grid != op->tiles)
		return 1;
	const uint32_t across = (g->n - 1) / op->tile_columns + 1;
	const struct tile t = sim_gemm_tile(op, block);
	const uint32_t end = sim_redirect_rows(op, t.row, g->m).end;
	uint64_t rows =
		end == g->m ? (end - t.row - 1) / op->tile_rows + 1 : (end - t.row) / op->tile_rows;
	if (rows == 0)
		rows = 1;
	const uint64_t alike = rows * across - t.column / op->tile_columns;
	return alike < most ? (uint32_t)alike : most;
}
