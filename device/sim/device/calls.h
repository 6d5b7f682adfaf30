/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of the contract (device/dev.h): how each begins and ends, handles, and the operations
 * of the table, by the file that has them. One lock protects all that is simulated; calls hold it
 * from begin to end.
 *
 * TIME. All simulated devices of the process share one virtual clock, also across dev_sets. It only
 * moves inside calls: each call costs host_call_ns (dev_clock_ns: host_clock_ns), a wait runs to
 * its end and costs host_sync_ns more. So a loop that polls memory must call dev_clock_ns() or
 * dev_event_query(). A wait that no scheduled work can end is -EDEADLK, with a text that says what
 * each stream waits for; streams are numbered in the order of their opening. The work stays queued
 * and may still be released.
 *
 * FAILURES. A failure that the model requests drops the rest of its stream until the next sync, as
 * dev.h says. A dropped event record still completes, so that no other stream waits for ever.
 *
 * MISUSE is an error. -EFAULT and -EBUSY are as in dev.h. Overlapping copies, misaligned or missing
 * arguments, and a closed or foreign stream, event or kernel are -EINVAL. A ring with an entry that
 * points outside fails its launch with -EFAULT. Closing a stream with queued work drops the work
 * and makes the device's next operation -EBUSY. Fresh memory of real data is filled with 0xa5.
 */
#ifndef GPUSIG_SIM_CALLS_H
#define GPUSIG_SIM_CALLS_H

#include "device/sim/machine/device.h"
#include "device/sim/machine/kernels.h"
#include "device/sim/machine/streams.h"

struct dev_event {
	struct sim_dev *dev;
	struct dev_event *next, *previous;
	struct event_stamp *latest;
};

#define SIM_QUARANTINE 64

/* An open device. */
struct sim_opened {
	struct sim_dev machine; /* first */
	struct dev_kernel kernel[KERNELS];
	size_t kernels;
	struct dev_event *events;
	struct dev_stream *closed; /* oldest first */
	size_t closed_streams;
	uint32_t streams_opened;
	uint64_t launches, copies;
	int violation; /* by a call that could not return it */
	char violation_text[ERR_TEXT];
};

static inline struct sim_opened *sim_opened(struct sim_dev *d)
{
	return (struct sim_opened *)(void *)d;
}

struct sim_dev *sim_of(struct dev *dev);

/* Take the lock, let the time of the call pass, and report a violation by an earlier call that
 * could not return it. The lock is held also after a failure: every path ends with sim_call_end(),
 * which gives its argument back. */
int sim_call_begin(struct sim_dev *d);
int sim_call_begin_on_stream(struct sim_dev *d, struct dev_stream *s);
void sim_lock_and_pass_time(struct sim_dev *d); /* for calls without a result */
void sim_lock(void);                            /* for calls that take no time */
int sim_call_end(int status);
/* For a call without a result: the next operation of the device reports the error. */
void sim_call_end_later(struct sim_dev *d, int status);

/* Process all events up to `until_ns` and set the clock to it. Returns when the next event is. */
double sim_engine_run(double until_ns);

/* Process the next event. False: nothing is scheduled. */
bool sim_engine_step(void);

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

/* devices.c */
int sim_probe(unsigned *count_p);
int sim_open(const char *model, unsigned index, unsigned count, uint32_t want, struct dev **dev_p);
void sim_close(struct dev *dev);
uint64_t sim_clock_ns(struct dev *dev);
int sim_clock_rate(struct dev *dev, double *hz_p);
int sim_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p);
int sim_free(struct dev *dev, void *ptr);
int sim_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p);
int sim_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block, uint64_t shared_bytes,
		  uint32_t *blocks_p);
int sim_gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p);
size_t sim_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity);
int sim_alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p);
void sim_model_read(struct dev *dev, dev_model_put *put, void *context);

/* queue.c */
int sim_copy_add(struct dev *dev, struct dev_stream *s, void *dst, const void *src, uint64_t bytes,
		 enum dev_type type);

/* telemetry.c */
int sim_telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p);

/* peers.c */
int sim_peer_enable(struct dev *dev, struct dev *other);
int sim_links_read(struct dev *dev, struct dev_links *links);
int sim_path_read(struct dev *dev, struct dev *other, struct dev_path *path);

#endif
