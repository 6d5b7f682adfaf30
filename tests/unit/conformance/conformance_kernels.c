/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/kernels.h: each does exactly its work, for every grid.
 */
#include "device/kernel_signature.h"
#include "lib/minifloat.h"
#include "tests/unit/conformance/conformance.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GUARD 256u

static const uint64_t sizes[] = {256, 4096, 65536 + 256, 1 << 20};
static const uint32_t grids[] = {1, 2, 3, 7, 64, 301};

/* Allocates device memory with `bytes` of `data` between two guards. */
static char *alloc_guarded(const void *data, uint64_t bytes)
{
	char *a = alloc_memory(DEV_MEM_DEVICE, bytes + 2 * GUARD),
	     *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	memset(aside, 0x5a, bytes + 2 * GUARD);
	if (data)
		memcpy(aside + GUARD, data, bytes);
	ok(dev_upload(on.d, a, aside, bytes + 2 * GUARD));
	free(aside);
	return a + GUARD;
}

/* Downloads the data, checks that the guards are untouched and frees the device memory. The caller
 * frees the result. */
static void *free_guarded(char *a, uint64_t bytes)
{
	char *aside = malloc(bytes + 2 * GUARD);
	require(aside);
	ok(dev_download(on.d, aside, a - GUARD, bytes + 2 * GUARD));
	for (uint64_t i = 0; i < GUARD; i++)
		require(aside[i] == 0x5a && aside[GUARD + bytes + i] == 0x5a);
	memmove(aside, aside + GUARD, bytes);
	free_memory(a - GUARD);
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

static void for_each_size_and_grid(void (*check)(struct dev_stream *s, uint64_t bytes,
						 uint32_t grid, uint32_t reps))
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t j = 0; j < COUNT(grids); j++)
			check(s, sizes[i], grids[j], 1 + (uint32_t)(i + j) % 3);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ memory kernels */

static void all_kernels_are_there(void)
{
	struct dev_kernel *k, *again;
	size_t count;
	const struct kernel_signature *kernels = kernel_signatures(&count);
	for (size_t i = 0; i < count; i++) {
		if (kernels[i].may_lack)
			continue;
		ok(dev_kernel_find(on.d, kernels[i].name, &k));
		ok(dev_kernel_find(on.d, kernels[i].name, &again));
	}
	expect_error(dev_kernel_find(on.d, "", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "rea", &k), -ENOENT);
	expect_error(dev_kernel_find(on.d, "gemm", &k), -ENOENT);
}

static void check_read(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	uint32_t *words = random_words(bytes, bytes), sum = 100;
	char *src = alloc_guarded(words, bytes);
	uint32_t *sink = alloc_memory(DEV_MEM_PINNED, 4);
	*sink = 100; /* the sum of one pass is added to what is there */
	const void *args[] = {&src, &bytes, &reps, &sink};
	ok(launch_kernel(s, "read", grid, args));
	ok(dev_stream_sync(on.d, s));
	for (uint64_t i = 0; i < bytes / 4; i++)
		sum += words[i];
	expect(*sink == sum);
	free(words);
	free(free_guarded(src, bytes));
	free_memory(sink);
}

static void read_does_its_work(void) { for_each_size_and_grid(check_read); }

