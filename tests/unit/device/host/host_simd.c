/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every instruction set computes what the kernel list says, and writes nothing else.
 */
#include "device/host/host_simd.h"
#include "device/kernels.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_BYTES 16384u
#define GUARD 256u

static const uint64_t sizes[] = {0, 256, 512, 768, 4096, 4096 + 256, MAX_BYTES};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static _Alignas(256) unsigned char a[MAX_BYTES + GUARD], b[MAX_BYTES + GUARD], c[MAX_BYTES + GUARD];

static void fill_buffers(void)
{
	for (uint32_t i = 0; i < sizeof(a); i++) {
		a[i] = 0xAA;
		b[i] = (unsigned char)(i * 7 + i / 251);
		c[i] = (unsigned char)(i * 13 + i / 241);
	}
}

static bool untouched_from(uint64_t bytes)
{
	for (uint64_t i = bytes; i < sizeof(a); i++)
		if (a[i] != 0xAA)
			return false;
	return true;
}

static void sum_is_exact(const struct host_simd *s)
{
	for (size_t i = 0; i < SIZES; i++) {
		uint32_t sum = 0, word;
		fill_buffers();
		for (uint64_t at = 0; at < sizes[i]; at += sizeof(word)) {
			memcpy(&word, b + at, sizeof(word));
			sum += word;
		}
		expect(s->read(b, sizes[i], 1) == sum && s->read(b, sizes[i], 3) == sum);
		expect(s->read(b, sizes[i], 0) == 0);
	}
}

static void stores_are_exact(const struct host_simd *s)
{
	const uint32_t word = 0x01020304;
	for (size_t i = 0; i < 2 * SIZES; i++) {
		const uint64_t bytes = sizes[i / 2];
		bool right = true;
		fill_buffers();
		(i % 2 ? s->write : s->write_nt)(a, bytes, 2, word);
		for (uint64_t at = 0; at < bytes; at += sizeof(word))
			right = right && memcmp(a + at, &word, sizeof(word)) == 0;
		expect(right && untouched_from(bytes));
	}
}

static void copies_are_exact(const struct host_simd *s)
{
	for (size_t i = 0; i < 2 * SIZES; i++) {
		const uint64_t bytes = sizes[i / 2];
		fill_buffers();
		(i % 2 ? s->copy : s->copy_nt)(a, b, bytes, 2);
		expect(memcmp(a, b, bytes) == 0 && untouched_from(bytes));
	}
}

static void triad_is_exact(const struct host_simd *s)
{
	static _Alignas(256) float x[MAX_BYTES / sizeof(float)], y[MAX_BYTES / sizeof(float)];
	for (uint32_t i = 0; i < MAX_BYTES / sizeof(float); i++) {
		x[i] = (float)(i % 1000);
		y[i] = (float)(i % 77) - 38.0f;
	}
	for (size_t i = 0; i < 2 * SIZES; i++) {
		const uint64_t bytes = sizes[i / 2];
		bool right = true;
		fill_buffers();
		(i % 2 ? s->triad : s->triad_nt)((float *)(void *)a, x, y, bytes, 2, 3.0f);
		for (uint64_t at = 0; at < bytes / sizeof(float); at++) {
			/* Small integers: exact with and without fused multiply-add. */
			const float wanted = x[at] + 3.0f * y[at];
			float got;
			memcpy(&got, a + at * sizeof(float), sizeof(got));
			right = right && got == wanted;
		}
		expect(right && untouched_from(bytes));
	}
}

static void arithmetic_is_finite_and_repeats(const struct host_simd *s)
{
	for (uint64_t fmas = 0; fmas <= 64 * DEV_FMA_QUANTUM;
	     fmas = fmas ? 8 * fmas : DEV_FMA_QUANTUM) {
		const float f32 = s->fma_f32(fmas);
		const double f64 = s->fma_f64(fmas);
		expect(isfinite(f32) && isfinite(f64));
		expect(f32 == s->fma_f32(fmas) && f64 == s->fma_f64(fmas));
	}
}

