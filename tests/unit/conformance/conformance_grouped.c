/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grouped GEMMs: each group of rows is multiplied by its own matrix.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	PACKED_GEMM(1, 1, 1, .groups = 1, .group_rows = {1}),
	PACKED_GEMM(96, 64, 48, .groups = 3, .group_rows = {32, 16, 48}),
	PACKED_GEMM(160, 96, 64, .groups = 6, .group_rows = {0, 16, 0, 128, 16, 0}),
	{.m = 131,
	 .n = 33,
	 .k = 17,
	 .alpha = 2,
	 .beta = 1,
	 .lda = 20,
	 .ldb = 40,
	 .ldc = 35,
	 .groups = 4,
	 .group_rows = {1, 64, 65, 1}},
};

/* f8 needs multiples of 16, of each group. */
static struct dev_gemm grouped_shape(enum dev_type type, const struct dev_gemm *shape, bool turned)
{
	const uint32_t multiple = dev_types[type].multiple;
	struct dev_gemm g = *shape;
	g.m = 0;
	for (uint32_t i = 0; i < g.groups; i++) {
		g.group_rows[i] = (g.group_rows[i] + multiple - 1) / multiple * multiple;
		g.m += g.group_rows[i];
	}
	return shape_for_type(type, &g, turned);
}

static bool has_grouped(enum dev_type type)
{
	return dev_props(on.d)->gemm_grouped_types >> type & 1;
}

/* The first type that the device has, for the rules that one type shows. */
static enum dev_type first_grouped_type(void)
{
	int type = 0;
	while (type < DEV_TYPES && !has_grouped((enum dev_type)type))
		type++;
	if (type == DEV_TYPES)
		skip("the device has no type in gemm_grouped_types");
	return (enum dev_type)type;
}

static void check_groups(struct dev_stream *s, const struct dev_gemm *g, enum contents contents)
{
	struct gemm_case p = gemm_case_create(g, contents);
	ok(dev_gemm_prepare(on.d, &p.g));
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	gemm_case_free(&p);
}

static void check_grouped_type(enum dev_type type)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes) && has_grouped(type); i++)
		for (int turned = dev_types[type].multiple > 1; turned < 2; turned++) {
			const struct dev_gemm g = grouped_shape(type, &shapes[i], turned);
			check_groups(s, &g, RANDOM_REALS);
			if (fabs(g.alpha) + fabs(g.beta) <= 1)
				check_groups(s, &g, SMALL_INTEGERS);
		}
	dev_stream_close(on.d, s);
	if (!has_grouped(type))
		skip("the device lacks the type in gemm_grouped_types");
}

#define MULTIPLIES(type, name, ...)                                                                \
	static void groups_of_##name(void) { check_grouped_type(type); }
#define RULE_OF_TYPE(type, name, ...) RULE(groups_of_##name),
DEV_TYPE_LIST(MULTIPLIES)

static void a_type_without_groups_is_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm g = grouped_shape((enum dev_type)type, &shapes[1], false);
		if (has_grouped((enum dev_type)type))
			continue;
		struct gemm_case p = gemm_case_create(&g, RANDOM_REALS);
		expect_error(dev_gemm(on.d, s, &p.g), -ENOTSUP);
		expect_error(dev_gemm_prepare(on.d, &p.g), -ENOTSUP);
		gemm_case_free(&p);
	}
	dev_stream_close(on.d, s);
}

static void groups_are_checked(void)
{
	need(DEV_CAP_GEMM);
	const struct dev_gemm shape = grouped_shape(first_grouped_type(), &shapes[1], false);
	struct dev_stream *s = open_stream();
	struct gemm_case p = gemm_case_create(&shape, RANDOM_REALS);
	const struct dev_gemm good = p.g;
	struct dev_gemm g = good;
	g.groups = DEV_GEMM_GROUPS + 1;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.group_rows[2]--;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.group_rows[0] = g.group_rows[1] = UINT32_MAX;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.blocks = 2;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = good, g.shared_bytes = 1;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	/* One matrix more than B has. */
	g = good, g.groups = 4;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g = good, g.b = (const char *)g.b + dev_type_bytes(g.type);
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	ok(dev_gemm(on.d, s, &good));
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

/* The rows of a call may change after it; two calls with other rows keep their own. */
static void groups_are_copied_and_wait_for_their_turn(void)
{
	need(DEV_CAP_GEMM);
	const struct dev_gemm shape = grouped_shape(first_grouped_type(), &shapes[1], false);
	struct dev_stream *s = open_stream();
	struct gemm_case p = gemm_case_create(&shape, SMALL_INTEGERS);
	struct dev_gemm other = p.g;
	other.group_rows[0] = p.g.group_rows[2], other.group_rows[2] = p.g.group_rows[0];
	ok(dev_gemm(on.d, s, &other)); /* the first ones may wait */
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	gemm_case_restore_c(&p);
	struct blocking gate = blocking_hold(s);
	struct dev_gemm g = p.g;
	ok(dev_gemm(on.d, s, &other));
	ok(dev_gemm(on.d, s, &g));
	memset(&g, 0, sizeof(g));
	blocking_release(&gate);
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	blocking_free(&gate);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

static void a_graph_keeps_groups(void)
{
	need(DEV_CAP_GEMM | DEV_CAP_GRAPH);
	const struct dev_gemm shape = grouped_shape(first_grouped_type(), &shapes[2], false);
	struct dev_stream *s = open_stream();
	struct gemm_case p = gemm_case_create(&shape, SMALL_INTEGERS);
	struct dev_graph *graph = NULL;
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	gemm_case_restore_c(&p);
	ok(dev_graph_begin(on.d, s));
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_graph_end(on.d, s, &graph));
	ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	dev_graph_close(on.d, graph);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		DEV_TYPE_LIST(RULE_OF_TYPE) RULE(a_type_without_groups_is_refused),
		RULE(groups_are_checked),
		RULE(groups_are_copied_and_wait_for_their_turn),
		RULE(a_graph_keeps_groups),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
