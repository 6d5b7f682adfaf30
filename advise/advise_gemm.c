/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predicts the time of a GEMM from those that were measured. Interpolating rates between shapes
 * fails at the steps that tiles and waves make, so a model removes the steps first:
 *
 *     seconds = c0 + area * (c1 K + c2) + c3 (MK + KN) + c4 MN if it adds to C + c5 area * K / side
 *     side = rows * columns / (rows + columns) of a tile: a smaller one reads more for each product
 *     area = tile * (whole waves + max(tiles of the last wave, min_wave, where it has any))
 *
 * c >= 0 and the tiling are those with the least squared relative error over the measured GEMMs. A
 * GEMM whose matrices exceed the cache takes no less than c0 + the bytes of its matrices at the
 * rate of memory; samples that this explains are left out of the fit. The residuals of the model
 * are interpolated between the nearest shapes.
 */
#include "advise/advise_model.h"

#include <math.h>
#include <string.h>

enum { COSTS = 6 };

static const struct advise_tiling tiles_tried[] = {
	{.rows = 1, .columns = 1},     {.rows = 8, .columns = 8},     {.rows = 16, .columns = 16},
	{.rows = 32, .columns = 32},   {.rows = 64, .columns = 64},   {.rows = 96, .columns = 96},
	{.rows = 64, .columns = 128},  {.rows = 128, .columns = 64},  {.rows = 128, .columns = 128},
	{.rows = 192, .columns = 192}, {.rows = 128, .columns = 256}, {.rows = 256, .columns = 128},
	{.rows = 256, .columns = 256}};
static const double least_tried[] = {INFINITY, 64, 32}; /* INFINITY: no tile is halved */
/* Tiles that run at once: so many on every unit, or in all where the units are unknown. */
static const double tiles_per_unit_tried[] = {0, 1,  2,  3,  4,  5,  6,  7,
					      8, 10, 12, 14, 16, 20, 24, 32}; /* 0: one tile */
static const double waves_tried[] = {1,   2,   4,   8,   16,  32,  48,  64,  80, 96,
				     108, 128, 132, 160, 192, 256, 304, 384, 512};
static const double shares_tried[] = {0, 0.125, 0.25, 0.375, 0.5, 0.75, 1}; /* min_wave / wave */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double tiles_of(const struct advise_tiling *t, struct advise_shape s)
{
	return ceil(s.m / t->rows) * ceil(s.n / t->columns);
}

/* The tiling with the tile that this GEMM has: a side beyond the matrix is halved first. */
static struct advise_tiling tiling_of(struct advise_tiling t, double units, struct advise_shape s)
{
	while (tiles_of(&t, s) < units && fmax(t.rows, t.columns) >= 2 * t.least) {
		bool rows_idle = t.rows > s.m, columns_idle = t.columns > s.n;
		bool rows = rows_idle || (!columns_idle && t.rows >= t.columns);
		*(rows ? &t.rows : &t.columns) /= 2;
	}
	return t;
}

double gemm_free_tiles(const struct advise_gemm *g, struct advise_shape s)
{
	struct advise_tiling t = tiling_of(g->coarse, g->units, s);
	return fmax(0, t.wave - tiles_of(&t, s));
}

double gemm_share_until_last_wave(const struct advise_gemm *g, struct advise_shape s)
{
	struct advise_tiling t = tiling_of(g->coarse, g->units, s);
	return 1 - 1 / ceil(tiles_of(&t, s) / t.wave);
}

static double padded_tiles(const struct advise_tiling *t, struct advise_shape s)
{
	double tiles = tiles_of(t, s);
	double whole = t->wave * floor(tiles / t->wave), last = tiles - whole;
	return whole + (last > 0 ? fmax(last, t->min_wave) : 0);
}

