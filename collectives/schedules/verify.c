/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/verify.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All ranks of one part of a schedule. */
struct verifier {
	const struct schedule *s;
	unsigned part;
	uint32_t ranks, chunks;
	size_t words;                      /* of a set of contributors, a bit mask */
	uint64_t *sets;                    /* [rank][chunk][word] */
	uint64_t *in_flight;               /* the sets that are sent at this step */
	struct schedule_message *messages; /* [rank][max_messages] */
	struct schedule_range *ranges, *others;
	size_t *in_flight_start; /* of the first message of each rank */
	unsigned *counts, max_messages;
	uint64_t *sent;
};

static struct schedule_message *message_of(const struct verifier *v, uint32_t rank, unsigned i)
{
	return v->messages + (size_t)rank * v->max_messages + i;
}

static uint64_t *contributors_of(const struct verifier *v, uint32_t rank, uint32_t chunk)
{
	return v->sets + ((size_t)rank * v->chunks + chunk) * v->words;
}

static bool has_all_contributors(const struct verifier *v, const uint64_t *contributors)
{
	uint32_t found = 0;
	for (size_t i = 0; i < v->words; i++)
		found += (uint32_t)__builtin_popcountll(contributors[i]);
	return found == v->ranks;
}

static int note_no_memory(const struct verifier *v)
{
	return err_note(-ENOMEM, "checking a schedule of %u ranks: out of memory", v->ranks);
}

static int verifier_alloc(struct verifier *v)
{
	v->max_messages = schedule_max_messages(v->s);
	v->sets = calloc((size_t)v->ranks * v->chunks * v->words + 1, sizeof(*v->sets));
	v->messages = calloc((size_t)v->ranks * v->max_messages + 1, sizeof(*v->messages));
	v->ranges = calloc(2 * (size_t)v->chunks, sizeof(*v->ranges));
	v->others = v->ranges ? v->ranges + v->chunks : NULL;
	v->in_flight_start = calloc(v->ranks, sizeof(*v->in_flight_start));
	v->counts = calloc(v->ranks, sizeof(*v->counts));
	v->sent = calloc(v->ranks, sizeof(*v->sent));
	if (v->sets && v->messages && v->ranges && v->in_flight_start && v->counts && v->sent)
		return 0;
	return note_no_memory(v);
}

static void verifier_free(struct verifier *v)
{
	free(v->sets);
	free(v->in_flight);
	free(v->messages);
	free(v->ranges);
	free(v->in_flight_start);
	free(v->counts);
	free(v->sent);
}

static void set_initial_contributions(struct verifier *v, enum schedule_kind kind)
{
	for (uint32_t r = 0; r < v->ranks; r++)
		for (uint32_t b = 0; b < v->chunks; b++) {
			if (kind != SCHEDULE_ALLGATHER)
				contributors_of(v, r, b)[r / 64] |= 1ull << r % 64;
			else if (schedule_chunk(v->s, v->part, r) == b)
				for (uint32_t k = 0; k < v->ranks; k++)
					contributors_of(v, r, b)[k / 64] |= 1ull << k % 64;
		}
}

/* The messages of all ranks at a step. `total_p`: the chunks that they send. */
static int collect_messages(struct verifier *v, uint32_t step, struct verify_counts *counts,
			    size_t *total_p)
{
	size_t total = 0;
	for (uint32_t r = 0; r < v->ranks; r++) {
		struct schedule_message *m = message_of(v, r, 0);
		v->counts[r] = schedule_messages(v->s, v->part, r, step, m);
		v->in_flight_start[r] = total;
		unsigned sends = 0;
		for (unsigned i = 0; i < v->counts[r]; i++) {
			if (i > 0 && m[i].send && !m[i - 1].send)
				return err_note(-EBADMSG,
						"step %u: rank %u has a send after a receive", step,
						r);
			unsigned here = 0;
			for (unsigned k = 0; k <= i; k++)
				here += m[k].send == m[i].send && m[k].port == m[i].port;
			if (here > counts->max_on_port)
				counts->max_on_port = here;
			const uint32_t chunks = m[i].send ? m[i].chunks : 0;
			sends += m[i].send;
			total += chunks;
			v->sent[r] += chunks;
		}
		counts->messages += sends;
		counts->max_sends = sends > counts->max_sends ? sends : counts->max_sends;
	}
	*total_p = total;
	return 0;
}

/* Copies the sets that the messages of a rank carry, from the state before the step. */
static void copy_sent_sets(struct verifier *v, uint32_t rank, struct verify_counts *counts)
{
	uint64_t *to = v->in_flight + v->in_flight_start[rank] * v->words;
	for (unsigned i = 0; i < v->counts[rank]; i++) {
		const struct schedule_message *m = message_of(v, rank, i);
		uint32_t ranges = m->send ? schedule_ranges(v->s, v->part, m, v->ranges) : 0;
		counts->ranges += ranges;
		for (uint32_t k = 0; k < ranges; k++) {
			size_t words = v->ranges[k].count * v->words;
			memcpy(to, contributors_of(v, rank, v->ranges[k].first),
			       words * sizeof(*to));
			to += words;
		}
	}
}

