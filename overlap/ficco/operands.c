/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/operands.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/small_float.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 3, VALUES = 2 * LARGEST + 1, T_VALUES = 4 };

static bool scatters(const struct operands *o) { return o->plan->problem.op == OVERLAP_GEMM_RS; }

/* ------------------------------------------------------------------ integers as elements */

static void encode(enum dev_type type, const int8_t *from, uint64_t count, void *to)
{
	for (uint64_t i = 0; i < count; i++) {
		float x = from[i];
		switch (type) {
		case DEV_F64:
			((double *)to)[i] = from[i];
			break;
		case DEV_F16:
			((uint16_t *)to)[i] = small_f16(x);
			break;
		case DEV_BF16:
			((uint16_t *)to)[i] = small_bf16(x);
			break;
		case DEV_F8:
			((uint8_t *)to)[i] = small_f8(x);
			break;
		default:
			((float *)to)[i] = x;
		}
	}
}

/* C is stored as A and B are, but of f8 as bf16. */
static double result(enum dev_type type, const void *at, uint64_t i)
{
	switch (type) {
	case DEV_F64:
		return ((const double *)at)[i];
	case DEV_F16:
		return (double)small_f16_value(((const uint16_t *)at)[i]);
	case DEV_BF16:
	case DEV_F8:
		return (double)small_bf16_value(((const uint16_t *)at)[i]);
	default:
		return (double)((const float *)at)[i];
	}
}

/* How far rounding to a narrow C takes a number, relative; 0: sums fit. */
static double rounding(enum dev_type type)
{
	return type == DEV_F16 ? 0x1p-11 : type == DEV_BF16 || type == DEV_F8 ? 0x1p-8 : 0.0;
}

static int8_t *draw(struct bench_case *c, uint64_t count)
{
	int8_t *drawn = own_host(c, count);
	for (uint64_t i = 0; drawn && i < count;) {
		uint64_t some = rng_u64(&c->rng);
		for (int byte = 0; byte < 8 && i < count; byte++, some >>= 8)
			drawn[i++] = (int8_t)((int)((some & 0xff) % VALUES) - LARGEST);
	}
	return drawn;
}

/* Numbers of the host as elements in memory that the case then owns. */
static char *place(struct operands *o, struct bench_case *c, struct dev *dev, enum dev_mem kind, const int8_t *from,
                   uint64_t count, uint64_t bytes_each)
{
	char *memory = own_memory_on(c, dev, kind, count * bytes_each);
	void *encoded = memory ? malloc(count * bytes_each) : NULL;
	if (memory && !encoded)
		own_result(c, err_note(-ENOMEM, "%llu elements on the host: out of memory", (unsigned long long)count));
	if (encoded) {
		encode(o->type, from, count, encoded);
		own_result(c, dev_upload(dev, memory, encoded, count * bytes_each));
	}
	free(encoded);
	return memory;
}

/* ------------------------------------------------------------------ set-up */

double operands_bytes(const struct overlap_plan *p, enum dev_type type, bool columns_cut)
{
	double most = 0.0, each = dev_type_bytes(type), sums = dev_type_result_bytes(type);
	bool rs = p->problem.op == OVERLAP_GEMM_RS;
	for (uint32_t d = 0; d < p->problem.devices; d++) {
		double a = (double)p->all_rows[d] * p->problem.k * each, result_bytes = (double)p->all_rows[d] * p->problem.n * sums;
		double all = a + result_bytes + (double)p->problem.k * p->problem.n * each + (rs ? result_bytes : a);
		all += (double)p->send_elements[d] * each * (columns_cut ? 2.0 : 1.0) + (double)p->staging_elements[d] * sums;
		most = all > most ? all : most;
	}
	return most;
}