static void cost_terms(const struct advise_gemm *g, struct advise_shape s, double term[COSTS])
{
	const struct advise_tiling t = tiling_of(g->tiling, g->units, s);
	double tiles = padded_tiles(&t, s), area = tiles * t.rows * t.columns;
	term[0] = 1.0;
	term[1] = area * s.k;
	term[2] = area;
	term[3] = s.m * s.k + s.k * s.n;
	term[4] = s.adds * s.m * s.n;
	term[5] = tiles * (t.rows + t.columns) * s.k;
}

double gemm_memory_bytes(const struct advise_gemm *g, struct advise_shape s)
{
	double operands = (s.m * s.k + s.k * s.n) * g->element_bytes,
	       result = s.m * s.n * g->result_bytes;
	return operands + result > g->cache_bytes ? operands + (1 + s.adds) * result : 0;
}

static double model_seconds(const struct advise_gemm *g, struct advise_shape s)
{
	double term[COSTS], sum = 0;
	cost_terms(g, s, term);
	for (unsigned i = 0; i < COSTS; i++)
		sum += g->cost[i] * term[i];
	return fmax(sum, g->cost[0] + g->memory_s_per_byte * gemm_memory_bytes(g, s));
}

/* Solve the normal equations restricted to the terms in `set`; false when they have no positive
 * solution. */
static bool solve_terms(double a[COSTS][COSTS], const double b[COSTS], unsigned set,
			double x[COSTS])
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

static unsigned fitted_samples(const struct advise_gemm *g)
{
	unsigned count = 0;
	for (unsigned p = 0; p < g->samples; p++)
		count += !g->sample[p].memory_bound;
	return count;
}

/* Least squares of model / seconds - 1 with costs >= 0, by trying all sets of terms. The
 * terms are scaled to be comparable. Sets g->cost; returns the sum of squares. */
