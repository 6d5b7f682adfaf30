/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What belongs to the fastest schedule: shared memory, priority, the allreduce, and the sentence
 * that gives the reason.
 */
#include "advise/advise_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A copy engine needs no slots. A copy kernel waits for slots, once per transfer, as long as
 * blocks leave none free; shared memory claimed per block of the GEMM frees slots and costs
 * throughput. The best claim has the least sum of both costs. */
static int64_t best_occupancy(const struct advise_view *v, const struct advise_candidate *pick)
{
	const struct advise_curve *rate = &v->machine->occupancy_rate,
				  *wait = &v->machine->occupancy_wait;
	double fastest = 0, min_cost = INFINITY;
	int64_t shared = -1;
	for (unsigned i = 0; i < rate->points; i++)
		fastest = fmax(fastest, rate->y[i]);
	for (unsigned i = 0; i < rate->points && i < wait->points; i++) {
		double cost = pick->gemm_s * (fastest / rate->y[i] - 1) + pick->copies * wait->y[i];
		if (cost >= min_cost)
			continue;
		min_cost = cost;
		shared = (int64_t)rate->x[i] - 1;
	}
	return shared;
}

/* A priority that saves less than 5 % is not recommended. */
#define PRIORITY_HELPS 0.95

void advise_pick_settings(const struct advise_view *v, struct advise_advice *a)
{
	const struct advise_machine *m = v->machine;
	const struct advise_candidate *pick = &a->candidate[0];
	double seconds = NAN;
	bool outside = false;
	a->allreduce_bytes = v->c_bytes;
	const struct advise_allreduce *sum = allreduce_best(v, v->c_bytes, &seconds, &outside);
	a->allreduce_s = seconds;
	snprintf(a->allreduce, sizeof(a->allreduce), "%s", sum ? sum->name : "");
	if (pick->schedule == ADVISE_SERIAL || pick->copy_method == ADVISE_ENGINE) {
		a->shared_bytes = 0;
		a->priority = 0;
	} else if (m->shaped_gain > 0) {
		a->shared_bytes = m->shaped_gain < 1 ? (int64_t)m->shaped_shared : 0;
		a->priority = m->shaped_gain < 1 && m->shaped_priority;
	} else {
		a->shared_bytes = best_occupancy(v, pick);
		a->priority = m->priority_wait > 0 ? m->priority_wait < PRIORITY_HELPS : -1;
	}
}

static const struct advise_candidate *serial_of(const struct advise_advice *a)
{
	const struct advise_candidate *c = a->candidate;
	while (c->schedule != ADVISE_SERIAL)
		c++;
	return c;
}

/* A unit that suits the predicted time. */
struct scale {
	double factor;
	const char *unit;
};

static struct scale scale_of(double seconds)
{
	if (seconds < 1e-3)
		return (struct scale){1e6, "us"};
	return seconds < 1 ? (struct scale){1e3, "ms"} : (struct scale){1, "s"};
}

/* Compare with the best schedule that overlaps, and what its pieces cost. */
static void explain_serial(struct advise_advice *a, struct scale s, const char *more)
{
	const struct advise_candidate *serial = serial_of(a), *next = a->candidate,
				      *end = next + a->candidates;
	int used = snprintf(a->why, sizeof(a->why),
			    "GEMM %.3g and transfers %.3g %s, one after the other",
			    a->gemm_s * s.factor, a->comm_s * s.factor, s.unit);
	while (next < end && next->schedule == ADVISE_SERIAL)
		next++;
	if (next == end)
		return;
	if (next->seconds < serial->seconds) {
		snprintf(a->why + used, sizeof(a->why) - (size_t)used,
			 "; %s is predicted to take %.3g, which is within the prediction error "
			 "of %.1f %%%s",
			 advise_schedules[next->schedule], next->seconds * s.factor, 100 * a->error,
			 more);
		return;
	}
	double longer = 100 * (next->gemm_s / a->gemm_s - 1),
	       moved = 100 * (next->comm_s / serial->comm_s - 1);
	snprintf(a->why + used, sizeof(a->why) - (size_t)used,
		 "; the best overlapping schedule, %s, would take %.3g: its %u GEMMs take "
		 "%+.0f %%, its %u copies %+.0f %%%s",
		 advise_schedules[next->schedule], next->seconds * s.factor, next->gemms, longer,
		 next->copies, moved, more);
}

void advise_explain(const struct advise_view *v, struct advise_advice *a)
{
	const struct advise_candidate *pick = &a->candidate[0], *serial = serial_of(a);
	struct scale s = scale_of(pick->seconds);
	double whole = a->gemm_s * s.factor, comm = a->comm_s * s.factor, bound = fmax(whole, comm);
	double in_pieces = 100 * (pick->gemm_s / a->gemm_s - 1),
	       moved_in_pieces = 100 * (pick->comm_s / serial->comm_s - 1);
	const char *more = pick->extrapolated ? "; extrapolated beyond the measurements" : "";
	if (pick->schedule == ADVISE_SERIAL) {
		explain_serial(a, s, more);
		return;
	}
	snprintf(a->why, sizeof(a->why),
		 "GEMM %.3g and transfers %.3g %s, serial %.3g: %s hides %.3g of at most %.3g; "
		 "in %u pieces the GEMM takes %+.0f %%, in %u copies the transfers %+.0f %%; "
		 "concurrently they take %.2f and %.2f times as long%s",
		 whole, comm, s.unit, serial->seconds * s.factor, advise_schedules[pick->schedule],
		 (serial->seconds - pick->seconds) * s.factor, serial->seconds * s.factor - bound,
		 pick->gemms, in_pieces, pick->copies, moved_in_pieces,
		 fmax(1, v->machine->gemm_cil[pick->copy_method]),
		 fmax(1, v->machine->copy_cil[pick->copy_method]), more);
}
