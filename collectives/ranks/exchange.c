/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/crew.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Steps are kept ready up to this many messages; beyond, each is worked out when it is due. A million simulated ranks'
 * worth of ready steps would not fit. */
#define READY_MESSAGES 512u

enum place { IN, OUT, SCRATCH, PLACES };

/* A message with its place in memory. */
struct parcel {
	int peer, tag;
	int count; /* elements */
	bool send, reduce;
	bool own; /* see struct tracks: sends what is in `in`; adds `in` to what came, instead of the other way round */
	enum place place;           /* where it is sent from or received */
	uint64_t offset;            /* in bytes */
	uint64_t target;            /* of its first span, in bytes */
	uint32_t spans, first_span; /* of the vector, in the step's spans; several go through scratch memory */
};

struct step {
	struct parcel *parcels; /* receptions first */
	struct span *spans;
	uint32_t count, receptions;
};

/* Where a partial sum is. The vector need not be copied before the first step: a block is in `in` until something arrives
 * for it, which is received in its place in `out`, and what is in `in` is added to it there. This works when no message has
 * blocks of both kinds; else, and when steps are not kept ready, `in` is copied to `out` first. */
struct tracks {
	bool *arrived, *arriving; /* by part and block: before this step, and with it */
	bool mixed;
};

struct exchange {
	const struct schedule *schedule;
	enum schedule_kind kind;
	uint32_t rank;
	uint64_t elements, element_bytes, grain;
	struct device_vectors *device; /* NULL: vectors in host memory */
	MPI_Datatype type;
	MPI_Op op;
	uint32_t step_count;
	struct step *ready; /* NULL: worked out when due, in `due` */
	struct step due;
	unsigned most;      /* parcels of a step */
	struct schedule_message *messages;
	struct schedule_range *ranges;
	MPI_Request *requests;
	char *scratch; /* NULL on a device, whose vectors have staging memory */
	uint64_t scratch_elements;
	bool copies_first;
	struct tracks tracks; /* while steps are made ready */
	uint64_t planned_messages, planned_bytes, sent_messages, sent_bytes;
};

/* ------------------------------------------------------------------ where blocks are */

/* No overflow: under 2^31 elements, and GRID_MOST_NODES blocks. */
uint64_t exchange_cut(uint64_t total, uint64_t parts, uint64_t index, uint64_t grain)
{
	uint64_t at = (total + grain - 1) / grain * index / parts * grain;
	return at < total ? at : total;
}

uint64_t exchange_grain(enum schedule_kind kind, enum data_type type, bool on_device)
{
	return on_device && kind != SCHEDULE_ALLGATHER ? DEV_KERNEL_ALIGN / data_bytes(type) : 1;
}

static struct span span_of(const struct exchange *x, unsigned part, uint32_t first, uint32_t count)
{
	uint64_t parts = schedule_parts(x->schedule), blocks = schedule_blocks(x->schedule);
	uint64_t start = exchange_cut(x->elements, parts, part, x->grain);
	uint64_t length = exchange_cut(x->elements, parts, part + 1, x->grain) - start;
	uint64_t from = exchange_cut(length, blocks, first, x->grain);
	uint64_t to = exchange_cut(length, blocks, (uint64_t)first + count, x->grain);
	return (struct span){.first = start + from, .count = to - from};
}

struct span exchange_block(const struct exchange *x, unsigned part)
{
	uint32_t block = schedule_block(x->schedule, part, x->rank);
	return block == UINT32_MAX ? (struct span){0} : span_of(x, part, block, 1);
}

/* ------------------------------------------------------------------ from messages to parcels */

