/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Advice on the schedule of a GEMM C (m x n) = A (m x k) B (k x n) and its communication among G
 * devices: the time of every candidate, predicted from what was measured on this machine. Nothing
 * about a particular machine is written here.
 *
 *     struct advise_machine machine = {0};
 *     while (fgets(line, sizeof(line), file))   file: ./gpusig advise SIGNATURE --format machine
 *             status = advise_parse_line(&machine, line);
 *     advise_prepare(&machine);                 once; some hundredths of a second a type
 *     advise(&machine, &question, &advice);     tens of microseconds, more with more devices; may
 *                                               run in many threads at once
 *
 * Nothing allocates, blocks, or does input or output. Errors are -errno with a text (lib/err.h). To
 * use it in another project, take the folder advise/ and lib/err.
 */
#ifndef GPUSIG_ADVISE_H
#define GPUSIG_ADVISE_H

#include "advise/advise_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TYPE(type, name, bytes of A and B, bytes of C) */
#define ADVISE_TYPE_LIST(TYPE)                                                                     \
	TYPE(ADVISE_F32, "f32", 4, 4)                                                              \
	TYPE(ADVISE_F64, "f64", 8, 8)                                                              \
	TYPE(ADVISE_TF32, "tf32", 4, 4)                                                            \
	TYPE(ADVISE_F16, "f16", 2, 2)                                                              \
	TYPE(ADVISE_BF16, "bf16", 2, 2)                                                            \
	TYPE(ADVISE_F8, "f8", 1, 2)

#define ADVISE_TYPE_NUMBER(type, name, bytes, result_bytes) type,
enum advise_type { ADVISE_TYPE_LIST(ADVISE_TYPE_NUMBER) ADVISE_TYPES };
#undef ADVISE_TYPE_NUMBER

/* ag-gemm: rows of A arrive from all devices. a2a-gemm: the same number of bytes, but every
 * device sends different rows to each other one. gemm-rs: rows of C go to their owners, which
 * add them. gemm-ar: every device needs the sum. */
#define ADVISE_OP_NUMBER(op, name) ADVISE_##op,
enum advise_op { ADVISE_OP_LIST(ADVISE_OP_NUMBER) ADVISE_GEMM_AR, ADVISE_OPS };
#undef ADVISE_OP_NUMBER

/* UNIFORM_FUSED_2D cuts K, so it can't send anything early and is not a candidate where C is
 * communicated. */
#define ADVISE_NO_MORE(schedule)
#define ADVISE_SCHEDULE_NUMBER(schedule, name, more) ADVISE_##schedule,
enum advise_schedule {
	ADVISE_SCHEDULE_LIST(ADVISE_SCHEDULE_NUMBER, ADVISE_SCHEDULE_NUMBER, ADVISE_NO_MORE)
		ADVISE_SCHEDULES
};
#undef ADVISE_SCHEDULE_NUMBER

/* Ways to send C before all of it is computed, as overlap/trigger measures them: each band when its
 * rows are counted (a trigger in software), the same with devices that begin with different parts,
 * a GEMM for each band, and a GEMM that stores to the receiver's memory. */
#define ADVISE_WAY_LIST(WAY)                                                                       \
	WAY(TRIGGER, "trigger")                                                                    \
	WAY(TRIGGER_STAGGERED, "trigger-staggered")                                                \
	WAY(SPLIT, "split")                                                                        \
	WAY(REMOTE_STORE, "remote-store")

#define ADVISE_WAY_NUMBER(way, name) ADVISE_##way,
enum advise_way { ADVISE_WAY_LIST(ADVISE_WAY_NUMBER) ADVISE_WAYS };
#undef ADVISE_WAY_NUMBER

/* Inputs that can decide the advice although they were not measured: slowdown of a GEMM and copies
 * by engine or by kernel, slowdown of opposite copies between peers, bandwidth when all peers send
 * to one, time of an addition, and copies to a peer at all. */
