/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running an exchange; exchange_plan.c opens and closes it.
 */
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/exchange_internals.h"
#include "collectives/ranks/mpi_job.h"
#include "lib/err.h"

#include <stdint.h>
#include <string.h>

/* The buffers of one run. BUFFER_IN is never written. */
struct run_memory {
	char *at[BUFFERS];
	bool dry;
};

static char *address_of(const struct transfer *transfer, const struct run_memory *m)
{
	return m->at[transfer->buffer] + transfer->offset;
}

static void pack_transfer(const struct exchange *x, const struct exchange_step *step,
			  const struct transfer *transfer, const struct run_memory *m)
{
	char *to = address_of(transfer, m);
	for (uint32_t i = transfer->first_span; i < transfer->first_span + transfer->spans; i++) {
		uint64_t bytes = step->spans[i].count * x->element_bytes;
		memcpy(to,
		       m->at[transfer->from_input ? BUFFER_IN : BUFFER_OUT] +
			       step->spans[i].first * x->element_bytes,
		       bytes);
		to += bytes;
	}
}

/* Copies or adds received data to its place in the output. */
static void unpack_transfer(const struct exchange *x, const struct exchange_step *step,
			    const struct transfer *transfer, const struct run_memory *m)
{
	char *from = address_of(transfer, m);
	for (uint32_t i = transfer->first_span; i < transfer->first_span + transfer->spans; i++) {
		uint64_t offset = step->spans[i].first * x->element_bytes,
			 bytes = step->spans[i].count * x->element_bytes;
		if (transfer->buffer == BUFFER_SCRATCH &&
		    (transfer->from_input || !transfer->reduce))
			memcpy(m->at[BUFFER_OUT] + offset, from, bytes);
		if (transfer->reduce)
			MPI_Reduce_local(transfer->from_input ? m->at[BUFFER_IN] + offset : from,
					 m->at[BUFFER_OUT] + offset, (int)step->spans[i].count,
					 x->type, x->op);
		from += bytes;
	}
}

/* One send and one receive, which is the common step. One MPI call costs fewer instructions than
 * three. */
static void sendrecv_transfers(const struct exchange *x, const struct exchange_step *step,
			       const struct run_memory *m)
{
	const struct transfer *in = &step->transfers[0], *out = &step->transfers[1];
	char *arrived = address_of(in, m);
	MPI_CHECK(MPI_Sendrecv(address_of(out, m), out->count, x->type, out->peer, out->tag,
			       arrived, in->count, x->type, in->peer, in->tag, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE),
		  "MPI_Sendrecv");
	if (in->reduce && !m->dry)
		MPI_Reduce_local(in->from_input ? m->at[BUFFER_IN] + in->target : arrived,
				 m->at[BUFFER_OUT] + in->target, in->count, x->type, x->op);
}

