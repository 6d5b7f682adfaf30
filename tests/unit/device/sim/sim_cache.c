/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contents of simulated caches, by the time of traffic through memory: memory moves a byte in a
 * nanosecond, and nothing else takes time. A cache has 4 pieces of 16 KiB, a matrix is one.
 */
#include "tests/unit/device/sim/sim.h"

#define TRACKED                                                                                    \
	PLAIN "llc_tracked = 1\nllc_bytes = 64K\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e18\n"   \
	      "flops_f32 = 1e18\nunit_bandwidth = 1e18\nengine_bandwidth = 1e18\n"                 \
	      "peer_bandwidth = 1e18\ncopy_ns = 0\n"
#define THROUGH "llc_writes = through\n"
#define ENGINE "engine_cache = through\n"
#define PICOSECOND 1e-3

enum { SIDE = 64, PIECE = SIDE * SIDE * 4, HALF = PIECE / 2, PIECES = 16, SPARE = 8 };

/* A device's stream, and its memory by pieces. */
static struct place {
	struct dev *d;
	struct dev_stream *stream;
	char *memory;
} own, peer;

static void open_place(struct place *at, struct dev *d)
{
	at->d = d;
	ok(dev_stream_open(d, 0, &at->stream));
	at->memory = alloc_memory_on(d, DEV_MEM_DEVICE, (PIECES + SPARE) * PIECE);
	memset(at->memory, 0, (PIECES + SPARE) * PIECE);
}

static void open_memory(const char *model)
{
	sim_begin(model);
	ok(dev_peer_enable(sim.d, sim.other));
	open_place(&own, sim.d);
	open_place(&peer, sim.other);
}

static char *own_piece(double i) { return own.memory + (size_t)(i * PIECE); }
static char *peer_piece(double i) { return peer.memory + (size_t)(i * PIECE); }

/* ------------------------------------------------------------------ times of operations */

static struct dev_event *record_event(const struct place *by)
{
	struct dev_event *e = NULL;
	ok(dev_event_open(by->d, &e));
	ok(dev_event_record(by->d, by->stream, e));
	return e;
}

static double ns_since(const struct place *by, struct dev_event *from)
{
	struct dev_event *to = record_event(by);
	double ns = -1;
	ok(dev_event_sync(by->d, to));
	ok(dev_event_elapsed_ns(by->d, from, to, &ns));
	dev_event_close(by->d, from);
	dev_event_close(by->d, to);
	return ns;
}

static double launch_ns(const struct place *by, const char *name, const void *const *args)
{
	const struct dev_launch launch = {.grid = 4, .args = args};
	struct dev_kernel *kernel = NULL;
	struct dev_event *from = record_event(by);
	ok(dev_kernel_find(by->d, name, &kernel));
	ok(dev_launch(by->d, by->stream, kernel, &launch));
	return ns_since(by, from);
}

/* `read`, `write` or `write_nt`. */
static double pass_ns(const struct place *by, const char *name, char *at, uint64_t bytes,
		      uint32_t reps)
{
	uint32_t *sink = alloc_memory_on(by->d, DEV_MEM_PINNED, 4), word = 1;
	const void *const read[] = {&at, &bytes, &reps, &sink}, *const write[] = {&at, &bytes,
										  &reps, &word};
	double ns = launch_ns(by, name, strcmp(name, "read") == 0 ? read : write);
	ok(dev_free(by->d, sink));
	return ns;
}

static double read_ns(char *at, uint64_t bytes) { return pass_ns(&own, "read", at, bytes, 1); }
static double write_ns(char *at, uint64_t bytes) { return pass_ns(&own, "write", at, bytes, 1); }

/* `copy`, `copy_nt` or `reduce_add`, of a piece. */
static double pair_ns(const char *name, char *to, char *from)
{
	uint64_t bytes = PIECE;
	uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	return launch_ns(&own, name, args);
}

static double copy_ns(char *to, char *from, uint64_t bytes)
{
	struct dev_event *since = record_event(&own);
	ok(dev_copy(own.d, own.stream, to, from, bytes));
	return ns_since(&own, since);
}

