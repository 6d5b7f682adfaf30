/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/dev.h"
#include "lib/err.h"

#define MODEL_FILE_BYTES 65536

enum key_type { KEY_U32, KEY_U64, KEY_BYTES, KEY_REAL };

struct key {
	const char *name;
	enum key_type type;
	size_t offset;
	double least, most;
};

#define KEY(type, field, least, most) { #field, KEY_##type, offsetof(struct sim_model, field), least, most }
#define RATE(field) KEY(REAL, field, 1, 1e18)
#define TIME(field) KEY(REAL, field, 0, 1e12)
#define FAULT(field) KEY(U64, field, 0, 0x1p53)

static const struct key keys[] = {
	KEY(U32, units, 1, 1024),
	KEY(U32, slots_per_unit, 1, 256),
	KEY(U32, copy_engines, 0, 64),
	KEY(U32, priorities, 1, 3),
	KEY(U32, max_queued, 1, 1e6),
	KEY(BYTES, shared_per_unit_bytes, 0, 0x1p40),
	KEY(BYTES, shared_per_block_bytes, 0, 0x1p40),
	KEY(BYTES, shared_granularity_bytes, 1, 0x1p40),
	KEY(BYTES, shared_reserved_bytes, 0, 0x1p40),
	KEY(BYTES, memory_bytes, 4096, 0x1p50),
	KEY(BYTES, host_memory_bytes, 4096, 0x1p50),
	KEY(BYTES, llc_bytes, 0, 0x1p40),
	KEY(BYTES, l1_bytes, 0, 0x1p40),
	KEY(U32, gemm_tile, 1, 4096),
	TIME(launch_ns), TIME(copy_ns), TIME(block_ns), TIME(event_ns), TIME(value_ns),
	TIME(host_call_ns),
	TIME(memory_latency_ns), TIME(llc_latency_ns), TIME(link_latency_ns),
	KEY(REAL, host_clock_ns, 1, 1e12),
	TIME(host_sync_ns),
	RATE(memory_bandwidth), RATE(llc_bandwidth), RATE(host_bandwidth), RATE(link_up_bandwidth),
	RATE(link_down_bandwidth), RATE(peer_bandwidth), RATE(engine_bandwidth), RATE(unit_bandwidth),
	RATE(flops_f32), RATE(flops_f64),
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
	FAULT(fail_alloc_at), FAULT(fail_launch_at), FAULT(fail_copy_at), FAULT(corrupt_copy_every),
	FAULT(corrupt_launch_every),
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Small enough that a test of many waves takes milliseconds of real time; ratios are those of a real GPU. */
static const struct sim_model default_model = {
	.name = "default",
	.units = 8,
	.slots_per_unit = 8,
	.copy_engines = 2,
	.priorities = 3,
	.max_queued = 1024,
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

static int builtin(const char *name, struct sim_model *m)
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

struct place {
	const char *where;
	int line;
	bool seen[KEYS];
};

static int unknown_key(struct place *p, const char *key)
{
	char known[480] = "";
	size_t used = 0;
	for (size_t i = 0; i < KEYS && used < sizeof(known) - 1; i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s ", keys[i].name);
	/* The list is longer than an error text holds, so the likely ones come first: those that share a start. */
	char near[160] = "";
	size_t near_used = 0;
	for (size_t i = 0; i < KEYS && near_used < sizeof(near) - 1; i++)
		if (strncmp(keys[i].name, key, 3) == 0)
			near_used += (size_t)snprintf(near + near_used, sizeof(near) - near_used, "%s ", keys[i].name);
	return err_note(-EINVAL, "%s:%d: unknown key '%.40s'; %s%s%sknown keys: like slow_down lacks %s", p->where,
	                p->line, key, near[0] ? "perhaps " : "", near, near[0] ? "; " : "", known);
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

static int set_number(struct place *p, const struct key *k, const char *text, struct sim_model *m)
{
	double value;
	bool whole = k->type != KEY_REAL;
	if (read_number(text, k->type == KEY_BYTES, &value) || (whole && floor(value) < value))
		return err_note(-EINVAL, "%s:%d: %s = '%.40s' is not a %snumber", p->where, p->line, k->name, text,
		                whole ? "whole " : "");
	if (value < k->least || value > k->most)
		return err_note(-EINVAL, "%s:%d: %s = %.40s is outside %g to %g", p->where, p->line, k->name, text,
		                k->least, k->most);
	char *field = (char *)m + k->offset;
	if (k->type == KEY_U32)
		*(uint32_t *)(void *)field = (uint32_t)value;
	else if (k->type == KEY_REAL)
		*(double *)(void *)field = value;
	else
		*(uint64_t *)(void *)field = (uint64_t)value;
	return 0;
}

static int set_slow_down(struct place *p, char *text, struct sim_model *m)
{
	char *factor = text + strcspn(text, " \t");
	double value;
	if (!*factor)
		return err_note(-EINVAL, "%s:%d: slow_down takes a name and a factor", p->where, p->line);
	*factor++ = '\0';
	factor += strspn(factor, " \t");
	if (read_number(factor, false, &value) || value < 1e-3 || value > 1e6)
		return err_note(-EINVAL, "%s:%d: slow_down '%.40s' is not a factor from 0.001 to 1e6", p->where, p->line,
		                factor);
	static const char *const names[] = { "read",    "write",   "write_nt",   "copy",  "copy_nt", "triad", "triad_nt",
		                             "fma_f32", "fma_f64", "reduce_add", "chase", "gemm",    "fill",  "engine" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) != 0)
			continue;
		if (m->slow_downs == SIM_SLOW_DOWNS)
			return err_note(-EINVAL, "%s:%d: more than %d slow_down lines", p->where, p->line, SIM_SLOW_DOWNS);
		snprintf(m->slow_down[m->slow_downs].what, sizeof(m->slow_down[0].what), "%s", names[i]);
		m->slow_down[m->slow_downs++].factor = value;
		return 0;
	}
	return err_note(-EINVAL,
	                "%s:%d: slow_down of '%.40s'; there are the kernels read write write_nt copy copy_nt triad "
	                "triad_nt fma_f32 fma_f64 reduce_add chase, and gemm fill engine",
	                p->where, p->line, text);
}

static int set_lacks(struct place *p, char *text, struct sim_model *m)
{
	static const struct {
		const char *name;
		uint32_t cap;
	} caps[] = {
		{ "gemm", DEV_CAP_GEMM },         { "gemm_tiled", DEV_CAP_GEMM_TILED },
		{ "copy_engine", DEV_CAP_COPY_ENGINE },
		{ "priority", DEV_CAP_PRIORITY }, { "wait_value", DEV_CAP_WAIT_VALUE },
		{ "peer", DEV_CAP_PEER },         { "occupancy", DEV_CAP_OCCUPANCY },
		{ "clock_rate", DEV_CAP_CLOCK_RATE },
	};
	const size_t count = sizeof(caps) / sizeof(caps[0]);
	char *rest;
	for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		size_t i = 0;
		while (i < count && strcmp(caps[i].name, word) != 0)
			i++;
		if (i == count)
			return err_note(-EINVAL,
			                "%s:%d: lacks '%.40s'; there are gemm gemm_tiled copy_engine priority "
			                "wait_value peer occupancy clock_rate",
			                p->where, p->line, word);
		m->lacks |= caps[i].cap;
	}
	return 0;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static int read_line(struct place *p, char *line, bool first, struct sim_model *m)
{
	char *value = strchr(line, '=');
	if (!value)
		return err_note(-EINVAL, "%s:%d: '%.40s' is not 'key = value'", p->where, p->line, line);
	*value++ = '\0';
	char *key = trim(line);
	value = trim(value);
	if (!*key || !*value)
		return err_note(-EINVAL, "%s:%d: '%.40s =' is not 'key = value'", p->where, p->line, key);
	if (strcmp(key, "like") == 0 && !first)
		return err_note(-EINVAL, "%s:%d: 'like' must be the first line", p->where, p->line);
	if (strcmp(key, "like") == 0)
		return builtin(value, m) ? err_note(-EINVAL, "%s:%d: like '%.40s'; there are default and quiet",
		                                    p->where, p->line, value)
		                         : 0;
	if (strcmp(key, "slow_down") == 0)
		return set_slow_down(p, value, m);
	if (strcmp(key, "lacks") == 0)
		return set_lacks(p, value, m);
	size_t i = 0;
	while (i < KEYS && strcmp(keys[i].name, key) != 0)
		i++;
	if (i == KEYS)
		return unknown_key(p, key);
	if (p->seen[i])
		return err_note(-EINVAL, "%s:%d: %s is set twice", p->where, p->line, key);
	p->seen[i] = true;
	return set_number(p, &keys[i], value, m);
}

/* ------------------------------------------------------------------ whole models */

static int check_whole(const char *where, const struct sim_model *m)
{
	if (m->priorities == 2)
		return err_note(-EINVAL, "%s: priorities = 2; there may be 1 or 3", where);
	if (m->shared_per_block_bytes > m->shared_per_unit_bytes)
		return err_note(-EINVAL, "%s: shared_per_block_bytes is more than shared_per_unit_bytes", where);
	return 0;
}

int sim_model_parse(const char *text, const char *where, struct sim_model *model_p)
{
	struct sim_model m = default_model;
	struct place p = { .where = where };
	bool first = true;
	const char *slash = strrchr(where, '/');
	while (*text) {
		char line[512];
		size_t length = strcspn(text, "\n");
		p.line++;
		if (length >= sizeof(line))
			return err_note(-EINVAL, "%s:%d: the line is longer than %zu characters", where, p.line,
			                sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		line[strcspn(line, "#")] = '\0';
		char *content = trim(line);
		if (!*content)
			continue;
		int rc = read_line(&p, content, first, &m);
		if (rc)
			return rc;
		first = false;
	}
	snprintf(m.name, sizeof(m.name), "%.63s", slash ? slash + 1 : where);
	int rc = check_whole(where, &m);
	if (!rc)
		*model_p = m;
	return rc;
}

int sim_model_load(const char *name, struct sim_model *model_p)
{
	if (!name)
		name = "default";
	if (!strpbrk(name, "/."))
		return builtin(name, model_p) ? err_note(-EINVAL,
		                                         "sim: no model is called '%.64s'; there are default, quiet, and "
		                                         "files, whose names have a '/' or '.'",
		                                         name)
		                              : 0;
	char *text = malloc(MODEL_FILE_BYTES + 1);
	if (!text)
		return err_note(-ENOMEM, "sim: read model %s: no memory", name);
	FILE *file = fopen(name, "r");
	int rc = 0;
	if (!file) {
		rc = err_note(-EINVAL, "sim: read model %s: %s", name, strerror(errno));
		goto free_text;
	}
	size_t length = fread(text, 1, MODEL_FILE_BYTES + 1, file);
	if (ferror(file))
		rc = err_note(-EINVAL, "sim: read model %s: %s", name, strerror(errno));
	else if (length > MODEL_FILE_BYTES || memchr(text, '\0', length))
		rc = err_note(-EINVAL, "sim: read model %s: not a text of at most %d bytes", name, MODEL_FILE_BYTES);
	fclose(file);
	if (!rc) {
		text[length] = '\0';
		rc = sim_model_parse(text, name, model_p);
	}
free_text:
	free(text);
	return rc;
}
