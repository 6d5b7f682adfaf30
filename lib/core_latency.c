/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/core_latency.h"
#include "lib/clock.h"
#include "lib/cores.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { ROUND_TRIPS = 64, PAIRS_MAX = 8 };

/* The line goes to and fro. Relaxed is enough: nothing else is handed over. It has a page of its
 * own, which the first core is the first to write, so it is in memory of that core's node: where
 * another socket's memory holds the line, two cores of one socket ask there. */
struct table {
	atomic_uint *line;
	unsigned batches;
	double seconds;
};

/* A side whose other one does not run yet, or was interrupted, leaves the core to it: they may
 * share one where a virtual machine's processors do. */
static void wait_for_turn(atomic_uint *line, unsigned wanted)
{
	for (unsigned polls = 0; atomic_load_explicit(line, memory_order_relaxed) != wanted;
	     polls++)
		if (polls > 100000)
			sched_yield();
}

double core_latency_ping(atomic_uint *line, unsigned batches)
{
	const unsigned trips = (batches + 1) * ROUND_TRIPS;
	uint64_t best_ns = UINT64_MAX;
	uint64_t start = clock_ns();
	for (unsigned trip = 0; trip < trips; trip++) {
		atomic_store_explicit(line, 2 * trip + 1, memory_order_relaxed);
		wait_for_turn(line, 2 * trip + 2);
		if ((trip + 1) % ROUND_TRIPS)
			continue;
		/* The first batch waits for the other side to start. */
		const uint64_t end = clock_ns();
		if (trip >= ROUND_TRIPS && end - start < best_ns)
			best_ns = end - start;
		start = end;
	}
	return 1e-9 * (double)best_ns / (2.0 * ROUND_TRIPS);
}

void core_latency_pong(atomic_uint *line, unsigned batches)
{
	const unsigned trips = (batches + 1) * ROUND_TRIPS;
	for (unsigned trip = 0; trip < trips; trip++) {
		wait_for_turn(line, 2 * trip + 1);
		atomic_store_explicit(line, 2 * trip + 2, memory_order_relaxed);
	}
}

static void *play_ping(void *arg)
{
	struct table *t = arg;
	t->seconds = core_latency_ping(t->line, t->batches);
	return NULL;
}

static void *play_pong(void *arg)
{
	struct table *t = arg;
	core_latency_pong(t->line, t->batches);
	return NULL;
}

/* Both threads have ended when it returns, whatever it returns. */
static int play_rounds(struct table *t, int core, int other)
{
	pthread_t pinging = 0, ponging = 0;
	int status = cores_thread_start(&ponging, &other, 1, play_pong, t);
	if (status)
		return status;
	status = cores_thread_start(&pinging, &core, 1, play_ping, t);
	if (status)
		play_ping(t); /* from any core, so that the other thread ends */
	else
		pthread_join(pinging, NULL);
	pthread_join(ponging, NULL);
	return status;
}

int core_latency(int core, int other, unsigned batches, double *seconds_p)
{
	struct table t = {.batches = batches};
	if (core == other || core < 0 || other < 0 || core >= CORES_MAX || other >= CORES_MAX ||
	    batches == 0)
		return -EINVAL;
	t.line = mmap(NULL, sizeof(*t.line), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (t.line == MAP_FAILED)
		return -errno;
	int status = play_rounds(&t, core, other);
	munmap(t.line, sizeof(*t.line));
	if (status == 0)
		*seconds_p = t.seconds;
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
