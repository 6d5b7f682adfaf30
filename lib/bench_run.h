/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the harness: what bench.c and its bench_*.c share.
 * Programs include lib/bench.h and never this.
 */
#ifndef GPUSIG_BENCH_RUN_H
#define GPUSIG_BENCH_RUN_H

#include "lib/bench.h"
#include "lib/bench_gate.h"
#include "lib/json.h"
#include "lib/load.h"
#include "lib/record.h"
#include "lib/stats.h"

#include <signal.h>

enum { BENCH_AXES = 8, BENCH_VARIANTS = 64, BENCH_DERIVED = 256, BENCH_FLAGS = 4 * BENCH_VARIANTS, BENCH_FACTS = 256,
       BENCH_CAPABILITIES = 16 };

enum bench_exit { BENCH_OK = 0, BENCH_BAD = 1, BENCH_USAGE = 2, BENCH_INVALID = 3, BENCH_CANNOT = 77 };

enum bench_mode { BENCH_RUN, BENCH_HELP, BENCH_VERSION, BENCH_ABOUT, BENCH_DEVICES, BENCH_LIST };

struct bench_warm_up {
	bool given; /* else until steady */
	uint64_t blocks;
};

struct bench_options {
	enum bench_mode mode;
	const char *device, *out, *done, *variants; /* device NULL: none given */
	const char *axis[BENCH_AXES]; /* NULL: the default list */
	double budget_s;              /* 0: none given */
	double goal;
	uint64_t seed, min_samples, max_samples;
	struct bench_warm_up warm_up;
	bool check, full, json;
};

struct bench_samples {
	bool on;
	uint64_t iterations;
	uint64_t most;    /* iterations that the program lets be queued; 0: what the queue takes */
	unsigned overdue; /* samples that were lost because a gate was open before its time */
	bool lost;        /* and so it went off: its time is recorded as unknown */
	double *seconds; /* per iteration; `blocks` of them */
	struct stats_summary summary;
	struct bench_model model;
	bool valid, converged;
};

struct bench_derived {
	char name[48], unit[16], formula[160], bound_name[64];
	int about; /* variant, or -1 */
	uint64_t uses;
	double value, low, high, bound; /* NaN: unknown */
};

struct bench_flag {
	const char *flag;
	int about;
	char reason[160];
};

struct bench_proof {
	char name[48], detail[192];
	bool realised;
};

struct bench_fact {
	char name[64];
	char *text; /* NULL: the number counts */
	double number;
};

/* What a device said of itself at one moment. */
struct bench_state {
	struct dev_reading readings[DEV_READINGS];
	size_t count;
};

/* What the case at hand opened; bench_own.c. */
struct bench_owned {
	struct own *things;
	size_t count, room;
	int status; /* the first error, or 0 */
};

/* The case at hand; emptied before each one. */
struct bench_now {
	struct axis_value point[BENCH_AXES];
	char key[512];
	struct bench_samples samples[BENCH_VARIANTS];
	uint32_t blocks;
	struct bench_derived derived[BENCH_DERIVED];
	size_t derived_count;
	struct bench_flag flags[BENCH_FLAGS];
	size_t flag_count;
	struct bench_proof proofs[BENCH_VARIANTS];
	size_t proof_count;
	struct bench_fact facts[BENCH_FACTS];
	size_t fact_count;
	const char *check_status;
	char check_detail[256];
	double clock_before_hz, clock_after_hz; /* NaN: unknown; before the samples, when the device is warm */
	uint64_t throttled;                     /* a bit for each device that is flagged */
	double warm_s, thermal_s[DEV_MAX];      /* when that was, and what each device said of heat then */
	struct bench_state state; /* of the first device, right after the measurement */
	double elapsed_s;
};

