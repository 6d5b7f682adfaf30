/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_units.h"
#include "device/host/host_machine.h"
#include "device/host/host_queue.h"
#include "device/host/host_simd.h"
#include "lib/clock.h"
#include "lib/cores.h"
#include "lib/err.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Resident blocks and copies of all devices, by core. Relaxed everywhere: written under the lock,
 * and read without it only to decide whether to poll. */
static atomic_uint work_on[CORES_MAX];

/* ------------------------------------------------------------------ placing blocks */

uint32_t host_units_max_resident(uint64_t claim_bytes)
{
	if (claim_bytes == 0)
		return HOST_SLOTS;
	const uint64_t fit = HOST_SHARED_BYTES / claim_bytes;
	return fit < HOST_SLOTS ? (uint32_t)fit : HOST_SLOTS;
}

/* Relaxed: written under the lock. Only may_poll() asks without it; an old number costs a poll. */
static unsigned resident_blocks(struct host_unit *unit)
{
	return atomic_load_explicit(&unit->resident, memory_order_relaxed);
}

static struct host_unit *choose_unit(struct host_units *u, const struct host_launch *l)
{
	struct host_unit *best = NULL;
	for (uint32_t i = 0; i < l->units; i++) {
		struct host_unit *unit = &u->units[l->first_unit + i];
		if (!unit->free || unit->shared_bytes + l->claim_bytes > HOST_SHARED_BYTES ||
		    (l->alone && unit->alone))
			continue;
		if (!best || resident_blocks(unit) < resident_blocks(best))
			best = unit;
		if (resident_blocks(best) == 0)
			break;
	}
	return best;
}

/* Pairs with the releases in place_block() and host_units_copy(). */
static bool mailbox_is_full(atomic_bool *flag)
{
	return atomic_load_explicit(flag, memory_order_acquire);
}

/* Asked by the slot's own thread, or under the lock. host_timeslice.h says why `mixed` is loaded
 * sequentially consistently. */
static bool slot_shares_core(void *slot)
{
	struct host_slot *s = slot;
	return mailbox_is_full(&s->mailbox_full) && atomic_load(&s->unit->mixed);
}

/* True if blocks of different launches are resident. */
static bool has_mixed_launches(const struct host_unit *unit)
{
	const struct host_launch *first = NULL;
	for (uint32_t i = 0; i < HOST_SLOTS; i++) {
		const struct host_launch *l = unit->slots[i].launch;
		if (l && first && l != first)
			return true;
		first = l ? l : first;
	}
	return false;
}

static void place_block(struct host_unit *unit, struct host_launch *l)
{
	struct host_slot *slot = unit->free;
	unit->free = slot->next_free;
	unit->shared_bytes += l->claim_bytes;
	unit->alone |= l->alone;
	const bool first = atomic_fetch_add_explicit(&unit->resident, 1, memory_order_relaxed) == 0;
	atomic_fetch_add_explicit(&work_on[unit->core], 1, memory_order_relaxed);
	slot->launch = l;
	slot->block = l->started++;
	slot->number = unit->placed++;
	/* Pairs with the acquire in mailbox_is_full(): the slot's thread sees the block and all
	 * work that ended under the lock before. */
	atomic_store_explicit(&slot->mailbox_full, true, memory_order_release);
	host_wake(&slot->sleeper);
	if (first)
		return;
	/* Sequentially consistent: either slot_shares_core() is true for a block that begins, or
	 * host_timeslice_arm() sees that it has begun. */
	atomic_store(&unit->mixed, has_mixed_launches(unit));
	for (uint32_t i = 0; i < HOST_SLOTS; i++)
		if (slot_shares_core(&unit->slots[i]))
			host_timeslice_arm(&unit->slots[i].timeslice);
}

static void remove_block(struct host_slot *slot, const struct host_launch *l)
{
	struct host_unit *unit = slot->unit;
	unit->shared_bytes -= l->claim_bytes;
	unit->alone &= !l->alone;
	slot->next_free = unit->free;
	unit->free = slot;
	slot->launch = NULL;
	/* The load is relaxed under the lock. The store is sequentially consistent: either
	 * slot_shares_core() is false for a thread that is about to wait for its next time slice,
	 * or the host_timeslice_wake_next() of complete_block() sees it wait. */
	if (atomic_load_explicit(&unit->mixed, memory_order_relaxed))
		atomic_store(&unit->mixed, has_mixed_launches(unit));
	atomic_fetch_sub_explicit(&work_on[unit->core], 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&unit->resident, 1, memory_order_relaxed);
}

