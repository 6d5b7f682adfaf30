/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions that have no answer, and candidates that a question excludes.
 */
#include "advise/advise.h"
#include "device/dev_lists.h"
#include "lib/err.h"
#include "tests/unit/advise_truth.h"

#include <errno.h>

static void bad_questions(void)
{
	struct advise_question q = {64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_F32};
	struct advise_advice a = {.candidates = 77};
	build_machine(&plain);
	machine.prepared = false;
	expect(advise(&machine, &q, &a) == -EINVAL);
	advise_prepare(&machine);
	expect(advise(&machine, &(struct advise_question){64, 0, 64, 2, ADVISE_AG_GEMM, ADVISE_F32},
		      &a) == -EINVAL);
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 1, ADVISE_AG_GEMM, ADVISE_F32},
		      &a) == -EINVAL);
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 65, ADVISE_AG_GEMM, ADVISE_F32},
		      &a) == -ERANGE);
	expect(advise(&machine, &(struct advise_question){64, 64, 64, 2, ADVISE_OPS, ADVISE_F32},
		      &a) == -EINVAL);
	expect_str(err_text(), "unknown operation 4; operations: 0 to 3");
	expect(advise(&machine,
		      &(struct advise_question){64, 64, 64, 2, ADVISE_AG_GEMM, ADVISE_BF16},
		      &a) == -ENODATA);
	memset(machine.copy, 0, sizeof(machine.copy));
	expect(advise(&machine, &q, &a) == -ENODATA);
	expect(a.candidates == 77); /* outputs are set only on success */
}

/* The longest copy has 1 MiB. Of two devices one sends half of A to the other. */
static void long_copies_do_not_follow_from_short_ones(void)
{
	const struct advise_question at_limit = {1u << 15, 64, 1024, 2, ADVISE_AG_GEMM, ADVISE_F32},
				     beyond = {(1u << 15) + 2, 64,        1024, 2,
					       ADVISE_AG_GEMM, ADVISE_F32};
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
	test(types_are_those_of_devices);
	return test_done();
}
