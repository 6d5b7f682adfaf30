/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/core_latency.h"
#include "lib/clock.h"
#include "lib/cores.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { ROUND_TRIPS = 64, PAIRS_MAX = 8 };

/* `turn` is the line that goes to and fro. Relaxed is enough: nothing else is handed over. It has a
 * page of its own, which the first core is the first to write, so it is in memory of that core's
 * node: where another socket's memory holds the line, two cores of one socket ask there. */
struct table {
	atomic_uint *turn;
	unsigned batches;
	uint64_t best_ns;
};

/* A thread whose other side does not run yet, or was interrupted, leaves the core to it: they may
 * share one where a virtual machine's processors do. */
static void wait_for_turn(atomic_uint *turn, unsigned wanted)
{
	for (unsigned polls = 0; atomic_load_explicit(turn, memory_order_relaxed) != wanted;
	     polls++)
		if (polls > 100000)
			sched_yield();
}

static void *time_round_trips(void *arg)
{
	struct table *t = arg;
	atomic_uint *const turn = t->turn;
	const unsigned trips = (t->batches + 1) * ROUND_TRIPS;
	uint64_t best_ns = UINT64_MAX;
	uint64_t start = clock_ns();
	for (unsigned trip = 0; trip < trips; trip++) {
		atomic_store_explicit(turn, 2 * trip + 1, memory_order_relaxed);
		wait_for_turn(turn, 2 * trip + 2);
		if ((trip + 1) % ROUND_TRIPS)
			continue;
		/* The first batch waits for the other thread to start. */
		const uint64_t end = clock_ns();
		if (trip >= ROUND_TRIPS && end - start < best_ns)
			best_ns = end - start;
		start = end;
	}
	t->best_ns = best_ns;
	return NULL;
}

static void *answer_round_trips(void *arg)
{
	struct table *t = arg;
	atomic_uint *const turn = t->turn;
	const unsigned trips = (t->batches + 1) * ROUND_TRIPS;
	for (unsigned trip = 0; trip < trips; trip++) {
		wait_for_turn(turn, 2 * trip + 1);
		atomic_store_explicit(turn, 2 * trip + 2, memory_order_relaxed);
	}
	return NULL;
}

/* Both threads have ended when it returns, whatever it returns. */
static int play_rounds(struct table *t, int core, int other)
{
	pthread_t server = 0, answerer = 0;
	int status = cores_thread_start(&answerer, &other, 1, answer_round_trips, t);
	if (status)
		return status;
	status = cores_thread_start(&server, &core, 1, time_round_trips, t);
	if (status)
		time_round_trips(t); /* from any core, so that the other thread ends */
	else
		pthread_join(server, NULL);
	pthread_join(answerer, NULL);
	return status;
}

int core_latency(int core, int other, unsigned batches, double *seconds_p)
{
	struct table t = {.batches = batches};
	if (core == other || core < 0 || other < 0 || core >= CORES_MAX || other >= CORES_MAX ||
	    batches == 0)
		return -EINVAL;
	t.turn = mmap(NULL, sizeof(*t.turn), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (t.turn == MAP_FAILED)
		return -errno;
	int status = play_rounds(&t, core, other);
	munmap(t.turn, sizeof(*t.turn));
	if (status == 0)
		*seconds_p = 1e-9 * (double)t.best_ns / (2.0 * ROUND_TRIPS);
	return status;
}

int core_latency_mean(unsigned batches, double *seconds_p)
{
	int cores[CORES_MAX], status = 0;
	const int count = (int)cores_allowed(cores);
	double sum = 0.0;
	if (count < 2)
		return -ENODEV;
	const int neighbours = count - 1, pairs = neighbours < PAIRS_MAX ? neighbours : PAIRS_MAX;
	for (int pair = 0; pair < pairs && status == 0; pair++) {
		const int at = pair * neighbours / pairs;
		double seconds = 0.0;
		status = core_latency(cores[at], cores[at + 1], batches, &seconds);
		sum += seconds;
	}
	if (status == 0)
		*seconds_p = sum / pairs;
	return status;
}