static void check_write_kernel(const char *name, struct dev_stream *s, uint64_t bytes,
			       uint32_t grid, uint32_t reps)
{
	char *dst = alloc_guarded(NULL, bytes);
	uint32_t word = 0x12345678;
	const void *args[] = {&dst, &bytes, &reps, &word};
	ok(launch_kernel(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	uint32_t *got = free_guarded(dst, bytes);
	for (uint64_t i = 0; i < bytes / 4; i++)
		require(got[i] == word);
	free(got);
}

static void check_write(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_write_kernel("write", s, bytes, grid, reps);
}

static void check_write_nt(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_write_kernel("write_nt", s, bytes, grid, reps);
}

static void write_does_its_work(void) { for_each_size_and_grid(check_write); }
static void write_nt_does_its_work(void) { for_each_size_and_grid(check_write_nt); }

/* `reps` NULL: the kernel takes none. */
static void check_copy_kernel(const char *name, struct dev_stream *s, uint64_t bytes, uint32_t grid,
			      const uint32_t *reps)
{
	void *words = random_words(bytes, grid);
	char *dst = alloc_guarded(NULL, bytes), *src = alloc_guarded(words, bytes);
	const void *args[] = {&dst, &src, &bytes, reps};
	ok(launch_kernel(s, name, grid, args));
	ok(dev_stream_sync(on.d, s));
	void *got = free_guarded(dst, bytes), *still = free_guarded(src, bytes);
	expect(memcmp(got, words, bytes) == 0);
	expect(memcmp(still, words, bytes) == 0);
	free(words);
	free(got);
	free(still);
}

static void check_copy(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_copy_kernel("copy", s, bytes, grid, &reps);
}

static void check_copy_nt(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_copy_kernel("copy_nt", s, bytes, grid, &reps);
}

static void check_copy_once(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_copy_kernel("copy_once", s, bytes, grid, NULL);
}

static void check_copy_once_nt(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_copy_kernel("copy_once_nt", s, bytes, grid, NULL);
}

static void copy_does_its_work(void) { for_each_size_and_grid(check_copy); }
static void copy_nt_does_its_work(void) { for_each_size_and_grid(check_copy_nt); }
static void copy_once_does_its_work(void) { for_each_size_and_grid(check_copy_once); }
static void copy_once_nt_does_its_work(void) { for_each_size_and_grid(check_copy_once_nt); }

static void check_triad_kernel(const char *name, struct dev_stream *s, uint64_t bytes,
			       uint32_t grid, const uint32_t *reps)
{
	struct rng r;
	uint64_t count = bytes / 4;
	float *values = malloc(2 * bytes), scale = 1.75f;
	require(values);
	rng_seed(&r, 2, bytes);
	rng_fill_f32(&r, values, 2 * count);
	char *a = alloc_guarded(NULL, bytes), *b = alloc_guarded(values, bytes),
	     *c = alloc_guarded(values + count, bytes);
	const void *with_reps[] = {&a, &b, &c, &bytes, reps, &scale};
	const void *once[] = {&a, &b, &c, &bytes, &scale};
	ok(launch_kernel(s, name, grid, reps ? with_reps : once));
	ok(dev_stream_sync(on.d, s));
	float *got = free_guarded(a, bytes);
	/* One rounding or two: a fused multiply-add is allowed. */
	for (uint64_t i = 0; i < count; i++)
		require(fabs((double)got[i] -
			     ((double)values[i] + 1.75 * (double)values[count + i])) < 1e-6);
	free(got);
	free(values);
	free(free_guarded(b, bytes));
	free(free_guarded(c, bytes));
}

static void check_triad(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_triad_kernel("triad", s, bytes, grid, &reps);
}

static void check_triad_nt(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_triad_kernel("triad_nt", s, bytes, grid, &reps);
}

static void check_triad_once(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_triad_kernel("triad_once", s, bytes, grid, NULL);
}

static void check_triad_once_nt(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	check_triad_kernel("triad_once_nt", s, bytes, grid, NULL);
}

static void triad_does_its_work(void) { for_each_size_and_grid(check_triad); }
static void triad_nt_does_its_work(void) { for_each_size_and_grid(check_triad_nt); }
static void triad_once_does_its_work(void) { for_each_size_and_grid(check_triad_once); }
static void triad_once_nt_does_its_work(void) { for_each_size_and_grid(check_triad_once_nt); }

static void check_reduce_add(struct dev_stream *s, uint64_t bytes, uint32_t grid, uint32_t reps)
{
	struct rng r;
	const uint64_t count = bytes / 4;
	float *values = malloc(2 * bytes);
	require(values);
	rng_seed(&r, 4, bytes);
	rng_fill_f32(&r, values, 2 * count);
	char *dst = alloc_guarded(values, bytes), *src = alloc_guarded(values + count, bytes);
	const void *args[] = {&dst, &src, &bytes, &reps};
	ok(launch_kernel(s, "reduce_add", grid, args));
	ok(dev_stream_sync(on.d, s));
	float *got = free_guarded(dst, bytes), *still = free_guarded(src, bytes);
	expect(memcmp(still, values + count, bytes) == 0);
	for (uint64_t i = 0; i < count; i++) {
		float want = values[i];
		for (uint32_t rep = 0; rep < reps; rep++)
			want += values[count + i]; /* every rep adds and rounds again */
		require(memcmp(&got[i], &want, sizeof(want)) == 0);
	}
	free(got);
	free(still);
	free(values);
}

static void reduce_add_does_its_work(void) { for_each_size_and_grid(check_reduce_add); }

static const struct minifloat_format bf16 = {8, 7, true};

/* Every second code is of one of few exponents, so that sums are rounded, up and down and on ties;
 * the others are any: subnormals, infinities and NaN, too. */
static uint16_t *random_bf16(uint64_t count, uint64_t lane)
{
	uint16_t *codes = random_words(count * sizeof(*codes), lane);
	for (uint64_t i = 0; i < count; i += 2)
		codes[i] = (codes[i] & 0x83ff) | 0x3c00;
	return codes;
}

static uint16_t sum_of_bf16(uint16_t a, uint16_t b, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		a = (uint16_t)minifloat_encode(bf16, minifloat_decode(bf16, a) +
							     minifloat_decode(bf16, b));
	return a;
}

static void check_reduce_add_bf16(struct dev_stream *s, uint64_t bytes, uint32_t grid,
				  uint32_t reps)
{
	const uint64_t count = bytes / sizeof(uint16_t);
	uint16_t *to = random_bf16(count, 2 * bytes), *from = random_bf16(count, 2 * bytes + 1);
	char *dst = alloc_guarded(to, bytes), *src = alloc_guarded(from, bytes);
	const void *args[] = {&dst, &src, &bytes, &reps};
	ok(launch_kernel(s, "reduce_add_bf16", grid, args));
	ok(dev_stream_sync(on.d, s));
	uint16_t *got = free_guarded(dst, bytes), *still = free_guarded(src, bytes);
	expect(memcmp(still, from, bytes) == 0);
	for (uint64_t i = 0; i < count; i++) {
		const uint16_t want = sum_of_bf16(to[i], from[i], reps);
		/* The bits of a NaN differ. */
		const bool is_nan = isnan(minifloat_decode(bf16, want));
		require(is_nan ? isnan(minifloat_decode(bf16, got[i])) : got[i] == want);
	}
	free(got);
	free(still);
	free(to);
	free(from);
}

static void reduce_add_bf16_does_its_work(void) { for_each_size_and_grid(check_reduce_add_bf16); }

static void kernels_reach_pinned_memory(void)
{
	const uint64_t bytes = 1 << 16;
	const uint32_t reps = 1;
	struct dev_stream *s = open_stream();
	void *words = random_words(bytes, 9);
	char *up = alloc_memory(DEV_MEM_PINNED, bytes), *down = alloc_memory(DEV_MEM_PINNED, bytes),
	     *dev = alloc_memory(DEV_MEM_DEVICE, bytes);
	memcpy(up, words, bytes);
	const void *in[] = {&dev, &up, &bytes, &reps}, *out[] = {&down, &dev, &bytes, &reps};
	ok(launch_kernel(s, "copy", 5, in));
	ok(launch_kernel(s, "copy_nt", 3, out));
	ok(dev_stream_sync(on.d, s));
	expect(memcmp(down, words, bytes) == 0);
	free(words);
	free_memory(up);
	free_memory(down);
	free_memory(dev);
	dev_stream_close(on.d, s);
}

#include "tests/unit/conformance/conformance_attention.h"

/* ------------------------------------------------------------------ chase */

/* Sattolo's algorithm: one cycle through all entries in random order. */
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

static void check_chase(struct dev_stream *s, enum dev_mem kind, const uint64_t *ring,
			uint64_t bytes)
{
	const uint64_t entries = bytes / sizeof(*ring);
	const uint64_t steps[] = {0, 1, 2, entries / 2, entries - 1, entries, entries + 3};
	uint64_t *memory = alloc_memory(kind, bytes), *out = alloc_memory(DEV_MEM_PINNED, 8),
		 *addresses = malloc(bytes);
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
		const void *args[] = {&memory, &bytes, &steps[i], &out};
		ok(launch_kernel(s, "chase", grids[i % 3], args));
		ok(dev_stream_sync(on.d, s));
		expect(*out == (uintptr_t)(memory + end) && (steps[i] != entries || end == 0));
	}
	free_memory(memory);
	free_memory(out);
}

static void chase_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		uint64_t *ring = random_ring(sizes[i] / sizeof(*ring));
		check_chase(s, DEV_MEM_DEVICE, ring, sizes[i]);
		if (sizes[i] <= 65536 + 256)
			check_chase(s, DEV_MEM_PINNED, ring, sizes[i]);
		free(ring);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ other kernels */

static void fma_f32_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		float *out = alloc_memory(DEV_MEM_PINNED, grids[i] * sizeof(float));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = {&out, &fmas};
		ok(launch_kernel(s, "fma_f32", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(float)) == 0);
		free_memory(out);
	}
	dev_stream_close(on.d, s);
}

