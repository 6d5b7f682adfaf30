/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does stream priority shorten the wait for a slot? A backlog of blocks waits for slots; one more
 * block is launched behind it, from a stream of the same priority or of the highest. If priority
 * works, the block of the highest priority starts as soon as any slot is free.
 *
 * Timed: the wait of the late block (micro/late_block/late_block.h). Running blocks are never
 * preempted, so even a block of the highest priority waits for one to end. "No effect" is a valid
 * result, not a failure.
 *
 *     bin/micro/priority --device host
 */
#include "device/kernels.h"
#include "lib/err.h"
#include "micro/late_block/late_block.h"

#include <math.h>

enum { EQUAL, HIGH };

static const struct axis axes[] = {{"waves", "blocks of the backlog for every slot of the device",
				    AXIS_COUNT, .min = 2, .max = 64, .quick = "4",
				    .full = "2,4,8,16"},
				   {0}};

/* Work of one block of the backlog: about 100 us on an otherwise idle CPU core. */
#define BLOCK_FMAS (UINT64_C(1024) * DEV_FMA_QUANTUM)
/* With priority the late block waits for the running wave alone. A higher ratio shows no effect. */
#define EFFECT_BELOW 0.8

struct state {
	struct dev_kernel *fma;
	struct late_block late[2];
	void *out;
	uint32_t grid;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	const struct dev_props *p = dev_props(c->dev);
	s->grid = (uint32_t)axis_u64(c, "waves") * p->units * p->slots_per_unit;
	s->fma = bench_kernel(c, "fma_f32");
	s->out = bench_alloc(c, DEV_MEM_DEVICE, s->grid * sizeof(float));
	late_block_open(&s->late[EQUAL], c, p->priority_normal);
	return late_block_open(&s->late[HIGH], c, p->priority_high);
}

static int launch_backlog(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	const uint64_t fmas = BLOCK_FMAS;
	const void *const args[] = {&s->out, &fmas};
	const struct dev_launch backlog = {.grid = s->grid, .args = args};
	return dev_launch(c->dev, c->stream, s->fma, &backlog);
}

static int wait_behind_backlog(struct bench_case *c, long late, uint64_t iterations)
{
	struct state *s = c->state;
	return late_block_waits(&s->late[late], c, launch_backlog, iterations);
}

static const struct bench_variant variants[] = {[EQUAL] = {"equal", BENCH_SELF, .arg = EQUAL},
						[HIGH] = {"high", BENCH_SELF, .arg = HIGH},
						{0}};

static const struct bench_quantity_row quantities[] = {
	{"wait_ratio", BENCH_RATIO, "high", "equal",
	 "wait with the highest priority / wait with the same"},
	{0}};

static const struct bench_metric primary[] = {
	{"priority_wait_ratio", "wait_ratio", "high", "waves=4"}, {0}};

static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	late_block_verify(s->late, 2, c, 1u << EQUAL | 1u << HIGH);
	return 0;
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
	return 0;
}

static const struct bench bench = {
	.name = "micro/priority",
	.question = "does stream priority shorten waits for slots?",
	.formula =
		"wait = end of the late block - release of its stream; wait_ratio = wait with the "
		"highest priority / with the same; s",
	.timed = "the wait of one block behind a backlog; not opening streams",
	.limits = "shows the order of waiting blocks; running blocks are never preempted",
	.needs = DEV_CAP_PRIORITY,
	.wants = DEV_CAP_WAIT_VALUE,
	.share = 0.5,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = wait_behind_backlog,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
