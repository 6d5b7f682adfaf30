/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/contention/actor.h"
#include "device/kernels.h"
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>

const char *const actor_names[] = {"compute", "memory", "engine", "kernel", "gemm"};

static const struct {
	const char *kernel;
	unsigned arrays;
	double passes; /* what a piece moves, in arrays */
} traits[] = {
	[ACTOR_COMPUTE] = {"fma_f32", 0, 0.0}, [ACTOR_MEMORY] = {"triad_nt", 3, 3.0}, [ACTOR_ENGINE] = {NULL, 2, 1.0},
	[ACTOR_KERNEL] = {"copy_nt", 2, 1.0},  [ACTOR_GEMM] = {NULL, 0, 0.0}};

static const uint64_t fmas = UINT64_C(16384) * DEV_FMA_QUANTUM;
static const float scale = 0.5f;

/* A piece takes at least this long, so that neither starting it nor ending it counts for much. */
#define PIECE_LEAST_NS 1e6
/* Of what a queue takes: some pieces of both actors must fit. */
#define QUEUE_SHARE 16u
#define BLOCK_SIDE 128u

/* From 512 on, the least square that gives every unit two blocks of 128 x 128. */
static struct shape square(const struct dev_props *p)
{
	uint32_t side = 512;
	while ((uint64_t)(side / BLOCK_SIDE) * (side / BLOCK_SIDE) < 2 * (uint64_t)p->units)
		side *= 2;
	return (struct shape){side, side, side, 1};
}

static uint64_t array_bytes(const struct dev_props *p)
{
	uint64_t room = p->memory_bytes / 16, wanted = p->llc_bytes ? p->llc_bytes : 64u << 20;
	return (wanted < room ? wanted : room) / TILE_BYTES * TILE_BYTES;
}

static int open_arrays(struct actor *a, struct bench_case *c)
{
	float *tile = tile_reals(c);
	a->bytes = array_bytes(dev_props(c->dev));
	if (a->bytes == 0)
		return own_result(c, err_note(-ENOMEM, "the device has no memory for buffers of 1 MiB"));
	for (unsigned i = 0; i < traits[a->kind].arrays; i++)
		a->array[i] = tile_memory(c, c->dev, DEV_MEM_DEVICE, a->bytes, tile);
	for (size_t i = 0; own_status(c) == 0 && a->kind == ACTOR_MEMORY && i < TILE_WORDS; i++)
		tile[i] += scale * tile[i];
	a->result = tile;
	return own_status(c);
}

static int enqueue(struct actor *a, struct bench_case *c, uint32_t repeats)
{
	const void *const fma_args[] = {&a->out, &fmas};
	const void *const triad_args[] = {&a->array[0], &a->array[1], &a->array[2], &a->bytes, &repeats, &scale};
	const void *const copy_args[] = {&a->array[0], &a->array[1], &a->bytes, &repeats};
	struct dev_launch launch = {.grid = a->kernel ? dev_wave_blocks(c->dev, a->kernel) : 0};
	struct dev_gemm gemm = product_whole(&a->product);
	int status = 0;
	switch (a->kind) {
	case ACTOR_GEMM:
		for (uint32_t i = 0; status == 0 && i < repeats; i++)
			status = dev_gemm(c->dev, a->stream, &gemm);
		return status;
	case ACTOR_ENGINE:
		for (uint32_t i = 0; status == 0 && i < repeats; i++)
			status = dev_copy(c->dev, a->stream, a->array[0], a->array[1], a->bytes);
		return status;
	case ACTOR_COMPUTE:
		launch.args = fma_args;
		for (uint32_t i = 0; status == 0 && i < repeats; i++)
			status = dev_launch(c->dev, a->stream, a->kernel, &launch);
		return status;
	default:
		/* These repeat inside the kernel. */
		launch.args = a->kind == ACTOR_MEMORY ? triad_args : copy_args;
		return dev_launch(c->dev, a->stream, a->kernel, &launch);
	}
}

int actor_piece(struct actor *a, struct bench_case *c) { return enqueue(a, c, a->repeats); }

static int time_piece(struct actor *a, struct bench_case *c, double *ns_p)
{
	int status = dev_event_record(c->dev, a->stream, a->begin);
	if (status == 0)
		status = actor_piece(a, c);
	if (status == 0)
		status = dev_event_record(c->dev, a->stream, a->end);
	int drained = dev_stream_sync(c->dev, a->stream);
	status = status ? status : drained;
	return status ? status : dev_event_elapsed_ns(c->dev, a->begin, a->end, ns_p);
}

/* Alone and once for all: what runs beside another is the same piece. The first run pays for what is first used. */
static int choose_repeats(struct actor *a, struct bench_case *c)
{
	uint32_t most = dev_props(c->dev)->max_queued / QUEUE_SHARE;
	double ns = 0.0;
	a->repeats = 1;
	int status = time_piece(a, c, &ns);
	if (status == 0)
		status = time_piece(a, c, &ns);
	while (status == 0 && ns < PIECE_LEAST_NS && 2 * a->repeats <= most) {
		a->repeats *= 2;
		status = time_piece(a, c, &ns);
	}
	return status;
}

static int open_kind(struct actor *a, struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	const struct shape shape = square(p);
	if (a->kind == ACTOR_GEMM && !dev_can(c->dev, DEV_CAP_GEMM))
		return own_result(c, err_note(-ENOTSUP, "this device has no gemm here"));
	if (a->kind == ACTOR_GEMM && product_open(&a->product, c, &shape, DEV_F32) == 0) {
		struct dev_gemm gemm = product_whole(&a->product);
		return own_result(c, dev_gemm_prepare(c->dev, &gemm));
	}
	if (traits[a->kind].kernel)
		a->kernel = own_kernel(c, traits[a->kind].kernel);
	if (traits[a->kind].arrays)
		return open_arrays(a, c);
	a->out = own_memory(c, DEV_MEM_DEVICE, p->busy_blocks * sizeof(float));
	return own_status(c);
}

int actor_open(struct actor *a, struct bench_case *c, enum actor_kind kind)
{
	a->kind = kind;
	a->stream = own_stream(c, dev_props(c->dev)->priority_normal);
	a->begin = own_event(c);
	a->end = own_event(c);
	a->step[0] = own_event(c);
	a->step[1] = own_event(c);
	int status = open_kind(a, c);
	return status ? status : choose_repeats(a, c);
}

void actor_model(const struct actor *a, const struct bench_case *c, struct bench_model *m)
{
	if (a->kind == ACTOR_COMPUTE)
		m->flops = 2.0 * (double)fmas * dev_wave_blocks(c->dev, a->kernel) * a->repeats;
	if (a->kind == ACTOR_GEMM)
		m->flops = shape_flops(&a->product.shape) * a->repeats;
	m->bytes = (double)a->bytes * traits[a->kind].passes * a->repeats;
}

int actor_spoil(const struct actor *a, struct bench_case *c)
{
	if (a->kind == ACTOR_GEMM)
		return product_spoil(&a->product, c);
	return a->bytes ? dev_fill(c->dev, c->stream, a->array[0], 0xa5, a->bytes) : 0;
}

int actor_check(const struct actor *a, struct bench_case *c)
{
	if (a->kind == ACTOR_GEMM)
		return product_check(&a->product, c, 1);
	if (a->bytes)
		return tile_check(c->dev, a->array[0] + a->bytes - TILE_BYTES, TILE_BYTES, a->result, 1e-6f);
	return 0;
}
