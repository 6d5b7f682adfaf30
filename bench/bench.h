/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness. A benchmark is a declaration, struct bench; this header says what it declares and
 * what it may call. The harness owns options, case order, warm-up, calibration, clock, gate,
 * statistics, validity, output and exit code.
 *
 * A CASE is one point of the axes. Inside it the VARIANTS, the things to be compared, run
 * interleaved: samples are taken in ROUNDS, and every round holds each variant once, in random
 * order. Drift hits all of them alike, and a ratio is formed inside each round before any
 * statistic.
 *
 *   for each case:
 *       admit, setup
 *       calibration of every variant, to samples of 100 us to 5 ms
 *       warm-up
 *       rounds of samples until the 95 % interval of every variant's median is within the goal
 *           (1 %) or the case's time is spent (at least 10 rounds; at most 10000, or 200 in
 *           virtual time); now and then check, right after a sample
 *       for each variant: poison, body, check
 *       model, and what the harness derives from it
 *       verify_mechanism, derive, teardown
 *       one record
 *
 * A case's time is half a second, or with --budget its share of the wall time that is left. Where
 * time is virtual it is always half a second of that; the budget is wall time there, too, and
 * decides how many cases are begun. bench/cases/case_list.h has their order.
 *
 * Callbacks return 0 or -errno with a text, which err_note() of lib/err.h keeps:
 * return err_note(-ENOTSUP, "%s is not supported", name). The bench_ and dev_ functions have set
 * the text of what they return. An error may also be kept in c->status, by TRY() of lib/err.h and
 * by bench/bench_alloc.h: then the callback has failed, whatever it returns. Callbacks never print
 * and never exit. From admit and setup, -ENOTSUP, -ENODEV and -ENOMEM skip the case; any other
 * error fails it. -ETIMEDOUT from a body means that a gate was overdue (bench/bench_gate.h): that
 * sample is dropped, and after the second one the variant is dropped and flagged "gate". teardown
 * also runs after a partial setup; what was opened with bench/bench_alloc.h needs none.
 *
 * Limits: 12 axes, 64 variants. Flags, mechanisms, derived quantities and facts: memory only;
 * without it the case ends with -ENOMEM. Longer names are cut: of a quantity or mechanism to 47
 * characters, of a fact to 63, of a unit to 15, of a formula to 159.
 *
 * Times are in seconds and sizes in bytes. On a device with virtual time all of this is the same,
 * but nothing is a measurement, and the same seed gives the same bytes.
 */
#ifndef GPUSIG_BENCH_H
#define GPUSIG_BENCH_H

#include "bench/axis.h"
#include "device/dev.h"
#include "lib/cpu_load.h"
#include "lib/rng.h"

struct bench_case;

enum bench_timing {
	/* body() does `iterations` iterations and returns when they are complete; the harness
	 * reads the clock around it. */
	BENCH_HOST,
	/* body() only enqueues `iterations` iterations on c->stream. The harness holds the
	 * stream at a gate while they are enqueued (bench/bench_gate.h), brackets them with
	 * events, and takes device time, so the time excludes enqueueing. */
	BENCH_DEVICE,
	/* body() does `iterations` iterations and stores the seconds that count in
	 * c->self_seconds: for intervals that only the program can name, such as the wait of one
	 * block. Streams are held only at gates that the program opens (bench/bench_gate.h). */
	BENCH_SELF,
};

struct bench_model;

/* A row of what is compared: a name, and the work. Its callbacks get its `arg`; where it has none,
 * those of struct bench, which says what each does, get it. So no code asks which variant it is. */
struct bench_variant {
	const char *name;
	enum bench_timing timing;
	long arg; /* the program's own, such as a piece count */
	int (*once)(struct bench_case *c, long arg);
	int (*body)(struct bench_case *c, long arg, uint64_t iterations);
	int (*restore)(struct bench_case *c, long arg);
	void (*model)(const struct bench_case *c, long arg, struct bench_model *m);
	int (*poison)(struct bench_case *c, long arg);
	int (*check)(struct bench_case *c, long arg);
	uint32_t needs;  /* DEV_CAP_* that a device of the case must have; else the variant is off,
			    and the fact "not_measured" says so */
	unsigned queued; /* BENCH_DEVICE: queue entries of one iteration in the fullest stream, for
			    the queue's limit; 0 is 1. Where it depends on the case:
			    bench_queue_entries() */
	bool reference;  /* measured only to bound the others: recorded, but no result of the
			    program, and never checked */
	bool always; /* measured even when the user's list leaves it out; setup turns it off where
			nothing needs it, as does --headline-variants */
};

