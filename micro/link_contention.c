/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which devices slow each other on their ways to the host? All of them copy at once what each
 * copies alone: to the device (up), as a data loader does, from it (down), or both; and with a
 * ring of copies from each device to the next one, as a training step has. Then every two of them:
 * a pair that is slower shares a switch, a root complex or the host's memory, and where the buses
 * of the devices are known, whether they share a port is compared with what was measured
 * (micro/link_contention/shared_links.h).
 *
 * Timed: runs of the same copies back to back, in streams that were filled before one write of the
 * host released all of them. The time of a device is from its release to the end of its last copy;
 * that of several is the longest, so a rate of all is their bytes / the time of the slowest, and
 * what they keep is compared with the slowest one alone. Partners are repeated until they
 * last longer.
 *
 *     bin/micro/link_contention --device sim:0-3 --direction up
 */
#include "lib/err.h"
#include "micro/link_contention/passes.h"
#include "micro/link_contention/shared_links.h"

#include <errno.h>

static const char *const directions[] = {"up", "down", "both", NULL};
static const struct axis axes[] = {{"direction", "up is H2D, down D2H; both at once", AXIS_WORD,
				    .words = directions, .quick = "up,down,both"},
				   {"size", "bytes of a copy", AXIS_SIZE, .min = 4096,
				    .multiple = 4096, .quick = "16M", .gpu_class = "32M",
				    .simulated = "2M"},
				   {0}};
static const unsigned kinds_of[] = {TRAFFIC_BIT(TRAFFIC_UP), TRAFFIC_BIT(TRAFFIC_DOWN),
				    TRAFFIC_BIT(TRAFFIC_UP) | TRAFFIC_BIT(TRAFFIC_DOWN)};

#define PASS(label, pass) .name = (label), .timing = BENCH_SELF, .arg = (pass)
#define OF_ALL .body = passes_time_all, .model = passes_model
static const struct bench_variant variants[] = {
	[PASS_ALONE] = {PASS("alone", PASS_ALONE), .body = passes_time_alone},
	[PASS_ALL] = {PASS("all", PASS_ALL), OF_ALL},
	[PASS_PAIRS] = {PASS("pairs", PASS_PAIRS), .body = passes_time_pairs},
	[PASS_RING] = {PASS("ring", PASS_RING), OF_ALL},
	[PASS_WITH_RING] = {PASS("all_with_ring", PASS_WITH_RING), OF_ALL},
	[PASS_RING_WITH] = {PASS("ring_with_all", PASS_RING_WITH), OF_ALL},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"rate_kept", BENCH_SPEEDUP, "all", "alone",
	 "seconds of the slowest device alone / seconds of the slowest of all"},
	{"rate_kept", BENCH_SPEEDUP, "all_with_ring", "all"},
	{"rate_kept", BENCH_SPEEDUP, "ring_with_all", "ring"},
	{0}};

static const struct bench_metric primary[] = {
	{"all_devices_up_bandwidth", "bandwidth", "all", "direction=up"},
	{"all_devices_up_rate_kept", "rate_kept", "all", "direction=up"},
	{"all_devices_down_rate_kept", "rate_kept", "all", "direction=down"},
	{"up_rate_kept_with_ring", "rate_kept", "all_with_ring", "direction=up"},
	{"ring_rate_kept_with_up", "rate_kept", "ring_with_all", "direction=up"},
	{0}};

static int setup(struct bench_case *c)
{
	return passes_open(c->state, c, kinds_of[axis_index(c, "direction")], axis_u64(c, "size"));
}

/* The rate of all devices is at most the nominal one of their links, where these are known. */
static void bound_by_links(struct bench_case *c, unsigned kinds)
{
	double sum = 0.0;
	for (size_t i = 0; i < c->devices->count; i++) {
		struct dev_link_limit limit;
		const int status = dev_host_limit_read(c->devices->dev[i], &limit);
		if (status == -ENODATA)
			err_clear();
		else
			TRY(c->status, status);
		if (status)
			return;
		sum += kinds & TRAFFIC_BIT(TRAFFIC_UP) ? limit.in_bytes_per_s : 0.0;
		sum += kinds & TRAFFIC_BIT(TRAFFIC_DOWN) ? limit.out_bytes_per_s : 0.0;
	}
	bench_nominal(c, "bandwidth", PASS_ALL, sum, true);
}

static int derive(struct bench_case *c)
{
	const struct passes *p = c->state;
	const struct shared_links shared = {&p->devices, &p->pairs, PASS_ALONE, PASS_PAIRS};
	bound_by_links(c, p->traffic.host);
	TRY(c->status, passes_derive(c));
	if (bench_variant_on(c, PASS_ALONE) && bench_variant_on(c, PASS_PAIRS))
		TRY(c->status, shared_links_derive(c, &shared));
	return c->status;
}

static void teardown(struct bench_case *c) { passes_close(c->state); }

static const struct bench bench = {
	.name = "micro/link_contention",
	.question = "which devices slow each other's copies to and from the host?",
	.formula = "rate_kept = seconds of the slowest device alone / seconds of the slowest while "
		   "others copy; bandwidth = bytes of all devices / seconds of the slowest",
	.timed = "copies back to back in streams filled beforehand, released at once; not "
		 "enqueueing, allocation or checking",
	.limits =
		"devices copy equally many bytes, so one whose link is faster is done before the "
		"others; pinned memory is on the node next to each device; what shares the host's "
		"memory alone looks as what shares a port; what carries any two devices but not "
		"all "
		"shows in `all` alone, not in pairs",
	.needs = DEV_CAP_WAIT_VALUE | DEV_CAP_COPY_ENGINE | DEV_CAP_PEER,
	.min_devices = 2,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct passes),
	.setup = setup,
	.verify_mechanism = passes_verify,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
