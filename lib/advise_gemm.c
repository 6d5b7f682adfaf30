/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long a product takes, from those that were measured. Interpolating rates between shapes fails at the steps that tiles and
 * waves make, so a model takes the steps out first:
 *
 *     seconds = c0 + work * (c1 K + c2) + c3 (MK + KN) + c4 MN if it adds to what is there
 *     work = tile^2 * (whole waves + max(tiles of the last wave, least, where it has any))
 *
 * wave: tiles that run at once; least: of which fewer take as long. c >= 0, tile, wave and least are those with the least squared
 * relative error over the measured products. What the model leaves is interpolated between the nearest shapes.
 */
#include "lib/advise_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COSTS = 5 };

static const double tiles_tried[] = {1, 8, 16, 32, 64, 96, 128, 192, 256};
static const double waves_tried[] = {1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 108, 128, 132, 160, 192, 256, 304, 384, 512};
static const double shares_tried[] = {0, 0.125, 0.25, 0.375, 0.5, 0.75, 1}; /* least / wave */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double work(const struct advise_gemm *g, struct advise_shape s)
{
	double tiles = ceil(s.m / g->tile) * ceil(s.n / g->tile);
	double whole = g->wave * floor(tiles / g->wave), last = tiles - whole;
	return (whole + (last > 0 ? fmax(last, g->least) : 0)) * g->tile * g->tile;
}

static void terms(const struct advise_gemm *g, struct advise_shape s, double term[COSTS])
{
	double area = work(g, s);
	term[0] = 1.0;
	term[1] = area * s.k;
	term[2] = area;
	term[3] = s.m * s.k + s.k * s.n;
	term[4] = s.adds * s.m * s.n;
}

static double modelled(const struct advise_gemm *g, struct advise_shape s)
{
	double term[COSTS], sum = 0;
	terms(g, s, term);
	for (unsigned i = 0; i < COSTS; i++)
		sum += g->cost[i] * term[i];
	return sum;
}

/* The normal equations restricted to the terms in `set`; false when they have no positive solution. */
static bool solve(double a[COSTS][COSTS], const double b[COSTS], unsigned set, double x[COSTS])
{
	double row[COSTS][COSTS + 1];
	unsigned chosen[COSTS], n = 0;
	for (unsigned i = 0; i < COSTS; i++)
		if (set >> i & 1)
			chosen[n++] = i;
	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = 0; j < n; j++)
			row[i][j] = a[chosen[i]][chosen[j]];
		row[i][n] = b[chosen[i]];
	}
	for (unsigned i = 0; i < n; i++) {
		if (!(row[i][i] > 1e-12))
			return false;
		for (unsigned r = 0; r < n; r++) {
			double factor = r == i ? 0 : row[r][i] / row[i][i];
			for (unsigned j = i; j <= n; j++)
				row[r][j] -= factor * row[i][j];
		}
	}
	memset(x, 0, COSTS * sizeof(x[0]));
	for (unsigned i = 0; i < n; i++) {
		x[chosen[i]] = row[i][n] / row[i][i];
		if (!(x[chosen[i]] > 0))
			return false;
	}
	return true;
}

/* Least squares of model / seconds - 1 with costs >= 0, by trying every set of terms: there are 31. The terms are scaled so
 * that they can be compared. Sets g->cost; returns the sum of squares. */
static double fit(struct advise_gemm *g)
{
	double a[COSTS][COSTS] = {{0}}, b[COSTS] = {0}, scale[COSTS] = {0}, least = INFINITY;
	for (unsigned p = 0; p < g->products; p++) {
		const struct advise_product *m = &g->product[p];
		double term[COSTS];
		terms(g, m->shape, term);
		for (unsigned i = 0; i < COSTS; i++) {
			b[i] += term[i] / m->seconds;
			for (unsigned j = 0; j < COSTS; j++)
				a[i][j] += term[i] * term[j] / (m->seconds * m->seconds);
		}
	}
	for (unsigned i = 0; i < COSTS; i++)
		scale[i] = a[i][i] > 0 ? sqrt(a[i][i]) : 1; /* a term that no product has is left out by solve() */
	for (unsigned i = 0; i < COSTS; i++) {
		b[i] /= scale[i];
		for (unsigned j = 0; j < COSTS; j++)
			a[i][j] /= scale[i] * scale[j];
	}
	for (unsigned set = 1; set < 1u << COSTS; set++) {
		double x[COSTS], error = g->products;
		if (!solve(a, b, set, x))
			continue;
		for (unsigned i = 0; i < COSTS; i++)
			error -= x[i] * b[i]; /* at the solution x'Ax = x'b */
		if (error >= least)
			continue;
		least = error;
		for (unsigned i = 0; i < COSTS; i++)
			g->cost[i] = x[i] / scale[i];
	}
	return least;
}

