/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/session.h"
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/rank_device.h"
#include "lib/err.h"
#include "lib/stats.h"
#include "lib/text.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 512u /* iterations whose times are gathered at once */
enum { VARIANTS = 64, ALIGNMENT = 4096 };

struct variant_state {
	struct schedule *schedule;
	struct exchange *exchange;
	bool is_unsupported;
	uint64_t runs;
	double skew_s;
};

/* Times of a batch, each the maximum over the ranks. The maximum of -start is minus the first
 * entry. */
struct times {
	double last_start[BATCH], minus_start[BATCH], last_end[BATCH], duration[BATCH];
};

struct session {
	const struct bench *bench;
	struct rank_device device;
	struct rank_list list;
	struct mpi_command command; /* the last SESSION_OPEN */
	uint64_t elements;
	/* Host memory. With a device it is pinned: the device's vectors are filled from it and
	 * checked in it, and the library uses it. */
	char *in, *out;
	struct device_vectors vectors; /* dev NULL: no device */
	int *counts, *starts;          /* of the library's chunks, by rank */
	bool even;                     /* all chunks have the same length */
	struct variant_state variant[VARIANTS];
	char unsupported_reason[ERR_TEXT];
	double seconds;
	struct times own, all;
};

/* ------------------------------------------------------------------ open and close */

int session_schedule(const struct bench_variant *v, const struct grid *grid,
		     enum schedule_ports ports, enum schedule_kind kind, struct schedule **s_p)
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
	/* A reduce-scatter must leave chunk r on rank r, as in MPI; so must an all-gather start.
	 * Only the indexed layout does this. */
	if (v->param == SCHEDULE_RENAMED && kind == SCHEDULE_ALLREDUCE)
		status = schedule_open(name, grid, ports, kind, SCHEDULE_RENAMED, s_p);
	return status == -ENOTSUP ? schedule_open(name, grid, ports, kind, SCHEDULE_INDEXED, s_p)
				  : status;
}

static int open_host_memory(const struct session *s, uint64_t bytes, char **at_p)
{
	void *at = NULL;
	int status = s->device.dev ? dev_alloc(s->device.dev, DEV_MEM_PINNED, bytes, &at) : 0;
	if (status)
		return status;
	*at_p = s->device.dev ? at : malloc(bytes);
	return *at_p ? 0
		     : err_note(-ENOMEM, "a vector of %llu bytes: out of memory",
				(unsigned long long)bytes);
}

static void free_host_memory(const struct session *s, char *at)
{
	if (s->device.dev)
		dev_free(s->device.dev, at);
	else
		free(at);
}

static int close_case(struct session *s)
{
	for (unsigned v = 0; v < VARIANTS; v++) {
		exchange_close(s->variant[v].exchange);
		schedule_close(s->variant[v].schedule);
		s->variant[v] = (struct variant_state){0};
	}
	device_vectors_close(&s->vectors);
	free_host_memory(s, s->in);
	free_host_memory(s, s->out);
	free(s->counts);
	free(s->starts);
	s->in = s->out = NULL;
	s->counts = s->starts = NULL;
	return 0;
}

static int open_device_vectors(struct session *s)
{
	int status = device_vectors_open(&s->vectors, s->device.dev, s->command.bytes);
	if (status)
		return status;
	device_vectors_copy(&s->vectors, s->vectors.in, s->in, s->command.bytes);
	return device_vectors_result(&s->vectors);
}

static int open_vectors(struct session *s)
{
	uint64_t bytes = s->command.bytes + ALIGNMENT, size = (uint64_t)mpi_job.size;
	uint64_t grain = exchange_grain(s->command.kind, s->command.type, s->device.dev != NULL);
	int status = open_host_memory(s, bytes, &s->in);
	if (status == 0)
		status = open_host_memory(s, bytes, &s->out);
	if (status)
		return status;
	s->counts = malloc((size_t)mpi_job.size * sizeof(int));
	s->starts = malloc((size_t)mpi_job.size * sizeof(int));
	if (!s->counts || !s->starts)
		return err_note(-ENOMEM, "the chunks of %d ranks: out of memory", mpi_job.size);
	for (int r = 0; r < mpi_job.size; r++) {
		s->starts[r] = (int)exchange_cut(s->elements, size, (uint64_t)r, grain);
		s->counts[r] =
			(int)exchange_cut(s->elements, size, (uint64_t)r + 1, grain) - s->starts[r];
	}
	s->even = s->elements % (size * grain) == 0;
	if (!s->command.dry)
		data_fill(s->in, s->command.type, s->command.seed, mpi_job.rank, 0, s->elements);
	if (!s->command.dry)
		memset(s->out, 0, s->command.bytes);
	return s->device.dev ? open_device_vectors(s) : 0;
}

