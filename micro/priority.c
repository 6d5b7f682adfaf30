/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does stream priority have an effect? A backlog of blocks waits for slots; one more block is
 * launched behind it, from a stream of the same priority or of the highest. If priority works, the
 * block of the highest priority starts as soon as any slot is free.
 *
 * Timed: from launching the late block until it starts (it stamps its own start). Running blocks
 * are never interrupted, so even the most urgent block waits for one to end. "No effect" is a valid
 * result, not a failure.
 *
 *     bin/micro/priority --device host
 */
#include "bench/bench_alloc.h"
#include "device/kernels.h"

#include <math.h>

enum { EQUAL, HIGH };

static const struct bench_variant variants[] = {[EQUAL] = {.name = "equal", .timing = BENCH_SELF},
						[HIGH] = {.name = "high", .timing = BENCH_SELF},
						{0}};

static const struct axis axes[] = {{.name = "waves",
				    .help = "blocks of the backlog for every slot of the device",
				    .kind = AXIS_COUNT,
				    .min = 2,
				    .max = 64,
				    .quick = "4",
				    .full = "2,4,8,16"},
				   {0}};

static const struct bench_metric primary[] = {
	{"priority_wait_ratio", "wait_ratio", "high", "waves=4", "", "lower"}, {0}};

/* Work of one block of the backlog: about 100 us on an otherwise idle CPU core. */
#define BLOCK_FMAS (UINT64_C(1024) * DEV_FMA_QUANTUM)
/* With priority the late block waits for the running wave alone. A higher ratio is no effect. */
#define EFFECT_BELOW 0.8

struct state {
	struct dev_kernel *fma, *stamp;
	struct dev_stream *late[2];
	struct dev_event *started;
	void *out;
	uint64_t *start_ns;
	uint32_t grid;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	const struct dev_props *p = dev_props(c->dev);
	s->grid = (uint32_t)axis_u64(c, "waves") * p->units * p->slots_per_unit;
	s->fma = bench_kernel(c, "fma_f32");
	s->stamp = bench_kernel(c, "stamp");
	s->late[EQUAL] = bench_stream(c, p->priority_normal);
	s->late[HIGH] = bench_stream(c, p->priority_high);
	s->started = bench_event(c);
	s->out = bench_alloc(c, DEV_MEM_DEVICE, s->grid * sizeof(float));
	s->start_ns = bench_alloc(c, DEV_MEM_PINNED, 256);
	return bench_status(c);
}

static int measure_wait(struct bench_case *c, struct dev_stream *late, uint64_t *wait_ns_p)
{
	struct state *s = case_state(c);
	uint64_t fmas = BLOCK_FMAS;
	const void *const fma_args[] = {&s->out, &fmas}, *const stamp_args[] = {&s->start_ns};
	struct dev_launch backlog = {.grid = s->grid, .args = fma_args},
			  stamp = {.grid = 1, .args = stamp_args};
	/* When this event is complete, the backlog gets its slots. */
	int status = dev_event_record(c->dev, c->stream, s->started);
	if (status == 0)
		status = dev_launch(c->dev, c->stream, s->fma, &backlog);
	if (status == 0)
		status = dev_event_sync(c->dev, s->started);
	uint64_t launched = dev_clock_ns(c->dev);
	if (status == 0)
		status = dev_launch(c->dev, late, s->stamp, &stamp);
	int started = dev_stream_sync(c->dev, late);
	/* Relaxed: its stream has been waited for. */
	uint64_t began = __atomic_load_n(&s->start_ns[0], __ATOMIC_RELAXED);
	int drained = dev_stream_sync(c->dev, c->stream);
	*wait_ns_p = began > launched ? began - launched : 0;
	return status ? status : started ? started : drained;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	uint64_t sum = 0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		uint64_t wait = 0;
		status = measure_wait(c, case_state(c)->late[variant], &wait);
		sum += wait;
	}
	c->self_seconds = 1e-9 * (double)sum;
	return status;
}

static int derive(struct bench_case *c)
{
	const struct dev_props *p = dev_props(c->dev);
	double ratio = bench_median(c, HIGH) / bench_median(c, EQUAL);
	bench_fact_number(c, "priority_low", p->priority_low);
	bench_fact_number(c, "priority_normal", p->priority_normal);
	bench_fact_number(c, "priority_high", p->priority_high);
	bench_fact_text(c, "effect",
			isnan(ratio)           ? "not measured"
			: ratio < EFFECT_BELOW ? "yes"
					       : "no effect here");
	return bench_ratio(c, "wait_ratio", HIGH, EQUAL,
			   "wait with the highest priority / wait with the same");
}

static const struct bench bench = {
	.name = "micro/priority",
	.question = "does stream priority have an effect?",
	.formula = "wait = start of the late block - its launch; wait_ratio = wait with the "
		   "highest priority / with the same; s",
	.timed = "the wait of one block behind a backlog; not opening streams",
	.limits = "shows the order of waiting blocks; running blocks are never interrupted",
	.needs = DEV_CAP_PRIORITY,
	.share = 0.5,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
