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
#include "bench/bench.h"
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/pairs/link_metrics.h"
#include "collectives/ranks/pair_report.h"
#include "collectives/ranks/rank_program.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Pairs that a record keeps: all of 128 nodes. */
#define MAX_PAIRS 8192u

static const char *const pairings[] = {"round-robin", "random", NULL};
static const char *const scopes[] = {"between", "within", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};

enum { SCOPE_AXIS, PAIRING_AXIS, ROUNDS_AXIS, AXES = 6 };
static const struct axis axes[AXES + 1] = {
	[SCOPE_AXIS] = {.name = "scope",
			.help = "pairs of ranks on different nodes, or within a node (the default "
				"if all ranks are on one node)",
			.kind = AXIS_WORD,
			.words = scopes,
			.quick = "between"},
	[PAIRING_AXIS] = {.name = "pairing",
			  .help = "round-robin: every pair once; random: a random matching a round",
			  .kind = AXIS_WORD,
			  .words = pairings,
			  .quick = "round-robin"},
	[ROUNDS_AXIS] = {.name = "rounds",
			 .help = "number of rounds; all: n - 1 for n ranks, n for odd n",
			 .kind = AXIS_WORD,
			 .accept = pairing_accept_rounds,
			 .quick = "all"},
	{.name = "concurrent",
	 .help = "yes: all pairs of a round at once; no: one pair at a time, n (n - 1) / 2 turns",
	 .kind = AXIS_WORD,
	 .words = yes_no,
	 .quick = "yes",
	 .full = "yes,no"},
	{.name = "window",
	 .help = "messages in flight",
	 .kind = AXIS_COUNT,
	 .min = 1,
	 .max = 1024,
	 .quick = "16"},
	{.name = "size",
	 .help = "bytes of a message, rounded down to a multiple of 8",
	 .kind = AXIS_SIZE,
	 .min = 1,
	 .max = UINT64_C(16) << 30,
	 .quick = "1M",
	 .full = "64K,1M,8M"},
	{0}};

static const struct bench_variant variants[] = {
	[PAIR_FORWARD] = BENCH_ROW("forward", BENCH_SELF),
	[PAIR_BACKWARD] = BENCH_ROW("backward", BENCH_SELF),
	[PAIR_BOTH_WAYS] = BENCH_ROW("both_ways", BENCH_SELF),
	[PAIR_ROUND_TRIP] = BENCH_ROW("round_trip", BENCH_SELF),
	{0}};

static const struct bench_metric primary[] = {
	{"pairs_min_bandwidth", "min_bandwidth", NULL, "concurrent=yes size=1M", "byte/s",
	 "higher"},
	{"pairs_median_bandwidth", "median_bandwidth", NULL, "concurrent=yes size=1M", "byte/s",
	 "higher"},
	{"pairs_max_latency", "max_latency", NULL, "concurrent=yes size=1M", "s", "lower"},
	{0}};

/* State of the leader that outlives a case; c->arg. */
struct leader {
	struct bench program;
	struct axis axes[AXES + 1];
	struct bench_job job;
	struct nccl_tests_args args;
	struct mpi_command_handler ranks;
	struct pair_session session;
	const char *device_given; /* NULL: the default, the host */
	bool devices_open;        /* on all ranks */
	bool poisoned;            /* results were destroyed since the last pass */
	char rounds[16];
};

static struct leader *leader_of(const struct bench_case *c) { return c->arg; }

static int command_ranks(struct leader *leader, enum pair_opcode opcode, unsigned variant,
			 uint64_t iterations)
{
	struct mpi_command command = {
		.opcode = opcode, .variant = variant, .iterations = iterations};
	return mpi_job_command(&leader->ranks, &command);
}

