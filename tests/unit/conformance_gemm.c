/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gemm against a plain product, in every type that the device has.
 */
#include "tests/unit/conformance_product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	{ .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1 },
	{ .m = 64, .n = 64, .k = 64, .alpha = 1, .lda = 64, .ldb = 64, .ldc = 64 },
	{ .m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33 },
	{ .m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137 },
	{ .m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5 },
	{ .m = 128, .n = 96, .k = 80, .alpha = 0.5, .lda = 80, .ldb = 96, .ldc = 100, .blocks = 7 },
	{ .m = 100, .n = 100, .k = 10, .alpha = 1, .beta = 1, .lda = 10, .ldb = 100, .ldc = 100, .blocks = 1 },
	{ .m = 90, .n = 90, .k = 90, .alpha = 1, .lda = 90, .ldb = 90, .ldc = 90, .blocks = 64 },
};

static bool has_type(enum dev_type type) { return dev_props(on.d)->gemm_types >> type & 1; }

static int one_gemm(struct dev_stream *s, const struct dev_gemm *shape, enum contents contents)
{
	struct product p = product(shape, contents);
	int rc = dev_gemm(on.d, s, &p.g);
	if (rc == 0) {
		ok(dev_stream_sync(on.d, s));
		expect_product(&p);
	}
	product_drop(&p);
	return rc;
}

static void type_multiplies(enum dev_type type)
{
	need(DEV_CAP_GEMM);
	if (!has_type(type))
		skip("the device lacks the type in gemm_types");
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_in(type, &shapes[i], false);
		ok(one_gemm(s, &g, ANY));
		if (g.k <= WHOLE_MOST_K && fabs(g.alpha) + fabs(g.beta) <= 1)
			ok(one_gemm(s, &g, WHOLE));
	}
	dev_stream_close(on.d, s);
}

static void gemm_multiplies_f32(void) { type_multiplies(DEV_F32); }
static void gemm_multiplies_f64(void) { type_multiplies(DEV_F64); }
static void gemm_multiplies_tf32(void) { type_multiplies(DEV_TF32); }
static void gemm_multiplies_f16(void) { type_multiplies(DEV_F16); }
static void gemm_multiplies_bf16(void) { type_multiplies(DEV_BF16); }
static void gemm_multiplies_f8(void) { type_multiplies(DEV_F8); }

/* What fast accumulation loses is below what is allowed for f8 anyway; whole numbers stay exact. */
static void gemm_accumulates_fast(void)
{
	const uint32_t types = dev_props(on.d)->gemm_fast_types;
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	for (int type = 0; type < DEV_TYPES; type++) {
		struct dev_gemm g = shape_in((enum dev_type)type, &shapes[1], false);
		g.fast_accumulation = true;
		if (types >> type & 1) {
			ok(dev_gemm_prepare(on.d, &g));
			ok(one_gemm(s, &g, ANY));
			ok(one_gemm(s, &g, WHOLE));
		} else {
			expect_error(one_gemm(s, &g, ANY), -ENOTSUP);
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
	struct dev_stream *s = stream();
	unsigned types = 0;
	for (int type = 0; type < DEV_TYPES; type++) {
		int rc = has_type((enum dev_type)type) ? 0 : -ENOTSUP;
		for (size_t i = 0; i < COUNT(shapes) && rc == 0; i++) {
			const struct dev_gemm g = shape_in((enum dev_type)type, &shapes[i], true);
			rc = one_gemm(s, &g, ANY);
		}
		expect(rc == 0 || rc == -ENOTSUP);
		types += rc == 0;
	}
	dev_stream_close(on.d, s);
	if (types == 0)
		skip("the device takes no B transposed");
}

static void a_type_that_is_lacking_is_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	expect(dev_props(on.d)->gemm_types != 0);
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm shape = { .m = 32, .n = 32, .k = 32, .alpha = 1, .lda = 32, .ldb = 32, .ldc = 32 };
		const struct dev_gemm g = shape_in((enum dev_type)type, &shape, false);
		if (!has_type((enum dev_type)type))
			expect_error(one_gemm(s, &g, ANY), -ENOTSUP);
	}
	struct dev_gemm g = { .type = DEV_TYPES, .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1 };
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	dev_stream_close(on.d, s);
}

