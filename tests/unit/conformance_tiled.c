/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiled products: blocks that can be shaped without changing the result, and that count what they finish.
 */
#include "tests/unit/conformance_product.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	{ .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1 },
	{ .m = 128, .n = 128, .k = 64, .alpha = 1, .lda = 64, .ldb = 128, .ldc = 128 },
	{ .m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33 },
	{ .m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137, .blocks = 3 },
	{ .m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5 },
	{ .m = 150, .n = 140, .k = 40, .alpha = 0.5, .lda = 40, .ldb = 140, .ldc = 144, .blocks = 11 },
};

static bool has_tiled(enum dev_type type) { return dev_props(on.d)->gemm_tiled_types >> type & 1; }

/* A type that every rule below can use: the first that is there. */
static enum dev_type some_type(void)
{
	int type = 0;
	need(DEV_CAP_GEMM_TILED);
	while (type < DEV_TYPES && !has_tiled((enum dev_type)type))
		type++;
	require(type < DEV_TYPES);
	return (enum dev_type)type;
}

/* ------------------------------------------------------------------ results */

/* Half of what a block may claim, or less where the product's own need leaves less. */
static int run_with_claim(struct dev_stream *s, struct dev_gemm *g)
{
	int rc = -EINVAL;
	for (uint64_t shared = dev_props(on.d)->shared_per_block_bytes / 2; shared > 0 && rc == -EINVAL; shared /= 2) {
		g->shared_bytes = shared;
		rc = dev_gemm(on.d, s, g);
	}
	return rc;
}

static void one_tiled(struct dev_stream *s, const struct dev_gemm *shape, enum contents contents)
{
	struct product p = product(shape, contents);
	p.g.tiled = true;
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_product(&p);
	if (dev_can(on.d, DEV_CAP_OCCUPANCY)) {
		void *plain = result(&p);
		product_again(&p);
		ok(run_with_claim(s, &p.g));
		ok(dev_stream_sync(on.d, s));
		expect_product(&p);
		void *shaped = result(&p);
		expect(memcmp(plain, shaped, p.c.bytes) == 0); /* the same arithmetic, whatever blocks claim */
		free(plain);
		free(shaped);
	}
	product_drop(&p);
}

static void tiled_type(enum dev_type type)
{
	need(DEV_CAP_GEMM_TILED);
	if (!has_tiled(type))
		skip("the device lacks the type in gemm_tiled_types");
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_in(type, &shapes[i], false);
		one_tiled(s, &g, ANY);
		if (g.k <= WHOLE_MOST_K && fabs(g.alpha) + fabs(g.beta) <= 1)
			one_tiled(s, &g, WHOLE);
	}
	dev_stream_close(on.d, s);
}

static void tiled_products_of_f32(void) { tiled_type(DEV_F32); }
static void tiled_products_of_f64(void) { tiled_type(DEV_F64); }
static void tiled_products_of_tf32(void) { tiled_type(DEV_TF32); }
static void tiled_products_of_f16(void) { tiled_type(DEV_F16); }
static void tiled_products_of_bf16(void) { tiled_type(DEV_BF16); }
static void tiled_products_of_f8(void) { tiled_type(DEV_F8); }

static void tiles_of_a_type_that_is_lacking_are_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = stream();
	expect(!dev_can(on.d, DEV_CAP_GEMM_TILED) == (dev_props(on.d)->gemm_tiled_types == 0));
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm shape = { .m = 32, .n = 32, .k = 32, .alpha = 1, .lda = 32, .ldb = 32, .ldc = 32 };
		struct dev_gemm g = shape_in((enum dev_type)type, &shape, false);
		if (has_tiled((enum dev_type)type))
			continue;
		g.tiled = true;
		struct product p = product(&g, ANY);
		expect_error(dev_gemm(on.d, s, &p.g), -ENOTSUP);
		product_drop(&p);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ counters */

struct counters {
	uint32_t *at, from;
	uint32_t bands;
};

static struct counters counters(const struct dev_gemm *g, enum dev_mem kind, uint32_t from)
{
	struct counters c = { .from = from, .bands = (g->m - 1) / g->done_rows + 1 };
	uint32_t *values = malloc(c.bands * sizeof(*values));
	require(values);
	for (uint32_t i = 0; i < c.bands; i++)
		values[i] = from;
	c.at = get(kind, c.bands * sizeof(*values));
	ok(dev_upload(on.d, c.at, values, c.bands * sizeof(*values)));
	free(values);
	return c;
}

