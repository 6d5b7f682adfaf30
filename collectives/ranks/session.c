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

#define BATCH 512u /* iterations whose times are gathered at once */
enum { VARIANTS = 64, ALIGNMENT = 4096 };

struct variant_state {
	struct schedule *schedule;
	struct exchange *exchange;
	bool is_unsupported;
	uint64_t runs;
	double skew_s;
};

static struct {
	const struct bench *bench;
	struct mpi_command command; /* the last SESSION_OPEN */
	uint64_t elements;
	/* Host memory. With a device it is pinned: the device's vectors are filled from it and
	 * checked in it, and the library uses it. */
	char *in, *out;
	struct device_vectors vectors; /* dev NULL: no device */
	int *counts, *starts;          /* of the library's chunks, by rank */
	bool even;                     /* all chunks have the same length */
	struct variant_state variant[VARIANTS];
	char unsupported_reason[400];
	double seconds;
} session;

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

static int open_host_memory(uint64_t bytes, char **at_p)
{
	void *at = NULL;
	int status = rank_device() ? dev_alloc(rank_device(), DEV_MEM_PINNED, bytes, &at) : 0;
	if (status)
		return status;
	*at_p = rank_device() ? at : malloc(bytes);
	return *at_p ? 0
		     : err_note(-ENOMEM, "a vector of %llu bytes: out of memory",
				(unsigned long long)bytes);
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
		exchange_close(session.variant[v].exchange);
		schedule_close(session.variant[v].schedule);
		session.variant[v] = (struct variant_state){0};
	}
	device_vectors_close(&session.vectors);
	free_host_memory(session.in);
	free_host_memory(session.out);
	free(session.counts);
	free(session.starts);
	session.in = session.out = NULL;
	session.counts = session.starts = NULL;
	return 0;
}

static int open_device_vectors(void)
{
	int status = device_vectors_open(&session.vectors, rank_device(), session.command.bytes);
	if (status)
		return status;
	device_vectors_copy(&session.vectors, session.vectors.in, session.in,
			    session.command.bytes);
	return device_vectors_result(&session.vectors);
}

static int open_vectors(void)
{
	uint64_t bytes = session.command.bytes + ALIGNMENT, size = (uint64_t)mpi_job.size;
	uint64_t grain =
		exchange_grain(session.command.kind, session.command.type, rank_device() != NULL);
	int status = open_host_memory(bytes, &session.in);
	if (status == 0)
		status = open_host_memory(bytes, &session.out);
	if (status)
		return status;
	session.counts = malloc((size_t)mpi_job.size * sizeof(int));
	session.starts = malloc((size_t)mpi_job.size * sizeof(int));
	if (!session.counts || !session.starts)
		return err_note(-ENOMEM, "the chunks of %d ranks: out of memory", mpi_job.size);
	for (int r = 0; r < mpi_job.size; r++) {
		session.starts[r] = (int)exchange_cut(session.elements, size, (uint64_t)r, grain);
		session.counts[r] =
			(int)exchange_cut(session.elements, size, (uint64_t)r + 1, grain) -
			session.starts[r];
	}
	session.even = session.elements % (size * grain) == 0;
	if (!session.command.dry)
		data_fill(session.in, session.command.type, session.command.seed, mpi_job.rank, 0,
			  session.elements);
	if (!session.command.dry)
		memset(session.out, 0, session.command.bytes);
	return rank_device() ? open_device_vectors() : 0;
}

static int open_variant(unsigned v, const struct grid *grid)
{
	struct variant_state *state = &session.variant[v];
	int status = session_schedule(&session.bench->variants[v], grid, session.command.ports,
				      session.command.kind, &state->schedule);
	if (status == 0 && state->schedule)
		status = exchange_open(
			state->schedule, session.command.kind, (uint32_t)mpi_job.rank,
			session.elements, session.command.type, session.command.op,
			session.vectors.dev ? &session.vectors : NULL, &state->exchange);
	if (status != -ENOTSUP)
		return status;
	state->is_unsupported = true;
	snprintf(session.unsupported_reason, sizeof(session.unsupported_reason), "%s", err_text());
	return 0;
}

