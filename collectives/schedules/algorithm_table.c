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
 * every side. (Swing: omega(s) = s mod D, sigma(s) = s / D; a finished dimension is skipped.) */
static void interleaved_stages(struct chunk_routing *routing, const struct algorithm *algorithm,
			       const struct grid *space, unsigned start, bool concurrent)
{
	const uint32_t base = algorithm->base;
	bool more = true;
	for (uint32_t reach = 1, sigma = 0; more; sigma++, reach *= base) {
		more = false;
		for (unsigned k = 0; k < space->dims; k++) {
			const unsigned dim = (start + k) % space->dims;
			const uint32_t side = space->side[dim];
			if (reach < side)
				algorithm->append_step(routing, dim, side, sigma, reach);
			more = more || reach < (side + base - 1) / base;
		}
	}
}

/* Finishes each dimension before the next, so the ranks form a line. */
static void consecutive_stages(struct chunk_routing *routing, const struct algorithm *algorithm,
			       const struct grid *space, unsigned start, bool concurrent)
{
	for (unsigned dim = 0; dim < space->dims; dim++)
		for (uint32_t reach = 1; reach < space->side[dim]; reach *= 2)
			append_stage(routing, dim, 1, reach, 0);
}

static void append_doubling_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
				 unsigned sigma, uint32_t reach)
{
	append_stage(routing, dim, 1, reach, 0);
}

/* rho(s) = 1 - 2 + 4 - ... = (1 - (-2)^(s + 1)) / 3. */
static void append_swing_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
			      unsigned sigma, uint32_t reach)
{
	const int64_t power = 2 * (int64_t)reach, rho = (1 - (sigma % 2 ? power : -power)) / 3;
	append_stage(routing, dim, 1, (uint32_t)((rho % side + side) % side), 0);
}

/* Two messages a step, on two ports, as in Trivance. */
static void append_bruck_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
			      unsigned sigma, uint32_t reach)
{
	append_stage(routing, dim, 2 * reach % side ? 2 : 1, reach, 2 * reach % side);
}

/* The last distance is shorter where 3 * reach exceeds the side (arXiv 2602.17254, public code). */
static void append_trivance_step(struct chunk_routing *routing, unsigned dim, uint32_t side,
				 unsigned sigma, uint32_t reach)
{
	uint32_t distance = 3 * (uint64_t)reach >= side ? (side - reach + 1) / 2 : reach;
	append_stage(routing, dim, 2, distance, side - distance);
}

/* A ring per dimension, one after the other. With concurrent parts every dimension takes as many
 * steps as the longest one, so that no two parts use a port at the same time. A shorter dimension
 * has larger messages and sends them in slices over these steps. */
static void bucket_stages(struct chunk_routing *routing, const struct algorithm *algorithm,
			  const struct grid *space, unsigned start, bool concurrent)
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
static void direct_stages(struct chunk_routing *routing, const struct algorithm *algorithm,
			  const struct grid *space, unsigned start, bool concurrent)
{
	if (space->nodes > 1)
		append_stage(routing, 0, space->nodes - 1, 1, 2);
}

static const char *require_cycles(const struct grid *grid, enum schedule_ports ports)
{
	return grid->dims == 1 || cycles_of_torus(grid).count
		       ? NULL
		       : "ring needs one dimension, or two of sides a and b with a = k b and "
			 "gcd(a, b - 1) = 1, where a torus has two edge-disjoint Hamiltonian "
			 "cycles; bucket supports every shape";
}

static const char *require_powers_of_2(const struct grid *grid, enum schedule_ports ports)
{
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
	return grid->dims == 1 || grid_powers_of(grid, 2)
		       ? NULL
		       : "every side must be a power of 2, or there must be one dimension, where "
			 "ranks can be folded";
}

static const char *require_even_sides(const struct grid *grid, enum schedule_ports ports)
{
	for (unsigned d = 0; d < grid->dims && grid->dims > 1; d++)
		if (grid->side[d] % 2)
			return "every side must be even; one dimension supports an odd number of "
			       "ranks";
	return NULL;
}

static const char *require_powers_of_3(const struct grid *grid, enum schedule_ports ports)
{
	return grid_powers_of(grid, 3)
		       ? NULL
		       : "every side must be a power of 3, otherwise contributions are added "
			 "twice";
}

