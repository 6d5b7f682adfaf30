/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gates and their watchdog, on the host's own streams; and what the harness makes of a gate that
 * was overdue. A call that waits for a full queue is here one that waits for the stream which it
 * has filled.
 */
#include "bench/bench_gate.h"
#include "bench/bench.h"
#include "bench/bench_alloc.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MS 1000000u

static struct {
	struct dev_set set;
	struct dev *d;
	struct dev_stream *s, *other;
} on;

#define ok(call) require((call) == 0)

static struct gate *gate_of(uint64_t limit_ns)
{
	struct gate *g = NULL;
	ok(gate_open(on.d, limit_ns, &g));
	return g;
}

static struct dev_event *record_behind(struct gate *g, struct dev_stream *s)
{
	struct dev_event *e = NULL;
	ok(dev_event_open(on.d, &e));
	ok(gate_shut(g, on.d, s));
	ok(dev_event_record(on.d, s, e));
	return e;
}

/* ------------------------------------------------------------------ gates */

static void a_gate_holds_until_it_is_released(void)
{
	struct gate *g = gate_of(GATE_LIMIT_NS);
	unsigned before = gate_overdue();
	for (int i = 0; i < 3; i++) {
		struct dev_event *e = record_behind(g, on.s);
		usleep(250000); /* longer than the watchdog's period */
		expect(dev_event_query(on.d, e) == -EAGAIN);
		expect(gate_release(g) == 0);
		ok(dev_stream_sync(on.d, on.s));
		dev_event_close(on.d, e);
	}
	expect(gate_release(g) == 0); /* a gate that is not shut */
	expect(gate_overdue() == before);
	gate_close(g);
}

static void one_write_releases_all_streams(void)
{
	struct gate *g = gate_of(GATE_LIMIT_NS);
	struct dev_event *first = record_behind(g, on.s), *second = record_behind(g, on.other);
	usleep(1000);
	expect(dev_event_query(on.d, first) == -EAGAIN && dev_event_query(on.d, second) == -EAGAIN);
	expect(gate_release(g) == 0);
	ok(dev_stream_sync(on.d, on.s));
	ok(dev_stream_sync(on.d, on.other));
	dev_event_close(on.d, first);
	dev_event_close(on.d, second);
	gate_close(g);
}

static void closing_releases(void)
{
	struct gate *g = gate_of(GATE_LIMIT_NS);
	struct dev_event *e = record_behind(g, on.s);
	gate_close(g);
	ok(dev_stream_sync(on.d, on.s));
	dev_event_close(on.d, e);
}

static void the_watchdog_opens_what_is_overdue(void)
{
	struct gate *g = gate_of(300 * MS);
	unsigned before = gate_overdue();
	for (int i = 0; i < 2; i++) {
		struct dev_event *e = record_behind(g, on.s);
		ok(dev_stream_sync(on.d, on.s)); /* the same thread would have to open it */
		err_clear();
		expect(gate_release(g) == -ETIMEDOUT);
		expect(strstr(err_text(), "watchdog") != NULL);
		expect(gate_release(g) == 0);
		dev_event_close(on.d, e);
	}
	expect(gate_overdue() == before + 2);
	gate_close(g);
}

/* On a busy machine a later try may be the first in time. */
static void a_gate_works_again_after_the_watchdog(void)
{
	struct gate *g = gate_of(300 * MS);
	int released = -ETIMEDOUT;
	for (int i = 0; released == -ETIMEDOUT && i < 100; i++) {
		struct dev_event *e = record_behind(g, on.s);
		if (i == 0)
			ok(dev_stream_sync(on.d, on.s));
		int found = dev_event_query(on.d, e);
		released = gate_release(g);
		expect(released != 0 || found == -EAGAIN);
		expect(i > 0 || released == -ETIMEDOUT);
		ok(dev_stream_sync(on.d, on.s));
		dev_event_close(on.d, e);
	}
	expect(released == 0);
	gate_close(g);
}

/* A wrong target, and what follows it. */
static void a_counter_that_nothing_advances_ends_too(void)
{
	struct gate *g = gate_of(300 * MS);
	void *counters = NULL;
	ok(dev_alloc(on.d, DEV_MEM_DEVICE, 256, &counters));
	uint32_t *at = counters;
	for (int i = 0; i < 2; i++)
		ok(gate_guard(g, on.d, at + 1));
	ok(dev_fill(on.d, on.s, at, 0, 256));
	ok(dev_stream_sync(on.d, on.s));
	expect(gate_wait_ended(gate_wait_begins()) == 0);
	ok(dev_wait_value(on.d, on.s, at + 1, 5));
	const unsigned begun = gate_wait_begins();
	ok(dev_stream_sync(on.d, on.s));
	expect(gate_wait_ended(begun) == -EPROTO && strstr(err_text(), "counter"));
	expect(gate_wait_ended(gate_wait_begins()) == 0);
	gate_close(g);
	ok(dev_free(on.d, counters));
}

