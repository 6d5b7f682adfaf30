/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/contention/workload.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

const char *const workload_names[] = {"compute", "memory", "engine", "kernel", "gemm"};

static const struct {
	const char *kernel;
	unsigned arrays;
	double passes; /* bytes that a piece moves, in arrays */
} traits[] = {[WORKLOAD_COMPUTE] = {"fma_f32", 0, 0.0},
	      [WORKLOAD_MEMORY] = {"triad_nt", 3, 3.0},
	      [WORKLOAD_ENGINE] = {NULL, 2, 1.0},
	      [WORKLOAD_KERNEL] = {"copy_nt", 2, 1.0},
	      [WORKLOAD_GEMM] = {NULL, 0, 0.0}};

static const uint64_t fmas = UINT64_C(16384) * DEV_FMA_QUANTUM;
static const float scale = 0.5f;

/* A piece takes at least this long, so its start and its end weigh little. */
#define MIN_PIECE_NS 1e6
/* A piece may fill this part of a queue: several pieces of both workloads must fit. */
#define QUEUE_SHARE 16u
#define TILE_SIDE 128u

/* The smallest square, at least 512, that gives every unit two tiles of 128 x 128. */
static struct shape square_gemm_shape(const struct dev_props *p)
{
	uint32_t side = 512;
	while ((uint64_t)(side / TILE_SIDE) * (side / TILE_SIDE) < 2 * (uint64_t)p->units)
		side *= 2;
	return (struct shape){side, side, side, 1};
}

static uint64_t array_bytes(const struct dev_props *p)
{
	uint64_t capacity = p->memory_bytes / 16, wanted = p->llc_bytes ? p->llc_bytes : 64u << 20;
	return (wanted < capacity ? wanted : capacity) / PATTERN_BYTES * PATTERN_BYTES;
}

static int open_arrays(struct workload *a, struct bench_case *c)
{
	float *pattern = pattern_reals(c);
	a->bytes = array_bytes(dev_props(c->dev));
	if (a->bytes == 0)
		return bench_status_add(
			c, err_note(-ENOMEM, "the device lacks memory for buffers of 1 MiB"));
	for (unsigned i = 0; i < traits[a->kind].arrays; i++)
		a->array[i] = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, a->bytes, pattern);
	for (size_t i = 0; bench_status(c) == 0 && a->kind == WORKLOAD_MEMORY && i < PATTERN_WORDS;
	     i++)
		pattern[i] += scale * pattern[i];
	a->result = pattern;
	return bench_status(c);
}

static void add_work(const struct workload *a, struct work_graph *g)
{
	const void *const fma_args[] = {&a->out, &fmas};
	const void *const triad_args[] = {&a->array[0], &a->array[1], &a->array[2],
					  &a->bytes,    &a->repeats,  &scale};
	const void *const copy_args[] = {&a->array[0], &a->array[1], &a->bytes, &a->repeats};
	const struct dev_gemm gemm = bench_gemm_whole(&a->gemm);
	switch (a->kind) {
	case WORKLOAD_GEMM:
		work_graph_gemm(g, a->lane, &gemm);
		break;
	case WORKLOAD_ENGINE:
		work_graph_copy(g, a->lane, a->array[0], a->array[1], a->bytes, 0);
		break;
	case WORKLOAD_COMPUTE:
		work_graph_kernel(g, a->lane, traits[a->kind].kernel, 0, fma_args);
		break;
	default:
		work_graph_kernel(g, a->lane, traits[a->kind].kernel, 0,
				  a->kind == WORKLOAD_MEMORY ? triad_args : copy_args);
	}
}

/* A fork and a join, because several pieces are queued at once. */
static int build_piece(struct workload *a, struct bench_case *c, uint32_t repeats)
{
	bool repeats_inside = a->kind == WORKLOAD_MEMORY || a->kind == WORKLOAD_KERNEL;
	struct work_graph *g = a->piece = bench_graph(c, a->lanes);
	a->repeats = repeats;
	work_graph_fork(g, a->lane);
	for (uint32_t i = 0; i < (repeats_inside ? 1 : repeats); i++)
		add_work(a, g);
	work_graph_join(g);
	return bench_status(c) ? bench_status(c) : work_graph_prepare(g);
}

