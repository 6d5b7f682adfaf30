/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/pair_report.h"
#include "collectives/ranks/rank_program.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* By rank, with blanks between them. */
static int report_hosts(struct bench_case *c, const struct pair_session *s)
{
	size_t capacity = (size_t)mpi_job.size * (PAIR_HOST_BYTES + 1), at = 0, node = 0;
	char *hosts = calloc(2, capacity), *nodes = hosts ? hosts + capacity : NULL;
	if (!hosts)
		return err_note(-ENOMEM, "names of %d hosts: out of memory", mpi_job.size);
	for (int r = 0; r < mpi_job.size; r++) {
		const char *blank = r ? " " : "";
		at += (size_t)snprintf(hosts + at, capacity - at, "%s%s", blank, s->hosts[r]);
		node += (size_t)snprintf(nodes + node, capacity - node, "%s%d", blank, s->nodes[r]);
	}
	bench_fact_text(c, "hosts", hosts);
	bench_fact_text(c, "node_of_rank", nodes);
	free(hosts);
	return 0;
}

static void report_transport(struct bench_case *c, const struct pair_session *s)
{
	bool on_device = s->memory.vectors.dev;
	bench_fact_text(c, "library", mpi_job.library);
	bench_fact_text(c, "transport",
			!on_device ? "host memory"
			: s->memory.staged
				? "device memory, each window staged through pinned host memory"
				: "device memory, passed to the MPI library directly");
	if (on_device)
		bench_fact_text(c, "rank_devices", s->device.names);
	if (on_device && s->device.max_ranks > 1)
		bench_flag(c, "oversubscribed",
			   "%d ranks share a device: the time includes waiting for each other",
			   s->device.max_ranks);
	rank_program_flag_shared_cores(c);
}

int pair_report(struct bench_case *c, const struct pair_session *s)
{
	bench_fact_number(c, "ranks", mpi_job.size);
	bench_fact_number(c, "nodes", mpi_job.hosts);
	bench_fact_number(c, "rounds", s->pairing.rounds);
	bench_fact_number(c, "rounds_of_all_pairs", pairing_all_rounds((uint32_t)mpi_job.size));
	bench_fact_number(c, "pairs", (double)s->pairing.links);
	bench_fact_text(c, "place",
			s->plan.scope == PAIRING_WITHIN ? "within a node" : "between nodes");
	report_transport(c, s);
	return report_hosts(c, s);
}
