/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/err.h"
#include "overlap/trigger/round.h"

#include <math.h>
#include <string.h>

static int fetch_chunk(const struct producers *s, uint32_t i, uint32_t j, char *to)
{
	const struct bench_gemm *gemm = &s->producer[i].gemm;
	const char *from = (const char *)gemm->c + producers_bytes(s, 0, producers_chunk(s, j));
	return dev_download(gemm->dev, to, from, producers_chunk_bytes(s, j));
}

/* ------------------------------------------------------------------ what was sent */

static int compare_chunk(const struct producers *s, uint32_t i, uint32_t j)
{
	uint64_t bytes = producers_chunk_bytes(s, j), wrong = 0;
	const char *to = producers_target(s, i, j);
	int status = 0;
	if (!to)
		return 0;
	TRY(status, fetch_chunk(s, i, j, s->made));
	TRY(status, dev_download(s->producer[j].receiver, s->arrived, to, bytes));
	if (status || memcmp(s->arrived, s->made, bytes) == 0)
		return status;
	while (s->arrived[wrong] == s->made[wrong])
		wrong++;
	wrong += producers_bytes(s, 0, producers_chunk(s, j));
	return bench_wrong("device %u, row %llu: what arrived differs from the GEMM's result", i,
			   (unsigned long long)(wrong / s->row_bytes));
}

/* ------------------------------------------------------------------ sums */

/* Chunk j of all C, added in the order of the ring: what comes in another order is the same where
 * no sum rounds. */
static int total_chunk(const struct producers *s, uint32_t j)
{
	const uint64_t elements = producers_chunk_bytes(s, j) / sizeof(float);
	float *total = (float *)(void *)s->total;
	const float *made = (const float *)(const void *)s->made;
	int status = fetch_chunk(s, (j + s->count - 1) % s->count, j, s->total);
	for (uint32_t d = 2; d <= s->count; d++) {
		TRY(status, fetch_chunk(s, (j + s->count - d) % s->count, j, s->made));
		for (uint64_t e = 0; status == 0 && e < elements; e++)
			total[e] += made[e];
	}
	return status;
}

/* Number of times the total was added to the sum: in every round, or in those that took this set,
 * by the first element that is not 0. */
static uint32_t count_additions(const struct producers *s, const float *total, const float *sum,
				uint64_t elements)
{
	uint64_t e = 0;
	while (e < elements && !(fabsf(total[e]) > 0.0f))
		e++;
	if (!s->rotates || e == elements)
		return s->rounds_added;
	double times = (double)sum[e] / (double)total[e];
	return times >= 1.0 && times <= s->rounds_added ? (uint32_t)times : 1;
}

/* The sum of chunk j at device j: in a place of its own, or where the ring left it. */
static int compare_sum(const struct producers *s, uint32_t j, bool of_ring)
{
	const struct producer *p = &s->producer[j];
	const char *at = of_ring ? p->inbox + producers_bytes(s, 0, producers_chunk(s, j)) : p->sum;
	const uint64_t bytes = producers_chunk_bytes(s, j), elements = bytes / sizeof(float);
	const float *total = (const float *)(const void *)s->total,
		    *sum = (const float *)(const void *)s->arrived;
	int status = total_chunk(s, j);
	if (TRY(status, dev_download(p->receiver, s->arrived, at, bytes)))
		return status;
	const uint32_t times = of_ring ? 1 : count_additions(s, total, sum, elements);
	for (uint64_t e = 0; e < elements; e++) {
		const double expected = times * (double)total[e], found = (double)sum[e];
		if (!(found >= expected && found <= expected))
			return bench_wrong("device %u, element %llu of the sum is %.9g, expected "
					   "%.9g",
					   j, (unsigned long long)e, found, expected);
	}
	return 0;
}

/* ------------------------------------------------------------------ a round */

static int check_gemms(const struct producers *s, struct bench_case *c,
		       const struct producer_round *r)
{
	int status = r->into_c ? work_graph_complete(r->into_c) : 0;
	for (uint32_t i = 0; i < s->count; i++)
		TRY(status, bench_gemm_check(&s->producer[i].gemm, c, 1));
	return status;
}

int producers_check(const struct producers *s, struct bench_case *c, const struct producer_round *r)
{
	const struct strategy *strategy = r->strategy;
	const bool adds = producers_add(strategy),
		   sends = strategy->send == SEND_WHOLE || strategy->send == SEND_BANDS,
		   of_ring = s->direction == DIRECTION_RING && sends,
		   arrives = strategy->send != SEND_NONE && strategy->send != SEND_ADDS &&
			     strategy->add != ADD_FROM_SENDER && !of_ring;
	int status = strategy->produce == PRODUCE_NONE ? 0 : check_gemms(s, c, r);
	for (uint32_t j = 0; j < s->count; j++) {
		for (uint32_t i = 0; arrives && i < s->count; i++)
			TRY(status, compare_chunk(s, i, j));
		if (of_ring || adds)
			TRY(status, compare_sum(s, j, of_ring));
	}
	return status;
}