void host_units_launch(struct host_units *u, struct host_launch *l)
{
	l->next = NULL;
	if (u->ready[l->level].first)
		u->ready[l->level].last->next = l;
	else
		u->ready[l->level].first = l;
	u->ready[l->level].last = l;
}

/* True if no launch before this one waits for one of its units. */
static bool is_next(const struct host_units *u, const struct host_launch *l)
{
	for (uint32_t i = 0; i < l->units; i++)
		if (u->units[l->first_unit + i].awaited)
			return false;
	return true;
}

static void set_awaited(struct host_units *u, uint32_t first, uint32_t count, bool awaited)
{
	for (uint32_t i = 0; i < count; i++)
		u->units[first + i].awaited = awaited;
}

/* False: its next block fits on none of its units. */
static bool place_blocks(struct host_units *u, struct host_launch *l)
{
	struct host_unit *unit;
	while (l->started < l->grid && (unit = choose_unit(u, l)) != NULL)
		place_block(unit, l);
	return l->started == l->grid;
}

/* Behind a launch that waits for all units nothing starts. Behind one that waits for some of them
 * go those that may use none of these. */
void host_units_dispatch(struct host_units *u)
{
	bool some_awaited = false, all_awaited = false;
	for (uint32_t level = HOST_LEVELS; !all_awaited && level-- > 0;) {
		struct host_ready *ready = &u->ready[level];
		struct host_launch **at = &ready->first, *before = NULL;
		while (!all_awaited && *at) {
			struct host_launch *l = *at;
			if ((!some_awaited || is_next(u, l)) && place_blocks(u, l)) {
				*at = l->next;
				ready->last = ready->last == l ? before : ready->last;
				continue;
			}
			set_awaited(u, l->first_unit, l->units, true);
			some_awaited = true;
			all_awaited = l->units == u->count;
			before = l;
			at = &l->next;
		}
	}
	if (some_awaited)
		set_awaited(u, 0, u->count, false);
}

/* ------------------------------------------------------------------ polling and sleeping */

bool host_units_polling_is_free(void)
{
	const int here = sched_getcpu();
	return here < 0 || here >= CORES_MAX ||
	       atomic_load_explicit(&work_on[here], memory_order_relaxed) == 0;
}

/* Relaxed: polling_slot is compared and nothing is read through it. */
static bool may_poll(struct host_slot *slot)
{
	return resident_blocks(slot->unit) == 0 &&
	       atomic_load_explicit(&slot->unit->polling_slot, memory_order_relaxed) == slot;
}

/* Relaxed: host_units_close() sets it under the lock before it wakes the threads, and no data
 * depends on it. */
static bool must_quit(struct host_units *u)
{
	return atomic_load_explicit(&u->quit, memory_order_relaxed);
}

/* Returns when the mailbox is full or the threads are to quit. */
static void wait_for_block(struct host_slot *slot)
{
	const uint64_t start = clock_ns();
	atomic_store_explicit(&slot->unit->polling_slot, slot, memory_order_relaxed);
	do {
		for (int i = 0; i < 16; i++) {
			if (mailbox_is_full(&slot->mailbox_full))
				return;
			host_pause();
		}
	} while (may_poll(slot) && !host_core_yield() && clock_ns() - start < HOST_SPIN_NS);
	host_lock();
	if (mailbox_is_full(&slot->mailbox_full) || must_quit(slot->unit->owner))
		host_unlock();
	else
		host_sleep(&slot->sleeper);
}

/* An engine sleeps instead of yielding: when it wakes up it preempts the block that has its core,
 * while a thread that yielded would wait for that block. */
static void wait_for_copy(struct host_engine *e)
{
	const uint64_t start = clock_ns();
	do {
		for (int i = 0; i < 16; i++) {
			if (mailbox_is_full(&e->mailbox_full))
				return;
			host_pause();
		}
	} while (host_units_polling_is_free() && !host_core_yield() &&
		 clock_ns() - start < HOST_SPIN_NS);
	host_lock();
	if (mailbox_is_full(&e->mailbox_full) || must_quit(e->owner))
		host_unlock();
	else
		host_sleep(&e->sleeper);
}

/* ------------------------------------------------------------------ the threads */

static void complete_block(struct host_slot *slot, struct host_launch *l, uint64_t end_ns,
			   int status)
{
	struct host_units *u = slot->unit->owner;
	host_lock();
	/* Relaxed: only this thread empties it, and it is filled again under the lock. */
	atomic_store_explicit(&slot->mailbox_full, false, memory_order_relaxed);
	remove_block(slot, l);
	if (status && !l->failure)
		l->failure = status;
	if (end_ns > l->end_ns)
		l->end_ns = end_ns;
	if (++l->ended == l->grid)
		host_queue_launch_ended(l);
	host_queue_progress(end_ns);
	host_units_dispatch(u);
	host_unlock();
	host_timeslice_wake_next(&slot->unit->core_queue);
}

