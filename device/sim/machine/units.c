/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks on units. Units that hold the same blocks evolve alike, so they form a class, and the
 * blocks that began on them at one moment are one task, a group. With equal blocks this is exact;
 * where blocks have jitter of their own, every block is a group.
 *
 * Where no data moves, a group may also be given its next blocks, round after round, so that a
 * launch costs as many events as it is disturbed, and not as it has waves. They are taken back when
 * something else could use the units.
 *
 * RESIDENCE. A pending launch of higher priority goes first, then the one that became ready first.
 * If its next block fits on no unit, nothing behind it starts that may use the same units: all, or
 * those of dev_stream_units(), which also count as the units of a GEMM's wave. A block goes to the
 * unit with the fewest residents (the lowest number among equals). A unit has slots_per_unit slots,
 * shared_per_unit_bytes and registers_per_unit_bytes (0: enough). A block takes a slot, its claim
 * of shared memory and block_register_bytes; one of a GEMM also the sums of a tile, r * c floats
 * (f64: doubles), and without tile_k gemm_tile_shared_bytes. Without engines (copy_engines = 0) a
 * copy is a launch of one block per unit.
 *
 * BLOCKS that begin together and are alike, on units that hold the same, are simulated as one,
 * which changes no time. With block_jitter_sigma each is simulated by itself.
 */
#include "device/sim/machine/units.h"
#include "device/sim/machine/copies.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/streams.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCK_THREADS 1024u
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

