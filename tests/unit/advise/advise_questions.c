/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions that have no answer, and candidates that a question excludes.
 */
#include "advise/advise.h"
#include "device/dev_lists.h"
#include "lib/err.h"
#include "tests/unit/advise/advise_truth.h"

#include <errno.h>

static void bad_questions(void)
{
	struct advise_question q = {64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_F32, 0};
	struct advise_advice a = {.candidates = 77};
	build_machine(&plain);
	machine.prepared = false;
	expect(advise(&machine, &q, &a) == -EINVAL);
	advise_prepare(&machine);
	expect(advise(&machine,
		      &(struct advise_question){64, 0, 64, 2, ADVISE_AG_GEMM, ADVISE_F32, 0},
		      &a) == -EINVAL);
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 1, ADVISE_AG_GEMM, ADVISE_F32, 0},
		      &a) == -EINVAL);
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 65, ADVISE_AG_GEMM, ADVISE_F32, 0},
		      &a) == -ERANGE);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 2, ADVISE_OPS, ADVISE_F32, 0},
		      &a) == -EINVAL);
	expect_str(err_text(), "unknown operation 4; operations: 0 to 3");
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_BF16, 0},
		      &a) == -ENODATA);
	memset(machine.copy, 0, sizeof(machine.copy));
	expect(advise(&machine, &q, &a) == -ENODATA);
	expect(a.candidates == 77); /* outputs are set only on success */
}

/* The longest copy has 1 MiB. Of two devices one sends half of A to the other. */
static void long_copies_do_not_follow_from_short_ones(void)
{
	const struct advise_question at_limit = {1u << 15,       64,         1024, 2,
						 ADVISE_AG_GEMM, ADVISE_F32, 0},
				     beyond = {(1u << 15) + 2, 64,         1024, 2,
					       ADVISE_AG_GEMM, ADVISE_F32, 0};
	struct advise_advice a = {.candidates = 77};
	memset(&machine, 0, sizeof(machine));
	parse_line("gemm f32 1024 1024 1024 0 1e-3");
	parse_line("copy kernel peer 4096 1e-6");
	parse_line("copy engine peer 1048576 1e-4");
	advise_prepare(&machine);
	expect(advise(&machine, &beyond, &a) == -ENODATA && a.candidates == 77);
	expect_str(err_text(), "the longest copy over link peer has 1 MiB, and this needs 64");
	expect(advise(&machine, &at_limit, &a) == 0 && a.extrapolated);
}

/* A side that is too short to cut gives no candidate. */
static void short_sides_are_not_cut(void)
{
	build_machine(&plain);
	struct advise_advice a = advise_for(8, 4096, 2, 4, ADVISE_AG_GEMM);
	expect(find_candidate(&a, ADVISE_SERIAL, ADVISE_ENGINE) &&
	       find_candidate(&a, ADVISE_SHARD, ADVISE_ENGINE));
	expect(!find_candidate(&a, ADVISE_UNIFORM_FUSED_1D, ADVISE_ENGINE) &&
	       !find_candidate(&a, ADVISE_UNIFORM_FUSED_2D, ADVISE_ENGINE));
}

static unsigned needs_of(const struct advise_question *q)
{
	struct advise_advice a;
	require(advise(&machine, q, &a) == 0);
	expect(!(a.decided && a.needs));
	return a.needs;
}

/* GEMM and transfers take about as long, so overlap gains, unless both take turns. */
static void what_is_missing_and_decides_is_named(void)
{
	const struct advise_question
		balanced = {4096, 4096, 2048, 4, ADVISE_AG_GEMM, ADVISE_F32, 1u << ADVISE_ENGINE},
		all_gemm = {4096, 16384, 16384, 4, ADVISE_AG_GEMM, ADVISE_F32, 1u << ADVISE_ENGINE};
	struct truth slow = plain;
	slow.bandwidth = 1e10;
	slow.ingress = 1e10;
	build_machine(&slow);
	parse_line("bothways engine peer 1048576 1");
	advise_prepare(&machine);
	expect(needs_of(&balanced) == 0);
	parse_line("assumed engine peer f32");
	advise_prepare(&machine);
	expect(needs_of(&balanced) == 1u << ADVISE_CONTENTION_ENGINE);
	memset(machine.contention, 0, sizeof(machine.contention));
	expect(needs_of(&balanced) == 1u << ADVISE_CONTENTION_ENGINE);
	parse_line("error 0.1");
	advise_prepare(&machine);
	expect(needs_of(&all_gemm) == 0); /* there is next to nothing to lose */
}

/* Both ways on one device with one engine take turns; devices that exchange have one each. */
static void both_ways_of_one_device_are_no_exchange(void)
{
	const struct advise_question q = {
		4096, 1024, 2048, 4, ADVISE_AG_GEMM, ADVISE_F32, 1u << ADVISE_ENGINE};
	struct truth slow = plain;
	slow.bandwidth = 1e10;
	slow.ingress = 1e10;
	build_machine(&slow);
	parse_line("bothways engine peer 1048576 2");
	advise_prepare(&machine);
	expect(needs_of(&q) == 0);
	parse_line("onedevice engine peer");
	advise_prepare(&machine);
	expect(needs_of(&q) == 1u << ADVISE_BOTH_WAYS_ENGINE);
}

