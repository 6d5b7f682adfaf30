/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_model.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, WORD_BYTES = 32 };

struct words {
	unsigned count;
	char word[WORDS][WORD_BYTES];
};

/* Split a line into words, up to '#' or its end. */
static int split_words(const char *line, struct words *w)
{
	w->count = 0;
	for (;;) {
		line += strspn(line, " \t\r\n");
		size_t length = strcspn(line, " \t\r\n#");
		if (length == 0)
			return *line == 0 || *line == '#' ? 0 : -EINVAL;
		if (w->count == WORDS || length >= WORD_BYTES)
			return err_note(-EINVAL,
					"line exceeds %d words, or a word exceeds %d characters",
					WORDS, WORD_BYTES - 1);
		memcpy(w->word[w->count], line, length);
		w->word[w->count++][length] = 0;
		line += length;
	}
}

static int parse_name(const char *word, const char *const *names, unsigned count, unsigned *index_p)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(word, names[i]) == 0) {
			*index_p = i;
			return 0;
		}
	}
	return err_note(-EINVAL, "unknown value '%s'; for example: %s", word, names[0]);
}

/* A positive finite number; with `zero` also 0. */
static int parse_number(const char *word, bool zero, double *value_p)
{
	char *end;
	double value = strtod(word, &end);
	if (end == word || *end || !isfinite(value) || value < 0 || (!zero && !(value > 0)))
		return err_note(-EINVAL, "'%s' is not a %snumber", word, zero ? "" : "positive ");
	*value_p = value;
	return 0;
}

static int parse_numbers(const struct words *w, unsigned from, double *values)
{
	for (unsigned i = from; i < w->count; i++) {
		int status = parse_number(w->word[i], false, &values[i - from]);
		if (status)
			return status;
	}
	return 0;
}

static int parse_gemm(struct advise_machine *m, const struct words *w)
{
	struct advise_gemm_sample sample = {.seconds = 0};
	unsigned type = 0;
	int status = parse_name(w->word[1], advise_types, ADVISE_TYPES, &type);
	double *const sides[] = {&sample.shape.m, &sample.shape.n, &sample.shape.k};
	for (unsigned i = 0; status == 0 && i < 3; i++)
		status = parse_number(w->word[2 + i], false, sides[i]);
	if (status == 0)
		status = parse_number(w->word[5], true, &sample.shape.adds);
	if (status == 0)
		status = parse_number(w->word[6], false, &sample.seconds);
	if (status)
		return status;
	if (sample.shape.adds > 1)
		return err_note(-EINVAL, "ADDS must be between 0 and 1, not %g", sample.shape.adds);
	if (m->gemm[type].samples == ADVISE_GEMMS)
		return err_note(-ENOSPC, "a machine holds at most %d GEMMs of %s", ADVISE_GEMMS,
				advise_types[type]);
	m->gemm[type].sample[m->gemm[type].samples++] = sample;
	return 0;
}

/* The first two words: the copy method and the link. */
static int parse_copies(const struct words *w, unsigned *copy_method_p, unsigned *link_p)
{
	int status =
		parse_name(w->word[1], advise_copy_methods, ADVISE_COPY_METHODS, copy_method_p);
	return status ? status : parse_name(w->word[2], advise_links, ADVISE_LINKS, link_p);
}

static int parse_copy(struct advise_machine *m, const struct words *w)
{
	unsigned copy_method = 0, link = 0;
	double at[2] = {0};
	int status = parse_copies(w, &copy_method, &link);
	if (status == 0)
		status = parse_numbers(w, 3, at);
	if (status)
		return status;
	bool alone = strcmp(w->word[0], "copy") == 0;
	return curve_add(alone ? &m->copy[copy_method][link] : &m->both_ways[copy_method][link],
			 at[0], at[1]);
}

static int devices_of(double value, unsigned *devices_p)
{
	if (value < 2 || value > 1e6 || floor(value) < value)
		return err_note(-EINVAL, "%g is not a valid number of devices", value);
	*devices_p = (unsigned)value;
	return 0;
}

static int parse_exchange(struct advise_machine *m, const struct words *w)
{
	unsigned copy_method = 0, devices = 0;
	double values[3] = {0};
	int status = parse_name(w->word[1], advise_copy_methods, ADVISE_COPY_METHODS, &copy_method);
	if (status == 0)
		status = parse_numbers(w, 2, values);
	if (status == 0)
		status = devices_of(values[0], &devices);
	if (status)
		return status;
	if (m->exchange[copy_method].points > 0 && m->exchange_devices[copy_method] != devices)
		return err_note(-EINVAL,
				"exchanges among %u and among %u devices: a machine has one number "
				"of devices",
				m->exchange_devices[copy_method], devices);
	status = curve_add(&m->exchange[copy_method], values[1], values[2]);
	if (status == 0)
		m->exchange_devices[copy_method] = devices;
	return status;
}

