/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks on units. Units that hold the same blocks evolve alike, so they form a class, and the
 * blocks that began on them at one moment are one task, a group. With equal blocks this is exact;
 * where blocks have jitter of their own, every block is a group.
 *
 * Where no data moves, a group may also be given its next blocks, round after round, so that a
 * launch costs as many events as it is disturbed, and not as it has waves. They are taken back when
 * something else could use the units.
 */
#include "device/sim/device/calls.h"
#include "device/sim/machine/execution.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WORD_BITS 64u
#define UNDISTURBED_ROUNDS 8u

/* ------------------------------------------------------------------ sets of units */

static uint32_t count_units(const struct unit_set *s)
{
	uint32_t count = 0;
	for (unsigned i = 0; i < UNIT_WORDS; i++)
		count += (uint32_t)__builtin_popcountll(s->word[i]);
	return count;
}

static uint32_t lowest_unit(const struct unit_set *s)
{
	uint32_t at = 0;
	for (unsigned i = 0; i < UNIT_WORDS; i++, at += WORD_BITS)
		if (s->word[i])
			return at + (uint32_t)__builtin_ctzll(s->word[i]);
	return at;
}

/* Keep the `count` lowest units. */
static void keep_lowest(struct unit_set *s, uint32_t count)
{
	for (unsigned i = 0; i < UNIT_WORDS; i++) {
		uint64_t kept = 0;
		for (uint64_t left = s->word[i]; left && count > 0; left &= left - 1, count--)
			kept |= left & -left;
		s->word[i] = kept;
	}
}

static void add_units(struct unit_set *to, const struct unit_set *these)
{
	for (unsigned i = 0; i < UNIT_WORDS; i++)
		to->word[i] |= these->word[i];
}

static bool remove_units(struct unit_set *from, const struct unit_set *these)
{
	uint64_t rest = 0;
	for (unsigned i = 0; i < UNIT_WORDS; i++)
		rest |= from->word[i] &= ~these->word[i];
	return rest != 0;
}

static struct unit_set common_units(const struct unit_set *a, const struct unit_set *b)
{
	struct unit_set both;
	for (unsigned i = 0; i < UNIT_WORDS; i++)
		both.word[i] = a->word[i] & b->word[i];
	return both;
}

/* ------------------------------------------------------------------ classes */

static struct unit_class *take_class(struct sim_dev *d)
{
	struct unit_class *c = d->classes_idle;
	d->classes_idle = c->next;
	c->next = d->classes;
	d->classes = c;
	return c;
}

static void give_back_class(struct sim_dev *d, struct unit_class *c)
{
	struct unit_class **at = &d->classes;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->next = d->classes_idle;
	d->classes_idle = c;
}

