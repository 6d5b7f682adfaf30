/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions of GEMMs, as device/dev_gemm.c checks them before a backend sees them.
 */
#include "device/dev_gemm.h"
#include "device/dev.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>

static int calls;

static int count_call(struct dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	(void)d, (void)s, (void)g;
	calls++;
	return 0;
}

static void types_have_sizes(void)
{
	static const uint32_t bits[DEV_ALL_TYPES] = {32, 64, 32, 16, 16, 8, 8, 8, 4, 4, 32};
	static const uint32_t results[DEV_ALL_TYPES] = {4, 8, 4, 2, 2, 2, 4, 2, 2, 2, 4};
	for (int type = 0; type < DEV_ALL_TYPES; type++) {
		expect(dev_type_array_bytes((enum dev_type)type, 3000) == 375 * bits[type]);
		expect(dev_type_array_bytes((enum dev_type)type, 6) == 6 * bits[type] / 8);
		if (bits[type] >= 8)
			expect(dev_type_bytes((enum dev_type)type) == bits[type] / 8);
		expect(dev_type_result_bytes((enum dev_type)type) == results[type]);
		expect(dev_type_is_integer((enum dev_type)type) ==
		       (type == DEV_I8 || type == DEV_I32));
	}
	expect_str(dev_types[DEV_I8].name, "i8");
	expect_str(dev_types[DEV_I32].name, "i32");
	expect(dev_type_names[DEV_TYPES] == NULL); /* i32 is of C alone */
}

static void scales_lie_where_the_manual_has_them(void)
{
	/* cuBLAS: offset (row % 32) * 16 + row / 32 * 4 + block in a tile of 128 x 4. */
	static const struct {
		uint64_t row, block, at;
	} tiled[] = {{0, 0, 0},     {0, 3, 3},   {1, 0, 16},   {31, 2, 498},   {32, 0, 4},
		     {127, 3, 511}, {0, 4, 512}, {0, 9, 1025}, {128, 0, 1536}, {161, 5, 2069}};
	for (size_t i = 0; i < sizeof(tiled) / sizeof(tiled[0]); i++) {
		const uint64_t at = dev_scale_index(true, 10, tiled[i].row, tiled[i].block);
		expect(at == tiled[i].at);
		expect(dev_scale_index(false, 10, tiled[i].row, tiled[i].block) ==
		       10 * tiled[i].row + tiled[i].block);
	}
	expect(dev_scale_bytes(true, 129, 10) == 6 * 512 &&
	       dev_scale_bytes(false, 129, 10) == 1290);
	/* Every scale has a place of its own. */
	uint8_t taken[6 * 512] = {0};
	for (uint64_t i = 0; i < 1290; i++)
		taken[dev_scale_index(true, 10, i / 10, i % 10)]++;
	unsigned once = 0;
	for (size_t i = 0; i < sizeof(taken); i++)
		once += taken[i] == 1;
	expect(once == 1290);
}

static void scales_have_codes(void)
{
	expect(dev_scale_code(DEV_SCALE_E8M0, 1) == 127 &&
	       dev_scale_code(DEV_SCALE_E8M0, 0.25f) == 125);
	expect(dev_scale_code(DEV_SCALE_E4M3, 1) == 0x38 &&
	       dev_scale_code(DEV_SCALE_E4M3, 2) == 0x40);
	expect(dev_scale_value(DEV_SCALE_E8M0, 130) == 8 &&
	       isnan(dev_scale_value(DEV_SCALE_E8M0, 255)));
	expect(dev_scale_value(DEV_SCALE_E4M3, 0x7e) == 448 &&
	       dev_scale_value(DEV_SCALE_E4M3, 0xb8) == 1);
}

static const struct dev_gemm good = {
	.type = DEV_F16, .m = 128, .n = 16, .k = 32, .alpha = 1, .lda = 32, .ldb = 16, .ldc = 16};

static const _Alignas(16) uint8_t scales[32];

