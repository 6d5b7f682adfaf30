/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_turns.h"

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

#include "device/host_lock.h"
#include "lib/clock.h"

/* A call of sched_yield() takes less where no other thread wants the core. */
#define YIELD_NS 2000u

/* Longer than anybody keeps the lock. */
#define SHORT_NS 20000u

/* Of the kernel, and the shortest it grants; a yield costs a thread one of these. */
#define KERNEL_TURN_NS 100000u

/* The kernel's struct sched_attr of linux/sched/types.h; libc may have none. */
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

static _Thread_local struct host_turn *mine;

static uint64_t core_time_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Once: whoever waits for the core has no timer running. */
static void set_timer(struct host_turn *t, uint64_t ns)
{
	const struct itimerspec once = {.it_value = {.tv_nsec = (long)ns}};
	timer_settime(t->timer, 0, &once, NULL);
}

void host_turn_begin(struct host_turn *t)
{
	atomic_store(&t->start_ns, clock_ns());
	if (!t->shares(t->of) || !atomic_load(&t->there))
		return;
	t->since_ns = core_time_ns();
	if (!atomic_exchange(&t->armed, true))
		set_timer(t, HOST_TURN_NS);
}

/* Work that has not started sees to itself when it does. */
void host_turn_shared(struct host_turn *t)
{
	const uint64_t start_ns = atomic_load(&t->start_ns), now_ns = clock_ns();
	if (start_ns == 0 || !atomic_load(&t->there) || atomic_exchange(&t->armed, true))
		return;
	set_timer(t, now_ns - start_ns < HOST_TURN_NS ? HOST_TURN_NS - (now_ns - start_ns) : 1);
}

void host_turn_next(struct host_seat *seat)
{
	if (atomic_load(&seat->waiting) == 0)
		return;
	atomic_fetch_add(&seat->turns, 1);
	syscall(SYS_futex, &seat->turns, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The kernel alone might go on with this thread: it remembers what threads were owed when they fell asleep long ago. */
static void wait_for_turn(struct host_turn *t)
{
	const struct timespec most = {.tv_nsec = HOST_TURN_NS};
	struct host_seat *seat = t->seat;
	host_turn_next(seat);
	const unsigned turn = atomic_load(&seat->turns);
	atomic_fetch_add(&seat->waiting, 1);
	if (t->shares(t->of))
		syscall(SYS_futex, &seat->turns, FUTEX_WAIT_PRIVATE, turn, &most, NULL, 0);
	atomic_fetch_sub(&seat->waiting, 1);
}

void host_turn_end(struct host_turn *t) { atomic_store_explicit(&t->start_ns, 0, memory_order_relaxed); }

/* The time may have run while others had the core, and a turn that has just begun goes on; and while this thread has the lock
 * nobody else gets far. */
static void end_turn(struct host_turn *t)
{
	const uint64_t had_ns = core_time_ns() - t->since_ns;
	uint64_t left_ns = HOST_TURN_NS;
	if (had_ns < HOST_TURN_NS * 3 / 4) {
		left_ns -= had_ns;
	} else if (host_lock_is_mine()) {
		left_ns = SHORT_NS;
	} else {
		wait_for_turn(t);
		t->since_ns = core_time_ns();
	}
	set_timer(t, left_ns);
}

static void on_signal(int number)
{
	struct host_turn *t = mine;
	const int kept = errno;
	(void)number;
	if (t && t->shares(t->of)) {
		end_turn(t);
	} else if (t) {
		atomic_store(&t->armed, false);
		if (t->shares(t->of)) /* again, since it was looked at */
			host_turn_shared(t);
	}
	errno = kept;
}

static bool handled;

static void take_signal(void)
{
	struct sigaction now, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigemptyset(&ours.sa_mask);
	handled = sigaction(SIGURG, NULL, &now) == 0 && now.sa_handler == SIG_DFL && sigaction(SIGURG, &ours, NULL) == 0;
}

/* Batch work does not preempt when it wakes up. The length is granted by Linux 6.12 or later, ignored by others. */
static void wish_for_turns(uint32_t policy)
{
	const struct attributes a = {.size = sizeof(a),
	                             .policy = policy,
	                             .nice = getpriority(PRIO_PROCESS, 0),
	                             .runtime_ns = KERNEL_TURN_NS};
	syscall(SYS_sched_setattr, 0, &a, 0);
}

void host_turn_open(struct host_turn *t, struct host_seat *seat, bool (*shares)(void *of), void *of)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	sigset_t urgent;
	pthread_once(&once, take_signal);
	t->seat = seat;
	t->shares = shares;
	t->of = of;
	wish_for_turns(SCHED_BATCH);
	e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (!handled || timer_create(CLOCK_MONOTONIC, &e, &t->timer))
		return;
	mine = t;
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
	atomic_store(&t->there, true);
}

void host_turn_preempts(void) { wish_for_turns(SCHED_OTHER); }

void host_turn_close(struct host_turn *t)
{
	if (!atomic_exchange(&t->there, false))
		return;
	timer_delete(t->timer);
	mine = NULL;
}

bool host_core_wanted(void)
{
	const uint64_t start = clock_ns();
	sched_yield();
	return clock_ns() - start > YIELD_NS;
}