static int open_variant(struct session *s, unsigned v, const struct grid *grid)
{
	struct variant_state *state = &s->variant[v];
	int status = session_schedule(&s->bench->variants[v], grid, s->command.ports,
				      s->command.kind, &state->schedule);
	if (status == 0 && state->schedule)
		status = exchange_open(state->schedule, s->command.kind, (uint32_t)mpi_job.rank,
				       s->elements, s->command.type, s->command.op,
				       s->vectors.dev ? &s->vectors : NULL, &state->exchange);
	if (status != -ENOTSUP)
		return status;
	state->is_unsupported = true;
	text_fit(s->unsupported_reason, sizeof(s->unsupported_reason), "%s", err_text());
	return 0;
}

static int open_case(struct session *s, const struct mpi_command *command)
{
	struct grid grid;
	s->command = *command;
	s->elements = command->bytes / data_bytes(command->type);
	int status = grid_parse(command->shape, &grid);
	if (status == 0)
		status = open_vectors(s);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (command->variants >> v & 1)
			status = open_variant(s, v, &grid);
	return status;
}

/* ------------------------------------------------------------------ run */

/* Not inlined, because tests/peers counts its instructions. */
__attribute__((noinline)) static void run_library(struct session *s)
{
	MPI_Datatype type = data_mpi_type(s->command.type);
	MPI_Op op = data_mpi_op(s->command.op);
	uint64_t own = (uint64_t)s->starts[mpi_job.rank] * data_bytes(s->command.type);
	int count = s->counts[mpi_job.rank], code;
	if (s->command.kind == SCHEDULE_ALLREDUCE)
		code = MPI_Allreduce(s->in, s->out, (int)s->elements, type, op, MPI_COMM_WORLD);
	else if (s->command.kind == SCHEDULE_REDUCE_SCATTER && s->even)
		code = MPI_Reduce_scatter_block(s->in, s->out + own, count, type, op,
						MPI_COMM_WORLD);
	else if (s->command.kind == SCHEDULE_REDUCE_SCATTER)
		code = MPI_Reduce_scatter(s->in, s->out + own, s->counts, type, op, MPI_COMM_WORLD);
	else if (s->even)
		code = MPI_Allgather(s->in + own, count, type, s->out, count, type, MPI_COMM_WORLD);
	else
		code = MPI_Allgatherv(s->in + own, count, type, s->out, s->counts, s->starts, type,
				      MPI_COMM_WORLD);
	MPI_CHECK(code, "the library's collective");
}

/* The library works on host memory: its whole input is copied to the host, and its whole output
 * back. */
static void run_library_staged(struct session *s)
{
	struct device_vectors *d = &s->vectors;
	uint64_t element = data_bytes(s->command.type), all = s->command.bytes;
	uint64_t own = (uint64_t)s->starts[mpi_job.rank] * element,
		 chunk = (uint64_t)s->counts[mpi_job.rank] * element;
	bool gathers = s->command.kind == SCHEDULE_ALLGATHER,
	     scatters = s->command.kind == SCHEDULE_REDUCE_SCATTER;
	device_vectors_copy(d, gathers ? s->in + own : s->in, gathers ? d->in + own : d->in,
			    gathers ? chunk : all);
	device_vectors_wait(d);
	run_library(s);
	device_vectors_copy(d, scatters ? d->out + own : d->out, scatters ? s->out + own : s->out,
			    scatters ? chunk : all);
	device_vectors_wait(d);
}

static void run_once(struct session *s, struct variant_state *v)
{
	if (v->exchange && s->vectors.dev)
		exchange_run(v->exchange, s->vectors.in, s->vectors.out, false);
	else if (v->exchange)
		exchange_run(v->exchange, s->in, s->out, s->command.dry);
	else if (s->vectors.dev)
		run_library_staged(s);
	else
		run_library(s);
	v->runs++;
}

