/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of the harness, shared by bench.c and its bench_*.c.
 * Programs include bench/bench.h and never this.
 */
#ifndef GPUSIG_BENCH_RUN_H
#define GPUSIG_BENCH_RUN_H

#include "bench/bench.h"
#include "bench/bench_gate.h"
#include "bench/cases/case_list.h"
#include "bench/cases/case_progress.h"
#include "bench/cases/cliffs.h"
#include "bench/table/bench_table.h"
#include "lib/cpu_load.h"
#include "lib/json.h"
#include "lib/record.h"
#include "lib/run_delay.h"
#include "lib/stats.h"

#include <signal.h>

enum { BENCH_AXES = 12, BENCH_VARIANTS = 64, BENCH_LEVELS = 8 };

/* Fewer samples give no 95 % interval of the median. */
#define BENCH_LEAST_SAMPLES 6u

/* Rounding and clock granularity stay far below this share above a bound. */
#define BENCH_BOUND_TOLERANCE 0.02

enum bench_exit {
	BENCH_OK = 0,
	BENCH_BAD = 1,
	BENCH_USAGE = 2,
	BENCH_INVALID = 3,
	BENCH_CANNOT = 77
};

enum bench_mode { BENCH_RUN, BENCH_HELP, BENCH_VERSION, BENCH_ABOUT, BENCH_DEVICES, BENCH_LIST };

/* When results are checked; each of these includes the one before it. */
enum bench_check_when { BENCH_CHECK_OFF, BENCH_CHECK_END, BENCH_CHECK_ROUNDS, BENCH_CHECK_EVERY };
extern const char *const bench_check_words[]; /* by that; ends with NULL */

struct bench_warm_up {
	bool given; /* else until the times are steady */
	uint64_t rounds;
};

struct bench_options {
	enum bench_mode mode;
	const char *device, *out, *done, *cases, *progress, *variants; /* NULL: not given */
	const char *axis[BENCH_AXES];                                  /* NULL: the default list */
	double budget_s;                                               /* 0: none given */
	double goal;
	uint64_t seed, min_samples;
	uint64_t max_samples; /* 0 until resolved: none given */
	struct bench_warm_up warm_up;
	enum bench_check_when check;
	bool full, json, headline, headline_variants, verbose;
	const char *format_word;           /* of --format; NULL: not given */
	const struct bench_format *format; /* the program's own, where --format names it */
};

struct bench_samples {
	bool on;
	uint64_t iterations;
	bool warm;               /* a sample follows an untimed iteration behind its gate */
	uint32_t queued;         /* queue entries of an iteration in the fullest stream */
	uint64_t max_iterations; /* limit set by the program; 0: as many as the queue holds */
	unsigned overdue;        /* samples that were lost because the watchdog opened a gate */
	bool lost;         /* the variant was dropped for that: its time is recorded as unknown */
	char skipped[160]; /* why the device cannot run it; "": it can, or nobody asked */
	double *seconds;   /* per iteration; `blocks` of them */
	double *singles;   /* of one operation each; NULL: none were taken */
	size_t single_count;
	bool wants_singles;
	struct stats_summary summary;
	struct bench_model model;
	bool valid, converged;
	/* Samples that were replaced because others took the cores; by round, whether threads of
	 * this process waited for a core, whoever had it. */
	unsigned retaken;
	bool *waited;
	uint64_t timed, checked; /* executions that leave a result, and those checked */
	uint64_t untimed;        /* executions after the samples, all checked */
	/* Spent on samples' checks; the least that one took, and what it looks at; 0: unknown. */
	double checks_s, next_check_s, execute_s;
};

struct bench_derived {
	char name[48], unit[16], formula[256], bound_name[64];
	int variant; /* variant, or -1 */
	struct bench_quantity quantity;
	uint64_t uses;                         /* all variants that it is of */
	double value, low, high, bound, share; /* NaN: unknown */
	size_t rounds;                         /* that the statistic is of; 0: it is none */
	double *observations;                  /* so many, of bench_derive_samples(); else NULL */
	bool flagged;                          /* this value alone */
	bool shown;                            /* it is in the table */
	char reason[512];                      /* why there is no value, where the program knows */
};

