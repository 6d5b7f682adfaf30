/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/rank_latency.h"
#include "collectives/ranks/mpi_job.h"
#include "lib/clock.h"
#include "lib/core_latency.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Page that both ranks of a pair map. */
struct page {
	atomic_uint line;
	char rest_of_line[252];
	uint64_t word; /* by which the second rank knows that it found this one */
};

/* Location of the first rank's page. An MPI window would be simpler, but a library that can't share
 * memory on one rank leaves the others waiting for it. */
struct offer {
	int pid, file;
	uint64_t word;
};

static struct {
	struct page *page; /* NULL: there is no pair */
	bool is_first;
} pair;

static struct page *map_page(int file)
{
	void *page = file < 0 ? MAP_FAILED
			      : mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED,
				     file, 0);
	return page == MAP_FAILED ? NULL : page;
}

static void unmap_page(void)
{
	if (pair.page)
		munmap(pair.page, sizeof(*pair.page));
	pair.page = NULL;
}

static void offer_page(MPI_Comm host, int other)
{
	const int file = memfd_create("gpusig", MFD_CLOEXEC);
	struct offer offer = {.pid = (int)getpid(), .file = file, .word = clock_ns()};
	int found = 0;
	if (file >= 0 && ftruncate(file, sizeof(struct page)) == 0)
		pair.page = map_page(file);
	if (pair.page)
		pair.page->word = offer.word;
	MPI_CHECK(MPI_Send(&offer, sizeof(offer), MPI_BYTE, other, 0, host), "MPI_Send");
	MPI_CHECK(MPI_Recv(&found, 1, MPI_INT, other, 0, host, MPI_STATUS_IGNORE), "MPI_Recv");
	if (file >= 0)
		close(file);
	if (!found)
		unmap_page();
}

static void find_page(MPI_Comm host, int other)
{
	struct offer offer;
	char path[64];
	MPI_CHECK(MPI_Recv(&offer, sizeof(offer), MPI_BYTE, other, 0, host, MPI_STATUS_IGNORE),
		  "MPI_Recv");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", offer.pid, offer.file);
	const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	/* Another file, of another container, must not be mapped: it may be too short. */
	if (file >= 0 && lseek(file, 0, SEEK_END) == sizeof(struct page))
		pair.page = map_page(file);
	const int found = pair.page && pair.page->word == offer.word;
	if (file >= 0)
		close(file);
	if (!found)
		unmap_page();
	MPI_CHECK(MPI_Send(&found, 1, MPI_INT, other, 0, host), "MPI_Send");
}

void rank_latency_open(MPI_Comm host, int processors)
{
	int rank, ranks;
	MPI_Comm_rank(host, &rank);
	MPI_Comm_size(host, &ranks);
	pair.is_first = rank % 2 == 0;
	if (ranks > processors)
		return;
	if (!pair.is_first)
		find_page(host, rank - 1);
	else if (rank + 1 < ranks)
		offer_page(host, rank + 1);
}

void rank_latency_play(unsigned batches, double sum_p[2])
{
	if (pair.page && pair.is_first) {
		sum_p[0] += core_latency_ping(&pair.page->line, batches);
		sum_p[1] += 1.0;
	} else if (pair.page) {
		core_latency_pong(&pair.page->line, batches);
	}
}