/* Before any other test, since the limit is shorter once a gate was overdue. */
static void other_gates_stay_shut(void)
{
	struct gate *soon = gate_of(100 * MS), *late = gate_of(GATE_LIMIT_NS);
	struct dev_event *second = record_behind(late, on.other),
			 *first = record_behind(soon, on.s);
	ok(dev_stream_sync(on.d, on.s));
	expect(dev_event_query(on.d, second) == -EAGAIN);
	expect(gate_release(late) == 0);
	expect(gate_release(soon) == -ETIMEDOUT);
	ok(dev_stream_sync(on.d, on.other));
	dev_event_close(on.d, first);
	dev_event_close(on.d, second);
	gate_close(soon);
	gate_close(late);
}

/* Releases at about the time at which the watchdog comes: whichever is first, nothing waits for
 * ever. */
static atomic_uint opened_late;

static void *shut_and_release(void *unused)
{
	struct gate *g = NULL;
	struct dev_stream *s = NULL;
	if (gate_open(on.d, 1, &g) || dev_stream_open(on.d, dev_props(on.d)->priority_normal, &s))
		return unused;
	for (int i = 0; i < 3000; i++) {
		int shut = gate_shut(g, on.d, s);
		usleep((useconds_t)(i % 7) * 100);
		int released = gate_release(g), drained = dev_stream_sync(on.d, s);
		if (shut || drained || (released && released != -ETIMEDOUT))
			return unused;
		atomic_fetch_add(&opened_late, released == -ETIMEDOUT);
	}
	dev_stream_close(on.d, s);
	gate_close(g);
	return NULL;
}

static void watchdog_and_release_race(void)
{
	enum { THREADS = 3 };
	pthread_t thread[THREADS];
	void *wrong = NULL;
	int mark;
	unsigned before = gate_overdue();
	for (int i = 0; i < THREADS; i++)
		ok(pthread_create(&thread[i], NULL, shut_and_release, &mark));
	for (int i = 0; i < THREADS; i++) {
		ok(pthread_join(thread[i], &wrong));
		expect(wrong == NULL);
	}
	expect(gate_overdue() - before == atomic_load(&opened_late));
	expect(atomic_load(&opened_late) > 0);
}

static void no_watchdog_in_virtual_time(void)
{
	struct dev_set sim;
	struct dev_stream *s = NULL;
	struct gate *g = NULL;
	unsigned before = gate_overdue();
	ok(dev_open("sim", DEV_CAP_ALL, &sim));
	ok(dev_stream_open(sim.dev[0], dev_props(sim.dev[0])->priority_normal, &s));
	ok(gate_open(sim.dev[0], 1, &g));
	ok(gate_shut(g, sim.dev[0], s));
	usleep(250000);
	expect(gate_release(g) == 0);
	ok(dev_stream_sync(sim.dev[0], s));
	expect(gate_overdue() == before);
	gate_close(g);
	dev_close(&sim);
}

/* ------------------------------------------------------------------ the harness */

enum { QUICK, SHALLOW, STUCK };
#define SHALLOW_MAX 6u

static bool only_stuck;
static uint64_t asked, most_asked; /* iterations of the last shallow sample, and of the longest */

struct state {
	char *from, *to;
};

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	void *memory;
	int status = dev_alloc(c->dev, DEV_MEM_DEVICE, 8192, &memory);
	s->from = memory;
	s->to = s->from + 4096;
	for (unsigned v = QUICK; only_stuck && v < STUCK; v++)
		bench_variant_off(c, v);
	return status;
}

static int copy_once(struct bench_case *c, long unused)
{
	const struct state *s = c->state;
	return dev_copy(c->dev, c->stream, s->to, s->from, 4096);
}

/* A queue that is full waits for the gate. */
static int copy_or_wait(struct bench_case *c, uint64_t iterations, bool full)
{
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, copy_once(c, 0));
	return full ? TRY(c->status, dev_stream_sync(c->dev, c->stream)) : c->status;
}

static int copy_shallow(struct bench_case *c, long unused, uint64_t iterations)
{
	asked = iterations;
	most_asked = asked > most_asked ? asked : most_asked;
	return copy_or_wait(c, iterations, iterations > SHALLOW_MAX);
}

static int copy_stuck(struct bench_case *c, long unused, uint64_t iterations)
{
	static bool loaded; /* the first call is not gated */
	const bool full = loaded;
	loaded = true;
	return copy_or_wait(c, iterations, full);
}

static void teardown(struct bench_case *c)
{
	struct state *s = c->state;
	dev_free(c->dev, s->from);
}

static int derive(struct bench_case *c)
{
	return bench_ratio(c, "stuck_ratio", STUCK, QUICK, "stuck / quick");
}

static const struct bench_variant variants[] = {
	[QUICK] = {"quick", BENCH_DEVICE, .once = copy_once},
	[SHALLOW] = {"shallow", BENCH_DEVICE, .body = copy_shallow},
	[STUCK] = {"stuck", BENCH_DEVICE, .body = copy_stuck},
	{0}};

