/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/exchange.h"
#include "collectives/ranks/crew.h"
#include "lib/err.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Steps are kept ready up to this many messages; beyond, each is worked out when it is due. A million simulated ranks'
 * worth of ready steps would not fit. */
#define READY_MESSAGES 512u

/* A message with its place in memory. */
struct parcel {
	int peer, tag;
	int count;                 /* elements */
	bool send, reduce;
	uint32_t spans, first_span; /* in the step's spans */
	uint64_t scratch;          /* offset of its elements there, when they need it */
};

struct step {
	struct parcel *parcels; /* receptions first */
	struct span *spans;
	uint32_t count, receptions;
};

struct exchange {
	const struct schedule *schedule;
	enum schedule_kind kind;
	uint32_t rank;
	uint64_t elements, element_bytes;
	MPI_Datatype type;
	MPI_Op op;
	uint32_t step_count;
	struct step *ready; /* NULL: worked out when due, in `due` */
	struct step due;
	unsigned most;      /* parcels of a step */
	struct schedule_message *messages;
	struct schedule_range *ranges;
	MPI_Request *requests;
	char *scratch;
	uint64_t scratch_elements;
	uint64_t planned_messages, planned_bytes, sent_messages, sent_bytes;
};

/* ------------------------------------------------------------------ where blocks are */

/* No overflow: under 2^31 elements, and GRID_MOST_NODES blocks. */
static uint64_t cut(uint64_t total, uint64_t parts, uint64_t index)
{
	return total * index / parts;
}

static struct span span_of(const struct exchange *x, unsigned part, uint32_t first, uint32_t count)
{
	uint64_t parts = schedule_parts(x->schedule), blocks = schedule_blocks(x->schedule);
	uint64_t start = cut(x->elements, parts, part), length = cut(x->elements, parts, part + 1) - start;
	uint64_t from = cut(length, blocks, first), to = cut(length, blocks, (uint64_t)first + count);
	return (struct span){.first = start + from, .count = to - from};
}

struct span exchange_block(const struct exchange *x, unsigned part)
{
	uint32_t block = schedule_block(x->schedule, part, x->rank);
	return block == UINT32_MAX ? (struct span){0} : span_of(x, part, block, 1);
}

/* ------------------------------------------------------------------ from messages to parcels */

/* Fill a parcel and its spans; false when it would carry nothing. */
static bool fill_parcel(struct exchange *x, struct step *t, unsigned part, const struct schedule_message *m, uint32_t *spans_p,
                        uint64_t *elements_p)
{
	struct parcel *p = &t->parcels[t->count];
	uint32_t ranges = schedule_ranges(x->schedule, part, m, x->ranges);
	uint64_t elements = 0;
	*p = (struct parcel){.peer = (int)m->peer, .tag = (int)part, .send = m->send, .reduce = m->reduce, .first_span = *spans_p};
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

static bool needs_scratch(const struct parcel *p) { return p->spans > 1 || (!p->send && p->reduce); }

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
				if (needs_scratch(&t->parcels[t->count])) {
					t->parcels[t->count].scratch = scratch;
					scratch += elements;
				}
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

static int open_steps(struct exchange *x)
{
	bool ready = (uint64_t)x->step_count * x->most <= READY_MESSAGES;
	x->ready = ready ? calloc(x->step_count + 1u, sizeof(*x->ready)) : NULL;
	if (ready && !x->ready)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->step_count; i++) {
		int status = load(x, i, &x->due);
		for (uint32_t j = x->due.receptions; status == 0 && j < x->due.count; j++) {
			x->planned_messages++;
			x->planned_bytes += (uint64_t)x->due.parcels[j].count * x->element_bytes;
		}
		if (status == 0 && ready)
			status = keep(&x->ready[i], &x->due);
		if (status)
			return status;
	}
	x->scratch = malloc(x->scratch_elements * x->element_bytes + 1);
	return x->scratch ? 0 : -ENOMEM;
}

int exchange_open(const struct schedule *s, enum schedule_kind kind, uint32_t rank, uint64_t elements, enum data_type type,
                  enum data_op op, struct exchange **x_p)
{
	struct exchange *x = calloc(1, sizeof(*x));
	if (!x)
		return err_note(-ENOMEM, "schedule: out of memory");
	*x = (struct exchange){.schedule = s, .kind = kind, .rank = rank, .elements = elements, .element_bytes = data_bytes(type),
	                       .type = data_mpi_type(type), .op = data_mpi_op(op), .step_count = schedule_steps(s)};
	int status = open_due(x);
	if (status == 0)
		status = open_steps(x);
	if (status) {
		exchange_close(x);
		return status == -ENOMEM ? err_note(status, "schedule: out of memory") : status;
	}
	*x_p = x;
	return 0;
}

