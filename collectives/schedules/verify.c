/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedules/verify.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One part of a schedule, all ranks of it. */
struct world {
	const struct schedule *s;
	unsigned part;
	uint32_t ranks, blocks;
	size_t words;                      /* of a set of contributors */
	uint64_t *sets;                    /* [rank][block][word] */
	uint64_t *mail;                    /* what travels at this step */
	struct schedule_message *messages; /* [rank][most] */
	struct schedule_range *ranges, *others;
	size_t *mail_at;                   /* of the first message of each rank */
	unsigned *counts, most;
	uint64_t *sent;
};

static uint64_t *set(const struct world *w, uint32_t rank, uint32_t block)
{
	return w->sets + ((size_t)rank * w->blocks + block) * w->words;
}

static bool full(const struct world *w, const uint64_t *contributors)
{
	uint32_t found = 0;
	for (size_t i = 0; i < w->words; i++)
		found += (uint32_t)__builtin_popcountll(contributors[i]);
	return found == w->ranks;
}

static int allocate(struct world *w)
{
	size_t cells = (size_t)w->ranks * w->blocks * w->words;
	w->most = schedule_most_messages(w->s);
	w->sets = calloc(cells, sizeof(*w->sets));
	w->mail = NULL;
	w->messages = calloc((size_t)w->ranks * w->most, sizeof(*w->messages));
	w->ranges = calloc(2 * (size_t)w->blocks, sizeof(*w->ranges));
	w->others = w->ranges ? w->ranges + w->blocks : NULL;
	w->mail_at = calloc(w->ranks, sizeof(*w->mail_at));
	w->counts = calloc(w->ranks, sizeof(*w->counts));
	w->sent = calloc(w->ranks, sizeof(*w->sent));
	bool enough = w->sets && w->messages && w->ranges && w->mail_at && w->counts && w->sent;
	return enough ? 0 : err_note(-ENOMEM, "checking a schedule of %u ranks: out of memory", w->ranks);
}

static void release(struct world *w)
{
	free(w->sets);
	free(w->mail);
	free(w->messages);
	free(w->ranges);
	free(w->mail_at);
	free(w->counts);
	free(w->sent);
}

static void begin(struct world *w, enum schedule_kind kind)
{
	for (uint32_t r = 0; r < w->ranks; r++)
		for (uint32_t b = 0; b < w->blocks; b++) {
			if (kind != SCHEDULE_ALLGATHER)
				set(w, r, b)[r / 64] |= 1ull << r % 64;
			else if (schedule_block(w->s, w->part, r) == b)
				for (uint32_t k = 0; k < w->ranks; k++)
					set(w, r, b)[k / 64] |= 1ull << k % 64;
		}
}

/* Everyone's messages of a step, and copies of what they carry. */
static int post(struct world *w, uint32_t step, struct verify_counts *counts)
{
	size_t total = 0;
	for (uint32_t r = 0; r < w->ranks; r++) {
		struct schedule_message *m = w->messages + (size_t)r * w->most;
		w->counts[r] = schedule_messages(w->s, w->part, r, step, m);
		w->mail_at[r] = total;
		unsigned sends = 0, on_port[2][2] = {{0}};
		for (unsigned i = 0; i < w->counts[r]; i++) {
			if (i > 0 && m[i].send && !m[i - 1].send)
				return err_note(-EBADMSG, "step %u: rank %u has a send after a receive", step, r);
			unsigned here = ++on_port[m[i].send][m[i].port % 2];
			counts->most_on_port = here > counts->most_on_port ? here : counts->most_on_port;
			sends += m[i].send;
			total += m[i].send ? m[i].blocks : 0;
			w->sent[r] += m[i].send ? m[i].blocks : 0;
		}
		counts->messages += sends;
		counts->most_sends = sends > counts->most_sends ? sends : counts->most_sends;
	}
	uint64_t *grown = realloc(w->mail, (total + 1) * w->words * sizeof(*grown));
	if (!grown)
		return err_note(-ENOMEM, "checking a schedule of %u ranks: out of memory", w->ranks);
	w->mail = grown;
	for (uint32_t r = 0; r < w->ranks; r++) {
		uint64_t *to = w->mail + w->mail_at[r] * w->words;
		for (unsigned i = 0; i < w->counts[r]; i++) {
			const struct schedule_message *m = &w->messages[(size_t)r * w->most + i];
			uint32_t ranges = m->send ? schedule_ranges(w->s, w->part, m, w->ranges) : 0;
			counts->ranges += ranges;
			for (uint32_t k = 0; k < ranges; k++) {
				size_t words = w->ranges[k].count * w->words;
				memcpy(to, set(w, r, w->ranges[k].first), words * sizeof(*to));
				to += words;
			}
		}
	}
	return 0;
}

