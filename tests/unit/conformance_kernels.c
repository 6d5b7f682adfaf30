/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h: every one does all of its work and no more, whatever the grid.
 */
#include "tests/unit/conformance.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GUARD 256u

static const uint64_t sizes[] = { 256, 4096, 65536 + 256, 1 << 20 };
static const uint32_t grids[] = { 1, 2, 3, 7, 64, 301 };

/* Fresh device memory with `bytes` of `data` in the middle. */
static char *guarded(const void *data, uint64_t bytes)
{
	char *a = get(DEV_MEM_DEVICE, bytes + 2 * GUARD), *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	memset(aside, 0x5a, bytes + 2 * GUARD);
	if (data)
		memcpy(aside + GUARD, data, bytes);
	ok(dev_upload(on.d, a, aside, bytes + 2 * GUARD));
	free(aside);
	return a + GUARD;
}

/* What is there now; the guards must be untouched. The caller frees it. */
static void *unguarded(char *a, uint64_t bytes)
{
	char *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	ok(dev_download(on.d, aside, a - GUARD, bytes + 2 * GUARD));
	for (uint64_t i = 0; i < GUARD; i++)
		require(aside[i] == 0x5a && aside[GUARD + bytes + i] == 0x5a);
	memmove(aside, aside + GUARD, bytes);
	put(a - GUARD);
	return aside;
}

static void *random_words(uint64_t bytes, uint64_t lane)
{
	struct rng r;
	uint32_t *words = malloc(bytes);
	require(words);
	rng_seed(&r, 1, lane);
	rng_fill_u32(&r, words, bytes / 4);
	return words;
}

static void every_case(void (*check)(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps))
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(grids); j++)
			check(s, sizes[i], grids[j], 1 + (uint32_t)(i + j) % 3);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ memory kernels */

static void all_kernels_are_there(void)
{
	static const char *const names[] = { "empty",    "read",    "write",   "write_nt", "copy",       "copy_nt", "triad",
		                             "triad_nt", "fma_f32", "fma_f64", "hold",     "stamp", "reduce_add", "chase",
		                             "signal",   "await" };
	struct dev_kernel *k, *again;
	for (size_t i = 0; i < COUNT(names); i++) {
		ok(dev_kernel_find(on.d, names[i], &k));
		ok(dev_kernel_find(on.d, names[i], &again));
	}
	expect_error(dev_kernel_find(on.d, "", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "rea", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "gemm", &k), -ENOENT);
}

static void one_read(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	uint32_t *words = random_words(bytes, bytes), sum = 100;
	char *src = guarded(words, bytes);
	uint32_t *sink = get(DEV_MEM_PINNED, 4);
	*sink = 100; /* the sum of one pass is added to what is there */
	const void *args[] = { &src, &bytes, &reps, &sink };
	ok(launch(s, "read", grid, args));
	ok(dev_stream_sync(on.d, s));
	for (uint64_t i = 0; i < bytes / 4; i++)
		sum += words[i];
	expect(*sink == sum);
	free(words);
	free(unguarded(src, bytes));
	put(sink);
}

static void read_adds_up(void) { every_case(one_read); }

static void written_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	char *dst = guarded(NULL, bytes);
	uint32_t word = 0x12345678;
	const void *args[] = { &dst, &bytes, &reps, &word };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	uint32_t *got = unguarded(dst, bytes);
	for (uint64_t i = 0; i < bytes / 4; i++)
		require(got[i] == word);
	free(got);
}

static void one_write(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	written_by("write", s, bytes, grid, reps);
	written_by("write_nt", s, bytes, grid, reps);
}

static void write_writes_all_and_no_more(void) { every_case(one_write); }

static void copied_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	void *words = random_words(bytes, grid);
	char *dst = guarded(NULL, bytes), *src = guarded(words, bytes);
	const void *args[] = { &dst, &src, &bytes, &reps };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	void *got = unguarded(dst, bytes), *still = unguarded(src, bytes);
	expect(memcmp(got, words, bytes) == 0);
	expect(memcmp(still, words, bytes) == 0);
	free(words);
	free(got);
	free(still);
}

static void one_copy(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	copied_by("copy", s, bytes, grid, reps);
	copied_by("copy_nt", s, bytes, grid, reps);
}

static void copy_copies_all_and_no_more(void) { every_case(one_copy); }

