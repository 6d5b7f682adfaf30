/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_timeslice.h"
#include "device/host/host_lock.h"
#include "lib/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* sched_yield() takes less than this if no other thread wants the core. */
#define YIELD_NS 2000u

/* Longer than any thread holds the lock. */
#define SHORT_NS 20000u

/* Requested from the kernel: the shortest that it grants. A yield costs a thread one of these. */
#define KERNEL_TIMESLICE_NS 100000u

/* The kernel's struct sched_attr of linux/sched/types.h; some versions of libc lack it. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#ifndef sigev_notify_thread_id /* older libc */
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Thread_local struct host_timeslice *current;

/* Not periodic: no timer runs while a thread waits for the core. */
static void set_timer(struct host_timeslice *t, uint64_t ns)
{
	const struct itimerspec once = {.it_value = {.tv_nsec = (long)ns}};
	timer_settime(t->timer, 0, &once, NULL);
}

void host_timeslice_begin(struct host_timeslice *t)
{
	/* Sequentially consistent: either is_shared() sees that the core became shared, or the
	 * host_timeslice_arm() that followed sees start_ns. */
	atomic_store(&t->start_ns, clock_ns());
	/* has_timer is relaxed: this thread set it. */
	if (!t->is_shared(t->context) || !atomic_load_explicit(&t->has_timer, memory_order_relaxed))
		return;
	t->start_cpu_ns = clock_thread_cpu_ns();
	if (!atomic_exchange(&t->armed, true))
		set_timer(t, HOST_TIMESLICE_NS);
}

/* Work that has not started arms the timer itself in host_timeslice_begin(). start_ns and `armed`
 * are sequentially consistent with the stores in host_timeslice_begin() and on_signal(). */
void host_timeslice_arm(struct host_timeslice *t)
{
	const uint64_t start_ns = atomic_load(&t->start_ns), now_ns = clock_ns();
	if (start_ns == 0)
		return;
	/* The acquire pairs with the release in host_timeslice_open(): t->timer is visible. */
	if (!atomic_load_explicit(&t->has_timer, memory_order_acquire) ||
	    atomic_exchange(&t->armed, true))
		return;
	set_timer(t, now_ns - start_ns < HOST_TIMESLICE_NS ? HOST_TIMESLICE_NS - (now_ns - start_ns)
							   : 1);
}

void host_timeslice_wake_next(struct host_core_queue *queue)
{
	/* Sequentially consistent: either this sees that a thread waits in yield_timeslice(), or
	 * is_shared() sees there what the caller changed before. */
	if (atomic_load(&queue->waiting) == 0)
		return;
	/* Relaxed: the futex calls order it. */
	atomic_fetch_add_explicit(&queue->handovers, 1, memory_order_relaxed);
	syscall(SYS_futex, &queue->handovers, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* sched_yield() is not enough: the kernel may continue this thread, because it credits threads for
 * time that they slept. */
static void yield_timeslice(struct host_timeslice *t)
{
	const struct timespec max_wait = {.tv_nsec = HOST_TIMESLICE_NS};
	struct host_core_queue *queue = t->queue;
	host_timeslice_wake_next(queue);
	/* Relaxed: whoever sees `waiting` adds to `handovers` after this load, so that the futex
	 * call finds another number than `seen`. */
	const unsigned seen = atomic_load_explicit(&queue->handovers, memory_order_relaxed);
	/* Sequentially consistent, as the subtraction is: see host_timeslice_wake_next(). */
	atomic_fetch_add(&queue->waiting, 1);
	if (t->is_shared(t->context))
		syscall(SYS_futex, &queue->handovers, FUTEX_WAIT_PRIVATE, seen, &max_wait, NULL, 0);
	atomic_fetch_sub(&queue->waiting, 1);
}

void host_timeslice_end(struct host_timeslice *t)
{
	/* Relaxed: who sees the old time starts a timer for nothing, and on_signal() asks again. */
	atomic_store_explicit(&t->start_ns, 0, memory_order_relaxed);
}

/* On the timer. The timer also runs while others have the core, so a time slice with CPU time left
 * continues. While this thread holds the lock it continues as well, because others would only wait
 * for the lock. */
static void end_timeslice(struct host_timeslice *t)
{
	const uint64_t had_ns = clock_thread_cpu_ns() - t->start_cpu_ns;
	uint64_t left_ns = HOST_TIMESLICE_NS;
	if (had_ns < HOST_TIMESLICE_NS * 3 / 4) {
		left_ns -= had_ns;
	} else if (host_lock_is_mine()) {
		left_ns = SHORT_NS;
	} else {
		yield_timeslice(t);
		t->start_cpu_ns = clock_thread_cpu_ns();
	}
	set_timer(t, left_ns);
}

static void on_signal(int number)
{
	struct host_timeslice *t = current;
	const int kept = errno;
	if (t && t->is_shared(t->context)) {
		end_timeslice(t);
	} else if (t) {
		/* Sequentially consistent: either is_shared() sees that the core became shared, or
		 * the host_timeslice_arm() that followed sees `armed` cleared. */
		atomic_store(&t->armed, false);
		if (t->is_shared(t->context)) /* the core became shared meanwhile */
			host_timeslice_arm(t);
	}
	errno = kept;
}

static bool has_signal;

static void install_signal_handler(void)
{
	struct sigaction now, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigemptyset(&ours.sa_mask);
	has_signal = sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == SIG_DFL &&
		     sigaction(SIGURG, &ours, NULL) == 0;
}

/* SCHED_BATCH threads do not preempt others when they wake up. Linux 6.12 or later grants the
 * length; older kernels ignore it. */
static void request_kernel_timeslice(uint32_t policy)
{
	const struct attributes a = {.size = sizeof(a),
				     .policy = policy,
				     .nice = getpriority(PRIO_PROCESS, 0),
				     .runtime_ns = KERNEL_TIMESLICE_NS};
	syscall(SYS_sched_setattr, 0, &a, 0);
}

void host_timeslice_open(struct host_timeslice *t, struct host_core_queue *queue,
			 bool (*is_shared)(void *context), void *context)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	sigset_t urgent;
	pthread_once(&once, install_signal_handler);
	t->queue = queue;
	t->is_shared = is_shared;
	t->context = context;
	request_kernel_timeslice(SCHED_BATCH);
	e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (!has_signal || timer_create(CLOCK_MONOTONIC, &e, &t->timer))
		return;
	current = t;
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
	/* Pairs with the acquire in host_timeslice_arm(): t->timer is visible. */
	atomic_store_explicit(&t->has_timer, true, memory_order_release);
}

void host_timeslice_opt_out(void) { request_kernel_timeslice(SCHED_OTHER); }

void host_timeslice_close(struct host_timeslice *t)
{
	/* Relaxed: the thread has no more work, so no other one starts its timer. */
	if (!atomic_exchange_explicit(&t->has_timer, false, memory_order_relaxed))
		return;
	timer_delete(t->timer);
	current = NULL;
}

bool host_core_yield(void)
{
	const uint64_t start = clock_ns();
	sched_yield();
	return clock_ns() - start > YIELD_NS;
}
