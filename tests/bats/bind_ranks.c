/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LD_PRELOAD: rank N may use the processors of the N-th word of RANK_CORES, a digit each, and is on
 * the host that the N-th word of RANK_HOSTS names. 0 is the first that it may use without this; the
 * others are added to 8000, where no machine has threads of a core.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *of_rank(const char *name)
{
	static char none[] = "";
	const char *words = getenv(name), *rank = getenv("OMPI_COMM_WORLD_RANK");
	for (long left = rank ? strtol(rank, NULL, 10) : 0; words && left > 0; left--)
		words = (words = strchr(words, ' ')) ? words + 1 : NULL;
	return words ? words : none;
}

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask)
{
	cpu_set_t real[8] = {0};
	size_t first = 0;
	syscall(SYS_sched_getaffinity, process, sizeof(real), real);
	while (first < 8191 && !CPU_ISSET_S(first, sizeof(real), real))
		first++;
	memset(mask, 0, bytes);
	for (const char *at = of_rank("RANK_CORES"); *at && *at != ' '; at++)
		CPU_SET_S(*at == '0' ? first : 8000 + (size_t)(*at - '0'), bytes, mask);
	return 0;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *split)
{
	const char *host = of_rank("RANK_HOSTS");
	return *host ? PMPI_Comm_split(comm, *host, key, split)
		     : PMPI_Comm_split_type(comm, type, key, info, split);
}