void exchange_close(struct exchange *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; x->ready && i < x->step_count; i++) {
		free(x->ready[i].parcels);
		free(x->ready[i].spans);
	}
	free(x->ready);
	free(x->due.parcels);
	free(x->due.spans);
	free(x->messages);
	free(x->ranges);
	free(x->requests);
	free(x->scratch);
	free(x);
}

/* ------------------------------------------------------------------ doing it */

static char *place_of(const struct exchange *x, const struct step *t, const struct parcel *p, char *out)
{
	return needs_scratch(p) ? x->scratch + p->scratch * x->element_bytes
	                        : out + t->spans[p->first_span].first * x->element_bytes;
}

static void pack(const struct exchange *x, const struct step *t, const struct parcel *p, const char *out)
{
	char *at = x->scratch + p->scratch * x->element_bytes;
	for (uint32_t i = 0; i < p->spans; i++) {
		const struct span *s = &t->spans[p->first_span + i];
		memcpy(at, out + s->first * x->element_bytes, s->count * x->element_bytes);
		at += s->count * x->element_bytes;
	}
}

/* What came is in scratch memory: add it, or put it where it belongs. */
static void unpack(const struct exchange *x, const struct step *t, const struct parcel *p, char *out)
{
	char *at = x->scratch + p->scratch * x->element_bytes;
	for (uint32_t i = 0; i < p->spans; i++) {
		const struct span *s = &t->spans[p->first_span + i];
		char *to = out + s->first * x->element_bytes;
		if (p->reduce)
			MPI_Reduce_local(at, to, (int)s->count, x->type, x->op);
		else
			memcpy(to, at, s->count * x->element_bytes);
		at += s->count * x->element_bytes;
	}
}

static void count_sent(struct exchange *x, const struct parcel *p)
{
	x->sent_messages++;
	x->sent_bytes += (uint64_t)p->count * x->element_bytes;
}

static void run_step(struct exchange *x, const struct step *t, char *out, bool dry)
{
	for (uint32_t i = 0; i < t->receptions; i++) {
		const struct parcel *p = &t->parcels[i];
		crew_must(MPI_Irecv(place_of(x, t, p, out), p->count, x->type, p->peer, p->tag, MPI_COMM_WORLD, &x->requests[i]),
		          "MPI_Irecv");
	}
	for (uint32_t i = t->receptions; i < t->count; i++) {
		const struct parcel *p = &t->parcels[i];
		char *from = place_of(x, t, p, out);
		if (p->spans > 1 && !dry)
			pack(x, t, p, out);
		/* One message a direction: the receptions are posted, so a send that waits can't wait for ever. */
		if (t->count == t->receptions + 1)
			crew_must(MPI_Send(from, p->count, x->type, p->peer, p->tag, MPI_COMM_WORLD), "MPI_Send");
		else
			crew_must(MPI_Isend(from, p->count, x->type, p->peer, p->tag, MPI_COMM_WORLD, &x->requests[i]), "MPI_Isend");
		count_sent(x, p);
	}
	uint32_t open = t->count == t->receptions + 1 ? t->receptions : t->count;
	crew_must(MPI_Waitall((int)open, x->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
	for (uint32_t i = 0; i < t->receptions && !dry; i++)
		if (needs_scratch(&t->parcels[i]))
			unpack(x, t, &t->parcels[i], out);
}

/* What the schedule expects to be in the vector that it works on. */
static void begin(const struct exchange *x, const char *in, char *out)
{
	if (x->kind != SCHEDULE_ALLGATHER) {
		memcpy(out, in, x->elements * x->element_bytes);
		return;
	}
	for (unsigned part = 0; part < schedule_parts(x->schedule); part++) {
		struct span s = exchange_block(x, part);
		memcpy(out + s.first * x->element_bytes, in + s.first * x->element_bytes, s.count * x->element_bytes);
	}
}

void exchange_run(struct exchange *x, const void *in, void *out, bool dry)
{
	if (!dry)
		begin(x, in, out);
	for (uint32_t i = 0; i < x->step_count; i++) {
		if (!x->ready && load(x, i, &x->due) != 0)
			crew_give_up("step %u: %s", i, err_text());
		run_step(x, x->ready ? &x->ready[i] : &x->due, out, dry);
	}
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
