/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What allreduce time does a model predict for a torus? The program counts steps, routes and link
 * loads of every algorithm exactly, and a model converts them to time, for networks that are not at
 * hand. Nothing is timed.
 *
 *     bin/topology/torus --shape 64x64 --algorithm swing-b --size 2M
 *     bin/topology/torus --shape hx2mesh:64x64,hyperx:64x64,8x8x8 --size 32:512M:x4
 *     bin/topology/torus --shape 16x16 --algorithm swing-b --size 2M --emit simgrid
 */
#include "bench/bench.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/units.h"
#include "topology/torus/candidates.h"
#include "topology/torus/simgrid.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "0" or a duration, in ns or in the units of lib/units.h. */
static int parse_duration(const char *text, double *seconds_p)
{
	char number[32];
	size_t length = strlen(text);
	if (length > 2 && length < sizeof(number) && strcmp(text + length - 2, "ns") == 0) {
		snprintf(number, sizeof(number), "%.*s", (int)length - 2, text);
		int status = units_parse_real(number, 0, 1e12, seconds_p);
		*seconds_p *= status ? 0 : 1e-9;
		return status;
	}
	*seconds_p = 0;
	return strcmp(text, "0") == 0 ? 0 : units_parse_seconds(text, seconds_p);
}

static int accept_duration(const char *text)
{
	double seconds;
	if (parse_duration(text, &seconds))
		return err_note(-EINVAL, "bad duration '%s'; use 0, or a number and ns, us, ms, s",
				text);
	return 0;
}

#define POWERS_OF_TWO                                                                              \
	"ring,bucket,rd-l,rd-b,rd-mirrored,rabenseifner,swing-l,swing-b,bruck,trivance,bine"

/* A bandwidth below 1 Mbyte/s is a wrong unit. */
static const struct axis axes[] = {
	{"shape",
	 "sides of a torus; the prefixes torus-shared: hx2mesh: hx4mesh: hyperx: select another "
	 "network",
	 AXIS_WORD, "8x8,64x64",
	 "8x8,16x16,27x27,32x32,64x64,128x128,64x16,128x8,256x4,8x8x8,8x8x8x8,hx2mesh:"
	 "64x64,hx4mesh:64x64,hyperx:64x64",
	 .accept = network_accept},
	{"algorithm", "schedules of the allreduce; the error for an unknown name lists them",
	 AXIS_WORD, POWERS_OF_TWO, POWERS_OF_TWO ",bruck-l,trivance-l", .accept = schedule_accept},
	{"ports",
	 "one collective at a time, or as many as the algorithm can run on separate ports, up to 2 "
	 "per dimension",
	 AXIS_WORD, "all", .words = (const char *const[]){"1", "all", NULL}},
	{"size", "bytes of the whole vector", AXIS_SIZE, "32,32K,2M,512M", "32:2G:x4", .min = 1,
	 .max = UINT64_C(1) << 40},
	{"step", "fixed time of each step", AXIS_WORD, "0.455us", .accept = accept_duration},
	{"hop", "time for each link on the longest route of a step", AXIS_WORD, "0.4us",
	 .accept = accept_duration},
	{"bandwidth", "of a link in one direction, byte/s", AXIS_COUNT, "50000000000",
	 .min = 1000000, .max = UINT64_C(1) << 60},
	{"emit", "simgrid: also write torus-SHAPE.xml and .hosts to the current folder", AXIS_WORD,
	 "none", .words = (const char *const[]){"none", "simgrid", NULL}},
	{0}};

static enum schedule_ports ports_of(const struct bench_case *c)
{
	return strcmp(axis_str(c, "ports"), "1") == 0 ? SCHEDULE_ONE_PORT : SCHEDULE_ALL_PORTS;
}

static int admit(const struct bench_case *c)
{
	struct network network;
	struct schedule *s = NULL;
	int status = network_parse(axis_str(c, "shape"), &network);
	TRY(status, cost_model_open(&network, axis_str(c, "algorithm"), ports_of(c), &s));
	schedule_close(s);
	return status == -ENOTSUP ? err_note(-EINVAL, "%s", err_text()) : status;
}

/* c->arg is all algorithms on the current network; consecutive cases differ in size or algorithm
 * only. */
static int setup(struct bench_case *c)
{
	struct candidates *all = c->arg;
	struct network network;
	enum schedule_ports ports = ports_of(c);
	int status = network_parse(axis_str(c, "shape"), &network);
	if (status == 0 && (all->network.kind != network.kind || all->ports != ports ||
			    memcmp(&all->network.grid, &network.grid, sizeof(network.grid)) != 0)) {
		candidates_free(all);
		status = candidates_make(&network, ports, all);
	}
	const struct candidate *mine =
		status ? NULL : candidates_find(all, axis_str(c, "algorithm"));
	return mine && mine->status ? err_note(mine->status, "%s", mine->why) : status;
}

