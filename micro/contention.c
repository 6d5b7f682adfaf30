/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who slows whom? For every pair of {compute, memory, engine copy, kernel copy, gemm}: how much longer each one takes
 * while the other runs. CIL, contention inefficiency loss, is our working definition of FiCCO's (arXiv 2512.10236):
 * CIL(x | y) = time of x beside y / time of x alone; 1 is no loss, 2 is what taking turns would give.
 *
 * Timed: pieces of x by the device's events, in x's own stream. The partner starts first and is fed from its own stream
 * until x has ended, so x never runs alone. Buffers exceed the last-level cache, so that memory is really shared.
 *
 *     bin/micro/contention --device host --pair compute+memory,engine+gemm
 */
#include "device/kernels.h"
#include "lib/bench.h"
#include "lib/bench_product.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COMPUTE, MEMORY, ENGINE, KERNEL, GEMM, KINDS };
enum { X_ALONE, Y_ALONE, X_BESIDE_Y, Y_BESIDE_X };

static const char *const kinds[] = {"compute", "memory", "engine", "kernel", "gemm"};

static int parse_pair(const char *word, enum kind pair[2])
{
	char text[32];
	for (unsigned x = 0; x < KINDS; x++) {
		for (unsigned y = 0; y < KINDS; y++) {
			snprintf(text, sizeof(text), "%s+%s", kinds[x], kinds[y]);
			if (strcmp(text, word) != 0)
				continue;
			pair[0] = (enum kind)x;
			pair[1] = (enum kind)y;
			return 0;
		}
	}
	return err_note(-EINVAL, "there is no pair '%s', only X+Y of compute memory engine kernel gemm", word);
}

static int accept(const char *word)
{
	enum kind unused[2];
	return parse_pair(word, unused);
}

static const struct axis axes[] = {
	{.name = "pair", .help = "X+Y of compute, memory, engine, kernel, gemm", .kind = AXIS_WORD, .accept = accept,
	 .quick = "compute+compute,compute+memory,compute+engine,compute+kernel,compute+gemm,memory+memory,memory+engine,"
	          "memory+kernel,memory+gemm,engine+engine,engine+kernel,engine+gemm,kernel+kernel,kernel+gemm,gemm+gemm"},
	{0}};