/* What a member sends, group after group: its rows as they are drawn, or each group's as slabs of columns. */
static int8_t *slabs_of(struct operands *o, struct bench_case *c, uint32_t sender)
{
	const struct overlap_plan *p = o->plan;
	uint32_t k = p->problem.k, parts = p->problem.devices, groups = p->problem.op == OVERLAP_AG_GEMM ? 1 : parts;
	int8_t *slabs = own_host(c, p->send_elements[sender]), *at = slabs;
	const int8_t *from = o->member[sender].host_a;
	for (uint32_t group = 0; slabs && from && group < groups; group++) {
		uint32_t rows = p->rows[groups == 1 ? sender : group][sender];
		for (uint32_t slab = 0; slab < parts; slab++) {
			uint32_t first = overlap_cut(k, parts, slab), width = overlap_cut(k, parts, slab + 1) - first;
			for (uint32_t row = 0; row < rows; row++, at += width)
				memcpy(at, from + (uint64_t)row * k + first, width);
		}
		from += (uint64_t)rows * k;
	}
	return slabs;
}

/* What a peer that is host memory gets: the device's terms of its rows, or what the device has for it. */
static uint64_t landed_bytes(const struct operands *o, uint32_t i)
{
	const struct overlap_plan *p = o->plan;
	if (scatters(o))
		return (uint64_t)p->rows[i][i] * p->problem.n * o->result_bytes;
	return (uint64_t)p->rows[i][0] * p->problem.k * o->element_bytes;
}

static void open_sends(struct operands *o, struct bench_case *c, uint32_t i, bool columns_cut)
{
	const struct overlap_plan *p = o->plan;
	struct member *m = &o->member[i];
	struct dev *dev = m->dev ? m->dev : c->dev;
	enum dev_mem kind = m->dev ? DEV_MEM_DEVICE : DEV_MEM_PINNED;
	m->host_a = draw(c, p->send_elements[i]);
	m->send = place(o, c, dev, kind, m->host_a, p->send_elements[i], o->element_bytes);
	if (!m->dev)
		m->landed = own_memory(c, DEV_MEM_PINNED, landed_bytes(o, i));
	if (columns_cut && own_status(c) == 0)
		m->slabs = place(o, c, dev, kind, slabs_of(o, c, i), p->send_elements[i], o->element_bytes);
}

/* Terms are floats like C; those of a peer are drawn as integers, and nobody computes them. */
static void open_terms(struct operands *o, struct bench_case *c, uint32_t i)
{
	const struct overlap_plan *p = o->plan;
	struct member *m = &o->member[i];
	uint64_t rows = p->all_rows[i], mine = (uint64_t)p->rows[0][0] * p->problem.n;
	if (m->dev) {
		m->host_a = draw(c, rows * p->problem.k);
		m->a = place(o, c, m->dev, DEV_MEM_DEVICE, m->host_a, rows * p->problem.k, o->element_bytes);
		m->staging = own_memory_on(c, m->dev, DEV_MEM_DEVICE, p->staging_elements[i] * o->result_bytes);
	} else {
		m->host_a = draw(c, mine);
		m->terms = place(o, c, c->dev, DEV_MEM_PINNED, m->host_a, mine, o->result_bytes);
		m->landed = own_memory(c, DEV_MEM_PINNED, landed_bytes(o, i));
	}
}

static void open_device(struct operands *o, struct bench_case *c, uint32_t i)
{
	const struct overlap_plan *p = o->plan;
	struct member *m = &o->member[i];
	uint64_t a = (uint64_t)p->all_rows[i] * p->problem.k * o->element_bytes;
	uint64_t sums = (uint64_t)p->all_rows[i] * p->problem.n * o->result_bytes, spare = scatters(o) ? sums : a;
	m->dev = c->devices->dev[i];
	m->stream = own_stream_on(c, m->dev, dev_props(m->dev)->priority_normal);
	m->host_b = draw(c, (uint64_t)p->problem.k * p->problem.n);
	m->b = place(o, c, m->dev, DEV_MEM_DEVICE, m->host_b, (uint64_t)p->problem.k * p->problem.n, o->element_bytes);
	m->c = own_memory_on(c, m->dev, DEV_MEM_DEVICE, sums);
	m->spare = own_memory_on(c, m->dev, DEV_MEM_DEVICE, spare);
	if (!scatters(o))
		m->a = own_memory_on(c, m->dev, DEV_MEM_DEVICE, a);
	/* No number that is slow to compute with, and none that grows when it is added to itself. */
	if (own_status(c) == 0)
		own_result(c, dev_fill(m->dev, m->stream, m->spare, 0, spare));
	if (own_status(c) == 0 && !scatters(o))
		own_result(c, dev_fill(m->dev, m->stream, m->a, 0, a));
	if (own_status(c) == 0)
		own_result(c, dev_stream_sync(m->dev, m->stream));
}

