/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of algorithms. Each one is a motion and a list of stages.
 */
#include "collectives/schedules/schedule_internals.h"

#include <assert.h>

static void append_stage(struct chunk_routing *routing, unsigned dim, unsigned fan, uint32_t first,
			 uint32_t second)
{
	assert(routing->count < MAX_STAGES);
	routing->stages[routing->count++] =
		(struct stage){.dim = dim,
			       .fan = fan,
			       .port = {{.offset = first}, {.offset = second}},
			       .begin = routing->steps++,
			       .repeat = 1,
			       .slices = 1};
}

/* Interleaves the dimensions: one step in each in turn, until `reach` (base ^ steps so far) covers
 * every side. `step` appends step number `sigma` of a dimension. (Swing: omega(s) = s mod D,
 * sigma(s) = s / D; a finished dimension is skipped.) */
static void append_interleaved(struct chunk_routing *routing, const struct grid *space,
			       unsigned start, uint32_t base,
			       void (*step)(struct chunk_routing *routing, unsigned dim,
					    uint32_t side, unsigned sigma, uint32_t reach))
{
	uint32_t reach = 1;
	bool more = true;
	for (unsigned sigma = 0; more; sigma++, reach *= base) {
		more = false;
		for (unsigned k = 0; k < space->dims; k++) {
			unsigned dim = (start + k) % space->dims;
			if (reach < space->side[dim])
				step(routing, dim, space->side[dim], sigma, reach);
			more = more || reach < (space->side[dim] + base - 1) / base;
		}
	}
}

static void append_doubling_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
				 unsigned sigma, uint32_t reach)
{
	(void)side, (void)sigma;
	append_stage(routing, dim, 1, reach, 0);
}

static void doubling_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			    bool concurrent)
{
	(void)concurrent;
	append_interleaved(routing, space, start, 2, append_doubling_step);
}

/* Finishes each dimension before the next, so the ranks form a line. */
static void flat_doubling_stages(struct chunk_routing *routing, const struct grid *space,
				 unsigned start, bool concurrent)
{
	(void)start, (void)concurrent;
	for (unsigned dim = 0; dim < space->dims; dim++)
		for (uint32_t reach = 1; reach < space->side[dim]; reach *= 2)
			append_stage(routing, dim, 1, reach, 0);
}

/* rho(s) = 1 - 2 + 4 - ... = (1 - (-2)^(s + 1)) / 3. */
static void append_swing_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
			      unsigned sigma, uint32_t reach)
{
	int64_t power = 2 * (int64_t)reach;
	int64_t rho = (1 - (sigma % 2 ? power : -power)) / 3;
	append_stage(routing, dim, 1, (uint32_t)((rho % side + side) % side), 0);
}

static void swing_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			 bool concurrent)
{
	(void)concurrent;
	append_interleaved(routing, space, start, 2, append_swing_step);
}

/* Two messages a step, on two ports, as in Trivance. */
static void append_bruck_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
			      unsigned sigma, uint32_t reach)
{
	(void)sigma;
	append_stage(routing, dim, 2 * reach % side ? 2 : 1, reach, 2 * reach % side);
}

static void bruck_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			 bool concurrent)
{
	(void)concurrent;
	append_interleaved(routing, space, start, 3, append_bruck_step);
}

/* The last distance is shorter where 3 * reach exceeds the side (arXiv 2602.17254, public code). */
static void append_trivance_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
				 unsigned sigma, uint32_t reach)
{
	(void)sigma;
	uint32_t distance = 3 * (uint64_t)reach >= side ? (side - reach + 1) / 2 : reach;
	append_stage(routing, dim, 2, distance, side - distance);
}

static void trivance_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			    bool concurrent)
{
	(void)concurrent;
	append_interleaved(routing, space, start, 3, append_trivance_step);
}

/* A ring per dimension, one after the other. With concurrent parts every dimension takes as many
 * steps as the longest one, so that no two parts use a port at the same time. A shorter dimension
 * has larger messages and sends them in slices over these steps. */
static void bucket_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			  bool concurrent)
{
	for (unsigned k = 0; k < space->dims; k++) {
		unsigned dim = (start + k) % space->dims;
		uint32_t moves = space->side[dim] - 1,
			 steps = concurrent ? grid_longest(space) - 1 : moves;
		if (moves)
			routing->stages[routing->count++] = (struct stage){.dim = dim,
									   .fan = 1,
									   .port = {{.offset = 1}},
									   .begin = routing->steps,
									   .repeat = moves,
									   .slices = steps / moves};
		routing->steps += steps;
	}
}

/* Every rank sends every other one its chunk, all at once. */
static void direct_stages(struct chunk_routing *routing, const struct grid *space, unsigned start,
			  bool concurrent)
{
	(void)start, (void)concurrent;
	if (space->nodes > 1)
		append_stage(routing, 0, space->nodes - 1, 1, 2);
}

static const char *require_cycles(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid->dims == 1 || cycles_of_torus(grid).count
		       ? NULL
		       : "ring needs one dimension, or two of sides a and b with a = k b and "
			 "gcd(a, b - 1) = 1, where a torus has two edge-disjoint Hamiltonian "
			 "cycles; bucket supports every shape";
}

