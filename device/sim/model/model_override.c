/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of a model by a spec: "mi300x?peer_bandwidth=2x,units=152".
 */
#include "device/sim/model/model_links.h"
#include "device/sim/model/reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Factor of "2x" or "0.5x"; NaN: the text is not a factor. */
static double factor_of(const char *text)
{
	char *end;
	if ((*text < '0' || *text > '9') && *text != '.')
		return NAN;
	if (text[strspn(text, "0123456789.eE+-")] != 'x')
		return NAN;
	double factor = strtod(text, &end);
	return strcmp(end, "x") == 0 ? factor : NAN;
}

static double *pair_value(const struct sim_key *k, struct sim_pair *pair)
{
	if (k->offset == offsetof(struct sim_model, peer_bandwidth))
		return &pair->bandwidth;
	return k->offset == offsetof(struct sim_model, peer_latency_ns) ? &pair->latency_ns : NULL;
}

/* The entry of a pair that the model has a line for. */
static double *known_pair_value(struct sim_model *m, const struct sim_key *k, const char *text)
{
	struct sim_pair pair;
	struct sim_pair *known = sim_pair_parse(text, &pair) ? NULL : sim_pair_find(m, &pair);
	double *value = known ? pair_value(k, known) : NULL;
	return value && !isnan(*value) ? value : NULL;
}

static const struct sim_key *numeric_key(const char *name)
{
	for (size_t i = 0; i < sim_key_count; i++)
		if (strcmp(sim_keys[i].name, name) == 0)
			return sim_keys[i].words ? NULL : &sim_keys[i];
	return NULL;
}

/* Replace a factor in `line` by the product. The line of a pair replaces that of the model, and a
 * factor for all pairs holds for those with a line of their own, too. Returns false with a text if
 * there is nothing to multiply; what is wrong otherwise is left for sim_model_read_line(). */
static bool apply_factor(const char *where, char *line, size_t capacity, struct sim_model *m)
{
	char copy[SIM_OVERRIDE];
	snprintf(copy, sizeof(copy), "%s", line);
	char *value = strchr(copy, '=');
	if (!value)
		return true;
	*value++ = '\0';
	char *name = sim_model_trim(copy);
	char *pair = name + strcspn(name, " \t");
	if (*pair)
		*pair++ = '\0';
	const struct sim_key *k = numeric_key(name);
	if (!k)
		return true;
	const double factor = factor_of(sim_model_trim(value));
	double *of_pair = *pair ? known_pair_value(m, k, sim_model_trim(pair)) : NULL;
	const double before = of_pair ? *of_pair : sim_model_field(m, k);
	if (of_pair)
		*of_pair = NAN;
	if (isnan(factor))
		return true;
	if (!(before > 0 || before < 0)) {
		err_note(-EINVAL, "%s: %s is 0 and cannot be multiplied", where, name);
		return false;
	}
	for (uint32_t i = 0; !*pair && i < m->pairs && pair_value(k, &m->pair[i]); i++)
		*pair_value(k, &m->pair[i]) *= factor;
	snprintf(line, capacity, "%s %s = %.15g", name, pair, before * factor);
	return true;
}

/* Messages about lines begin with "where:line: "; a spec has no lines. */
static int note_without_line(const char *where, int status)
{
	char text[ERR_TEXT];
	const size_t length = strlen(where);
	snprintf(text, sizeof(text), "%s", err_text());
	if (strncmp(text, where, length) != 0 || text[length] != ':')
		return status;
	const char *rest = text + length + 1;
	rest += strspn(rest, "0123456789");
	return *rest == ':' ? err_note(status, "%s%s", where, rest) : status;
}

static int read_part(struct sim_position *p, const char *name, const char *part, size_t length,
		     struct sim_model *m)
{
	char where[SIM_OVERRIDE + 128], line[SIM_OVERRIDE];
	snprintf(where, sizeof(where), "sim: %.120s?%.*s", name, (int)length, part);
	if (length >= sizeof(line))
		return err_note(-EINVAL, "%.64s...: longer than %zu characters", where,
				sizeof(line) - 1);
	memcpy(line, part, length);
	line[length] = '\0';
	p->where = where;
	p->line++;
	p->lines_read = 1;
	int status = apply_factor(where, line, sizeof(line), m)
			     ? sim_model_read_line(p, sim_model_trim(line), m)
			     : -EINVAL;
	p->where = name;
	return status ? note_without_line(where, status) : 0;
}

/* Rates and latencies of pairs belong to the links that the model had. */
static void drop_pairs_of_other_links(const char *text, struct sim_model *m)
{
	for (; text; text = strpbrk(text, ",&")) {
		text += strspn(text, ",& ");
		if (strncmp(text, "links", 5) == 0 && strchr(" =", text[5]))
			m->pairs = 0;
	}
}

int sim_model_override(const char *name, const char *text, struct sim_model *m)
{
	char where[1200];
	struct sim_position p = {.in_spec = true};
	snprintf(where, sizeof(where), "sim: %.120s?%.1000s", name, text);
	drop_pairs_of_other_links(text, m);
	for (;;) {
		const size_t length = strcspn(text, ",&");
		int status = read_part(&p, name, text, length, m);
		if (status)
			return status;
		if (!text[length])
			break;
		text += length + 1;
	}
	p.where = where;
	int status = sim_model_complete(&p, m);
	return status ? note_without_line(where, status) : 0;
}