static void run_batch(struct session *s, struct variant_state *v, uint32_t iterations)
{
	struct times *own = &s->own, *all = &s->all;
	double skew[BATCH];
	for (uint32_t i = 0; i < iterations; i++) {
		MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
		double start = mpi_job_time();
		run_once(s, v);
		double end = mpi_job_time();
		own->last_start[i] = start;
		own->minus_start[i] = -start;
		own->last_end[i] = end;
		own->duration[i] = end - start;
	}
	for (unsigned row = 0; row < 4; row++)
		MPI_CHECK(MPI_Reduce((double *)own + row * BATCH, (double *)all + row * BATCH,
				     (int)iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
			  "MPI_Reduce of times");
	for (uint32_t i = 0; i < iterations; i++) {
		s->seconds += mpi_job.common_clock ? all->last_end[i] - all->last_start[i]
						   : all->duration[i];
		skew[i] = all->last_start[i] + all->minus_start[i];
	}
	stats_sort(skew, iterations);
	v->skew_s = stats_median(skew, iterations);
}

static int run_iterations(struct session *s, const struct mpi_command *command)
{
	s->seconds = 0.0;
	for (uint64_t left = command->iterations; left; left -= left < BATCH ? left : BATCH)
		run_batch(s, &s->variant[command->variant],
			  (uint32_t)(left < BATCH ? left : BATCH));
	return s->vectors.dev ? device_vectors_result(&s->vectors) : 0;
}

/* ------------------------------------------------------------------ check */

static int check_span(const struct session *s, uint64_t first, uint64_t count)
{
	const struct mpi_command *command = &s->command;
	return data_check(s->out + first * data_bytes(command->type), command->type, command->op,
			  command->seed, mpi_job.size, first, count);
}

static int check_gathered(const struct session *s)
{
	const struct mpi_command *command = &s->command;
	int status = 0;
	for (int r = 0; status == 0 && r < mpi_job.size; r++) {
		uint64_t first = (uint64_t)s->starts[r], count = (uint64_t)s->counts[r];
		status = data_check_copy(s->out + first * data_bytes(command->type), command->type,
					 command->seed, r, first, count);
		if (status)
			return err_note(status, "chunk %d: %s", r, err_text());
	}
	return status;
}

static int check(struct session *s)
{
	if (s->vectors.dev) {
		device_vectors_copy(&s->vectors, s->out, s->vectors.out, s->command.bytes);
		int status = device_vectors_result(&s->vectors);
		if (status)
			return status;
	}
	if (s->command.kind == SCHEDULE_ALLGATHER)
		return check_gathered(s);
	if (s->command.kind == SCHEDULE_REDUCE_SCATTER) {
		int status = check_span(s, (uint64_t)s->starts[mpi_job.rank],
					(uint64_t)s->counts[mpi_job.rank]);
		return status ? err_note(status, "chunk %d: %s", mpi_job.rank, err_text()) : 0;
	}
	for (int r = 0; r < mpi_job.size; r++) {
		int status = check_span(s, (uint64_t)s->starts[r], (uint64_t)s->counts[r]);
		if (status)
			return err_note(status, "chunk %d of %d: %s", r, mpi_job.size, err_text());
	}
	return 0;
}

static int poison(struct session *s)
{
	memset(s->out, 0xa5, s->command.bytes);
	if (!s->vectors.dev)
		return 0;
	/* The input in host memory too, which is used for staging. */
	memset(s->in, 0xa5, s->command.bytes);
	device_vectors_copy(&s->vectors, s->vectors.out, s->out, s->command.bytes);
	device_vectors_copy(&s->vectors, s->vectors.arrived, s->out, s->command.bytes);
	return device_vectors_result(&s->vectors);
}

/* ------------------------------------------------------------------ commands */

int session_make(const struct bench *b, struct session **s_p)
{
	struct session *s = calloc(1, sizeof(*s));
	if (!s)
		return err_note(-ENOMEM, "a session of %s: out of memory", b->name);
	s->bench = b;
	*s_p = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	rank_device_close(&s->device);
	free(s->list.ranks);
	free(s);
}

int session_execute(void *session, const struct mpi_command *command)
{
	struct session *s = session;
	switch ((enum session_opcode)command->opcode) {
	case SESSION_DEVICE:
		return rank_device_open(&s->device, &command->devices);
	case SESSION_OPEN:
		return open_case(s, command);
	case SESSION_RUN:
		return run_iterations(s, command);
	case SESSION_POISON:
		return poison(s);
	case SESSION_CHECK:
		return check(s);
	case SESSION_LIST:
		return rank_list_gather(&s->list, &s->device);
	case SESSION_CLOSE:
		break;
	}
	return close_case(s);
}

/* ------------------------------------------------------------------ for the leader */

struct rank_device *session_device(struct session *s) { return &s->device; }

struct rank_list *session_list(struct session *s) { return &s->list; }

bool session_is_unsupported(const struct session *s, unsigned variant)
{
	return s->variant[variant].is_unsupported;
}

const char *session_unsupported_reason(const struct session *s) { return s->unsupported_reason; }

double session_seconds(const struct session *s) { return s->seconds; }

double session_skew(const struct session *s, unsigned variant)
{
	return s->variant[variant].skew_s;
}

bool session_traffic(const struct session *s, unsigned variant, struct session_traffic *t)
{
	const struct variant_state *v = &s->variant[variant];
	if (!v->exchange)
		return false;
	*t = (struct session_traffic){.algorithm = schedule_name(v->schedule), .runs = v->runs};
	exchange_sent(v->exchange, &t->messages, &t->bytes);
	exchange_planned(v->exchange, &t->planned_messages, &t->planned_bytes);
	return true;
}
