/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that make a product each and send its rows where they are wanted, in one of several ways: when all is made, in pieces
 * of their own, or band by band as the counters of one product say that its rows are finished (dev_gemm.done).
 *
 * Bands.     C is cut into bands of band_rows rows, a multiple of the device's tile; the last one may be shorter. Neighbouring
 *            bands that go to the same place are a chunk: all of C, or among N devices the N parts of C, of which the sender
 *            keeps its own.
 * Order.     Each sender has a stream that makes (of the first one it is the case's) and an urgent one that sends. A round
 *            begins behind what the case's stream holds, and what follows in that stream waits for all of the round.
 *            Staggered, sender i makes and sends the bands behind chunk i first, its own last: then no two of them
 *            send to the same place at first. The product is then two calls, cut where it begins; for a fair
 *            comparison it is the same two calls when it is not staggered.
 * Counters.  They grow from round to round: the n-th product since they were 0 is waited for at n times a band's elements. They
 *            are set to 0 by a fill in the stream that makes, in the timed region, before they would pass DEV_VALUE_MAX, and no
 *            wait of a later round is reached before that. A product is enqueued before what waits for it.
 * Adding.    Where bands have one receiver it can add each to a sum of its own: reading it from the sender's C, or from
 *            where it was copied to. f32 only.
 */
#ifndef GPUSIG_SENDER_H
#define GPUSIG_SENDER_H

#include "lib/bench_product.h"

enum direction { DOWN, LOCAL, PEER, EXCHANGE };

/* Words of the direction axis, in order. */
extern const char *const sender_directions[];

#define SENDER_MOST_BANDS 128u
/* Operations of a round in one stream, besides those for each band. */
#define SENDER_QUEUED_PER_BAND 3u
#define SENDER_QUEUED 16u

enum making { MAKE_NOTHING, MAKE_BY_LIBRARY, MAKE_TILED, MAKE_COUNTING, MAKE_PIECES };
enum sending { SEND_NOTHING, SEND_WHEN_ALL_IS_MADE, SEND_BANDS };
enum adding { ADD_NOTHING, ADD_FROM_SENDER, ADD_FROM_COPY };

/* Bands are sent behind the counters of a product that counts, and behind an event of each piece. */
struct way {
	enum making making;
	enum sending sending;
	enum adding adding;
	bool staggered;
	bool notes_first; /* senders.first is recorded when the first thing sent by the first device has arrived */
};

struct chunk {
	uint32_t first, end; /* bands */
	char *to;            /* NULL: it stays */
};

struct sender {
	struct bench_case on; /* the case with this device as its device */
	struct product product;
	struct dev_stream *makes, *sends;
	struct dev_event *forked, *made, *sent, *piece[SENDER_MOST_BANDS];
	struct dev_kernel *copy;
	struct chunk chunk[DEV_MAX];
	uint32_t start; /* the band that comes first when staggered */
	uint32_t *done, turns;
};

/* Where things arrive. */
struct receiver {
	struct dev *dev;
	char *inbox;
	uint64_t bytes;
};

struct senders {
	enum direction direction;
	size_t count;
	uint32_t bands, band_rows, chunks;
	uint64_t band_bytes, bytes, sent_bytes; /* of C, and of all that one round sends */
	bool by_kernel, adds;
	struct sender sender[DEV_MAX];
	struct receiver receiver[DEV_MAX];
	struct dev_event *forked, *first, *added;
	struct bench_case adder; /* the case with the receiver as its device */
	struct dev_kernel *add;
	char *sum;
};

/* In admit: can this be done with the devices of the case? Uses the axes direction, bands, mover, and those of a product. */
int senders_admit(const struct bench_case *c);

/* Everything is the case's (lib/bench_own.h). `by_pieces`: MAKE_PIECES will be used. */
int senders_open(struct senders *s, struct bench_case *c, bool by_pieces);

/* Enqueue one round. */
int senders_round(struct senders *s, struct bench_case *c, const struct way *way);

/* Enqueue on the case's stream: products and what arrived become wrong, sums 0. */
int senders_spoil(struct senders *s, struct bench_case *c);

/* After one round since senders_spoil(): products are right, what arrived is the products' rows bit for bit, and sums are equal
 * to them. -EBADMSG with a text, or a device's error. */
int senders_check(struct senders *s, const struct way *way);

#endif