/* Is the parcel about blocks that nothing has arrived for yet? And from now on something has, if it is a reception. */
static bool track(struct exchange *x, unsigned part, const struct schedule_message *m, uint32_t ranges)
{
	bool *state = m->send ? x->tracks.arrived : x->tracks.arriving;
	uint64_t base = (uint64_t)part * schedule_blocks(x->schedule), arrived = 0, fresh = 0;
	if (!state)
		return false;
	for (uint32_t i = 0; i < ranges; i++) {
		for (uint32_t b = x->ranges[i].first; b < x->ranges[i].first + x->ranges[i].count; b++) {
			arrived += state[base + b];
			fresh += !state[base + b];
			state[base + b] = state[base + b] || !m->send;
		}
	}
	x->tracks.mixed = x->tracks.mixed || (arrived && fresh && (m->send || m->reduce));
	return fresh > 0 && (m->send || m->reduce);
}

/* Fill a parcel and its spans; false when it would carry nothing. */
static bool fill_parcel(struct exchange *x, struct step *t, unsigned part, const struct schedule_message *m, uint32_t *spans_p,
                        uint64_t *elements_p)
{
	struct parcel *p = &t->parcels[t->count];
	uint32_t ranges = schedule_ranges(x->schedule, part, m, x->ranges);
	uint64_t elements = 0;
	*p = (struct parcel){.peer = (int)m->peer, .tag = (int)part, .send = m->send, .reduce = m->reduce, .first_span = *spans_p};
	p->own = track(x, part, m, ranges);
	for (uint32_t i = 0; i < ranges; i++) {
		struct span s = span_of(x, part, x->ranges[i].first, x->ranges[i].count);
		if (s.count == 0)
			continue;
		t->spans[*spans_p + p->spans++] = s;
		elements += s.count;
	}
	p->count = (int)elements;
	*elements_p = elements;
	if (elements == 0)
		return false;
	*spans_p += p->spans;
	return true;
}

static void set_place(const struct exchange *x, const struct step *t, struct parcel *p, uint64_t *scratch_p)
{
	p->target = t->spans[p->first_span].first * x->element_bytes;
	if (x->device || p->spans > 1 || (!p->send && p->reduce && !p->own)) {
		p->place = SCRATCH;
		p->offset = *scratch_p * x->element_bytes;
		*scratch_p += (uint64_t)p->count;
	} else {
		p->place = p->send && p->own ? IN : OUT;
		p->offset = p->target;
	}
}

/* The parcels of a step, receptions first. `t` has room. */
static int load(struct exchange *x, uint32_t number, struct step *t)
{
	uint32_t spans = 0;
	uint64_t scratch = 0;
	t->count = t->receptions = 0;
	for (int sends = 0; sends < 2; sends++) {
		for (unsigned part = 0; part < schedule_parts(x->schedule); part++) {
			unsigned n = schedule_messages(x->schedule, part, x->rank, number, x->messages);
			for (unsigned i = 0; i < n; i++) {
				uint64_t elements;
				if (x->messages[i].send != (sends == 1) || !fill_parcel(x, t, part, &x->messages[i], &spans, &elements))
					continue;
				if (elements > INT_MAX)
					return err_note(-EOVERFLOW, "a message of %llu elements: MPI counts with an int",
					                (unsigned long long)elements);
				set_place(x, t, &t->parcels[t->count], &scratch);
				t->receptions += sends == 0;
				t->count++;
			}
		}
	}
	x->scratch_elements = scratch > x->scratch_elements ? scratch : x->scratch_elements;
	return 0;
}

/* Room for the largest step. */
static int open_due(struct exchange *x)
{
	unsigned parts = schedule_parts(x->schedule), each = schedule_most_messages(x->schedule);
	uint32_t blocks = schedule_blocks(x->schedule);
	x->most = parts * each;
	x->messages = calloc(each, sizeof(*x->messages));
	x->ranges = calloc(blocks, sizeof(*x->ranges));
	x->requests = calloc(x->most, sizeof(MPI_Request));
	x->due.parcels = calloc(x->most, sizeof(*x->due.parcels));
	x->due.spans = calloc((size_t)2 * parts * blocks + x->most, sizeof(*x->due.spans));
	return x->messages && x->ranges && x->requests && x->due.parcels && x->due.spans ? 0 : -ENOMEM;
}

