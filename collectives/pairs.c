/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which pairs of nodes have a slow link? Bandwidth and latency of every pair of MPI ranks, one rank
 * per node.
 *
 * Pairs run in rounds in which every rank has at most one partner (pairs/pairing.h): n - 1 rounds
 * for n nodes, n where n is odd. All pairs of a round run at once, so the fabric carries what n/2
 * pairs send, and a round takes as long as its slowest pair; with --concurrent no one pair runs at
 * a time, in n (n - 1) / 2 turns. A pass, all rounds once, is one iteration. Each rank times its
 * own part (ranks/pair_session.h); each pair has its own latency, and bandwidth in both directions,
 * one after the other and both at once. Ranks on one node reach each other through its memory, so
 * pairs within a node and pairs between nodes are never in one case.
 *
 *     srun -N64 --ntasks-per-node=1 bin/collectives/pairs --pairing random --rounds 8
 */
#include "collectives/pairs/link_metrics.h"
#include "collectives/ranks/pair_adapters.h"
#include "collectives/ranks/pair_session.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>

/* Pairs that a record keeps: all of 128 nodes. */
#define MAX_PAIRS 8192u

static const char *const pairings[] = {"round-robin", "random", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};

static const struct axis axes[] = {
	{"scope",
	 "pairs of ranks on different nodes: between; of these, those on one rail: same-rail, or "
	 "on two: cross-rail; or within a node (the default if all ranks are on one node). "
	 "same-rail:N: a node has N adapters",
	 AXIS_WORD, "between", .accept = pairing_accept_scope},
	{"pairing", "round-robin: every pair once; random: a random matching a round", AXIS_WORD,
	 "round-robin", .words = pairings},
	{"rounds", "number of rounds; all: n - 1 for n ranks, n for odd n", AXIS_WORD, "all",
	 .accept = pairing_accept_rounds},
	{"concurrent",
	 "yes: all pairs of a round at once; no: one pair at a time, n (n - 1) / 2 turns",
	 AXIS_WORD, "yes", "yes,no", .words = yes_no},
	{"window", "messages in flight", AXIS_COUNT, "16", .min = 1, .max = 1024},
	{"size", "bytes of a message, rounded down to a multiple of 8", AXIS_SIZE, "1M",
	 "64K,1M,8M", .min = 1, .max = UINT64_C(16) << 30},
	{0}};

/* Those of link_metrics_derive(). */
static const struct bench_quantity_row quantities[] = {
	{"min_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{"median_bandwidth", BENCH_RATE, .unit = "byte/s"},
	{"max_latency", BENCH_TIME},
	{0}};

#define AT_ONCE "scope=between concurrent=yes size=1M"
static const struct bench_metric primary[] = {
	{"pairs_min_bandwidth", "min_bandwidth", NULL, AT_ONCE},
	{"pairs_median_bandwidth", "median_bandwidth", NULL, AT_ONCE},
	{"pairs_max_latency", "max_latency", NULL, AT_ONCE},
	{0}};

/* The leader's is c->arg. */
struct pairs {
	struct pair_session session; /* first; of this rank */
	bool poisoned;               /* results were destroyed since the last pass */
	char rounds[16];
};

static const struct pair_session *session_of(const struct bench_case *c) { return c->arg; }

static int command_ranks(const struct bench_case *c, enum pair_opcode opcode, long way,
			 uint64_t iterations)
{
	const struct mpi_command command = {
		.opcode = opcode, .variant = (uint32_t)way, .iterations = iterations};
	return rank_program_command(c, &command);
}

static int admit(const struct bench_case *c)
{
	const uint32_t ranks = (uint32_t)mpi_job.size, all = pairing_all_rounds(ranks),
		       given = pairing_parse_rounds(axis_str(c, "rounds")),
		       rounds = given ? given : all;
	uint32_t rails;
	const bool between = pairing_parse_scope(axis_str(c, "scope"), &rails) != PAIRING_WITHIN;
	if (ranks < 2)
		return mpi_job_needs_ranks();
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) || mpi_job.virtual_time)
		return err_note(-ENOTSUP, "neither simulated devices nor ranks are supported");
	if (between && mpi_job.hosts < 2)
		return err_note(-ENODEV, "all ranks are on one node: start one on every node "
					 "(mpirun --map-by ppr:1:node, srun --ntasks-per-node=1), "
					 "or give --scope within");
	if (!between && mpi_job.hosts == mpi_job.size)
		return err_note(-ENODEV,
				"every rank is on a different node: no pair is within one");
	if (given > all && axis_index(c, "pairing") == PAIRING_ROUND_ROBIN)
		return err_note(-EINVAL, "%u rounds: all pairs of %u ranks take %u", given, ranks,
				all);
	if ((uint64_t)rounds * (ranks / 2) > MAX_PAIRS)
		return err_note(-ENOTSUP, "%u rounds have more than %u pairs: give --rounds %u",
				rounds, MAX_PAIRS, MAX_PAIRS / (ranks / 2));
	return pair_memory_admit(c->dev, axis_u64(c, "size"), axis_u64(c, "window"));
}

