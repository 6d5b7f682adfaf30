/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/pair/rounds.h"
#include "lib/bench_own.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define FOLLOWING_STAMPS 2

static bool has_gemm(enum round_kind kind) { return kind != ROUND_TRANSFER; }
static bool has_transfer(enum round_kind kind) { return kind != ROUND_GEMM; }
static bool transfer_leads(enum round_kind kind) { return kind == ROUND_TRANSFER || kind == ROUND_TRANSFER_FIRST; }

/* ------------------------------------------------------------------ running */

/* The first error counts, and so does its text. */
static void keep(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

/* Every stream is let go and waited for, whatever became of enqueueing. */
static int finish(struct rounds *r, int status)
{
	char text[256] = "";
	int first = 0;
	keep(&first, text, status);
	keep(&first, text, gate_release(r->gate));
	for (size_t i = 0; i < r->count; i++) {
		keep(&first, text, dev_stream_sync(r->seat[i].dev, r->compute[i]));
		keep(&first, text, dev_stream_sync(r->seat[i].dev, r->traffic[i]));
	}
	return first ? err_note(first, "%s", text) : 0;
}

static int begin(struct rounds *r, struct dev_stream *const *streams, bool held)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		if (held)
			status = gate_shut(r->gate, r->seat[i].dev, streams[i]);
		if (status == 0)
			status = dev_event_record(r->seat[i].dev, streams[i], r->seat[i].begin);
	}
	return status;
}

/* The second side's streams start after the beginning that the first side's have stamped. Stamping may take its stream longer
 * than the others take to see it: with two stamps of their own they are behind for certain. */
static int follow(struct rounds *r, struct dev_stream *const *streams)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct seat *s = &r->seat[i];
		status = dev_stream_wait(s->dev, streams[i], s->begin);
		for (int k = 0; status == 0 && k < FOLLOWING_STAMPS; k++)
			status = dev_event_record(s->dev, streams[i], s->follow);
	}
	return status;
}

static int enqueue_products(struct rounds *r, bool second)
{
	int status = second ? follow(r, r->compute) : 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct seat *s = &r->seat[i];
		struct dev_gemm gemm = product_whole(&s->product);
		status = dev_gemm(s->dev, r->compute[i], &gemm);
		if (status == 0)
			status = dev_event_record(s->dev, r->compute[i], s->gemm_end);
	}
	return status;
}

static int enqueue_transfer(struct rounds *r, enum round_kind kind)
{
	struct dev_stream *const *streams = kind == ROUND_SERIAL ? r->compute : r->traffic;
	int status = kind == ROUND_GEMM_FIRST ? follow(r, streams) : 0;
	if (status == 0)
		status = transfer_enqueue(&r->transfer, streams);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		status = dev_event_record(r->seat[i].dev, streams[i], r->seat[i].transfer_end);
	return status;
}

static int enqueue(struct rounds *r, enum round_kind kind, bool held)
{
	bool leads = transfer_leads(kind);
	int status = begin(r, leads ? r->traffic : r->compute, held);
	if (status == 0 && leads)
		status = enqueue_transfer(r, kind);
	if (status == 0 && has_gemm(kind))
		status = enqueue_products(r, leads);
	if (status == 0 && has_transfer(kind) && !leads)
		status = enqueue_transfer(r, kind);
	return status;
}

static int side_s(const struct seat *s, struct dev_event *end, double *longest_s)
{
	double ns;
	int status = dev_event_elapsed_ns(s->dev, s->begin, end, &ns);
	if (status == 0)
		*longest_s = fmax(*longest_s, 1e-9 * ns);
	return status;
}