/* Work of one iteration, from which the harness derives rates: bytes moved, floating-point
 * operations, operations on integers, messages. What does not apply stays 0. State in `formula` how
 * bytes are counted.
 *
 * The harness itself derives these of every variant that was measured, before verify_mechanism and
 * derive, so that both may bound or alias them, and `primary` may name them:
 *
 *     time           s        median of the samples' seconds per iteration
 *     bandwidth      byte/s   bytes / time
 *     flop_rate      flop/s   flops / time
 *     op_rate        op/s     ops / time
 *     message_rate   1/s      messages / time
 *
 * Units are s, byte, byte/s, flop/s, op/s, 1/s, Hz, W, or "" for ratios and counts; tables print
 * them with prefixes. */
struct bench_model {
	double bytes, flops, ops, messages;
};

/* A headline number: one derived quantity of one variant in one case, the same on every run on a
 * kind of device, or missing with the reason; never another case in its place. `where` names the
 * case by the axes that have several values in a default list, "op=triad footprint=16LLC". Where
 * kinds of devices differ an axis has three values: "shape=n2048|n8192|n1024" is n8192 on a
 * GPU-class device, n1024 where time is virtual and results are computed, and n2048 elsewhere;
 * "type=main" is bf16 on a GPU-class device with GEMMs of it, and f32 elsewhere (bench/axis.h).
 * Every default list for that kind must hold the case (tests/programs/headlines.bats). */
struct bench_metric {
	const char *metric;  /* name in the signature */
	const char *derived; /* which derived quantity: the harness's own, or one of `quantities` */
	const char *variant; /* of which variant; NULL: of the whole case */
	const char *where;   /* NULL: the program has one case */
};

/* A curve that may have cliffs: where its rate falls, or its seconds grow, at once. Where that is
 * so from one value of the axis' default list to the next, the harness adds cases between the two
 * until the place is known to 5 % (bench/cases/cliffs.h); with `octave` of the axis also others. */
struct bench_cliff {
	const char *axis;    /* of numbers, or of words of which "n64" and the like are on it */
	const char *derived; /* a rate, or seconds that are about constant where there is no cliff;
				one of `quantities`, or the harness's own */
	const char *variant;
	const char
		*where; /* the cases that have such curves, as of struct bench_metric; NULL: all */
};

/* A program of several processes, such as the ranks of an MPI job. One of them, the leader,
 * calls bench_main(). Its callbacks send commands to the others and return the common result, so
 * the harness knows one process only. Such a program times with BENCH_SELF. */
struct bench_job {
	const char *library; /* what connects the processes: "Open MPI 4.1.4" */
	unsigned processes;
	unsigned hosts;
	bool virtual_time; /* times come from a simulator: nothing is a measurement */
	/* The cores of all processes on the leader's machine, and their own CPU time; called
	 * between bodies. */
	struct cpu_load (*load)(void);
	/* The mean core-to-core latency (lib/core_latency.h) of neighbouring processes on the
	 * leader's host; called between bodies. 0, or -ENODEV: it cannot be measured. */
	int (*core_latency)(unsigned batches, double *seconds_p);
};

/* A variant of a case that was measured, as struct bench_format gets it. */
struct bench_result {
	unsigned variant;
	double seconds; /* per iteration, median of `samples` */
	uint64_t samples;
	int64_t warm_up;     /* rounds before them; -1: until times were steady */
	bool checked;        /* its result was compared, and is right */
	const char *invalid; /* why it is invalid, or NULL. Not being checked is not a reason. */
	const char *grade;   /* why it is noisy or contended, or NULL */
};

/* A table as another tool prints it, for --format NAME, in place of the harness's. The functions
 * return 0 or -ENOMEM with a text; `arg` is handed to them. */
struct bench_format {
	const char *name;
	void *arg;
	/* In the order in which cases are measured. */
	int (*add)(void *arg, const struct bench_case *c, const struct bench_result *result);
	/* A case that failed or was skipped, and why. wrong: the variant whose result is wrong, or
	 * -1. */
	int (*miss)(void *arg, const struct bench_case *c, const char *status, const char *reason,
		    int wrong);
	/* At the end, also after an interrupt: prints, by bench/out.h. left_out: cases that did not
	 * run, for an interrupt or within --budget. */
	int (*print)(void *arg, const struct bench_case *c, size_t left_out, bool interrupted);
};

