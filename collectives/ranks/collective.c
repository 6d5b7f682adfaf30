/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/collective.h"
#include "collectives/nccl_tests/nccl_tests_args.h"
#include "collectives/nccl_tests/nccl_tests_rates.h"
#include "collectives/nccl_tests/nccl_tests_table.h"
#include "collectives/ranks/mpi_job.h"
#include "collectives/ranks/rank_device.h"
#include "collectives/ranks/rank_program.h"
#include "collectives/ranks/session.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INDEXED(label) COLLECTIVE_VARIANT(label, SCHEDULE_INDEXED)

const char *const collective_ports[] = {"one", "all", NULL};
const struct bench_variant collective_indexed[] = {INDEXED("direct"),
						   INDEXED("ring"),
						   INDEXED("multi-ring"),
						   INDEXED("bucket"),
						   INDEXED("rd-b"),
						   INDEXED("swing-b"),
						   INDEXED("bruck"),
						   INDEXED("trivance"),
						   INDEXED("bine"),
						   INDEXED(SESSION_LIBRARY),
						   {0}};

enum { MAX_AXES = 8 };

/* The leader's; c->arg. */
struct leader {
	const struct bench *bench; /* as declared */
	struct bench program;
	struct axis axes[MAX_AXES + 1];
	struct bench_job job;
	struct nccl_tests_args args;
	struct nccl_tests_table table;
	struct bench_format format;
	enum schedule_kind kind;
	struct session *session;
	struct mpi_command_handler ranks;
	const char *device_given; /* NULL: the default, the host */
	bool devices_open;        /* on all ranks */
	char name[64];
	char line[GRID_TEXT]; /* one dimension with all ranks */
};

int collective_accept_shape(const char *word)
{
	struct grid grid;
	int status = grid_parse(word, &grid);
	if (status == 0 && grid.nodes != (uint32_t)mpi_job.size)
		status = err_note(-EINVAL, "shape %s has %u nodes; the job has %d ranks", word,
				  grid.nodes, mpi_job.size);
	return status;
}

/* ------------------------------------------------------------------ the leader's callbacks */

static struct mpi_command make_command(enum session_opcode opcode, unsigned variant,
				       uint64_t iterations)
{
	return (struct mpi_command){.opcode = opcode, .variant = variant, .iterations = iterations};
}

/* Size of a vector in whole elements. With -b, -e, -i and -f it divides into equal parts, as in
 * nccl-tests; otherwise only into elements, as in MPI programs. */
static uint64_t vector_bytes(const struct bench_case *c)
{
	const struct leader *leader = c->arg;
	const bool equal = leader->args.sizes_given && leader->kind != SCHEDULE_ALLREDUCE;
	return nccl_tests_bytes(axis_u64(c, "size"), data_bytes(axis_index(c, "type")),
				equal ? (uint64_t)mpi_job.size : 1);
}

/* True when vectors are in memory that the host cannot access. */
static bool uses_device_memory(const struct bench_case *c)
{
	return !dev_can(c->dev, DEV_CAP_HOST_ACCESS);
}

static int admit_size(const struct bench_case *c)
{
	const uint64_t bytes = vector_bytes(c),
		       elements = bytes / data_bytes(axis_index(c, "type")),
		       ranks = (uint64_t)mpi_job.leader_host_ranks;
	if (!bytes)
		return err_note(-ENOTSUP, "%llu bytes for %d ranks: not one element for each",
				(unsigned long long)axis_u64(c, "size"), mpi_job.size);
	if (elements > INT32_MAX)
		return err_note(-ENOTSUP, "%llu elements: MPI supports up to %d",
				(unsigned long long)elements, INT32_MAX);
	/* Input, output and the messages that are packed. */
	if (!mpi_job.virtual_time && dev_can(c->dev, DEV_CAP_HOST_ACCESS) &&
	    3 * bytes * ranks > dev_props(c->dev)->memory_bytes)
		return err_note(
			-ENOMEM,
			"%llu ranks of a node need 3 times %llu bytes each; %llu are available",
			(unsigned long long)ranks, (unsigned long long)bytes,
			(unsigned long long)dev_props(c->dev)->memory_bytes);
	return 0;
}

static int admit(const struct bench_case *c)
{
	const struct leader *leader = c->arg;
	int status = mpi_job_needs_ranks();
	if (status)
		return status;
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return err_note(-ENOTSUP, "MPI ranks are not supported on a simulated device");
	status = admit_size(c);
	if (status || !uses_device_memory(c))
		return status;
	if (mpi_job.virtual_time)
		return err_note(-ENOTSUP, "simulated ranks support only --device host");
	if (leader->kind != SCHEDULE_ALLGATHER &&
	    (axis_index(c, "type") != DATA_F32 || axis_index(c, "op") != DATA_SUM))
		return err_note(-ENOTSUP, "reduction on devices supports only --type f32 --op sum");
	return 0;
}

