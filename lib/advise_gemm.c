/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long a product takes, from those that were measured. Interpolating rates between shapes fails at the steps that tiles and
 * waves make, so a model takes the steps out first:
 *
 *     seconds = c0 + work * (c1 K + c2) + c3 (MK + KN) + c4 MN if it adds to what is there
 *     work = tile^2 * max(tiles, wave) or tile^2 * wave * ceil(tiles / wave)
 *
 * c >= 0, tile and wave are those with the least squared relative error over the measured products, so a machine without
 * steps gets tile 1 and wave 1. What the model leaves is interpolated between the nearest shapes.
 */
#include "lib/advise_model.h"

#include <math.h>
#include <string.h>

enum { COSTS = 5 };

static const double tiles_tried[] = {1, 8, 16, 32, 64, 96, 128, 192, 256};
static const double waves_tried[] = {1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 108, 128, 132, 160, 192, 256, 304, 384, 512};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double work(const struct advise_gemm *g, struct advise_shape s)
{
	double tiles = ceil(s.m / g->tile) * ceil(s.n / g->tile);
	if (g->whole_waves)
		tiles = g->wave * ceil(tiles / g->wave);
	else if (tiles < g->wave)
		tiles = g->wave;
	return tiles * g->tile * g->tile;
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

void gemm_prepare_model(struct advise_gemm *g)
{
	struct advise_gemm best = {.tile = 1, .wave = 1};
	double least = INFINITY;
	for (size_t t = 0; t < COUNT(tiles_tried); t++) {
		for (size_t w = 0; w < 2 * COUNT(waves_tried); w++) {
			g->tile = tiles_tried[t];
			g->wave = waves_tried[w / 2];
			g->whole_waves = w % 2;
			double error = fit(g);
			if (error >= least * (1 - 1e-6))
				continue;
			least = error;
			best.tile = g->tile;
			best.wave = g->wave;
			best.whole_waves = g->whole_waves;
			memcpy(best.cost, g->cost, sizeof(best.cost));
		}
	}
	g->tile = best.tile;
	g->wave = best.wave;
	g->whole_waves = best.whole_waves;
	memcpy(g->cost, best.cost, sizeof(g->cost));
	for (unsigned p = 0; p < g->products; p++) {
		struct advise_product *m = &g->product[p];
		place_of(m->shape, m->place);
		for (unsigned i = 0; i < 3; i++) {
			g->low[i] = p == 0 ? m->place[i] : fmin(g->low[i], m->place[i]);
			g->high[i] = p == 0 ? m->place[i] : fmax(g->high[i], m->place[i]);
		}
		m->residual = log(m->seconds / modelled(g, m->shape));
	}
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
	double place[4], sum = 0, weights = 0;
	place_of(s, place);
	for (unsigned p = 0; p < g->products; p++) {
		const struct advise_product *m = &g->product[p];
		double square = 1e-3; /* so that a shape that was measured takes its own residual, not all of it */
		for (unsigned i = 0; i < 4; i++)
			square += (place[i] - m->place[i]) * (place[i] - m->place[i]);
		double weight = 1.0 / (square * square);
		weights += weight;
		sum += weight * m->residual;
	}
	if (outside(g, place))
		*outside_p = true;
	/* Far from all that was measured, a residual says nothing: its share is a half where the nearest is a doubling away. */
	return modelled(g, s) * exp(sum / (weights + 1.0));
}
