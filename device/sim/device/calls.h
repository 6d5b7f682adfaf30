/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of the contract (device/dev.h): how each begins and ends, handles, and the operations
 * of the table, by the file that has them. One lock protects all that is simulated; calls hold it
 * from begin to end.
 */
#ifndef GPUSIG_SIM_CALLS_H
#define GPUSIG_SIM_CALLS_H

#include "device/sim/device/engine.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/streams.h"

struct dev_event {
	struct sim_dev *dev;
	struct dev_event *next, *previous;
	struct event_stamp *latest;
};

struct sim_dev *sim_of(struct dev *dev);

/* Take the lock, let the time of the call pass, and report a violation by an earlier call that
 * could not return it. The lock is held also after a failure: every path ends with sim_call_end(),
 * which gives its argument back. */
int sim_call_begin(struct sim_dev *d);
int sim_call_begin_on_stream(struct sim_dev *d, struct dev_stream *s);
void sim_lock_and_pass_time(struct sim_dev *d); /* for calls without a result */
void sim_lock(void);                            /* for calls that take no time */
int sim_call_end(int status);

/* Handles that are open: -ENOMEM without a text; NULL: it is none. */
int sim_handle_add(const struct sim_dev *d, const void *at);
void sim_handle_remove(const void *at);
const struct sim_dev *sim_handle_owner(const void *at);

/* 0, or -EINVAL: closed, or of another device. */
int sim_check_stream(struct sim_dev *d, const struct dev_stream *s);
int sim_check_event(struct sim_dev *d, const struct dev_event *e);
int sim_check_any_event(struct sim_dev *d, const struct dev_event *e);
int sim_check_kernel(struct sim_dev *d, const struct dev_kernel *k);

/* -EDEADLK with a text that lists the streams that wait, `first` before the others. */
int sim_note_deadlock(const struct sim_dev *d, const char *what, const struct dev_stream *first);

/* Begin a call that enqueues. NULL, with the error in *status_p: the stream is not valid. The lock
 * is held in either case. */
struct op *sim_op_begin(struct sim_dev *d, struct dev_stream *s, enum op_kind kind, int *status_p);
/* Enqueue an operation. If `status` is an error, free the operation and return it. */
int sim_op_queue(struct sim_dev *d, struct op *op, int status);

/* In sim_ops: the operations of device/dev_tracking.h. */
extern const struct dev_tracking_ops sim_tracking_ops;

/* queue.c */
void sim_reseed(struct dev *dev, uint64_t seed);
int sim_stream_open(struct dev *dev, int priority, struct dev_stream **s_p);
void sim_stream_close(struct dev *dev, struct dev_stream *s);
int sim_stream_sync(struct dev *dev, struct dev_stream *s);
int sim_stream_query(struct dev *dev, struct dev_stream *s);
int sim_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes);
int sim_copy_add(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes,
		 enum dev_type type);
int sim_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte, uint64_t bytes);
int sim_event_open(struct dev *dev, struct dev_event **e_p);
void sim_event_close(struct dev *dev, struct dev_event *e);
int sim_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int sim_event_query(struct dev *dev, struct dev_event *e);
int sim_event_sync(struct dev *dev, struct dev_event *e);
int sim_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			 double *ns_p);
int sim_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e);
int sim_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int sim_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value);
int sim_post_value(struct dev *dev, uint32_t *at, uint32_t value);
int sim_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
	       const struct dev_launch *l);
int sim_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g);

/* peers.c */
int sim_peer_enable(struct dev *dev, struct dev *other);
int sim_links_read(struct dev *dev, struct dev_links *links);
int sim_path_read(struct dev *dev, struct dev *other, struct dev_path *path);
#endif