#define NO_LETTER SIZE_MAX

/* Where in the mail is what belongs to a receive: same pair, same blocks. */
static size_t letter(struct world *w, uint32_t rank, const struct schedule_message *wanted, uint32_t count)
{
	size_t at = w->mail_at[wanted->peer] * w->words;
	for (unsigned i = 0; i < w->counts[wanted->peer]; i++) {
		struct schedule_message *m = &w->messages[(size_t)wanted->peer * w->most + i];
		if (!m->send)
			continue;
		if (m->peer == rank && m->blocks == wanted->blocks && m->reduce == wanted->reduce &&
		    schedule_ranges(w->s, w->part, m, w->others) == count &&
		    memcmp(w->others, w->ranges, count * sizeof(*w->ranges)) == 0) {
			m->peer = UINT32_MAX;
			return at;
		}
		at += m->blocks * w->words;
	}
	return NO_LETTER;
}

static int take(struct world *w, uint32_t rank, const struct schedule_message *m, size_t at, uint32_t count, uint32_t step)
{
	for (uint32_t k = 0; k < count; k++)
		for (uint32_t b = w->ranges[k].first; b < w->ranges[k].first + w->ranges[k].count; b++, at += w->words) {
			uint64_t *to = set(w, rank, b), *from = w->mail + at;
			for (size_t i = 0; i < w->words; i++) {
				if (m->reduce && to[i] & from[i])
					return err_note(-EBADMSG, "step %u: rank %u gets a contribution to block %u twice, from rank %u", step,
					                rank, b, m->peer);
				to[i] = m->reduce ? to[i] | from[i] : from[i];
			}
		}
	return 0;
}

static int deliver(struct world *w, uint32_t step)
{
	for (uint32_t r = 0; r < w->ranks; r++)
		for (unsigned i = 0; i < w->counts[r]; i++) {
			const struct schedule_message *m = &w->messages[(size_t)r * w->most + i];
			if (m->send)
				continue;
			uint32_t count = schedule_ranges(w->s, w->part, m, w->ranges);
			size_t at = letter(w, r, m, count);
			if (at == NO_LETTER)
				return err_note(-EBADMSG, "step %u: rank %u waits for what rank %u does not send", step, r, m->peer);
			int status = take(w, r, m, at, count, step);
			if (status)
				return status;
		}
	for (uint32_t r = 0; r < w->ranks; r++)
		for (unsigned i = 0; i < w->counts[r]; i++) {
			const struct schedule_message *m = &w->messages[(size_t)r * w->most + i];
			if (m->send && m->peer != UINT32_MAX)
				return err_note(-EBADMSG, "step %u: rank %u sends what rank %u does not take", step, r, m->peer);
		}
	return 0;
}

static int judge(const struct world *w, enum schedule_kind kind)
{
	for (uint32_t r = 0; r < w->ranks; r++)
		for (uint32_t b = 0; b < w->blocks; b++)
			if ((kind != SCHEDULE_REDUCE_SCATTER || schedule_block(w->s, w->part, r) == b) && !full(w, set(w, r, b)))
				return err_note(-EBADMSG, "in the end rank %u lacks contributions to block %u", r, b);
	return 0;
}

static int verify_part(struct world *w, enum schedule_kind kind, struct verify_counts *counts)
{
	int status = allocate(w);
	if (status == 0)
		begin(w, kind);
	for (uint32_t step = 0; status == 0 && step < schedule_steps(w->s); step++) {
		status = post(w, step, counts);
		if (status == 0)
			status = deliver(w, step);
	}
	if (status == 0)
		status = judge(w, kind);
	for (uint32_t r = 0; status == 0 && r < w->ranks; r++) {
		counts->least_sent = w->sent[r] < counts->least_sent ? w->sent[r] : counts->least_sent;
		counts->most_sent = w->sent[r] > counts->most_sent ? w->sent[r] : counts->most_sent;
	}
	release(w);
	return status;
}

int verify_schedule(const struct schedule *s, enum schedule_kind kind, struct verify_counts *counts_p)
{
	struct verify_counts counts = {.least_sent = UINT64_MAX};
	for (unsigned part = 0; part < schedule_parts(s); part++) {
		struct world w = {.s = s, .part = part, .ranks = schedule_grid(s)->nodes, .blocks = schedule_blocks(s)};
		w.words = (w.ranks + 63) / 64;
		int status = verify_part(&w, kind, &counts);
		if (status)
			return status;
	}
	*counts_p = counts;
	return 0;
}
