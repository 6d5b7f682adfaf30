/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/pipeline.h"
#include "bench/pattern.h"
#include "overlap/shaping/trace.h"

#include <errno.h>

#define BOTH (HAS_GEMM | HAS_COMM)

#define ROW(variant, label, what)                                                                  \
	[variant] = {.name = (label), .timing = BENCH_DEVICE, .param = (what)}

const struct bench_variant pipeline_variants[] = {
	ROW(GEMM_ALONE, "gemm_alone", HAS_GEMM),
	ROW(GEMM_SHAPED, "gemm_shaped", HAS_GEMM | HAS_CLAIM),
	ROW(COMM_ALONE, "comm_alone", HAS_COMM),
	ROW(SERIAL, "serial", BOTH),
	ROW(OVERLAP, "overlap", BOTH | LANE_NORMAL),
	ROW(SHAPED, "shaped", BOTH | HAS_CLAIM | LANE_NORMAL),
	ROW(PRIORITY, "priority", BOTH | LANE_URGENT),
	ROW(SHAPED_PRIORITY, "shaped_priority", BOTH | HAS_CLAIM | LANE_URGENT),
	ROW(LIBRARY_COMM_ALONE, "library_comm_alone", HAS_COMM | BY_LIBRARY),
	ROW(LIBRARY_SERIAL, "library_serial", BOTH | BY_LIBRARY),
	ROW(LIBRARY_OVERLAP, "library_overlap", BOTH | BY_LIBRARY | LANE_NORMAL),
	ROW(LIBRARY_SHAPED, "library_shaped", BOTH | BY_LIBRARY | HAS_CLAIM | LANE_NORMAL),
	ROW(LIBRARY_PRIORITY, "library_priority", BOTH | BY_LIBRARY | LANE_URGENT),
	ROW(LIBRARY_SHAPED_PRIORITY, "library_shaped_priority",
	    BOTH | BY_LIBRARY | HAS_CLAIM | LANE_URGENT),
	{0}};

bool pipeline_overlaps(unsigned variant) { return pipeline_variants[variant].param & LANE_MASK; }

unsigned pipeline_gemm_alone(unsigned variant)
{
	return pipeline_has(variant, HAS_CLAIM) ? GEMM_SHAPED : GEMM_ALONE;
}

static unsigned same_exchange(unsigned variant, unsigned own, unsigned library)
{
	return pipeline_has(variant, BY_LIBRARY) ? library : own;
}

unsigned pipeline_comm_alone(unsigned variant)
{
	return same_exchange(variant, COMM_ALONE, LIBRARY_COMM_ALONE);
}

unsigned pipeline_serial(unsigned variant)
{
	return same_exchange(variant, SERIAL, LIBRARY_SERIAL);
}

unsigned pipeline_overlap(unsigned variant)
{
	return same_exchange(variant, OVERLAP, LIBRARY_OVERLAP);
}

struct dev_gemm pipeline_gemm(const struct pipeline *p, uint32_t device, unsigned iteration,
			      bool shaped)
{
	const struct bench_gemm *operands = &p->gemm[device][iteration % 2];
	struct dev_gemm gemm = bench_gemm_whole(operands);
	gemm.tiled = dev_can(operands->dev, DEV_CAP_GEMM_TILED);
	gemm.tile_k = p->tile_k;
	gemm.grid = p->grid;
	gemm.shared_bytes = shaped ? p->claim_bytes : 0;
	return gemm;
}

void pipeline_add_comm(const struct pipeline *p, struct work_graph *g, long what,
		       unsigned iteration, struct comm_call *call)
{
	call->by_library = what & BY_LIBRARY;
	call->lanes = p->lane[what & LANE_MASK];
	for (uint32_t d = 0; d < p->devices; d++)
		call->message[d] = p->gemm[d][iteration % 2].c;
	comm_load_add(&p->comm, g, call);
}

/* ------------------------------------------------------------------ rounds */

struct round {
	struct pipeline *p;
	struct work_graph *g;
	struct pipeline_trace *trace; /* NULL: timed */
	long what;
	/* By device: the node of the latest GEMM; of the two latest communications. The fork, node
	 * 0, stands for those that do not exist. */
	uint32_t gemm[DEV_MAX], comm[2][DEV_MAX];
};

static void add_gemms(struct round *r, unsigned i)
{
	const struct pipeline *p = r->p;
	for (uint32_t d = 0; d < p->devices; d++) {
		const struct dev_gemm gemm = pipeline_gemm(p, d, i, r->what & HAS_CLAIM);
		uint32_t lane = p->lane[LANE_SAME][d], wait = work_graph_mark(r->g, lane);
		work_graph_edge(r->g, r->comm[i % 2][d], wait);
		uint32_t begin = r->trace ? trace_add_stamp(p, r->g, d, TRACE_GEMM + i) : 0;
		r->gemm[d] = work_graph_gemm(r->g, lane, &gemm);
		if (r->trace)
			trace_add_part(r->g, r->trace->gemm + d * p->iterations + i, begin,
				       r->gemm[d]);
	}
}

