/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Promises of the host backend beyond the contract: where blocks are placed, how failed work is
 * dropped, and that closing never hangs. Kernels of this test observe it from inside.
 */
#include "device/host/host_queue.h"
#include "device/host/host.h"
#include "device/host/host_simd.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONG_NS 5000000000u
/* A wait of this length never ended: alarm() ends the test first. */
#define FOR_EVER_NS (2 * TEST_HANGS_S * UINT64_C(1000000000))

static struct dev_set set;
static struct dev *d;

/* ------------------------------------------------------------------ our own kernels */

static atomic_uint here, max_here, awaited, order;

static int where_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((uint64_t *)args[0].pointer)[b->index] = (uint64_t)sched_getcpu();
	return 0;
}

/* Stays until the awaited number of blocks is resident, then a little longer, so that one block too
 * many would be seen. */
static int crowd_run(const struct host_block *b)
{
	const unsigned now = atomic_fetch_add(&here, 1) + 1;
	unsigned max = atomic_load(&max_here);
	while (now > max && !atomic_compare_exchange_weak(&max_here, &max, now))
		;
	const uint64_t start = clock_ns();
	while (atomic_load(&max_here) < atomic_load(&awaited) && clock_ns() - start < FOR_EVER_NS)
		usleep(100);
	usleep(1000);
	atomic_fetch_sub(&here, 1);
	return 0;
}

static int fail_run(const struct host_block *b) { return b->index == 2 ? -EIO : 0; }

static int order_run(const struct host_block *b)
{
	const union kernel_arg *args = b->args;
	((uint64_t *)args[0].pointer)[b->index] = atomic_fetch_add(&order, 1);
	return 0;
}

/* Blocks of two launches, one of each on every unit, count how often they let the other one have
 * the core: the kernel's own time slices take the core from a thread without its will. A block that
 * is never asked to ends after LONG_NS of CPU time. */
#define TURNS 40u
static atomic_uint turns[2];

static unsigned given_up(void)
{
	struct rusage use;
	getrusage(RUSAGE_THREAD, &use);
	return (unsigned)use.ru_nvcsw;
}

static int busy_run(const struct host_block *b)
{
	const unsigned me = *(const unsigned *)((const union kernel_arg *)b->args)[0].pointer;
	const uint64_t end_cpu_ns = clock_thread_cpu_ns() + LONG_NS;
	unsigned before = given_up();
	while ((atomic_load(&turns[0]) < TURNS || atomic_load(&turns[1]) < TURNS) &&
	       clock_thread_cpu_ns() < end_cpu_ns) {
		const unsigned now = given_up();
		atomic_fetch_add(&turns[me], now - before);
		before = now;
	}
	return 0;
}

#define PER_BLOCK                                                                                  \
	{                                                                                          \
		{                                                                                  \
			.size = sizeof(void *), .extent = KERNEL_EXTENT_PER_BLOCK, .each = 8,      \
			.alignment = 8                                                             \
		}                                                                                  \
	}
static struct dev_kernel where = {.signature = {.name = "where", .parameters = PER_BLOCK},
				  .run = where_run};
static struct dev_kernel crowd = {.signature.name = "crowd", .run = crowd_run};
static struct dev_kernel fails = {.signature.name = "fails", .run = fail_run};
static struct dev_kernel busy_kernel = {.signature = {.name = "busy", .parameters = PER_BLOCK},
					.run = busy_run};
static struct dev_kernel orders = {.signature = {.name = "orders", .parameters = PER_BLOCK},
				   .run = order_run};

static struct dev_stream *open_stream(int priority)
{
	struct dev_stream *s;
	ok(dev_stream_open(d, priority, &s));
	return s;
}

static void *alloc_zeroed(uint64_t bytes)
{
	void *memory;
	ok(dev_alloc(d, DEV_MEM_PINNED, bytes, &memory));
	memset(memory, 0, bytes);
	return memory;
}

static void launch_kernel(struct dev_stream *s, struct dev_kernel *k, uint32_t grid,
			  uint64_t shared_bytes, void *memory)
{
	const void *const args[] = {&memory};
	ok(dev_launch(
		d, s, k,
		&(struct dev_launch){.grid = grid, .shared_bytes = shared_bytes, .args = args}));
}

