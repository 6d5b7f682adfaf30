/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line of a model.
 */
#include "device/kernel_signature.h"
#include "device/sim/model/model_links.h"
#include "device/sim/model/reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int note_unknown_key(struct sim_position *p, const char *key)
{
	char known[480] = "";
	size_t used = 0;
	for (size_t i = 0; i < sim_key_count && used < sizeof(known) - 1; i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s ",
					 sim_keys[i].name);
	/* The list is longer than an error text, so keys with the same first letters are listed
	 * first. */
	char near[160] = "";
	size_t near_used = 0;
	for (size_t i = 0; i < sim_key_count && near_used < sizeof(near) - 1; i++)
		if (strncmp(sim_keys[i].name, key, 3) == 0)
			near_used += (size_t)snprintf(near + near_used, sizeof(near) - near_used,
						      "%s ", sim_keys[i].name);
	return err_note(
		-EINVAL,
		"%s:%d: unknown key '%.40s'; %s%s%sknown keys: like slow_down lacks links %s",
		p->where, p->line, key, near[0] ? "perhaps " : "", near, near[0] ? "; " : "",
		known);
}

static int read_number(const char *text, bool bytes, double *value_p)
{
	char *end;
	if ((*text < '0' || *text > '9') && *text != '-' && *text != '.')
		return -EINVAL;
	if (strpbrk(text, "xXnN"))
		return -EINVAL;
	double value = strtod(text, &end);
	if (bytes && *end && strchr("KMG", *end)) {
		value *= *end == 'K' ? 0x1p10 : *end == 'M' ? 0x1p20 : 0x1p30;
		end++;
	}
	if (*end || !isfinite(value))
		return -EINVAL;
	*value_p = value;
	return 0;
}

int sim_model_read_value(const struct sim_position *p, const struct sim_key *k, const char *text,
			 double *value_p)
{
	double value;
	bool whole = k->type != KEY_REAL;
	if (read_number(text, k->type == KEY_BYTES, &value) || (whole && floor(value) < value))
		return err_note(-EINVAL, "%s:%d: %s = '%.40s' is not a %snumber", p->where, p->line,
				k->name, text, whole ? "whole " : "");
	if (value < k->min || value > k->max)
		return err_note(-EINVAL, "%s:%d: %s = %.40s is outside %g to %g", p->where, p->line,
				k->name, text, k->min, k->max);
	*value_p = value;
	return 0;
}

/* The index of a word. */
static int read_word(const struct sim_position *p, const struct sim_key *k, const char *text,
		     double *value_p)
{
	char words[160] = "";
	size_t used = 0;
	for (uint32_t i = 0; k->words[i]; i++) {
		if (strcmp(k->words[i], text) == 0) {
			*value_p = i;
			return 0;
		}
		if (used < sizeof(words))
			used += (size_t)snprintf(words + used, sizeof(words) - used, " %s",
						 k->words[i]);
	}
	return err_note(-EINVAL, "%s:%d: %s: unknown word '%.40s'; words:%s", p->where, p->line,
			k->name, text, words);
}

static int set_field(const struct sim_position *p, const struct sim_key *k, const char *text,
		     struct sim_model *m)
{
	double value = 0;
	if (k->words ? read_word(p, k, text, &value) : sim_model_read_value(p, k, text, &value))
		return -EINVAL;
	char *field = (char *)m + k->offset;
	if (k->type == KEY_U32 || k->type == KEY_WORD)
		*(uint32_t *)(void *)field = (uint32_t)value;
	else if (k->type == KEY_REAL)
		*(double *)(void *)field = value;
	else
		*(uint64_t *)(void *)field = (uint64_t)value;
	return 0;
}

/* True if the time of this kernel's blocks depends on what they move or compute. */
static bool kernel_has_flow(const struct kernel_signature *k)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		if (!k->may_lack && (k->parameters[i].bytes || k->parameters[i].fma_bytes))
			return true;
	return false;
}

/* The kernels whose time is by what they move or compute, and what else can be slowed down; NULL
 * past the last. */
static const char *slow_down_name(size_t i)
{
	static const char *const others[] = {"gemm", "fill", "engine", NULL};
	size_t count;
	const struct kernel_signature *k = kernel_signatures(&count);
	for (size_t j = 0; j < count; j++)
		if (kernel_has_flow(&k[j]) && i-- == 0)
			return k[j].name;
	return i < sizeof(others) / sizeof(others[0]) ? others[i] : NULL;
}