int operands_open(struct operands *o, struct bench_case *c, const struct overlap_plan *plan, enum dev_type type,
                  bool columns_cut)
{
	uint32_t devices = (uint32_t)c->devices->count;
	*o = (struct operands){.plan = plan, .type = type, .element_bytes = dev_type_bytes(type), .members = plan->problem.devices,
	                       .result_bytes = dev_type_result_bytes(type), .devices = devices};
	double needed = operands_bytes(plan, type, columns_cut);
	for (uint32_t i = 0; i < devices; i++)
		if (needed > 0.8 * (double)dev_props(c->devices->dev[i])->memory_bytes)
			return own_result(c, err_note(-ENOMEM, "%s of %ux%ux%u takes %.3g GB a device, device %u has %.3g GB free",
			                              overlap_ops[plan->problem.op], plan->problem.m, plan->problem.n, plan->problem.k,
			                              1e-9 * needed, i, 1e-9 * (double)dev_props(c->devices->dev[i])->memory_bytes));
	for (uint32_t i = 0; i < o->members && own_status(c) == 0; i++) {
		if (i < devices)
			open_device(o, c, i);
		if (scatters(o))
			open_terms(o, c, i);
		else
			open_sends(o, c, i, columns_cut);
	}
	return own_status(c);
}

struct dev_gemm operands_gemm(const struct operands *o, const struct overlap_piece *g)
{
	const struct overlap_problem *p = &o->plan->problem;
	const struct member *m = &o->member[g->device];
	bool transposed = o->type == DEV_F8;
	return (struct dev_gemm){.type = o->type, .m = g->rows, .n = p->n, .k = g->columns, .alpha = 1.0,
	                         .beta = g->adds ? 1.0 : 0.0, .a = m->a + g->a_at * o->element_bytes,
	                         .b = m->b + (uint64_t)g->column * (transposed ? 1 : p->n) * o->element_bytes,
	                         .c = m->c + (uint64_t)g->row * p->n * o->result_bytes, .lda = g->lda,
	                         .ldb = transposed ? p->k : p->n, .ldc = p->n, .b_transposed = transposed};
}

/* ------------------------------------------------------------------ before a run and before a check */

static int wait_for_all(const struct operands *o, int status)
{
	for (uint32_t d = 0; d < o->devices; d++) {
		int synced = dev_stream_sync(o->member[d].dev, o->member[d].stream);
		status = status ? status : synced;
	}
	return status;
}

static int arrange_block(const struct operands *o, const struct overlap_plan *p, const struct overlap_block *b)
{
	const struct member *m = &o->member[b->device];
	const char *from = (p->k_steps > 1 ? m->slabs : m->send) + overlap_plan_send_at(p, b->device, b->device) * o->element_bytes;
	uint64_t group_rows = p->rows[b->device][b->device];
	int status = 0;
	for (uint32_t slab = 0; status == 0 && slab < p->k_steps; slab++) {
		uint64_t column = overlap_cut(p->problem.k, p->k_steps, slab);
		uint64_t width = overlap_cut(p->problem.k, p->k_steps, slab + 1) - column;
		uint64_t to_at = p->all_rows[b->device] * column + b->at * width, from_at = group_rows * column + b->first * width;
		status = dev_copy(m->dev, m->stream, m->a + to_at * o->element_bytes, from + from_at * o->element_bytes,
		                  b->rows * width * o->element_bytes);
	}
	return status;
}

