/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of a simulated deadlock.
 */
#include "tests/unit/device/sim/sim.h"

static struct dev_stream *open_stream_on(struct dev *d)
{
	struct dev_stream *s = NULL;
	ok(dev_stream_open(d, 0, &s));
	return s;
}

static void a_deadlock_names_the_streams_and_what_they_wait_for(void)
{
	sim_begin(PLAIN);
	struct dev_stream *idle = open_stream(), *s = open_stream(), *t = open_stream_on(sim.other);
	struct dev_event *e;
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 0;
	ok(dev_event_open(sim.d, &e));
	ok(dev_wait_value(sim.d, s, at, 3));
	ok(dev_event_record(sim.d, s, e));
	ok(dev_stream_wait(sim.other, t, e));
	ok(dev_fill(sim.other, t, alloc_memory_on(sim.other, DEV_MEM_DEVICE, 64), 0, 64));
	ok(dev_fill(sim.d, idle, alloc_memory(DEV_MEM_DEVICE, 64), 0, 64));
	expect_error(dev_stream_sync(sim.d, s), -EDEADLK);
	expect_str(err_text(),
		   "sim:0: synchronise a stream: deadlock: sim:0 stream 1 waits for a value of 3 "
		   "(it is 0); sim:1 stream 0 waits for an event of sim:0 stream 1");
	/* The stream that is waited for comes first. */
	ok(dev_post_value(sim.d, at, 2));
	expect_error(dev_stream_sync(sim.other, t), -EDEADLK);
	expect_str(err_text(),
		   "sim:1: synchronise a stream: deadlock: sim:1 stream 0 waits for an event of "
		   "sim:0 stream 1; sim:0 stream 1 waits for a value of 3 (it is 2)");
	expect_error(dev_event_sync(sim.other, e), -EDEADLK);
	expect(strstr(err_text(), "sim:1: synchronise an event: deadlock: sim:0 stream 1 waits"));
	ok(dev_post_value(sim.d, at, 3));
	ok(dev_stream_sync(sim.other, t));
	sim_end();
}

static void numbers_are_not_given_again(void)
{
	sim_begin(PLAIN);
	dev_stream_close(sim.d, open_stream());
	struct dev_stream *s = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 7;
	ok(dev_wait_value(sim.d, s, at, 8));
	expect_error(dev_stream_sync(sim.d, s), -EDEADLK);
	expect(strstr(err_text(), "deadlock: sim:0 stream 1 waits for a value of 8 (it is 7)"));
	ok(dev_post_value(sim.d, at, 8));
	ok(dev_stream_sync(sim.d, s));
	sim_end();
}

static void streams_that_do_not_fit_are_counted(void)
{
	enum { STREAMS = 150 };
	struct dev_stream *s[STREAMS];
	unsigned listed = 0, more = 0;
	sim_begin(PLAIN);
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 0;
	for (size_t i = 0; i < STREAMS; i++) {
		s[i] = open_stream();
		ok(dev_wait_value(sim.d, s[i], at, 1));
	}
	expect_error(dev_stream_sync(sim.d, s[120]), -EDEADLK);
	const char *text = err_text();
	expect(strstr(text, "deadlock: sim:0 stream 120 waits for a value of 1 (it is 0); sim:0 "
			    "stream 0 waits"));
	for (const char *wait = text; (wait = strstr(wait, " waits for a value of 1 (it is 0);"));
	     wait++)
		listed++;
	const char *last = strrchr(text, ';');
	require(last && sscanf(last, "; %u more", &more) == 1);
	expect_str(strchr(last + 2, ' '), " more");
	expect(listed > 5 && listed + more == STREAMS);
	ok(dev_post_value(sim.d, at, 1));
	for (size_t i = 0; i < STREAMS; i++)
		ok(dev_stream_sync(sim.d, s[i]));
	sim_end();
}

int main(void)
{
	test(a_deadlock_names_the_streams_and_what_they_wait_for);
	test(numbers_are_not_given_again);
	test(streams_that_do_not_fit_are_counted);
	return test_done();
}
