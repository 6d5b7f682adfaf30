/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much does another process on the same device take? GEMM, memory, a copy over the host's link
 * and a launch, each alone and while a second process of this program keeps the device busy with
 * GEMMs, memory accesses or copies. Drivers give processes turns of milliseconds, unless a service
 * of the vendor (MPS) lets them run at the same time, or the device is divided (MIG, CPX, SR-IOV):
 * divided, what is left to share shows here.
 *
 * The neighbour works on the last device of the list, in its own process. So with one device it has
 * the same one; partitions that are devices of their own are listed, as in --device hip:0,1; a
 * slice that only a variable of the driver selects is given by --sees. With --group it joins a
 * control group, whose limits then are what this measures. Where time is virtual one process has
 * both sides, and needs two devices: partitions of one device with `tenants = 2` of a model.
 *
 * Timed: pieces in a row for ten milliseconds, by events on the device; launches by the host, each
 * until it has waited for it.
 *
 *     bin/micro/neighbour --device cuda:0 --neighbour gemm,memory
 *     bin/micro/neighbour --device 'sim:h100?tenants=2:0,1'
 */
#include "micro/neighbour/neighbour.h"
#include "bench/bench_check.h"
#include "lib/err.h"

#define SAMPLE_S 0.01
#define LEAST_LAUNCHES 20

static const struct axis axes[] = {
	{"neighbour", "what the other process does", AXIS_WORD, .words = workload_names,
	 .quick = "gemm,memory,engine"},
	BENCH_GEMM_TYPES(.quick = "main"),
	{"sees",
	 "devices that the other process sees; same: as this one; only:DEVICES: as the driver's "
	 "variable selects them",
	 AXIS_WORD, .accept = neighbour_accept_sees, .quick = NEIGHBOUR_SEES_SAME},
	{"group", "folder of the control group that the other process joins, or none", AXIS_WORD,
	 .accept = neighbour_accept_group, .quick = "none"},
	{0}};

enum { GEMM, MEMORY, COPY, WORKLOADS };

struct state {
	struct workload own[WORKLOADS];
	struct neighbour neighbour;
	struct dev_kernel *signal;
	uint32_t *launched, launches; /* the word has the number of the latest launch */
};

static struct neighbour_spec neighbour_of(const struct bench_case *c)
{
	const enum workload_kind kind = (enum workload_kind)axis_index(c, "neighbour");
	return (struct neighbour_spec){.work = neighbour_work(c, kind),
				       .sees = axis_str(c, "sees"),
				       .group = axis_str(c, "group")};
}

static int admit(const struct bench_case *c)
{
	const struct neighbour_spec spec = neighbour_of(c);
	return neighbour_admit(c, &spec);
}

/* ------------------------------------------------------------------ the work */

/* Time of an iteration, in which it meets some turns of the driver; one piece if it is virtual. */
static double sample_s(const struct bench_case *c)
{
	return dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? 0.0 : SAMPLE_S;
}

/* Pieces in a row. */
static void run_pieces(struct bench_case *c, struct workload *a, uint64_t iterations,
		       struct neighbour *n)
{
	workload_enqueue(a, c, iterations * workload_pieces(a, sample_s(c)));
	if (n)
		neighbour_keep(n, c, a->end);
	workload_drain(a, c, &c->self_seconds);
}

static int pieces_alone(struct bench_case *c, long work, uint64_t iterations)
{
	struct state *s = c->state;
	run_pieces(c, &s->own[work], iterations, NULL);
	return c->status;
}

static int pieces_shared(struct bench_case *c, long work, uint64_t iterations)
{
	struct state *s = c->state;
	neighbour_begin(&s->neighbour, c, s->own[work].stream);
	run_pieces(c, &s->own[work], iterations, &s->neighbour);
	return neighbour_end(&s->neighbour, c);
}

