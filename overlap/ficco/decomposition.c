/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/decomposition.h"
#include "lib/err.h"
#include "lib/router.h"

#include <errno.h>
#include <stdlib.h>

const char *const ficco_ops[] = {"ag-gemm",         "gemm-rs", "a2a-gemm",
				 "a2a-gemm-uneven", "gemm-ar", NULL};

#define SCHEDULE_NAME(id, name, ...) name,
#define SCHEDULE_RULES(id, name, ...) [FICCO_##id] = {__VA_ARGS__},
const char *const ficco_schedules[] = {FICCO_SCHEDULE_TABLE(SCHEDULE_NAME, SCHEDULE_NAME) NULL};
const struct ficco_rules ficco_schedule_rules[FICCO_SCHEDULES] = {
	FICCO_SCHEDULE_TABLE(SCHEDULE_RULES, SCHEDULE_RULES)};

/* The cut rules: parts of a group's rows, and of A's columns. Memory has one layout for cut
 * columns, G slabs (operands.h), so column_parts() is 1 or G. */
static uint32_t row_parts(const struct ficco_rules *rules, uint32_t devices)
{
	if (rules->row_parts == FICCO_PER_DEVICE)
		return devices;
	return rules->row_parts ? rules->row_parts : 1;
}

static uint32_t column_parts(const struct ficco_rules *rules, uint32_t devices)
{
	return rules->columns_cut ? devices : 1;
}

uint32_t ficco_part_begin(uint32_t side, uint32_t parts, uint32_t number)
{
	return (uint32_t)((uint64_t)side * number / parts);
}

static uint32_t part_width(uint32_t side, uint32_t parts, uint32_t number)
{
	return ficco_part_begin(side, parts, number + 1) - ficco_part_begin(side, parts, number);
}

/* ------------------------------------------------------------------ rows of each device */

_Static_assert(FICCO_MAX_DEVICES <= ROUTER_EXPERTS, "a device is an expert");

static void route_rows(struct ficco_plan *p)
{
	const uint32_t devices = p->problem.devices;
	double popular[FICCO_MAX_DEVICES];
	uint32_t given[FICCO_MAX_DEVICES];
	struct rng r;
	rng_seed(&r, p->problem.seed, 0);
	router_draw(&r, devices, popular);
	for (uint32_t from = 0; from < devices; from++) {
		router_divide(&r, popular, devices, p->problem.m, given);
		for (uint32_t d = 0; d < devices; d++)
			p->rows[d][from] = given[d];
	}
}

static void assign_rows(struct ficco_plan *p)
{
	uint32_t devices = p->problem.devices;
	for (uint32_t d = 0; d < devices; d++)
		for (uint32_t r = 0; r < devices; r++)
			p->rows[d][r] = part_width(p->problem.m, devices, r);
	if (p->problem.op == FICCO_A2A_GEMM_UNEVEN)
		route_rows(p);
	for (uint32_t d = 0; d < devices; d++) {
		for (uint32_t r = 0; r < devices; r++)
			p->all_rows[d] += p->rows[d][r];
		p->max_rows = p->all_rows[d] > p->max_rows ? p->all_rows[d] : p->max_rows;
		if (p->problem.op == FICCO_AG_GEMM)
			p->send_elements[d] = (uint64_t)p->rows[d][d] * p->problem.k;
		else if (ficco_sums(p->problem.op))
			p->staging_elements[d] =
				(uint64_t)(devices - 1) * p->rows[d][d] * p->problem.n;
		else
			p->send_elements[d] = ficco_plan_send_offset(p, d, devices);
	}
}

uint64_t ficco_plan_send_offset(const struct ficco_plan *p, uint32_t from, uint32_t to)
{
	uint64_t rows = 0;
	if (p->problem.op == FICCO_AG_GEMM)
		return 0;
	for (uint32_t d = 0; d < to; d++)
		rows += p->rows[d][from];
	return rows * p->problem.k;
}

