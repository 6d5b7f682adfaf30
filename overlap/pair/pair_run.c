/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/pair_run.h"
#include "bench/bench_alloc.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define EXTRA_EVENTS 2

static bool has_gemm(enum round_kind kind) { return kind != PAIR_RUN_TRANSFER; }
static bool has_transfer(enum round_kind kind) { return kind != PAIR_RUN_GEMM; }
static bool transfer_is_first(enum round_kind kind)
{
	return kind == PAIR_RUN_TRANSFER || kind == PAIR_RUN_TRANSFER_FIRST;
}

/* ------------------------------------------------------------------ running */

/* Keeps the first error and its text. */
static void keep_first_error(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

/* Opens the gate and waits for every stream, also after an error of enqueueing. */
static int release_and_wait(struct pair_run *r, int status)
{
	char text[256] = "";
	int first = 0;
	keep_first_error(&first, text, status);
	keep_first_error(&first, text, gate_release(r->gate));
	for (size_t i = 0; i < r->count; i++) {
		keep_first_error(&first, text, dev_stream_sync(r->device[i].dev, r->compute[i]));
		keep_first_error(&first, text, dev_stream_sync(r->device[i].dev, r->traffic[i]));
	}
	return first ? err_note(first, "%s", text) : 0;
}

static int record_begin(struct pair_run *r, struct dev_stream *const *streams, bool blocked)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		if (blocked)
			status = gate_shut(r->gate, r->device[i].dev, streams[i]);
		if (status == 0)
			status = dev_event_record(r->device[i].dev, streams[i], r->device[i].begin);
	}
	return status;
}

/* Makes the second side's streams wait for the begin event. Recording it may take its own stream
 * longer than the others need to see it; two more events in the second stream make sure that it
 * starts later. */
static int wait_for_begin(struct pair_run *r, struct dev_stream *const *streams)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct pair_device *s = &r->device[i];
		status = dev_stream_wait(s->dev, streams[i], s->begin);
		for (int k = 0; status == 0 && k < EXTRA_EVENTS; k++)
			status = dev_event_record(s->dev, streams[i], s->extra);
	}
	return status;
}

static int enqueue_gemms(struct pair_run *r, bool second)
{
	int status = second ? wait_for_begin(r, r->compute) : 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct pair_device *s = &r->device[i];
		struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
		status = dev_gemm(s->dev, r->compute[i], &gemm);
		if (status == 0)
			status = dev_event_record(s->dev, r->compute[i], s->gemm_end);
	}
	return status;
}

static int enqueue_transfer(struct pair_run *r, enum round_kind kind)
{
	struct dev_stream *const *streams = kind == PAIR_RUN_SERIAL ? r->compute : r->traffic;
	int status = kind == PAIR_RUN_GEMM_FIRST ? wait_for_begin(r, streams) : 0;
	if (status == 0)
		status = transfer_enqueue(&r->transfer, streams);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		status = dev_event_record(r->device[i].dev, streams[i], r->device[i].transfer_end);
	return status;
}

static int enqueue_round(struct pair_run *r, enum round_kind kind, bool blocked)
{
	bool transfer_first = transfer_is_first(kind);
	int status = record_begin(r, transfer_first ? r->traffic : r->compute, blocked);
	if (status == 0 && transfer_first)
		status = enqueue_transfer(r, kind);
	if (status == 0 && has_gemm(kind))
		status = enqueue_gemms(r, transfer_first);
	if (status == 0 && has_transfer(kind) && !transfer_first)
		status = enqueue_transfer(r, kind);
	return status;
}

static int add_side_time(const struct pair_device *s, struct dev_event *end, double *longest_s)
{
	double ns;
	int status = dev_event_elapsed_ns(s->dev, s->begin, end, &ns);
	if (status == 0)
		*longest_s = fmax(*longest_s, 1e-9 * ns);
	return status;
}

