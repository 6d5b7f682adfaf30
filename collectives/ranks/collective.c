/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/collective.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const collective_ports[] = {"one", "all", NULL};
const struct bench_variant collective_half_variants[] = {{"direct", BENCH_SELF},
							 {"ring", BENCH_SELF},
							 {"multi-ring", BENCH_SELF},
							 {"bucket", BENCH_SELF},
							 {"rd-b", BENCH_SELF},
							 {"swing-b", BENCH_SELF},
							 {"bruck", BENCH_SELF},
							 {"trivance", BENCH_SELF},
							 {"bine", BENCH_SELF},
							 {NCCL_TESTS_LIBRARY, BENCH_SELF},
							 {0}};

/* The leader's is c->arg. */
struct collective {
	struct session session;                          /* first; of this rank */
	struct bench_variant rows[SESSION_VARIANTS + 1]; /* the argument of each is its place */
	struct nccl_tests_table table;
	struct bench_format format;
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

static const struct session *session_of(const struct bench_case *c) { return c->arg; }

static int command_ranks(const struct bench_case *c, enum session_opcode opcode, long row,
			 uint64_t iterations)
{
	const struct mpi_command command = {
		.opcode = opcode, .variant = (uint32_t)row, .iterations = iterations};
	return rank_program_command(c, &command);
}

static bool uses_all_ports(const struct bench_case *c)
{
	return session_of(c)->kind == SCHEDULE_ALLREDUCE &&
	       axis_str(c, "ports") == collective_ports[1];
}

/* The rows that are not the library. */
static uint64_t find_algorithms(const struct bench_case *c)
{
	return ~(UINT64_C(1) << bench_variant(c, NCCL_TESTS_LIBRARY));
}

/* Size of a vector in whole elements. With -b, -e, -i and -f it divides into equal parts, as in
 * nccl-tests; otherwise only into elements, as in MPI programs. */
static uint64_t vector_bytes(const struct bench_case *c)
{
	const struct session *s = session_of(c);
	const bool equal = s->program.args.sizes_given && s->kind != SCHEDULE_ALLREDUCE;
	return nccl_tests_bytes(axis_u64(c, "size"), data_bytes(axis_index(c, "type")),
				equal ? (uint64_t)mpi_job.size : 1);
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
	int status = mpi_job_needs_ranks();
	if (status == 0 && dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return err_note(-ENOTSUP, "MPI ranks are not supported on a simulated device");
	if (TRY(status, admit_size(c)) || !rank_program_on_devices(c))
		return status;
	if (mpi_job.virtual_time)
		return err_note(-ENOTSUP, "simulated ranks support only --device host");
	if (session_of(c)->kind != SCHEDULE_ALLGATHER &&
	    (axis_index(c, "type") != DATA_F32 || axis_index(c, "op") != DATA_SUM))
		return err_note(-ENOTSUP, "reduction on devices supports only --type f32 --op sum");
	return 0;
}

static int setup(struct bench_case *c)
{
	const struct session *s = session_of(c);
	struct mpi_command command = {
		.opcode = SESSION_OPEN,
		.bytes = vector_bytes(c),
		.type = axis_index(c, "type"),
		.op = s->kind == SCHEDULE_ALLGATHER ? DATA_SUM : axis_index(c, "op"),
		.ports = uses_all_ports(c) ? SCHEDULE_ALL_PORTS : SCHEDULE_ONE_PORT,
		.seed = rng_u64(&c->rng),
		.dry = mpi_job.virtual_time && !bench_checked(c)};
	bool any = false;
	snprintf(command.shape, sizeof(command.shape), "%s", axis_str(c, "shape"));
	for (unsigned v = 0; v < bench_variants(c); v++)
		command.variants |= (find_algorithms(c) & (uint64_t)bench_variant_on(c, v) << v);
	TRY(c->status, rank_program_open_devices(c));
	if (TRY(c->status, rank_program_command(c, &command)))
		return c->status;
	for (unsigned v = 0; v < bench_variants(c); v++) {
		if (s->variant[v].is_unsupported)
			bench_variant_off(c, v);
		if (vector_bytes(c) <= COLLECTIVE_SINGLE_BYTES && !rank_program_oversubscribed(c))
			bench_single_times(c, v);
		any = any || bench_variant_on(c, v);
	}
	return any ? 0 : err_note(-ENOTSUP, "%s", s->unsupported_reason);
}

static int body(struct bench_case *c, long row, uint64_t iterations)
{
	int status = command_ranks(c, SESSION_RUN, row, iterations);
	c->self_seconds = session_of(c)->seconds;
	return status;
}

static void model(const struct bench_case *c, long row, struct bench_model *m)
{
	m->bytes = (double)vector_bytes(c);
}

static int poison(struct bench_case *c, long row)
{
	return command_ranks(c, SESSION_POISON, row, 0);
}

static int check(struct bench_case *c, long row) { return command_ranks(c, SESSION_CHECK, row, 0); }

/* The requested algorithm ran: the leader's messages, counted when they were sent, are those of the
 * schedule. */
static int verify_mechanism(struct bench_case *c)
{
	char name[64];
	for (unsigned v = 0; v < bench_variants(c); v++) {
		const struct session_variant *of = &session_of(c)->variant[v];
		if (!bench_variant_on(c, v) || !of->exchange)
			continue;
		const struct exchange_traffic *t = exchange_traffic(of->exchange);
		snprintf(name, sizeof(name), "%s ran", schedule_name(of->schedule));
		bench_mechanism(c, name,
				t->messages == t->runs * t->planned_messages &&
					t->bytes == t->runs * t->planned_bytes,
				"rank 0 sent %.4g messages and %.6g bytes in each of %llu runs; "
				"the schedule has %llu and %llu",
				(double)t->messages / (double)t->runs,
				(double)t->bytes / (double)t->runs, (unsigned long long)t->runs,
				(unsigned long long)t->planned_messages,
				(unsigned long long)t->planned_bytes);
	}
	return 0;
}

static int derive(struct bench_case *c)
{
	const struct session *s = session_of(c);
	for (unsigned v = 0; v < bench_variants(c) && mpi_job.common_clock; v++)
		if (bench_variant_on(c, v))
			bench_value(c, "entry_skew", (int)v, s->variant[v].skew_s, "s",
				    "last rank's entry - first rank's; median of the last body");
	nccl_tests_derive(c, s->kind == SCHEDULE_ALLREDUCE, (size_t)mpi_job.size, vector_bytes(c),
			  find_algorithms(c));
	bench_fact_text(c, "timed",
			mpi_job.common_clock ? "last entry to last exit, one clock"
					     : "longest of the ranks' durations");
	if (vector_bytes(c) != axis_u64(c, "size"))
		bench_fact_number(c, "vector_bytes", (double)vector_bytes(c));
	rank_program_report(c, s->vectors.direct, "message");
	if (rank_program_on_devices(c)) {
		bench_fact_number(c, "ranks_on_a_device", s->program.device.max_ranks);
		if (bench_variant_on(c, bench_variant(c, NCCL_TESTS_LIBRARY)))
			bench_fact_text(c, "library_transport",
					s->vectors.direct
						? RANK_PROGRAM_DIRECT
						: "the whole vector staged through pinned host "
						  "memory, combined by the CPU");
	}
	return c->status;
}

static void teardown(struct bench_case *c) { command_ranks(c, SESSION_CLOSE, 0, 0); }

/* ------------------------------------------------------------------ the table of nccl-tests */

static void describe_case(const struct bench_case *c, struct nccl_tests_point *p)
{
	const struct collective *x = c->arg;
	const enum schedule_kind kind = x->session.kind;
	const char *shape = axis_str(c, "shape");
	const bool is_line = strcmp(shape, x->line) == 0;
	const uint64_t elements = vector_bytes(c) / data_bytes(axis_index(c, "type"));
	p->asked = axis_u64(c, "size");
	p->bytes = vector_bytes(c);
	p->count = kind == SCHEDULE_ALLREDUCE ? elements : elements / (uint64_t)mpi_job.size;
	p->type = axis_str(c, "type");
	p->op = x->session.program.reduces ? axis_str(c, "op") : NULL;
	snprintf(p->shape, sizeof(p->shape), "%s%s%s", is_line ? "" : shape,
		 is_line || !uses_all_ports(c) ? "" : " ", uses_all_ports(c) ? "all ports" : "");
}

static int list_ranks(const struct bench_case *c, struct nccl_tests_rank **ranks_p, size_t *count_p)
{
	struct session *s = c->arg;
	int status = command_ranks(c, SESSION_LIST, 0, 0);
	*ranks_p = s->ranks;
	*count_p = (size_t)mpi_job.size;
	s->ranks = NULL;
	return status;
}

/* ------------------------------------------------------------------ starting */

/* The next word of a list like "a,b". False at its end. */
static bool take_word(const char **list_p, char *word, size_t capacity)
{
	const char *list = *list_p;
	const size_t length = list ? strcspn(list, ",") : 0;
	if (!list)
		return false;
	snprintf(word, capacity, "%.*s", (int)length, list);
	*list_p = list[length] ? list + length + 1 : NULL;
	return true;
}

static bool has_row(const struct bench *b, const char *name)
{
	const struct bench_variant *v = b->variants;
	while (v->name && strcmp(v->name, name) != 0)
		v++;
	return v->name;
}

/* An explicitly named algorithm that does not support a named shape is a usage error. A default
 * algorithm is skipped where it is not supported. The harness reports names that do not exist. */
static int reject_unsupported(const struct collective *x)
{
	const struct nccl_tests_args *args = &x->session.program.args;
	const char *algorithms = nccl_tests_args_value(args, "algorithm"),
		   *given = nccl_tests_args_value(args, "shape"),
		   *ports = nccl_tests_args_value(args, "ports");
	char name[64], shape[GRID_TEXT];
	while (take_word(&algorithms, name, sizeof(name))) {
		const char *shapes = given ? given : x->line;
		while (has_row(x->session.program.declared, name) &&
		       take_word(&shapes, shape, sizeof(shape))) {
			struct schedule *schedule = NULL;
			struct grid grid;
			if (collective_accept_shape(shape) || grid_parse(shape, &grid))
				continue;
			if (session_schedule(name, &grid,
					     ports && strstr(ports, "all") ? SCHEDULE_ALL_PORTS
									   : SCHEDULE_ONE_PORT,
					     x->session.kind, &schedule) == -ENOTSUP)
				return -EINVAL;
			schedule_close(schedule);
		}
	}
	return 0;
}

static int adapt_bench(struct rank_program *p)
{
	struct collective *x = (struct collective *)p;
	struct bench *b = &p->bench;
	for (unsigned i = 0; b->variants[i].name; i++) {
		assert(i < SESSION_VARIANTS);
		x->rows[i] = b->variants[i];
		x->rows[i].arg = i;
	}
	snprintf(x->line, sizeof(x->line), "%d", mpi_job.size);
	rank_program_axis(p, "shape")->quick = x->line;
	x->table.source = (struct nccl_tests_source){.bench = p->declared,
						     .twice = x->session.kind == SCHEDULE_ALLREDUCE,
						     .one_device = true,
						     .simulated = mpi_job.virtual_time,
						     .describe = describe_case,
						     .list_ranks = list_ranks};
	x->format = nccl_tests_format(&x->table);
	b->variants = x->rows;
	b->format = &x->format;
	b->option_notes = nccl_tests_notes;
	b->variant_option = "algorithm";
	b->admit = admit;
	b->setup = setup;
	b->body = body;
	b->model = model;
	b->poison = poison;
	b->check = check;
	b->verify_mechanism = verify_mechanism;
	b->derive = derive;
	b->teardown = teardown;
	/* Records, resume and report keep results of simulated ranks apart from real ones. */
	if (mpi_job.virtual_time) {
		snprintf(x->name, sizeof(x->name), "%s@simgrid", b->name);
		b->name = x->name;
		b->limits = "SimGrid simulates ranks, network and clock: flows share links, there "
			    "are no packets, and computing takes no time";
	}
	return mpi_job.size > 1 ? reject_unsupported(x) : 0;
}

static void close_program(struct rank_program *p)
{
	nccl_tests_table_free(&((struct collective *)p)->table);
}

int collective_main(const struct bench *b, enum schedule_kind kind, int argc, char **argv)
{
	struct collective x = {.session = {.program = {.declared = b,
						       .reduces = kind != SCHEDULE_ALLGATHER,
						       .adapt = adapt_bench,
						       .execute = session_execute,
						       .close = close_program},
					   .kind = kind}};
	return rank_program_main(&x.session.program, argc, argv);
}