static int refuse_rows(const struct ficco_plan *p)
{
	const struct ficco_problem *o = &p->problem;
	const bool sums = ficco_sums(o->op);
	return err_note(
		-EINVAL, "%s on %u devices: %s %u cannot be cut into %u parts with %s in each%s",
		ficco_schedules[p->schedule], o->devices, o->exchanged ? "N =" : "M =", o->m,
		o->devices * p->row_parts, o->exchanged ? "a column" : "a row",
		o->exchanged ? ""
		: sums       ? "; --cut columns cuts N"
			     : "; only gemm-rs and gemm-ar can cut N (--cut columns)");
}

static int admit(const struct ficco_plan *p)
{
	const struct ficco_problem *o = &p->problem;
	const char *name = ficco_schedules[p->schedule];
	if (ficco_sums(o->op) && p->k_steps > 1)
		return err_note(-ENOTSUP,
				"%s: no element of C is finished before the last part of K, so "
				"%s has nothing to send",
				name, ficco_ops[o->op]);
	if (o->k < p->k_steps)
		return err_note(-EINVAL, "%s on %u devices: K of %u cannot be cut into %u", name,
				o->devices, o->k, p->k_steps);
	for (uint32_t i = 0; i < o->devices * o->devices; i++)
		if (p->rows[i / o->devices][i % o->devices] < p->row_parts)
			return refuse_rows(p);
	return 0;
}

/* ------------------------------------------------------------------ chunks, pieces, transfers */

/* State while the part of one device is built. */
struct plan_builder {
	struct ficco_plan *p;
	const struct ficco_rules *rules;
	uint32_t device, at; /* at: rows placed so far */
};

static struct ficco_chunk add_chunk(struct plan_builder *b, uint32_t group, uint32_t part)
{
	uint32_t rows = b->p->rows[b->device][group];
	struct ficco_chunk chunk = {.device = b->device,
				    .group = group,
				    .first = ficco_part_begin(rows, b->p->row_parts, part),
				    .rows = part_width(rows, b->p->row_parts, part),
				    .at = b->at,
				    .piece = b->p->piece_count};
	b->p->chunks[b->p->chunk_count++] = chunk;
	b->at += chunk.rows;
	return chunk;
}

/* The element at which a row starts in a slab of a matrix that has `rows` rows. */
static uint64_t slab_offset(const struct ficco_plan *p, uint32_t slab, uint64_t rows, uint64_t row)
{
	uint32_t column = ficco_part_begin(p->problem.k, p->k_steps, slab);
	return rows * column + row * part_width(p->problem.k, p->k_steps, slab);
}

/* With sums a piece waits for nothing. */
static void add_piece(struct plan_builder *b, uint32_t row, uint32_t rows, uint32_t slab,
		      uint32_t first_transfer)
{
	struct ficco_plan *p = b->p;
	bool waits = !ficco_sums(p->problem.op);
	p->pieces[p->piece_count++] =
		(struct ficco_piece){.device = b->device,
				     .row = row,
				     .rows = rows,
				     .column = ficco_part_begin(p->problem.k, p->k_steps, slab),
				     .columns = part_width(p->problem.k, p->k_steps, slab),
				     .a_offset = slab_offset(p, slab, p->all_rows[b->device], row),
				     .first_transfer = first_transfer,
				     .transfers = waits ? p->transfer_count - first_transfer : 0};
}

/* The device's own group as a GEMM of its own, its parts one after the other. */
static void add_own_group(struct plan_builder *b)
{
	uint32_t row = b->at;
	for (uint32_t part = 0; part < b->p->row_parts; part++)
		add_chunk(b, b->device, part);
	add_piece(b, row, b->at - row, 0, b->p->transfer_count);
}

