/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/schedules/plan.h"
#include "lib/err.h"
#include "lib/rng.h"

#include <errno.h>
#include <stdlib.h>

const char *const overlap_ops[] = {"ag-gemm", "gemm-rs", "a2a-gemm", "a2a-gemm-uneven", NULL};
const char *const overlap_schedules[] = {"serial",          "shard",             "uniform-fused-1d",
                                         "hetero-fused-1d", "hetero-unfused-1d", "uniform-fused-2d", NULL};

const struct overlap_rules overlap_schedule_rules[OVERLAP_SCHEDULES] = {
	[OVERLAP_SERIAL] = {.fused = true},
	[OVERLAP_SHARD] = {.own_apart = true, .one_link = true},
	[OVERLAP_UNIFORM_FUSED_1D] = {.rows_cut = true, .fused = true},
	[OVERLAP_HETERO_FUSED_1D] = {.rows_cut = true, .own_apart = true, .fused = true},
	[OVERLAP_HETERO_UNFUSED_1D] = {.rows_cut = true, .own_apart = true},
	[OVERLAP_UNIFORM_FUSED_2D] = {.columns_cut = true, .fused = true},
};

/* The router: the most popular expert gets up to three times what the least popular one does. */
#define LEAST_POPULAR 0.5
#define MOST_POPULAR 1.5

uint32_t overlap_cut(uint32_t side, uint32_t parts, uint32_t number)
{
	return (uint32_t)((uint64_t)side * number / parts);
}

static uint32_t width(uint32_t side, uint32_t parts, uint32_t number)
{
	return overlap_cut(side, parts, number + 1) - overlap_cut(side, parts, number);
}

/* ------------------------------------------------------------------ who has which rows */

/* What a device has goes to the experts in proportion to seeded weights, whole rows, none left over. */
static void route_rows(struct overlap_plan *p)
{
	uint32_t devices = p->problem.devices;
	double popular[OVERLAP_MOST_DEVICES];
	struct rng r;
	rng_seed(&r, p->problem.seed, 0);
	for (uint32_t d = 0; d < devices; d++)
		popular[d] = LEAST_POPULAR + (MOST_POPULAR - LEAST_POPULAR) * rng_unit(&r);
	for (uint32_t from = 0; from < devices; from++) {
		double weight[OVERLAP_MOST_DEVICES], all = 0.0, sum = 0.0;
		uint32_t given = 0;
		for (uint32_t d = 0; d < devices; d++)
			all += weight[d] = popular[d] * (LEAST_POPULAR + (MOST_POPULAR - LEAST_POPULAR) * rng_unit(&r));
		for (uint32_t d = 0; d < devices; d++) {
			sum += weight[d];
			uint32_t end = d + 1 == devices ? p->problem.m : (uint32_t)(sum / all * p->problem.m);
			p->rows[d][from] = end - given;
			given = end;
		}
	}
}

static void share_rows(struct overlap_plan *p)
{
	uint32_t devices = p->problem.devices;
	for (uint32_t d = 0; d < devices; d++)
		for (uint32_t r = 0; r < devices; r++)
			p->rows[d][r] = width(p->problem.m, devices, r);
	if (p->problem.op == OVERLAP_A2A_GEMM_UNEVEN)
		route_rows(p);
	for (uint32_t d = 0; d < devices; d++) {
		for (uint32_t r = 0; r < devices; r++)
			p->all_rows[d] += p->rows[d][r];
		if (p->problem.op == OVERLAP_AG_GEMM)
			p->send_elements[d] = (uint64_t)p->rows[d][d] * p->problem.k;
		else if (p->problem.op == OVERLAP_GEMM_RS)
			p->staging_elements[d] = (uint64_t)(devices - 1) * p->rows[d][d] * p->problem.n;
		else
			p->send_elements[d] = overlap_plan_send_at(p, d, devices);
	}
}

uint64_t overlap_plan_send_at(const struct overlap_plan *p, uint32_t from, uint32_t to)
{
	uint64_t rows = 0;
	if (p->problem.op == OVERLAP_AG_GEMM)
		return 0;
	for (uint32_t d = 0; d < to; d++)
		rows += p->rows[d][from];
	return rows * p->problem.k;
}