/* Sharing of ingress between peers decides between all at once and one after the other. */
static void unknown_ingress_and_additions_decide(void)
{
	const struct advise_question
		gather = {4096, 1024, 2048, 4, ADVISE_AG_GEMM, ADVISE_F32, 1u << ADVISE_ENGINE},
		scatter = {4096, 4096, 1024, 4, ADVISE_GEMM_RS, ADVISE_F32, 1u << ADVISE_ENGINE};
	struct truth slow = plain;
	slow.bandwidth = 1e10;
	slow.engines = 4;
	slow.launch_s = 5e-4;
	build_machine(&slow);
	parse_line("bothways engine peer 1048576 1");
	advise_prepare(&machine);
	expect(needs_of(&gather) & 1u << ADVISE_INGRESS);
	expect(!(needs_of(&gather) & 1u << ADVISE_ADDITIONS));
	expect(needs_of(&scatter) & 1u << ADVISE_ADDITIONS);
	parse_line("ingress 1e10");
	parse_line("reduce 4096 1e-7");
	parse_line("reduce 1073741824 1e-3");
	advise_prepare(&machine);
	expect(needs_of(&gather) == 0 && needs_of(&scatter) == 0);
}

/* A GEMM of 28 tiles, of which 8 run at once: blocks of a copy kernel may wait for three of its
 * four waves, in every step; an engine needs no slots. */
static void a_copy_kernel_may_wait_for_waves(void)
{
	const struct advise_question q = {1024, 896, 8192, 4, ADVISE_AG_GEMM, ADVISE_F32, 0};
	struct advise_advice a;
	memset(&machine, 0, sizeof(machine));
	for (double m = 64; m <= 4096; m *= 2)
		for (double n = 64; n <= 4096; n *= 4)
			for (double k = 512; k <= 8192; k *= 4)
				parse_line("gemm f32 %g %g %g 0 %.12g", m, n, k,
					   1e-6 + ceil(ceil(m / 128) * ceil(n / 256) / 8) * 8 *
							   128 * 256 * k * 1e-12);
	for (unsigned method = 0; method < ADVISE_COPY_METHODS; method++) {
		const char *name = advise_copy_methods[method];
		parse_line("copy %s peer 4096 1.00000001e-6", name);
		parse_line("copy %s peer 1073741824 1", name);
		parse_line("cil %s peer f32 1 0 1 1", name);
		parse_line("bothways %s peer 1048576 1", name);
	}
	parse_line("units 8");
	parse_line("ingress 1e12");
	parse_line("hop 1e-6");
	advise_prepare(&machine);
	require(advise(&machine, &q, &a) == 0);
	const struct advise_candidate *engine = find_candidate(&a, ADVISE_UNIFORM_FUSED_2D,
							       ADVISE_ENGINE),
				      *kernel = find_candidate(&a, ADVISE_UNIFORM_FUSED_2D,
							       ADVISE_KERNEL);
	require(engine && kernel);
	expect(engine->error < 0.05);
	expect(kernel->error > 0.1);
}

static void one_copy_method_may_be_asked_for(void)
{
	const struct advise_question q = {
		4096, 4096, 2048, 4, ADVISE_AG_GEMM, ADVISE_F32, 1u << ADVISE_KERNEL};
	struct advise_advice a;
	build_machine(&plain);
	require(advise(&machine, &q, &a) == 0);
	expect(a.candidates == ADVISE_SCHEDULES);
	for (unsigned i = 0; i < a.candidates; i++)
		expect(a.candidate[i].copy_method == ADVISE_KERNEL);
}

/* advise/ has a list of its own, for it is used without device/. */
static void types_are_those_of_devices(void)
{
#define EXPECT_SAME(type, name, bytes, result_bytes)                                               \
	for (unsigned t = 0; t <= DEV_TYPES; t++) {                                                \
		require(t < DEV_TYPES);                                                            \
		if (strcmp(dev_type_names[t], name) != 0)                                          \
			continue;                                                                  \
		expect(dev_type_bytes((enum dev_type)t) == (bytes) &&                              \
		       dev_type_result_bytes((enum dev_type)t) == (result_bytes));                 \
		break;                                                                             \
	}
	ADVISE_TYPE_LIST(EXPECT_SAME)
#undef EXPECT_SAME
}

int main(void)
{
	test(bad_questions);
	test(long_copies_do_not_follow_from_short_ones);
	test(short_sides_are_not_cut);
	test(what_is_missing_and_decides_is_named);
	test(both_ways_of_one_device_are_no_exchange);
	test(unknown_ingress_and_additions_decide);
	test(a_copy_kernel_may_wait_for_waves);
	test(one_copy_method_may_be_asked_for);
	test(types_are_those_of_devices);
	return test_done();
}
