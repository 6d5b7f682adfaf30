/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of matrix multiply-adds: they are there where the device says so, and their sums are known to the last bit.
 */
#include "tests/unit/conformance.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct mma_kernel {
	const char *name;
	enum dev_type type;
	bool together; /* of wgmma_types */
};

static const struct mma_kernel mma_kernels[] = {
	{ "mma_f16", DEV_F16, false },   { "mma_bf16", DEV_BF16, false },   { "mma_tf32", DEV_TF32, false },   { "mma_f8", DEV_F8, false },
	{ "wgmma_f16", DEV_F16, true }, { "wgmma_bf16", DEV_BF16, true }, { "wgmma_tf32", DEV_TF32, true }, { "wgmma_f8", DEV_F8, true },
};

static bool has_mma(const struct mma_kernel *m)
{
	const struct dev_props *p = dev_props(on.d);
	return ((m->together ? p->wgmma_types : p->mma_types) & 1u << m->type) != 0;
}

static void mma_is_there_where_it_is_said_to_be(void)
{
	const struct dev_props *p = dev_props(on.d);
	const uint32_t narrow = 1u << DEV_TF32 | 1u << DEV_F16 | 1u << DEV_BF16 | 1u << DEV_F8;
	struct dev_kernel *k;
	expect(((p->mma_types | p->wgmma_types) & ~narrow) == 0);
	expect((p->mma_peak_types & ~p->mma_types) == 0);
	for (size_t i = 0; i < COUNT(mma_kernels); i++) {
		if (has_mma(&mma_kernels[i]))
			ok(dev_kernel_find(on.d, mma_kernels[i].name, &k));
		else
			expect_error(dev_kernel_find(on.d, mma_kernels[i].name, &k), -ENOENT);
	}
}

/* Every block's number is known to the last bit. */
static void one_mma(struct dev_stream *s, const char *name, uint32_t grid, uint32_t block, uint64_t fmas)
{
	uint32_t *out = get(DEV_MEM_PINNED, (grid + 1) * sizeof(*out));
	memset(out, 0x5a, (grid + 1) * sizeof(*out));
	const void *args[] = { &out, &fmas };
	const struct dev_launch l = { .grid = grid, .block = block, .args = args };
	ok(dev_launch(on.d, s, kernel(name), &l));
	ok(dev_stream_sync(on.d, s));
	for (uint32_t i = 0; i < grid; i++)
		if (out[i] != (uint32_t)(fmas / 16))
			printf("# %s, %u threads: block %u of %u has %u, not %u\n", name, block, i, grid, out[i], (uint32_t)(fmas / 16));
	for (uint32_t i = 0; i < grid; i++)
		require(out[i] == (uint32_t)(fmas / 16));
	expect(out[grid] == 0x5a5a5a5a);
	put(out);
}

static void mma_sums_are_exact(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(mma_kernels); i++) {
		if (!has_mma(&mma_kernels[i]))
			continue;
		one_mma(s, mma_kernels[i].name, 1, 0, 0);
		one_mma(s, mma_kernels[i].name, 3, 0, DEV_MMA_QUANTUM);
		one_mma(s, mma_kernels[i].name, 1, 128, DEV_MMA_QUANTUM);
		one_mma(s, mma_kernels[i].name, 2, 256, UINT64_C(3) * DEV_MMA_QUANTUM);
	}
	dev_stream_close(on.d, s);
}

static void mma_launches_are_checked(void)
{
	struct dev_stream *s = stream();
	uint32_t *out = get(DEV_MEM_PINNED, 2 * sizeof(*out));
	uint64_t fmas = DEV_MMA_QUANTUM;
	const void *args[] = { &out, &fmas };
	for (size_t i = 0; i < COUNT(mma_kernels); i++) {
		if (!has_mma(&mma_kernels[i]))
			continue;
		struct dev_launch l = { .grid = 1, .block = 64, .args = args };
		expect_error(dev_launch(on.d, s, kernel(mma_kernels[i].name), &l), -EINVAL);
		l.block = 0;
		fmas = DEV_MMA_QUANTUM / 2;
		expect_error(dev_launch(on.d, s, kernel(mma_kernels[i].name), &l), -EINVAL);
		fmas = DEV_MMA_QUANTUM;
	}
	ok(dev_stream_sync(on.d, s));
	put(out);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(mma_is_there_where_it_is_said_to_be),
		RULE(mma_sums_are_exact),
		RULE(mma_launches_are_checked),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