#define ADVISE_INPUT_LIST(INPUT)                                                                   \
	INPUT(CONTENTION_ENGINE, "contention-engine")                                              \
	INPUT(CONTENTION_KERNEL, "contention-kernel")                                              \
	INPUT(BOTH_WAYS_ENGINE, "both-ways-engine")                                                \
	INPUT(BOTH_WAYS_KERNEL, "both-ways-kernel")                                                \
	INPUT(INGRESS, "ingress")                                                                  \
	INPUT(ADDITIONS, "additions")                                                              \
	INPUT(PEER_COPIES, "peer-copies")

#define ADVISE_INPUT_NUMBER(input, name) ADVISE_##input,
enum advise_input { ADVISE_INPUT_LIST(ADVISE_INPUT_NUMBER) ADVISE_INPUTS };
#undef ADVISE_INPUT_NUMBER

enum advise_copy_method { ADVISE_ENGINE, ADVISE_KERNEL, ADVISE_COPY_METHODS };
enum advise_link { ADVISE_PEER, ADVISE_UP, ADVISE_DOWN, ADVISE_LINKS };

/* Directions of a device's copies: over its links, and within its memory. */
enum { ADVISE_LOCAL = ADVISE_LINKS, ADVISE_DIRECTIONS };

/* Things that may stand between the chunks of a bulk copy, the simplest first: the next chunk at
 * once, an event that is recorded, a wait for a value that is there, an empty kernel. */
#define ADVISE_YIELD_LIST(YIELD)                                                                   \
	YIELD(NOTHING, "nothing")                                                                  \
	YIELD(EVENT, "event")                                                                      \
	YIELD(VALUE, "value")                                                                      \
	YIELD(EMPTY_KERNEL, "kernel")

#define ADVISE_YIELD_NUMBER(yield, name) ADVISE_##yield,
enum advise_yield { ADVISE_YIELD_LIST(ADVISE_YIELD_NUMBER) ADVISE_YIELDS };
#undef ADVISE_YIELD_NUMBER

/* Names, in the order of the enums; NULL past the last. */
extern const char *const advise_types[ADVISE_TYPES + 1], *const advise_ops[ADVISE_OPS + 1];
extern const char *const advise_schedules[ADVISE_SCHEDULES + 1],
	*const advise_copy_methods[ADVISE_COPY_METHODS + 1];
extern const char *const advise_links[ADVISE_LINKS + 1], *const advise_ways[ADVISE_WAYS + 1];
extern const char *const advise_inputs[ADVISE_INPUTS + 1];
extern const char *const advise_directions[ADVISE_DIRECTIONS + 1],
	*const advise_yields[ADVISE_YIELDS + 1];

/* The capacity of the lists below. */
#define ADVISE_GEMMS 256
#define ADVISE_POINTS 24
#define ADVISE_ALGORITHMS 24
#define ADVISE_DEVICES 64
#define ADVISE_LOSSES 6

/* Largest message that is predicted, as a multiple of the longest measured copy. */
#define ADVISE_MAX_EXTRAPOLATION 64

/* A measured curve; x rises. Times are interpolated linearly, as a start-up cost plus a
 * bandwidth term; ratios and rates in the logarithms. */
struct advise_curve {
	unsigned points;
	double x[ADVISE_POINTS], y[ADVISE_POINTS], log_x[ADVISE_POINTS], log_y[ADVISE_POINTS];
};

/* A GEMM. adds: 1 when it adds to C, 0 when it overwrites C, between them for a mean of both. */
struct advise_shape {
	double m, n, k, adds;
};

struct advise_gemm_sample {
	struct advise_shape shape;
	double seconds;
	double position[4]; /* log2 of the sides, and adds */
	double residual;    /* log of seconds / model */
	double error;       /* of predicting it from the others, absolute, of the logarithm */
	bool memory_bound;  /* memory limits it, not arithmetic */
};

/* Tiling of C by a library: tiles of rows x columns, `wave` of which run at once; fewer than
 * min_wave take as long as min_wave. If that gives less than a tile per unit, a tile side beyond
 * the matrix, else the longer one, is halved, but never below `least`. */
struct advise_tiling {
	double rows, columns, least, wave, min_wave;
};

/* Measured GEMMs of one type: seconds by shape. advise_prepare() adds the model that interpolates
 * them; advise/advise_gemm.c explains its terms. */
