/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host backend: this CPU taken as a device. Reading order of its files:
 *
 *   host.c          the operation table, properties, opening and closing
 *   host_queue      streams, events, values: what may start when
 *   host_streams    operations on streams and events
 *   host_units      the threads: blocks on units, copies on engines
 *   host_timeslice  time slices of threads that share a core
 *   host_kernels    the kernels of device/kernels.h; host_simd has their inner loops
 *   host_gemm       GEMM as blocks; host_blas finds the library and chooses its kernel set,
 *                   host_onednn that of integers
 *   host_memory     allocations
 *   host_pool       items that are reused without allocating
 *   host_machine    cores, caches and memory of this machine
 *   host_sensors    energy and temperature of the processors
 *   host_lock       the one lock, and sleeping
 */
#ifndef GPUSIG_HOST_H
#define GPUSIG_HOST_H

#include "device/dev.h"
#include "device/host/host_blas.h"
#include "device/host/host_onednn.h"
#include "device/host/host_sensors.h"
#include "device/host/host_units.h"

#include <stdbool.h>
#include <stddef.h>

/* Host devices open at the same time in one process. */
#define HOST_MAX_OPEN 256u

struct host_dev {
	struct dev dev; /* first: a struct dev * is a struct host_dev * */
	int *cores;
	size_t core_count;
	struct host_units units;
	const struct host_blas *blas;     /* NULL: no DEV_CAP_GEMM */
	const struct host_onednn *onednn; /* with blas */
	bool is_part;                     /* the cores are divided among several devices */
	struct host_sensors sensors;      /* guarded by the lock of telemetry_read() */
	/* Guarded by the lock. */
	unsigned id;   /* unique among the open host devices */
	bool dispatch; /* on the dispatch list: blocks may be ready to be placed */
	struct host_dev *next_dispatch;
	struct dev_stream *streams;
	struct dev_event *events;
};

/* The open device with this `id`, or NULL. Lock held. */
struct host_dev *host_open_device(unsigned id);

static inline struct host_dev *host_dev_of(struct dev *d) { return (struct host_dev *)d; }

#endif
