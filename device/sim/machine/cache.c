/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last-level caches of models with `llc_tracked`: which bytes they hold, and what passes memory
 * because of it. Its ranges do not overlap.
 *
 * CACHE, with llc_tracked = 1. The last-level cache of a device holds the llc_bytes of the device's
 * memory that were used last, in at most 512 ranges; what was used first goes first, a range from
 * its start. An operation uses it when it starts: what it reads, then what it writes, each in the
 * order of its arguments (a GEMM: A, B, C), each array as one range; a matrix takes the gaps
 * between its rows along. What counts as no traffic (results, flags, the ring of a chase) does not
 * use it.
 *
 *   read      all bytes pass the cache, and those that are missing memory, too, once for all
 *             repetitions
 *   write     all bytes pass the cache, and none is read from memory. llc_writes = back: they are
 *             dirty, and pass memory with the operation that evicts them. llc_writes = through:
 *             they pass memory at once
 *   too much  An operation whose arrays in this cache have more than llc_bytes finds nothing: in
 *             every repetition all that it reads and writes passes memory, too. With llc_writes =
 *             back, what it leaves dirty passes later, and what was dirty before passes now. But of
 *             a GEMM A, B and C pass a few times, below
 *   "_nt"     bytes pass memory instead of the cache. What is dirty of a range that is read passes
 *             memory first and stays in the cache, clean; of a range that is written the cache
 *             forgets all
 *
 * engine_cache = bypass: copies and fills, with and without engines, pass every cache by as "_nt",
 * and so do kernels and GEMMs that of a peer. engine_cache = through: they use the cache of the
 * device whose memory it is, at its llc_bandwidth. dev_free() and dev_reseed() forget, without
 * traffic.
 */
#include "device/sim/machine/cache.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/gemm.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"

#include <math.h>
#include <string.h>

/* Bytes that one operation moves between a cache and its memory, beyond those it asks for. */
struct exchange {
	struct sim_dev *d;
	double read, written;
};

static const char *end_of(const struct sim_cached *r) { return r->at + r->bytes; }

static uint64_t overlap_bytes(const struct sim_cached *r, const char *at, uint64_t bytes)
{
	const char *from = r->at > at ? r->at : at,
		   *to = end_of(r) < at + bytes ? end_of(r) : at + bytes;
	return to > from ? (uint64_t)(to - from) : 0;
}

/* ------------------------------------------------------------------ ranges */

static void remove_oldest(struct sim_dev *d, size_t count)
{
	d->cache.count -= count;
	memmove(d->cache.at, d->cache.at + count, d->cache.count * sizeof(*d->cache.at));
}

static void evict_down_to(struct exchange *x, uint64_t limit_bytes)
{
	struct sim_dev *d = x->d;
	size_t gone = 0;
	while (d->cache.bytes > limit_bytes) {
		struct sim_cached *oldest = &d->cache.at[gone];
		uint64_t bytes = d->cache.bytes - limit_bytes;
		if (bytes >= oldest->bytes) {
			bytes = oldest->bytes;
			gone++;
		}
		if (oldest->dirty)
			x->written += (double)bytes;
		oldest->at += bytes;
		oldest->bytes -= bytes;
		d->cache.bytes -= bytes;
	}
	if (gone)
		remove_oldest(d, gone);
}

static void keep_ranges(struct exchange *x, size_t most)
{
	while (x->d->cache.count > most)
		evict_down_to(x, x->d->cache.bytes - x->d->cache.at[0].bytes);
}

static void insert_range(struct sim_dev *d, size_t i, struct sim_cached r)
{
	memmove(d->cache.at + i + 1, d->cache.at + i, (d->cache.count - i) * sizeof(*d->cache.at));
	d->cache.at[i] = r;
	d->cache.count++;
}

/* The range is not there. It extends the latest one if it continues that. */
static void append_range(struct exchange *x, const char *at, uint64_t bytes, bool dirty)
{
	struct sim_dev *d = x->d;
	if (bytes == 0)
		return;
	struct sim_cached *latest = d->cache.count ? &d->cache.at[d->cache.count - 1] : NULL;
	if (latest && end_of(latest) == at && latest->dirty == dirty) {
		latest->bytes += bytes;
	} else {
		keep_ranges(x, SIM_CACHED - 1);
		d->cache.at[d->cache.count++] = (struct sim_cached){at, bytes, dirty};
	}
	d->cache.bytes += bytes;
}

/* Dirty parts of a range, by address. */
struct parts {
	struct sim_cached at[SIM_CACHED + SIM_CACHED_SPARE];
	size_t count;
};

