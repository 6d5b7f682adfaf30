/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A gate: streams wait at it while the host fills them, and one write of the host lets all of them go.
 *
 *     gate_open(dev, GATE_LIMIT_NS, &gate);          or own_gate(c), which the case closes (lib/bench_own.h)
 *     status = gate_shut(gate, dev, stream);         on every stream that is to wait, also of other devices
 *     ...                                            enqueue behind it
 *     int released = gate_release(gate);             whatever `status` says: what was enqueued must drain
 *     int drained = dev_stream_sync(dev, stream);
 *
 * The thread that fills a queue is the one that lets it go. A call that waits for room in a full queue, or for a stream that
 * is not as independent as it should be, would keep it for ever; so one thread of the process, the watchdog, opens every gate
 * that is shut for longer than its limit. What ran behind it then began before everything was enqueued: no sample of it counts.
 *
 * Errors.    0 or -errno with a text. -ETIMEDOUT from gate_release(): the watchdog had to open the gate.
 * Cost.      Shutting reads the clock and stores a number; releasing is the write, then an exchange of that number.
 * Threads.   One at a time shuts and releases a gate. Other gates are independent.
 * Time.      On a device with virtual time no call waits for anything, and no gate of it is watched.
 * Ownership. The word lies in PINNED memory of the device of gate_open(), which stays open until gate_close().
 */
#ifndef GPUSIG_BENCH_GATE_H
#define GPUSIG_BENCH_GATE_H

#include "device/dev.h"

/* Filling a queue takes milliseconds, and on a machine full of other work not a thousand times as long. */
#define GATE_LIMIT_NS UINT64_C(10000000000)

struct gate;

/* Needs DEV_CAP_WAIT_VALUE: -ENOTSUP. The limit is the host's time from the first gate_shut() to gate_release(); after the
 * watchdog had to open a gate of this process, at most a second. May take long. */
int gate_open(struct dev *dev, uint64_t limit_ns, struct gate **gate_p);

/* Lets go what waits. NULL is accepted. */
void gate_close(struct gate *gate);

/* Enqueue a wait at the gate: later work of the stream starts after gate_release(). The first one of a process starts the
 * watchdog's thread. */
int gate_shut(struct gate *gate, struct dev *dev, struct dev_stream *stream);

/* Let all go that wait at the gate. Of a gate that is not shut: nothing, 0. -ETIMEDOUT: it was open already. Also after another
 * error nothing waits any more. */
int gate_release(struct gate *gate);

/* How many gates the watchdog has opened in this process; for who calls what may have gates of its own. */
unsigned gate_overdue(void);

#endif