struct advise_gemm {
	unsigned samples;
	struct advise_gemm_sample sample[ADVISE_GEMMS];
	struct advise_tiling tiling, coarse; /* coarse: the largest that explains them as well */
	double units;                        /* of the device; 0: unknown */
	double cost[6];
	double cache_bytes, element_bytes, result_bytes;
	double memory_s_per_byte; /* of GEMMs that memory limits; 0: none is known */
	double min_position[3], max_position[3];
	double smoothing;
	double error;      /* the median error of predicting a sample from the others */
	double most_error; /* nine of ten are predicted to that */
};

struct advise_allreduce {
	char name[24];
	unsigned devices;
	struct advise_curve curve; /* byte -> s */
};

/* CIL of a GEMM and of copies that run at once, measured with GEMMs that move memory at `traffic`
 * byte/s, which rises. */
struct advise_loss {
	unsigned points;
	double traffic[2], gemm[2], copy[2];
};

/* Contention of one copy method over one link with GEMMs of one type, by the number of blocks that
 * copy, which rises; of an engine 1. */
struct advise_contention {
	unsigned counts;
	bool assumed; /* measured with other copies, which stand in */
	double blocks[ADVISE_LOSSES];
	struct advise_loss loss[ADVISE_LOSSES];
};

/* Gain of a way over a library's GEMM followed by the send: send time / GEMM time, each alone ->
 * time one after the other / time of the way. advise_prepare() sets the relative error: the bound
 * that nine of ten interior points keep when they are predicted from the others (all of them where
 * there are fewer than ten); INFINITY with fewer than three points. */
struct advise_gain {
	struct advise_curve curve;
	double error;
};

/* A bulk copy in chunks: byte of a chunk -> rate / rate of a bulk that is one copy, and seconds for
 * which a small copy waits that becomes ready while the bulk runs. With the smallest chunk, the
 * same while a bulk of as many bytes runs that is one copy. */
struct advise_cut {
	struct advise_curve kept, wait;
	double smallest_whole_wait_s;
};

/* The same waits with the largest bulk as one copy, and without one; 0: unknown. */
struct advise_chunks {
	struct advise_cut cut[ADVISE_YIELDS];
	double whole_wait_s, idle_wait_s;
};

/* Measurements of a machine. */
struct advise_machine {
	struct advise_gemm gemm[ADVISE_TYPES];

	/* byte -> s of one copy in a long sequence */
	struct advise_curve copy[ADVISE_COPY_METHODS][ADVISE_LINKS];
	/* byte -> time of a copy while another runs in the other direction / time alone */
	struct advise_curve both_ways[ADVISE_COPY_METHODS][ADVISE_LINKS];
	bool one_device[ADVISE_COPY_METHODS][ADVISE_LINKS]; /* that of one device stands in */
	/* bytes per pair of devices -> s of an exchange among all of exchange_devices */
	struct advise_curve exchange[ADVISE_COPY_METHODS];
	unsigned exchange_devices[ADVISE_COPY_METHODS];
	/* byte -> s to add so many bytes to so many others */
	struct advise_curve reduce;
	/* shared memory of a block + 1 byte -> flop/s; -> s until a block of another kernel starts
	 */
	struct advise_curve occupancy_rate, occupancy_wait;

	/* Without a measurement neither slows the other; advise() asks whether that decides. */
	struct advise_contention contention[ADVISE_COPY_METHODS][ADVISE_LINKS][ADVISE_TYPES];
	double copy_blocks[ADVISE_LINKS]; /* of one copy by a kernel; 0: unknown, taken as 1 */
	double cache_bytes; /* GEMMs whose matrices fit in it move no memory; 0: unknown, all do */
	/* From the end of work to the start of dependent work in another stream; 0: unknown. */
	double hop_s;
	double ingress;       /* byte/s from all peers at once; 0: unknown, taken as one copy's */
	double units;         /* of the device; 0: unknown */
	unsigned engines;     /* copies that run at once; 0: unknown, taken as one */
	double priority_wait; /* wait with the highest priority / with the same; 0: unknown */

	/* overlap/shaping: the shared memory and priority at which overlap was fastest, and its
	 * time / the time without both; gain 0: unknown. */
	double shaped_shared, shaped_gain;
	bool shaped_priority;

