/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of a repeating tile: every size is filled and compared to its last word, and one wrong
 * word is found. One case of a benchmark is the stage, since tiles belong to a case.
 */
#include "bench/pattern.h"
#include "lib/err.h"
#include "tests/unit/bench/scene.h"
#include "tests/unit/test.h"

#include <errno.h>

static unsigned right_sizes, found_words, right_sums;
static const uint64_t sizes[] = {4,
				 256,
				 PATTERN_BYTES - 4,
				 PATTERN_BYTES,
				 PATTERN_BYTES + 4,
				 3 * PATTERN_BYTES,
				 5 * PATTERN_BYTES / 2};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void scene_words(struct bench_case *c)
{
	const uint32_t *tile = pattern_words(c);
	for (unsigned i = 0; i < SIZES; i++) {
		uint64_t last = sizes[i] / 4 - 1;
		uint32_t sum = 0, other;
		char *at = pattern_alloc(c, c->dev, DEV_MEM_DEVICE, sizes[i], tile);
		if (c->status)
			return;
		right_sizes += pattern_check(c, c->dev, at, sizes[i], tile, 0.0f) == 0;
		for (uint64_t word = 0; word <= last; word++)
			sum += tile[word % PATTERN_WORDS];
		right_sums += sum == pattern_sum(tile, sizes[i]);
		other = tile[last % PATTERN_WORDS] ^ 1u;
		TRY(c->status, dev_upload(c->dev, at + 4 * last, &other, 4));
		char name[32];
		snprintf(name, sizeof(name), "word %llu is", (unsigned long long)last);
		found_words += pattern_check(c, c->dev, at, sizes[i], tile, 0.0f) == -EBADMSG &&
			       strstr(err_text(), name) != NULL;
	}
}

static void compares_to_the_last_word(void)
{
	right_sizes = found_words = right_sums = 0;
	expect(run_scene(scene_words) == 0);
	expect(right_sizes == SIZES && right_sums == SIZES && found_words == SIZES);
}

static int near, far, nothing;

static void scene_reals(struct bench_case *c)
{
	float *tile = pattern_reals(c), *off = bench_alloc_host(c, PATTERN_BYTES);
	void *at = pattern_alloc(c, c->dev, DEV_MEM_PINNED, PATTERN_BYTES, tile);
	if (c->status)
		return;
	memcpy(off, tile, PATTERN_BYTES);
	off[7] += 0.5e-3f;
	near = pattern_check(c, c->dev, at, PATTERN_BYTES, off, 1e-3f);
	off[7] += 1e-3f;
	far = pattern_check(c, c->dev, at, PATTERN_BYTES, off, 1e-3f);
	off[7] = NAN;
	nothing = pattern_check(c, c->dev, at, PATTERN_BYTES, off, 1e-3f);
}

static void reals_may_be_off_by_the_tolerance(void)
{
	expect(run_scene(scene_reals) == 0);
	expect(near == 0 && far == -EBADMSG && nothing == -EBADMSG);
}

static void scene_too_large(struct bench_case *c)
{
	const uint32_t *tile = pattern_words(c);
	expect(pattern_alloc(c, c->dev, DEV_MEM_DEVICE, UINT64_C(1) << 60, tile) == NULL);
	expect(pattern_alloc(c, c->dev, DEV_MEM_DEVICE, 256, tile) == NULL);
	expect(c->status == -ENOMEM && err_text()[0]);
}

static void no_memory_skips_the_case(void) { expect(run_scene(scene_too_large) == 77); }

int main(void)
{
	test(compares_to_the_last_word);
	test(reals_may_be_off_by_the_tolerance);
	test(no_memory_skips_the_case);
	return test_done();
}