/* Opens the device of every rank, once. */
static int open_rank_devices(struct bench_case *c)
{
	struct leader *leader = c->arg;
	if (leader->devices_open)
		return 0;
	int status = rank_program_open_devices(&leader->ranks, SESSION_DEVICE,
					       session_device(leader->session),
					       leader->device_given, c->devices);
	leader->devices_open = status == 0;
	return status;
}

static int setup(struct bench_case *c)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_OPEN, 0, 0);
	command.kind = leader->kind;
	command.bytes = vector_bytes(c);
	command.type = axis_index(c, "type");
	command.op = leader->kind == SCHEDULE_ALLGATHER ? DATA_SUM : axis_index(c, "op");
	command.ports =
		leader->kind == SCHEDULE_ALLREDUCE && axis_str(c, "ports") == collective_ports[1]
			? SCHEDULE_ALL_PORTS
			: SCHEDULE_ONE_PORT;
	command.seed = rng_u64(&c->rng);
	command.dry = mpi_job.virtual_time && !bench_checked(c);
	snprintf(command.shape, sizeof(command.shape), "%s", axis_str(c, "shape"));
	for (unsigned v = 0; leader->program.variants[v].name; v++)
		command.variants |= (uint64_t)bench_variant_on(c, v) << v;
	int status = uses_device_memory(c) ? open_rank_devices(c) : 0;
	if (status == 0)
		status = mpi_job_command(&leader->ranks, &command);
	if (status)
		return status;
	bool any = false;
	for (unsigned v = 0; leader->program.variants[v].name; v++) {
		if (!bench_variant_on(c, v))
			continue;
		if (session_is_unsupported(leader->session, v))
			bench_variant_off(c, v);
		else
			any = true;
	}
	return any ? 0 : err_note(-ENOTSUP, "%s", session_unsupported_reason(leader->session));
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_RUN, variant, iterations);
	int status = mpi_job_command(&leader->ranks, &command);
	c->self_seconds = session_seconds(leader->session);
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->bytes = (double)vector_bytes(c);
}

static int poison(struct bench_case *c, unsigned variant)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_POISON, variant, 0);
	return mpi_job_command(&leader->ranks, &command);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_CHECK, variant, 0);
	return mpi_job_command(&leader->ranks, &command);
}

/* The requested algorithm ran: the leader's messages, counted when they were sent, are those of the
 * schedule. */
static int verify_mechanism(struct bench_case *c)
{
	const struct leader *leader = c->arg;
	char name[64];
	for (unsigned v = 0; leader->program.variants[v].name; v++) {
		struct session_traffic t;
		if (!bench_variant_on(c, v) || !session_traffic(leader->session, v, &t))
			continue;
		snprintf(name, sizeof(name), "%s ran", t.algorithm);
		bench_mechanism(c, name,
				t.messages == t.runs * t.planned_messages &&
					t.bytes == t.runs * t.planned_bytes,
				"rank 0 sent %.4g messages and %.6g bytes in each of %llu runs; "
				"the schedule has %llu and %llu",
				(double)t.messages / (double)t.runs,
				(double)t.bytes / (double)t.runs, (unsigned long long)t.runs,
				(unsigned long long)t.planned_messages,
				(unsigned long long)t.planned_bytes);
	}
	return 0;
}

/* ------------------------------------------------------------------ what follows from the times */

static int variant_named(const struct bench *program, const char *name)
{
	for (int v = 0; program->variants[v].name; v++)
		if (strcmp(program->variants[v].name, name) == 0)
			return v;
	return -1;
}

static int derive_variant(struct bench_case *c, unsigned v)
{
	const struct leader *leader = c->arg;
	int library = variant_named(&leader->program, SESSION_LIBRARY);
	/* Bytes that every rank's link must carry in each direction whatever the algorithm, as
	 * nccl-tests counts. */
	const bool twice = leader->kind == SCHEDULE_ALLREDUCE;
	const double p = mpi_job.size,
		     bytes = (twice ? 2.0 : 1.0) * (p - 1.0) / p * (double)vector_bytes(c);
	int status = bench_rate(c, "bus_bandwidth", v, bytes, "byte/s",
				twice ? "2 (p-1)/p bytes / time" : "(p-1)/p bytes / time");
	if (mpi_job.common_clock)
		bench_value(c, "entry_skew", (int)v, session_skew(leader->session, v), "s",
			    "last rank's entry - first rank's; median of the last body");
	if (status == 0 && library >= 0 && (int)v != library)
		status = bench_ratio(c, "library_time_ratio", v, (unsigned)library, NULL);
	return status;
}