struct bench {
	const char *name;            /* "micro/memory": folder and file */
	const char *question;        /* one sentence, ends with a question mark */
	const char *formula;         /* how the main quantity is computed, units included */
	const char *timed;           /* what is inside the timed region and what is not; a model's
				      * begins with "nothing", and its priority is not raised */
	const char *limits;          /* known limits, or NULL */
	uint32_t needs;              /* DEV_CAP_* without which nothing here makes sense: exit 77 */
	uint32_t wants;              /* DEV_CAP_* used where present */
	unsigned min_devices;        /* 0 is 1 */
	unsigned default_devices;    /* without --device, the first so many; 0: the first */
	const struct bench_job *job; /* NULL: one process */
	double share; /* weight in a whole run's time, relative to other programs; 0 is 1 */
	const struct axis *axes; /* ends with a NULL name; NULL: one case */
	/* The option that selects variants, such as "path"; NULL: "variant". */
	const char *variant_option;
	/* Ends with a NULL name; NULL: nothing is timed, derive() gives facts. */
	const struct bench_variant *variants;
	const struct bench_quantity_row *quantities; /* ends with a NULL name; may be NULL */
	const struct bench_metric *primary;          /* ends with a NULL metric; may be NULL */
	struct bench_cliff cliff;                    /* a NULL axis: none are looked for */
	size_t state_bytes; /* c->state: zeroed before setup of every case */
	void *arg; /* c->arg: what outlives a case, such as a cache of main()'s; may be NULL */
	const struct bench_format *format; /* may be NULL */
	const char *option_notes;          /* --help has them after the options; may be NULL */

	/* May be NULL. Called for every case before the first one runs; must be cheap. -ENOTSUP
	 * with a text: skip this case. -EINVAL: the case's axis values exclude each other; the
	 * same, but a usage error when no case of the run is possible. */
	int (*admit)(const struct bench_case *c);
	/* May be NULL. Allocates, touches memory, and decides which variants apply. */
	int (*setup)(struct bench_case *c);

	/* The work, of the variants that do not bring their own. once: one iteration; with
	 * BENCH_SELF it adds its seconds to c->self_seconds. body, in its place: all iterations,
	 * for work in which they are not alike. */
	int (*once)(struct bench_case *c, long arg);
	int (*body)(struct bench_case *c, long arg, uint64_t iterations);

	/* May be NULL. After each sample of a variant, not timed: brings back the state in which
	 * the other variants are measured, such as warm caches, by work on c->stream, which the
	 * harness waits for. */
	int (*restore)(struct bench_case *c, long arg);

	/* May be NULL. bytes, in its place: the axis that is the bytes of one iteration. */
	void (*model)(const struct bench_case *c, long arg, struct bench_model *m);
	const char *bytes;

	/* May be NULL. Makes the last output wrong before a check, by work on c->stream, which the
	 * harness waits for. */
	int (*poison)(struct bench_case *c, long arg);

	/* May be NULL. -EBADMSG with a text: the result is wrong. What the last execution left
	 * is checked, after one since poison() or after any number; results that may be known to be
	 * right: bench/bench_check.h. */
	int (*check)(struct bench_case *c, long arg);

	/* May be NULL. Calls bench_mechanism(). */
	int (*verify_mechanism)(struct bench_case *c);

	/* May be NULL. Calls bench_derive(), bench_value(), bench_fact_*(). With
	 * --headline-variants also right after setup, with made-up times, to find what headline
	 * numbers depend on: it changes nothing else. */
	int (*derive)(struct bench_case *c);

	void (*teardown)(struct bench_case *c); /* may be NULL */
};

struct bench_case {
	struct dev *dev;           /* the first device */
	struct dev_set *devices;   /* all of them */
	struct dev_stream *stream; /* of the first device, normal priority, idle between bodies */
	struct rng rng;            /* seeded from --seed and the case's key */
	void *state, *arg;
	int status;                /* the first error of TRY() and bench/bench_alloc.h; 0: none */
	double self_seconds;       /* BENCH_SELF: set by body() */
	double seconds;            /* the case's time, for what derive() measures itself */
	struct bench_run *run;     /* the harness's */
	struct roofline *roofline; /* of bench/roofline.h, where the program has it */
};

/* Everything: parses options, runs the cases, prints, returns the exit code. */
int bench_main(const struct bench *b, int argc, char **argv);

