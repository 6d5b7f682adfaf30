/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a run: the file of --progress holds one JSON object, which is replaced when a case
 * begins:
 *
 *     {"number":3,"of":40,"key":"op=triad footprint=1048576",
 *      "last":{"metric":"triad_bandwidth","text":"24 GB/s"}}
 *
 * `last` is the latest headline number, or null. A reader may see half an object.
 */
#ifndef GPUSIG_CASE_PROGRESS_H
#define GPUSIG_CASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_run;
struct bench_metric;

struct case_progress {
	int fd; /* -1: nobody watches */
	const struct bench_metric *last;
	double value;
	char unit[16];
};

/* -errno with a text: the file cannot be written. A NULL path: nobody watches. */
int case_progress_open(struct case_progress *p, const char *path);
void case_progress_close(struct case_progress *p);

/* The current case begins: number `number` of `of`. A file that cannot be written any more is not
 * worth an error. */
void case_progress_begin(struct bench_run *r, size_t number, size_t of);

/* The current case ended. Keeps the last of its headline numbers that are valid. */
void case_progress_end(struct bench_run *r);

#endif
