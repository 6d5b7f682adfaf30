/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A template: device/host_simd.c includes it once per instruction set with these defined.
 *   ISA(name)        name with the set's suffix
 *   TARGET           function attribute that enables the set
 *   WIDTH            bytes in a vector
 *   STREAM(p, v)     non-temporal store of words v at p
 *   FENCE()          order streaming stores before later ones
 *   FMA_F32/F64      multiply-add of three vectors
 *   CHAINS           independent accumulators: enough to cover latency times issue width
 */
typedef uint32_t ISA(words) __attribute__((vector_size(WIDTH), may_alias));
typedef float ISA(floats) __attribute__((vector_size(WIDTH), may_alias));
typedef double ISA(doubles) __attribute__((vector_size(WIDTH), may_alias));

#define WORDS ISA(words)
#define FLOATS ISA(floats)
#define DOUBLES ISA(doubles)
#define VECTORS_OF(bytes) ((bytes) / WIDTH)
/* One trip handles this many vectors: 256 bytes, which every size is a multiple of. */
#define TRIP (256 / WIDTH)

TARGET static uint32_t ISA(read)(const void *src, uint64_t bytes)
{
	const WORDS *at = src, *end = at + VECTORS_OF(bytes);
	WORDS sum[TRIP] = { { 0 } };
	for (; at < end; at += TRIP)
		UNROLL for (size_t i = 0; i < TRIP; i++)
			sum[i] += at[i];
	uint32_t total = 0;
	for (size_t i = 0; i < TRIP; i++)
		for (size_t lane = 0; lane < WIDTH / sizeof(uint32_t); lane++)
			total += sum[i][lane];
	return total;
}

TARGET static void ISA(write)(void *dst, uint64_t bytes, uint32_t word)
{
	WORDS *at = dst, *end = at + VECTORS_OF(bytes);
	const WORDS value = word - (WORDS){ 0 };
	for (; at < end; at += TRIP) {
		UNROLL for (size_t i = 0; i < TRIP; i++)
			at[i] = value;
		KEEP_LOOP(at);
	}
}

TARGET static void ISA(write_nt)(void *dst, uint64_t bytes, uint32_t word)
{
	WORDS *at = dst, *end = at + VECTORS_OF(bytes);
	const WORDS value = word - (WORDS){ 0 };
	for (; at < end; at += TRIP)
		UNROLL for (size_t i = 0; i < TRIP; i++)
			STREAM(at + i, value);
	FENCE();
}

TARGET static void ISA(copy)(void *dst, const void *src, uint64_t bytes)
{
	WORDS *to = dst, *end = to + VECTORS_OF(bytes);
	const WORDS *from = src;
	for (; to < end; to += TRIP, from += TRIP) {
		UNROLL for (size_t i = 0; i < TRIP; i++)
			to[i] = from[i];
		KEEP_LOOP(to);
	}
}

TARGET static void ISA(copy_nt)(void *dst, const void *src, uint64_t bytes)
{
	WORDS *to = dst, *end = to + VECTORS_OF(bytes);
	const WORDS *from = src;
	for (; to < end; to += TRIP, from += TRIP)
		UNROLL for (size_t i = 0; i < TRIP; i++)
			STREAM(to + i, from[i]);
	FENCE();
}

TARGET static void ISA(triad)(float *a, const float *b, const float *c, uint64_t bytes, float scale)
{
	FLOATS *to = (FLOATS *)a, *end = to + VECTORS_OF(bytes);
	const FLOATS *x = (const FLOATS *)b, *y = (const FLOATS *)c;
	const FLOATS factor = scale - (FLOATS){ 0 };
	for (; to < end; to += TRIP, x += TRIP, y += TRIP)
		UNROLL for (size_t i = 0; i < TRIP; i++)
			to[i] = FMA_F32(factor, y[i], x[i]);
}

TARGET static void ISA(triad_nt)(float *a, const float *b, const float *c, uint64_t bytes, float scale)
{
	FLOATS *to = (FLOATS *)a, *end = to + VECTORS_OF(bytes);
	const FLOATS *x = (const FLOATS *)b, *y = (const FLOATS *)c;
	const FLOATS factor = scale - (FLOATS){ 0 };
	for (; to < end; to += TRIP, x += TRIP, y += TRIP)
		UNROLL for (size_t i = 0; i < TRIP; i++) {
			const FLOATS sum = FMA_F32(factor, y[i], x[i]);
			STREAM(to + i, (WORDS)sum);
		}
	FENCE();
}

/* x <- x*0.5 + 1 tends to 2 from any start, so that no value overflows or becomes subnormal. */
TARGET static float ISA(fma_f32)(uint64_t fmas)
{
	FLOATS x[CHAINS];
	const FLOATS half = 0.5f - (FLOATS){ 0 }, one = 1.0f - (FLOATS){ 0 };
	for (size_t i = 0; i < CHAINS; i++)
		x[i] = (float)(i + 1) - (FLOATS){ 0 };
	for (uint64_t left = fmas / (CHAINS * (WIDTH / sizeof(float))); left > 0; left--)
		UNROLL for (size_t i = 0; i < CHAINS; i++)
			x[i] = FMA_F32(x[i], half, one);
	for (size_t i = 1; i < CHAINS; i++)
		x[0] += x[i];
	return x[0][0];
}

TARGET static double ISA(fma_f64)(uint64_t fmas)
{
	DOUBLES x[CHAINS];
	const DOUBLES half = 0.5 - (DOUBLES){ 0 }, one = 1.0 - (DOUBLES){ 0 };
	for (size_t i = 0; i < CHAINS; i++)
		x[i] = (double)(i + 1) - (DOUBLES){ 0 };
	for (uint64_t left = fmas / (CHAINS * (WIDTH / sizeof(double))); left > 0; left--)
		UNROLL for (size_t i = 0; i < CHAINS; i++)
			x[i] = FMA_F64(x[i], half, one);
	for (size_t i = 1; i < CHAINS; i++)
		x[0] += x[i];
	return x[0][0];
}

static const struct host_simd ISA(table) = {
	.name = NAME,
	.read = ISA(read),
	.write = ISA(write),
	.write_nt = ISA(write_nt),
	.copy = ISA(copy),
	.copy_nt = ISA(copy_nt),
	.triad = ISA(triad),
	.triad_nt = ISA(triad_nt),
	.fma_f32 = ISA(fma_f32),
	.fma_f64 = ISA(fma_f64),
};

#undef WORDS
#undef FLOATS
#undef DOUBLES
#undef VECTORS_OF
#undef TRIP
#undef ISA
#undef TARGET
#undef WIDTH
#undef NAME
#undef CHAINS
#undef STREAM
#undef FMA_F32
#undef FMA_F64
