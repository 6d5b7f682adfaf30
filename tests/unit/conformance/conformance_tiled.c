/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiled GEMM: shared memory shapes its blocks without changing the result, and blocks count the
 * elements they finish.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	{.m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1},
	{.m = 128, .n = 128, .k = 64, .alpha = 1, .lda = 64, .ldb = 128, .ldc = 128},
	{.m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33},
	{.m = 7,
	 .n = 130,
	 .k = 301,
	 .alpha = -1,
	 .beta = 0.5,
	 .lda = 303,
	 .ldb = 131,
	 .ldc = 137,
	 .blocks = 3},
	{.m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5},
	{.m = 150,
	 .n = 140,
	 .k = 40,
	 .alpha = 0.5,
	 .lda = 40,
	 .ldb = 140,
	 .ldc = 144,
	 .blocks = 11},
};

static bool has_tiled(enum dev_type type) { return dev_props(on.d)->gemm_tiled_types >> type & 1; }

/* The first type that the device has, for the tests below. */
static enum dev_type first_tiled_type(void)
{
	int type = 0;
	need(DEV_CAP_GEMM_TILED);
	while (type < DEV_TYPES && !has_tiled((enum dev_type)type))
		type++;
	require(type < DEV_TYPES);
	return (enum dev_type)type;
}

/* ------------------------------------------------------------------ results */

/* Claims half of a block's maximum of shared memory, or less where the GEMM itself needs more. */
static int gemm_with_shared_memory(struct dev_stream *s, struct dev_gemm *g)
{
	int status = -EINVAL;
	for (uint64_t shared = dev_props(on.d)->shared_per_block_bytes / 2;
	     shared > 0 && status == -EINVAL; shared /= 2) {
		g->shared_bytes = shared;
		status = dev_gemm(on.d, s, g);
	}
	return status;
}

static void check_tiled(struct dev_stream *s, const struct dev_gemm *shape, enum contents contents)
{
	struct gemm_case p = gemm_case_create(shape, contents);
	p.g.tiled = true;
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	if (dev_can(on.d, DEV_CAP_OCCUPANCY)) {
		void *plain = download_c(&p);
		gemm_case_restore_c(&p);
		ok(gemm_with_shared_memory(s, &p.g));
		ok(dev_stream_sync(on.d, s));
		expect_gemm_result(&p);
		void *shaped = download_c(&p);
		expect(memcmp(plain, shaped, p.c.bytes) ==
		       0); /* the claim does not change the arithmetic */
		free(plain);
		free(shaped);
	}
	gemm_case_free(&p);
}

static void check_tiled_type(enum dev_type type)
{
	need(DEV_CAP_GEMM_TILED);
	if (!has_tiled(type))
		skip("the device lacks the type in gemm_tiled_types");
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_for_type(type, &shapes[i], false);
		check_tiled(s, &g, RANDOM_REALS);
		if (g.k <= SMALL_INTEGERS_MAX_K && fabs(g.alpha) + fabs(g.beta) <= 1)
			check_tiled(s, &g, SMALL_INTEGERS);
	}
	dev_stream_close(on.d, s);
}

#define TILED(type, name, ...)                                                                     \
	static void tiled_gemm_of_##name(void) { check_tiled_type(type); }
#define RULE_OF_TYPE(type, name, ...) RULE(tiled_gemm_of_##name),
DEV_TYPE_LIST(TILED)

