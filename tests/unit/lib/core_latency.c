/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/core_latency.h"
#include "tests/unit/lib/one_core.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

/* Light crosses a chip in a nanosecond. Of twenty batches one is hardly interrupted. */
static bool is_plausible(double seconds) { return seconds > 1e-9 && seconds < 0.1; }

static int core_of(int nth)
{
	cpu_set_t ours;
	require(sched_getaffinity(0, sizeof(ours), &ours) == 0);
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET((size_t)core, &ours) && nth-- == 0)
			return core;
	skip("there is one core");
	return -1;
}

static void two_cores_are_a_time_apart(void)
{
	double seconds = -1.0;
	expect(core_latency(core_of(0), core_of(1), 20, &seconds) == 0);
	expect(is_plausible(seconds));
	seconds = -1.0;
	expect(core_latency_mean(20, &seconds) == 0);
	expect(is_plausible(seconds));
}

static void what_is_no_pair_is_refused(void)
{
	double seconds = -1.0;
	const int core = core_of(0);
	expect(core_latency(core, core, 1, &seconds) == -EINVAL);
	expect(core_latency(core, core_of(1), 0, &seconds) == -EINVAL);
	expect(core_latency(core, -1, 1, &seconds) == -EINVAL);
	expect(core_latency(core, CPU_SETSIZE, 1, &seconds) == -EINVAL);
	expect(core_latency(CPU_SETSIZE - 1, core, 1, &seconds) == -EINVAL);
	expect(seconds == -1.0);
}

static void one_core_has_no_neighbour(void)
{
	double seconds = -1.0;
	use_one_core();
	expect(core_latency_mean(1, &seconds) == -ENODEV);
	expect(seconds == -1.0);
}

int main(void)
{
	test(two_cores_are_a_time_apart);
	test(what_is_no_pair_is_refused);
	test(one_core_has_no_neighbour);
	return test_done();
}
