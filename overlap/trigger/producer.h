/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that each compute a GEMM and send its rows, by one of several strategies: after the whole
 * GEMM, in GEMMs of a band each, or band by band when the counters of a single GEMM say that the
 * rows of a band are finished (dev_gemm.done). A strategy is a work graph; a run of it is a round.
 *
 * Bands.     C is cut into bands of band_rows rows, a multiple of the device's tile; the last one
 *            may be shorter. Neighbouring bands with the same destination are a chunk: all of C,
 *            or, with N devices in an exchange, one of N parts of C, of which the producer keeps
 *            its own.
 * Order.     Each producer has a lane for GEMMs (the first producer's is the case's stream) and a
 *            high-priority lane for sending. A round starts after the earlier work of the case's
 *            stream, and later work of that stream waits for the whole round.
 * Stagger.   Staggered, producer i computes and sends first the bands after chunk i, and its own
 *            chunk last, so that at first no two producers send to the same device. The GEMM is
 *            then two calls, cut at the first band; for a fair comparison these are the same two
 *            calls without stagger.
 * Counters.  They grow from round to round: the n-th GEMM since they were 0 is waited for with the
 *            value n times a band's elements. Fills in the GEMM lanes, inside the timed region, set
 *            them to 0 before they would exceed DEV_VALUE_MAX; no wait of a later round starts
 *            before that. A GEMM is enqueued before the operations that wait for it.
 * Adding.    Where bands have one receiver, it can add each band to a sum: read from the
 *            producer's C, or from the copy that arrived. f32 only.
 */
#ifndef GPUSIG_PRODUCER_H
#define GPUSIG_PRODUCER_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

enum producer_direction { DIRECTION_DOWN, DIRECTION_LOCAL, DIRECTION_PEER, DIRECTION_EXCHANGE };

/* Values of the axis `direction`, in the order of the enum; NULL-terminated. */
extern const char *const producer_directions[];

#define PRODUCER_MAX_BANDS 128u

enum produce_mode { PRODUCE_NONE, PRODUCE_LIBRARY, PRODUCE_TILED, PRODUCE_COUNTING, PRODUCE_SPLIT };
enum send_mode { SEND_NONE, SEND_WHOLE, SEND_BANDS };
enum add_mode { ADD_NONE, ADD_FROM_SENDER, ADD_FROM_COPY };

/* Bands wait for counters with PRODUCE_COUNTING, and for their GEMM with PRODUCE_SPLIT. */
struct strategy {
	enum produce_mode produce;
	enum send_mode send;
	enum add_mode add;
	bool staggered;
	bool stamps_first; /* the end of the first copy of the first device is stamped */
};

struct producer {
	struct bench_gemm gemm;
	uint32_t gemm_lane, send_lane;
	uint32_t *counters; /* of each band, in device memory */
	/* Where chunk i of every producer arrives, one after the other. */
	struct dev *receiver;
	char *inbox;
};

struct producers {
	enum producer_direction direction;
	uint32_t count; /* of producers, and of chunks */
	struct shape shape;
	uint32_t bands, band_rows;
	uint64_t row_bytes, bytes; /* of a row of C, of C */
	bool copies_by_kernel, adds;
	struct producer producer[DEV_MAX];
	struct work_lanes *lanes;
	uint32_t case_lane, add_lane;
	struct work_graph *restart; /* sets all counters to 0 */
	uint32_t gemms_counted;     /* of each producer, since the counters were 0 */
	char *sum;
	uint32_t rounds_added; /* to the sum, since it was 0 */
	bool rotates;         /* each run adds to the sum of another set (bench/graph/rotation.h) */
	char *made, *arrived; /* for checks, on the host */
};

/* A node that waits for a band's counter. */
struct band_wait {
	uint32_t node, elements;
};

/* A strategy, ready to run. */
struct producer_round {
	const struct strategy *strategy;
	struct work_graph *graph;
	uint32_t first_copy; /* the node that is stamped */
	struct band_wait *waits;
	size_t wait_count;
};

/* In admit: 0 if the devices of the case support this. Uses the axes direction, bands, copy-method,
 * and those of a GEMM. */
int producers_admit(const struct bench_case *c);

/* In setup; the case owns everything (bench/bench_alloc.h). producers_prepare() also runs the round
 * once; -ENOTSUP if a queue is too short for it. Both return bench_status(). */
int producers_open(struct producers *s, struct bench_case *c);
int producers_prepare(struct producers *s, struct bench_case *c, const struct strategy *strategy,
		      struct producer_round *r);

/* Bytes of C in bands [first, end). */
uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end);

/* Enqueues one round. */
int producers_round(struct producers *s, const struct producer_round *r);

/* Enqueues on the case's stream: overwrites results and what arrived, sets sums to 0. */
int producers_poison(struct producers *s, struct bench_case *c);

/* Enqueues on the case's stream: sets sums to 0, where the strategy has added to them. */
int producers_clear_sum(struct producers *s, struct bench_case *c, const struct strategy *strategy);

/* Checks that GEMMs are right, that the rows that arrived equal C bit for bit, and that sums have
 * had C added once a round. -EBADMSG with a text, or a device's error. */
int producers_check(const struct producers *s, struct bench_case *c,
		    const struct strategy *strategy);

#endif