static int parse_allreduce(struct advise_machine *m, const struct words *w)
{
	unsigned devices = 0, i = 0;
	double values[3] = {0};
	int status = parse_numbers(w, 2, values);
	if (status == 0)
		status = devices_of(values[0], &devices);
	if (status)
		return status;
	while (i < m->algorithms && (strcmp(m->allreduce[i].name, w->word[1]) != 0 ||
				     m->allreduce[i].devices != devices))
		i++;
	if (i == ADVISE_ALGORITHMS || strlen(w->word[1]) >= sizeof(m->allreduce[i].name))
		return err_note(
			-ENOSPC,
			"a machine holds at most %d algorithms, with names of up to %zu characters",
			ADVISE_ALGORITHMS, sizeof(m->allreduce[0].name) - 1);
	status = curve_add(&m->allreduce[i].curve, values[1], values[2]);
	if (status == 0 && i == m->algorithms) {
		strcpy(m->allreduce[i].name, w->word[1]);
		m->allreduce[i].devices = devices;
		m->algorithms++;
	}
	return status;
}

/* The losses of so many blocks, added behind the others; NULL when the list is full or the count is
 * below the last one. */
static struct advise_loss *loss_of_blocks(struct advise_contention *c, double blocks)
{
	if (c->counts > 0 && c->blocks[c->counts - 1] >= blocks)
		return c->blocks[c->counts - 1] > blocks ? NULL : &c->loss[c->counts - 1];
	if (c->counts == ADVISE_LOSSES)
		return NULL;
	c->blocks[c->counts] = blocks;
	return &c->loss[c->counts++];
}

static int add_loss(struct advise_contention *c, double blocks, double traffic, const double cil[2])
{
	struct advise_loss *l = loss_of_blocks(c, blocks);
	if (!l || l->points == sizeof(l->traffic) / sizeof(l->traffic[0]))
		return err_note(l ? -ENOSPC : -EINVAL,
				"block counts must ascend, at most %d, with two points each",
				ADVISE_LOSSES);
	if (l->points > 0 && traffic <= l->traffic[l->points - 1])
		return err_note(-EINVAL, "traffic must ascend: %g follows %g", traffic,
				l->traffic[l->points - 1]);
	l->traffic[l->points] = traffic;
	l->gemm[l->points] = cil[0];
	l->copy[l->points++] = cil[1];
	return 0;
}

static int parse_cil(struct advise_machine *m, const struct words *w)
{
	unsigned copy_method = 0, link = 0, type = 0;
	double blocks = 0, traffic = 0, cil[2] = {0};
	int status = parse_copies(w, &copy_method, &link);
	if (status == 0)
		status = parse_name(w->word[3], advise_types, ADVISE_TYPES, &type);
	if (status == 0)
		status = parse_number(w->word[4], true, &blocks);
	if (status == 0)
		status = parse_number(w->word[5], true, &traffic);
	if (status == 0)
		status = parse_numbers(w, 6, cil);
	return status ? status
		      : add_loss(&m->contention[copy_method][link][type], fmax(1, blocks), traffic,
				 cil);
}

static int parse_assumed(struct advise_machine *m, const struct words *w)
{
	unsigned copy_method = 0, link = 0, type = 0;
	int status = parse_copies(w, &copy_method, &link);
	if (status == 0)
		status = parse_name(w->word[3], advise_types, ADVISE_TYPES, &type);
	if (status == 0)
		m->contention[copy_method][link][type].assumed = true;
	return status;
}

static int parse_one_device(struct advise_machine *m, const struct words *w)
{
	unsigned copy_method = 0, link = 0;
	int status = parse_copies(w, &copy_method, &link);
	if (status == 0)
		m->one_device[copy_method][link] = true;
	return status;
}

static int parse_early(struct advise_machine *m, const struct words *w)
{
	unsigned way = 0, copy_method = 0, type = 0;
	double at[2] = {0};
	int status = parse_name(w->word[1], advise_ways, ADVISE_WAYS, &way);
	if (status == 0)
		status = parse_name(w->word[2], advise_copy_methods, ADVISE_COPY_METHODS,
				    &copy_method);
	if (status == 0)
		status = parse_name(w->word[3], advise_types, ADVISE_TYPES, &type);
	if (status == 0)
		status = parse_numbers(w, 4, at);
	return status ? status : curve_add(&m->gain[way][copy_method][type].curve, at[0], at[1]);
}

