/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice on machines whose truth is known: who wins where the answer is plain, and what holds whatever the machine.
 */
#include "lib/advise_model.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

/* Products at `rate` flop/s plus a launch; copies of alpha + bytes / bandwidth; nothing slows anything. */
struct truth {
	double rate, launch_s, alpha_s, bandwidth, ingress, adds_s; /* adds_s: for each element of C that is read again */
	unsigned engines;
	double gemm_cil, copy_cil;
};

static const struct truth plain = {.rate = 1e13, .launch_s = 2e-6, .alpha_s = 2e-6, .bandwidth = 5e10, .engines = 1,
                                   .gemm_cil = 1, .copy_cil = 1};

static struct advise_machine machine; /* large for a stack */

__attribute__((format(printf, 1, 2))) static void learn(const char *format, ...)
{
	char line[256];
	va_list list;
	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	expect(advise_learn(&machine, line) == 0);
}

static double true_gemm(const struct truth *t, double m, double n, double k, double adds)
{
	return t->launch_s + 2 * m * n * k / t->rate + adds * t->adds_s * m * n;
}

static void build(const struct truth *t)
{
	memset(&machine, 0, sizeof(machine));
	for (double m = 64; m <= 16384; m *= 4)
		for (double n = 64; n <= 16384; n *= 4)
			for (double k = 64; k <= 16384; k *= 8)
				learn("gemm f32 %g %g %g 0 %.12g", m, n, k, true_gemm(t, m, n, k, 0));
	for (double k = 16; k <= 4096 && t->adds_s > 0; k *= 4)
		for (double m = 64; m <= 16384; m *= 16)
			learn("gemm f32 %g 1024 %g 1 %.12g", m, k, true_gemm(t, m, 1024, k, 1));
	for (unsigned mover = 0; mover < ADVISE_MOVERS; mover++) {
		for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4)
			learn("copy %s peer %g %.12g", advise_movers[mover], bytes, t->alpha_s + bytes / t->bandwidth);
		learn("cil %s %g %g", advise_movers[mover], t->gemm_cil, t->copy_cil);
	}
	learn("engines %u", t->engines);
	if (t->ingress > 0)
		learn("ingress %g", t->ingress);
	advise_prepare(&machine);
}

static struct advise_advice ask(uint32_t m, uint32_t n, uint32_t k, uint32_t devices, enum advise_op op)
{
	struct advise_question q = {m, n, k, devices, op, ADVISE_F32};
	struct advise_advice a = {.candidates = 0};
	require(advise(&machine, &q, &a) == 0);
	require(a.candidates > 0);
	return a;
}

static const struct advise_candidate *of(const struct advise_advice *a, enum advise_schedule schedule, enum advise_mover mover)
{
	for (unsigned i = 0; i < a->candidates; i++)
		if (a->candidate[i].schedule == schedule && a->candidate[i].mover == mover)
			return &a->candidate[i];
	return NULL;
}

static double seconds(const struct advise_advice *a, enum advise_schedule schedule)
{
	const struct advise_candidate *c = of(a, schedule, ADVISE_ENGINE);
	require(c);
	return c->seconds;
}

/* ------------------------------------------------------------------ curves and products */

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
	expect(curve_add(&c, 10000, 5) == -EINVAL && curve_add(&c, 20000, 0) == -EINVAL && curve_add(&c, 20000, NAN) == -EINVAL);
	for (unsigned i = 2; i < ADVISE_POINTS; i++)
		expect(curve_add(&c, 1e5 + i, 1) == 0);
	expect(curve_add(&c, 1e9, 1) == -ENOSPC);
}

static void products_between_shapes(void)
{
	build(&plain);
	static const double sides[][3] = {{100, 300, 700}, {2000, 3000, 500}, {1024, 1024, 1024}, {5000, 90, 5000}};
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		double got = 0, m = sides[i][0], n = sides[i][1], k = sides[i][2];
		bool outside = true;
		expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){m, n, k, 0}, &got, &outside) == 0);
		expect_near(got / true_gemm(&plain, m, n, k, 0), 1, 0.03);
		expect(!outside);
	}
	double got = 0;
	bool outside = false;
	expect(advise_gemm_seconds(&machine, ADVISE_F32, (struct advise_shape){1e6, 1e4, 1e4, 0}, &got, &outside) == 0 && outside);
	expect_near(got / true_gemm(&plain, 1e6, 1e4, 1e4, 0), 1, 0.03);
}

