/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Residence, order of blocks, copy engines: tests that the mechanism really happens.
 */
#include "tests/unit/conformance/conformance_slots.h"

/* ------------------------------------------------------------------ blocking kernels and residence
 */

static void a_blocking_kernel_ends_with_its_flag(void)
{
	struct dev_stream *s = open_stream();
	struct blocking g = blocking_hold(s);
	blocking_release(&g);
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(g.arrived) == 1 && g.start_ns[0] > 0);
	/* The flag is set already: the kernel ends at once. Its arrival is added. */
	uint64_t timeout_ns = GATE_NS;
	const void *args[] = {&g.flag, &g.arrived, &g.start_ns, &timeout_ns};
	ok(launch_kernel(s, "blocking_kernel", 1, args));
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(g.arrived) == 2);
	blocking_free(&g);
	if (dev_can(on.d, DEV_CAP_WAIT_VALUE) && max_resident_blocks(0) > 1) {
		struct dev_stream *writes = open_stream();
		g = blocking_hold(s);
		ok(dev_write_value(on.d, writes, g.flag, 1));
		ok(dev_stream_sync(on.d, s));
		ok(dev_stream_sync(on.d, writes));
		blocking_free(&g);
		dev_stream_close(on.d, writes);
	}
	dev_stream_close(on.d, s);
}

static void a_blocking_kernel_reports_its_time_out(void)
{
	struct dev_stream *s = open_stream();
	uint32_t grid = max_resident_blocks(0) + 1;
	uint64_t before = dev_clock_ns(on.d);
	struct blocking g = blocking_launch(s, grid, 0, 2 * MS);
	ok(dev_stream_sync(on.d, s));
	expect(dev_clock_ns(on.d) - before >= 2 * MS);
	expect(load_acquire(g.arrived) == grid);
	expect(load_acquire(g.arrived + 1) == grid);
	free_memory(g.memory);
	dev_stream_close(on.d, s);
}

static void occupancy_follows_its_formula(void)
{
	const struct dev_props *p = dev_props(on.d);
	uint32_t max_blocks = 0, last = UINT32_MAX, blocks = 0;
	ok(dev_occupancy(on.d, find_kernel("blocking_kernel"), 0, 0, &max_blocks));
	expect(max_blocks >= 1 && max_blocks <= p->slots_per_unit);
	uint64_t step = p->shared_per_block_bytes / 97 + 1;
	for (uint64_t shared = 0; shared <= p->shared_per_block_bytes; shared += step) {
		uint64_t parts =
			(p->shared_reserved_bytes + shared + p->shared_granularity_bytes - 1) /
			p->shared_granularity_bytes;
		uint64_t claim = parts * p->shared_granularity_bytes;
		ok(dev_occupancy(on.d, find_kernel("blocking_kernel"), 0, shared, &blocks));
		expect(blocks <= last);
		if (dev_can(on.d, DEV_CAP_OCCUPANCY)) {
			uint64_t fit = claim ? p->shared_per_unit_bytes / claim : max_blocks;
			expect(blocks == (fit < max_blocks ? fit : max_blocks));
		}
		last = blocks;
	}
	expect_error(dev_occupancy(on.d, find_kernel("blocking_kernel"), 0,
				   p->shared_per_block_bytes + 1, &blocks),
		     -EINVAL);
}

static void a_wave_fits_the_resident_blocks(void)
{
	static const char *const names[] = {"read",  "write",      "copy",    "copy_nt",
					    "triad", "reduce_add", "fma_f32", "fma_f64"};
	const struct dev_props *p = dev_props(on.d);
	expect(dev_wave_blocks(on.d, find_kernel("blocking_kernel")) == p->busy_blocks);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t resident = 0, wave = dev_wave_blocks(on.d, find_kernel(names[i]));
		ok(dev_occupancy(on.d, find_kernel(names[i]), 0, 0, &resident));
		expect(wave >= p->units && wave <= p->busy_blocks && wave <= p->units * resident);
	}
}

