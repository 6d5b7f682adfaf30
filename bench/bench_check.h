/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fingerprints of right results, so that a check need not compare equal results again.
 *
 * The harness checks what timed samples leave behind, as often as a tenth of the time allows, and
 * to fetch a result and to compare every element may take a thousand times as long as to compute
 * it. So the harness keeps the FINGERPRINT of a result that was right, the sum of all its 32-bit
 * words modulo 2^32, which the device computes. A result with the same fingerprint is right. Any
 * other one is compared in full, so results that differ from execution to execution are never
 * called wrong for that. Words that changed places are not seen; the check at the end of a case
 * compares in full.
 *
 *     if (bench_known_right(c, dev, at, bytes))
 *             return 0;
 *     ... fetch, compare, and return what is wrong ...
 *     bench_note_right(c, dev, at, bytes);
 */
#ifndef GPUSIG_BENCH_CHECK_H
#define GPUSIG_BENCH_CHECK_H

#include "bench/bench.h"

/* In check: whether the bytes at `at`, memory of `dev`, have the fingerprint that they had when
 * this variant's result was right. False where a fingerprint takes longer than to compare, where a
 * kernel of `dev` cannot read all of it (memory that is pageable, or not a multiple of
 * DEV_KERNEL_ALIGN), and in the check at the end. */
bool bench_known_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes);

/* In check, after bench_known_right() was false: they were compared and are right. */
void bench_note_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes);

#define BENCH_READ_PINNED (UINT64_C(64) << 20) /* larger reads go by parts into ordinary memory */

/* Results for the host to read, in check. Set `dev`; end it whatever was returned. */
struct bench_reader {
	struct dev *dev;
	struct dev_stream *stream; /* this and memory: by the first read that needs them */
	void *pinned, *large;
};

/* *found_p: what is at `at`, memory of the reader's device: that memory itself where the host may
 * read it, else a copy, valid until the next read. The first read is the largest. -ENOMEM,
 * or the device's errors. */
int bench_read(struct bench_case *c, struct bench_reader *r, const void *at, uint64_t bytes,
	       const void **found_p);
void bench_read_end(struct bench_reader *r);

#endif