static int keep(struct step *to, const struct step *from)
{
	uint32_t spans = from->count ? from->parcels[from->count - 1].first_span + from->parcels[from->count - 1].spans : 0;
	*to = *from;
	to->parcels = malloc((from->count + 1) * sizeof(*to->parcels));
	to->spans = malloc((spans + 1) * sizeof(*to->spans));
	if (!to->parcels || !to->spans)
		return -ENOMEM;
	memcpy(to->parcels, from->parcels, from->count * sizeof(*to->parcels));
	memcpy(to->spans, from->spans, spans * sizeof(*to->spans));
	return 0;
}

static void free_steps(struct exchange *x)
{
	for (uint32_t i = 0; x->ready && i < x->step_count; i++) {
		free(x->ready[i].parcels);
		free(x->ready[i].spans);
	}
	free(x->ready);
	x->ready = NULL;
}

static void count_planned(struct exchange *x)
{
	for (uint32_t j = x->due.receptions; j < x->due.count; j++) {
		x->planned_messages++;
		x->planned_bytes += (uint64_t)x->due.parcels[j].count * x->element_bytes;
	}
}

/* All steps once: to know what they need, and to keep them where that is not too much. */
static int walk_steps(struct exchange *x, bool keep_them)
{
	uint64_t blocks = (uint64_t)schedule_parts(x->schedule) * schedule_blocks(x->schedule);
	x->planned_messages = x->planned_bytes = x->scratch_elements = 0;
	x->ready = keep_them ? calloc(x->step_count + 1u, sizeof(*x->ready)) : NULL;
	if (keep_them && !x->ready)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->step_count; i++) {
		if (x->tracks.arrived)
			memcpy(x->tracks.arrived, x->tracks.arriving, blocks);
		int status = load(x, i, &x->due);
		if (status == 0 && keep_them)
			status = keep(&x->ready[i], &x->due);
		if (status)
			return status;
		count_planned(x);
	}
	return 0;
}

/* With tracks; without them when they don't work out. */
static int walk_tracked(struct exchange *x)
{
	uint64_t blocks = (uint64_t)schedule_parts(x->schedule) * schedule_blocks(x->schedule);
	x->tracks = (struct tracks){.arrived = calloc(blocks, 1), .arriving = calloc(blocks, 1)};
	int status = x->tracks.arrived && x->tracks.arriving ? walk_steps(x, true) : -ENOMEM;
	for (uint64_t i = 0; status == 0 && x->kind == SCHEDULE_ALLREDUCE && i < blocks; i++)
		x->tracks.mixed = x->tracks.mixed || !x->tracks.arriving[i];
	free(x->tracks.arrived);
	free(x->tracks.arriving);
	x->tracks.arrived = x->tracks.arriving = NULL;
	if (status || !x->tracks.mixed)
		return status;
	free_steps(x);
	x->copies_first = true;
	return walk_steps(x, true);
}

static int open_scratch(struct exchange *x)
{
	uint64_t bytes = x->scratch_elements * x->element_bytes + 1;
	if (x->device)
		return device_vectors_stage(x->device, bytes);
	x->scratch = malloc(bytes);
	return x->scratch ? 0 : err_note(-ENOMEM, "what messages need beside vectors: out of memory");
}

static int open_steps(struct exchange *x)
{
	bool ready = (uint64_t)x->step_count * x->most <= READY_MESSAGES;
	bool reduces = x->kind != SCHEDULE_ALLGATHER;
	x->copies_first = reduces && !ready;
	return ready && reduces ? walk_tracked(x) : walk_steps(x, ready);
}

