/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selection of rounds by placement. A hypervisor moves the processors of a virtual machine while
 * they are measured: between siblings of a core, cores of one cache and cores of two, where they
 * take several times as long to communicate. Core-to-core latency, probed between rounds, tells
 * where they are. Rounds during which it changed are dropped; of the others, those of the commonest
 * placement count.
 */
#include "bench/sampling/samples.h"
#include "lib/clock.h"
#include "lib/core_latency.h"

#include <math.h>
#include <string.h>

/* A probe takes 0.2 to 0.5 ms for two cores, and eight times as long for many: a fiftieth of the
 * time, but not oftener than a hypervisor looks for a better place. */
#define PROBE_EVERY_NS 15000000u
#define PROBES_SHARE 50u
#define PROBE_BATCHES 5u
#define MOVED UINT8_MAX

static bool is_within(double a, double b) { return fmax(a, b) <= CORE_LATENCY_LEVEL * fmin(a, b); }

/* The index of the level of this latency. Beyond the last one, what is near to none is of the
 * last. */
static uint8_t find_level(struct bench_placement *p, double seconds)
{
	uint8_t i = 0;
	while (i < p->level_count && !is_within(p->levels[i].latency_s, seconds))
		i++;
	if (i == BENCH_LEVELS)
		return BENCH_LEVELS - 1;
	if (i == p->level_count)
		p->levels[p->level_count++].latency_s = seconds;
	return i;
}

/* For a job its own processes measure, because they keep their cores busy while they wait. */
static int measure_latency(const struct bench_run *r, double *seconds_p)
{
	return r->b->job ? r->b->job->core_latency(PROBE_BATCHES, seconds_p)
			 : core_latency_mean(PROBE_BATCHES, seconds_p);
}

static void take_probe(struct bench_run *r)
{
	struct bench_placement *p = &r->sampling->placement;
	const uint64_t start = clock_ns();
	double seconds;
	if (measure_latency(r, &seconds) != 0) {
		p->probed = false;
		return;
	}
	p->now = find_level(p, seconds);
	p->low_s = p->probes ? fmin(p->low_s, seconds) : seconds;
	p->high_s = p->probes ? fmax(p->high_s, seconds) : seconds;
	p->probes++;
	p->probed_ns = clock_ns();
	p->every_ns = PROBES_SHARE * (p->probed_ns - start);
	if (p->every_ns < PROBE_EVERY_NS)
		p->every_ns = PROBE_EVERY_NS;
}

/* If the host's cores are not the device, there is one level and no probe. */
void bench_placement_begin(struct bench_run *r)
{
	struct bench_placement *p = &r->sampling->placement;
	p->probed = dev_can(r->c.dev, DEV_CAP_HOST_ACCESS) && !bench_virtual(r) &&
		    r->o.check != BENCH_CHECK_EVERY;
	if (p->probed)
		take_probe(r);
	if (!p->probed)
		p->level_count = 1;
}

static void look_again(struct bench_run *r, uint32_t rounds)
{
	struct bench_placement *p = &r->sampling->placement;
	const uint8_t before = p->now;
	take_probe(r);
	if (p->now != before) {
		for (uint32_t i = p->since; i < rounds; i++)
			p->of_round[i] = MOVED;
		p->levels[before].rounds -= rounds - p->since;
	}
	p->since = rounds;
}

void bench_placement_round(struct bench_run *r, uint32_t round)
{
	struct bench_placement *p = &r->sampling->placement;
	p->of_round[round] = p->now;
	p->levels[p->now].rounds++;
	if (p->probed && clock_ns() - p->probed_ns >= p->every_ns)
		look_again(r, round + 1);
}

static uint8_t commonest_level(const struct bench_placement *p)
{
	uint8_t best = 0;
	for (uint8_t i = 1; i < p->level_count; i++)
		if (p->levels[i].rounds > p->levels[best].rounds)
			best = i;
	return best;
}

uint32_t bench_placement_kept(const struct bench_run *r)
{
	const struct bench_placement *p = &r->sampling->placement;
	return p->levels[commonest_level(p)].rounds;
}

uint32_t bench_placement_gather(const struct bench_run *r, const double *of_rounds, uint32_t rounds,
				double *kept)
{
	const struct bench_placement *p = &r->sampling->placement;
	const uint8_t level = commonest_level(p);
	uint32_t count = 0;
	for (uint32_t i = 0; i < rounds; i++)
		if (p->of_round[i] == level)
			kept[count++] = of_rounds[i];
	return count;
}

static void leave_out_others(struct bench_run *r, uint32_t rounds)
{
	const struct bench_placement *p = &r->sampling->placement;
	const uint8_t level = commonest_level(p);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < rounds; i++) {
		if (p->of_round[i] != level)
			continue;
		for (size_t v = 0; v < r->variant_count; v++) {
			struct bench_samples *s = &r->sampling->samples[v];
			s->seconds[kept] = s->seconds[i];
			s->waited[kept] = s->waited[i];
		}
		kept++;
	}
}

uint32_t bench_placement_end(struct bench_run *r, uint32_t rounds)
{
	struct bench_placement *p = &r->sampling->placement;
	if (p->probed && p->since < rounds)
		look_again(r, rounds);
	uint32_t kept = bench_placement_kept(r);
	p->latency_s = p->probes ? p->levels[commonest_level(p)].latency_s : NAN;
	p->scattered = kept < rounds && kept < BENCH_LEAST_SAMPLES;
	if (p->scattered)
		kept = rounds;
	else if (kept < rounds)
		leave_out_others(r, rounds);
	p->left_out = rounds - kept;
	/* All that is left counts. */
	memset(p->of_round, 0, kept);
	p->levels[0].rounds = kept;
	p->level_count = 1;
	return kept;
}
