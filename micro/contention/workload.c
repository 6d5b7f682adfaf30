/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/contention/workload.h"
#include "bench/blocking_kernel.h"
#include "bench/pattern.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

const char *const workload_names[] = {"compute", "memory", "engine", "kernel", "gemm", NULL};
const char *const workload_directions[] = {"up", "down", "local", "peer", "exchange", NULL};

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

/* A piece takes at least this long, so its start and its end weigh little. A virtual clock is
 * exact, and its results still take real time to compute. */
#define MIN_PIECE_NS 1e6
#define MIN_VIRTUAL_PIECE_NS 2e5
/* A piece may fill this part of a queue: several pieces of both workloads must fit. */
#define QUEUE_SHARE 16u

static uint64_t array_bytes(const struct dev_props *p)
{
	uint64_t capacity = p->memory_bytes / 16, wanted = p->llc_bytes ? p->llc_bytes : 64u << 20;
	return (wanted < capacity ? wanted : capacity) / PATTERN_BYTES * PATTERN_BYTES;
}

/* The arrays that are read hold the pattern. */
static void open_arrays(struct workload *a, struct bench_case *c)
{
	const enum workload_direction way = a->spec.direction;
	const enum dev_mem from = way == WORKLOAD_UP ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
			   to = way == WORKLOAD_DOWN ? DEV_MEM_PINNED : DEV_MEM_DEVICE;
	float *pattern = a->result = pattern_reals(c);
	a->target = way >= WORKLOAD_PEER ? c->devices->dev[1] : a->dev;
	a->bytes = array_bytes(dev_props(a->dev));
	TRY(c->status,
	    a->bytes ? 0 : err_note(-ENOMEM, "the device lacks memory for buffers of 1 MiB"));
	if (way >= WORKLOAD_PEER)
		bench_enable_peers(c);
	a->array[0] = bench_alloc_on(c, a->target, to, a->bytes);
	for (unsigned i = 1; i < traits[a->spec.kind].arrays; i++)
		a->array[i] = pattern_alloc(c, a->dev, from, a->bytes, pattern);
	if (a->spec.kind == WORKLOAD_MEMORY)
		for (size_t i = 0; c->status == 0 && i < PATTERN_WORDS; i++)
			pattern[i] += scale * pattern[i];
	if (way != WORKLOAD_EXCHANGE)
		return;
	a->back_lane = work_lane_normal(a->lanes, 1);
	a->back[0] = bench_alloc_on(c, a->dev, DEV_MEM_DEVICE, a->bytes);
	a->back[1] = pattern_alloc(c, a->target, DEV_MEM_DEVICE, a->bytes, pattern);
}

/* By an engine, or by blocks that repeat it inside the kernel. */
static void add_copy(const struct workload *a, struct work_graph *g, uint32_t lane, char *const *at)
{
	const void *const args[] = {&at[0], &at[1], &a->bytes, &a->repeats};
	if (a->spec.kind == WORKLOAD_ENGINE)
		work_graph_copy(g, lane, at[0], at[1], a->bytes, 0);
	else
		work_graph_kernel(g, lane, traits[a->spec.kind].kernel, a->spec.blocks, args);
}

static void add_work(const struct workload *a, struct work_graph *g)
{
	const void *const fma_args[] = {&a->out, &fmas};
	const void *const triad_args[] = {&a->array[0], &a->array[1], &a->array[2],
					  &a->bytes,    &a->repeats,  &scale};
	const struct dev_gemm gemm = bench_gemm_whole(&a->gemm);
	if (a->spec.kind == WORKLOAD_GEMM)
		work_graph_gemm(g, a->lane, &gemm);
	else if (a->spec.kind == WORKLOAD_COMPUTE)
		work_graph_kernel(g, a->lane, traits[a->spec.kind].kernel, 0, fma_args);
	else if (a->spec.kind == WORKLOAD_MEMORY)
		work_graph_kernel(g, a->lane, traits[a->spec.kind].kernel, 0, triad_args);
	else
		add_copy(a, g, a->lane, a->array);
	if (a->back[0])
		add_copy(a, g, a->back_lane, a->back);
}

