/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of a program: options of the harness, and those of its axes and variants.
 */
#ifndef GPUSIG_OPTIONS_H
#define GPUSIG_OPTIONS_H

#include "bench/bench.h"

enum { BENCH_AXES = 12, BENCH_VARIANTS = 64 };

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
	bool full, json, headline, headline_variants, no_references, verbose;
	const char *format_word;           /* of --format; NULL: not given */
	const struct bench_format *format; /* the program's own, where --format names it */
};

/* Parse argv; 0, or -EINVAL with a text. Axis lists are checked for syntax only. */
int bench_options_parse(const struct bench *b, int argc, char **argv, struct bench_options *o);
/* Set options that were not given and depend on the device. */
void bench_options_resolve(struct bench_options *o, bool virtual_time);
void bench_options_help(const struct bench *b);
void bench_options_about(const struct bench *b);
size_t bench_axis_count(const struct bench *b);
size_t bench_variant_count(const struct bench *b);

#endif
