/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key `links` of a model, and files of links.
 */
#include "device/sim/model/model_links.h"
#include "device/sim/model/reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the key `links` */

/* Links are the pairs that have a peer_bandwidth of their own. */
static const char of_lines[] = "pairs";

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
	if (strcmp(text, of_lines) == 0 || strpbrk(text, "/.")) {
		m->links = SIM_LINKS_FILE;
		return 0;
	}
	m->links = SIM_LINKS_TORUS;
	if (strncmp(text, torus, sizeof(torus) - 1) == 0)
		return read_sides(p, text + sizeof(torus) - 1, m);
	return err_note(
		-EINVAL,
		"%s:%d: links: unknown word '%.40s'; words: switch mesh ring pairs torus:AxB, "
		"or a file (a name with '/' or '.')",
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

static int read_listed_links(const struct sim_position *p, struct sim_model *m)
{
	if (strcmp(p->links, of_lines) != 0)
		return read_links_file(p, m);
	for (uint32_t i = 0; i < m->pairs; i++)
		m->pair[i].linked = !isnan(m->pair[i].bandwidth);
	return 0;
}

static bool has_link(const struct sim_model *m, const struct sim_pair *pair)
{
	if (m->links == SIM_LINKS_FILE)
		return pair->linked;
	return m->links != SIM_LINKS_TORUS || sim_torus_next(m, pair->from, pair->to) == pair->to;
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
	int status = m->links == SIM_LINKS_FILE && p->links_line ? read_listed_links(p, m) : 0;
	return status ? status : check_pairs(p, m);
}