struct ficco_transfer ficco_arriving_transfer(const struct ficco_plan *p,
					      const struct ficco_chunk *chunk, uint32_t slab)
{
	uint32_t from = chunk->group, to = chunk->device;
	return (struct ficco_transfer){
		.from = from,
		.to = to,
		.piece = FICCO_NONE,
		.from_offset = ficco_plan_send_offset(p, from, to) +
			       slab_offset(p, slab, p->rows[to][from], chunk->first),
		.to_offset = slab_offset(p, slab, p->all_rows[to], chunk->at),
		.count = (uint64_t)chunk->rows * part_width(p->problem.k, p->k_steps, slab)};
}

/* Partial sums leave for the device that the group belongs to, after the piece that is added
 * next. Those of each sender arrive in a slot of their own. */
static struct ficco_transfer departing_transfer(const struct ficco_plan *p,
						const struct ficco_chunk *chunk, uint64_t slot)
{
	uint64_t n = p->problem.n, slot_rows = p->rows[chunk->group][chunk->group];
	return (struct ficco_transfer){.from = chunk->device,
				       .to = chunk->group,
				       .piece = p->piece_count,
				       .from_offset = chunk->at * n,
				       .to_offset = (slot * slot_rows + chunk->first) * n,
				       .count = chunk->rows * n};
}

static void add_transfer(struct plan_builder *b, const struct ficco_chunk *chunk, uint32_t step,
			 uint32_t slab, uint32_t link)
{
	struct ficco_plan *p = b->p;
	struct ficco_transfer t = ficco_sums(p->problem.op)
					  ? departing_transfer(p, chunk, link)
					  : ficco_arriving_transfer(p, chunk, slab);
	t.step = b->rules->one_link ? link : step;
	t.link = b->rules->one_link ? 0 : link;
	p->transfers[p->transfer_count++] = t;
}

/* ------------------------------------------------------------------ reductions */

/* Index of the transfer that fills a staging slot. All devices have the same number of transfers,
 * ordered by part, then by distance to the receiver; slot 0 is distance 1. */
static uint32_t incoming_transfer(const struct plan_builder *b, uint32_t part, uint32_t slot)
{
	uint32_t devices = b->p->problem.devices,
		 sender = (b->device + devices - slot - 1) % devices;
	return (sender * b->p->row_parts + part) * (devices - 1) + slot;
}

/* Adds a slot's partial sums of a part of the own group to C. A device that computes its own group
 * last adds up those of the others meanwhile, in slot 0. */
static void add_reduction(struct plan_builder *b, const struct ficco_chunk *own, uint32_t part,
			  uint32_t slot)
{
	struct ficco_plan *p = b->p;
	bool to_staging = b->rules->own_separate && slot > 0;
	uint32_t first = incoming_transfer(b, part, 0);
	uint64_t n = p->problem.n, slot_rows = p->rows[b->device][b->device];
	p->reductions[p->reduction_count++] = (struct ficco_reduction){
		.device = b->device,
		.to_staging = to_staging,
		.from_offset = (slot * slot_rows + own->first) * n,
		.to_offset = (to_staging ? own->first : own->at) * n,
		.count = own->rows * n,
		.transfer = {incoming_transfer(b, part, slot), to_staging ? first : FICCO_NONE},
		.piece = to_staging ? FICCO_NONE : own->piece};
}

static void add_reductions(struct plan_builder *b, uint32_t first_slot, uint32_t end_slot)
{
	const struct ficco_plan *p = b->p;
	uint32_t part = 0;
	for (uint32_t i = b->device * p->problem.devices * p->row_parts; i < p->chunk_count; i++) {
		if (p->chunks[i].group != b->device)
			continue;
		for (uint32_t slot = first_slot; slot < end_slot; slot++)
			add_reduction(b, &p->chunks[i], part, slot);
		part++;
	}
}

/* Index of the reduction that completes a part of the own group. */
static uint32_t last_reduction(const struct ficco_plan *p, uint32_t device, uint32_t part,
			       bool separate)
{
	uint32_t slots = p->problem.devices - 1, first = device * p->row_parts * slots;
	return separate ? first + (slots - 1) * p->row_parts + part
			: first + part * slots + slots - 1;
}

