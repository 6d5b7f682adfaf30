/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_gate.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/vec.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define GATE_BYTES 256u
#define POLL_NS 100000000
/* A driver that blocked a call once will do so again. */
#define LIMIT_AFTERWARDS_NS UINT64_C(1000000000)

/* Time limit of a counter in gate limits: work behind a gate may rightly run for some of it. */
#define COUNTER_LIMITS 3u

struct counter {
	struct dev *dev;
	uint32_t *at;
};

struct gate {
	struct dev *dev;
	uint32_t *word, value;
	struct counter *counters; /* guarded by the lock */
	size_t counter_count, counter_capacity;
	uint64_t limit_ns;
	bool watched, shut;
	_Atomic uint64_t due_ns; /* when the watchdog opens it; 0: not shut, or already open */
	struct gate *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gate *gates; /* the watched gates, guarded by the lock */
static atomic_uint overdue;
static _Atomic uint64_t waits_since_ns; /* the host for streams; 0: it does not */
static atomic_uint satisfied;           /* how many gates' counters the watchdog has written */

/* Relaxed: gate_release() has taken the lock after the watchdog counted the caller's gate. */
unsigned gate_overdue(void) { return atomic_load_explicit(&overdue, memory_order_relaxed); }

/* ------------------------------------------------------------------ the watchdog */

/* The thread that takes the due time opens the gate. Lock held. */
static void open_if_overdue(struct gate *g, uint64_t now_ns)
{
	/* The acquire pairs with the release in gate_shut(): g->value is visible. Whoever does not
	 * take the due time reads nothing else. */
	uint64_t due_ns = atomic_load_explicit(&g->due_ns, memory_order_relaxed);
	if (due_ns == 0 || now_ns < due_ns ||
	    !atomic_compare_exchange_strong_explicit(&g->due_ns, &due_ns, 0, memory_order_acquire,
						     memory_order_relaxed))
		return;
	atomic_fetch_add_explicit(&overdue, 1, memory_order_relaxed);
	/* One blocked driver call may block others, so where devices read host memory, a plain
	 * store opens the gate. It pairs with the acquire of the stream or kernel that waits. */
	__atomic_store_n(g->word, g->value, __ATOMIC_RELEASE);
	if (dev_can(g->dev, DEV_CAP_HOST_ACCESS))
		dev_post_value(g->dev, g->word, g->value);
}

/* Lock held. */
static void satisfy_if_overdue(struct gate *g, uint64_t now_ns)
{
	const uint64_t since_ns = atomic_load_explicit(&waits_since_ns, memory_order_relaxed);
	if (g->counter_count == 0 || since_ns == 0 ||
	    now_ns < since_ns + COUNTER_LIMITS * g->limit_ns)
		return;
	atomic_fetch_add_explicit(&satisfied, 1, memory_order_relaxed);
	for (size_t i = 0; i < g->counter_count; i++)
		dev_post_value(g->counters[i].dev, g->counters[i].at, DEV_VALUE_MAX);
}

static void *run_watchdog(void *unused)
{
	for (;;) {
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
		uint64_t now_ns = clock_ns();
		pthread_mutex_lock(&lock);
		for (struct gate *g = gates; g; g = g->next) {
			open_if_overdue(g, now_ns);
			satisfy_if_overdue(g, now_ns);
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* The watchdog blocks all signals, so that the main thread gets them. */
static int start_watchdog(void)
{
	static bool started; /* guarded by the lock */
	sigset_t all, before;
	pthread_t thread;
	int status = 0;
	pthread_mutex_lock(&lock);
	if (!started) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		status = -pthread_create(&thread, NULL, run_watchdog, NULL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		started = status == 0;
		if (started)
			pthread_detach(thread);
	}
	pthread_mutex_unlock(&lock);
	return status ? err_note(status, "start the watchdog of gates: cannot create a thread") : 0;
}

/* ------------------------------------------------------------------ gates */

int gate_open(struct dev *dev, uint64_t limit_ns, struct gate **gate_p)
{
	void *word;
	if (!dev_can(dev, DEV_CAP_WAIT_VALUE))
		return err_note(
			-ENOTSUP,
			"gates are not supported: streams of this device can't wait for a value");
	struct gate *g = calloc(1, sizeof(*g));
	if (!g)
		return err_note(-ENOMEM, "a gate: out of memory");
	int status = dev_alloc(dev, DEV_MEM_PINNED, GATE_BYTES, &word);
	if (status) {
		free(g);
		return status;
	}
	*g = (struct gate){.dev = dev, .word = word, .limit_ns = limit_ns};
	status = dev_post_value(dev, g->word, 0);
	if (status) {
		gate_close(g);
		return status;
	}
	*gate_p = g;
	return 0;
}

static void unlist_gate(struct gate *g)
{
	pthread_mutex_lock(&lock);
	struct gate **at = &gates;
	while (*at && *at != g)
		at = &(*at)->next;
	if (*at)
		*at = g->next;
	pthread_mutex_unlock(&lock);
}

void gate_close(struct gate *g)
{
	if (!g)
		return;
	gate_release(g);
	unlist_gate(g);
	dev_free(g->dev, g->word);
	free(g->counters);
	free(g);
}

static int watch_gate(struct gate *g)
{
	int status = start_watchdog();
	if (status)
		return status;
	pthread_mutex_lock(&lock);
	g->next = gates;
	gates = g;
	pthread_mutex_unlock(&lock);
	g->watched = true;
	return 0;
}

int gate_shut(struct gate *g, struct dev *dev, struct dev_stream *stream)
{
	bool watched = !dev_can(g->dev, DEV_CAP_VIRTUAL_TIME);
	int status = watched && !g->watched ? watch_gate(g) : 0;
	if (status)
		return status;
	if (!g->shut) {
		uint64_t limit_ns = gate_overdue() && g->limit_ns > LIMIT_AFTERWARDS_NS
					    ? LIMIT_AFTERWARDS_NS
					    : g->limit_ns;
		g->shut = true;
		g->value++;
		if (watched)
			/* Pairs with the acquire in open_if_overdue(): g->value is visible. */
			atomic_store_explicit(&g->due_ns, clock_ns() + limit_ns,
					      memory_order_release);
	}
	return dev_wait_value(dev, stream, g->word, g->value);
}

int gate_release(struct gate *g)
{
	if (!g->shut)
		return 0;
	int status = dev_post_value(g->dev, g->word, g->value);
	/* A lost device takes no values; a plain store releases what waits all the same. It pairs
	 * with the acquire of the stream or kernel that waits. */
	if (status)
		__atomic_store_n(g->word, g->value, __ATOMIC_RELEASE);
	g->shut = false;
	/* Relaxed: a watchdog that finds 0 reads nothing else. */
	if (atomic_exchange_explicit(&g->due_ns, 0, memory_order_relaxed) || !g->watched)
		return status;
	/* The watchdog has taken the due time and may still be writing; wait for it. The lock makes
	 * visible what it wrote. */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	if (status)
		return status;
	return err_note(
		-ETIMEDOUT,
		"a gate was opened by its watchdog: a call behind it waited, or took too long");
}

/* ------------------------------------------------------------------ counters */

int gate_guard(struct gate *g, struct dev *dev, uint32_t *at)
{
	int status = 0;
	if (dev_can(dev, DEV_CAP_VIRTUAL_TIME))
		return 0;
	if (!g->watched)
		status = watch_gate(g);
	if (status)
		return status;
	pthread_mutex_lock(&lock);
	bool known = false;
	for (size_t i = 0; i < g->counter_count; i++)
		known = known || g->counters[i].at == at;
	struct counter *grown = known ? g->counters
				      : vec_grow(g->counters, g->counter_count,
						 &g->counter_capacity, sizeof(*grown));
	if (grown && !known) {
		g->counters = grown;
		g->counters[g->counter_count++] = (struct counter){dev, at};
	}
	pthread_mutex_unlock(&lock);
	return grown ? 0 : err_note(-ENOMEM, "a guarded counter: out of memory");
}

unsigned gate_wait_begins(void)
{
	atomic_store_explicit(&waits_since_ns, clock_ns(), memory_order_relaxed);
	return atomic_load_explicit(&satisfied, memory_order_relaxed);
}

int gate_wait_ended(unsigned begun)
{
	atomic_store_explicit(&waits_since_ns, 0, memory_order_relaxed);
	if (atomic_load_explicit(&satisfied, memory_order_relaxed) == begun)
		return 0;
	/* The watchdog may still be writing. */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return err_note(
		-EPROTO,
		"a stream waited for a counter that nothing advanced; the watchdog released it");
}
