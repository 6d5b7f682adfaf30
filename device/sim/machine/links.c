/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links between devices: which ones a model has, the ways over them, and what flows find there.
 */
#include "device/sim/machine/machine.h"
#include "device/sim/model/reading.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SIM_PAIRS == DEV_MAX * (DEV_MAX - 1), "all ordered pairs");
_Static_assert(DEV_MAX <= 64, "a bit for each");

/* All links of the machine. Row i is the links that leave device i. */
static struct resource links[DEV_MAX][DEV_MAX];

/* By index: the open device whose model decides; the one that was opened first. */
static struct sim_dev *deciding[DEV_MAX];

/* ------------------------------------------------------------------ the key `links` */

static int read_sides(const struct sim_position *p, const char *text, struct sim_model *m)
{
	const char *at = text;
	for (unsigned i = 0; i < SIM_TORUS_DIMENSIONS; i++)
		m->torus[i] = 1;
	for (unsigned i = 0; i < SIM_TORUS_DIMENSIONS; i++) {
		char *end;
		const unsigned long side = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
		if (side < 1 || side > DEV_MAX)
			break;
		m->torus[i] = (uint32_t)side;
		if (*end == '\0' && i > 0)
			return 0;
		if (*end != 'x')
			break;
		at = end + 1;
	}
	return err_note(-EINVAL,
			"%s:%d: links: '%.40s' is not a torus such as torus:4x2 or torus:4x4x2, of "
			"at most %d devices a side",
			p->where, p->line, text, DEV_MAX);
}

int sim_links_read_key(struct sim_position *p, const char *text, struct sim_model *m)
{
	static const char *const words[] = {"switch", "mesh", "ring"};
	static const char torus[] = "torus:";
	if (p->links_line)
		return err_note(-EINVAL, "%s:%d: links is set twice", p->where, p->line);
	p->links_line = p->line;
	snprintf(p->links, sizeof(p->links), "%s", text);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			m->links = (enum sim_links)i;
			return 0;
		}
	}
	if (strpbrk(text, "/.")) {
		m->links = SIM_LINKS_FILE;
		return 0;
	}
	m->links = SIM_LINKS_TORUS;
	if (strncmp(text, torus, sizeof(torus) - 1) == 0)
		return read_sides(p, text + sizeof(torus) - 1, m);
	return err_note(-EINVAL,
			"%s:%d: links: unknown word '%.40s'; words: switch mesh ring torus:AxB, or "
			"a file (a name with '/' or '.')",
			p->where, p->line, text);
}

/* ------------------------------------------------------------------ a file of links */

static int add_link(const struct sim_position *p, const struct sim_pair *link, struct sim_model *m)
{
	if (link->from >= m->devices || link->to >= m->devices)
		return err_note(-EINVAL, "%s:%d: %u>%u: devices are 0 to %u", p->where, p->line,
				link->from, link->to, m->devices - 1);
	struct sim_pair *pair = sim_pair_entry(m, link);
	if (pair->linked)
		return err_note(-EINVAL, "%s:%d: %u>%u is set twice", p->where, p->line, link->from,
				link->to);
	/* A line of the model itself wins. */
	pair->linked = true;
	if (isnan(pair->bandwidth))
		pair->bandwidth = link->bandwidth;
	if (isnan(pair->latency_ns))
		pair->latency_ns = link->latency_ns;
	return 0;
}

/* "0>1 = 50e9 700", or "0-1 = ..." for both directions. */
static int read_link(struct sim_position *p, char *line, struct sim_model *m)
{
	static const struct sim_key rate = SIM_RATE("bandwidth"), time = SIM_TIME("latency_ns");
	struct sim_pair link;
	char *value = strchr(line, '='), *dash;
	if (!value)
		return err_note(-EINVAL, "%s:%d: '%.40s' is not a link, such as 0>1 = 50e9 700",
				p->where, p->line, line);
	*value++ = '\0';
	char *name = sim_model_trim(line);
	if ((dash = strchr(name, '-')))
		*dash = '>';
	if (sim_pair_parse(name, &link))
		return err_note(-EINVAL, "%s:%d: %s", p->where, p->line, err_text());
	value = sim_model_trim(value);
	char *latency = value + strcspn(value, " \t");
	if (*latency)
		*latency++ = '\0';
	latency = sim_model_trim(latency);
	if (sim_model_read_value(p, &rate, value, &link.bandwidth) ||
	    (*latency && sim_model_read_value(p, &time, latency, &link.latency_ns)))
		return -EINVAL;
	int status = add_link(p, &link, m);
	if (status || !dash)
		return status;
	const struct sim_pair back = {.from = link.to,
				      .to = link.from,
				      .bandwidth = link.bandwidth,
				      .latency_ns = link.latency_ns};
	return add_link(p, &back, m);
}

