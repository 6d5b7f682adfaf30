/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/operands.h"
#include "bench/bench_element.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUE = 3, VALUES = 2 * MAX_VALUE + 1 };

/* ------------------------------------------------------------------ integers as elements */

static void encode_elements(enum dev_type type, const int8_t *from, uint64_t count, void *to)
{
	for (uint64_t i = 0; i < count; i++)
		element_store(type, to, i, from[i]);
}

static int8_t *draw_integers(struct bench_case *c, uint64_t count)
{
	int8_t *drawn = bench_alloc_host(c, count);
	for (uint64_t i = 0; drawn && i < count;) {
		uint64_t random = rng_u64(&c->rng);
		for (int byte = 0; byte < 8 && i < count; byte++, random >>= 8)
			drawn[i++] = (int8_t)((int)((random & 0xff) % VALUES) - MAX_VALUE);
	}
	return drawn;
}

/* Allocates memory that the case owns, and fills it with the host's integers as elements. */
static char *alloc_encoded(struct operands *o, struct bench_case *c, struct dev *dev,
			   enum dev_mem kind, const int8_t *from, uint64_t count,
			   uint64_t bytes_each)
{
	char *memory = bench_alloc_on(c, dev, kind, count * bytes_each);
	void *encoded = memory ? malloc(count * bytes_each) : NULL;
	if (memory && !encoded)
		bench_status_add(c, err_note(-ENOMEM, "%llu elements on the host: out of memory",
					     (unsigned long long)count));
	if (encoded) {
		encode_elements(o->type, from, count, encoded);
		bench_status_add(c, dev_upload(dev, memory, encoded, count * bytes_each));
	}
	free(encoded);
	return memory;
}

/* ------------------------------------------------------------------ set-up */

double operands_bytes(const struct ficco_plan *p, enum dev_type type, bool columns_cut)
{
	double max_bytes = 0.0, each = dev_type_bytes(type), sums = dev_type_result_bytes(type);
	bool rs = p->problem.op == FICCO_GEMM_RS;
	for (uint32_t d = 0; d < p->problem.devices; d++) {
		double a = (double)p->all_rows[d] * p->problem.k * each,
		       result_bytes = (double)p->all_rows[d] * p->problem.n * sums;
		double all = a + result_bytes + (double)p->problem.k * p->problem.n * each +
			     (rs ? result_bytes : a);
		all += (double)p->send_elements[d] * each * (columns_cut ? 2.0 : 1.0) +
		       (double)p->staging_elements[d] * sums;
		max_bytes = all > max_bytes ? all : max_bytes;
	}
	return max_bytes;
}

/* Copies what a rank sends into slabs of columns, group after group. */
static int8_t *cut_into_slabs(struct operands *o, struct bench_case *c, uint32_t sender)
{
	const struct ficco_plan *p = o->plan;
	uint32_t k = p->problem.k, parts = p->problem.devices,
		 groups = p->problem.op == FICCO_AG_GEMM ? 1 : parts;
	int8_t *slabs = bench_alloc_host(c, p->send_elements[sender]), *at = slabs;
	const int8_t *from = o->rank[sender].host_a;
	for (uint32_t group = 0; slabs && from && group < groups; group++) {
		uint32_t rows = p->rows[groups == 1 ? sender : group][sender];
		for (uint32_t slab = 0; slab < parts; slab++) {
			uint32_t first = ficco_part_begin(k, parts, slab),
				 width = ficco_part_begin(k, parts, slab + 1) - first;
			for (uint32_t row = 0; row < rows; row++, at += width)
				memcpy(at, from + (uint64_t)row * k + first, width);
		}
		from += (uint64_t)rows * k;
	}
	return slabs;
}

/* The device's partial sums of the peer's rows, or what the device has for the peer. */
uint64_t operands_received_bytes(const struct operands *o, uint32_t i)
{
	const struct ficco_plan *p = o->plan;
	if (operands_reduce_scatter(o))
		return (uint64_t)p->rows[i][i] * p->problem.n * o->result_bytes;
	return (uint64_t)p->rows[i][0] * p->problem.k * o->element_bytes;
}