static void tiles_of_a_missing_type_are_refused(void)
{
	need(DEV_CAP_GEMM);
	struct dev_stream *s = open_stream();
	expect(!dev_can(on.d, DEV_CAP_GEMM_TILED) == (dev_props(on.d)->gemm_tiled_types == 0));
	for (int type = 0; type < DEV_TYPES; type++) {
		const struct dev_gemm shape = {
			.m = 32, .n = 32, .k = 32, .alpha = 1, .lda = 32, .ldb = 32, .ldc = 32};
		struct dev_gemm g = shape_for_type((enum dev_type)type, &shape, false);
		if (has_tiled((enum dev_type)type))
			continue;
		g.tiled = true;
		struct gemm_case p = gemm_case_create(&g, RANDOM_REALS);
		expect_error(dev_gemm(on.d, s, &p.g), -ENOTSUP);
		gemm_case_free(&p);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ counters */

struct counters {
	uint32_t *at, from;
	uint32_t bands;
};

static struct counters counters_create(const struct dev_gemm *g, enum dev_mem kind, uint32_t from)
{
	struct counters c = {.from = from, .bands = (g->m - 1) / g->done_rows + 1};
	uint32_t *values = malloc(c.bands * sizeof(*values));
	require(values);
	for (uint32_t i = 0; i < c.bands; i++)
		values[i] = from;
	c.at = alloc_memory(kind, c.bands * sizeof(*values));
	ok(dev_upload(on.d, c.at, values, c.bands * sizeof(*values)));
	free(values);
	return c;
}

static uint32_t band_rows(const struct dev_gemm *g, uint32_t band)
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
		expect(got[i] - c->from == band_rows(g, i) * g->n);
	free(got);
}

static void check_counters(struct dev_stream *s, const struct dev_gemm *shape, enum dev_mem kind,
			   uint32_t from)
{
	struct gemm_case p = gemm_case_create(shape, RANDOM_REALS);
	p.g.tiled = true;
	struct counters c = counters_create(&p.g, kind, from);
	p.g.done = c.at;
	ok(dev_gemm(on.d, s, &p.g));
	ok(dev_stream_sync(on.d, s));
	expect_gemm_result(&p);
	expect_counted(&p.g, &c);
	free_memory(c.at);
	gemm_case_free(&p);
}

static void counters_grow_by_their_elements(void)
{
	const enum dev_type type = first_tiled_type();
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows;
	static const uint32_t rows[] = {1, 3, 16, 64, 1000}, froms[] = {0, 77, 0xffffff00u};
	require(tile > 0);
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct dev_gemm g = shape_for_type(type, &shapes[i], false);
		for (size_t j = 0; j < COUNT(rows); j++) {
			g.done_rows = (rows[j] + tile - 1) / tile * tile;
			check_counters(s, &g, (i + j) % 2 ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
				       froms[(i + j) % COUNT(froms)]);
		}
	}
	dev_stream_close(on.d, s);
}

/* A GEMM with several bands of rows, and small integers for an exact result. */
static struct gemm_case banded_gemm(void)
{
	const enum dev_type type = first_tiled_type();
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows, band = (48 + tile - 1) / tile * tile;
	const struct dev_gemm shape = PACKED_GEMM(3 * band + 7, 96, 64, .blocks = 8);
	const struct dev_gemm g = shape_for_type(type, &shape, false);
	struct gemm_case p = gemm_case_create(&g, SMALL_INTEGERS);
	p.g.tiled = true;
	p.g.done_rows = band;
	return p;
}

