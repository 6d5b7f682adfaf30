/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the last-level cache holds, for models with `llc_tracked`: the ranges of own memory that
 * were used last, as many whole ones as fit.
 */
#include "device/sim/sim_engine.h"

#include <string.h>

static uint64_t overlap_bytes(const struct sim_range *r, const char *at, uint64_t bytes)
{
	const char *from = r->at > at ? r->at : at,
		   *to = r->at + r->bytes < at + bytes ? r->at + r->bytes : at + bytes;
	return to > from ? (uint64_t)(to - from) : 0;
}

/* Ranges do not overlap each other. */
static bool cache_holds(const struct sim_dev *d, const char *at, uint64_t bytes)
{
	uint64_t left = d->model.llc_bytes, found = 0;
	for (size_t i = 0; i < d->cached_count && d->cached[i].bytes <= left; i++) {
		left -= d->cached[i].bytes;
		found += overlap_bytes(&d->cached[i], at, bytes);
	}
	return found == bytes;
}

/* Beyond the limit the oldest range is forgotten. */
static void insert_range(struct sim_dev *d, size_t at, const char *start, uint64_t bytes)
{
	if (bytes == 0)
		return;
	size_t moved = d->cached_count - at;
	if (d->cached_count == SIM_CACHED)
		moved -= moved > 0;
	else
		d->cached_count++;
	memmove(d->cached + at + 1, d->cached + at, moved * sizeof(*d->cached));
	d->cached[at] = (struct sim_range){start, bytes};
}

/* What is left of a range before and after stays where it is in the order. */
void sim_cache_forget(struct sim_dev *d, const char *at, uint64_t bytes)
{
	for (size_t i = d->cached_count; i-- > 0;) {
		const struct sim_range r = d->cached[i];
		if (overlap_bytes(&r, at, bytes) == 0)
			continue;
		d->cached_count--;
		memmove(d->cached + i, d->cached + i + 1,
			(d->cached_count - i) * sizeof(*d->cached));
		if (r.at + r.bytes > at + bytes)
			insert_range(d, i, at + bytes, (uint64_t)(r.at + r.bytes - at) - bytes);
		if (r.at < at)
			insert_range(d, i, r.at, (uint64_t)(at - r.at));
	}
}

void sim_cache_start(struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	bool missing[OP_USES] = {false}, any = false;
	if (!d->model.llc_tracked)
		return;
	for (unsigned i = 0; i < op->uses; i++) {
		bool own = op->use[i]->dev == d && op->use[i]->kind == DEV_MEM_DEVICE;
		missing[i] = own && !cache_holds(d, op->range[i].at, op->range[i].bytes);
		any = any || missing[i];
	}
	if (op->tiles)
		sim_gemm_refill(op, missing);
	for (unsigned i = 0; any && !op->tiles && i < op->traffics; i++)
		op->traffic[i].path = PATH_MEMORY;
	for (unsigned i = 0; i < op->uses; i++) {
		if (op->use[i]->dev != d || op->use[i]->kind != DEV_MEM_DEVICE)
			continue;
		sim_cache_forget(d, op->range[i].at, op->range[i].bytes);
		insert_range(d, 0, op->range[i].at, op->range[i].bytes);
	}
}