static int open_case(const struct mpi_command *command)
{
	struct grid grid;
	session.command = *command;
	session.elements = command->bytes / data_bytes(command->type);
	int status = grid_parse(command->shape, &grid);
	if (status == 0)
		status = open_vectors();
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++)
		if (command->variants >> v & 1)
			status = open_variant(v, &grid);
	return status;
}

/* ------------------------------------------------------------------ run */

/* Not inlined, because tests/peers counts its instructions. */
__attribute__((noinline)) static void run_library(void)
{
	MPI_Datatype type = data_mpi_type(session.command.type);
	MPI_Op op = data_mpi_op(session.command.op);
	uint64_t own = (uint64_t)session.starts[mpi_job.rank] * data_bytes(session.command.type);
	int count = session.counts[mpi_job.rank], code;
	if (session.command.kind == SCHEDULE_ALLREDUCE)
		code = MPI_Allreduce(session.in, session.out, (int)session.elements, type, op,
				     MPI_COMM_WORLD);
	else if (session.command.kind == SCHEDULE_REDUCE_SCATTER && session.even)
		code = MPI_Reduce_scatter_block(session.in, session.out + own, count, type, op,
						MPI_COMM_WORLD);
	else if (session.command.kind == SCHEDULE_REDUCE_SCATTER)
		code = MPI_Reduce_scatter(session.in, session.out + own, session.counts, type, op,
					  MPI_COMM_WORLD);
	else if (session.even)
		code = MPI_Allgather(session.in + own, count, type, session.out, count, type,
				     MPI_COMM_WORLD);
	else
		code = MPI_Allgatherv(session.in + own, count, type, session.out, session.counts,
				      session.starts, type, MPI_COMM_WORLD);
	MPI_CHECK(code, "the library's collective");
}

/* The library works on host memory: its whole input is copied to the host, and its whole output
 * back. */
static void run_library_staged(void)
{
	struct device_vectors *d = &session.vectors;
	uint64_t element = data_bytes(session.command.type), all = session.command.bytes;
	uint64_t own = (uint64_t)session.starts[mpi_job.rank] * element,
		 chunk = (uint64_t)session.counts[mpi_job.rank] * element;
	bool gathers = session.command.kind == SCHEDULE_ALLGATHER,
	     scatters = session.command.kind == SCHEDULE_REDUCE_SCATTER;
	device_vectors_copy(d, gathers ? session.in + own : session.in,
			    gathers ? d->in + own : d->in, gathers ? chunk : all);
	device_vectors_wait(d);
	run_library();
	device_vectors_copy(d, scatters ? d->out + own : d->out,
			    scatters ? session.out + own : session.out, scatters ? chunk : all);
	device_vectors_wait(d);
}

static void run_once(struct variant_state *v)
{
	if (v->exchange && session.vectors.dev)
		exchange_run(v->exchange, session.vectors.in, session.vectors.out, false);
	else if (v->exchange)
		exchange_run(v->exchange, session.in, session.out, session.command.dry);
	else if (session.vectors.dev)
		run_library_staged();
	else
		run_library();
	v->runs++;
}

/* Times of a batch, each the maximum over the ranks. The maximum of -start is minus the first
 * entry. */
struct times {
	double last_start[BATCH], minus_start[BATCH], last_end[BATCH], duration[BATCH];
};