static double fill_ns(char *at, uint64_t bytes)
{
	struct dev_event *since = record_event(&own);
	ok(dev_fill(own.d, own.stream, at, 1, bytes));
	return ns_since(&own, since);
}

/* Takes the whole cache; beyond its own bytes memory takes what was dirty. What it took last time
 * is not what it takes now. */
static double flush_ns(void)
{
	static int second;
	second = !second;
	return read_ns(own_piece(PIECES + 4 * second), 4 * PIECE) - 4 * PIECE;
}

static void expect_held(char *at, uint64_t bytes, bool held)
{
	expect_near(read_ns(at, bytes), held ? 0 : (double)bytes, PICOSECOND);
}

/* ------------------------------------------------------------------ reads */

static void what_was_used_last_is_there(void)
{
	open_memory(TRACKED);
	expect_near(read_ns(own_piece(0), PIECE), PIECE, PICOSECOND);
	expect_near(read_ns(own_piece(0), PIECE), 0, PICOSECOND);
	/* A part is there. */
	expect_near(read_ns(own_piece(0), 2 * PIECE), PIECE, PICOSECOND);
	/* Five pieces: the first one goes, and comes back in the place of the third one. */
	expect_near(read_ns(own_piece(2), 3 * PIECE), 3 * PIECE, PICOSECOND);
	expect_near(read_ns(own_piece(0), 2 * PIECE), PIECE, PICOSECOND);
	expect_near(read_ns(own_piece(2), PIECE), PIECE, PICOSECOND);
	/* It took the fourth one. Of the fifth, the oldest now, the first half goes. */
	expect_near(read_ns(own_piece(6), HALF), HALF, PICOSECOND);
	expect_held(own_piece(4.5), HALF, true);
	expect_near(read_ns(own_piece(4), PIECE), HALF, PICOSECOND);
	sim_end();
}

static void use_makes_it_the_latest(void)
{
	open_memory(TRACKED);
	read_ns(own_piece(0), 4 * PIECE);
	read_ns(own_piece(0.25), HALF); /* the middle of the first piece */
	read_ns(own_piece(5), 3 * PIECE + HALF);
	expect_held(own_piece(0.25), HALF, true);
	expect_held(own_piece(0), PIECE / 4, false);
	sim_end();
}

static void of_more_than_it_has_the_last_stays(void)
{
	open_memory(TRACKED);
	expect_near(read_ns(own_piece(0), 6 * PIECE), 6 * PIECE, PICOSECOND);
	expect_held(own_piece(2), 4 * PIECE, true);
	/* All of it is missed again, in every repetition. */
	expect_near(read_ns(own_piece(0), 6 * PIECE), 6 * PIECE, PICOSECOND);
	expect_near(pass_ns(&own, "read", own_piece(0), 5 * PIECE, 3), 15 * PIECE, PICOSECOND);
	/* A footprint that fits misses in the first pass only. */
	expect_near(pass_ns(&own, "read", own_piece(8), 4 * PIECE, 3), 4 * PIECE, PICOSECOND);
	sim_end();
}

/* The dirty data of one execution passes memory with the next, so a second one in a row takes the
 * time of its bytes. */
static void a_pass_of_more_than_it_has_is_steady(void)
{
	open_memory(TRACKED);
	for (int i = 0; i < 2; i++) {
		pass_ns(&own, "write_nt", own_piece(0), 16 * PIECE, 1);
		expect_near(write_ns(own_piece(0), 16 * PIECE), 12 * PIECE, PICOSECOND);
		for (int again = 0; again < 3; again++)
			expect_near(write_ns(own_piece(0), 16 * PIECE), 16 * PIECE, PICOSECOND);
	}
	sim_end();
}

static void all_bytes_pass_the_cache(void)
{
	open_memory(TRACKED "llc_bandwidth = 5e8\n");
	expect_near(read_ns(own_piece(0), PIECE), 2 * PIECE, PICOSECOND);
	expect_near(read_ns(own_piece(0), 2 * PIECE), 4 * PIECE, PICOSECOND);
	expect_near(write_ns(own_piece(0), PIECE), 2 * PIECE, PICOSECOND);
	/* Streaming stores do not. */
	expect_near(pass_ns(&own, "write_nt", own_piece(0), PIECE, 1), PIECE, PICOSECOND);
	sim_end();
}