/* True if an engine on this core has not begun its copy. `busy` is not left over from earlier
 * copies, because the mailbox was filled after those. No data depends on the answer: an outdated
 * one costs a yield, or the engine preempts a block that has just begun. */
static bool engine_needs_core(struct host_unit *unit)
{
	for (uint32_t i = 0; i < HOST_ENGINES; i++) {
		struct host_engine *e = &unit->owner->engines[i];
		if (e->core == unit->core && mailbox_is_full(&e->mailbox_full) &&
		    !atomic_load_explicit(&e->busy, memory_order_relaxed))
			return true;
	}
	return false;
}

/* Taking the lock lets its holder, which may have been preempted on this core, go on first. The
 * loop keeps the order of placement: the kernel may run a later one of several woken threads first.
 */
static void wait_for_core(struct host_slot *slot)
{
	host_lock();
	host_unlock();
	/* Pairs with the release in slot_main(): the block before has begun its time slice. */
	while (atomic_load_explicit(&slot->unit->begun, memory_order_acquire) != slot->number ||
	       engine_needs_core(slot->unit))
		sched_yield();
}

static void *slot_main(void *arg)
{
	struct host_slot *slot = arg;
	struct host_units *u = slot->unit->owner;
	host_timeslice_open(&slot->timeslice, &slot->unit->core_queue, slot_shares_core, slot);
	for (;;) {
		if (!mailbox_is_full(&slot->mailbox_full))
			wait_for_block(slot);
		if (!mailbox_is_full(&slot->mailbox_full)) {
			if (must_quit(u))
				break;
			continue;
		}
		wait_for_core(slot);
		struct host_launch *l = slot->launch;
		const struct host_block block = {.index = slot->block,
						 .grid = l->grid,
						 .args = l->args,
						 .cancelled = l->cancelled,
						 .scratch = slot->scratch};
		host_timeslice_begin(&slot->timeslice);
		/* Pairs with the acquire in wait_for_core(). */
		atomic_store_explicit(&slot->unit->begun, slot->number + 1, memory_order_release);
		int status = l->run(&block);
		host_timeslice_end(&slot->timeslice);
		complete_block(slot, l, clock_ns(), status);
	}
	host_timeslice_close(&slot->timeslice);
	return NULL;
}

static void copy_cached(const struct host_copy *c, uint64_t offset, uint64_t bytes)
{
	if (c->src)
		memcpy((char *)c->dst + offset, (const char *)c->src + offset, bytes);
	else
		memset((char *)c->dst + offset, c->byte, bytes);
}

static void run_copy(const struct host_units *u, const struct host_copy *c)
{
	if (c->bytes < u->streaming_bytes) {
		copy_cached(c, 0, c->bytes);
		return;
	}
	const struct host_simd *simd = host_simd_best();
	const uint64_t head = -(uintptr_t)c->dst % DEV_KERNEL_ALIGN;
	const uint64_t body = (c->bytes - head) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	copy_cached(c, 0, head);
	if (c->src)
		simd->copy_nt((char *)c->dst + head, (const char *)c->src + head, body, 1);
	else
		simd->write_nt((char *)c->dst + head, body, 1, c->byte * 0x01010101u);
	copy_cached(c, head + body, c->bytes - head - body);
}

static uint64_t min_streaming_bytes(int core)
{
	const uint64_t last = host_cache_bytes("", &core, 1, 3);
	return last && last / 2 < HOST_STREAMING_MAX ? last / 2 : HOST_STREAMING_MAX;
}

static struct host_copy *take_copy(struct host_engine *e)
{
	struct host_copy *before = NULL, *c = e->first;
	while (c && !(c->client && c->client == e->client)) {
		before = c;
		c = c->next;
	}
	if (!c) {
		before = NULL;
		c = e->first;
	}
	if (!c)
		return NULL;
	if (before)
		before->next = c->next;
	else
		e->first = c->next;
	e->last = e->last == c ? before : e->last;
	e->client = c->client;
	return c;
}

