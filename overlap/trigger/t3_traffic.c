/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/t3_traffic.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

enum { MAX_GPUS = T3_TRAFFIC_MAX_GPUS };

/* State of each GPU and chunk: whose parts it contains (bit mask), how many updates it had, and how
 * often it was forwarded. */
struct ring {
	uint32_t gpus;
	struct rng *rng;
	struct t3_traffic *count;
	uint64_t parts[MAX_GPUS][MAX_GPUS];
	uint8_t updates[MAX_GPUS][MAX_GPUS], forwarded[MAX_GPUS][MAX_GPUS];
	uint32_t produced[MAX_GPUS], step[MAX_GPUS];
};

static uint64_t gpu_bit(uint32_t gpu) { return UINT64_C(1) << gpu; }

/* A chunk starts at GPU chunk-1; a GPU forwards the parts of all GPUs from there down to itself. */
static uint64_t expected_parts(const struct ring *p, uint32_t gpu, uint32_t chunk)
{
	uint64_t parts = 0;
	for (uint32_t at = (chunk + p->gpus - 1) % p->gpus;; at = (at + p->gpus - 1) % p->gpus) {
		parts |= gpu_bit(at);
		if (at == gpu)
			return parts;
	}
}

static void apply_update(struct ring *p, uint32_t gpu, uint32_t chunk, uint64_t parts)
{
	p->count[gpu].repeated += (p->parts[gpu][chunk] & parts) != 0;
	p->parts[gpu][chunk] |= parts;
	p->updates[gpu][chunk]++;
	p->count[gpu].writes++;
}

static void forward_chunk(struct ring *p, uint32_t gpu, uint32_t chunk, uint64_t parts)
{
	struct t3_traffic *count = &p->count[gpu];
	count->early += parts != expected_parts(p, gpu, chunk);
	count->repeated += p->forwarded[gpu][chunk]++ > 0;
	count->over_link++;
	apply_update(p, (gpu + p->gpus - 1) % p->gpus, chunk, parts);
}

static void keep_chunk(struct ring *p, uint32_t gpu, uint64_t parts)
{
	p->count[gpu].kept += parts == expected_parts(p, gpu, gpu);
	p->forwarded[gpu][gpu]++;
}

/* ------------------------------------------------------------------ sequential */

/* GEMMs are finished before. What a GPU receives is in a buffer of its own, which `parts` of a
 * chunk describes. */
static bool sequential_step(struct ring *p, uint32_t gpu)
{
	struct t3_traffic *count = &p->count[gpu];
	uint32_t step = p->step[gpu], chunk = (gpu + 1 + step) % p->gpus;
	if (step == p->gpus || (step > 0 && p->updates[gpu][chunk] == 0))
		return false;
	uint64_t parts = p->parts[gpu][chunk] | gpu_bit(gpu);
	count->reads += step > 0 ? 2 : 1;
	p->step[gpu]++;
	if (chunk == gpu) {
		count->writes++;
		keep_chunk(p, gpu, parts);
	} else {
		count->by_dma++;
		forward_chunk(p, gpu, chunk, parts);
	}
	return true;
}

/* ------------------------------------------------------------------ T3 */

static bool produce_next(struct ring *p, uint32_t gpu)
{
	uint32_t stage = p->produced[gpu], chunk = (gpu + 1 + stage) % p->gpus;
	if (stage == p->gpus)
		return false;
	p->produced[gpu]++;
	if (stage == 0) {
		p->count[gpu].by_store++;
		forward_chunk(p, gpu, chunk, gpu_bit(gpu));
	} else {
		apply_update(p, gpu, chunk, gpu_bit(gpu));
	}
	return true;
}

/* The tracker: forwards some chunk that has both updates and was not forwarded. */
static bool forward_next(struct ring *p, uint32_t gpu)
{
	uint32_t from = (uint32_t)rng_below(p->rng, p->gpus);
	for (uint32_t i = 0; i < p->gpus; i++) {
		uint32_t chunk = (from + i) % p->gpus;
		if (p->updates[gpu][chunk] < 2 || p->forwarded[gpu][chunk])
			continue;
		if (chunk == gpu) {
			keep_chunk(p, gpu, p->parts[gpu][chunk]);
		} else {
			p->count[gpu].reads++;
			p->count[gpu].by_dma++;
			forward_chunk(p, gpu, chunk, p->parts[gpu][chunk]);
		}
		return true;
	}
	return false;
}

static bool t3_step(struct ring *p, uint32_t gpu)
{
	return rng_below(p->rng, 2) ? produce_next(p, gpu) || forward_next(p, gpu)
				    : forward_next(p, gpu) || produce_next(p, gpu);
}

int t3_traffic_count(enum t3_traffic_design design, uint32_t gpus, struct rng *rng,
		     struct t3_traffic *count)
{
	struct ring p = {.gpus = gpus, .rng = rng, .count = count};
	if (gpus < 2 || gpus > MAX_GPUS)
		return err_note(-EINVAL, "a ring of %u GPUs: must be 2 to %d", gpus, MAX_GPUS);
	memset(count, 0, gpus * sizeof(*count));
	for (uint32_t gpu = 0; design == T3_TRAFFIC_SEQUENTIAL && gpu < gpus; gpu++)
		count[gpu].writes = gpus;
	/* Tries some GPUs in random order; when none can make progress, all of them. */
	for (bool moved = true, all = false; moved || !all;) {
		uint32_t order[MAX_GPUS];
		rng_shuffle(rng, order, gpus);
		all = !moved;
		uint32_t some = all ? gpus : 1 + (uint32_t)rng_below(rng, gpus);
		moved = false;
		for (uint32_t i = 0; i < some; i++)
			moved = (design == T3_TRAFFIC_T3 ? t3_step(&p, order[i])
							 : sequential_step(&p, order[i])) ||
				moved;
	}
	return 0;
}
