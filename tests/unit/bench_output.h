/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a benchmark within a test, whose own TAP its output must not meet.
 */
#ifndef GPUSIG_BENCH_OUTPUT_H
#define GPUSIG_BENCH_OUTPUT_H

#include "bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* bench_main() with its stdout in `text`, ended by 0 and cut to `capacity`; NULL discards it.
 * Returns its exit code. */
static inline int run_captured(const struct bench *b, int argc, char **argv, char *text,
			       size_t capacity)
{
	FILE *file = text ? tmpfile() : fopen("/dev/null", "w");
	if (!file)
		return -errno;
	int kept = dup(STDOUT_FILENO);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	int code = bench_main(b, argc, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	if (text) {
		ssize_t length = pread(fileno(file), text, capacity - 1, 0);
		text[length > 0 ? length : 0] = '\0';
	}
	fclose(file);
	return code;
}

#endif
