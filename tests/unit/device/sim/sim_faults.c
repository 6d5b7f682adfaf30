/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults that a model requests, misuse that is reported, and waits that nothing can end.
 */
#include "tests/unit/device/sim/sim.h"

#define N 4096u

static void work_that_fails_is_reported_once(void)
{
	sim_begin(PLAIN "fail_launch_at = 2\n");
	struct dev_stream *s = open_stream(), *other = open_stream();
	struct dev_event *e;
	char *a = alloc_memory(DEV_MEM_PINNED, N);
	memset(a, 0, N);
	ok(dev_event_open(sim.d, &e));
	ok(launch_kernel(s, "empty", 1, 0, NULL));
	ok(dev_stream_sync(sim.d, s));
	ok(launch_kernel(s, "empty", 1, 0, NULL)); /* this one */
	ok(dev_fill(sim.d, s, a, 1, N));           /* dropped */
	ok(dev_event_record(sim.d, s, e));
	ok(dev_stream_wait(sim.d, other, e));
	ok(dev_fill(sim.d, other, a + N / 2, 2, 1));
	ok(dev_stream_sync(sim.d,
			   other)); /* of its own work nothing failed, and it does not hang */
	expect(a[N / 2] == 2);
	expect_error(dev_stream_sync(sim.d, s), -EIO);
	expect(strstr(err_text(), "empty") != NULL);
	expect(a[0] == 0);
	expect(dev_stream_sync(sim.d, s) == 0);
	ok(dev_fill(sim.d, s, a, 3, N)); /* works again */
	ok(dev_stream_sync(sim.d, s));
	expect(a[0] == 3 && a[N - 1] == 3);
	sim_end();
}

static void a_copy_or_an_allocation_fails(void)
{
	void *memory = NULL;
	sim_begin(PLAIN "fail_copy_at = 2\nfail_alloc_at = 3\n");
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_PINNED, N), *b = alloc_memory(DEV_MEM_DEVICE, N);
	expect_error(dev_alloc(sim.d, DEV_MEM_DEVICE, N, &memory), -ENOMEM);
	expect(memory == NULL);
	memory = alloc_memory(DEV_MEM_DEVICE, N);
	ok(dev_copy(sim.d, s, a, b, N));
	ok(dev_copy(sim.d, s, b, a, N));
	expect_error(dev_stream_sync(sim.d, s), -EIO);
	ok(dev_free(sim.d, a)); /* nothing counts as in use any more */
	ok(dev_free(sim.d, b));
	sim_end();
}

static uint64_t count_differences(const char *a, char byte, uint64_t bytes)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < bytes; i++)
		count += a[i] != byte;
	return count;
}

static void results_are_corrupted_on_demand(void)
{
	sim_begin(PLAIN "corrupt_copy_every = 2\ncorrupt_launch_every = 3\n");
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_PINNED, N), *b = alloc_memory(DEV_MEM_PINNED, N);
	const uint64_t bytes = N;
	const uint32_t reps = 1, word = 0x05050505;
	memset(a, 4, N);
	for (int i = 1; i <= 4; i++) {
		ok(dev_copy(sim.d, s, b, a, N));
		ok(dev_stream_sync(sim.d, s));
		expect(count_differences(b, 4, N) == (i % 2 ? 0 : 1));
	}
	const void *args[] = {&b, &bytes, &reps, &word};
	for (int i = 1; i <= 6; i++) {
		ok(launch_kernel(s, "write", 7, 0, args));
		ok(dev_stream_sync(sim.d, s));
		expect(count_differences(b, 5, N) == (i % 3 ? 0 : 1));
	}
	sim_end();
}

