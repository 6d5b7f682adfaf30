/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/schedule.h"
#include "collectives/schedules/schedule_internals.h"
#include "lib/err.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct schedule_algorithm *schedule_algorithm(unsigned index)
{
	return algorithm_table[index].info.name ? &algorithm_table[index].info : NULL;
}

static const struct algorithm *find_algorithm(const char *name)
{
	for (const struct algorithm *algorithm = algorithm_table; algorithm->info.name; algorithm++)
		if (strcmp(algorithm->info.name, name) == 0)
			return algorithm;
	return NULL;
}

static int note_unknown_algorithm(const char *name)
{
	char names[200] = "";
	for (const struct algorithm *algorithm = algorithm_table; algorithm->info.name; algorithm++)
		text_fit_more(names, sizeof(names), " %s", algorithm->info.name);
	return err_note(-EINVAL, "unknown algorithm '%s'; algorithms:%s", name, names);
}

int schedule_accept(const char *name)
{
	return find_algorithm(name) ? 0 : note_unknown_algorithm(name);
}

/* Chooses the positions: all ranks, without those that are folded or spare. */
static void choose_positions(struct schedule *s)
{
	unsigned flags = s->algorithm->flags;
	s->space = s->grid;
	if (flags & ALGORITHM_CYCLES)
		s->cycles = (flags & ALGORITHM_MESH ? cycles_of_mesh : cycles_of_torus)(&s->grid);
	if (flags & ALGORITHM_FOLDS && !grid_powers_of(&s->grid, 2)) {
		uint32_t kept = 1;
		while (kept <= s->grid.nodes / 2)
			kept *= 2;
		s->folded = s->grid.nodes - kept;
		s->space = grid_line(kept);
	} else if (s->cycles.count ||
		   (flags & ALGORITHM_FLAT && s->algorithm->motion != MOTION_XOR)) {
		s->space = grid_line(s->grid.nodes);
	}
	s->spare = flags & ALGORITHM_SPARE_RANK && s->space.dims == 1 && s->space.nodes % 2 &&
		   s->space.nodes > 1;
	if (s->spare)
		s->space = grid_line(s->space.nodes - 1);
}

static int build_routings(struct schedule *s, enum schedule_ports ports,
			  enum schedule_layout layout)
{
	const unsigned flags = s->algorithm->flags;
	int status = 0;
	bool all = ports == SCHEDULE_ALL_PORTS || flags & ALGORITHM_MESH;
	/* Two ranks of a mesh are one ring in either direction. */
	bool mirrors =
		all && flags & ALGORITHM_MIRRORS && !(flags & ALGORITHM_MESH && s->grid.nodes <= 2);
	s->rotations = !all                        ? 1
		       : s->cycles.count           ? s->cycles.count
		       : flags & ALGORITHM_ROTATES ? s->space.dims
						   : 1;
	s->parts = mirrors ? 2 * s->rotations : s->rotations;
	s->routing_count = s->cycles.count ? 1 : s->rotations;
	s->fan = 1;
	for (unsigned k = 0; k < s->routing_count; k++) {
		s->algorithm->append_stages(&s->routings[k], s->algorithm, &s->space, k, all);
		for (unsigned i = 0; i < s->routings[k].count; i++)
			if (s->routings[k].stages[i].fan > s->fan)
				s->fan = s->routings[k].stages[i].fan;
		if (!s->whole)
			TRY(status,
			    chunk_routing_build(&s->routings[k], &s->space, s->algorithm->motion,
						layout == SCHEDULE_RENAMED));
	}
	s->chunks = s->whole ? 1 : s->space.nodes + s->spare;
	s->half_steps = s->routings[0].steps;
	s->fold_steps = s->folded == 0 ? 0 : s->whole ? 1 : 2;
	s->unfold_steps = s->folded > 0;
	return status;
}

