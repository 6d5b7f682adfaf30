/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and values of the host backend: when an operation may start.
 *
 * A stream is a list of operations. The first one is in progress or waits. The thread that
 * completes an operation (a slot's thread, an engine, or the enqueuing thread if there is nothing
 * to run) also starts the operations that become ready by it. A scheduler thread would add its own
 * delay to the measurement. An event's stamp is the time at which the thread that did the preceding
 * work saw it complete.
 *
 * Operations and event stamps come from pools that grow when a stream is opened. A stream takes
 * more than HOST_MAX_QUEUED operations without waiting, but then has to allocate.
 *
 * An event stamp belongs to one dev_event_record(). The event (while the stamp is its latest), the
 * operation that takes the stamp, and the operations that wait for it share the stamp. So recording
 * again, or closing the event, does not change earlier waits.
 */
#ifndef GPUSIG_HOST_QUEUE_H
#define GPUSIG_HOST_QUEUE_H

#include "device/host/host.h"
#include "device/host/host_gemm.h"
#include "device/host/host_memory.h"
#include "lib/err.h"

#include <stdint.h>

#define HOST_MAX_QUEUED 1024u
#define HOST_OP_USES 4

enum host_op_kind {
	HOST_OP_COPY,
	HOST_OP_LAUNCH,
	HOST_OP_RECORD,
	HOST_OP_WAIT_EVENT,
	HOST_OP_WAIT_VALUE,
	HOST_OP_WRITE_VALUE,
};

struct host_event_stamp;

struct host_op {
	enum host_op_kind kind;
	struct host_op *next;
	struct dev_stream *stream;
	const void *uses[HOST_OP_USES]; /* an address in each allocation that it uses */
	bool orphaned;                  /* one was of a device that was closed */
	union {
		struct {
			struct host_copy work;
			uint32_t engine;
		} copy;
		struct {
			struct host_launch work;
			union {
				union kernel_arg args[DEV_KERNEL_MAX_ARGS];
				struct host_gemm gemm;
			};
		} launch;
		struct host_event_stamp *stamp;
		struct {
			uint32_t *at;
			uint32_t value;
		} value;
	};
};

/* A host thread in a sync call. Lives on its stack; `done` is set under the lock. */
struct host_waiter {
	struct host_waiter *next;
	struct host_sleeper sleeper;
	atomic_bool done;
};

struct host_event_stamp {
	unsigned refs;
	bool done;
	uint64_t stamp_ns;
	struct dev_stream *streams; /* streams whose first operation waits for this */
	struct host_waiter *waiters;
};

struct dev_event {
	struct host_dev *dev;
	struct host_event_stamp *latest; /* NULL: never recorded */
	struct dev_event *next;
};

struct dev_stream {
	struct host_dev *dev;
	struct dev_stream *next;
	uint32_t level;
	uint32_t first_unit, units; /* where its blocks start */
	struct host_op *first, *last;
	bool busy;          /* `first` is in progress or waits */
	bool in_ready_list; /* in the list of streams whose next operation may start */
	struct dev_stream *next_ready;
	struct dev_stream *next_waiting; /* for the same stamp, or for values */
	uint64_t last_ns;                /* latest time: stamps of a stream never decrease */
	int failure;
	char why[ERR_TEXT];
	atomic_bool cancelled;
	struct host_waiter *waiters;
};

/* Priority levels of the contract are -1, 0 and 1. */
#define HOST_PRIORITY_LOW (-1)
#define HOST_PRIORITY_HIGH 1

/* Operations of the device table, in host_streams.c. */
int host_stream_open(struct dev *dev, int priority, struct dev_stream **s_p);
void host_stream_close(struct dev *dev, struct dev_stream *s);
int host_stream_sync(struct dev *dev, struct dev_stream *s);
int host_stream_query(struct dev *dev, struct dev_stream *s);
int host_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count);
int host_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int host_event_open(struct dev *dev, struct dev_event **e_p);
void host_event_close(struct dev *dev, struct dev_event *e);
int host_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int host_event_query(struct dev *dev, struct dev_event *e);
int host_event_sync(struct dev *dev, struct dev_event *e);
int host_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			  double *ns_p);

/* Enqueueing. Between host_op_begin() and host_op_submit() or host_op_abandon() the lock is held.
 */

/* Take the lock and an operation from the pool. After an error the lock is not held. */
int host_op_begin(struct dev_stream *s, enum host_op_kind kind, struct host_op **op_p);

/* The operation will use the allocation that contains this address, at most HOST_OP_USES of them.
 */
void host_op_use(struct host_op *op, const void *ptr);

/* Append to the stream, start the operation if it is the first, release the lock. */
void host_op_submit(struct host_op *op);

/* Give the operation back and release the lock. */
void host_op_abandon(struct host_op *op);

/* Called by host_units.c when a launch or copy has ended. Lock held. */
void host_queue_launch_ended(struct host_launch *l);
void host_queue_copy_ended(struct host_copy *c, uint64_t end_ns);

/* Start everything that became ready. Events are stamped with `now_ns`, or with the clock if that
 * is 0. Lock held. */
void host_queue_progress(uint64_t now_ns);

/* Change the pools' capacity for this many more streams and events, or fewer if negative. Lock
 * held.
 */
int host_queue_resize(int streams, int events);

/* A stamp with one reference; NULL if memory is exhausted. Dropping NULL does nothing. Lock held.
 */
struct host_event_stamp *host_event_stamp_take(void);
void host_event_stamp_drop(struct host_event_stamp *r);

/* Drop what a stream has queued and end its waits; only work in progress goes on. Lock held. */
void host_stream_cancel(struct dev_stream *s);

/* Drop what is queued, end all waits, and free all streams and events of a device. Lock NOT held.
 */
void host_queue_close(struct host_dev *d);

#endif
