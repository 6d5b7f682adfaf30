/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All slots of a device held, one of which can be opened alone, so that what waits runs one block after the other; and blocks that
 * tell when they started.
 */
#ifndef GPUSIG_CONFORMANCE_SLOTS_H
#define GPUSIG_CONFORMANCE_SLOTS_H

#include "tests/unit/conformance.h"

struct full {
	struct dev_stream *most_stream, *last_stream;
	struct dev_kernel *stamp;
	struct gate most, last;
	bool has_most;
};

/* Allocates, opens and finds first: while slots are held all of that may wait for them. */
static inline struct full fill_all_slots(void)
{
	struct full f = { .most_stream = stream(), .last_stream = stream(), .stamp = kernel("stamp") };
	uint32_t all = capacity(0);
	f.has_most = all > 1;
	if (f.has_most)
		f.most = gate_ready(all - 1);
	f.last = gate_ready(1);
	if (f.has_most) {
		gate_start(&f.most, f.most_stream, 0, GATE_NS);
		require(comes_to(f.most.arrived, all - 1));
	}
	gate_start(&f.last, f.last_stream, 0, GATE_NS);
	require(comes_to(f.last.arrived, 1));
	return f;
}

static inline void free_one_slot(struct full *f) { gate_open(&f->last); }

static inline void free_all_slots(struct full *f)
{
	if (f->has_most)
		gate_open(&f->most);
	ok(dev_stream_sync(on.d, f->most_stream));
	ok(dev_stream_sync(on.d, f->last_stream));
	gate_done(&f->last);
	if (f->has_most)
		gate_done(&f->most);
	dev_stream_close(on.d, f->most_stream);
	dev_stream_close(on.d, f->last_stream);
}

#define QUEUED_BLOCKS 3

/* Room for the stamps of one launch, before slots are held. */
static inline uint64_t *stamps(void)
{
	uint64_t *at = get(DEV_MEM_PINNED, QUEUED_BLOCKS * sizeof(*at));
	memset(at, 0, QUEUED_BLOCKS * sizeof(*at));
	return at;
}

static inline void queue_stamps(const struct full *f, struct dev_stream *s, uint64_t *at)
{
	const void *args[] = { &at };
	struct dev_launch l = { .grid = QUEUED_BLOCKS, .args = args };
	ok(dev_launch(on.d, s, f->stamp, &l));
	pass(MS); /* until it is ready */
}

/* Every block of `first` started before any block of `second`. */
static inline void expect_before(const uint64_t *first, const uint64_t *second)
{
	for (int i = 0; i < QUEUED_BLOCKS; i++)
		for (int j = 0; j < QUEUED_BLOCKS; j++)
			expect(first[i] > 0 && first[i] <= second[j]);
}

#endif