static void open_sends(struct operands *o, struct bench_case *c, uint32_t i, bool columns_cut)
{
	const struct ficco_plan *p = o->plan;
	struct ficco_rank *m = &o->rank[i];
	struct dev *dev = m->dev ? m->dev : c->dev;
	enum dev_mem kind = m->dev ? DEV_MEM_DEVICE : DEV_MEM_PINNED;
	m->host_a = draw_integers(c, p->send_elements[i]);
	m->send = alloc_encoded(o, c, dev, kind, m->host_a, p->send_elements[i], o->element_bytes);
	if (!m->dev)
		m->received = bench_alloc(c, DEV_MEM_PINNED, operands_received_bytes(o, i));
	if (columns_cut && bench_status(c) == 0)
		m->slabs = alloc_encoded(o, c, dev, kind, cut_into_slabs(o, c, i),
					 p->send_elements[i], o->element_bytes);
}

/* Partial sums have C's type; those of a peer in host memory are random integers. */
static void open_partials(struct operands *o, struct bench_case *c, uint32_t i)
{
	const struct ficco_plan *p = o->plan;
	struct ficco_rank *m = &o->rank[i];
	uint64_t rows = p->all_rows[i], mine = (uint64_t)p->rows[0][0] * p->problem.n;
	if (m->dev) {
		m->host_a = draw_integers(c, rows * p->problem.k);
		m->a = alloc_encoded(o, c, m->dev, DEV_MEM_DEVICE, m->host_a, rows * p->problem.k,
				     o->element_bytes);
		m->staging = bench_alloc_on(c, m->dev, DEV_MEM_DEVICE,
					    p->staging_elements[i] * o->result_bytes);
	} else {
		m->host_a = draw_integers(c, mine);
		m->partials = alloc_encoded(o, c, c->dev, DEV_MEM_PINNED, m->host_a, mine,
					    o->result_bytes);
		m->received = bench_alloc(c, DEV_MEM_PINNED, operands_received_bytes(o, i));
	}
}

static void open_device(struct operands *o, struct bench_case *c, uint32_t i)
{
	const struct ficco_plan *p = o->plan;
	struct ficco_rank *m = &o->rank[i];
	uint64_t a = (uint64_t)p->all_rows[i] * p->problem.k * o->element_bytes;
	uint64_t sums = (uint64_t)p->all_rows[i] * p->problem.n * o->result_bytes,
		 scratch = operands_reduce_scatter(o) ? sums : a;
	m->dev = c->devices->dev[i];
	m->stream = bench_stream_on(c, m->dev, dev_props(m->dev)->priority_normal);
	m->host_b = draw_integers(c, (uint64_t)p->problem.k * p->problem.n);
	m->b = alloc_encoded(o, c, m->dev, DEV_MEM_DEVICE, m->host_b,
			     (uint64_t)p->problem.k * p->problem.n, o->element_bytes);
	m->c = bench_alloc_on(c, m->dev, DEV_MEM_DEVICE, sums);
	m->scratch = bench_alloc_on(c, m->dev, DEV_MEM_DEVICE, scratch);
	if (!operands_reduce_scatter(o))
		m->a = bench_alloc_on(c, m->dev, DEV_MEM_DEVICE, a);
	/* Zeros: no denormals, and no growth when scratch memory is added to itself. */
	if (bench_status(c) == 0)
		bench_status_add(c, dev_fill(m->dev, m->stream, m->scratch, 0, scratch));
	if (bench_status(c) == 0 && !operands_reduce_scatter(o))
		bench_status_add(c, dev_fill(m->dev, m->stream, m->a, 0, a));
	if (bench_status(c) == 0)
		bench_status_add(c, dev_stream_sync(m->dev, m->stream));
}

int operands_open(struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
		  enum dev_type type, bool columns_cut)
{
	uint32_t devices = (uint32_t)c->devices->count;
	*o = (struct operands){.plan = plan,
			       .type = type,
			       .element_bytes = dev_type_bytes(type),
			       .ranks = plan->problem.devices,
			       .result_bytes = dev_type_result_bytes(type),
			       .devices = devices};
	double needed = operands_bytes(plan, type, columns_cut);
	for (uint32_t i = 0; i < devices; i++)
		if (needed > 0.8 * (double)dev_props(c->devices->dev[i])->memory_bytes)
			return bench_status_add(
				c,
				err_note(-ENOMEM,
					 "%s of %ux%ux%u needs %.3g GB per device; device %u has "
					 "%.3g GB free",
					 ficco_ops[plan->problem.op], plan->problem.m,
					 plan->problem.n, plan->problem.k, 1e-9 * needed, i,
					 1e-9 * (double)dev_props(c->devices->dev[i])
							 ->memory_bytes));
	for (uint32_t i = 0; i < o->ranks && bench_status(c) == 0; i++) {
		if (i < devices)
			open_device(o, c, i);
		if (operands_reduce_scatter(o))
			open_partials(o, c, i);
		else
			open_sends(o, c, i, columns_cut);
	}
	return bench_status(c);
}

