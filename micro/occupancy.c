/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How does shared memory per block limit occupancy? A larger claim lets fewer blocks reside on a
 * unit and leaves slots free for other kernels: the control of resource-aware overlap (arXiv
 * 2606.09200). The arithmetic stays the same, only the claim grows.
 *
 * Timed: `load` is a grid of multiply-adds that fills the device several times; `loaded_wait` is
 * the wait of an empty block of a stream of higher priority while the load runs, and `idle_wait`
 * the same on an idle device (micro/late_block/late_block.h); slot_wait is the difference, and
 * slot_wait_share that as a fraction of the time of a load block: 0 where the device preempts, 1
 * where a whole block has to end first. All blocks of a wave start together. Resident blocks are
 * counted with a blocking kernel and compared with min(slots, floor(shared memory of a unit /
 * claim)).
 *
 *     bin/micro/occupancy --device host --shared 0,SHARED/8,SHARED/4,SHARED/2,SHARED
 */
#include "bench/blocking_kernel.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "micro/late_block/late_block.h"

#include <errno.h>

enum { LOAD, LOADED_WAIT, IDLE_WAIT };

static const struct axis axes[] = {
	{"shared", "shared memory claimed by each block", AXIS_SIZE,
	 .quick = "0,SHARED/16,SHARED/8,SHARED/7,SHARED/6,SHARED/5,SHARED/4,SHARED/3,SHARED/"
		  "2,SHARED",
	 .full = "0,SHARED/32,SHARED/24,SHARED/16,SHARED/12,SHARED/8,SHARED/7,SHARED/6,SHARED/"
		 "5,SHARED/4,SHARED/3,SHARED/2,SHARED"},
	{0}};

/* Blocks of the load for every slot of the device, and the work of one: about 100 us on an
 * otherwise idle CPU core. */
#define WAVES 3u
#define BLOCK_FMAS (UINT64_C(1024) * DEV_FMA_QUANTUM)
#define HOLD_NS UINT64_C(500000000)

struct state {
	struct dev_kernel *fma;
	void *out;
	uint64_t shared;
	/* Blocks of the load; its resident blocks of a unit, and those of the blocking kernel. */
	uint32_t grid, load_residents, max_residents;
	struct late_block late;
	struct blocking_kernel blocking;
};

static int admit(const struct bench_case *c)
{
	if (axis_u64(c, "shared") > dev_props(c->dev)->shared_per_block_bytes)
		return err_note(-ENOTSUP, "a block of this device may claim at most %llu bytes",
				(unsigned long long)dev_props(c->dev)->shared_per_block_bytes);
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const struct dev_props *p = dev_props(c->dev);
	const uint32_t slots = p->units * p->slots_per_unit;
	s->shared = axis_u64(c, "shared");
	s->grid = WAVES * slots;
	s->fma = bench_kernel(c, "fma_f32");
	s->out = bench_alloc(c, DEV_MEM_DEVICE, s->grid * sizeof(float));
	late_block_open(&s->late, c, p->priority_high);
	blocking_kernel_open(&s->blocking, c, 2 * slots);
	TRY(c->status, dev_occupancy(c->dev, s->fma, 0, s->shared, &s->load_residents));
	return TRY(c->status,
		   dev_occupancy(c->dev, s->blocking.kernel, 0, s->shared, &s->max_residents));
}

static int launch_load(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	const uint64_t fmas = BLOCK_FMAS;
	const void *const args[] = {&s->out, &fmas};
	const struct dev_launch load = {.grid = s->grid, .shared_bytes = s->shared, .args = args};
	return dev_launch(c->dev, c->stream, s->fma, &load);
}

static void model_load(const struct bench_case *c, long unused, struct bench_model *m)
{
	m->flops = 2.0 * (double)BLOCK_FMAS * ((const struct state *)c->state)->grid;
}