static void launch_hold(struct dev_stream *s, uint32_t grid, uint64_t shared_bytes,
			uint32_t *memory)
{
	struct dev_kernel *k;
	uint32_t *flag = memory, *arrived = memory + 16;
	uint64_t *start_ns = (uint64_t *)(void *)(memory + 32), timeout = FOR_EVER_NS;
	const void *const args[] = {&flag, &arrived, &start_ns, &timeout};
	ok(dev_kernel_find(d, "blocking_kernel", &k));
	ok(dev_launch(
		d, s, k,
		&(struct dev_launch){.grid = grid, .shared_bytes = shared_bytes, .args = args}));
}

static uint32_t load_word(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* ------------------------------------------------------------------ where blocks go */

static void a_full_grid_lands_one_on_each_unit(void)
{
	const uint32_t units = d->props.units;
	struct dev_stream *s = open_stream(0);
	uint64_t *cpus = alloc_zeroed(HOST_SLOTS * units * sizeof(uint64_t));
	for (int repeat = 0; repeat < 20; repeat++) {
		launch_kernel(s, &where, units, 0, cpus);
		ok(dev_stream_sync(d, s));
		for (uint32_t i = 0; i < units; i++)
			expect(cpus[i] == (uint64_t)((struct host_dev *)d)->cores[i]);
	}
	ok(dev_free(d, cpus));
	dev_stream_close(d, s);
}

static void launches_on_one_unit_take_turns(void)
{
	const uint32_t units = d->props.units;
	struct dev_stream *s[] = {open_stream(0), open_stream(0)};
	unsigned *number[] = {alloc_zeroed(8 * units), alloc_zeroed(8 * units)};
	*number[1] = 1;
	for (int i = 0; i < 2; i++)
		launch_kernel(s[i], &busy_kernel, units, 0, number[i]);
	for (int i = 0; i < 2; i++)
		ok(dev_stream_sync(d, s[i]));
	expect(atomic_load(&turns[0]) >= TURNS && atomic_load(&turns[1]) >= TURNS);
	for (int i = 0; i < 2; i++) {
		ok(dev_free(d, number[i]));
		dev_stream_close(d, s[i]);
	}
}

static void a_block_avoids_the_busy_unit(void)
{
	if (d->props.units < 2)
		skip("needs two units");
	struct dev_stream *busy = open_stream(0), *s = open_stream(0);
	uint32_t *gate = alloc_zeroed(1024);
	uint64_t *cpu = alloc_zeroed(sizeof(*cpu));
	launch_hold(busy, 1, 0, gate);
	for (int repeat = 0; repeat < 20; repeat++) {
		launch_kernel(s, &where, 1, 0, cpu);
		ok(dev_stream_sync(d, s));
		expect(*cpu == (uint64_t)((struct host_dev *)d)->cores[1]);
	}
	ok(dev_post_value(d, gate, 1));
	ok(dev_stream_sync(d, busy));
	expect(load_word(gate + 17) == 0);
	dev_stream_close(d, busy);
	dev_stream_close(d, s);
	ok(dev_free(d, gate));
	ok(dev_free(d, cpu));
}

static void residency_follows_the_claim(void)
{
	const uint64_t claims[] = {0, 1, 17000, 40000, 65536, 65537, HOST_SHARED_BYTES};
	struct dev_stream *s = open_stream(0);
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		uint32_t fit = 0;
		ok(dev_occupancy(d, &crowd, 0, claims[i], &fit));
		atomic_store(&max_here, 0);
		atomic_store(&awaited, fit * d->props.units);
		launch_kernel(s, &crowd, 3 * fit * d->props.units, claims[i], NULL);
		ok(dev_stream_sync(d, s));
		expect(atomic_load(&max_here) == fit * d->props.units);
	}
	atomic_store(&awaited, 0);
	dev_stream_close(d, s);
}

