/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/session.h"
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/rank_device.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The times of so many iterations are gathered at once. */
#define BATCH 512u
enum { VARIANTS = 64, ALIGNMENT = 4096 };

struct opened {
	struct schedule *schedule;
	struct exchange *exchange;
	bool refused;
	uint64_t runs;
	double skew_s;
};

static struct {
	const struct bench *bench;
	struct order order; /* the last SESSION_OPEN */
	uint64_t elements;
	/* Host memory; on a device pinned, and what its vectors are filled from and checked in, and what the library takes. */
	char *in, *out;
	struct device_vectors vectors; /* dev NULL: there is no device */
	int *counts, *starts; /* of the library's blocks */
	bool even;            /* all of one length */
	struct opened variant[VARIANTS];
	char refusal[400];
	double seconds;
} now;

/* ------------------------------------------------------------------ open and close */

int session_schedule(const struct bench_variant *v, const struct grid *grid, enum schedule_ports ports,
                     enum schedule_kind kind, struct schedule **s_p)
{
	char name[32];
	*s_p = NULL;
	if (strcmp(v->name, SESSION_LIBRARY) == 0)
		return 0;
	snprintf(name, sizeof(name), "%s", v->name);
	char *suffix = strstr(name, "-indexed");
	if (suffix)
		*suffix = '\0';
	int status = -ENOTSUP;
	/* Halves alone must leave block r with rank r, as MPI does; only indexed ones do. */
	if (v->param == SCHEDULE_RENAMED && kind == SCHEDULE_ALLREDUCE)
		status = schedule_open(name, grid, ports, kind, SCHEDULE_RENAMED, s_p);
	return status == -ENOTSUP ? schedule_open(name, grid, ports, kind, SCHEDULE_INDEXED, s_p) : status;
}

static int open_host_memory(uint64_t bytes, char **at_p)
{
	void *at = NULL;
	int status = rank_device() ? dev_alloc(rank_device(), DEV_MEM_PINNED, bytes, &at) : 0;
	if (status)
		return status;
	*at_p = rank_device() ? at : malloc(bytes);
	return *at_p ? 0 : err_note(-ENOMEM, "a vector of %llu bytes: out of memory", (unsigned long long)bytes);
}

static void free_host_memory(char *at)
{
	if (rank_device())
		dev_free(rank_device(), at);
	else
		free(at);
}

static int close_case(void)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		exchange_close(now.variant[v].exchange);
		schedule_close(now.variant[v].schedule);
		now.variant[v] = (struct opened){0};
	}
	device_vectors_close(&now.vectors);
	free_host_memory(now.in);
	free_host_memory(now.out);
	free(now.counts);
	free(now.starts);
	now.in = now.out = NULL;
	now.counts = now.starts = NULL;
	return 0;
}

static int open_device_vectors(void)
{
	int status = device_vectors_open(&now.vectors, rank_device(), now.order.bytes);
	if (status)
		return status;
	device_vectors_copy(&now.vectors, now.vectors.in, now.in, now.order.bytes);
	return device_vectors_result(&now.vectors);
}

static int open_vectors(void)
{
	uint64_t bytes = now.order.bytes + ALIGNMENT, size = (uint64_t)crew.size;
	uint64_t grain = exchange_grain(now.order.kind, now.order.type, rank_device() != NULL);
	int status = open_host_memory(bytes, &now.in);
	if (status == 0)
		status = open_host_memory(bytes, &now.out);
	if (status)
		return status;
	now.counts = malloc((size_t)crew.size * sizeof(int));
	now.starts = malloc((size_t)crew.size * sizeof(int));
	if (!now.counts || !now.starts)
		return err_note(-ENOMEM, "the blocks of %d ranks: out of memory", crew.size);
	for (int r = 0; r < crew.size; r++) {
		now.starts[r] = (int)exchange_cut(now.elements, size, (uint64_t)r, grain);
		now.counts[r] = (int)exchange_cut(now.elements, size, (uint64_t)r + 1, grain) - now.starts[r];
	}
	now.even = now.elements % (size * grain) == 0;
	if (!now.order.dry)
		data_fill(now.in, now.order.type, now.order.seed, crew.rank, 0, now.elements);
	if (!now.order.dry)
		memset(now.out, 0, now.order.bytes);
	return rank_device() ? open_device_vectors() : 0;
}