static int rows_suffice(const struct overlap_plan *p, uint32_t parts)
{
	for (uint32_t d = 0; d < p->problem.devices; d++)
		for (uint32_t r = 0; r < p->problem.devices; r++)
			if (p->rows[d][r] < parts)
				return err_note(-EINVAL, "%s on %u devices: %u rows of %u on device %u can't be cut in %u",
				                overlap_schedules[p->schedule], p->problem.devices, p->rows[d][r], p->all_rows[d],
				                d, parts);
	return 0;
}

static int admit(const struct overlap_plan *p)
{
	const struct overlap_problem *o = &p->problem;
	const struct overlap_rules *rules = &overlap_schedule_rules[p->schedule];
	if (o->op == OVERLAP_GEMM_RS && rules->columns_cut)
		return err_note(-ENOTSUP, "%s: no element of C is finished before the last part of K, so gemm-rs has nothing to send",
		                overlap_schedules[p->schedule]);
	if (rules->columns_cut && o->k < o->devices)
		return err_note(-EINVAL, "%s on %u devices: K of %u can't be cut in %u", overlap_schedules[p->schedule], o->devices,
		                o->k, o->devices);
	return rows_suffice(p, rules->rows_cut ? o->devices : 1);
}

/* ------------------------------------------------------------------ what happens on one device */

/* One device's part of a plan in the making. */
struct maker {
	struct overlap_plan *p;
	const struct overlap_rules *rules;
	uint32_t device, parts, at; /* rows placed so far */
};

static uint32_t peer_of(const struct maker *x, uint32_t distance) { return (x->device + distance) % x->p->problem.devices; }

static struct overlap_block add_block(struct maker *x, uint32_t group, uint32_t part)
{
	uint32_t rows = x->p->rows[x->device][group];
	struct overlap_block block = {.device = x->device, .group = group, .first = overlap_cut(rows, x->parts, part),
	                              .rows = width(rows, x->parts, part), .at = x->at};
	x->p->blocks[x->p->block_count++] = block;
	x->at += block.rows;
	return block;
}

/* All rows of a group, its parts one after the other. */
static void add_own(struct maker *x)
{
	for (uint32_t part = 0; part < x->parts; part++)
		add_block(x, x->device, part);
}

static uint32_t add_piece(struct maker *x, uint32_t step, uint32_t row, uint32_t rows, uint32_t slab, uint32_t first_transfer)
{
	struct overlap_plan *p = x->p;
	uint32_t column = overlap_cut(p->problem.k, p->k_steps, slab), columns = width(p->problem.k, p->k_steps, slab);
	p->pieces[p->piece_count] = (struct overlap_piece){
		.device = x->device, .step = step, .row = row, .rows = rows, .column = column, .columns = columns, .lda = columns,
		.a_at = (uint64_t)p->all_rows[x->device] * column + (uint64_t)row * columns, .adds = slab > 0,
		.first_transfer = first_transfer, .transfers = (uint32_t)p->transfer_count - first_transfer};
	return (uint32_t)p->piece_count++;
}

/* The slab of a block comes from the peer that has the group. */
static void add_arrival(struct maker *x, const struct overlap_block *b, uint32_t step, uint32_t slab, uint32_t distance)
{
	struct overlap_plan *p = x->p;
	uint32_t column = overlap_cut(p->problem.k, p->k_steps, slab), columns = width(p->problem.k, p->k_steps, slab);
	uint64_t group_rows = p->rows[x->device][b->group];
	p->transfers[p->transfer_count++] = (struct overlap_transfer){
		.from = b->group, .to = x->device, .step = step, .piece = OVERLAP_NONE,
		.link = x->rules->one_link ? 0 : distance - 1,
		.from_at = overlap_plan_send_at(p, b->group, x->device) + group_rows * column + (uint64_t)b->first * columns,
		.to_at = (uint64_t)p->all_rows[x->device] * column + (uint64_t)b->at * columns, .count = (uint64_t)b->rows * columns};
}