static void a_launch_that_does_not_fit_holds_back_what_is_behind(void)
{
	struct dev_stream *full = open_stream(0), *big = open_stream(0), *small = open_stream(0),
			  *urgent = open_stream(1);
	uint32_t *gate = alloc_zeroed(4096);
	uint64_t *place = alloc_zeroed(64);
	atomic_store(&order, 1);
	launch_hold(full, d->props.units, HOST_SHARED_BYTES / 2, gate);
	launch_kernel(big, &orders, 1, HOST_SHARED_BYTES, place);
	launch_kernel(small, &orders, 1, 0, place + 1);
	launch_kernel(urgent, &orders, 1, 0, place + 2);
	ok(dev_stream_sync(d, urgent));
	expect(place[2] == 1);
	usleep(2000);
	expect(atomic_load(&order) == 2);
	ok(dev_post_value(d, gate, 1));
	ok(dev_stream_sync(d, small));
	ok(dev_stream_sync(d, big));
	ok(dev_stream_sync(d, full));
	expect(place[0] > 1 && place[1] > 1);
	dev_stream_close(d, full);
	dev_stream_close(d, big);
	dev_stream_close(d, small);
	dev_stream_close(d, urgent);
	ok(dev_free(d, gate));
	ok(dev_free(d, place));
}

/* ------------------------------------------------------------------ failures and limits */

static void a_failure_drops_the_rest_and_is_reported_once(void)
{
	struct dev_stream *s = open_stream(0), *other = open_stream(0);
	struct dev_event *e;
	uint64_t *place = alloc_zeroed(64);
	ok(dev_event_open(d, &e));
	atomic_store(&order, 1);
	launch_kernel(s, &fails, 4, 0, NULL);
	launch_kernel(s, &orders, 1, 0, place);
	ok(dev_event_record(d, s, e));
	ok(dev_stream_wait(d, other, e));
	launch_kernel(other, &orders, 1, 0, place + 1);
	ok(dev_stream_sync(d, other));
	err_clear();
	expect(dev_stream_sync(d, s) == -EIO);
	expect(err_text()[0] != '\0');
	expect(place[0] == 0 && place[1] == 1);
	launch_kernel(s, &orders, 1, 0, place);
	ok(dev_stream_sync(d, s));
	expect(place[0] == 2);
	dev_event_close(d, e);
	dev_stream_close(d, s);
	dev_stream_close(d, other);
	ok(dev_free(d, place));
}

static void a_queue_grows_beyond_its_promise(void)
{
	struct dev_stream *s = open_stream(0);
	uint32_t *gate = alloc_zeroed(1024);
	const uint32_t many = 4 * HOST_MAX_QUEUED;
	ok(dev_wait_value(d, s, gate, 1));
	for (uint32_t i = 2; i <= many; i++)
		ok(dev_write_value(d, s, gate, i));
	ok(dev_post_value(d, gate, 1));
	ok(dev_stream_sync(d, s));
	expect(load_word(gate) == many);
	dev_stream_close(d, s);
	ok(dev_free(d, gate));
}

static void invalid_shapes_are_rejected(void)
{
	struct dev_stream *s = open_stream(0);
	expect(dev_launch(d, s, &crowd, &(struct dev_launch){.grid = 0}) == -EINVAL);
	expect(dev_launch(d, s, &crowd, &(struct dev_launch){.grid = 1, .block = 2}) == -EINVAL);
	dev_stream_close(d, s);
}

enum { WORDS = 64 * 23 };

static bool sums_to(uint32_t wanted, uint32_t *words, uint32_t *sink, uint32_t grid)
{
	struct dev_kernel *k;
	struct dev_stream *s = open_stream(0);
	const uint64_t bytes = WORDS * sizeof(uint32_t);
	const uint32_t reps = 3;
	const void *const args[] = {&words, &bytes, &reps, &sink};
	*sink = 0;
	ok(dev_kernel_find(d, "read", &k));
	ok(dev_launch(d, s, k, &(struct dev_launch){.grid = grid, .args = args}));
	ok(dev_stream_sync(d, s));
	dev_stream_close(d, s);
	return *sink == wanted;
}

