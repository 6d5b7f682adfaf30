/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases that the harness adds to curves that are known: at falls, nowhere else, and none twice.
 */
#include "bench/bench.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128 };

/* Behaviour of the program: seconds of a case by its size, and their scatter; set by each test. */
static struct {
	double (*seconds)(double size);
	double scatter;
	double wait_s; /* that a sample takes of the wall clock */
} act;

static struct {
	uint64_t size[MOST]; /* of the cases, in the order in which they ran */
	size_t count;
} ran;

static int setup(struct bench_case *c)
{
	if (ran.count < MOST)
		ran.size[ran.count++] = axis_u64(c, "size");
	return 0;
}

static int body(struct bench_case *c, long unused, uint64_t iterations)
{
	const double part = 1.0 + act.scatter * (double)(rng_below(&c->rng, 1000)) / 1000.0;
	if (act.wait_s > 0.0)
		usleep((useconds_t)(1e6 * act.wait_s));
	c->self_seconds = (double)iterations * part * act.seconds((double)axis_u64(c, "size"));
	return 0;
}

static void model(const struct bench_case *c, long unused, struct bench_model *m)
{
	m->bytes = (double)axis_u64(c, "size");
}

static const struct axis axes[] = {
	{.name = "way",
	 .kind = AXIS_WORD,
	 .words = (const char *const[]){"up", "down", NULL},
	 .quick = "up,down"},
	{.name = "size", .kind = AXIS_SIZE, .min = 4096, .multiple = 4096, .quick = "64K:256M:x16"},
	{0}};
static const struct bench_variant variants[] = {{"only", BENCH_SELF}, {0}};
static const struct bench bench = {
	.name = "test/cliffs",
	.question = "where is it?",
	.formula = "none",
	.timed = "nothing",
	.axes = axes,
	.variants = variants,
	.cliff = {"size", "bandwidth", "only", "way=up"},
	.setup = setup,
	.body = body,
	.model = model,
};

static char output[1 << 20];

#define RUN(...)                                                                                   \
	(ran.count = 0,                                                                            \
	 run_captured(&bench, output, "--device", "sim", "--format", "json", __VA_ARGS__))

/* The lists have so many cases: two ways of four sizes. */
enum { LISTED = 8 };

/* Ten times slower from here on. */
#define EDGE 23456789.0
static double falls_at_once(double size) { return size * (size < EDGE ? 1e-10 : 1e-9); }

static double falls_a_little(double size) { return size * (size < EDGE ? 1e-10 : 1.4e-10); }

static double starts_up(double size) { return 1e-4 + size * 1e-10; }

static double slopes_down(double size) { return 1e-10 * pow(size, 1.06); }

static double stands_out(double size) { return (size == 1048576.0 ? 2.0 : 1.0) * 1e-10 * size; }

static double goes_both_ways(double size)
{
	return (size < 3e6 ? 1.0 : size < 40e6 ? 2.0 : 1.0) * 1e-10 * size;
}

static void set_curve(double (*seconds)(double size))
{
	memset(&act, 0, sizeof(act));
	act.seconds = seconds;
}

/* The largest size that ran and is below `edge`, and the smallest that is not. */
static void find_interval(double edge, double *below_p, double *above_p)
{
	*below_p = 0.0, *above_p = INFINITY;
	for (size_t i = 0; i < ran.count; i++) {
		const double size = (double)ran.size[i];
		*below_p = size < edge ? fmax(*below_p, size) : *below_p;
		*above_p = size < edge ? *above_p : fmin(*above_p, size);
	}
}

static size_t count_text(const char *text)
{
	size_t found = 0;
	for (const char *at = output; (at = strstr(at, text)); at++)
		found++;
	return found;
}

static void the_edge_is_found_to_5_percent(void)
{
	double below, above;
	set_curve(falls_at_once);
	expect(RUN("--seed", "1") == 0);
	find_interval(EDGE, &below, &above);
	expect(above <= 1.05 * below);
	expect(ran.count > LISTED && ran.count <= LISTED + 8);
	/* First all cases of the lists. */
	for (size_t i = 0; i < LISTED; i++)
		expect(ran.size[i] == UINT64_C(65536) << 4 * (i % 4));
	for (size_t i = LISTED; i < ran.count; i++)
		expect(ran.size[i] % 4096 == 0);
	/* The listed curve; the end counts all cases. */
	expect(count_text("\"key\":\"way=down") == LISTED / 2);
	char total[40];
	snprintf(total, sizeof(total), "\"total\":%zu", ran.count);
	expect(count_text(total) == 1);
}