static const struct {
	struct dev_gemm changed;
	int status;
	const char *says;
} cases[] = {
	{{.type = DEV_TYPES}, -EINVAL, "unknown element type 10"},
	{{.type = DEV_F16, .m = 0}, -EINVAL, "a dimension is zero"},
	{{.type = DEV_F16, .m = 9, .lda = 31}, -EINVAL, "shorter than its row"},
	{{.type = DEV_F16, .m = 9, .b_transposed = true},
	 -EINVAL,
	 "shorter than its row"}, /* ldb is that of k */
	{{.type = DEV_F32, .m = 9, .tiled = true}, -ENOTSUP, "a tiled gemm of type 0"},
	{{.type = DEV_F32, .m = 9, .fast_accumulation = true},
	 -ENOTSUP,
	 "type 0 with fast accumulation"},
	{{.type = DEV_F16, .m = 9, .tiled = true, .fast_accumulation = true},
	 -ENOTSUP,
	 "with fast accumulation"},
	{{.type = DEV_F16, .m = 9, .fast_accumulation = true}, 0, ""},
	{{.type = DEV_F16, .m = 9, .tiled = true, .done_rows = 0}, -EINVAL, "done_rows 0 is not"},
	{{.type = DEV_F16, .m = 9, .tiled = true, .done_rows = 65},
	 -EINVAL,
	 "not a multiple of the 64"},
	{{.type = DEV_F8, .m = 16}, -EINVAL, "f8 needs B transposed"},
	{{.type = DEV_F8, .m = 9, .b_transposed = true, .ldb = 32}, -EINVAL, "multiples of 16"},
	{{.type = DEV_F8, .m = 16, .b_transposed = true, .ldb = 32}, 0, ""},
	{{.type = DEV_I8, .m = 16}, -EINVAL, "i8 needs B transposed"},
	{{.type = DEV_I8, .m = 10, .b_transposed = true, .ldb = 32}, -EINVAL, "multiples of 4"},
	{{.type = DEV_I8, .m = 12, .b_transposed = true, .ldb = 32}, 0, ""},
	{{.type = DEV_I8, .m = 12, .b_transposed = true, .ldb = 32, .beta = 1}, 0, ""},
	{{.type = DEV_I8, .m = 12, .b_transposed = true, .ldb = 32, .beta = 0.5},
	 -EINVAL,
	 "alpha 1, beta 0.5; of i8"},
	{{.type = DEV_I8, .m = 12, .b_transposed = true, .ldb = 32, .alpha = 2},
	 -EINVAL,
	 "alpha 2, beta 0; of i8"},
	{{.type = DEV_MXF8, .m = 32}, -EINVAL, "mxf8 needs B transposed"},
	{{.type = DEV_NVF4, .m = 16, .b_transposed = true, .ldb = 32}, -EINVAL, "multiples of 32"},
	{{.type = DEV_MXF4, .m = 32, .n = 32, .b_transposed = true, .ldb = 32, .ldc = 32},
	 -EINVAL,
	 "mxf4 needs both, at multiples of 16"},
	{{.type = DEV_MXF4,
	  .m = 32,
	  .n = 32,
	  .b_transposed = true,
	  .ldb = 32,
	  .ldc = 32,
	  .a_scales = scales,
	  .b_scales = scales + 8},
	 -EINVAL,
	 "mxf4 needs both, at multiples of 16"},
	{{.type = DEV_MXF4,
	  .m = 32,
	  .n = 32,
	  .b_transposed = true,
	  .ldb = 32,
	  .ldc = 32,
	  .a_scales = scales,
	  .b_scales = scales + 16},
	 0,
	 ""},
	{{.type = DEV_F8, .m = 16, .b_transposed = true, .ldb = 32, .a_scales = scales},
	 -EINVAL,
	 "f8 has none"},
	{{.type = DEV_F16, .m = 9, .tiled = true, .done_rows = 128}, 0, ""},
	{{.type = DEV_F16, .m = 9, .b_transposed = true, .ldb = 32}, 0, ""},
};

/* `good` with what a case changes. */
static struct dev_gemm gemm_of_case(const struct dev_gemm *changed, uint32_t *counter)
{
	struct dev_gemm g = good;
	g.type = changed->type;
	g.m = changed->m;
	g.alpha = changed->alpha > 0 ? changed->alpha : good.alpha;
	g.beta = changed->beta;
	g.n = changed->n ? changed->n : good.n;
	g.ldc = changed->ldc ? changed->ldc : good.ldc;
	g.a_scales = changed->a_scales;
	g.b_scales = changed->b_scales;
	g.lda = changed->lda ? changed->lda : good.lda;
	g.ldb = changed->ldb ? changed->ldb : good.ldb;
	g.b_transposed = changed->b_transposed;
	g.fast_accumulation = changed->fast_accumulation;
	g.tiled = changed->tiled;
	g.done = g.tiled ? counter : NULL;
	g.done_rows = changed->done_rows;
	return g;
}

static void gemms_are_checked_before_the_backend(void)
{
	static const struct dev_ops ops = {.name = "bare", .gemm = count_call};
	struct dev bare = {.ops = &ops,
			   .props = {.gemm_tiled_types = 1u << DEV_F16,
				     .gemm_fast_types = 1u << DEV_F16,
				     .gemm_tile_rows = 64}};
	uint32_t counter;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct dev_gemm g = gemm_of_case(&cases[i].changed, &counter);
		err_clear();
		calls = 0;
		expect(dev_gemm(&bare, NULL, &g) == cases[i].status &&
		       calls == (cases[i].status == 0));
		if (!strstr(err_text(), cases[i].says))
			printf("# case %zu says: %s\n", i, err_text());
		expect(strstr(err_text(), cases[i].says) != NULL);
		/* Without a slot of its own: checked, but for pointers, and nothing to do. */
		const bool of_scales = strstr(err_text(), "scales at") != NULL;
		expect(dev_gemm_prepare(&bare, &g) == (of_scales ? 0 : cases[i].status));
	}
}

int main(void)
{
	test(types_have_sizes);
	test(scales_lie_where_the_manual_has_them);
	test(scales_have_codes);
	test(gemms_are_checked_before_the_backend);
	return test_done();
}
