/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gain of sending C early, on machines whose gains are given by a formula.
 */
#include "lib/err.h"
#include "tests/unit/advise/advise_truth.h"

#include <errno.h>

static void add_power_law(enum advise_way way, const char *copy_method, double at_one, double power)
{
	for (double x = 1.0 / 64; x <= 64; x *= 2)
		parse_line("early %s %s f32 %.12g %.12g", advise_ways[way], copy_method, x,
			   at_one * pow(x, power));
	advise_prepare(&machine);
}

/* Hides the shorter side, but computes tiles that are slower than the library's. */
static double true_gain(double x, double tiling_cost) { return (1 + x) / fmax(tiling_cost, x); }

static void add_ideal(enum advise_way way, double tiling_cost)
{
	for (double x = 1.0 / 64; x <= 33; x *= sqrt(2))
		parse_line("early %s engine f32 %.12g %.12g", advise_ways[way], x,
			   true_gain(x, tiling_cost));
	advise_prepare(&machine);
}

static struct advise_advice scatter_for(uint32_t side, uint32_t k)
{
	return advise_for(side, side, k, 4, ADVISE_GEMM_RS);
}

static void gain_between_points(void)
{
	build_machine(&plain);
	add_power_law(ADVISE_TRIGGER, "engine", 1.25, 0.3);
	for (uint32_t k = 128; k <= 8192; k *= 2) {
		struct advise_advice a = scatter_for(4096, k);
		const struct advise_early *e = &a.early[ADVISE_TRIGGER];
		/* A device sends a quarter of C to each of three others, by one engine. */
		double send = 3 * (2e-6 + 4096 * 4096 * 4 / 4 / 5e10);
		expect_near(e->send_over_gemm / (send / true_gemm(&plain, 4096, 4096, k, 0)), 1,
			    0.03);
		expect(a.send_over_gemm <= e->send_over_gemm); /* a kernel starts three at once */
		expect(e->points == 13 && !e->extrapolated && e->copy_method == ADVISE_ENGINE);
		expect_near(e->gain, 1.25 * pow(e->send_over_gemm, 0.3), 1e-9);
		expect_near(e->error, 0, 1e-9);
		expect_near(e->seconds * e->gain / candidate_seconds(&a, ADVISE_SERIAL), 1, 1e-9);
		expect(e->pays == (e->gain > 1 ? 1 : -1));
		expect(a.best_way == (e->gain > 1 ? ADVISE_TRIGGER : -1));
	}
}

/* The curve has a kink, which its error covers. */
static void gain_of_ideal_overlap(void)
{
	for (double cost = 1; cost < 2; cost += 0.25) {
		build_machine(&plain);
		add_ideal(ADVISE_REMOTE_STORE, cost);
		for (uint32_t k = 512; k <= 8192; k = k * 5 / 4) {
			struct advise_advice a = scatter_for(2048, k);
			const struct advise_early *e = &a.early[ADVISE_REMOTE_STORE];
			expect_near(e->gain / true_gain(e->send_over_gemm, cost), 1,
				    fmax(0.02, e->error));
		}
	}
}

static void outside_the_points_nothing_is_said(void)
{
	build_machine(&plain);
	parse_line("early split engine f32 1e-6 1.5");
	parse_line("early split engine f32 2e-6 1.5");
	parse_line("early trigger engine f32 1e3 3");
	parse_line("early trigger engine f32 2e3 3");
	advise_prepare(&machine);
	struct advise_advice a = scatter_for(4096, 4096);
	static const enum advise_way ways[] = {ADVISE_SPLIT, ADVISE_TRIGGER};
	for (unsigned i = 0; i < 2; i++) {
		const struct advise_early *e = &a.early[ways[i]];
		expect(e->points == 2 && e->extrapolated && isnan(e->gain) && isnan(e->seconds));
		expect(e->pays == 0);
	}
	expect_near(a.early[ADVISE_SPLIT].min_x, 1e-6, 0);
	expect_near(a.early[ADVISE_SPLIT].max_x, 2e-6, 0);
	expect(a.best_way == -1 && isnan(a.way_gain) && a.way_pays == 0);
}