struct dev_gemm operands_gemm(const struct operands *o, const struct ficco_piece *g)
{
	const struct ficco_problem *p = &o->plan->problem;
	const struct ficco_rank *m = &o->rank[g->device];
	bool transposed = dev_types[o->type].multiple > 1;
	return (struct dev_gemm){.type = o->type,
				 .m = g->rows,
				 .n = p->n,
				 .k = g->columns,
				 .alpha = 1.0,
				 .beta = g->adds ? 1.0 : 0.0,
				 .a = m->a + g->a_offset * o->element_bytes,
				 .b = m->b + (uint64_t)g->column * (transposed ? 1 : p->n) *
						     o->element_bytes,
				 .c = m->c + (uint64_t)g->row * p->n * o->result_bytes,
				 .lda = g->lda,
				 .ldb = transposed ? p->k : p->n,
				 .ldc = p->n,
				 .b_transposed = transposed};
}

/* ------------------------------------------------------------------ before a run or a check */

static int wait_for_all(const struct operands *o, int status)
{
	for (uint32_t d = 0; d < o->devices; d++) {
		int synced = dev_stream_sync(o->rank[d].dev, o->rank[d].stream);
		status = status ? status : synced;
	}
	return status;
}

static int arrange_chunk(const struct operands *o, const struct ficco_plan *p,
			 const struct ficco_chunk *chunk)
{
	const struct ficco_rank *m = &o->rank[chunk->device];
	const char *from =
		(p->k_steps > 1 ? m->slabs : m->send) +
		ficco_plan_send_offset(p, chunk->device, chunk->device) * o->element_bytes;
	uint64_t group_rows = p->rows[chunk->device][chunk->device];
	int status = 0;
	for (uint32_t slab = 0; status == 0 && slab < p->k_steps; slab++) {
		uint64_t column = ficco_part_begin(p->problem.k, p->k_steps, slab);
		uint64_t width = ficco_part_begin(p->problem.k, p->k_steps, slab + 1) - column;
		uint64_t to_offset = p->all_rows[chunk->device] * column + chunk->at * width,
			 from_offset = group_rows * column + chunk->first * width;
		status = dev_copy(m->dev, m->stream, m->a + to_offset * o->element_bytes,
				  from + from_offset * o->element_bytes,
				  chunk->rows * width * o->element_bytes);
	}
	return status;
}

int operands_arrange(const struct operands *o, const struct ficco_plan *p)
{
	int status = 0;
	for (size_t i = 0; status == 0 && !operands_reduce_scatter(o) && i < p->chunk_count; i++)
		if (p->chunks[i].group == p->chunks[i].device && p->chunks[i].device < o->devices)
			status = arrange_chunk(o, p, &p->chunks[i]);
	return wait_for_all(o, status);
}

int operands_poison(const struct operands *o)
{
	const struct ficco_plan *p = o->plan;
	int status = 0;
	for (uint32_t d = 0; status == 0 && d < o->devices; d++) {
		const struct ficco_rank *m = &o->rank[d];
		status = dev_fill(m->dev, m->stream, m->c, 0x7f,
				  (uint64_t)p->all_rows[d] * p->problem.n * o->result_bytes);
		if (status == 0 && operands_reduce_scatter(o))
			status = dev_fill(m->dev, m->stream, m->staging, 0x7f,
					  p->staging_elements[d] * o->result_bytes);
		else if (status == 0)
			status = dev_fill(m->dev, m->stream, m->a, 0x7f,
					  (uint64_t)p->all_rows[d] * p->problem.k *
						  o->element_bytes);
	}
	for (uint32_t i = o->devices; i < o->ranks; i++)
		memset(o->rank[i].received, 0x7f, operands_received_bytes(o, i));
	return wait_for_all(o, status);
}
