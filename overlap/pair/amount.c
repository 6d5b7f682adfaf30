/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/amount.h"
#include "lib/bench_own.h"
#include "lib/err.h"
#include "lib/size.h"
#include "lib/stats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_TIMES 0.001
#define MOST_TIMES 1000.0
#define CLOSE_ENOUGH 0.1
/* What a try says of one that is far away is little. */
#define MOST_FACTOR 32.0

enum { TRIES = 8, SAMPLES = 5 };

int amount_parse(const char *word, struct amount *amount_p)
{
	struct amount a = {0};
	char times[24];
	size_t length = strlen(word);
	int status;
	if (length > 1 && length <= sizeof(times) && word[length - 1] == 'x') {
		snprintf(times, sizeof(times), "%.*s", (int)(length - 1), word);
		status = size_parse_real(times, LEAST_TIMES, MOST_TIMES, &a.times);
	} else {
		status = size_parse(word, &a.bytes);
		status = status == 0 && (a.bytes == 0 || a.bytes % TRANSFER_ALIGN) ? -EINVAL : status;
	}
	if (status)
		return err_note(-EINVAL, "there is no size '%s', only bytes, multiples of 4K, and TIMESx from %gx to %gx", word,
		                LEAST_TIMES, MOST_TIMES);
	*amount_p = a;
	return 0;
}

/* The middle one of a few rounds of one side. */
static int time_side(struct rounds *r, enum round_kind kind, double *seconds_p)
{
	double seconds[SAMPLES];
	for (size_t i = 0; i < SAMPLES; i++) {
		struct round_times times;
		int status = rounds_run(r, kind, &times);
		if (status)
			return status;
		seconds[i] = times.all_s;
	}
	stats_sort(seconds, SAMPLES);
	*seconds_p = seconds[SAMPLES / 2];
	return 0;
}

static uint64_t next(const struct transfer *t, double factor)
{
	double wanted = (double)transfer_bytes(t) * fmin(fmax(factor, 1.0 / MOST_FACTOR), MOST_FACTOR);
	double least = (double)(TRANSFER_ALIGN * t->lanes), most = (double)transfer_most_bytes(t);
	return (uint64_t)fmin(fmax(wanted, least), most);
}

int amount_choose(const struct amount *a, struct rounds *r, struct bench_case *c)
{
	struct transfer *t = &r->transfer;
	double gemm_s, transfer_s;
	if (a->bytes)
		return transfer_resize(t, c, a->bytes);
	int status = time_side(r, ROUND_GEMM, &gemm_s);
	for (int i = 0; status == 0 && i < TRIES; i++) {
		uint64_t before = transfer_bytes(t);
		status = time_side(r, ROUND_TRANSFER, &transfer_s);
		if (status || fabs(transfer_s / (a->times * gemm_s) - 1.0) <= CLOSE_ENOUGH)
			break;
		status = transfer_resize(t, c, next(t, a->times * gemm_s / transfer_s));
		if (transfer_bytes(t) == before)
			break;
	}
	return own_result(c, status);
}
