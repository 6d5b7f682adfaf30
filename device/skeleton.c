/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A backend that does nothing: copy it to start a new one (docs/ADD-A-BACKEND.md). device/dev.h is
 * the contract; a comment here only says what the hook is for. Every hook returns 0 or -errno,
 * leaves the cause with err_note() and sets its outputs only on success. It never prints, and never
 * ends the process.
 */
#include "device/backends.h"
#include "lib/err.h"

#include <errno.h>

/* State per device, stream, event and kernel is the backend's own business: only `base` must come
 * first.
 *
 * struct skeleton_dev {
 *	struct dev base;
 *	...
 * };
 */

static int note_no_device(void) { return err_note(-ENODEV, "skeleton: there is no such device"); }

/* Count the devices that can be opened now. None is not an error: leave the reason with err_note().
 * Must be quick and must work without a driver, since every program calls it for --list. Required.
 */
static int skeleton_probe(unsigned *count_p)
{
	*count_p = 0;
	err_note(0, "it does nothing; it shows how to write a backend");
	return 0;
}

/* Make device `index` ready and warm: load libraries, compile kernels, fill base.ops, base.index
 * and base.props. -EINVAL for an unknown model, and for any model if the backend has none.
 * Prepare what `want` asks for; a capability that cannot be prepared is left out of props.caps.
 * Required. */
static int skeleton_open(const char *model, unsigned index, unsigned count, uint32_t want,
			 struct dev **dev_p)
{
	(void)model, (void)index, (void)count, (void)want, (void)dev_p;
	return note_no_device();
}

/* Release everything that is still open on the device, with work still queued or not. Required. */
static void skeleton_close(struct dev *dev) { (void)dev; }

/* Now, on the clock that events are stamped with: monotonic, cheap, callable from any thread.
 * Required. */
static uint64_t skeleton_clock_ns(struct dev *dev) { return 0; }

/* The clock rate that a busy unit achieves now. Optional. */
static int skeleton_clock_rate(struct dev *dev, double *hz_p)
{
	(void)dev, (void)hz_p;
	return note_no_device();
}

/* Allocate, aligned to 256 bytes or more. Required. */
static int skeleton_alloc(struct dev *dev, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	(void)dev, (void)kind, (void)bytes, (void)ptr_p;
	return note_no_device();
}

/* Free what alloc gave; NULL is fine. Required. */
static int skeleton_free(struct dev *dev, void *ptr)
{
	(void)dev, (void)ptr;
	return note_no_device();
}

/* Enqueue a copy on a copy engine; the direction follows from the addresses. Required. */
static int skeleton_copy(struct dev *dev, struct dev_stream *s, void *dst, const void *src,
			 uint64_t bytes)
{
	(void)dev, (void)s, (void)dst, (void)src, (void)bytes;
	return note_no_device();
}

/* Enqueue `count` copies by one call; dev_copy_batch() has checked count and sizes. Goes with
 * DEV_CAP_COPY_BATCH. Optional. */
static int skeleton_copy_batch(struct dev *dev, struct dev_stream *s, size_t count,
			       void *const *dsts, const void *const *srcs, const uint64_t *bytes)
{
	(void)dev, (void)s, (void)count, (void)dsts, (void)srcs, (void)bytes;
	return note_no_device();
}

/* Make an open file one that the device reads, or say why it cannot; f->handle is yours. Optional,
 * and NULL where a file needs nothing. */
static int skeleton_file_open(struct dev *dev, struct dev_file *f)
{
	(void)dev, (void)f;
	return note_no_device();
}

/* Close such a file, if it has a handle. Goes with file_open. */
static void skeleton_file_close(struct dev *dev, struct dev_file *f) { (void)dev, (void)f; }

/* Enqueue a read of such a file, or read after all that is queued; dev_file_read() has checked that
 * there is something to read. Goes with DEV_CAP_FILE_READ. Optional. */
static int skeleton_file_read(struct dev *dev, struct dev_stream *s, const struct dev_file *f,
			      uint64_t offset, void *dst, uint64_t bytes)
{
	(void)dev, (void)s, (void)f, (void)offset, (void)dst, (void)bytes;
	return note_no_device();
}

/* Enqueue setting `bytes` to one value. Required. */
static int skeleton_fill(struct dev *dev, struct dev_stream *s, void *dst, uint8_t byte,
			 uint64_t bytes)
{
	(void)dev, (void)s, (void)dst, (void)byte, (void)bytes;
	return note_no_device();
}

