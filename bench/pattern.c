/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/pattern.h"
#include "bench/bench_check.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

_Static_assert(BENCH_READ_PINNED % PATTERN_BYTES == 0, "a part that is read has whole patterns");

uint32_t *pattern_words(struct bench_case *c)
{
	uint32_t *pattern = bench_alloc_host(c, PATTERN_BYTES);
	if (pattern)
		rng_fill_u32(&c->rng, pattern, PATTERN_WORDS);
	return pattern;
}

float *pattern_reals(struct bench_case *c)
{
	float *pattern = bench_alloc_host(c, PATTERN_BYTES);
	if (pattern)
		rng_fill_f32(&c->rng, pattern, PATTERN_WORDS);
	return pattern;
}

static uint64_t min_bytes(uint64_t bytes, uint64_t other) { return bytes < other ? bytes : other; }

/* Copy the filled part behind itself, doubling it: gigabytes take a few copies within the
 * device. */
static int repeat_pattern(struct dev *dev, char *at, uint64_t bytes)
{
	struct dev_stream *stream;
	int status = dev_stream_open(dev, dev_props(dev)->priority_normal, &stream);
	if (status)
		return status;
	for (uint64_t there = PATTERN_BYTES; status == 0 && there < bytes; there *= 2)
		status = dev_copy(dev, stream, at + there, at, min_bytes(bytes - there, there));
	int synced = dev_stream_sync(dev, stream);
	dev_stream_close(dev, stream);
	return status ? status : synced;
}

int pattern_fill(struct bench_case *c, struct dev *dev, void *at, uint64_t bytes,
		 const void *pattern)
{
	int status = c->status;
	if (status || !bench_has_results(c))
		return status;
	status = dev_upload(dev, at, pattern, min_bytes(bytes, PATTERN_BYTES));
	if (status == 0 && bytes > PATTERN_BYTES)
		status = repeat_pattern(dev, at, bytes);
	return TRY(c->status, status);
}

void *pattern_alloc(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes,
		    const void *pattern)
{
	void *memory = bench_alloc_on(c, dev, kind, bytes);
	return pattern_fill(c, dev, memory, bytes, pattern) ? NULL : memory;
}

static float float_of_bits(uint32_t word)
{
	float real;
	memcpy(&real, &word, sizeof(real));
	return real;
}

/* The index of the first wrong word, or `words`. The comparison is written so that NaN is wrong. */
static size_t find_mismatch(const uint32_t *found, const uint32_t *pattern, size_t words,
			    float tolerance)
{
	size_t i = 0;
	/* Many at once first, which is several times as fast as word by word. */
	while (i < words &&
	       memcmp(found + i, pattern, 4 * min_bytes(words - i, PATTERN_WORDS)) == 0)
		i += min_bytes(words - i, PATTERN_WORDS);
	while (i < words && (found[i] == pattern[i % PATTERN_WORDS] ||
			     (tolerance > 0.0f &&
			      fabsf(float_of_bits(found[i]) -
				    float_of_bits(pattern[i % PATTERN_WORDS])) <= tolerance)))
		i++;
	return i;
}

static int report_mismatch(uint64_t word, uint32_t found, uint32_t expected, float tolerance)
{
	if (tolerance > 0.0f)
		return bench_wrong("element %" PRIu64 " is %.9g, not %.9g", word,
				   (double)float_of_bits(found), (double)float_of_bits(expected));
	return bench_wrong("word %" PRIu64 " is 0x%08" PRIx32 ", not 0x%08" PRIx32, word, found,
			   expected);
}

int pattern_check(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes,
		  const void *pattern, float tolerance)
{
	if (bench_known_right(c, dev, at, bytes))
		return 0;
	const uint32_t *expected = pattern;
	struct bench_reader reader = {.dev = dev};
	int status = 0;
	for (uint64_t from = 0, part; status == 0 && from < bytes; from += part) {
		const void *found;
		part = min_bytes(bytes - from, BENCH_READ_PINNED);
		status = bench_read(c, &reader, (const char *)at + from, part, &found);
		const uint32_t *words = found;
		size_t i = status ? part / 4 : find_mismatch(words, expected, part / 4, tolerance);
		if (i < part / 4)
			status = report_mismatch(from / 4 + i, words[i],
						 expected[i % PATTERN_WORDS], tolerance);
	}
	bench_read_end(&reader);
	if (status == 0)
		bench_note_right(c, dev, at, bytes);
	return status;
}

uint32_t pattern_sum(const void *pattern, uint64_t bytes)
{
	const uint32_t *words = pattern;
	uint32_t whole = 0, cut = 0;
	for (size_t i = 0; i < PATTERN_WORDS; i++) {
		whole += words[i];
		cut += i < bytes % PATTERN_BYTES / 4 ? words[i] : 0;
	}
	return whole * (uint32_t)(bytes / PATTERN_BYTES) + cut;
}
