/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that each compute a GEMM and send its rows, by one of several strategies: after the whole
 * GEMM, in GEMMs of a band each, or band by band when the counters of a single GEMM say that the
 * rows of a band are finished (dev_gemm.done).
 *
 * Bands.     C is cut into bands of band_rows rows, a multiple of the device's tile; the last one
 *            may be shorter. Neighbouring bands with the same destination are a chunk: all of C,
 *            or, with N devices in an exchange, one of N parts of C, of which the producer keeps
 *            its own.
 * Order.     Each producer has a stream for GEMMs (the first producer's is the case's stream) and
 *            a high-priority stream for sending. A round starts after the earlier work of the
 *            case's stream, and later work of that stream waits for the whole round.
 * Stagger.   Staggered, producer i computes and sends first the bands after chunk i, and its own
 *            chunk last, so that at first no two producers send to the same device. The GEMM is
 *            then two calls, cut at the first band; for a fair comparison these are the same two
 *            calls without stagger.
 * Counters.  They grow from round to round: the n-th GEMM since they were 0 is waited for with the
 *            value n times a band's elements. A fill in the GEMM stream, inside the timed region,
 *            sets them to 0 before they would exceed DEV_VALUE_MAX; no wait of a later round
 *            starts before that. A GEMM is enqueued before the operations that wait for it.
 * Adding.    Where bands have one receiver, it can add each band to a sum: read from the
 *            producer's C, or from the copy that arrived. f32 only.
 */
#ifndef GPUSIG_PRODUCER_H
#define GPUSIG_PRODUCER_H

#include "bench/bench_gemm.h"

enum producer_direction { DIRECTION_DOWN, DIRECTION_LOCAL, DIRECTION_PEER, DIRECTION_EXCHANGE };

/* Values of the axis `direction`, in the order of the enum; NULL-terminated. */
extern const char *const producer_directions[];

#define PRODUCER_MAX_BANDS 128u
/* Queue entries of a round in one stream: for each band, and in addition. */
#define PRODUCER_QUEUED_PER_BAND 3u
#define PRODUCER_QUEUED 16u

enum produce_mode {
	PRODUCE_NONE,
	PRODUCE_LIBRARY,
	PRODUCE_TILED,
	PRODUCE_COUNTING,
	PRODUCE_PIECES
};
enum send_mode { SEND_NONE, SEND_WHOLE, SEND_BANDS };
enum add_mode { ADD_NONE, ADD_FROM_SENDER, ADD_FROM_COPY };

/* Bands wait for counters with PRODUCE_COUNTING, and for an event of each GEMM with
 * PRODUCE_PIECES. */
struct strategy {
	enum produce_mode produce;
	enum send_mode send;
	enum add_mode add;
	bool staggered;
	bool records_first; /* producers.first is recorded after the first copy of the first device
			     */
};

struct chunk {
	uint32_t first, end; /* bands */
	char *to;            /* NULL: the producer keeps it */
};

struct producer {
	struct bench_case on; /* the case with this device as its device */
	struct bench_gemm gemm;
	struct dev_stream *gemm_stream, *send_stream;
	struct dev_event *forked, *gemm_done, *sent, *band_done[PRODUCER_MAX_BANDS];
	struct dev_kernel *copy;
	struct chunk chunk[DEV_MAX];
	uint32_t start;         /* the first band when staggered */
	uint32_t *counters;     /* of each band, in device memory */
	uint32_t gemms_counted; /* since the counters were 0 */
};

/* Where bands arrive. */
struct receiver {
	struct dev *dev;
	char *inbox;
	uint64_t bytes;
};

struct producers {
	enum producer_direction direction;
	size_t count;
	uint32_t bands, band_rows, chunks;
	uint64_t band_bytes, bytes, sent_bytes; /* of a band, of C, and of all that a round sends */
	bool copies_by_kernel, adds;
	struct producer producer[DEV_MAX];
	struct receiver receiver[DEV_MAX];
	struct dev_event *forked, *first, *added;
	struct bench_case adder; /* the case with the receiver as its device */
	struct dev_kernel *add;
	char *sum;
};

/* Operations of a round in the stream that gets most of them, at most. Uses the axis bands. */
uint32_t producers_max_queued(const struct bench_case *c);

/* In admit: 0 if the devices of the case support this. Uses the axes direction, bands, copy-method,
 * and those of a GEMM. */
int producers_admit(const struct bench_case *c);

/* In setup; the case owns everything (bench/bench_alloc.h). `by_pieces`: PRODUCE_PIECES will be
 * used. */
int producers_open(struct producers *s, struct bench_case *c, bool by_pieces);

/* Rows and bytes of C in bands [first, end). */
uint32_t producers_rows(const struct producers *s, uint32_t first, uint32_t end);
uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end);

/* Enqueues one round. */
int producers_round(struct producers *s, struct bench_case *c, const struct strategy *strategy);

/* Enqueues on the case's stream: overwrites results and what arrived, sets sums to 0. */
int producers_poison(struct producers *s, struct bench_case *c);

/* After one round since producers_poison(): checks that GEMMs are right, that the rows that arrived
 * equal C bit for bit, and that sums equal C. -EBADMSG with a text, or a device's error. */
int producers_check(struct producers *s, const struct strategy *strategy);

#endif
