/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/model/model_links.h"
#include "device/dev.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SIM_PAIRS == DEV_MAX * (DEV_MAX - 1), "all ordered pairs");

/* The position of a pair, or where it is missing: the pairs are in order. */
static uint32_t pair_position(const struct sim_model *m, unsigned from, unsigned to, bool *found_p)
{
	uint32_t low = 0, high = m->pairs;
	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		const struct sim_pair *pair = &m->pair[middle];
		if (pair->from < from || (pair->from == from && pair->to < to))
			low = middle + 1;
		else
			high = middle;
	}
	*found_p = low < m->pairs && m->pair[low].from == from && m->pair[low].to == to;
	return low;
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
		return err_note(-EINVAL, "'%.40s' is not an ordered pair of devices, such as 0>3",
				text);
	if (from >= DEV_MAX || to >= DEV_MAX)
		return err_note(-EINVAL, "'%.40s': devices are 0 to %d", text, DEV_MAX - 1);
	if (from == to)
		return err_note(-EINVAL, "'%.40s': a pair needs two different devices", text);
	*pair_p = (struct sim_pair){
		.from = (uint8_t)from, .to = (uint8_t)to, .bandwidth = NAN, .latency_ns = NAN};
	return 0;
}

struct sim_pair *sim_pair_find(struct sim_model *m, const struct sim_pair *pair)
{
	bool found;
	const uint32_t at = pair_position(m, pair->from, pair->to, &found);
	return found ? &m->pair[at] : NULL;
}

struct sim_pair *sim_pair_entry(struct sim_model *m, const struct sim_pair *pair)
{
	bool found;
	const uint32_t at = pair_position(m, pair->from, pair->to, &found);
	if (found)
		return &m->pair[at];
	memmove(&m->pair[at + 1], &m->pair[at], (m->pairs++ - at) * sizeof(*pair));
	m->pair[at] = *pair;
	m->pair[at].linked = false;
	m->pair[at].bandwidth = m->pair[at].latency_ns = NAN;
	return &m->pair[at];
}

/* ------------------------------------------------------------------ what the model says */

double sim_link_bandwidth(const struct sim_model *m, unsigned from, unsigned to)
{
	bool found;
	const struct sim_pair *pair = &m->pair[pair_position(m, from, to, &found)];
	return found && !isnan(pair->bandwidth) ? pair->bandwidth : m->peer_bandwidth;
}

double sim_link_latency_ns(const struct sim_model *m, unsigned from, unsigned to)
{
	bool found;
	const struct sim_pair *pair = &m->pair[pair_position(m, from, to, &found)];
	return found && !isnan(pair->latency_ns) ? pair->latency_ns : m->peer_latency_ns;
}

double sim_injection_bandwidth(const struct sim_model *m)
{
	if (m->injection_bandwidth > 0)
		return m->injection_bandwidth;
	return m->links == SIM_LINKS_SWITCH ? m->peer_bandwidth : INFINITY;
}

/* ------------------------------------------------------------------ a torus */

/* The way that SimGrid takes on a torus: the shorter one; half of the ring goes upwards, but for
 * those at half of it. */
static unsigned next_on_ring(unsigned at, unsigned to, unsigned side)
{
	const unsigned half = side / 2;
	const bool up = (to > at && to <= at + half) || (at > half && (at + half) % side >= to);
	return (at + (up ? 1 : side - 1)) % side;
}

unsigned sim_torus_next(const struct sim_model *m, unsigned at, unsigned to)
{
	unsigned stride = 1;
	for (unsigned i = 0; i < SIM_TORUS_DIMENSIONS; stride *= m->torus[i++]) {
		const unsigned side = m->torus[i], x = at / stride % side, end = to / stride % side;
		if (x != end)
			return at + next_on_ring(x, end, side) * stride - x * stride;
	}
	return at;
}
