/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a benchmark within a test, whose own TAP its output must not meet.
 */
#ifndef GPUSIG_BENCH_OUTPUT_H
#define GPUSIG_BENCH_OUTPUT_H

#include "bench/bench.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* bench_main() with these words, of which NULL is the last, and its stdout in the array `output`,
 * ended by 0 and cut; NULL discards it. Returns its exit code. */
#define run_captured(b, output, ...)                                                               \
	run_words(b, (const char *const[]){__VA_ARGS__, NULL}, output, sizeof(output))

static inline int run_words(const struct bench *b, const char *const words[], char *text,
			    size_t capacity)
{
	char *argv[24] = {"test"};
	int argc = 1;
	while (words[argc - 1] && argc < 23) {
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
		argc++;
	}
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
