/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: their operations, which of them may be able to go on, and which wait.
 */
#ifndef GPUSIG_SIM_STREAMS_H
#define GPUSIG_SIM_STREAMS_H

#include "device/sim/machine/engines.h"
#include "device/sim/machine/op.h"
#include "device/sim/machine/units.h"

/* The stamp of one dev_event_record(). Waiters keep it when the event is recorded again or closed.
 */
struct event_stamp {
	unsigned holders;
	bool done;
	uint64_t epoch_ns; /* of the clock, and the time since then */
	double at_ns;
	struct dev_stream *stream;
	struct dev_stream *waiters;
};

struct dev_stream {
	struct sim_dev *dev;
	struct dev_stream *next;
	uint32_t number; /* in the order of opening, from 0 */
	int priority;
	bool is_masked;        /* by `units` */
	struct unit_set units; /* that its blocks start on */
	enum dev_traffic_class traffic;
	struct op *head, *tail;
	uint32_t queued;
	struct sim_task task;             /* of its first operation, but for blocks */
	struct sim_task *tasks;           /* of its first operation */
	uint64_t order;                   /* among all streams */
	uint8_t engine[SIM_COPY_CLASSES]; /* its own, from 1; 0: it has none */
	uint64_t pass;                    /* in which it is looked at, if it is ready */
	bool ready;
	struct dev_stream **waits_in; /* a list of waiters; NULL: it does not wait */
	struct dev_stream *waits_next;
	int failed;
	char failure[ERR_TEXT];
};

/* Change the number of streams that can be open. -ENOMEM without a text. */
int sim_streams_reserve(size_t more);
void sim_streams_unreserve(size_t fewer);
/* Its order among all. */
void sim_stream_number(struct dev_stream *s);

/* Put an operation at the end of its stream. */
void sim_stream_enqueue(struct op *op);
/* Let the streams go on that may be able to, until none is left. */
void sim_streams_advance(void (*advance)(struct dev_stream *s));
/* Later work of the stream is dropped until its next sync, which returns this. */
void sim_stream_fail(struct dev_stream *s, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Drop all work of a stream, running or not. */
void sim_stream_cancel(struct dev_stream *s);

/* The stream waits until a list of waiters is woken; until its first operation has its value. */
void sim_stream_begin_wait(struct dev_stream *s, struct dev_stream **waiters);
void sim_stream_wait_for_value(struct dev_stream *s);
bool op_has_value(const struct op *op);
/* The streams of a list need not wait any longer. */
void sim_streams_wake(struct dev_stream **waiters);
/* Memory may have been written: look at what streams wait for. */
void sim_streams_look_at_values(void);
/* Memory was written: also end the blocks that it releases. */
void sim_memory_written(void);

void event_stamp_release(struct event_stamp *stamp);
void event_stamp_complete(struct event_stamp *stamp);

/* A task of an operation that is not of blocks. */
struct sim_task *op_begin_task(struct op *op);
/* A task becomes one of its operation, whose factors it gets; it is not any more. */
void op_add_task(struct op *op, struct sim_task *task);
void op_end_task(struct sim_task *task);
/* The first operation of a stream is done, and freed; or dropped: its record still completes. */
void op_end(struct op *op);
void op_drop(struct op *op);

#endif