int schedule_open(const char *name, const struct grid *grid, enum schedule_ports ports,
		  enum schedule_kind kind, enum schedule_layout layout, struct schedule **s_p)
{
	char shape[GRID_TEXT];
	const struct algorithm *algorithm = find_algorithm(name);
	if (!algorithm)
		return note_unknown_algorithm(name);
	struct schedule *s = calloc(1, sizeof(*s));
	if (!s)
		return err_note(-ENOMEM, "a schedule: out of memory");
	*s = (struct schedule){.algorithm = algorithm, .grid = *grid, .kind = kind};
	s->whole = algorithm->flags & ALGORITHM_WHOLE_VECTOR;
	const char *why =
		algorithm->unsupported_reason ? algorithm->unsupported_reason(grid, ports) : NULL;
	choose_positions(s);
	if (!why && kind != SCHEDULE_ALLREDUCE && s->whole)
		why = "exchanges whole vectors and has no reduce-scatter or all-gather";
	if (!why && kind != SCHEDULE_ALLREDUCE && s->folded)
		why = "reduce-scatter and all-gather need sides that are powers of 2, because a "
		      "folded rank owns no chunk";
	int status = why ? -ENOTSUP : build_routings(s, ports, layout);
	if (status == -ENOTSUP)
		err_note(status, "%s on %s: %s", name, grid_show(grid, shape),
			 why ? why : err_text());
	if (status)
		schedule_close(s);
	else
		*s_p = s;
	return status;
}

void schedule_close(struct schedule *s)
{
	for (unsigned k = 0; s && k < GRID_DIMS; k++)
		chunk_routing_free(&s->routings[k]);
	free(s);
}

const char *schedule_name(const struct schedule *s) { return s->algorithm->info.name; }
const struct grid *schedule_grid(const struct schedule *s) { return &s->grid; }
unsigned schedule_parts(const struct schedule *s) { return s->parts; }
unsigned schedule_ports(const struct schedule *s) { return s->parts * s->fan; }
uint32_t schedule_chunks(const struct schedule *s) { return s->chunks; }

uint32_t schedule_steps(const struct schedule *s)
{
	uint32_t halves = s->kind == SCHEDULE_ALLREDUCE && !s->whole ? 2 : 1;
	return s->fold_steps + halves * s->half_steps + s->unfold_steps;
}

bool schedule_by_line(const struct schedule *s)
{
	return !s->cycles.count && !s->folded && !s->spare && s->space.dims == s->grid.dims;
}

static const struct chunk_routing *routing_of(const struct schedule *s, unsigned part)
{
	return &s->routings[s->routing_count == 1 ? 0 : part % s->rotations];
}

/* The chunk of a position. With folded ranks the position need not have a rank of its own. */
static uint32_t chunk_at(const struct schedule *s, unsigned part, uint32_t position)
{
	const struct chunk_routing *routing = routing_of(s, part);
	return routing->slot ? routing->slot[position]
	       : s->folded   ? position
			     : position_to_rank(s, part, position);
}

uint32_t schedule_chunk(const struct schedule *s, unsigned part, uint32_t rank)
{
	uint32_t position = rank_to_position(s, part, rank);
	if (s->whole)
		return 0;
	if (position == NO_POSITION)
		return s->spare ? s->space.nodes : NO_POSITION;
	return chunk_at(s, part, position);
}

/* A step as a step of the reduce-scatter, which the all-gather runs backwards. */
struct half_step {
	uint32_t step;
	bool gather;
};

static struct half_step half_step_of(const struct schedule *s, uint32_t step)
{
	bool gather = s->kind == SCHEDULE_ALLGATHER ||
		      (s->kind == SCHEDULE_ALLREDUCE && step >= s->half_steps && !s->whole);
	uint32_t within = s->kind == SCHEDULE_ALLREDUCE && gather ? step - s->half_steps : step;
	return (struct half_step){.step = gather ? s->half_steps - 1 - within : within,
				  .gather = gather};
}

static uint32_t stage_end(const struct stage *stage)
{
	return stage->begin + stage->repeat * stage->slices;
}

static const struct stage *stage_at(const struct chunk_routing *routing, uint32_t step)
{
	for (unsigned k = 0; k < routing->count; k++)
		if (step >= routing->stages[k].begin && step < stage_end(&routing->stages[k]))
			return &routing->stages[k];
	return NULL;
}

/* Number of the `count` chunks that come before slice k. */
static uint32_t chunks_before_slice(uint32_t count, uint32_t k, uint32_t slices)
{
	return (uint32_t)((uint64_t)count * k / slices);
}

/* The messages of one rank and step. */
struct message_list {
	struct schedule_message *messages;
	unsigned count, first_port;
	bool reduce;
};

