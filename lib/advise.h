/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way should a matrix product C (m x n) = A (m x k) B (k x n) and its communication among G devices run? A decision is
 * a prediction of every candidate from what was measured on this machine; nothing of a particular machine is written here.
 *
 *     struct advise_machine machine = {0};
 *     while (fgets(line, sizeof(line), file))            a file of ./gpusig advise SIGNATURE --format machine
 *             status = advise_learn(&machine, line);
 *     advise_prepare(&machine);                          once; some milliseconds
 *     advise(&machine, &question, &advice);              microseconds, more with more devices; may run in many threads at once
 *
 * Nothing allocates, blocks or does input and output. Errors are -errno with a text (lib/err.h). To take it along: lib/advise*
 * and lib/err.
 */
#ifndef GPUSIG_ADVISE_H
#define GPUSIG_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum advise_type { ADVISE_F32, ADVISE_F64, ADVISE_TF32, ADVISE_F16, ADVISE_BF16, ADVISE_F8, ADVISE_TYPES };

/* ag-gemm: rows of A arrive from all devices. a2a-gemm: the same bytes, of which every device sends each other one different
 * ones. gemm-rs: rows of C leave to their owners, who add them. gemm-ar: the sum is wanted on every device. */
enum advise_op { ADVISE_AG_GEMM, ADVISE_GEMM_RS, ADVISE_A2A_GEMM, ADVISE_GEMM_AR, ADVISE_OPS };

/* FiCCO's schedules (arXiv 2512.10236) as docs/METHOD.md defines them. The last cuts K, so it has nothing to send early and is
 * no candidate where C leaves. */
enum advise_schedule {
	ADVISE_SERIAL, ADVISE_SHARD, ADVISE_UNIFORM_FUSED_1D, ADVISE_HETERO_FUSED_1D, ADVISE_HETERO_UNFUSED_1D,
	ADVISE_UNIFORM_FUSED_2D, ADVISE_SCHEDULES
};

enum advise_mover { ADVISE_ENGINE, ADVISE_KERNEL, ADVISE_MOVERS };
enum advise_link { ADVISE_PEER, ADVISE_UP, ADVISE_DOWN, ADVISE_LINKS };

extern const char *const advise_types[ADVISE_TYPES], *const advise_ops[ADVISE_OPS];
extern const char *const advise_schedules[ADVISE_SCHEDULES], *const advise_movers[ADVISE_MOVERS];
extern const char *const advise_links[ADVISE_LINKS];

#define ADVISE_PRODUCTS 256
#define ADVISE_POINTS 24
#define ADVISE_ALGORITHMS 24
#define ADVISE_DEVICES 64 /* at most */

/* x rises. Times are interpolated linearly, as a start-up cost and a bandwidth make them; ratios and rates in the logarithms. */
struct advise_curve {
	unsigned points;
	double x[ADVISE_POINTS], y[ADVISE_POINTS], log_x[ADVISE_POINTS], log_y[ADVISE_POINTS];
};

/* A product. adds: 1 when it adds to what is in C, 0 when it overwrites; between them for a mean of both. */
struct advise_shape {
	double m, n, k, adds;
};

/* Measured products of one type: seconds by shape; `prepare` adds the model that joins them (lib/advise_gemm.c). */
struct advise_gemm {
	unsigned products;
	struct advise_product {
		struct advise_shape shape;
		double seconds;
		double place[4], residual; /* log2 of the sides, adds; log of seconds / model */
	} product[ADVISE_PRODUCTS];
	double tile, wave, least, cost[5], low[3], high[3]; /* least and greatest place */
	double near, error;                          /* median of what a product is off by, seen from the others */
};

