/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A promise of host and sim beyond the contract: among streams of one priority, launches start in
 * the order in which they became ready. The test takes no device specs, because no GPU vendor
 * promises it.
 */
#include "tests/unit/conformance/conformance_slots.h"

static void equals_start_as_they_became_ready(void)
{
	struct dev_stream *a = open_stream(), *b = open_stream(), *c = open_stream();
	uint64_t *first = alloc_stamps(), *second = alloc_stamps(), *third = alloc_stamps();
	struct full_device f = fill_all_slots();
	/* Streams in another order than they were opened. */
	queue_stamps(&f, c, first);
	queue_stamps(&f, a, second);
	queue_stamps(&f, b, third);
	free_one_slot(&f);
	ok(dev_stream_sync(on.d, a));
	ok(dev_stream_sync(on.d, b));
	ok(dev_stream_sync(on.d, c));
	expect_before(first, second);
	expect_before(second, third);
	free_all_slots(&f);
	free_memory(first);
	free_memory(second);
	free_memory(third);
	dev_stream_close(on.d, a);
	dev_stream_close(on.d, b);
	dev_stream_close(on.d, c);
}

int main(void)
{
	static const struct rule rules[] = {RULE(equals_start_as_they_became_ready)};
	return run_specs(0, NULL, rules, sizeof(rules) / sizeof(rules[0]));
}
