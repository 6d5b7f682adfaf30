/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How does shared memory per block limit occupancy? A larger claim lets fewer blocks reside on a
 * unit and leaves slots free for other kernels: the control of resource-aware overlap (arXiv
 * 2606.09200). The arithmetic stays the same, only the claim grows.
 *
 * Timed: `load` is a grid of multiply-adds that fills the device several times; `foreign_wait` is
 * the time from launching a block of another, more urgent stream until it starts, while the load
 * runs. The block stamps its own start. Resident blocks are counted with a blocking kernel and
 * compared with min(slots, floor(shared memory of a unit / claim)).
 *
 *     bin/micro/occupancy --device host --shared 0,SHARED/8,SHARED/4,SHARED/2,SHARED
 */
#include "bench/bench_alloc.h"
#include "bench/blocking_kernel.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>

enum { LOAD, FOREIGN_WAIT };

static const struct axis axes[] = {
	{.name = "shared",
	 .help = "shared memory claimed by each block",
	 .kind = AXIS_SIZE,
	 .quick = "0,SHARED/16,SHARED/8,SHARED/7,SHARED/6,SHARED/5,SHARED/4,SHARED/3,SHARED/"
		  "2,SHARED",
	 .full = "0,SHARED/32,SHARED/24,SHARED/16,SHARED/12,SHARED/8,SHARED/7,SHARED/6,SHARED/"
		 "5,SHARED/4,SHARED/3,SHARED/2,"
		 "SHARED"},
	{0}};

static const struct bench_variant variants[] = {
	[LOAD] = {.name = "load", .timing = BENCH_DEVICE},
	[FOREIGN_WAIT] = {.name = "foreign_wait", .timing = BENCH_SELF},
	{0}};

static const struct bench_metric primary[] = {
	{"foreign_wait_full_slots", "time", "foreign_wait", "shared=0", "s", "lower"}, {0}};

/* Blocks of the load for every slot of the device, and the work of one: about 100 us on an
 * otherwise idle CPU core. */
#define WAVES 3u
#define BLOCK_FMAS (UINT64_C(1024) * DEV_FMA_QUANTUM)
#define HOLD_NS UINT64_C(500000000)

struct state {
	struct dev_kernel *fma, *stamp;
	struct dev_stream *urgent;
	struct dev_event *started;
	void *out;
	uint64_t *start_ns, shared;
	uint32_t grid,
		max_residents; /* blocks of the load; resident blocks of a unit by the formula */
	struct blocking_kernel blocking;
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static int admit(const struct bench_case *c)
{
	if (axis_u64(c, "shared") > dev_props(c->dev)->shared_per_block_bytes)
		return err_note(-ENOTSUP, "a block of this device may claim at most %llu bytes",
				(unsigned long long)dev_props(c->dev)->shared_per_block_bytes);
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	const struct dev_props *p = dev_props(c->dev);
	uint32_t slots = p->units * p->slots_per_unit;
	s->shared = axis_u64(c, "shared");
	s->grid = WAVES * slots;
	s->fma = bench_kernel(c, "fma_f32");
	s->stamp = bench_kernel(c, "stamp");
	s->urgent = bench_stream(c, p->priority_high);
	s->started = bench_event(c);
	s->out = bench_alloc(c, DEV_MEM_DEVICE, s->grid * sizeof(float));
	s->start_ns = bench_alloc(c, DEV_MEM_PINNED, 256);
	int status = blocking_kernel_open(&s->blocking, c, 2 * slots);
	return status ? status
		      : dev_occupancy(c->dev, s->blocking.kernel, 0, s->shared, &s->max_residents);
}

static int launch_load(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t fmas = BLOCK_FMAS;
	const void *const args[] = {&s->out, &fmas};
	struct dev_launch launch = {.grid = s->grid, .shared_bytes = s->shared, .args = args};
	return dev_launch(c->dev, c->stream, s->fma, &launch);
}

/* In the load's stream a stamp precedes the load: when the stamp is complete, the load gets its
 * slots. */
static int measure_foreign_wait(struct bench_case *c, uint64_t *wait_ns_p)
{
	struct state *s = case_state(c);
	const void *const args[] = {&s->start_ns};
	struct dev_launch stamp = {.grid = 1, .args = args};
	int status = dev_launch(c->dev, c->stream, s->stamp, &stamp);
	if (status == 0)
		status = dev_event_record(c->dev, c->stream, s->started);
	if (status == 0)
		status = launch_load(c);
	if (status == 0)
		status = dev_event_sync(c->dev, s->started);
	uint64_t launched = dev_clock_ns(c->dev);
	if (status == 0)
		status = dev_launch(c->dev, s->urgent, s->stamp, &stamp);
	int foreign = dev_stream_sync(c->dev, s->urgent);
	/* Relaxed: its stream has been waited for. */
	uint64_t began = __atomic_load_n(&s->start_ns[0], __ATOMIC_RELAXED);
	int loaded = dev_stream_sync(c->dev, c->stream);
	*wait_ns_p = began > launched ? began - launched : 0;
	return status ? status : foreign ? foreign : loaded;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	uint64_t sum = 0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		uint64_t wait = 0;
		status = variant == LOAD ? launch_load(c) : measure_foreign_wait(c, &wait);
		sum += wait;
	}
	c->self_seconds = 1e-9 * (double)sum;
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	if (variant == LOAD)
		m->flops = 2.0 * (double)BLOCK_FMAS * case_state(c)->grid;
}

static int verify_mechanism(struct bench_case *c)
{
	struct state *s = case_state(c);
	const struct dev_props *p = dev_props(c->dev);
	uint32_t expected = s->max_residents * p->units, arrived = 0, timed_out = 0;
	if (!dev_can(c->dev, DEV_CAP_OCCUPANCY))
		return 0;
	int status =
		blocking_kernel_start(&s->blocking, s->blocking.max_blocks, s->shared, HOLD_NS);
	if (status == 0)
		status = blocking_kernel_settle(&s->blocking, expected, HOLD_NS / 2, &arrived);
	int released = blocking_kernel_release(&s->blocking, &timed_out);
	status = status ? status : released;
	if (status)
		return status;
	bench_value(c, "residents_per_unit", -1, (double)arrived / p->units, "",
		    "blocks seen resident / units");
	bench_value(c, "residents_by_formula", -1, s->max_residents, "",
		    "min(slots, floor(shared memory of a unit / claim))");
	bench_mechanism(c, "residents_follow_the_claim", arrived == expected && timed_out == 0,
			"%u blocks resident on %u units; the formula gives %u", arrived, p->units,
			expected);
	return 0;
}

static const struct bench bench = {
	.name = "micro/occupancy",
	.question = "how does shared memory per block limit occupancy?",
	.formula = "residents = min(slots, floor(shared memory of a unit / claim)); "
		   "foreign_wait = start of the block - its launch; s",
	.timed = "a grid of multiply-adds; the wait of one urgent block while it runs; not opening "
		 "streams or counting resident blocks",
	.limits =
		"a wait is a device's time stamp minus a host's; both must be of one clock, as the "
		"device contract demands",
	.needs = DEV_CAP_OCCUPANCY | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_PRIORITY,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.verify_mechanism = verify_mechanism,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
