/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_list.h"
#include "collectives/ranks/mpi_job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int rank_list_gather(struct rank_list *list, const struct rank_device *device)
{
	struct nccl_tests_rank mine =
		device->dev ? nccl_tests_rank_of(device->dev) : nccl_tests_rank_here();
	if (!device->dev)
		mine.device = (unsigned)mpi_job.local;
	if (mpi_job.virtual_time) {
		mine.process = 0;
		snprintf(mine.host, sizeof(mine.host), "simulated");
	}
	if (mpi_job.rank == 0 && !list->ranks)
		list->ranks = calloc((size_t)mpi_job.size, sizeof(*list->ranks));
	if (mpi_job.rank == 0 && !list->ranks)
		mpi_job_abort("the list of %d ranks: out of memory", mpi_job.size);
	MPI_CHECK(MPI_Gather(&mine, sizeof(mine), MPI_BYTE, list->ranks, sizeof(mine), MPI_BYTE, 0,
			     MPI_COMM_WORLD),
		  "MPI_Gather");
	return 0;
}
