/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Open handles of all checked devices, and the memory that queued work uses: device/dev_checked.c
 * checks calls against them.
 *
 * A handle is known from its opening to its closing. So one that was closed, or that another device
 * opened, is refused, and nothing reads what it points at.
 *
 * A stream numbers its operations as they are enqueued. An allocation keeps, for each stream, the
 * number of the last operation that used it. A stream keeps the number up to which all operations
 * are known to be done: a sync raises it, an event seen complete raises it, and where these do not
 * tell, the backend is asked.
 *
 * One lock guards it all, which every function takes. Of the backends' functions it is held during
 * stream_query() alone, which does not wait. Functions return 0 or -errno with a text.
 */
#ifndef GPUSIG_DEV_REGISTRY_H
#define GPUSIG_DEV_REGISTRY_H

#include "device/backends.h"
#include "device/kernel_signature.h"
#include "lib/err.h"

/* A checked device: struct dev.checks. */
struct dev_checks {
	struct dev_ops ops;          /* in place of the backend's */
	const struct dev_ops *inner; /* the backend's */
	struct dev *dev;
	struct dev_checks *next; /* next checked device */
	struct dev *peers[DEV_MAX];
	size_t peer_count;
	struct dev_kernel *kernels[KERNELS]; /* that were found, in the order of the list */
	struct err_first misuse; /* by a call without a result; the next operation returns it */
};

void registry_add_device(struct dev_checks *c);
/* With all that is open on it. */
void registry_remove_device(struct dev_checks *c);
int registry_add_peers(struct dev *d, struct dev *other);

/* ---- handles */

enum handle_kind { HANDLE_STREAM, HANDLE_EVENT, HANDLE_GRAPH, HANDLE_KINDS };

int registry_add_handle(struct dev *d, enum handle_kind kind, void *handle);

/* -EINVAL: no such handle is open on `d`, or, where that is NULL, on any device. */
int registry_check_handle(struct dev *d, enum handle_kind kind, const void *handle);

/* For a call without a result. False: no such handle is open on the device, whose next operation
 * returns -EINVAL. Memory that work of a closed stream may still use is in use until the device is
 * closed. */
bool registry_remove_handle(struct dev *d, enum handle_kind kind, void *handle);

void registry_add_kernel(struct dev *d, const char *name, struct dev_kernel *k);
/* NULL, with a text for -EINVAL: the device never found this kernel. */
const struct kernel_signature *registry_signature(struct dev *d, const struct dev_kernel *k);

/* ---- memory */

struct registered_memory;

int registry_add_memory(struct dev *d, enum dev_mem kind, void *ptr, uint64_t bytes);

/* Take an allocation out before it is freed: -EFAULT if none of the device starts there, -EBUSY if
 * queued work or a graph uses it. Then end that: it is forgotten, or, where it could not be freed,
 * put back. */
int registry_take_memory(struct dev *d, void *ptr, struct registered_memory **m_p);
void registry_end_free(struct registered_memory *m, bool freed);

/* -EFAULT: the device's operations may not use the range. */
int registry_check_range(struct dev *d, const struct dev_range *range);

/* ---- queued work */

/* An operation of a stream. */
struct stream_position {
	const struct dev_stream *stream; /* NULL: none */
	uint64_t operation;
};

/* Begin an operation that uses these ranges: check all, number the operation, note what it uses.
 * While the stream is captured, the graph uses it. position_p may be NULL. */
int registry_enqueue(struct dev *d, struct dev_stream *s, const struct dev_range *ranges,
		     size_t count, struct stream_position *position_p);

/* The last operation of a stream of this device, and the latest record of an event of any. */
int registry_stream_position(struct dev *d, const struct dev_stream *s,
			     struct stream_position *position_p);
int registry_event_position(const struct dev_event *e, struct stream_position *position_p);

/* All operations up to this one are done. */
void registry_mark_done(struct stream_position position);

/* The event was recorded as this operation. */
void registry_mark_recorded(const struct dev_event *e, struct stream_position position);

/* A capture of the stream begins; it ends with this graph, or, if that is NULL, in failure. */
int registry_begin_capture(struct dev *d, struct dev_stream *s);
int registry_end_capture(struct dev *d, struct dev_stream *s, struct dev_graph *g);

#endif