static const char *place_of(uint32_t scope)
{
	static const char *const places[] = {[PAIRING_BETWEEN] = "between nodes",
					     [PAIRING_SAME_RAIL] =
						     "between nodes, on the same rail",
					     [PAIRING_CROSS_RAIL] = "between nodes, across rails",
					     [PAIRING_WITHIN] = "within a node"};
	return places[scope];
}

static int setup(struct bench_case *c)
{
	const struct pair_session *s = session_of(c);
	uint32_t rails;
	const enum pairing_scope scope = pairing_parse_scope(axis_str(c, "scope"), &rails);
	const struct mpi_command command = {.opcode = PAIR_OPEN,
					    .pairing = axis_index(c, "pairing"),
					    .scope = scope,
					    .rails = rails,
					    .rounds = pairing_parse_rounds(axis_str(c, "rounds")),
					    .window = (uint32_t)axis_u64(c, "window"),
					    .bytes = pair_memory_bytes(axis_u64(c, "size")),
					    .seed = rng_u64(&c->rng),
					    .together = axis_index(c, "concurrent") == 0};
	TRY(c->status, rank_program_open_devices(c));
	if (TRY(c->status, rank_program_command(c, &command)))
		return c->status;
	if (s->pairing.count == 0)
		return err_note(-ENOTSUP, "no pair of these rounds is %s", place_of(scope));
	return link_log_open(c->state, PAIR_VARIANTS, s->pairing.links);
}

static int body(struct bench_case *c, long way, uint64_t iterations)
{
	struct pairs *p = c->arg;
	int status = command_ranks(c, PAIR_RUN, way, iterations);
	c->self_seconds = p->session.seconds;
	if (status == 0)
		link_log_add(c->state, (unsigned)way, c->self_seconds / (double)iterations,
			     p->session.link_seconds, p->poisoned);
	p->poisoned = false;
	return status;
}

static void model(const struct bench_case *c, long way, struct bench_model *m)
{
	const struct pair_session *s = session_of(c);
	const struct pair_way *w = &pair_ways[way];
	m->messages = w->trips * 2.0 * (double)s->pairing.count;
	m->bytes = w->windows * (double)s->pairing.count *
		   ((double)s->command.bytes * s->command.window);
}

static int poison(struct bench_case *c, long way)
{
	((struct pairs *)c->arg)->poisoned = true;
	return command_ranks(c, PAIR_POISON, way, 0);
}

static int check(struct bench_case *c, long way) { return command_ranks(c, PAIR_CHECK, way, 0); }

static const struct bench_variant variants[] = {
	[PAIR_FORWARD] = {"forward", BENCH_SELF, PAIR_FORWARD},
	[PAIR_BACKWARD] = {"backward", BENCH_SELF, PAIR_BACKWARD},
	[PAIR_BOTH_WAYS] = {"both_ways", BENCH_SELF, PAIR_BOTH_WAYS},
	[PAIR_ROUND_TRIP] = {"round_trip", BENCH_SELF, PAIR_ROUND_TRIP},
	{0}};

