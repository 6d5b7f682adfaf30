/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/operands.h"
#include "bench/bench_gemm.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_VALUE = 3, VALUES = 2 * MAX_VALUE + 1, POISON = 0x7f };

/* Bytes of what a rank has; `source` is there twice where columns are cut. */
struct sizes {
	uint64_t b, c, arrivals, scratch, source, received;
};

static struct sizes sizes_of(const struct operands *o, uint32_t i)
{
	const struct ficco_plan *p = o->plan;
	uint64_t k_bytes = p->problem.k * o->element_bytes,
		 n_bytes = p->problem.n * o->result_bytes, a = p->all_rows[i] * k_bytes,
		 c = p->all_rows[i] * n_bytes;
	return (struct sizes){.b = p->problem.n * k_bytes,
			      .c = c,
			      .arrivals = o->sums ? p->staging_elements[i] * o->result_bytes : a,
			      .scratch = o->sums ? c : a,
			      .received =
				      o->sums ? p->rows[i][i] * n_bytes : p->rows[i][0] * k_bytes,
			      .source = !o->sums         ? p->send_elements[i] * o->element_bytes
					: i < o->devices ? a
							 : p->rows[0][0] * n_bytes};
}

/* ------------------------------------------------------------------ sources */

/* Data of a peer in host memory is on the host already. NULL if nothing needs a copy. */
static char *alloc_on_host(struct bench_case *c, const struct ficco_rank *m, uint64_t bytes)
{
	return !m->dev                ? bench_alloc(c, DEV_MEM_PINNED, bytes)
	       : bench_has_results(c) ? bench_alloc_host(c, bytes)
				      : NULL;
}

static char *copy_to_rank(struct bench_case *c, const struct ficco_rank *m, char *host,
			  uint64_t bytes)
{
	char *copy = m->dev ? bench_alloc_on(c, m->dev, DEV_MEM_DEVICE, bytes) : host;
	if (m->dev && copy && host)
		TRY(c->status, dev_upload(m->dev, copy, host, bytes));
	return copy;
}

/* Integers of -3..3, times `scale`. */
static char *draw_integers(enum dev_type type, double scale, struct bench_case *c,
			   const struct ficco_rank *m, uint64_t bytes)
{
	const uint64_t each = dev_type_bytes(type), all = bytes / each,
		       count = all < BENCH_GEMM_PERIOD ? all : BENCH_GEMM_PERIOD;
	char *drawn = alloc_on_host(c, m, bytes);
	if (!bench_has_results(c) || !drawn)
		return drawn;
	for (uint64_t i = 0; i < count;) {
		uint64_t random = rng_u64(&c->rng);
		for (int byte = 0; byte < 8 && i < count; byte++, random >>= 8)
			element_store(type, drawn, i++,
				      scale * ((double)((random & 0xff) % VALUES) - MAX_VALUE));
	}
	for (uint64_t have = count * each; have < bytes; have *= 2)
		memcpy(drawn + have, drawn, have < bytes - have ? have : bytes - have);
	return drawn;
}

/* A; of a peer in host memory, with sums, its partial sums, which are of C's type and about as
 * large as those of the device: rounding would hide smaller ones. */
static char *draw_source(const struct operands *o, struct bench_case *c, const struct ficco_rank *m,
			 uint64_t bytes)
{
	if (m->dev || !o->sums)
		return draw_integers(o->type, 1.0, c, m, bytes);
	const double scale = exp2(floor(log2(2.0 * sqrt(o->plan->problem.k))));
	return draw_integers(dev_types[o->type].result, scale, c, m, bytes);
}

/* Copies what a rank sends into slabs of columns, group after group. */
static char *cut_into_slabs(const struct operands *o, struct bench_case *c, uint32_t sender,
			    uint64_t all_bytes)
{
	const struct ficco_plan *p = o->plan;
	const struct ficco_rank *m = &o->rank[sender];
	uint32_t parts = p->problem.devices, groups = p->problem.op == FICCO_AG_GEMM ? 1 : parts;
	uint64_t row_bytes = p->problem.k * o->element_bytes;
	char *slabs = alloc_on_host(c, m, all_bytes), *at = slabs;
	const char *from = bench_has_results(c) ? m->host_source[0] : NULL;
	for (uint32_t group = 0; slabs && from && group < groups; group++) {
		uint32_t rows = p->rows[groups == 1 ? sender : group][sender];
		for (uint32_t slab = 0; slab < parts; slab++) {
			uint32_t column = ficco_part_begin(p->problem.k, parts, slab),
				 end = ficco_part_begin(p->problem.k, parts, slab + 1);
			uint64_t first = column * o->element_bytes,
				 bytes = (end - column) * o->element_bytes;
			for (uint32_t row = 0; row < rows; row++, at += bytes)
				memcpy(at, from + row * row_bytes + first, bytes);
		}
		from += rows * row_bytes;
	}
	return slabs;
}

/* ------------------------------------------------------------------ set-up */

static void open_lanes(struct operands *o, uint32_t i)
{
	struct ficco_rank *m = &o->rank[i];
	for (uint32_t k = m->dev ? LANE_SETUP : LANE_LINK; k < LANE_LINK + o->ranks - 1; k++)
		if (i > o->devices)
			m->lane[k] = o->rank[o->devices].lane[k];
		else if (k != LANE_ADD || o->sums)
			m->lane[k] = work_lane_normal(o->lanes, m->dev ? i : 0);
	for (uint32_t link = 0; o->returns && link < o->ranks - 1; link++)
		m->lane[LANE_RETURN + link] = work_lane_normal(o->lanes, i);
}

