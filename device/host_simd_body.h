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
typedef uint32_t ISA(loose) __attribute__((vector_size(WIDTH), may_alias, aligned(1)));

#define WORDS ISA(words)
#define LOOSE ISA(loose) /* words at any address: costs nothing at an aligned one */
#define FLOATS ISA(floats)
#define DOUBLES ISA(doubles)
/* Vectors in a trip of QUANTUM bytes, and loads in flight before the first store. */
#define TRIP (QUANTUM / WIDTH)
#define BATCH 8

/* The loops below take constants: a trip's vectors (the rest of an odd quantum is a trip of its own), and how
 * far ahead to prefetch, where 0 is not at all. */

TARGET ALWAYS_INLINE void ISA(prefetch)(const void *at, size_t vectors, size_t ahead)
{
	if (ahead)
		UNROLL for (size_t i = 0; i < vectors * WIDTH / CACHE_LINE; i++)
			__builtin_prefetch((const char *)at + ahead + i * CACHE_LINE, 0, 3);
}

TARGET ALWAYS_INLINE uint32_t ISA(read_loop)(const void *src, uint64_t bytes, uint32_t reps, size_t trip, size_t ahead)
{
	const WORDS *const end = (const WORDS *)src + bytes / WIDTH;
	WORDS sum[BATCH] = { { 0 } };
	uint32_t total = 0;
	for (uint32_t rep = 0; rep < reps; rep++) {
		const WORDS *at = src;
		UNROLL for (size_t i = 0; i < BATCH; i++)
			sum[i] = (WORDS){ 0 };
		for (; at + trip <= end; at += trip) {
			ISA(prefetch)(at, trip, ahead);
			UNROLL for (size_t i = 0; i < trip; i++)
				sum[i % BATCH] += at[i];
		}
		for (; at < end; at++)
			sum[0] += *at;
		/* A pass whose sum is not needed has to add all the same. */
		UNROLL for (size_t i = 1; i < BATCH; i++)
			sum[0] += sum[i];
		KEEP(sum[0]);
	}
	for (size_t lane = 0; lane < WIDTH / sizeof(uint32_t); lane++)
		total += sum[0][lane];
	return total;
}

TARGET ALWAYS_INLINE void ISA(write_loop)(void *dst, uint64_t bytes, uint32_t reps, uint32_t word, size_t ahead,
                                          bool streaming)
{
	WORDS *const end = (WORDS *)dst + bytes / WIDTH;
	const WORDS value = word - (WORDS){ 0 };
	for (uint32_t rep = 0; rep < reps; rep++)
		for (WORDS *to = dst; to < end; to += TRIP) {
			ISA(prefetch)(to, TRIP, ahead);
			UNROLL for (size_t i = 0; i < TRIP; i++)
				if (streaming)
					STREAM(to + i, value);
				else
					to[i] = value;
			KEEP_LOOP();
		}
}

TARGET ALWAYS_INLINE void ISA(copy_batch)(WORDS *to, const LOOSE *from, size_t count, bool streaming)
{
	WORDS batch[BATCH];
	UNROLL for (size_t i = 0; i < count; i++)
		batch[i] = from[i];
	UNROLL for (size_t i = 0; i < count; i++)
		if (streaming)
			STREAM(to + i, batch[i]);
		else
			to[i] = batch[i];
}

TARGET ALWAYS_INLINE void ISA(copy_trip)(WORDS *to, const LOOSE *from, size_t trip, bool streaming)
{
	const size_t count = trip < BATCH ? trip : BATCH;
	UNROLL for (size_t start = 0; start < trip; start += count)
		ISA(copy_batch)(to + start, from + start, count, streaming);
	KEEP_LOOP();
}

TARGET ALWAYS_INLINE void ISA(copy_loop)(void *dst, const void *src, uint64_t bytes, uint32_t reps, size_t trip,
                                         size_t ahead, bool streaming)
{
	WORDS *const end = (WORDS *)dst + bytes / WIDTH;
	for (uint32_t rep = 0; rep < reps; rep++) {
		WORDS *to = dst;
		const LOOSE *from = src;
		for (; to + trip <= end; to += trip, from += trip) {
			ISA(prefetch)(from, trip, ahead);
			ISA(copy_trip)(to, from, trip, streaming);
		}
		for (; to < end; to += TRIP, from += TRIP)
			ISA(copy_trip)(to, from, TRIP, streaming);
	}
}