static int open_variant(unsigned v, const struct grid *grid)
{
	struct opened *opened = &now.variant[v];
	int status = session_schedule(&now.bench->variants[v], grid, now.order.ports, now.order.kind, &opened->schedule);
	if (status == 0 && opened->schedule)
		status = exchange_open(opened->schedule, now.order.kind, (uint32_t)crew.rank, now.elements, now.order.type,
		                       now.order.op, now.vectors.dev ? &now.vectors : NULL, &opened->exchange);
	if (status != -ENOTSUP)
		return status;
	opened->refused = true;
	snprintf(now.refusal, sizeof(now.refusal), "%s", err_text());
	return 0;
}

static int open_case(const struct order *o)
{
	struct grid grid;
	now.order = *o;
	now.elements = o->bytes / data_bytes(o->type);
	int status = grid_parse(o->shape, &grid);
	if (status == 0)
		status = open_vectors();
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (o->variants >> v & 1)
			status = open_variant(v, &grid);
	return status;
}

/* ------------------------------------------------------------------ run */

/* Not inlined: tests/peers counts the instructions in it. */
__attribute__((noinline)) static void run_library(void)
{
	MPI_Datatype type = data_mpi_type(now.order.type);
	MPI_Op op = data_mpi_op(now.order.op);
	uint64_t own = (uint64_t)now.starts[crew.rank] * data_bytes(now.order.type);
	int count = now.counts[crew.rank], code;
	if (now.order.kind == SCHEDULE_ALLREDUCE)
		code = MPI_Allreduce(now.in, now.out, (int)now.elements, type, op, MPI_COMM_WORLD);
	else if (now.order.kind == SCHEDULE_REDUCE_SCATTER && now.even)
		code = MPI_Reduce_scatter_block(now.in, now.out + own, count, type, op, MPI_COMM_WORLD);
	else if (now.order.kind == SCHEDULE_REDUCE_SCATTER)
		code = MPI_Reduce_scatter(now.in, now.out + own, now.counts, type, op, MPI_COMM_WORLD);
	else if (now.even)
		code = MPI_Allgather(now.in + own, count, type, now.out, count, type, MPI_COMM_WORLD);
	else
		code = MPI_Allgatherv(now.in + own, count, type, now.out, now.counts, now.starts, type, MPI_COMM_WORLD);
	crew_must(code, "the library's collective");
}

/* The library sees host memory: what it takes is copied down whole, and what it leaves up. */
static void run_library_staged(void)
{
	struct device_vectors *d = &now.vectors;
	uint64_t element = data_bytes(now.order.type), all = now.order.bytes;
	uint64_t own = (uint64_t)now.starts[crew.rank] * element, block = (uint64_t)now.counts[crew.rank] * element;
	bool gathers = now.order.kind == SCHEDULE_ALLGATHER, scatters = now.order.kind == SCHEDULE_REDUCE_SCATTER;
	device_vectors_copy(d, gathers ? now.in + own : now.in, gathers ? d->in + own : d->in, gathers ? block : all);
	device_vectors_wait(d);
	run_library();
	device_vectors_copy(d, scatters ? d->out + own : d->out, scatters ? now.out + own : now.out, scatters ? block : all);
	device_vectors_wait(d);
}

static void run_once(struct opened *v)
{
	if (v->exchange && now.vectors.dev)
		exchange_run(v->exchange, now.vectors.in, now.vectors.out, false);
	else if (v->exchange)
		exchange_run(v->exchange, now.in, now.out, now.order.dry);
	else if (now.vectors.dev)
		run_library_staged();
	else
		run_library();
	v->runs++;
}

/* Times of a batch, each as the largest over the ranks. The largest of -start is minus the first entry. */
struct times {
	double last_start[BATCH], minus_start[BATCH], last_end[BATCH], duration[BATCH];
};