struct bench_flag {
	const char *flag;
	char quantity[48]; /* "": all of the variant's, or of the case's */
	int variant;
	char reason[ERR_TEXT];
};

struct bench_mechanism {
	char name[48], detail[ERR_TEXT];
	bool observed;
};

struct bench_fact {
	char name[64];
	char *text; /* NULL: use the number */
	double number;
};

/* A result that is a pattern; bench/bench_expect.h. */
struct bench_expected {
	uint64_t variants;
	struct dev *dev;
	void *at;
	uint64_t bytes;
	const void *pattern;
	float tolerance;
};

/* The telemetry of a device at one moment. */
struct bench_telemetry {
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count;
};

/* The resources of the current case; bench_alloc.c. */
struct bench_resources {
	struct resource *entries;
	size_t count, capacity;
};

/* Placement of a virtual machine's processors while the rounds of a case were measured;
 * bench_placement.c. */
struct bench_placement {
	bool probed; /* else there is one level, and nothing else is known */
	struct {
		double latency_s; /* from core to core, when it was met first */
		uint32_t rounds;
	} levels[BENCH_LEVELS];
	uint8_t level_count, now;     /* of the latest probe */
	uint8_t *of_round;            /* each one's level; max_samples of them */
	uint32_t since;               /* the first round after the latest probe */
	uint64_t probed_ns, every_ns; /* the latest probe, and from one to the next */
	unsigned probes;
	double latency_s, low_s, high_s; /* of the rounds that count (NaN: unknown); of all */
	uint32_t left_out;               /* rounds of other levels, or during which it changed */
	bool scattered;                  /* of rounds of several levels, as too few are of one */
};

/* The current case; cleared before each one. Its lists grow, so a pointer to an entry holds until
 * the next one is added. */
struct bench_current {
	struct axis_value point[BENCH_AXES];
	char key[512];
	struct bench_samples samples[BENCH_VARIANTS];
	uint32_t rounds;
	struct bench_placement placement;
	struct cpu_share load; /* of the cores, while the case was measured or since before */
	bool load_known;
	struct bench_derived *derived;
	size_t derived_count, derived_capacity;
	struct bench_flag *flags;
	size_t flag_count, flag_capacity;
	struct bench_mechanism *mechanisms;
	size_t mechanism_count, mechanism_capacity;
	struct bench_fact *facts;
	size_t fact_count, fact_capacity;
	struct bench_expected *expected;
	size_t expected_count, expected_capacity;
	const char *stopped; /* why sampling stopped: "goal", "time" or "max_samples"; NULL: no
				samples were taken */
	const char *check_status;
	char check_detail[ERR_TEXT];
	int wrong;              /* the variant whose result is wrong, or -1 */
	uint64_t fingerprinted; /* results that were checked by fingerprint alone */
	struct bench_fingerprint *fingerprints;
	size_t fingerprint_count, fingerprint_capacity;
	struct bench_adder *adders;
	size_t adder_count, adder_capacity;
	/* The check of a sample that runs now: its variant, and what it found so far. */
	unsigned checking;
	bool in_samples, compared, passed_known;
	bool poisoned;        /* the execution is one that a full check follows */
	bool single_pass;     /* it is one of many, bench_single_pass() */
	double saved_s;       /* that the next check of it need not take */
	unsigned variants_on; /* when sampling began */
	double clock_before_hz,
		clock_after_hz; /* NaN: unknown; `before` is read when the device is warm */
	uint64_t throttled;     /* bit mask of devices that are flagged */
	double warm_s, thermal_s[DEV_MAX]; /* when sampling began, and each device's seconds of
					      thermal throttling then */
	struct bench_telemetry
		state; /* telemetry of the first device right after the measurement */
	double elapsed_s;
};