static void run_requests(const struct exchange *x, const struct exchange_step *step,
			 const struct run_memory *m)
{
	for (uint32_t i = 0; i < step->count; i++) {
		const struct transfer *transfer = &step->transfers[i];
		char *at = address_of(transfer, m);
		if (transfer->send)
			MPI_CHECK(MPI_Isend(at, transfer->count, x->type, transfer->peer,
					    transfer->tag, MPI_COMM_WORLD, &x->requests[i]),
				  "MPI_Isend");
		else
			MPI_CHECK(MPI_Irecv(at, transfer->count, x->type, transfer->peer,
					    transfer->tag, MPI_COMM_WORLD, &x->requests[i]),
				  "MPI_Irecv");
	}
	MPI_CHECK(MPI_Waitall((int)step->count, x->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

/* A send: copies its spans to where MPI gets them. A receive: copies or adds the data from where
 * MPI left it to its place. Nothing is copied that is already there. */
static void stage_transfer(const struct exchange *x, const struct exchange_step *step,
			   const struct transfer *transfer, const struct run_memory *m)
{
	char *message = address_of(transfer, m);
	for (uint32_t i = transfer->first_span; i < transfer->first_span + transfer->spans; i++) {
		uint64_t offset = step->spans[i].first * x->element_bytes,
			 bytes = step->spans[i].count * x->element_bytes;
		char *in = m->at[BUFFER_IN] + offset, *out = m->at[BUFFER_OUT] + offset,
		     *arrived = x->device->direct ? message : x->device->arrived + offset;
		if (transfer->send)
			device_vectors_copy(x->device, message, transfer->from_input ? in : out,
					    bytes);
		else
			device_vectors_copy(x->device,
					    transfer->reduce && !transfer->from_input ? arrived
										      : out,
					    message, bytes);
		if (!transfer->send && transfer->reduce)
			device_vectors_add(x->device, out, transfer->from_input ? in : arrived,
					   bytes);
		message += bytes;
	}
}

static void run_step_on_device(struct exchange *x, const struct exchange_step *step,
			       const struct run_memory *m)
{
	/* MPI only moves data; the device adds. */
	struct run_memory moved = *m;
	moved.dry = true;
	for (uint32_t i = step->receives; i < step->count; i++) {
		stage_transfer(x, step, &step->transfers[i], m);
		x->traffic.messages++;
		x->traffic.bytes += (uint64_t)step->transfers[i].count * x->element_bytes;
	}
	/* Also waits for the previous step, which reads the memory that this step receives into,
	 * and writes what it sends. */
	device_vectors_wait(x->device);
	if (step->count == 2 && step->receives == 1)
		sendrecv_transfers(x, step, &moved);
	else
		run_requests(x, step, &moved);
	for (uint32_t i = 0; i < step->receives; i++)
		stage_transfer(x, step, &step->transfers[i], m);
}

static void run_step_on_host(struct exchange *x, const struct exchange_step *step,
			     const struct run_memory *m)
{
	for (uint32_t i = step->receives; i < step->count; i++) {
		if (step->transfers[i].spans > 1 && !m->dry)
			pack_transfer(x, step, &step->transfers[i], m);
		x->traffic.messages++;
		x->traffic.bytes += (uint64_t)step->transfers[i].count * x->element_bytes;
	}
	if (step->count == 2 && step->receives == 1 && step->transfers[0].spans == 1) {
		sendrecv_transfers(x, step, m);
		return;
	}
	run_requests(x, step, m);
	for (uint32_t i = 0; i < step->receives && !m->dry; i++)
		if (step->transfers[i].reduce || step->transfers[i].buffer == BUFFER_SCRATCH)
			unpack_transfer(x, step, &step->transfers[i], m);
}

static void copy_bytes(const struct exchange *x, char *to, const char *from, uint64_t bytes)
{
	if (x->device)
		device_vectors_copy(x->device, to, from, bytes);
	else
		memcpy(to, from, bytes);
}

/* Copies to the output what the schedule expects there before its first step. */
static void set_initial_output(const struct exchange *x, const char *in, char *out)
{
	if (x->copies_input)
		copy_bytes(x, out, in, x->elements * x->element_bytes);
	for (unsigned part = 0; x->kind == SCHEDULE_ALLGATHER && part < schedule_parts(x->schedule);
	     part++) {
		struct schedule_span s = exchange_chunk(x, part);
		copy_bytes(x, out + s.first * x->element_bytes, in + s.first * x->element_bytes,
			   s.count * x->element_bytes);
	}
}

void exchange_run(struct exchange *x, const void *in, void *out, bool dry)
{
	char *scratch = x->device ? x->device->staging : x->scratch;
	struct run_memory m = {.at = {[BUFFER_IN] = (char *)(uintptr_t)in,
				      [BUFFER_OUT] = out,
				      [BUFFER_SCRATCH] = scratch},
			       .dry = dry};
	if (!dry)
		set_initial_output(x, in, out);
	for (uint32_t i = 0; i < x->step_count; i++) {
		if (!x->prepared && exchange_load_step(x, i, &x->current) != 0)
			mpi_job_abort("step %u: %s", i, err_text());
		const struct exchange_step *step = x->prepared ? &x->prepared[i] : &x->current;
		if (x->device)
			run_step_on_device(x, step, &m);
		else
			run_step_on_host(x, step, &m);
	}
	if (x->device)
		device_vectors_wait(x->device);
	x->traffic.runs++;
}

const struct exchange_traffic *exchange_traffic(const struct exchange *x) { return &x->traffic; }