enum { DEPTH = DEV_ATTENTION_DEPTH, KEYS = 7 };
static float rows[4][DEPTH], keys[KEYS][DEPTH];

/* Small integers: exact in any order. */
static void fill_rows(void)
{
	for (int i = 0; i < 4 * DEPTH; i++)
		rows[i / DEPTH][i % DEPTH] = (float)(i * 5 % 11 - 5);
	for (int i = 0; i < KEYS * DEPTH; i++)
		keys[i / DEPTH][i % DEPTH] = (float)(i * 3 % 13 - 6);
}

static void rows_are_exact(const struct host_simd *s)
{
	float scores[4 * KEYS + 1], sums[4][DEPTH];
	fill_rows();
	scores[4 * KEYS] = 77.0f;
	s->dot_rows(scores, rows[0], keys[0], KEYS);
	for (int i = 0; i < 4 * KEYS; i++) {
		float want = 0.0f;
		for (int j = 0; j < DEPTH; j++)
			want += rows[i / KEYS][j] * keys[i % KEYS][j];
		expect(scores[i] == want);
		scores[i] = (float)(i % 5 - 2);
	}
	expect(scores[4 * KEYS] == 77.0f);
	memcpy(sums, rows, sizeof(sums));
	s->add_rows(sums[0], scores, keys[0], KEYS);
	for (int i = 0; i < 4 * DEPTH; i++) {
		float want = rows[i / DEPTH][i % DEPTH];
		for (int j = 0; j < KEYS; j++)
			want += scores[i / DEPTH * KEYS + j] * keys[j][i % DEPTH];
		expect(sums[i / DEPTH][i % DEPTH] == want);
	}
}

/* Whole vectors and what is left; from what is 2^-126 to what is 2^20. */
static void powers_are_close(const struct host_simd *s)
{
	enum { COUNT = 16 * 40 + 5 };
	static float x[COUNT + 1];
	double sum = 0.0;
	for (int i = 0; i <= COUNT; i++)
		x[i] = (float)i * 0.37f - 220.0f;
	const float last = x[COUNT], got = s->exp2(x, COUNT, 1.5f, -1.0f);
	for (int i = 0; i < COUNT; i++) {
		const float from = (float)i * 0.37f - 220.0f;
		const double want = exp2(fmax(1.5 * (double)from + 1.0, -126.0));
		expect(fabs((double)x[i] - want) <= 0x1p-17 * want);
		sum += want;
	}
	expect(fabs((double)got - sum) <= 0x1p-17 * sum && x[COUNT] == last);
	for (int i = 0; i < COUNT; i++)
		x[i] = -(float)i / COUNT;
	(void)s->exp2(x, COUNT, 1.0f, 0.0f);
	for (int i = 0; i < COUNT; i++) {
		const double want = exp2(-(double)((float)i / COUNT));
		expect(fabs((double)x[i] - want) <= 0x1p-21 * want);
	}
}

static const struct host_simd *current;
static void row_loops(void) { rows_are_exact(current); }
static void exp2_loops(void) { powers_are_close(current); }
static void read_loops(void) { sum_is_exact(current); }
static void write_loops(void) { stores_are_exact(current); }
static void copy_loops(void) { copies_are_exact(current); }
static void triad_loops(void) { triad_is_exact(current); }
static void fma_loops(void) { arithmetic_is_finite_and_repeats(current); }

static void a_portable_set_always_exists(void)
{
	size_t count = 0;
	while (host_simd_at(count))
		count++;
	expect(count >= 1);
	expect(host_simd_best() == host_simd_at(0));
	expect_str(host_simd_at(count - 1)->name, "portable");
}

int main(void)
{
	test(a_portable_set_always_exists);
	for (size_t i = 0; (current = host_simd_at(i)) != NULL; i++) {
		printf("# %s\n", current->name);
		test(read_loops);
		test(write_loops);
		test(copy_loops);
		test(triad_loops);
		test(fma_loops);
		test(row_loops);
		test(exp2_loops);
	}
	return test_done();
}
