/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Placement of the ranks of a job, for tables that list them.
 */
#ifndef GPUSIG_RANK_LIST_H
#define GPUSIG_RANK_LIST_H

#include "collectives/nccl_tests/nccl_tests_table.h"
#include "collectives/ranks/rank_device.h"

struct rank_list {
	struct nccl_tests_rank *ranks; /* in their order; the owner frees them */
};

/* All ranks, in a command: the leader gets the list, and of a job without memory for it ends. A
 * rank without a device has its vectors in host memory. */
int rank_list_gather(struct rank_list *list, const struct rank_device *device);

#endif
