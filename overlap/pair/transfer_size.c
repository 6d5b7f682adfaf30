/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/transfer_size.h"
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "lib/stats.h"
#include "lib/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_MULTIPLE 0.001
#define MAX_MULTIPLE 1000.0
#define TOLERANCE 0.1
/* A trial far from the target size predicts poorly. */
#define MAX_FACTOR 32.0

enum { TRIALS = 8, SAMPLES = 5 };

int transfer_size_parse(const char *word, struct transfer_size *size_p)
{
	struct transfer_size a = {0};
	char number[24];
	size_t length = strlen(word);
	int status;
	if (length > 1 && length <= sizeof(number) && word[length - 1] == 'x') {
		snprintf(number, sizeof(number), "%.*s", (int)(length - 1), word);
		status = units_parse_real(number, MIN_MULTIPLE, MAX_MULTIPLE, &a.multiple);
	} else {
		status = units_parse_size(word, &a.bytes);
		status = status == 0 && (a.bytes == 0 || a.bytes % TRANSFER_ALIGN) ? -EINVAL
										   : status;
	}
	if (status)
		return err_note(-EINVAL,
				"invalid size '%s'; sizes: bytes in multiples of 4K, or Nx with N "
				"from %g to %g",
				word, MIN_MULTIPLE, MAX_MULTIPLE);
	*size_p = a;
	return 0;
}

int transfer_size_accept(const char *word)
{
	struct transfer_size unused;
	return transfer_size_parse(word, &unused);
}

/* The median of a few rounds of one side. */
static int time_side(struct pair_run *r, enum round_kind kind, double *seconds_p)
{
	double seconds[SAMPLES];
	for (size_t i = 0; i < SAMPLES; i++) {
		struct round_times times;
		int status = pair_run_run(r, kind, &times);
		if (status)
			return status;
		seconds[i] = times.all_s;
	}
	stats_sort(seconds, SAMPLES);
	*seconds_p = seconds[SAMPLES / 2];
	return 0;
}

static uint64_t next_bytes(const struct transfer *t, double factor)
{
	double wanted =
		(double)transfer_bytes(t) * fmin(fmax(factor, 1.0 / MAX_FACTOR), MAX_FACTOR);
	double min = (double)(TRANSFER_ALIGN * t->lanes), max = (double)transfer_max_bytes(t);
	return (uint64_t)fmin(fmax(wanted, min), max);
}

int transfer_size_choose(const struct transfer_size *a, struct pair_run *r, struct bench_case *c)
{
	struct transfer *t = &r->transfer;
	double gemm_s, transfer_s;
	if (a->bytes)
		return transfer_resize(t, c, a->bytes);
	int status = time_side(r, PAIR_RUN_GEMM, &gemm_s);
	for (int i = 0; status == 0 && i < TRIALS; i++) {
		uint64_t before = transfer_bytes(t);
		status = time_side(r, PAIR_RUN_TRANSFER, &transfer_s);
		if (status || fabs(transfer_s / (a->multiple * gemm_s) - 1.0) <= TOLERANCE)
			break;
		status = transfer_resize(t, c, next_bytes(t, a->multiple * gemm_s / transfer_s));
		if (transfer_bytes(t) == before)
			break;
	}
	return bench_status_add(c, status);
}