/* By rank, with blanks between them. */
static void report_hosts(struct bench_case *c)
{
	const struct pair_session *s = session_of(c);
	struct text hosts = {0}, nodes = {0}, rails = {0};
	for (int r = 0; r < mpi_job.size; r++) {
		text_add(&hosts, "%s%s", r ? " " : "", s->hosts[r]);
		text_add(&nodes, "%s%d", r ? " " : "", s->nodes[r]);
		text_add(&rails, "%s%u", r ? " " : "", s->pairing.rail[r]);
	}
	bench_fact_text(c, "hosts", text_whole(&hosts));
	bench_fact_text(c, "node_of_rank", text_whole(&nodes));
	if (s->command.scope == PAIRING_SAME_RAIL || s->command.scope == PAIRING_CROSS_RAIL)
		bench_fact_text(c, "rail_of_rank", text_whole(&rails));
	text_free(&hosts);
	text_free(&nodes);
	text_free(&rails);
}

static int derive(struct bench_case *c)
{
	const struct pair_session *s = session_of(c);
	const struct link_metrics metrics = {&s->pairing, c->state,
					     (double)s->command.bytes * s->command.window};
	bench_fact_number(c, "nodes", mpi_job.hosts);
	bench_fact_number(c, "rounds", s->pairing.rounds);
	bench_fact_number(c, "rounds_of_all_pairs", s->pairing.all_rounds);
	bench_fact_number(c, "pairs", (double)s->pairing.links);
	bench_fact_text(c, "place", place_of(s->command.scope));
	rank_program_report(c, s->memory.vectors.direct, "window");
	report_hosts(c);
	TRY(c->status, link_metrics_derive(c, &metrics));
	return TRY(c->status, pair_adapters_derive(c, s));
}

static void teardown(struct bench_case *c)
{
	link_log_close(c->state);
	command_ranks(c, PAIR_CLOSE, 0, 0);
}

static const struct bench bench = {
	.name = "collectives/pairs",
	.question = "which pairs of nodes have a slow link?",
	.formula =
		"link_bandwidth = bytes of a window / the pair's own time; link_latency = round "
		"trip of 8 bytes / 2; bandwidth = bytes of all pairs / time of all rounds; byte/s",
	.timed = "windows of messages after a barrier of all ranks, until the receiver has "
		 "acknowledged them; the slowest pair of a round; not the barrier",
	.limits = "all pairs take n - 1 rounds of n ranks (n for odd n), and n (n - 1) / 2 turns "
		  "with --concurrent no; ranks of one node share its adapter; a pair that ends "
		  "early leaves the fabric to the others",
	.share = 0.5,
	.axes = axes,
	.variant_option = "way",
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct link_log),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.derive = derive,
	.teardown = teardown,
};

/* The defaults that follow from the ranks. Headline numbers are those between nodes. */
static int adapt_to_ranks(struct rank_program *p)
{
	const uint32_t ranks = (uint32_t)mpi_job.size;
	char *rounds = ((struct pairs *)p)->rounds;
	if (ranks > 1 && mpi_job.hosts == 1) {
		rank_program_axis(p, "scope")->quick = "within";
		p->bench.primary = NULL;
	}
	if ((uint64_t)pairing_all_rounds(ranks) * (ranks / 2) > MAX_PAIRS) {
		snprintf(rounds, sizeof(((struct pairs *)p)->rounds), "%u",
			 MAX_PAIRS / (ranks / 2));
		rank_program_axis(p, "rounds")->quick = rounds;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pairs p = {.session.program = {.declared = &bench,
					      .adapt = adapt_to_ranks,
					      .execute = pair_session_execute,
					      .close = pair_session_close}};
	return rank_program_main(&p.session.program, argc, argv);
}