static void unmeasured_ways_have_no_gain(void)
{
	build_machine(&plain);
	struct advise_advice none = scatter_for(1024, 1024);
	expect(none.send_over_gemm > 0 && none.best_way == -1);
	for (unsigned i = 0; i < ADVISE_WAYS; i++)
		expect(none.early[i].points == 0 && isnan(none.early[i].gain));
	/* Other types and copy methods without copies do not stand in. */
	for (unsigned i = 0; i < ADVISE_LINKS; i++)
		machine.copy[ADVISE_KERNEL][i].points = 0;
	parse_line("early trigger engine f64 1e-3 2");
	parse_line("early trigger kernel f32 1e-3 2");
	advise_prepare(&machine);
	none = scatter_for(1024, 1024);
	expect(none.early[ADVISE_TRIGGER].points == 0);
	add_power_law(ADVISE_TRIGGER, "engine", 2, 0);
	struct advise_advice arriving = advise_for(1024, 1024, 1024, 4, ADVISE_AG_GEMM);
	expect(isnan(arriving.send_over_gemm) && arriving.early[ADVISE_TRIGGER].points == 0 &&
	       arriving.best_way == -1);
}

/* By hand: without it, the second is predicted to be the geometric mean of its neighbours. The ends
 * would be further off. */
static void error_by_hand(void)
{
	const struct advise_gain *g = &machine.gain[ADVISE_TRIGGER][ADVISE_ENGINE][ADVISE_F32];
	static const char *const lines[] = {"0.01 1", "1 1.2", "100 0.5"};
	build_machine(&plain);
	for (unsigned i = 0; i < 3; i++) {
		expect(isinf(g->error));
		parse_line("early trigger engine f32 %s", lines[i]);
		advise_prepare(&machine);
	}
	expect_near(g->error, 1.2 / sqrt(0.5) - 1, 1e-12);
}

/* By hand: one point that is 1.44 among ones of 1 is predicted to be 1, and its neighbours, 1.2. Of
 * 22 predictions two may be off by more than the error, of 9 none. */
static void one_in_ten_may_be_off(void)
{
	const struct advise_gain *g = &machine.gain[ADVISE_SPLIT][ADVISE_ENGINE][ADVISE_F32];
	static const unsigned points[] = {ADVISE_POINTS, 11};
	static const double errors[] = {0.2, 0.44};
	for (unsigned t = 0; t < 2; t++) {
		build_machine(&plain);
		for (unsigned i = 0; i < points[t]; i++)
			parse_line("early split engine f32 %g %g", exp2(i), i == 5 ? 1.44 : 1);
		advise_prepare(&machine);
		expect_near(g->error, errors[t], 1e-9);
	}
}

/* At a point that is alone the gain is known, but not its error. */
static void one_point_decides_nothing(void)
{
	build_machine(&plain);
	add_power_law(ADVISE_TRIGGER, "engine", 1, 0);
	double x = scatter_for(1024, 1024).early[ADVISE_TRIGGER].send_over_gemm;
	machine.gain[ADVISE_SPLIT][ADVISE_ENGINE][ADVISE_F32].curve =
		(struct advise_curve){1, {x}, {5}, {log(x)}, {log(5)}};
	advise_prepare(&machine);
	struct advise_advice a = scatter_for(1024, 1024);
	expect(!a.early[ADVISE_SPLIT].extrapolated && isinf(a.early[ADVISE_SPLIT].error));
	expect_near(a.early[ADVISE_SPLIT].gain, 5, 1e-12);
	expect(a.early[ADVISE_SPLIT].pays == 0 && a.best_way == -1);
}

/* Points that alternate between `gain` and 10 % more. */
static void add_scattered(enum advise_way way, double gain)
{
	double factor = 1;
	for (double x = 1.0 / 64; x <= 64; x *= 4, factor = 2.1 - factor)
		parse_line("early %s engine f32 %.12g %.12g", advise_ways[way], x, gain * factor);
	advise_prepare(&machine);
}

static void within_the_error_is_a_tie(void)
{
	static const double gains[] = {0.5, 0.8, 0.9, 0.95, 1, 1.05, 1.2, 2};
	for (size_t i = 0; i < sizeof(gains) / sizeof(gains[0]); i++) {
		build_machine(&plain);
		add_scattered(ADVISE_TRIGGER, gains[i]);
		struct advise_advice a = scatter_for(2048, 2048);
		const struct advise_early *e = &a.early[ADVISE_TRIGGER];
		expect_near(e->error, 0.1, 1e-6);
		expect(e->gain >= gains[i] && e->gain <= 1.1 * gains[i]);
		expect(e->pays == (e->gain > 1.1 ? 1 : e->gain < 1 / 1.1 ? -1 : 0));
		expect((a.best_way == -1) == (e->pays != 1));
		expect(gains[i] < 1.19 || e->pays == 1);
		expect(gains[i] > 0.81 || e->pays == -1);
	}
}