	/* Median relative error of earlier predictions of whole schedules; 0: unknown. */
	double schedule_error;

	/* The copy method is that of the send and of what it is compared with. */
	struct advise_gain gain[ADVISE_WAYS][ADVISE_COPY_METHODS][ADVISE_TYPES];

	unsigned algorithms;
	struct advise_allreduce allreduce[ADVISE_ALGORITHMS];
	struct advise_chunks chunks[ADVISE_DIRECTIONS];
	bool prepared;
};

struct advise_question {
	uint32_t m, n, k; /* of one device's GEMM when all of A is there */
	uint32_t devices; /* 2 to ADVISE_DEVICES */
	enum advise_op op;
	enum advise_type type;
	unsigned copy_methods; /* of the candidates, a bit each; 0: all */
};

struct advise_candidate {
	enum advise_schedule schedule;
	enum advise_copy_method copy_method;
	double seconds;            /* predicted */
	double gemm_s, comm_s;     /* the pieces alone, in sequence: lower bounds of any schedule */
	double gemm_cil, copy_cil; /* assumed: time with the other one running / time alone, of its
				      slowest piece */
	uint32_t gemms, copies;    /* of one device */
	double error; /* relative: of its GEMMs, by those measured near them, and all of the loss to
			 contention, which was measured with other GEMMs */
	bool extrapolated; /* outside the measured shapes or sizes */
	bool tie; /* seconds <= first's * (1 + expected_error) * (1 + hypot(both errors)) */
};

/* Gain of one way to send early, with the copy method that is predicted to be fastest. */
struct advise_early {
	unsigned points;   /* of its curve; 0: not measured, and all that follows is 0 or NaN */
	bool extrapolated; /* send_over_gemm is outside the points: gain and seconds are NaN */
	enum advise_copy_method copy_method;
	double send_over_gemm; /* seconds of scattering C by that method / of the GEMM */
	double min_x, max_x;   /* of the points */
	double gain;           /* over the whole GEMM and then the send; below 1 it costs time */
	double error;          /* relative, of the gain */
	double seconds;        /* predicted */
	int pays;              /* 1: gain > 1 + error; -1: gain < 1 / (1 + error); 0: neither */
};

struct advise_advice {
	/* Best first, by predicted time; schedules that cut the GEMM have `error` added. Of
	 * equal ones the one with fewer operations comes first. */
	struct advise_candidate candidate[ADVISE_SCHEDULES * ADVISE_COPY_METHODS];
	unsigned candidates;
	double error; /* median relative error of predicting a measured GEMM from the others */
	double expected_error; /* of a prediction: `error`, or that of earlier predictions if larger
				*/
	double gemm_s, comm_s; /* the whole GEMM and the whole exchange by the faster copy method */
	enum advise_link link; /* the link whose curve is used between devices */
	int64_t shared_bytes;  /* per block of the GEMM, which leaves slots for a copy kernel; -1:
				  not measured */
	int priority;          /* of the communication: 1 highest, 0 the GEMM's, -1: not measured */
	char allreduce[24];    /* "": none was measured among so many devices */
	double allreduce_s;    /* NaN without one */
	double allreduce_bytes; /* message size: all of C */
	bool extrapolated;      /* of the first candidate */

	/* Bits of enum advise_input: not measured, and what they could be at worst or at best would
	 * make the first candidate slower than another one by more than expected_error. */
	unsigned needs;
	/* Nothing is needed, and no candidate of another schedule is a tie. */
	bool decided;

	/* Sending C early, for gemm-rs and gemm-ar. It shortens the GEMM and the scattering of C.
	 * Additions follow, and for gemm-ar the sending of the sum to all, which takes as long as
	 * the scattering. */
	double send_over_gemm; /* by the faster copy method; NaN: C is not sent */
	struct advise_early early[ADVISE_WAYS];
	int best_way;     /* the fastest of the ways that pay; -1: none does */
	double way_gain;  /* seconds of the first candidate / of that way; NaN without one */
	double way_error; /* relative, of way_gain */
	int way_pays;     /* way_gain against way_error, as in struct advise_early */

	char why[384]; /* the terms that decided; nothing of sending early */
};