TARGET ALWAYS_INLINE void ISA(triad_trip)(FLOATS *to, const FLOATS *x, const FLOATS *y, FLOATS factor, size_t trip,
                                          bool streaming)
{
	UNROLL for (size_t i = 0; i < trip; i++) {
		const FLOATS sum = FMA_F32(factor, y[i], x[i]);
		if (streaming)
			STREAM(to + i, (WORDS)sum);
		else
			to[i] = sum;
	}
	KEEP_LOOP();
}

TARGET ALWAYS_INLINE void ISA(triad_loop)(float *a, const float *b, const float *c, uint64_t bytes, uint32_t reps,
                                          float scale, size_t trip, bool streaming)
{
	FLOATS *const end = (FLOATS *)(void *)a + bytes / WIDTH;
	const FLOATS factor = scale - (FLOATS){ 0 };
	for (uint32_t rep = 0; rep < reps; rep++) {
		FLOATS *to = (FLOATS *)(void *)a;
		const FLOATS *x = (const FLOATS *)(const void *)b, *y = (const FLOATS *)(const void *)c;
		for (; to + trip <= end; to += trip, x += trip, y += trip)
			ISA(triad_trip)(to, x, y, factor, trip, streaming);
		for (; to < end; to += TRIP, x += TRIP, y += TRIP)
			ISA(triad_trip)(to, x, y, factor, TRIP, streaming);
	}
}

/* What is fastest was measured per level of the memory hierarchy: prefetching takes load slots that a first-level
 * cache needs, but hides latency that hardware prefetchers leave from further levels. */

TARGET static uint32_t ISA(read)(const void *src, uint64_t bytes, uint32_t reps)
{
	return bytes <= NEAR_BYTES ? ISA(read_loop)(src, bytes, reps, TRIP, 0)
	                           : ISA(read_loop)(src, bytes, reps, 2 * TRIP, 4096);
}

TARGET static void ISA(write)(void *dst, uint64_t bytes, uint32_t reps, uint32_t word)
{
	if (bytes <= FAR_BYTES)
		ISA(write_loop)(dst, bytes, reps, word, 0, false);
	else
		ISA(write_loop)(dst, bytes, reps, word, 1024, false);
}

TARGET static void ISA(write_nt)(void *dst, uint64_t bytes, uint32_t reps, uint32_t word)
{
	ISA(write_loop)(dst, bytes, reps, word, 0, true);
	FENCE();
}

TARGET static void ISA(copy)(void *dst, const void *src, uint64_t bytes, uint32_t reps)
{
	if (bytes <= FAR_BYTES)
		ISA(copy_loop)(dst, src, bytes, reps, 2 * TRIP, 0, false);
	else
		ISA(copy_loop)(dst, src, bytes, reps, TRIP, 1024, false);
}

TARGET static void ISA(copy_nt)(void *dst, const void *src, uint64_t bytes, uint32_t reps)
{
	if (bytes <= FAR_BYTES)
		ISA(copy_loop)(dst, src, bytes, reps, 2 * TRIP, 0, true);
	else
		ISA(copy_loop)(dst, src, bytes, reps, 2 * TRIP, 4096, true);
	FENCE();
}

TARGET static void ISA(triad)(float *a, const float *b, const float *c, uint64_t bytes, uint32_t reps, float scale)
{
	if (bytes <= NEAR_BYTES)
		ISA(triad_loop)(a, b, c, bytes, reps, scale, TRIP, false);
	else
		ISA(triad_loop)(a, b, c, bytes, reps, scale, 2 * TRIP, false);
}

TARGET static void ISA(triad_nt)(float *a, const float *b, const float *c, uint64_t bytes, uint32_t reps, float scale)
{
	ISA(triad_loop)(a, b, c, bytes, reps, scale, TRIP, true);
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
#undef LOOSE
#undef FLOATS
#undef DOUBLES
#undef TRIP
#undef BATCH
#undef ISA
#undef TARGET
#undef WIDTH
#undef NAME
#undef CHAINS
#undef STREAM
#undef FMA_F32
#undef FMA_F64
