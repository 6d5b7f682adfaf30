/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random work on a simulated device with a tracked cache, compared with a cache that keeps every
 * line of 256 bytes in a list. Memory moves a byte in a nanosecond, nothing else takes time.
 */
#include "lib/rng.h"
#include "tests/unit/device/sim/sim.h"

#define TRACKED                                                                                    \
	PLAIN "llc_tracked = 1\nllc_bytes = 8K\nmemory_bandwidth = 1e9\nllc_bandwidth = 1e18\n"    \
	      "unit_bandwidth = 1e18\nengine_bandwidth = 1e18\nlink_down_bandwidth = 1e18\n"       \
	      "host_bandwidth = 1e18\ncopy_ns = 0\n"
#define PICOSECOND 1e-3

enum { LINE = 256, HELD = 32, LINES = 80, MOST = 40, ROUNDS = 3000 };

/* The oldest line first. */
static struct {
	unsigned line[4 * LINES];
	bool dirty[4 * LINES];
	unsigned count;
} cache;
static unsigned moved; /* lines between cache and memory */

/* Returns -1 if it was not there, else whether it was dirty. */
static int take_line(unsigned line)
{
	for (unsigned i = 0; i < cache.count; i++) {
		if (cache.line[i] != line)
			continue;
		const int dirty = cache.dirty[i];
		cache.count--;
		for (; i < cache.count; i++) {
			cache.line[i] = cache.line[i + 1];
			cache.dirty[i] = cache.dirty[i + 1];
		}
		return dirty;
	}
	return -1;
}

static void put_line(unsigned line, bool dirty)
{
	cache.line[cache.count] = line;
	cache.dirty[cache.count++] = dirty;
}

static void evict_lines(unsigned limit)
{
	while (cache.count > limit)
		moved += take_line(cache.line[0]) == 1;
}

static void read_lines(unsigned from, unsigned count)
{
	for (unsigned i = from; i < from + count; i++) {
		const int was = take_line(i);
		moved += was < 0;
		put_line(i, was == 1);
	}
}

static void write_lines(unsigned from, unsigned count, bool through)
{
	for (unsigned i = from; i < from + count; i++) {
		take_line(i);
		moved += through;
		put_line(i, !through);
	}
}

static void stream_lines(unsigned to, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < cache.count; i++) {
		if (cache.line[i] - from < count) {
			moved += cache.dirty[i];
			cache.dirty[i] = false;
		}
	}
	for (unsigned i = to; i < to + count; i++)
		take_line(i);
	moved += 2 * count;
}

/* `copy`, or `reduce_add`, which reads its target. */
static void pass_lines(unsigned to, unsigned from, unsigned count, bool adds, bool through)
{
	const bool fit = 2 * count <= HELD;
	if (!fit)
		evict_lines(0);
	if (adds)
		read_lines(to, count);
	read_lines(from, count);
	write_lines(to, count, through);
	evict_lines(HELD);
}

static double pair_ns(struct dev_stream *s, int kind, char *to, char *from, uint64_t bytes)
{
	static const char *const names[] = {"copy", "reduce_add", "copy_nt"};
	const uint32_t reps = 1;
	const void *const args[] = {&to, &from, &bytes, &reps};
	struct span span = span_begin(s);
	if (kind < 3)
		ok(launch_kernel(s, names[kind], 4, 0, args));
	else
		ok(dev_copy(sim.d, s, to, from, bytes));
	span_end(&span, s);
	return span_ns(&span);
}

static void compare_work(bool through)
{
	struct rng r;
	sim_begin(through ? TRACKED "llc_writes = through\n" : TRACKED);
	struct dev_stream *s = open_stream();
	char *memory = alloc_memory(DEV_MEM_DEVICE, LINES * LINE);
	memset(memory, 0, LINES * LINE);
	rng_seed(&r, 7, through);
	cache.count = 0;
	for (int i = 0; i < ROUNDS; i++) {
		const int kind = (int)(rng_u64(&r) % 4);
		const unsigned count = 1 + (unsigned)(rng_u64(&r) % (i % 8 ? 10 : MOST)),
			       to = (unsigned)(rng_u64(&r) % (LINES + 1 - 2 * count)),
			       gap = LINES - 2 * count - to,
			       from = to + count + (unsigned)(rng_u64(&r) % (gap + 1));
		const bool swap = rng_u64(&r) % 2;
		const unsigned target = swap ? from : to, source = swap ? to : from;
		moved = 0;
		if (kind >= 2)
			stream_lines(target, source, count);
		else
			pass_lines(target, source, count, kind == 1, through);
		expect_near(pair_ns(s, kind, memory + target * LINE, memory + source * LINE,
				    count * LINE),
			    moved * LINE, PICOSECOND);
	}
	sim_end();
}

static void ranges_are_those_of_lines_written_back(void) { compare_work(false); }
static void ranges_are_those_of_lines_written_through(void) { compare_work(true); }

int main(void)
{
	test(ranges_are_those_of_lines_written_back);
	test(ranges_are_those_of_lines_written_through);
	return test_done();
}
