/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A against A: two variants that do the same. The ratio's 95 % interval must hold 1 in at least 93
 * % of 200 trials, or the harness would find differences where there are none. On the simulated
 * device, with jitter, by default; another device may be given as the argument (`make peers` gives
 * host).
 */
#include "bench/bench.h"
#include "bench/quantities/quantities.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <string.h>

#define TRIALS 200
#define COPY_BYTES (256u << 10)

static const char *device = "sim";
static int trials, holds;

struct state {
	void *from, *to;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	int status = dev_alloc(c->dev, DEV_MEM_DEVICE, COPY_BYTES, &s->from);
	return status ? status : dev_alloc(c->dev, DEV_MEM_DEVICE, COPY_BYTES, &s->to);
}

static int copy_once(struct bench_case *c, long unused)
{
	struct state *s = c->state;
	return dev_copy(c->dev, c->stream, s->to, s->from, COPY_BYTES);
}

static int derive(struct bench_case *c)
{
	int status = bench_ratio(c, "ratio", 1, 0, "A / A");
	const struct bench_derived *d = &c->run->quantities->derived[c->run->quantities->count - 1];
	trials++;
	holds += d->low <= 1.0 && 1.0 <= d->high;
	return status;
}

static void teardown(struct bench_case *c)
{
	struct state *s = c->state;
	dev_free(c->dev, s->from);
	dev_free(c->dev, s->to);
}

static const struct axis axes[] = {
	{.name = "trial", .help = "number", .kind = AXIS_COUNT, .quick = "1:200:+1"}, {0}};
static const struct bench_variant variants[] = {{"a", BENCH_DEVICE}, {"also_a", BENCH_DEVICE}, {0}};

static const struct bench bench = {
	.name = "test/aa",
	.question = "is A the same as A?",
	.formula = "ratio",
	.timed = "copies",
	.axes = axes,
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.once = copy_once,
	.derive = derive,
	.teardown = teardown,
};

/* All trials are taken: on a simulated device the budget only says how many cases are begun. */
static void a_is_a(void)
{
	const char *budget = strcmp(device, "sim") == 0 ? "600s" : "20s";
	int code = run_captured(&bench, NULL, "--device", device, "--budget", budget,
				"--max-samples", "50");
	printf("# %s: the interval holds 1 in %d of %d trials\n", device, holds, trials);
	expect(code == 0 || code == 3);
	expect(trials == TRIALS);
	expect(holds >= 0.93 * TRIALS);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		device = argv[1];
	test(a_is_a);
	return test_done();
}