struct unit_set sim_units_row(uint32_t first, uint32_t count)
{
	struct unit_set row = {{0}};
	for (uint32_t i = first; i < first + count; i++)
		row.word[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	return row;
}

/* ------------------------------------------------------------------ classes */

static struct unit_class *take_class(struct sim_dev *d)
{
	struct unit_class *c = d->units.classes_idle;
	d->units.classes_idle = c->next;
	c->next = d->units.classes;
	d->units.classes = c;
	return c;
}

static void give_back_class(struct sim_dev *d, struct unit_class *c)
{
	struct unit_class **at = &d->units.classes;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->next = d->units.classes_idle;
	d->units.classes_idle = c;
}

static void free_units(struct sim_units *u)
{
	free(u->class);
	free(u->groups);
	free(u->groups_idle);
}

int sim_units_open(struct sim_dev *d)
{
	struct sim_units *u = &d->units;
	const size_t slots = (size_t)d->model.units * d->model.slots_per_unit;
	u->class = calloc(d->model.units, sizeof(*u->class));
	u->groups = calloc(slots, sizeof(*u->groups));
	u->groups_idle = calloc(slots, sizeof(void *));
	if (!u->class || !u->groups || !u->groups_idle || sim_tasks_reserve(slots)) {
		free_units(u);
		return err_note(-ENOMEM, "sim:%u: open: out of memory for %zu slots", d->base.index,
				slots);
	}
	for (size_t i = slots; i > 0; i--)
		u->groups_idle[u->groups_idle_count++] = &u->groups[i - 1];
	for (uint32_t i = d->model.units; i-- > 0;) {
		struct unit_class *c = &u->class[i];
		c->dev = d;
		/* in ns of the unit, so that work of both types shares it */
		resource_set(&c->compute, 1e9);
		resource_set(&c->load_store, d->model.unit_bandwidth);
		resource_set(&c->l1, d->model.l1_bandwidth);
		c->next = u->classes_idle;
		u->classes_idle = c;
	}
	struct unit_class *all = take_class(d);
	all->set = sim_units_row(0, d->model.units);
	all->units = d->model.units;
	return 0;
}

void sim_units_close(struct sim_dev *d)
{
	sim_tasks_unreserve((size_t)d->model.units * d->model.slots_per_unit);
	free_units(&d->units);
}

/* Idle units are one class. */
static void merge_idle(struct sim_dev *d, struct unit_class *c)
{
	for (struct unit_class *other = d->units.classes; other && !c->groups;
	     other = other->next) {
		if (other == c || other->groups)
			continue;
		add_units(&other->set, &c->set);
		other->units += c->units;
		give_back_class(d, c);
		return;
	}
}

/* ------------------------------------------------------------------ groups */

static void join_class(struct block_group *group, struct unit_class *c)
{
	group->class = c;
	group->next_of_class = c->groups;
	c->groups = group;
}

static void leave_class(struct block_group *group)
{
	struct block_group **at = &group->class->groups;
	while (*at != group)
		at = &(*at)->next_of_class;
	*at = group->next_of_class;
}

/* The part of a running group that is on units which become a class of their own. */
static void split_group(struct block_group *group, struct unit_class *to)
{
	struct block_group *part = sim_group_begin(group->task.op);
	if (group->task.is_flow) {
		sim_task_update_left(&group->task);
		flow_leave(&group->task.flow);
	}
	group->units -= to->units;
	sim_task_start_delay(&part->task, 0, group->task.then);
	part->task.since_ns = group->task.since_ns;
	part->block = group->block + group->units * group->per_unit;
	part->part = group->part;
	part->units = to->units;
	part->per_unit = group->per_unit;
	part->task.rounds = group->task.rounds;
	part->has_later_rounds = group->has_later_rounds;
	part->task.pause_ns = group->task.pause_ns;
	part->task.stretch = group->task.stretch;
	part->task.is_flow = group->task.is_flow;
	part->task.left = group->task.left;
	part->task.rate = group->task.rate;
	to->dev->units.groups_with_rounds += part->has_later_rounds;
	sim_task_finish_at(&part->task, group->task.finish_ns);
	join_class(part, to);
	if (group->held)
		sim_group_hold(part);
	if (!group->task.is_flow)
		return;
	sim_group_flow(part);
	sim_group_flow(group);
	flow_join(&part->task.flow);
	flow_join(&group->task.flow);
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
	for (struct block_group *group = c->groups; group; group = group->next_of_class)
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

int sim_units_claim(struct sim_dev *d, uint32_t block, uint64_t shared_bytes, uint64_t *claim_p)
{
	const struct sim_model *m = &d->model;
	if (block > MAX_BLOCK_THREADS)
		return err_note(-EINVAL, "sim:%u: a block of %u threads; the limit is %u",
				d->base.index, block, MAX_BLOCK_THREADS);
	if (shared_bytes > m->shared_per_block_bytes)
		return err_note(
			-EINVAL,
			"sim:%u: a block with %llu bytes of shared memory; the limit is %llu",
			d->base.index, (unsigned long long)shared_bytes,
			(unsigned long long)m->shared_per_block_bytes);
	uint64_t granularity = m->shared_granularity_bytes;
	*claim_p = (m->shared_reserved_bytes + shared_bytes + granularity - 1) / granularity *
		   granularity;
	if (*claim_p > m->shared_per_unit_bytes)
		return err_note(
			-EINVAL,
			"sim:%u: a block claims %llu bytes of shared memory; a unit has %llu",
			d->base.index, (unsigned long long)*claim_p,
			(unsigned long long)m->shared_per_unit_bytes);
	return 0;
}

/* ------------------------------------------------------------------ placing blocks */

static bool has_just_begun(const struct block_group *g)
{
	return !g->task.is_flow && g->task.then == sim_group_start &&
	       g->task.since_ns >= sim_clock.now_ns;
}

/* A second block on each unit of a group that has just begun makes the same group larger. */
static bool add_to_group(struct unit_class *c, const struct op *op, uint32_t block, double part)
{
	struct block_group *g = c->groups;
	if (!g || g->task.op != op || !has_just_begun(g) || g->task.rounds > 1 ||
	    op->stream->dev->model.block_jitter_sigma > 0 ||
	    g->block + g->units * g->per_unit != block || g->part < part || g->part > part ||
	    (op->redirect && kernel_blocks_alike(op, g->block) <= block - g->block))
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
	struct block_group *group = sim_group_begin(op);
	group->block = block;
	group->part = part;
	group->units = c->units;
	group->task.stretch = sim_block_stretch(op, block);
	join_class(group, c);
	load_class(c, op, 1);
	c->dev->units.groups_since_launch++;
	sim_task_start_delay(&group->task, sim_block_delay_ns(op, block) * group->task.stretch,
			     sim_group_start);
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
	for (const struct unit_class *c = d->units.classes; c; c = c->next)
		if (c->load.residents < fewest && class_fits(d, c, op) && may_use(op, &c->set))
			fewest = c->load.residents;
	for (const struct unit_class *c = d->units.classes; c; c = c->next)
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
		struct unit_class *c = d->units.classes;
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

/* Without a flow there is nothing over which the pauses of later rounds could be spread. */
static bool moves_or_computes(const struct op *op)
{
	double volume = op->block_flops;
	for (unsigned i = 0; i < op->traffics; i++)
		volume += op->work->traffic[i].volume;
	return volume > 0;
}

static bool takes_rounds(const struct op *op)
{
	const struct kernel_type *k = op->type;
	return !k->start && !k->finish && !k->holds && !op->tracker && moves_or_computes(op) &&
	       op->stream->dev->model.block_jitter_sigma <= 0 &&
	       kernel_blocks_alike(op, 0) == op->grid;
}

/* Rounds of a group that have not begun. */
static uint32_t later_rounds(struct block_group *g)
{
	if (!g->task.is_flow)
		return g->task.rounds - 1;
	sim_task_update_left(&g->task);
	const double left = g->task.left / (g->task.stretch * g->task.op->slow_down);
	const uint32_t later = (uint32_t)floor(left * (1 - 1e-9));
	return later < g->task.rounds ? later : g->task.rounds - 1;
}

static void take_rounds_of_group(struct sim_dev *d, struct block_group *g)
{
	struct op *op = g->task.op;
	const uint32_t later = later_rounds(g);
	g->has_later_rounds = false;
	d->units.groups_with_rounds--;
	g->task.rounds -= later;
	g->task.left -= later * g->task.stretch * op->slow_down;
	if (!g->task.is_flow) {
		sim_task_finish_at(&g->task, g->task.since_ns + g->task.pause_ns * g->task.stretch);
		g->task.pause_ns = 0;
	} else if (g->task.rate > 0) {
		sim_task_finish_at(&g->task, sim_clock.now_ns + g->task.left / g->task.rate);
	}
	if (later && op->next_block == op->grid)
		sim_ready_insert(&d->launches_ready, op);
	op->next_block -= later * g->units * g->per_unit;
}

/* Blocks that have not begun go back to their launches. A group that ends at this very moment, as
 * another one that is ended first, has none. */
static void take_rounds_back(struct sim_dev *d, bool (*of)(const struct op *op))
{
	for (struct unit_class *c = d->units.classes; c && d->units.groups_with_rounds; c = c->next)
		for (struct block_group *g = c->groups; g; g = g->next_of_class)
			if (g->has_later_rounds && sim_task_is_running(&g->task) && of(g->task.op))
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
	for (struct sim_task *t = op->stream->tasks; t; t = t->next, groups++)
		resident += sim_group_of(t)->units * sim_group_of(t)->per_unit;
	if (left < 2 * d->model.units || !resident ||
	    (groups > 1 && d->units.groups_since_launch < UNDISTURBED_ROUNDS * groups))
		return;
	const uint32_t rounds = left / resident / (groups > 1 ? 2 : 1);
	for (struct sim_task *t = op->stream->tasks; t && rounds; t = t->next) {
		struct block_group *g = sim_group_of(t);
		if (!has_just_begun(g) || g->task.rounds > 1)
			continue;
		g->task.rounds += rounds;
		g->has_later_rounds = true;
		d->units.groups_with_rounds++;
		op->next_block += rounds * g->units * g->per_unit;
		/* The first pause is among those of the rounds. */
		g->task.pause_ns = sim_block_delay_ns(op, g->block);
		sim_task_finish_at(&g->task, sim_clock.now_ns);
	}
}

void sim_units_start_blocks(struct sim_dev *d)
{
	if (d->units.launch_arrived) {
		take_rounds_back(d, is_any);
		d->units.groups_since_launch = 0;
	}
	d->units.launch_arrived = false;
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

void sim_units_leave(struct block_group *group)
{
	struct op *op = group->task.op;
	struct sim_dev *d = op->stream->dev;
	d->units.groups_with_rounds -= group->has_later_rounds;
	load_class(group->class, op, -(int)group->per_unit);
	leave_class(group);
	merge_idle(d, group->class);
	sim_dev_changed(d);
	/* Slots are free for blocks that wait for those of another group to end. */
	take_rounds_back(d, gave_all);
}
