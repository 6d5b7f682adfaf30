/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/collective.h"
#include "collectives/ranks/crew.h"
#include "collectives/ranks/dialect.h"
#include "collectives/ranks/rank_device.h"
#include "collectives/ranks/session.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const collective_ports[] = {"one", "all", NULL};
char collective_line[GRID_TEXT];

static const struct bench *program;
static enum schedule_kind kind;
static const char *device_given; /* NULL: the default, the host */
static bool devices_open;        /* of all ranks */

int collective_accept_shape(const char *word)
{
	struct grid grid;
	int status = grid_parse(word, &grid);
	if (status == 0 && grid.nodes != (uint32_t)crew.size)
		status = err_note(-EINVAL, "shape %s has %u nodes, and there are %d ranks", word, grid.nodes, crew.size);
	return status;
}

/* ------------------------------------------------------------------ the leader's callbacks */

static struct order order(enum session_order what, unsigned variant, uint64_t iterations)
{
	return (struct order){.what = what, .variant = variant, .iterations = iterations};
}

/* Do vectors live in memory that the host can't touch? */
static bool on_devices(const struct bench_case *c) { return !dev_can(c->dev, DEV_CAP_HOST_ACCESS); }

static int admit(const struct bench_case *c)
{
	if (crew.size < 2)
		return err_note(-ENODEV, "one rank has nobody to talk to: start it with mpirun -n 2, or srun");
	if (dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return err_note(-ENOTSUP, "ranks run on the host, not on a simulated device");
	if (!on_devices(c))
		return 0;
	if (crew.virtual_time)
		return err_note(-ENOTSUP, "simulated ranks have no devices: --device host");
	if (kind != SCHEDULE_ALLGATHER && (bench_choice(c, "type") != DATA_F32 || bench_choice(c, "op") != DATA_SUM))
		return err_note(-ENOTSUP, "devices add f32 and do nothing else: --type f32 --op sum");
	return 0;
}

/* Every rank's own, once. */
static int open_devices(struct bench_case *c)
{
	struct order o = order(SESSION_DEVICE, 0, 0);
	if (devices_open)
		return 0;
	rank_device_list(device_given, c->devices, &o.devices);
	int status = crew_do(&o);
	devices_open = status == 0;
	return status;
}

static int setup(struct bench_case *c)
{
	struct order o = order(SESSION_OPEN, 0, 0);
	o.kind = kind;
	o.bytes = bench_number(c, "size");
	o.type = bench_choice(c, "type");
	o.op = kind == SCHEDULE_ALLGATHER ? DATA_SUM : bench_choice(c, "op");
	o.ports = kind == SCHEDULE_ALLREDUCE && bench_word(c, "ports") == collective_ports[1] ? SCHEDULE_ALL_PORTS
	                                                                                     : SCHEDULE_ONE_PORT;
	o.seed = rng_u64(&c->rng);
	o.dry = crew.virtual_time && !bench_checked(c);
	snprintf(o.shape, sizeof(o.shape), "%s", bench_word(c, "shape"));
	if (o.bytes % data_bytes(o.type))
		return err_note(-ENOTSUP, "%llu bytes are no whole number of elements of %u", (unsigned long long)o.bytes,
		                data_bytes(o.type));
	for (unsigned v = 0; program->variants[v].name; v++)
		o.variants |= (uint64_t)bench_variant_on(c, v) << v;
	int status = on_devices(c) ? open_devices(c) : 0;
	if (status == 0)
		status = crew_do(&o);
	if (status)
		return status;
	bool any = false;
	for (unsigned v = 0; program->variants[v].name; v++) {
		if (!bench_variant_on(c, v))
			continue;
		if (session_refusal(v))
			bench_variant_off(c, v);
		else
			any = true;
	}
	return any ? 0 : err_note(-ENOTSUP, "%s", session_any_refusal());
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct order o = order(SESSION_RUN, variant, iterations);
	int status = crew_do(&o);
	c->self_seconds = session_seconds();
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->bytes = (double)bench_number(c, "size");
}

static int spoil(struct bench_case *c, unsigned variant)
{
	struct order o = order(SESSION_SPOIL, variant, 0);
	(void)c;
	return crew_do(&o);
}

static int check(struct bench_case *c, unsigned variant)
{
	struct order o = order(SESSION_CHECK, variant, 0);
	(void)c;
	return crew_do(&o);
}

/* The algorithm that ran is the one that was asked for: what the leader sent was counted while it was sent. */
static int prove(struct bench_case *c)
{
	char name[64];
	for (unsigned v = 0; program->variants[v].name; v++) {
		struct session_traffic t;
		if (!bench_variant_on(c, v) || !session_traffic(v, &t))
			continue;
		snprintf(name, sizeof(name), "%s ran", t.algorithm);
		bench_mechanism(c, name, t.messages == t.runs * t.planned_messages && t.bytes == t.runs * t.planned_bytes,
		                "rank 0 sent %.4g messages and %.6g bytes in each of %llu runs; the schedule has %llu and %llu",
		                (double)t.messages / (double)t.runs, (double)t.bytes / (double)t.runs, (unsigned long long)t.runs,
		                (unsigned long long)t.planned_messages, (unsigned long long)t.planned_bytes);
	}
	return 0;
}

/* ------------------------------------------------------------------ what follows from the times */

/* bench_derive() does not tell its formula which variant it is about. */
static unsigned about;

/* Bytes that every rank's link must carry in each direction whatever the algorithm, as nccl-tests counts. */
static double bus_factor(void)
{
	double p = crew.size;
	return (kind == SCHEDULE_ALLREDUCE ? 2.0 : 1.0) * (p - 1.0) / p;
}

static double bus_bandwidth(const struct bench_case *c, const double *seconds)
{
	return bus_factor() * (double)bench_number(c, "size") / seconds[about];
}

static int variant_named(const char *name)
{
	for (int v = 0; program->variants[v].name; v++)
		if (strcmp(program->variants[v].name, name) == 0)
			return v;
	return -1;
}

static int derive_variant(struct bench_case *c, unsigned v)
{
	int library = variant_named(SESSION_LIBRARY);
	about = v;
	int status = bench_derive(c, "bus_bandwidth", (int)v, "byte/s", UINT64_C(1) << v, bus_bandwidth,
	                          kind == SCHEDULE_ALLREDUCE ? "2 (p-1)/p bytes / time" : "(p-1)/p bytes / time");
	if (crew.common_clock)
		bench_value(c, "entry_skew", (int)v, session_skew(v), "s", "last rank's entry - first rank's, median of the last body");
	if (status == 0 && library >= 0 && (int)v != library)
		status = bench_ratio(c, "library_time_ratio", v, (unsigned)library, "seconds / seconds(library), block by block");
	return status;
}

/* Where vectors are and how bytes go from rank to rank. */
static void tell_way(struct bench_case *c)
{
	int library = variant_named(SESSION_LIBRARY), most = rank_device_most_ranks();
	if (!on_devices(c)) {
		bench_fact_text(c, "transport", "host memory");
		return;
	}
	bench_fact_text(c, "transport", "device memory, each message staged through pinned host memory");
	bench_fact_text(c, "rank_devices", rank_device_names());
	bench_fact_number(c, "ranks_on_a_device", most);
	if (library >= 0 && bench_variant_on(c, (unsigned)library))
		bench_fact_text(c, "library_transport", "the whole vector staged through pinned host memory, combined by the CPU");
	if (most > 1)
		bench_doubt(c, "oversubscribed", "%d ranks share a device: time is also that of taking turns", most);
}

static int derive(struct bench_case *c)
{
	int status = 0, indexed = variant_named("swing-b-indexed"), renamed = variant_named("swing-b");
	for (unsigned v = 0; status == 0 && program->variants[v].name; v++)
		if (bench_variant_on(c, v))
			status = derive_variant(c, v);
	if (status == 0 && indexed >= 0 && renamed >= 0)
		status = bench_ratio(c, "indexing_time_ratio", (unsigned)indexed, (unsigned)renamed,
		                     "seconds(swing-b-indexed) / seconds(swing-b), block by block");
	bench_fact_text(c, "library", crew.library);
	bench_fact_text(c, "timed", crew.common_clock ? "last entry to last exit, one clock" : "longest of the ranks' durations");
	bench_fact_number(c, "ranks", crew.size);
	tell_way(c);
	if (crew.beside > crew.cores)
		bench_doubt(c, "oversubscribed", "%d ranks share %d cores: time is mostly scheduling", crew.beside, crew.cores);
	return status;
}

static void teardown(struct bench_case *c)
{
	struct order o = order(SESSION_CLOSE, 0, 0);
	(void)c;
	crew_do(&o);
}

/* ------------------------------------------------------------------ starting */

/* The value of the last --NAME VALUE or --NAME=VALUE; NULL when it is not there. */
static const char *given(const struct dialect *d, const char *name)
{
	const char *value = NULL;
	size_t length = strlen(name);
	for (int i = 1; i < d->argc; i++) {
		if (strncmp(d->argv[i], "--", 2) != 0 || strncmp(d->argv[i] + 2, name, length) != 0)
			continue;
		if (d->argv[i][2 + length] == '=')
			value = d->argv[i] + 3 + length;
		else if (!d->argv[i][2 + length] && i + 1 < d->argc)
			value = d->argv[i + 1];
	}
	return value;
}

/* An algorithm that was named but can't do a shape that was named is the user's mistake; one that takes part by default
 * is left out where it can't. */
static int refuse_impossible(const struct dialect *d)
{
	const char *algorithms = given(d, "algorithm"), *shapes = given(d, "shape"), *ports = given(d, "ports");
	enum schedule_ports wanted = ports && strstr(ports, "all") ? SCHEDULE_ALL_PORTS : SCHEDULE_ONE_PORT;
	char name[64], shape[GRID_TEXT];
	struct grid grid;
	if (!algorithms)
		return 0;
	for (const char *a = algorithms; a; a = strchr(a, ',') ? strchr(a, ',') + 1 : NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(a, ","), a);
		int v = variant_named(name);
		for (const char *s = shapes ? shapes : collective_line; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
			struct schedule *schedule = NULL;
			snprintf(shape, sizeof(shape), "%.*s", (int)strcspn(s, ","), s);
			if (v < 0 || strcmp(name, SESSION_LIBRARY) == 0 || collective_accept_shape(shape) || grid_parse(shape, &grid))
				continue; /* the harness says what is wrong with it */
			if (session_schedule(&program->variants[v], &grid, wanted, kind, &schedule))
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
	b->body = body;
	b->model = model;
	b->spoil = spoil;
	b->check = check;
	b->prove = prove;
	b->derive = derive;
	b->teardown = teardown;
}

static int lead(const struct bench *b, int argc, char **argv)
{
	static struct dialect dialect;
	static struct bench_job job;
	static struct bench copy;
	static char name[64];
	if (dialect_translate(argc, argv, &dialect) || (crew.size > 1 && refuse_impossible(&dialect))) {
		err_print("%s: %s", b->name, err_text());
		return 2;
	}
	job = (struct bench_job){.library = crew.library, .processes = (unsigned)crew.size, .hosts = (unsigned)crew.hosts,
	                         .virtual_time = crew.virtual_time, .cpu_s = crew_cpu_s};
	device_given = given(&dialect, "device");
	copy = *b;
	add_callbacks(&copy);
	copy.job = &job;
	/* What simulated ranks say is told apart from what real ones do, in records, resume and report. */
	if (crew.virtual_time) {
		snprintf(name, sizeof(name), "%s@simgrid", b->name);
		copy.name = name;
		copy.limits = "ranks, network and clock are SimGrid's: flows share links, no packets, and computing takes no time";
	}
	program = &copy;
	return bench_main(&copy, dialect.argc, dialect.argv);
}

int collective_main(const struct bench *b, enum schedule_kind which, int argc, char **argv)
{
	int code = 0;
	program = b;
	kind = which;
	if (crew_start(&argc, &argv, session_act(b))) {
		err_print("%s: %s", b->name, err_text());
		return 77;
	}
	snprintf(collective_line, sizeof(collective_line), "%d", crew.size);
	if (crew.rank != 0) {
		crew_follow();
	} else {
		code = lead(b, argc, argv);
		crew_dismiss();
	}
	rank_device_close();
	crew_end();
	return code;
}
