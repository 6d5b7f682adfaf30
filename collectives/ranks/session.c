/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/session.h"
#include "lib/stats.h"
#include "lib/text.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEXED "-indexed"
enum { ALIGNMENT = 4096 };

/* ------------------------------------------------------------------ open and close */

int session_schedule(const char *name, const struct grid *grid, enum schedule_ports ports,
		     enum schedule_kind kind, struct schedule **s_p)
{
	char algorithm[32];
	const char *suffix = strstr(name, INDEXED);
	if (!suffix)
		return schedule_open_placed(name, grid, ports, kind, s_p);
	snprintf(algorithm, sizeof(algorithm), "%.*s", (int)(suffix - name), name);
	return schedule_open(algorithm, grid, ports, kind, SCHEDULE_INDEXED, s_p);
}

static int open_host_memory(const struct session *s, uint64_t bytes, char **at_p)
{
	void *at = NULL;
	int status = s->program.device.dev
			     ? dev_alloc(s->program.device.dev, DEV_MEM_PINNED, bytes, &at)
			     : 0;
	if (status)
		return status;
	*at_p = s->program.device.dev ? at : malloc(bytes);
	return *at_p ? 0
		     : err_note(-ENOMEM, "a vector of %llu bytes: out of memory",
				(unsigned long long)bytes);
}

static void free_host_memory(const struct session *s, char *at)
{
	if (s->program.device.dev)
		dev_free(s->program.device.dev, at);
	else
		free(at);
}

