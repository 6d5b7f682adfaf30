/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns of threads that share a core of a host device.
 *
 * The kernel changes turns at its tick, every one to ten milliseconds. A copy of 100 us beside a product would so take one tick
 * or none, by chance. Warps of two launches alternate at every instruction; to come nearer to that, a thread whose work shares
 * its core is interrupted by a timer (SIGURG, to this thread alone) when it has had HOST_TURN_NS of the core, and gives it to the
 * next. Whoever comes later waits for that, but not for a turn that has been over for long. Threads that have their core to
 * themselves are never interrupted. An interrupt costs a microsecond or two, in a virtual machine 20: turns are as short as that
 * allows.
 *
 * Without timers, or in a process that took SIGURG for itself, turns are the kernel's.
 */
#ifndef GPUSIG_HOST_TURNS_H
#define GPUSIG_HOST_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HOST_TURN_NS 500000u

/* Threads that are pinned to the same core. */
struct host_seat {
	atomic_uint turns, waiting;
};

struct host_turn {
	struct host_seat *seat;
	bool (*shares)(void *of);
	void *of;
	timer_t timer;
	atomic_bool there, armed;
	atomic_uint_fast64_t start_ns; /* of the work in progress; 0: it has not started */
	uint64_t since_ns;             /* time of the core that the thread had had when its turn began */
};

/* The calling thread takes turns with others of its seat from now on, while shares(of) says that they have work too: that is
 * asked by a signal handler, so it reads atomics and nothing else. When it wakes up it lets whoever has the core go on. */
void host_turn_open(struct host_turn *t, struct host_seat *seat, bool (*shares)(void *of), void *of);

/* The calling thread takes no turns: when it wakes up it preempts those that do. */
void host_turn_preempts(void);

/* By the same thread, before it ends. */
void host_turn_close(struct host_turn *t);

/* By the same thread, around each piece of its work. */
void host_turn_begin(struct host_turn *t);
void host_turn_end(struct host_turn *t);

/* Whoever waits for a turn at this seat goes on. To be called when threads have ceased to be peers. */
void host_turn_next(struct host_seat *seat);

/* Any thread: the core is shared from now on. */
void host_turn_shared(struct host_turn *t);

/* Give the core to others for a moment. True: one wanted it. Who polls should then stop: the kernel takes from those who yield
 * often what is due to them. */
bool host_core_wanted(void);

#endif
