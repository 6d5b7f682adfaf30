/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and values of the host backend: what may start when.
 *
 * A stream is a list of operations of which the first is in progress or waits. Whoever ends an operation
 * (a slot's thread, an engine, or the enqueuing thread itself for what needs no work) makes the following
 * ones ready at once: there is no scheduler thread whose own delay would be measured. An event gets the
 * time at which the thread that did the preceding work saw it done.
 *
 * Operations, and records of events, come from pools that grow when a stream is opened. Beyond
 * HOST_MAX_QUEUED operations a stream takes more without waiting, but has to allocate.
 *
 * A record is one dev_event_record(): shared by the event (while it is the latest), by the operation that
 * takes the stamp, and by operations that wait for it. So recording again, or closing the event, leaves
 * earlier waits as they were.
 */
#ifndef GPUSIG_HOST_QUEUE_H
#define GPUSIG_HOST_QUEUE_H

#include <stdint.h>

#include "device/host.h"
#include "device/host_gemm.h"
#include "device/host_memory.h"

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

struct host_record;

struct host_op {
	enum host_op_kind kind;
	struct host_op *next;
	struct dev_stream *stream;
	struct host_memory *uses[HOST_OP_USES];
	bool running; /* counted in the `running` of what it uses */
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
		struct host_record *record;
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

struct host_record {
	unsigned refs;
	bool done;
	uint64_t stamp_ns;
	struct dev_stream *streams; /* whose first operation waits for this */
	struct host_waiter *waiters;
};

struct dev_event {
	struct host_dev *dev;
	struct host_record *latest; /* NULL: never recorded */
	struct dev_event *next;
};

struct dev_stream {
	struct host_dev *dev;
	struct dev_stream *next;
	uint32_t level;
	struct host_op *first, *last;
	bool busy;   /* `first` is in progress or waits */
	bool kicked; /* in the list of streams to advance */
	struct dev_stream *next_kicked;
	struct dev_stream *next_waiting; /* on the same record, or on values */
	uint64_t last_ns;                /* latest stamp: a stream's time never runs backwards */
	int failure;
	char why[160];
	atomic_bool cancelled;
	struct host_waiter *waiters;
};

/* Priority levels of the contract are -1, 0 and 1. */
#define HOST_PRIORITY_LOW (-1)
#define HOST_PRIORITY_HIGH 1

/* The slots of the table: host_streams.c. */
int host_stream_open(struct dev *dev, int priority, struct dev_stream **s_p);
void host_stream_close(struct dev *dev, struct dev_stream *s);
int host_stream_sync(struct dev *dev, struct dev_stream *s);
int host_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int host_event_open(struct dev *dev, struct dev_event **e_p);
void host_event_close(struct dev *dev, struct dev_event *e);
int host_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int host_event_query(struct dev *dev, struct dev_event *e);
int host_event_sync(struct dev *dev, struct dev_event *e);
int host_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to, double *ns_p);

/* Enqueueing. Between host_op_begin() and host_op_submit() or host_op_abandon() the lock is held. */

/* Take the lock and an operation from the pool. After an error the lock is not held. */
int host_op_begin(struct dev *dev, struct dev_stream *s, enum host_op_kind kind, struct host_op **op_p);

/* The allocation that holds all of [ptr, ptr+bytes), if the device may use it; else NULL, with the reason in
 * err_text(). Lock held. */
struct host_memory *host_memory_of(const struct host_dev *d, const void *ptr, uint64_t bytes);

/* The operation will use [ptr, ptr+bytes). -EFAULT: it doesn't lie inside one allocation that the device may
 * use. */
int host_op_use(struct host_op *op, const void *ptr, uint64_t bytes);

/* Append to the stream, start it if nothing is in front, release the lock. */
void host_op_submit(struct host_op *op);

/* Give the operation back and release the lock. Returns `rc`. */
int host_op_abandon(struct host_op *op, int rc);

/* Reports of host_units.h. Lock held. */
void host_queue_launch_ended(struct host_launch *l);
void host_queue_copy_ended(struct host_copy *c, uint64_t end_ns);

/* Start everything that became ready; events are stamped with `now_ns`, or with the clock if it is 0. Lock
 * held. */
void host_queue_progress(uint64_t now_ns);

/* Make room for this many streams and events more (or fewer). Lock held. */
int host_queue_expect(int streams, int events);

/* A record with one reference; NULL when there is no memory. NULL is dropped without harm. Lock held. */
struct host_record *host_record_take(void);
void host_record_drop(struct host_record *r);

/* Drop what a stream has queued; stop it from waiting for anything but work in progress. Lock held. */
void host_stream_cancel(struct dev_stream *s);

/* Drop what is queued, stop what waits, and free all streams and events of a device. Lock NOT held. */
void host_queue_close(struct host_dev *d);

#endif