int operands_arrange(const struct operands *o, const struct overlap_plan *p)
{
	int status = 0;
	for (size_t i = 0; status == 0 && !scatters(o) && i < p->block_count; i++)
		if (p->blocks[i].group == p->blocks[i].device && p->blocks[i].device < o->devices)
			status = arrange_block(o, p, &p->blocks[i]);
	return wait_for_all(o, status);
}

int operands_spoil(const struct operands *o)
{
	const struct overlap_plan *p = o->plan;
	int status = 0;
	for (uint32_t d = 0; status == 0 && d < o->devices; d++) {
		const struct member *m = &o->member[d];
		status = dev_fill(m->dev, m->stream, m->c, 0x7f, (uint64_t)p->all_rows[d] * p->problem.n * o->result_bytes);
		if (status == 0 && scatters(o))
			status = dev_fill(m->dev, m->stream, m->staging, 0x7f, p->staging_elements[d] * o->result_bytes);
		else if (status == 0)
			status = dev_fill(m->dev, m->stream, m->a, 0x7f, (uint64_t)p->all_rows[d] * p->problem.k * o->element_bytes);
	}
	for (uint32_t i = o->devices; i < o->members; i++)
		memset(o->member[i].landed, 0x7f, landed_bytes(o, i));
	return wait_for_all(o, status);
}

/* ------------------------------------------------------------------ the check */

struct checker {
	const struct operands *o;
	const struct overlap_plan *p;
	double *t, *bt[OPERANDS_MOST];
	void *c;
	double allowed; /* of a sum over t, relative to the sum of what rounds */
};

/* B t, of B as k x n or, transposed, as n x k. */
static void times_t(const struct operands *o, const int8_t *b, const double *t, double *bt)
{
	uint32_t n = o->plan->problem.n, k = o->plan->problem.k;
	bool transposed = o->type == DEV_F8;
	for (uint32_t i = 0; i < k; i++)
		bt[i] = 0.0;
	for (uint32_t row = 0; row < (transposed ? n : k); row++)
		for (uint32_t column = 0; column < (transposed ? k : n); column++)
			bt[transposed ? column : row] += b[(uint64_t)row * (transposed ? k : n) + column] * t[transposed ? row : column];
}

static double dot(const int8_t *a, const double *x, uint32_t count)
{
	double sum = 0.0;
	for (uint32_t i = 0; i < count; i++)
		sum += a[i] * x[i];
	return sum;
}

/* A row of C against what it must be. Where parts of K are added into a narrow C, each rounds what is there: sums of 3 x 3 walk
 * 4 sqrt(K) far, and hardly ever 8 times that. */
static int compare(const struct checker *x, const void *c, uint64_t row, double due, const char *where, uint32_t device)
{
	uint32_t n = x->p->problem.n, k_steps = x->p->k_steps;
	double sum = 0.0, rounds = 0.0, walk = 32.0 * sqrt(x->p->problem.k);
	for (uint32_t i = 0; i < n; i++) {
		double value = result(x->o->type, c, row * n + i);
		sum += value * x->t[i];
		rounds += fabs(x->t[i]) * (fabs(value) + (k_steps - 1) * walk);
	}
	/* Written so that NaN is wrong. */
	if (fabs(sum - due) <= rounding(x->o->type) * rounds)
		return 0;
	return bench_wrong("row %llu of %s %u gives %.17g, not %.17g", (unsigned long long)row, where, device, sum, due);
}

/* The row of a device's A that becomes this row of C. */
static const int8_t *row_of_a(const struct checker *x, const struct overlap_block *b, uint32_t row)
{
	const struct overlap_plan *p = x->p;
	if (p->problem.op == OVERLAP_GEMM_RS)
		return x->o->member[b->device].host_a + (uint64_t)(b->at + row) * p->problem.k;
	return x->o->member[b->group].host_a + overlap_plan_send_at(p, b->group, b->device) +
	       (uint64_t)(b->first + row) * p->problem.k;
}