static int post_messages(struct verifier *v, uint32_t step, struct verify_counts *counts)
{
	size_t total = 0;
	int status = collect_messages(v, step, counts, &total);
	if (status)
		return status;
	uint64_t *grown = realloc(v->in_flight, (total + 1) * v->words * sizeof(*grown));
	if (!grown)
		return note_no_memory(v);
	v->in_flight = grown;
	for (uint32_t r = 0; r < v->ranks; r++)
		copy_sent_sets(v, r, counts);
	return 0;
}

#define NO_MATCH SIZE_MAX

/* The offset in `in_flight` of the send that matches a receive: same pair of ranks, same chunks. */
static size_t find_matching_send(struct verifier *v, uint32_t rank,
				 const struct schedule_message *wanted, uint32_t count)
{
	size_t at = v->in_flight_start[wanted->peer] * v->words;
	for (unsigned i = 0; i < v->counts[wanted->peer]; i++) {
		struct schedule_message *m = message_of(v, wanted->peer, i);
		if (!m->send)
			continue;
		if (m->peer == rank && m->chunks == wanted->chunks && m->reduce == wanted->reduce &&
		    schedule_ranges(v->s, v->part, m, v->others) == count &&
		    memcmp(v->others, v->ranges, count * sizeof(*v->ranges)) == 0) {
			m->peer = UINT32_MAX;
			return at;
		}
		at += m->chunks * v->words;
	}
	return NO_MATCH;
}

static int apply_receive(struct verifier *v, uint32_t rank, const struct schedule_message *m,
			 size_t at, uint32_t count, uint32_t step)
{
	for (uint32_t k = 0; k < count; k++)
		for (uint32_t b = v->ranges[k].first; b < v->ranges[k].first + v->ranges[k].count;
		     b++, at += v->words) {
			uint64_t *to = contributors_of(v, rank, b), *from = v->in_flight + at;
			for (size_t i = 0; i < v->words; i++) {
				if (m->reduce && to[i] & from[i])
					return err_note(-EBADMSG,
							"step %u: rank %u gets a contribution to "
							"chunk %u twice, from rank %u",
							step, rank, b, m->peer);
				to[i] = m->reduce ? to[i] | from[i] : from[i];
			}
		}
	return 0;
}

static int deliver_messages(struct verifier *v, uint32_t step)
{
	for (uint32_t r = 0; r < v->ranks; r++)
		for (unsigned i = 0; i < v->counts[r]; i++) {
			const struct schedule_message *m = message_of(v, r, i);
			if (m->send)
				continue;
			uint32_t count = schedule_ranges(v->s, v->part, m, v->ranges);
			size_t at = find_matching_send(v, r, m, count);
			if (at == NO_MATCH)
				return err_note(-EBADMSG,
						"step %u: rank %u receives a message that rank %u "
						"does not send",
						step, r, m->peer);
			const int status = apply_receive(v, r, m, at, count, step);
			if (status)
				return status;
		}
	for (uint32_t r = 0; r < v->ranks; r++)
		for (unsigned i = 0; i < v->counts[r]; i++) {
			const struct schedule_message *m = message_of(v, r, i);
			if (m->send && m->peer != UINT32_MAX)
				return err_note(-EBADMSG,
						"step %u: rank %u sends a message that rank %u "
						"does not receive",
						step, r, m->peer);
		}
	return 0;
}

static int check_final_sets(const struct verifier *v, enum schedule_kind kind)
{
	for (uint32_t r = 0; r < v->ranks; r++)
		for (uint32_t b = 0; b < v->chunks; b++)
			if ((kind != SCHEDULE_REDUCE_SCATTER ||
			     schedule_chunk(v->s, v->part, r) == b) &&
			    !has_all_contributors(v, contributors_of(v, r, b)))
				return err_note(
					-EBADMSG,
					"rank %u ends without all contributions to chunk %u", r, b);
	return 0;
}

static int verify_part(struct verifier *v, enum schedule_kind kind, struct verify_counts *counts)
{
	int status = verifier_alloc(v);
	if (status == 0)
		set_initial_contributions(v, kind);
	for (uint32_t step = 0; step < schedule_steps(v->s); step++) {
		TRY(status, post_messages(v, step, counts));
		TRY(status, deliver_messages(v, step));
	}
	TRY(status, check_final_sets(v, kind));
	for (uint32_t r = 0; status == 0 && r < v->ranks; r++) {
		counts->min_sent = v->sent[r] < counts->min_sent ? v->sent[r] : counts->min_sent;
		counts->max_sent = v->sent[r] > counts->max_sent ? v->sent[r] : counts->max_sent;
	}
	verifier_free(v);
	return status;
}

int verify_schedule(const struct schedule *s, enum schedule_kind kind,
		    struct verify_counts *counts_p)
{
	const uint32_t ranks = schedule_grid(s)->nodes;
	struct verify_counts counts = {.min_sent = UINT64_MAX};
	int status = 0;
	for (unsigned part = 0; part < schedule_parts(s); part++) {
		struct verifier v = {s, part, ranks, schedule_chunks(s),
				     .words = (ranks + 63) / 64};
		TRY(status, verify_part(&v, kind, &counts));
	}
	if (status == 0)
		*counts_p = counts;
	return status;
}