static void add_part(struct parts *parts, const char *at, uint64_t bytes)
{
	size_t i = parts->count++;
	for (; i > 0 && parts->at[i - 1].at > at; i--)
		parts->at[i] = parts->at[i - 1];
	parts->at[i] = (struct sim_cached){at, bytes, true};
}

/* Remove a range; the parts before and after it keep their place in the order. Returns how many
 * bytes were there; `dirty` may be NULL. */
static uint64_t take_out(struct sim_dev *d, const char *at, uint64_t bytes, struct parts *dirty)
{
	uint64_t found = 0;
	size_t keep = 0;
	for (size_t i = 0; i < d->cache.count; i++) {
		const struct sim_cached r = d->cache.at[i];
		const uint64_t overlap = overlap_bytes(&r, at, bytes);
		if (overlap == 0) {
			d->cache.at[keep++] = r;
			continue;
		}
		found += overlap;
		if (dirty && r.dirty)
			add_part(dirty, r.at > at ? r.at : at, overlap);
		const bool before = at > r.at;
		const bool after = end_of(&r) > at + bytes;
		/* Then no other range overlaps, and nothing was removed. */
		if (before && after)
			insert_range(d, ++i, r);
		if (before)
			d->cache.at[keep++] =
				(struct sim_cached){r.at, (uint64_t)(at - r.at), r.dirty};
		if (after)
			d->cache.at[keep++] = (struct sim_cached){
				at + bytes, (uint64_t)(end_of(&r) - at) - bytes, r.dirty};
	}
	d->cache.count = keep;
	d->cache.bytes -= found;
	return found;
}

void sim_cache_forget(struct sim_dev *d, const char *at, uint64_t bytes)
{
	struct exchange lost = {.d = d};
	if (d->cache.count == 0)
		return;
	take_out(d, at, bytes, NULL);
	keep_ranges(&lost, SIM_CACHED);
}

/* ------------------------------------------------------------------ uses */

static void use_read(struct exchange *x, const struct sim_range *r)
{
	struct parts dirty;
	dirty.count = 0;
	const char *at = r->at;
	x->read += (double)(r->bytes - take_out(x->d, r->at, r->bytes, &dirty));
	for (size_t i = 0; i < dirty.count; i++) {
		append_range(x, at, (uint64_t)(dirty.at[i].at - at), false);
		append_range(x, dirty.at[i].at, dirty.at[i].bytes, true);
		at = end_of(&dirty.at[i]);
	}
	append_range(x, at, (uint64_t)(r->at + r->bytes - at), false);
}

static void use_write(struct exchange *x, const struct sim_range *r)
{
	take_out(x->d, r->at, r->bytes, NULL);
	append_range(x, r->at, r->bytes, !x->d->model.llc_writes);
}

/* Write the dirty parts of a range back; they keep their place in the order. */
static void write_back(struct exchange *x, const struct sim_range *range)
{
	struct sim_dev *d = x->d;
	for (size_t i = 0; i < d->cache.count; i++) {
		const struct sim_cached r = d->cache.at[i];
		const uint64_t overlap = r.dirty ? overlap_bytes(&r, range->at, range->bytes) : 0;
		if (overlap == 0)
			continue;
		const char *from = r.at > range->at ? r.at : range->at, *to = from + overlap;
		x->written += (double)overlap;
		d->cache.at[i] = (struct sim_cached){from, overlap, false};
		if (end_of(&r) > to)
			insert_range(d, i + 1,
				     (struct sim_cached){to, (uint64_t)(end_of(&r) - to), true});
		if (r.at < from)
			insert_range(d, i++,
				     (struct sim_cached){r.at, (uint64_t)(from - r.at), true});
	}
}

/* ------------------------------------------------------------------ operations */

static struct sim_dev *cache_before(const struct alloc *a)
{
	return a->kind == DEV_MEM_DEVICE && a->dev->model.llc_tracked ? a->dev : NULL;
}

/* The device whose cache could hold it; NULL: none. */
static struct sim_dev *cache_of(const struct op *op, unsigned i)
{
	const struct op_traffic *t = &op->work->traffic[i];
	const bool is_before = t->path == PATH_L1 || t->path == PATH_L2;
	return t->adds || is_before ? NULL : cache_before(t->at);
}

static bool passes_by(const struct op *op, const struct sim_dev *owner)
{
	const struct sim_dev *d = op->stream->dev;
	const bool by_engine = op->kind != OP_LAUNCH || op->type == &kernel_copy_type;
	if (op->forward || (op->type && op->type->signature && op->type->signature->streaming))
		return true;
	return (by_engine || owner != d) && !d->model.engine_cache;
}

