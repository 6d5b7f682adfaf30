/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the tests of the simulator: devices of a model that the test writes, and times of work on
 * them.
 */
#ifndef GPUSIG_TESTS_SIM_H
#define GPUSIG_TESTS_SIM_H

#include "device/dev.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/* Round numbers, and no cost but those that a test sets. 1 byte/ns is 1e9 bytes/s. */
#define PLAIN                                                                                      \
	"like = quiet\nhost_call_ns = 0\nhost_sync_ns = 0\nevent_ns = 0\nvalue_ns = 0\n"           \
	"launch_ns = 0\nblock_ns = 0\ncopy_ns = 1000\nmemory_bandwidth = 100e9\n"                  \
	"llc_bandwidth = 400e9\nhost_bandwidth = 1e15\nlink_up_bandwidth = 5e9\n"                  \
	"link_down_bandwidth = 10e9\npeer_bandwidth = 20e9\nengine_bandwidth = 1e15\n"             \
	"engine_weight = 1\nunit_bandwidth = 1e15\nblock_share = 1\nflops_f32 = 1e9\n"             \
	"flops_f64 = 1e9\ngemm_efficiency = 1\nunits = 4\nslots_per_unit = 2\n"

static struct {
	struct dev_set set;
	struct dev *d, *other;
} sim;

/* True if a later line sets the same key. A model must not set a key twice, so the later line of a
 * test replaces that of PLAIN. */
static inline bool set_again(const char *line)
{
	size_t key = strcspn(line, "=\n") + 1;
	for (const char *next = strchr(line, '\n'); next && next[1]; next = strchr(next + 1, '\n'))
		if (strncmp(next + 1, line, key) == 0 && strncmp(line, "slow_down", 9) != 0)
			return true;
	return false;
}

static inline int sim_try(const char *model, const char *devices)
{
	char spec[600], path[256];
	const char *folder = getenv("TMPDIR");
	snprintf(path, sizeof(path), "%s/gpusig-XXXXXX.model",
		 folder && folder[0] ? folder : "/tmp");
	int file = mkstemps(path, 6);
	require(file >= 0);
	for (const char *line = model; *line;) {
		size_t length = strcspn(line, "\n") + 1;
		require(set_again(line) || write(file, line, length) == (ssize_t)length);
		line += length;
	}
	close(file);
	snprintf(spec, sizeof(spec), "sim:%s%s", path, devices);
	int status = dev_open(spec, DEV_CAP_ALL, &sim.set);
	unlink(path);
	sim.d = status ? NULL : sim.set.dev[0];
	sim.other = status || sim.set.count < 2 ? NULL : sim.set.dev[1];
	return status;
}

static inline void sim_begin(const char *model)
{
	if (sim.set.count)
		dev_close(&sim.set); /* left by a test that ended early */
	ok(sim_try(model, ":0,1"));
}

static inline void sim_end(void) { dev_close(&sim.set); }

static inline void *alloc_memory_on(struct dev *d, enum dev_mem kind, uint64_t bytes)
{
	void *memory = NULL;
	ok(dev_alloc(d, kind, bytes, &memory));
	return memory;
}

static inline void *alloc_memory(enum dev_mem kind, uint64_t bytes)
{
	return alloc_memory_on(sim.d, kind, bytes);
}

static inline struct dev_stream *open_stream(void)
{
	struct dev_stream *s = NULL;
	ok(dev_stream_open(sim.d, 0, &s));
	return s;
}

static inline int launch_kernel(struct dev_stream *s, const char *name, uint32_t grid,
				uint64_t shared_bytes, const void *const *args)
{
	struct dev_kernel *k = NULL;
	struct dev_launch l = {.grid = grid, .shared_bytes = shared_bytes, .args = args};
	ok(dev_kernel_find(sim.d, name, &k));
	return dev_launch(sim.d, s, k, &l);
}

/* Event stamps before and after what a test enqueues. */
struct span {
	struct dev_event *from, *to;
};

static inline struct span span_begin(struct dev_stream *s)
{
	struct span span = {0};
	ok(dev_event_open(sim.d, &span.from));
	ok(dev_event_open(sim.d, &span.to));
	ok(dev_event_record(sim.d, s, span.from));
	return span;
}

static inline void span_end(struct span *span, struct dev_stream *s)
{
	ok(dev_event_record(sim.d, s, span->to));
}

static inline double span_ns(struct span *span)
{
	double ns = -1;
	ok(dev_event_sync(sim.d, span->to));
	ok(dev_event_elapsed_ns(sim.d, span->from, span->to, &ns));
	dev_event_close(sim.d, span->from);
	dev_event_close(sim.d, span->to);
	return ns;
}

static inline double gemm_ns_of(struct dev_stream *s, const struct dev_gemm *g)
{
	struct span span = span_begin(s);
	ok(dev_gemm(sim.d, s, g));
	span_end(&span, s);
	return span_ns(&span);
}

#endif
