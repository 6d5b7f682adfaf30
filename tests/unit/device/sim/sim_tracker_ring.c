/* SPDX-License-Identifier: BSD-3-Clause
 *
 * T3's reduce-scatter in a ring of simulated devices, which their trackers do: the partial products
 * of all devices are added up while a GEMM on each computes them. Device i ends with the sum of
 * chunk i; what it computes of chunk i + 1 goes to device i - 1 at once, and what it has of all
 * others is forwarded there.
 */
#include "lib/rng.h"
#include "tests/unit/device/sim/sim_tracked.h"

#define MOST 8u

static struct {
	uint32_t devices, rows, columns; /* rows of a chunk */
	struct dev_stream *s[MOST];
	float *at[MOST], *a[MOST], *b[MOST];
	struct dev_tracker *t[MOST];
} ring;

/* Map of chunk c on device i. */
static struct dev_tracked_rows rows_of_chunk(uint32_t i, uint32_t c)
{
	const uint32_t n = ring.devices, steps = (c + n - i) % n;
	return (struct dev_tracked_rows){.first_row = c * ring.rows,
					 .rows = ring.rows,
					 .what = steps == 0   ? DEV_TRACKED_KEPT
						 : steps == 1 ? DEV_TRACKED_AWAY
							      : DEV_TRACKED_FORWARD,
					 .updates = 2,
					 .to = steps == 0 ? NULL : ring.at[(i + n - 1) % n]};
}

/* The first of a chunk has no neighbour's contribution: it is the one that goes away. */
static void open_tracker(uint32_t i)
{
	struct dev_tracked_rows ranges[MOST];
	for (uint32_t c = 0; c < ring.devices; c++)
		ranges[c] = rows_of_chunk(i, c);
	const struct dev_tracker_map map = {.at = ring.at[i],
					    .type = DEV_F32,
					    .rows = ring.devices * ring.rows,
					    .columns = ring.columns,
					    .tile_rows = TILE,
					    .tile_columns = TILE,
					    .ranges = ranges,
					    .count = ring.devices};
	ok(dev_tracker_open(sim.set.dev[i], &map, &ring.t[i]));
}

/* A is 1 + i + row % 5, B is 1 + column % 3, k is 2: small integers, of which sums are exact. */
static void fill_memory(uint32_t i)
{
	const uint32_t rows = ring.devices * ring.rows;
	for (uint32_t row = 0; row < rows; row++)
		ring.a[i][2 * row] = ring.a[i][2 * row + 1] = (float)(1 + i + row % 5);
	for (uint32_t column = 0; column < ring.columns; column++)
		ring.b[i][column] = ring.b[i][ring.columns + column] = (float)(1 + column % 3);
	for (uint64_t at = 0; at < (uint64_t)rows * ring.columns; at++)
		ring.at[i][at] = 1000;
}

static float sum_of(uint32_t row, uint32_t column)
{
	float sum = 0;
	for (uint32_t i = 0; i < ring.devices; i++)
		sum += 2 * (float)(1 + i + row % 5) * (float)(1 + column % 3);
	return sum;
}

static void begin_ring(const char *model, uint32_t devices, uint32_t rows, uint32_t columns)
{
	char list[8];
	snprintf(list, sizeof(list), ":0-%u", devices - 1);
	if (sim.set.count)
		dev_close(&sim.set);
	ok(sim_try(model, list));
	ring.devices = devices;
	ring.rows = rows;
	ring.columns = columns;
	for (uint32_t i = 0; i < devices; i++) {
		struct dev *d = sim.set.dev[i];
		const uint64_t bytes = (uint64_t)devices * rows * columns * sizeof(float);
		ok(dev_stream_open(d, 0, &ring.s[i]));
		ring.at[i] = alloc_memory_on(d, DEV_MEM_DEVICE, bytes);
		ring.a[i] = alloc_memory_on(d, DEV_MEM_DEVICE, 2 * devices * rows * sizeof(float));
		ring.b[i] = alloc_memory_on(d, DEV_MEM_DEVICE, 2 * columns * sizeof(float));
		fill_memory(i);
		for (uint32_t k = 0; k < i; k++)
			ok(dev_peer_enable(d, sim.set.dev[k]));
	}
	for (uint32_t i = 0; i < devices; i++)
		open_tracker(i);
}

static void arm_all(void)
{
	for (uint32_t i = 0; i < ring.devices; i++)
		ok(dev_tracker_arm(sim.set.dev[i], ring.s[i], ring.t[i]));
	for (uint32_t i = 0; i < ring.devices; i++)
		ok(dev_stream_sync(sim.set.dev[i], ring.s[i]));
}

static void queue_gemm(uint32_t i, uint32_t first_chunk)
{
	const struct dev_gemm g =
		PACKED_GEMM(ring.devices * ring.rows, ring.columns, 2, .type = DEV_F32,
			    .a = ring.a[i], .b = ring.b[i], .c = ring.at[i], .tiled = true,
			    .adds = true, .first_row = first_chunk % ring.devices * ring.rows);
	ok(dev_gemm(sim.set.dev[i], ring.s[i], &g));
	ok(dev_tracker_wait(sim.set.dev[i], ring.s[i], ring.t[i]));
}

static void sync_all(void)
{
	for (uint32_t i = 0; i < ring.devices; i++)
		ok(dev_stream_sync(sim.set.dev[i], ring.s[i]));
}