void sim_units_open(struct sim_dev *d)
{
	for (uint32_t i = d->model.units; i-- > 0;) {
		d->unit_class[i].next = d->classes_idle;
		d->classes_idle = &d->unit_class[i];
	}
	struct unit_class *all = take_class(d);
	for (uint32_t i = 0; i < d->model.units; i++)
		all->set.word[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	all->units = d->model.units;
}

/* Idle units are one class. */
static void merge_idle(struct sim_dev *d, struct unit_class *c)
{
	for (struct unit_class *other = d->classes; other && !c->groups; other = other->next) {
		if (other == c || other->groups)
			continue;
		add_units(&other->set, &c->set);
		other->units += c->units;
		give_back_class(d, c);
		return;
	}
}

/* ------------------------------------------------------------------ groups */

static void join_class(struct sim_task *group, struct unit_class *c)
{
	group->class = c;
	group->next_of_class = c->groups;
	c->groups = group;
}

static void leave_class(struct sim_task *group)
{
	struct sim_task **at = &group->class->groups;
	while (*at != group)
		at = &(*at)->next_of_class;
	*at = group->next_of_class;
}

/* The part of a running group that is on units which become a class of their own. */
static void split_group(struct sim_task *group, struct unit_class *to)
{
	struct sim_task *part = sim_task_begin_group(group->op);
	if (group->is_flow) {
		sim_task_update_left(group);
		flow_leave(&group->flow);
	}
	group->units -= to->units;
	sim_task_start_delay(part, 0, group->then);
	part->since_ns = group->since_ns;
	part->block = group->block + group->units * group->per_unit;
	part->part = group->part;
	part->units = to->units;
	part->per_unit = group->per_unit;
	part->rounds = group->rounds;
	part->has_later_rounds = group->has_later_rounds;
	part->pause_ns = group->pause_ns;
	part->stretch = group->stretch;
	part->is_flow = group->is_flow;
	part->left = group->left;
	part->rate = group->rate;
	to->dev->groups_with_rounds += part->has_later_rounds;
	sim_task_finish_at(part, group->finish_ns);
	join_class(part, to);
	if (group->held)
		sim_engine_hold(part);
	if (!group->is_flow)
		return;
	sim_exec_block_flow(part);
	sim_exec_block_flow(group);
	flow_join(&part->flow);
	flow_join(&group->flow);
}

/* Some units of a class become another one. */
static struct unit_class *split_class(struct sim_dev *d, struct unit_class *c,
				      const struct unit_set *these, uint32_t count)
{
	struct unit_class *part = take_class(d);
	part->set = *these;
	part->units = count;
	part->load = c->load;
	remove_units(&c->set, these);
	c->units -= count;
	for (struct sim_task *group = c->groups; group; group = group->next_of_class)
		split_group(group, part);
	return part;
}

static void load_class(struct unit_class *c, const struct op *op, int blocks)
{
	c->load.residents += (uint32_t)blocks;
	c->load.shared_bytes += op->claim_bytes * (uint64_t)blocks;
	c->load.register_bytes += op->register_bytes * (uint64_t)blocks;
}

static bool class_fits(const struct sim_dev *d, const struct unit_class *c, const struct op *op)
{
	const struct sim_model *m = &d->model;
	return c->load.residents < m->slots_per_unit &&
	       op->claim_bytes <= m->shared_per_unit_bytes - c->load.shared_bytes &&
	       (!m->registers_per_unit_bytes ||
		op->register_bytes <= m->registers_per_unit_bytes - c->load.register_bytes);
}

uint32_t sim_units_of(const struct dev_stream *s)
{
	return s->is_masked ? count_units(&s->units) : s->dev->model.units;
}

int sim_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count)
{
	struct sim_dev *d = sim_of(dev);
	int status = sim_call_begin_on_stream(d, s);
	if (!status && s->head)
		status = err_note(-EBUSY, "sim:%u: stream_units: the stream has work", dev->index);
	if (status)
		return sim_call_end(status);
	memset(&s->units, 0, sizeof(s->units));
	for (uint32_t i = first; i < first + count; i++)
		s->units.word[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	s->is_masked = count < d->model.units;
	return sim_call_end(0);
}

uint32_t sim_units_residents(const struct sim_dev *d, uint64_t claim_bytes, uint64_t register_bytes)
{
	const struct sim_model *m = &d->model;
	uint64_t fit = m->slots_per_unit;
	if (claim_bytes && m->shared_per_unit_bytes / claim_bytes < fit)
		fit = m->shared_per_unit_bytes / claim_bytes;
	if (register_bytes && m->registers_per_unit_bytes &&
	    m->registers_per_unit_bytes / register_bytes < fit)
		fit = m->registers_per_unit_bytes / register_bytes;
	return (uint32_t)fit;
}

/* ------------------------------------------------------------------ placing blocks */

static bool has_just_begun(const struct sim_task *g)
{
	return !g->is_flow && g->then == sim_exec_start_group && g->since_ns >= sim_engine.now_ns;
}

/* A second block on each unit of a group that has just begun makes the same group larger. */
static bool add_to_group(struct unit_class *c, const struct op *op, uint32_t block, double part)
{
	struct sim_task *g = c->groups;
	if (!g || g->op != op || !has_just_begun(g) || g->rounds > 1 ||
	    op->stream->dev->model.block_jitter_sigma > 0 ||
	    g->block + g->units * g->per_unit != block || g->part < part || g->part > part ||
	    (op->tracker && kernel_blocks_alike(op, g->block) <= block - g->block))
		return false;
	g->per_unit++;
	load_class(c, op, 1);
	return true;
}

static void place_on_class(struct op *op, struct unit_class *c)
{
	const uint32_t block = op->next_block;
	const double part = kernel_part(op, block);
	op->next_block += c->units;
	if (add_to_group(c, op, block, part))
		return;
	struct sim_task *group = sim_task_begin_group(op);
	group->block = block;
	group->part = part;
	group->units = c->units;
	group->stretch = sim_exec_block_stretch(op, block);
	join_class(group, c);
	load_class(c, op, 1);
	c->dev->groups_since_launch++;
	sim_task_start_delay(group, sim_exec_block_delay_ns(op, block) * group->stretch,
			     sim_exec_start_group);
}

/* True if the launch's blocks may go to some of these units. */
static bool may_use(const struct op *op, const struct unit_set *these)
{
	const struct dev_stream *s = op->stream;
	for (unsigned i = 0; i < UNIT_WORDS; i++)
		if (these->word[i] & (s->is_masked ? s->units.word[i] : UINT64_MAX))
			return true;
	return false;
}

/* The units that get the next blocks: of those with the fewest residents, and space, the lowest. */
static bool choose_units(const struct sim_dev *d, const struct op *op, struct unit_set *chosen)
{
	uint32_t fewest = UINT32_MAX;
	memset(chosen, 0, sizeof(*chosen));
	for (const struct unit_class *c = d->classes; c; c = c->next)
		if (c->load.residents < fewest && class_fits(d, c, op) && may_use(op, &c->set))
			fewest = c->load.residents;
	for (const struct unit_class *c = d->classes; c; c = c->next)
		if (c->load.residents == fewest && class_fits(d, c, op) && may_use(op, &c->set))
			add_units(chosen, &c->set);
	if (op->stream->is_masked)
		*chosen = common_units(chosen, &op->stream->units);
	return fewest < UINT32_MAX;
}

/* Blocks of as many units as can begin at once. False: the next block fits on no unit. */
static bool place_blocks(struct sim_dev *d, struct op *op)
{
	struct unit_set chosen;
	uint32_t alike = kernel_blocks_alike(op, op->next_block);
	if (!choose_units(d, op, &chosen))
		return false;
	if (d->model.block_jitter_sigma > 0)
		alike = 1;
	if (count_units(&chosen) > alike)
		keep_lowest(&chosen, alike);
	do {
		/* Classes in the order of their lowest chosen unit. */
		const uint32_t lowest = lowest_unit(&chosen);
		struct unit_class *c = d->classes;
		while (!(c->set.word[lowest / WORD_BITS] >> lowest % WORD_BITS & 1))
			c = c->next;
		const struct unit_set here = common_units(&c->set, &chosen);
		const uint32_t count = count_units(&here);
		if (count < c->units)
			c = split_class(d, c, &here, count);
		place_on_class(op, c);
		if (!remove_units(&chosen, &here))
			return true;
	} while (true);
}

/* ------------------------------------------------------------------ rounds */

static bool takes_rounds(const struct op *op)
{
	const struct kernel_type *k = op->type;
	return !k->start && !k->finish && !k->holds && !op->tracker &&
	       op->stream->dev->model.block_jitter_sigma <= 0 &&
	       kernel_blocks_alike(op, 0) == op->grid;
}

/* Rounds of a group that have not begun. */
static uint32_t later_rounds(struct sim_task *g)
{
	if (!g->is_flow)
		return g->rounds - 1;
	sim_task_update_left(g);
	const double left = g->left / (g->stretch * g->op->slow_down);
	const uint32_t later = (uint32_t)floor(left * (1 - 1e-9));
	return later < g->rounds ? later : g->rounds - 1;
}

static void take_rounds_of_group(struct sim_dev *d, struct sim_task *g)
{
	struct op *op = g->op;
	const uint32_t later = later_rounds(g);
	g->has_later_rounds = false;
	d->groups_with_rounds--;
	g->rounds -= later;
	g->left -= later * g->stretch * op->slow_down;
	if (!g->is_flow) {
		sim_task_finish_at(g, g->since_ns + g->pause_ns * g->stretch);
		g->pause_ns = 0;
	} else if (g->rate > 0) {
		sim_task_finish_at(g, sim_engine.now_ns + g->left / g->rate);
	}
	if (later && op->next_block == op->grid)
		sim_exec_ready_insert(&d->launches_ready, op);
	op->next_block -= later * g->units * g->per_unit;
}

/* Blocks that have not begun go back to their launches. A group that ends at this very moment, as
 * another one that is ended first, has none. */
static void take_rounds_back(struct sim_dev *d, bool (*of)(const struct op *op))
{
	for (struct unit_class *c = d->classes; c && d->groups_with_rounds; c = c->next)
		for (struct sim_task *g = c->groups; g; g = g->next_of_class)
			if (g->has_later_rounds && sim_task_is_running(g) && of(g->op))
				take_rounds_of_group(d, g);
}

static bool is_any(const struct op *op) { return op != NULL; }
static bool gave_all(const struct op *op) { return op->next_block == op->grid; }

/* Give the rest of a launch with more than two waves to go to the groups that have just begun.
 * Several groups get half of it, so that none waits long for the others, and only if no launch came
 * for some waves: waiting for slots depends on the phases of waves, which pauses that are spread
 * over a round shift. */
static void give_rounds(struct sim_dev *d, struct op *op)
{
	const uint32_t left = op->grid - op->next_block;
	uint32_t resident = 0, groups = 0;
	for (const struct sim_task *g = op->stream->tasks; g; g = g->next_of_stream, groups++)
		resident += g->units * g->per_unit;
	if (left < 2 * d->model.units || !resident ||
	    (groups > 1 && d->groups_since_launch < UNDISTURBED_ROUNDS * groups))
		return;
	const uint32_t rounds = left / resident / (groups > 1 ? 2 : 1);
	for (struct sim_task *g = op->stream->tasks; g && rounds; g = g->next_of_stream) {
		if (!has_just_begun(g) || g->rounds > 1)
			continue;
		g->rounds += rounds;
		g->has_later_rounds = true;
		d->groups_with_rounds++;
		op->next_block += rounds * g->units * g->per_unit;
		/* The first pause is among those of the rounds. */
		g->pause_ns = sim_exec_block_delay_ns(op, g->block);
		sim_task_finish_at(g, sim_engine.now_ns);
	}
}

void sim_units_start_blocks(struct sim_dev *d)
{
	if (d->launch_arrived) {
		take_rounds_back(d, is_any);
		d->groups_since_launch = 0;
	}
	d->launch_arrived = false;
	struct unit_set held = {{0}}; /* by launches whose next block fits nowhere */
	for (struct op **at = &d->launches_ready; *at;) {
		struct op *op = *at;
		if (may_use(op, &held)) {
			at = &op->ready_next;
			continue;
		}
		while (op->next_block < op->grid && place_blocks(d, op))
			continue;
		if (op->next_block < op->grid && takes_rounds(op))
			give_rounds(d, op);
		if (op->next_block == op->grid) {
			*at = op->ready_next;
			continue;
		}
		if (!op->stream->is_masked)
			return;
		add_units(&held, &op->stream->units);
		at = &op->ready_next;
	}
}

/* ------------------------------------------------------------------ the end of a group */

void sim_units_leave(struct sim_task *group)
{
	struct op *op = group->op;
	struct sim_dev *d = op->stream->dev;
	d->groups_with_rounds -= group->has_later_rounds;
	load_class(group->class, op, -(int)group->per_unit);
	leave_class(group);
	merge_idle(d, group->class);
	sim_dev_changed(d);
	/* Slots are free for blocks that wait for those of another group to end. */
	take_rounds_back(d, gave_all);
}
