/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/schedule.h"
#include "collectives/schedules/plan.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct schedule_row *schedule_row(unsigned index)
{
	return schedule_rows[index].shown.name ? &schedule_rows[index].shown : NULL;
}

static const struct row *find(const char *name)
{
	for (const struct row *row = schedule_rows; row->shown.name; row++)
		if (strcmp(row->shown.name, name) == 0)
			return row;
	return NULL;
}

static int unknown(const char *name)
{
	char names[200] = "";
	size_t used = 0;
	for (const struct row *row = schedule_rows; row->shown.name; row++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", row->shown.name);
	return err_note(-EINVAL, "there is no algorithm '%s', only%s", name, names);
}

int schedule_accept(const char *name) { return find(name) ? 0 : unknown(name); }

/* Where the walks go: all ranks, or those that are left when some are folded or spare. */
static void settle(struct schedule *s)
{
	unsigned flags = s->row->flags;
	s->space = s->grid;
	if (flags & ROW_CYCLES)
		s->cycles = cycles_find(&s->grid);
	if (flags & ROW_FOLD && !grid_powers_of(&s->grid, 2)) {
		uint32_t kept = 1;
		while (kept <= s->grid.nodes / 2)
			kept *= 2;
		s->folded = s->grid.nodes - kept;
		s->space = grid_line(kept);
	} else if (s->cycles.exist || (flags & ROW_FLAT && s->row->motion != MOTION_XOR)) {
		s->space = grid_line(s->grid.nodes);
	}
	s->spare = flags & ROW_SPARE && s->space.dims == 1 && s->space.nodes % 2 && s->space.nodes > 1;
	if (s->spare)
		s->space = grid_line(s->space.nodes - 1);
}

static int fill(struct schedule *s, enum schedule_ports ports, enum schedule_layout layout)
{
	bool all = ports == SCHEDULE_ALL_PORTS;
	s->turns = !all ? 1 : s->cycles.exist ? 2 : s->row->flags & ROW_TURN ? s->space.dims : 1;
	s->parts = all && s->row->flags & ROW_MIRROR ? 2 * s->turns : s->turns;
	s->walk_count = s->cycles.exist ? 1 : s->turns;
	for (unsigned k = 0; k < s->walk_count; k++) {
		s->row->stages(&s->walks[k], &s->space, k, all);
		int status = s->whole ? 0 : walk_fill(&s->walks[k], &s->space, s->row->motion, layout == SCHEDULE_RENAMED);
		if (status)
			return status;
	}
	s->blocks = s->whole ? 1 : s->space.nodes + s->spare;
	s->core = s->walks[0].steps;
	s->before = s->folded == 0 ? 0 : s->whole ? 1 : 2;
	s->after = s->folded > 0;
	return 0;
}

static int refuse(const struct schedule *s, const char *why)
{
	char shape[GRID_TEXT];
	return err_note(-ENOTSUP, "%s on %s: %s", s->row->shown.name, grid_show(&s->grid, shape), why);
}

int schedule_open(const char *name, const struct grid *grid, enum schedule_ports ports, enum schedule_kind kind,
                  enum schedule_layout layout, struct schedule **s_p)
{
	const struct row *row = find(name);
	if (!row)
		return unknown(name);
	struct schedule *s = calloc(1, sizeof(*s));
	if (!s)
		return err_note(-ENOMEM, "a schedule: out of memory");
	*s = (struct schedule){.row = row, .grid = *grid, .kind = kind};
	s->whole = row->flags & ROW_WHOLE;
	const char *why = row->refuse(grid, ports);
	settle(s);
	if (!why && kind != SCHEDULE_ALLREDUCE && s->whole)
		why = "it exchanges whole vectors and has no halves";
	if (!why && kind != SCHEDULE_ALLREDUCE && s->folded)
		why = "ranks that are folded own no block, so that it has no halves unless every side is a power of 2";
	int status = why ? refuse(s, why) : fill(s, ports, layout);
	if (status == -ENOTSUP && !why) {
		char text[256];
		snprintf(text, sizeof(text), "%s", err_text());
		status = refuse(s, text);
	}
	if (status)
		schedule_close(s);
	else
		*s_p = s;
	return status;
}

void schedule_close(struct schedule *s)
{
	for (unsigned k = 0; s && k < GRID_DIMS; k++)
		walk_free(&s->walks[k]);
	free(s);
}

const char *schedule_name(const struct schedule *s) { return s->row->shown.name; }
const struct grid *schedule_grid(const struct schedule *s) { return &s->grid; }
unsigned schedule_parts(const struct schedule *s) { return s->parts; }
uint32_t schedule_blocks(const struct schedule *s) { return s->blocks; }

uint32_t schedule_steps(const struct schedule *s)
{
	uint32_t halves = s->kind == SCHEDULE_ALLREDUCE && !s->whole ? 2 : 1;
	return s->before + halves * s->core + s->after;
}

bool schedule_by_line(const struct schedule *s)
{
	return !s->cycles.exist && !s->folded && !s->spare && s->space.dims == s->grid.dims;
}

static const struct walk *walk_of(const struct schedule *s, unsigned part)
{
	return &s->walks[s->walk_count == 1 ? 0 : part % s->turns];
}

/* The block of a position, which need not belong to a rank of the walk. */
static uint32_t block_at(const struct schedule *s, unsigned part, uint32_t position)
{
	const struct walk *w = walk_of(s, part);
	return w->slot ? w->slot[position] : s->folded ? position : rank_at(s, part, position);
}

uint32_t schedule_block(const struct schedule *s, unsigned part, uint32_t rank)
{
	uint32_t position = place_of(s, part, rank);
	if (s->whole)
		return 0;
	if (position == NOWHERE)
		return s->spare ? s->space.nodes : NOWHERE;
	return block_at(s, part, position);
}

/* A step of the half it belongs to, as a step of the reduce-scatter, which the all-gather runs backwards. */
struct moment {
	uint32_t step;
	bool gather;
};

static struct moment moment_of(const struct schedule *s, uint32_t step)
{
	bool gather = s->kind == SCHEDULE_ALLGATHER || (s->kind == SCHEDULE_ALLREDUCE && step >= s->core && !s->whole);
	uint32_t within = s->kind == SCHEDULE_ALLREDUCE && gather ? step - s->core : step;
	return (struct moment){.step = gather ? s->core - 1 - within : within, .gather = gather};
}

static uint32_t end_of(const struct stage *stage) { return stage->begin + stage->repeat * stage->slices; }

static const struct stage *stage_at(const struct walk *w, uint32_t step)
{
	for (unsigned k = 0; k < w->count; k++)
		if (step >= w->stages[k].begin && step < end_of(&w->stages[k]))
			return &w->stages[k];
	return NULL;
}

/* Of `count` blocks, those before slice k. */
static uint32_t sliced(uint32_t count, uint32_t k, uint32_t slices) { return (uint32_t)((uint64_t)count * k / slices); }

/* Where messages are written. */
struct sheet {
	struct schedule_message *messages;
	unsigned count;
	unsigned first_port;
	bool reduce;
};

static void put(struct sheet *sheet, bool send, uint32_t peer, unsigned port, uint32_t blocks, uint32_t origin,
                uint32_t segment)
{
	sheet->messages[sheet->count++] = (struct schedule_message){
		.peer = peer, .blocks = blocks, .port = sheet->first_port + port, .send = send, .reduce = sheet->reduce,
		.origin = origin, .segment = segment};
}

/* A contiguous run of blocks instead of a segment of the walk. */
static void put_run(struct sheet *sheet, bool send, uint32_t peer, uint32_t first, uint32_t blocks)
{
	put(sheet, send, peer, 0, blocks, NOWHERE, first);
}

/* Open MPI's way: of a pair both add one half, the odd rank hands its half over and waits for the result. */
static void fold(const struct schedule *s, uint32_t rank, uint32_t step, struct sheet *sheet)
{
	uint32_t half = s->blocks / 2;
	bool odd = rank % 2;
	uint32_t peer = odd ? rank - 1 : rank + 1;
	if (s->whole || step == 1) {
		sheet->reduce = s->whole;
		put_run(sheet, odd, peer, s->whole ? 0 : half, s->blocks - (s->whole ? 0 : half));
		return;
	}
	put_run(sheet, true, peer, odd ? 0 : half, odd ? half : s->blocks - half);
	put_run(sheet, false, peer, odd ? half : 0, odd ? s->blocks - half : half);
}

static void unfold(const struct schedule *s, uint32_t rank, struct sheet *sheet)
{
	sheet->reduce = false;
	put_run(sheet, rank % 2 == 0, rank % 2 ? rank - 1 : rank + 1, 0, s->blocks);
}

/* The positions [first, first + result) that trade with the spare rank at this step: half of those that are left,
 * and at the last step all of them (Swing, arXiv 2401.09356; 7 ranks: 0 1 2, then 3 4, then 5). */
static uint32_t spare_group(const struct schedule *s, uint32_t step, uint32_t *first_p)
{
	uint32_t left = s->space.nodes, group = 0;
	for (uint32_t k = 0; k <= step; k++) {
		left -= group;
		group = k + 1 == s->core ? left : (left + 1) / 2;
	}
	*first_p = s->space.nodes - left;
	return group;
}

/* In the reduce-scatter the spare rank sends each its block and gets its own; in the all-gather the other way. */
static void trade_with_spare(const struct schedule *s, unsigned part, uint32_t position, struct moment now, bool send,
                             struct sheet *sheet)
{
	uint32_t first, count = spare_group(s, now.step, &first), spare = s->space.nodes;
	if (position != NOWHERE && position - first < count)
		put_run(sheet, send, spare, send == now.gather ? block_at(s, part, position) : spare, 1);
	for (uint32_t k = first; k < first + count && position == NOWHERE; k++)
		put_run(sheet, send, rank_at(s, part, k), send == now.gather ? spare : block_at(s, part, k), 1);
}

static void exchange(const struct schedule *s, unsigned part, uint32_t position, struct moment now, bool send,
                     struct sheet *sheet)
{
	const struct walk *w = walk_of(s, part);
	const struct stage *stage = stage_at(w, now.step);
	if (!stage)
		return;
	uint32_t move = (now.step - stage->begin) / stage->slices, slice = (now.step - stage->begin) % stage->slices;
	for (unsigned port = 0; port < stage->fan; port++) {
		bool outward = send != now.gather;
		uint32_t count = stage->count[port], before = sliced(count, slice, stage->slices);
		uint32_t blocks = s->whole ? 1 : sliced(count, slice + 1, stage->slices) - before;
		uint32_t other = (outward ? motion_along : motion_back)(&s->space, s->row->motion, position, stage->dim,
		                                                        stage->offset[port]);
		if (blocks)
			put(sheet, send, rank_at(s, part, other), port, blocks, outward ? position : other,
			    stage->first[port] + (stage->repeat - 1 - move) * count + before);
	}
}

unsigned schedule_most_messages(const struct schedule *s) { return 4 + (s->spare ? 2 * s->space.nodes : 2); }

unsigned schedule_messages(const struct schedule *s, unsigned part, uint32_t rank, uint32_t step,
                           struct schedule_message *messages)
{
	struct sheet sheet = {.messages = messages, .first_port = 2 * part, .reduce = true};
	uint32_t position = place_of(s, part, rank), steps = schedule_steps(s);
	assert(step < steps && part < s->parts && rank < s->grid.nodes);
	if (step < s->before || step >= steps - s->after) {
		if (rank < 2 * s->folded)
			step < s->before ? fold(s, rank, step, &sheet) : unfold(s, rank, &sheet);
		return sheet.count;
	}
	struct moment now = moment_of(s, step - s->before);
	sheet.reduce = !now.gather;
	for (int send = 1; send >= 0; send--) {
		if (position != NOWHERE)
			exchange(s, part, position, now, send, &sheet);
		if (s->spare)
			trade_with_spare(s, part, position, now, send, &sheet);
	}
	return sheet.count;
}

/* A segment is a run of renamed blocks, wherever it starts from, and so is a slice of it. */
static struct schedule_range renamed(const struct schedule *s, const struct walk *w, const struct schedule_message *m)
{
	uint32_t some = w->slot[motion_act(&s->space, s->row->motion, m->origin, w->order[m->segment])];
	for (unsigned k = 0; k < w->count; k++)
		for (unsigned port = 0; port < w->stages[k].fan; port++) {
			uint32_t first = w->stages[k].first[port], count = w->stages[k].count[port];
			if (m->segment >= first && m->segment - first < count * w->stages[k].repeat)
				return (struct schedule_range){some - some % count + (m->segment - first) % count, m->blocks};
		}
	assert(false);
	return (struct schedule_range){0, 0};
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = ((const struct schedule_range *)a)->first, y = ((const struct schedule_range *)b)->first;
	return (x > y) - (x < y);
}

uint32_t schedule_ranges(const struct schedule *s, unsigned part, const struct schedule_message *message,
                         struct schedule_range *ranges)
{
	const struct walk *w = walk_of(s, part);
	uint32_t count = message->blocks, merged = 0;
	if (s->whole || message->origin == NOWHERE) {
		ranges[0] = (struct schedule_range){s->whole ? 0 : message->segment, count};
		return 1;
	}
	if (w->slot) {
		ranges[0] = renamed(s, w, message);
		return 1;
	}
	for (uint32_t k = 0; k < count; k++) {
		uint32_t at = motion_act(&s->space, s->row->motion, message->origin, w->order[message->segment + k]);
		ranges[k] = (struct schedule_range){block_at(s, part, at), 1};
	}
	qsort(ranges, count, sizeof(*ranges), ascending);
	for (uint32_t k = 1; k < count; k++) {
		if (ranges[merged].first + ranges[merged].count == ranges[k].first)
			ranges[merged].count++;
		else
			ranges[++merged] = ranges[k];
	}
	return merged + 1;
}

/* Narrow `least` to the steps until the next edge, or back to the latest one. */
static void until(struct moment now, uint32_t edge, uint32_t *least)
{
	uint32_t steps = now.gather ? now.step - edge + 1 : edge - now.step;
	if ((now.gather ? edge <= now.step : edge > now.step) && steps < *least)
		*least = steps;
}

uint32_t schedule_repeats(const struct schedule *s, uint32_t step)
{
	if (step < s->before || step >= schedule_steps(s) - s->after)
		return 1;
	struct moment now = moment_of(s, step - s->before);
	uint32_t least = now.gather ? now.step + 1 : s->core - now.step;
	for (unsigned k = 0; k < s->walk_count; k++)
		for (unsigned i = 0; i < s->walks[k].count; i++) {
			const struct stage *stage = &s->walks[k].stages[i];
			until(now, stage->begin, &least);
			until(now, end_of(stage), &least);
			if (stage == stage_at(&s->walks[k], now.step) && stage->count[0] % stage->slices)
				return 1;
		}
	return least;
}