static int read_links_file(const struct sim_position *p, struct sim_model *m)
{
	char path[1024], what[256], *text;
	const char *builtin = strpbrk(p->where, "/.") ? NULL : sim_model_text(p->links);
	if (builtin) {
		struct sim_position inside = {.where = p->links};
		return sim_model_each_line(builtin, &inside, read_link, m);
	}
	const char *slash = p->in_spec ? NULL : strrchr(p->where, '/');
	const int folder = slash && p->links[0] != '/' ? (int)(slash + 1 - p->where) : 0;
	if (snprintf(path, sizeof(path), "%.*s%s", folder, p->where, p->links) >= (int)sizeof(path))
		return err_note(-EINVAL, "%s:%d: links: the path is too long", p->where,
				p->links_line);
	snprintf(what, sizeof(what), "%.200s:%d: links: read", p->where, p->links_line);
	int status = sim_model_read_text(what, path, &text);
	if (status)
		return status;
	struct sim_position inside = {.where = path};
	status = sim_model_each_line(text, &inside, read_link, m);
	free(text);
	return status;
}

/* ------------------------------------------------------------------ whole models */

/* The way that SimGrid takes on a torus: the shorter one; half of the ring goes upwards, but for
 * those at half of it. */
static unsigned next_on_ring(unsigned at, unsigned to, unsigned side)
{
	const unsigned half = side / 2;
	const bool up = (to > at && to <= at + half) || (at > half && (at + half) % side >= to);
	return (at + (up ? 1 : side - 1)) % side;
}

static unsigned next_on_torus(const struct sim_model *m, unsigned at, unsigned to)
{
	unsigned stride = 1;
	for (unsigned i = 0; i < SIM_TORUS_DIMENSIONS; stride *= m->torus[i++]) {
		const unsigned side = m->torus[i], x = at / stride % side, end = to / stride % side;
		if (x != end)
			return at + next_on_ring(x, end, side) * stride - x * stride;
	}
	return at;
}

static bool has_link(const struct sim_model *m, const struct sim_pair *pair)
{
	if (m->links == SIM_LINKS_FILE)
		return pair->linked;
	return m->links != SIM_LINKS_TORUS || next_on_torus(m, pair->from, pair->to) == pair->to;
}

static int check_pairs(const struct sim_position *p, const struct sim_model *m)
{
	for (uint32_t i = 0; i < m->pairs; i++) {
		const struct sim_pair *pair = &m->pair[i];
		const bool bandwidth = pair->bandwidth_line != 0;
		const char *key = bandwidth ? "peer_bandwidth" : "peer_latency_ns";
		const int line = bandwidth ? pair->bandwidth_line : pair->latency_line;
		if (pair->from >= m->devices || pair->to >= m->devices)
			return err_note(-EINVAL, "%s:%d: %s %u>%u: devices are 0 to %u", p->where,
					line, key, pair->from, pair->to, m->devices - 1);
		if (!has_link(m, pair))
			return err_note(-EINVAL, "%s:%d: %s %u>%u: no link of '%.200s'", p->where,
					line, key, pair->from, pair->to,
					p->links_line ? p->links : m->name);
	}
	return 0;
}

int sim_links_complete(const struct sim_position *p, struct sim_model *m)
{
	unsigned nodes = 1;
	/* A model that this one is like, or changes, may have been a ring of another size. */
	const bool was_ring = m->links == SIM_LINKS_TORUS && !p->links_line && m->torus[1] == 1 &&
			      m->torus[2] == 1;
	if (m->links == SIM_LINKS_RING || was_ring) {
		m->links = SIM_LINKS_TORUS;
		m->torus[0] = m->devices;
		m->torus[1] = m->torus[2] = 1;
	}
	for (unsigned i = 0; i < SIM_TORUS_DIMENSIONS; i++)
		nodes *= m->links == SIM_LINKS_TORUS ? m->torus[i] : 1;
	if (m->links == SIM_LINKS_TORUS && nodes != m->devices)
		return err_note(-EINVAL, "%s:%d: links = %.40s has %u devices; devices = %u",
				p->where, p->links_line, p->links, nodes, m->devices);
	/* A model that this one is like has read its own file. */
	int status = m->links == SIM_LINKS_FILE && p->links_line ? read_links_file(p, m) : 0;
	return status ? status : check_pairs(p, m);
}

/* ------------------------------------------------------------------ ways */