static void every_instruction_set_serves_the_kernels(void)
{
	uint32_t *words = alloc_zeroed(WORDS * sizeof(uint32_t)), *sink = alloc_zeroed(4),
		 wanted = 0;
	for (uint32_t i = 0; i < WORDS; i++)
		wanted += words[i] = i * 2654435761u;
	for (size_t i = 0; host_simd_at(i); i++) {
		host_kernels_use(host_simd_at(i));
		for (uint32_t grid = 1; grid < 40; grid += 3)
			expect(sums_to(wanted, words, sink, grid));
	}
	host_kernels_use(NULL);
	ok(dev_free(d, words));
	ok(dev_free(d, sink));
}

/* ------------------------------------------------------------------ closing */

static void closing_ends_holds_and_waits(void)
{
	struct dev_set mine;
	struct dev *before = d;
	ok(dev_open("host", 0, &mine));
	d = mine.dev[0];
	uint32_t *gate = alloc_zeroed(4096);
	struct dev_stream *holds = open_stream(0), *waits = open_stream(0),
			  *behind = open_stream(0);
	struct dev_event *e;
	ok(dev_event_open(d, &e));
	launch_hold(holds, 3, 0, gate);
	launch_kernel(holds, &crowd, 1, 0, NULL);
	ok(dev_wait_value(d, waits, gate, 1));
	ok(dev_event_record(d, waits, e));
	ok(dev_stream_wait(d, behind, e));
	launch_kernel(behind, &crowd, 1, 0, NULL);
	dev_close(&mine);
	d = before;
}

/* Closes the second device of `pair` while the first has work that uses its memory. */
static void use_memory_of_closed_device(struct dev_set *pair, uint32_t *theirs)
{
	uint32_t *mine = alloc_zeroed(4096);
	struct dev_stream *s = open_stream(0), *waits = open_stream(0);
	ok(dev_wait_value(d, s, mine, 1));
	ok(dev_copy(d, s, mine + 64, theirs, 1024));
	ok(dev_wait_value(d, waits, theirs, 1));
	pair->count = 1;
	pair->dev[1]->ops->close(pair->dev[1]);
	ok(dev_post_value(d, mine, 1));
	expect(dev_stream_sync(d, s) == -EFAULT);
	expect(dev_stream_sync(d, waits) == -EFAULT);
	ok(dev_stream_sync(d, s));
}

static void work_on_memory_of_a_closed_device_fails(void)
{
	struct dev_set pair;
	struct dev *before = d;
	void *theirs;
	ok(dev_open("host:0,1", 0, &pair));
	ok(dev_alloc(pair.dev[1], DEV_MEM_PINNED, 4096, &theirs));
	memset(theirs, 0, 4096);
	ok(dev_peer_enable(pair.dev[0], pair.dev[1]));
	d = pair.dev[0];
	use_memory_of_closed_device(&pair, theirs);
	dev_close(&pair);
	d = before;
}

static void devices_may_share_a_core(void)
{
	struct dev_set many;
	ok(dev_open("host:0-15", 0, &many));
	struct dev *before = d;
	for (size_t i = 0; i < many.count; i++) {
		d = many.dev[i];
		expect(d->props.units >= 1 && d->props.shares[0]);
		struct dev_stream *s = open_stream(0);
		launch_kernel(s, &crowd, 1, 0, NULL);
	}
	dev_close(&many);
	d = before;
}

int main(void)
{
	alarm(TEST_HANGS_S);
	/* Not with DEV_CHECKED, to which the kernels of these tests are unknown. */
	if (dev_open("host", 0, &set))
		return 77;
	d = set.dev[0];
	test(a_full_grid_lands_one_on_each_unit);
	test(launches_on_one_unit_take_turns);
	test(a_block_avoids_the_busy_unit);
	test(residency_follows_the_claim);
	test(a_launch_that_does_not_fit_holds_back_what_is_behind);
	test(a_failure_drops_the_rest_and_is_reported_once);
	test(a_queue_grows_beyond_its_promise);
	test(invalid_shapes_are_rejected);
	test(every_instruction_set_serves_the_kernels);
	test(closing_ends_holds_and_waits);
	test(work_on_memory_of_a_closed_device_fails);
	test(devices_may_share_a_core);
	dev_close(&set);
	return test_done();
}
