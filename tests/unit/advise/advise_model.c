/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the advice: curves, the model of GEMM times, the pipeline, and the parser.
 */
#include "advise/advise_model.h"
#include "lib/err.h"
#include "tests/unit/advise/advise_truth.h"

#include <errno.h>

static void curves_between_points(void)
{
	struct advise_curve c = {0};
	bool outside = false;
	expect(curve_add(&c, 100, 10) == 0 && curve_add(&c, 10000, 1000) == 0);
	expect_near(curve_at(&c, 1000, false, &outside), 100, 1e-9);
	expect_near(curve_at(&c, 1090, true, &outside), 109, 1e-9);
	expect(!outside);
	expect_near(curve_at(&c, 40000, true, &outside), 4000, 1e-9);
	expect(outside);
	expect_near(curve_at(&c, 40000, false, &outside), 1000, 1e-9);
	expect_near(curve_at(&c, 1, true, &outside), 10, 1e-9);
	expect(curve_add(&c, 10000, 5) == -EINVAL && curve_add(&c, 20000, 0) == -EINVAL &&
	       curve_add(&c, 20000, NAN) == -EINVAL);
	for (unsigned i = 2; i < ADVISE_POINTS; i++)
		expect(curve_add(&c, 1e5 + i, 1) == 0);
	expect(curve_add(&c, 1e9, 1) == -ENOSPC);
}

static void gemms_between_shapes(void)
{
	build_machine(&plain);
	static const double sides[][3] = {
		{100, 300, 700}, {2000, 3000, 500}, {1024, 1024, 1024}, {5000, 90, 5000}};
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		double got = 0, m = sides[i][0], n = sides[i][1], k = sides[i][2];
		bool outside = true;
		expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){m, n, k, 0},
					   &got, &outside) == 0);
		expect_near(got / true_gemm(&plain, m, n, k, 0), 1, 0.03);
		expect(!outside);
	}
	double got = 0;
	bool outside = false;
	expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){1e6, 1e4, 1e4, 0},
				   &got, &outside) == 0 &&
	       outside);
	expect_near(got / true_gemm(&plain, 1e6, 1e4, 1e4, 0), 1, 0.03);
	expect(advise_gemm_error(&machine, ADVISE_F32) >= 0 &&
	       advise_gemm_error(&machine, ADVISE_F32) < 0.03);
	expect(isinf(advise_gemm_error(&machine, ADVISE_F64)));
	expect(isinf(advise_gemm_error(&machine, ADVISE_TYPES)));
}

/* Steps of whole tiles and waves, which interpolated rates can't reproduce. */
static double stepped_seconds(double m, double n, double k)
{
	double tiles = ceil(m / 128) * ceil(n / 128);
	return 3e-6 + ceil(tiles / 132) * 132 * 128 * 128 * k * 2e-15;
}

static void tiles_and_waves_are_found(void)
{
	memset(&machine, 0, sizeof(machine));
	struct rng r;
	rng_seed(&r, 1, 0);
	for (unsigned i = 0; i < 80; i++) {
		double m = floor(exp2(5 + 9 * rng_unit(&r))), n = floor(exp2(5 + 9 * rng_unit(&r))),
		       k = floor(exp2(4 + 9 * rng_unit(&r)));
		parse_line("gemm bf16 %g %g %g 0 %.12g", m, n, k, stepped_seconds(m, n, k));
	}
	advise_prepare(&machine);
	expect_near(machine.gemm[ADVISE_BF16].tiling.rows, 128, 0);
	expect_near(machine.gemm[ADVISE_BF16].tiling.wave, 132, 0);
	expect(machine.gemm[ADVISE_BF16].tiling.min_wave == machine.gemm[ADVISE_BF16].tiling.wave);
	for (unsigned i = 0; i < 200; i++) {
		double m = floor(exp2(6 + 8 * rng_unit(&r))), n = floor(exp2(6 + 8 * rng_unit(&r))),
		       k = floor(exp2(5 + 8 * rng_unit(&r)));
		double got = 0;
		bool outside;
		expect(advise_gemm_seconds(&machine, ADVISE_BF16, (struct advise_shape){m, n, k, 0},
					   &got, &outside) == 0);
		expect_near(got / stepped_seconds(m, n, k), 1, 0.01);
	}
}

/* 64 units, each with one tile of 128 x 256, or smaller ones where there are fewer tiles than
 * units; a unit takes as long as its tile's operands, not its products. A side beyond C is
 * halved first. */
static double operand_seconds(double m, double n, double k)
{
	double rows = 128, columns = 256;
	while (ceil(m / rows) * ceil(n / columns) < 64 && fmax(rows, columns) >= 128)
		*(rows > m || (columns <= n && rows >= columns) ? &rows : &columns) /= 2;
	return 3e-6 + ceil(ceil(m / rows) * ceil(n / columns) / 64) * (rows + columns) * k * 1e-10;
}

