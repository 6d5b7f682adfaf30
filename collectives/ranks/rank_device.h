/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of each rank, where vectors are in device memory. Rank l of its host (0, 1, ...) uses
 * entry l mod n of the list:
 *
 *     --device NAME        all n devices of that name on its host, usually one per rank
 *     --device NAME:1      one device, which all ranks of a host share
 *     --device NAME:0,2    these devices, on every host
 *
 * A launcher may show each rank only one device. Then the list has one entry, and each rank uses
 * its own device.
 */
#ifndef GPUSIG_RANK_DEVICE_H
#define GPUSIG_RANK_DEVICE_H

#include "device/dev.h"

#include <stdint.h>

/* The same on every rank. */
struct device_list {
	char backend[16];
	uint32_t count; /* 0: all devices of a host */
	uint16_t index[DEV_MAX];
};

/* The device of a rank; zeroed: none. */
struct rank_device {
	struct dev *dev;       /* NULL before rank_device_open(). Do not close it. */
	struct dev_set opened; /* empty on the leader */
	/* Leader only, after rank_device_open(): the devices in order of ranks ("NAME:0 NAME:1
	 * NAME:0", truncated when long), and the largest number of ranks that share a device. */
	char names[1024];
	int max_ranks;
};

/* Leader only: the list that `spec` describes. `set` holds the devices that the harness opened for
 * it; the leader keeps using its first device. */
void rank_device_list(struct rank_device *d, const char *spec, const struct dev_set *set,
		      struct device_list *l);

/* All ranks, in a command: opens this rank's device once and reports it to the leader. -ENODEV with
 * a text when this host does not have it; every rank returns. Blocking. */
int rank_device_open(struct rank_device *d, const struct device_list *l);

/* At the end of a rank. The leader's device belongs to the harness and stays open. */
void rank_device_close(struct rank_device *d);

#endif