static void append_message(struct message_list *list, bool send, uint32_t peer, unsigned port,
			   uint32_t chunks, uint32_t origin, uint32_t segment)
{
	list->messages[list->count++] = (struct schedule_message){
		peer, chunks, list->first_port + port, send, list->reduce, origin, segment};
}

/* A contiguous run of chunks instead of a segment of the routing. */
static void append_chunk_run(struct message_list *list, bool send, uint32_t peer, uint32_t first,
			     uint32_t chunks)
{
	append_message(list, send, peer, 0, chunks, NO_POSITION, first);
}

/* As in Open MPI: each rank of a pair adds one half of the vector, then the odd rank sends its half
 * to the even one and waits for the result. */
static void append_fold(const struct schedule *s, uint32_t rank, uint32_t step,
			struct message_list *list)
{
	const uint32_t half = s->chunks / 2, peer = rank ^ 1, first = s->whole ? 0 : half;
	const bool odd = rank % 2;
	if (s->whole || step == 1) {
		list->reduce = s->whole;
		append_chunk_run(list, odd, peer, first, s->chunks - first);
		return;
	}
	append_chunk_run(list, true, peer, odd ? 0 : half, odd ? half : s->chunks - half);
	append_chunk_run(list, false, peer, odd ? half : 0, odd ? s->chunks - half : half);
}

static void append_unfold(const struct schedule *s, uint32_t rank, struct message_list *list)
{
	list->reduce = false;
	append_chunk_run(list, rank % 2 == 0, rank ^ 1, 0, s->chunks);
}

/* The positions [first, first + result) that exchange with the spare rank at this step: half of the
 * remaining ones, at the last step all of them (Swing, arXiv 2401.09356; 7 ranks: 0 1 2, then 3 4,
 * then 5). */
static uint32_t spare_partners(const struct schedule *s, uint32_t step, uint32_t *first_p)
{
	uint32_t left = s->space.nodes, group = 0;
	for (uint32_t k = 0; k <= step; k++) {
		left -= group;
		group = k + 1 == s->half_steps ? left : (left + 1) / 2;
	}
	*first_p = s->space.nodes - left;
	return group;
}

/* In the reduce-scatter the spare rank sends each position the chunk of that position and receives
 * its own chunk; in the all-gather the other way round. */
static void append_spare_exchange(const struct schedule *s, unsigned part, uint32_t position,
				  struct half_step at, bool send, struct message_list *list)
{
	uint32_t first, count = spare_partners(s, at.step, &first), spare = s->space.nodes;
	if (position != NO_POSITION && position - first < count)
		append_chunk_run(list, send, spare,
				 send == at.gather ? chunk_at(s, part, position) : spare, 1);
	for (uint32_t k = first; k < first + count && position == NO_POSITION; k++)
		append_chunk_run(list, send, position_to_rank(s, part, k),
				 send == at.gather ? spare : chunk_at(s, part, k), 1);
}

static void append_exchange(const struct schedule *s, unsigned part, uint32_t position,
			    struct half_step at, bool send, struct message_list *list)
{
	const struct chunk_routing *routing = routing_of(s, part);
	const struct stage *stage = stage_at(routing, at.step);
	if (!stage)
		return;
	uint32_t move = (at.step - stage->begin) / stage->slices,
		 slice = (at.step - stage->begin) % stage->slices;
	const bool outward = send != at.gather;
	for (unsigned port = 0; port < stage->fan; port++) {
		const struct stage_port own = stage_port(stage, port);
		const uint32_t count = own.count,
			       before = chunks_before_slice(count, slice, stage->slices),
			       after = chunks_before_slice(count, slice + 1, stage->slices),
			       chunks = s->whole ? 1 : after - before;
		const uint32_t other = (outward ? motion_along : motion_back)(
			&s->space, s->algorithm->motion, position, stage->dim, own.offset);
		if (chunks)
			append_message(list, send, position_to_rank(s, part, other), port, chunks,
				       outward ? position : other,
				       own.first + (stage->repeat - 1 - move) * count + before);
	}
}

unsigned schedule_max_messages(const struct schedule *s)
{
	return 2 + 2 * s->fan + (s->spare ? 2 * s->space.nodes : 2);
}