static void smaller_tiles_read_more(void)
{
	memset(&machine, 0, sizeof(machine));
	for (double m = 32; m <= 8192; m *= 2)
		for (double n = 128; n <= 8192; n *= 4)
			for (double k = 256; k <= 4096; k *= 4)
				parse_line("gemm f32 %g %g %g 0 %.12g", m, n, k,
					   operand_seconds(m, n, k));
	parse_line("units 64");
	advise_prepare(&machine);
	static const double sides[][3] = {{50, 3000, 800},
					  {700, 900, 800},
					  {1000, 1000, 1000},
					  {1900, 2900, 700},
					  {5000, 3000, 3000}};
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		double got = 0, m = sides[i][0], n = sides[i][1], k = sides[i][2];
		bool outside;
		expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){m, n, k, 0},
					   &got, &outside) == 0);
		expect_near(got / operand_seconds(m, n, k), 1, 0.01);
	}
	expect(advise_gemm_error(&machine, ADVISE_F32) < 0.01);
}

/* GEMMs of a few columns, which memory limits, next to square ones, which arithmetic limits. */
static void memory_limits_thin_gemms(void)
{
	const double slope = 1.0 / 1e11;
	memset(&machine, 0, sizeof(machine));
	for (double m = 128; m <= 8192; m *= 2)
		for (double n = 16; n <= 1024; n *= 4)
			for (double k = 64; k <= 1024; k *= 4) {
				double bytes = 4 * (m * k + k * n + m * n),
				       seconds = 3e-6 + 2 * m * n * k / 1e13;
				if (bytes > 1 << 20)
					seconds = fmax(seconds, 3e-6 + bytes * slope);
				parse_line("gemm f32 %g %g %g 0 %.12g", m, n, k, seconds);
			}
	parse_line("reduce 1e6 %.12g", 3e6 * slope);
	parse_line("reduce 1e8 %.12g", 3e8 * slope);
	parse_line("cache 1048576");
	advise_prepare(&machine);
	static const double sides[][3] = {
		{6000, 24, 900}, {3000, 40, 700}, {1500, 900, 900}, {300, 300, 300}};
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		double got = 0, m = sides[i][0], n = sides[i][1], k = sides[i][2];
		double bytes = 4 * (m * k + k * n + m * n),
		       wanted = 3e-6 +
				fmax(2 * m * n * k / 1e13, bytes > 1 << 20 ? bytes * slope : 0);
		bool outside;
		expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){m, n, k, 0},
					   &got, &outside) == 0);
		expect_near(got / wanted, 1, 0.03);
	}
	expect_near(machine.gemm[ADVISE_F32].memory_s_per_byte / slope, 1, 0.02);
	const struct advise_shape within = {256, 256, 256, 1}, beyond = {512, 512, 512, 1};
	expect_near(gemm_memory_bytes(&machine.gemm[ADVISE_F32], within), 0, 0);
	expect_near(gemm_memory_bytes(&machine.gemm[ADVISE_F32], beyond), 4 * 4 * 512 * 512, 0);
}

static void set_losses(struct pipeline *p, double gemm, double copy)
{
	for (int i = 0; i < 4; i++)
		p->loss[i] = (struct concurrent_loss){gemm, copy};
}

static void pipeline_by_hand(void)
{
	struct pipeline p = {.hop_s = 0};
	for (int i = 0; i < 4; i++) {
		p.loss[i] = (struct concurrent_loss){1, 1};
		pipeline_add(&p.comm, 2, -1);
		pipeline_add(&p.gemm, 3, i);
	}
	expect_near(pipeline_run(&p), 2 + 4 * 3, 1e-12); /* the first transfer is exposed */
	p.hop_s = 0.5;
	expect_near(pipeline_run(&p), 2.5 + 4 * 3, 1e-12);
	p.tail_s = 1;
	expect_near(pipeline_run(&p), 3.5 + 4 * 3, 1e-12);
	p.hop_s = p.tail_s = 0;
	set_losses(&p, 2, 1); /* alone 2 s, then concurrent with three transfers of 2 s: 3 of 12 s
			    done; 9 left */
	expect_near(pipeline_run(&p), 2 + 6 + 9, 1e-12);
	set_losses(&p, 2,
		   1.5); /* concurrent: three transfers take 9 s, in which 4.5 of 12 are done */
	expect_near(pipeline_run(&p), 2 + 9 + 7.5, 1e-12);
}

/* A GEMM of three waves of 1 s; a transfer of 2 s that starts in the first two waits for the last.
 */
