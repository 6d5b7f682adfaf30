/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A gate: streams wait at it while the host fills them; one write by the host releases all of them.
 *
 *     gate_open(dev, GATE_LIMIT_NS, &gate);         or bench_gate(c), which the case closes
 *                                                   (bench/bench_alloc.h)
 *     status = gate_shut(gate, dev, stream);        on every stream that shall wait, also of
 *                                                   other devices
 *     ...                                           enqueue behind it
 *     int released = gate_release(gate);            whatever `status` is: what was enqueued must
 *                                                   drain
 *     int drained = dev_stream_sync(dev, stream);
 *
 * The thread that fills a queue is the thread that releases the gate. A call that waits for space
 * in a full queue, or for a stream that is not independent, would block it for ever. So one thread
 * of the process, the watchdog, opens every gate that stays shut for longer than its limit. The
 * work behind that gate started before everything was enqueued, so its sample does not count.
 *
 * Errors.    0 or -errno with a text. -ETIMEDOUT from gate_release(): the watchdog had to open the
 *            gate.
 * Cost.      Shutting reads the clock and stores a number; releasing is one write and one exchange
 *            of that number.
 * Threads.   One thread at a time shuts and releases a gate. Gates are independent.
 * Time.      On a device with virtual time no call blocks, and its gates are not watched.
 * Ownership. The word lies in PINNED memory of the device of gate_open(), which must stay
 *            open until gate_close().
 */
#ifndef GPUSIG_BENCH_GATE_H
#define GPUSIG_BENCH_GATE_H

#include "device/dev.h"

/* Filling a queue takes milliseconds; even on a machine full of other work it takes less than a
 * thousand times as long. */
#define GATE_LIMIT_NS UINT64_C(10000000000)

struct gate;

/* Needs DEV_CAP_WAIT_VALUE: -ENOTSUP. The limit is host time from the first gate_shut() to
 * gate_release(); after the watchdog had to open a gate of this process, it is one second at
 * most. May take long. */
int gate_open(struct dev *dev, uint64_t limit_ns, struct gate **gate_p);

/* Releases what waits. NULL is accepted. */
void gate_close(struct gate *gate);

/* Enqueue a wait at the gate: later work of the stream starts after gate_release(). The first one
 * of a process starts the watchdog's thread. */
int gate_shut(struct gate *gate, struct dev *dev, struct dev_stream *stream);

/* Release everything that waits at the gate. A gate that is not shut: no effect, 0. -ETIMEDOUT:
 * the watchdog had opened it. Nothing waits any more, even after another error. */
int gate_release(struct gate *gate);

/* A counter that kernels or GEMMs advance and streams wait for (dev_wait_value()): where nothing
 * reaches the value, nothing else would end. The watchdog writes DEV_VALUE_MAX to it once three
 * times the limit is over since gate_wait_begins(). It outlives the gate's latest wait. */
int gate_guard(struct gate *gate, struct dev *dev, uint32_t *at);

/* Around a wait of the host for streams, one at a time. -EPROTO: the watchdog had to end it. */
unsigned gate_wait_begins(void);
int gate_wait_ended(unsigned begun);

/* Number of gates that the watchdog has opened in this process. Compare it around code that opens
 * gates of its own. */
unsigned gate_overdue(void);

#endif