static void run_batch(struct opened *v, uint32_t iterations)
{
	static struct times own, all;
	double skew[BATCH];
	for (uint32_t i = 0; i < iterations; i++) {
		crew_must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
		double start = crew_time();
		run_once(v);
		double end = crew_time();
		own.last_start[i] = start;
		own.minus_start[i] = -start;
		own.last_end[i] = end;
		own.duration[i] = end - start;
	}
	for (unsigned row = 0; row < 4; row++)
		crew_must(MPI_Reduce((double *)&own + row * BATCH, (double *)&all + row * BATCH, (int)iterations, MPI_DOUBLE, MPI_MAX, 0,
		                     MPI_COMM_WORLD), "MPI_Reduce of times");
	for (uint32_t i = 0; i < iterations; i++) {
		now.seconds += crew.common_clock ? all.last_end[i] - all.last_start[i] : all.duration[i];
		skew[i] = all.last_start[i] + all.minus_start[i];
	}
	stats_sort(skew, iterations);
	v->skew_s = stats_median(skew, iterations);
}

static int run(const struct order *o)
{
	now.seconds = 0.0;
	for (uint64_t left = o->iterations; left; left -= left < BATCH ? left : BATCH)
		run_batch(&now.variant[o->variant], (uint32_t)(left < BATCH ? left : BATCH));
	return now.vectors.dev ? device_vectors_result(&now.vectors) : 0;
}

/* ------------------------------------------------------------------ check */

static int check_span(uint64_t first, uint64_t count)
{
	const struct order *o = &now.order;
	return data_check(now.out + first * data_bytes(o->type), o->type, o->op, o->seed, crew.size, first, count);
}

static int check_gathered(void)
{
	const struct order *o = &now.order;
	int status = 0;
	for (int r = 0; status == 0 && r < crew.size; r++) {
		uint64_t first = (uint64_t)now.starts[r], count = (uint64_t)now.counts[r];
		status = data_check_copy(now.out + first * data_bytes(o->type), o->type, o->seed, r, first, count);
		if (status)
			return err_note(status, "block %d: %s", r, err_text());
	}
	return status;
}

static int check(void)
{
	if (now.vectors.dev) {
		device_vectors_copy(&now.vectors, now.out, now.vectors.out, now.order.bytes);
		int status = device_vectors_result(&now.vectors);
		if (status)
			return status;
	}
	if (now.order.kind == SCHEDULE_ALLGATHER)
		return check_gathered();
	if (now.order.kind == SCHEDULE_REDUCE_SCATTER) {
		int status = check_span((uint64_t)now.starts[crew.rank], (uint64_t)now.counts[crew.rank]);
		return status ? err_note(status, "block %d: %s", crew.rank, err_text()) : 0;
	}
	for (int r = 0; r < crew.size; r++) {
		int status = check_span((uint64_t)now.starts[r], (uint64_t)now.counts[r]);
		if (status)
			return err_note(status, "block %d of %d: %s", r, crew.size, err_text());
	}
	return 0;
}

static int spoil(void)
{
	memset(now.out, 0xa5, now.order.bytes);
	if (!now.vectors.dev)
		return 0;
	/* Also what is staged. */
	memset(now.in, 0xa5, now.order.bytes);
	device_vectors_copy(&now.vectors, now.vectors.out, now.out, now.order.bytes);
	device_vectors_copy(&now.vectors, now.vectors.arrived, now.out, now.order.bytes);
	return device_vectors_result(&now.vectors);
}

static int act(const struct order *o)
{
	switch ((enum session_order)o->what) {
	case SESSION_DEVICE:
		return rank_device_open(&o->devices);
	case SESSION_OPEN:
		return open_case(o);
	case SESSION_RUN:
		return run(o);
	case SESSION_SPOIL:
		return spoil();
	case SESSION_CHECK:
		return check();
	case SESSION_CLOSE:
		break;
	}
	return close_case();
}

/* ------------------------------------------------------------------ for the leader */

int (*session_act(const struct bench *b))(const struct order *o)
{
	now.bench = b;
	return act;
}

bool session_refusal(unsigned variant) { return now.variant[variant].refused; }

const char *session_any_refusal(void) { return now.refusal; }

double session_seconds(void) { return now.seconds; }

double session_skew(unsigned variant) { return now.variant[variant].skew_s; }

bool session_traffic(unsigned variant, struct session_traffic *t)
{
	const struct opened *v = &now.variant[variant];
	if (!v->exchange)
		return false;
	*t = (struct session_traffic){.algorithm = schedule_name(v->schedule), .runs = v->runs};
	exchange_sent(v->exchange, &t->messages, &t->bytes);
	exchange_planned(v->exchange, &t->planned_messages, &t->planned_bytes);
	return true;
}