static int wait_loaded(struct bench_case *c, long unused, uint64_t iterations)
{
	return late_block_waits(&((struct state *)c->state)->late, c, launch_load, iterations);
}

static int wait_idle(struct bench_case *c, long unused, uint64_t iterations)
{
	return late_block_waits(&((struct state *)c->state)->late, c, NULL, iterations);
}

static const struct bench_variant variants[] = {
	[LOAD] = {"load", BENCH_DEVICE, .once = launch_load, .model = model_load},
	[LOADED_WAIT] = {"loaded_wait", BENCH_SELF, .body = wait_loaded, .needs = DEV_CAP_PRIORITY},
	[IDLE_WAIT] = {"idle_wait", BENCH_SELF, .body = wait_idle, .needs = DEV_CAP_PRIORITY},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"slot_wait", BENCH_DIFFERENCE, "loaded_wait", "idle_wait",
	 "wait while the load runs - wait on an idle device"},
	{"slot_wait_share", BENCH_FORMULA},
	{0}};

static const struct bench_metric primary[] = {
	{"slot_wait_share", "slot_wait_share", "loaded_wait", "shared=0"}, {0}};

static int verify_mechanism(struct bench_case *c)
{
	struct state *s = c->state;
	const uint32_t units = dev_props(c->dev)->units, expected = s->max_residents * units;
	uint32_t arrived = 0, timed_out = 0;
	if (bench_variant_on(c, LOADED_WAIT))
		late_block_verify(&s->late, 1, c, 1u << LOADED_WAIT);
	TRY(c->status,
	    blocking_kernel_start(&s->blocking, s->blocking.max_blocks, s->shared, HOLD_NS));
	TRY(c->status, blocking_kernel_settle(&s->blocking, expected, HOLD_NS / 2, &arrived));
	const int released = blocking_kernel_release(&s->blocking, &timed_out);
	if (TRY(c->status, released))
		return c->status;
	bench_value(c, "residents_per_unit", -1, (double)arrived / units, "",
		    "blocks seen resident / units");
	bench_model_value(c, "residents_by_formula", -1, s->max_residents, "",
			  "min(slots, floor(shared memory of a unit / claim))");
	bench_mechanism(c, "residents_follow_the_claim", arrived == expected && timed_out == 0,
			"%u blocks resident on %u units; the formula gives %u", arrived, units,
			expected);
	return 0;
}

static double load_waves(const struct bench_case *c)
{
	const struct state *s = c->state;
	return (double)s->grid / ((double)s->load_residents * dev_props(c->dev)->units);
}

static double share_of_block(const struct bench_round *r)
{
	const double *t = r->seconds;
	return (t[LOADED_WAIT] - t[IDLE_WAIT]) / (t[LOAD] / load_waves(r->c));
}

static int derive(struct bench_case *c)
{
	const struct bench_quantity share = {
		BENCH_FORMULA, .of = {{.sum = 1u << LOAD | 1u << LOADED_WAIT | 1u << IDLE_WAIT}},
		.f = share_of_block};
	bench_fact_number(c, "load_waves", load_waves(c));
	return bench_derive(c, "slot_wait_share", LOADED_WAIT, &share,
			    "slot_wait / (load / load_waves), the time of a block");
}

static const struct bench bench = {
	.name = "micro/occupancy",
	.question = "how does shared memory limit occupancy?",
	.formula = "residents = min(slots, floor(shared memory of a unit / claim)); "
		   "loaded_wait = end of the late block - release of its stream; "
		   "slot_wait_share = (loaded_wait - idle_wait) / (load / waves of its blocks)",
	.timed = "a grid of multiply-adds; the wait of one high-priority block while it runs; not "
		 "opening streams or counting resident blocks",
	.limits = "a wait includes start and end of an empty kernel, slot_wait does not; the late "
		  "block arrives some microseconds after the blocks that it waits for have started",
	.needs = DEV_CAP_OCCUPANCY | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_PRIORITY,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
