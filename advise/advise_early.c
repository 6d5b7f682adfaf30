/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gain of sending C before its GEMM ends. It grows with the time of the send relative to the GEMM;
 * costs of a way, such as tiles that are slower than the library's, are part of its measured gain.
 */
#include "advise/advise_model.h"

#include <math.h>

static double predict_from_others(const struct advise_curve *c, unsigned left_out)
{
	struct advise_curve others = {.points = 0};
	bool outside;
	for (unsigned i = 0; i < c->points; i++) {
		unsigned at = others.points;
		if (i == left_out)
			continue;
		others.x[at] = c->x[i];
		others.y[at] = c->y[i];
		others.log_x[at] = c->log_x[i];
		others.log_y[at] = c->log_y[i];
		others.points++;
	}
	return curve_at(&others, c->x[left_out], false, &outside);
}

/* A verdict that is wrong is worse than none, so nearly all errors count, not the median. */
#define WITHIN_ERROR 0.9

void early_prepare(struct advise_gain *g)
{
	double off[ADVISE_POINTS];
	const struct advise_curve *c = &g->curve;
	unsigned inner = c->points > 2 ? c->points - 2 : 0;
	for (unsigned i = 0; i < inner; i++)
		off[i] = fabs(log(predict_from_others(c, i + 1) / c->y[i + 1]));
	g->error = inner > 0 ? expm1(upper_quantile(off, inner, WITHIN_ERROR)) : INFINITY;
}

/* The GEMM and the scattering of C by one copy method, one after the other. */
struct scatter {
	double gemm_s, send_s;
	double hop_s;    /* between them */
	double follow_s; /* additions; for gemm-ar also the sending of the sum to all */
};

static struct scatter scatter_of(const struct advise_view *v, enum advise_copy_method copy_method)
{
	struct advise_question question = *v->question;
	struct advise_view view = *v;
	struct advise_candidate c = {.schedule = ADVISE_SERIAL, .copy_method = copy_method};
	question.op = ADVISE_GEMM_RS;
	view.question = &question;
	schedule_predict(&view, &c);
	struct scatter s = {v->seconds[PIECE_WHOLE], c.comm_s, v->machine->hop_s, 0};
	s.follow_s = fmax(0, c.seconds - s.gemm_s - s.hop_s - s.send_s);
	if (v->question->op == ADVISE_GEMM_AR)
		s.follow_s += s.send_s;
	return s;
}

static int judge_gain(double gain, double error)
{
	return gain > 1 + error ? 1 : gain * (1 + error) < 1 ? -1 : 0;
}

static struct advise_early gain_at(const struct advise_gain *g, enum advise_copy_method copy_method,
				   const struct scatter *s)
{
	const struct advise_curve *c = &g->curve;
	struct advise_early e = {.points = c->points,
				 .copy_method = copy_method,
				 .send_over_gemm = s->send_s / s->gemm_s,
				 .min_x = c->x[0],
				 .max_x = c->x[c->points - 1],
				 .gain = NAN,
				 .error = g->error,
				 .seconds = NAN};
	double gain = curve_at(c, e.send_over_gemm, false, &e.extrapolated);
	if (e.extrapolated)
		return e;
	e.gain = gain;
	e.seconds = (s->gemm_s + s->hop_s + s->send_s) / gain + s->follow_s;
	e.pays = judge_gain(gain, g->error);
	return e;
}

/* One with a gain before one without, then the faster one. */
static bool early_better(const struct advise_early *a, const struct advise_early *b)
{
	if (b->points == 0 || isnan(a->seconds) != isnan(b->seconds))
		return b->points == 0 || isnan(b->seconds);
	return isnan(a->seconds) ? a->points > b->points : a->seconds < b->seconds;
}

/* Compare the fastest way that pays with the first candidate. Where both are the same whole GEMM
 * and send, only the gain can be wrong. */
static void compare_with_first(const struct advise_view *v, struct advise_advice *a)
{
	const struct advise_candidate *first = &a->candidate[0];
	const struct advise_early *way = NULL;
	for (unsigned i = 0; i < ADVISE_WAYS; i++) {
		if (a->early[i].pays != 1 || (way && way->seconds <= a->early[i].seconds))
			continue;
		way = &a->early[i];
		a->best_way = (int)i;
	}
	if (!way)
		return;
	bool same = v->question->op == ADVISE_GEMM_RS && first->schedule == ADVISE_SERIAL &&
		    first->copy_method == way->copy_method;
	a->way_gain = first->seconds / way->seconds;
	a->way_error = same ? way->error : (1 + way->error) * (1 + a->expected_error) - 1;
	a->way_pays = judge_gain(a->way_gain, a->way_error);
}

void early_advise(const struct advise_view *v, struct advise_advice *a)
{
	a->best_way = -1;
	a->send_over_gemm = a->way_gain = a->way_error = NAN;
	for (unsigned i = 0; i < ADVISE_WAYS; i++)
		a->early[i] = (struct advise_early){.gain = NAN, .error = NAN, .seconds = NAN};
	for (unsigned method = 0; !v->arriving && method < ADVISE_COPY_METHODS; method++) {
		if (v->machine->copy[method][v->link].points == 0)
			continue;
		struct scatter s = scatter_of(v, method);
		a->send_over_gemm = fmin(a->send_over_gemm, s.send_s / s.gemm_s);
		for (unsigned i = 0; i < ADVISE_WAYS; i++) {
			const struct advise_gain *g =
				&v->machine->gain[i][method][v->question->type];
			if (g->curve.points == 0)
				continue;
			struct advise_early e = gain_at(g, method, &s);
			if (early_better(&e, &a->early[i]))
				a->early[i] = e;
		}
	}
	compare_with_first(v, a);
}