static const char *require_powers_of_2(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid_powers_of(grid, 2) ? NULL
				       : "every side must be a power of 2; rabenseifner supports "
					 "any number of ranks";
}

static const char *require_all_ports(const struct grid *grid, enum schedule_ports ports)
{
	return ports == SCHEDULE_ONE_PORT ? "needs all ports; on one port it equals rd-b"
					  : require_powers_of_2(grid, ports);
}

static const char *require_foldable(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid->dims == 1 || grid_powers_of(grid, 2)
		       ? NULL
		       : "every side must be a power of 2, or there must be one dimension, where "
			 "ranks can be folded";
}

static const char *require_even_sides(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	for (unsigned d = 0; d < grid->dims && grid->dims > 1; d++)
		if (grid->side[d] % 2)
			return "every side must be even; one dimension supports an odd number of "
			       "ranks";
	return NULL;
}

static const char *require_powers_of_3(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid_powers_of(grid, 3)
		       ? NULL
		       : "every side must be a power of 3, otherwise contributions are added "
			 "twice";
}

/* Messages of a step and tables grow with the square of the number of ranks. */
static const char *require_mesh(const struct grid *grid, enum schedule_ports ports)
{
	(void)ports;
	return grid->nodes <= 1024
		       ? NULL
		       : "needs a link between every two ranks, and supports up to 1024 ranks";
}

static const char *accept_any_grid(const struct grid *grid, enum schedule_ports ports)
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
#define MESH "any, up to 1024 ranks"

const struct algorithm algorithm_table[] = {
	{{"ring", "one ring; on all ports two edge-disjoint Hamiltonian rings in both directions",
	  CYCLES, true},
	 MOTION_SHIFT,
	 ALGORITHM_CYCLES | ALGORITHM_MIRRORS,
	 bucket_stages,
	 require_cycles},
	{{"multi-ring",
	  "as many edge-disjoint rings as a full mesh has, both directions: p - 1 for odd p, else "
	  "p - 2",
	  MESH, true},
	 MOTION_SHIFT,
	 ALGORITHM_CYCLES | ALGORITHM_MIRRORS | ALGORITHM_MESH,
	 bucket_stages,
	 require_mesh},
	{{"direct", "all pairs at once, a step for each half", MESH, true},
	 MOTION_SHIFT,
	 ALGORITHM_FLAT | ALGORITHM_MESH,
	 direct_stages,
	 require_mesh},
	{{"bucket", "a ring in each dimension, one after the other", ANY, true},
	 MOTION_SHIFT,
	 ALGORITHM_ROTATES | ALGORITHM_MIRRORS,
	 bucket_stages,
	 accept_any_grid},
	{{"rd-l", "recursive doubling, whole vectors: latency", FOLDED, false},
	 MOTION_XOR,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_FOLDS,
	 doubling_stages,
	 require_foldable},
	{{"rd-b", "recursive doubling, halves of halves: bandwidth", POWERS, true},
	 MOTION_XOR,
	 0,
	 doubling_stages,
	 require_powers_of_2},
	{{"rd-mirrored", "rd-b plain and mirrored in every dimension", POWERS, true},
	 MOTION_XOR,
	 ALGORITHM_ROTATES | ALGORITHM_MIRRORS,
	 doubling_stages,
	 require_all_ports},
	{{"rabenseifner", "halving and doubling over the ranks as a line, folded", ANY, true},
	 MOTION_XOR,
	 ALGORITHM_FLAT | ALGORITHM_FOLDS,
	 flat_doubling_stages,
	 accept_any_grid},
	{{"swing-l", "Swing, whole vectors: latency", FOLDED, false},
	 MOTION_SWING,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_FOLDS | ALGORITHM_ROTATES | ALGORITHM_MIRRORS,
	 swing_stages,
	 require_foldable},
	{{"swing-b", "Swing, halves of halves: bandwidth", EVEN, true},
	 MOTION_SWING,
	 ALGORITHM_SPARE_RANK | ALGORITHM_ROTATES | ALGORITHM_MIRRORS,
	 swing_stages,
	 require_even_sides},
	{{"bruck", "Bruck with radix 3, thirds of thirds", ANY, true},
	 MOTION_SHIFT,
	 ALGORITHM_ROTATES,
	 bruck_stages,
	 accept_any_grid},
	{{"trivance", "Trivance, both neighbours at 3^k, thirds of thirds", ANY, true},
	 MOTION_SHIFT,
	 ALGORITHM_ROTATES,
	 trivance_stages,
	 accept_any_grid},
	{{"bine", "the butterfly of Bine trees over the ranks as a line", ANY, true},
	 MOTION_SWING,
	 ALGORITHM_FLAT | ALGORITHM_SPARE_RANK,
	 swing_stages,
	 accept_any_grid},
	{{"bruck-l", "Bruck, whole vectors: latency", THREES, false},
	 MOTION_SHIFT,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_ROTATES,
	 bruck_stages,
	 require_powers_of_3},
	{{"trivance-l", "Trivance, whole vectors: latency", THREES, false},
	 MOTION_SHIFT,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_ROTATES,
	 trivance_stages,
	 require_powers_of_3},
	{{NULL, NULL, NULL, false}, MOTION_SHIFT, 0, NULL, NULL},
};
