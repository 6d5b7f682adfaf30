/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A benchmark is a declaration; this is what it declares, and what it may call. The harness owns options,
 * case order, warm-up, calibration, clock, gate, statistics, validity, output and exit code.
 *
 * A CASE is one point of the axes. Inside it the VARIANTS, the things to be compared, run interleaved: the
 * samples are taken in blocks, every block holds each variant once, in random order. Drift hits all of them
 * alike, and a ratio is formed inside each block before any statistic.
 *
 *   for each case:  admit, setup
 *                   warm-up and calibration of every variant, blocks of samples until the 95 % interval of every
 *                   variant's median is within the goal or the case's time is spent (at least 10 blocks)
 *                   for each variant: spoil, body, check;  prove;  derive;  teardown;  one record
 *
 * Callbacks return 0 or -errno with a text in err_text(); they never print and never leave. From setup,
 * -ENOTSUP, -ENODEV and -ENOMEM skip the case; anything else fails it, but -ETIMEDOUT from a body, which is a gate that was
 * overdue (lib/bench_gate.h): that sample is dropped, and after the second the variant, flagged "gate".
 * teardown runs after a partial setup too, and what was opened with lib/bench_own.h needs none.
 *
 * Times are in seconds and sizes in bytes. On a device with virtual time all of this is the same, but nothing
 * is a measurement, and the same seed gives the same bytes.
 */
#ifndef GPUSIG_BENCH_H
#define GPUSIG_BENCH_H

#include "device/dev.h"
#include "lib/axis.h"
#include "lib/rng.h"

struct bench_case;

enum bench_timing {
	/* body() does `iterations` rounds and returns when they are complete; the harness reads the clock around it. */
	BENCH_HOST,
	/* body() only enqueues `iterations` rounds on c->stream. The harness holds the stream at a gate while they are
	 * enqueued (lib/bench_gate.h), brackets them with events, and takes device time: enqueueing costs nothing. */
	BENCH_DEVICE,
	/* body() does `iterations` rounds and stores the seconds that count in c->self_seconds: for intervals that only
	 * the program can name, such as the wait of one block. Streams are held at gates of lib/bench_gate.h alone. */
	BENCH_SELF,
};

struct bench_variant {
	const char *name;
	enum bench_timing timing;
	long param;       /* the program's own, such as a piece count */
	unsigned queued;  /* BENCH_DEVICE: operations enqueued per iteration, for the queue's limit; 0 is 1 */
	bool reference;   /* measured to bound the others; what it gives is recorded and is no result of the program */
	bool always;      /* measured also when the user's list leaves it out; set-up turns it off where nothing needs it */
};

/* Work of one iteration, from which the harness derives rates: bytes moved, floating-point operations, messages.
 * What does not apply stays 0. State in `formula` how bytes are counted. */
struct bench_model {
	double bytes, flops, messages;
};

/* A headline number, taken from the valid derived values of a run's cases by the report.
 * `where` narrows the cases: "op=triad direction=local"; NULL takes all. */
struct bench_metric {
	const char *metric;  /* name in the signature */
	const char *derived; /* which derived quantity */
	const char *variant; /* of which variant; NULL: any */
	const char *where;
	const char *reduce;  /* "max", "min" or "median" over the cases that match */
	const char *unit;
	const char *better;  /* "higher" or "lower" */
};

/* A program of several processes, such as the ranks of an MPI job. One of them, the leader, calls bench_main(); its callbacks
 * make the others follow and return what all of them agree on, so the harness knows one process only. Such a program
 * times with BENCH_SELF. */
struct bench_job {
	const char *library;  /* what holds the processes together: "Open MPI 4.1.4" */
	unsigned processes;
	unsigned hosts;
	bool virtual_time;    /* a simulator gives the times: nothing is a measurement */
	double (*cpu_s)(void); /* CPU time so far of all processes on the leader's host; called between bodies */
};

struct bench {
	const char *name;     /* "micro/memory": folder and file */
	const char *question; /* one sentence, ends with a question mark */
	const char *formula;  /* how the main quantity is computed, units included */
	const char *timed;    /* what is inside the timed region and what is not */
	const char *limits;   /* known limits, or NULL */
	uint32_t needs;       /* DEV_CAP_* without which nothing here makes sense: exit 77 */
	uint32_t wants;       /* DEV_CAP_* used where present */
	unsigned min_devices; /* 0 is 1 */
	const struct bench_job *job; /* NULL: one process */
	double share;         /* of a whole run's time, relative to other programs; 0 is 1 */
	const struct axis *axes;              /* ends with a NULL name; NULL: one case */
	const char *variant_option;           /* option that selects variants, such as "path"; NULL: "variant" */
	const struct bench_variant *variants; /* ends with a NULL name; NULL: nothing is timed, derive() gives facts */
	const struct bench_metric *primary;   /* ends with a NULL metric; may be NULL */
	size_t state_bytes;                   /* c->state: zeroed before setup of every case */

