/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness of the conformance tests: it opens one device list after the other, and provides
 * gates, which block a stream until the test opens them.
 *
 *     conformance              devices, errors, streams
 *     conformance_events       events, waits for them
 *     conformance_memory       memory, values, threads
 *     conformance_launches     dev_launch() of any kernel
 *     conformance_kernels      the kernels of device/kernels.h
 *     conformance_mma          loops of matrix multiply-adds
 *     conformance_units        residence, priority, copy engines
 *     conformance_signals      signal and await
 *     conformance_gemm         dev_gemm() in every type
 *     conformance_grouped      dev_gemm() with groups
 *     conformance_tiled        tiled GEMM: shaped blocks, counters of finished rows
 *     conformance_tracking     memory that adds, and its controller
 *     conformance_tracker      trackers; GEMMs that begin with another row
 *     conformance_adding       tiled GEMMs that add to one C at once
 *     conformance_collectives  communicators and their collectives
 *     conformance_files        files that devices read
 *     conformance_optional     what only some devices have
 *     conformance_misuse       handles and arguments that a checked device refuses
 *
 * Arguments are the device lists to test, opened with DEV_CHECKED; after the word "unchecked" they
 * are opened without, and what is misuse is not done. The default is host, sim with every type of
 * GEMM and storage, host:0,1, sim:0,1 and, unchecked, host:0,1. A list whose devices are absent is
 * a skip. Nothing asserts speed; time limits only end what would hang.
 */
#ifndef GPUSIG_CONFORMANCE_H
#define GPUSIG_CONFORMANCE_H

#include "device/dev.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "tests/unit/device/calls.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#define MS 1000000u
/* Far above what anything takes on a busy machine; a gate outlasts what is waited for. */
#define GATE_NS 200000000000u
#define LOST_NS 120000000000u

/* The devices under test. Closing the device frees what a failed test leaves open. */
static struct {
	const char *spec;
	uint32_t want;
	bool checked; /* misuse is refused */
	struct dev_set set;
	struct dev *d, *other; /* `other` is NULL when there is one device */
} on;

/* The contract's "Misuse": expects the error where it is checked, and is not done elsewhere. */
#define expect_misuse(call, wanted)                                                                \
	do {                                                                                       \
		if (on.checked)                                                                    \
			expect_error(call, wanted);                                                \
	} while (0)

#define need_checks()                                                                              \
	do {                                                                                       \
		if (!on.checked)                                                                   \
			skip("the device does not check for misuse");                              \
	} while (0)