static void occupancy_equals_resident_blocks(void)
{
	const struct dev_props *p = dev_props(on.d);
	struct dev_stream *s = open_stream();
	for (uint64_t parts = 0; parts <= 4; parts++) {
		uint64_t shared = parts ? p->shared_per_block_bytes / 4 * parts : 0;
		uint32_t resident = max_resident_blocks(shared), grid = resident + 5;
		struct blocking g = blocking_launch(s, grid, shared, GATE_NS);
		expect(reaches_value(g.arrived, resident));
		spend_ns(2 * MS);
		expect(load_acquire(g.arrived) == resident);
		blocking_release(&g);
		ok(dev_stream_sync(on.d, s));
		expect(load_acquire(g.arrived) == grid);
		blocking_free(&g);
	}
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ some of the units */

static void check_units_are_refused(struct dev_stream *s)
{
	const uint32_t units = dev_props(on.d)->units;
	expect_error(dev_stream_units(on.d, s, 0, 0), -EINVAL);
	expect_error(dev_stream_units(on.d, s, 1, units), -EINVAL);
	expect_error(dev_stream_units(on.d, s, units, 1), -EINVAL);
}

static void block_units(struct blocking *b, struct dev_stream *s, uint32_t expected)
{
	blocking_start(b, s, 0, GATE_NS);
	expect(reaches_value(b->arrived, expected));
}

/* The smallest part of the units, from the last one on, that the device divides off. */
static uint32_t smallest_part(struct dev_stream *s, uint32_t units)
{
	for (uint32_t part = 1; part < units; part++) {
		const int status = dev_stream_units(on.d, s, units - part, part);
		if (status == 0)
			return part;
		expect_status(status, -ENOTSUP);
	}
	return units;
}

/* Blocks of the first launch wait for its units, and so does what comes behind it; the others are
 * free. */
static void check_two_parts(struct dev_stream *one, struct dev_stream *others, uint32_t part)
{
	const uint32_t units = dev_props(on.d)->units, all = max_resident_blocks(0),
		       its = all / units * part;
	const struct full_device behind = {.stamp = find_kernel("stamp")};
	struct dev_stream *same = open_stream();
	uint64_t *stamps = alloc_stamps();
	struct blocking first = blocking_prepare(all), second = blocking_prepare(all);
	ok(dev_stream_units(on.d, one, units - part, part));
	ok(dev_stream_units(on.d, same, units - part, part));
	ok(dev_stream_units(on.d, others, 0, units - part));
	block_units(&first, one, its);
	expect_error(dev_stream_units(on.d, one, 0, units), -EBUSY);
	queue_stamps(&behind, same, stamps);
	block_units(&second, others, all - its);
	spend_ns(2 * MS);
	expect(load_acquire(first.arrived) == its);
	expect(load_acquire(second.arrived) == all - its);
	expect(stamps[0] == 0);
	blocking_release(&first);
	blocking_release(&second);
	ok(dev_stream_sync(on.d, one));
	ok(dev_stream_sync(on.d, others));
	ok(dev_stream_sync(on.d, same));
	expect(load_acquire(first.arrived) == all && load_acquire(second.arrived) == all);
	blocking_free(&first);
	blocking_free(&second);
	free_memory(stamps);
	dev_stream_close(on.d, same);
}

static void streams_keep_to_their_units(void)
{
	const uint32_t units = dev_props(on.d)->units;
	struct dev_stream *one = open_stream(), *others = open_stream();
	if (!dev_can(on.d, DEV_CAP_UNIT_MASK)) {
		expect_error(dev_stream_units(on.d, one, 0, 1), -ENOTSUP);
	} else {
		check_units_are_refused(one);
		const uint32_t part = smallest_part(one, units);
		if (part < units)
			check_two_parts(one, others, part);
		struct blocking all = blocking_prepare(max_resident_blocks(0));
		ok(dev_stream_units(on.d, one, 0, units));
		block_units(&all, one, max_resident_blocks(0));
		blocking_release(&all);
		ok(dev_stream_sync(on.d, one));
		blocking_free(&all);
	}
	dev_stream_close(on.d, one);
	dev_stream_close(on.d, others);
}

/* ------------------------------------------------------------------ order of blocks */

static void urgent_blocks_start_first(void)
{
	need(DEV_CAP_PRIORITY);
	struct dev_stream *low = open_stream_at(dev_props(on.d)->priority_low);
	struct dev_stream *normal = open_stream(),
			  *high = open_stream_at(dev_props(on.d)->priority_high);
	uint64_t *last = alloc_stamps(), *middle = alloc_stamps(), *first = alloc_stamps();
	struct full_device f = fill_all_slots();
	queue_stamps(&f, low, last);
	queue_stamps(&f, normal, middle);
	queue_stamps(&f, high, first);
	expect(last[0] == 0 && middle[0] == 0 && first[0] == 0);
	free_one_slot(&f);
	ok(dev_stream_sync(on.d, low));
	ok(dev_stream_sync(on.d, normal));
	ok(dev_stream_sync(on.d, high));
	expect_before(first, last);
	if (dev_props(on.d)->priority_high > dev_props(on.d)->priority_normal)
		expect_before(first, middle);
	if (dev_props(on.d)->priority_normal > dev_props(on.d)->priority_low)
		expect_before(middle, last);
	free_all_slots(&f);
	free_memory(last);
	free_memory(middle);
	free_memory(first);
	dev_stream_close(on.d, low);
	dev_stream_close(on.d, normal);
	dev_stream_close(on.d, high);
}

/* The order among streams of one priority is up to the device. */
static void streams_of_equal_priority_keep_their_order(void)
{
	enum { STREAMS = 3 };
	struct dev_stream *s[STREAMS];
	uint64_t *first[STREAMS], *second[STREAMS];
	for (int i = 0; i < STREAMS; i++) {
		s[i] = open_stream();
		first[i] = alloc_stamps();
		second[i] = alloc_stamps();
	}
	struct full_device f = fill_all_slots();
	for (int i = STREAMS - 1; i >= 0; i--) {
		queue_stamps(&f, s[i], first[i]);
		queue_stamps(&f, s[i], second[i]);
	}
	for (int i = 0; i < STREAMS; i++)
		expect(first[i][0] == 0 && second[i][0] == 0);
	free_one_slot(&f);
	for (int i = 0; i < STREAMS; i++) {
		ok(dev_stream_sync(on.d, s[i]));
		expect_before(first[i], second[i]);
	}
	free_all_slots(&f);
	for (int i = 0; i < STREAMS; i++) {
		free_memory(first[i]);
		free_memory(second[i]);
		dev_stream_close(on.d, s[i]);
	}
}

static void running_blocks_are_not_interrupted(void)
{
	need(DEV_CAP_PRIORITY);
	struct dev_stream *high = open_stream_at(dev_props(on.d)->priority_high);
	struct dev_event *e = open_event();
	uint64_t *at = alloc_stamps();
	struct full_device f = fill_all_slots();
	queue_stamps(&f, high, at);
	ok(dev_event_record(on.d, high, e));
	spend_ns(2 * MS);
	expect_status(dev_event_query(on.d, e), -EAGAIN);
	free_all_slots((free_one_slot(&f), &f));
	ok(dev_stream_sync(on.d, high));
	free_memory(at);
	dev_event_close(on.d, e);
	dev_stream_close(on.d, high);
}

/* Up and down: a copy within the device may take units in spite of the engines. */
static void engines_copy_while_all_slots_are_held(void)
{
	need(DEV_CAP_COPY_ENGINE);
	const uint64_t bytes = 1 << 20;
	struct dev_stream *s = open_stream();
	char *up = alloc_memory(DEV_MEM_PINNED, bytes), *dev = alloc_memory(DEV_MEM_DEVICE, bytes);
	char *down = alloc_memory(DEV_MEM_PINNED, bytes);
	memset(up, 11, bytes);
	memset(down, 0, bytes);
	struct full_device f = fill_all_slots();
	ok(dev_copy(on.d, s, dev, up, bytes));
	ok(dev_copy(on.d, s, down, dev, bytes));
	ok(dev_stream_sync(on.d, s));
	expect(load_acquire(f.last.arrived + 1) ==
	       0); /* no gate timed out: all slots are blocked */
	expect(down[0] == 11 && down[bytes - 1] == 11);
	free_one_slot(&f);
	free_all_slots(&f);
	free_memory(up);
	free_memory(dev);
	free_memory(down);
	dev_stream_close(on.d, s);
}

/* ------------------------------------------------------------------ values while slots are held */

/* With all slots blocked, a stream's write to DEVICE memory completes if the device has
 * DEV_CAP_VALUE_IN_QUEUE; otherwise it waits. */
static void values_take_slots_as_the_capability_says(void)
{
	need(DEV_CAP_WAIT_VALUE);
	const bool in_queue = dev_can(on.d, DEV_CAP_VALUE_IN_QUEUE);
	struct dev_stream *waits = open_stream(), *writes = open_stream();
	struct dev_event *waited = open_event(), *written = open_event();
	uint32_t *at = alloc_memory(DEV_MEM_DEVICE, 256);
	ok(dev_fill(on.d, writes, at, 0, 256));
	ok(dev_stream_sync(on.d, writes));
	struct full_device f = fill_all_slots();
	ok(dev_wait_value(on.d, waits, at, 1));
	ok(dev_event_record(on.d, waits, waited));
	ok(dev_write_value(on.d, writes, at, 1));
	ok(dev_event_record(on.d, writes, written));
	if (in_queue) {
		ok(dev_stream_sync(on.d, writes));
		ok(dev_stream_sync(on.d, waits));
		ok(dev_post_value(on.d, at, 2));
		expect(load_acquire(f.last.arrived + 1) ==
		       0); /* no gate timed out: all slots are blocked */
	} else {
		spend_ns(2 * MS);
		expect_status(dev_event_query(on.d, written), -EAGAIN);
		expect_status(dev_event_query(on.d, waited), -EAGAIN);
	}
	free_one_slot(&f);
	free_all_slots(&f);
	ok(dev_stream_sync(on.d, writes));
	ok(dev_stream_sync(on.d, waits));
	free_memory(at);
	dev_event_close(on.d, waited);
	dev_event_close(on.d, written);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, writes);
}

