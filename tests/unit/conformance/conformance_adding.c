/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GEMMs that add to C: several at once, of several streams and devices, lose nothing.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS 100u

/* With small integers every sum is exact in every type: k is at most 31, and |alpha| at most 2. */
static const struct dev_gemm shapes[] = {
	{.m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1},
	{.m = 128, .n = 128, .k = 16, .alpha = 1, .lda = 16, .ldb = 128, .ldc = 128},
	{.m = 65, .n = 33, .k = 17, .alpha = 2, .lda = 17, .ldb = 33, .ldc = 33},
	{.m = 7, .n = 130, .k = 31, .alpha = -1, .lda = 33, .ldb = 131, .ldc = 137, .blocks = 3},
	{.m = 200, .n = 3, .k = 29, .alpha = 1, .lda = 29, .ldb = 8, .ldc = 5},
	{.m = 600, .n = 530, .k = 4, .alpha = 1, .lda = 4, .ldb = 530, .ldc = 530, .blocks = 1},
	{.m = 150, .n = 1100, .k = 8, .alpha = 2, .lda = 8, .ldb = 1100, .ldc = 1103},
};

static bool has_adding(enum dev_type type)
{
	return dev_props(on.d)->gemm_adding_types >> type & 1;
}

/* The first type that the device has, for the tests below. */
static enum dev_type first_adding_type(void)
{
	int type = 0;
	while (type < DEV_TYPES && !has_adding((enum dev_type)type))
		type++;
	if (type == DEV_TYPES)
		skip("the device has no type in gemm_adding_types");
	return (enum dev_type)type;
}

static struct gemm_case adding_case(const struct dev_gemm *shape, enum contents contents)
{
	struct gemm_case p = gemm_case_create(shape, contents);
	p.g.tiled = true;
	p.g.adds = true;
	return p;
}

/* The sum of `times` GEMMs; small integers if it is more than one. */
static struct gemm_case expected_case(const struct gemm_case *p, uint32_t times)
{
	struct gemm_case q = *p;
	q.g.alpha *= times;
	q.g.beta = 1;
	return q;
}

static void expect_added(const struct gemm_case *p, uint32_t times)
{
	const struct gemm_case q = expected_case(p, times);
	expect_gemm_result(&q);
}

/* Several blocks, which mostly add. */
static struct gemm_case contended_case(void)
{
	const struct dev_gemm shape = PACKED_GEMM(160, 144, 4, .blocks = 4);
	const struct dev_gemm g = shape_for_type(first_adding_type(), &shape, false);
	return adding_case(&g, SMALL_INTEGERS);
}

/* ------------------------------------------------------------------ results */

static void check_adds(struct dev_stream *s, const struct dev_gemm *shape, enum contents contents)
{
	struct gemm_case p = adding_case(shape, contents);
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_added(&p, 1);
	gemm_case_free(&p);
}

static void check_adding_type(enum dev_type type)
{
	if (!has_adding(type))
		skip("the device lacks the type in gemm_adding_types");
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_for_type(type, &shapes[i], false);
		check_adds(s, &g, RANDOM_REALS);
		check_adds(s, &g, SMALL_INTEGERS);
	}
	dev_stream_close(on.d, s);
}

#define ADDS(type, name, ...)                                                                      \
	static void gemm_adds_##name(void) { check_adding_type(type); }
#define RULE_OF_TYPE(type, name, ...) RULE(gemm_adds_##name),
DEV_TYPE_LIST(ADDS)

