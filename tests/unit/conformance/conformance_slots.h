/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks all slots of a device. One slot can be released alone, so that queued blocks run one after
 * the other. Launches of `stamp` then record the order in which their blocks start.
 */
#ifndef GPUSIG_CONFORMANCE_SLOTS_H
#define GPUSIG_CONFORMANCE_SLOTS_H

#include "tests/unit/conformance/conformance.h"

struct full_device {
	struct dev_stream *others_stream, *last_stream;
	struct dev_kernel *stamp;
	struct blocking others, last;
	bool has_others;
};

/* Allocates and opens everything first: that may wait for running blocks. */
static inline struct full_device fill_all_slots(void)
{
	struct full_device f = {.others_stream = open_stream(),
				.last_stream = open_stream(),
				.stamp = find_kernel("stamp")};
	uint32_t all = max_resident_blocks(0);
	f.has_others = all > 1;
	if (f.has_others)
		f.others = blocking_prepare(all - 1);
	f.last = blocking_prepare(1);
	if (f.has_others) {
		blocking_start(&f.others, f.others_stream, 0, GATE_NS);
		require(reaches_value(f.others.arrived, all - 1));
	}
	blocking_start(&f.last, f.last_stream, 0, GATE_NS);
	require(reaches_value(f.last.arrived, 1));
	return f;
}

static inline void free_one_slot(struct full_device *f) { blocking_release(&f->last); }

static inline void free_all_slots(struct full_device *f)
{
	if (f->has_others)
		blocking_release(&f->others);
	ok(dev_stream_sync(on.d, f->others_stream));
	ok(dev_stream_sync(on.d, f->last_stream));
	blocking_free(&f->last);
	if (f->has_others)
		blocking_free(&f->others);
	dev_stream_close(on.d, f->others_stream);
	dev_stream_close(on.d, f->last_stream);
}

#define QUEUED_BLOCKS 3

/* Memory for the stamps of one launch. Call it before fill_all_slots(). */
static inline uint64_t *alloc_stamps(void)
{
	uint64_t *at = alloc_memory(DEV_MEM_PINNED, QUEUED_BLOCKS * sizeof(*at));
	memset(at, 0, QUEUED_BLOCKS * sizeof(*at));
	return at;
}

static inline void queue_stamps(const struct full_device *f, struct dev_stream *s, uint64_t *at)
{
	const void *args[] = {&at};
	struct dev_launch l = {.grid = QUEUED_BLOCKS, .args = args};
	ok(dev_launch(on.d, s, f->stamp, &l));
	spend_ns(MS); /* until the device considers it */
}

/* Every block of `first` started before any block of `second`. */
static inline void expect_before(const uint64_t *first, const uint64_t *second)
{
	for (int i = 0; i < QUEUED_BLOCKS; i++)
		for (int j = 0; j < QUEUED_BLOCKS; j++)
			expect(first[i] > 0 && first[i] <= second[j]);
}

#endif
