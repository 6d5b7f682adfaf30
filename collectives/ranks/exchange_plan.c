/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening an exchange: from the messages of a schedule to transfers with addresses.
 */
#include "collectives/ranks/exchange_internals.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many messages all steps are prepared when the exchange is opened. With more, each step
 * is computed when it runs: the prepared steps of a million simulated ranks would not fit into
 * memory. */
#define MAX_PREPARED_MESSAGES 512u

uint64_t exchange_grain(enum schedule_kind kind, enum data_type type, bool on_device)
{
	return on_device && kind != SCHEDULE_ALLGATHER ? DEV_KERNEL_ALIGN / data_bytes(type) : 1;
}

static struct schedule_span span_of(const struct exchange *x, unsigned part, uint32_t first,
				    uint32_t count)
{
	return schedule_place(x->schedule, x->kind, x->elements, x->grain, part, first, count);
}

struct schedule_span exchange_chunk(const struct exchange *x, unsigned part)
{
	uint32_t chunk = schedule_chunk(x->schedule, part, x->rank);
	return chunk == UINT32_MAX ? (struct schedule_span){0} : span_of(x, part, chunk, 1);
}

/* ------------------------------------------------------------------ from messages to transfers */

/* True when no data has arrived yet for the chunks of a message. A receive marks its chunks. */
static bool update_arrivals(struct exchange *x, unsigned part, const struct schedule_message *m,
			    uint32_t ranges)
{
	bool *state = m->send ? x->arrivals.arrived : x->arrivals.arriving;
	uint64_t base = (uint64_t)part * schedule_chunks(x->schedule), arrived = 0, missing = 0;
	if (!state)
		return false;
	for (uint32_t i = 0; i < ranges; i++) {
		for (uint32_t b = x->ranges[i].first; b < x->ranges[i].first + x->ranges[i].count;
		     b++) {
			arrived += state[base + b];
			missing += !state[base + b];
			state[base + b] = state[base + b] || !m->send;
		}
	}
	x->arrivals.mixed = x->arrivals.mixed || (arrived && missing && (m->send || m->reduce));
	return missing > 0 && (m->send || m->reduce);
}

/* Fills the next transfer of a step and its spans. False when the message would be empty. */
static bool fill_transfer(struct exchange *x, struct exchange_step *step, unsigned part,
			  const struct schedule_message *m, uint32_t *spans_p, uint64_t *elements_p)
{
	struct transfer *transfer = &step->transfers[step->count];
	uint32_t ranges = schedule_ranges(x->schedule, part, m, x->ranges);
	uint64_t elements = 0;
	*transfer = (struct transfer){.peer = (int)m->peer,
				      .tag = (int)part,
				      .send = m->send,
				      .reduce = m->reduce,
				      .first_span = *spans_p};
	transfer->from_input = update_arrivals(x, part, m, ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		struct schedule_span s = span_of(x, part, x->ranges[i].first, x->ranges[i].count);
		if (s.count == 0)
			continue;
		step->spans[*spans_p + transfer->spans++] = s;
		elements += s.count;
	}
	transfer->count = (int)elements;
	*elements_p = elements;
	if (elements == 0)
		return false;
	*spans_p += transfer->spans;
	return true;
}

static void set_buffer(const struct exchange *x, const struct exchange_step *step,
		       struct transfer *transfer, uint64_t *scratch_p)
{
	const bool staged = x->device && !x->device->direct;
	transfer->target = step->spans[transfer->first_span].first * x->element_bytes;
	if (staged || transfer->spans > 1 ||
	    (!transfer->send && transfer->reduce && !transfer->from_input)) {
		transfer->buffer = BUFFER_SCRATCH;
		transfer->offset = *scratch_p * x->element_bytes;
		*scratch_p += ((uint64_t)transfer->count + x->grain - 1) / x->grain * x->grain;
	} else {
		transfer->buffer = transfer->send && transfer->from_input ? BUFFER_IN : BUFFER_OUT;
		transfer->offset = transfer->target;
	}
}

int exchange_load_step(struct exchange *x, uint32_t number, struct exchange_step *step)
{
	uint32_t spans = 0;
	uint64_t scratch = 0;
	step->count = step->receives = 0;
	for (int sends = 0; sends < 2; sends++) {
		for (unsigned part = 0; part < schedule_parts(x->schedule); part++) {
			unsigned n =
				schedule_messages(x->schedule, part, x->rank, number, x->messages);
			for (unsigned i = 0; i < n; i++) {
				uint64_t elements;
				if (x->messages[i].send != (sends == 1) ||
				    !fill_transfer(x, step, part, &x->messages[i], &spans,
						   &elements))
					continue;
				if (elements > INT_MAX)
					return err_note(-EOVERFLOW,
							"a message has %llu elements; MPI supports "
							"%d",
							(unsigned long long)elements, INT_MAX);
				set_buffer(x, step, &step->transfers[step->count], &scratch);
				step->receives += sends == 0;
				step->count++;
			}
		}
	}
	x->scratch_elements = scratch > x->scratch_elements ? scratch : x->scratch_elements;
	return 0;
}

/* Allocates the capacity for the largest step. */
static int alloc_current_step(struct exchange *x)
{
	unsigned parts = schedule_parts(x->schedule), each = schedule_max_messages(x->schedule);
	uint32_t chunks = schedule_chunks(x->schedule);
	x->max_transfers = parts * each;
	x->messages = calloc(each, sizeof(*x->messages));
	x->ranges = calloc(chunks, sizeof(*x->ranges));
	x->requests = calloc(x->max_transfers, sizeof(MPI_Request));
	x->current.transfers = calloc(x->max_transfers, sizeof(*x->current.transfers));
	x->current.spans =
		calloc((size_t)2 * parts * chunks + x->max_transfers, sizeof(*x->current.spans));
	return x->messages && x->ranges && x->requests && x->current.transfers && x->current.spans
		       ? 0
		       : -ENOMEM;
}

