/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms: each is a motion and a list of stages.
 */
#include "collectives/schedules/plan.h"

#include <assert.h>

static void append(struct walk *w, unsigned dim, unsigned fan, uint32_t first, uint32_t second)
{
	assert(w->count < MOST_STAGES);
	w->stages[w->count++] = (struct stage){
		.dim = dim, .fan = fan, .offset = {first, second}, .begin = w->steps++, .repeat = 1, .slices = 1};
}

/* One step in each dimension in turn, until `reach` (what the steps so far multiply to) covers every side.
 * `step` appends the step number `sigma` of a dimension. (Swing: omega(s) = s mod D, sigma(s) = s / D;
 * a dimension that is finished is left out.) */
static void in_turn(struct walk *w, const struct grid *space, unsigned start, uint32_t base,
                    void (*step)(struct walk *w, unsigned dim, uint32_t side, unsigned sigma, uint32_t reach))
{
	uint32_t reach = 1;
	bool more = true;
	for (unsigned sigma = 0; more; sigma++, reach *= base) {
		more = false;
		for (unsigned k = 0; k < space->dims; k++) {
			unsigned dim = (start + k) % space->dims;
			if (reach < space->side[dim])
				step(w, dim, space->side[dim], sigma, reach);
			more = more || reach < (space->side[dim] + base - 1) / base;
		}
	}
}

static void double_step(struct walk *w, unsigned dim, uint32_t side, unsigned sigma, uint32_t reach)
{
	(void)side, (void)sigma;
	append(w, dim, 1, reach, 0);
}

static void doubling(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	(void)paced;
	in_turn(w, space, start, 2, double_step);
}

/* As doubling, but a dimension is finished before the next: ranks seen as a line. */
static void doubling_flat(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	(void)start, (void)paced;
	for (unsigned dim = 0; dim < space->dims; dim++)
		for (uint32_t reach = 1; reach < space->side[dim]; reach *= 2)
			append(w, dim, 1, reach, 0);
}

/* rho(s) = 1 - 2 + 4 - ... = (1 - (-2)^(s + 1)) / 3. */
static void swing_step(struct walk *w, unsigned dim, uint32_t side, unsigned sigma, uint32_t reach)
{
	int64_t power = 2 * (int64_t)reach;
	int64_t rho = (1 - (sigma % 2 ? power : -power)) / 3;
	append(w, dim, 1, (uint32_t)((rho % side + side) % side), 0);
}

static void swing(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	(void)paced;
	in_turn(w, space, start, 2, swing_step);
}

/* Two messages a step: a collective takes two ports, as Trivance does. */
static void bruck_step(struct walk *w, unsigned dim, uint32_t side, unsigned sigma, uint32_t reach)
{
	(void)sigma;
	append(w, dim, 2 * reach % side ? 2 : 1, reach, 2 * reach % side);
}

static void bruck(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	(void)paced;
	in_turn(w, space, start, 3, bruck_step);
}

/* The last distance closes the gap (arXiv 2602.17254, from its public code). */
static void trivance_step(struct walk *w, unsigned dim, uint32_t side, unsigned sigma, uint32_t reach)
{
	(void)sigma;
	uint32_t distance = 3 * (uint64_t)reach >= side ? (side - reach + 1) / 2 : reach;
	append(w, dim, 2, distance, side - distance);
}

static void trivance(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	(void)paced;
	in_turn(w, space, start, 3, trivance_step);
}

/* A ring per dimension, one after the other. Beside others every dimension takes as long as the longest, so that no
 * two parts meet on a port; a shorter one moves its blocks, of which it has more, in as many slices as there is time. */
static void bucket(struct walk *w, const struct grid *space, unsigned start, bool paced)
{
	for (unsigned k = 0; k < space->dims; k++) {
		unsigned dim = (start + k) % space->dims;
		uint32_t moves = space->side[dim] - 1, steps = paced ? grid_longest(space) - 1 : moves;
		if (moves)
			w->stages[w->count++] = (struct stage){.dim = dim, .fan = 1, .offset = {1}, .begin = w->steps, .repeat = moves,
			                                       .slices = steps / moves};
		w->steps += steps;
	}
}

