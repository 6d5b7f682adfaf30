/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_tile.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A multiple of a tile: every download opens and closes things of its own. */
#define DOWNLOAD_BYTES (64u * TILE_BYTES)

uint32_t *tile_words(struct bench_case *c)
{
	uint32_t *tile = own_host(c, TILE_BYTES);
	if (tile)
		rng_fill_u32(&c->rng, tile, TILE_WORDS);
	return tile;
}

float *tile_reals(struct bench_case *c)
{
	float *tile = own_host(c, TILE_BYTES);
	if (tile)
		rng_fill_f32(&c->rng, tile, TILE_WORDS);
	return tile;
}

static uint64_t at_most(uint64_t bytes, uint64_t most) { return bytes < most ? bytes : most; }

/* What is there already is copied behind itself: gigabytes take a few copies within the device. */
static int repeat(struct dev *dev, char *at, uint64_t bytes)
{
	struct dev_stream *stream;
	int status = dev_stream_open(dev, dev_props(dev)->priority_normal, &stream);
	if (status)
		return status;
	for (uint64_t there = TILE_BYTES; status == 0 && there < bytes; there *= 2)
		status = dev_copy(dev, stream, at + there, at, at_most(bytes - there, there));
	int synced = dev_stream_sync(dev, stream);
	dev_stream_close(dev, stream);
	return status ? status : synced;
}

int tile_fill(struct bench_case *c, struct dev *dev, void *at, uint64_t bytes, const void *tile)
{
	int status = own_status(c);
	if (status == 0)
		status = dev_upload(dev, at, tile, at_most(bytes, TILE_BYTES));
	if (status == 0 && bytes > TILE_BYTES)
		status = repeat(dev, at, bytes);
	return own_result(c, status);
}

void *tile_memory(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes, const void *tile)
{
	void *memory = own_memory_on(c, dev, kind, bytes);
	return tile_fill(c, dev, memory, bytes, tile) ? NULL : memory;
}

static float real_of(uint32_t word)
{
	float real;
	memcpy(&real, &word, sizeof(real));
	return real;
}

/* The first word that is not as it should be, or `words`. Written so that what is not a number is wrong. */
static size_t first_wrong(const uint32_t *found, const uint32_t *tile, size_t words, float tolerance)
{
	size_t i = 0;
	while (i < words && (found[i] == tile[i % TILE_WORDS] ||
	                     (tolerance > 0.0f && fabsf(real_of(found[i]) - real_of(tile[i % TILE_WORDS])) <= tolerance)))
		i++;
	return i;
}

static int wrong(uint64_t word, uint32_t found, uint32_t expected, float tolerance)
{
	if (tolerance > 0.0f)
		return bench_wrong("element %" PRIu64 " is %.9g, not %.9g", word, (double)real_of(found),
		                   (double)real_of(expected));
	return bench_wrong("word %" PRIu64 " is 0x%08" PRIx32 ", not 0x%08" PRIx32, word, found, expected);
}

int tile_check(struct dev *dev, const void *at, uint64_t bytes, const void *tile, float tolerance)
{
	uint64_t room = at_most(bytes, DOWNLOAD_BYTES);
	uint32_t *back = malloc(room);
	const uint32_t *expected = tile;
	int status = back ? 0 : err_note(-ENOMEM, "room to check %" PRIu64 " bytes: out of memory", bytes);
	for (uint64_t from = 0; status == 0 && from < bytes; from += room) {
		size_t words = at_most(bytes - from, room) / 4;
		status = dev_download(dev, back, (const char *)at + from, 4 * words);
		size_t i = status ? words : first_wrong(back, expected, words, tolerance);
		if (i < words)
			status = wrong(from / 4 + i, back[i], expected[i % TILE_WORDS], tolerance);
	}
	free(back);
	return status;
}

uint32_t tile_sum(const void *tile, uint64_t bytes)
{
	const uint32_t *words = tile;
	uint32_t whole = 0, cut = 0;
	for (size_t i = 0; i < TILE_WORDS; i++) {
		whole += words[i];
		cut += i < bytes % TILE_BYTES / 4 ? words[i] : 0;
	}
	return whole * (uint32_t)(bytes / TILE_BYTES) + cut;
}
