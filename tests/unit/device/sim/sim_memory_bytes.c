/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes that pass each device's memory, exactly, by class and direction; and what waits of a
 * GEMM whose operands come through a tracked cache.
 */
#include "tests/unit/device/sim/sim.h"

#define MODEL PLAIN "memory_control = 1\ncopy_ns = 0\n"

enum { N = 1 << 20, SIDE = 64, MATRIX = SIDE * SIDE * 4 };

static struct dev_stream *stream;
static char *memory, *peer, *host;
static struct dev_memory_bytes before[2]; /* at the last look at each device */

static void open_memory(const char *model)
{
	sim_begin(model);
	memset(before, 0, sizeof(before));
	ok(dev_peer_enable(sim.d, sim.other));
	stream = open_stream();
	memory = alloc_memory(DEV_MEM_DEVICE, 8 * N);
	peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, N);
	host = alloc_memory(DEV_MEM_PINNED, N);
	memset(memory, 0, 8 * N);
}

/* Since the last look at that device. */
static void expect_bytes_on(struct dev *d, double computing_read, double computing_written,
			    double communication_read, double communication_written)
{
	struct dev_memory_bytes now, *last = &before[d == sim.other];
	ok(dev_stream_sync(sim.d, stream));
	ok(dev_memory_bytes(d, &now));
	expect_near(now.read[DEV_COMPUTING] - last->read[DEV_COMPUTING], computing_read, 0);
	expect_near(now.written[DEV_COMPUTING] - last->written[DEV_COMPUTING], computing_written,
		    0);
	expect_near(now.read[DEV_COMMUNICATION] - last->read[DEV_COMMUNICATION], communication_read,
		    0);
	expect_near(now.written[DEV_COMMUNICATION] - last->written[DEV_COMMUNICATION],
		    communication_written, 0);
	*last = now;
}

static void copies_and_fills_count(const char *engines)
{
	char model[2048];
	snprintf(model, sizeof(model), "%s%s", MODEL, engines);
	open_memory(model);
	expect_bytes_on(sim.d, 0, 0, 0, 0);
	ok(dev_copy(sim.d, stream, memory, host, 1001));
	ok(dev_copy(sim.d, stream, host, memory, 77));
	ok(dev_copy(sim.d, stream, memory + N, memory, 5));
	expect_bytes_on(sim.d, 0, 0, 77 + 5, 1001 + 5);
	ok(dev_copy(sim.d, stream, peer, memory, 4444));
	ok(dev_copy(sim.d, stream, memory, peer, 11));
	expect_bytes_on(sim.d, 0, 0, 4444, 11);
	expect_bytes_on(sim.other, 0, 0, 11, 4444);
	ok(dev_fill(sim.d, stream, memory, 0, 333));
	ok(dev_fill(sim.d, stream, peer, 0, 22));
	expect_bytes_on(sim.d, 0, 333, 0, 0);
	expect_bytes_on(sim.other, 0, 0, 0, 22);
	/* A stream of communication fills for it. */
	ok(dev_stream_class(sim.d, stream, DEV_COMMUNICATION));
	ok(dev_fill(sim.d, stream, memory, 0, 333));
	expect_bytes_on(sim.d, 0, 0, 0, 333);
	sim_end();
}

static void copies_and_fills_of_engines_count(void) { copies_and_fills_count(""); }
static void copies_and_fills_of_units_count(void) { copies_and_fills_count("copy_engines = 0\n"); }

static void launch_triad(char *a, char *b, char *c, uint64_t bytes, uint32_t reps)
{
	const float factor = 1;
	const void *args[] = {&a, &b, &c, &bytes, &reps, &factor};
	ok(launch_kernel(stream, "triad", 5, 0, args));
}

static void kernels_count_where_they_pass_memory(void)
{
	open_memory(MODEL "llc_bytes = 0\n");
	launch_triad(memory, memory + N, memory + 2 * N, N, 3);
	expect_bytes_on(sim.d, 6.0 * N, 3.0 * N, 0, 0);
	launch_triad(memory, peer, memory + 2 * N, N, 1);
	expect_bytes_on(sim.d, N, N, 0, 0);
	expect_bytes_on(sim.other, 0, 0, N, 0);
	launch_triad(peer, memory, host, N, 1);
	expect_bytes_on(sim.d, N, 0, 0, 0);
	expect_bytes_on(sim.other, 0, 0, 0, N);
	sim_end();
	/* A cache that is always warm keeps it from memory. */
	open_memory(MODEL "llc_bytes = 4M\n");
	launch_triad(memory, memory + N, memory + 2 * N, N, 3);
	expect_bytes_on(sim.d, 0, 0, 0, 0);
	sim_end();
}

