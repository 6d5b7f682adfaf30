/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A measured roofline on a device whose truth is known: the bound is the rate of the slower part,
 * an honest copy stays below it, and one that counts its bytes eight times is flagged.
 */
#include "bench/roofline.h"
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#define BYTES (64u << 20)

enum { COPY };

static double counted_times, bound_of, read_rate, write_rate;

struct state {
	char *from, *to;
	uint64_t bytes;
	struct dev_kernel *copy;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	s->bytes = BYTES;
	s->from = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	s->to = bench_alloc(c, DEV_MEM_DEVICE, BYTES);
	s->copy = bench_kernel(c, "copy_nt");
	return roofline_open(c, s->from, BYTES, s->to, BYTES);
}

static bool one_memory;

static int launch_copy(struct bench_case *c, long arg)
{
	struct state *s = c->state;
	uint32_t reps = 1;
	const void *const args[] = {&s->to, &s->from, &s->bytes, &reps};
	struct dev_launch launch = {.grid = dev_wave_blocks(c->dev, s->copy), .args = args};
	return dev_launch(c->dev, c->stream, s->copy, &launch);
}

static void model(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = counted_times * BYTES;
}

static int derive(struct bench_case *c)
{
	const unsigned read = bench_variant(c, "read_only"),
		       write = bench_variant(c, "write_only_nt");
	read_rate = bench_work(c, read).bytes / bench_best(c, read);
	write_rate = bench_work(c, write).bytes / bench_best(c, write);
	roofline_bound(c, COPY, 1.0, 1.0, one_memory);
	return 0;
}

static const struct bench_variant variants[] = {
	{.name = "copy", .timing = BENCH_DEVICE}, ROOFLINE_VARIANTS, {0}};

static const struct bench bench = {.name = "test/roofline",
				   .question = "how high?",
				   .formula = "bytes / time",
				   .timed = "copies",
				   .variants = variants,
				   .state_bytes = sizeof(struct state),
				   .setup = setup,
				   .once = launch_copy,
				   .model = model,
				   .derive = derive};

static char output[1 << 18];

static int run_bench(const char *only)
{
	int code = run_captured(&bench, output, "--device", "sim:default?data=none", "--format",
				"json", "--budget", "50ms", only ? "--variant" : NULL, only);
	bound_of = NAN;
	for (const char *at = output; isnan(bound_of) && (at = strstr(at, "\"bound\":")); at += 8)
		if (strncmp(at + 8, "null", 4) != 0)
			bound_of = strtod(at + 8, NULL);
	return code;
}

static void the_slower_direction_bounds_a_copy(void)
{
	counted_times = 1.0;
	expect(run_bench(NULL) == 0);
	expect(read_rate > 0 && write_rate > 0);
	expect_near(bound_of / fmin(read_rate, write_rate), 1.0, 1e-6);
	expect(strstr(output, "above_bound") == NULL);
}

/* A copy within one memory that reads and writes by turns stays at half of the bound. */
static void no_share_of_what_cannot_be_reached(void)
{
	one_memory = true;
	expect(run_bench(NULL) == 0);
	expect(isfinite(bound_of));
	expect(strstr(output, "concurrent\",\"share\":null"));
	one_memory = false;
	expect(run_bench(NULL) == 0);
	expect(strstr(output, "concurrent\",\"share\":0."));
}

static void above_the_bound_is_flagged(void)
{
	counted_times = 8.0;
	expect(run_bench(NULL) == 0);
	expect(strstr(output, "\"flag\":\"above_bound\",\"variant\":\"copy\"") != NULL);
}

static void a_missing_part_gives_no_bound(void)
{
	counted_times = 8.0;
	expect(run_bench("copy,read_only") == 0);
	expect(isnan(bound_of));
	expect(strstr(output, "above_bound") == NULL);
}

int main(void)
{
	test(the_slower_direction_bounds_a_copy);
	test(no_share_of_what_cannot_be_reached);
	test(above_the_bound_is_flagged);
	test(a_missing_part_gives_no_bound);
	return test_done();
}