static void fma_f64_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint64_t fmas = DEV_FMA_QUANTUM * (1 + i);
		double *out = alloc_memory(DEV_MEM_PINNED, grids[i] * sizeof(double));
		for (uint32_t j = 0; j < grids[i]; j++)
			out[j] = NAN;
		const void *args[] = {&out, &fmas};
		ok(launch_kernel(s, "fma_f64", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(isfinite(out[0]));
		for (uint32_t j = 1; j < grids[i]; j++)
			expect(memcmp(&out[j], &out[0], sizeof(double)) == 0);
		free_memory(out);
	}
	dev_stream_close(on.d, s);
}

/* The error bound that the device reports; it is large if the host was busy during calibration. */
static double timer_error_ns(void)
{
	struct dev_telemetry readings[DEV_TELEMETRY_MAX];
	size_t count = 0;
	ok(dev_telemetry_read(on.d, readings, &count));
	for (size_t i = 0; i < count; i++)
		if (strcmp(readings[i].name, "timer_offset_error") == 0)
			return 1e9 * readings[i].number;
	return 0;
}

static void stamp_does_its_work(void)
{
	const double slack_ns =
		100e3 + timer_error_ns(); /* between the host's clock and a GPU's timer */
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(grids); i++) {
		uint64_t *at = alloc_memory(DEV_MEM_PINNED, grids[i] * sizeof(*at));
		memset(at, 0, grids[i] * sizeof(*at));
		const void *args[] = {&at};
		double before = (double)dev_clock_ns(on.d);
		ok(launch_kernel(s, "stamp", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		double after = (double)dev_clock_ns(on.d);
		for (uint32_t j = 0; j < grids[i]; j++)
			expect((double)at[j] >= before - slack_ns &&
			       (double)at[j] <= after + slack_ns);
		free_memory(at);
	}
	dev_stream_close(on.d, s);
}

static void empty_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	for (size_t i = 0; i < COUNT(grids); i++)
		ok(launch_kernel(s, "empty", grids[i], NULL));
	ok(dev_stream_sync(on.d, s));
	dev_stream_close(on.d, s);
}