struct bench_run {
	const struct bench *b;
	struct bench_options o;
	int argc;
	char **argv;
	char id[48];
	struct dev_set set;
	bool chosen;        /* the device is the default */
	char others[400];   /* and why it is no other */
	struct axis_list axes[BENCH_AXES];
	size_t axis_count, variant_count;
	uint64_t selected; /* variants the user wants, bit mask */
	struct bench_case c;
	struct bench_now now;
	struct bench_owned owned;
	struct record_file file;
	struct json json;
	struct rng order;   /* of variants in a block */
	double *scratch;    /* max_samples, at least STATS_DRIFT_ROOM */
	double start_s, deadline_s; /* on the device's clock; deadline is infinite without a budget */
	struct gate *gate;   /* NULL: streams can't wait for a value */
	uint32_t queue_room; /* operations that a stream takes without waiting, as far as is known by now */
	struct dev_event *from, *to;
	double best_clock_hz;
	struct {
		size_t total, ok, failed, skipped, already_done, out_of_budget, valid;
	} count;
	char **done;
	size_t done_count;
};

extern volatile sig_atomic_t bench_interrupted;

/* Words for the bits of enum dev_cap, in order. */
extern const char *const bench_capabilities[BENCH_CAPABILITIES];

/* bench_options.c: parse argv; 0, or -EINVAL with a text. Axis lists are checked for syntax. */
int bench_options_parse(const struct bench *b, int argc, char **argv, struct bench_options *o);
void bench_options_help(const struct bench *b);
void bench_options_about(const struct bench *b);
size_t bench_axis_count(const struct bench *b);
size_t bench_variant_count(const struct bench *b);

/* bench_device.c: open what --device names, or the default, and see that the program can use it: 0, -EINVAL or -ENODEV with a
 * text; print the backends; write a device of the run record. */
int bench_device_open(struct bench_run *r);
void bench_device_list(void);
void bench_device_write(struct bench_run *r, struct dev *dev);

/* bench_state.c: ask a device; a failure is a reading without a value. Whether it tells what holds its clocks back; why it is
 * throttled, or NULL; seconds that heat has held its clocks back, NaN: unknown. Write the readings, or those that change from
 * case to case, as the object "state". */
void bench_state_read(struct dev *dev, struct bench_state *s);
bool bench_state_tells(const struct bench_state *s);
const char *bench_state_throttle(const struct bench_state *s);
double bench_state_thermal_s(const struct bench_state *s);
void bench_state_write(struct json *j, const struct bench_state *s, bool only_changing);

/* bench_case.c: set up, measure within `seconds`, check, derive and record the case in r->now.point; a failed or
 * skipped case is recorded and returns 0. Not 0: the record could not be written, or an interrupt. */
int bench_case_run(struct bench_run *r, double seconds);

/* The device is warm and the samples begin: note its clock and its state. */
void bench_case_begin(struct bench_run *r);
bool bench_virtual(const struct bench_run *r);

/* bench_own.c: wait for every stream of the case, close everything, give back the list too. The first error, with its
 * text; all is tried whatever fails. */
int own_sync(struct bench_run *r);
int own_close(struct bench_run *r);
void own_free(struct bench_run *r);

/* bench_sample.c: open and close the gate; measure the current case within `seconds`; run one sample of
 * `iterations` of a variant and return its seconds in all. */
int bench_gate_open(struct bench_run *r);
void bench_gate_close(struct bench_run *r);
int bench_sample_once(struct bench_run *r, unsigned variant, uint64_t iterations, double *seconds_p);
int bench_sample_case(struct bench_run *r, double seconds);
double bench_time(struct bench_run *r);

/* bench_derive.c */
void bench_flag(struct bench_run *r, const char *flag, int about, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool bench_flagged(const struct bench_run *r, int about); /* a flag on the case, or on this variant */
void bench_derive_rates(struct bench_run *r);
void bench_now_clear(struct bench_now *now);

/* bench_output.c: build the record in r->json, append it to the file, print it or the table. 0 or the error. */
int bench_output_run(struct bench_run *r);
int bench_output_case(struct bench_run *r, const char *status, const char *reason);
int bench_output_end(struct bench_run *r, const char *status, int code, const char *reason);

#endif