static uint32_t rows_of(const struct dev_gemm *g, uint32_t band)
{
	const uint32_t left = g->m - band * g->done_rows;
	return left < g->done_rows ? left : g->done_rows;
}

static void expect_counted(const struct dev_gemm *g, const struct counters *c)
{
	uint32_t *got = malloc(c->bands * sizeof(*got));
	require(got);
	ok(dev_download(on.d, got, c->at, c->bands * sizeof(*got)));
	for (uint32_t i = 0; i < c->bands; i++)
		expect(got[i] - c->from == rows_of(g, i) * g->n);
	free(got);
}

static void count_once(struct dev_stream *s, const struct dev_gemm *shape, enum dev_mem kind, uint32_t from)
{
	struct product p = product(shape, ANY);
	p.g.tiled = true;
	struct counters c = counters(&p.g, kind, from);
	p.g.done = c.at;
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_product(&p);
	expect_counted(&p.g, &c);
	put(c.at);
	product_drop(&p);
}

static void counters_grow_by_their_elements(void)
{
	const enum dev_type type = some_type();
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows;
	static const uint32_t rows[] = { 1, 3, 16, 64, 1000 }, froms[] = { 0, 77, 0xffffff00u };
	require(tile > 0);
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct dev_gemm g = shape_in(type, &shapes[i], false);
		for (size_t j = 0; j < COUNT(rows); j++) {
			g.done_rows = (rows[j] + tile - 1) / tile * tile;
			count_once(s, &g, (i + j) % 2 ? DEV_MEM_PINNED : DEV_MEM_DEVICE, froms[(i + j) % COUNT(froms)]);
		}
	}
	dev_stream_close(on.d, s);
}

/* Enough bands to tell them apart, with whole numbers so that the result is exact. */
static struct product banded(void)
{
	const enum dev_type type = some_type();
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows, band = (48 + tile - 1) / tile * tile;
	const struct dev_gemm shape = { .m = 3 * band + 7, .n = 96, .k = 64, .alpha = 1, .lda = 64, .ldb = 96, .ldc = 96,
		                        .blocks = 8 };
	const struct dev_gemm g = shape_in(type, &shape, false);
	struct product p = product(&g, WHOLE);
	p.g.tiled = true;
	p.g.done_rows = band;
	return p;
}

static void deliver(struct dev_stream *makes, struct dev_stream *takes, struct product *p, enum dev_mem kind, uint32_t from)
{
	const uint64_t row_bytes = (uint64_t)p->g.ldc * dev_type_result_bytes(p->g.type);
	char *got = get(DEV_MEM_PINNED, p->c.bytes);
	struct dev_event *e = event();
	struct counters c = counters(&p->g, kind, from);
	memset(got, 0xff, p->c.bytes);
	ok(dev_fill(on.d, makes, p->c.dev, 0xff, p->c.bytes));
	ok(dev_stream_sync(on.d, makes));
	for (uint32_t i = 0; i < c.bands; i++) {
		const uint64_t at = (uint64_t)i * p->g.done_rows * row_bytes;
		ok(dev_wait_value(on.d, takes, c.at + i, from + rows_of(&p->g, i) * p->g.n));
		ok(dev_copy(on.d, takes, got + at, p->c.dev + at, rows_of(&p->g, i) * row_bytes));
	}
	ok(dev_event_record(on.d, takes, e));
	pass(MS);
	expect_rc(dev_event_query(on.d, e), -EAGAIN);
	p->g.done = c.at;
	ok(dev_gemm(on.d, makes, &p->g));
	ok(dev_stream_sync(on.d, takes));
	expect(wrong_rows(p, got, 0, p->g.m) == 0);
	ok(dev_stream_sync(on.d, makes));
	expect_counted(&p->g, &c);
	put(c.at);
	put(got);
	dev_event_close(on.d, e);
}