static void corruption_shows_in_every_result(void)
{
	sim_begin(PLAIN "corrupt_launch_every = 1\n");
	struct dev_stream *s = open_stream();
	float *a = alloc_memory(DEV_MEM_PINNED, N), *b = alloc_memory(DEV_MEM_PINNED, N),
	      *c = alloc_memory(DEV_MEM_PINNED, N), scale = 1;
	uint32_t *sink = alloc_memory(DEV_MEM_PINNED, 4), reps = 1;
	const uint64_t bytes = N, fmas = DEV_FMA_QUANTUM;
	memset(b, 0, N);
	memset(c, 0, N);
	*sink = 0;
	const void *reads[] = {&b, &bytes, &reps, &sink},
		   *triads[] = {&a, &b, &c, &bytes, &reps, &scale};
	const void *fma[] = {&a, &fmas};
	ok(launch_kernel(s, "read", 1, 0, reads));
	ok(dev_stream_sync(sim.d, s));
	expect(*sink != 0);
	ok(launch_kernel(s, "triad", 1, 0, triads));
	ok(dev_stream_sync(sim.d, s));
	expect(count_differences((char *)a, 0, N) == 1);
	struct dev_gemm g = PACKED_GEMM(8, 8, 8, .type = DEV_F32, .a = b, .b = b, .c = c);
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, s));
	double worst = 0;
	for (int i = 0; i < 64; i++)
		worst = fmax(worst, fabs((double)c[i]));
	expect(worst > 1);
	ok(launch_kernel(s, "fma_f32", 8, 0, fma));
	ok(dev_stream_sync(sim.d, s));
	expect(memcmp(&a[0], &a[5], 4) != 0 || memcmp(&a[1], &a[5], 4) != 0);
	sim_end();
}

static void corruption_shows_in_sums_chases_and_signals(void)
{
	sim_begin(PLAIN "corrupt_launch_every = 1\n");
	struct dev_stream *s = open_stream();
	char *dst = alloc_memory(DEV_MEM_PINNED, N);
	uint64_t *ring = alloc_memory(DEV_MEM_PINNED, 256), *out = alloc_memory(DEV_MEM_PINNED, 8),
		 ring_bytes = 256, steps = 31, timeout_ns = 1;
	uint32_t *flag = alloc_memory(DEV_MEM_PINNED, 4),
		 *timed_out = alloc_memory(DEV_MEM_PINNED, 4), reps = 1, value = 3;
	const uint64_t bytes = N;
	float *src = alloc_memory(DEV_MEM_PINNED, N);
	memset(dst, 0, N);
	memset(src, 0, N);
	for (uint64_t i = 0; i < 32; i++)
		ring[i] = (uintptr_t)(ring + (i + 1) % 32);
	*timed_out = 0;
	const void *adds[] = {&dst, &src, &bytes, &reps},
		   *chases[] = {&ring, &ring_bytes, &steps, &out};
	const void *signals[] = {&flag, &value},
		   *awaits[] = {&flag, &value, &timed_out, &timeout_ns};
	ok(launch_kernel(s, "reduce_add", 3, 0, adds));
	ok(launch_kernel(s, "chase", 3, 0, chases));
	ok(launch_kernel(s, "signal", 3, 0, signals));
	ok(launch_kernel(s, "await", 3, 0, awaits));
	ok(dev_stream_sync(sim.d, s));
	expect(count_differences(dst, 0, N) == 1);
	expect(*out != (uintptr_t)(ring + 31) && *flag != 3 && *timed_out != 0);
	sim_end();
}

/* A stream that takes rows as soon as they are counted must see the corrupted one, too. */
static void corruption_comes_before_the_count(void)
{
	sim_begin(PLAIN "corrupt_launch_every = 1\ngemm_tile = 8\nunits = 1\nslots_per_unit = 1\n");
	struct dev_stream *s = open_stream(), *takes = open_stream();
	float *a = alloc_memory(DEV_MEM_DEVICE, N), *got = alloc_memory(DEV_MEM_PINNED, N);
	uint32_t *done = alloc_memory(DEV_MEM_PINNED, 16);
	memset(a, 0, N);
	memset(done, 0, 16);
	const struct dev_gemm g = PACKED_GEMM(32, 32, 8, .type = DEV_F32, .a = a, .b = a, .c = a,
					      .tiled = true, .done = done, .done_rows = 8);
	for (uint32_t i = 0; i < 4; i++) {
		ok(dev_wait_value(sim.d, takes, done + i, 8 * 32));
		ok(dev_copy(sim.d, takes, got + i * 8 * 32, a + i * 8 * 32, 8 * 32 * 4));
	}
	ok(dev_gemm(sim.d, s, &g));
	ok(dev_stream_sync(sim.d, takes));
	expect(count_differences((char *)got, 0, N) == 1);
	ok(dev_stream_sync(sim.d, s));
	sim_end();
}

/* ------------------------------------------------------------------ misuse */