static void blocks_that_add_are_shaped(void)
{
	need(DEV_CAP_OCCUPANCY);
	struct gemm_case p = contended_case();
	uint32_t all = 0, half = 0;
	ok(dev_gemm_prepare(on.d, &p.g));
	ok(dev_gemm_occupancy(on.d, &p.g, &all));
	struct dev_stream *s = open_stream();
	int status = -EINVAL;
	for (uint64_t shared = dev_props(on.d)->shared_per_block_bytes / 2;
	     shared > 0 && status == -EINVAL; shared /= 2) {
		p.g.shared_bytes = shared;
		status = dev_gemm(on.d, s, &p.g);
	}
	ok(status);
	ok(dev_stream_sync(on.d, s));
	ok(dev_gemm_occupancy(on.d, &p.g, &half));
	expect(all >= 1 && half >= 1);
	expect_added(&p, 1);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ several at once */

static void streams_add_to_one_c(void)
{
	enum { STREAMS = 3 };
	struct gemm_case p = contended_case();
	struct dev_stream *s[STREAMS];
	for (int i = 0; i < STREAMS; i++)
		s[i] = open_stream();
	for (uint32_t i = 0; i < ROUNDS * STREAMS; i++)
		ok(dev_gemm(on.d, s[i % STREAMS], &p.g));
	for (int i = 0; i < STREAMS; i++)
		ok(dev_stream_sync(on.d, s[i]));
	expect_added(&p, ROUNDS * STREAMS);
	for (int i = 0; i < STREAMS; i++)
		dev_stream_close(on.d, s[i]);
	gemm_case_free(&p);
}

/* The same matrices in memory of the other device, which adds to the first one's C. */
static struct gemm_case case_of_other(const struct gemm_case *p)
{
	struct dev *first = on.d;
	on.d = on.other;
	struct gemm_case q = gemm_case_create(&p->g, p->contents);
	on.d = first;
	q.g.c = p->g.c;
	return q;
}

static void free_case_of_other(struct gemm_case *q)
{
	struct dev *first = on.d;
	on.d = on.other;
	gemm_case_free(q);
	on.d = first;
}

/* -ENOTSUP where the link between the two does not add. */
static int add_from_both(const struct gemm_case *p, const struct gemm_case *q, uint32_t rounds)
{
	struct dev_stream *s = open_stream(), *t = NULL;
	ok(dev_stream_open(on.other, dev_props(on.other)->priority_normal, &t));
	int status = 0;
	for (uint32_t i = 0; i < rounds && !status; i++) {
		status = dev_gemm(on.other, t, &q->g);
		if (!status)
			ok(dev_gemm(on.d, s, &p->g));
	}
	ok(dev_stream_sync(on.other, t));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.other, t);
	dev_stream_close(on.d, s);
	return status;
}

static void devices_add_to_one_c(void)
{
	if (!on.other)
		skip("there is one device");
	need(DEV_CAP_PEER);
	struct gemm_case p = contended_case(), q = case_of_other(&p);
	ok(dev_peer_enable(on.other, on.d));
	int status = add_from_both(&p, &q, ROUNDS);
	if (status != -ENOTSUP)
		ok(status);
	expect_added(&p, status ? 0 : 2 * ROUNDS);
	free_case_of_other(&q);
	gemm_case_free(&p);
	if (status)
		skip("the link between the devices does not add");
}

