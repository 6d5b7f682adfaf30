/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which allreduce among the devices of one process is best for which size? Compares the schedules
 * of collectives/schedules, executed by streams, peer copies and a kernel that adds
 * (collectives/devices/allreduce_graph.h), with the vendor's own collective where there is one. The
 * devices are those of --device, as a line; a message goes straight to its peer.
 *
 * Timed: one allreduce at a time, in place. It is enqueued completely before one write of the host
 * releases all devices. Events on each device measure its part; the longest part is the time. So
 * this is the completion latency, not the interval of pipelined calls. host_completion is the time
 * on the host's clock, from its release to the end of its wait. Restoring vectors is not timed.
 *
 *     bin/collectives/device_allreduce --device host:0,1 --algorithm ring,rd-l --size 32:1M:x4
 */
#include "bench/blocking_kernel.h"
#include "collectives/devices/vectors.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(16) << 30)

/* On a line with one port, bucket equals ring and rd-mirrored equals rd-b. */
enum { LIBRARY = 9, VARIANTS };
static const struct bench_variant variants[] = {BENCH_ROW("ring", BENCH_SELF),
						BENCH_ROW("rd-l", BENCH_SELF),
						BENCH_ROW("rd-b", BENCH_SELF),
						BENCH_ROW("rabenseifner", BENCH_SELF),
						BENCH_ROW("swing-l", BENCH_SELF),
						BENCH_ROW("swing-b", BENCH_SELF),
						BENCH_ROW("bruck", BENCH_SELF),
						BENCH_ROW("trivance", BENCH_SELF),
						BENCH_ROW("bine", BENCH_SELF),
						[LIBRARY] = BENCH_ROW("library", BENCH_SELF),
						{0}};

static const struct axis axes[] = {{.name = "size",
				    .help = "bytes of the vector of floats",
				    .kind = AXIS_SIZE,
				    .min = 4,
				    .max = MAX_BYTES,
				    .multiple = 4,
				    .quick = "32,2K,128K,2M,16M",
				    .full = "32:128M:x4,16M,256M",
				    .gpu_class = "32,2K,128K,2M,16M,256M",
				    .gpu_class_full = "32:128M:x4,256M",
				    .simulated = "32,2K,128K,2M"},
				   {0}};

static const struct bench_metric primary[] = {
	{"device_allreduce_ring_busbw", "bus_bandwidth", "ring", "size=16M|256M|2M", "byte/s",
	 "higher"},
	{"device_allreduce_library_busbw", "bus_bandwidth", "library", "size=16M|256M|2M", "byte/s",
	 "higher"},
	{"device_allreduce_ring_latency", "time", "ring", "size=32", "s", "lower"},
	{"device_allreduce_library_latency", "time", "library", "size=32", "s", "lower"},
	{0}};

#define MAX_VERIFY_BYTES (64u << 10)

struct state {
	struct vectors vectors;
	struct allreduce_plan plan[VARIANTS];
	struct work_graph *graph[VARIANTS];
	struct dev_comm *comm; /* the library's */
	uint64_t runs[VARIANTS], max_iterations[VARIANTS];
	double host_s[VARIANTS]; /* of the latest body with the most iterations */
	char skipped[160];
};

static struct state *case_state(const struct bench_case *c) { return c->state; }

static int admit(const struct bench_case *c)
{
	if (axis_u64(c, "size") > dev_props(c->dev)->memory_bytes / 8)
		return err_note(
			-ENOMEM,
			"vector, original and staging memory exceed the device's free memory");
	return 0;
}

/* ------------------------------------------------------------------ set-up */

static int plan_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	if (v == LIBRARY)
		return dev_comm_open(c->devices, &s->comm);
	return allreduce_plan(variants[v].name, (uint32_t)c->devices->count,
			      axis_u64(c, "size") / sizeof(float), &s->plan[v]);
}

static int build_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	const struct allreduce_places *p = &s->vectors.places;
	struct work_graph *g = s->graph[v] = bench_graph(c, s->vectors.lanes);
	int status = bench_status(c);
	if (status == 0 && v != LIBRARY)
		status = allreduce_add(g, variants[v].name, s->vectors.count, p);
	if (status == 0 && v == LIBRARY)
		work_graph_allreduce(g, s->comm, p->lane[0], p->vector, p->vector,
				     s->vectors.count);
	if (status == 0)
		status = work_graph_prepare(g);
	return status ? err_note(status, "%s: %s", variants[v].name, err_text()) : 0;
}

/* A variant that does not support this number of devices, or needs more queue entries than there
 * are, is skipped and named. */