static void add_comms(struct round *r, unsigned i)
{
	const struct pipeline *p = r->p;
	struct comm_call call = {0};
	for (uint32_t d = 0; d < p->devices; d++) {
		call.after[d] = r->gemm[d];
		if (r->trace)
			call.start_ns[d] = p->stamps[d] + TRACE_GEMM + p->iterations + i;
	}
	pipeline_add_comm(p, r->g, r->what, i, &call);
	for (uint32_t d = 0; d < p->devices; d++) {
		r->comm[i % 2][d] = call.end[d];
		if (r->trace)
			trace_add_part(r->g, r->trace->comm + d * p->iterations + i, call.begin[d],
				       call.end[d]);
	}
}

/* There is no first run here: the harness runs every variant once without a gate. Where the library
 * fails, its variants alone are missing. */
static struct work_graph *build_round(struct pipeline *p, struct bench_case *c, long what,
				      struct pipeline_trace *trace)
{
	struct round r = {.p = p, .g = bench_graph(c, p->lanes), .trace = trace, .what = what};
	work_graph_fork(r.g, p->lane[LANE_SAME][0]);
	if (trace)
		trace_add_origins(p, r.g, trace);
	for (unsigned i = 0; i < p->iterations; i++) {
		if (i)
			work_graph_turn(r.g);
		if (what & HAS_GEMM)
			add_gemms(&r, i);
		if (what & HAS_COMM)
			add_comms(&r, i);
	}
	work_graph_join(r.g);
	int status = bench_status(c) ? 0 : work_graph_prepare(r.g);
	if (status == -ENOTSUP && what & BY_LIBRARY)
		comm_load_drop_library(&p->comm);
	else
		bench_status_add(c, status);
	return r.g;
}

static bool variant_applies(const struct pipeline *p, const struct bench_case *c, unsigned v)
{
	return !(pipeline_has(v, HAS_CLAIM) && p->claim_bytes == 0) &&
	       !(pipeline_has(v, BY_LIBRARY) && !p->comm.library) &&
	       !((pipeline_variants[v].param & LANE_MASK) == LANE_URGENT &&
		 !dev_can(c->dev, DEV_CAP_PRIORITY));
}

static void build_variants(struct pipeline *p, struct bench_case *c)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		long what = pipeline_variants[v].param;
		if (!variant_applies(p, c, v))
			bench_variant_off(c, v);
		if (!bench_variant_on(c, v) || bench_status(c))
			continue;
		p->timed[v] = build_round(p, c, what, NULL);
		if (trace_is_needed(v) && trace_open(p, c, &p->traced[v]) == 0)
			p->traced[v].graph = build_round(p, c, what, &p->traced[v]);
	}
	for (unsigned v = 0; v < VARIANTS; v++) {
		if (!bench_variant_on(c, v) || bench_status(c))
			continue;
		/* A library that failed meanwhile takes all of its variants with it. */
		if (!variant_applies(p, c, v)) {
			bench_variant_off(c, v);
			p->timed[v] = p->traced[v].graph = NULL;
		} else {
			bench_queue_entries(c, v, work_graph_max_queued(p->timed[v]));
		}
	}
}

/* Each iteration is a turn: with cold operands GEMMs in a row use different sets. */
static int rotate_operands(struct pipeline *p, struct bench_case *c)
{
	struct work_graph *graphs[2 * VARIANTS];
	for (unsigned v = 0; v < VARIANTS; v++) {
		graphs[2 * v] = p->timed[v];
		graphs[2 * v + 1] = p->traced[v].graph;
	}
	return bench_rotate_cold(c, graphs, 2 * VARIANTS, &p->rotation);
}

static void open_device(struct pipeline *p, struct bench_case *c, uint32_t d,
			const struct shape *gemm)
{
	struct dev *dev = c->devices->dev[d];
	const struct dev_props *props = dev_props(dev);
	const float *pattern = pattern_reals(c);
	bench_gemm_open(&p->gemm[d][0], c, dev, gemm, DEV_F32);
	p->gemm[d][1] = p->gemm[d][0];
	uint64_t result_bytes = p->gemm[d][0].c_bytes,
		 bytes = result_bytes > p->comm.bytes ? result_bytes : p->comm.bytes;
	for (int i = 0; i < 2; i++)
		p->gemm[d][i].c = pattern_alloc(c, dev, DEV_MEM_DEVICE, bytes, pattern);
	p->stamps[d] = bench_alloc_on(c, dev, DEV_MEM_PINNED,
				      (TRACE_GEMM + 2 * p->iterations) * sizeof(*p->stamps[d]));
	p->lane[LANE_SAME][d] =
		d ? work_lane_normal(p->lanes, d) : work_lane_of(p->lanes, 0, c->stream);
	p->lane[LANE_NORMAL][d] = work_lane(p->lanes, d, props->priority_normal);
	p->lane[LANE_URGENT][d] = work_lane(p->lanes, d, props->priority_high);
}

int pipeline_open(struct pipeline *p, struct bench_case *c, const struct shape *gemm)
{
	p->devices = (uint32_t)c->devices->count;
	p->lanes = bench_lanes(c);
	for (uint32_t d = 0; d < p->devices; d++)
		open_device(p, c, d, gemm);
	comm_load_open(&p->comm, c);
	if (bench_status(c))
		return bench_status(c);
	/* A device need not check a claim before a GEMM is enqueued. */
	struct work_graph *claiming = trace_claiming_gemms(p, c);
	if (bench_graph_prepare(c, claiming) == -EINVAL && (p->claim_bytes || p->tile_k))
		return -ENOTSUP;
	build_variants(p, c);
	return rotate_operands(p, c);
}