/* Once until the time-out, once until the flag is set. */
static void blocking_kernel_does_its_work(void)
{
	const uint32_t blocks = max_resident_blocks(0);
	const uint64_t short_ns = 2 * MS;
	struct dev_stream *s = open_stream();
	struct blocking shut = blocking_launch(s, blocks, 0, short_ns),
			open = blocking_prepare(blocks);
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(shut.arrived) == blocks && load_acquire(shut.arrived + 1) == blocks);
	for (uint32_t i = 0; i < blocks; i++)
		expect(shut.start_ns[i] != 0);
	blocking_release(&open);
	blocking_start(&open, s, 0, GATE_NS);
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(open.arrived) == blocks);
	blocking_free(&open);
	free_memory(shut.memory);
	dev_stream_close(on.d, s);
}

/* tests/unit/conformance/conformance_signals.c has more tests of signal and await. */
static void signal_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	uint32_t *flag = alloc_memory(DEV_MEM_PINNED, 12);
	for (size_t i = 0; i < COUNT(grids); i++) {
		const uint32_t value = 0xf0000000u + grids[i], *at = flag + 1;
		const void *args[] = {&at, &value};
		memset(flag, 0x5a, 12);
		ok(launch_kernel(s, "signal", grids[i], args));
		ok(dev_stream_sync(on.d, s));
		expect(flag[0] == 0x5a5a5a5a && flag[1] == value && flag[2] == 0x5a5a5a5a);
	}
	free_memory(flag);
	dev_stream_close(on.d, s);
}

static void await_does_its_work(void)
{
	struct dev_stream *s = open_stream();
	uint32_t *flag = alloc_memory(DEV_MEM_PINNED, 4),
		 *timed_out = alloc_memory(DEV_MEM_PINNED, 4), value = 7;
	const uint64_t short_ns = MS;
	const void *args[] = {&flag, &value, &timed_out, &short_ns};
	*flag = 7;
	*timed_out = 100;
	ok(launch_kernel(s, "await", 3, args));
	ok(dev_stream_sync(on.d, s));
	expect(*timed_out == 100);
	value = 8;
	ok(launch_kernel(s, "await", 3, args));
	ok(dev_stream_sync(on.d, s));
	expect(*timed_out == 103);
	free_memory(flag);
	free_memory(timed_out);
	dev_stream_close(on.d, s);
}

/* A listed kernel without a test here does not compile. conformance_mma.c tests the kernels of
 * matrix units. */
#define PLAIN(kernel) RULE(kernel##_does_its_work),
#define STREAMING(kernel) RULE(kernel##_does_its_work),
#define TIMED(kernel) RULE(kernel##_does_its_work),
#define WHOLE_BLOCKS(kernel) RULE(kernel##_does_its_work),
#define MATRIX_UNITS(kernel)
#define KERNEL_RULE(kernel, trait, parameters) trait(kernel)

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(all_kernels_are_there),
		DEV_KERNELS(KERNEL_RULE) RULE(kernels_reach_pinned_memory),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