/* Steps of whole tiles and waves, which no interpolation of rates would find. */
static double stepped(double m, double n, double k)
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
		double m = floor(exp2(5 + 9 * rng_unit(&r))), n = floor(exp2(5 + 9 * rng_unit(&r))), k = floor(exp2(4 + 9 * rng_unit(&r)));
		learn("gemm bf16 %g %g %g 0 %.12g", m, n, k, stepped(m, n, k));
	}
	advise_prepare(&machine);
	expect_near(machine.gemm[ADVISE_BF16].tile, 128, 0);
	expect_near(machine.gemm[ADVISE_BF16].wave, 132, 0);
	expect(machine.gemm[ADVISE_BF16].least == machine.gemm[ADVISE_BF16].wave);
	for (unsigned i = 0; i < 200; i++) {
		double m = floor(exp2(6 + 8 * rng_unit(&r))), n = floor(exp2(6 + 8 * rng_unit(&r))), k = floor(exp2(5 + 8 * rng_unit(&r)));
		double got = 0;
		bool outside;
		expect(advise_gemm_seconds(&machine, ADVISE_BF16, (struct advise_shape){m, n, k, 0}, &got, &outside) == 0);
		expect_near(got / stepped(m, n, k), 1, 0.01);
	}
}

/* ------------------------------------------------------------------ the pipeline */

static void pipeline_by_hand(void)
{
	struct pipeline p = {.gemm_loss = 1, .comm_loss = 1};
	for (int i = 0; i < 4; i++) {
		pipeline_add(&p.comm, 2, -1);
		pipeline_add(&p.gemm, 3, i);
	}
	expect_near(pipeline_run(&p), 2 + 4 * 3, 1e-12); /* the first transfer is exposed */
	p.hop_s = 0.5;
	expect_near(pipeline_run(&p), 2.5 + 4 * 3, 1e-12);
	p.tail_s = 1;
	expect_near(pipeline_run(&p), 3.5 + 4 * 3, 1e-12);
	p.hop_s = p.tail_s = 0;
	p.gemm_loss = 2; /* alone 2 s, then beside three transfers of 2 s: 3 of 12 s done; 9 left */
	expect_near(pipeline_run(&p), 2 + 6 + 9, 1e-12);
	p.comm_loss = 1.5; /* beside: three transfers take 9 s, in which 4.5 of 12 are done */
	expect_near(pipeline_run(&p), 2 + 9 + 7.5, 1e-12);
}

/* ------------------------------------------------------------------ who wins */

