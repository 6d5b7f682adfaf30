/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The untimed iteration in front of a sample, on a fake or simulated GPU: there for what moves
 * bytes, within the same queue, and nowhere else.
 */
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/device/gpu/with_fakes.h"
#include "tests/unit/test.h"

enum { BYTES = 4096, CALLS = 4096 };

static struct {
	double bytes, flops;
	uint64_t max_iterations;
} work;
static uint64_t calls[CALLS]; /* iterations of each body */
static unsigned count;

static int setup(struct bench_case *c)
{
	char **memory = c->state;
	for (int i = 0; i < 2; i++)
		memory[i] = bench_alloc(c, i ? DEV_MEM_DEVICE : DEV_MEM_PINNED, BYTES);
	if (work.max_iterations)
		bench_max_iterations(c, 0, work.max_iterations);
	return c->status;
}

static int body(struct bench_case *c, long unused, uint64_t iterations)
{
	char **memory = c->state;
	if (count < CALLS)
		calls[count++] = iterations;
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_copy(c->dev, c->stream, memory[1], memory[0], BYTES));
	return c->status;
}

static void model(const struct bench_case *c, long unused, struct bench_model *m)
{
	m->bytes = work.bytes;
	m->flops = work.flops;
}

static const struct bench_variant variants[] = {{"copy", BENCH_DEVICE}, {0}};

static const struct bench bench = {.name = "test/warm",
				   .question = "is there an iteration in front?",
				   .formula = "none",
				   .timed = "copies",
				   .variants = variants,
				   .state_bytes = 2 * sizeof(char *),
				   .setup = setup,
				   .body = body,
				   .model = model};

static void take_samples(const char *device)
{
	static char output[1 << 16];
	count = 0;
	/* A busy machine may drop the samples of a run. */
	for (int tries = 0; count < 4 && tries < 20; tries++) {
		count = 0;
		int code = run_captured(&bench, output, "--device", device, "--min-samples", "3",
					"--max-samples", "3", "--warm-up", "0");
		expect(code == 0 || code == 3);
	}
	require(count >= 4);
}

/* Number of warm ones among the last six bodies: three samples with one in front. On a busy machine
 * an iteration may seem so long that a sample has no other; then it is done again. */
static unsigned count_warm(const char *device)
{
	unsigned warm = 0;
	take_samples(device);
	for (int tries = 0; calls[count - 1] == 1 && work.max_iterations != 1 && tries < 200;
	     tries++)
		take_samples(device);
	for (unsigned i = count < 6 ? 0 : count - 6; i + 1 < count; i += 2)
		warm += calls[i] == 1 && calls[i + 1] == calls[count - 1] && calls[i + 1] > 1;
	return warm;
}

static void bytes_are_moved_once_before_a_sample(void)
{
	work.bytes = BYTES;
	expect(count_warm("cuda") == 3);
	expect(count_warm("hip") == 3);
	expect(count_warm("sim:quiet") == 3);
	expect(count_warm("host") == 0);
	work.flops = 1;
	expect(count_warm("cuda") == 0);
	work.bytes = work.flops = 0;
	expect(count_warm("cuda") == 0);
}

/* The iteration in front is one of those that the queue holds. */
static void it_fits_into_the_queue(void)
{
	work.bytes = BYTES;
	work.max_iterations = 40;
	expect(count_warm("cuda") == 3 && calls[count - 1] < 40);
	work.max_iterations = 1;
	expect(count_warm("cuda") == 0 && calls[count - 1] == 1);
	work.max_iterations = 0;
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(bytes_are_moved_once_before_a_sample);
	test(it_fits_into_the_queue);
	return test_done();
}