static int time_repeats(struct workload *a, struct bench_case *c, uint32_t repeats, double *ns_p)
{
	int status = build_piece(a, c, repeats);
	if (status)
		return status;
	status = dev_event_record(c->dev, a->stream, a->begin);
	if (status == 0)
		status = work_graph_run(a->piece);
	if (status == 0)
		status = dev_event_record(c->dev, a->stream, a->end);
	int drained = dev_stream_sync(c->dev, a->stream);
	status = status ? status : drained;
	return status ? status : dev_event_elapsed_ns(c->dev, a->begin, a->end, ns_p);
}

/* Measured alone and once, so both runs use the same piece. The first run is a warm-up: it loads
 * what is used for the first time. */
static int choose_repeats(struct workload *a, struct bench_case *c)
{
	uint32_t max_repeats = dev_props(c->dev)->max_queued / QUEUE_SHARE;
	double ns = 0.0;
	int status = time_repeats(a, c, 1, &ns);
	if (status == 0)
		status = time_repeats(a, c, 1, &ns);
	while (status == 0 && ns < MIN_PIECE_NS && 2 * a->repeats <= max_repeats)
		status = time_repeats(a, c, 2 * a->repeats, &ns);
	return status;
}

static int open_kind(struct workload *a, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	const struct shape shape = square_gemm_shape(p);
	if (a->kind == WORKLOAD_GEMM && !dev_can(c->dev, DEV_CAP_GEMM))
		return bench_status_add(c,
					err_note(-ENOTSUP, "GEMM is not supported on this device"));
	if (a->kind == WORKLOAD_GEMM)
		return bench_gemm_open(&a->gemm, c, c->dev, &shape, DEV_F32);
	if (traits[a->kind].arrays)
		return open_arrays(a, c);
	a->kernel = bench_kernel(c, traits[a->kind].kernel);
	a->out = bench_alloc(c, DEV_MEM_DEVICE, p->busy_blocks * sizeof(float));
	return bench_status(c);
}

int workload_open(struct workload *a, struct bench_case *c, struct work_lanes *lanes,
		  enum workload_kind kind)
{
	a->kind = kind;
	a->lanes = lanes;
	a->lane = work_lane_normal(lanes, 0);
	a->stream = work_lane_stream(lanes, a->lane);
	a->begin = bench_event(c);
	a->end = bench_event(c);
	a->step[0] = bench_event(c);
	a->step[1] = bench_event(c);
	int status = open_kind(a, c);
	return status ? status : choose_repeats(a, c);
}

void workload_model(const struct workload *a, const struct bench_case *c, struct bench_model *m)
{
	if (a->kind == WORKLOAD_COMPUTE)
		m->flops = 2.0 * (double)fmas * dev_wave_blocks(c->dev, a->kernel) * a->repeats;
	if (a->kind == WORKLOAD_GEMM)
		m->flops = shape_flops(&a->gemm.shape) * a->repeats;
	m->bytes = (double)a->bytes * traits[a->kind].passes * a->repeats;
}

int workload_poison(const struct workload *a, struct bench_case *c)
{
	if (a->kind == WORKLOAD_GEMM)
		return bench_gemm_poison(&a->gemm, c);
	return a->bytes ? dev_fill(c->dev, c->stream, a->array[0], 0xa5, a->bytes) : 0;
}

int workload_check(const struct workload *a, struct bench_case *c)
{
	if (a->kind == WORKLOAD_GEMM)
		return bench_gemm_check(&a->gemm, c, 1);
	if (a->bytes)
		return pattern_check(c->dev, a->array[0] + a->bytes - PATTERN_BYTES, PATTERN_BYTES,
				     a->result, 1e-6f);
	return 0;
}