static int keep_step(struct exchange_step *to, const struct exchange_step *from)
{
	uint32_t spans = from->count ? from->transfers[from->count - 1].first_span +
					       from->transfers[from->count - 1].spans
				     : 0;
	*to = *from;
	to->transfers = malloc((from->count + 1) * sizeof(*to->transfers));
	to->spans = malloc((spans + 1) * sizeof(*to->spans));
	if (!to->transfers || !to->spans)
		return -ENOMEM;
	memcpy(to->transfers, from->transfers, from->count * sizeof(*to->transfers));
	memcpy(to->spans, from->spans, spans * sizeof(*to->spans));
	return 0;
}

static void free_steps(struct exchange *x)
{
	for (uint32_t i = 0; x->prepared && i < x->step_count; i++) {
		free(x->prepared[i].transfers);
		free(x->prepared[i].spans);
	}
	free(x->prepared);
	x->prepared = NULL;
}

static void count_planned(struct exchange *x)
{
	for (uint32_t j = x->current.receives; j < x->current.count; j++) {
		x->traffic.planned_messages++;
		x->traffic.planned_bytes +=
			(uint64_t)x->current.transfers[j].count * x->element_bytes;
	}
}

/* Computes all steps once, to know how much scratch memory they need. With `prepare` it keeps
 * them. */
static int plan_steps(struct exchange *x, bool prepare)
{
	uint64_t chunks = (uint64_t)schedule_parts(x->schedule) * schedule_chunks(x->schedule);
	x->traffic.planned_messages = x->traffic.planned_bytes = x->scratch_elements = 0;
	x->prepared = prepare ? calloc(x->step_count + 1u, sizeof(*x->prepared)) : NULL;
	if (prepare && !x->prepared)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->step_count; i++) {
		if (x->arrivals.arrived)
			memcpy(x->arrivals.arrived, x->arrivals.arriving, chunks);
		int status = exchange_load_step(x, i, &x->current);
		if (prepare)
			TRY(status, keep_step(&x->prepared[i], &x->current));
		if (status)
			return status;
		count_planned(x);
	}
	return 0;
}

/* Plans without a copy of the input; with one when a message mixes arrived and missing chunks. */
static int plan_with_arrivals(struct exchange *x)
{
	uint64_t chunks = (uint64_t)schedule_parts(x->schedule) * schedule_chunks(x->schedule);
	x->arrivals =
		(struct arrivals){.arrived = calloc(chunks, 1), .arriving = calloc(chunks, 1)};
	int status = x->arrivals.arrived && x->arrivals.arriving ? plan_steps(x, true) : -ENOMEM;
	for (uint64_t i = 0; status == 0 && x->kind == SCHEDULE_ALLREDUCE && i < chunks; i++)
		x->arrivals.mixed = x->arrivals.mixed || !x->arrivals.arriving[i];
	free(x->arrivals.arrived);
	free(x->arrivals.arriving);
	x->arrivals.arrived = x->arrivals.arriving = NULL;
	if (status || !x->arrivals.mixed)
		return status;
	free_steps(x);
	x->copies_input = true;
	return plan_steps(x, true);
}

static int open_scratch(struct exchange *x)
{
	uint64_t bytes = x->scratch_elements * x->element_bytes + 1;
	if (x->device)
		return device_vectors_stage(
			x->device, x->device->direct ? DEV_MEM_DEVICE : DEV_MEM_PINNED, bytes);
	x->scratch = malloc(bytes);
	return x->scratch ? 0
			  : err_note(-ENOMEM, "scratch memory of %llu bytes: out of memory",
				     (unsigned long long)bytes);
}

static int open_steps(struct exchange *x)
{
	bool prepared = (uint64_t)x->step_count * x->max_transfers <= MAX_PREPARED_MESSAGES;
	bool reduces = x->kind != SCHEDULE_ALLGATHER;
	x->copies_input = reduces && !prepared;
	return prepared && reduces ? plan_with_arrivals(x) : plan_steps(x, prepared);
}

int exchange_open(const struct schedule *s, enum schedule_kind kind, uint32_t rank,
		  uint64_t elements, enum data_type type, enum data_op op,
		  struct device_vectors *device, struct exchange **x_p)
{
	struct exchange *x = calloc(1, sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "schedule: out of memory");
	*x = (struct exchange){.schedule = s,
			       .kind = kind,
			       .rank = rank,
			       .elements = elements,
			       .element_bytes = data_bytes(type),
			       .grain = exchange_grain(kind, type, device != NULL),
			       .device = device,
			       .type = data_mpi_type(type),
			       .op = data_mpi_op(op),
			       .step_count = schedule_steps(s)};
	int status = alloc_current_step(x);
	if (TRY(status, open_steps(x)) == -ENOMEM)
		err_note(status, "schedule: out of memory");
	TRY(status, open_scratch(x));
	if (status) {
		exchange_close(x);
		return status;
	}
	*x_p = x;
	return 0;
}

void exchange_close(struct exchange *x)
{
	if (!x)
		return;
	free_steps(x);
	free(x->current.transfers);
	free(x->current.spans);
	free(x->messages);
	free(x->ranges);
	free(x->requests);
	free(x->scratch);
	free(x);
}
