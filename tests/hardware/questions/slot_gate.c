/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/hardware/questions/slot_gate.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define OPEN_NS UINT64_C(2000000000)
#define LEAVE_NS UINT64_C(6000000000)

struct dut dut;

static struct {
	uint32_t *word; /* NULL: open */
	uint64_t shut_ns;
	pthread_t watchdog;
	atomic_bool opened, watchdog_opened;
} gate;

/* The plain store opens the gate, because a call that waits inside the driver may hold a lock that
 * dev_post_value() needs. */
static void release_blocks(void)
{
	__atomic_store_n(gate.word, 1, __ATOMIC_RELEASE);
	dev_post_value(dut.dev, gate.word, 1);
}

static void *watchdog_thread(void *unused)
{
	const struct timespec nap = {.tv_nsec = 2000000};
	while (!atomic_load(&gate.opened) && clock_ns() - gate.shut_ns < OPEN_NS)
		nanosleep(&nap, NULL);
	if (atomic_load(&gate.opened))
		return unused;
	atomic_store(&gate.watchdog_opened, true);
	release_blocks();
	return unused;
}

static int start_watchdog(uint32_t *word)
{
	gate.word = word;
	gate.shut_ns = clock_ns();
	atomic_store(&gate.opened, false);
	atomic_store(&gate.watchdog_opened, false);
	int status = pthread_create(&gate.watchdog, NULL, watchdog_thread, NULL);
	if (status)
		gate.word = NULL;
	return status ? err_note(-status, "cannot start the thread that opens the gate") : 0;
}

int slot_gate_hold(uint32_t blocks)
{
	uint32_t *flag = dut.words + DUT_FLAG, *arrived = dut.words + DUT_ARRIVED,
		 grid = blocks == SLOT_GATE_ALL_SLOTS ? dut.slots : blocks;
	uint64_t *start_ns = dut.start_ns, timeout_ns = LEAVE_NS;
	const void *args[] = {&flag, &arrived, &start_ns, &timeout_ns};
	memset(dut.words, 0, DUT_WORDS * sizeof(*dut.words));
	int status = start_watchdog(flag);
	if (!status)
		status = dev_launch(dut.dev, dut.gated, dut.blocking,
				    &(struct dev_launch){.grid = grid, .args = args});
	while (!status && __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < grid)
		if (atomic_load(&gate.watchdog_opened))
			status = err_note(-ETIMEDOUT, "%u of %u thread blocks started", *arrived,
					  grid);
	return status;
}

int slot_gate_hold_by_value(void)
{
	memset(dut.words, 0, DUT_WORDS * sizeof(*dut.words));
	int status = start_watchdog(dut.words + DUT_VALUE);
	return status ? status : dev_wait_value(dut.dev, dut.gated, dut.words + DUT_VALUE, 1);
}

int slot_gate_open(void)
{
	if (!gate.word)
		return 0;
	atomic_store(&gate.opened, true);
	pthread_join(gate.watchdog, NULL);
	release_blocks();
	gate.word = NULL;
	int status = dev_stream_sync(dut.dev, dut.gated),
	    ungated_status = dev_stream_sync(dut.dev, dut.ungated);
	return status ? status : ungated_status;
}

bool slot_gate_is_shut(void) { return !atomic_load(&gate.watchdog_opened); }