static int set_up_variants(struct bench_case *c, int (*set_up)(struct bench_case *, unsigned))
{
	struct state *s = case_state(c);
	unsigned supported = 0;
	for (unsigned v = 0; v < VARIANTS; v++) {
		int status = bench_variant_on(c, v) ? set_up(c, v) : 0;
		if (status && status != -ENOTSUP)
			return status;
		if (status) {
			bench_variant_off(c, v);
			size_t used = strlen(s->skipped);
			snprintf(s->skipped + used, sizeof(s->skipped) - used, "%s%s",
				 used ? " " : "", variants[v].name);
		}
		supported += bench_variant_on(c, v);
	}
	return supported ? 0 : -ENOTSUP;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t staging = DEV_KERNEL_ALIGN;
	int status = set_up_variants(c, plan_variant);
	for (unsigned v = 0; v < VARIANTS; v++)
		if (s->plan[v].staging_bytes > staging)
			staging = s->plan[v].staging_bytes;
	if (status == 0)
		status = vectors_open(&s->vectors, c, axis_u64(c, "size") / sizeof(float), staging);
	return status ? status : set_up_variants(c, build_variant);
}

/* ------------------------------------------------------------------ running */

static int run_variant(struct state *s, unsigned variant, double *seconds_p)
{
	int status = work_graph_complete(s->vectors.restore);
	return status ? status : work_graph_time(s->graph[variant], seconds_p);
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	double sum_s = 0.0, host_s = 0.0, seconds = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = run_variant(s, variant, &seconds);
		s->runs[variant]++;
		sum_s += seconds;
		host_s += work_graph_host_seconds(s->graph[variant]);
	}
	c->self_seconds = sum_s;
	if (iterations >= s->max_iterations[variant]) {
		s->max_iterations[variant] = iterations;
		s->host_s[variant] = host_s / (double)iterations;
	}
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->bytes = (double)axis_u64(c, "size");
}

static int poison(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return work_graph_complete(case_state(c)->vectors.poison);
}

static int check(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return vectors_check(&case_state(c)->vectors);
}

/* The requested algorithm ran, and copy engines did the copies where the device has some. */
static int verify_mechanism(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t engine_variants = 0;
	for (unsigned v = 0; v < LIBRARY; v++) {
		const struct allreduce_plan *plan = &s->plan[v];
		uint64_t copies, bytes, runs = s->runs[v];
		char name[48];
		if (!bench_variant_on(c, v))
			continue;
		engine_variants |= UINT64_C(1) << v;
		work_graph_copied(s->graph[v], &copies, &bytes);
		snprintf(name, sizeof(name), "%s ran", variants[v].name);
		bench_mechanism(c, name,
				copies == runs * plan->copies && bytes == runs * plan->bytes,
				"%.4g copies and %.6g bytes were sent in each of %.0f runs; the "
				"schedule has %.0f and %.0f",
				(double)copies / (double)runs, (double)bytes / (double)runs,
				(double)runs, (double)plan->copies, (double)plan->bytes);
	}
	float **vector = s->vectors.places.vector;
	uint64_t all = s->vectors.bytes, bytes = all < MAX_VERIFY_BYTES ? all : MAX_VERIFY_BYTES;
	if (!engine_variants || !dev_can(c->dev, DEV_CAP_COPY_ENGINE))
		return 0;
	return blocking_kernel_verify_engine(c, engine_variants, vector[1], vector[0], bytes);
}

/* ------------------------------------------------------------------ what follows from the times */

static double bus_bandwidth(const struct bench_round *r)
{
	double p = (double)r->c->devices->count;
	return 2.0 * (p - 1.0) / p * (double)axis_u64(r->c, "size") / r->seconds[r->variant];
}

static int derive(struct bench_case *c)
{
	struct state *s = case_state(c);
	int status = 0;
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		status = bench_derive(c, "bus_bandwidth", (int)v, "byte/s", UINT64_C(1) << v,
				      bus_bandwidth, NULL, "2 (p-1)/p bytes / time");
		bench_value(c, "host_completion", (int)v, s->host_s[v], "s",
			    "host's release to its return; mean of the last full body");
		if (status == 0 && v != LIBRARY)
			status = bench_ratio(c, "library_time_ratio", v, LIBRARY,
					     "seconds / seconds(library), round by round");
	}
	bench_fact_number(c, "devices", (double)c->devices->count);
	bench_fact_text(c, "skipped", s->skipped);
	if (s->comm)
		bench_fact_text(c, "library", s->comm->library);
	return status;
}

static void teardown(struct bench_case *c) { dev_comm_close(case_state(c)->comm); }

static const struct bench bench = {
	.name = "collectives/device_allreduce",
	.question = "which allreduce among the devices of one process?",
	.formula = "bus_bandwidth = 2 (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one allreduce in place, enqueued beforehand, all devices released at once: the "
		 "longest of the devices' durations",
	.limits = "one at a time: pipelined calls take less time each; vectors below p times 256 "
		  "byte leave chunks empty; no pipelining within a call",
	.needs = DEV_CAP_PEER | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_COLLECTIVES,
	.min_devices = 2,
	.share = 2.0,
	.axes = axes,
	.variant_option = "algorithm",
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.body = body,
	.model = model,
	.poison = poison,
	.check = check,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