#define need(capability)                                                                           \
	do {                                                                                       \
		if (!dev_can(on.d, capability))                                                    \
			skip("the device lacks " #capability);                                     \
	} while (0)

static inline void *alloc_memory(enum dev_mem kind, uint64_t bytes)
{
	void *memory = NULL;
	ok(dev_alloc(on.d, kind, bytes, &memory));
	return memory;
}

static inline void free_memory(void *memory) { ok(dev_free(on.d, memory)); }

static inline struct dev_stream *open_stream_at(int priority)
{
	struct dev_stream *s = NULL;
	ok(dev_stream_open(on.d, priority, &s));
	return s;
}

static inline struct dev_stream *open_stream(void)
{
	return open_stream_at(dev_props(on.d)->priority_normal);
}

static inline struct dev_event *open_event(void)
{
	struct dev_event *e = NULL;
	ok(dev_event_open(on.d, &e));
	return e;
}

static inline struct dev_kernel *find_kernel(const char *name)
{
	struct dev_kernel *k = NULL;
	ok(dev_kernel_find(on.d, name, &k));
	return k;
}

static inline int launch_kernel(struct dev_stream *s, const char *name, uint32_t grid,
				const void *const *args)
{
	struct dev_launch l = {.grid = grid, .args = args};
	return dev_launch(on.d, s, find_kernel(name), &l);
}

/* For words that kernels change while the host reads them. */
static inline uint32_t load_acquire(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Waits in the device's time; where that is virtual, each call advances it. False: timed out. */
static inline bool reaches_value(const uint32_t *at, uint32_t value)
{
	uint64_t from_ns = dev_clock_ns(on.d);
	while (load_acquire(at) < value)
		if (dev_clock_ns(on.d) - from_ns > LOST_NS)
			return false;
	return true;
}

static inline void spend_ns(uint64_t ns)
{
	uint64_t from_ns = dev_clock_ns(on.d);
	while (dev_clock_ns(on.d) - from_ns < ns)
		continue;
}

/* Blocks of blocking_kernel that block a stream until the gate opens. Allocating and finding
 * kernels may wait for all running work, so call blocking_prepare() for all gates before the first
 * blocking_start(). */
struct blocking {
	struct dev_kernel *blocking_kernel;
	uint32_t *flag, *arrived;
	uint64_t *start_ns;
	uint32_t grid;
	void *memory;
};

static inline struct blocking blocking_prepare(uint32_t grid)
{
	struct blocking g = {.blocking_kernel = find_kernel("blocking_kernel"),
			     .grid = grid,
			     .memory = alloc_memory(DEV_MEM_PINNED, 512 + 8 * (uint64_t)grid)};
	memset(g.memory, 0, 512);
	g.flag = g.memory;
	g.arrived = (uint32_t *)g.memory + 64;
	g.start_ns = (uint64_t *)g.memory + 64;
	return g;
}

static inline void blocking_start(const struct blocking *g, struct dev_stream *s,
				  uint64_t shared_bytes, uint64_t timeout_ns)
{
	const void *args[] = {&g->flag, &g->arrived, &g->start_ns, &timeout_ns};
	struct dev_launch l = {.grid = g->grid, .shared_bytes = shared_bytes, .args = args};
	ok(dev_launch(on.d, s, g->blocking_kernel, &l));
}

static inline struct blocking blocking_launch(struct dev_stream *s, uint32_t grid,
					      uint64_t shared_bytes, uint64_t timeout_ns)
{
	struct blocking g = blocking_prepare(grid);
	blocking_start(&g, s, shared_bytes, timeout_ns);
	return g;
}

static inline struct blocking blocking_hold(struct dev_stream *s)
{
	struct blocking g = blocking_launch(s, 1, 0, GATE_NS);
	require(reaches_value(g.arrived, 1));
	return g;
}

static inline void blocking_release(const struct blocking *g)
{
	ok(dev_post_value(on.d, g->flag, 1));
}

/* Call it after the stream was synchronised. No block may have timed out. */
static inline void blocking_free(const struct blocking *g)
{
	expect(load_acquire(g->arrived + 1) == 0);
	free_memory(g->memory);
}

static inline uint32_t max_resident_blocks(uint64_t shared_bytes)
{
	uint32_t blocks = 0;
	ok(dev_occupancy(on.d, find_kernel("blocking_kernel"), 0, shared_bytes, &blocks));
	return blocks * dev_props(on.d)->units;
}

struct rule {
	const char *name;
	void (*check)(void);
};
#define RULE(function)                                                                             \
	{                                                                                          \
#function, function                                                                \
	}

/* Other devices of the same list, opened as those under test. */
static inline void open_twin(struct dev_set *twin)
{
	ok(dev_open(on.spec, (on.want & DEV_CHECKED) | DEV_CAP_PEER | DEV_CAP_WAIT_VALUE, twin));
}

static inline void run_spec(const char *spec, const struct rule *rules, size_t count)
{
	char name[256];
	alarm(TEST_HANGS_S);
	on.spec = spec;
	int status = dev_open(spec, on.want, &on.set);
	if (status == -ENODEV) {
		printf("# %s: %s\n", spec, err_text());
		printf("ok %d %s # SKIP no device\n", ++test_state.number, spec);
		return;
	}
	if (status) {
		printf("# %s: %s\n", spec, err_text());
		printf("not ok %d %s opens\n", ++test_state.number, spec);
		test_state.failed++;
		return;
	}
	on.d = on.set.dev[0];
	on.other = on.set.count > 1 ? on.set.dev[1] : NULL;
	on.checked = on.d->checks || on.d->ops->always_checked;
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s%s: %s", spec,
			 on.want & DEV_CHECKED ? "" : " unchecked", rules[i].name);
		test_run(name, rules[i].check);
	}
	dev_close(&on.set);
}

#define EVERY_TYPE                                                                                 \
	"sim:default?flops_tf32=1e12,flops_f16=1e12,flops_bf16=1e12,flops_f8=1e12,"                \
	"flops_i8=1e12,flops_mxf8=1e12,flops_mxf4=1e12,flops_nvf4=1e12,storage_bandwidth=5e9"

static inline int run_specs(int argc, char **argv, const struct rule *rules, size_t count)
{
	char *all[] = {"", "host", EVERY_TYPE, "host:0,1", "sim:0,1", "unchecked", "host:0,1"};
	if (argc < 2) {
		argc = sizeof(all) / sizeof(all[0]);
		argv = all;
	}
	on.want = DEV_CAP_ALL | DEV_CHECKED;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "unchecked") == 0)
			on.want = DEV_CAP_ALL;
		else
			run_spec(argv[i], rules, count);
	}
	return test_done();
}

#endif
