/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_model.h"

#include <assert.h>
#include <math.h>

void pipeline_add(struct pipeline_queue *q, double seconds, int after)
{
	assert(q->items < PIPELINE_ITEMS && seconds >= 0);
	q->seconds[q->items] = seconds;
	q->after[q->items++] = after;
}

struct queue_state {
	const struct pipeline_queue *queue;
	double end[PIPELINE_ITEMS];
	unsigned at;
	double left; /* seconds that the item at `at` still needs when alone; below 0: not started
		      */
};

/* When the next item may start; INFINITY while it waits for one that has not ended. */
static double next_start(const struct queue_state *r, const struct queue_state *other, double hop_s)
{
	if (r->at == r->queue->items)
		return INFINITY;
	int after = r->queue->after[r->at];
	if (after < 0)
		return 0;
	return (unsigned)after < other->at ? other->end[after] + hop_s : INFINITY;
}

/* Advance the running item from `now` to `next`; `end` is when it would end at this pace. */
static void advance_queue(struct queue_state *r, double now, double next, double end, double pace)
{
	if (r->left < 0)
		return;
	r->left -= (next - now) / pace;
	if (end > next && r->left > 0)
		return;
	r->end[r->at++] = next;
	r->left = -1;
}

/* A transfer that starts now finds slots when the last wave of the running GEMM begins; until then
 * the GEMM is alone. With `gemm_first` that holds for a GEMM, too, that begins within a hop. Gives
 * the time at which the transfer begins. */
static double time_of_slots(const struct pipeline *p, struct queue_state *gemm, double gemm_next,
			    double now)
{
	if (gemm->at == p->gemm.items || !(p->until_slots_s[gemm->at] > 0))
		return now;
	if (gemm->left < 0 && p->gemm_first && gemm_next <= now + p->hop_s) {
		now = gemm_next;
		gemm->left = p->gemm.seconds[gemm->at];
	}
	double wait = gemm->left - (p->gemm.seconds[gemm->at] - p->until_slots_s[gemm->at]);
	if (gemm->left < 0 || wait <= 0)
		return now;
	gemm->left -= wait;
	return now + wait;
}

double pipeline_run(const struct pipeline *p)
{
	struct queue_state gemm = {.queue = &p->gemm, .left = -1},
			   comm = {.queue = &p->comm, .left = -1};
	double now = 0;
	while (gemm.at < p->gemm.items || comm.at < p->comm.items) {
		double gemm_next = next_start(&gemm, &comm, p->hop_s),
		       comm_next = next_start(&comm, &gemm, p->hop_s);
		if (gemm.left < 0 && gemm_next <= now)
			gemm.left = p->gemm.seconds[gemm.at];
		if (comm.left < 0 && comm_next <= now) {
			comm.left = p->comm.seconds[comm.at];
			now = time_of_slots(p, &gemm, gemm_next, now);
		}
		bool both = gemm.left >= 0 && comm.left >= 0;
		double gemm_pace = both ? p->loss[gemm.at].gemm : 1,
		       comm_pace = both ? p->loss[gemm.at].copy : 1;
		if (gemm.left >= 0)
			gemm_next = now + gemm.left * gemm_pace;
		if (comm.left >= 0)
			comm_next = now + comm.left * comm_pace;
		double next = gemm_next < comm_next ? gemm_next : comm_next;
		advance_queue(&gemm, now, next, gemm_next, gemm_pace);
		advance_queue(&comm, now, next, comm_next, comm_pace);
		now = next;
	}
	return now + p->tail_s;
}