/* Reports where vectors are and how data moves between ranks. */
static void report_transport(struct bench_case *c)
{
	const struct leader *leader = c->arg;
	const struct rank_device *device = session_device(leader->session);
	int library = variant_named(&leader->program, SESSION_LIBRARY);
	if (!uses_device_memory(c)) {
		bench_fact_text(c, "transport", "host memory");
		return;
	}
	bench_fact_text(c, "transport",
			"device memory, each message staged through pinned host memory");
	bench_fact_text(c, "rank_devices", device->names);
	bench_fact_number(c, "ranks_on_a_device", device->max_ranks);
	if (library >= 0 && bench_variant_on(c, (unsigned)library))
		bench_fact_text(
			c, "library_transport",
			"the whole vector staged through pinned host memory, combined by the CPU");
	if (device->max_ranks > 1)
		bench_flag(c, "oversubscribed",
			   "%d ranks share a device: the time includes waiting for each other",
			   device->max_ranks);
}

static int derive(struct bench_case *c)
{
	const struct leader *leader = c->arg;
	int status = 0, indexed = variant_named(&leader->program, "swing-b-indexed"),
	    renamed = variant_named(&leader->program, "swing-b");
	for (unsigned v = 0; status == 0 && leader->program.variants[v].name; v++)
		if (bench_variant_on(c, v))
			status = derive_variant(c, v);
	uint64_t algorithms = 0;
	for (unsigned v = 0; leader->program.variants[v].name; v++)
		algorithms |=
			(uint64_t)(strcmp(leader->program.variants[v].name, SESSION_LIBRARY) != 0)
			<< v;
	bench_alias_fastest(c, "bus_bandwidth", algorithms, "best_bus_bandwidth",
			    "bus_bandwidth of the fastest algorithm, excluding the library's");
	if (status == 0 && indexed >= 0 && renamed >= 0)
		status = bench_ratio(c, "indexing_time_ratio", (unsigned)indexed, (unsigned)renamed,
				     NULL);
	bench_fact_text(c, "library", mpi_job.library);
	bench_fact_text(c, "timed",
			mpi_job.common_clock ? "last entry to last exit, one clock"
					     : "longest of the ranks' durations");
	bench_fact_number(c, "ranks", mpi_job.size);
	if (vector_bytes(c) != axis_u64(c, "size"))
		bench_fact_number(c, "vector_bytes", (double)vector_bytes(c));
	report_transport(c);
	rank_program_flag_shared_cores(c);
	return status;
}

static void teardown(struct bench_case *c)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_CLOSE, 0, 0);
	mpi_job_command(&leader->ranks, &command);
}

/* ------------------------------------------------------------------ the table of nccl-tests */

static bool has_operation(enum schedule_kind kind) { return kind != SCHEDULE_ALLGATHER; }

static void describe_case(const struct bench_case *c, struct nccl_tests_point *p)
{
	const struct leader *leader = c->arg;
	const char *shape = axis_str(c, "shape");
	const bool all_ports =
		leader->kind == SCHEDULE_ALLREDUCE && axis_str(c, "ports") == collective_ports[1];
	uint64_t elements = vector_bytes(c) / data_bytes(axis_index(c, "type"));
	p->asked = axis_u64(c, "size");
	p->bytes = vector_bytes(c);
	p->count =
		leader->kind == SCHEDULE_ALLREDUCE ? elements : elements / (uint64_t)mpi_job.size;
	p->type = axis_str(c, "type");
	p->op = has_operation(leader->kind) ? axis_str(c, "op") : NULL;
	snprintf(p->shape, sizeof(p->shape), "%s%s", strcmp(shape, leader->line) ? shape : "",
		 !all_ports                    ? ""
		 : strcmp(shape, leader->line) ? " all ports"
					       : "all ports");
}

static int list_ranks(const struct bench_case *c, struct nccl_tests_rank **ranks_p, size_t *count_p)
{
	const struct leader *leader = c->arg;
	struct mpi_command command = make_command(SESSION_LIST, 0, 0);
	int status = mpi_job_command(&leader->ranks, &command);
	if (status)
		return status;
	struct rank_list *list = session_list(leader->session);
	*ranks_p = list->ranks;
	*count_p = (size_t)mpi_job.size;
	list->ranks = NULL;
	return 0;
}

/* ------------------------------------------------------------------ starting */

/* An explicitly named algorithm that does not support a named shape is a usage error. A default
 * algorithm is skipped where it is not supported. */