int exchange_open(const struct schedule *s, enum schedule_kind kind, uint32_t rank, uint64_t elements, enum data_type type,
                  enum data_op op, struct device_vectors *device, struct exchange **x_p)
{
	struct exchange *x = calloc(1, sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "schedule: out of memory");
	*x = (struct exchange){.schedule = s, .kind = kind, .rank = rank, .elements = elements, .element_bytes = data_bytes(type),
	                       .grain = exchange_grain(kind, type, device != NULL), .device = device,
	                       .type = data_mpi_type(type), .op = data_mpi_op(op), .step_count = schedule_steps(s)};
	int status = open_due(x);
	if (status == 0)
		status = open_steps(x);
	if (status == -ENOMEM)
		err_note(status, "schedule: out of memory");
	if (status == 0)
		status = open_scratch(x);
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
	free(x->due.parcels);
	free(x->due.spans);
	free(x->messages);
	free(x->ranges);
	free(x->requests);
	free(x->scratch);
	free(x);
}

/* ------------------------------------------------------------------ doing it */

/* The memory of one run, by enum place. Nothing is written to IN. */
struct memory {
	char *at[PLACES];
	bool dry;
};

static char *place_of(const struct parcel *p, const struct memory *m) { return m->at[p->place] + p->offset; }

static void pack(const struct exchange *x, const struct step *t, const struct parcel *p, const struct memory *m)
{
	char *to = place_of(p, m);
	for (uint32_t i = p->first_span; i < p->first_span + p->spans; i++) {
		uint64_t bytes = t->spans[i].count * x->element_bytes;
		memcpy(to, m->at[p->own ? IN : OUT] + t->spans[i].first * x->element_bytes, bytes);
		to += bytes;
	}
}

/* Put what came where it belongs, and add. */
static void take(const struct exchange *x, const struct step *t, const struct parcel *p, const struct memory *m)
{
	char *from = place_of(p, m);
	for (uint32_t i = p->first_span; i < p->first_span + p->spans; i++) {
		uint64_t offset = t->spans[i].first * x->element_bytes, bytes = t->spans[i].count * x->element_bytes;
		if (p->place == SCRATCH && (p->own || !p->reduce))
			memcpy(m->at[OUT] + offset, from, bytes);
		if (p->reduce)
			MPI_Reduce_local(p->own ? m->at[IN] + offset : from, m->at[OUT] + offset, (int)t->spans[i].count, x->type, x->op);
		from += bytes;
	}
}