/* A row of the sum: the terms of all devices, whose blocks of this part stand at places of their own, and of all peers. */
static double sum_of_terms(const struct checker *x, const struct overlap_block *own, uint32_t row)
{
	const struct overlap_plan *p = x->p;
	uint32_t n = p->problem.n;
	double sum = 0.0;
	for (size_t i = 0; i < p->block_count; i++) {
		const struct overlap_block *b = &p->blocks[i];
		if (b->group == own->group && b->first == own->first && b->device < x->o->devices)
			sum += dot(row_of_a(x, b, row), x->bt[b->device], p->problem.k);
	}
	for (uint32_t i = x->o->devices; i < x->o->members; i++)
		sum += dot(x->o->member[i].host_a + (uint64_t)(own->first + row) * n, x->t, n);
	return sum;
}

/* A block of C on a device; what a peer got of it stands in the peer's memory. */
static int check_block(const struct checker *x, const struct overlap_block *b)
{
	const struct operands *o = x->o;
	bool scattered = scatters(o) && b->group != b->device, sums = scatters(o) && !scattered;
	int status = 0;
	for (uint32_t row = 0; status == 0 && row < b->rows; row++) {
		double due = sums ? sum_of_terms(x, b, row) : dot(row_of_a(x, b, row), x->bt[b->device], x->p->problem.k);
		status = compare(x, x->c, b->at + row, due, "C on device", b->device);
		if (status == 0 && scattered && b->group >= o->devices)
			status = compare(x, o->member[b->group].landed, b->first + row, due, "what got to peer", b->group);
	}
	return status;
}

static int check_device(struct checker *x, uint32_t device)
{
	const struct member *m = &x->o->member[device];
	const struct overlap_plan *p = x->p;
	uint64_t bytes = (uint64_t)p->all_rows[device] * p->problem.n * x->o->result_bytes;
	x->c = malloc(bytes + 1); /* a device may have no rows */
	int status = x->c ? dev_download(m->dev, x->c, m->c, bytes) : err_note(-ENOMEM, "check of C: out of memory");
	for (size_t i = 0; status == 0 && i < p->block_count; i++)
		if (p->blocks[i].device == device)
			status = check_block(x, &p->blocks[i]);
	free(x->c);
	return status;
}

/* What a peer in host memory was sent is what the device had for it, in the plan's layout. */
static int check_landed(const struct operands *o, const struct overlap_plan *p, uint32_t peer)
{
	const struct member *m = &o->member[0];
	uint64_t bytes = landed_bytes(o, peer), at = overlap_plan_send_at(p, 0, peer) * o->element_bytes;
	void *sent = malloc(bytes + 1);
	int status = sent ? dev_download(m->dev, sent, (p->k_steps > 1 ? m->slabs : m->send) + at, bytes)
	                  : err_note(-ENOMEM, "check of peer %u: out of memory", peer);
	if (status == 0 && memcmp(sent, o->member[peer].landed, bytes) != 0)
		status = bench_wrong("peer %u did not get what the device has for it", peer);
	free(sent);
	return status;
}

int operands_check(const struct operands *o, struct bench_case *c, const struct overlap_plan *plan)
{
	uint32_t n = plan->problem.n, k = plan->problem.k;
	struct checker x = {.o = o, .p = plan, .t = calloc((uint64_t)n + (uint64_t)o->devices * k, sizeof(double))};
	int status = x.t ? 0 : err_note(-ENOMEM, "check of C: out of memory");
	for (uint32_t i = 0; status == 0 && i < n; i++)
		x.t[i] = (rng_below(&c->rng, 2) ? 1.0 : -1.0) * (1.0 + (double)rng_below(&c->rng, T_VALUES));
	for (uint32_t d = 0; status == 0 && d < o->devices; d++) {
		x.bt[d] = x.t + n + (uint64_t)d * k;
		times_t(o, o->member[d].host_b, x.t, x.bt[d]);
	}
	for (uint32_t d = 0; status == 0 && d < o->devices; d++)
		status = check_device(&x, d);
	for (uint32_t i = o->devices; status == 0 && !scatters(o) && i < o->members; i++)
		status = check_landed(o, plan, i);
	free(x.t);
	return status;
}
