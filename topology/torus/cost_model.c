/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/cost_model.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass over the steps of a schedule. */
struct step_counter {
	const struct schedule *s;
	struct links *links;
	struct schedule_message *messages;
	double *port;              /* of a rank: what leaves through each */
	struct cost_model_run run; /* of the current step */
};

/* For count_rank(): counts the messages of all dimensions. */
#define ALL_DIMS GRID_DIMS

static void count_rank(struct step_counter *c, uint32_t rank, uint32_t step, unsigned only)
{
	const struct grid *grid = schedule_grid(c->s);
	memset(c->port, 0, schedule_ports(c->s) * sizeof(*c->port));
	for (unsigned part = 0; part < schedule_parts(c->s); part++) {
		unsigned n = schedule_messages(c->s, part, rank, step, c->messages);
		for (unsigned i = 0; i < n && c->messages[i].send; i++) {
			const struct schedule_message *m = &c->messages[i];
			if (only != ALL_DIMS &&
			    grid_at(grid, rank, only) == grid_at(grid, m->peer, only))
				continue;
			double *through = &c->port[m->port];
			uint32_t links = links_send(c->links, rank, m->peer, m->chunks);
			*through += m->chunks;
			c->run.links = links > c->run.links ? links : c->run.links;
			c->run.port = *through > c->run.port ? *through : c->run.port;
		}
	}
}

static void count_step(struct step_counter *c, uint32_t step, bool by_line)
{
	const struct grid *grid = schedule_grid(c->s);
	links_clear(c->links);
	c->run = (struct cost_model_run){.repeats = schedule_repeats(c->s, step)};
	for (uint32_t r = 0; !by_line && r < grid->nodes; r++)
		count_rank(c, r, step, ALL_DIMS);
	for (unsigned d = 0; by_line && d < grid->dims; d++)
		for (uint32_t x = 0; x < grid->side[d]; x++)
			count_rank(c, x * grid->stride[d], step, d);
	c->run.worst = links_worst(c->links);
}

static int append_run(struct cost_model *p, const struct cost_model_run *run)
{
	struct cost_model_run *grown = realloc(p->runs, (p->run_count + 1) * sizeof(*grown));
	if (!grown)
		return err_note(-ENOMEM, "counting steps: out of memory");
	double share = (double)run->repeats / ((double)p->parts * p->chunks);
	p->runs = grown;
	p->runs[p->run_count++] = *run;
	p->links += (double)run->repeats * run->links;
	p->worst += share * run->worst;
	p->port += share * run->port;
	return 0;
}

int cost_model_count(const struct network *network, const struct schedule *s, bool by_line,
		     struct cost_model *p_p)
{
	struct cost_model p = {.dims = network->grid.dims,
			       .nodes = network->grid.nodes,
			       .parts = schedule_parts(s),
			       .chunks = schedule_chunks(s),
			       .steps = schedule_steps(s)};
	struct step_counter c = {.s = s};
	int status = links_open(network, by_line, &c.links);
	if (status)
		return status;
	c.messages = calloc(schedule_max_messages(s), sizeof(*c.messages));
	c.port = calloc(schedule_ports(s), sizeof(*c.port));
	if (!c.messages || !c.port)
		status = err_note(-ENOMEM, "counting steps: out of memory");
	for (uint32_t step = 0; status == 0 && step < p.steps; step += c.run.repeats) {
		count_step(&c, step, by_line);
		status = append_run(&p, &c.run);
	}
	free(c.messages);
	free(c.port);
	links_close(c.links);
	if (status)
		cost_model_free(&p);
	else
		*p_p = p;
	return status;
}

int cost_model_open(const struct network *network, const char *algorithm, enum schedule_ports ports,
		    struct schedule **s_p)
{
	struct schedule *s;
	int status = schedule_open(algorithm, &network->grid, ports, SCHEDULE_ALLREDUCE,
				   SCHEDULE_INDEXED, &s);
	if (status)
		return status;
	const unsigned needed = schedule_ports(s), there = network_ports(network);
	if (needed <= there) {
		*s_p = s;
		return 0;
	}
	schedule_close(s);
	return err_note(-ENOTSUP,
			"%s sends %u messages at once; a node of this network has %u ports",
			algorithm, needed, there);
}

int cost_model_make(const struct network *network, const char *algorithm, enum schedule_ports ports,
		    struct cost_model *p_p)
{
	struct schedule *s = NULL;
	int status = cost_model_open(network, algorithm, ports, &s);
	TRY(status, cost_model_count(network, s, schedule_by_line(s), p_p));
	schedule_close(s);
	return status;
}

void cost_model_free(struct cost_model *p)
{
	free(p->runs);
	*p = (struct cost_model){0};
}

double cost_model_lambda(const struct cost_model *p) { return p->steps / log2(p->nodes); }

double cost_model_psi(const struct cost_model *p)
{
	return p->dims * p->port * (p->chunks > 1 ? p->chunks / (p->chunks - 1.0) : 1.0);
}

double cost_model_xi(const struct cost_model *p) { return p->dims * p->worst / cost_model_psi(p); }

double cost_model_latency(const struct cost_model *p, const struct cost_model_costs *costs)
{
	return p->steps * costs->step_s + p->links * costs->link_s;
}

double cost_model_slope(const struct cost_model *p, const struct cost_model_costs *costs)
{
	return p->worst / costs->bytes_per_s;
}

double cost_model_time(const struct cost_model *p, const struct cost_model_costs *costs,
		       double bytes)
{
	return cost_model_latency(p, costs) + bytes * cost_model_slope(p, costs);
}