/* A queue without any order to others: never a platform's default or legacy stream. Required. */
static int skeleton_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	(void)dev, (void)priority, (void)s_p;
	return note_no_device();
}

/* Close it; must not hang when the caller did not synchronise. Required. */
static void skeleton_stream_close(struct dev *dev, struct dev_stream *s) { (void)dev, (void)s; }

/* Wait for all its work and report the first failure since the last sync, once. Required. */
static int skeleton_stream_sync(struct dev *dev, struct dev_stream *s)
{
	(void)dev, (void)s;
	return note_no_device();
}

/* -EAGAIN while work is left or the stream is being captured; does not wait. Required. */
static int skeleton_stream_query(struct dev *dev, struct dev_stream *s)
{
	(void)dev, (void)s;
	return note_no_device();
}

/* Blocks of the idle stream's later launches start on these units alone; the numbers are checked.
 * Optional: DEV_CAP_UNIT_MASK. */
static int skeleton_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first,
				 uint32_t count)
{
	(void)dev, (void)s, (void)first, (void)count;
	return note_no_device();
}

/* Later work of the stream starts after the event's latest record as of now; the host does not
 * wait. The event may be of another device of this backend. Required. */
static int skeleton_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	(void)dev, (void)s, (void)e;
	return note_no_device();
}

/* A timing event. Required. */
static int skeleton_event_open(struct dev *dev, struct dev_event **e_p)
{
	(void)dev, (void)e_p;
	return note_no_device();
}

/* Close it, also while a record or a wait of it is queued. Required. */
static void skeleton_event_close(struct dev *dev, struct dev_event *e) { (void)dev, (void)e; }

/* Enqueue a time stamp; it replaces the event's earlier record. Required. */
static int skeleton_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	(void)dev, (void)s, (void)e;
	return note_no_device();
}

/* 0 when the latest record is complete, -EAGAIN when not, -EINVAL when there is none. Required. */
static int skeleton_event_query(struct dev *dev, struct dev_event *e)
{
	(void)dev, (void)e;
	return note_no_device();
}

/* Wait for the latest record. Required. */
static int skeleton_event_sync(struct dev *dev, struct dev_event *e)
{
	(void)dev, (void)e;
	return note_no_device();
}

/* Time between two complete records, as the device measured it. Required. */
static int skeleton_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
				     double *ns_p)
{
	(void)dev, (void)from, (void)to, (void)ns_p;
	return note_no_device();
}

/* Later work of the stream starts once *at >= value. Goes with write_value, post_value and
 * DEV_CAP_WAIT_VALUE; with DEV_CAP_VALUE_IN_QUEUE where neither takes a slot. Optional. */
static int skeleton_wait_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	(void)dev, (void)s, (void)at, (void)value;
	return note_no_device();
}

/* Enqueue *at = value, visible after all earlier work of the stream. Optional. */
static int skeleton_write_value(struct dev *dev, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	(void)dev, (void)s, (void)at, (void)value;
	return note_no_device();
}

/* Write *at = value from the host at once, to be seen by waiting streams and polling kernels.
 * Without it only write_value can end the `blocking_kernel` kernel. Optional. */
static int skeleton_post_value(struct dev *dev, uint32_t *at, uint32_t value)
{
	(void)dev, (void)at, (void)value;
	return note_no_device();
}

/* A kernel of device/kernels.h by name. All must exist but those that a device may lack according
 * to that file. Required. */
static int skeleton_kernel_find(struct dev *dev, const char *name, struct dev_kernel **k_p)
{
	(void)dev, (void)k_p;
	return err_note(-ENOENT, "skeleton: unknown kernel '%s'", name);
}

/* Blocks of this kernel resident on one unit, by the formula in dev.h. Required. */
static int skeleton_occupancy(struct dev *dev, struct dev_kernel *k, uint32_t block,
			      uint64_t shared_bytes, uint32_t *blocks_p)
{
	(void)dev, (void)k, (void)block, (void)shared_bytes, (void)blocks_p;
	return note_no_device();
}

/* Enqueue a kernel; copy its arguments before returning. A grid of 0 and too much shared memory are
 * -EINVAL, as everywhere; what the contract calls misuse is checked before. Required. */
static int skeleton_launch(struct dev *dev, struct dev_stream *s, struct dev_kernel *k,
			   const struct dev_launch *l)
{
	(void)dev, (void)s, (void)k, (void)l;
	return note_no_device();
}

