/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which allreduce among the devices of one process is best for which size? Compares the schedules
 * of collectives/schedules, executed by streams, peer copies and a kernel that adds
 * (collectives/devices/executor.h), with the vendor's own collective where there is one. The
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
#include "collectives/devices/device_group.h"
#include "collectives/devices/executor.h"
#include "collectives/devices/vectors.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(16) << 30)
#define ROW(label)                                                                                 \
	{                                                                                          \
		.name = (label), .timing = BENCH_SELF                                              \
	}

/* On a line with one port, bucket equals ring and rd-mirrored equals rd-b. */
enum { LIBRARY = 9, VARIANTS };
static const struct bench_variant variants[] = {ROW("ring"),
						ROW("rd-l"),
						ROW("rd-b"),
						ROW("rabenseifner"),
						ROW("swing-l"),
						ROW("swing-b"),
						ROW("bruck"),
						ROW("trivance"),
						ROW("bine"),
						[LIBRARY] = ROW("library"),
						{0}};

static const struct axis axes[] = {{.name = "size",
				    .help = "bytes of the vector of floats",
				    .kind = AXIS_SIZE,
				    .min = 4,
				    .max = MAX_BYTES,
				    .multiple = 4,
				    .quick = "32,2K,128K,2M,16M",
				    .full = "32:128M:x4,256M",
				    .simulated = "32,2K,128K,2M"},
				   {0}};

static const struct bench_metric primary[] = {
	{"device_allreduce_latency", "time", NULL, "size=32", "min", "s", "lower"},
	{"device_allreduce_busbw", "bus_bandwidth", NULL, NULL, "max", "byte/s", "higher"},
	{0}};

/* Queue entries for the gate and the events. */
#define QUEUE_RESERVE 8u
#define MAX_VERIFY_BYTES (64u << 10)

struct state {
	struct device_group group;
	struct vectors vectors;
	struct executor *executor[VARIANTS];
	struct dev_comm *comm;
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

static int open_executor(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	const char *name = variants[v].name;
	int status = executor_open(name, c->devices, axis_u64(c, "size") / sizeof(float),
				   &s->executor[v]);
	if (status)
		return status;
	uint32_t queued = executor_max_queued(s->executor[v]) + QUEUE_RESERVE,
		 capacity = dev_props(c->dev)->max_queued;
	return queued > capacity
		       ? err_note(-ENOTSUP, "%s: needs %u queue entries; the stream holds %u", name,
				  queued, capacity)
		       : 0;
}

/* A variant that does not support this number of devices is skipped and named. */
static int open_variant(struct bench_case *c, unsigned v)
{
	struct state *s = case_state(c);
	int status = v == LIBRARY ? dev_comm_open(c->devices, &s->comm) : open_executor(c, v);
	if (status != -ENOTSUP)
		return status;
	bench_variant_off(c, v);
	size_t used = strlen(s->skipped);
	snprintf(s->skipped + used, sizeof(s->skipped) - used, "%s%s", used ? " " : "",
		 variants[v].name);
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t staging = DEV_KERNEL_ALIGN;
	bool any = false;
	int status = device_group_open(&s->group, c->devices);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		status = bench_variant_on(c, v) ? open_variant(c, v) : 0;
		any = any || bench_variant_on(c, v);
		if (s->executor[v] && executor_staging_bytes(s->executor[v]) > staging)
			staging = executor_staging_bytes(s->executor[v]);
	}
	if (status || !any)
		return status ? status : -ENOTSUP;
	memcpy(s->vectors.memory.stream, s->group.stream, sizeof(s->group.stream));
	return vectors_open(&s->vectors, c, axis_u64(c, "size") / sizeof(float), staging);
}

/* ------------------------------------------------------------------ running */

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = case_state(c);
	const struct executor_memory *m = &s->vectors.memory;
	struct device_group_round round = {0};
	double sum_s = 0.0, host_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = device_group_sync(&s->group, vectors_restore(&s->vectors));
		if (status)
			break;
		status = device_group_hold(&s->group);
		if (status == 0)
			status = variant == LIBRARY ? dev_allreduce(s->comm, m->stream, m->vector,
								    s->vectors.count)
						    : executor_enqueue(s->executor[variant], m);
		status = device_group_release(&s->group, status, &round);
		s->runs[variant]++;
		sum_s += round.longest_s;
		host_s += round.host_s;
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
	return device_group_sync(&case_state(c)->group, vectors_poison(&case_state(c)->vectors));
}

static int check(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return vectors_check(&case_state(c)->vectors);
}

/* The requested algorithm ran, and copy engines did the copies. */
static int verify_mechanism(struct bench_case *c)
{
	struct state *s = case_state(c);
	uint64_t engine_variants = 0;
	for (unsigned v = 0; v < LIBRARY; v++) {
		uint64_t messages, bytes, planned_messages, planned_bytes;
		char name[48];
		if (!bench_variant_on(c, v))
			continue;
		engine_variants |= UINT64_C(1) << v;
		executor_sent(s->executor[v], &messages, &bytes);
		executor_planned(s->executor[v], &planned_messages, &planned_bytes);
		snprintf(name, sizeof(name), "%s ran", variants[v].name);
		bench_mechanism(c, name,
				messages == s->runs[v] * planned_messages &&
					bytes == s->runs[v] * planned_bytes,
				"%.4g messages and %.6g bytes were sent in each of %llu runs; the "
				"schedule has %llu and %llu",
				(double)messages / (double)s->runs[v],
				(double)bytes / (double)s->runs[v], (unsigned long long)s->runs[v],
				(unsigned long long)planned_messages,
				(unsigned long long)planned_bytes);
	}
	float **vector = s->vectors.memory.vector;
	uint64_t verify_bytes =
		s->vectors.bytes < MAX_VERIFY_BYTES ? s->vectors.bytes : MAX_VERIFY_BYTES;
	return engine_variants ? blocking_kernel_verify_engine(c, engine_variants, vector[1],
							       vector[0], verify_bytes)
			       : 0;
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

static void teardown(struct bench_case *c)
{
	struct state *s = case_state(c);
	if (s->group.set)
		device_group_sync(&s->group, 0);
	for (unsigned v = 0; v < VARIANTS; v++)
		executor_close(s->executor[v]);
	dev_comm_close(s->comm);
	device_group_close(&s->group);
}

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
