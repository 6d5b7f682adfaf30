/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness closes everything that a case owns, in reverse order, whatever went wrong. A table
 * between the harness and the simulated device logs what is opened and closed.
 */
#include "bench/bench_alloc.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <errno.h>

/* Behaviour of the callbacks; set by each test. */
static struct {
	int body;
	unsigned many;
	bool second_fails, forget, busy, free_fails;
} act;

static char calls[8192]; /* m: memory, s: stream, e: event; capitals when closed, w: a stream was
			    waited for */
static int steps;        /* steps of the setup that succeeded */
static struct dev_ops spy;
static const struct dev_ops *real;
static struct dev_stream *watched;

static void note_call(char what)
{
	size_t length = strlen(calls);
	if (length + 1 < sizeof(calls))
		calls[length] = what;
}

static int spy_alloc(struct dev *d, enum dev_mem kind, uint64_t bytes, void **p)
{
	note_call('m');
	return real->alloc(d, kind, bytes, p);
}

static int spy_free(struct dev *d, void *p)
{
	note_call('M');
	int status = real->free(d, p);
	return status == 0 && act.free_fails ? err_note(-EIO, "the memory does not want to go")
					     : status;
}

static int spy_stream_open(struct dev *d, int priority, struct dev_stream **s_p)
{
	note_call('s');
	int status = real->stream_open(d, priority, s_p);
	watched = status ? NULL : *s_p;
	return status;
}

static void spy_stream_close(struct dev *d, struct dev_stream *s)
{
	note_call('S');
	/* The next stream may have the same address. */
	watched = s == watched ? NULL : watched;
	real->stream_close(d, s);
}

static int spy_stream_sync(struct dev *d, struct dev_stream *s)
{
	if (s == watched)
		note_call('w');
	return real->stream_sync(d, s);
}

static int spy_event_open(struct dev *d, struct dev_event **e_p)
{
	note_call('e');
	return real->event_open(d, e_p);
}

static void spy_event_close(struct dev *d, struct dev_event *e)
{
	note_call('E');
	real->event_close(d, e);
}

struct state {
	struct dev_kernel *kernel;
	struct dev_stream *stream;
	void *memory;
};

static void spy_on(struct dev *d)
{
	real = d->ops;
	spy = *real;
	spy.alloc = spy_alloc;
	spy.free = spy_free;
	spy.stream_open = spy_stream_open;
	spy.stream_close = spy_stream_close;
	spy.stream_sync = spy_stream_sync;
	spy.event_open = spy_event_open;
	spy.event_close = spy_event_close;
	d->ops = &spy;
}

static int setup(struct bench_case *c)
{
	struct state *s = c->state;
	spy_on(c->dev);
	s->memory = bench_alloc(c, DEV_MEM_DEVICE, 4096);
	steps += s->memory != NULL;
	s->kernel = bench_kernel(c, act.second_fails ? "no such kernel" : "empty");
	steps += s->kernel != NULL;
	steps += bench_alloc_host(c, 100) != NULL;
	s->stream = bench_stream(c, dev_props(c->dev)->priority_normal);
	steps += s->stream != NULL;
	steps += bench_event(c) != NULL;
	for (unsigned i = 0; i < act.many; i++)
		steps += bench_alloc_on(c, c->dev, DEV_MEM_PINNED, 256) != NULL;
	return act.forget ? 0 : c->status;
}

static int body(struct bench_case *c, long unused, uint64_t iterations)
{
	struct state *s = c->state;
	struct dev_launch launch = {.grid = 1};
	if (act.busy)
		TRY(c->status, dev_fill(c->dev, s->stream, s->memory, 1, 4096));
	for (uint64_t i = 0; i < iterations; i++)
		TRY(c->status, dev_launch(c->dev, c->stream, s->kernel, &launch));
	return act.body ? TRY(c->status, err_note(act.body, "the body broke")) : c->status;
}

static void teardown(struct bench_case *c) { note_call('|'); }

static const struct bench_variant variants[] = {{.name = "one", .timing = BENCH_DEVICE}, {0}};

static const struct bench bench = {
	.name = "test/owner",
	.question = "who closes it?",
	.formula = "none",
	.timed = "nothing of interest",
	.variants = variants,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.teardown = teardown,
};

static char output[1 << 16];

static int run_bench(void)
{
	memset(calls, 0, sizeof(calls));
	steps = 0;
	return run_captured(&bench, output, "--device", "sim", "--budget", "1ms", "--format",
			    "json");
}

static void reset_case(void) { memset(&act, 0, sizeof(act)); }

/* True if these calls followed the end of the case: the harness' own things are closed after the
 * case's. */
static bool ended_with(const char *wanted)
{
	const char *end = strchr(calls, '|');
	if (end && end > calls && strncmp(end - 1, wanted, strlen(wanted)) == 0)
		return true;
	printf("# calls: %s\n", calls);
	return false;
}

static void closes_in_reverse_order(void)
{
	reset_case();
	expect(run_bench() == 0);
	expect(steps == 5);
	expect(strncmp(calls, "mse", 3) == 0);
	expect(ended_with("w|ESM"));
}

static void waits_before_it_closes(void)
{
	reset_case();
	act.busy = true;
	expect(run_bench() == 0);
	expect(ended_with("w|ESM"));
}

static void errors_are_sticky(void)
{
	reset_case();
	act.second_fails = true;
	expect(run_bench() == 1);
	expect(steps == 1);
	expect(strncmp(calls, "m|M", 3) == 0);
	expect(strstr(output, "no such kernel") != NULL);
}

static void an_unchecked_setup_fails(void)
{
	reset_case();
	act.second_fails = act.forget = true;
	expect(run_bench() == 1);
	expect(strncmp(calls, "m|M", 3) == 0);
	expect(strstr(output, "no such kernel") != NULL);
}

static void a_failed_body_leaves_nothing_open(void)
{
	reset_case();
	act.body = -EIO;
	act.busy = true;
	expect(run_bench() == 1);
	expect(ended_with("w|ESM"));
	expect(strstr(output, "the body broke") != NULL);
}

static void only_memory_limits_the_list(void)
{
	reset_case();
	act.many = 1000;
	expect(run_bench() == 0);
	expect(steps == 1005);
	expect(strlen(calls) > 2000);
}

static void a_close_that_fails_fails_the_case(void)
{
	reset_case();
	act.free_fails = true;
	expect(run_bench() == 1);
	expect(strstr(output, "the memory does not want to go") != NULL);
}

int main(void)
{
	test(closes_in_reverse_order);
	test(waits_before_it_closes);
	test(errors_are_sticky);
	test(an_unchecked_setup_fails);
	test(a_failed_body_leaves_nothing_open);
	test(only_memory_limits_the_list);
	test(a_close_that_fails_fails_the_case);
	return test_done();
}