static void place_of(struct advise_shape s, double place[4])
{
	place[0] = log2(s.m);
	place[1] = log2(s.n);
	place[2] = log2(s.k);
	place[3] = s.adds;
}

/* The residuals around a place, weighted by distance; `near` is the square of the distance within which they count alike. Far
 * from all that was measured they say nothing: their share is a half where the nearest is a doubling away. */
static double residual_at(const struct advise_gemm *g, const double place[4], double near, unsigned without)
{
	double sum = 0, weights = 1;
	for (unsigned p = 0; p < g->products; p++) {
		const struct advise_product *m = &g->product[p];
		double square = near;
		if (p == without)
			continue;
		for (unsigned i = 0; i < 4; i++)
			square += (place[i] - m->place[i]) * (place[i] - m->place[i]);
		double weight = 1 / (square * square);
		weights += weight;
		sum += weight * m->residual;
	}
	return sum / weights;
}

static int rises(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* The median of how far products are from what the others foretell. */
static double error_within(const struct advise_gemm *g, double near)
{
	double off[ADVISE_PRODUCTS];
	for (unsigned p = 0; p < g->products; p++)
		off[p] = fabs(residual_at(g, g->product[p].place, near, p) - g->product[p].residual);
	qsort(off, g->products, sizeof(off[0]), rises);
	return off[g->products / 2];
}

/* Steps that the model does not know want the nearest products, noise wants many: what errs least. */
static void choose_near(struct advise_gemm *g)
{
	static const double tried[] = {1e-3, 1e-2, 0.1, 0.3, 1, 3};
	g->error = INFINITY;
	for (size_t t = 0; t < COUNT(tried); t++) {
		double error = error_within(g, tried[t]);
		if (error >= g->error)
			continue;
		g->error = error;
		g->near = tried[t];
	}
}

static void choose_steps(struct advise_gemm *g)
{
	struct advise_gemm best = {.tile = 1, .wave = 1, .least = 1};
	double least_error = INFINITY;
	const size_t waves = COUNT(waves_tried), shares = COUNT(shares_tried), all = COUNT(tiles_tried) * waves * shares;
	for (size_t i = 0; i < all; i++) {
		g->tile = tiles_tried[i / shares / waves];
		g->wave = waves_tried[i / shares % waves];
		g->least = shares_tried[i % shares] * g->wave;
		double error = fit(g);
		if (error >= least_error * (1 - 1e-6))
			continue;
		least_error = error;
		best.tile = g->tile;
		best.wave = g->wave;
		best.least = g->least;
		memcpy(best.cost, g->cost, sizeof(best.cost));
	}
	g->tile = best.tile;
	g->wave = best.wave;
	g->least = best.least;
	memcpy(g->cost, best.cost, sizeof(g->cost));
}

void gemm_prepare_model(struct advise_gemm *g)
{
	choose_steps(g);
	for (unsigned p = 0; p < g->products; p++) {
		struct advise_product *m = &g->product[p];
		place_of(m->shape, m->place);
		for (unsigned i = 0; i < 3; i++) {
			g->low[i] = p == 0 ? m->place[i] : fmin(g->low[i], m->place[i]);
			g->high[i] = p == 0 ? m->place[i] : fmax(g->high[i], m->place[i]);
		}
		m->residual = log(m->seconds / modelled(g, m->shape));
	}
	choose_near(g);
}

/* A side beyond any that was measured, by more than half a doubling. */
static bool outside(const struct advise_gemm *g, const double place[4])
{
	for (unsigned i = 0; i < 3; i++)
		if (place[i] < g->low[i] - 0.5 || place[i] > g->high[i] + 0.5)
			return true;
	return false;
}

double gemm_seconds(const struct advise_gemm *g, struct advise_shape s, bool *outside_p)
{
	double place[4];
	place_of(s, place);
	if (outside(g, place))
		*outside_p = true;
	return modelled(g, s) * exp(residual_at(g, place, g->near, g->products));
}