static void transfers_wait_for_slots(void)
{
	struct pipeline p = {.hop_s = 0.5, .until_slots_s = {2, 2}};
	set_losses(&p, 1, 1);
	pipeline_add(&p.gemm, 3, -1);
	pipeline_add(&p.comm, 2, -1);
	expect_near(pipeline_run(&p), 2 + 2, 1e-12);
	set_losses(&p, 2, 1); /* 2 s alone, then 1 s at half the pace */
	expect_near(pipeline_run(&p), 2 + 2, 1e-12);
	set_losses(&p, 1, 1);
	p.comm.items = p.gemm.items = 0;
	for (int i = 0; i < 2; i++) {
		pipeline_add(&p.comm, 2, -1);
		pipeline_add(&p.gemm, 3, i);
	}
	expect_near(pipeline_run(&p), 2.5 + 3 + 3, 1e-12); /* the second is before the GEMM */
	p.gemm_first = true; /* the second from 2.5 + 2 s; its GEMM a hop after it */
	expect_near(pipeline_run(&p), 4.5 + 2 + 0.5 + 3, 1e-12);
	p.until_slots_s[0] = p.until_slots_s[1] = 0;
	expect_near(pipeline_run(&p), 2.5 + 3 + 3, 1e-12);
}

/* By hand: between 1 and 4 blocks a factor of two of blocks is half of the way. */
static void losses_between_measured_ones(void)
{
	struct advise_contention *c = &machine.contention[ADVISE_KERNEL][ADVISE_PEER][ADVISE_F32];
	memset(&machine, 0, sizeof(machine));
	expect_near(contention_loss(c, 3, 1e9).gemm, 1, 0);
	parse_line("cil kernel peer f32 1 1e10 1.5 1.1");
	parse_line("cil kernel peer f32 1 2e10 2.5 1.3");
	parse_line("cil kernel peer f32 4 0 1.44 0.9");
	parse_line("cil kernel peer f32 4 1e10 6 1.2");
	struct concurrent_loss l = contention_loss(c, 1, 1.5e10);
	expect_near(l.gemm, 2, 1e-12);
	expect_near(l.copy, 1.2, 1e-12);
	expect_near(contention_loss(c, 0.5, 9e10).gemm, 2.5, 1e-12); /* beyond both ends */
	expect_near(contention_loss(c, 1, 5e9).gemm, 1.25, 1e-12);   /* half-way to no traffic */
	expect_near(contention_loss(c, 4, 0).gemm, 1.44, 1e-12);     /* measured there */
	expect_near(contention_loss(c, 4, 0).copy, 1, 1e-12);        /* below 1 counts as 1 */
	expect_near(contention_loss(c, 2, 0).gemm, 1.2, 1e-12);
	expect_near(contention_loss(c, 2, 1e10).gemm, 3, 1e-12);
	expect(advise_parse_line(&machine, "cil kernel peer f32 1 3e10 2 1") == -EINVAL);
	expect(advise_parse_line(&machine, "cil kernel peer f32 4 5e9 2 1") == -ENOSPC);
	expect_near(contention_loss(&machine.contention[ADVISE_KERNEL][ADVISE_UP][ADVISE_F32], 4, 0)
			    .gemm,
		    1, 0);
}

static void bad_lines(void)
{
	static const char *const bad[] = {"gemm",
					  "gemm f32 1 2 3 0",
					  "gemm f31 1 2 3 0 1e-6",
					  "gemm f32 0 2 3 0 1e-6",
					  "gemm f32 1 2 3 2 1e-6",
					  "gemm f32 1 2 3 0 -1",
					  "gemm f32 1 2 3 0 nan",
					  "gemm f32 1 2 3 0 1e-6 7",
					  "copy lorry peer 1 1",
					  "copy engine moon 1 1",
					  "copy engine peer 1 0",
					  "exchange engine 1 4096 1e-6",
					  "allreduce ring 2.5 4096 1e-6",
					  "engines -1",
					  "hop 1x",
					  "nonsense 1",
					  "a b c d e f g h i",
					  "cil engine 1",
					  "cil engine peer f32 1 0 0 1",
					  "cil engine peer f32 1 1e400 1 1",
					  "cache -1",
					  "blocks peer 0",
					  "error -0.1",
					  "shaped 0 1 0",
					  "occupancy 1 1",
					  "priority 0",
					  "ingress inf",
					  "reduce 1"};
	memset(&machine, 0, sizeof(machine));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err_clear();
		if (advise_parse_line(&machine, bad[i]) != -EINVAL || err_text()[0] == 0)
			test_fail(__FILE__, __LINE__, bad[i]);
	}
	expect(advise_parse_line(&machine, "# a comment") == 0 &&
	       advise_parse_line(&machine, "\n") == 0 &&
	       advise_parse_line(&machine, "hop 0 # x") == 0);
	for (int i = 0; i < ADVISE_GEMMS; i++)
		expect(advise_parse_line(&machine, "gemm f32 1 2 3 0 1e-6") == 0);
	expect(advise_parse_line(&machine, "gemm f32 1 2 3 0 1e-6") == -ENOSPC);
}

int main(void)
{
	test(curves_between_points);
	test(gemms_between_shapes);
	test(tiles_and_waves_are_found);
	test(smaller_tiles_read_more);
	test(pipeline_by_hand);
	test(transfers_wait_for_slots);
	test(memory_limits_thin_gemms);
	test(losses_between_measured_ones);
	test(bad_lines);
	return test_done();
}
