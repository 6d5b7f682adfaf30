/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/sim_ops.h"
#include "lib/err.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sim_pair *find_pair(const struct sim_model *m, unsigned from, unsigned to)
{
	for (uint32_t i = 0; i < m->pairs; i++)
		if (m->pair[i].from == from && m->pair[i].to == to)
			return &m->pair[i];
	return NULL;
}

/* ------------------------------------------------------------------ lines of a model */

/* A number without sign or blanks, as strtoul() would accept them. */
static const char *read_index(const char *text, unsigned long *index_p)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return NULL;
	*index_p = strtoul(text, &end, 10);
	return end;
}

int sim_pair_parse(const char *text, struct sim_pair *pair_p)
{
	unsigned long from, to;
	const char *rest = read_index(text, &from);
	rest = rest && *rest == '>' ? read_index(rest + 1, &to) : NULL;
	if (!rest || *rest)
		return err_note(-EINVAL, "'%.40s' is no ordered pair of devices, such as 0>3",
				text);
	if (from >= DEV_MAX || to >= DEV_MAX)
		return err_note(-EINVAL, "'%.40s': devices are 0 to %d", text, DEV_MAX - 1);
	if (from == to)
		return err_note(-EINVAL, "'%.40s': a pair is of two devices", text);
	*pair_p = (struct sim_pair){
		.from = (uint32_t)from, .to = (uint32_t)to, .bandwidth = NAN, .latency_ns = NAN};
	return 0;
}

struct sim_pair *sim_pair_entry(struct sim_model *m, const struct sim_pair *pair)
{
	for (uint32_t i = 0; i < m->pairs; i++)
		if (m->pair[i].from == pair->from && m->pair[i].to == pair->to)
			return &m->pair[i];
	if (m->pairs == SIM_PAIRS)
		return NULL;
	m->pair[m->pairs] = *pair;
	return &m->pair[m->pairs++];
}

/* ------------------------------------------------------------------ what the model says */

double sim_pair_bandwidth(const struct sim_model *m, unsigned from, unsigned to)
{
	const struct sim_pair *pair = find_pair(m, from, to);
	return pair && !isnan(pair->bandwidth) ? pair->bandwidth : m->peer_bandwidth;
}

double sim_pair_latency_ns(const struct sim_dev *from, const struct sim_dev *to)
{
	const struct sim_pair *pair = find_pair(&from->model, from->base.index, to->base.index);
	return pair && !isnan(pair->latency_ns) ? pair->latency_ns : from->model.peer_latency_ns;
}

static double access_latency_ns(const struct sim_dev *d, const struct alloc *a, bool write)
{
	if (a->dev == d || a->kind != DEV_MEM_DEVICE)
		return 0;
	return write ? sim_pair_latency_ns(d, a->dev) : sim_pair_latency_ns(a->dev, d);
}

double sim_op_latency_ns(const struct sim_dev *d, const struct op *op)
{
	double longest = 0;
	for (unsigned i = 0; i < op->traffics; i++)
		if (op->traffic[i].path != PATH_REFILL)
			longest = fmax(longest, access_latency_ns(d, op->traffic[i].at,
								  op->traffic[i].write));
	return longest;
}

double sim_injection_bandwidth(const struct sim_model *m)
{
	return m->injection_bandwidth > 0 ? m->injection_bandwidth : m->peer_bandwidth;
}

/* ------------------------------------------------------------------ operations */

int sim_peer_enable(struct dev *dev, struct dev *other)
{
	struct sim_dev *a = sim_of(dev), *b = sim_of(other);
	if (!dev_can(dev, DEV_CAP_PEER) || !dev_can(other, DEV_CAP_PEER))
		return err_note(-ENOTSUP, "sim:%u: peer access is not supported", dev->index);
	int status = sim_call_begin(a);
	for (unsigned i = 0; i < a->peers && !status; i++)
		if (a->peer[i] == b)
			return sim_call_end(0);
	if (status || a == b)
		return sim_call_end(status);
	if (a->peers == SIM_PEERS || b->peers == SIM_PEERS)
		return sim_call_end(
			err_note(-ENOMEM, "sim:%u: more than %d peers", dev->index, SIM_PEERS));
	a->peer[a->peers++] = b;
	b->peer[b->peers++] = a;
	return sim_call_end(0);
}

/* All that a device does is faster by its draw of open_sigma, copies too. */
int sim_links_read(struct dev *dev, struct dev_links *links)
{
	const struct sim_dev *d = sim_of(dev);
	memset(links, 0, sizeof(*links));
	links->numa_node = (int)sim_near_node(d);
	links->count = 1;
	links->link[0] =
		(struct dev_link){.kind = "link",
				  .state = DEV_LINK_UP,
				  .end = DEV_LINK_TO_HOST,
				  .in_bytes_per_s = d->model.link_down_bandwidth / d->open_factor,
				  .out_bytes_per_s = d->model.link_up_bandwidth / d->open_factor};
	return 0;
}

/* Either device may do the copy. */
int sim_path_read(struct dev *dev, struct dev *other, struct dev_path *path)
{
	const struct sim_dev *from = sim_of(dev), *to = sim_of(other);
	const double injection =
		fmin(sim_injection_bandwidth(&from->model), sim_injection_bandwidth(&to->model));
	memset(path, 0, sizeof(*path));
	if (!dev_can(dev, DEV_CAP_PEER) || !dev_can(other, DEV_CAP_PEER)) {
		snprintf(path->access, sizeof(path->access), "not_supported");
		return 0;
	}
	snprintf(path->kind, sizeof(path->kind), "link");
	snprintf(path->access, sizeof(path->access), "yes");
	path->hops = 1;
	path->bytes_per_s = fmin(sim_pair_bandwidth(&from->model, from->base.index, to->base.index),
				 injection) /
			    fmin(from->open_factor, to->open_factor);
	return 0;
}