/* A device's terms of the group's rows go to whom they belong. */
static void add_departure(struct maker *x, const struct overlap_block *b, uint32_t step, uint32_t piece, uint32_t distance)
{
	struct overlap_plan *p = x->p;
	uint64_t n = p->problem.n, slot = (uint64_t)(distance - 1) * p->rows[b->group][b->group];
	p->transfers[p->transfer_count++] = (struct overlap_transfer){
		.from = x->device, .to = b->group, .step = step, .piece = piece, .link = x->rules->one_link ? 0 : distance - 1,
		.from_at = b->at * n, .to_at = (slot + b->first) * n, .count = b->rows * n};
}

/* Products wait for what arrives. Only the first step places rows where columns are what is cut. */
static void make_arrivals(struct maker *x)
{
	struct overlap_plan *p = x->p;
	uint32_t devices = p->problem.devices;
	struct overlap_block block[OVERLAP_MOST_DEVICES] = {{0}};
	if (x->rules->own_apart) {
		add_own(x);
		add_piece(x, 0, 0, x->at, 0, (uint32_t)p->transfer_count);
	}
	for (uint32_t part = 0; part < x->parts; part++) {
		for (uint32_t slab = 0; slab < p->k_steps; slab++) {
			uint32_t step = part * p->k_steps + slab, first = (uint32_t)p->transfer_count;
			uint32_t row = slab ? block[0].at : x->at;
			for (uint32_t i = x->rules->own_apart; i < devices; i++) {
				if (slab == 0)
					block[i] = add_block(x, peer_of(x, i), part);
				if (i > 0)
					add_arrival(x, &block[i], x->rules->one_link ? i - 1 : step, slab, i);
				if (!x->rules->fused)
					add_piece(x, step, block[i].at, block[i].rows, slab, (uint32_t)p->transfer_count - 1);
			}
			if (x->rules->fused)
				add_piece(x, step, row, x->at - row, slab, first);
		}
	}
}

/* The mirror: what leaves waits for its product, and the own group comes last, beside what leaves. */
static void make_departures(struct maker *x)
{
	struct overlap_plan *p = x->p;
	uint32_t devices = p->problem.devices;
	struct overlap_block block[OVERLAP_MOST_DEVICES];
	for (uint32_t part = 0; part < x->parts; part++) {
		uint32_t row = x->at, fused = (uint32_t)p->piece_count;
		for (uint32_t i = x->rules->own_apart; i < devices; i++)
			block[i] = add_block(x, peer_of(x, i), part);
		if (x->rules->fused)
			add_piece(x, part, row, x->at - row, 0, (uint32_t)p->transfer_count);
		for (uint32_t i = x->rules->own_apart; i < devices; i++) {
			uint32_t piece = fused;
			if (!x->rules->fused)
				piece = add_piece(x, part, block[i].at, block[i].rows, 0, (uint32_t)p->transfer_count);
			if (i > 0)
				add_departure(x, &block[i], x->rules->one_link ? i - 1 : part, piece, i);
		}
	}
	if (x->rules->own_apart) {
		uint32_t row = x->at;
		add_own(x);
		add_piece(x, x->parts, row, x->at - row, 0, (uint32_t)p->transfer_count);
	}
}

/* ------------------------------------------------------------------ adding what arrived */

/* Every device has as many transfers, part by part and by distance. Distance 1 is in the first slot. */
static uint32_t arrival(const struct maker *x, uint32_t part, uint32_t slot)
{
	uint32_t devices = x->p->problem.devices, sender = (x->device + devices - slot - 1) % devices;
	return (sender * x->parts + part) * (devices - 1) + slot;
}

/* The block with this part of the device's own group, and the piece that computes it. */
static const struct overlap_block *own_block(const struct maker *x, uint32_t part, uint32_t *piece_p)
{
	const struct overlap_plan *p = x->p;
	uint32_t first = overlap_cut(p->rows[x->device][x->device], x->parts, part);
	size_t b = (size_t)x->device * p->problem.devices * x->parts, i = x->device * p->piece_count / p->problem.devices;
	while (p->blocks[b].group != x->device || p->blocks[b].first != first)
		b++;
	while (p->blocks[b].at - p->pieces[i].row >= p->pieces[i].rows)
		i++;
	*piece_p = (uint32_t)i;
	return &p->blocks[b];
}

