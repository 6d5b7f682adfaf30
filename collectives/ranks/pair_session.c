/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/pair_session.h"
#include "collectives/ranks/rank_watch.h"
#include "lib/err.h"
#include "lib/provenance.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ open and close */

static void *alloc_array(size_t count, size_t each) { return calloc(count + 1, each); }

static void exchange_hosts(struct pair_session *s)
{
	char name[PAIR_HOST_BYTES] = "";
	s->nodes = alloc_array((size_t)mpi_job.size, sizeof(*s->nodes));
	if (!s->nodes)
		mpi_job_abort("the nodes of %d ranks: out of memory", mpi_job.size);
	MPI_CHECK(MPI_Allgather(&mpi_job.host, 1, MPI_INT, s->nodes, 1, MPI_INT, MPI_COMM_WORLD),
		  "MPI_Allgather of nodes");
	/* The names go into one text with blanks between them. */
	provenance_host(name, sizeof(name), '?');
	s->hosts = mpi_job_gather(name, PAIR_HOST_BYTES);
}

static int open_pairing(struct pair_session *s)
{
	const uint32_t rank = (uint32_t)mpi_job.rank;
	const struct pairing_request request = {.kind = s->command.pairing,
						.scope = s->command.scope,
						.ranks = (uint32_t)mpi_job.size,
						.node = s->nodes,
						.rails = s->command.rails,
						.rounds = s->command.rounds,
						.seed = s->command.seed};
	int status = pairing_open(&request, &s->pairing);
	if (status)
		return status;
	s->in_round = alloc_array(s->pairing.rounds, sizeof(struct pair_slot *));
	s->own = alloc_array(s->pairing.rounds, sizeof(*s->own));
	s->link_seconds = alloc_array(s->pairing.links, sizeof(*s->link_seconds));
	if (mpi_job.rank == 0)
		s->all = alloc_array((size_t)s->pairing.rounds * (size_t)mpi_job.size,
				     sizeof(*s->all));
	if (!s->in_round || !s->own || !s->link_seconds || (mpi_job.rank == 0 && !s->all))
		return err_note(-ENOMEM, "%u rounds: out of memory", s->pairing.rounds);
	for (size_t i = 0; i < s->pairing.count; i++) {
		const struct pair_slot *slot = &s->pairing.slots[i];
		if (slot->first == rank || slot->second == rank)
			s->in_round[slot->round] = slot;
	}
	return 0;
}

static int close_case(struct pair_session *s)
{
	pair_memory_close(&s->memory);
	pairing_close(&s->pairing);
	free(s->nodes);
	free(s->hosts);
	free(s->in_round);
	free(s->own);
	free(s->all);
	free(s->link_seconds);
	free(s->ports);
	s->ports = NULL;
	s->nodes = NULL;
	s->hosts = NULL;
	s->in_round = NULL;
	s->own = s->all = s->link_seconds = NULL;
	return 0;
}

static int open_case(struct pair_session *s, const struct mpi_command *command)
{
	close_case(s);
	s->command = *command;
	s->last_peer = -1;
	exchange_hosts(s);
	int status = open_pairing(s);
	return TRY(status, pair_memory_open(&s->memory, s->program.device.dev, command->bytes,
					    command->window, command->seed));
}

/* ------------------------------------------------------------------ run */

static bool is_first(const struct pair_slot *slot) { return slot->first == (uint32_t)mpi_job.rank; }

static int peer_in(const struct pair_slot *slot)
{
	return (int)(is_first(slot) ? slot->second : slot->first);
}

static void run_way(struct pair_session *s, const struct pair_way *way, bool first, int peer)
{
	if (way->windows == 2)
		pair_memory_exchange(&s->memory, peer);
	else if (way->windows && way->sends[!first])
		pair_memory_send(&s->memory, peer);
	else if (way->windows)
		pair_memory_receive(&s->memory, peer);
	for (unsigned i = 0; i < way->trips; i++) {
		if (first)
			pair_memory_ping(&s->memory, peer);
		else
			pair_memory_pong(&s->memory, peer);
	}
}

/* All ranks begin together; those without a part wait for the next barrier. A round may take as
 * long as a command otherwise may. */