/* Small ranges, of which it keeps 512 apart. */
static void the_oldest_range_is_forgotten(void)
{
	for (int more = 511; more <= 512; more++) {
		double ns = 0;
		open_memory(TRACKED "llc_bytes = 1M\n");
		char *small = alloc_memory(DEV_MEM_DEVICE, 1 << 20);
		memset(small, 0, 1 << 20);
		write_ns(own_piece(0), PIECE);
		for (int i = 0; i < more; i++)
			ns += read_ns(small + 512 * i, 256);
		expect_near(ns, more * 256 + (more == 512 ? PIECE : 0), PICOSECOND);
		expect_held(own_piece(0), PIECE, more == 511);
		sim_end();
	}
}

static void freed_memory_is_forgotten(void)
{
	open_memory(TRACKED);
	char *freed = alloc_memory(DEV_MEM_DEVICE, 4 * PIECE);
	write_ns(freed, 2 * PIECE);
	read_ns(own_piece(0), 2 * PIECE);
	ok(dev_free(own.d, freed));
	/* There is space for two more, and nothing to write back. */
	expect_near(read_ns(own_piece(2), 2 * PIECE), 2 * PIECE, PICOSECOND);
	expect_held(own_piece(0), 2 * PIECE, true);
	sim_end();
}

/* ------------------------------------------------------------------ writes */

static void writes_come_back_later(void)
{
	open_memory(TRACKED);
	expect_near(write_ns(own_piece(0), PIECE), 0, PICOSECOND);
	expect_near(pass_ns(&own, "write", own_piece(0), PIECE, 3), 0, PICOSECOND);
	expect_held(own_piece(0), PIECE, true);
	/* Once, by whoever evicts it. */
	expect_near(flush_ns(), PIECE, PICOSECOND);
	expect_held(own_piece(0), PIECE, false);
	expect_near(flush_ns(), 0, PICOSECOND);
	/* In part, from its start. */
	write_ns(own_piece(0), 2 * PIECE);
	expect_near(read_ns(own_piece(4), 3 * PIECE), 4 * PIECE, PICOSECOND);
	expect_held(own_piece(1), PIECE, true);
	expect_near(flush_ns(), PIECE, PICOSECOND);
	/* A read of clean and dirty bytes leaves them so. */
	write_ns(own_piece(1), HALF);
	expect_near(read_ns(own_piece(0), 2 * PIECE), 2 * PIECE - HALF, PICOSECOND);
	expect_near(flush_ns(), HALF, PICOSECOND);
	/* A sum reads what it writes. */
	expect_near(pair_ns("reduce_add", own_piece(0), own_piece(1)), 2 * PIECE, PICOSECOND);
	expect_near(flush_ns(), PIECE, PICOSECOND);
	/* After more than the cache holds, the last part stays dirty. */
	expect_near(pass_ns(&own, "write", own_piece(0), 6 * PIECE, 2), 8 * PIECE, PICOSECOND);
	expect_near(flush_ns(), 4 * PIECE, PICOSECOND);
	sim_end();
}

static void writes_pass_through(void)
{
	open_memory(TRACKED THROUGH);
	expect_near(pass_ns(&own, "write", own_piece(0), PIECE, 3), 3 * PIECE, PICOSECOND);
	expect_held(own_piece(0), PIECE, true);
	expect_near(flush_ns(), 0, PICOSECOND);
	expect_near(pair_ns("reduce_add", own_piece(0), own_piece(1)), 3 * PIECE, PICOSECOND);
	expect_near(pair_ns("reduce_add", own_piece(0), own_piece(1)), PIECE, PICOSECOND);
	expect_near(pass_ns(&own, "write", own_piece(0), 6 * PIECE, 2), 12 * PIECE, PICOSECOND);
	expect_held(own_piece(2), 4 * PIECE, true);
	sim_end();
}