/* A part of a group on a device, in the order of build_device(). */
static const struct ficco_chunk *chunk_of(const struct ficco_plan *p, uint32_t device,
					  uint32_t group, uint32_t part, bool separate)
{
	uint32_t devices = p->problem.devices, distance = (group + devices - device) % devices,
		 others = devices - separate,
		 at = separate && distance == 0 ? p->row_parts * others + part
						: part * others + distance - separate;
	return &p->chunks[device * devices * p->row_parts + at];
}

/* After all devices are built: what a device has summed goes to each other one. */
static void add_returns(struct plan_builder *b, uint32_t device)
{
	struct ficco_plan *p = b->p;
	const bool separate = b->rules->own_separate;
	const uint64_t n = p->problem.n;
	for (uint32_t part = 0; part < p->row_parts; part++)
		for (uint32_t i = 1; i < p->problem.devices; i++) {
			const uint32_t to = (device + i) % p->problem.devices;
			const struct ficco_chunk *own = chunk_of(p, device, device, part, separate),
						 *other = chunk_of(p, to, device, part, separate);
			p->returns[p->return_count++] = (struct ficco_return){
				.from = device,
				.to = to,
				.link = b->rules->one_link ? 0 : i - 1,
				.reduction = last_reduction(p, device, part, separate),
				.from_offset = own->at * n,
				.to_offset = other->at * n,
				.count = own->rows * n};
		}
}

/* ------------------------------------------------------------------ the plan */

/* GEMMs wait for what arrives, and an own group of its own comes first. Sums are the mirror
 * image: a transfer waits for its GEMM, and the own group comes last, concurrent with the last
 * transfers. Where columns are cut, the first slab places the rows for all. */
static void build_device(struct plan_builder *b)
{
	struct ficco_plan *p = b->p;
	uint32_t devices = p->problem.devices;
	bool separate = b->rules->own_separate, sums = ficco_sums(p->problem.op);
	struct ficco_chunk chunk[FICCO_MAX_DEVICES] = {{0}};
	b->at = 0;
	if (separate && !sums)
		add_own_group(b);
	for (uint32_t step = 0; step < p->row_parts * p->k_steps; step++) {
		uint32_t part = step / p->k_steps, slab = step % p->k_steps, first = 0, row = 0;
		for (uint32_t i = separate; i < devices; i++) {
			if (slab == 0)
				chunk[i] = add_chunk(b, (b->device + i) % devices, part);
			if (!b->rules->fused || i == separate) {
				first = p->transfer_count;
				row = chunk[i].at;
			}
			if (i > 0)
				add_transfer(b, &chunk[i], step, slab, i - 1);
			if (!b->rules->fused || i + 1 == devices)
				add_piece(b, row, chunk[i].at + chunk[i].rows - row, slab, first);
		}
	}
	if (separate && sums) {
		add_own_group(b);
		add_reductions(b, 1, devices - 1);
	}
	if (sums)
		add_reductions(b, 0, separate ? 1 : devices - 1);
}

/* A device has at most one of each for every part and slab of its G groups, and the GEMM of its
 * own group. */
static int alloc_arrays(struct ficco_plan *p)
{
	size_t devices = p->problem.devices,
	       count = 1 + devices * (devices * p->row_parts * p->k_steps + 1);
	p->chunks = calloc(count, sizeof(*p->chunks));
	p->transfers = calloc(count, sizeof(*p->transfers));
	p->pieces = calloc(count, sizeof(*p->pieces));
	p->reductions = calloc(count, sizeof(*p->reductions));
	p->returns = calloc(count, sizeof(*p->returns));
	bool all = p->chunks && p->transfers && p->pieces && p->reductions && p->returns;
	return all ? 0 : err_note(-ENOMEM, "a schedule of %zu devices: out of memory", devices);
}