/* Messages of a step and tables grow with the square of the number of ranks. */
static const char *require_mesh(const struct grid *grid, enum schedule_ports ports)
{
	return grid->nodes <= 1024
		       ? NULL
		       : "needs a link between every two ranks, and supports up to 1024 ranks";
}

#define ANY "any"
#define CYCLES "one dimension; two, a x b with a = k b and gcd(a, b - 1) = 1"
#define POWERS "powers of 2"
#define FOLDED "powers of 2; any in one dimension, folded"
#define EVEN "even; any in one dimension"
#define THREES "powers of 3"
#define MESH "any, up to 1024 ranks"

#define INFO(name, summary, sides)                                                                 \
	{                                                                                          \
		(name), (summary), (sides)                                                         \
	}

const struct algorithm algorithm_table[] = {
	{INFO("ring",
	      "one ring; on all ports two edge-disjoint Hamiltonian rings in both directions",
	      CYCLES),
	 MOTION_SHIFT, ALGORITHM_CYCLES | ALGORITHM_MIRRORS, bucket_stages, require_cycles},
	{INFO("multi-ring",
	      "as many edge-disjoint rings as a full mesh has, both directions: "
	      "p - 1 for odd p, else p - 2",
	      MESH),
	 MOTION_SHIFT, ALGORITHM_CYCLES | ALGORITHM_MIRRORS | ALGORITHM_MESH, bucket_stages,
	 require_mesh},
	{INFO("direct", "all pairs at once, a step for each half", MESH), MOTION_SHIFT,
	 ALGORITHM_FLAT | ALGORITHM_MESH, direct_stages, require_mesh},
	{INFO("bucket", "a ring in each dimension, one after the other", ANY), MOTION_SHIFT,
	 ALGORITHM_ROTATES | ALGORITHM_MIRRORS, bucket_stages},
	{INFO("rd-l", "recursive doubling, whole vectors: latency", FOLDED), MOTION_XOR,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_FOLDS, interleaved_stages, require_foldable, 2,
	 append_doubling_step},
	{INFO("rd-b", "recursive doubling, halves of halves: bandwidth", POWERS), MOTION_XOR, 0,
	 interleaved_stages, require_powers_of_2, 2, append_doubling_step},
	{INFO("rd-mirrored", "rd-b plain and mirrored in every dimension", POWERS), MOTION_XOR,
	 ALGORITHM_ROTATES | ALGORITHM_MIRRORS, interleaved_stages, require_all_ports, 2,
	 append_doubling_step},
	{INFO("rabenseifner", "halving and doubling over the ranks as a line, folded", ANY),
	 MOTION_XOR, ALGORITHM_FLAT | ALGORITHM_FOLDS, consecutive_stages},
	{INFO("swing-l", "Swing, whole vectors: latency", FOLDED), MOTION_SWING,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_FOLDS | ALGORITHM_ROTATES | ALGORITHM_MIRRORS,
	 interleaved_stages, require_foldable, 2, append_swing_step},
	{INFO("swing-b", "Swing, halves of halves: bandwidth", EVEN), MOTION_SWING,
	 ALGORITHM_SPARE_RANK | ALGORITHM_ROTATES | ALGORITHM_MIRRORS, interleaved_stages,
	 require_even_sides, 2, append_swing_step},
	{INFO("bruck", "Bruck with radix 3, thirds of thirds", ANY), MOTION_SHIFT,
	 ALGORITHM_ROTATES, interleaved_stages, NULL, 3, append_bruck_step},
	{INFO("trivance", "Trivance, both neighbours at 3^k, thirds of thirds", ANY), MOTION_SHIFT,
	 ALGORITHM_ROTATES, interleaved_stages, NULL, 3, append_trivance_step},
	{INFO("bine", "the butterfly of Bine trees over the ranks as a line", ANY), MOTION_SWING,
	 ALGORITHM_FLAT | ALGORITHM_SPARE_RANK, interleaved_stages, NULL, 2, append_swing_step},
	{INFO("bruck-l", "Bruck, whole vectors: latency", THREES), MOTION_SHIFT,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_ROTATES, interleaved_stages, require_powers_of_3, 3,
	 append_bruck_step},
	{INFO("trivance-l", "Trivance, whole vectors: latency", THREES), MOTION_SHIFT,
	 ALGORITHM_WHOLE_VECTOR | ALGORITHM_ROTATES, interleaved_stages, require_powers_of_3, 3,
	 append_trivance_step},
	{{NULL}}};