static void what_streams_passes_it_by(void)
{
	open_memory(TRACKED);
	read_ns(own_piece(0), 2 * PIECE);
	expect_near(pair_ns("copy_nt", own_piece(0), own_piece(1)), 2 * PIECE, PICOSECOND);
	expect_held(own_piece(1), PIECE, true);
	expect_held(own_piece(0), PIECE, false);
	/* It brings nothing into it. */
	expect_near(pair_ns("copy_nt", own_piece(2), own_piece(3)), 2 * PIECE, PICOSECOND);
	expect_held(own_piece(3), PIECE, false);
	/* Its source is written back first, and stays. */
	write_ns(own_piece(1), PIECE);
	expect_near(pair_ns("copy_nt", own_piece(0), own_piece(1)), 3 * PIECE, PICOSECOND);
	expect_near(pair_ns("copy_nt", own_piece(0), own_piece(1)), 2 * PIECE, PICOSECOND);
	expect_held(own_piece(1), PIECE, true);
	expect_near(flush_ns(), 0, PICOSECOND);
	/* Its destination is not, here a part in the middle. */
	write_ns(own_piece(0), 3 * PIECE);
	expect_near(pass_ns(&own, "write_nt", own_piece(1), PIECE, 2), 2 * PIECE, PICOSECOND);
	expect_near(flush_ns(), 2 * PIECE, PICOSECOND);
	/* When the middle is written back, both ends stay dirty. */
	write_ns(own_piece(0), 3 * PIECE);
	expect_near(pair_ns("copy_nt", own_piece(6), own_piece(1)), 3 * PIECE, PICOSECOND);
	expect_near(flush_ns(), 2 * PIECE, PICOSECOND);
	sim_end();
}

/* ------------------------------------------------------------------ copies and fills */

static void copies_pass_it_by(const char *model)
{
	open_memory(model);
	write_ns(own_piece(0), 2 * PIECE);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), 3 * PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), 2 * PIECE, PICOSECOND);
	expect_held(own_piece(1), PIECE, true);
	expect_held(own_piece(0), PIECE, false);
	write_ns(own_piece(0), PIECE);
	expect_near(fill_ns(own_piece(0), PIECE), PIECE, PICOSECOND);
	expect_near(flush_ns(), 0, PICOSECOND);
	/* The same in the cache of a peer; both memories move at once. */
	pass_ns(&peer, "write", peer_piece(0), 2 * PIECE, 1);
	expect_near(copy_ns(own_piece(0), peer_piece(0), PIECE), 2 * PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), peer_piece(0), PIECE), PIECE, PICOSECOND);
	expect_near(copy_ns(peer_piece(1), own_piece(0), PIECE), PIECE, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(0), PIECE, 1), 0, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(1), PIECE, 1), PIECE, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(4), 4 * PIECE, 1), 4 * PIECE, PICOSECOND);
	sim_end();
}

static void copies_and_fills_pass_it_by(void)
{
	copies_pass_it_by(TRACKED);
	copies_pass_it_by(TRACKED "copy_engines = 0\n");
}

static void copies_go_through(const char *model)
{
	open_memory(model);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), 0, PICOSECOND);
	expect_held(own_piece(0), 2 * PIECE, true);
	expect_near(flush_ns(), PIECE, PICOSECOND);
	expect_near(fill_ns(own_piece(0), PIECE), 0, PICOSECOND);
	/* A peer's memory is in the cache of the peer. */
	expect_near(copy_ns(peer_piece(0), own_piece(0), PIECE), 0, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(0), PIECE, 1), 0, PICOSECOND);
	expect_near(copy_ns(own_piece(1), peer_piece(1), PIECE), PIECE, PICOSECOND);
	expect_near(fill_ns(peer_piece(4), 4 * PIECE), PIECE, PICOSECOND);
	expect_near(flush_ns(), 2 * PIECE, PICOSECOND);
	sim_end();
}