/* A piece has a fork and a join, because several are queued at once. */
static void time_repeats(struct workload *a, struct bench_case *c, uint32_t repeats, double *ns_p)
{
	const bool inside = a->spec.kind == WORKLOAD_MEMORY || a->spec.kind == WORKLOAD_KERNEL;
	struct work_graph *g = a->piece = bench_graph(c, a->lanes);
	a->repeats = repeats;
	work_graph_fork(g, a->lane);
	for (uint32_t i = 0; i < (inside ? 1 : repeats); i++)
		add_work(a, g);
	work_graph_join(g);
	TRY(c->status, work_graph_prepare(g));
	TRY(c->status, dev_event_record(a->dev, a->stream, a->begin));
	TRY(c->status, work_graph_run(g));
	TRY(c->status, dev_event_record(a->dev, a->stream, a->end));
	TRY(c->status, dev_stream_sync(a->dev, a->stream));
	TRY(c->status, dev_event_elapsed_ns(a->dev, a->begin, a->end, ns_p));
}

/* Measured alone and once, so both runs use the same piece. The first run is a warm-up: it loads
 * what is used for the first time. */
static void choose_repeats(struct workload *a, struct bench_case *c)
{
	const uint32_t max_repeats = dev_props(a->dev)->max_queued / QUEUE_SHARE;
	const double wanted =
		dev_can(a->dev, DEV_CAP_VIRTUAL_TIME) ? MIN_VIRTUAL_PIECE_NS : MIN_PIECE_NS;
	double ns = 0.0;
	time_repeats(a, c, 1, &ns);
	time_repeats(a, c, 1, &ns);
	while (c->status == 0 && ns < wanted && 2 * a->repeats <= max_repeats)
		time_repeats(a, c, 2 * a->repeats, &ns);
	a->piece_s = 1e-9 * ns;
}

