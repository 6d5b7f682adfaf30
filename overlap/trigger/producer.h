/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that each compute a GEMM whose rows are sent: their memory, their lanes, and how C is
 * cut. What they do in a round is a strategy (overlap/trigger/round.h).
 *
 * Bands.     C is cut into bands of band_rows rows, a multiple of the device's tile; the last one
 *            may be shorter. Neighbouring bands with the same destination are a chunk: all of C,
 *            or, with N devices in an exchange or a ring, one of N parts of C. In an exchange the
 *            producer keeps its own; in both, sums of chunk j over all devices end at device j.
 * Lanes.     Each producer has a lane for GEMMs (the first producer's is the case's stream), a
 *            high-priority lane for sending, and where sums are made, one for adding on the device
 *            that receives.
 * Sums.      f32 only. The operands are exact (bench/bench_gemm.h), and a sum that is added to in
 *            many rounds is set to 0 before it could round: after max_rounds.
 */
#ifndef GPUSIG_PRODUCER_H
#define GPUSIG_PRODUCER_H

#include "bench/bench_gemm.h"
#include "bench/graph/bench_graph.h"

enum producer_direction {
	DIRECTION_DOWN,
	DIRECTION_LOCAL,
	DIRECTION_PEER,
	DIRECTION_EXCHANGE,
	DIRECTION_RING
};

/* Values of the axis `direction`, in the order of the enum; NULL-terminated. */
extern const char *const producer_directions[];

#define PRODUCER_MAX_BANDS 128u

struct producer {
	struct bench_gemm gemm;
	uint32_t gemm_lane, send_lane, add_lane;
	uint32_t *counters; /* of each band, in device memory */
	/* Destination of chunk i of every producer, one after the other; in a ring, of all of C,
	 * for the sums of the bands. */
	struct dev *receiver;
	char *inbox;
	uint64_t inbox_bytes;
	char *sum; /* of chunk i, in the receiver's memory; NULL where nothing adds to it */
};

struct producers {
	enum producer_direction direction;
	uint32_t count; /* of producers, and of chunks */
	struct shape shape;
	uint32_t bands, band_rows;
	uint64_t row_bytes, bytes; /* of a row of C, of C */
	bool copies_by_kernel, kernels_add, gemms_add;
	struct producer producer[DEV_MAX];
	struct work_lanes *lanes;
	uint32_t case_lane;
	struct work_graph *restart; /* sets all counters to 0 */
	uint32_t gemms_counted;     /* of each producer, since the counters were 0 */
	/* Rounds that added to sums, since all were 0, and how many may. */
	uint32_t rounds_added, max_rounds;
	bool rotates; /* each run adds to the sum of another set (bench/graph/rotation.h) */
	char *made, *arrived, *total; /* for checks, on the host */
};

/* In admit: 0 if the devices of the case support this. Uses the axes direction, bands, copy-method,
 * and those of a GEMM. */
int producers_admit(const struct bench_case *c);

/* In setup; the case owns everything (bench/bench_alloc.h). Returns c->status. */
int producers_open(struct producers *s, struct bench_case *c);

/* Rows and bytes of C in bands [first, end). */
uint32_t producers_rows(const struct producers *s, uint32_t first, uint32_t end);
uint64_t producers_bytes(const struct producers *s, uint32_t first, uint32_t end);

/* Chunk j is bands [producers_chunk(s, j), producers_chunk(s, j + 1)). */
uint32_t producers_chunk(const struct producers *s, uint32_t chunk);
uint64_t producers_chunk_bytes(const struct producers *s, uint32_t chunk);

/* Destination of chunk j of producer i; NULL: the producer keeps it. Not in a ring. */
char *producers_target(const struct producers *s, uint32_t i, uint32_t j);

/* Enqueues on the case's stream: overwrites results and what arrived, sets sums to 0. */
int producers_poison(struct producers *s, struct bench_case *c);

/* Most rounds that may add between two calls of producers_clear_sums(). */
uint32_t producers_rounds_at_once(const struct producers *s);
/* Enqueues on the case's stream: sets sums to 0. The caller spreads them where they rotate, and
 * then sets rounds_added to 0. */
int producers_clear_sums(struct producers *s, struct bench_case *c);

#endif