/* The faster way wins, and of equal ways the first one. */
static void the_fastest_way(void)
{
	build_machine(&plain);
	add_power_law(ADVISE_REMOTE_STORE, "engine", 1.3, 0);
	add_power_law(ADVISE_SPLIT, "engine", 1.3, 0);
	add_power_law(ADVISE_TRIGGER, "engine", 0.9, 0);
	struct advise_advice a = scatter_for(2048, 2048);
	expect(a.best_way == ADVISE_SPLIT);
	expect(a.early[ADVISE_TRIGGER].pays == -1 && a.early[ADVISE_REMOTE_STORE].pays == 1);
	add_power_law(ADVISE_TRIGGER_STAGGERED, "engine", 1.31, 0);
	expect(scatter_for(2048, 2048).best_way == ADVISE_TRIGGER_STAGGERED);
}

/* Both copy methods copy at the same rate on this machine; three kernels run at once. */
static void the_faster_copy_method(void)
{
	build_machine(&plain);
	add_power_law(ADVISE_TRIGGER, "engine", 1.2, 0);
	add_power_law(ADVISE_TRIGGER, "kernel", 1.5, 0);
	struct advise_advice a = scatter_for(2048, 2048);
	expect(a.early[ADVISE_TRIGGER].copy_method == ADVISE_KERNEL);
	expect_near(a.early[ADVISE_TRIGGER].gain, 1.5, 1e-9);
}

/* Whichever comes first, and however many points the one without has. */
static void a_copy_method_with_a_gain_before_one_without(void)
{
	for (unsigned known = 0; known < ADVISE_COPY_METHODS; known++) {
		build_machine(&plain);
		for (double x = 1000; x <= 1020; x++)
			parse_line("early trigger %s f32 %g 9", advise_copy_methods[!known], x);
		add_power_law(ADVISE_TRIGGER, advise_copy_methods[known], 1.2, 0);
		struct advise_advice a = scatter_for(2048, 2048);
		expect(a.early[ADVISE_TRIGGER].copy_method == known);
		expect_near(a.early[ADVISE_TRIGGER].gain, 1.2, 1e-9);
	}
}

/* By hand, on a machine that adds at 1e11 byte/s: the last of three additions of a quarter of C
 * remains for gemm-rs; for gemm-ar the sum is sent, too. */
static void what_follows_is_not_shortened(void)
{
	build_machine(&plain);
	for (double bytes = 1e5; bytes < 1e10; bytes *= 10)
		parse_line("reduce %g %.12g", bytes, bytes / 1e11);
	parse_line("hop 5e-6");
	add_power_law(ADVISE_TRIGGER, "engine", 1.6, 0);
	double addition = 2048.0 * 2048 * 4 / 4 / 1e11;
	struct advise_advice rs = scatter_for(2048, 2048),
			     ar = advise_for(2048, 2048, 2048, 4, ADVISE_GEMM_AR);
	const struct advise_candidate *serial = find_candidate(&rs, ADVISE_SERIAL, ADVISE_ENGINE);
	require(serial);
	double both = serial->gemm_s + 5e-6 + serial->comm_s;
	expect_near(rs.early[ADVISE_TRIGGER].seconds / (both / 1.6 + addition), 1, 1e-3);
	expect_near(rs.early[ADVISE_TRIGGER].send_over_gemm, serial->comm_s / serial->gemm_s,
		    1e-12);
	expect_near(ar.early[ADVISE_TRIGGER].send_over_gemm, serial->comm_s / serial->gemm_s,
		    1e-12);
	expect_near(ar.early[ADVISE_TRIGGER].seconds / (both / 1.6 + addition + serial->comm_s), 1,
		    1e-3);
}

