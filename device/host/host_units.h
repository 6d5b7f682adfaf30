/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Units and copy engines: the threads that do the work of one host device.
 *
 * A unit is a core. It has HOST_SLOTS slots, each a thread that is pinned to the core; a block is
 * resident when it has been given to a slot. So blocks of one unit share the core in time, as warps
 * share an SM. Blocks of different launches get shorter time slices than the kernel's
 * (host_timeslice.h). Every block claims a part of the unit's pool of HOST_SHARED_BYTES, rounded up
 * to HOST_SHARED_GRANULARITY. No kernel of device/kernels.h uses its claim, so the pool is
 * accounted for and no memory backs it.
 *
 * Blocks are PUSHED to slots. Whenever a launch becomes ready or a block ends, blocks are placed in
 * the order of stream priority, then of becoming ready, each on the unit with the fewest resident
 * blocks. Among equal units the first is used, so that on an idle device block i runs on unit i and
 * finds its data in that core's cache. If a block fits nowhere, it waits and everything behind it
 * that may use one of its units waits, too, as on a GPU: a full grid delays later launches, and
 * priority is the remedy, or units of its own. (If slots pulled blocks, a second slot of a busy
 * core could take a block while another core idles.)
 *
 * A thread without work polls for HOST_SPIN_NS before it sleeps, so that back-to-back launches need
 * no wake-up. It does not poll while its core has other blocks, and stops when another thread wants
 * the core.
 *
 * Copy engines are two threads, each on one core, which preempt blocks there until the kernel's
 * next tick. Blocks begin at the first core and the thread that drives the device is on the last
 * one (bench), so engine 0 is on the last but one and engine 1 on the one before it; of two cores
 * engine 1 shares the last one with that thread. Where the scheduler chose, a small copy took 1 or
 * 25 us. Engine 1 does copies from DEVICE to PINNED memory, engine 0 all
 * other copies and fills, so that both directions can be busy at once. An engine works in the order
 * in which copies became ready, unless they have clients. It uses non-temporal stores if source and
 * destination together do not fit the last cache, and always from HOST_STREAMING_MAX on: below that
 * limit ordinary stores were up to 1.4 times faster, above it up to 1.4 times slower.
 *
 * The thread that ends a piece of work reports to host_queue.h, which makes following work ready.
 * All functions are called with the lock held unless stated otherwise.
 */
#ifndef GPUSIG_HOST_UNITS_H
#define GPUSIG_HOST_UNITS_H

#include "device/host/host_kernels.h"
#include "device/host/host_lock.h"
#include "device/host/host_timeslice.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HOST_SLOTS 8u
#define HOST_SHARED_BYTES ((uint64_t)128 << 10)
#define HOST_SHARED_GRANULARITY ((uint64_t)256)
#define HOST_ENGINES 2u
#define HOST_LEVELS 3u /* of priority; higher is more urgent */
#define HOST_SPIN_NS 500000u
#define HOST_STREAMING_MAX ((uint64_t)16 << 20)

/* A grid of blocks. The caller fills in the first group of members and keeps the struct in place
 * until the launch has ended. */
struct host_launch {
	int (*run)(const struct host_block *b);
	const void *args;
	const atomic_bool *cancelled;
	uint64_t claim_bytes; /* rounded */
	uint32_t grid;
	uint32_t level;
	uint32_t first_unit, units; /* where its blocks may start */
	bool alone;                 /* a unit holds at most one block of such launches */

	struct host_launch *next;
	uint32_t started, ended;
	uint64_t end_ns; /* of the block that ended last */
	int failure;
};

/* A copy, or a fill when `src` is NULL. `rest` is of a batch: its copies after the first, which the
 * same engine does; whoever ends the operation frees it. */
struct host_copy {
	void *dst;
	const void *src;
	uint64_t bytes;
	uint8_t byte;
	size_t rest_count;
	struct host_copy *rest;
	/* The engine goes on with a copy of the client that it served last, if one waits; NULL:
	 * nobody. */
	const void *client;

	struct host_copy *next;
};

struct host_unit;

struct host_slot {
	struct host_unit *unit;
	struct host_slot *next_free;
	pthread_t thread;
	bool started;
	struct host_sleeper sleeper;
	struct host_timeslice timeslice;
	void *scratch; /* of its blocks; pages that none has used take no memory */
	/* The block to run. Written under the lock before mailbox_full is set; the thread reads it
	 * after it saw it. */
	struct host_launch *launch;
	uint32_t block;
	uint32_t number; /* of the block, counted by the unit's placements */
	atomic_bool mailbox_full;
};

struct host_unit {
	struct host_units *owner;
	int core;
	uint64_t shared_bytes;  /* claimed */
	bool alone;             /* a block of a launch with `alone` is resident */
	bool awaited;           /* while blocks are placed: by a block that fits nowhere */
	atomic_uint resident;   /* written under the lock */
	struct host_slot *free; /* most recently used first: its thread may still poll */
	_Atomic(struct host_slot *) polling_slot; /* the only slot that may poll */
	struct host_core_queue core_queue;
	uint32_t placed;
	atomic_uint begun; /* blocks begin in the order in which they were placed */
	atomic_bool mixed; /* blocks of different launches are resident; written under the lock */
	struct host_slot slots[HOST_SLOTS];
};

struct host_engine {
	struct host_units *owner;
	int core;
	struct host_copy *first, *last;
	const void *client; /* of the copy that it took last */
	pthread_t thread;
	bool started;
	struct host_sleeper sleeper;
	atomic_bool mailbox_full;
	atomic_bool busy; /* handling what its mailbox announced */
};

/* Launches with blocks that have not started, by their readiness. */
struct host_ready {
	struct host_launch *first, *last;
};

struct host_units {
	uint32_t count;
	struct host_unit *units;
	uint64_t streaming_bytes; /* from this size on, engines use non-temporal stores */
	struct host_engine engines[HOST_ENGINES];
	struct host_ready ready[HOST_LEVELS];
	atomic_bool quit; /* written under the lock */
};

/* Start the threads of a device with these cores. 0 or -errno. Lock NOT held. */
int host_units_open(struct host_units *u, const int *cores, uint32_t count);

/* Stop the threads; nothing may be in progress. Lock NOT held. Also after host_units_open() failed.
 */
void host_units_close(struct host_units *u);

/* The claim on the unit's pool of a block that requests this many bytes. */
static inline uint64_t host_units_claim(uint64_t shared_bytes)
{
	return (shared_bytes + HOST_SHARED_GRANULARITY - 1) / HOST_SHARED_GRANULARITY *
	       HOST_SHARED_GRANULARITY;
}

/* Number of blocks with this claim that a unit holds at once. */
uint32_t host_units_max_resident(uint64_t claim_bytes);

/* Make a launch ready. Its blocks start at the next host_units_dispatch(). */
void host_units_launch(struct host_units *u, struct host_launch *l);

/* Place as many ready blocks as fit. */
void host_units_dispatch(struct host_units *u);

/* Give a copy to an engine. */
void host_units_copy(struct host_units *u, uint32_t engine, struct host_copy *c);

/* True if no device has a block or a copy on the caller's core, so that the caller may poll. Lock
 * not needed.
 */
bool host_units_polling_is_free(void);

#endif