static const char *no_cycles(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid->dims == 1 || cycles_find(grid).exist
	               ? NULL
	               : "the ring needs one dimension, or two of sides a and b with a = k b and gcd(a, b - 1) = 1, where a "
	                 "torus has two edge-disjoint Hamiltonian cycles; bucket takes every shape";
}

static const char *not_powers(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid_powers_of(grid, 2) ? NULL : "every side must be a power of 2; rabenseifner takes any number of ranks";
}

static const char *not_mirrored(const struct grid *grid, enum schedule_ports ports)
{
	return ports == SCHEDULE_ONE_PORT ? "it needs all ports; on one it is rd-b" : not_powers(grid, ports);
}

static const char *not_foldable(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid->dims == 1 || grid_powers_of(grid, 2)
	               ? NULL
	               : "whole vectors need sides that are powers of 2, or one dimension, where ranks can be folded";
}

static const char *odd_sides(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	for (unsigned d = 0; d < grid->dims && grid->dims > 1; d++)
		if (grid->side[d] % 2)
			return "every side must be even; an odd number of ranks works in one dimension";
	return NULL;
}

static const char *not_powers_of_3(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid_powers_of(grid, 3) ? NULL : "whole vectors would be added twice unless every side is a power of 3";
}

static const char *any(const struct grid *grid, enum schedule_ports ports)
{
	(void)grid, (void)ports;
	return NULL;
}

#define ANY "any"
#define CYCLES "one dimension; two, a x b with a = k b and gcd(a, b - 1) = 1"
#define POWERS "powers of 2"
#define FOLDED "powers of 2; any in one dimension, folded"
#define EVEN "even; any in one dimension"
#define THREES "powers of 3"

const struct row schedule_rows[] = {
	{{"ring", "a ring, on all ports two edge-disjoint Hamiltonian ones both ways", CYCLES, true}, MOTION_SHIFT,
	 ROW_CYCLES | ROW_MIRROR, bucket, no_cycles},
	{{"bucket", "a ring in each dimension, one after the other", ANY, true}, MOTION_SHIFT, ROW_TURN | ROW_MIRROR, bucket,
	 any},
	{{"rd-l", "recursive doubling, whole vectors: latency", FOLDED, false}, MOTION_XOR, ROW_WHOLE | ROW_FOLD, doubling,
	 not_foldable},
	{{"rd-b", "recursive doubling, halves of halves: bandwidth", POWERS, true}, MOTION_XOR, 0, doubling, not_powers},
	{{"rd-mirrored", "rd-b plain and mirrored in every dimension", POWERS, true}, MOTION_XOR, ROW_TURN | ROW_MIRROR,
	 doubling, not_mirrored},
	{{"rabenseifner", "halving and doubling over the ranks as a line, folded", ANY, true}, MOTION_XOR,
	 ROW_FLAT | ROW_FOLD, doubling_flat, any},
	{{"swing-l", "Swing, whole vectors: latency", FOLDED, false}, MOTION_SWING,
	 ROW_WHOLE | ROW_FOLD | ROW_TURN | ROW_MIRROR, swing, not_foldable},
	{{"swing-b", "Swing, halves of halves: bandwidth", EVEN, true}, MOTION_SWING, ROW_SPARE | ROW_TURN | ROW_MIRROR,
	 swing, odd_sides},
	{{"bruck", "Bruck with radix 3, thirds of thirds", ANY, true}, MOTION_SHIFT, ROW_TURN, bruck, any},
	{{"trivance", "Trivance, both neighbours at 3^k, thirds of thirds", ANY, true}, MOTION_SHIFT, ROW_TURN, trivance,
	 any},
	{{"bine", "the butterfly of Bine trees over the ranks as a line", ANY, true}, MOTION_SWING, ROW_FLAT | ROW_SPARE,
	 swing, any},
	{{"bruck-l", "Bruck, whole vectors: latency", THREES, false}, MOTION_SHIFT, ROW_WHOLE | ROW_TURN, bruck,
	 not_powers_of_3},
	{{"trivance-l", "Trivance, whole vectors: latency", THREES, false}, MOTION_SHIFT, ROW_WHOLE | ROW_TURN, trivance,
	 not_powers_of_3},
	{{NULL, NULL, NULL, false}, MOTION_SHIFT, 0, NULL, NULL},
};
