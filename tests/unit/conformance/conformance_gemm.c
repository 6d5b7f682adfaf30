/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMM against a reference in double, in every type that the device has.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	{.m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1},
	{.m = 64, .n = 64, .k = 64, .alpha = 1, .lda = 64, .ldb = 64, .ldc = 64},
	{.m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33},
	{.m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137},
	{.m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5},
	{.m = 128, .n = 96, .k = 80, .alpha = 0.5, .lda = 80, .ldb = 96, .ldc = 100, .blocks = 7},
	PACKED_GEMM(100, 100, 10, .beta = 1, .blocks = 1),
	{.m = 90, .n = 90, .k = 90, .alpha = 1, .lda = 90, .ldb = 90, .ldc = 90, .blocks = 64},
};

static bool has_type(enum dev_type type) { return dev_props(on.d)->gemm_types >> type & 1; }

static int check_gemm(struct dev_stream *s, const struct dev_gemm *shape, enum contents contents)
{
	struct gemm_case p = gemm_case_create(shape, contents);
	int status = dev_gemm(on.d, s, &p.g);
	if (status == 0) {
		ok(dev_stream_sync(on.d, s));
		expect_gemm_result(&p);
	}
	gemm_case_free(&p);
	return status;
}

static void check_type(enum dev_type type)
{
	need(DEV_CAP_GEMM);
	if (!has_type(type))
		skip("the device lacks the type in gemm_types");
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_for_type(type, &shapes[i], false);
		ok(check_gemm(s, &g, RANDOM_REALS));
		if (g.k <= SMALL_INTEGERS_MAX_K && fabs(g.alpha) + fabs(g.beta) <= 1)
			ok(check_gemm(s, &g, SMALL_INTEGERS));
	}
	dev_stream_close(on.d, s);
}

#define MULTIPLIES(type, name, ...)                                                                \
	static void gemm_multiplies_##name(void) { check_type(type); }
#define RULE_OF_TYPE(type, name, ...) RULE(gemm_multiplies_##name),
DEV_TYPE_LIST(MULTIPLIES)

/* Fast accumulation stays within the tolerance for f8; small integers stay exact. */
static void gemm_accumulates_fast(void)
{
	const uint32_t types = dev_props(on.d)->gemm_fast_types;
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	for (int type = 0; type < DEV_TYPES; type++) {
		struct dev_gemm g = shape_for_type((enum dev_type)type, &shapes[1], false);
		g.fast_accumulation = true;
		if (types >> type & 1) {
			ok(dev_gemm_prepare(on.d, &g));
			ok(check_gemm(s, &g, RANDOM_REALS));
			ok(check_gemm(s, &g, SMALL_INTEGERS));
		} else {
			expect_error(check_gemm(s, &g, RANDOM_REALS), -ENOTSUP);
			expect_error(dev_gemm_prepare(on.d, &g), -ENOTSUP);
		}
	}
	dev_stream_close(on.d, s);
	if (!types)
		skip("the device has no type in gemm_fast_types");
}

static void gemm_takes_b_transposed(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	unsigned types = 0;
	for (int type = 0; type < DEV_TYPES; type++) {
		int status = has_type((enum dev_type)type) ? 0 : -ENOTSUP;
		for (size_t i = 0; i < COUNT(shapes) && status == 0; i++) {
			const struct dev_gemm g =
				shape_for_type((enum dev_type)type, &shapes[i], true);
			status = check_gemm(s, &g, RANDOM_REALS);
		}
		expect(status == 0 || status == -ENOTSUP);
		types += status == 0;
	}
	dev_stream_close(on.d, s);
	if (types == 0)
		skip("the device takes no B transposed");
}

static void a_missing_type_is_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	expect(dev_props(on.d)->gemm_types != 0);
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm shape = {
			.m = 32, .n = 32, .k = 32, .alpha = 1, .lda = 32, .ldb = 32, .ldc = 32};
		const struct dev_gemm g = shape_for_type((enum dev_type)type, &shape, false);
		if (!has_type((enum dev_type)type))
			expect_error(check_gemm(s, &g, RANDOM_REALS), -ENOTSUP);
	}
	struct dev_gemm g = PACKED_GEMM(1, 1, 1, .type = DEV_TYPES);
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	dev_stream_close(on.d, s);
}