/* Equal messages that the worst link of each step carries. "4x1 2x3": four steps of 1 message, two
 * steps of 3. */
static void report_loads(struct bench_case *c, const struct cost_model *p)
{
	struct text loads = {0};
	for (size_t i = 0, next; i < p->run_count; i = next) {
		double load = p->runs[i].worst / p->runs[i].port;
		uint32_t steps = 0;
		for (next = i;
		     next < p->run_count && p->runs[next].worst == load * p->runs[next].port;
		     next++)
			steps += p->runs[next].repeats;
		next += next == i;
		steps += steps == 0 ? p->runs[i].repeats : 0;
		text_add(&loads, "%s%ux%.6g", i ? " " : "", steps, load);
	}
	bench_fact_text(c, "messages_on_worst_link", text_whole(&loads));
	text_free(&loads);
}

static void report_facts(struct bench_case *c, const struct cost_model *p,
			 const struct cost_model_costs *costs, double bytes)
{
	char text[4096];
	bench_fact_number(c, "nodes", p->nodes);
	bench_fact_number(c, "collectives_at_once", p->parts);
	bench_fact_number(c, "steps", p->steps);
	bench_fact_number(c, "links_on_longest_routes", p->links);
	report_loads(c, p);
	bench_fact_text(c, "best_algorithm",
			candidates_show_best(c->arg, costs, bytes, text, sizeof(text)));
	bench_fact_text(c, "best_by_bytes", candidates_show(c->arg, costs, text, sizeof(text)));
}

static int derive(struct bench_case *c)
{
	const struct candidates *all = c->arg;
	const struct candidate *mine = candidates_find(all, axis_str(c, "algorithm"));
	const struct cost_model *p = &mine->model;
	struct cost_model_costs costs = {.bytes_per_s = (double)axis_u64(c, "bandwidth")};
	double bytes = (double)axis_u64(c, "size"), from, to;
	TRY(c->status, parse_duration(axis_str(c, "step"), &costs.step_s));
	if (TRY(c->status, parse_duration(axis_str(c, "hop"), &costs.link_s)))
		return c->status;
	const double time = cost_model_time(p, &costs, bytes),
		     best = cost_model_time(&candidates_best(all, &costs, bytes)->model, &costs,
					    bytes);
	bench_model_value(c, "lambda", -1, cost_model_lambda(p), "1", "steps / log2(nodes)");
	bench_model_value(
		c, "psi", -1, cost_model_psi(p), "1",
		"bytes through the busiest port / (size / dimensions), without the rank's own "
		"chunk");
	bench_model_value(c, "xi", -1, cost_model_xi(p), "1",
			  "sum over steps of bytes on the worst link / (psi * size / dimensions)");
	bench_model_value(
		c, "time", -1, time, "s",
		"sum over steps of step latency + longest route * hop latency + worst link / "
		"bandwidth");
	bench_model_value(c, "goodput", -1, bytes / time, "byte/s", "size / time");
	bench_model_value(c, "peak_fraction", -1, bytes / time / (p->dims * costs.bytes_per_s), "1",
			  "goodput / (dimensions * bandwidth), half of what a node's links inject");
	bench_model_value(c, "time_over_best", -1, time / best, "1",
			  "time / time of the best algorithm at this size");
	if (candidates_wins(all, mine, &costs, &from, &to)) {
		bench_model_value(c, "best_from", -1, ceil(from), "byte",
				  "smallest size at which no algorithm is faster");
		if (isfinite(to))
			bench_model_value(c, "best_to", -1, floor(to), "byte",
					  "largest size at which no algorithm is faster");
	}
	report_facts(c, p, &costs, bytes);
	if (strcmp(axis_str(c, "emit"), "simgrid") == 0) {
		char command[SIMGRID_COMMAND];
		if (TRY(c->status, simgrid_write(&all->network, costs.link_s, costs.bytes_per_s,
						 command)) == 0)
			bench_fact_text(c, "simgrid_command", command);
	}
	return c->status;
}

static const struct bench bench = {
	.name = "topology/torus",
	.question = "how long would an allreduce take on a torus?",
	.formula = "time = sum over steps of (step latency + longest route * hop latency + bytes "
		   "on the worst link / bandwidth)",
	.timed = "nothing: a model; link loads are exact counts",
	.limits = "all ranks step together; minimal routes, dimensions in order; no packets, no "
		  "adaptive routing",
	.share = 0.1,
	.axes = axes,
	.admit = admit,
	.setup = setup,
	.derive = derive,
};

int main(int argc, char **argv)
{
	struct candidates candidates = {0};
	struct bench program = bench;
	program.arg = &candidates;
	int code = bench_main(&program, argc, argv);
	candidates_free(&candidates);
	return code;
}