static int admit(const struct bench_case *c)
{
	const uint32_t ranks = (uint32_t)mpi_job.size, all = pairing_all_rounds(ranks),
		       given = pairing_parse_rounds(axis_str(c, "rounds")),
		       rounds = given ? given : all;
	bool between = axis_index(c, "scope") == PAIRING_BETWEEN;
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

/* Opens the device of every rank, once. */
static int open_rank_devices(struct bench_case *c)
{
	struct leader *leader = leader_of(c);
	if (leader->devices_open || dev_can(c->dev, DEV_CAP_HOST_ACCESS))
		return 0;
	int status = rank_program_open_devices(&leader->ranks, PAIR_DEVICE, &leader->session.device,
					       leader->device_given, c->devices);
	leader->devices_open = status == 0;
	return status;
}

static int setup(struct bench_case *c)
{
	struct leader *leader = leader_of(c);
	const struct pair_plan plan = {.kind = axis_index(c, "pairing"),
				       .scope = axis_index(c, "scope"),
				       .rounds = pairing_parse_rounds(axis_str(c, "rounds")),
				       .window = (uint32_t)axis_u64(c, "window"),
				       .bytes = pair_memory_bytes(axis_u64(c, "size")),
				       .seed = rng_u64(&c->rng),
				       .together = axis_index(c, "concurrent") == 0};
	struct mpi_command command = pair_plan_command(&plan);
	int status = open_rank_devices(c);
	status = status ? status : mpi_job_command(&leader->ranks, &command);
	if (status)
		return status;
	if (leader->session.pairing.count == 0)
		return err_note(-ENOTSUP, "no pair of these rounds is %s",
				plan.scope == PAIRING_WITHIN ? "within a node" : "between nodes");
	return link_log_open(c->state, PAIR_VARIANTS, leader->session.pairing.links);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct leader *leader = leader_of(c);
	int status = command_ranks(leader, PAIR_RUN, variant, iterations);
	c->self_seconds = leader->session.seconds;
	if (status == 0)
		link_log_add(c->state, variant, c->self_seconds / (double)iterations,
			     leader->session.link_seconds, leader->poisoned);
	leader->poisoned = false;
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	const struct pair_session *s = &leader_of(c)->session;
	double pairs = (double)s->pairing.count, window = (double)s->plan.bytes * s->plan.window;
	if (variant == PAIR_ROUND_TRIP)
		m->messages = 2.0 * PAIR_ROUND_TRIPS * pairs;
	else
		m->bytes = (variant == PAIR_BOTH_WAYS ? 2.0 : 1.0) * pairs * window;
}

static int poison(struct bench_case *c, unsigned variant)
{
	leader_of(c)->poisoned = true;
	return command_ranks(leader_of(c), PAIR_POISON, variant, 0);
}

static int check(struct bench_case *c, unsigned variant)
{
	return command_ranks(leader_of(c), PAIR_CHECK, variant, 0);
}

static int derive(struct bench_case *c)
{
	const struct pair_session *session = &leader_of(c)->session;
	const struct link_metrics metrics = {&session->pairing, c->state,
					     (double)session->plan.bytes * session->plan.window};
	int status = pair_report(c, session);
	return status ? status : link_metrics_derive(c, &metrics);
}

static void teardown(struct bench_case *c)
{
	link_log_close(c->state);
	command_ranks(leader_of(c), PAIR_CLOSE, 0, 0);
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
	.primary = primary,
	.state_bytes = sizeof(struct link_log),
	.admit = admit,
	.setup = setup,
	.indexed.body = body,
	.indexed.model = model,
	.indexed.poison = poison,
	.indexed.check = check,
	.derive = derive,
	.teardown = teardown,
};

/* The defaults that follow from the ranks. Headline numbers are those between nodes. */
static void adapt_to_ranks(struct leader *leader)
{
	const uint32_t ranks = (uint32_t)mpi_job.size;
	leader->program = bench;
	memcpy(leader->axes, axes, sizeof(axes));
	leader->program.axes = leader->axes;
	if (ranks > 1 && mpi_job.hosts == 1) {
		leader->axes[SCOPE_AXIS].quick = scopes[PAIRING_WITHIN];
		leader->program.primary = NULL;
	}
	if ((uint64_t)pairing_all_rounds(ranks) * (ranks / 2) > MAX_PAIRS) {
		snprintf(leader->rounds, sizeof(leader->rounds), "%u", MAX_PAIRS / (ranks / 2));
		leader->axes[ROUNDS_AXIS].quick = leader->rounds;
	}
}

static int run_leader(void *state, int argc, char **argv)
{
	struct leader *leader = state;
	const struct nccl_tests_program known = {.bench = &bench, .ranks = true};
	if (nccl_tests_args_translate(&known, argc, argv, &leader->args)) {
		err_print("%s: %s", bench.name, err_text());
		return 2;
	}
	adapt_to_ranks(leader);
	leader->job = rank_program_job();
	leader->device_given = nccl_tests_args_value(&leader->args, "device");
	leader->program.job = &leader->job;
	leader->program.arg = leader;
	return bench_main(&leader->program, leader->args.argc, leader->args.argv);
}

int main(int argc, char **argv)
{
	struct leader leader = {.ranks = {.execute = pair_session_execute}};
	leader.ranks.state = &leader.session;
	const struct rank_program program = {.name = bench.name,
					     .ranks = &leader.ranks,
					     .lead = run_leader,
					     .leader = &leader,
					     .close = pair_session_close};
	return rank_program_main(&program, argc, argv);
}