static struct dev_gemm square_gemm(uint32_t side)
{
	return (struct dev_gemm)PACKED_GEMM(side, side, side, .type = DEV_F32, .a = memory,
					    .b = memory + N, .c = memory + 2 * N);
}

static void gemms_count_what_passes_the_cache(void)
{
	open_memory(MODEL "llc_tracked = 1\nllc_bytes = 64K\n");
	struct dev_gemm g = square_gemm(SIDE);
	ok(dev_gemm(sim.d, stream, &g));
	expect_bytes_on(sim.d, 2 * MATRIX, 0, 0, 0);
	ok(dev_gemm(sim.d, stream, &g));
	expect_bytes_on(sim.d, 0, 0, 0, 0);
	/* The traffic of an eviction is the launch's: half of A, B and C, the last dirty. */
	launch_triad(memory + 4 * N, memory + 5 * N, memory + 6 * N, MATRIX / 2 + MATRIX, 1);
	expect_bytes_on(sim.d, 3.0 * MATRIX, MATRIX, 0, 0);
	sim_end();
	/* Without the key, A, B and C pass once if they are larger. */
	open_memory(MODEL "llc_bytes = 64K\n");
	g = square_gemm(256);
	ok(dev_gemm(sim.d, stream, &g));
	expect_bytes_on(sim.d, 2 * 256 * 256 * 4, 256 * 256 * 4, 0, 0);
	g.c = peer;
	ok(dev_gemm(sim.d, stream, &g));
	expect_bytes_on(sim.d, 2 * 256 * 256 * 4, 0, 0, 0);
	expect_bytes_on(sim.other, 0, 0, 0, 256 * 256 * 4);
	sim_end();
}

static void what_misses_the_cache_waits_in_the_queue(void)
{
	open_memory(MODEL "llc_tracked = 1\nllc_bytes = 64K\ngemm_tile = 32\nllc_bandwidth = 1e18\n"
			  "link_up_bandwidth = 1e9\nqueue_wait_ns_per_kib = 100\n");
	struct dev_stream *other = open_stream();
	struct dev_gemm g = square_gemm(SIDE);
	const double compute_ns = 2.0 * 32 * 32 * SIDE;
	/* Four blocks read A and B, each a quarter of it. */
	struct dev_event *copied = NULL;
	ok(dev_event_open(sim.d, &copied));
	ok(dev_copy(sim.d, other, host, memory + 4 * N, N));
	ok(dev_event_record(sim.d, other, copied));
	expect_near(gemm_ns_of(stream, &g), compute_ns + 100 * (MATRIX / 2.0) / 1024, 1e-3);
	expect_near(gemm_ns_of(stream, &g), compute_ns, 1e-3);
	expect(dev_event_query(sim.d, copied) == -EAGAIN);
	ok(dev_stream_sync(sim.d, other));
	expect_near(gemm_ns_of(stream, &g), compute_ns, 1e-3);
	sim_end();
}

static void counters_go_on(void)
{
	struct dev_memory_bytes got;
	open_memory(MODEL "llc_bytes = 0\n");
	ok(dev_fill(sim.d, stream, memory, 0, N));
	ok(dev_stream_sync(sim.d, stream));
	dev_reseed(sim.d, 5);
	ok(dev_fill(sim.d, stream, memory, 0, N));
	ok(dev_stream_sync(sim.d, stream));
	ok(dev_memory_bytes(sim.d, &got));
	expect_near(got.written[DEV_COMPUTING], 2.0 * N, 0);
	sim_end();
}

int main(void)
{
	test(copies_and_fills_of_engines_count);
	test(copies_and_fills_of_units_count);
	test(kernels_count_where_they_pass_memory);
	test(gemms_count_what_passes_the_cache);
	test(what_misses_the_cache_waits_in_the_queue);
	test(counters_go_on);
	return test_done();
}
