/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds: a product on every device that takes part and a transfer, each alone, one after the other, or both at once.
 *
 * Each device has a stream for products and one for transfers. What a round consists of is enqueued while the stream of the
 * first side is held by a gate; behind the gate the device stamps its beginning, and the stream of the second side starts after
 * that stamp and two more. So the first side is there first, by the time that these events take, and both are in the round from
 * its beginning.
 * Taken one after the other, both are in the stream of products.
 *
 * Times are of the devices' own stamps, from the beginning to the end of a side or of the later one. Clocks of different devices
 * need not agree: among several, the longest of the devices' times counts. One write of the host opens the gate for all.
 */
#ifndef GPUSIG_PAIR_ROUNDS_H
#define GPUSIG_PAIR_ROUNDS_H

#include "lib/bench_product.h"
#include "overlap/pair/transfer.h"

enum round_kind { ROUND_GEMM, ROUND_TRANSFER, ROUND_SERIAL, ROUND_GEMM_FIRST, ROUND_TRANSFER_FIRST };

/* What a device has in it. */
struct seat {
	struct dev *dev;
	struct product product;
	struct dev_event *begin, *follow, *gemm_end, *transfer_end;
};

struct rounds {
	size_t count;
	struct seat *seat;
	struct dev_stream **compute, **traffic; /* one of each for every seat */
	struct transfer transfer;
	struct gate *gate;
};

struct round_times {
	double gemm_s, transfer_s, all_s; /* 0 for a side that the round hasn't */
};

/* In setup: products of the case's axes on all devices that the transfer has as senders. The case owns all of it. Runs each side
 * once without a gate, for what is loaded at the first use may wait for all queues. `bytes`: what is sent then, and until
 * transfer_resize(). */
int rounds_open(struct rounds *r, struct bench_case *c, enum transfer_kind kind, const struct mover *mover, uint64_t bytes);

/* One round; waits for its end. */
int rounds_run(struct rounds *r, enum round_kind kind, struct round_times *times_p);

/* In prove: while the streams of products are held, is the whole transfer carried out? */
int rounds_prove_independent(struct rounds *r, struct bench_case *c);

/* As the callbacks of the same name; waits. */
int rounds_spoil(struct rounds *r, struct bench_case *c);
int rounds_check_products(struct rounds *r, struct bench_case *c);

#endif
