/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/trigger/traffic.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

enum { MOST = TRAFFIC_MOST_GPUS };

/* Of each GPU and chunk: whose parts are in what lies there, how many updates it has had, and how often it was handed on. */
struct play {
	uint32_t gpus;
	struct rng *rng;
	struct traffic *count;
	uint64_t parts[MOST][MOST];
	uint8_t updates[MOST][MOST], handed[MOST][MOST];
	uint32_t made[MOST], step[MOST];
};

static uint64_t bit(uint32_t gpu) { return UINT64_C(1) << gpu; }

/* The parts of a chunk that a GPU hands on are those of all from its beginning, at chunk-1, down to this GPU. */
static uint64_t parts_due(const struct play *p, uint32_t gpu, uint32_t chunk)
{
	uint64_t due = 0;
	for (uint32_t at = (chunk + p->gpus - 1) % p->gpus;; at = (at + p->gpus - 1) % p->gpus) {
		due |= bit(at);
		if (at == gpu)
			return due;
	}
}

static void update(struct play *p, uint32_t gpu, uint32_t chunk, uint64_t parts)
{
	p->count[gpu].again += (p->parts[gpu][chunk] & parts) != 0;
	p->parts[gpu][chunk] |= parts;
	p->updates[gpu][chunk]++;
	p->count[gpu].writes++;
}

static void hand_on(struct play *p, uint32_t gpu, uint32_t chunk, uint64_t parts)
{
	struct traffic *count = &p->count[gpu];
	count->early += parts != parts_due(p, gpu, chunk);
	count->again += p->handed[gpu][chunk]++ > 0;
	count->crossed++;
	update(p, (gpu + p->gpus - 1) % p->gpus, chunk, parts);
}

static void keep(struct play *p, uint32_t gpu, uint64_t parts)
{
	p->count[gpu].kept += parts == parts_due(p, gpu, gpu);
	p->handed[gpu][gpu]++;
}

/* ------------------------------------------------------------------ sequential */

/* Products are over when this begins. What came in lies in a buffer of its own: `parts` of a chunk is that. */
static bool sequential_step(struct play *p, uint32_t gpu)
{
	struct traffic *count = &p->count[gpu];
	uint32_t step = p->step[gpu], chunk = (gpu + 1 + step) % p->gpus;
	if (step == p->gpus || (step > 0 && p->updates[gpu][chunk] == 0))
		return false;
	uint64_t parts = p->parts[gpu][chunk] | bit(gpu);
	count->reads += step > 0 ? 2 : 1;
	p->step[gpu]++;
	if (chunk == gpu) {
		count->writes++;
		keep(p, gpu, parts);
	} else {
		count->by_dma++;
		hand_on(p, gpu, chunk, parts);
	}
	return true;
}

/* ------------------------------------------------------------------ T3 */

static bool make_next(struct play *p, uint32_t gpu)
{
	uint32_t stage = p->made[gpu], chunk = (gpu + 1 + stage) % p->gpus;
	if (stage == p->gpus)
		return false;
	p->made[gpu]++;
	if (stage == 0) {
		p->count[gpu].by_store++;
		hand_on(p, gpu, chunk, bit(gpu));
	} else {
		update(p, gpu, chunk, bit(gpu));
	}
	return true;
}

/* The tracker: some chunk that has its updates and was not handed on. */
static bool hand_on_next(struct play *p, uint32_t gpu)
{
	uint32_t from = (uint32_t)rng_below(p->rng, p->gpus);
	for (uint32_t i = 0; i < p->gpus; i++) {
		uint32_t chunk = (from + i) % p->gpus;
		if (p->updates[gpu][chunk] < 2 || p->handed[gpu][chunk])
			continue;
		if (chunk == gpu) {
			keep(p, gpu, p->parts[gpu][chunk]);
		} else {
			p->count[gpu].reads++;
			p->count[gpu].by_dma++;
			hand_on(p, gpu, chunk, p->parts[gpu][chunk]);
		}
		return true;
	}
	return false;
}

static bool t3_step(struct play *p, uint32_t gpu)
{
	return rng_below(p->rng, 2) ? make_next(p, gpu) || hand_on_next(p, gpu) : hand_on_next(p, gpu) || make_next(p, gpu);
}

int traffic_count(enum traffic_way way, uint32_t gpus, struct rng *rng, struct traffic *count)
{
	struct play p = {.gpus = gpus, .rng = rng, .count = count};
	if (gpus < 2 || gpus > MOST)
		return err_note(-EINVAL, "a ring of %u GPUs: 2 to %d can be counted", gpus, MOST);
	memset(count, 0, gpus * sizeof(*count));
	for (uint32_t gpu = 0; way == TRAFFIC_SEQUENTIAL && gpu < gpus; gpu++)
		count[gpu].writes = gpus;
	/* Some GPUs in any order; when none of them could do anything, all of them. */
	for (bool moved = true, all = false; moved || !all;) {
		uint32_t order[MOST];
		rng_shuffle(rng, order, gpus);
		all = !moved;
		uint32_t some = all ? gpus : 1 + (uint32_t)rng_below(rng, gpus);
		moved = false;
		for (uint32_t i = 0; i < some; i++)
			moved = (way == TRAFFIC_T3 ? t3_step(&p, order[i]) : sequential_step(&p, order[i])) || moved;
	}
	return 0;
}