static void gemm_is_checked(void)
{
	need(DEV_CAP_GEMM);
	static float pageable[64 * 64];
	struct dev_stream *s = open_stream();
	float *a = alloc_memory(DEV_MEM_DEVICE, 3 * 64 * 64 * 4);
	const struct dev_gemm good = PACKED_GEMM(64, 64, 64, .type = DEV_F32, .a = a,
						 .b = a + 64 * 64, .c = a + 2 * 64 * 64);
	struct dev_gemm g = good;
	ok(dev_fill(on.d, s, a, 0, 3 * 64 * 64 * 4));
	ok(dev_gemm(on.d, s, &g));
	g.m = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.n = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.k = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.ldb = 63;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.a = pageable;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.b = pageable;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.c = pageable;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.m = 65;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.shared_bytes = 1024;
	int status = dev_gemm(on.d, s, &g);
	expect(status == 0 || status == -ENOTSUP ||
	       (status == -EINVAL && dev_props(on.d)->shared_per_block_bytes < 1024));
	ok(dev_stream_sync(on.d, s));
	free_memory(a);
	dev_stream_close(on.d, s);
}

static void gemm_waits_for_its_turn(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	float *a = alloc_memory(DEV_MEM_PINNED, 16 * 4), *c = alloc_memory(DEV_MEM_PINNED, 16 * 4);
	for (int i = 0; i < 16; i++)
		a[i] = 1, c[i] = 100;
	struct dev_gemm g = PACKED_GEMM(4, 4, 4, .type = DEV_F32, .a = a, .b = a, .c = c);
	ok(dev_gemm(on.d, s, &g)); /* the first GEMM may wait */
	ok(dev_stream_sync(on.d, s));
	for (int i = 0; i < 16; i++)
		c[i] = 100;
	struct blocking gate = blocking_hold(s);
	ok(dev_gemm(on.d, s, &g));
	memset(&g, 0, sizeof(g)); /* the backend has copied the description */
	spend_ns(MS);
	expect_near((double)c[5], 100, 0);
	blocking_release(&gate);
	ok(dev_stream_sync(on.d, s));
	expect_near((double)c[5], 4, 1e-6);
	blocking_free(&gate);
	free_memory(a);
	free_memory(c);
	dev_stream_close(on.d, s);
}

/* dev_gemm_prepare() uses memory of its own, so the operands need not exist. A GEMM of the same
 * shape is right afterwards. */
static void preparing_changes_no_result(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	for (int type = 0; type < DEV_TYPES; type++) {
		if (!has_type((enum dev_type)type))
			continue;
		struct dev_gemm g = shape_for_type((enum dev_type)type, &shapes[2], false);
		ok(dev_gemm_prepare(on.d, &g));
		ok(check_gemm(s, &g, RANDOM_REALS));
		g.k = 0;
		expect_error(dev_gemm_prepare(on.d, &g), -EINVAL);
	}
	dev_stream_close(on.d, s);
}

static void the_chosen_algorithm_is_reported(void)
{
	need(DEV_CAP_GEMM);
	struct dev_gemm g = shape_for_type(DEV_F32, &shapes[3], false);
	struct dev_gemm_choice choice = {.offered = 77};
	g.m = 75; /* a shape that no other test prepares */
	int status = dev_gemm_chosen(on.d, &g, &choice);
	expect((status == -ENOENT || status == -ENOTSUP) && choice.offered == 77);
	if (status == -ENOTSUP)
		skip("the device does not choose");
	ok(dev_gemm_prepare(on.d, &g));
	ok(dev_gemm_chosen(on.d, &g, &choice));
	printf("# %s: %s; %u offered, %u tried, first / chosen %g\n", dev_props(on.d)->blas,
	       choice.algorithm, choice.offered, choice.tried, choice.first_ratio);
	expect(choice.algorithm[0] && choice.offered > 0 && choice.tried <= choice.offered);
	expect(choice.offered == 1 ? choice.tried == 0 : choice.tried > 0);
	expect(isnan(choice.first_ratio) || (choice.tried > 0 && choice.first_ratio >= 1));
	g.k = 0;
	expect_error(dev_gemm_chosen(on.d, &g, &choice), -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		DEV_TYPE_LIST(RULE_OF_TYPE) RULE(gemm_accumulates_fast),
		RULE(gemm_takes_b_transposed),
		RULE(a_missing_type_is_refused),
		RULE(gemm_is_checked),
		RULE(gemm_waits_for_its_turn),
		RULE(preparing_changes_no_result),
		RULE(the_chosen_algorithm_is_reported),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
