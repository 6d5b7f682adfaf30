/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of a run: its records, to a file and stdout, and the table or the program's own format.
 */
#ifndef GPUSIG_OUTPUT_H
#define GPUSIG_OUTPUT_H

#include "bench/output/table.h"
#include "bench/run/run.h"
#include "lib/json.h"
#include "lib/record.h"

/* Starts as {.file.fd = -1}. */
struct output {
	struct record_file file;
	struct json json;
	struct bench_table table;
	double elapsed_s; /* of the current case */
};

/* Build the record, append it to the file, print it or the table. 0 or the error. `cause`: the word
 * for `reason` that programs read (docs/RECORDS.md). */
int bench_output_run(struct bench_run *r);
int bench_output_case(struct bench_run *r, const char *status, const char *cause,
		      const char *reason);
int bench_output_end(struct bench_run *r, const char *status, int code, const char *reason);

/* Print the key of the current case; as JSON with the headline numbers that it gives. */
void bench_output_list(struct bench_run *r);

/* format.c: hand the current case to the program's own format; print it. 0 or its error. */
int bench_format_case(struct bench_run *r, const char *status, const char *reason);
int bench_format_end(struct bench_run *r);

#endif