/* The next traffic from *i_p on that is of this memory and in this direction. */
static bool next_traffic(const struct op *op, const struct sim_dev *owner, bool write,
			 unsigned *i_p)
{
	for (; *i_p < op->traffics; ++*i_p)
		if (cache_of(op, *i_p) == owner && op->work->traffic[*i_p].write == write &&
		    op->work->traffic[*i_p].volume > 0)
			return true;
	return false;
}

static const struct sim_range *range_of(const struct op *op, unsigned i)
{
	return &op->work->range[op->work->traffic[i].use];
}

/* Every array counts once. */
static bool arrays_fit(const struct op *op, const struct sim_dev *owner)
{
	uint64_t bytes = 0;
	unsigned seen = 0;
	for (int write = 0; write < 2; write++) {
		for (unsigned i = 0; next_traffic(op, owner, write, &i); i++) {
			const unsigned use = 1u << op->work->traffic[i].use;
			bytes += seen & use ? 0 : range_of(op, i)->bytes;
			seen |= use;
		}
	}
	return bytes <= owner->model.llc_bytes;
}

static double memory_bytes(const struct op *op, unsigned i)
{
	return op->tiles ? sim_gemm_memory_bytes(op, i) : op->work->traffic[i].volume;
}

/* Arrays that do not fit find nothing: every pass evicts what it will use next. */
static void pass_through(struct exchange *x, const struct op *op)
{
	const bool fit = arrays_fit(op, x->d), through = x->d->model.llc_writes;
	double all = 0;
	if (!fit)
		evict_down_to(x, 0);
	for (unsigned i = 0; next_traffic(op, x->d, false, &i); i++) {
		use_read(x, range_of(op, i));
		all += memory_bytes(op, i);
	}
	if (!fit)
		x->read = all;
	for (unsigned i = 0; next_traffic(op, x->d, true, &i); i++) {
		const double bytes = memory_bytes(op, i);
		use_write(x, range_of(op, i));
		if (through)
			x->written += bytes;
		else if (!fit) /* The last pass is dirty until it is evicted. */
			x->written += fmax(0, bytes - (double)range_of(op, i)->bytes);
	}
	evict_down_to(x, x->d->model.llc_bytes);
	keep_ranges(x, SIM_CACHED);
}

/* Reads come first: what they find dirty may be what is overwritten. */
static void pass_by(struct exchange *x, const struct op *op)
{
	for (unsigned i = 0; next_traffic(op, x->d, false, &i); i++)
		write_back(x, range_of(op, i));
	for (unsigned i = 0; next_traffic(op, x->d, true, &i); i++)
		take_out(x->d, range_of(op, i)->at, range_of(op, i)->bytes, NULL);
	keep_ranges(x, SIM_CACHED);
}

/* Memory that adds needs what is dirty; then the cache forgets all of the range. */
static void add_past(struct op *op, unsigned i)
{
	const struct sim_range *r = range_of(op, i);
	struct exchange x = {.d = cache_before(op->work->traffic[i].at)};
	if (!x.d)
		return;
	write_back(&x, r);
	take_out(x.d, r->at, r->bytes, NULL);
	keep_ranges(&x, SIM_CACHED);
	if (x.written > 0)
		op_traffic(op, op->work->traffic[i].use, x.written, true, PATH_REFILL);
}

static bool is_first_of(const struct op *op, unsigned i, const struct sim_dev *owner)
{
	for (unsigned before = 0; before < i; before++)
		if (cache_of(op, before) == owner)
			return false;
	return true;
}

void sim_cache_start(struct op *op)
{
	const unsigned asked = op->traffics;
	if (!op->stream->dev->model.llc_tracked)
		return;
	for (unsigned i = 0; i < asked; i++) {
		struct exchange x = {.d = cache_of(op, i)};
		if (!x.d)
			continue;
		const bool by = passes_by(op, x.d);
		op->work->traffic[i].path = by ? PATH_MEMORY : PATH_CACHE;
		if (!is_first_of(op, i, x.d))
			continue;
		if (by)
			pass_by(&x, op);
		else
			pass_through(&x, op);
		if (x.read > 0)
			op_traffic(op, op->work->traffic[i].use, x.read, false, PATH_REFILL);
		if (x.written > 0)
			op_traffic(op, op->work->traffic[i].use, x.written, true, PATH_REFILL);
	}
	for (unsigned i = 0; i < asked; i++)
		if (op->work->traffic[i].adds)
			add_past(op, i);
}