static void check_bands_arrive(struct dev_stream *makes, struct dev_stream *takes,
			       struct gemm_case *p, enum dev_mem kind, uint32_t from)
{
	const uint64_t row_bytes = (uint64_t)p->g.ldc * dev_type_result_bytes(p->g.type);
	char *got = alloc_memory(DEV_MEM_PINNED, p->c.bytes);
	struct dev_event *e = open_event();
	struct counters c = counters_create(&p->g, kind, from);
	memset(got, 0xff, p->c.bytes);
	ok(dev_fill(on.d, makes, p->c.dev, 0xff, p->c.bytes));
	ok(dev_stream_sync(on.d, makes));
	for (uint32_t i = 0; i < c.bands; i++) {
		const uint64_t at = (uint64_t)i * p->g.done_rows * row_bytes;
		ok(dev_wait_value(on.d, takes, c.at + i, from + band_rows(&p->g, i) * p->g.n));
		ok(dev_copy(on.d, takes, got + at, p->c.dev + at, band_rows(&p->g, i) * row_bytes));
	}
	ok(dev_event_record(on.d, takes, e));
	spend_ns(MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	p->g.done = c.at;
	ok(dev_gemm(on.d, makes, &p->g));
	ok(dev_stream_sync(on.d, takes));
	expect(count_wrong_elements(p, got, 0, p->g.m) == 0);
	ok(dev_stream_sync(on.d, makes));
	expect_counted(&p->g, &c);
	free_memory(c.at);
	free_memory(got);
	dev_event_close(on.d, e);
}

static void rows_behind_a_counter_are_finished(void)
{
	static const uint32_t froms[] = {0, 1000,
					 0x7ff00000u}; /* the last one is near DEV_VALUE_MAX */
	need(DEV_CAP_GEMM_TILED | DEV_CAP_WAIT_VALUE);
	struct gemm_case p = banded_gemm();
	struct dev_stream *makes = open_stream(), *takes = open_stream();
	for (int round = 0; round < 6; round++)
		check_bands_arrive(makes, takes, &p, round % 2 ? DEV_MEM_PINNED : DEV_MEM_DEVICE,
				   froms[round / 2]);
	gemm_case_free(&p);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void a_kernel_awaits_a_counter(void)
{
	need(DEV_CAP_GEMM_TILED);
	if (max_resident_blocks(0) < 2)
		skip("the device holds one block");
	struct gemm_case p = banded_gemm();
	struct dev_stream *makes = open_stream(), *takes = open_stream();
	p.g.done_rows = (p.g.m / p.g.done_rows + 1) * p.g.done_rows;
	struct counters c = counters_create(&p.g, DEV_MEM_DEVICE, 5);
	uint32_t *timed_out = alloc_memory(DEV_MEM_PINNED, 4), value = 5 + p.g.m * p.g.n, reps = 1;
	uint64_t timeout_ns = GATE_NS,
		 bytes = (p.c.bytes - 1) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	char *got = alloc_memory(DEV_MEM_PINNED, p.c.bytes);
	const uint32_t rows =
		(uint32_t)(bytes / ((uint64_t)p.g.ldc * dev_type_result_bytes(p.g.type)));
	*timed_out = 0;
	const void *awaits[] = {&c.at, &value, &timed_out, &timeout_ns},
		   *copies[] = {&got, &p.c.dev, &bytes, &reps};
	ok(launch_kernel(takes, "await", 1, awaits));
	ok(launch_kernel(takes, "copy", 3, copies));
	spend_ns(MS);
	p.g.done = c.at;
	ok(dev_gemm(on.d, makes, &p.g));
	ok(dev_stream_sync(on.d, takes));
	expect(*timed_out == 0);
	expect(count_wrong_elements(&p, got, 0, rows) == 0);
	ok(dev_stream_sync(on.d, makes));
	free_memory(c.at);
	free_memory(timed_out);
	free_memory(got);
	gemm_case_free(&p);
	dev_stream_close(on.d, makes);
	dev_stream_close(on.d, takes);
}

static void counters_are_checked(void)
{
	static uint32_t pageable[1024];
	const uint32_t tile = dev_props(on.d)->gemm_tile_rows;
	struct gemm_case p = banded_gemm();
	struct dev_stream *s = open_stream();
	const uint32_t bands = (p.g.m - 1) / p.g.done_rows + 1;
	uint32_t *few = alloc_memory(DEV_MEM_DEVICE, (bands - 1) * sizeof(*few)),
		 *enough = alloc_memory(DEV_MEM_DEVICE, bands * sizeof(*few));
	struct dev_gemm g = p.g;
	g.done = enough, g.done_rows = 0;
	expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g.done_rows = tile + 1;
	if (tile > 1)
		expect_error(dev_gemm(on.d, s, &g), -EINVAL);
	g = p.g, g.done = pageable;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	g.done = few;
	expect_misuse(dev_gemm(on.d, s, &g), -EFAULT);
	ok(dev_stream_sync(on.d, s));
	free_memory(few); /* a refused GEMM uses no memory */
	free_memory(enough);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

static void without_tiles_rows_are_counted_or_refused(void)
{
	struct gemm_case p = banded_gemm();
	struct dev_stream *s = open_stream();
	struct counters c = counters_create(&p.g, DEV_MEM_DEVICE, 3);
	p.g.tiled = false;
	p.g.done = c.at;
	int status = dev_gemm(on.d, s, &p.g);
	if (status == 0) {
		ok(dev_stream_sync(on.d, s));
		expect_gemm_result(&p);
		expect_counted(&p.g, &c);
	} else {
		expect_status(status, -ENOTSUP);
	}
	free_memory(c.at);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

static void counters_in_use_are_ebusy(void)
{
	need_checks();
	struct gemm_case p = banded_gemm();
	struct dev_stream *s = open_stream();
	struct counters c = counters_create(&p.g, DEV_MEM_DEVICE, 0);
	p.g.done = c.at;
	struct blocking g = blocking_hold(s);
	ok(dev_gemm(on.d, s, &p.g));
	expect_error(dev_free(on.d, c.at), -EBUSY);
	expect_error(dev_free(on.d, p.b.dev), -EBUSY);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	blocking_free(&g);
	free_memory(c.at);
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		DEV_TYPE_LIST(RULE_OF_TYPE) RULE(tiles_of_a_missing_type_are_refused),
		RULE(counters_grow_by_their_elements),
		RULE(rows_behind_a_counter_are_finished),
		RULE(a_kernel_awaits_a_counter),
		RULE(counters_are_checked),
		RULE(without_tiles_rows_are_counted_or_refused),
		RULE(counters_in_use_are_ebusy),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
