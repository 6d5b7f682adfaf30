/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/run_delay.h"
#include "lib/clock.h"
#include "tests/unit/lib/one_core.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH_NS 100000000u

static void another_process_takes_the_core(void)
{
	struct run_delay r;
	pid_t other = fork();
	require(other >= 0);
	while (other == 0)
		continue;
	run_delay_open(&r);
	const struct run_delay_mark from = run_delay_now(&r);
	work_for(ENOUGH_NS);
	const struct run_delay_mark to = run_delay_now(&r);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	if (r.threads) /* the kernel keeps the account */
		expect(run_delay_between(&r, &from, &to) > ENOUGH_NS / 10);
	expect(to.switches > from.switches); /* without the account, this tells */
	expect(run_delay_between(&r, &from, &from) == 0);
	run_delay_close(&r);
}

static atomic_bool stop;

static void *spin_until_stopped(void *unused)
{
	while (!atomic_load(&stop))
		continue;
	return unused;
}

/* Two threads of ours share the core: both wait, and nothing is lost but what others used. */
static void what_own_threads_wait_for_is_not_lost(void)
{
	struct run_delay r;
	pthread_t other;
	atomic_store(&stop, false);
	require(pthread_create(&other, NULL, spin_until_stopped, NULL) == 0);
	run_delay_open(&r);
	const struct run_delay_mark from = run_delay_now(&r);
	work_for(ENOUGH_NS);
	const struct run_delay_mark to = run_delay_now(&r);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	if (r.threads) {
		expect(r.threads >= 2 && r.cores == 1); /* a sanitizer has its own */
		expect(to.waited_ns > from.waited_ns);
		expect(run_delay_between(&r, &from, &to) + (to.own_ns - from.own_ns) <=
		       to.wall_ns - from.wall_ns + 1000000);
	}
	run_delay_close(&r);
}

static void nothing_is_known_of_what_is_not_followed(void)
{
	const struct run_delay none = {0};
	const struct run_delay_mark mark = run_delay_now(&none);
	expect(mark.wall_ns == 0 && run_delay_between(&none, &mark, &mark) == 0);
}

int main(void)
{
	use_one_core();
	test(another_process_takes_the_core);
	test(what_own_threads_wait_for_is_not_lost);
	test(nothing_is_known_of_what_is_not_followed);
	return test_done();
}