int rounds_run(struct rounds *r, enum round_kind kind, struct round_times *times_p)
{
	struct round_times times = {0};
	int status = finish(r, enqueue(r, kind, true));
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		const struct seat *s = &r->seat[i];
		if (has_gemm(kind))
			status = side_s(s, s->gemm_end, &times.gemm_s);
		if (status == 0 && has_transfer(kind))
			status = side_s(s, s->transfer_end, &times.transfer_s);
	}
	times.all_s = fmax(times.gemm_s, times.transfer_s);
	if (status == 0)
		*times_p = times;
	return status;
}

/* ------------------------------------------------------------------ set-up */

static int open_seat(struct rounds *r, struct bench_case *c, size_t i)
{
	struct seat *s = &r->seat[i];
	struct bench_case there = transfer_case_on(c, c->devices->dev[i]);
	*s = (struct seat){.dev = there.dev};
	s->begin = own_event(&there);
	s->follow = own_event(&there);
	s->gemm_end = own_event(&there);
	s->transfer_end = own_event(&there);
	r->compute[i] = own_stream(&there, dev_props(s->dev)->priority_normal);
	r->traffic[i] = own_stream(&there, dev_props(s->dev)->priority_normal);
	int status = product_open_axes(&s->product, &there);
	c->rng = there.rng;
	if (status)
		return status;
	struct dev_gemm gemm = product_whole(&s->product);
	return own_result(c, dev_gemm_prepare(s->dev, &gemm));
}

int rounds_open(struct rounds *r, struct bench_case *c, enum transfer_kind kind, const struct mover *mover, uint64_t bytes)
{
	*r = (struct rounds){0};
	if (transfer_open(&r->transfer, c, kind, mover) || transfer_resize(&r->transfer, c, bytes))
		return own_status(c);
	r->count = r->transfer.senders;
	r->seat = own_host(c, r->count * sizeof(*r->seat));
	r->compute = own_host(c, r->count * sizeof(struct dev_stream *));
	r->traffic = own_host(c, r->count * sizeof(struct dev_stream *));
	r->gate = own_gate(c, GATE_LIMIT_NS);
	if (own_status(c))
		return own_status(c);
	for (size_t i = 0; own_status(c) == 0 && i < r->count; i++)
		open_seat(r, c, i);
	static const enum round_kind sides[] = {ROUND_GEMM, ROUND_TRANSFER, ROUND_SERIAL};
	for (size_t i = 0; own_status(c) == 0 && i < sizeof(sides) / sizeof(sides[0]); i++)
		own_result(c, finish(r, enqueue(r, sides[i], false)));
	return own_status(c);
}

/* ------------------------------------------------------------------ proof and checks */

int rounds_prove_independent(struct rounds *r, struct bench_case *c)
{
	size_t held = 0;
	int status = begin(r, r->compute, true);
	if (status == 0)
		status = enqueue_products(r, false);
	if (status == 0)
		status = enqueue_transfer(r, ROUND_TRANSFER);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		status = dev_stream_sync(r->seat[i].dev, r->traffic[i]);
	for (size_t i = 0; status == 0 && i < r->count; i++)
		held += dev_event_query(r->seat[i].dev, r->seat[i].gemm_end) == -EAGAIN;
	status = finish(r, status);
	bool overdue = status == -ETIMEDOUT;
	if (status == 0 || overdue)
		bench_mechanism(c, "streams_are_independent", held == r->count && !overdue,
		                "the transfer ended while products were held on %zu of %zu devices", held, r->count);
	return overdue ? 0 : status;
}

int rounds_spoil(struct rounds *r, struct bench_case *c)
{
	int status = transfer_spoil(&r->transfer, r->traffic);
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct bench_case there = transfer_case_on(c, r->seat[i].dev);
		there.stream = r->compute[i];
		status = product_spoil(&r->seat[i].product, &there);
	}
	return finish(r, status);
}

int rounds_check_products(struct rounds *r, struct bench_case *c)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < r->count; i++) {
		struct bench_case there = transfer_case_on(c, r->seat[i].dev);
		status = product_check(&r->seat[i].product, &there, 1);
	}
	return status;
}