/* One range out and one in: all there is in most steps of most algorithms. A single call costs fewer instructions than three. */
static void swap_parcels(const struct exchange *x, const struct step *t, const struct memory *m)
{
	const struct parcel *in = &t->parcels[0], *out = &t->parcels[1];
	char *arrived = place_of(in, m);
	crew_must(MPI_Sendrecv(place_of(out, m), out->count, x->type, out->peer, out->tag, arrived, in->count, x->type, in->peer,
	                       in->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Sendrecv");
	if (in->reduce && !m->dry)
		MPI_Reduce_local(in->own ? m->at[IN] + in->target : arrived, m->at[OUT] + in->target, in->count, x->type, x->op);
}

static void move_parcels(const struct exchange *x, const struct step *t, const struct memory *m)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct parcel *p = &t->parcels[i];
		char *at = place_of(p, m);
		if (p->send)
			crew_must(MPI_Isend(at, p->count, x->type, p->peer, p->tag, MPI_COMM_WORLD, &x->requests[i]), "MPI_Isend");
		else
			crew_must(MPI_Irecv(at, p->count, x->type, p->peer, p->tag, MPI_COMM_WORLD, &x->requests[i]), "MPI_Irecv");
	}
	crew_must(MPI_Waitall((int)t->count, x->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
}

/* A parcel's spans to the staging memory where it waits to be sent, or what came from there to its place. */
static void stage(const struct exchange *x, const struct step *t, const struct parcel *p, const struct memory *m)
{
	char *staging = place_of(p, m);
	for (uint32_t i = p->first_span; i < p->first_span + p->spans; i++) {
		uint64_t offset = t->spans[i].first * x->element_bytes, bytes = t->spans[i].count * x->element_bytes;
		char *in = m->at[IN] + offset, *out = m->at[OUT] + offset, *arrived = x->device->arrived + offset;
		if (p->send)
			device_vectors_copy(x->device, staging, p->own ? in : out, bytes);
		else
			device_vectors_copy(x->device, p->reduce && !p->own ? arrived : out, staging, bytes);
		if (!p->send && p->reduce)
			device_vectors_add(x->device, out, p->own ? in : arrived, bytes);
		staging += bytes;
	}
}

static void run_staged(struct exchange *x, const struct step *t, const struct memory *m)
{
	/* MPI sees staging memory, and adds nothing. */
	const struct memory moved = {.at = {[SCRATCH] = m->at[SCRATCH]}, .dry = true};
	for (uint32_t i = t->receptions; i < t->count; i++) {
		stage(x, t, &t->parcels[i], m);
		x->sent_messages++;
		x->sent_bytes += (uint64_t)t->parcels[i].count * x->element_bytes;
	}
	/* Also for copies of what came in the step before, from where this one receives. */
	device_vectors_wait(x->device);
	if (t->count == 2 && t->receptions == 1)
		swap_parcels(x, t, &moved);
	else
		move_parcels(x, t, &moved);
	for (uint32_t i = 0; i < t->receptions; i++)
		stage(x, t, &t->parcels[i], m);
}

static void run_step(struct exchange *x, const struct step *t, const struct memory *m)
{
	for (uint32_t i = t->receptions; i < t->count; i++) {
		if (t->parcels[i].spans > 1 && !m->dry)
			pack(x, t, &t->parcels[i], m);
		x->sent_messages++;
		x->sent_bytes += (uint64_t)t->parcels[i].count * x->element_bytes;
	}
	if (t->count == 2 && t->receptions == 1 && t->parcels[0].spans == 1) {
		swap_parcels(x, t, m);
		return;
	}
	move_parcels(x, t, m);
	for (uint32_t i = 0; i < t->receptions && !m->dry; i++)
		if (t->parcels[i].reduce || t->parcels[i].place == SCRATCH)
			take(x, t, &t->parcels[i], m);
}

static void copy(const struct exchange *x, char *to, const char *from, uint64_t bytes)
{
	if (x->device)
		device_vectors_copy(x->device, to, from, bytes);
	else
		memcpy(to, from, bytes);
}

/* What the schedule expects to be in the vector that it works on. */
static void begin(const struct exchange *x, const char *in, char *out)
{
	if (x->copies_first)
		copy(x, out, in, x->elements * x->element_bytes);
	for (unsigned part = 0; x->kind == SCHEDULE_ALLGATHER && part < schedule_parts(x->schedule); part++) {
		struct span s = exchange_block(x, part);
		copy(x, out + s.first * x->element_bytes, in + s.first * x->element_bytes, s.count * x->element_bytes);
	}
}

void exchange_run(struct exchange *x, const void *in, void *out, bool dry)
{
	char *scratch = x->device ? x->device->staging : x->scratch;
	struct memory m = {.at = {[IN] = (char *)(uintptr_t)in, [OUT] = out, [SCRATCH] = scratch}, .dry = dry};
	if (!dry)
		begin(x, in, out);
	for (uint32_t i = 0; i < x->step_count; i++) {
		if (!x->ready && load(x, i, &x->due) != 0)
			crew_give_up("step %u: %s", i, err_text());
		const struct step *t = x->ready ? &x->ready[i] : &x->due;
		if (x->device)
			run_staged(x, t, &m);
		else
			run_step(x, t, &m);
	}
	if (x->device)
		device_vectors_wait(x->device);
}

void exchange_planned(const struct exchange *x, uint64_t *messages_p, uint64_t *bytes_p)
{
	*messages_p = x->planned_messages;
	*bytes_p = x->planned_bytes;
}

void exchange_sent(const struct exchange *x, uint64_t *messages_p, uint64_t *bytes_p)
{
	*messages_p = x->sent_messages;
	*bytes_p = x->sent_bytes;
}