static void a_ring_that_points_outside_fails(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream();
	uint64_t *ring = alloc_memory(DEV_MEM_PINNED, 256), *out = alloc_memory(DEV_MEM_PINNED, 8),
		 bytes = 256, steps = 2;
	const void *args[] = {&ring, &bytes, &steps, &out};
	memset(ring, 0, 256);
	*out = 77;
	const uint64_t outside[] = {(uintptr_t)(ring + 32), (uintptr_t)(ring - 1),
				    (uintptr_t)ring + 4, 32};
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		ring[0] = outside[i];
		ok(launch_kernel(s, "chase", 1, 0, args));
		expect_error(dev_stream_sync(sim.d, s), -EFAULT);
		expect(strstr(err_text(), "not an entry of the ring") != NULL && *out == 77);
	}
	sim_end();
}

static void reading_before_a_sync_shows_old_data(void)
{
	sim_begin("like = quiet\n");
	struct dev_stream *s = open_stream();
	char *a = alloc_memory(DEV_MEM_PINNED, N), *dev = alloc_memory(DEV_MEM_DEVICE, N);
	expect((unsigned char)a[0] == 0xa5); /* fresh memory is not zero by accident */
	memset(a, 1, N);
	ok(dev_fill(sim.d, s, dev, 2, N));
	ok(dev_copy(sim.d, s, a, dev, N));
	expect(a[0] == 1);
	ok(dev_stream_sync(sim.d, s));
	expect(a[0] == 2);
	sim_end();
}

static void misuse_is_an_error(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream(), *closed = open_stream(), *foreign = NULL;
	struct dev_event *e, *theirs;
	char *a = alloc_memory(DEV_MEM_DEVICE, N),
	     *theirs_memory = alloc_memory_on(sim.other, DEV_MEM_DEVICE, N);
	uint64_t bytes = N, odd = N - 4;
	uint32_t reps = 1, word = 1;
	char *skewed = a + 4;
	ok(dev_event_open(sim.d, &e));
	ok(dev_event_open(sim.other, &theirs));
	ok(dev_stream_open(sim.other, 0, &foreign));
	dev_stream_close(sim.d, closed);
	expect_error(dev_fill(sim.d, closed, a, 0, N), -EINVAL);
	expect_error(dev_fill(sim.d, foreign, a, 0, N), -EINVAL);
	expect_error(dev_fill(sim.d, NULL, a, 0, N), -EINVAL);
	expect_error(dev_stream_sync(sim.d, closed), -EINVAL);
	expect_error(dev_event_record(sim.d, s, theirs), -EINVAL);
	expect_error(dev_event_record(sim.d, s, NULL), -EINVAL);
	expect_error(dev_copy(sim.d, s, a + 1, a, N / 2), -EINVAL);
	expect_error(dev_copy(sim.d, s, a, a, 1), -EINVAL);
	expect_error(dev_free(sim.d, theirs_memory), -EFAULT);
	const void *missing[] = {&a, NULL, &reps, &word},
		   *misaligned[] = {&skewed, &bytes, &reps, &word};
	const void *uneven[] = {&a, &odd, &reps, &word};
	expect_error(launch_kernel(s, "write", 1, 0, NULL), -EINVAL);
	expect_error(launch_kernel(s, "write", 1, 0, missing), -EINVAL);
	bytes = N - 256;
	expect_error(launch_kernel(s, "write", 1, 0, misaligned), -EINVAL);
	expect_error(launch_kernel(s, "write", 1, 0, uneven), -EINVAL);
	expect_error(dev_wait_value(sim.d, s, (uint32_t *)(void *)(a + 2), 0), -EINVAL);
	ok(dev_stream_sync(sim.d, s)); /* none of the above was queued */
	sim_end();
}

static void closing_a_busy_stream_is_reported(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream(), *other = open_stream();
	char *a = alloc_memory(DEV_MEM_DEVICE, N);
	ok(dev_fill(sim.d, s, a, 0, N));
	ok(dev_fill(sim.d, s, a, 0, N));
	dev_stream_close(sim.d, s);
	expect_error(dev_fill(sim.d, other, a, 0, N), -EBUSY);
	expect(strstr(err_text(), "close a stream") != NULL);
	ok(dev_fill(sim.d, other, a, 0, N)); /* reported once */
	ok(dev_stream_sync(sim.d, other));
	ok(dev_free(sim.d, a));
	sim_end();
}