unsigned schedule_messages(const struct schedule *s, unsigned part, uint32_t rank, uint32_t step,
			   struct schedule_message *messages)
{
	struct message_list list = {
		.messages = messages, .first_port = s->fan * part, .reduce = true};
	uint32_t position = rank_to_position(s, part, rank), steps = schedule_steps(s);
	assert(step < steps && part < s->parts && rank < s->grid.nodes);
	if (step < s->fold_steps || step >= steps - s->unfold_steps) {
		if (rank < 2 * s->folded)
			step < s->fold_steps ? append_fold(s, rank, step, &list)
					     : append_unfold(s, rank, &list);
		return list.count;
	}
	struct half_step at = half_step_of(s, step - s->fold_steps);
	list.reduce = !at.gather;
	for (int send = 1; send >= 0; send--) {
		if (position != NO_POSITION)
			append_exchange(s, part, position, at, send, &list);
		if (s->spare)
			append_spare_exchange(s, part, position, at, send, &list);
	}
	return list.count;
}

/* A segment is a run of renamed chunks for every origin, and so is a slice of it. */
static struct schedule_range renamed_range(const struct schedule *s,
					   const struct chunk_routing *routing,
					   const struct schedule_message *m)
{
	uint32_t slot = routing->slot[motion_act(&s->space, s->algorithm->motion, m->origin,
						 routing->order[m->segment])];
	for (unsigned k = 0; k < routing->count; k++)
		for (unsigned port = 0; port < routing->stages[k].fan; port++) {
			const struct stage_port own = stage_port(&routing->stages[k], port);
			uint32_t within = m->segment - own.first;
			if (m->segment >= own.first &&
			    within < own.count * routing->stages[k].repeat)
				return (struct schedule_range){
					slot - slot % own.count + within % own.count, m->chunks};
		}
	assert(false);
	return (struct schedule_range){0, 0};
}

static int compare_ranges(const void *a, const void *b)
{
	const struct schedule_range *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

uint32_t schedule_ranges(const struct schedule *s, unsigned part,
			 const struct schedule_message *message, struct schedule_range *ranges)
{
	const struct chunk_routing *routing = routing_of(s, part);
	uint32_t count = message->chunks, merged = 0;
	if (s->whole || message->origin == NO_POSITION) {
		ranges[0] = (struct schedule_range){s->whole ? 0 : message->segment, count};
		return 1;
	}
	if (routing->slot) {
		ranges[0] = renamed_range(s, routing, message);
		return 1;
	}
	for (uint32_t k = 0; k < count; k++) {
		uint32_t position = motion_act(&s->space, s->algorithm->motion, message->origin,
					       routing->order[message->segment + k]);
		ranges[k] = (struct schedule_range){chunk_at(s, part, position), 1};
	}
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (uint32_t k = 1; k < count; k++) {
		if (ranges[merged].first + ranges[merged].count == ranges[k].first)
			ranges[merged].count++;
		else
			ranges[++merged] = ranges[k];
	}
	return merged + 1;
}

/* Lowers `min_steps` to the number of steps up to a stage boundary that lies ahead. */
static void limit_to_boundary(struct half_step at, uint32_t boundary, uint32_t *min_steps)
{
	uint32_t steps = at.gather ? at.step - boundary + 1 : boundary - at.step;
	if ((at.gather ? boundary <= at.step : boundary > at.step) && steps < *min_steps)
		*min_steps = steps;
}

uint32_t schedule_repeats(const struct schedule *s, uint32_t step)
{
	if (step < s->fold_steps || step >= schedule_steps(s) - s->unfold_steps)
		return 1;
	struct half_step at = half_step_of(s, step - s->fold_steps);
	uint32_t min_steps = at.gather ? at.step + 1 : s->half_steps - at.step;
	for (unsigned k = 0; k < s->routing_count; k++)
		for (unsigned i = 0; i < s->routings[k].count; i++) {
			const struct stage *stage = &s->routings[k].stages[i];
			limit_to_boundary(at, stage->begin, &min_steps);
			limit_to_boundary(at, stage_end(stage), &min_steps);
			if (stage == stage_at(&s->routings[k], at.step) &&
			    stage_port(stage, 0).count % stage->slices)
				return 1;
		}
	return min_steps;
}