static void run_batch(struct variant_state *v, uint32_t iterations)
{
	static struct times own, all;
	double skew[BATCH];
	for (uint32_t i = 0; i < iterations; i++) {
		MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
		double start = mpi_job_time();
		run_once(v);
		double end = mpi_job_time();
		own.last_start[i] = start;
		own.minus_start[i] = -start;
		own.last_end[i] = end;
		own.duration[i] = end - start;
	}
	for (unsigned row = 0; row < 4; row++)
		MPI_CHECK(MPI_Reduce((double *)&own + row * BATCH, (double *)&all + row * BATCH,
				     (int)iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
			  "MPI_Reduce of times");
	for (uint32_t i = 0; i < iterations; i++) {
		session.seconds += mpi_job.common_clock ? all.last_end[i] - all.last_start[i]
							: all.duration[i];
		skew[i] = all.last_start[i] + all.minus_start[i];
	}
	stats_sort(skew, iterations);
	v->skew_s = stats_median(skew, iterations);
}

static int run_iterations(const struct mpi_command *command)
{
	session.seconds = 0.0;
	for (uint64_t left = command->iterations; left; left -= left < BATCH ? left : BATCH)
		run_batch(&session.variant[command->variant],
			  (uint32_t)(left < BATCH ? left : BATCH));
	return session.vectors.dev ? device_vectors_result(&session.vectors) : 0;
}

/* ------------------------------------------------------------------ check */

static int check_span(uint64_t first, uint64_t count)
{
	const struct mpi_command *command = &session.command;
	return data_check(session.out + first * data_bytes(command->type), command->type,
			  command->op, command->seed, mpi_job.size, first, count);
}

static int check_gathered(void)
{
	const struct mpi_command *command = &session.command;
	int status = 0;
	for (int r = 0; status == 0 && r < mpi_job.size; r++) {
		uint64_t first = (uint64_t)session.starts[r], count = (uint64_t)session.counts[r];
		status = data_check_copy(session.out + first * data_bytes(command->type),
					 command->type, command->seed, r, first, count);
		if (status)
			return err_note(status, "chunk %d: %s", r, err_text());
	}
	return status;
}

static int check(void)
{
	if (session.vectors.dev) {
		device_vectors_copy(&session.vectors, session.out, session.vectors.out,
				    session.command.bytes);
		int status = device_vectors_result(&session.vectors);
		if (status)
			return status;
	}
	if (session.command.kind == SCHEDULE_ALLGATHER)
		return check_gathered();
	if (session.command.kind == SCHEDULE_REDUCE_SCATTER) {
		int status = check_span((uint64_t)session.starts[mpi_job.rank],
					(uint64_t)session.counts[mpi_job.rank]);
		return status ? err_note(status, "chunk %d: %s", mpi_job.rank, err_text()) : 0;
	}
	for (int r = 0; r < mpi_job.size; r++) {
		int status = check_span((uint64_t)session.starts[r], (uint64_t)session.counts[r]);
		if (status)
			return err_note(status, "chunk %d of %d: %s", r, mpi_job.size, err_text());
	}
	return 0;
}

static int poison(void)
{
	memset(session.out, 0xa5, session.command.bytes);
	if (!session.vectors.dev)
		return 0;
	/* The input in host memory too, which is used for staging. */
	memset(session.in, 0xa5, session.command.bytes);
	device_vectors_copy(&session.vectors, session.vectors.out, session.out,
			    session.command.bytes);
	device_vectors_copy(&session.vectors, session.vectors.arrived, session.out,
			    session.command.bytes);
	return device_vectors_result(&session.vectors);
}

static int execute_command(const struct mpi_command *command)
{
	switch ((enum session_opcode)command->opcode) {
	case SESSION_DEVICE:
		return rank_device_open(&command->devices);
	case SESSION_OPEN:
		return open_case(command);
	case SESSION_RUN:
		return run_iterations(command);
	case SESSION_POISON:
		return poison();
	case SESSION_CHECK:
		return check();
	case SESSION_CLOSE:
		break;
	}
	return close_case();
}

/* ------------------------------------------------------------------ for the leader */

int (*session_handler(const struct bench *b))(const struct mpi_command *command)
{
	session.bench = b;
	return execute_command;
}

bool session_is_unsupported(unsigned variant) { return session.variant[variant].is_unsupported; }

const char *session_unsupported_reason(void) { return session.unsupported_reason; }

double session_seconds(void) { return session.seconds; }

double session_skew(unsigned variant) { return session.variant[variant].skew_s; }

bool session_traffic(unsigned variant, struct session_traffic *t)
{
	const struct variant_state *v = &session.variant[variant];
	if (!v->exchange)
		return false;
	*t = (struct session_traffic){.algorithm = schedule_name(v->schedule), .runs = v->runs};
	exchange_sent(v->exchange, &t->messages, &t->bytes);
	exchange_planned(v->exchange, &t->planned_messages, &t->planned_bytes);
	return true;
}