static void begin_together(void)
{
	rank_watch_begin();
	MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void run_slot(struct pair_session *s, const struct pair_slot *slot, unsigned variant,
		     uint64_t iterations)
{
	double start = mpi_job_time();
	for (uint64_t i = 0; i < iterations; i++)
		run_way(s, &pair_ways[variant], is_first(slot), peer_in(slot));
	s->own[slot->round] = mpi_job_time() - start;
	s->last_peer = pair_ways[variant].receives[!is_first(slot)] ? peer_in(slot) : -1;
}

static void run_pass(struct pair_session *s, unsigned variant, uint64_t iterations)
{
	s->last_peer = -1;
	if (s->command.together) {
		for (uint32_t r = 0; r < s->pairing.rounds; r++) {
			begin_together();
			if (s->in_round[r])
				run_slot(s, s->in_round[r], variant, iterations);
		}
		return;
	}
	for (size_t i = 0; i < s->pairing.count; i++) {
		const struct pair_slot *slot = &s->pairing.slots[i];
		begin_together();
		if (s->in_round[slot->round] == slot)
			run_slot(s, slot, variant, iterations);
	}
}

/* ------------------------------------------------------------------ times, on the leader */

static double slot_seconds(const struct pair_session *s, const struct pair_slot *slot,
			   unsigned variant)
{
	size_t rounds = s->pairing.rounds;
	double first = s->all[slot->first * rounds + slot->round],
	       second = s->all[slot->second * rounds + slot->round];
	const bool *sends = pair_ways[variant].sends;
	return sends[1] && (!sends[0] || second > first) ? second : first;
}

/* A pair that comes several times has the mean of its times. */
static int form_times(struct pair_session *s, unsigned variant, uint64_t iterations)
{
	const struct pairing *p = &s->pairing;
	double *round_seconds = alloc_array(p->rounds, sizeof(double));
	uint32_t *times = alloc_array(p->links, sizeof(*times));
	int status = round_seconds && times
			     ? 0
			     : err_note(-ENOMEM, "the times of %zu pairs: out of memory", p->count);
	memset(s->link_seconds, 0, p->links * sizeof(double));
	s->seconds = 0.0;
	for (size_t i = 0; status == 0 && i < p->count; i++) {
		const struct pair_slot *slot = &p->slots[i];
		double seconds = slot_seconds(s, slot, variant),
		       *round = &round_seconds[slot->round];
		s->link_seconds[slot->link] += seconds / (double)iterations;
		times[slot->link]++;
		*round = s->command.together ? (seconds > *round ? seconds : *round)
					     : *round + seconds;
	}
	for (size_t i = 0; status == 0 && i < p->links; i++)
		s->link_seconds[i] /= times[i];
	for (uint32_t r = 0; status == 0 && r < p->rounds; r++)
		s->seconds += round_seconds[r];
	free(round_seconds);
	free(times);
	return status;
}

static int run_and_gather(struct pair_session *s, unsigned variant, uint64_t iterations)
{
	const int rounds = (int)s->pairing.rounds;
	run_pass(s, variant, iterations);
	MPI_CHECK(MPI_Gather(s->own, rounds, MPI_DOUBLE, s->all, rounds, MPI_DOUBLE, 0,
			     MPI_COMM_WORLD),
		  "MPI_Gather of times");
	int status = mpi_job.rank == 0 ? form_times(s, variant, iterations) : 0;
	return TRY(status, pair_memory_result(&s->memory));
}

static struct pair_ports read_ports(void)
{
	struct pair_ports now = {0};
	if (mpi_job.rank == mpi_job.host)
		now.count = network_ports_read("/sys/class", now.port);
	return now;
}

/* Leaves ports that were there before, with what they sent since. */
static void subtract_ports(struct pair_ports *now, const struct pair_ports *before)
{
	size_t count = 0;
	for (size_t i = 0; i < now->count; i++) {
		size_t old = 0;
		while (old < before->count &&
		       strcmp(before->port[old].name, now->port[i].name) != 0)
			old++;
		if (old == before->count)
			continue;
		now->port[count] = now->port[i];
		now->port[count++].sent_bytes -= before->port[old].sent_bytes;
	}
	now->count = count;
}

static int count_and_gather(struct pair_session *s, unsigned variant, uint64_t iterations)
{
	const struct pair_ports before = read_ports();
	int status = run_and_gather(s, variant, iterations);
	begin_together();
	struct pair_ports now = read_ports();
	subtract_ports(&now, &before);
	free(s->ports);
	s->ports = mpi_job_gather(&now, sizeof(now));
	return status;
}

/* ------------------------------------------------------------------ check */

static int check_received(struct pair_session *s, unsigned variant)
{
	if (s->last_peer < 0)
		return 0;
	const bool small = pair_ways[variant].trips;
	return pair_memory_check(&s->memory, s->last_peer, small ? 1 : s->command.window,
				 small ? PAIR_LATENCY_BYTES : s->command.bytes);
}

/* The last run left only its last round. So every round is run once more, and all data that arrives
 * in it is checked. After an error the other ranks still need this one's messages. */
static int check_pass(struct pair_session *s, unsigned variant)
{
	struct err_first first = {0};
	uint32_t wrong = s->pairing.rounds - 1;
	err_keep(&first, check_received(s, variant));
	for (uint32_t r = 0; r < s->pairing.rounds; r++) {
		const bool before = first.status;
		pair_memory_poison(&s->memory);
		begin_together();
		s->last_peer = -1;
		if (s->in_round[r])
			run_slot(s, s->in_round[r], variant, 1);
		err_keep(&first, pair_memory_result(&s->memory));
		err_keep(&first, check_received(s, variant));
		wrong = before ? wrong : r;
	}
	return first.status ? err_note(first.status, "round %u, %s", wrong, first.text) : 0;
}

/* ------------------------------------------------------------------ commands */

static int poison_received(struct pair_session *s)
{
	pair_memory_poison(&s->memory);
	return pair_memory_result(&s->memory);
}

int pair_session_execute(struct rank_program *program, const struct mpi_command *command)
{
	struct pair_session *s = (struct pair_session *)program;
	switch ((enum pair_opcode)command->opcode) {
	case PAIR_OPEN:
		return open_case(s, command);
	case PAIR_RUN:
		return run_and_gather(s, command->variant, command->iterations);
	case PAIR_COUNT:
		return count_and_gather(s, command->variant, command->iterations);
	case PAIR_POISON:
		return poison_received(s);
	case PAIR_CHECK:
		return check_pass(s, command->variant);
	case PAIR_CLOSE:
		break;
	}
	return close_case(s);
}

void pair_session_close(struct rank_program *program)
{
	close_case((struct pair_session *)program);
}