/* Device i has the sum of chunk i, and never wrote what goes away. */
static void expect_sums(void)
{
	for (uint32_t i = 0; i < ring.devices; i++) {
		const uint32_t away = (i + 1) % ring.devices * ring.rows;
		for (uint32_t at = 0; at < ring.rows * ring.columns; at++) {
			const uint32_t row = i * ring.rows + at / ring.columns,
				       column = at % ring.columns;
			require(ring.at[i][row * ring.columns + column] == sum_of(row, column));
			require(ring.at[i][away * ring.columns + at] == 1000);
		}
	}
}

static void expect_counts(uint64_t runs)
{
	const uint64_t tiles =
		(uint64_t)((ring.rows - 1) / TILE + 1) * ((ring.columns - 1) / TILE + 1);
	for (uint32_t i = 0; i < ring.devices; i++) {
		const struct dev_tracker_counts counts = tracker_counts(sim.set.dev[i]);
		expect(counts.tiles == runs * (ring.devices - 1) * tiles);
		expect(counts.forwarded == runs * (ring.devices - 2) * tiles);
		expect(counts.most_used <= counts.entries);
	}
}

/* A gap in the ring before each device's GEMM, of any length. */
static void delay_some(struct rng *r)
{
	for (uint32_t i = 0; i < ring.devices; i++) {
		char *memory = alloc_memory_on(sim.set.dev[i], DEV_MEM_DEVICE, 1 << 20);
		const uint64_t bytes = 1 + rng_below(r, (1 << 20) - 1);
		for (uint64_t fills = rng_below(r, 4); fills > 0; fills--)
			ok(dev_fill(sim.set.dev[i], ring.s[i], memory, 0, bytes));
	}
}

static void sums_are_exact_in_any_order_of_events(void)
{
	struct rng r;
	rng_seed(&r, 2, 0);
	for (int round = 0; round < 40; round++) {
		char model[1024];
		const uint32_t devices = 3 + (uint32_t)rng_below(&r, 3),
			       rows = 1 + (uint32_t)rng_below(&r, 150);
		snprintf(model, sizeof(model),
			 TRACKED "tracker_entries = %u\nblock_jitter_sigma = %g\nseed = %d\n"
				 "jitter_sigma = 0.3\nlaunch_ns = 2000\nblock_ns = 500\n"
				 "copy_engines = %u\n",
			 1 + (uint32_t)rng_below(&r, 6), round % 2 ? 0.3 : 0, round,
			 1 + (uint32_t)rng_below(&r, 3));
		begin_ring(model, devices, rows, 2 * TILE + 9);
		for (uint64_t run = 1; run <= 2; run++) {
			arm_all();
			delay_some(&r);
			/* Staggered, or all in one order, or each begins anywhere. */
			for (uint32_t i = 0; i < devices; i++)
				queue_gemm(i, round % 3 == 0   ? i + 1
					      : round % 3 == 1 ? 0
							       : (uint32_t)rng_below(&r, devices));
			sync_all();
			expect_sums();
			expect_counts(run);
		}
		sim_end();
	}
}

/* Bytes that passed a device's memory, where the caches keep A and B: T3's formulas. */
static void expect_bytes(uint32_t device)
{
	const double chunk = (double)ring.rows * ring.columns * sizeof(float);
	const uint32_t n = ring.devices;
	struct dev_memory_bytes bytes;
	ok(dev_memory_bytes(sim.set.dev[device], &bytes));
	expect_near(bytes.written[DEV_COMPUTING], (n - 1) * chunk, 0);
	expect_near(bytes.written[DEV_COMMUNICATION], (n - 1) * chunk, 0);
	expect_near(bytes.read[DEV_COMMUNICATION], (n - 2) * chunk, 0);
	expect_near(bytes.read[DEV_COMPUTING], 0, 0);
}

static void memory_is_passed_as_t3_says(void)
{
	for (uint32_t n = 3; n <= MOST; n++) {
		begin_ring(TRACKED "memory_control = 1\n", n, 2 * TILE + 1, TILE + 3);
		arm_all();
		for (uint32_t i = 0; i < n; i++)
			queue_gemm(i, i + 1);
		sync_all();
		for (uint32_t i = 0; i < n; i++)
			expect_bytes(i);
		expect_sums();
		expect_counts(1);
		sim_end();
	}
}

/* All begin with the chunk that goes away, and nothing but links takes time: each passes one chunk
 * in every step. */
static void a_staggered_ring_takes_the_time_of_its_links(void)
{
	const double chunk_ns = 4 * TILE_BYTES / 20.0;
	begin_ring(TRACKED "peer_latency_ns = 0\ntracker_ns = 0\nllc_bandwidth = 1e15\n"
			   "memory_bandwidth = 1e15\nunits = 16\n",
		   4, 2 * TILE, 2 * TILE);
	sim.d = sim.set.dev[0];
	arm_all();
	struct span span = span_begin(ring.s[0]);
	for (uint32_t i = 0; i < 4; i++)
		queue_gemm(i, i + 1);
	span_end(&span, ring.s[0]);
	expect_near(span_ns(&span), 3 * chunk_ns, 1);
	sync_all();
	expect_sums();
	sim_end();
}

int main(void)
{
	alarm(TEST_HANGS_S);
	test(sums_are_exact_in_any_order_of_events);
	test(memory_is_passed_as_t3_says);
	test(a_staggered_ring_takes_the_time_of_its_links);
	return test_done();
}