static void triad_by(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	struct rng r;
	uint64_t count = bytes / 4;
	float *values = malloc(2 * bytes), scale = 1.75f;
	require(values);
	rng_seed(&r, 2, bytes);
	rng_fill_f32(&r, values, 2 * count);
	char *a = guarded(NULL, bytes), *b = guarded(values, bytes), *c = guarded(values + count, bytes);
	const void *args[] = { &a, &b, &c, &bytes, &reps, &scale };
	ok(launch(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	float *got = unguarded(a, bytes);
	/* One rounding or two: a fused multiply-add is allowed. */
	for (uint64_t i = 0; i < count; i++)
		require(fabs((double)got[i] - ((double)values[i] + 1.75 * (double)values[count + i])) < 1e-6);
	free(got);
	free(values);
	free(unguarded(b, bytes));
	free(unguarded(c, bytes));
}

static void one_triad(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	triad_by("triad", s, bytes, grid, reps);
	triad_by("triad_nt", s, bytes, grid, reps);
}

static void triad_computes(void) { every_case(one_triad); }

static void one_reduce_add(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	struct rng r;
	const uint64_t count = bytes / 4;
	float *values = malloc(2 * bytes);
	require(values);
	rng_seed(&r, 4, bytes);
	rng_fill_f32(&r, values, 2 * count);
	char *dst = guarded(values, bytes), *src = guarded(values + count, bytes);
	const void *args[] = { &dst, &src, &bytes, &reps };
	ok(launch(s, "reduce_add", grid, args));
	ok(dev_stream_sync(on.d, s));
	float *got = unguarded(dst, bytes), *still = unguarded(src, bytes);
	expect(memcmp(still, values + count, bytes) == 0);
	for (uint64_t i = 0; i < count; i++) {
		float want = values[i];
		for (uint32_t rep = 0; rep < reps; rep++)
			want += values[count + i]; /* every rep adds again, and rounds */
		require(memcmp(&got[i], &want, sizeof(want)) == 0);
	}
	free(got);
	free(still);
	free(values);
}

static void reduce_add_adds(void) { every_case(one_reduce_add); }

static void kernels_reach_pinned_memory(void)
{
	const uint64_t bytes = 1 << 16;
	const uint32_t reps = 1;
	struct dev_stream *s = stream();
	void *words = random_words(bytes, 9);
	char *up = get(DEV_MEM_PINNED, bytes), *down = get(DEV_MEM_PINNED, bytes), *dev = get(DEV_MEM_DEVICE, bytes);
	memcpy(up, words, bytes);
	const void *in[] = { &dev, &up, &bytes, &reps }, *out[] = { &down, &dev, &bytes, &reps };
	ok(launch(s, "copy", 5, in));
	ok(launch(s, "copy_nt", 3, out));
	ok(dev_stream_sync(on.d, s));
	expect(memcmp(down, words, bytes) == 0);
	free(words);
	put(up);
	put(down);
	put(dev);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ chase */

/* One cycle through all entries, in random order: Sattolo's. */
static uint64_t *random_ring(uint64_t entries)
{
	struct rng r;
	uint64_t *ring = malloc(entries * sizeof(*ring));
	require(ring);
	rng_seed(&r, 5, entries);
	for (uint64_t i = 0; i < entries; i++)
		ring[i] = i;
	for (uint64_t i = entries - 1; i > 0; i--) {
		const uint64_t j = rng_u64(&r) % i, kept = ring[i];
		ring[i] = ring[j];
		ring[j] = kept;
	}
	return ring;
}

static void chase_from(struct dev_stream *s, enum dev_mem kind, const uint64_t *ring, uint64_t bytes)
{
	const uint64_t entries = bytes / sizeof(*ring);
	const uint64_t steps[] = { 0, 1, 2, entries / 2, entries - 1, entries, entries + 3 };
	uint64_t *memory = get(kind, bytes), *out = get(DEV_MEM_PINNED, 8), *addresses = malloc(bytes);
	require(addresses);
	for (uint64_t i = 0; i < entries; i++)
		addresses[i] = (uintptr_t)(memory + ring[i]);
	ok(dev_upload(on.d, memory, addresses, bytes));
	free(addresses);
	for (size_t i = 0; i < COUNT(steps); i++) {
		uint64_t end = 0;
		for (uint64_t step = 0; step < steps[i]; step++)
			end = ring[end];
		*out = UINT64_MAX;
		const void *args[] = { &memory, &bytes, &steps[i], &out };
		ok(launch(s, "chase", grids[i % 3], args));
		ok(dev_stream_sync(on.d, s));
		expect(*out == (uintptr_t)(memory + end) && (steps[i] != entries || end == 0));
	}
	put(memory);
	put(out);
}

/* A wish that changes no result, and is ignored without the capability. */
static void cache_may_be_preferred(void)
{
	struct dev_stream *s = stream();
	uint64_t *ring = get(DEV_MEM_PINNED, 256), *out = get(DEV_MEM_PINNED, 16), bytes = 256, steps = 5;
	for (uint64_t i = 0; i < 32; i++)
		ring[i] = (uintptr_t)(ring + (i + 1) % 32);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *to = out + i;
		const void *args[] = { &ring, &bytes, &steps, &to };
		const struct dev_launch launch = { .grid = 3, .args = args, .prefer_cache = i == 1 };
		ok(dev_launch(on.d, s, kernel("chase"), &launch));
	}
	ok(dev_stream_sync(on.d, s));
	expect(out[0] == (uintptr_t)(ring + 5) && out[1] == out[0]);
	put(ring);
	put(out);
	dev_stream_close(on.d, s);
}

static void chase_walks_the_ring(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		uint64_t *ring = random_ring(sizes[i] / sizeof(*ring));
		chase_from(s, DEV_MEM_DEVICE, ring, sizes[i]);
		if (sizes[i] <= 65536 + 256)
			chase_from(s, DEV_MEM_PINNED, ring, sizes[i]);
		free(ring);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ other kernels */

static void fma_f32_is_finite_and_equal(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		float *out = get(DEV_MEM_PINNED, grids[i] * sizeof(float));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = { &out, &fmas };
		ok(launch(s, "fma_f32", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(float)) == 0);
		put(out);
	}
	dev_stream_close(on.d, s);
}

static void fma_f64_is_finite_and_equal(void)
{
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		double *out = get(DEV_MEM_PINNED, grids[i] * sizeof(double));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = { &out, &fmas };
		ok(launch(s, "fma_f64", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(double)) == 0);
		put(out);
	}
	dev_stream_close(on.d, s);
}

static void launches_are_checked(void)
{
	struct dev_stream *s = stream();
	struct dev_launch l = { .grid = 0 };
	expect_error(dev_launch(on.d, s, kernel("empty"), &l), -EINVAL);
	l.grid = 1;
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes + 1;
	expect_error(dev_launch(on.d, s, kernel("empty"), &l), -EINVAL);
	l.shared_bytes = dev_props(on.d)->shared_per_block_bytes;
	ok(dev_launch(on.d, s, kernel("empty"), &l));
	l.shared_bytes = 0;
	l.grid = 1000;
	l.block = dev_props(on.d)->block_threads;
	ok(dev_launch(on.d, s, kernel("empty"), &l));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

/* What the device says it may be off by; a busy host may have had it look at both clocks badly. */
static double timer_error_ns(void)
{
	struct dev_reading readings[DEV_READINGS];
	size_t count = 0;
	ok(dev_read_state(on.d, readings, &count));
	for (size_t i = 0; i < count; i++)
		if (strcmp(readings[i].name, "timer_offset_error") == 0)
			return 1e9 * readings[i].number;
	return 0;
}

static void stamps_are_times_of_the_clock(void)
{
	const double slack_ns = 100e3 + timer_error_ns(); /* between the host's and a GPU's timer */
	struct dev_stream *s = stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		uint64_t *at = get(DEV_MEM_PINNED, grids[i] * sizeof(*at));
		memset(at, 0, grids[i] * sizeof(*at));
		const void *args[] = { &at };
		double before = (double)dev_clock_ns(on.d);
		ok(launch(s, "stamp", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		double after = (double)dev_clock_ns(on.d);
		for (uint32_t j = 0; j < grids[i]; j++)
			expect((double)at[j] >= before - slack_ns && (double)at[j] <= after + slack_ns);
		put(at);
	}
	dev_stream_close(on.d, s);
}

static void arguments_are_copied(void)
{
	struct dev_stream *s = stream();
	char *dst = get(DEV_MEM_PINNED, 4096), *other = get(DEV_MEM_PINNED, 4096);
	uint64_t bytes = 4096;
	uint32_t reps = 1, word = 0x01010101;
	memset(dst, 0, 4096);
	memset(other, 0, 4096);
	struct gate g = gate_shut(s);
	{
		char *target = dst;
		const void *args[] = { &target, &bytes, &reps, &word };
		struct dev_launch l = { .grid = 2, .args = args };
		ok(dev_launch(on.d, s, kernel("write"), &l));
		target = other;
		word = 0x02020202;
		bytes = 256;
		memset(args, 0, sizeof(args));
		memset(&l, 0, sizeof(l));
	}
	gate_open(&g);
	ok(dev_stream_sync(on.d, s));
	expect(dst[0] == 1 && dst[4095] == 1 && other[0] == 0);
	gate_done(&g);
	put(dst);
	put(other);
	dev_stream_close(on.d, s);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(all_kernels_are_there),
		RULE(read_adds_up),
		RULE(write_writes_all_and_no_more),
		RULE(copy_copies_all_and_no_more),
		RULE(triad_computes),
		RULE(reduce_add_adds),
		RULE(kernels_reach_pinned_memory),
		RULE(chase_walks_the_ring),
		RULE(cache_may_be_preferred),
		RULE(fma_f32_is_finite_and_equal),
		RULE(fma_f64_is_finite_and_equal),
		RULE(launches_are_checked),
		RULE(stamps_are_times_of_the_clock),
		RULE(arguments_are_copied),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