	/* May be NULL; asked for every case before the first one runs, and cheap. -ENOTSUP with a text: skip this case.
	 * -EINVAL: values of several axes that can't go together: the same, unless no case can be run; then it is usage. */
	int (*admit)(const struct bench_case *c);
	int (*setup)(struct bench_case *c);       /* may be NULL; allocates, touches, decides which variants apply */
	int (*body)(struct bench_case *c, unsigned variant, uint64_t iterations);
	void (*model)(const struct bench_case *c, unsigned variant, struct bench_model *m); /* may be NULL */
	int (*spoil)(struct bench_case *c, unsigned variant); /* may be NULL; make the last output wrong before a check, by
	                                                         work on c->stream, which the harness waits for */
	int (*check)(struct bench_case *c, unsigned variant); /* may be NULL; -EBADMSG with a text: the result is wrong */
	int (*prove)(struct bench_case *c);       /* may be NULL; calls bench_mechanism() */
	int (*derive)(struct bench_case *c);      /* may be NULL; calls bench_derive(), bench_value(), bench_fact_*() */
	void (*teardown)(struct bench_case *c);   /* may be NULL */
};

struct bench_case {
	struct dev *dev;           /* the first device */
	struct dev_set *devices;   /* all of them */
	struct dev_stream *stream; /* of the first device, normal priority, idle between bodies */
	struct rng rng;            /* seeded from --seed and the case's key */
	void *state;
	double self_seconds;       /* BENCH_SELF: set by body() */
	struct bench_run *run;     /* the harness's */
};

/* Everything: parses options, runs the cases, prints, returns the exit code. */
int bench_main(const struct bench *b, int argc, char **argv);

/* ---- the case's point. An axis that does not exist is a programmer's error and asserts. */
uint64_t bench_number(const struct bench_case *c, const char *axis);
const char *bench_word(const struct bench_case *c, const char *axis);
/* The place of the word among the axis' `words`. */
unsigned bench_choice(const struct bench_case *c, const char *axis);

/* ---- in body: later work of `to` starts after what `from` holds now; the host does not wait. */
int bench_follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to, struct dev_event *event);

/* ---- in setup: a variant that does not apply to this case (`why` is not recorded as a failure). */
void bench_variant_off(struct bench_case *c, unsigned variant);
bool bench_variant_on(const struct bench_case *c, unsigned variant);

/* ---- in setup: of a BENCH_DEVICE variant at most so many iterations are queued, but one. For what a stream takes less of than
 * of other operations, such as graphs. */
void bench_most_iterations(struct bench_case *c, unsigned variant, uint64_t most);

/* ---- are results checked (--check on)? */
bool bench_checked(const struct bench_case *c);

/* ---- in prove or derive: the case's numbers can't be trusted, for a reason that only the program knows. Flags the case. */
void bench_doubt(struct bench_case *c, const char *flag, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- in check: is the error -EBADMSG with this text, for `return bench_wrong("block %u holds %g", ...)`. */
int bench_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- in prove: the mechanism the case relies on was seen to work, or not. Not realised makes the case invalid. */
void bench_mechanism(struct bench_case *c, const char *name, bool realised, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for what only some variants rely on (bit mask `uses`): not realised makes these invalid and no others. */
void bench_mechanism_of(struct bench_case *c, uint64_t uses, const char *name, bool realised, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- in derive */

/* A quantity of several variants: `f` gets seconds[variant] of one block (NaN for variants that are off) and is
 * applied block by block; the median over blocks and its 95 % interval are recorded. Valid when every variant in
 * `uses` (bit mask) is. `about`: the variant it is reported under, or -1. */
typedef double (*bench_formula)(const struct bench_case *c, const double *seconds);
int bench_derive(struct bench_case *c, const char *name, int about, const char *unit, uint64_t uses, bench_formula f,
                 const char *formula);

/* seconds[numerator] / seconds[denominator], block by block. */
int bench_ratio(struct bench_case *c, const char *name, unsigned numerator, unsigned denominator, const char *formula);

/* A single number that is not a statistic of the samples. */
void bench_value(struct bench_case *c, const char *name, int about, double value, const char *unit, const char *formula);

/* A derived quantity of this variant under a second name, interval, bound and all: what it means in this case. */
void bench_alias(struct bench_case *c, const char *name, int about, const char *alias, const char *formula);

/* The latest derived quantity of this name can't exceed `bound`; more than 2 % above it flags the variant.
 * Recorded so that the report can show the fraction. */
void bench_bound(struct bench_case *c, const char *name, int about, double bound, const char *bound_name);

/* What is not a measurement: a count, a name. */
void bench_fact_text(struct bench_case *c, const char *name, const char *value);
void bench_fact_number(struct bench_case *c, const char *name, double value);

/* Median and least seconds per iteration of a variant; NaN when it is off. The least is for ceilings only. */
double bench_median(const struct bench_case *c, unsigned variant);
double bench_best(const struct bench_case *c, unsigned variant);

#endif
