/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of any size whose contents are known: one random tile that repeats. Filling gigabytes with numbers of their
 * own would take longer than measuring them. What an element-wise operation makes of such buffers is a repeating tile
 * too, so a check computes the tile that is expected and compares.
 *
 * A buffer's last tile may be cut; sizes are multiples of 4. Nothing here is for timed code.
 */
#ifndef GPUSIG_BENCH_TILE_H
#define GPUSIG_BENCH_TILE_H

#include "lib/bench_own.h"

#define TILE_BYTES (1u << 20)
enum { TILE_WORDS = TILE_BYTES / 4 };

/* A tile on the host that the case owns: random words from the case's generator, or random reals in [-1, 1).
 * NULL, and own_status() says why, when there is no memory. */
uint32_t *tile_words(struct bench_case *c);
float *tile_reals(struct bench_case *c);

/* Fill memory with the repeating tile; does nothing after an error of the case. Returns own_status(). */
int tile_fill(struct bench_case *c, struct dev *dev, void *at, uint64_t bytes, const void *tile);

/* own_memory_on() and tile_fill(). */
void *tile_memory(struct bench_case *c, struct dev *dev, enum dev_mem kind, uint64_t bytes, const void *tile);

/* Does `at` hold the repeating tile? With a tolerance words are reals that may be off by it, with 0 they are compared bit
 * for bit. 0, -EBADMSG with a text that names the first word that is wrong, or an error of the device. */
int tile_check(struct dev *dev, const void *at, uint64_t bytes, const void *tile, float tolerance);

/* The sum, modulo 2^32, of all words of a buffer of the repeating tile. */
uint32_t tile_sum(const void *tile, uint64_t bytes);

#endif
