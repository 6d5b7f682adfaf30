/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of matrix multiply-adds: they exist where the device says so, and their sums are exact.
 */
#include "device/kernel_signature.h"
#include "tests/unit/conformance/conformance.h"

struct mma_kernel {
	const char *name;
	enum dev_type type;
	bool is_wgmma; /* in wgmma_types instead of mma_types */
};

static struct mma_kernel mma_kernels[KERNELS];
static size_t mma_count;

/* Collects mma_TYPE and wgmma_TYPE from the list. A kernel of other units needs tests of its own.
 */
static int list_mma_kernels(void)
{
	size_t count;
	const struct kernel_signature *k = kernel_signatures(&count);
	for (size_t i = 0; i < count; i++) {
		if (!k[i].may_lack)
			continue;
		const bool together = k[i].name[0] == 'w';
		const char *type = strstr(k[i].name, "mma_");
		size_t t = 0;
		while (t < DEV_TYPES && (!type || strcmp(type + 4, dev_type_names[t]) != 0))
			t++;
		if (t == DEV_TYPES || type - k[i].name != (together ? 2 : 0)) {
			printf("not ok 1 kernel %s has no rule in "
			       "tests/unit/conformance/conformance_mma.c\n1..1\n",
			       k[i].name);
			return 1;
		}
		mma_kernels[mma_count++] =
			(struct mma_kernel){k[i].name, (enum dev_type)t, together};
	}
	return 0;
}

static bool has_mma(const struct mma_kernel *m)
{
	const struct dev_props *p = dev_props(on.d);
	return ((m->is_wgmma ? p->wgmma_types : p->mma_types) & 1u << m->type) != 0;
}

static void mma_kernels_exist_as_properties_say(void)
{
	const struct dev_props *p = dev_props(on.d);
	const uint32_t wide = 1u << DEV_F32 | 1u << DEV_F64;
	struct dev_kernel *k;
	expect(((p->mma_types | p->wgmma_types) & wide) == 0);
	expect((p->mma_peak_types & ~p->mma_types) == 0);
	for (size_t i = 0; i < mma_count; i++) {
		if (has_mma(&mma_kernels[i]))
			ok(dev_kernel_find(on.d, mma_kernels[i].name, &k));
		else
			expect_error(dev_kernel_find(on.d, mma_kernels[i].name, &k), -ENOENT);
	}
}

/* The number of every block is exact. */
static void check_mma(struct dev_stream *s, const char *name, uint32_t grid, uint32_t block,
		      uint64_t fmas)
{
	uint32_t *out = alloc_memory(DEV_MEM_PINNED, (grid + 1) * sizeof(*out));
	memset(out, 0x5a, (grid + 1) * sizeof(*out));
	const void *args[] = {&out, &fmas};
	const struct dev_launch l = {.grid = grid, .block = block, .args = args};
	ok(dev_launch(on.d, s, find_kernel(name), &l));
	ok(dev_stream_sync(on.d, s));
	for (uint32_t i = 0; i < grid; i++)
		if (out[i] != (uint32_t)(fmas / 16))
			printf("# %s, %u threads: block %u of %u has %u, not %u\n", name, block, i,
			       grid, out[i], (uint32_t)(fmas / 16));
	for (uint32_t i = 0; i < grid; i++)
		require(out[i] == (uint32_t)(fmas / 16));
	expect(out[grid] == 0x5a5a5a5a);
	free_memory(out);
}

static void mma_sums_are_exact(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < mma_count; i++) {
		if (!has_mma(&mma_kernels[i]))
			continue;
		check_mma(s, mma_kernels[i].name, 1, 0, 0);
		check_mma(s, mma_kernels[i].name, 3, 0, DEV_MMA_QUANTUM);
		check_mma(s, mma_kernels[i].name, 1, 128, DEV_MMA_QUANTUM);
		check_mma(s, mma_kernels[i].name, 2, 256, UINT64_C(3) * DEV_MMA_QUANTUM);
	}
	dev_stream_close(on.d, s);
}

static void mma_launches_are_checked(void)
{
	struct dev_stream *s = open_stream();
	uint32_t *out = alloc_memory(DEV_MEM_PINNED, 2 * sizeof(*out));
	uint64_t fmas = DEV_MMA_QUANTUM;
	const void *args[] = {&out, &fmas};
	for (size_t i = 0; i < mma_count; i++) {
		if (!has_mma(&mma_kernels[i]))
			continue;
		struct dev_launch l = {.grid = 1, .block = 64, .args = args};
		expect_error(dev_launch(on.d, s, find_kernel(mma_kernels[i].name), &l), -EINVAL);
		l.block = 0;
		fmas = DEV_MMA_QUANTUM / 2;
		expect_misuse(dev_launch(on.d, s, find_kernel(mma_kernels[i].name), &l), -EINVAL);
		fmas = DEV_MMA_QUANTUM;
	}
	ok(dev_stream_sync(on.d, s));
	free_memory(out);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(mma_kernels_exist_as_properties_say),
		RULE(mma_sums_are_exact),
		RULE(mma_launches_are_checked),
	};
	return list_mma_kernels() ? 1
				  : run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