/* Memory of a rank that the graph fills. */
static char *alloc_filled(struct bench_case *c, const struct ficco_rank *m, uint64_t bytes,
			  struct work_graph *g, uint8_t byte)
{
	char *at = m->dev ? bench_alloc_on(c, m->dev, DEV_MEM_DEVICE, bytes)
			  : bench_alloc(c, DEV_MEM_PINNED, bytes);
	work_graph_fill(g, m->lane[LANE_SETUP], at, byte, bytes);
	return at;
}

/* Zeros: no denormals, and no growth when scratch memory is added to itself. */
static void open_device(struct operands *o, struct bench_case *c, struct ficco_rank *m,
			const struct sizes *bytes, struct work_graph *zero)
{
	m->host_b = draw_integers(o->type, 1.0, c, m, bytes->b);
	m->b = copy_to_rank(c, m, m->host_b, bytes->b);
	m->c = alloc_filled(c, m, bytes->c, o->poison, POISON);
	m->scratch = alloc_filled(c, m, bytes->scratch, zero, 0);
	m->arrivals = alloc_filled(c, m, bytes->arrivals, zero, 0);
	work_graph_fill(o->poison, m->lane[LANE_SETUP], m->arrivals, POISON, bytes->arrivals);
}

static int check_memory(const struct operands *o, const struct dev_set *set, bool columns_cut)
{
	const struct ficco_problem *p = &o->plan->problem;
	for (uint32_t i = 0; i < o->devices; i++) {
		struct sizes bytes = sizes_of(o, i);
		double memory = (double)dev_props(set->dev[i])->memory_bytes,
		       needed = (double)(bytes.b + bytes.c + bytes.arrivals + bytes.scratch +
					 bytes.source * (columns_cut ? 2 : 1));
		if (needed > 0.8 * memory)
			return err_note(-ENOMEM,
					"%s of %ux%ux%u needs %.3g GB per device; device %u has "
					"%.3g GB free",
					ficco_ops[p->op], p->m, p->n, p->k, 1e-9 * needed, i,
					1e-9 * memory);
	}
	return 0;
}

int operands_open(struct operands *o, struct bench_case *c, const struct ficco_plan *plan,
		  enum dev_type type, bool columns_cut)
{
	bool sums = ficco_sums(plan->problem.op);
	*o = (struct operands){.plan = plan,
			       .sums = sums,
			       .returns = plan->problem.op == FICCO_GEMM_AR,
			       .b_transposed =
				       dev_types[type].multiple > 1 || plan->problem.exchanged,
			       .type = type,
			       .element_bytes = dev_type_bytes(type),
			       .result_bytes = dev_type_result_bytes(type),
			       .ranks = plan->problem.devices,
			       .devices = (uint32_t)c->devices->count};
	o->sent_bytes = sums ? o->result_bytes : o->element_bytes;
	if (TRY(c->status, check_memory(o, c->devices, columns_cut)))
		return c->status;
	o->lanes = bench_lanes(c);
	o->poison = bench_graph(c, o->lanes);
	struct work_graph *zero = bench_graph(c, o->lanes);
	for (uint32_t i = 0; i < o->ranks && c->status == 0; i++) {
		struct ficco_rank *m = &o->rank[i];
		struct sizes bytes = sizes_of(o, i);
		m->dev = i < o->devices ? c->devices->dev[i] : NULL;
		open_lanes(o, i);
		if (m->dev)
			open_device(o, c, m, &bytes, zero);
		else
			m->received = alloc_filled(c, m, bytes.received, o->poison, POISON);
		m->host_source[0] = draw_source(o, c, m, bytes.source);
		m->source[0] = copy_to_rank(c, m, m->host_source[0], bytes.source);
		if (!columns_cut)
			continue;
		m->host_source[1] = cut_into_slabs(o, c, i, bytes.source);
		m->source[1] = copy_to_rank(c, m, m->host_source[1], bytes.source);
	}
	TRY(c->status, work_graph_prepare(o->poison));
	return bench_graph_prepare(c, zero);
}

struct dev_gemm operands_gemm(const struct operands *o, const struct ficco_piece *g)
{
	const struct ficco_problem *p = &o->plan->problem;
	const struct ficco_rank *m = &o->rank[g->device];
	const char *a = o->sums ? m->source[0] : m->arrivals;
	return (struct dev_gemm){.type = o->type,
				 .m = g->rows,
				 .n = p->n,
				 .k = g->columns,
				 .alpha = 1.0,
				 .beta = g->column ? 1.0 : 0.0,
				 .a = a + g->a_offset * o->element_bytes,
				 .b = m->b + (uint64_t)g->column * (o->b_transposed ? 1 : p->n) *
						     o->element_bytes,
				 .c = m->c + (uint64_t)g->row * p->n * o->result_bytes,
				 .lda = g->columns,
				 .ldb = o->b_transposed ? p->k : p->n,
				 .ldc = p->n,
				 .b_transposed = o->b_transposed};
}

struct work_graph *operands_arrange(const struct operands *o, struct bench_case *c,
				    const struct ficco_plan *p)
{
	struct work_graph *g = bench_graph(c, o->lanes);
	uint64_t each = o->element_bytes;
	for (uint32_t i = 0; !o->sums && i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		const struct ficco_rank *m = &o->rank[chunk->device];
		bool own = m->dev && chunk->group == chunk->device;
		for (uint32_t slab = 0; own && slab < p->k_steps; slab++) {
			struct ficco_transfer t = ficco_arriving_transfer(p, chunk, slab);
			work_graph_copy(g, m->lane[LANE_SETUP], m->arrivals + t.to_offset * each,
					m->source[p->k_steps > 1] + t.from_offset * each,
					t.count * each, 0);
		}
	}
	bench_graph_prepare(c, g);
	return g;
}