static void pinned_memory_is_added_to_or_refused(void)
{
	struct gemm_case p = contended_case();
	struct dev_stream *s = open_stream();
	struct gemm_case q = p;
	q.c.dev = alloc_memory(DEV_MEM_PINNED, p.c.bytes);
	q.g.c = q.c.dev;
	gemm_case_restore_c(&q);
	int status = 0;
	for (uint32_t i = 0; i < ROUNDS && !status; i++)
		status = dev_gemm(on.d, s, &q.g);
	ok(dev_stream_sync(on.d, s));
	if (status != -ENOTSUP)
		ok(status);
	expect(status == 0 || err_text()[0] != '\0');
	expect_added(&q, status ? 0 : ROUNDS);
	free_memory(q.c.dev);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

static void a_graph_adds_at_each_launch(void)
{
	need(DEV_CAP_GRAPH);
	struct gemm_case p = contended_case();
	struct dev_graph *graph = NULL;
	struct dev_stream *s = open_stream();
	ok(dev_graph_begin(on.d, s));
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_graph_end(on.d, s, &graph));
	for (int i = 0; i < 3; i++)
		ok(dev_graph_launch(on.d, s, graph));
	ok(dev_stream_sync(on.d, s));
	expect_added(&p, 3);
	dev_graph_close(on.d, graph);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ counters */

/* Copies each band once both streams' GEMMs have counted it. */
static void copy_counted(struct dev_stream *takes, const struct gemm_case *p, char *got)
{
	const struct dev_gemm *g = &p->g;
	const uint64_t row_bytes = (uint64_t)g->ldc * dev_type_result_bytes(g->type);
	for (uint32_t first = 0; first < g->m; first += g->done_rows) {
		const uint32_t left = g->m - first,
			       rows = left < g->done_rows ? left : g->done_rows;
		ok(dev_wait_value(on.d, takes, g->done + first / g->done_rows, 2 * rows * g->n));
		ok(dev_copy(on.d, takes, got + first * row_bytes, p->c.dev + first * row_bytes,
			    rows * row_bytes));
	}
}

/* A reader that sees both finish a band sees both sums. */
static void check_counted(struct dev_stream *const makes[2], struct dev_stream *takes,
			  const struct gemm_case *p, char *got)
{
	const struct gemm_case q = expected_case(p, 2);
	ok(dev_fill(on.d, takes, p->g.done, 0, p->g.m * sizeof(*p->g.done)));
	gemm_case_restore_c(p);
	ok(dev_stream_sync(on.d, takes));
	copy_counted(takes, p, got);
	for (int i = 0; i < 2; i++)
		ok(dev_gemm(on.d, makes[i], &p->g));
	for (int i = 0; i < 2; i++)
		ok(dev_stream_sync(on.d, makes[i]));
	ok(dev_stream_sync(on.d, takes));
	expect(count_wrong_elements(&q, got, 0, p->g.m) == 0);
}

static void rows_behind_a_counter_have_all_sums(void)
{
	need(DEV_CAP_WAIT_VALUE);
	struct gemm_case p = contended_case();
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows;
	struct dev_stream *makes[2] = {open_stream(), open_stream()}, *takes = open_stream();
	char *got = alloc_memory(DEV_MEM_PINNED, p.c.bytes);
	p.g.done_rows = (48 + tile - 1) / tile * tile;
	p.g.done = alloc_memory(DEV_MEM_DEVICE, p.g.m * sizeof(*p.g.done));
	for (int round = 0; round < 6; round++)
		check_counted(makes, takes, &p, got);
	free_memory(p.g.done);
	free_memory(got);
	gemm_case_free(&p);
	for (int i = 0; i < 2; i++)
		dev_stream_close(on.d, makes[i]);
	dev_stream_close(on.d, takes);
}

/* ------------------------------------------------------------------ errors */

static void what_cannot_add_is_refused(void)
{
	struct gemm_case p = contended_case();
	struct dev_stream *s = open_stream();
	struct dev_gemm g = p.g;
	uint32_t blocks = 77;
	g.beta = 1;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	if (dev_can(on.d, DEV_CAP_OCCUPANCY))
		expect_error(dev_gemm_occupancy(on.d, &g, &blocks), -EINVAL);
	expect(blocks == 77);
	expect_error(dev_gemm_prepare(on.d, &g), -EINVAL);
	g = p.g, g.tiled = false;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	if (p.g.type == DEV_F32) {
		g = p.g, g.tile_k = 32, g.blocks = 0;
		expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	}
	ok(dev_stream_sync(on.d, s));
	expect_added(&p, 0);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

static void a_type_that_does_not_add_is_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	expect((dev_props(on.d)->gemm_adding_types & ~dev_props(on.d)->gemm_tiled_types) == 0);
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm shape = {
			.m = 32, .n = 32, .k = 16, .alpha = 1, .lda = 16, .ldb = 32, .ldc = 32};
		const struct dev_gemm g = shape_for_type((enum dev_type)type, &shape, false);
		if (has_adding((enum dev_type)type))
			continue;
		struct gemm_case p = adding_case(&g, SMALL_INTEGERS);
		expect_error(dev_gemm(on.d, s, &p.g), -ENOTSUP);
		gemm_case_free(&p);
	}
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		DEV_TYPE_LIST(RULE_OF_TYPE) RULE(blocks_that_add_are_shaped),
		RULE(streams_add_to_one_c),
		RULE(devices_add_to_one_c),
		RULE(pinned_memory_is_added_to_or_refused),
		RULE(a_graph_adds_at_each_launch),
		RULE(rows_behind_a_counter_have_all_sums),
		RULE(what_cannot_add_is_refused),
		RULE(a_type_that_does_not_add_is_refused),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