static const struct bench_variant variants[] = {
	{.name = "x_alone", .timing = BENCH_SELF}, {.name = "y_alone", .timing = BENCH_SELF},
	{.name = "x_beside_y", .timing = BENCH_SELF}, {.name = "y_beside_x", .timing = BENCH_SELF}, {0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_beside_engine", "CIL", "y_beside_x", "pair=engine+gemm", "median", "", "lower"},
	{"cil_gemm_beside_kernel", "CIL", "y_beside_x", "pair=kernel+gemm", "median", "", "lower"},
	{0}};

/* A piece of compute: a few milliseconds on a CPU core. */
#define PIECE_FMAS (UINT64_C(16384) * DEV_FMA_QUANTUM)
#define GEMM_SIDE 512u
#define TILE_BYTES (1u << 20)

struct actor {
	enum kind kind;
	struct dev_stream *stream;
	struct dev_event *begin, *end, *step[2];
	struct dev_kernel *kernel;
	uint64_t bytes; /* of one array */
	void *array[3]; /* the one written comes first */
	struct product product;
};

struct state {
	struct actor actor[2];
	float *tile, *read;
};

static struct state *state(const struct bench_case *c) { return c->state; }

static int open_arrays(struct bench_case *c, struct actor *a, unsigned count)
{
	struct state *s = state(c);
	const struct dev_props *p = dev_props(c->dev);
	uint64_t room = p->memory_bytes / 16, wanted = p->llc_bytes ? p->llc_bytes : 64u << 20;
	a->bytes = (wanted < room ? wanted : room) / TILE_BYTES * TILE_BYTES;
	if (a->bytes == 0)
		return err_note(-ENOMEM, "the device has no memory for buffers of 1 MiB");
	for (unsigned i = 0; i < count; i++) {
		int status = dev_alloc(c->dev, DEV_MEM_DEVICE, a->bytes, &a->array[i]);
		for (uint64_t at = 0; status == 0 && at < a->bytes; at += TILE_BYTES)
			status = dev_upload(c->dev, (char *)a->array[i] + at, s->tile, TILE_BYTES);
		if (status)
			return status;
	}
	return 0;
}

static int open_work(struct bench_case *c, struct actor *a)
{
	static const struct shape square = {GEMM_SIDE, GEMM_SIDE, GEMM_SIDE, 1};
	static const char *const kernels[] = {[COMPUTE] = "fma_f32", [MEMORY] = "triad_nt", [KERNEL] = "copy_nt"};
	int status = 0;
	if (a->kind == GEMM && !dev_can(c->dev, DEV_CAP_GEMM))
		return err_note(-ENOTSUP, "this device has no gemm here: %s", err_text());
	if (a->kind == GEMM)
		return product_open(&a->product, c->dev, &square, DEV_F32, &c->rng);
	if (a->kind != ENGINE)
		status = dev_kernel_find(c->dev, kernels[a->kind], &a->kernel);
	if (status == 0)
		status = a->kind == COMPUTE
		                 ? dev_alloc(c->dev, DEV_MEM_DEVICE, dev_props(c->dev)->busy_blocks * sizeof(float), &a->array[0])
		                 : open_arrays(c, a, a->kind == MEMORY ? 3 : 2);
	return status;
}

static int open_actor(struct bench_case *c, struct actor *a)
{
	struct dev_event **const events[] = {&a->begin, &a->end, &a->step[0], &a->step[1]};
	int status = dev_stream_open(c->dev, dev_props(c->dev)->priority_normal, &a->stream);
	for (unsigned i = 0; status == 0 && i < 4; i++)
		status = dev_event_open(c->dev, events[i]);
	return status ? status : open_work(c, a);
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	enum kind pair[2];
	s->tile = malloc(TILE_BYTES);
	s->read = malloc(TILE_BYTES);
	int status = s->tile && s->read ? parse_pair(bench_word(c, "pair"), pair) : err_note(-ENOMEM, "tile: out of memory");
	if (status == 0)
		rng_fill_f32(&c->rng, s->tile, TILE_BYTES / sizeof(float));
	for (unsigned i = 0; status == 0 && i < 2; i++) {
		s->actor[i].kind = pair[i];
		status = open_actor(c, &s->actor[i]);
	}
	return status;
}

static int piece(struct bench_case *c, struct actor *a)
{
	uint64_t fmas = PIECE_FMAS;
	uint32_t reps = 1;
	float scale = 0.5f;
	const void *const fma_args[] = {&a->array[0], &fmas};
	const void *const triad_args[] = {&a->array[0], &a->array[1], &a->array[2], &a->bytes, &reps, &scale};
	const void *const copy_args[] = {&a->array[0], &a->array[1], &a->bytes, &reps};
	const void *const *const args[] = {[COMPUTE] = fma_args, [MEMORY] = triad_args, [KERNEL] = copy_args};
	struct dev_gemm gemm = product_whole(&a->product);
	if (a->kind == ENGINE)
		return dev_copy(c->dev, a->stream, a->array[0], a->array[1], a->bytes);
	if (a->kind == GEMM)
		return dev_gemm(c->dev, a->stream, &gemm);
	struct dev_launch launch = {.grid = dev_props(c->dev)->busy_blocks, .args = args[a->kind]};
	return dev_launch(c->dev, a->stream, a->kernel, &launch);
}

static int step(struct bench_case *c, struct actor *a, unsigned which)
{
	int status = piece(c, a);
	return status ? status : dev_event_record(c->dev, a->stream, a->step[which]);
}

static int start_partner(struct bench_case *c, struct actor *x, struct actor *y)
{
	int status = dev_event_record(c->dev, y->stream, y->begin);
	if (status == 0)
		status = step(c, y, 0);
	if (status == 0)
		status = step(c, y, 1);
	return status ? status : dev_stream_wait(c->dev, x->stream, y->begin);
}

/* Two pieces of y are always queued; when one ends the next is added, until x has ended. */
static int feed(struct bench_case *c, struct actor *x, struct actor *y)
{
	for (unsigned i = 0;; i ^= 1) {
		int status = dev_event_query(c->dev, x->end);
		if (status != -EAGAIN)
			return status;
		status = dev_event_sync(c->dev, y->step[i]);
		if (status == 0)
			status = step(c, y, i);
		if (status)
			return status;
	}
}

/* y NULL: x alone. */
static int measure(struct bench_case *c, struct actor *x, struct actor *y, uint64_t iterations)
{
	double ns = 0.0;
	int status = y ? start_partner(c, x, y) : 0;
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->begin);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = piece(c, x);
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->end);
	if (status == 0 && y)
		status = feed(c, x, y);
	int drained = dev_stream_sync(c->dev, x->stream);
	int partner = y ? dev_stream_sync(c->dev, y->stream) : 0;
	status = status ? status : drained ? drained : partner;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, x->begin, x->end, &ns);
	c->self_seconds = 1e-9 * ns;
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	struct actor *x = &s->actor[variant == Y_ALONE || variant == Y_BESIDE_X], *other = &s->actor[x == &s->actor[0]];
	return measure(c, x, variant == X_BESIDE_Y || variant == Y_BESIDE_X ? other : NULL, iterations);
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct actor *a = &state(c)->actor[variant == Y_ALONE || variant == Y_BESIDE_X];
	if (a->kind == COMPUTE)
		m->flops = 2.0 * (double)PIECE_FMAS * dev_props(c->dev)->busy_blocks;
	else if (a->kind == GEMM)
		m->flops = shape_flops(&a->product.shape);
	else
		m->bytes = (double)a->bytes * (a->kind == MEMORY ? 3.0 : 1.0);
}