/* ---- the devices of the run, as --device takes them. */
const char *bench_device_spec(const struct bench_case *c);

/* ---- the case's point. An axis that does not exist is a programming error and asserts. */
uint64_t axis_u64(const struct bench_case *c, const char *axis);
const char *axis_str(const struct bench_case *c, const char *axis);
/* The index of the word in the axis' `words`. */
unsigned axis_index(const struct bench_case *c, const char *axis);
/* True if an axis' type is of the axis' set (bench/axis.h), on this device. */
bool axis_has_type(const struct bench_case *c, const char *axis);

/* ---- in body: work that `to` gets later starts after the work that `from` holds now; the host
 * does not wait. */
int bench_follow(struct bench_case *c, struct dev_stream *from, struct dev_stream *to,
		 struct dev_event *event);

/* ---- in setup: turn off a variant that does not apply to this case; that is not a failure. */
void bench_variant_off(struct bench_case *c, unsigned variant);

/* ---- in setup: the device cannot run the variants in `variants` (bit mask). They are turned off,
 * and the fact "not_measured" names those of the user's list and the reason, after earlier ones. If
 * that list has no other left, -ENOTSUP with the reason. */
int bench_variants_skip(struct bench_case *c, uint64_t variants, const char *why);

bool bench_variant_on(const struct bench_case *c, unsigned variant);

/* ---- the index of the variant of this name, that it exists is asserted; its row, and its work.
 * Indices are those of `variants`, below bench_variants(). */
unsigned bench_variant(const struct bench_case *c, const char *name);
unsigned bench_variants(const struct bench_case *c);
const struct bench_variant *bench_row(const struct bench_case *c, unsigned variant);
struct bench_model bench_work(const struct bench_case *c, unsigned variant);

/* ---- in setup: one iteration of a BENCH_DEVICE variant takes so many queue entries, at least
 * 1, in the fullest stream; replaces `queued` of struct bench_variant for this case. Events and
 * waits count. */
void bench_queue_entries(struct bench_case *c, unsigned variant, unsigned per_iteration);

/* ---- in setup: queue at most so many iterations of a BENCH_DEVICE variant, but always one. For
 * operations of which a stream holds fewer than of others, such as graphs. */
void bench_max_iterations(struct bench_case *c, unsigned variant, uint64_t max_iterations);

/* ---- in setup: time up to 1000 single operations of this variant after its samples, each alone,
 * for percentiles: "singles_s" of its record. For what takes microseconds. Not where time is
 * virtual, or with --check every. */
void bench_single_times(struct bench_case *c, unsigned variant);

/* ---- whether there are results: not where a device of the case simulates time alone
 * (DEV_CAP_TIME_ONLY). Then nothing is poisoned or checked, which makes no case invalid, memory may
 * be larger than that of the host, and setup draws, copies and keeps nothing on the host that grows
 * with it. */
bool bench_has_results(const struct bench_case *c);

/* ---- whether results are checked: where there are some, but not with --check off. */
bool bench_checked(const struct bench_case *c);

/* ---- in body: whether this execution is one of many after the samples that are not timed, each
 * of which is checked. A kernel that repeats a pass to take long enough does one then: more of
 * them are checked in the same time. */
bool bench_single_pass(const struct bench_case *c);

/* ---- whether the timed part of what moves bytes follows an untimed run of the same behind its
 * gate, so that caches hold what the same leaves there, and links and memories that slept while the
 * host checked a sample are awake. Not where the cores are the device; nor of an execution that is
 * checked in full, where it would hide what the timed one left. The harness does so for
 * BENCH_DEVICE variants whose model has bytes, in cases without flops. */
bool bench_runs_warm(const struct bench_case *c);

/* ---- in body and after it: the user has ended the run (SIGINT, SIGTERM). What goes on for seconds
 * ends within a few, and the case keeps what it has. */
bool bench_stopped(const struct bench_case *c);

/* ---- in setup: the case is a load for minutes, whose samples may find the device hot from the one
 * before. That invalidates no case; bench_throttled() has the reason, or NULL, and the program
 * flags what the samples gave. */
void bench_may_throttle(struct bench_case *c);
const char *bench_throttled(const struct bench_case *c);

/* Flags that the harness raises itself: "unverified", "few_samples", "throttled", "mechanism",
 * "above_bound", "gate", "queues", "soak" (docs/method/statistics.md says when). Flagged cases and
 * variants are kept in the records and enter no signature. "noisy" and "contended" are grades: the
 * values stay valid, with their interval, and are marked.
 *
 * ---- in verify_mechanism or derive: flags the case, for a reason that only the program knows. */
