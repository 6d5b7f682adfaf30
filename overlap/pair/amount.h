/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much a transfer beside a product carries: bytes (64M), or as many as take a multiple of the product's time (0.5x).
 */
#ifndef GPUSIG_PAIR_AMOUNT_H
#define GPUSIG_PAIR_AMOUNT_H

#include "overlap/pair/rounds.h"

struct amount {
	double times;   /* of the product's time; 0: not given */
	uint64_t bytes; /* else these */
};

/* -EINVAL with a text that lists what exists. */
int amount_parse(const char *word, struct amount *amount_p);

/* In setup: resize the transfer of open rounds. A multiple is met by trying, each side alone, until it is off by a tenth at most;
 * less when memory ends before. */
int amount_choose(const struct amount *a, struct rounds *r, struct bench_case *c);

#endif