struct bench_run {
	bool interrupted; /* by a signal, before the last case had ended */
	const struct bench *b;
	struct bench_options o;
	int argc;
	char **argv;
	char id[48];
	struct dev_set set;
	bool is_default_device;              /* no --device was given */
	char default_devices[40];            /* its spec, where there are several */
	char skipped_backends[4 * ERR_TEXT]; /* why the default is no other backend */
	struct axis_capacities known;
	bool gpu_class, simulated_lists; /* which default lists; neither: those of a CPU */
	bool time_only; /* a device has no results to check, and --check off was not given */
	struct axis_list axes[BENCH_AXES];
	size_t axis_count, variant_count;
	uint64_t selected; /* variants the user wants, bit mask */
	struct bench_case c;
	struct bench_current current;
	struct bench_resources owned;
	struct record_file file;
	struct json json;
	struct rng order;        /* of variants in a round */
	double *scratch;         /* max_samples, at least STATS_DRIFT_CAPACITY */
	double *gathered;        /* max_samples */
	double start_s;          /* on the device's clock */
	double deadline_s;       /* on the wall clock; infinite without a budget */
	struct run_delay delay;  /* while samples are taken */
	struct cpu_load load[2]; /* marks a second or more apart, the later one last */
	bool shared;             /* in the last seconds others certainly ran on the cores */
	double asked_s;          /* when that was asked last */
	struct gate *gate;       /* NULL: streams can't wait for a value */
	uint32_t queue_capacity; /* entries that a stream takes without blocking, as far as known */
	struct dev_event *start_event, *stop_event;
	double best_clock_hz;
	/* Times of the whole run: given to its cases; sampling including checks; the checks alone,
	 * each at most twice the cheapest, and the fingerprints' cost; executions after samples, as
	 * check_others() counts them. */
	double given_s, sampled_s, checks_s, others_s;
	struct {
		size_t total, ok, failed, skipped, already_done, out_of_budget, valid;
	} count;
	struct case_keys done, cases;
	struct case_list chosen;
	struct cliffs cliffs;
	struct case_progress progress;
	struct bench_table table;
};

/* bench.c: the signal that ends the run after the current sample, SIGINT or SIGTERM, or
 * 0. A second one ends the process, as does the first after 10 s in which the run did not end: a
 * library may never return. */
extern volatile sig_atomic_t bench_interrupted;

/* bench_options.c: parse argv; 0, or -EINVAL with a text. Axis lists are checked for syntax
 * only. */
int bench_options_parse(const struct bench *b, int argc, char **argv, struct bench_options *o);
/* Set options that were not given and depend on the device. */
void bench_options_resolve(struct bench_options *o, bool virtual_time);
void bench_options_help(const struct bench *b);
void bench_options_about(const struct bench *b);
size_t bench_axis_count(const struct bench *b);
size_t bench_variant_count(const struct bench *b);

/* bench.c: make the case of this index the current one: its point and its key. _set_case: the same
 * of one that may have been added. */
void bench_set_point(struct bench_run *r, size_t index);
void bench_set_case(struct bench_run *r, const struct chosen_case *one);

/* bench_device.c: open the device of --device, or the default, and check that the program can
 * use it: 0, -EINVAL or -ENODEV with a text; print the backends; write a device of the run
 * record. */
int bench_device_open(struct bench_run *r);
void bench_device_list(void);
void bench_device_write(struct bench_run *r, struct dev *dev);
void bench_device_write_libraries(struct bench_run *r);

/* bench_derive.c: the index of an axis; that it exists is asserted. */
size_t bench_axis_position(const struct bench_run *r, const char *axis);

/* bench_headline.c. _write: `primary` of the run record, each number with its case as the device
 * resolves it; `cliff`, of a program that has one. _list: print the key of the current point and
 * the headline numbers it gives. */
void bench_headlines_write(struct bench_run *r);
void bench_cliff_write(struct bench_run *r);
void bench_headlines_list(struct bench_run *r);
/* Headline numbers of the current point. bench_is_headline: true if it gives this one;
 * bench_has_headline: if it gives any; bench_find_metric: this number, or NULL. */
bool bench_is_headline(const struct bench_run *r, const struct bench_metric *m);
bool bench_has_headline(const struct bench_run *r);
struct bench_derived *bench_find_metric(struct bench_run *r, const struct bench_metric *m);
/* After setup: turn off the variants that no headline number of the case needs, and name them in a
 * fact. They are found by deriving from made-up times. All stay on if the case has no headline
 * number, or derive() fails without samples. */