static void compared_with_the_first_candidate(void)
{
	struct truth slow_launches = plain;
	slow_launches.launch_s = slow_launches.alpha_s = 1e-3;
	build_machine(&slow_launches);
	add_scattered(ADVISE_TRIGGER, 1.5);
	parse_line("error 0.5");
	advise_prepare(&machine);
	struct advise_advice a = advise_for(512, 512, 512, 8, ADVISE_GEMM_RS);
	require(a.candidate[0].schedule == ADVISE_SERIAL &&
		a.candidate[0].copy_method == ADVISE_KERNEL && a.best_way == ADVISE_TRIGGER);
	expect_near(a.way_gain, a.candidate[0].seconds / a.early[ADVISE_TRIGGER].seconds, 1e-12);
	expect_near(a.way_error, 1.1 * 1.5 - 1, 1e-6);
	/* The same GEMM and the same copies. */
	slow_launches.alpha_s = 1e-4;
	build_machine(&slow_launches);
	add_scattered(ADVISE_TRIGGER, 1.5);
	parse_line("error 0.5");
	advise_prepare(&machine);
	for (unsigned i = 0; i < ADVISE_LINKS; i++)
		machine.copy[ADVISE_KERNEL][i].points = 0;
	a = advise_for(512, 512, 512, 2, ADVISE_GEMM_RS);
	require(a.candidate[0].schedule == ADVISE_SERIAL);
	expect_near(a.way_error, 0.1, 1e-6);
	expect_near(a.way_gain, a.early[ADVISE_TRIGGER].gain, 1e-9);
	expect(a.way_pays == 1);
	/* The sum is sent by other copies than those of the schedule. */
	a = advise_for(512, 512, 512, 2, ADVISE_GEMM_AR);
	require(a.best_way == ADVISE_TRIGGER);
	expect_near(a.way_error, 1.1 * 1.5 - 1, 1e-6);
	/* If a schedule overlaps, its predicted time can be wrong, too. */
	build_machine(&plain);
	parse_line("error 0.25");
	add_scattered(ADVISE_TRIGGER, 1.15);
	a = scatter_for(4096, 1024);
	require(a.candidate[0].schedule != ADVISE_SERIAL && a.best_way == ADVISE_TRIGGER);
	expect_near(a.way_error, 1.1 * 1.25 - 1, 1e-6);
	expect_near(a.way_gain, a.candidate[0].seconds / a.early[ADVISE_TRIGGER].seconds, 1e-12);
	expect(a.way_gain > 1 / (1 + a.way_error) && a.way_gain < 1 + a.way_error);
	expect(a.way_pays == 0);
}

static void on_random_machines(void)
{
	struct rng r;
	unsigned seen = 0;
	rng_seed(&r, 5, 0);
	for (unsigned i = 0; i < (test_all() ? 40 : 20); i++) {
		struct truth t = random_truth(&r);
		build_machine(&t);
		for (unsigned way = 0; way < ADVISE_WAYS; way++)
			add_power_law(way, i % 2 ? "engine" : "kernel", 0.7 + rng_unit(&r),
				      0.2 * rng_unit(&r));
		for (unsigned question = 0; question < 8; question++) {
			struct advise_advice a = advise_for(
				random_side(&r), random_side(&r), random_side(&r), 2 + question,
				question % 2 ? ADVISE_GEMM_RS : ADVISE_GEMM_AR);
			double fastest = INFINITY;
			for (unsigned way = 0; way < ADVISE_WAYS; way++)
				if (a.early[way].pays == 1)
					fastest = fmin(fastest, a.early[way].seconds);
			expect((a.best_way >= 0) == isfinite(fastest));
			if (a.best_way < 0)
				continue;
			seen++;
			expect_near(a.early[a.best_way].seconds, fastest, 0);
			expect_near(a.way_gain, a.candidate[0].seconds / fastest, 1e-12);
		}
	}
	expect(seen > 50);
}

static void bad_lines(void)
{
	static const char *const bad[] = {
		"early trigger engine f32 1",     "early trigger engine f32 1 2 3",
		"early hope engine f32 1 1",      "early triggered engine f32 1 1",
		"early trigger lorry f32 1 1",    "early trigger engine f31 1 1",
		"early trigger engine f32 0 1",   "early trigger engine f32 1 0",
		"early trigger engine f32 1 inf", "early trigger engine f32 -1 1",
		"early trigger engine f32 1 1x"};
	memset(&machine, 0, sizeof(machine));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err_clear();
		if (advise_parse_line(&machine, bad[i]) != -EINVAL || err_text()[0] == 0)
			test_fail(__FILE__, __LINE__, bad[i]);
	}
	for (unsigned i = 0; i < ADVISE_POINTS; i++)
		parse_line("early split kernel f64 %u 1", i + 1);
	expect(advise_parse_line(&machine, "early split kernel f64 3 1") == -EINVAL);
	expect(advise_parse_line(&machine, "early split kernel f64 99 1") == -ENOSPC);
}

int main(void)
{
	test(gain_between_points);
	test(gain_of_ideal_overlap);
	test(outside_the_points_nothing_is_said);
	test(unmeasured_ways_have_no_gain);
	test(error_by_hand);
	test(one_in_ten_may_be_off);
	test(one_point_decides_nothing);
	test(within_the_error_is_a_tie);
	test(the_fastest_way);
	test(the_faster_copy_method);
	test(a_copy_method_with_a_gain_before_one_without);
	test(what_follows_is_not_shortened);
	test(compared_with_the_first_candidate);
	test(on_random_machines);
	test(bad_lines);
	return test_done();
}