static void seconds_that_grow_are_one_too(void)
{
	static struct bench other;
	double below, above;
	set_curve(falls_at_once);
	other = bench;
	other.model = NULL;
	other.cliff = (struct bench_cliff){"size", "time", "only", "way=down"};
	ran.count = 0;
	expect(run_captured(&other, output, "--device", "sim", "--format", "json") == 0);
	find_interval(EDGE, &below, &above);
	expect(above > 0 && ran.count > LISTED);
}

static void what_rises_or_slopes_has_none(void)
{
	set_curve(starts_up);
	expect(RUN("--seed", "1") == 0 && ran.count == LISTED);
	set_curve(slopes_down);
	expect(RUN("--seed", "1") == 0 && ran.count == LISTED);
}

/* One value that stands out draws cases near it, all of which are as before. */
static void an_outlier_ends(void)
{
	set_curve(stands_out);
	expect(RUN("--seed", "1") == 0);
	expect(ran.count > LISTED && ran.count < LISTED + 10);
	double next = 0.0;
	for (size_t i = LISTED; i < ran.count; i++)
		if (ran.size[i] > 1048576)
			next = (double)ran.size[i];
	expect(next > 1048576.0 && next < 1.1 * 1048576.0);
}

static void a_value_within_noise_is_none(void)
{
	set_curve(falls_a_little);
	expect(RUN("--seed", "1") == 0 && ran.count > LISTED);
	act.scatter = 4.0;
	expect(RUN("--seed", "1", "--max-samples", "10", "--goal", "0.01") == 0);
	expect(ran.count == LISTED);
}

static void two_edges_are_found_in_turn(void)
{
	double below, above;
	set_curve(goes_both_ways);
	expect(RUN("--seed", "1") == 0);
	find_interval(3e6, &below, &above);
	expect(above <= 1.05 * below);
	/* A curve that gets faster again has no cliff. */
	find_interval(40e6, &below, &above);
	expect(above > 1.3 * below);
}

static void lists_and_passes_of_ones_own_are_as_written(void)
{
	set_curve(falls_at_once);
	expect(RUN("--size", "64K:256M:x16") == 0 && ran.count == LISTED);
	expect(RUN("--check", "every") == 0 && ran.count == LISTED);
	expect(RUN("--way", "up") == 0 && ran.count > LISTED / 2);
	expect(RUN("--way", "down") == 0 && ran.count == LISTED / 2);
}

static void the_budget_ends_it(void)
{
	set_curve(falls_at_once);
	act.wait_s = 1e-3;
	/* The first case takes longer than all of the time. */
	expect(RUN("--budget", "1ms") == 0);
	expect(ran.count == 1 && count_text("\"out_of_budget\":7") == 1);
}

/* If nothing is computed, points are up to 20 % apart, whatever the values are. */
static void an_octave_gets_its_points(void)
{
	static struct axis often[3];
	static struct bench other;
	static const char *const devices[] = {"sim", "sim:h100"};
	set_curve(starts_up);
	other = bench;
	memcpy(often, axes, sizeof(axes));
	often[1].octave = 5;
	other.axes = often;
	for (size_t d = 0; d < 2; d++) {
		ran.count = 0;
		expect(run_captured(&other, output, "--device", devices[d], "--format", "json") ==
		       0);
		expect(ran.count == LISTED + (d ? 3 * 4 * 5 - 3 : 0));
	}
	double below, above;
	for (double at = 1.3e6; at < 2.5e8; at *= 1.07) {
		find_interval(at, &below, &above);
		expect(above <= 1.2 * below);
	}
}

/* A file of keys, with the values of the curve if `with_values`. */
static const char *write_done(size_t count, bool with_values)
{
	static char path[64];
	snprintf(path, sizeof(path), "/tmp/gpusig-cliffs-%ld", (long)getpid());
	FILE *file = fopen(path, "w");
	require(file != NULL);
	for (size_t i = 0; i < count; i++) {
		const double size = (double)ran.size[i];
		const bool down = i >= LISTED / 2 && i < LISTED;
		fprintf(file, "way=%s size=%.0f", down ? "down" : "up", size);
		if (with_values && !down)
			fprintf(file, "\t%.17g %.17g", size / act.seconds(size),
				size / act.seconds(size));
		fputc('\n', file);
	}
	fclose(file);
	return path;
}