int pair_run_run(struct pair_run *r, enum round_kind kind, struct round_times *times_p)
{
	struct round_times times = {0};
	int status = release_and_wait(r, enqueue_round(r, kind, true));
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		const struct pair_device *s = &r->device[i];
		if (has_gemm(kind))
			status = add_side_time(s, s->gemm_end, &times.gemm_s);
		if (status == 0 && has_transfer(kind))
			status = add_side_time(s, s->transfer_end, &times.transfer_s);
	}
	times.all_s = fmax(times.gemm_s, times.transfer_s);
	if (status == 0)
		*times_p = times;
	return status;
}

/* ------------------------------------------------------------------ setup */

static int open_device(struct pair_run *r, struct bench_case *c, size_t i)
{
	struct pair_device *s = &r->device[i];
	struct bench_case there = transfer_case_on(c, c->devices->dev[i]);
	*s = (struct pair_device){.dev = there.dev};
	s->begin = bench_event(&there);
	s->extra = bench_event(&there);
	s->gemm_end = bench_event(&there);
	s->transfer_end = bench_event(&there);
	r->compute[i] = bench_stream(&there, dev_props(s->dev)->priority_normal);
	r->traffic[i] = bench_stream(&there, dev_props(s->dev)->priority_normal);
	int status = bench_gemm_open_axes(&s->gemm, &there, s->dev);
	c->rng = there.rng;
	if (status)
		return status;
	struct dev_gemm gemm = bench_gemm_whole(&s->gemm);
	return bench_status_add(c, dev_gemm_prepare(s->dev, &gemm));
}

int pair_run_open(struct pair_run *r, struct bench_case *c, enum transfer_kind kind,
		  const struct copy_method *method, uint64_t bytes)
{
	*r = (struct pair_run){0};
	if (transfer_open(&r->transfer, c, kind, method) || transfer_resize(&r->transfer, c, bytes))
		return bench_status(c);
	r->count = r->transfer.senders;
	r->device = bench_alloc_host(c, r->count * sizeof(*r->device));
	r->compute = bench_alloc_host(c, r->count * sizeof(struct dev_stream *));
	r->traffic = bench_alloc_host(c, r->count * sizeof(struct dev_stream *));
	r->gate = bench_gate(c, GATE_LIMIT_NS);
	if (bench_status(c))
		return bench_status(c);
	for (size_t i = 0; bench_status(c) == 0 && i < r->count; i++)
		open_device(r, c, i);
	static const enum round_kind sides[] = {PAIR_RUN_GEMM, PAIR_RUN_TRANSFER, PAIR_RUN_SERIAL};
	for (size_t i = 0; bench_status(c) == 0 && i < sizeof(sides) / sizeof(sides[0]); i++)
		bench_status_add(c, release_and_wait(r, enqueue_round(r, sides[i], false)));
	return bench_status(c);
}

/* ------------------------------------------------------------------ mechanism and checks */

int pair_run_verify_independent(struct pair_run *r, struct bench_case *c)
{
	size_t blocked = 0;
	int status = record_begin(r, r->compute, true);
	if (status == 0)
		status = enqueue_gemms(r, false);
	if (status == 0)
		status = enqueue_transfer(r, PAIR_RUN_TRANSFER);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		status = dev_stream_sync(r->device[i].dev, r->traffic[i]);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		blocked += dev_event_query(r->device[i].dev, r->device[i].gemm_end) == -EAGAIN;
	status = release_and_wait(r, status);
	bool timed_out = status == -ETIMEDOUT;
	if (status == 0 || timed_out)
		bench_mechanism(
			c, "streams_are_independent", blocked == r->count && !timed_out,
			"the transfer completed while GEMMs were blocked on %zu of %zu devices",
			blocked, r->count);
	return timed_out ? 0 : status;
}

int pair_run_poison(struct pair_run *r, struct bench_case *c)
{
	int status = transfer_poison(&r->transfer, r->traffic);
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct bench_case there = transfer_case_on(c, r->device[i].dev);
		there.stream = r->compute[i];
		status = bench_gemm_poison(&r->device[i].gemm, &there);
	}
	return release_and_wait(r, status);
}

int pair_run_check_gemms(struct pair_run *r, struct bench_case *c)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct bench_case there = transfer_case_on(c, r->device[i].dev);
		status = bench_gemm_check(&r->device[i].gemm, &there, 1);
	}
	return status;
}
