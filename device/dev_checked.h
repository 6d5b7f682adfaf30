/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checking layer: the checks that device/dev.h promises for DEV_CHECKED. It stands between the
 * functions of dev.h and a backend's table, so that in timed code a backend checks nothing that it
 * does not need for its own work.
 */
#ifndef GPUSIG_DEV_CHECKED_H
#define GPUSIG_DEV_CHECKED_H

#include "device/dev.h"

/* Check every operation of an open device before its backend gets it. -ENOMEM. */
int dev_check_operations(struct dev *d);

/* SLOT(operation), of those that are checked. */
#define CHECKED_SLOTS(SLOT)                                                                        \
	SLOT(close)                                                                                \
	SLOT(alloc)                                                                                \
	SLOT(free)                                                                                 \
	SLOT(copy)                                                                                 \
	SLOT(copy_batch)                                                                           \
	SLOT(file_read)                                                                            \
	SLOT(fill)                                                                                 \
	SLOT(stream_open)                                                                          \
	SLOT(stream_close)                                                                         \
	SLOT(stream_sync)                                                                          \
	SLOT(stream_wait)                                                                          \
	SLOT(stream_query)                                                                         \
	SLOT(stream_units)                                                                         \
	SLOT(event_open)                                                                           \
	SLOT(event_close)                                                                          \
	SLOT(event_record)                                                                         \
	SLOT(event_query)                                                                          \
	SLOT(event_sync)                                                                           \
	SLOT(event_elapsed_ns)                                                                     \
	SLOT(kernel_find)                                                                          \
	SLOT(occupancy)                                                                            \
	SLOT(launch)                                                                               \
	SLOT(wait_value)                                                                           \
	SLOT(write_value)                                                                          \
	SLOT(post_value)                                                                           \
	SLOT(gemm)                                                                                 \
	SLOT(peer_enable)                                                                          \
	SLOT(graph_begin)                                                                          \
	SLOT(graph_end)                                                                            \
	SLOT(graph_launch)                                                                         \
	SLOT(graph_close)                                                                          \
	SLOT(comm_open)                                                                            \
	SLOT(comm_close)                                                                           \
	SLOT(comm_alloc)                                                                           \
	SLOT(comm_free)                                                                            \
	SLOT(collective)                                                                           \
	SLOT(ipc_import)                                                                           \
	SLOT(alloc_on_node)

#endif
