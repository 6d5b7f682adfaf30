/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/sim_engine.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_FILE_BYTES 65536

enum key_type { KEY_U32, KEY_U64, KEY_BYTES, KEY_REAL };

struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	double min, max;
};

#define KEY(type, field, min_value, max_value)                                                     \
	{                                                                                          \
#field, KEY_##type, offsetof(struct sim_model, field), min_value, max_value        \
	}
#define RATE(field) KEY(REAL, field, 1, 1e18)
#define TIME(field) KEY(REAL, field, 0, 1e12)
#define FAULT(field) KEY(U64, field, 0, 0x1p53)

static const struct key keys[] = {
	KEY(U32, units, 1, 1024),
	KEY(U32, slots_per_unit, 1, 256),
	KEY(U32, copy_engines, 0, 64),
	KEY(U32, priorities, 1, 3),
	KEY(U32, max_queued, 1, 1e6),
	KEY(U32, numa_nodes, 1, DEV_NUMA_NODES),
	KEY(BYTES, shared_per_unit_bytes, 0, 0x1p40),
	KEY(BYTES, shared_per_block_bytes, 0, 0x1p40),
	KEY(BYTES, shared_granularity_bytes, 1, 0x1p40),
	KEY(BYTES, shared_reserved_bytes, 0, 0x1p40),
	KEY(BYTES, memory_bytes, 4096, 0x1p50),
	KEY(BYTES, host_memory_bytes, 4096, 0x1p50),
	KEY(BYTES, llc_bytes, 0, 0x1p40),
	KEY(U32, llc_tracked, 0, 1),
	KEY(BYTES, l1_bytes, 0, 0x1p40),
	KEY(U32, gemm_tile, 1, 4096),
	TIME(launch_ns),
	TIME(copy_ns),
	TIME(block_ns),
	TIME(event_ns),
	TIME(value_ns),
	TIME(host_call_ns),
	TIME(memory_latency_ns),
	TIME(llc_latency_ns),
	TIME(link_latency_ns),
	TIME(peer_latency_ns),
	KEY(REAL, host_clock_ns, 1, 1e12),
	TIME(host_sync_ns),
	KEY(REAL, stamp_error_ns, -1e12, 1e12),
	RATE(memory_bandwidth),
	RATE(llc_bandwidth),
	RATE(host_bandwidth),
	RATE(link_up_bandwidth),
	RATE(link_down_bandwidth),
	RATE(peer_bandwidth),
	RATE(injection_bandwidth),
	RATE(far_bandwidth),
	RATE(engine_bandwidth),
	RATE(unit_bandwidth),
	RATE(flops_f32),
	RATE(flops_f64),
	RATE(flops_tf32),
	RATE(flops_f16),
	RATE(flops_bf16),
	RATE(flops_f8),
	KEY(REAL, block_share, 1e-6, 1),
	KEY(REAL, gemm_efficiency, 1e-6, 1),
	KEY(REAL, engine_weight, 1e-6, 1e6),
	KEY(REAL, clock_hz, 1, 1e12),
	KEY(U64, seed, 0, 0x1p53),
	KEY(REAL, jitter_sigma, 0, 2),
	KEY(REAL, block_jitter_sigma, 0, 2),
	KEY(REAL, open_sigma, 0, 2),
	KEY(REAL, drift_per_s, -1, 1000),
	KEY(REAL, outlier_probability, 0, 1),
	KEY(REAL, outlier_factor, 1e-3, 1e6),
	FAULT(fail_alloc_at),
	FAULT(fail_launch_at),
	FAULT(fail_copy_at),
	FAULT(corrupt_copy_every),
	FAULT(corrupt_launch_every),
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Small enough that a test of many waves takes milliseconds of real time; the ratios are those of a
 * real GPU. */
static const struct sim_model default_model = {
	.name = "default",
	.units = 8,
	.slots_per_unit = 8,
	.copy_engines = 2,
	.priorities = 3,
	.max_queued = 1024,
	.numa_nodes = 1,
	.shared_per_unit_bytes = 64u << 10,
	.shared_per_block_bytes = 48u << 10,
	.shared_granularity_bytes = 1u << 10,
	.memory_bytes = 1u << 30,
	.host_memory_bytes = 1u << 30,
	.llc_bytes = 4u << 20,
	.l1_bytes = 32u << 10,
	.gemm_tile = 64,
	.launch_ns = 2000,
	.copy_ns = 2500,
	.block_ns = 500,
	.event_ns = 100,
	.value_ns = 200,
	.memory_latency_ns = 500,
	.llc_latency_ns = 250,
	.link_latency_ns = 1000,
	.host_call_ns = 200,
	.host_clock_ns = 20,
	.host_sync_ns = 500,
	.memory_bandwidth = 200e9,
	.llc_bandwidth = 800e9,
	.host_bandwidth = 100e9,
	.link_up_bandwidth = 25e9,
	.link_down_bandwidth = 25e9,
	.peer_bandwidth = 50e9,
	.far_bandwidth = 20e9,
	.engine_bandwidth = 80e9,
	.unit_bandwidth = 120e9,
	.flops_f32 = 500e9,
	.flops_f64 = 250e9,
	.block_share = 0.25,
	.gemm_efficiency = 0.9,
	.engine_weight = 8,
	.clock_hz = 1.5e9,
	.seed = 1,
	.jitter_sigma = 0.01,
	.block_jitter_sigma = 0.02,
	.outlier_factor = 3,
};

static int load_builtin(const char *name, struct sim_model *m)
{
	*m = default_model;
	if (strcmp(name, "default") == 0)
		return 0;
	if (strcmp(name, "quiet") != 0)
		return -EINVAL;
	m->jitter_sigma = 0;
	m->block_jitter_sigma = 0;
	snprintf(m->name, sizeof(m->name), "%s", name);
	return 0;
}

/* ------------------------------------------------------------------ one line */

struct parse_position {
	const char *where;
	int line;
	bool seen[KEYS];
};

static int note_unknown_key(struct parse_position *p, const char *key)
{
	char known[480] = "";
	size_t used = 0;
	for (size_t i = 0; i < KEYS && used < sizeof(known) - 1; i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s ", keys[i].name);
	/* The list is longer than an error text, so keys with the same first letters are listed
	 * first. */
	char near[160] = "";
	size_t near_used = 0;
	for (size_t i = 0; i < KEYS && near_used < sizeof(near) - 1; i++)
		if (strncmp(keys[i].name, key, 3) == 0)
			near_used += (size_t)snprintf(near + near_used, sizeof(near) - near_used,
						      "%s ", keys[i].name);
	return err_note(-EINVAL,
			"%s:%d: unknown key '%.40s'; %s%s%sknown keys: like slow_down lacks %s",
			p->where, p->line, key, near[0] ? "perhaps " : "", near,
			near[0] ? "; " : "", known);
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

static int read_value(const struct parse_position *p, const struct key *k, const char *text,
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

static int set_number(const struct parse_position *p, const struct key *k, const char *text,
		      struct sim_model *m)
{
	double value = 0;
	if (read_value(p, k, text, &value))
		return -EINVAL;
	char *field = (char *)m + k->offset;
	if (k->type == KEY_U32)
		*(uint32_t *)(void *)field = (uint32_t)value;
	else if (k->type == KEY_REAL)
		*(double *)(void *)field = value;
	else
		*(uint64_t *)(void *)field = (uint64_t)value;
	return 0;
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

static int unknown_slow_down(const struct parse_position *p, const char *text)
{
	char names[400] = "";
	size_t used = 0;
	const char *name;
	for (size_t i = 0; (name = slow_down_name(i)) && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", name);
	return err_note(-EINVAL, "%s:%d: slow_down: unknown name '%.40s'; names:%s", p->where,
			p->line, text, names);
}

static int set_slow_down(struct parse_position *p, char *text, struct sim_model *m)
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

static int unknown_capability(const struct parse_position *p, const char *word)
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

static int set_lacks(struct parse_position *p, char *text, struct sim_model *m)
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
static int set_pair(const struct parse_position *p, const struct key *k, const char *text,
		    const char *value, struct sim_model *m)
{
	struct sim_pair pair;
	double number = NAN;
	const bool bandwidth = k->offset == offsetof(struct sim_model, peer_bandwidth);
	if (!bandwidth && k->offset != offsetof(struct sim_model, peer_latency_ns))
		return err_note(
			-EINVAL,
			"%s:%d: %s holds for no pair; peer_bandwidth and peer_latency_ns do",
			p->where, p->line, k->name);
	if (sim_pair_parse(text, &pair))
		return err_note(-EINVAL, "%s:%d: %s %s", p->where, p->line, k->name, err_text());
	if (read_value(p, k, value, &number))
		return -EINVAL;
	struct sim_pair *entry = sim_pair_entry(m, &pair);
	if (!entry)
		return err_note(-EINVAL, "%s:%d: more than %d pairs", p->where, p->line, SIM_PAIRS);
	double *field = bandwidth ? &entry->bandwidth : &entry->latency_ns;
	if (!isnan(*field))
		return err_note(-EINVAL, "%s:%d: %s %s is set twice", p->where, p->line, k->name,
				text);
	*field = number;
	return 0;
}

static char *trim_line(char *text)
{
	text += strspn(text, " \t");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int read_line(struct parse_position *p, char *line, bool first, struct sim_model *m)
{
	char *value = strchr(line, '=');
	if (!value)
		return err_note(-EINVAL, "%s:%d: '%.40s' is not 'key = value'", p->where, p->line,
				line);
	*value++ = '\0';
	char *key = trim_line(line);
	value = trim_line(value);
	if (!*key || !*value)
		return err_note(-EINVAL, "%s:%d: '%.40s =' is not 'key = value'", p->where, p->line,
				key);
	if (strcmp(key, "like") == 0 && !first)
		return err_note(-EINVAL, "%s:%d: 'like' must be the first line", p->where, p->line);
	if (strcmp(key, "like") == 0)
		return load_builtin(value, m) ? err_note(-EINVAL,
							 "%s:%d: like: unknown model '%.40s'; "
							 "models: default, quiet",
							 p->where, p->line, value)
					      : 0;
	if (strcmp(key, "slow_down") == 0)
		return set_slow_down(p, value, m);
	if (strcmp(key, "lacks") == 0)
		return set_lacks(p, value, m);
	char *pair = key + strcspn(key, " \t");
	const bool of_pair = *pair != '\0';
	if (of_pair)
		*pair++ = '\0';
	size_t i = 0;
	while (i < KEYS && strcmp(keys[i].name, key) != 0)
		i++;
	if (i == KEYS)
		return note_unknown_key(p, key);
	if (of_pair)
		return set_pair(p, &keys[i], trim_line(pair), value, m);
	if (p->seen[i])
		return err_note(-EINVAL, "%s:%d: %s is set twice", p->where, p->line, key);
	p->seen[i] = true;
	return set_number(p, &keys[i], value, m);
}

/* ------------------------------------------------------------------ whole models */

static int check_whole(const char *where, const struct sim_model *m)
{
	if (m->priorities == 2)
		return err_note(-EINVAL, "%s: priorities = 2; only 1 and 3 are possible", where);
	if (m->shared_per_block_bytes > m->shared_per_unit_bytes)
		return err_note(-EINVAL,
				"%s: shared_per_block_bytes is more than shared_per_unit_bytes",
				where);
	return 0;
}

int sim_model_parse(const char *text, const char *where, struct sim_model *model_p)
{
	struct sim_model m = default_model;
	struct parse_position p = {.where = where};
	bool first = true;
	const char *slash = strrchr(where, '/');
	while (*text) {
		char line[512];
		size_t length = strcspn(text, "\n");
		p.line++;
		if (length >= sizeof(line))
			return err_note(-EINVAL, "%s:%d: the line is longer than %zu characters",
					where, p.line, sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		line[strcspn(line, "#")] = '\0';
		char *content = trim_line(line);
		if (!*content)
			continue;
		int status = read_line(&p, content, first, &m);
		if (status)
			return status;
		first = false;
	}
	snprintf(m.name, sizeof(m.name), "%.63s", slash ? slash + 1 : where);
	int status = check_whole(where, &m);
	if (!status)
		*model_p = m;
	return status;
}

int sim_model_load(const char *name, struct sim_model *model_p)
{
	if (!name)
		name = "default";
	if (!strpbrk(name, "/.")) {
		if (load_builtin(name, model_p) == 0)
			return 0;
		return err_note(
			-EINVAL,
			"sim: unknown model '%.64s'; models: default, quiet, or a file (a name "
			"with '/' or '.')",
			name);
	}
	char *text = malloc(MODEL_FILE_BYTES + 1);
	if (!text)
		return err_note(-ENOMEM, "sim: read model %s: out of memory", name);
	FILE *file = fopen(name, "r");
	int status = 0;
	if (!file) {
		status = err_note(-EINVAL, "sim: read model %s: %s", name, strerror(errno));
		goto free_text;
	}
	size_t length = fread(text, 1, MODEL_FILE_BYTES + 1, file);
	if (ferror(file))
		status = err_note(-EINVAL, "sim: read model %s: %s", name, strerror(errno));
	else if (length > MODEL_FILE_BYTES || memchr(text, '\0', length))
		status =
			err_note(-EINVAL, "sim: read model %s: not a text file of at most %d bytes",
				 name, MODEL_FILE_BYTES);
	fclose(file);
	if (!status) {
		text[length] = '\0';
		status = sim_model_parse(text, name, model_p);
	}
free_text:
	free(text);
	return status;
}
