/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hardware that T3 proposes (arXiv 2401.16677): memory that adds what is written to it, a
 * tracker beside memory that starts copies, and a memory controller that tells computing from
 * communication. Part of the contract in device/dev.h, which includes this file. No device that
 * exists has any of it; sim has it where its model says so (device/sim/t3).
 *
 * Every operation is -ENOTSUP where the device lacks its capability.
 */
#ifndef GPUSIG_DEV_TRACKING_H
#define GPUSIG_DEV_TRACKING_H

#include "device/dev_lists.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;
struct dev_stream;

/* ------------------------------------------------------------------ memory that adds */

/* Enqueue a copy that is added to what the target holds, by the target's memory: element by
 * element, each sum rounded to `type`, which is the type of some GEMM's C (else -EINVAL). Several
 * such copies, and GEMMs with `adds`, may add to the same elements at once; nothing is lost. `dst`
 * is DEVICE memory, of this device or of a peer with the same capability (else -ENOTSUP); both
 * arrays are aligned to elements (else -EINVAL). For the rest as dev_copy(). DEV_CAP_MEMORY_ADDS.
 */
int dev_copy_add(struct dev *d, struct dev_stream *s, void *dst, const void *src, uint64_t bytes,
		 enum dev_type type);

/* ------------------------------------------------------------------ the tracker
 *
 * It counts what is written to the tiles of a matrix in memory of its device: by the stores of
 * GEMMs and by copies, of this and of other devices; not by kernels and fills. A tile is complete
 * when every one of its elements could have been written `updates` times: when it has had so many
 * times as many writes as it has elements.
 *
 *     dev_tracker_open(d, &map, &t);      what happens to which rows
 *     dev_tracker_arm(d, s, t);           before anything is written: order by events
 *     dev_gemm(d, other, &g);             with `adds`, C is map.at
 *     dev_tracker_wait(d, s, t);          later work of s: all tiles complete, all copies arrived
 *
 * DEV_CAP_TRACKER; such a device also has dev_gemm.first_row and memory that adds. */

enum dev_tracked {
	/* This device's GEMMs write to `to` instead of here, and nothing here: T3's remote_map.
	 * Nothing is counted. */
	DEV_TRACKED_AWAY,
	/* A complete tile is copied to its place in `to`, where it is added: T3's dma_map. The copy
	 * needs a copy engine, and no call. */
	DEV_TRACKED_FORWARD,
	/* A tile that is complete stays. */
	DEV_TRACKED_KEPT,
};

struct dev_tracked_rows {
	uint32_t first_row, rows;
	enum dev_tracked what;
	uint32_t updates; /* at least 1; of AWAY not used */
	void *to;         /* the first element of a matrix of the same shape, not of these rows, in
			     memory of this device or of a peer; of KEPT NULL */
};

/* A row-major matrix without gaps. The ranges, in order, cover all rows. */
struct dev_tracker_map {
	void *at;
	enum dev_type type; /* of its elements: that of some GEMM's C */
	uint32_t rows, columns;
	uint32_t tile_rows, tile_columns; /* tiles begin at a range's first row; those at the ends
					     are smaller */
	const struct dev_tracked_rows *ranges; /* copied by dev_tracker_open() */
	size_t count;
};

struct dev_tracker;

/* -EINVAL: the map contradicts itself. -EFAULT: memory is not as under "Memory" in device/dev.h.
 * The memory that a map names is freed after the tracker is closed. */
int dev_tracker_open(struct dev *d, const struct dev_tracker_map *map, struct dev_tracker **t_p);
/* NULL is accepted. The caller has synchronised. */
void dev_tracker_close(struct dev *d, struct dev_tracker *t);

/* Enqueue: from here on the tracker counts, and all rows of FORWARD and KEPT count as 0, whatever
 * they hold. To arm a tracker that is armed fails the stream with -EBUSY. */
int dev_tracker_arm(struct dev *d, struct dev_stream *s, struct dev_tracker *t);
/* Enqueue: later work of the stream starts when all tiles are complete and have arrived where they
 * go. The tracker then is no longer armed. To wait for one that is not armed fails the stream with
 * -EINVAL. */
int dev_tracker_wait(struct dev *d, struct dev_stream *s, struct dev_tracker *t);

/* Since the device was opened, of all its trackers. */
struct dev_tracker_counts {
	uint64_t tiles;      /* that became complete */
	uint64_t forwarded;  /* copies that it started */
	uint64_t overflowed; /* tiles that at first found no free entry */
	uint32_t entries;    /* that the tracker has */
	uint32_t most_used;  /* at the same time */
};
int dev_tracker_counts(struct dev *d, struct dev_tracker_counts *counts_p);

/* ------------------------------------------------------------------ the memory controller
 *
 * Communication is what copies, forwards and streams of communication read and write, and what
 * another device reads or writes. All else is computing. DEV_CAP_MEMORY_CONTROL. */

enum dev_traffic_class { DEV_COMPUTING, DEV_COMMUNICATION, DEV_TRAFFIC_CLASSES };

/* All later work of the stream belongs to this class; at first it is computing. A stream with
 * queued work is -EBUSY. */
int dev_stream_class(struct dev *d, struct dev_stream *s, enum dev_traffic_class traffic);

enum dev_memory_policy {
	DEV_MEMORY_FAIR,          /* both share alike */
	DEV_MEMORY_COMPUTE_FIRST, /* T3-MCA: communication has what computing leaves */
};

struct dev_memory_control {
	enum dev_memory_policy policy;
	/* With COMPUTE_FIRST: communication is let through while less than this part of the
	 * memory's queue is in use, but always at this part of its bandwidth. Both are above 0,
	 * `threshold` is at most 1, and `starvation` below 1, for computing goes on, too. */
	double threshold, starvation;
};

/* While nothing is queued on the device, and nothing elsewhere that uses its memory; else -EBUSY.
 * dev_memory_control_read() gives what is in force; at first it is what the device came with. */
int dev_memory_control(struct dev *d, const struct dev_memory_control *control);
int dev_memory_control_read(struct dev *d, struct dev_memory_control *control_p);

/* Bytes that passed the device's own memory since it was opened; what its caches kept from it is
 * not among them. What was added was written once. An operation that has begun may count with all
 * of its bytes. */
struct dev_memory_bytes {
	double read[DEV_TRAFFIC_CLASSES], written[DEV_TRAFFIC_CLASSES];
};
int dev_memory_bytes(struct dev *d, struct dev_memory_bytes *bytes_p);

/* ------------------------------------------------------------------ what a backend fills */

/* Programs never touch it. As the functions above. */
struct dev_tracking_ops {
	int (*copy_add)(struct dev *d, struct dev_stream *s, void *dst, const void *src,
			uint64_t bytes, enum dev_type type);
	int (*tracker_open)(struct dev *d, const struct dev_tracker_map *map,
			    struct dev_tracker **t_p);
	void (*tracker_close)(struct dev *d, struct dev_tracker *t);
	int (*tracker_arm)(struct dev *d, struct dev_stream *s, struct dev_tracker *t);
	int (*tracker_wait)(struct dev *d, struct dev_stream *s, struct dev_tracker *t);
	int (*tracker_counts)(struct dev *d, struct dev_tracker_counts *counts_p);
	int (*stream_class)(struct dev *d, struct dev_stream *s, enum dev_traffic_class traffic);
	int (*memory_control)(struct dev *d, const struct dev_memory_control *control);
	int (*memory_control_read)(struct dev *d, struct dev_memory_control *control_p);
	int (*memory_bytes)(struct dev *d, struct dev_memory_bytes *bytes_p);
};

#endif
