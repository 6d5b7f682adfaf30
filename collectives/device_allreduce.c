/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which allreduce among the devices of one process, for which size? The schedules of collectives/schedules, carried out by
 * streams, peer copies and a kernel that adds (collectives/devices/executor.h), beside the vendor's own collective where there
 * is one. The devices are those of --device, as a line; a message goes straight to its peer.
 *
 * Timed: one allreduce at a time, in place, all of it enqueued before one write of the host releases every device; each
 * device's own stamps around its part, and of them the longest. So it is completion latency, not the interval of pipelined
 * calls; completion_seen is what the host sees of it, from its release to the end of its wait. Restoring vectors is not timed.
 *
 *     bin/collectives/device_allreduce --device host:0,1 --algorithm ring,rd-l --size 32:1M:x4
 */
#include "collectives/devices/executor.h"
#include "collectives/devices/team.h"
#include "collectives/devices/vectors.h"
#include "device/kernels.h"
#include "lib/bench_hold.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(16) << 30)
#define ROW(label) {.name = (label), .timing = BENCH_SELF}

/* On a line and one port bucket is ring, and rd-mirrored is rd-b. */
enum { LIBRARY = 9, VARIANTS };
static const struct bench_variant variants[] = {
	ROW("ring"), ROW("rd-l"), ROW("rd-b"), ROW("rabenseifner"), ROW("swing-l"), ROW("swing-b"), ROW("bruck"), ROW("trivance"),
	ROW("bine"), [LIBRARY] = ROW("library"), {0}};

static const struct axis axes[] = {
	{.name = "size", .help = "bytes of the vector of floats", .kind = AXIS_SIZE, .min = 4, .max = MOST_BYTES, .multiple = 4,
	 .quick = "32,2K,128K,2M,16M", .full = "32:128M:x4,256M", .simulated = "32,2K,128K,2M"},
	{0}};

static const struct bench_metric primary[] = {
	{"device_allreduce_latency", "time", NULL, "size=32", "min", "s", "lower"},
	{"device_allreduce_busbw", "bus_bandwidth", NULL, NULL, "max", "byte/s", "higher"},
	{0}};

/* Queue entries that holding and stamping take. */
#define QUEUE_RESERVE 8u
#define PROOF_BYTES (64u << 10)

struct state {
	struct team team;
	struct vectors vectors;
	struct executor *executor[VARIANTS];
	struct dev_crew *crew;
	uint64_t runs[VARIANTS], most_iterations[VARIANTS];
	double seen_s[VARIANTS]; /* of the latest body that had the most iterations */
	char left_out[160];
};

static struct state *state(const struct bench_case *c) { return c->state; }

static int admit(const struct bench_case *c)
{
	if (bench_number(c, "size") > dev_props(c->dev)->memory_bytes / 8)
		return err_note(-ENOMEM, "vector, original and what arrives exceed the device's free memory");
	return 0;
}

/* ------------------------------------------------------------------ set-up */

static int open_executor(struct bench_case *c, unsigned v)
{
	struct state *s = state(c);
	const char *name = variants[v].name;
	int status = executor_open(name, c->devices, bench_number(c, "size") / sizeof(float), &s->executor[v]);
	if (status)
		return status;
	uint32_t queued = executor_most_queued(s->executor[v]) + QUEUE_RESERVE, room = dev_props(c->dev)->max_queued;
	return queued > room ? err_note(-ENOTSUP, "%s: %u operations in a stream that takes %u", name, queued, room) : 0;
}

/* What can't be had among so many devices is left out and named. */
static int open_variant(struct bench_case *c, unsigned v)
{
	struct state *s = state(c);
	int status = v == LIBRARY ? dev_crew_open(c->devices, &s->crew) : open_executor(c, v);
	if (status != -ENOTSUP)
		return status;
	bench_variant_off(c, v);
	size_t used = strlen(s->left_out);
	snprintf(s->left_out + used, sizeof(s->left_out) - used, "%s%s", used ? " " : "", variants[v].name);
	return 0;
}

static int setup(struct bench_case *c)
{
	struct state *s = state(c);
	uint64_t staging = DEV_KERNEL_ALIGN;
	bool any = false;
	int status = team_open(&s->team, c->devices);
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		status = bench_variant_on(c, v) ? open_variant(c, v) : 0;
		any = any || bench_variant_on(c, v);
		if (s->executor[v] && executor_staging_bytes(s->executor[v]) > staging)
			staging = executor_staging_bytes(s->executor[v]);
	}
	if (status || !any)
		return status ? status : -ENOTSUP;
	memcpy(s->vectors.memory.stream, s->team.stream, sizeof(s->team.stream));
	return vectors_open(&s->vectors, c, bench_number(c, "size") / sizeof(float), staging);
}