void bench_headline_variants(struct bench_run *r);

/* bench_telemetry.c. _read: read a device; a failure is a sample without a value. _lists_throttle:
 * whether the device has a driver that would know why it throttles, which may not tell. _throttle:
 * the reason, or NULL when it does not throttle. _thermal_s: seconds of thermal throttling so far;
 * NaN: unknown. _write_identity: which board it is, as the fields "uuid", "serial" and "vbios".
 * _write: write the other samples, or those that change between cases, as the object "state"; an
 * unknown identity is there with its reason. */
void bench_telemetry_read(struct dev *dev, struct bench_telemetry *s);
bool bench_telemetry_lists_throttle(const struct bench_telemetry *s);
const char *bench_telemetry_throttle(const struct bench_telemetry *s);
double bench_telemetry_thermal_s(const struct bench_telemetry *s);
void bench_telemetry_write_identity(struct json *j, const struct bench_telemetry *s);
void bench_telemetry_write(struct json *j, const struct bench_telemetry *s, bool only_changing);

/* bench_case.c: set up, measure within `seconds`, check, derive and record the case in
 * r->current.point. A failed or skipped case is recorded and returns 0. Not 0: the record could
 * not be written, or an interrupt. */
int bench_case_run(struct bench_run *r, double seconds);

/* Note whether others ran on the cores in the last seconds, by the processors' account. */
void bench_note_load(struct bench_run *r, const struct cpu_load *now);

/* The device is warm and sampling begins: read its clock and telemetry. */
void bench_case_begin(struct bench_run *r);
bool bench_virtual(const struct bench_run *r);

/* bench_alloc.c: synchronise every stream of the case; close everything; free the list too. Each
 * returns the first error, with its text, after trying all. */
int bench_resources_sync(struct bench_run *r);
/* True if the case has opened streams besides its own. */
bool bench_has_streams(const struct bench_run *r);
int bench_resources_close(struct bench_run *r);
void bench_resources_free(struct bench_run *r);

/* bench_calls.c: the callbacks of a variant, its own or the case's, each with its arg; the error of
 * a callback is what it returned, or what it kept in c->status, which is 0 afterwards. _body: this
 * many iterations. _restore and _poison also wait for c->stream. _model: nothing where there is
 * none. */
int bench_call_body(struct bench_run *r, unsigned variant, uint64_t iterations);
int bench_call_restore(struct bench_run *r, unsigned variant);
int bench_call_poison(struct bench_run *r, unsigned variant);
int bench_call_check(struct bench_run *r, unsigned variant);
bool bench_has_check(const struct bench_run *r, unsigned variant);
bool bench_has_checks(const struct bench_run *r); /* any variant has */

/* bench_expect.c: of bench_expect(), the results of this variant. */
int bench_expected_poison(struct bench_run *r, unsigned variant);
int bench_expected_check(struct bench_run *r, unsigned variant);
bool bench_expects(const struct bench_run *r, unsigned variant);

/* bench_sample.c: open and close the gate; measure the current case within `seconds`; run one
 * sample of `iterations` of a variant and return its total seconds. */
int bench_gate_open(struct bench_run *r);
void bench_gate_close(struct bench_run *r);
int bench_sample_once(struct bench_run *r, unsigned variant, uint64_t iterations, bool warm,
		      double *seconds_p);
int bench_sample_case(struct bench_run *r, double seconds);

/* bench_singles.c. _take: after the samples, within `seconds` a variant. */
int bench_singles_take(struct bench_run *r, double seconds);
void bench_singles_write(struct json *j, const struct bench_samples *s);

/* bench_placement.c. _begin: before the first round that counts. _round: after each. _kept: how
 * many are of the commonest level so far. _gather: those of an array by round, in their order, and
 * how many. _end: leave out the others from all variants' samples, unless too few for an interval
 * would be left; how many there are then. */
void bench_placement_begin(struct bench_run *r);
void bench_placement_round(struct bench_run *r, uint32_t round);
uint32_t bench_placement_kept(const struct bench_run *r);
uint32_t bench_placement_gather(const struct bench_run *r, const double *of_rounds, uint32_t rounds,
				double *kept);