static void launch_once(struct bench_case *c)
{
	struct state *s = c->state;
	const uint32_t number = ++s->launches;
	const void *const args[] = {&s->launched, &number};
	const struct dev_launch launch = {.grid = 1, .args = args};
	TRY(c->status, dev_launch(c->dev, c->stream, s->signal, &launch));
	TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

/* Some milliseconds of launches, whatever `iterations` is. */
static void run_launches(struct bench_case *c, uint64_t iterations, struct neighbour *n)
{
	const double limit_ns = dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? 0.0 : 1e9 * SAMPLE_S;
	uint64_t count = 0, taken_ns = 0;
	while (c->status == 0 && (count < LEAST_LAUNCHES || (double)taken_ns < limit_ns)) {
		const uint64_t begin_ns = dev_clock_ns(c->dev);
		launch_once(c);
		taken_ns += dev_clock_ns(c->dev) - begin_ns;
		count++;
		if (n)
			neighbour_keep(n, c, NULL);
	}
	if (count)
		c->self_seconds = 1e-9 * (double)taken_ns / (double)count * (double)iterations;
}

static int launches_alone(struct bench_case *c, long arg, uint64_t iterations)
{
	run_launches(c, iterations, NULL);
	return c->status;
}

static int launches_shared(struct bench_case *c, long arg, uint64_t iterations)
{
	struct state *s = c->state;
	neighbour_begin(&s->neighbour, c, c->stream);
	run_launches(c, iterations, &s->neighbour);
	return neighbour_end(&s->neighbour, c);
}

static void model(const struct bench_case *c, long work, struct bench_model *m)
{
	const struct workload *a = &((const struct state *)c->state)->own[work];
	workload_model(a, c, m);
	m->bytes *= (double)workload_pieces(a, sample_s(c));
	m->flops *= (double)workload_pieces(a, sample_s(c));
}

static void model_launch(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->messages = 1.0;
}

static int poison(struct bench_case *c, long work)
{
	return workload_poison(&((const struct state *)c->state)->own[work], c);
}

static int check(struct bench_case *c, long work)
{
	return workload_check(&((const struct state *)c->state)->own[work], c);
}

static int poison_launch(struct bench_case *c, long arg)
{
	return dev_fill(c->dev, c->stream, ((const struct state *)c->state)->launched, 0xff,
			sizeof(uint32_t));
}

static int check_launch(struct bench_case *c, long arg)
{
	const struct state *s = c->state;
	return *s->launched == s->launches
		       ? 0
		       : bench_wrong("the word has %u after launch %u", *s->launched, s->launches);
}

#define LAUNCHES                                                                                   \
	.timing = BENCH_SELF, .model = model_launch, .poison = poison_launch, .check = check_launch
#define TIME_RATIO(variant, alone)                                                                 \
	{                                                                                          \
		"CIL", BENCH_RATIO, (variant), (alone),                                            \
			"time while the other process works / time alone, round by round"          \
	}

static const struct bench_variant variants[] = {
	{"gemm", BENCH_SELF, GEMM, .body = pieces_alone},
	{"gemm_with_neighbour", BENCH_SELF, GEMM, .body = pieces_shared},
	{"memory", BENCH_SELF, MEMORY, .body = pieces_alone},
	{"memory_with_neighbour", BENCH_SELF, MEMORY, .body = pieces_shared},
	{"copy", BENCH_SELF, COPY, .body = pieces_alone},
	{"copy_with_neighbour", BENCH_SELF, COPY, .body = pieces_shared},
	{"launch", LAUNCHES, .body = launches_alone},
	{"launch_with_neighbour", LAUNCHES, .body = launches_shared},
	{0}};

static const struct bench_quantity_row quantities[] = {
	TIME_RATIO("gemm_with_neighbour", "gemm"),
	TIME_RATIO("memory_with_neighbour", "memory"),
	TIME_RATIO("copy_with_neighbour", "copy"),
	TIME_RATIO("launch_with_neighbour", "launch"),
	{0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_with_neighbour_gemm", "CIL", "gemm_with_neighbour", "neighbour=gemm"},
	{"cil_memory_with_neighbour_memory", "CIL", "memory_with_neighbour", "neighbour=memory"},
	{"cil_copy_with_neighbour_copy", "CIL", "copy_with_neighbour", "neighbour=engine"},
	{0}};

/* The neighbour starts last, when the device has the memory that this process needs. */
static int setup(struct bench_case *c)
{
	static const enum workload_kind kinds[WORKLOADS] = {
		[GEMM] = WORKLOAD_GEMM, [MEMORY] = WORKLOAD_MEMORY, [COPY] = WORKLOAD_ENGINE};
	const struct neighbour_spec neighbour = neighbour_of(c);
	struct state *s = c->state;
	struct work_lanes *lanes = bench_lanes(c);
	for (unsigned i = 0; i < WORKLOADS; i++) {
		const struct workload_spec spec = neighbour_work(c, kinds[i]);
		if (!bench_variant_on(c, 2 * i) && !bench_variant_on(c, 2 * i + 1))
			continue;
		if (workload_admit(c, &spec))
			TRY(c->status, bench_variants_skip(c, UINT64_C(3) << 2 * i, err_text()));
		else
			TRY(c->status, workload_open(&s->own[i], c, lanes, &spec));
	}
	s->signal = bench_kernel(c, "signal");
	s->launched = bench_alloc(c, DEV_MEM_PINNED, sizeof(*s->launched));
	return neighbour_open(&s->neighbour, c, lanes, &neighbour);
}

static int verify_mechanism(struct bench_case *c)
{
	uint64_t shared = 0;
	for (unsigned v = 1; v < bench_variants(c); v += 2)
		shared |= UINT64_C(1) << v;
	return neighbour_verify(&((const struct state *)c->state)->neighbour, c, shared);
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	bench_fact_text(c, "neighbour_device", neighbour_device(&s->neighbour));
	return c->status;
}

static void teardown(struct bench_case *c)
{
	neighbour_close(&((struct state *)c->state)->neighbour);
}

static const struct bench bench = {
	.name = "micro/neighbour",
	.question = "how much does another process on the device take?",
	.formula = "CIL = time while the other process works / time alone; 1 is no loss, 2 is what "
		   "taking turns gives",
	.timed =
		"pieces in a row for 10 ms, by device events; launches, each with its wait, by the "
		"host's clock",
	.limits = "one neighbour; its own loss is that of the case with the two exchanged; on a "
		  "host device both processes use the same cores unless two devices are listed",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv)
{
	return neighbour_process_is(argc, argv) ? neighbour_process_main(argc, argv)
						: bench_main(&bench, argc, argv);
}