/* Enqueue a GEMM of the platform's BLAS; dev_gemm() has checked the dimensions. Goes with
 * DEV_CAP_GEMM, props.gemm_types, props.fma_peak_types and props.blas; `fast_accumulation` with
 * props.gemm_fast_types; `tiled` with DEV_CAP_GEMM_TILED, props.gemm_tiled_types and
 * props.gemm_tile_rows; `adds` with props.gemm_adding_types, and -ENOTSUP where the memory of C
 * has no atomic adds; `groups` with DEV_CAP_GEMM_GROUPED and
 * props.gemm_grouped_types. Optional. */
static int skeleton_gemm(struct dev *dev, struct dev_stream *s, const struct dev_gemm *g)
{
	(void)dev, (void)s, (void)g;
	return note_no_device();
}

/* Blocks of a tiled GEMM that one unit holds; dev_gemm_occupancy() has checked the description.
 * Goes with DEV_CAP_GEMM_TILED and DEV_CAP_OCCUPANCY. Optional. */
static int skeleton_gemm_occupancy(struct dev *dev, const struct dev_gemm *g, uint32_t *blocks_p)
{
	(void)dev, (void)g, (void)blocks_p;
	return note_no_device();
}

/* Find the library's fastest algorithm for such GEMMs; dev_gemm_prepare() has checked the
 * dimensions. Optional. */
static int skeleton_gemm_prepare(struct dev *dev, const struct dev_gemm *g)
{
	(void)dev, (void)g;
	return note_no_device();
}

/* Tell what gemm_prepare chose; -ENOENT if it chose nothing for such GEMMs. Optional. */
static int skeleton_gemm_chosen(struct dev *dev, const struct dev_gemm *g,
				struct dev_gemm_choice *choice_p)
{
	(void)dev, (void)g, (void)choice_p;
	return note_no_device();
}

/* Let each device's operations use the other's memory; `other` is of this backend. Repeating it
 * does no harm. Goes with DEV_CAP_PEER. Optional. */
static int skeleton_peer_enable(struct dev *dev, struct dev *other)
{
	(void)dev, (void)other;
	return note_no_device();
}

/* Capture what is enqueued on the stream from now on instead of running it; an invalid operation
 * fails as it would otherwise. These four go together, and with DEV_CAP_GRAPH. Optional. */
static int skeleton_graph_begin(struct dev *dev, struct dev_stream *s)
{
	(void)dev, (void)s;
	return note_no_device();
}

/* End the capture. Optional. */
static int skeleton_graph_end(struct dev *dev, struct dev_stream *s, struct dev_graph **g_p)
{
	(void)dev, (void)s, (void)g_p;
	return note_no_device();
}

static int skeleton_graph_launch(struct dev *dev, struct dev_stream *s, struct dev_graph *g)
{
	(void)dev, (void)s, (void)g;
	return note_no_device();
}

static void skeleton_graph_close(struct dev *dev, struct dev_graph *g) { (void)dev, (void)g; }

/* Join two devices or more, all of this backend, with the vendor's collectives. These five go
 * together, and with DEV_CAP_COLLECTIVES. Optional. */
static int skeleton_comm_open(struct dev *const *devs, size_t count, enum dev_comm_policy policy,
			      struct dev_comm **comm_p)
{
	(void)devs, (void)count, (void)policy, (void)comm_p;
	return note_no_device();
}

static void skeleton_comm_close(struct dev_comm *comm) { (void)comm; }

static int skeleton_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs)
{
	(void)comm, (void)bytes, (void)ptrs;
	return note_no_device();
}

static int skeleton_comm_free(struct dev_comm *comm, void *const *ptrs)
{
	(void)comm, (void)ptrs;
	return note_no_device();
}

static int skeleton_collective(struct dev_comm *comm, enum dev_collective what,
			       struct dev_stream *const *streams, float *const *from,
			       float *const *to, uint64_t count)
{
	(void)comm, (void)what, (void)streams, (void)from, (void)to, (void)count;
	return note_no_device();
}

/* Describe an allocation to another process. Goes with ipc_import and DEV_CAP_IPC. Optional. */
static int skeleton_ipc_export(struct dev *dev, void *ptr, struct dev_ipc *handle_p)
{
	(void)dev, (void)ptr, (void)handle_p;
	return note_no_device();
}