static void closing_a_peer_fails_its_users(void)
{
	sim_begin(PLAIN);
	struct dev_set one, two;
	struct dev_stream *s;
	void *a, *b;
	ok(dev_open("sim:quiet:0", 0, &one));
	ok(dev_open("sim:quiet:1", 0, &two));
	ok(dev_peer_enable(one.dev[0], two.dev[0]));
	ok(dev_stream_open(one.dev[0], 0, &s));
	ok(dev_alloc(one.dev[0], DEV_MEM_DEVICE, N, &a));
	ok(dev_alloc(two.dev[0], DEV_MEM_DEVICE, N, &b));
	ok(dev_copy(one.dev[0], s, a, b, N));
	dev_close(&two);
	expect_error(dev_stream_sync(one.dev[0], s), -EFAULT);
	expect_error(dev_copy(one.dev[0], s, a, b, N), -EFAULT);
	dev_close(&one);
	sim_end();
}

/* ------------------------------------------------------------------ waits without end */

static void nothing_waits_for_ever(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream(), *t = open_stream();
	struct dev_event *e;
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 0;
	ok(dev_event_open(sim.d, &e));
	ok(dev_wait_value(sim.d, s, at, 1));
	ok(dev_event_record(sim.d, s, e));
	ok(dev_stream_wait(sim.d, t, e));
	expect_error(dev_stream_sync(sim.d, s), -EDEADLK);
	expect_str(err_text(), "sim:0: synchronise a stream: deadlock: sim:0 stream 0 waits for a "
			       "value of 1 (it is 0); sim:0 stream 1 waits for an event of sim:0 "
			       "stream 0");
	expect_error(dev_stream_sync(sim.d, t), -EDEADLK);
	expect_error(dev_event_sync(sim.d, e), -EDEADLK);
	ok(dev_post_value(sim.d, at, 1)); /* what is queued can still be released */
	ok(dev_stream_sync(sim.d, t));
	ok(dev_stream_sync(sim.d, s));
	sim_end();
}

static void a_full_queue_waits_and_can_deadlock(void)
{
	sim_begin(PLAIN "max_queued = 8\n");
	struct dev_stream *s = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 4);
	*at = 0;
	for (int i = 0; i < 100; i++)
		ok(dev_fill(sim.d, s, at, 0, 4)); /* waits as needed */
	ok(dev_wait_value(sim.d, s, at, 1));
	for (int i = 0; i < 7; i++)
		ok(dev_fill(sim.d, s, at, 9, 4));
	expect_error(dev_fill(sim.d, s, at, 9, 4), -EDEADLK);
	ok(dev_post_value(sim.d, at, 1));
	ok(dev_stream_sync(sim.d, s));
	expect(*at == 0x09090909);
	sim_end();
}

static void a_blocking_kernel_runs_to_its_time_out(void)
{
	sim_begin(PLAIN);
	struct dev_stream *s = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 1024);
	uint32_t *arrived = at + 64;
	uint64_t *start = (uint64_t *)(void *)(at + 128), timeout_ns = 3600000000000u;
	memset(at, 0, 1024);
	const void *args[] = {&at, &arrived, &start, &timeout_ns};
	ok(launch_kernel(s, "blocking_kernel", 3, 0, args));
	ok(dev_stream_sync(sim.d, s)); /* an hour */
	expect(arrived[0] == 3 && arrived[1] == 3);
	expect(dev_clock_ns(sim.d) >= timeout_ns);
	sim_end();
}

int main(void)
{
	test(work_that_fails_is_reported_once);
	test(a_copy_or_an_allocation_fails);
	test(results_are_corrupted_on_demand);
	test(corruption_shows_in_every_result);
	test(corruption_shows_in_sums_chases_and_signals);
	test(corruption_comes_before_the_count);
	test(a_ring_that_points_outside_fails);
	test(reading_before_a_sync_shows_old_data);
	test(misuse_is_an_error);
	test(closing_a_busy_stream_is_reported);
	test(closing_a_peer_fails_its_users);
	test(nothing_waits_for_ever);
	test(a_full_queue_waits_and_can_deadlock);
	test(a_blocking_kernel_runs_to_its_time_out);
	return test_done();
}