int ficco_plan_open(const struct ficco_problem *problem, enum ficco_schedule schedule,
		    struct ficco_plan **p_p)
{
	const struct ficco_rules *rules = &ficco_schedule_rules[schedule];
	if (problem->devices < 2 || problem->devices > FICCO_MAX_DEVICES)
		return err_note(-EINVAL, "%u devices: must be within 2..%u", problem->devices,
				FICCO_MAX_DEVICES);
	if (problem->m == 0 || problem->n == 0 || problem->k == 0)
		return err_note(-EINVAL, "%ux%ux%u: a side is 0", problem->m, problem->n,
				problem->k);
	struct ficco_plan *p = calloc(1, sizeof(*p));
	if (!p)
		return err_note(-ENOMEM, "a schedule of %u devices: out of memory",
				problem->devices);
	p->problem = *problem;
	p->schedule = schedule;
	p->row_parts = row_parts(rules, problem->devices);
	p->k_steps = column_parts(rules, problem->devices);
	p->steps = rules->one_link ? problem->devices - 1 : p->row_parts * p->k_steps;
	assign_rows(p);
	int status = admit(p);
	TRY(status, alloc_arrays(p));
	struct plan_builder b = {.p = p, .rules = rules};
	for (; status == 0 && b.device < problem->devices; b.device++)
		build_device(&b);
	for (uint32_t d = 0; status == 0 && problem->op == FICCO_GEMM_AR && d < b.device; d++)
		add_returns(&b, d);
	if (status)
		ficco_plan_close(p);
	else
		*p_p = p;
	return status;
}

int ficco_collective_plan_open(const struct ficco_problem *problem, struct ficco_plan **p_p)
{
	struct ficco_plan *p = NULL;
	const uint32_t devices = problem->devices;
	int status = ficco_plan_open(problem, FICCO_SERIAL, &p);
	if (!p)
		return status;
	if (problem->op == FICCO_A2A_GEMM_UNEVEN || problem->m % devices) {
		ficco_plan_close(p);
		return err_note(-ENOTSUP, "%s of %u rows on %u devices: groups of unequal size",
				ficco_ops[problem->op], problem->m, devices);
	}
	for (uint32_t i = 0; i < p->chunk_count; i++) {
		struct ficco_chunk *chunk = &p->chunks[i];
		chunk->group = i % devices;
		chunk->at = chunk->group * chunk->rows;
	}
	for (uint32_t i = 0; i < p->piece_count; i++)
		p->pieces[i].transfers = 0;
	p->transfer_count = p->reduction_count = p->return_count = 0;
	*p_p = p;
	return 0;
}

void ficco_plan_close(struct ficco_plan *p)
{
	if (!p)
		return;
	free(p->chunks);
	free(p->transfers);
	free(p->pieces);
	free(p->reductions);
	free(p->returns);
	free(p);
}

static bool same_piece(const struct ficco_piece *a, const struct ficco_piece *b)
{
	return a->device == b->device && a->row == b->row && a->rows == b->rows &&
	       a->column == b->column && a->columns == b->columns &&
	       a->first_transfer == b->first_transfer && a->transfers == b->transfers;
}

static bool same_transfer(const struct ficco_transfer *a, const struct ficco_transfer *b)
{
	return a->from == b->from && a->to == b->to && a->step == b->step && a->link == b->link &&
	       a->piece == b->piece && a->to_offset == b->to_offset && a->count == b->count;
}

bool ficco_plan_same_work(const struct ficco_plan *a, const struct ficco_plan *b)
{
	bool same = a->problem.devices == b->problem.devices && a->problem.n == b->problem.n &&
		    a->problem.k == b->problem.k && a->schedule == b->schedule &&
		    a->piece_count == b->piece_count && a->transfer_count == b->transfer_count &&
		    a->reduction_count == 0 && b->reduction_count == 0;
	for (uint32_t i = 0; same && i < a->piece_count; i++)
		same = same_piece(&a->pieces[i], &b->pieces[i]);
	for (uint32_t i = 0; same && i < a->transfer_count; i++)
		same = same_transfer(&a->transfers[i], &b->transfers[i]);
	return same;
}
