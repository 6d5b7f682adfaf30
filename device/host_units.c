/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_units.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_machine.h"
#include "device/host_queue.h"
#include "device/host_simd.h"
#include "lib/clock.h"
#include "lib/err.h"

/* Resident blocks of all devices by core. */
static atomic_uint blocks_on[HOST_MOST_CORE];

/* ------------------------------------------------------------------ placing blocks */

uint32_t host_units_residents(uint64_t claim_bytes)
{
	if (claim_bytes == 0)
		return HOST_SLOTS;
	const uint64_t fit = HOST_SHARED_BYTES / claim_bytes;
	return fit < HOST_SLOTS ? (uint32_t)fit : HOST_SLOTS;
}

static unsigned residents(struct host_unit *unit)
{
	return atomic_load_explicit(&unit->resident, memory_order_relaxed);
}

static struct host_unit *place_for(struct host_units *u, const struct host_launch *l)
{
	struct host_unit *best = NULL;
	for (uint32_t i = 0; i < u->count; i++) {
		struct host_unit *unit = &u->units[i];
		if (!unit->free || unit->shared_bytes + l->claim_bytes > HOST_SHARED_BYTES || (l->alone && unit->alone))
			continue;
		if (!best || residents(unit) < residents(best))
			best = unit;
		if (residents(best) == 0)
			break;
	}
	return best;
}

static bool has_mail(atomic_bool *mail) { return atomic_load_explicit(mail, memory_order_acquire); }

static bool slot_shares(void *slot)
{
	struct host_slot *s = slot;
	return has_mail(&s->mail) && atomic_load(&s->unit->mixed);
}

/* Whose first resident block is of another launch than a later one. */
static bool is_mixed(const struct host_unit *unit)
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

static void place(struct host_unit *unit, struct host_launch *l)
{
	struct host_slot *slot = unit->free;
	unit->free = slot->next_free;
	unit->shared_bytes += l->claim_bytes;
	unit->alone |= l->alone;
	const bool first = atomic_fetch_add_explicit(&unit->resident, 1, memory_order_relaxed) == 0;
	atomic_fetch_add_explicit(&blocks_on[unit->core], 1, memory_order_relaxed);
	if (first)
		atomic_fetch_sub_explicit(&unit->all->idle, 1, memory_order_relaxed);
	slot->launch = l;
	slot->block = l->started++;
	slot->number = unit->placed++;
	atomic_store_explicit(&slot->mail, true, memory_order_release);
	host_wake(&slot->sleeper);
	if (first)
		return;
	atomic_store(&unit->mixed, is_mixed(unit));
	for (uint32_t i = 0; i < HOST_SLOTS; i++)
		if (slot_shares(&unit->slots[i]))
			host_turn_shared(&unit->slots[i].turn);
}

