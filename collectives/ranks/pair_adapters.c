/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/pair_adapters.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASSES 6u
#define PASS_SECONDS 0.1

/* The ports of one node, and their rates in all passes. */
struct node_rates {
	struct pair_ports ports; /* as of the first pass */
	double rate[NETWORK_PORTS_MAX][PASSES];
	double sent_bytes, counted; /* by its ranks; of that, in the pass with the least */
};

/* The time in which a node has a pair, and what its ranks send in it. */
static void measure_node(const struct pair_session *s, int node, uint64_t iterations,
			 double *seconds_p, double *bytes_p)
{
	const struct pairing *p = &s->pairing;
	uint32_t round = UINT32_MAX;
	double longest = 0.0;
	*seconds_p = *bytes_p = 0.0;
	for (size_t i = 0; i < p->count; i++) { /* in order of rounds */
		const uint32_t ends[2] = {p->slots[i].first, p->slots[i].second};
		if (p->slots[i].round != round) {
			*seconds_p += longest;
			longest = 0.0;
			round = p->slots[i].round;
		}
		for (unsigned end = 0; end < 2; end++) {
			if (s->nodes[ends[end]] != node)
				continue;
			const double seconds = s->all[(size_t)ends[end] * p->rounds + round];
			longest = seconds > longest ? seconds : longest;
			*bytes_p +=
				(double)s->command.bytes * s->command.window * (double)iterations;
		}
	}
	*seconds_p += longest;
}

static void add_pass(const struct pair_session *s, uint64_t iterations, unsigned pass,
		     struct node_rates *of)
{
	for (int node = 0; node < mpi_job.size; node++) {
		const struct pair_ports *ports = &s->ports[node];
		struct node_rates *n = &of[node];
		double seconds, counted = 0.0;
		if (s->nodes[node] != node)
			continue;
		measure_node(s, node, iterations, &seconds, &n->sent_bytes);
		if (pass == 0)
			n->ports = *ports;
		for (size_t i = 0; i < ports->count && i < n->ports.count; i++) {
			if (strcmp(ports->port[i].name, n->ports.port[i].name) != 0)
				continue;
			n->rate[i][pass] = (double)ports->port[i].sent_bytes / seconds;
			counted += (double)ports->port[i].sent_bytes / n->sent_bytes;
		}
		n->counted = pass == 0 || counted < n->counted ? counted : n->counted;
	}
}

static int run_passes(struct bench_case *c, const struct pair_session *s, struct node_rates *of)
{
	struct mpi_command command = {
		.opcode = PAIR_COUNT, .variant = PAIR_BOTH_WAYS, .iterations = 1};
	if (TRY(c->status, rank_program_command(c, &command)))
		return c->status;
	command.iterations += (uint64_t)(PASS_SECONDS / (s->seconds > 1e-6 ? s->seconds : 1e-6));
	for (unsigned pass = 0; c->status == 0 && pass < PASSES; pass++)
		if (TRY(c->status, rank_program_command(c, &command)) == 0)
			add_pass(s, command.iterations, pass, of);
	return c->status;
}

static void report_node(struct bench_case *c, int node, const struct node_rates *n)
{
	for (size_t i = 0; c->status == 0 && i < n->ports.count; i++) {
		const struct network_port *port = &n->ports.port[i];
		char name[64];
		snprintf(name, sizeof(name), "adapter_rate %d/%s", node, port->name);
		TRY(c->status,
		    bench_derive_samples(c, name, PAIR_BOTH_WAYS, "byte/s",
					 UINT64_C(1) << PAIR_BOTH_WAYS, n->rate[i], PASSES,
					 "what the port's counter rose by in a pass of all pairs, "
					 "both ways / the time in which its node has a pair"));
		if (port->bytes_per_s > 0.0)
			bench_bound(c, name, PAIR_BOTH_WAYS, port->bytes_per_s,
				    "nominal rate of the port");
	}
}

int pair_adapters_derive(struct bench_case *c, const struct pair_session *s)
{
	struct text uncounted = {0};
	struct node_rates *of = NULL;
	if (s->command.scope == PAIRING_WITHIN || !s->command.together ||
	    !bench_variant_on(c, PAIR_BOTH_WAYS))
		return c->status;
	of = calloc((size_t)mpi_job.size, sizeof(*of));
	TRY(c->status,
	    of ? 0 : err_note(-ENOMEM, "adapters of %d ranks: out of memory", mpi_job.size));
	TRY(c->status, run_passes(c, s, of));
	for (int node = 0; c->status == 0 && node < mpi_job.size; node++) {
		const struct node_rates *n = &of[node];
		if (n->counted >= 1.0)
			report_node(c, node, n);
		else if (n->sent_bytes > 0.0)
			text_add(&uncounted, "%sthe node of rank %d: %.3g of what its ranks sent",
				 uncounted.length ? "; " : "", node, n->counted);
	}
	if (uncounted.length)
		bench_fact_text(c, "adapters_not_counted", text_whole(&uncounted));
	text_free(&uncounted);
	free(of);
	return c->status;
}
