/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Textbook tiles: any number of blocks computes them, to the same bits, and shared memory decides
 * how many blocks are resident.
 */
#include "tests/unit/conformance/conformance_gemm_answers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dev_gemm shapes[] = {
	{.m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1},
	{.m = 128, .n = 128, .k = 64, .alpha = 1, .lda = 64, .ldb = 128, .ldc = 128},
	{.m = 65, .n = 33, .k = 17, .alpha = 2, .beta = 1, .lda = 17, .ldb = 33, .ldc = 33},
	{.m = 7, .n = 130, .k = 301, .alpha = -1, .beta = 0.5, .lda = 303, .ldb = 131, .ldc = 137},
	{.m = 200, .n = 3, .k = 50, .alpha = 1, .beta = -2, .lda = 50, .ldb = 8, .ldc = 5},
	{.m = 150, .n = 140, .k = 100, .alpha = 0.5, .lda = 100, .ldb = 140, .ldc = 144},
};

static void need_textbook_tiles(void)
{
	need(DEV_CAP_GEMM_TILED);
	if (!(dev_props(on.d)->gemm_tiled_types >> DEV_F32 & 1))
		skip("the device has no tiled GEMM of f32");
}

/* However many blocks share the tiles, every element is written, and to the same bits. */
static void check_textbook(struct dev_stream *s, const struct dev_gemm *shape, uint32_t tile_k)
{
	static const uint32_t grids[] = {0, 1, 2, 5, 100000};
	struct gemm_case p = gemm_case_create(shape, RANDOM_REALS);
	void *first = NULL;
	p.g.tiled = true;
	p.g.tile_k = tile_k;
	for (size_t i = 0; i < COUNT(grids); i++) {
		gemm_case_restore_c(&p);
		p.g.grid = grids[i];
		ok(dev_gemm(on.d, s, &p.g));
		ok(dev_stream_sync(on.d, s));
		expect_gemm_result(&p);
		void *got = download_c(&p);
		expect(!first || memcmp(first, got, p.c.bytes) == 0);
		if (first)
			free(got);
		else
			first = got;
	}
	free(first);
	gemm_case_free(&p);
}

static void any_grid_computes_textbook_tiles(void)
{
	need_textbook_tiles();
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_for_type(DEV_F32, &shapes[i], false);
		check_textbook(s, &g, i % 2 ? 32 : 64);
	}
	dev_stream_close(on.d, s);
}

static void textbook_tiles_count_their_elements(void)
{
	need_textbook_tiles();
	const uint32_t rows = dev_props(on.d)->gemm_tile_rows;
	struct dev_stream *s = open_stream();
	uint32_t *done = alloc_memory(DEV_MEM_PINNED, sizeof(*done));
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct dev_gemm g = shape_for_type(DEV_F32, &shapes[i], false);
		struct gemm_case p = gemm_case_create(&g, RANDOM_REALS);
		p.g.tiled = true;
		p.g.tile_k = 32;
		p.g.grid = (uint32_t)i % 3;
		p.g.done = done;
		p.g.done_rows = (g.m / rows + 1) * rows;
		*done = 7;
		ok(dev_gemm(on.d, s, &p.g));
		ok(dev_stream_sync(on.d, s));
		expect(*done == 7 + g.m * g.n);
		gemm_case_free(&p);
	}
	free_memory(done);
	dev_stream_close(on.d, s);
}

static void textbook_tiles_are_checked(void)
{
	need_textbook_tiles();
	const struct dev_gemm shape = {
		.m = 64, .n = 64, .k = 64, .alpha = 1, .lda = 64, .ldb = 64, .ldc = 64};
	const struct dev_gemm g = shape_for_type(DEV_F32, &shape, false);
	struct gemm_case p = gemm_case_create(&g, RANDOM_REALS);
	const struct {
		uint32_t tile_k, grid, blocks;
		bool tiled;
	} wrong[] = {{16, 0, 0, true},
		     {128, 0, 0, true},
		     {0, 4, 0, true},
		     {32, 0, 0, false},
		     {32, 0, 2, true}};
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(wrong); i++) {
		p.g.tile_k = wrong[i].tile_k;
		p.g.grid = wrong[i].grid;
		p.g.blocks = wrong[i].blocks;
		p.g.tiled = wrong[i].tiled;
		expect_error(dev_gemm(on.d, s, &p.g), -EINVAL);
	}
	gemm_case_free(&p);
	dev_stream_close(on.d, s);
}

/* The device may allow fewer than its shared memory would, because of registers. Returns what it
 * allows. */
static uint32_t check_residents(const struct dev_gemm *g, uint32_t before)
{
	const struct dev_props *props = dev_props(on.d);
	const uint64_t granularity = props->shared_granularity_bytes;
	uint64_t claim =
		props->shared_reserved_bytes + g->shared_bytes + UINT64_C(2) * 64 * g->tile_k * 4;
	uint32_t blocks = 0;
	claim = (claim + granularity - 1) / granularity * granularity;
	ok(dev_gemm_occupancy(on.d, g, &blocks));
	expect(blocks >= 1 && blocks <= before && blocks <= props->slots_per_unit);
	expect(blocks <= props->shared_per_unit_bytes / claim);
	return blocks;
}

static void more_shared_memory_never_means_more_residents(void)
{
	need_textbook_tiles();
	need(DEV_CAP_OCCUPANCY);
	struct dev_gemm g = PACKED_GEMM(512, 512, 512, .type = DEV_F32, .tiled = true);
	uint32_t blocks = 0;
	for (g.tile_k = 32; g.tile_k <= 64; g.tile_k += 32) {
		const uint64_t own = UINT64_C(2) * 64 * g.tile_k * 4;
		uint32_t before = UINT32_MAX;
		g.shared_bytes = 0;
		for (; own + g.shared_bytes <= dev_props(on.d)->shared_per_block_bytes;
		     g.shared_bytes += 4096)
			before = check_residents(&g, before);
		expect(before != UINT32_MAX);
		expect_error(dev_gemm_occupancy(on.d, &g, &blocks), -EINVAL);
	}
	g.tiled = false;
	g.tile_k = 0;
	expect_error(dev_gemm_occupancy(on.d, &g, &blocks), -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(any_grid_computes_textbook_tiles),
		RULE(textbook_tiles_count_their_elements),
		RULE(textbook_tiles_are_checked),
		RULE(more_shared_memory_never_means_more_residents),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
