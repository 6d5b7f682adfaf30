/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/cores.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>

static int own[CORES_MAX], now[CORES_MAX];

static void a_bound_thread_runs_on_its_core_and_knows_the_others(void)
{
	const size_t count = cores_allowed(own);
	cpu_set_t mask;
	require(count > 0);
	const int last = own[count - 1];
	expect(cores_stay_on(last) == 0);
	expect(sched_getcpu() == last);
	expect(cores_allowed(now) == count && memcmp(own, now, count * sizeof(own[0])) == 0);
	expect(cores_stay_on(own[0]) == -EBUSY);
	expect(sched_getcpu() == last);
	cores_roam();
	require(sched_getaffinity(0, sizeof(mask), &mask) == 0);
	expect((size_t)CPU_COUNT(&mask) == count);
	cores_roam(); /* nothing is bound */
	expect(cores_allowed(now) == count && memcmp(own, now, count * sizeof(own[0])) == 0);
}

static void a_core_that_is_none_binds_nothing(void)
{
	const size_t count = cores_allowed(own);
	expect(cores_stay_on(-1) == -EINVAL);
	expect(cores_stay_on(CORES_MAX) == -EINVAL);
	expect(cores_stay_on(CORES_MAX - 1) == -EINVAL); /* no machine of this test has so many */
	expect(cores_allowed(now) == count);
	expect(cores_stay_on(own[0]) == 0);
	cores_roam();
}

int main(void)
{
	test(a_bound_thread_runs_on_its_core_and_knows_the_others);
	test(a_core_that_is_none_binds_nothing);
	return test_done();
}
