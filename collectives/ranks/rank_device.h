/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device is whose, where vectors live in devices' memory. Rank l of its host (0, 1, ...) takes entry l mod n of the list:
 *
 *     --device NAME        all n devices of that name that its host has: usually one a rank
 *     --device NAME:1      one: all ranks of a host share it
 *     --device NAME:0,2    these, on every host
 *
 * A launcher that shows every rank a device of its own leaves one in the list of all, and so each takes its own.
 */
#ifndef GPUSIG_RANK_DEVICE_H
#define GPUSIG_RANK_DEVICE_H

#include "device/dev.h"

#include <stdint.h>

/* The same on every rank. */
struct device_list {
	char backend[16];
	uint32_t count; /* 0: all that a host has */
	uint16_t index[DEV_MAX];
};

/* The leader: the list that `spec` says; `set` is what the harness opened for it, and its first device stays the leader's. */
void rank_device_list(const char *spec, const struct dev_set *set, struct device_list *l);

/* All ranks in an order: open this rank's device, once, and tell the leader which it is. -ENODEV with a text when this host
 * lacks it; every rank comes back. Blocking. */
int rank_device_open(const struct device_list *l);

/* NULL before. It belongs to this file. */
struct dev *rank_device(void);

/* At the end of a rank; the leader's is the harness's, and stays. */
void rank_device_close(void);

/* The leader, afterwards: the devices in order of ranks ("NAME:0 NAME:1 NAME:0", cut where it gets long), and how many ranks the
 * device has that most of them share. */
const char *rank_device_names(void);
int rank_device_most_ranks(void);

#endif
