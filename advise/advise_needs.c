/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inputs that were not measured but decide: the candidates are predicted once more with each such
 * input at both ends of its range. It decides if at one end the first candidate would lose more
 * than the error of the predictions.
 */
#include "advise/advise_model.h"

#include <math.h>

static bool copies_measured(const struct advise_view *v, enum advise_copy_method method)
{
	return v->machine->copy[method][v->link].points > 0;
}

static bool contention_missing(const struct advise_view *v, enum advise_copy_method method)
{
	const struct advise_contention *c =
		&v->machine->contention[method][v->link][v->question->type];
	return copies_measured(v, method) && (c->counts == 0 || c->assumed);
}

static bool both_ways_missing(const struct advise_view *v, enum advise_copy_method method)
{
	return v->link == ADVISE_PEER && copies_measured(v, method) &&
	       (v->machine->both_ways[method][v->link].points == 0 ||
		v->machine->one_device[method][v->link]) &&
	       v->machine->exchange_devices[method] != v->question->devices;
}

static bool is_missing(const struct advise_view *v, enum advise_input input)
{
	switch (input) {
	case ADVISE_CONTENTION_ENGINE:
		return contention_missing(v, ADVISE_ENGINE);
	case ADVISE_CONTENTION_KERNEL:
		return contention_missing(v, ADVISE_KERNEL);
	case ADVISE_BOTH_WAYS_ENGINE:
		return both_ways_missing(v, ADVISE_ENGINE);
	case ADVISE_BOTH_WAYS_KERNEL:
		return both_ways_missing(v, ADVISE_KERNEL);
	case ADVISE_INGRESS:
		return !(v->machine->ingress > 0) && v->question->devices > 2;
	case ADVISE_ADDITIONS:
		return !v->arriving && v->machine->reduce.points == 0;
	default:
		return v->link != ADVISE_PEER;
	}
}

static double seconds_if(struct advise_view v, struct advise_candidate c, struct hypothesis h)
{
	v.hypothesis = h;
	schedule_predict(&v, &c);
	return c.seconds;
}

/* Relative error from slowdown that was measured with another GEMM and transfer than the
 * schedule's: it may lose nothing, or everything if the blocks find no slot. */
static double contention_error(const struct advise_view *v, const struct advise_candidate *c)
{
	const enum advise_input input = ADVISE_CONTENTION_ENGINE + c->copy_method;
	double least = seconds_if(*v, *c, (struct hypothesis){.input = input, .free = true}),
	       most = seconds_if(*v, *c,
				 (struct hypothesis){.input = ADVISE_INPUTS, .crowded = true});
	return fmax(c->seconds, most) / least - 1;
}

static bool would_lose(const struct advise_view *v, const struct advise_advice *a,
		       struct hypothesis h)
{
	double fastest = INFINITY;
	for (unsigned i = 0; i < a->candidates; i++)
		fastest = fmin(fastest, seconds_if(*v, a->candidate[i], h));
	return seconds_if(*v, a->candidate[0], h) > fastest * (1 + a->expected_error);
}

/* True if it may be as fast as the first candidate, given the error of both predictions. */
static bool is_tie(const struct advise_advice *a, const struct advise_candidate *c)
{
	const struct advise_candidate *first = &a->candidate[0];
	double off = hypot(first->error, c->error);
	return c->seconds <= first->seconds * (1 + a->expected_error) * (1 + off);
}

/* Whatever a link between peers does differs from one to the host, so nothing bounds it. */
void advise_find_needs(const struct advise_view *v, struct advise_advice *a)
{
	for (unsigned i = 0; i < ADVISE_INPUTS; i++) {
		const enum advise_input input = (enum advise_input)i;
		const struct hypothesis lost = {.input = input},
					free = {.input = input, .free = true};
		if (is_missing(v, input) && (input == ADVISE_PEER_COPIES ||
					     would_lose(v, a, lost) || would_lose(v, a, free)))
			a->needs |= 1u << i;
	}
	for (unsigned i = 0; i < a->candidates; i++)
		a->candidate[i].error =
			hypot(a->candidate[i].error, contention_error(v, &a->candidate[i]));
	a->decided = a->needs == 0;
	for (unsigned i = 0; i < a->candidates; i++) {
		struct advise_candidate *c = &a->candidate[i];
		c->tie = is_tie(a, c);
		a->decided = a->decided && (!c->tie || c->schedule == a->candidate[0].schedule);
	}
}
