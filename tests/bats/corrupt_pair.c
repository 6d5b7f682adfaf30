/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded by pairs.bats: flips a bit of what rank 1 receives from rank CORRUPT_FROM, in
 * messages of a window and in pings.
 */
#include <mpi.h>
#include <stdlib.h>

static unsigned char *last;
static int last_count, last_from;

static void flip_bit(unsigned char *at, int count, int from)
{
	const char *wanted = getenv("CORRUPT_FROM");
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 1 && at && count > 0 && wanted && strtol(wanted, NULL, 10) == from)
		at[count / 2] ^= 1;
}

int MPI_Irecv(void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	last = to;
	last_count = count;
	last_from = from;
	return PMPI_Irecv(to, count, type, from, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
	int code = PMPI_Waitall(count, requests, statuses);
	flip_bit(last, last_count, last_from);
	last = NULL;
	return code;
}

int MPI_Recv(void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	int code = PMPI_Recv(to, count, type, from, tag, comm, status);
	flip_bit(to, count, from);
	return code;
}