/* A device that computes its own terms last adds up those of the others meanwhile, in the slot of the first. */
static void make_reductions(struct maker *x)
{
	struct overlap_plan *p = x->p;
	uint32_t own = p->rows[x->device][x->device], slots = p->problem.devices - 1, last = x->rules->own_apart ? 1 : slots;
	uint64_t n = p->problem.n, slot_size = own * n;
	for (uint32_t part = 0; part < x->parts; part++) {
		uint64_t at = overlap_cut(own, x->parts, part) * n, count = width(own, x->parts, part) * n;
		for (uint32_t slot = last; slot < slots; slot++)
			p->reductions[p->reduction_count++] = (struct overlap_reduction){
				.device = x->device, .to_staging = true, .from_at = slot * slot_size + at, .to_at = at, .count = count,
				.transfer = {arrival(x, part, 0), arrival(x, part, slot)}, .piece = OVERLAP_NONE};
	}
	for (uint32_t part = 0; part < x->parts; part++) {
		uint32_t piece;
		const struct overlap_block *block = own_block(x, part, &piece);
		for (uint32_t slot = 0; slot < last; slot++)
			p->reductions[p->reduction_count++] = (struct overlap_reduction){
				.device = x->device, .from_at = slot * slot_size + block->first * n, .to_at = block->at * n,
				.count = block->rows * n, .transfer = {arrival(x, part, slot), OVERLAP_NONE}, .piece = piece};
	}
}

/* ------------------------------------------------------------------ the whole */

/* Room for every device's G groups in G parts, and its own product. */
static int make_room(struct overlap_plan *p)
{
	size_t devices = p->problem.devices, each = devices * devices + 1;
	p->blocks = calloc(devices * each, sizeof(*p->blocks));
	p->transfers = calloc(devices * each, sizeof(*p->transfers));
	p->pieces = calloc(devices * each, sizeof(*p->pieces));
	p->reductions = calloc(devices * each, sizeof(*p->reductions));
	bool all = p->blocks && p->transfers && p->pieces && p->reductions;
	return all ? 0 : err_note(-ENOMEM, "a schedule of %zu devices: out of memory", devices);
}

static void make(struct overlap_plan *p)
{
	const struct overlap_rules *rules = &overlap_schedule_rules[p->schedule];
	struct maker x = {.p = p, .rules = rules, .parts = rules->rows_cut ? p->problem.devices : 1};
	p->steps = x.parts * p->k_steps;
	if (rules->one_link)
		p->steps = p->problem.devices - 1;
	for (x.device = 0; x.device < p->problem.devices; x.device++) {
		x.at = 0;
		if (p->problem.op == OVERLAP_GEMM_RS)
			make_departures(&x);
		else
			make_arrivals(&x);
	}
	for (x.device = 0; p->problem.op == OVERLAP_GEMM_RS && x.device < p->problem.devices; x.device++)
		make_reductions(&x);
}

int overlap_plan_open(const struct overlap_problem *problem, enum overlap_schedule schedule, struct overlap_plan **p_p)
{
	if (problem->devices < 2 || problem->devices > OVERLAP_MOST_DEVICES)
		return err_note(-EINVAL, "%u devices: not within 2..%u", problem->devices, OVERLAP_MOST_DEVICES);
	if (problem->m == 0 || problem->n == 0 || problem->k == 0)
		return err_note(-EINVAL, "%ux%ux%u: a side is 0", problem->m, problem->n, problem->k);
	struct overlap_plan *p = calloc(1, sizeof(*p));
	if (!p)
		return err_note(-ENOMEM, "a schedule of %u devices: out of memory", problem->devices);
	p->problem = *problem;
	p->schedule = schedule;
	p->k_steps = overlap_schedule_rules[schedule].columns_cut ? problem->devices : 1;
	share_rows(p);
	int status = admit(p);
	if (status == 0)
		status = make_room(p);
	if (status == 0)
		make(p);
	if (status)
		overlap_plan_close(p);
	else
		*p_p = p;
	return status;
}

void overlap_plan_close(struct overlap_plan *p)
{
	if (!p)
		return;
	free(p->blocks);
	free(p->transfers);
	free(p->pieces);
	free(p->reductions);
	free(p);
}