static void rows_behind_a_counter_are_finished(void)
{
	static const uint32_t froms[] = { 0, 1000, 0x7ff00000u }; /* the last one comes near what can be waited for */
	need(DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE);
	struct product p = banded();
	struct dev_stream *makes = stream(), *takes = stream();
	for (int round = 0; round < 6; round++)
		deliver(makes, takes, &p, round % 2 ? DEV_MEM_PINNED : DEV_MEM_DEVICE, froms[round / 2]);
	product_drop(&p);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void a_kernel_awaits_a_counter(void)
{
	need(DEV_CAP_GEMM_TILED);
	if (capacity(0) < 2)
		skip("the device holds one block");
	struct product p = banded();
	struct dev_stream *makes = stream(), *takes = stream();
	p.g.done_rows = (p.g.m / p.g.done_rows + 1) * p.g.done_rows;
	struct counters c = counters(&p.g, DEV_MEM_DEVICE, 5);
	uint32_t *timed_out = get(DEV_MEM_PINNED, 4), value = 5 + p.g.m * p.g.n, reps = 1;
	uint64_t timeout_ns = GATE_NS, bytes = (p.c.bytes - 1) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	char *got = get(DEV_MEM_PINNED, p.c.bytes);
	const uint32_t rows = (uint32_t)(bytes / ((uint64_t)p.g.ldc * dev_type_result_bytes(p.g.type)));
	*timed_out = 0;
	const void *awaits[] = { &c.at, &value, &timed_out, &timeout_ns }, *copies[] = { &got, &p.c.dev, &bytes, &reps };
	ok(launch(takes, "await", 1, awaits));
	ok(launch(takes, "copy", 3, copies));
	pass(MS);
	p.g.done = c.at;
	ok(dev_gemm(on.d, makes, &p.g));
	ok(dev_stream_sync(on.d, takes));
	expect(*timed_out == 0);
	expect(wrong_rows(&p, got, 0, rows) == 0);
	ok(dev_stream_sync(on.d, makes));
	put(c.at);
	put(timed_out);
	put(got);
	product_drop(&p);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void counters_are_checked(void)
{
	static uint32_t pageable[1024];
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows;
	struct product p = banded();
	struct dev_stream *s = stream();
	const uint32_t bands = (p.g.m - 1) / p.g.done_rows + 1;
	uint32_t *few = get(DEV_MEM_DEVICE, (bands - 1) * sizeof(*few)), *enough = get(DEV_MEM_DEVICE, bands * sizeof(*few));
	struct dev_gemm g = p.g;
	g.done = enough, g.done_rows = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g.done_rows = tile + 1;
	if (tile > 1)
		expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = p.g, g.done = pageable;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	g.done = few;
	expect_error(dev_gemm(on.d, s, &g), -EFAULT);
	ok(dev_stream_sync(on.d, s));
	put(few); /* what was refused uses nothing */
	put(enough);
	product_drop(&p);
	dev_stream_close(on.d, s);
}

static void without_tiles_rows_are_counted_or_refused(void)
{
	struct product p = banded();
	struct dev_stream *s = stream();
	struct counters c = counters(&p.g, DEV_MEM_DEVICE, 3);
	p.g.tiled = false;
	p.g.done = c.at;
	int rc = dev_gemm(on.d, s, &p.g);
	if (rc == 0) {
		ok(dev_stream_sync(on.d, s));
		expect_product(&p);
		expect_counted(&p.g, &c);
	} else {
		expect_rc(rc, -ENOTSUP);
	}
	put(c.at);
	product_drop(&p);
	dev_stream_close(on.d, s);
}

static void counters_in_use_are_ebusy(void)
{
	struct product p = banded();
	struct dev_stream *s = stream();
	struct counters c = counters(&p.g, DEV_MEM_DEVICE, 0);
	p.g.done = c.at;
	struct gate g = gate_shut(s);
	ok(dev_gemm(on.d, s, &p.g));
	expect_error(dev_free(on.d, c.at), -EBUSY);
	expect_error(dev_free(on.d, p.b.dev), -EBUSY);
	gate_open(&g);
	ok(dev_stream_sync(on.d, s));
	gate_done(&g);
	put(c.at);
	product_drop(&p);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(tiled_products_of_f32),
		RULE(tiled_products_of_f64),
		RULE(tiled_products_of_tf32),
		RULE(tiled_products_of_f16),
		RULE(tiled_products_of_bf16),
		RULE(tiled_products_of_f8),
		RULE(tiles_of_a_type_that_is_lacking_are_refused),
		RULE(counters_grow_by_their_elements),
		RULE(rows_behind_a_counter_are_finished),
		RULE(a_kernel_awaits_a_counter),
		RULE(counters_are_checked),
		RULE(without_tiles_rows_are_counted_or_refused),
		RULE(counters_in_use_are_ebusy),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
