/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice on machines whose behaviour is known: the best schedule where the answer is plain, and
 * what must hold on every machine.
 */
#include "advise/advise.h"
#include "lib/err.h"
#include "tests/unit/advise/advise_truth.h"

#include <errno.h>

/* ------------------------------------------------------------------ plain answers */

static void equal_sides_overlap(void)
{
	/* 2 * 8192 * 4096 * 4096 / 1e13 = 27.5 ms; A is 128 MiB, 7/8 of it at 4.27e9 byte/s takes
	 * as long. */
	struct truth t = plain;
	t.bandwidth = 0.875 * 134217728 / 0.0274878;
	build_machine(&t);
	struct advise_advice a = advise_for(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(a.gemm_s / a.comm_s, 1, 0.03);
	expect(a.candidate[0].schedule != ADVISE_SERIAL);
	/* By hand: a fused pipeline of 8 steps exposes one step; the pipeline that begins with
	 * its own shard hides it. */
	expect_near(candidate_seconds(&a, ADVISE_SERIAL) / (a.gemm_s + a.comm_s), 1, 1e-3);
	expect_near(candidate_seconds(&a, ADVISE_UNIFORM_FUSED_1D) / a.gemm_s, 1.125, 0.02);
	expect_near(candidate_seconds(&a, ADVISE_SHARD) / a.gemm_s, 1.125, 0.02);
	expect(candidate_seconds(&a, ADVISE_HETERO_FUSED_1D) <
	       candidate_seconds(&a, ADVISE_UNIFORM_FUSED_1D));
}

static void one_side_dominates(void)
{
	struct truth t = plain;
	t.bandwidth = 1e8; /* transfers take far longer: they are the bound, and every overlapping
			      schedule reaches it */
	build_machine(&t);
	struct advise_advice a = advise_for(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect(a.comm_s > 20 * a.gemm_s);
	expect_near(a.candidate[0].seconds / a.comm_s, 1, 0.01);
	expect_near(candidate_seconds(&a, ADVISE_SERIAL) / (a.comm_s + a.gemm_s), 1, 1e-3);
	t.bandwidth = 1e12; /* the GEMM takes far longer */
	build_machine(&t);
	a = advise_for(8192, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect(a.gemm_s > 50 * a.comm_s);
	expect_near(a.candidate[0].seconds / a.gemm_s, 1, 0.01);
}

static void slow_launches_favour_serial(void)
{
	struct truth t = plain;
	t.launch_s = t.alpha_s = 1e-3;
	t.engines = 7;
	t.ingress = 7 * t.bandwidth;
	build_machine(&t);
	for (enum advise_op op = 0; op < ADVISE_OPS; op++) {
		struct advise_advice a = advise_for(512, 512, 512, 8, op);
		expect(a.candidate[0].schedule == ADVISE_SERIAL);
		expect(strstr(a.why, "the transfers then take") != NULL);
	}
}

/* One peer at a time uses one link of a mesh, or all of a switch. */
static void many_devices(void)
{
	build_machine(&plain);
	for (uint32_t devices = 2; devices <= ADVISE_DEVICES; devices++)
		for (int op = 0; op < ADVISE_OPS; op++) {
			struct advise_advice a =
				advise_for(8192, 4096, 4096, devices, (enum advise_op)op);
			expect(a.candidates >= 10);
			for (unsigned i = 0; i < a.candidates; i++)
				expect(a.candidate[i].seconds >=
					       fmax(a.candidate[i].gemm_s, 0) * (1 - 1e-9) &&
				       isfinite(a.candidate[i].seconds));
		}
}

static void mesh_or_switch(void)
{
	struct truth t = plain;
	t.rate = 1e15;
	t.engines = 7;
	t.ingress = 7 * t.bandwidth;
	build_machine(&t);
	struct advise_advice mesh = advise_for(16384, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(find_candidate(&mesh, ADVISE_SHARD, ADVISE_ENGINE)->comm_s /
			    find_candidate(&mesh, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->comm_s,
		    7, 0.2);
	expect(candidate_seconds(&mesh, ADVISE_SHARD) >
	       2 * candidate_seconds(&mesh, ADVISE_UNIFORM_FUSED_1D));
	t.ingress = t.bandwidth;
	build_machine(&t);
	struct advise_advice shared = advise_for(16384, 4096, 4096, 8, ADVISE_AG_GEMM);
	expect_near(find_candidate(&shared, ADVISE_SHARD, ADVISE_ENGINE)->comm_s /
			    find_candidate(&shared, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->comm_s,
		    1, 0.02);
}

/* Cutting K reads and writes C again: little where C is small next to A, much where K is small. */
static void cut_rows_or_columns(void)
{
	struct truth t = plain;
	t.adds_s = 4e-11;
	build_machine(&t);
	struct advise_advice flat = advise_for(16384, 1024, 128, 4, ADVISE_AG_GEMM),
			     deep = advise_for(64, 1024, 16384, 4, ADVISE_AG_GEMM);
	expect(find_candidate(&flat, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE)->gemm_s >
	       2 * find_candidate(&flat, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE)->gemm_s);
	expect(find_candidate(&deep, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE)->gemm_s <
	       1.2 * deep.gemm_s);
	expect(candidate_seconds(&flat, ADVISE_UNIFORM_FUSED_1D) <
	       candidate_seconds(&flat, ADVISE_UNIFORM_FUSED_2D));
}

static void the_slower_copy_method_loses(void)
{
	build_machine(&plain);
	memset(machine.contention, 0, sizeof(machine.contention));
	parse_line("cil kernel peer f32 1 0 1.5 2");
	advise_prepare(&machine);
	struct advise_advice a = advise_for(8192, 8192, 8192, 4, ADVISE_AG_GEMM);
	expect(a.candidate[0].copy_method == ADVISE_ENGINE);
	expect(find_candidate(&a, ADVISE_SHARD, ADVISE_KERNEL)->seconds >
	       find_candidate(&a, ADVISE_SHARD, ADVISE_ENGINE)->seconds);
	expect(a.shared_bytes == 0 && a.priority == 0); /* an engine needs neither */
}

static void slots_for_a_kernel(void)
{
	build_machine(&plain);
	for (unsigned i = 0; i < ADVISE_LINKS; i++)
		machine.copy[ADVISE_ENGINE][i].points = 0;
	struct advise_advice a = advise_for(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	require(a.candidate[0].schedule != ADVISE_SERIAL);
	expect(a.candidate[0].copy_method == ADVISE_KERNEL);
	expect(a.shared_bytes == -1 && a.priority == -1); /* not measured */
	parse_line("occupancy 0 1e13 1e-3");
	parse_line("occupancy 16384 9.99e12 1e-6");
	parse_line("occupancy 32768 5e12 1e-6");
	parse_line("priority 0.3");
	advise_prepare(&machine);
	a = advise_for(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	expect(a.shared_bytes == 16384);
	expect(a.priority == 1);
	parse_line("priority 1.0");
	parse_line("shaped 8192 1 0.9");
	advise_prepare(&machine);
	a = advise_for(4096, 4096, 4096, 4, ADVISE_AG_GEMM);
	expect(a.shared_bytes == 8192 && a.priority == 1);
}

static void allreduce_by_size(void)
{
	build_machine(&plain);
	for (double bytes = 1024; bytes <= 1 << 28; bytes *= 4) {
		parse_line("allreduce swing-l 8 %g %.12g", bytes, 1e-6 + bytes / 1e10);
		parse_line("allreduce ring 8 %g %.12g", bytes, 2e-5 + bytes / 4e10);
		parse_line("allreduce ring 4 %g %.12g", bytes, 1e-9);
	}
	advise_prepare(&machine);
	struct advise_advice small = advise_for(64, 64, 4096, 8, ADVISE_GEMM_AR),
			     large = advise_for(4096, 4096, 512, 8, ADVISE_GEMM_AR);
	expect_str(small.allreduce, "swing-l");
	expect_str(large.allreduce, "ring");
	expect_near(large.allreduce_s / (2e-5 + 4096.0 * 4096 * 4 / 4e10), 1, 0.02);
	struct advise_advice none = advise_for(64, 64, 4096, 2, ADVISE_GEMM_AR);
	expect_str(none.allreduce, "");
	expect(isnan(none.allreduce_s));
}

/* The losses of the copies that are advised: not those of another link, type or copy method. */
static void losses_of_this_link_and_type(void)
{
	build_machine(&plain);
	memset(machine.contention, 0, sizeof(machine.contention));
	for (enum advise_link link = 0; link < ADVISE_LINKS; link++)
		for (enum advise_type type = 0; type < ADVISE_TYPES; type++)
			if (link != ADVISE_PEER || type != ADVISE_F32)
				for (unsigned method = 0; method < ADVISE_COPY_METHODS; method++)
					parse_line("cil %s %s %s 1 0 6.58 6.58",
						   advise_copy_methods[method], advise_links[link],
						   advise_types[type]);
	parse_line("cil engine peer f32 1 0 1.25 1.5");
	parse_line("cil kernel peer f32 4 0 1.5 1");
	parse_line("cil kernel peer f32 12 0 3 1");
	parse_line("blocks peer 4");
	advise_prepare(&machine);
	struct advise_advice a = advise_for(8192, 4096, 4096, 4, ADVISE_AG_GEMM);
	const struct advise_candidate *engine = find_candidate(&a, ADVISE_HETERO_FUSED_1D,
							       ADVISE_ENGINE),
				      *one = find_candidate(&a, ADVISE_SHARD, ADVISE_KERNEL),
				      *three = find_candidate(&a, ADVISE_HETERO_FUSED_1D,
							      ADVISE_KERNEL);
	require(engine && one && three);
	expect_near(engine->gemm_cil, 1.25, 1e-12);
	expect_near(engine->copy_cil, 1.5, 1e-12);
	expect_near(one->gemm_cil, 1.5, 1e-12); /* one link at a time: 4 blocks */
	expect_near(three->gemm_cil, 3, 1e-12); /* to three peers at once */
}

/* A GEMM whose matrices fit in the cache does not lose the memory that copies take. */
static void losses_by_traffic(void)
{
	build_machine(&plain);
	memset(machine.contention, 0, sizeof(machine.contention));
	parse_line("cil engine peer f32 1 1e9 3 1");
	parse_line("cache 12582912"); /* three matrices of 1024 x 1024 */
	advise_prepare(&machine);
	struct advise_advice within = advise_for(1024, 1024, 1024, 4, ADVISE_AG_GEMM),
			     beyond = advise_for(4096, 1024, 1024, 4, ADVISE_AG_GEMM);
	expect_near(find_candidate(&within, ADVISE_SERIAL, ADVISE_ENGINE)->gemm_cil, 1, 1e-12);
	expect_near(find_candidate(&beyond, ADVISE_SERIAL, ADVISE_ENGINE)->gemm_cil, 3, 1e-12);
}

/* 8192 x 4096 x 4096 of one device in four is 2048 x 4096: 512 tiles of 128. Where so many and the
 * copies' blocks fit on the units, blocks take only memory, as an engine does. */
static void losses_next_to_free_tiles(void)
{
	for (double units = 132; units < 2000; units *= 4) {
		memset(&machine, 0, sizeof(machine));
		for (double m = 128; m <= 16384; m *= 2)
			for (double k = 64; k <= 4096; k *= 4) {
				double tiles = ceil(m / 128) * 32, waves = ceil(tiles / units);
				parse_line("gemm f32 %g 4096 %g 0 %.12g", m, k,
					   1e-6 + waves * k * 3e-8);
			}
		for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4)
			for (unsigned method = 0; method < ADVISE_COPY_METHODS; method++)
				parse_line("copy %s peer %g %.12g", advise_copy_methods[method],
					   bytes, 1e-6 + bytes / 5e10);
		parse_line("units %g", units);
		parse_line("cil engine peer f32 0 0 1.125 1");
		parse_line("cil kernel peer f32 1 0 2 1.5");
		advise_prepare(&machine);
		expect_near(machine.gemm[ADVISE_F32].coarse.wave, units, 0);
		struct advise_advice a = advise_for(8192, 4096, 4096, 4, ADVISE_AG_GEMM);
		const struct advise_candidate *c = find_candidate(&a, ADVISE_SHARD, ADVISE_KERNEL);
		require(c);
		expect_near(c->gemm_cil, units > 512 ? 1.125 : 2, 1e-12);
		expect_near(c->copy_cil, units > 512 ? 1 : 1.5, 1e-12);
	}
}

static double shard_seconds(uint32_t rows)
{
	struct advise_advice a = advise_for(rows, 1000, 4096, 4, ADVISE_GEMM_RS);
	return candidate_seconds(&a, ADVISE_SHARD);
}

/* 225 x 1000 elements are added within the cache, in the time of the smaller point; 500 x 1000 are
 * beyond it, at the rate of the larger one. One addition is left at the end; the others only start
 * next to GEMMs. */
static void additions_within_the_cache(void)
{
	build_machine(&plain);
	double within = shard_seconds(900);
	double beyond = shard_seconds(2000);
	parse_line("reduce 1e5 2e-6");
	parse_line("reduce 1e7 2.3e-6");
	parse_line("cache 3e6");
	advise_prepare(&machine);
	expect_near((shard_seconds(900) - within) / 2e-6, 1, 1e-3);
	double one = 2e-6 + 0.3e-6 * (2e6 - 1e5) / (1e7 - 1e5);
	expect_near((shard_seconds(2000) - beyond) / (one + 2 * (one - 2e-6)), 1, 1e-3);
}

static void equal_schedules_are_ties(void)
{
	build_machine(&plain);
	struct advise_advice a = advise_for(8192, 8192, 8192, 4, ADVISE_AG_GEMM);
	unsigned ties = 0, all = 0;
	for (unsigned i = 0; i < a.candidates; i++)
		ties += a.candidate[i].tie;
	expect(a.candidate[0].tie && ties < a.candidates);
	bool alone = true;
	for (unsigned i = 1; i < a.candidates; i++) {
		const struct advise_candidate *first = &a.candidate[0], *c = &a.candidate[i];
		double off = (1 + a.expected_error) * (1 + hypot(first->error, c->error));
		expect(c->tie == (c->seconds <= first->seconds * off));
		alone = alone && (!c->tie || c->schedule == first->schedule);
	}
	expect(a.decided == (alone && a.needs == 0));
	expect_near(a.expected_error, a.error, 0);
	parse_line("error 9");
	advise_prepare(&machine);
	a = advise_for(8192, 8192, 8192, 4, ADVISE_AG_GEMM);
	for (unsigned i = 0; i < a.candidates; i++)
		all += a.candidate[i].tie;
	expect_near(a.expected_error, 9, 0);
	expect(all == a.candidates);
}

static bool read_hidden(const struct advise_advice *a, double *hidden_p, double *bound_p)
{
	const char *hides = strstr(a->why, " hides ");
	return hides && sscanf(hides, " hides %lg %*s of at most %lg", hidden_p, bound_p) == 2;
}

/* "X hides 0.336 of at most 0.253": the whole GEMM took longer than its pieces, and was the bound.
 */
static void hidden_time_is_within_its_bound(void)
{
	double hidden = 0, bound = 0;
	memset(&machine, 0, sizeof(machine));
	for (double m = 128; m <= 16384; m *= 2)
		for (double k = 64; k <= 16384; k *= 4)
			parse_line("gemm f32 %g 4096 %g 0 %.12g", m, k,
				   2e-6 + 2 * m * 4096 * k / (m > 4096 ? 5e12 : 1e13));
	for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4)
		parse_line("copy engine peer %g %.12g", bytes, 2e-6 + bytes / 5e9);
	advise_prepare(&machine);
	struct advise_advice a = advise_for(8192, 4096, 4096, 4, ADVISE_AG_GEMM);
	require(read_hidden(&a, &hidden, &bound));
	expect(hidden <= bound * 1.01);
	expect(1e-3 * hidden > candidate_seconds(&a, ADVISE_SERIAL) - fmax(a.gemm_s, a.comm_s));
}

static void hidden_time_on_random_machines(void)
{
	struct rng r;
	unsigned seen = 0;
	rng_seed(&r, 4, 0);
	for (unsigned i = 0; i < (test_all() ? 60 : 25); i++) {
		struct truth t = random_truth(&r);
		t.adds_s = i % 2 ? 1e-11 : 0;
		build_machine(&t);
		for (unsigned question = 0; question < 8; question++) {
			double hidden = 0, bound = 0;
			struct advise_advice a =
				advise_for(random_side(&r), random_side(&r), random_side(&r),
					   2 + question, question % ADVISE_OPS);
			if (!read_hidden(&a, &hidden, &bound))
				continue;
			seen++;
			expect(hidden <= bound * 1.01);
		}
	}
	expect(seen > 50);
}

/* ------------------------------------------------------------------ on every machine */

static void never_below_the_bound(void)
{
	struct rng r;
	rng_seed(&r, 2, 0);
	for (unsigned i = 0; i < (test_all() ? 60 : 25); i++) {
		struct truth t = random_truth(&r);
		build_machine(&t);
		for (unsigned question = 0; question < 8; question++) {
			enum advise_op op = question % ADVISE_OPS;
			struct advise_advice a = advise_for(random_side(&r), random_side(&r),
							    random_side(&r), 2 + question, op);
			for (unsigned c = 0; c < a.candidates; c++) {
				const struct advise_candidate *at = &a.candidate[c];
				expect(at->seconds >= fmax(at->gemm_s, at->comm_s) * (1 - 1e-12));
				expect(isfinite(at->seconds) && at->seconds > 0);
				expect(c == 0 || at->seconds >= a.candidate[c - 1].seconds);
			}
			expect(find_candidate(&a, ADVISE_SERIAL, ADVISE_ENGINE) &&
			       find_candidate(&a, ADVISE_SERIAL, ADVISE_KERNEL));
			expect(!find_candidate(&a, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE) ==
			       (op == ADVISE_GEMM_RS || op == ADVISE_GEMM_AR));
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
		t.gemm_cil = t.copy_cil =
			1; /* else a faster transfer may slow down a GEMM earlier */
		uint32_t m = random_side(&r), n = random_side(&r), k = random_side(&r);
		enum advise_op op = i % ADVISE_OPS;
		build_machine(&t);
		struct advise_advice slow = advise_for(m, n, k, 4, op);
		t.bandwidth *= 2;
		t.ingress *= 2;
		build_machine(&t);
		struct advise_advice fast = advise_for(m, n, k, 4, op);
		for (unsigned c = 0; c < slow.candidates; c++) {
			const struct advise_candidate *before = &slow.candidate[c];
			const struct advise_candidate *after =
				find_candidate(&fast, before->schedule, before->copy_method);
			require(after);
			expect(after->seconds <= before->seconds * (1 + 1e-9));
		}
	}
}

int main(void)
{
	test(equal_sides_overlap);
	test(one_side_dominates);
	test(slow_launches_favour_serial);
	test(many_devices);
	test(mesh_or_switch);
	test(cut_rows_or_columns);
	test(the_slower_copy_method_loses);
	test(slots_for_a_kernel);
	test(allreduce_by_size);
	test(losses_of_this_link_and_type);
	test(losses_by_traffic);
	test(losses_next_to_free_tiles);
	test(additions_within_the_cache);
	test(equal_schedules_are_ties);
	test(hidden_time_is_within_its_bound);
	test(hidden_time_on_random_machines);
	test(never_below_the_bound);
	test(faster_links_never_hurt);
	return test_done();
}
