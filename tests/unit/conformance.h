/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the conformance tests share: one device after the other, and gates that hold back a stream.
 *
 *     conformance          devices, errors, streams, events      conformance_memory   memory, values, threads
 *     conformance_kernels  device/kernels.h                      conformance_units    residence, priority, engines
 *     conformance_signals  signal and await                      conformance_optional what only some devices have
 *     conformance_gemm     dev_gemm() in every type              conformance_tiled    shaped blocks, finished rows
 *     conformance_mma      loops of matrix multiply-adds
 *
 * Each takes the specs to test; without any: host, sim, host:0,1 and sim:0,1. A spec without a device here is
 * a skip. Nothing asserts speed; times only serve as limits for what would else hang.
 */
#ifndef GPUSIG_CONFORMANCE_H
#define GPUSIG_CONFORMANCE_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "device/dev.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "tests/unit/test.h"

#define MS 1000000u
#define GATE_NS 5000000000u
#define LOST_NS 5000000000u
#define SPEC_SECONDS 60u

/* The devices under test. Tests open what they need; what a failed one leaves is closed with the device. */
static struct {
	const char *spec;
	struct dev_set set;
	struct dev *d, *other; /* `other` is NULL when there is one device */
} on;

#define ok(call)                                                                                                      \
	do {                                                                                                          \
		int ok_rc = (call);                                                                                   \
		if (ok_rc)                                                                                            \
			printf("# %s: %d: %s\n", #call, ok_rc, err_text());                                           \
		require(ok_rc == 0);                                                                                  \
	} while (0)

#define expect_rc(call, wanted)                                                                                       \
	do {                                                                                                          \
		err_clear();                                                                                          \
		int expect_got = (call);                                                                              \
		if (expect_got != (wanted))                                                                           \
			printf("# %s is %d, not %d: %s\n", #call, expect_got, (wanted), err_text());                  \
		expect(expect_got == (wanted));                                                                       \
	} while (0)

/* An error, and a cause in words. */
#define expect_error(call, wanted)                                                                                    \
	do {                                                                                                          \
		expect_rc(call, wanted);                                                                              \
		expect(err_text()[0] != '\0');                                                                        \
	} while (0)

#define need(capability)                                                                                              \
	do {                                                                                                          \
		if (!dev_can(on.d, capability))                                                                       \
			skip("the device lacks " #capability);                                                        \
	} while (0)

static inline void *get(enum dev_mem kind, uint64_t bytes)
{
	void *memory = NULL;
	ok(dev_alloc(on.d, kind, bytes, &memory));
	return memory;
}

static inline void put(void *memory) { ok(dev_free(on.d, memory)); }

static inline struct dev_stream *stream_at(int priority)
{
	struct dev_stream *s = NULL;
	ok(dev_stream_open(on.d, priority, &s));
	return s;
}

static inline struct dev_stream *stream(void) { return stream_at(dev_props(on.d)->priority_normal); }

static inline struct dev_event *event(void)
{
	struct dev_event *e = NULL;
	ok(dev_event_open(on.d, &e));
	return e;
}

static inline struct dev_kernel *kernel(const char *name)
{
	struct dev_kernel *k = NULL;
	ok(dev_kernel_find(on.d, name, &k));
	return k;
}

static inline int launch(struct dev_stream *s, const char *name, uint32_t grid, const void *const *args)
{
	struct dev_launch l = { .grid = grid, .args = args };
	return dev_launch(on.d, s, kernel(name), &l);
}

/* Words that kernels change while the host looks. */
static inline uint32_t look(const uint32_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

/* Wait in the device's time, which moves with the calls where it is virtual. */
static inline bool comes_to(const uint32_t *at, uint32_t value)
{
	uint64_t from_ns = dev_clock_ns(on.d);
	while (look(at) < value)
		if (dev_clock_ns(on.d) - from_ns > LOST_NS)
			return false;
	return true;
}

static inline void pass(uint64_t ns)
{
	uint64_t from_ns = dev_clock_ns(on.d);
	while (dev_clock_ns(on.d) - from_ns < ns)
		continue;
}

/* Blocks of `hold` in a stream: it goes no further until the gate opens. What allocates, or looks for a kernel, may wait for
 * everything that runs: gate_ready() of all gates comes before the first gate_start(). */
struct gate {
	struct dev_kernel *hold;
	uint32_t *flag, *arrived;
	uint64_t *start_ns;
	uint32_t grid;
	void *memory;
};

static inline struct gate gate_ready(uint32_t grid)
{
	struct gate g = { .hold = kernel("hold"), .grid = grid, .memory = get(DEV_MEM_PINNED, 512 + 8 * (uint64_t)grid) };
	memset(g.memory, 0, 512);
	g.flag = g.memory;
	g.arrived = (uint32_t *)g.memory + 64;
	g.start_ns = (uint64_t *)g.memory + 64;
	return g;
}

static inline void gate_start(const struct gate *g, struct dev_stream *s, uint64_t shared_bytes, uint64_t timeout_ns)
{
	const void *args[] = { &g->flag, &g->arrived, &g->start_ns, &timeout_ns };
	struct dev_launch l = { .grid = g->grid, .shared_bytes = shared_bytes, .args = args };
	ok(dev_launch(on.d, s, g->hold, &l));
}

static inline struct gate gate_hold(struct dev_stream *s, uint32_t grid, uint64_t shared_bytes, uint64_t timeout_ns)
{
	struct gate g = gate_ready(grid);
	gate_start(&g, s, shared_bytes, timeout_ns);
	return g;
}

static inline struct gate gate_shut(struct dev_stream *s)
{
	struct gate g = gate_hold(s, 1, 0, GATE_NS);
	require(comes_to(g.arrived, 1));
	return g;
}

static inline void gate_open(const struct gate *g) { ok(dev_post_value(on.d, g->flag, 1)); }

/* After the stream was synchronised: nothing may have run into the time-out. */
static inline void gate_done(const struct gate *g)
{
	expect(look(g->arrived + 1) == 0);
	put(g->memory);
}

static inline uint32_t capacity(uint64_t shared_bytes)
{
	uint32_t blocks = 0;
	ok(dev_occupancy(on.d, kernel("hold"), 0, shared_bytes, &blocks));
	return blocks * dev_props(on.d)->units;
}

struct rule {
	const char *name;
	void (*check)(void);
};
#define RULE(function) { #function, function }

static inline void run_spec(const char *spec, const struct rule *rules, size_t count)
{
	char name[256];
	alarm(SPEC_SECONDS);
	on.spec = spec;
	int rc = dev_open(spec, UINT32_MAX, &on.set);
	if (rc == -ENODEV) {
		printf("# %s: %s\n", spec, err_text());
		printf("ok %d %s # SKIP no device\n", ++test_state.number, spec);
		return;
	}
	if (rc) {
		printf("# %s: %s\n", spec, err_text());
		printf("not ok %d %s opens\n", ++test_state.number, spec);
		test_state.failed++;
		return;
	}
	on.d = on.set.dev[0];
	on.other = on.set.count > 1 ? on.set.dev[1] : NULL;
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s: %s", spec, rules[i].name);
		test_run(name, rules[i].check);
	}
	dev_close(&on.set);
}

static inline int run_specs(int argc, char **argv, const struct rule *rules, size_t count)
{
	const char *const all[] = { "host", "sim", "host:0,1", "sim:0,1" };
	for (int i = 1; i < argc; i++)
		run_spec(argv[i], rules, count);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && argc < 2; i++)
		run_spec(all[i], rules, count);
	return test_done();
}

#endif