/* The last tile of what each actor wrote, after both ran at once. */
static int check_actor(struct bench_case *c, struct actor *a)
{
	struct state *s = state(c);
	if (a->kind == COMPUTE)
		return 0;
	if (a->kind == GEMM)
		return product_check(&a->product, c->dev, &c->rng);
	int status = dev_download(c->dev, s->read, (const char *)a->array[0] + a->bytes - TILE_BYTES, TILE_BYTES);
	for (size_t i = 0; status == 0 && i < TILE_BYTES / sizeof(float); i++) {
		float expected = a->kind == MEMORY ? 1.5f * s->tile[i] : s->tile[i];
		if (!(fabsf(s->read[i] - expected) <= 1e-6f))
			return bench_wrong("%s: element %zu of the last tile is %g, not %g", kinds[a->kind], i, (double)s->read[i],
			                   (double)expected);
	}
	return status;
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status = 0;
	(void)variant;
	for (unsigned i = 0; status == 0 && i < 2; i++)
		if (s->actor[i].bytes)
			status = dev_fill(c->dev, c->stream, s->actor[i].array[0], 0xa5, s->actor[i].bytes);
	return status ? status : dev_stream_sync(c->dev, c->stream);
}

static int check(struct bench_case *c, unsigned variant)
{
	struct state *s = state(c);
	int status = variant == Y_ALONE ? 0 : check_actor(c, &s->actor[0]);
	return status == 0 && variant != X_ALONE ? check_actor(c, &s->actor[1]) : status;
}

/* Two streams are two queues: y gets through while x's stream is held. Otherwise 'beside' would mean 'after'. */
static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	uint32_t *gate;
	int status = dev_alloc(c->dev, DEV_MEM_PINNED, 256, (void **)&gate);
	if (status)
		return status;
	status = dev_post_value(c->dev, gate, 0);
	if (status == 0)
		status = dev_wait_value(c->dev, s->actor[0].stream, gate, 1);
	if (status == 0)
		status = piece(c, &s->actor[0]);
	if (status == 0)
		status = dev_event_record(c->dev, s->actor[0].stream, s->actor[0].end);
	if (status == 0)
		status = piece(c, &s->actor[1]);
	int passed = dev_stream_sync(c->dev, s->actor[1].stream);
	bool held = status == 0 && dev_event_query(c->dev, s->actor[0].end) == -EAGAIN;
	int opened = dev_post_value(c->dev, gate, 1);
	int drained = dev_stream_sync(c->dev, s->actor[0].stream);
	dev_free(c->dev, gate);
	status = status ? status : passed ? passed : opened ? opened : drained;
	if (status == 0)
		bench_mechanism(c, "streams_are_independent", held, "the second stream finished while the first was held");
	return status;
}

static int derive(struct bench_case *c)
{
	int status = bench_ratio(c, "CIL", X_BESIDE_Y, X_ALONE, "time of x beside y / time of x alone, block by block");
	return status ? status : bench_ratio(c, "CIL", Y_BESIDE_X, Y_ALONE, "time of y beside x / time of y alone, block by block");
}

static void close_actor(struct bench_case *c, struct actor *a)
{
	struct dev_event *const events[] = {a->begin, a->end, a->step[0], a->step[1]};
	if (a->stream)
		dev_stream_sync(c->dev, a->stream);
	product_close(&a->product, c->dev);
	for (unsigned i = 0; i < 3; i++)
		dev_free(c->dev, a->array[i]);
	for (unsigned i = 0; i < 4; i++)
		dev_event_close(c->dev, events[i]);
	dev_stream_close(c->dev, a->stream);
}

static void teardown(struct bench_case *c)
{
	struct state *s = state(c);
	close_actor(c, &s->actor[0]);
	close_actor(c, &s->actor[1]);
	free(s->tile);
	free(s->read);
}

static const struct bench bench = {
	.name = "micro/contention",
	.question = "who slows whom when two things run at once?",
	.formula = "CIL(x | y) = time of x beside y / time of x alone; 1 is no loss",
	.timed = "pieces of one actor by device events while the other is kept running; not the partner's start and drain",
	.limits = "the partner is launched first; both use every unit, and on a host device copy engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
