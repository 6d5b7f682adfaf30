/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/profile.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One pass over the steps of a schedule. */
struct count {
	const struct schedule *s;
	struct links *links;
	struct schedule_message *messages;
	struct profile_run run; /* of the step at hand */
};

/* `only`: count messages along this dimension; NOT_ONE counts all. */
#define NOT_ONE GRID_DIMS

static bool leads_along(const struct grid *grid, uint32_t from, uint32_t to, unsigned dim)
{
	return grid_at(grid, from, dim) != grid_at(grid, to, dim);
}

static void count_rank(struct count *c, uint32_t rank, uint32_t step, unsigned only)
{
	for (unsigned part = 0; part < schedule_parts(c->s); part++) {
		double port[2] = {0, 0};
		unsigned n = schedule_messages(c->s, part, rank, step, c->messages);
		for (unsigned i = 0; i < n && c->messages[i].send; i++) {
			const struct schedule_message *m = &c->messages[i];
			if (only != NOT_ONE && !leads_along(schedule_grid(c->s), rank, m->peer, only))
				continue;
			double *through = &port[m->port % 2];
			uint32_t links = links_send(c->links, rank, m->peer, m->blocks);
			*through += m->blocks;
			c->run.links = links > c->run.links ? links : c->run.links;
			c->run.port = *through > c->run.port ? *through : c->run.port;
		}
	}
}

static void count_step(struct count *c, uint32_t step, bool by_line)
{
	const struct grid *grid = schedule_grid(c->s);
	links_clear(c->links);
	c->run = (struct profile_run){.repeats = schedule_repeats(c->s, step)};
	for (uint32_t r = 0; !by_line && r < grid->nodes; r++)
		count_rank(c, r, step, NOT_ONE);
	for (unsigned d = 0; by_line && d < grid->dims; d++)
		for (uint32_t x = 0; x < grid->side[d]; x++)
			count_rank(c, x * grid->stride[d], step, d);
	c->run.worst = links_worst(c->links);
}

static int append(struct profile *p, const struct profile_run *run)
{
	struct profile_run *grown = realloc(p->runs, (p->run_count + 1) * sizeof(*grown));
	if (!grown)
		return err_note(-ENOMEM, "counting steps: out of memory");
	double share = (double)run->repeats / ((double)p->parts * p->blocks);
	p->runs = grown;
	p->runs[p->run_count++] = *run;
	p->links += (double)run->repeats * run->links;
	p->worst += share * run->worst;
	p->port += share * run->port;
	return 0;
}

int profile_count(const struct network *network, const struct schedule *s, bool by_line, struct profile *p_p)
{
	struct profile p = {.dims = network->grid.dims, .nodes = network->grid.nodes, .parts = schedule_parts(s),
	                    .blocks = schedule_blocks(s), .steps = schedule_steps(s)};
	struct count c = {.s = s};
	int status = links_open(network, by_line, &c.links);
	if (status)
		return status;
	c.messages = calloc(schedule_most_messages(s), sizeof(*c.messages));
	if (!c.messages)
		status = err_note(-ENOMEM, "counting steps: out of memory");
	for (uint32_t step = 0; status == 0 && step < p.steps; step += c.run.repeats) {
		count_step(&c, step, by_line);
		status = append(&p, &c.run);
	}
	free(c.messages);
	links_close(c.links);
	if (status)
		profile_free(&p);
	else
		*p_p = p;
	return status;
}

int profile_make(const struct network *network, const char *algorithm, enum schedule_ports ports, struct profile *p_p)
{
	struct schedule *s;
	int status = schedule_open(algorithm, &network->grid, ports, SCHEDULE_ALLREDUCE, SCHEDULE_INDEXED, &s);
	if (status)
		return status;
	status = profile_count(network, s, schedule_by_line(s), p_p);
	schedule_close(s);
	return status;
}

void profile_free(struct profile *p)
{
	free(p->runs);
	*p = (struct profile){0};
}

double profile_lambda(const struct profile *p) { return p->steps / log2(p->nodes); }

double profile_psi(const struct profile *p)
{
	return p->dims * p->port * (p->blocks > 1 ? p->blocks / (p->blocks - 1.0) : 1.0);
}

double profile_xi(const struct profile *p) { return p->dims * p->worst / profile_psi(p); }

double profile_latency(const struct profile *p, const struct profile_costs *costs)
{
	return p->steps * costs->step_s + p->links * costs->link_s;
}

double profile_slope(const struct profile *p, const struct profile_costs *costs)
{
	return p->worst / costs->bytes_per_s;
}

double profile_time(const struct profile *p, const struct profile_costs *costs, double bytes)
{
	return profile_latency(p, costs) + bytes * profile_slope(p, costs);
}