/* Breadth first from the target, against the direction of the links. */
static void find_ways_to(bool (*linked)[DEV_MAX], unsigned to, unsigned count,
			 uint8_t (*next)[DEV_MAX])
{
	uint8_t queue[DEV_MAX], hops[DEV_MAX];
	unsigned queued = 0;
	memset(hops, SIM_NO_WAY, sizeof(hops));
	hops[to] = 0;
	queue[queued++] = (uint8_t)to;
	for (unsigned done = 0; done < queued; done++) {
		for (unsigned from = 0; from < count; from++) {
			if (!linked[from][queue[done]] || hops[from] != SIM_NO_WAY)
				continue;
			hops[from] = (uint8_t)(hops[queue[done]] + 1);
			queue[queued++] = (uint8_t)from;
		}
	}
	for (unsigned from = 0; from < count; from++)
		for (unsigned by = count; by-- > 0 && from != to;)
			if (linked[from][by] && hops[by] + 1 == hops[from])
				next[from][to] = (uint8_t)by;
}

static void find_ways(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	const unsigned count = m->devices;
	bool linked[DEV_MAX][DEV_MAX] = {{false}};
	memset(d->way, SIM_NO_WAY, sizeof(d->way));
	for (uint32_t i = 0; i < m->pairs; i++)
		linked[m->pair[i].from][m->pair[i].to] = m->pair[i].linked;
	for (unsigned to = 0; to < count; to++) {
		d->way[to][to] = (uint8_t)to;
		if (m->links == SIM_LINKS_FILE)
			find_ways_to(linked, to, count, d->way);
		for (unsigned at = 0; at < count && m->links != SIM_LINKS_FILE; at++)
			if (at != to)
				d->way[at][to] = (uint8_t)(m->links == SIM_LINKS_TORUS
								   ? next_on_torus(m, at, to)
								   : to);
	}
}

static void choose_deciding(unsigned index)
{
	deciding[index] = NULL;
	for (struct sim_dev *d = sim_engine.devs; d && !deciding[index]; d = d->next)
		if (d->base.index == index)
			deciding[index] = d;
}

void sim_links_open(struct sim_dev *d)
{
	find_ways(d);
	choose_deciding(d->base.index);
}

void sim_links_close(unsigned index) { choose_deciding(index); }

static const struct sim_model *deciding_model(const struct sim_dev *from, unsigned at)
{
	return deciding[at] ? &deciding[at]->model : &from->model;
}

bool sim_way_exists(const struct sim_dev *from, const struct sim_dev *to)
{
	return from->way[from->base.index][to->base.index] != SIM_NO_WAY;
}

/* The first link of a way leaves `from`. Two open devices of one index have a link between them. */
struct hop {
	unsigned at, next;
};

static struct hop first_hop(const struct sim_dev *from, const struct sim_dev *to)
{
	const unsigned at = from->base.index;
	return (struct hop){at, from->way[at][to->base.index]};
}

static bool move_on(const struct sim_dev *from, const struct sim_dev *to, struct hop *hop)
{
	if (hop->next == to->base.index)
		return false;
	*hop = (struct hop){hop->next, from->way[hop->next][to->base.index]};
	return true;
}

double sim_way_latency_ns(const struct sim_dev *from, const struct sim_dev *to)
{
	struct hop hop = first_hop(from, to);
	double sum_ns = 0;
	do
		sum_ns += sim_link_latency_ns(deciding_model(from, hop.at), hop.at, hop.next);
	while (move_on(from, to, &hop));
	return sum_ns;
}

double sim_way_bandwidth(const struct sim_dev *from, const struct sim_dev *to, unsigned *hops_p)
{
	struct hop hop = first_hop(from, to);
	double least = INFINITY;
	unsigned hops = 0;
	do {
		least = fmin(least,
			     sim_link_bandwidth(deciding_model(from, hop.at), hop.at, hop.next));
		hops++;
	} while (move_on(from, to, &hop));
	*hops_p = hops;
	return least;
}

void sim_way_need(struct flow *f, const struct sim_dev *from, const struct sim_dev *to,
		  double volume)
{
	struct hop hop = first_hop(from, to);
	do {
		struct resource *r = &links[hop.at][hop.next];
		r->capacity =
			sim_link_bandwidth(deciding_model(from, hop.at), hop.at, hop.next) * 1e-9;
		flow_need(f, r, volume);
	} while (move_on(from, to, &hop));
}

unsigned sim_way_mark(const struct sim_dev *from, const struct sim_dev *to, uint64_t *marks)
{
	struct hop hop = first_hop(from, to);
	unsigned marked = 0;
	do {
		const uint64_t bit = UINT64_C(1) << hop.next;
		marked += (marks[hop.at] & bit) == 0;
		marks[hop.at] |= bit;
	} while (move_on(from, to, &hop));
	return marked;
}