static void displace(struct host_slot *slot, const struct host_launch *l)
{
	struct host_unit *unit = slot->unit;
	unit->shared_bytes -= l->claim_bytes;
	unit->alone &= !l->alone;
	slot->next_free = unit->free;
	unit->free = slot;
	slot->launch = NULL;
	if (atomic_load(&unit->mixed))
		atomic_store(&unit->mixed, is_mixed(unit));
	atomic_fetch_sub_explicit(&blocks_on[unit->core], 1, memory_order_relaxed);
	if (atomic_fetch_sub_explicit(&unit->resident, 1, memory_order_relaxed) == 1)
		atomic_fetch_add_explicit(&unit->all->idle, 1, memory_order_relaxed);
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

void host_units_dispatch(struct host_units *u)
{
	for (uint32_t level = HOST_LEVELS; level-- > 0;) {
		struct host_launch *l;
		while ((l = u->ready[level].first) != NULL) {
			struct host_unit *unit = place_for(u, l);
			if (!unit)
				return;
			if (l->started + 1 == l->grid)
				u->ready[level].first = l->next;
			place(unit, l);
		}
	}
}

/* ------------------------------------------------------------------ polling and sleeping */

bool host_units_polling_is_free(void)
{
	const int here = sched_getcpu();
	return here < 0 || here >= HOST_MOST_CORE || atomic_load_explicit(&blocks_on[here], memory_order_relaxed) == 0;
}

static bool may_poll(struct host_slot *slot)
{
	return residents(slot->unit) == 0 && atomic_load_explicit(&slot->unit->spinner, memory_order_relaxed) == slot;
}

/* Returns with mail, or because the threads are to quit. */
static void await_block(struct host_slot *slot)
{
	const uint64_t start = clock_ns();
	atomic_store_explicit(&slot->unit->spinner, slot, memory_order_relaxed);
	do {
		for (int i = 0; i < 16; i++) {
			if (has_mail(&slot->mail))
				return;
			host_pause();
		}
	} while (may_poll(slot) && !host_core_wanted() && clock_ns() - start < HOST_SPIN_NS);
	host_lock();
	if (has_mail(&slot->mail) || slot->unit->all->quit)
		host_unlock();
	else
		host_sleep(&slot->sleeper);
}

/* A thread that sleeps preempts the block that has its core when it wakes up; one that gave the core away would wait. */
static void await_copy(struct host_engine *e)
{
	const uint64_t start = clock_ns();
	do {
		for (int i = 0; i < 16; i++) {
			if (has_mail(&e->mail))
				return;
			host_pause();
		}
	} while (host_units_polling_is_free() && !host_core_wanted() && clock_ns() - start < HOST_SPIN_NS);
	host_lock();
	if (has_mail(&e->mail) || e->all->quit)
		host_unlock();
	else
		host_sleep(&e->sleeper);
}

/* ------------------------------------------------------------------ the threads */

static void block_ended(struct host_slot *slot, struct host_launch *l, uint64_t end_ns, int rc)
{
	struct host_units *u = slot->unit->all;
	host_lock();
	atomic_store_explicit(&slot->mail, false, memory_order_relaxed);
	displace(slot, l);
	if (rc && !l->failure)
		l->failure = rc;
	if (end_ns > l->end_ns)
		l->end_ns = end_ns;
	if (++l->ended == l->grid)
		host_queue_launch_ended(l);
	host_queue_progress(end_ns);
	host_units_dispatch(u);
	host_unlock();
	host_turn_next(&slot->unit->seat);
}

/* Has an engine still to begin, and will need some block's core for that? */
static bool engine_begins(struct host_units *u)
{
	bool begins = false;
	for (uint32_t i = 0; i < HOST_ENGINES; i++)
		begins |= has_mail(&u->engines[i].mail) && !atomic_load(&u->engines[i].at_work);
	return begins && atomic_load_explicit(&u->idle, memory_order_relaxed) == 0;
}

/* Whoever had this core a moment ago may hold the lock, and all wait for it to go on. And of threads that become ready at about
 * the same time, the kernel may let a later one begin. */
static void await_core(struct host_slot *slot)
{
	host_lock();
	host_unlock();
	while (atomic_load(&slot->unit->begun) != slot->number || engine_begins(slot->unit->all))
		sched_yield();
}

static void *slot_main(void *arg)
{
	struct host_slot *slot = arg;
	struct host_units *u = slot->unit->all;
	host_turn_open(&slot->turn, &slot->unit->seat, slot_shares, slot);
	for (;;) {
		if (!has_mail(&slot->mail))
			await_block(slot);
		if (!has_mail(&slot->mail)) {
			if (atomic_load(&u->quit))
				break;
			continue;
		}
		await_core(slot);
		struct host_launch *l = slot->launch;
		const struct host_block block = {
			.index = slot->block, .grid = l->grid, .args = l->args, .cancelled = l->cancelled};
		host_turn_begin(&slot->turn);
		atomic_store(&slot->unit->begun, slot->number + 1);
		int rc = l->run(&block);
		host_turn_end(&slot->turn);
		block_ended(slot, l, clock_ns(), rc);
	}
	host_turn_close(&slot->turn);
	return NULL;
}

static void regular(const struct host_copy *c, uint64_t offset, uint64_t bytes)
{
	if (c->src)
		memcpy((char *)c->dst + offset, (const char *)c->src + offset, bytes);
	else
		memset((char *)c->dst + offset, c->byte, bytes);
}

static void transfer(const struct host_units *u, const struct host_copy *c)
{
	if (c->bytes < u->streaming_bytes) {
		regular(c, 0, c->bytes);
		return;
	}
	const struct host_simd *simd = host_simd_best();
	const uint64_t head = -(uintptr_t)c->dst % DEV_KERNEL_ALIGN;
	const uint64_t body = (c->bytes - head) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
	regular(c, 0, head);
	if (c->src)
		simd->copy_nt((char *)c->dst + head, (const char *)c->src + head, body, 1);
	else
		simd->write_nt((char *)c->dst + head, body, 1, c->byte * 0x01010101u);
	regular(c, head + body, c->bytes - head - body);
}

static uint64_t streaming_from(int core)
{
	const uint64_t last = host_cache_bytes("", &core, 1, 3);
	return last && last / 2 < HOST_STREAMING_MOST ? last / 2 : HOST_STREAMING_MOST;
}

static void *engine_main(void *arg)
{
	struct host_engine *e = arg;
	struct host_copy *c;
	host_turn_preempts();
	for (;;) {
		if (!has_mail(&e->mail))
			await_copy(e);
		if (!has_mail(&e->mail)) {
			if (atomic_load(&e->all->quit))
				return NULL;
			continue;
		}
		atomic_store(&e->at_work, true);
		host_lock();
		while ((c = e->first) != NULL) {
			e->first = c->next;
			host_unlock();
			transfer(e->all, c);
			const uint64_t end_ns = clock_ns();
			host_lock();
			host_queue_copy_ended(c, end_ns);
			host_queue_progress(end_ns);
		}
		atomic_store_explicit(&e->mail, false, memory_order_relaxed);
		atomic_store(&e->at_work, false);
		host_unlock();
	}
}

void host_units_copy(struct host_units *u, uint32_t engine, struct host_copy *c)
{
	struct host_engine *e = &u->engines[engine];
	c->next = NULL;
	if (e->first)
		e->last->next = c;
	else
		e->first = c;
	e->last = c;
	atomic_store_explicit(&e->mail, true, memory_order_release);
	host_wake(&e->sleeper);
}

/* ------------------------------------------------------------------ open and close */

static int start_unit(struct host_units *u, struct host_unit *unit, int core)
{
	unit->all = u;
	unit->core = core;
	for (uint32_t i = HOST_SLOTS; i-- > 0;) {
		struct host_slot *slot = &unit->slots[i];
		slot->unit = unit;
		host_sleeper_init(&slot->sleeper, core);
		int rc = host_thread_start(&slot->thread, &core, 1, slot_main, slot);
		if (rc)
			return err_note(rc, "start a worker on core %d: %s", core, strerror(-rc));
		slot->started = true;
		slot->next_free = unit->free;
		unit->free = slot;
	}
	return 0;
}

int host_units_open(struct host_units *u, const int *cores, uint32_t count)
{
	int rc = 0;
	memset(u, 0, sizeof(*u));
	u->units = calloc(count, sizeof(*u->units));
	if (!u->units)
		return err_note(-ENOMEM, "open %u units: out of memory", count);
	atomic_store(&u->idle, count);
	u->count = count;
	u->streaming_bytes = streaming_from(cores[0]);
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = start_unit(u, &u->units[i], cores[i]);
	for (uint32_t i = 0; i < HOST_ENGINES && !rc; i++) {
		struct host_engine *e = &u->engines[i];
		e->all = u;
		host_sleeper_init(&e->sleeper, count == 1 ? cores[0] : -1);
		rc = host_thread_start(&e->thread, cores, count, engine_main, e);
		if (rc)
			return err_note(rc, "start a copy engine: %s", strerror(-rc));
		e->started = true;
	}
	return rc;
}

void host_units_close(struct host_units *u)
{
	host_lock();
	atomic_store(&u->quit, true);
	for (uint32_t i = 0; i < u->count * HOST_SLOTS; i++)
		host_wake(&u->units[i / HOST_SLOTS].slots[i % HOST_SLOTS].sleeper);
	for (uint32_t i = 0; i < HOST_ENGINES; i++)
		host_wake(&u->engines[i].sleeper);
	host_unlock();
	for (uint32_t i = 0; i < u->count * HOST_SLOTS; i++) {
		struct host_slot *slot = &u->units[i / HOST_SLOTS].slots[i % HOST_SLOTS];
		if (!slot->started)
			continue;
		pthread_join(slot->thread, NULL);
		host_sleeper_destroy(&slot->sleeper);
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
