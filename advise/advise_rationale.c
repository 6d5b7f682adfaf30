/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings of the fastest schedule: shared memory, priority, the allreduce, and the sentence that
 * gives the reason.
 */
#include "advise/advise_model.h"

#include <math.h>
#include <stdarg.h>
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

/* Appends to the text; what does not fit is left out. */
__attribute__((format(printf, 2, 3))) static void add_text(struct advise_advice *a,
							   const char *format, ...)
{
	size_t used = strlen(a->why);
	va_list list;
	va_start(list, format);
	vsnprintf(a->why + used, sizeof(a->why) - used, format, list);
	va_end(list);
}

/* Time of the pieces of a schedule alone, compared with the whole GEMM and transfer. */
static void explain_pieces(struct advise_advice *a, const struct advise_candidate *c)
{
	add_text(a, "splitting costs %+.0f %% for its %u GEMMs and %+.0f %% for its %u copies",
		 100 * (c->gemm_s / a->gemm_s - 1), c->gemms,
		 100 * (c->comm_s / serial_of(a)->comm_s - 1), c->copies);
}

/* Compare with the best schedule that overlaps. */
static void explain_serial(struct advise_advice *a, struct scale s)
{
	const struct advise_candidate *next = a->candidate, *end = next + a->candidates;
	add_text(a, "The GEMM takes %.3g %s, and the transfers then take %.3g %s.",
		 a->gemm_s * s.factor, s.unit, a->comm_s * s.factor, s.unit);
	while (next < end && next->schedule == ADVISE_SERIAL)
		next++;
	if (next == end)
		return;
	add_text(a, " The best schedule that overlaps, %s, is predicted to take %.3g %s",
		 advise_schedules[next->schedule], next->seconds * s.factor, s.unit);
	if (next->seconds < serial_of(a)->seconds) {
		add_text(a, ", but that gain is within the error of GEMM predictions, %.1f %%.",
			 100 * a->error);
		return;
	}
	add_text(a, ": ");
	explain_pieces(a, next);
	add_text(a, ".");
}

/* Bound of overlap: the longer side of the same schedule. */
static void explain_overlap(struct advise_advice *a, struct scale s)
{
	const struct advise_candidate *pick = &a->candidate[0], *serial = serial_of(a);
	double bound = fmax(pick->gemm_s, pick->comm_s);
	add_text(a, "The GEMM takes %.3g %s and the transfers %.3g %s, together %.3g %s. ",
		 a->gemm_s * s.factor, s.unit, a->comm_s * s.factor, s.unit,
		 serial->seconds * s.factor, s.unit);
	add_text(a, "%s hides %.3g %s of at most %.3g %s: ", advise_schedules[pick->schedule],
		 (serial->seconds - pick->seconds) * s.factor, s.unit,
		 (serial->seconds - bound) * s.factor, s.unit);
	explain_pieces(a, pick);
	add_text(a, ". While both run, they take up to %.2f and %.2f times as long as alone.",
		 pick->gemm_cil, pick->copy_cil);
}

void advise_explain(struct advise_advice *a)
{
	struct scale s = scale_of(a->candidate[0].seconds);
	a->why[0] = 0;
	if (a->candidate[0].schedule == ADVISE_SERIAL)
		explain_serial(a, s);
	else
		explain_overlap(a, s);
}
