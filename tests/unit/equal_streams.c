/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What host and sim promise beyond the contract: among streams of one priority launches start in the order in which they became
 * ready. Takes no specs: no vendor says it of a GPU.
 */
#include "tests/unit/conformance_slots.h"

static void equals_start_as_they_became_ready(void)
{
	struct dev_stream *a = stream(), *b = stream(), *c = stream();
	uint64_t *first = stamps(), *second = stamps(), *third = stamps();
	struct full f = fill_all_slots();
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
	put(first);
	put(second);
	put(third);
	dev_stream_close(on.d, a);
	dev_stream_close(on.d, b);
	dev_stream_close(on.d, c);
}

int main(void)
{
	static const struct rule rules[] = { RULE(equals_start_as_they_became_ready) };
	return run_specs(0, NULL, rules, sizeof(rules) / sizeof(rules[0]));
}
