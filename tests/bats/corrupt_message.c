/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded by collectives.bats: flips the first bit of every message that rank 1 receives.
 */
#include <mpi.h>

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
		 void *received, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
		 MPI_Status *status)
{
	int rank, code = PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, received, count,
				       type, from, tag, comm, status);
	MPI_Comm_rank(comm, &rank);
	if (rank == 1 && count > 0)
		*(unsigned char *)received ^= 1;
	return code;
}
