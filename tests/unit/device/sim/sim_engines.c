/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Concurrent copies, where the engines of the host's link are few.
 */
#include "tests/unit/device/sim/sim.h"

#define PICOSECOND 1e-3

/* Two up, one down, one to a peer and one inside, queued in this order, of a million bytes each. */
static void five_copies(double ns[5])
{
	const uint64_t n = 1000000;
	char *dev = alloc_memory(DEV_MEM_DEVICE, 6 * n),
	     *host = alloc_memory(DEV_MEM_PINNED, 3 * n),
	     *peer = alloc_memory_on(sim.other, DEV_MEM_DEVICE, n);
	char *to[] = {host, host + n, dev, peer, dev + n},
	     *from[] = {dev + 2 * n, dev + 3 * n, host + 2 * n, dev + 4 * n, dev + 5 * n};
	struct dev_stream *s[5];
	struct span span[5];
	for (int i = 0; i < 5; i++) {
		s[i] = open_stream();
		span[i] = span_begin(s[i]);
		ok(dev_copy(sim.d, s[i], to[i], from[i], n));
	}
	for (int i = 0; i < 5; i++)
		span_end(&span[i], s[i]);
	for (int i = 0; i < 5; i++)
		ns[i] = span_ns(&span[i]);
}

/* The second copy up waits for the first, and others pass it. With three engines the one inside
 * waits for the copy to the peer, the shortest of those that run. */
static void host_engines_limit_each_direction(void)
{
	const double up = 1000 + 1e6 / 5, down = 1000 + 1e6 / 10, peer = 1000 + 1e6 / 20,
		     inside = 1000 + 2e6 / 1e6;
	for (int engines = 3; engines <= 5; engines += 2) {
		char model[2048];
		double ns[5];
		snprintf(model, sizeof(model),
			 PLAIN "memory_bandwidth = 1e15\nhost_engines = 1\ncopy_engines = %d\n",
			 engines);
		sim_begin(model);
		ok(dev_peer_enable(sim.d, sim.other));
		five_copies(ns);
		expect_near(ns[0], up, PICOSECOND);
		expect_near(ns[1], 2 * up, PICOSECOND);
		expect_near(ns[2], down, PICOSECOND);
		expect_near(ns[3], peer, PICOSECOND);
		expect_near(ns[4], (engines == 3 ? peer : 0) + inside, PICOSECOND);
		sim_end();
	}
}

static void without_that_limit_two_share_the_link(void)
{
	double ns[5];
	sim_begin(PLAIN "memory_bandwidth = 1e15\ncopy_engines = 5\n");
	ok(dev_peer_enable(sim.d, sim.other));
	five_copies(ns);
	expect_near(ns[0], 1000 + 2 * 1e6 / 5, PICOSECOND);
	expect_near(ns[1], 1000 + 2 * 1e6 / 5, PICOSECOND);
	sim_end();
}

int main(void)
{
	test(host_engines_limit_each_direction);
	test(without_that_limit_two_share_the_link);
	return test_done();
}