static int parse_chunk(struct advise_machine *m, const struct words *w)
{
	unsigned direction = 0, yield = 0;
	double at[4] = {0};
	int status = parse_name(w->word[1], advise_directions, ADVISE_DIRECTIONS, &direction);
	if (status == 0)
		status = parse_name(w->word[2], advise_yields, ADVISE_YIELDS, &yield);
	if (status == 0)
		status = parse_numbers(w, 3, at);
	if (status)
		return status;
	struct advise_cut *cut = &m->chunks[direction].cut[yield];
	if (cut->kept.points == 0)
		cut->smallest_whole_wait_s = at[3];
	status = curve_add(&cut->kept, at[0], at[1]);
	return status ? status : curve_add(&cut->wait, at[0], at[2]);
}

static int parse_chunk_waits(struct advise_machine *m, const struct words *w)
{
	unsigned direction = 0;
	double waits[2] = {0};
	int status = parse_name(w->word[1], advise_directions, ADVISE_DIRECTIONS, &direction);
	if (status == 0)
		status = parse_numbers(w, 2, waits);
	if (status)
		return status;
	m->chunks[direction].whole_wait_s = waits[0];
	m->chunks[direction].idle_wait_s = waits[1];
	return 0;
}

static int parse_reduce(struct advise_machine *m, const struct words *w)
{
	double at[2] = {0};
	int status = parse_numbers(w, 1, at);
	return status ? status : curve_add(&m->reduce, at[0], at[1]);
}

static int parse_occupancy(struct advise_machine *m, const struct words *w)
{
	double shared = 0, values[2] = {0};
	int status = parse_number(w->word[1], true, &shared);
	if (status == 0)
		status = parse_numbers(w, 2, values);
	if (status == 0)
		status = curve_add(&m->occupancy_rate, shared + 1, values[0]);
	return status ? status : curve_add(&m->occupancy_wait, shared + 1, values[1]);
}

static int parse_shaped(struct advise_machine *m, const struct words *w)
{
	double shared = 0, high = 0, ratio = 0;
	int status = parse_number(w->word[1], true, &shared);
	if (status == 0)
		status = parse_number(w->word[2], true, &high);
	if (status == 0)
		status = parse_number(w->word[3], false, &ratio);
	if (status)
		return status;
	m->shaped_shared = shared;
	m->shaped_priority = high > 0;
	m->shaped_gain = ratio;
	return 0;
}

static int parse_hop(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], true, &m->hop_s);
}
static int parse_ingress(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], false, &m->ingress);
}
static int parse_priority(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], false, &m->priority_wait);
}

static int parse_cache(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], true, &m->cache_bytes);
}
static int parse_blocks(struct advise_machine *m, const struct words *w)
{
	unsigned link = 0;
	int status = parse_name(w->word[1], advise_links, ADVISE_LINKS, &link);
	return status ? status : parse_number(w->word[2], false, &m->copy_blocks[link]);
}
static int parse_units(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], false, &m->units);
}
static int parse_error(struct advise_machine *m, const struct words *w)
{
	return parse_number(w->word[1], true, &m->schedule_error);
}

static int parse_engines(struct advise_machine *m, const struct words *w)
{
	double engines = 0;
	int status = parse_number(w->word[1], true, &engines);
	if (status == 0 && engines > 1e6)
		return err_note(-EINVAL, "%g is not a valid number of copy engines", engines);
	if (status == 0)
		m->engines = (unsigned)engines;
	return status;
}

int advise_parse_line(struct advise_machine *m, const char *line)
{
	static const struct {
		const char *word;
		unsigned words;
		int (*parse)(struct advise_machine *m, const struct words *w);
	} kinds[] = {{"gemm", 7, parse_gemm},           {"copy", 5, parse_copy},
		     {"bothways", 5, parse_copy},       {"exchange", 5, parse_exchange},
		     {"reduce", 3, parse_reduce},       {"allreduce", 5, parse_allreduce},
		     {"occupancy", 4, parse_occupancy}, {"cil", 8, parse_cil},
		     {"shaped", 4, parse_shaped},       {"hop", 2, parse_hop},
		     {"engines", 2, parse_engines},     {"ingress", 2, parse_ingress},
		     {"priority", 2, parse_priority},   {"cache", 2, parse_cache},
		     {"blocks", 3, parse_blocks},       {"error", 2, parse_error},
		     {"units", 2, parse_units},         {"early", 6, parse_early},
		     {"assumed", 4, parse_assumed},     {"onedevice", 3, parse_one_device},
		     {"chunk", 7, parse_chunk},         {"chunkwaits", 4, parse_chunk_waits}};
	struct words w;
	int status = split_words(line, &w);
	if (status || w.count == 0)
		return status;
	m->prepared = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].word, w.word[0]) != 0)
			continue;
		if (w.count != kinds[i].words)
			return err_note(-EINVAL, "'%s' takes %u words, not %u", w.word[0],
					kinds[i].words - 1, w.count - 1);
		return kinds[i].parse(m, &w);
	}
	return err_note(-EINVAL, "unknown keyword '%s'", w.word[0]);
}