void bench_flag(struct bench_case *c, const char *flag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for the latest derived quantity of this name and variant alone, where what was measured
 * is right and this number means less than its name says. */
void bench_flag_value(struct bench_case *c, const char *name, int variant, const char *flag,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- in derive: whether all of the interval of the latest derived quantity of this name and
 * variant, or its value where it has none, is outside of low..high. False where it has no value. */
bool bench_outside(const struct bench_case *c, const char *name, int variant, double low,
		   double high);

/* ---- in check: returns -EBADMSG with this text, for `return bench_wrong("block %u holds %g",
 * ...)`. */
int bench_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- in verify_mechanism: the mechanism that the case relies on was observed, or not. Not
 * observed makes the case invalid. */
void bench_mechanism(struct bench_case *c, const char *name, bool observed, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a mechanism that only the variants in `uses` (bit mask) rely on: not observed
 * makes these invalid and no others. */
void bench_mechanism_of(struct bench_case *c, uint64_t uses, const char *name, bool observed,
			const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- in derive */

/* One round of samples, as a formula gets it. */
struct bench_round {
	const struct bench_case *c;
	const double *seconds; /* per iteration, by variant; NaN where a variant is off */
	int variant;           /* the variant that the quantity is reported under, or -1 */
	const void *arg;       /* as given to bench_derive() */
};

/* Definition of a quantity from terms A to D, seconds of a round. The record states it and names
 * the variants (docs/RECORDS.md), so that anybody can recompute the number. */
enum bench_kind {
	BENCH_VALUE, /* one number, no statistic */
	BENCH_MODEL,
	BENCH_OBSERVED,   /* of values that the program collected */
	BENCH_FORMULA,    /* f(), which tests/method/definitions.py needs a second time */
	BENCH_TIME,       /* A / factor (0: 1) */
	BENCH_RATE,       /* factor / the median of A */
	BENCH_RATIO,      /* A / B */
	BENCH_DIFFERENCE, /* A - B */
	BENCH_SHARE,      /* A's rate / B's: factor B / A, with A's work / B's, by their models */
	BENCH_FRACTION,   /* (A / B - 1) / (C / D - 1): bench/bench_overlap.h */
	BENCH_SPEEDUP,    /* of a row: B / A; a ratio in records */
};

/* Seconds of the variants in `sum`, added, and of the longest of those in `longest`: bit masks. */
struct bench_seconds {
	uint64_t sum, longest;
};
#define BENCH_OF(variant) ((struct bench_seconds){.sum = UINT64_C(1) << (variant)})

enum { BENCH_TERMS = 4 };
struct bench_quantity {
	enum bench_kind kind;
	struct bench_seconds of[BENCH_TERMS]; /* A to D; of a formula all that it reads */
	double factor;
	const char *unit;                         /* NULL: s of times, else "" */
	double (*f)(const struct bench_round *r); /* gets `arg` */
	const void *arg;
	bool modelled; /* the variants' times are a model's */
};

/* A quantity as a program declares it, once: what it is. Its unit, and for a headline number
 * whether more of it is better, follow: a rate, a share, a fraction and a speedup are better when
 * higher, a time, a ratio and a difference of times when lower, and a value as its unit is (of
 * "byte/s" more, of "s" less); `more_is_better` says so of others, such as a count of what answers.
 * Where `of` or `to` is given the harness derives it, in the order of the rows, before derive():
 * seconds(of) / seconds(to), and so on, reported under `of`. */
struct bench_quantity_row {
	const char *name;
	enum bench_kind kind;
	const char *of, *to; /* variants; `of` NULL: each that is no reference, but `to` */
	const char *formula; /* in words; NULL: "seconds / seconds(to)" */
	const char *unit;    /* NULL: s of times, else "" */
	bool modelled;       /* the variants' times are a model's */
	bool more_is_better;
};

/* A quantity of several variants, formed round by round: the median over rounds and its 95 %
 * interval are recorded. Rounds with a result that is not finite are left out, and the record says
 * of how many rounds the statistic is. It is valid when every variant in `of` is valid; nothing is
 * recorded where one of them is off. `variant`: the one it is reported under, or -1. `formula`: in
 * words; NULL, of two variants: "seconds(a) / seconds". */
int bench_derive(struct bench_case *c, const char *name, int variant,
		 const struct bench_quantity *q, const char *formula);

/* The commonest: seconds(numerator) / seconds(denominator), reported under the numerator;
 * seconds(over) / seconds(variant); seconds(variant) - seconds(less); seconds(variant) / count;
 * work / seconds(variant). */
int bench_ratio(struct bench_case *c, const char *name, unsigned numerator, unsigned denominator,
		const char *formula);
int bench_speedup(struct bench_case *c, const char *name, unsigned variant, unsigned over,
		  const char *formula);
int bench_difference(struct bench_case *c, const char *name, unsigned variant, unsigned less,
		     const char *formula);
int bench_time_each(struct bench_case *c, const char *name, unsigned variant, double count,
		    const char *formula);
int bench_rate(struct bench_case *c, const char *name, unsigned variant, double work,
	       const char *unit, const char *formula);

/* Statistic of `n` values that the program collected itself, one an observation; they are
 * recorded. */
int bench_derive_samples(struct bench_case *c, const char *name, int variant, const char *unit,
			 uint64_t uses, const double *x, size_t n, const char *formula);

/* A single number that is not a statistic of the samples. NaN: unknown; it is recorded as null. */
void bench_value(struct bench_case *c, const char *name, int variant, double value,
		 const char *unit, const char *formula);

/* A quantity that has no value here, and why: "S_ideal 1.01 is within noise of 1". */
void bench_no_value(struct bench_case *c, const char *name, int variant,
		    const struct bench_quantity *q, const char *formula, const char *reason);

/* Prediction of a model or a formula in place of a measurement: recorded, valid whatever befell the
 * samples, and no metric of a signature. */
void bench_model_value(struct bench_case *c, const char *name, int variant, double value,
		       const char *unit, const char *formula);

/* Record a derived quantity of this variant, or one of the harness's own, under a second name
 * that says what it means in this case, with the same interval and bound. */
void bench_alias(struct bench_case *c, const char *name, int variant, const char *alias,
		 const char *formula);

/* Record a derived quantity of the fastest of `variants` (bit mask), the one with the lowest
 * median, under a second name, "best_...", as one of the case. It is of all that were measured:
 * where one of them is invalid, so is this, and no other takes its place; noise is that of the
 * fastest. No value where options left one out, or one lost all samples; one that the device does
 * not support is not compared. Of equal variants it is too good by their noise. */
void bench_alias_fastest(struct bench_case *c, const char *name, uint64_t variants,
			 const char *alias, const char *formula);

/* The latest derived quantity of this name, or one of the harness's own, can't exceed `bound`;
 * more than 2 % above it flags the variant. The bound is recorded, and value / bound as its share,
 * which tables and reports show. bench_bound_share() replaces this share by another derived
 * quantity of the variant; NULL: no device reaches the bound, so there is no share. */
void bench_bound(struct bench_case *c, const char *name, int variant, double bound,
		 const char *bound_name);
void bench_bound_share(struct bench_case *c, const char *name, int variant, const char *share);

/* The same with a nominal rate (struct dev_nominal), which is recorded instead of an earlier bound
 * and gives the share; it flags the variant if it `is_bound`. 0: unknown, and nothing is done. */
#define BENCH_NOMINAL "nominal"
void bench_nominal(struct bench_case *c, const char *name, int variant, double nominal,
		   bool is_bound);

/* Facts are not measurements: counts, names. Tables have them with -v alone, or where nothing is
 * timed, or where the name begins with "skipped" or has "not_measured" in it: what is missing is
 * always said. A fact is never cut; a text of NULL fails the case for want of memory. */
void bench_fact_text(struct bench_case *c, const char *name, const char *value);
void bench_fact_format(struct bench_case *c, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void bench_fact_number(struct bench_case *c, const char *name, double value);

/* A row of the case's course over time: its record has the `n` values of every row, NaN as null.
 * The first row is "time", in seconds; all have the same n. */
void bench_course(struct bench_case *c, const char *name, const char *unit, const double *values,
		  size_t n);

/* Median (of an even number the mean of the two in the middle) and minimum of a variant's
 * seconds per iteration, in verify_mechanism and derive; NaN when it is off. Use the minimum for
 * roofline bounds only. */
double bench_median(const struct bench_case *c, unsigned variant);
double bench_best(const struct bench_case *c, unsigned variant);

/* In derive: a variant's seconds per iteration in each round; NULL where it is off, of 0 rounds. */
const double *bench_seconds(const struct bench_case *c, unsigned variant, size_t *rounds_p);

#endif
