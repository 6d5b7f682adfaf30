/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FiCCO's schedules (overlap/ficco/decomposition.h) against the paper's counts of GEMMs and
 * messages, and against its model of links.
 */
#include "tests/unit/overlap/ficco_plans.h"

/* ------------------------------------------------------------------ the paper's counts */

/* Counts of the paper for each schedule. A new schedule adds a row. */
static void check_counts(const struct ficco_plan *p)
{
	uint64_t g = p->problem.devices;
	const struct {
		uint64_t gemms;    /* of a device */
		uint64_t messages; /* from a device to one peer */
		uint64_t steps;
	} expected[FICCO_SCHEDULES] = {
		[FICCO_SERIAL] = {1, 1, 1},
		[FICCO_SHARD] = {g, 1, g - 1},
		[FICCO_UNIFORM_FUSED_1D] = {g, g, g},
		[FICCO_HETERO_FUSED_1D] = {g + 1, g, g},
		[FICCO_HETERO_UNFUSED_1D] = {g * (g - 1) + 1, g, g},
		[FICCO_UNIFORM_FUSED_2D] = {g, g, g},
	};
	bool sums = ficco_sums(p->problem.op),
	     one_link = ficco_schedule_rules[p->schedule].one_link;
	expect(p->piece_count == g * expected[p->schedule].gemms);
	expect(p->transfer_count == g * (g - 1) * expected[p->schedule].messages);
	expect(p->steps == expected[p->schedule].steps);
	expect(p->reduction_count == (sums ? p->transfer_count : 0));
	expect(p->return_count == (p->problem.op == FICCO_GEMM_AR ? p->transfer_count : 0));
	uint64_t *in_step = calloc(p->steps, sizeof(*in_step));
	require(in_step);
	for (size_t i = 0; i < p->transfer_count; i++)
		in_step[p->transfers[i].step]++;
	for (uint32_t step = 0; step < p->steps; step++)
		expect(in_step[step] == g * (one_link ? 1 : g - 1));
	free(in_step);
}

static void gemms_and_messages_are_counted(void) { for_all_plans(check_counts); }

/* ------------------------------------------------------------------ the model of links */

/* Time of all steps, one after the other. Within a step all links work at once, and the one with
 * the most data decides. On a mesh every pair has a link; behind a switch a device has one link in
 * and one link out, as wide as all of its mesh links together. */
static double link_time(const struct ficco_plan *p, bool mesh)
{
	double total = 0.0, links = p->problem.devices - 1;
	for (uint32_t step = 0; step < p->steps; step++) {
		double in[MAX_DEVICES] = {0}, out[MAX_DEVICES] = {0},
		       pair[MAX_DEVICES][MAX_DEVICES] = {{0}}, longest = 0.0;
		for (size_t i = 0; i < p->transfer_count; i++) {
			const struct ficco_transfer *t = &p->transfers[i];
			if (t->step != step)
				continue;
			double size = (double)t->count;
			pair[t->from][t->to] += size;
			in[t->to] += size / links;
			out[t->from] += size / links;
			double link = mesh ? pair[t->from][t->to] : fmax(in[t->to], out[t->from]);
			longest = fmax(longest, link);
		}
		total += longest;
	}
	return total;
}

static void topology_decides_the_cost_of_one_link_at_a_time(void)
{
	for (uint32_t g = 2; g <= MAX_DEVICES; g++) {
		struct ficco_problem o = {FICCO_AG_GEMM, g, g * g * 3, 16, g * 5, 1};
		struct ficco_plan *direct, *shard;
		require(ficco_plan_open(&o, FICCO_SERIAL, &direct) == 0 &&
			ficco_plan_open(&o, FICCO_SHARD, &shard) == 0);
		double shard_size = (double)o.m / g * o.k;
		expect_near(link_time(direct, true), shard_size, 0);
		expect_near(link_time(shard, true), (g - 1) * shard_size, 0);
		for (unsigned s = FICCO_SHARD; s < FICCO_SCHEDULES; s++) {
			struct ficco_plan *ficco;
			if (ficco_schedule_rules[s].one_link)
				continue;
			require(ficco_plan_open(&o, (enum ficco_schedule)s, &ficco) == 0);
			expect_near(link_time(ficco, true), shard_size, 0);
			expect_near(link_time(shard, true) / link_time(ficco, true), g - 1, 0);
			expect_near(link_time(shard, false) / link_time(ficco, false), 1, 1e-12);
			ficco_plan_close(ficco);
		}
		ficco_plan_close(direct);
		ficco_plan_close(shard);
	}
}

int main(void)
{
	test(gemms_and_messages_are_counted);
	test(topology_decides_the_cost_of_one_link_at_a_time);
	return test_done();
}