/* ------------------------------------------------------------------ running */

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct state *s = state(c);
	const struct executor_memory *m = &s->vectors.memory;
	struct team_round round = {0};
	double sum_s = 0.0, seen_s = 0.0;
	int status = 0;
	for (uint64_t i = 0; status == 0 && i < iterations; i++) {
		status = team_sync(&s->team, vectors_restore(&s->vectors));
		if (status)
			break;
		status = team_hold(&s->team);
		if (status == 0)
			status = variant == LIBRARY ? dev_allreduce(s->crew, m->stream, m->vector, s->vectors.count)
			                            : executor_enqueue(s->executor[variant], m);
		status = team_release(&s->team, status, &round);
		s->runs[variant]++;
		sum_s += round.longest_s;
		seen_s += round.seen_s;
	}
	c->self_seconds = sum_s;
	if (iterations >= s->most_iterations[variant]) {
		s->most_iterations[variant] = iterations;
		s->seen_s[variant] = seen_s / (double)iterations;
	}
	return status;
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	(void)variant;
	m->bytes = (double)bench_number(c, "size");
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return team_sync(&state(c)->team, vectors_spoil(&state(c)->vectors));
}

static int check(struct bench_case *c, unsigned variant)
{
	(void)variant;
	return vectors_check(&state(c)->vectors);
}

/* The algorithm that ran is the one that was asked for, and engines are what copied. */
static int prove(struct bench_case *c)
{
	struct state *s = state(c);
	uint64_t by_engine = 0;
	for (unsigned v = 0; v < LIBRARY; v++) {
		uint64_t messages, bytes, planned_messages, planned_bytes;
		char name[48];
		if (!bench_variant_on(c, v))
			continue;
		by_engine |= UINT64_C(1) << v;
		executor_sent(s->executor[v], &messages, &bytes);
		executor_planned(s->executor[v], &planned_messages, &planned_bytes);
		snprintf(name, sizeof(name), "%s ran", variants[v].name);
		bench_mechanism(c, name, messages == s->runs[v] * planned_messages && bytes == s->runs[v] * planned_bytes,
		                "%.4g messages and %.6g bytes were sent in each of %llu runs; the schedule has %llu and %llu",
		                (double)messages / (double)s->runs[v], (double)bytes / (double)s->runs[v],
		                (unsigned long long)s->runs[v], (unsigned long long)planned_messages, (unsigned long long)planned_bytes);
	}
	float **vector = s->vectors.memory.vector;
	uint64_t few = s->vectors.bytes < PROOF_BYTES ? s->vectors.bytes : PROOF_BYTES;
	return by_engine ? hold_prove_engine(c, by_engine, vector[1], vector[0], few) : 0;
}

/* ------------------------------------------------------------------ what follows from the times */

/* bench_derive() does not tell its formula which variant it is about. */
static unsigned about;

static double bus_bandwidth(const struct bench_case *c, const double *seconds)
{
	double p = (double)c->devices->count;
	return 2.0 * (p - 1.0) / p * (double)bench_number(c, "size") / seconds[about];
}

static int derive(struct bench_case *c)
{
	struct state *s = state(c);
	int status = 0;
	for (unsigned v = 0; status == 0 && v < VARIANTS; v++) {
		if (!bench_variant_on(c, v))
			continue;
		about = v;
		status = bench_derive(c, "bus_bandwidth", (int)v, "byte/s", UINT64_C(1) << v, bus_bandwidth, "2 (p-1)/p bytes / time");
		bench_value(c, "completion_seen", (int)v, s->seen_s[v], "s", "host's release to its return; mean of the last full body");
		if (status == 0 && v != LIBRARY)
			status = bench_ratio(c, "library_time_ratio", v, LIBRARY, "seconds / seconds(library), block by block");
	}
	bench_fact_number(c, "devices", (double)c->devices->count);
	bench_fact_text(c, "left_out", s->left_out);
	if (s->crew)
		bench_fact_text(c, "library", s->crew->library);
	return status;
}

static void teardown(struct bench_case *c)
{
	struct state *s = state(c);
	if (s->team.set)
		team_sync(&s->team, 0);
	for (unsigned v = 0; v < VARIANTS; v++)
		executor_close(s->executor[v]);
	dev_crew_close(s->crew);
	team_close(&s->team);
}

static const struct bench bench = {
	.name = "collectives/device_allreduce",
	.question = "which allreduce among the devices of one process?",
	.formula = "bus_bandwidth = 2 (p-1)/p bytes / time; bandwidth = bytes / time; byte/s",
	.timed = "one allreduce in place, enqueued beforehand, all devices released at once: the longest of the devices' durations",
	.limits = "one at a time: calls in a row take less each; vectors below p times 256 byte leave blocks empty; no chunks",
	.needs = DEV_CAP_PEER | DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_COPY_ENGINE | DEV_CAP_CREW,
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
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