struct advise_machine {
	struct advise_gemm gemm[ADVISE_TYPES];
	struct advise_curve copy[ADVISE_MOVERS][ADVISE_LINKS];     /* byte -> s of one copy among many in a row */
	struct advise_curve both_ways[ADVISE_MOVERS][ADVISE_LINKS]; /* byte -> time of a copy against another one / alone */
	struct advise_curve exchange[ADVISE_MOVERS];               /* byte a pair of devices -> s until all have all */
	unsigned exchange_devices[ADVISE_MOVERS];
	struct advise_curve reduce;     /* byte -> s to add as many to as many */
	struct advise_curve resident;   /* shared memory of a block -> flop/s, x + 1 byte */
	struct advise_curve foreign;    /* the same -> s until a block of another launch runs */
	double gemm_beside[ADVISE_MOVERS], copy_beside_gemm[ADVISE_MOVERS]; /* CIL; 0 unknown */
	double hop_s;                   /* from the end of work to the start of what waits for it in another stream; 0 unknown */
	double ingress;                 /* byte/s from all peers at once; 0 unknown: as much as one copy */
	unsigned engines;               /* copies that run at once; 0 unknown: one */
	double priority_wait;           /* wait with the highest priority / with the same; 0 unknown */
	double shaped_shared, shaped_gain; /* shared memory at which overlap was best, and its time / without; gain 0 unknown */
	bool shaped_priority;
	unsigned algorithms;
	struct advise_allreduce {
		char name[24];
		unsigned devices;
		struct advise_curve curve; /* byte -> s */
	} allreduce[ADVISE_ALGORITHMS];
	bool prepared;
};

struct advise_question {
	uint32_t m, n, k; /* of one device's product when all of A is there */
	uint32_t devices; /* 2 to ADVISE_DEVICES */
	enum advise_op op;
	enum advise_type type;
};

struct advise_candidate {
	enum advise_schedule schedule;
	enum advise_mover mover;
	double seconds;          /* predicted */
	double gemm_s, comm_s;   /* its pieces alone, one after another: no schedule is faster than either */
	uint32_t gemms, copies;  /* of one device */
	bool extrapolated;       /* outside the shapes or sizes that were measured */
};

struct advise_advice {
	/* Best first: by predicted time, to which schedules that cut the product have `error` added; ties: the fewer operations. */
	struct advise_candidate candidate[ADVISE_SCHEDULES * ADVISE_MOVERS];
	unsigned candidates;
	double error;               /* share by which half of the measured products are off, foretold from the others */
	double gemm_s, comm_s;      /* the whole product and the whole exchange by the faster mover */
	enum advise_link link;      /* whose curve stands for the way between devices */
	int64_t shared_bytes;       /* of a block of the product, to leave room for the mover; -1 not measured */
	int priority;               /* of the communication: 1 highest, 0 as the product, -1 not measured */
	char allreduce[24];         /* "": none was measured among so many devices */
	double allreduce_s;         /* NaN without one */
	double allreduce_bytes;     /* the message: all of C */
	bool extrapolated;          /* of the pick */
	char why[384];              /* the terms that decided, one sentence */
};

/* One line of a machine's description, `#` starts a comment:
 *     gemm TYPE M N K ADDS SECONDS        copy MOVER LINK BYTE SECONDS        bothways MOVER LINK BYTE RATIO
 *     exchange MOVER DEVICES BYTE SECONDS reduce BYTE SECONDS                 allreduce NAME DEVICES BYTE SECONDS
 *     occupancy SHARED FLOP_RATE WAIT     cil MOVER GEMM_BESIDE COPY_BESIDE   shaped SHARED HIGH_PRIORITY RATIO
 *     hop SECONDS    engines COUNT        ingress BYTE_PER_S                  priority RATIO
 * Points of a curve come in rising order. -EINVAL for what is none of these; -ENOSPC for more points than there is room. */
int advise_learn(struct advise_machine *m, const char *line);

/* After the last line. */
void advise_prepare(struct advise_machine *m);

/* -EINVAL for a question that has no answer; -ENODATA when products of this type or any copy were not measured; -ERANGE for
 * more devices than ADVISE_DEVICES. */
int advise(const struct advise_machine *m, const struct advise_question *q, struct advise_advice *advice_p);

/* Seconds of one product, and whether its shape is outside those measured. -ENODATA as above. */
int advise_gemm_seconds(const struct advise_machine *m, enum advise_type type, struct advise_shape shape, double *seconds_p,
                        bool *extrapolated_p);

/* For callers in other languages: what the structures take. */
size_t advise_machine_bytes(void);
size_t advise_question_bytes(void);
size_t advise_advice_bytes(void);

#endif
