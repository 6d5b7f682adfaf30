/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/decomposition.h"
#include "lib/err.h"
#include "lib/rng.h"

#include <errno.h>
#include <stdlib.h>

#define OP_NAME(id, name) name,
const char *const ficco_ops[] = {ADVISE_OP_LIST(OP_NAME) "a2a-gemm-uneven", NULL};

#define SCHEDULE_NAME(id, name, ...) name,
#define SCHEDULE_RULES(id, name, ...) [FICCO_##id] = {__VA_ARGS__},
const char *const ficco_schedules[] = {FICCO_SCHEDULE_TABLE(SCHEDULE_NAME, SCHEDULE_NAME) NULL};
const struct ficco_rules ficco_schedule_rules[FICCO_SCHEDULES] = {
	FICCO_SCHEDULE_TABLE(SCHEDULE_RULES, SCHEDULE_RULES)};

/* The router: the most popular expert gets up to three times as much as the least popular one. */
#define MIN_POPULAR 0.5
#define MAX_POPULAR 1.5

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

/* Divides a device's rows among the experts in proportion to seeded weights: whole rows, with no
 * remainder. */
static void route_rows(struct ficco_plan *p)
{
	uint32_t devices = p->problem.devices;
	double popular[FICCO_MAX_DEVICES];
	struct rng r;
	rng_seed(&r, p->problem.seed, 0);
	for (uint32_t d = 0; d < devices; d++)
		popular[d] = MIN_POPULAR + (MAX_POPULAR - MIN_POPULAR) * rng_unit(&r);
	for (uint32_t from = 0; from < devices; from++) {
		double weight[FICCO_MAX_DEVICES], all = 0.0, sum = 0.0;
		uint32_t given = 0;
		for (uint32_t d = 0; d < devices; d++)
			all += weight[d] = popular[d] * (MIN_POPULAR + (MAX_POPULAR - MIN_POPULAR) *
									       rng_unit(&r));
		for (uint32_t d = 0; d < devices; d++) {
			sum += weight[d];
			uint32_t end = d + 1 == devices ? p->problem.m
							: (uint32_t)(sum / all * p->problem.m);
			p->rows[d][from] = end - given;
			given = end;
		}
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
		if (p->problem.op == FICCO_AG_GEMM)
			p->send_elements[d] = (uint64_t)p->rows[d][d] * p->problem.k;
		else if (p->problem.op == FICCO_GEMM_RS)
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

uint32_t ficco_plan_max_rows(const struct ficco_plan *p)
{
	uint32_t max = 0;
	for (uint32_t d = 0; d < p->problem.devices; d++)
		max = p->all_rows[d] > max ? p->all_rows[d] : max;
	return max;
}

static int check_row_parts(const struct ficco_plan *p, uint32_t parts)
{
	for (uint32_t d = 0; d < p->problem.devices; d++)
		for (uint32_t r = 0; r < p->problem.devices; r++)
			if (p->rows[d][r] < parts)
				return err_note(-EINVAL,
						"%s on %u devices: %u rows of %u on device %u "
						"cannot be cut into %u",
						ficco_schedules[p->schedule], p->problem.devices,
						p->rows[d][r], p->all_rows[d], d, parts);
	return 0;
}

static int admit(const struct ficco_plan *p)
{
	const struct ficco_problem *o = &p->problem;
	const struct ficco_rules *rules = &ficco_schedule_rules[p->schedule];
	if (o->op == FICCO_GEMM_RS && rules->columns_cut)
		return err_note(-ENOTSUP,
				"%s: no element of C is finished before the last part of K, so "
				"gemm-rs has nothing to send",
				ficco_schedules[p->schedule]);
	if (rules->columns_cut && o->k < o->devices)
		return err_note(-EINVAL, "%s on %u devices: K of %u cannot be cut into %u",
				ficco_schedules[p->schedule], o->devices, o->k, o->devices);
	return check_row_parts(p, row_parts(rules, o->devices));
}

/* ------------------------------------------------------------------ chunks, pieces, transfers */

/* State while the part of one device is built. */
struct plan_builder {
	struct ficco_plan *p;
	const struct ficco_rules *rules;
	uint32_t device, parts, at; /* at: rows placed so far */
};

static uint32_t peer_at_distance(const struct plan_builder *b, uint32_t distance)
{
	return (b->device + distance) % b->p->problem.devices;
}

static struct ficco_chunk add_chunk(struct plan_builder *b, uint32_t group, uint32_t part)
{
	uint32_t rows = b->p->rows[b->device][group];
	struct ficco_chunk chunk = {.device = b->device,
				    .group = group,
				    .first = ficco_part_begin(rows, b->parts, part),
				    .rows = part_width(rows, b->parts, part),
				    .at = b->at};
	b->p->chunks[b->p->chunk_count++] = chunk;
	b->at += chunk.rows;
	return chunk;
}

/* Places all parts of the device's own group, one after the other. */
static void add_own_chunks(struct plan_builder *b)
{
	for (uint32_t part = 0; part < b->parts; part++)
		add_chunk(b, b->device, part);
}

static uint32_t add_piece(struct plan_builder *b, uint32_t step, uint32_t row, uint32_t rows,
			  uint32_t slab, uint32_t first_transfer)
{
	struct ficco_plan *p = b->p;
	uint32_t column = ficco_part_begin(p->problem.k, p->k_steps, slab),
		 columns = part_width(p->problem.k, p->k_steps, slab);
	p->pieces[p->piece_count] = (struct ficco_piece){
		.device = b->device,
		.step = step,
		.row = row,
		.rows = rows,
		.column = column,
		.columns = columns,
		.lda = columns,
		.a_offset = (uint64_t)p->all_rows[b->device] * column + (uint64_t)row * columns,
		.adds = slab > 0,
		.first_transfer = first_transfer,
		.transfers = (uint32_t)p->transfer_count - first_transfer};
	return (uint32_t)p->piece_count++;
}

/* Adds the transfer of a chunk's slab from the peer that has the group. */
static void add_arrival(struct plan_builder *b, const struct ficco_chunk *chunk, uint32_t step,
			uint32_t slab, uint32_t distance)
{
	struct ficco_plan *p = b->p;
	uint32_t column = ficco_part_begin(p->problem.k, p->k_steps, slab),
		 columns = part_width(p->problem.k, p->k_steps, slab);
	uint64_t group_rows = p->rows[b->device][chunk->group];
	p->transfers[p->transfer_count++] = (struct ficco_transfer){
		.from = chunk->group,
		.to = b->device,
		.step = step,
		.piece = FICCO_NONE,
		.link = b->rules->one_link ? 0 : distance - 1,
		.from_offset = ficco_plan_send_offset(p, chunk->group, b->device) +
			       group_rows * column + (uint64_t)chunk->first * columns,
		.to_offset =
			(uint64_t)p->all_rows[b->device] * column + (uint64_t)chunk->at * columns,
		.count = (uint64_t)chunk->rows * columns};
}

/* Adds the transfer of a chunk's partial sums to the device that the group belongs to. */
static void add_departure(struct plan_builder *b, const struct ficco_chunk *chunk, uint32_t step,
			  uint32_t piece, uint32_t distance)
{
	struct ficco_plan *p = b->p;
	uint64_t n = p->problem.n,
		 slot = (uint64_t)(distance - 1) * p->rows[chunk->group][chunk->group];
	p->transfers[p->transfer_count++] =
		(struct ficco_transfer){.from = b->device,
					.to = chunk->group,
					.step = step,
					.piece = piece,
					.link = b->rules->one_link ? 0 : distance - 1,
					.from_offset = chunk->at * n,
					.to_offset = (slot + chunk->first) * n,
					.count = chunk->rows * n};
}

/* GEMMs wait for what arrives. Where columns are cut, the first slab places the rows for all. */
static void build_arrivals(struct plan_builder *b)
{
	struct ficco_plan *p = b->p;
	uint32_t devices = p->problem.devices;
	struct ficco_chunk chunk[FICCO_MAX_DEVICES] = {{0}};
	if (b->rules->own_separate) {
		add_own_chunks(b);
		add_piece(b, 0, 0, b->at, 0, (uint32_t)p->transfer_count);
	}
	for (uint32_t part = 0; part < b->parts; part++) {
		for (uint32_t slab = 0; slab < p->k_steps; slab++) {
			uint32_t step = part * p->k_steps + slab,
				 first = (uint32_t)p->transfer_count;
			uint32_t row = slab ? chunk[0].at : b->at;
			for (uint32_t i = b->rules->own_separate; i < devices; i++) {
				if (slab == 0)
					chunk[i] = add_chunk(b, peer_at_distance(b, i), part);
				if (i > 0)
					add_arrival(b, &chunk[i], b->rules->one_link ? i - 1 : step,
						    slab, i);
				if (!b->rules->fused)
					add_piece(b, step, chunk[i].at, chunk[i].rows, slab,
						  (uint32_t)p->transfer_count - 1);
			}
			if (b->rules->fused)
				add_piece(b, step, row, b->at - row, slab, first);
		}
	}
}

/* The mirror image: a transfer waits for its GEMM, and the own group comes last, concurrent with
 * the last transfers. */
static void build_departures(struct plan_builder *b)
{
	struct ficco_plan *p = b->p;
	uint32_t devices = p->problem.devices;
	struct ficco_chunk chunk[FICCO_MAX_DEVICES];
	for (uint32_t part = 0; part < b->parts; part++) {
		uint32_t row = b->at, fused = (uint32_t)p->piece_count;
		for (uint32_t i = b->rules->own_separate; i < devices; i++)
			chunk[i] = add_chunk(b, peer_at_distance(b, i), part);
		if (b->rules->fused)
			add_piece(b, part, row, b->at - row, 0, (uint32_t)p->transfer_count);
		for (uint32_t i = b->rules->own_separate; i < devices; i++) {
			uint32_t piece = fused;
			if (!b->rules->fused)
				piece = add_piece(b, part, chunk[i].at, chunk[i].rows, 0,
						  (uint32_t)p->transfer_count);
			if (i > 0)
				add_departure(b, &chunk[i], b->rules->one_link ? i - 1 : part,
					      piece, i);
		}
	}
	if (b->rules->own_separate) {
		uint32_t row = b->at;
		add_own_chunks(b);
		add_piece(b, b->parts, row, b->at - row, 0, (uint32_t)p->transfer_count);
	}
}

/* ------------------------------------------------------------------ reductions */

/* Index of the transfer that fills a staging slot. All devices have the same number of transfers,
 * ordered by part, then by distance to the receiver; slot 0 is distance 1. */
static uint32_t incoming_transfer(const struct plan_builder *b, uint32_t part, uint32_t slot)
{
	uint32_t devices = b->p->problem.devices,
		 sender = (b->device + devices - slot - 1) % devices;
	return (sender * b->parts + part) * (devices - 1) + slot;
}

/* Finds the chunk with this part of the device's own group, and the piece that computes it. */
static const struct ficco_chunk *own_chunk(const struct plan_builder *b, uint32_t part,
					   uint32_t *piece_p)
{
	const struct ficco_plan *p = b->p;
	uint32_t first = ficco_part_begin(p->rows[b->device][b->device], b->parts, part);
	size_t c = (size_t)b->device * p->problem.devices * b->parts,
	       i = b->device * p->piece_count / p->problem.devices;
	while (p->chunks[c].group != b->device || p->chunks[c].first != first)
		c++;
	while (p->chunks[c].at - p->pieces[i].row >= p->pieces[i].rows)
		i++;
	*piece_p = (uint32_t)i;
	return &p->chunks[c];
}

/* A device that computes its own group last adds up the partial sums of the others meanwhile, in
 * the slot of the first one. */
static void build_reductions(struct plan_builder *b)
{
	struct ficco_plan *p = b->p;
	uint32_t own = p->rows[b->device][b->device], slots = p->problem.devices - 1,
		 last = b->rules->own_separate ? 1 : slots;
	uint64_t n = p->problem.n, slot_size = own * n;
	for (uint32_t part = 0; part < b->parts; part++) {
		uint64_t at = ficco_part_begin(own, b->parts, part) * n,
			 count = part_width(own, b->parts, part) * n;
		for (uint32_t slot = last; slot < slots; slot++)
			p->reductions[p->reduction_count++] = (struct ficco_reduction){
				.device = b->device,
				.to_staging = true,
				.from_offset = slot * slot_size + at,
				.to_offset = at,
				.count = count,
				.transfer = {incoming_transfer(b, part, 0),
					     incoming_transfer(b, part, slot)},
				.piece = FICCO_NONE};
	}
	for (uint32_t part = 0; part < b->parts; part++) {
		uint32_t piece;
		const struct ficco_chunk *chunk = own_chunk(b, part, &piece);
		for (uint32_t slot = 0; slot < last; slot++)
			p->reductions[p->reduction_count++] = (struct ficco_reduction){
				.device = b->device,
				.from_offset = slot * slot_size + chunk->first * n,
				.to_offset = chunk->at * n,
				.count = chunk->rows * n,
				.transfer = {incoming_transfer(b, part, slot), FICCO_NONE},
				.piece = piece};
	}
}

/* ------------------------------------------------------------------ the plan */

/* A device has at most one of each for every part and slab of its G groups, and the GEMM of its
 * own group. */
static int alloc_arrays(struct ficco_plan *p)
{
	size_t devices = p->problem.devices,
	       parts = row_parts(&ficco_schedule_rules[p->schedule], p->problem.devices),
	       each = devices * parts * p->k_steps + 1;
	p->chunks = calloc(devices * each, sizeof(*p->chunks));
	p->transfers = calloc(devices * each, sizeof(*p->transfers));
	p->pieces = calloc(devices * each, sizeof(*p->pieces));
	p->reductions = calloc(devices * each, sizeof(*p->reductions));
	bool all = p->chunks && p->transfers && p->pieces && p->reductions;
	return all ? 0 : err_note(-ENOMEM, "a schedule of %zu devices: out of memory", devices);
}

static void build_plan(struct ficco_plan *p)
{
	const struct ficco_rules *rules = &ficco_schedule_rules[p->schedule];
	struct plan_builder b = {
		.p = p, .rules = rules, .parts = row_parts(rules, p->problem.devices)};
	p->steps = b.parts * p->k_steps;
	if (rules->one_link)
		p->steps = p->problem.devices - 1;
	for (b.device = 0; b.device < p->problem.devices; b.device++) {
		b.at = 0;
		if (p->problem.op == FICCO_GEMM_RS)
			build_departures(&b);
		else
			build_arrivals(&b);
	}
	for (b.device = 0; p->problem.op == FICCO_GEMM_RS && b.device < p->problem.devices;
	     b.device++)
		build_reductions(&b);
}

int ficco_plan_open(const struct ficco_problem *problem, enum ficco_schedule schedule,
		    struct ficco_plan **p_p)
{
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
	p->k_steps = column_parts(&ficco_schedule_rules[schedule], problem->devices);
	assign_rows(p);
	int status = admit(p);
	if (status == 0)
		status = alloc_arrays(p);
	if (status == 0)
		build_plan(p);
	if (status)
		ficco_plan_close(p);
	else
		*p_p = p;
	return status;
}

void ficco_plan_close(struct ficco_plan *p)
{
	if (!p)
		return;
	free(p->chunks);
	free(p->transfers);
	free(p->pieces);
	free(p->reductions);
	free(p);
}