static void equal_sides_overlap(void)
{
	/* 2 * 8192 * 4096 * 4096 / 1e13 = 27.5 ms; A is 128 MiB, 7/8 of it at 4.27e9 byte/s takes as long. */
	struct truth t = plain;
	t.bandwidth = 0.875 * 134217728 / 0.0274878;
	build(&t);
	struct advise_advice a = ask(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(a.gemm_s / a.comm_s, 1, 0.03);
	expect(a.candidate[0].schedule != ADVISE_SERIAL);
	/* By hand: a fused pipeline of 8 steps exposes one of them; the one that begins with its own shard hides it. */
	expect_near(seconds(&a, ADVISE_SERIAL) / (a.gemm_s + a.comm_s), 1, 1e-3);
	expect_near(seconds(&a, ADVISE_UNIFORM_FUSED_1D) / a.gemm_s, 1.125, 0.02);
	expect_near(seconds(&a, ADVISE_SHARD) / a.gemm_s, 1.125, 0.02);
	expect(seconds(&a, ADVISE_HETERO_FUSED_1D) < seconds(&a, ADVISE_UNIFORM_FUSED_1D));
}

static void one_side_dominates(void)
{
	struct truth t = plain;
	t.bandwidth = 1e8; /* transfers take far longer: what they take is the bound, and all that overlap reach it */
	build(&t);
	struct advise_advice a = ask(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect(a.comm_s > 20 * a.gemm_s);
	expect_near(a.candidate[0].seconds / a.comm_s, 1, 0.01);
	expect_near(seconds(&a, ADVISE_SERIAL) / (a.comm_s + a.gemm_s), 1, 1e-3);
	t.bandwidth = 1e12; /* the product takes far longer */
	build(&t);
	a = ask(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect(a.gemm_s > 50 * a.comm_s);
	expect_near(a.candidate[0].seconds / a.gemm_s, 1, 0.01);
}

static void dear_starts_mean_serial(void)
{
	struct truth t = plain;
	t.launch_s = t.alpha_s = 1e-3;
	t.engines = 7;
	t.ingress = 7 * t.bandwidth;
	build(&t);
	for (enum advise_op op = 0; op < ADVISE_OPS; op++) {
		struct advise_advice a = ask(512, 512, 512, 8, op);
		expect(a.candidate[0].schedule == ADVISE_SERIAL);
		expect(strstr(a.why, "one after the other") != NULL);
	}
}

/* papers.md 1.5: one peer at a time uses one link of a mesh, and all of a switch. */
static void many_devices(void)
{
	build(&plain);
	for (uint32_t devices = 2; devices <= ADVISE_DEVICES; devices++)
		for (int op = 0; op < ADVISE_OPS; op++) {
			struct advise_advice a = ask(8192, 4096, 4096, devices, (enum advise_op)op);
			expect(a.candidates >= 10);
			for (unsigned i = 0; i < a.candidates; i++)
				expect(a.candidate[i].seconds >= fmax(a.candidate[i].gemm_s, 0) * (1 - 1e-9) &&
				       isfinite(a.candidate[i].seconds));
		}
}

static void mesh_or_switch(void)
{
	struct truth t = plain;
	t.rate = 1e15;
	t.engines = 7;
	t.ingress = 7 * t.bandwidth;
	build(&t);
	struct advise_advice mesh = ask(16384, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(of(&mesh, ADVISE_SHARD, ADVISE_ENGINE)->comm_s / of(&mesh, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->comm_s, 7, 0.2);
	expect(seconds(&mesh, ADVISE_SHARD) > 2 * seconds(&mesh, ADVISE_UNIFORM_FUSED_1D));
	t.ingress = t.bandwidth;
	build(&t);
	struct advise_advice shared = ask(16384, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(of(&shared, ADVISE_SHARD, ADVISE_ENGINE)->comm_s / of(&shared, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->comm_s, 1,
	            0.02);
}

/* Cutting K reads and writes C again; where C is small beside A that is little, where K is small it is not. */
static void rows_or_columns(void)
{
	struct truth t = plain;
	t.adds_s = 4e-11;
	build(&t);
	struct advise_advice flat = ask(16384, 1024, 128, 4, ADVISE_AG_GEMM), deep = ask(64, 1024, 16384, 4, ADVISE_AG_GEMM);
	expect(of(&flat, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE)->gemm_s > 2 * of(&flat, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->gemm_s);
	expect(of(&deep, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE)->gemm_s < 1.2 * deep.gemm_s);
	expect(seconds(&flat, ADVISE_UNIFORM_FUSED_1D) < seconds(&flat, ADVISE_UNIFORM_FUSED_2D));
}

static void the_slower_mover_loses(void)
{
	build(&plain);
	learn("cil kernel 1.5 2"); /* the later line counts */
	advise_prepare(&machine);
	struct advise_advice a = ask(8192, 8192, 8192, 4, ADVISE_AG_GEMM);
	expect(a.candidate[0].mover == ADVISE_ENGINE);
	expect(of(&a, ADVISE_SHARD, ADVISE_KERNEL)->seconds > of(&a, ADVISE_SHARD, ADVISE_ENGINE)->seconds);
	expect(a.shared_bytes == 0 && a.priority == 0); /* an engine needs neither */
}

static void room_for_a_kernel(void)
{
	build(&plain);
	for (unsigned i = 0; i < ADVISE_LINKS; i++)
		machine.copy[ADVISE_ENGINE][i].points = 0;
	struct advise_advice a = ask(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	require(a.candidate[0].schedule != ADVISE_SERIAL);
	expect(a.candidate[0].mover == ADVISE_KERNEL);
	expect(a.shared_bytes == -1 && a.priority == -1); /* not measured */
	learn("occupancy 0 1e13 1e-3");
	learn("occupancy 16384 9.99e12 1e-6");
	learn("occupancy 32768 5e12 1e-6");
	learn("priority 0.3");
	advise_prepare(&machine);
	a = ask(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	expect(a.shared_bytes == 16384);
	expect(a.priority == 1);
	learn("priority 1.0");
	learn("shaped 8192 1 0.9");
	advise_prepare(&machine);
	a = ask(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	expect(a.shared_bytes == 8192 && a.priority == 1);
}

static void allreduce_by_size(void)
{
	build(&plain);
	for (double bytes = 1024; bytes <= 1 << 28; bytes *= 4) {
		learn("allreduce swing-l 8 %g %.12g", bytes, 1e-6 + bytes / 1e10);
		learn("allreduce ring 8 %g %.12g", bytes, 2e-5 + bytes / 4e10);
		learn("allreduce ring 4 %g %.12g", bytes, 1e-9);
	}
	advise_prepare(&machine);
	struct advise_advice small = ask(64, 64, 4096, 8, ADVISE_GEMM_AR), large = ask(4096, 4096, 512, 8, ADVISE_GEMM_AR);
	expect_str(small.allreduce, "swing-l");
	expect_str(large.allreduce, "ring");
	expect_near(large.allreduce_s / (2e-5 + 4096.0 * 4096 * 4 / 4e10), 1, 0.02);
	struct advise_advice none = ask(64, 64, 4096, 2, ADVISE_GEMM_AR);
	expect_str(none.allreduce, "");
	expect(isnan(none.allreduce_s));
}

/* ------------------------------------------------------------------ whatever the machine */

static uint32_t side(struct rng *r) { return (uint32_t)exp2(8 + 6 * rng_unit(r)); }

static struct truth random_truth(struct rng *r)
{
	struct truth t = {.rate = exp(25 + 10 * rng_unit(r)), .launch_s = exp(-14 + 4 * rng_unit(r)),
	                  .alpha_s = exp(-14 + 4 * rng_unit(r)), .bandwidth = exp(20 + 7 * rng_unit(r)),
	                  .engines = 1 + (unsigned)(8 * rng_unit(r)), .gemm_cil = 0.9 + rng_unit(r), .copy_cil = 0.9 + rng_unit(r)};
	t.ingress = t.bandwidth * (1 + 7 * rng_unit(r));
	return t;
}

static void never_below_the_bound(void)
{
	struct rng r;
	rng_seed(&r, 2, 0);
	for (unsigned i = 0; i < 60; i++) {
		struct truth t = random_truth(&r);
		build(&t);
		for (unsigned question = 0; question < 8; question++) {
			enum advise_op op = question % ADVISE_OPS;
			struct advise_advice a = ask(side(&r), side(&r), side(&r), 2 + question, op);
			for (unsigned c = 0; c < a.candidates; c++) {
				const struct advise_candidate *at = &a.candidate[c];
				expect(at->seconds >= fmax(at->gemm_s, at->comm_s) * (1 - 1e-12));
				expect(isfinite(at->seconds) && at->seconds > 0);
				expect(c == 0 || at->seconds >= a.candidate[c - 1].seconds);
			}
			expect(of(&a, ADVISE_SERIAL, ADVISE_ENGINE) && of(&a, ADVISE_SERIAL, ADVISE_KERNEL));
			expect(!of(&a, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE) == (op == ADVISE_GEMM_RS || op == ADVISE_GEMM_AR));
			expect(a.why[0] != 0 && strlen(a.why) + 1 < sizeof(a.why));
		}
	}
}

static void faster_links_never_hurt(void)
{
	struct rng r;
	rng_seed(&r, 3, 0);
	for (unsigned i = 0; i < 40; i++) {
		struct truth t = random_truth(&r);
		t.gemm_cil = t.copy_cil = 1; /* else a faster transfer may slow a product sooner */
		uint32_t m = side(&r), n = side(&r), k = side(&r);
		enum advise_op op = i % ADVISE_OPS;
		build(&t);
		struct advise_advice slow = ask(m, n, k, 4, op);
		t.bandwidth *= 2;
		t.ingress *= 2;
		build(&t);
		struct advise_advice fast = ask(m, n, k, 4, op);
		for (unsigned c = 0; c < slow.candidates; c++) {
			const struct advise_candidate *before = &slow.candidate[c];
			const struct advise_candidate *after = of(&fast, before->schedule, before->mover);
			require(after);
			expect(after->seconds <= before->seconds * (1 + 1e-9));
		}
	}
}

/* ------------------------------------------------------------------ bad input */

static void bad_lines(void)
{
	static const char *const bad[] = {
		"gemm", "gemm f32 1 2 3 0", "gemm f31 1 2 3 0 1e-6", "gemm f32 0 2 3 0 1e-6", "gemm f32 1 2 3 2 1e-6",
		"gemm f32 1 2 3 0 -1", "gemm f32 1 2 3 0 nan", "gemm f32 1 2 3 0 1e-6 7", "copy lorry peer 1 1", "copy engine moon 1 1",
		"copy engine peer 1 0", "exchange engine 1 4096 1e-6", "allreduce ring 2.5 4096 1e-6", "engines -1", "hop 1x", "nonsense 1",
		"a b c d e f g h i", "cil engine 1", "shaped 0 1 0", "occupancy 1 1", "priority 0", "ingress inf", "reduce 1"};
	memset(&machine, 0, sizeof(machine));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err_clear();
		if (advise_learn(&machine, bad[i]) != -EINVAL || err_text()[0] == 0)
			test_fail(__FILE__, __LINE__, bad[i]);
	}
	expect(advise_learn(&machine, "# a comment") == 0 && advise_learn(&machine, "\n") == 0 && advise_learn(&machine, "hop 0 # x") == 0);
	for (int i = 0; i < ADVISE_PRODUCTS; i++)
		expect(advise_learn(&machine, "gemm f32 1 2 3 0 1e-6") == 0);
	expect(advise_learn(&machine, "gemm f32 1 2 3 0 1e-6") == -ENOSPC);
}

static void bad_questions(void)
{
	struct advise_question q = {64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_F32};
	struct advise_advice a = {.candidates = 77};
	build(&plain);
	machine.prepared = false;
	expect(advise(&machine, &q, &a) == -EINVAL);
	advise_prepare(&machine);
	expect(advise(&machine, &(struct advise_question){64, 0, 64, 2, ADVISE_AG_GEMM, ADVISE_F32}, &a) == -EINVAL);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 1, ADVISE_AG_GEMM, ADVISE_F32}, &a) == -EINVAL);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 65, ADVISE_AG_GEMM, ADVISE_F32}, &a) == -ERANGE);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 2, ADVISE_OPS, ADVISE_F32}, &a) == -EINVAL);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_BF16}, &a) == -ENODATA);
	memset(machine.copy, 0, sizeof(machine.copy));
	expect(advise(&machine, &q, &a) == -ENODATA);
	expect(a.candidates == 77); /* only success is written */
}

/* A side too short to be cut is no candidate. */
static void what_cannot_be_cut(void)
{
	build(&plain);
	struct advise_advice a = ask(8, 4096, 2, 4, ADVISE_AG_GEMM);
	expect(of(&a, ADVISE_SERIAL, ADVISE_ENGINE) && of(&a, ADVISE_SHARD, ADVISE_ENGINE));
	expect(!of(&a, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE) && !of(&a, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE));
}

int main(void)
{
	test(curves_between_points);
	test(products_between_shapes);
	test(tiles_and_waves_are_found);
	test(pipeline_by_hand);
	test(equal_sides_overlap);
	test(one_side_dominates);
	test(dear_starts_mean_serial);
	test(many_devices);
	test(mesh_or_switch);
	test(rows_or_columns);
	test(the_slower_mover_loses);
	test(room_for_a_kernel);
	test(allreduce_by_size);
	test(never_below_the_bound);
	test(faster_links_never_hurt);
	test(bad_lines);
	test(bad_questions);
	test(what_cannot_be_cut);
	return test_done();
}