static void *engine_main(void *arg)
{
	struct host_engine *e = arg;
	struct host_copy *c;
	host_timeslice_opt_out();
	for (;;) {
		if (!mailbox_is_full(&e->mailbox_full))
			wait_for_copy(e);
		if (!mailbox_is_full(&e->mailbox_full)) {
			if (must_quit(e->owner))
				return NULL;
			continue;
		}
		/* Relaxed, as is clearing the mailbox below: the copies are ordered by the lock. */
		atomic_store_explicit(&e->busy, true, memory_order_relaxed);
		host_lock();
		while ((c = take_copy(e)) != NULL) {
			host_unlock();
			run_copy(e->owner, c);
			for (size_t i = 0; i < c->rest_count; i++)
				run_copy(e->owner, &c->rest[i]);
			const uint64_t end_ns = clock_ns();
			host_lock();
			atomic_fetch_sub_explicit(&work_on[e->core], 1, memory_order_relaxed);
			host_queue_copy_ended(c, end_ns);
			host_queue_progress(end_ns);
		}
		atomic_store_explicit(&e->mailbox_full, false, memory_order_relaxed);
		atomic_store_explicit(&e->busy, false, memory_order_relaxed);
		host_unlock();
	}
}

void host_units_copy(struct host_units *u, uint32_t engine, struct host_copy *c)
{
	struct host_engine *e = &u->engines[engine];
	atomic_fetch_add_explicit(&work_on[e->core], 1, memory_order_relaxed);
	c->next = NULL;
	if (e->first)
		e->last->next = c;
	else
		e->first = c;
	e->last = c;
	/* Pairs with the acquire in mailbox_is_full(), for `busy` in engine_needs_core(). The copy
	 * itself is read under the lock. */
	atomic_store_explicit(&e->mailbox_full, true, memory_order_release);
	host_wake(&e->sleeper);
}

/* ------------------------------------------------------------------ open and close */

static int start_unit(struct host_units *u, struct host_unit *unit, int core)
{
	unit->owner = u;
	unit->core = core;
	for (uint32_t i = HOST_SLOTS; i-- > 0;) {
		struct host_slot *slot = &unit->slots[i];
		slot->unit = unit;
		slot->scratch = malloc(HOST_SCRATCH_BYTES);
		if (!slot->scratch)
			return err_note(-ENOMEM, "start a worker on core %d: out of memory", core);
		host_sleeper_init(&slot->sleeper, core);
		int status = cores_thread_start(&slot->thread, &core, 1, slot_main, slot);
		if (status)
			return err_note(status, "start a worker on core %d: %s", core,
					strerror(-status));
		slot->started = true;
		slot->next_free = unit->free;
		unit->free = slot;
	}
	return 0;
}

int host_units_open(struct host_units *u, const int *cores, uint32_t count)
{
	int status = 0;
	memset(u, 0, sizeof(*u));
	u->units = calloc(count, sizeof(*u->units));
	if (!u->units)
		return err_note(-ENOMEM, "open %u units: out of memory", count);
	u->count = count;
	u->streaming_bytes = min_streaming_bytes(cores[0]);
	for (uint32_t i = 0; i < count && !status; i++)
		status = start_unit(u, &u->units[i], cores[i]);
	for (uint32_t i = 0; i < HOST_ENGINES && !status; i++) {
		struct host_engine *e = &u->engines[i];
		e->owner = u;
		e->core = cores[(2 * count - 2 - i) % count];
		host_sleeper_init(&e->sleeper, e->core);
		status = cores_thread_start(&e->thread, &e->core, 1, engine_main, e);
		if (status)
			return err_note(status, "start a copy engine: %s", strerror(-status));
		e->started = true;
	}
	return status;
}

void host_units_close(struct host_units *u)
{
	host_lock();
	atomic_store_explicit(&u->quit, true, memory_order_relaxed);
	for (uint32_t i = 0; i < u->count * HOST_SLOTS; i++)
		host_wake(&u->units[i / HOST_SLOTS].slots[i % HOST_SLOTS].sleeper);
	for (uint32_t i = 0; i < HOST_ENGINES; i++)
		host_wake(&u->engines[i].sleeper);
	host_unlock();
	for (uint32_t i = 0; i < u->count * HOST_SLOTS; i++) {
		struct host_slot *slot = &u->units[i / HOST_SLOTS].slots[i % HOST_SLOTS];
		if (slot->started) {
			pthread_join(slot->thread, NULL);
			host_sleeper_destroy(&slot->sleeper);
		}
		free(slot->scratch);
	}
	for (uint32_t i = 0; i < HOST_ENGINES; i++) {
		if (!u->engines[i].started)
			continue;
		pthread_join(u->engines[i].thread, NULL);
		host_sleeper_destroy(&u->engines[i].sleeper);
	}
	free(u->units);
	u->units = NULL;
	u->count = 0;
}
