/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dev_launch() of any kernel: checks, copied arguments, preferences.
 */
#include "tests/unit/conformance/conformance.h"

static void launches_are_checked(void)
{
	struct dev_stream *s = open_stream();
	struct dev_launch l = {.grid = 0};
	expect_error(dev_launch(on.d, s, find_kernel("empty"), &l), -EINVAL);
	l.grid = 1;
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes + 1;
	expect_error(dev_launch(on.d, s, find_kernel("empty"), &l), -EINVAL);
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes;
	ok(dev_launch(on.d, s, find_kernel("empty"), &l));
	l.shared_bytes = 0;
	l.grid = 1000;
	l.block = dev_props(on.d)->block_threads;
	ok(dev_launch(on.d, s, find_kernel("empty"), &l));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

static void arguments_are_copied(void)
{
	struct dev_stream *s = open_stream();
	char *dst = alloc_memory(DEV_MEM_PINNED, 4096), *other = alloc_memory(DEV_MEM_PINNED, 4096);
	uint64_t bytes = 4096;
	uint32_t reps = 1, word = 0x01010101;
	memset(dst, 0, 4096);
	memset(other, 0, 4096);
	struct blocking g = blocking_hold(s);
	{
		char *target = dst;
		const void *args[] = {&target, &bytes, &reps, &word};
		struct dev_launch l = {.grid = 2, .args = args};
		ok(dev_launch(on.d, s, find_kernel("write"), &l));
		target = other;
		word = 0x02020202;
		bytes = 256;
		memset(args, 0, sizeof(args));
		memset(&l, 0, sizeof(l));
	}
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	expect(dst[0] == 1 && dst[4095] == 1 && other[0] == 0);
	blocking_free(&g);
	free_memory(dst);
	free_memory(other);
	dev_stream_close(on.d, s);
}

/* prefer_cache is a hint: it changes no result and is ignored without the capability. */
static void cache_may_be_preferred(void)
{
	struct dev_stream *s = open_stream();
	uint64_t *ring = alloc_memory(DEV_MEM_PINNED, 256), *out = alloc_memory(DEV_MEM_PINNED, 16),
		 bytes = 256, steps = 5;
	for (uint64_t i = 0; i < 32; i++)
		ring[i] = (uintptr_t)(ring + (i + 1) % 32);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *to = out + i;
		const void *args[] = {&ring, &bytes, &steps, &to};
		const struct dev_launch launch = {.grid = 3, .args = args, .prefer_cache = i == 1};
		ok(dev_launch(on.d, s, find_kernel("chase"), &launch));
	}
	ok(dev_stream_sync(on.d, s));
	expect(out[0] == (uintptr_t)(ring + 5) && out[1] == out[0]);
	free_memory(ring);
	free_memory(out);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(launches_are_checked),
		RULE(arguments_are_copied),
		RULE(cache_may_be_preferred),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