static int close_case(struct session *s)
{
	for (unsigned v = 0; v < SESSION_VARIANTS; v++) {
		exchange_close(s->variant[v].exchange);
		schedule_close(s->variant[v].schedule);
		s->variant[v] = (struct session_variant){0};
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
	int status = device_vectors_open(&s->vectors, s->program.device.dev, s->command.bytes);
	if (status)
		return status;
	device_vectors_copy(&s->vectors, s->vectors.in, s->in, s->command.bytes);
	return device_vectors_result(&s->vectors);
}

static int open_vectors(struct session *s)
{
	uint64_t bytes = s->command.bytes + ALIGNMENT, size = (uint64_t)mpi_job.size;
	uint64_t grain = exchange_grain(s->kind, s->command.type, s->program.device.dev != NULL);
	int status = open_host_memory(s, bytes, &s->in);
	if (TRY(status, open_host_memory(s, bytes, &s->out)))
		return status;
	s->counts = malloc((size_t)mpi_job.size * sizeof(int));
	s->starts = malloc((size_t)mpi_job.size * sizeof(int));
	if (!s->counts || !s->starts)
		return err_note(-ENOMEM, "the chunks of %d ranks: out of memory", mpi_job.size);
	for (int r = 0; r < mpi_job.size; r++) {
		s->starts[r] = (int)schedule_cut(s->elements, size, (uint64_t)r, grain);
		s->counts[r] =
			(int)schedule_cut(s->elements, size, (uint64_t)r + 1, grain) - s->starts[r];
	}
	s->even = s->elements % (size * grain) == 0;
	if (!s->command.dry)
		data_fill(s->in, s->command.type, s->command.seed, mpi_job.rank, 0, s->elements);
	if (!s->command.dry)
		memset(s->out, 0, s->command.bytes);
	return s->program.device.dev ? open_device_vectors(s) : 0;
}

static int open_variant(struct session *s, unsigned v, const struct grid *grid)
{
	struct session_variant *state = &s->variant[v];
	int status = session_schedule(s->program.declared->variants[v].name, grid, s->command.ports,
				      s->kind, &state->schedule);
	TRY(status, exchange_open(state->schedule, s->kind, (uint32_t)mpi_job.rank, s->elements,
				  s->command.type, s->command.op,
				  s->vectors.dev ? &s->vectors : NULL, &state->exchange));
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
	TRY(status, open_vectors(s));
	for (unsigned v = 0; v < SESSION_VARIANTS; v++)
		if (command->variants >> v & 1)
			TRY(status, open_variant(s, v, &grid));
	return status;
}

/* ------------------------------------------------------------------ run */

/* Not inlined, because tests/peers counts its instructions. */
__attribute__((noinline)) static void run_library(struct session *s, char *in, char *out)
{
	MPI_Datatype type = data_mpi_type(s->command.type);
	MPI_Op op = data_mpi_op(s->command.op);
	uint64_t own = (uint64_t)s->starts[mpi_job.rank] * data_bytes(s->command.type);
	int count = s->counts[mpi_job.rank], code;
	if (s->kind == SCHEDULE_ALLREDUCE)
		code = MPI_Allreduce(in, out, (int)s->elements, type, op, MPI_COMM_WORLD);
	else if (s->kind == SCHEDULE_REDUCE_SCATTER && s->even)
		code = MPI_Reduce_scatter_block(in, out + own, count, type, op, MPI_COMM_WORLD);
	else if (s->kind == SCHEDULE_REDUCE_SCATTER)
		code = MPI_Reduce_scatter(in, out + own, s->counts, type, op, MPI_COMM_WORLD);
	else if (s->even)
		code = MPI_Allgather(in + own, count, type, out, count, type, MPI_COMM_WORLD);
	else
		code = MPI_Allgatherv(in + own, count, type, out, s->counts, s->starts, type,
				      MPI_COMM_WORLD);
	MPI_CHECK(code, "the library's collective");
}

/* The library has no device memory: its whole input is copied to the host, and its whole output
 * back. */
static void run_library_staged(struct session *s)
{
	struct device_vectors *d = &s->vectors;
	uint64_t element = data_bytes(s->command.type), all = s->command.bytes;
	uint64_t own = (uint64_t)s->starts[mpi_job.rank] * element,
		 chunk = (uint64_t)s->counts[mpi_job.rank] * element;
	bool gathers = s->kind == SCHEDULE_ALLGATHER, scatters = s->kind == SCHEDULE_REDUCE_SCATTER;
	device_vectors_copy(d, gathers ? s->in + own : s->in, gathers ? d->in + own : d->in,
			    gathers ? chunk : all);
	device_vectors_wait(d);
	run_library(s, s->in, s->out);
	device_vectors_copy(d, scatters ? d->out + own : d->out, scatters ? s->out + own : s->out,
			    scatters ? chunk : all);
	device_vectors_wait(d);
}

static void run_once(struct session *s, struct session_variant *v)
{
	if (v->exchange && s->vectors.dev)
		exchange_run(v->exchange, s->vectors.in, s->vectors.out, false);
	else if (v->exchange)
		exchange_run(v->exchange, s->in, s->out, s->command.dry);
	else if (s->vectors.direct)
		run_library(s, s->vectors.in, s->vectors.out);
	else if (s->vectors.dev)
		run_library_staged(s);
	else
		run_library(s, s->in, s->out);
}

static void run_batch(struct session *s, struct session_variant *v, uint32_t iterations)
{
	struct session_times *own = &s->own, *all = &s->all;
	double skew[SESSION_BATCH];
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
		MPI_CHECK(MPI_Reduce((double *)own + row * SESSION_BATCH,
				     (double *)all + row * SESSION_BATCH, (int)iterations,
				     MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
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
	for (uint64_t left = command->iterations; left;
	     left -= left < SESSION_BATCH ? left : SESSION_BATCH)
		run_batch(s, &s->variant[command->variant],
			  (uint32_t)(left < SESSION_BATCH ? left : SESSION_BATCH));
	return s->vectors.dev ? device_vectors_result(&s->vectors) : 0;
}

/* ------------------------------------------------------------------ check */

/* Chunk r is rank r's contribution to an all-gather, or else a result of all. */
static int check_chunk(const struct session *s, int r)
{
	const struct mpi_command *m = &s->command;
	const uint64_t first = (uint64_t)s->starts[r], count = (uint64_t)s->counts[r];
	const char *at = s->out + first * data_bytes(m->type);
	int status = s->kind == SCHEDULE_ALLGATHER
			     ? data_check_copy(at, m->type, m->seed, r, first, count)
			     : data_check(at, m->type, m->op, m->seed, mpi_job.size, first, count);
	return status ? err_note(status, "chunk %d of %d: %s", r, mpi_job.size, err_text()) : 0;
}

static int check(struct session *s)
{
	int status = 0;
	if (s->vectors.dev) {
		device_vectors_copy(&s->vectors, s->out, s->vectors.out, s->command.bytes);
		status = device_vectors_result(&s->vectors);
	}
	/* A reduce-scatter leaves each rank its own chunk. */
	for (int r = 0; r < mpi_job.size; r++)
		if (s->kind != SCHEDULE_REDUCE_SCATTER || r == mpi_job.rank)
			TRY(status, check_chunk(s, r));
	return status;
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

/* A rank without a device has its vectors in host memory. The leader gets the list. */
static int gather_list(struct session *s)
{
	const struct dev *dev = s->program.device.dev;
	struct nccl_tests_rank mine = dev ? nccl_tests_rank_of(dev) : nccl_tests_rank_here();
	if (!dev)
		mine.device = (unsigned)mpi_job.local;
	if (mpi_job.virtual_time) {
		mine.process = 0;
		snprintf(mine.host, sizeof(mine.host), "simulated");
	}
	s->ranks = mpi_job_gather(&mine, sizeof(mine));
	return 0;
}

int session_execute(struct rank_program *program, const struct mpi_command *command)
{
	struct session *s = (struct session *)program;
	switch ((enum session_opcode)command->opcode) {
	case SESSION_OPEN:
		return open_case(s, command);
	case SESSION_RUN:
		return run_iterations(s, command);
	case SESSION_POISON:
		return poison(s);
	case SESSION_CHECK:
		return check(s);
	case SESSION_LIST:
		return gather_list(s);
	case SESSION_CLOSE:
		break;
	}
	return close_case(s);
}
