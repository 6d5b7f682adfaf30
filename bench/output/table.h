/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of a program for people: a header, and one table with a row per variant under the key of
 * its case. No line exceeds OUT_COLUMNS.
 *
 * A row has the median with half the width of its 95 % interval, the number of samples, the rates,
 * the share of a rate's bound, and the marks of what makes the variant invalid or is a grade. Then
 * come the other derived quantities with their intervals. What is wrong is always printed with its
 * reason: failed and skipped cases, invalid values, mechanisms that were not observed, quantities
 * without a value, and facts called "skipped..." or "...not_measured". Only -v prints mechanisms
 * that were observed, other facts (unless the program times nothing), the goal that was not met,
 * and the reasons of grades.
 */
#ifndef GPUSIG_BENCH_TABLE_H
#define GPUSIG_BENCH_TABLE_H

#include <stdbool.h>

struct bench_run;
struct bench_derived;

enum { TABLE_RATES = 4 };

/* Starts as {0}. */
struct bench_table {
	unsigned columns; /* bit mask of rates and of their share: those in the row of names */
	int label_width;  /* of the column of variants; 0: the row of names is not yet printed */
	const char *share_of; /* the rate whose bound was explained last */
	char bound_name[64];
	bool left_out; /* something that -v prints */
};

void bench_table_begin(struct bench_run *r);
void bench_table_case(struct bench_run *r, const char *status, const char *reason);
void bench_table_end(struct bench_run *r);

/* table_values.c: the derived quantities of the current case that are not in the rows of variants,
 * with labels of at least `label_width`. */
void table_values_print(struct bench_run *r, int label_width);

/* True if the row of its variant shows it. */
bool bench_table_in_row(const struct bench_derived *d);

#endif