uint32_t bench_placement_end(struct bench_run *r, uint32_t rounds);

/* True if the time of this variant depends on the host's cores: the device uses them, or the host
 * takes the time, or enqueues while it is taken. */
bool bench_needs_cores(const struct bench_run *r, unsigned variant);
double bench_time(struct bench_run *r);

/* bench_check.c. _end: after the samples, a poisoned execution of every variant, compared in full,
 * and others while they take no more of the time than checks may. _poison and _sample: before
 * and after a sample that counts: make the result wrong where every execution is checked; check
 * what the sample left where that is due. A wrong result is -EBADMSG. _write: the object "check" of
 * a case record. */
int bench_check_end(struct bench_run *r);
int bench_check_poison(struct bench_run *r, unsigned variant);
int bench_check_sample(struct bench_run *r, unsigned variant, uint32_t round);
void bench_check_write(struct bench_run *r);

/* bench_case.c: fail the case, for what it has to say can't be kept. */
void bench_fail_without_memory(struct bench_case *c, const char *what, const char *name);
/* Without memory for another flag the case fails. */
void bench_flag_variant(struct bench_run *r, const char *flag, int variant, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* True if a flag makes the case, or this variant, invalid. Grades do not: they say how far a value
 * can be trusted. _concerns: the flag is about this variant, or about all of the case's. _graded:
 * the variant has this grade. _case_valid: no part of the case is invalid. */
enum { BENCH_GRADES = 2 };
extern const char *const bench_grades[BENCH_GRADES];
bool bench_is_grade(const struct bench_flag *f);
bool bench_flag_concerns(const struct bench_flag *f, int variant);
bool bench_flagged(const struct bench_run *r, int variant);
bool bench_graded(const struct bench_run *r, int variant, const char *grade);
/* Samples of this variant whose threads waited for a core, whoever had it; those of them that
 * others may have disturbed, as these certainly ran on the cores. */
unsigned bench_waited(const struct bench_run *r, unsigned variant);
unsigned bench_disturbed(const struct bench_run *r, unsigned variant);
bool bench_case_valid(const struct bench_run *r);

/* bench_derive.c: the latest of this name and variant, or NULL; it holds until the next one is
 * added. */
struct bench_derived *bench_find_derived(struct bench_run *r, const char *name, int variant);
void bench_derive_rates(struct bench_run *r);
int bench_derive_rows(struct bench_run *r); /* `quantities` of struct bench */
const char *bench_unit_of(enum bench_kind kind, const char *unit);
uint64_t bench_uses_of(const struct bench_quantity *q); /* bit mask of variants */
double bench_seconds_of(const struct bench_seconds *of, const double *seconds);
/* _keep, _restore: drop what was added to the lists of the case meanwhile. */
struct bench_kept {
	size_t derived, flags, mechanisms, facts;
};
struct bench_kept bench_current_keep(const struct bench_current *now);
void bench_current_restore(struct bench_current *now, const struct bench_kept *kept);
void bench_current_clear(struct bench_current *now);
void bench_current_free(struct bench_current *now); /* the samples' seconds, too */

/* bench_output.c: whether the value may be used; whether one of the variants that it is of has this
 * grade; why there is no value. */
bool bench_derived_valid(const struct bench_run *r, const struct bench_derived *d);
bool bench_derived_graded(const struct bench_run *r, const struct bench_derived *d,
			  const char *grade);
const char *bench_derived_reason(const struct bench_run *r, const struct bench_derived *d);

/* bench_format.c: hand the current case to the program's own format; print it. 0 or its error. */
int bench_format_case(struct bench_run *r, const char *status, const char *reason);
int bench_format_end(struct bench_run *r);

/* bench_output.c: build the record in r->json, append it to the file, print it or the table. 0
 * or the error. `cause`: the word for `reason` that programs read (docs/RECORDS.md). */
int bench_output_run(struct bench_run *r);
int bench_output_case(struct bench_run *r, const char *status, const char *cause,
		      const char *reason);
int bench_output_end(struct bench_run *r, const char *status, int code, const char *reason);

#endif