/* Make another process's allocation usable as one of this device's. Optional. */
static int skeleton_ipc_import(struct dev *dev, const struct dev_ipc *handle, uint64_t bytes,
			       void **ptr_p)
{
	(void)dev, (void)handle, (void)bytes, (void)ptr_p;
	return note_no_device();
}

/* The host's NUMA nodes, from lib/numa.h. Goes with alloc_on_node. Optional. */
static size_t skeleton_numa_nodes(struct dev *dev, uint32_t *nodes, size_t capacity)
{
	(void)dev, (void)nodes, (void)capacity;
	return 0;
}

/* Make random times follow from the seed alone, if time is virtual. Optional. */
static void skeleton_reseed(struct dev *dev, uint64_t seed) {}

/* Allocate PINNED memory, all of it on a node of skeleton_numa_nodes(). Optional. */
static int skeleton_alloc_on_node(struct dev *dev, uint32_t node, uint64_t bytes, void **ptr_p)
{
	(void)dev, (void)node, (void)bytes, (void)ptr_p;
	return note_no_device();
}

/* Sample clocks, power, temperature and errors; a value that cannot be read is listed with the
 * reason. Optional. */
static int skeleton_telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	(void)dev, (void)samples, (void)count_p;
	return note_no_device();
}

/* The links to the host and to other devices, with those that are down. Optional. */
static int skeleton_links_read(struct dev *dev, struct dev_links *links)
{
	(void)dev, (void)links;
	return note_no_device();
}

/* Report how another device of this backend is reached. Optional. */
static int skeleton_path_read(struct dev *dev, struct dev *other, struct dev_path *path)
{
	(void)dev, (void)other, (void)path;
	return note_no_device();
}

/* Count the errors of the device's memory. Optional. */
static int skeleton_health_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	(void)dev, (void)samples, (void)count_p;
	return note_no_device();
}

const struct dev_ops skeleton_ops = {
	.name = "skeleton",
	.probe = skeleton_probe,
	.open = skeleton_open,
	.close = skeleton_close,
	.clock_ns = skeleton_clock_ns,
	.clock_rate = skeleton_clock_rate,
	.stream_units = skeleton_stream_units,
	.alloc = skeleton_alloc,
	.free = skeleton_free,
	.copy = skeleton_copy,
	.copy_batch = skeleton_copy_batch,
	.file_open = skeleton_file_open,
	.file_close = skeleton_file_close,
	.file_read = skeleton_file_read,
	.fill = skeleton_fill,
	.stream_open = skeleton_stream_open,
	.stream_close = skeleton_stream_close,
	.stream_sync = skeleton_stream_sync,
	.stream_query = skeleton_stream_query,
	.stream_wait = skeleton_stream_wait,
	.event_open = skeleton_event_open,
	.event_close = skeleton_event_close,
	.event_record = skeleton_event_record,
	.event_query = skeleton_event_query,
	.event_sync = skeleton_event_sync,
	.event_elapsed_ns = skeleton_event_elapsed_ns,
	.wait_value = skeleton_wait_value,
	.write_value = skeleton_write_value,
	.post_value = skeleton_post_value,
	.kernel_find = skeleton_kernel_find,
	.occupancy = skeleton_occupancy,
	.launch = skeleton_launch,
	.gemm = skeleton_gemm,
	.gemm_occupancy = skeleton_gemm_occupancy,
	.gemm_prepare = skeleton_gemm_prepare,
	.gemm_chosen = skeleton_gemm_chosen,
	.peer_enable = skeleton_peer_enable,
	.graph_begin = skeleton_graph_begin,
	.graph_end = skeleton_graph_end,
	.graph_launch = skeleton_graph_launch,
	.graph_close = skeleton_graph_close,
	.comm_open = skeleton_comm_open,
	.comm_close = skeleton_comm_close,
	.comm_alloc = skeleton_comm_alloc,
	.comm_free = skeleton_comm_free,
	.collective = skeleton_collective,
	.ipc_export = skeleton_ipc_export,
	.ipc_import = skeleton_ipc_import,
	.reseed = skeleton_reseed,
	.numa_nodes = skeleton_numa_nodes,
	.alloc_on_node = skeleton_alloc_on_node,
	.telemetry_read = skeleton_telemetry_read,
	.links_read = skeleton_links_read,
	.path_read = skeleton_path_read,
	.health_read = skeleton_health_read,
};