static void a_waiting_stream_leaves_the_other_slots(void)
{
	need(DEV_CAP_WAIT_VALUE);
	const uint32_t all = max_resident_blocks(0),
		       left = dev_can(on.d, DEV_CAP_VALUE_IN_QUEUE) ? all : all - 1;
	if (left == 0)
		skip("one slot");
	struct dev_stream *waits = open_stream(), *holds = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 256);
	*at = 0;
	struct blocking g = blocking_prepare(all);
	ok(dev_wait_value(on.d, waits, at, 1));
	spend_ns(2 * MS); /* until it polls */
	blocking_start(&g, holds, 0, GATE_NS);
	expect(reaches_value(g.arrived, left));
	spend_ns(2 * MS);
	expect(load_acquire(g.arrived) == left);
	ok(dev_post_value(on.d, at, 1));
	ok(dev_stream_sync(on.d, waits));
	expect(reaches_value(g.arrived, all));
	blocking_release(&g);
	ok(dev_stream_sync(on.d, holds));
	blocking_free(&g);
	free_memory(at);
	dev_stream_close(on.d, waits);
	dev_stream_close(on.d, holds);
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(a_blocking_kernel_ends_with_its_flag),
		RULE(a_blocking_kernel_reports_its_time_out),
		RULE(occupancy_follows_its_formula),
		RULE(a_wave_fits_the_resident_blocks),
		RULE(occupancy_equals_resident_blocks),
		RULE(streams_keep_to_their_units),
		RULE(urgent_blocks_start_first),
		RULE(streams_of_equal_priority_keep_their_order),
		RULE(running_blocks_are_not_interrupted),
		RULE(engines_copy_while_all_slots_are_held),
		RULE(values_take_slots_as_the_capability_says),
		RULE(a_waiting_stream_leaves_the_other_slots),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
