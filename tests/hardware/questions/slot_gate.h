/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device under test, and a gate that holds one of its streams.
 *
 * "While every slot is held": thread blocks occupy every slot of every unit and leave when the gate
 * opens. A call that does not return meanwhile would wait for ever. So a watchdog thread opens the
 * gate after 2 s, and the thread blocks leave by themselves after 6 s.
 */
#ifndef GPUSIG_HARDWARE_SLOT_GATE_H
#define GPUSIG_HARDWARE_SLOT_GATE_H

#include "device/dev.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOT_GATE_ALL_SLOTS 0u

/* Indices into dut.words, each in a cache line of its own. */
#define DUT_FLAG 0u
#define DUT_ARRIVED 64u
#define DUT_VALUE 128u
#define DUT_WORDS 192u

/* The device under test. */
struct dut {
	struct dev *dev;
	struct dev_stream *gated, *ungated;
	struct dev_event *event;
	struct dev_kernel *blocking, *empty, *read;
	struct dev_graph *graph_1, *graph_64;
	char *memory[2], *host[2]; /* DEVICE and PINNED */
	uint32_t *words;           /* PINNED, DUT_WORDS */
	uint64_t *start_ns;        /* PINNED, one per slot */
	uint32_t slots;
};
extern struct dut dut;

/* Occupies slots with thread blocks in the gated stream. All of them have started when it returns.
 */
int slot_gate_hold(uint32_t blocks);

/* The gated stream waits for a value. This occupies no slot where the device needs none for it. */
int slot_gate_hold_by_value(void);

/* Opens the gate and synchronises both streams. Accepts an open gate. */
int slot_gate_open(void);

/* False once the watchdog has opened the gate. */
bool slot_gate_is_shut(void);

#endif