static const struct bench bench = {
	.name = "test/gates",
	.question = "does the harness go on?",
	.formula = "seconds",
	.timed = "copies",
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.derive = derive,
	.teardown = teardown,
};

static char output[1 << 16];

static int run_bench(void)
{
	return run_captured(&bench, output, "--device", "host", "--format", "json", "--budget",
			    "1s", "--min-samples", "6", "--max-samples", "6");
}

static bool output_has(const char *text) { return strstr(output, text) != NULL; }

static void an_overdue_gate_costs_its_variant(void)
{
	int code = run_bench();
	expect(code == 0 || code == 3); /* 3: a busy machine flags every variant */
	expect(output_has("\"status\":\"ok\""));
	expect(output_has("\"flag\":\"gate\",\"variant\":\"stuck\",\"quantity\":null,\"reason\":"
			  "\"a gate was opened by its "
			  "watchdog"));
	expect(output_has("\"variant\":\"quick\"") &&
	       !output_has("\"flag\":\"gate\",\"variant\":\"quick\""));
	expect(output_has("\"name\":\"time\",\"variant\":\"stuck\",\"value\":null"));
	expect(output_has("\"valid\":false,\"reason\":\"gate: every sample was lost\""));
	expect(!output_has("stuck_ratio"));
}

/* A copy may take a busy machine so long that one is enough for a sample. */
static void a_short_queue_gets_less(void)
{
	expect(output_has("\"name\":\"time\",\"variant\":\"shallow\"") &&
	       !output_has("\"flag\":\"gate\",\"variant\":\"shallow\""));
	expect(asked > 0 && asked <= SHALLOW_MAX);
	const char *capacity = strstr(output, "\"operations_queued_max\":");
	expect((capacity != NULL) == (most_asked > SHALLOW_MAX));
	if (capacity) {
		double most = strtod(strchr(capacity, ':') + 1, NULL);
		expect(most > 8 && most <= 8 + SHALLOW_MAX);
	}
}

static void a_case_without_samples_fails(void)
{
	only_stuck = true;
	expect(run_bench() == 1);
	expect(output_has("\"status\":\"failed\",\"cause\":\"error\",\"reason\":\"no variant could "
			  "be sampled"));
	expect(output_has("\"flag\":\"gate\",\"variant\":\"stuck\""));
}

/* ------------------------------------------------------------------ a counter in a sample */

static unsigned first_wait; /* the body that waits for what nothing writes */
static unsigned bodies;

static int guard_counter(struct bench_case *c)
{
	uint32_t **counter = c->state;
	struct gate *g = bench_gate(c, 200 * MS);
	*counter = bench_alloc(c, DEV_MEM_DEVICE, 256);
	return c->status ? c->status : gate_guard(g, c->dev, *counter);
}

static int wait_for_counter(struct bench_case *c, long unused, uint64_t iterations)
{
	uint32_t *const *counter = c->state;
	int status = dev_fill(c->dev, c->stream, *counter, 0, 256);
	if (status || bodies++ < first_wait)
		return status;
	return dev_wait_value(c->dev, c->stream, *counter, 5);
}

static const struct bench_variant counting[] = {{"counting", BENCH_DEVICE}, {0}};

static const struct bench counters = {
	.name = "test/counters",
	.question = "does it end?",
	.formula = "seconds",
	.timed = "waits",
	.variants = counting,
	.state_bytes = sizeof(uint32_t *),
	.setup = guard_counter,
	.body = wait_for_counter,
};

static void a_sample_that_waits_for_a_counter_ends(void)
{
	for (first_wait = 0; first_wait < 2; first_wait++) {
		bodies = 0;
		int code = run_captured(&counters, output, "--device", "host", "--format", "json",
					"--min-samples", "1", "--max-samples", "1");
		expect(code == 1 && bodies == first_wait + 1);
		expect(output_has("\"status\":\"failed\",\"cause\":\"error\",\"reason\":\"a stream "
				  "waited for a "
				  "counter that nothing advanced"));
	}
}

int main(void)
{
	alarm(TEST_HANGS_S);
	if (dev_open("host", DEV_CAP_ALL | DEV_CHECKED, &on.set))
		return 1;
	on.d = on.set.dev[0];
	if (dev_stream_open(on.d, 0, &on.s) || dev_stream_open(on.d, 0, &on.other))
		return 1;
	test(other_gates_stay_shut);
	test(a_gate_holds_until_it_is_released);
	test(one_write_releases_all_streams);
	test(closing_releases);
	test(the_watchdog_opens_what_is_overdue);
	test(a_gate_works_again_after_the_watchdog);
	test(a_counter_that_nothing_advances_ends_too);
	test(watchdog_and_release_race);
	test(no_watchdog_in_virtual_time);
	dev_stream_close(on.d, on.s);
	dev_stream_close(on.d, on.other);
	dev_close(&on.set);
	test(an_overdue_gate_costs_its_variant);
	test(a_short_queue_gets_less);
	test(a_case_without_samples_fails);
	test(a_sample_that_waits_for_a_counter_ends);
	return test_done();
}
