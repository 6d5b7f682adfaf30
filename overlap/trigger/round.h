/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds of overlap/trigger: one timed run of a strategy. In a round every producer
 * (overlap/trigger/producer.h) computes a GEMM and sends the rows of its result, by strategy after
 * the whole GEMM, after each of several GEMMs of a band, or band by band as soon as the counters of
 * one GEMM say that a band's rows are finished (dev_gemm.done). A round is a run of the strategy's
 * work graph.
 *
 * Order.     A round starts after the earlier work of the case's stream, and later work of that
 *            stream waits for the whole round.
 * Stagger.   Staggered, producer i computes and sends first the bands after chunk i, and its own
 *            chunk last, so that at first no two producers send to the same device. The GEMM is
 *            then two calls, cut at the first band; for a fair comparison these are the same two
 *            calls without stagger.
 * Counters.  They grow from round to round: the n-th GEMM since they were 0 is waited for with the
 *            value n times a band's elements. Fills in the GEMM lanes, inside the timed region, set
 *            them to 0 before they would exceed DEV_VALUE_MAX; no wait of a later round starts
 *            before that. A GEMM is enqueued before the operations that wait for it.
 * Adding.    The receiver adds each band to its sum: read from the producer's C, or from the copy
 *            that arrived. In an exchange, device j adds chunk j of every device, of its own C too.
 * Ring.      A reduce-scatter, as T3's (arXiv 2401.16677), of the C of every device: device i sends
 *            to device i-1, and chunk j starts at device j-1 and ends, summed over all devices, at
 *            device j. A HOP of a device and bands of a chunk waits until its own rows are finished
 *            and the neighbour's sum of them has arrived in its inbox, adds its own rows to it
 *            there, and copies the sum to the next inbox; the first device only copies, the last
 *            one only adds. A chunk makes N-1 hops over links. C stays as the GEMM left it.
 *            Additions run in the device's lane for adding, copies in that for sending, both in the
 *            order of the chunks: staggered, device i begins with chunk i+1 and ends with its own,
 *            so that all devices send from the start; else all begin with chunk 0, and a device
 *            waits until it has come round.
 * Stores.    Without a copy: C of the tiled GEMM is the place where its rows are sent. It is a call
 *            for each chunk, staggered; the own chunk goes to the producer's C.
 * Adds.      The same, and the tiled GEMM adds to the sum of its chunk (dev_gemm.adds), its own
 * chunk too: in an exchange and in a ring each device to those of all.
 */
#ifndef GPUSIG_TRIGGER_ROUND_H
#define GPUSIG_TRIGGER_ROUND_H

#include "overlap/trigger/producer.h"

enum produce_mode { PRODUCE_NONE, PRODUCE_LIBRARY, PRODUCE_TILED, PRODUCE_COUNTING, PRODUCE_SPLIT };
enum send_mode { SEND_NONE, SEND_WHOLE, SEND_BANDS, SEND_STORES, SEND_ADDS };
enum add_mode { ADD_NONE, ADD_FROM_SENDER, ADD_FROM_COPY };

/* Bands wait for counters with PRODUCE_COUNTING, and for their GEMM with PRODUCE_SPLIT. */
struct strategy {
	enum produce_mode produce;
	enum send_mode send;
	enum add_mode add;
	bool staggered;
	bool stamps_first; /* the end of the first copy of the first device is stamped */
};

/* A node that waits for a band's counter. */
struct band_wait {
	uint32_t node, elements;
};

/* A strategy, ready to run. */
struct producer_round {
	const struct strategy *strategy;
	struct work_graph *graph;
	struct work_graph
		*into_c;     /* of SEND_STORES and SEND_ADDS, for checks: the same GEMMs, into C */
	uint32_t first_copy; /* the node that is stamped */
	struct band_wait *waits;
	size_t wait_count;
};

/* True if a round of the strategy adds to sums that other rounds added to. */
static inline bool producers_add(const struct strategy *strategy)
{
	return strategy->add != ADD_NONE || strategy->send == SEND_ADDS;
}

/* In setup. 0, or -ENOTSUP: a GEMM of a device that adds does not reach the sum of another one.
 * Sums are 0 then, too. */
int producers_try_adding(struct producers *s, struct bench_case *c);

/* In setup. Also runs the round once; -ENOTSUP if a queue is too short for it. Returns
 * c->status. */
int producers_prepare(struct producers *s, struct bench_case *c, const struct strategy *strategy,
		      struct producer_round *r);

/* Enqueues one round. -ERANGE: a sum could round. */
int producers_round(struct producers *s, const struct producer_round *r);

/* Checks that GEMMs are right, that the rows that arrived equal C bit for bit, and that sums are
 * those of C, once for every round that added to them, without any rounding. Where a strategy
 * leaves no C, its GEMMs are computed once more, into C. -EBADMSG with a text, or a device's
 * error; not kept in the case. */
int producers_check(const struct producers *s, struct bench_case *c,
		    const struct producer_round *r);

#endif