static void gemm_is_checked(void)
{
	need(DEV_CAP_GEMM);
	static float pageable[64 * 64];
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_DEVICE, 3 * 64 * 64 * 4);
	const struct dev_gemm good = { .type = DEV_F32, .m = 64, .n = 64, .k = 64, .alpha = 1, .a = a, .b = a + 64 * 64,
		                       .c = a + 2 * 64 * 64, .lda = 64, .ldb = 64, .ldc = 64 };
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
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.b = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.c = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.m = 65;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.shared_bytes = 1024;
	int rc = dev_gemm(on.d, s, &g);
	expect(rc == 0 || rc == -ENOTSUP || (rc == -EINVAL && dev_props(on.d)->shared_per_block_bytes < 1024));
	ok(dev_stream_sync(on.d, s));
	put(a);
	dev_stream_close(on.d, s);
}

static void gemm_waits_for_its_turn(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	float *a = get(DEV_MEM_PINNED, 16 * 4), *c = get(DEV_MEM_PINNED, 16 * 4);
	for (int i = 0; i < 16; i++)
		a[i] = 1, c[i] = 100;
	struct dev_gemm g = { .type = DEV_F32, .m = 4, .n = 4, .k = 4, .alpha = 1, .a = a, .b = a, .c = c,
		              .lda = 4, .ldb = 4, .ldc = 4 };
	ok(dev_gemm(on.d, s, &g)); /* the first one may wait */
	ok(dev_stream_sync(on.d, s));
	for (int i = 0; i < 16; i++)
		c[i] = 100;
	struct gate gate = gate_shut(s);
	ok(dev_gemm(on.d, s, &g));
	memset(&g, 0, sizeof(g)); /* the description is copied, too */
	pass(MS);
	expect_near((double)c[5], 100, 0);
	gate_open(&gate);
	ok(dev_stream_sync(on.d, s));
	expect_near((double)c[5], 4, 1e-6);
	gate_done(&gate);
	put(a);
	put(c);
	dev_stream_close(on.d, s);
}

/* It works on memory of its own, so that there need be none yet; a product of the same kind is right afterwards. */
static void preparing_changes_no_result(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	for (int type = 0; type < DEV_TYPES; type++) {
		if (!has_type((enum dev_type)type))
			continue;
		struct dev_gemm g = shape_in((enum dev_type)type, &shapes[2], false);
		ok(dev_gemm_prepare(on.d, &g));
		ok(one_gemm(s, &g, ANY));
		g.k = 0;
		expect_error(dev_gemm_prepare(on.d, &g), -EINVAL);
	}
	dev_stream_close(on.d, s);
}

static void what_was_chosen_is_said(void)
{
	need(DEV_CAP_GEMM);
	struct dev_gemm g = shape_in(DEV_F32, &shapes[3], false);
	struct dev_gemm_choice choice = { .offered = 77 };
	g.m = 75; /* no other rule's */
	int rc = dev_gemm_chosen(on.d, &g, &choice);
	expect((rc == -ENOENT || rc == -ENOTSUP) && choice.offered == 77);
	if (rc == -ENOTSUP)
		skip("the device does not choose");
	ok(dev_gemm_prepare(on.d, &g));
	ok(dev_gemm_chosen(on.d, &g, &choice));
	printf("# %s: %s; %u offered, %u tried, first / chosen %g\n", dev_props(on.d)->blas, choice.algorithm, choice.offered,
	       choice.tried, choice.first_ratio);
	expect(choice.algorithm[0] && choice.offered > 0 && choice.tried <= choice.offered);
	expect(choice.offered == 1 ? choice.tried == 0 : choice.tried > 0);
	expect(isnan(choice.first_ratio) || (choice.tried > 0 && choice.first_ratio >= 1));
	g.k = 0;
	expect_error(dev_gemm_chosen(on.d, &g, &choice), -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(gemm_multiplies_f32),
		RULE(gemm_multiplies_f64),
		RULE(gemm_multiplies_tf32),
		RULE(gemm_multiplies_f16),
		RULE(gemm_multiplies_bf16),
		RULE(gemm_multiplies_f8),
		RULE(gemm_accumulates_fast),
		RULE(gemm_takes_b_transposed),
		RULE(a_type_that_is_lacking_is_refused),
		RULE(gemm_is_checked),
		RULE(gemm_waits_for_its_turn),
		RULE(preparing_changes_no_result),
		RULE(what_was_chosen_is_said),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
