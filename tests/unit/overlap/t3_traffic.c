/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The counted traffic of a ring reduce-scatter, sequential and with T3, equals the closed forms
 * exactly in every order of events; no chunk is forwarded early or twice, and every chunk ends at
 * its owner with all parts.
 */
#include "overlap/trigger/t3_traffic.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { ORDERS = 20 };

static struct t3_traffic counts[T3_TRAFFIC_MAX_GPUS];

static void count_traffic(enum t3_traffic_design design, uint32_t gpus, uint64_t seed)
{
	struct rng rng;
	rng_seed(&rng, seed, gpus);
	memset(counts, 0xff, sizeof(counts));
	require(t3_traffic_count(design, gpus, &rng, counts) == 0);
}

/* In units of n / N: (2N-1)/N n is 2N-1 chunks. */
static void sequential_is_its_formula(void)
{
	for (uint32_t n = 2; n <= T3_TRAFFIC_MAX_GPUS; n++) {
		count_traffic(T3_TRAFFIC_SEQUENTIAL, n, n);
		for (uint32_t gpu = 0; gpu < n; gpu++) {
			const struct t3_traffic *c = &counts[gpu];
			expect(c->reads == 2 * n - 1 && c->writes == 2 * n);
			expect(c->by_store == 0 && c->by_dma == n - 1 && c->over_link == n - 1);
			expect(c->kept == 1 && c->early == 0 && c->repeated == 0);
		}
	}
}

static void t3_is_its_formula(void)
{
	for (uint32_t n = 3; n <= T3_TRAFFIC_MAX_GPUS; n++) {
		for (uint64_t order = 0; order < ORDERS; order++) {
			count_traffic(T3_TRAFFIC_T3, n, order);
			for (uint32_t gpu = 0; gpu < n; gpu++) {
				const struct t3_traffic *c = &counts[gpu];
				expect(c->reads == n - 2 && c->writes == 2 * (n - 1));
				expect(c->by_store == 1 && c->by_dma == n - 2 &&
				       c->over_link == n - 1);
				expect(c->kept == 1 && c->early == 0 && c->repeated == 0);
			}
		}
	}
}

/* T3 saves (N+1)/N n of reads and never moves more. */
static void t3_saves_reads_and_writes(void)
{
	for (uint32_t n = 3; n <= T3_TRAFFIC_MAX_GPUS; n++) {
		count_traffic(T3_TRAFFIC_SEQUENTIAL, n, 1);
		const struct t3_traffic sequential = counts[n - 1];
		count_traffic(T3_TRAFFIC_T3, n, 1);
		expect(sequential.reads - counts[n - 1].reads == n + 1);
		expect(counts[n - 1].reads < sequential.reads &&
		       counts[n - 1].writes < sequential.writes);
		expect(counts[n - 1].over_link == sequential.over_link);
	}
}

/* The paper's geometric means: reads 2.5 and 2.2 times fewer on 8 and 16 GPUs. */
static void the_papers_ratios(void)
{
	static const struct {
		uint32_t gpus;
		double reads, writes;
	} paper[] = {{8, 2.5, 0.875}, {16, 2.21, 0.9375}};
	for (size_t i = 0; i < 2; i++) {
		count_traffic(T3_TRAFFIC_SEQUENTIAL, paper[i].gpus, 5);
		const struct t3_traffic sequential = counts[0];
		count_traffic(T3_TRAFFIC_T3, paper[i].gpus, 5);
		expect_near((double)sequential.reads / counts[0].reads, paper[i].reads, 0.005);
		expect_near((double)counts[0].writes / sequential.writes, paper[i].writes, 1e-12);
	}
}

static void other_rings_are_refused(void)
{
	struct rng rng;
	rng_seed(&rng, 1, 1);
	expect(t3_traffic_count(T3_TRAFFIC_T3, 1, &rng, counts) == -EINVAL);
	expect(t3_traffic_count(T3_TRAFFIC_T3, T3_TRAFFIC_MAX_GPUS + 1, &rng, counts) == -EINVAL);
	expect(strstr(err_text(), "65") != NULL);
}

int main(void)
{
	test(sequential_is_its_formula);
	test(t3_is_its_formula);
	test(t3_saves_reads_and_writes);
	test(the_papers_ratios);
	test(other_rings_are_refused);
	return test_done();
}