static int reject_unsupported(const struct leader *leader)
{
	const struct nccl_tests_args *args = &leader->args;
	const char *algorithms = nccl_tests_args_value(args, "algorithm"),
		   *shapes = nccl_tests_args_value(args, "shape"),
		   *ports = nccl_tests_args_value(args, "ports");
	enum schedule_ports wanted =
		ports && strstr(ports, "all") ? SCHEDULE_ALL_PORTS : SCHEDULE_ONE_PORT;
	char name[64], shape[GRID_TEXT];
	struct grid grid;
	if (!algorithms)
		return 0;
	for (const char *a = algorithms; a; a = strchr(a, ',') ? strchr(a, ',') + 1 : NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(a, ","), a);
		int v = variant_named(&leader->program, name);
		for (const char *s = shapes ? shapes : leader->line; s;
		     s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
			struct schedule *schedule = NULL;
			snprintf(shape, sizeof(shape), "%.*s", (int)strcspn(s, ","), s);
			if (v < 0 || strcmp(name, SESSION_LIBRARY) == 0 ||
			    collective_accept_shape(shape) || grid_parse(shape, &grid))
				continue; /* the harness reports the error */
			if (session_schedule(&leader->program.variants[v], &grid, wanted,
					     leader->kind, &schedule))
				return -EINVAL;
			schedule_close(schedule);
		}
	}
	return 0;
}

static void add_callbacks(struct bench *b)
{
	b->variant_option = "algorithm";
	b->admit = admit;
	b->setup = setup;
	b->indexed.body = body;
	b->indexed.model = model;
	b->indexed.poison = poison;
	b->indexed.check = check;
	b->verify_mechanism = verify_mechanism;
	b->derive = derive;
	b->teardown = teardown;
}

/* The default of --shape is known only now. */
static void add_axes(struct leader *leader, const struct bench *b)
{
	size_t count = 0;
	for (; b->axes[count].name; count++) {
		assert(count < MAX_AXES);
		leader->axes[count] = b->axes[count];
		if (strcmp(b->axes[count].name, "shape") == 0)
			leader->axes[count].quick = leader->line;
	}
	snprintf(leader->line, sizeof(leader->line), "%d", mpi_job.size);
	leader->program.axes = leader->axes;
}

static void add_format(struct leader *leader, const struct bench *b)
{
	leader->table.source =
		(struct nccl_tests_source){.bench = b,
					   .twice = leader->kind == SCHEDULE_ALLREDUCE,
					   .one_device = true,
					   .simulated = mpi_job.virtual_time,
					   .describe = describe_case,
					   .list_ranks = list_ranks};
	leader->format = nccl_tests_format(&leader->table);
	leader->program.format = &leader->format;
	leader->program.option_notes = nccl_tests_notes;
}

static int run_leader(void *state, int argc, char **argv)
{
	struct leader *leader = state;
	const struct bench *b = leader->bench;
	const struct nccl_tests_program known = {
		.bench = b, .reduces = has_operation(leader->kind), .ranks = true};
	leader->program = *b;
	add_axes(leader, b);
	add_format(leader, b);
	if (nccl_tests_args_translate(&known, argc, argv, &leader->args) ||
	    (mpi_job.size > 1 && reject_unsupported(leader))) {
		err_print("%s: %s", b->name, err_text());
		return 2;
	}
	leader->job = rank_program_job();
	leader->device_given = nccl_tests_args_value(&leader->args, "device");
	add_callbacks(&leader->program);
	leader->program.job = &leader->job;
	leader->program.arg = leader;
	/* Records, resume and report keep results of simulated ranks apart from real ones. */
	if (mpi_job.virtual_time) {
		snprintf(leader->name, sizeof(leader->name), "%s@simgrid", b->name);
		leader->program.name = leader->name;
		leader->program.limits = "SimGrid simulates ranks, network and clock: flows share "
					 "links, there are no packets, and computing takes no time";
	}
	int code = bench_main(&leader->program, leader->args.argc, leader->args.argv);
	nccl_tests_table_free(&leader->table);
	return code;
}

static void close_session(void *session) { session_free(session); }

int collective_main(const struct bench *b, enum schedule_kind kind, int argc, char **argv)
{
	struct session *session = NULL;
	int status = session_make(b, &session);
	if (status) {
		err_print("%s: %s", b->name, err_text());
		return 77;
	}
	struct leader leader = {.bench = b,
				.kind = kind,
				.session = session,
				.ranks = {.execute = session_execute, .state = session}};
	const struct rank_program program = {.name = b->name,
					     .ranks = &leader.ranks,
					     .lead = run_leader,
					     .leader = &leader,
					     .close = close_session};
	return rank_program_main(&program, argc, argv);
}