static void copies_and_fills_go_through(void)
{
	copies_go_through(TRACKED ENGINE);
	copies_go_through(TRACKED ENGINE "copy_engines = 0\n");
	/* At the rate of the cache whose memory it is: both at once, or one for both. */
	open_memory(TRACKED ENGINE "llc_bandwidth = 25e7\n");
	expect_near(copy_ns(peer_piece(0), own_piece(1), PIECE), 4 * PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), 8 * PIECE, PICOSECOND);
	/* The link takes each byte once, what the peer's cache lacks is no part of it. */
	sim_end();
	open_memory(TRACKED ENGINE "peer_bandwidth = 1e9\n");
	pass_ns(&peer, "write", peer_piece(0), 4 * PIECE, 1);
	expect_near(copy_ns(own_piece(0), peer_piece(4), PIECE), 2 * PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), peer_piece(4), PIECE), PIECE, PICOSECOND);
	sim_end();
}

static void kernels_pass_by_the_cache_of_a_peer(void)
{
	open_memory(TRACKED);
	pass_ns(&peer, "write", peer_piece(0), 2 * PIECE, 1);
	expect_near(pair_ns("copy", own_piece(0), peer_piece(0)), 2 * PIECE, PICOSECOND);
	expect_near(pair_ns("copy", own_piece(0), peer_piece(0)), PIECE, PICOSECOND);
	expect_held(own_piece(0), PIECE, true);
	expect_near(pair_ns("copy", peer_piece(1), own_piece(0)), PIECE, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(0), 2 * PIECE, 1), PIECE, PICOSECOND);
	sim_end();
	open_memory(TRACKED ENGINE);
	pass_ns(&peer, "write", peer_piece(0), PIECE, 1);
	expect_near(pair_ns("copy", own_piece(0), peer_piece(0)), 0, PICOSECOND);
	expect_near(pair_ns("copy", peer_piece(1), own_piece(0)), 0, PICOSECOND);
	expect_near(pass_ns(&peer, "read", peer_piece(4), 4 * PIECE, 1), 6 * PIECE, PICOSECOND);
	sim_end();
}

/* Data that arrived in the cache need not come from memory; the sum is right either way. */
static void a_sum_on_arrival_finds_the_data(void)
{
	for (int by_engine = 0; by_engine < 2; by_engine++) {
		for (int flushed = 0; flushed < 2; flushed++) {
			open_memory(by_engine ? TRACKED ENGINE : TRACKED);
			if (by_engine)
				copy_ns(own_piece(1), peer_piece(1), PIECE);
			else
				pair_ns("copy", own_piece(1), peer_piece(1));
			if (flushed)
				expect_near(flush_ns(), PIECE, PICOSECOND);
			read_ns(own_piece(0), PIECE);
			expect_near(pair_ns("reduce_add", own_piece(0), own_piece(1)),
				    flushed ? PIECE : 0, PICOSECOND);
			sim_end();
		}
	}
}

/* ------------------------------------------------------------------ without the key */

static void without_the_key_it_is_always_warm(void)
{
	open_memory(TRACKED "llc_tracked = 0\n" ENGINE THROUGH);
	expect_near(read_ns(own_piece(0), 4 * PIECE), 0, PICOSECOND);
	expect_near(read_ns(own_piece(4), 4 * PIECE), 0, PICOSECOND);
	expect_near(read_ns(own_piece(0), 5 * PIECE), 5 * PIECE, PICOSECOND);
	expect_near(write_ns(own_piece(0), PIECE), 0, PICOSECOND);
	expect_near(pair_ns("copy_nt", own_piece(0), own_piece(1)), 2 * PIECE, PICOSECOND);
	expect_near(copy_ns(own_piece(0), own_piece(1), PIECE), 2 * PIECE, PICOSECOND);
	expect_near(fill_ns(own_piece(0), PIECE), PIECE, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(what_was_used_last_is_there);
	test(use_makes_it_the_latest);
	test(of_more_than_it_has_the_last_stays);
	test(a_pass_of_more_than_it_has_is_steady);
	test(all_bytes_pass_the_cache);
	test(the_oldest_range_is_forgotten);
	test(freed_memory_is_forgotten);
	test(writes_come_back_later);
	test(writes_pass_through);
	test(what_streams_passes_it_by);
	test(copies_and_fills_pass_it_by);
	test(copies_and_fills_go_through);
	test(kernels_pass_by_the_cache_of_a_peer);
	test(a_sum_on_arrival_finds_the_data);
	test(without_the_key_it_is_always_warm);
	return test_done();
}