static void a_run_goes_on_where_it_ended(void)
{
	set_curve(falls_at_once);
	expect(RUN("--seed", "1") == 0);
	const size_t all = ran.count;
	require(all > LISTED + 3);
	uint64_t size[MOST];
	memcpy(size, ran.size, sizeof(size));
	for (size_t done = 1; done <= all; done++) {
		memcpy(ran.size, size, sizeof(size));
		const char *path = write_done(done, true);
		char text[40];
		expect(RUN("--done", path) == 0);
		expect(ran.count == all - done);
		for (size_t i = 0; i < ran.count; i++)
			expect(ran.size[i] == size[done + i]);
		snprintf(text, sizeof(text), "\"already_done\":%zu", done);
		expect(count_text(text) == 1);
		snprintf(text, sizeof(text), "\"total\":%zu", all);
		expect(count_text(text) == 1);
		unlink(path);
	}
	/* Without values there is nothing to compare. */
	memcpy(ran.size, size, sizeof(size));
	const char *path = write_done(LISTED, false);
	expect(RUN("--done", path) == 0 && ran.count == 0);
	unlink(path);
}

static void an_added_case_can_be_named(void)
{
	static const char keys[] = "way=up size=12582912\nway=down size=65536\n";
	set_curve(falls_at_once);
	const char *path = write_done(0, false);
	FILE *file = fopen(path, "w");
	require(file != NULL);
	fputs(keys, file);
	fclose(file);
	expect(RUN("--cases", path) == 0);
	expect(ran.count == 2 && ran.size[0] == 65536 && ran.size[1] == 12582912);
	static const char *const none[] = {"way=sideways size=12582912", "way=up size=12582913",
					   "way=up size=536870912", "way=down size=12582912"};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		file = fopen(path, "w");
		require(file != NULL);
		fprintf(file, "%s\n", none[i]);
		fclose(file);
		expect(RUN("--cases", path) == 2);
	}
	unlink(path);
}

static int accept_any(const char *word) { return 0; }

static int setup_word(struct bench_case *c)
{
	const char *word = axis_str(c, "shape");
	if (ran.count < MOST)
		ran.size[ran.count++] = *word == 'n' ? strtoull(word + 1, NULL, 10) : 0;
	return 0;
}

static int body_word(struct bench_case *c, long unused, uint64_t iterations)
{
	const char *word = axis_str(c, "shape");
	/* A square costs twice as much from here on; what is none always does. */
	const bool costs = *word != 'n' || strtoull(word + 1, NULL, 10) > 1234;
	c->self_seconds = (costs ? 2e-3 : 1e-3) * (double)iterations;
	return 0;
}

static void squares_are_numbers_too(void)
{
	static const struct axis shapes[] = {{.name = "shape",
					      .kind = AXIS_WORD,
					      .accept = accept_any,
					      .multiple = 16,
					      .quick = "g1,n512,n1024,8x8x8,n2048,n4096"},
					     {0}};
	static struct bench other;
	double below, above;
	other = bench;
	other.axes = shapes;
	other.model = NULL;
	other.setup = setup_word;
	other.body = body_word;
	other.cliff = (struct bench_cliff){"shape", "time", "only", NULL};
	ran.count = 0;
	expect(run_captured(&other, output, "--device", "sim", "--format", "json") == 0);
	find_interval(1235.0, &below, &above);
	expect(ran.count > 6 && below >= 1024.0 && above <= 1.05 * below);
	for (size_t i = 6; i < ran.count; i++)
		expect(ran.size[i] > 1024 && ran.size[i] < 2048 && ran.size[i] % 16 == 0);
	char key[40];
	snprintf(key, sizeof(key), "\"key\":\"shape=n%.0f\"", above);
	expect(count_text(key) == 1);
	ran.count = 0;
	expect(run_captured(&other, output, "--device", "sim", "--shape", "default,n640",
			    "--format", "json") == 0);
	expect(ran.count > 7);
}

int main(void)
{
	test(the_edge_is_found_to_5_percent);
	test(seconds_that_grow_are_one_too);
	test(what_rises_or_slopes_has_none);
	test(an_outlier_ends);
	test(a_value_within_noise_is_none);
	test(two_edges_are_found_in_turn);
	test(lists_and_passes_of_ones_own_are_as_written);
	test(the_budget_ends_it);
	test(an_octave_gets_its_points);
	test(a_run_goes_on_where_it_ended);
	test(an_added_case_can_be_named);
	test(squares_are_numbers_too);
	return test_done();
}