/* Parse one line of a machine's description; `#` starts a comment:
 *
 *     gemm TYPE M N K ADDS SECONDS          copy METHOD LINK BYTE SECONDS
 *     bothways METHOD LINK BYTE RATIO       exchange METHOD DEVICES BYTE SECONDS
 *     reduce BYTE SECONDS                   allreduce NAME DEVICES BYTE SECONDS
 *     occupancy SHARED FLOP_RATE WAIT       hop SECONDS
 *     shaped SHARED HIGH_PRIORITY RATIO     engines COUNT
 *     priority RATIO                        ingress BYTE_PER_S
 *     cache BYTE                            blocks LINK COUNT
 *     units COUNT                           error SHARE
 *     cil METHOD LINK TYPE BLOCKS TRAFFIC GEMM_CIL COPY_CIL
 *     early WAY METHOD TYPE SEND_OVER_GEMM GAIN
 *     chunk DIRECTION YIELD BYTE RATE_KEPT WAIT WHOLE_WAIT
 *     chunkwaits DIRECTION WHOLE IDLE
 *     assumed METHOD LINK TYPE              its `cil` are those of other copies
 *     onedevice METHOD LINK                 its `bothways` is of a device that shares its engines
 *
 * Points of a curve come in rising order; of `cil` first by BLOCKS (0 for an engine), then by
 * TRAFFIC, at most two of each count. -EINVAL for any other line; -ENOSPC when a list is full.
 */
int advise_parse_line(struct advise_machine *m, const char *line);

/* Call once after the last line. */
void advise_prepare(struct advise_machine *m);

/* -EINVAL for an invalid question; -ENODATA when GEMMs of this type, or copies, were not
 * measured, or only copies that are too short; -ERANGE for more devices than ADVISE_DEVICES. */
int advise(const struct advise_machine *m, const struct advise_question *q,
	   struct advise_advice *advice_p);

/* Predict the seconds of one GEMM, and whether its shape is outside those measured. -ENODATA as
 * above. */
int advise_gemm_seconds(const struct advise_machine *m, enum advise_type type,
			struct advise_shape shape, double *seconds_p, bool *extrapolated_p);

/* Half of the measured GEMMs of this type are predicted from the others to that; INFINITY where
 * none was measured, or the type is unknown. */
double advise_gemm_error(const struct advise_machine *m, enum advise_type type);

/* Small copies wait for no bulk copy; they wait less for one in such chunks; they wait for it, and
 * nothing measured keeps the rate and lets them pass. */
enum advise_chunk_verdict { ADVISE_NO_CHUNKS, ADVISE_CHUNKS, ADVISE_CHUNKS_IN_VAIN };

struct advise_copy_chunk {
	enum advise_chunk_verdict verdict;
	double whole_wait_s,
		idle_wait_s; /* measured: behind a bulk that is one copy; behind none */
	/* The rest is 0 without ADVISE_CHUNKS. */
	uint64_t bytes; /* of a chunk; a multiple of 4096 */
	enum advise_yield yield;
	double wait_s, rate_kept; /* expected */
	bool smallest;            /* it is the smallest measured: smaller ones may do as well */
	bool larger;              /* than all measured: by a constant cost of a chunk */
};

/* The smallest chunks, and what stands between them, with which a bulk copy keeps the share `keep`
 * of its rate, above 0 and below 1, and a small copy waits least. Of waits within 5 % the simpler
 * yield; one that leaves more than half of the wait behind a whole is none. The loss of rate,
 * 1 / kept - 1, is interpolated in the logarithms, the wait linearly; no chunk is more than four
 * times as large as the largest measured, or makes others wait as long as the whole. -EINVAL for an
 * invalid question; -ENODATA when copies of this direction were not measured in chunks.
 * advise_prepare() is not needed. */
int advise_copy_chunk(const struct advise_machine *m, unsigned direction, double keep,
		      struct advise_copy_chunk *chunk_p);

/* Sizes of the structures, for callers in other languages. */
size_t advise_machine_bytes(void);
size_t advise_question_bytes(void);
size_t advise_advice_bytes(void);
size_t advise_copy_chunk_bytes(void);

#endif