static int unknown_slow_down(const struct sim_position *p, const char *text)
{
	char names[400] = "";
	size_t used = 0;
	const char *name;
	for (size_t i = 0; (name = slow_down_name(i)) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", name);
	return err_note(-EINVAL, "%s:%d: slow_down: unknown name '%.40s'; names:%s", p->where,
			p->line, text, names);
}

static int set_slow_down(struct sim_position *p, char *text, struct sim_model *m)
{
	char *factor = text + strcspn(text, " \t");
	const char *name;
	double value;
	size_t i = 0;
	if (!*factor)
		return err_note(-EINVAL, "%s:%d: slow_down needs a name and a factor", p->where,
				p->line);
	*factor++ = '\0';
	factor += strspn(factor, " \t");
	if (read_number(factor, false, &value) || value < 1e-3 || value > 1e6)
		return err_note(-EINVAL,
				"%s:%d: slow_down '%.40s' is not a factor from 0.001 to 1e6",
				p->where, p->line, factor);
	while ((name = slow_down_name(i)) && strcmp(name, text) != 0)
		i++;
	if (!name)
		return unknown_slow_down(p, text);
	if (m->slow_downs == SIM_SLOW_DOWNS)
		return err_note(-EINVAL, "%s:%d: more than %d slow_down lines", p->where, p->line,
				SIM_SLOW_DOWNS);
	m->slow_down[m->slow_downs].what = name;
	m->slow_down[m->slow_downs++].factor = value;
	return 0;
}

static int unknown_capability(const struct sim_position *p, const char *word)
{
	char names[400] = "";
	size_t used = 0;
	for (size_t i = 0; i < DEV_CAP_COUNT && used < sizeof(names); i++)
		if (SIM_CAN_LACK >> i & 1)
			used += (size_t)snprintf(names + used, sizeof(names) - used, " %s",
						 dev_cap_names[i]);
	return err_note(-EINVAL, "%s:%d: lacks: unknown capability '%.40s'; capabilities:%s",
			p->where, p->line, word, names);
}

static int set_lacks(struct sim_position *p, char *text, struct sim_model *m)
{
	char *rest;
	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		size_t i = 0;
		while (i < DEV_CAP_COUNT &&
		       (!(SIM_CAN_LACK >> i & 1) || strcmp(dev_cap_names[i], word) != 0))
			i++;
		if (i == DEV_CAP_COUNT)
			return unknown_capability(p, word);
		m->lacks |= 1u << i;
	}
	return 0;
}

/* `text` is the pair of a key "peer_bandwidth 0>3"; both share storage. */
static int set_pair(const struct sim_position *p, const struct sim_key *k, const char *text,
		    const char *value, struct sim_model *m)
{
	struct sim_pair pair;
	double number = NAN;
	const bool bandwidth = k->offset == offsetof(struct sim_model, peer_bandwidth);
	if (!bandwidth && k->offset != offsetof(struct sim_model, peer_latency_ns))
		return err_note(-EINVAL,
				"%s:%d: %s cannot be set for a pair; peer_bandwidth and "
				"peer_latency_ns can",
				p->where, p->line, k->name);
	if (sim_pair_parse(text, &pair))
		return err_note(-EINVAL, "%s:%d: %s %s", p->where, p->line, k->name, err_text());
	if (sim_model_read_value(p, k, value, &number))
		return -EINVAL;
	struct sim_pair *entry = sim_pair_entry(m, &pair);
	double *field = bandwidth ? &entry->bandwidth : &entry->latency_ns;
	if (!isnan(*field))
		return err_note(-EINVAL, "%s:%d: %s %s is set twice", p->where, p->line, k->name,
				text);
	*field = number;
	*(bandwidth ? &entry->bandwidth_line : &entry->latency_line) = p->line;
	return 0;
}

char *sim_model_trim(char *text)
{
	text += strspn(text, " \t");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

int sim_model_read_line(struct sim_position *p, char *line, struct sim_model *m)
{
	const bool first = p->lines_read++ == 0;
	char *value = strchr(line, '=');
	if (!value)
		return err_note(-EINVAL, "%s:%d: '%.40s' is not 'key = value'", p->where, p->line,
				line);
	*value++ = '\0';
	char *key = sim_model_trim(line);
	value = sim_model_trim(value);
	if (!*key || !*value)
		return err_note(-EINVAL, "%s:%d: '%.40s =' is not 'key = value'", p->where, p->line,
				key);
	if (strcmp(key, "like") == 0 && !first)
		return err_note(-EINVAL, "%s:%d: 'like' must be the first line", p->where, p->line);
	if (strcmp(key, "like") == 0)
		return sim_model_builtin(value, m)
			       ? err_note(-EINVAL,
					  "%s:%d: like: unknown model '%.40s'; "
					  "models: %s",
					  p->where, p->line, value, sim_model_names)
			       : 0;
	if (strcmp(key, "slow_down") == 0)
		return set_slow_down(p, value, m);
	if (strcmp(key, "lacks") == 0)
		return set_lacks(p, value, m);
	if (strcmp(key, "links") == 0)
		return sim_links_read_key(p, value, m);
	char *pair = key + strcspn(key, " \t");
	const bool of_pair = *pair != '\0';
	if (of_pair)
		*pair++ = '\0';
	size_t i = 0;
	while (i < sim_key_count && strcmp(sim_keys[i].name, key) != 0)
		i++;
	if (i == sim_key_count)
		return note_unknown_key(p, key);
	if (of_pair)
		return set_pair(p, &sim_keys[i], sim_model_trim(pair), value, m);
	if (p->seen[i])
		return err_note(-EINVAL, "%s:%d: %s is set twice", p->where, p->line, key);
	p->seen[i] = p->line;
	return set_field(p, &sim_keys[i], value, m);
}
