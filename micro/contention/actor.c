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
static const uint32_t reps = 1;
static const float scale = 0.5f;
static const struct shape square = {512, 512, 512, 1};

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

int actor_open(struct actor *a, struct bench_case *c, enum actor_kind kind)
{
	const struct dev_props *p = dev_props(c->dev);
	a->kind = kind;
	a->stream = own_stream(c, p->priority_normal);
	a->begin = own_event(c);
	a->end = own_event(c);
	a->step[0] = own_event(c);
	a->step[1] = own_event(c);
	if (kind == ACTOR_GEMM && !dev_can(c->dev, DEV_CAP_GEMM))
		return own_result(c, err_note(-ENOTSUP, "this device has no gemm here"));
	if (kind == ACTOR_GEMM)
		return product_open(&a->product, c, &square, DEV_F32);
	if (traits[kind].kernel)
		a->kernel = own_kernel(c, traits[kind].kernel);
	if (traits[kind].arrays)
		return open_arrays(a, c);
	a->out = own_memory(c, DEV_MEM_DEVICE, p->busy_blocks * sizeof(float));
	return own_status(c);
}

int actor_piece(struct actor *a, struct bench_case *c)
{
	const void *const fma_args[] = {&a->out, &fmas};
	const void *const triad_args[] = {&a->array[0], &a->array[1], &a->array[2], &a->bytes, &reps, &scale};
	const void *const copy_args[] = {&a->array[0], &a->array[1], &a->bytes, &reps};
	struct dev_launch launch = {.grid = dev_props(c->dev)->busy_blocks};
	struct dev_gemm gemm = product_whole(&a->product);
	switch (a->kind) {
	case ACTOR_GEMM:
		return dev_gemm(c->dev, a->stream, &gemm);
	case ACTOR_ENGINE:
		return dev_copy(c->dev, a->stream, a->array[0], a->array[1], a->bytes);
	case ACTOR_COMPUTE:
		launch.args = fma_args;
		break;
	case ACTOR_MEMORY:
		launch.args = triad_args;
		break;
	default:
		launch.args = copy_args;
	}
	return dev_launch(c->dev, a->stream, a->kernel, &launch);
}

void actor_model(const struct actor *a, const struct bench_case *c, struct bench_model *m)
{
	if (a->kind == ACTOR_COMPUTE)
		m->flops = 2.0 * (double)fmas * dev_props(c->dev)->busy_blocks;
	if (a->kind == ACTOR_GEMM)
		m->flops = shape_flops(&a->product.shape);
	m->bytes = (double)a->bytes * traits[a->kind].passes;
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