static double fit_costs(struct advise_gemm *g)
{
	double a[COSTS][COSTS] = {{0}}, b[COSTS] = {0}, scale[COSTS] = {0}, least = INFINITY;
	for (unsigned p = 0; p < g->samples; p++) {
		const struct advise_gemm_sample *m = &g->sample[p];
		double term[COSTS];
		if (m->memory_bound)
			continue;
		cost_terms(g, m->shape, term);
		for (unsigned i = 0; i < COSTS; i++) {
			b[i] += term[i] / m->seconds;
			for (unsigned j = 0; j <= i; j++)
				a[i][j] += term[i] * term[j] / (m->seconds * m->seconds);
		}
	}
	for (unsigned i = 0; i < COSTS; i++)
		for (unsigned j = 0; j < i; j++)
			a[j][i] = a[i][j];
	for (unsigned i = 0; i < COSTS; i++)
		scale[i] = a[i][i] > 0 ? sqrt(a[i][i])
				       : 1; /* solve_terms() leaves out a term that no sample has */
	for (unsigned i = 0; i < COSTS; i++) {
		b[i] /= scale[i];
		for (unsigned j = 0; j < COSTS; j++)
			a[i][j] /= scale[i] * scale[j];
	}
	/* With tiles of one size, operand traffic is proportional to the products. */
	const unsigned terms = isinf(g->tiling.least) ? COSTS - 1 : COSTS;
	for (unsigned set = 1; set < 1u << terms; set++) {
		double x[COSTS], error = fitted_samples(g);
		if (!solve_terms(a, b, set, x))
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

static void position_of(struct advise_shape s, double position[4])
{
	position[0] = log2(s.m);
	position[1] = log2(s.n);
	position[2] = log2(s.k);
	position[3] = s.adds;
}

/* The weight of a sample at a position. `smoothing` is the square of the distance within which
 * samples count alike. */
static double weight_at(const struct advise_gemm_sample *m, const double position[4],
			double smoothing)
{
	double square = smoothing;
	for (unsigned i = 0; i < 4; i++)
		square += (position[i] - m->position[i]) * (position[i] - m->position[i]);
	return 1 / (square * square);
}

/* The residual at a position: a mean of the samples' residuals, weighted by distance. Far from all
 * samples the residuals mean nothing: their share is one half where the nearest is a doubling
 * away. */
static double residual_at(const struct advise_gemm *g, const double position[4], double smoothing,
			  unsigned without)
{
	double sum = 0, weights = 1;
	for (unsigned p = 0; p < g->samples; p++) {
		if (p == without)
			continue;
		double weight = weight_at(&g->sample[p], position, smoothing);
		weights += weight;
		sum += weight * g->sample[p].residual;
	}
	return sum / weights;
}

/* The median error of predicting each sample from the others. */
static double median_error(const struct advise_gemm *g, double smoothing)
{
	double off[ADVISE_GEMMS];
	for (unsigned p = 0; p < g->samples; p++)
		off[p] = fabs(residual_at(g, g->sample[p].position, smoothing, p) -
			      g->sample[p].residual);
	return upper_quantile(off, g->samples, 0.5);
}

/* Errors count alike within so much of a doubling, squared. */
#define NEAR 0.25

static void keep_errors(struct advise_gemm *g)
{
	double off[ADVISE_GEMMS];
	for (unsigned p = 0; p < g->samples; p++) {
		struct advise_gemm_sample *m = &g->sample[p];
		double others = residual_at(g, m->position, g->smoothing, p);
		m->error = off[p] = fabs(others - m->residual);
	}
	g->most_error = upper_quantile(off, g->samples, 0.9);
}

/* Steps that the model lacks need the nearest samples, noise needs many: take the least error. */
static void choose_smoothing(struct advise_gemm *g)
{
	static const double tried[] = {1e-3, 1e-2, 0.1, 0.3, 1, 3};
	g->error = INFINITY;
	for (size_t t = 0; t < COUNT(tried); t++) {
		double error = median_error(g, tried[t]);
		if (error >= g->error)
			continue;
		g->error = error;
		g->smoothing = tried[t];
	}
}

#define SAME_ERROR 1e-6
#define EXACT 1e-9 /* squared; nothing is measured better */

/* The tiling of so many that are tried: the smallest tile first. */
static struct advise_tiling tiling_tried(size_t i, double units)
{
	const size_t waves = units > 0 ? COUNT(tiles_per_unit_tried) : COUNT(waves_tried),
		     shares = COUNT(shares_tried), wave = i / shares % waves,
		     least = i / shares / waves % COUNT(least_tried);
	struct advise_tiling t = tiles_tried[i / shares / waves / COUNT(least_tried)];
	t.least = least_tried[least];
	t.wave = units > 0 ? fmax(1, units * tiles_per_unit_tried[wave]) : waves_tried[wave];
	t.min_wave = shares_tried[i % shares] * t.wave;
	return t;
}

/* If several tilings explain the samples equally well, take the smallest tile to interpolate
 * between shapes, and the largest one, of which the fewest run at once, to count free slots. */
static void choose_tiling(struct advise_gemm *g)
{
	struct advise_tiling best = {1, 1, INFINITY, 1, 1}, coarse = best;
	double min_error = INFINITY, cost[COSTS] = {0};
	const size_t waves = g->units > 0 ? COUNT(tiles_per_unit_tried) : COUNT(waves_tried),
		     all = COUNT(tiles_tried) * COUNT(least_tried) * waves * COUNT(shares_tried);
	for (size_t i = 0; i < all; i++) {
		g->tiling = tiling_tried(i, g->units);
		/* no tile of such a tiling is ever halved */
		if (isfinite(g->tiling.least) &&
		    (g->units <= 0 ||
		     fmax(g->tiling.rows, g->tiling.columns) < 2 * g->tiling.least))
			continue;
		double error = fmax(fit_costs(g), EXACT * g->samples);
		bool better = error < min_error * (1 - SAME_ERROR),
		     same = error <= min_error * (1 + SAME_ERROR);
		if (better || (same && isinf(g->tiling.least) &&
			       g->tiling.rows * g->tiling.columns > coarse.rows * coarse.columns))
			coarse = g->tiling;
		if (!better)
			continue;
		min_error = error;
		best = g->tiling;
		memcpy(cost, g->cost, sizeof(cost));
	}
	g->tiling = best;
	g->coarse = coarse;
	memcpy(g->cost, cost, sizeof(cost));
}

/* A sample is bound by memory where its bytes alone would take about as long. Where they would take
 * longer they did not all come from memory. */
#define MIN_MEMORY_SHARE 0.7
#define MAX_MEMORY_SHARE 1.3
/* A fit of fewer samples has little to say. */
#define MIN_FITTED 12

static void mark_memory_bound(struct advise_gemm *g, const struct gemm_limits *limits)
{
	for (unsigned p = 0; p < g->samples; p++) {
		struct advise_gemm_sample *m = &g->sample[p];
		double bytes = gemm_memory_bytes(g, m->shape),
		       share = bytes / (m->seconds * limits->byte_per_s);
		m->memory_bound = limits->byte_per_s > 0 && share > MIN_MEMORY_SHARE &&
				  share < MAX_MEMORY_SHARE;
	}
	if (fitted_samples(g) >= MIN_FITTED)
		return;
	for (unsigned p = 0; p < g->samples; p++)
		g->sample[p].memory_bound = false;
}

/* The median over the samples that memory limits; 0 where none is. */
static double memory_slope(const struct advise_gemm *g)
{
	double slope[ADVISE_GEMMS];
	unsigned count = 0;
	for (unsigned p = 0; p < g->samples; p++)
		if (g->sample[p].memory_bound)
			slope[count++] = fmax(0, g->sample[p].seconds - g->cost[0]) /
					 gemm_memory_bytes(g, g->sample[p].shape);
	return count ? upper_quantile(slope, count, 0.5) : 0;
}

void gemm_prepare_model(struct advise_gemm *g, const struct gemm_limits *limits)
{
	g->cache_bytes = limits->cache_bytes;
	g->element_bytes = limits->element_bytes;
	g->result_bytes = limits->result_bytes;
	mark_memory_bound(g, limits);
	g->units = limits->units;
	choose_tiling(g);
	g->memory_s_per_byte = memory_slope(g);
	for (unsigned p = 0; p < g->samples; p++) {
		struct advise_gemm_sample *m = &g->sample[p];
		position_of(m->shape, m->position);
		for (unsigned i = 0; i < 3; i++) {
			g->min_position[i] =
				p == 0 ? m->position[i] : fmin(g->min_position[i], m->position[i]);
			g->max_position[i] =
				p == 0 ? m->position[i] : fmax(g->max_position[i], m->position[i]);
		}
		m->residual = log(m->seconds / model_seconds(g, m->shape));
	}
	choose_smoothing(g);
	keep_errors(g);
}

/* True if a side is beyond every measured one by more than half a doubling. */
static bool is_outside(const struct advise_gemm *g, const double position[4])
{
	for (unsigned i = 0; i < 3; i++)
		if (position[i] < g->min_position[i] - 0.5 ||
		    position[i] > g->max_position[i] + 0.5)
			return true;
	return false;
}

double gemm_seconds(const struct advise_gemm *g, struct advise_shape s, bool *outside_p)
{
	double position[4];
	position_of(s, position);
	if (is_outside(g, position))
		*outside_p = true;
	return model_seconds(g, s) * exp(residual_at(g, position, g->smoothing, g->samples));
}

double gemm_error_near(const struct advise_gemm *g, struct advise_shape s)
{
	double position[4], sum = g->most_error, weights = 1;
	position_of(s, position);
	for (unsigned p = 0; p < g->samples; p++) {
		double weight = weight_at(&g->sample[p], position, NEAR);
		weights += weight;
		sum += weight * g->sample[p].error;
	}
	return expm1(sum / weights);
}