int workload_admit(const struct bench_case *c, const struct workload_spec *spec)
{
	const bool copies = spec->kind == WORKLOAD_ENGINE || spec->kind == WORKLOAD_KERNEL;
	if (spec->kind == WORKLOAD_GEMM && !(dev_props(c->dev)->gemm_types >> spec->type & 1))
		return err_note(-ENOTSUP, "%s GEMM is not supported on this device",
				dev_type_names[spec->type]);
	if (spec->kind == WORKLOAD_ENGINE && !dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		return err_note(-ENOTSUP, "this device has no copy engine");
	if (!copies || spec->direction < WORKLOAD_PEER)
		return 0;
	if (c->devices->count < 2)
		return err_note(-ENODEV,
				"a peer copy needs two devices, such as --device host:0,1");
	return dev_can(c->dev, DEV_CAP_PEER) && dev_can(c->devices->dev[1], DEV_CAP_PEER)
		       ? 0
		       : err_note(-ENOTSUP, "the devices have no peer access");
}

int workload_open(struct workload *a, struct bench_case *c, struct work_lanes *lanes,
		  const struct workload_spec *spec)
{
	struct dev *dev = c->devices->dev[spec->device];
	const struct dev_props *p = dev_props(dev);
	const struct shape shape = spec->skinny ? bench_gemm_memory_bound(p, spec->type)
						: bench_gemm_arithmetic_bound(p);
	a->spec = *spec;
	a->dev = dev;
	a->lanes = lanes;
	a->lane = work_lane_normal(lanes, spec->device);
	a->stream = work_lane_stream(lanes, a->lane);
	a->begin = bench_event_on(c, dev);
	a->end = bench_event_on(c, dev);
	a->step[0] = bench_event_on(c, dev);
	a->step[1] = bench_event_on(c, dev);
	if (spec->kind == WORKLOAD_GEMM) {
		TRY(c->status, bench_gemm_open(&a->gemm, c, dev, &shape, spec->type));
	} else if (traits[spec->kind].arrays) {
		open_arrays(a, c);
	} else {
		TRY(c->status, dev_kernel_find(dev, traits[spec->kind].kernel, &a->kernel));
		a->out = bench_alloc_on(c, dev, DEV_MEM_DEVICE, p->busy_blocks * sizeof(float));
	}
	if (spec->kind == WORKLOAD_ENGINE && dev == c->dev)
		TRY(c->status, blocking_kernel_need_local_engine(c, UINT64_MAX, a->array[0],
								 a->array[1], a->bytes));
	choose_repeats(a, c);
	return c->status;
}

static void enqueue_piece(struct workload *a, struct bench_case *c, unsigned which)
{
	TRY(c->status, work_graph_run(a->piece));
	TRY(c->status, dev_event_record(a->dev, a->stream, a->step[which]));
}

int workload_start(struct workload *a, struct bench_case *c)
{
	TRY(c->status, dev_event_record(a->dev, a->stream, a->begin));
	enqueue_piece(a, c, 0);
	enqueue_piece(a, c, 1);
	a->oldest = 0;
	return c->status;
}

bool workload_is_due(const struct workload *a)
{
	return dev_event_query(a->dev, a->step[a->oldest]) == 0;
}

int workload_follow(struct workload *a, struct bench_case *c)
{
	TRY(c->status, dev_event_sync(a->dev, a->step[a->oldest]));
	enqueue_piece(a, c, a->oldest);
	a->oldest ^= 1;
	return c->status;
}

uint64_t workload_pieces(const struct workload *a, double seconds)
{
	const double pieces = seconds / a->piece_s;
	return pieces > 1.0 ? (uint64_t)pieces : 1;
}

int workload_enqueue(struct workload *a, struct bench_case *c, uint64_t pieces)
{
	TRY(c->status, dev_event_record(a->dev, a->stream, a->begin));
	for (uint64_t i = 0; c->status == 0 && i < pieces; i++)
		TRY(c->status, work_graph_run(a->piece));
	return TRY(c->status, dev_event_record(a->dev, a->stream, a->end));
}

int workload_drain(struct workload *a, struct bench_case *c, double *seconds_p)
{
	double ns = 0.0;
	const int drained = dev_stream_sync(a->dev, a->stream);
	TRY(c->status, drained);
	TRY(c->status, dev_event_elapsed_ns(a->dev, a->begin, a->end, &ns));
	*seconds_p = 1e-9 * ns;
	return c->status;
}

void workload_model(const struct workload *a, const struct bench_case *c, struct bench_model *m)
{
	if (a->spec.kind == WORKLOAD_COMPUTE)
		m->flops = 2.0 * (double)fmas * dev_wave_blocks(a->dev, a->kernel) * a->repeats;
	if (a->spec.kind == WORKLOAD_GEMM)
		bench_gemm_work(&a->gemm, a->repeats, m);
	m->bytes = (double)a->bytes * traits[a->spec.kind].passes * a->repeats *
		   (a->back[0] ? 2.0 : 1.0);
}

int workload_poison(const struct workload *a, struct bench_case *c)
{
	int status = 0;
	if (a->spec.kind == WORKLOAD_GEMM)
		return bench_gemm_poison(&a->gemm, c);
	if (a->bytes)
		TRY(status, dev_fill(c->dev, c->stream, a->array[0], 0xa5, a->bytes));
	if (a->back[0])
		TRY(status, dev_fill(c->dev, c->stream, a->back[0], 0xa5, a->bytes));
	return status;
}

int workload_check(const struct workload *a, struct bench_case *c)
{
	const float tolerance = a->spec.kind == WORKLOAD_MEMORY ? 1e-6f : 0.0f;
	int status = 0;
	if (a->spec.kind == WORKLOAD_GEMM)
		return bench_gemm_check(&a->gemm, c, 1);
	if (a->bytes)
		TRY(status,
		    pattern_check(c, a->target, a->array[0], a->bytes, a->result, tolerance));
	if (a->back[0])
		TRY(status, pattern_check(c, c->dev, a->back[0], a->bytes, a->result, tolerance));
	return status;
}
