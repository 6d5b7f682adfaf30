/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/model/reading.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_FILE_BYTES 65536

#define KEY(type, field, min_value, max_value)                                                     \
	{                                                                                          \
#field, KEY_##type, offsetof(struct sim_model, field), min_value, max_value, NULL, \
			false                                                                      \
	}
#define RATE(field) KEY(REAL, field, 1, 1e18)
/* Key of a law that few models have, listed where it is not 0. */
#define POWER(field, min_value, max_value)                                                         \
	{                                                                                          \
#field, KEY_REAL, offsetof(struct sim_model, field), min_value, max_value, NULL,   \
			true                                                                       \
	}
#define TIME(field) KEY(REAL, field, 0, 1e12)
#define FAULT(field) KEY(U64, field, 0, 0x1p53)
#define WORD(field, list)                                                                          \
	{                                                                                          \
		.name = #field, .type = KEY_WORD, .offset = offsetof(struct sim_model, field),     \
		.words = list                                                                      \
	}

static const char *const data_words[] = {"real", "none", NULL};
static const char *const write_words[] = {"back", "through", NULL};
static const char *const engine_words[] = {"bypass", "through", NULL};
static const char *const order_words[] = {[SIM_READY_FIRST] = "ready_first",
					  [SIM_ENQUEUED_FIRST] = "enqueued_first",
					  [SIM_STREAM_FIRST] = "stream_first",
					  [SIM_ROUND_ROBIN] = "round_robin",
					  NULL};
static const char *const policy_words[] = {
	[DEV_MEMORY_FAIR] = "fair", [DEV_MEMORY_COMPUTE_FIRST] = "compute-first", NULL};

const struct sim_key sim_keys[] = {
	WORD(data, data_words),
	KEY(U32, devices, 1, DEV_MAX),
	KEY(U32, units, 1, SIM_UNITS),
	KEY(U32, slots_per_unit, 1, 256),
	KEY(U32, copy_engines, 0, SIM_ENGINES),
	KEY(U32, host_engines, 0, SIM_ENGINES),
	WORD(engine_order, order_words),
	KEY(U32, engine_priority, 0, 1),
	KEY(U32, engine_sticky, 0, 1),
	KEY(U32, priorities, 1, 3),
	KEY(U32, max_queued, 1, 1e6),
	KEY(U32, tracker_entries, 0, 1e6),
	KEY(U32, numa_nodes, 1, DEV_NUMA_NODES),
	KEY(U32, tenants, 1, DEV_MAX),
	KEY(U32, uplink_devices, 0, DEV_MAX),
	KEY(U32, uplink_peers, 0, 1),
	KEY(BYTES, shared_per_unit_bytes, 0, 0x1p40),
	KEY(BYTES, shared_per_block_bytes, 0, 0x1p40),
	KEY(BYTES, shared_granularity_bytes, 1, 0x1p40),
	KEY(BYTES, shared_reserved_bytes, 0, 0x1p40),
	KEY(BYTES, memory_bytes, 4096, 0x1p50),
	KEY(BYTES, host_memory_bytes, 4096, 0x1p50),
	KEY(BYTES, llc_bytes, 0, 0x1p40),
	KEY(U32, llc_tracked, 0, 1),
	WORD(llc_writes, write_words),
	WORD(engine_cache, engine_words),
	KEY(U32, memory_adds, 0, 1),
	KEY(U32, memory_control, 0, 1),
	WORD(memory_policy, policy_words),
	KEY(BYTES, l1_bytes, 0, 0x1p40),
	KEY(U32, l1_divided, 0, 1),
	KEY(BYTES, l2_bytes, 0, 0x1p40),
	KEY(U32, l2_units, 1, SIM_UNITS),
	KEY(BYTES, registers_per_unit_bytes, 0, 0x1p40),
	KEY(BYTES, block_register_bytes, 0, 0x1p40),
	KEY(U32, gemm_tile, 1, 4096),
	KEY(U32, gemm_tile_columns, 0, 4096),
	KEY(U32, gemm_tile_min, 0, 4096),
	KEY(BYTES, gemm_tile_shared_bytes, 0, 0x1p40),
	TIME(gemm_ns),
	TIME(gemm_block_ns),
	KEY(REAL, gemm_traffic_share, 1e-6, 1),
	TIME(launch_ns),
	TIME(copy_ns),
	TIME(engine_switch_ns),
	TIME(batch_copy_ns),
	TIME(block_ns),
	TIME(event_ns),
	TIME(value_ns),
	TIME(tracker_ns),
	TIME(host_call_ns),
	TIME(memory_latency_ns),
	TIME(llc_latency_ns),
	TIME(l1_latency_ns),
	TIME(l2_latency_ns),
	TIME(link_latency_ns),
	TIME(peer_latency_ns),
	KEY(REAL, host_clock_ns, 1, 1e12),
	TIME(host_sync_ns),
	KEY(REAL, stamp_error_ns, -1e12, 1e12),
	RATE(memory_bandwidth),
	RATE(llc_bandwidth),
	RATE(l1_bandwidth),
	RATE(host_bandwidth),
	RATE(link_up_bandwidth),
	RATE(link_down_bandwidth),
	RATE(peer_bandwidth),
	RATE(injection_bandwidth),
	RATE(far_bandwidth),
	RATE(uplink_bandwidth),
	RATE(engine_bandwidth),
	RATE(unit_bandwidth),
	RATE(flops_f32),
	RATE(flops_f64),
	RATE(flops_tf32),
	RATE(flops_f16),
	RATE(flops_bf16),
	RATE(flops_f8),
	RATE(flops_i8),
	RATE(flops_mxf8),
	RATE(flops_mxf4),
	RATE(flops_nvf4),
	KEY(REAL, block_share, 1e-6, 1),
	KEY(REAL, gemm_efficiency, 1e-6, 1),
	KEY(REAL, engine_weight, 1e-6, 1e6),
	KEY(REAL, memory_threshold, 1e-6, 1),
	KEY(REAL, memory_starvation, 1e-6, 0.999),
	TIME(queue_wait_ns_per_kib),
	KEY(REAL, add_cost, 1, 1e6),
	KEY(REAL, clock_hz, 1, 1e12),
	POWER(storage_bandwidth, 1, 1e18),
	POWER(storage_ns, 0, 1e12),
	POWER(idle_watt, 1e-3, 1e6),
	POWER(joule_per_flop, 0, 1),
	POWER(joule_per_byte, 0, 1),
	POWER(cap_watt, 1e-3, 1e6),
	POWER(kelvin_per_watt, 0, 1e3),
	POWER(thermal_s, 1e-3, 1e6),
	POWER(ambient_celsius, -100, 200),
	POWER(limit_celsius, 1, 1e3),
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
const size_t sim_key_count = sizeof(sim_keys) / sizeof(sim_keys[0]);
_Static_assert(sizeof(sim_keys) / sizeof(sim_keys[0]) <= SIM_KEYS_MAX, "too many keys");

/* Small enough that a test of many waves takes milliseconds of real time; the ratios are those of a
 * real GPU. */
static const struct sim_model default_model = {
	.name = "default",
	.devices = DEV_MAX,
	.units = 8,
	.slots_per_unit = 8,
	.copy_engines = 2,
	.priorities = 3,
	.max_queued = 1024,
	.numa_nodes = 1,
	.tenants = 1,
	.shared_per_unit_bytes = 64u << 10,
	.shared_per_block_bytes = 48u << 10,
	.shared_granularity_bytes = 1u << 10,
	.memory_bytes = 1u << 30,
	.host_memory_bytes = 1u << 30,
	.llc_bytes = 4u << 20,
	.gemm_tile = 64,
	.gemm_traffic_share = 1,
	.launch_ns = 2000,
	.copy_ns = 2500,
	.batch_copy_ns = 500,
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
	.memory_threshold = 1,
	.memory_starvation = 0.02,
	.add_cost = 1,
	.clock_hz = 1.5e9,
	.seed = 1,
	.jitter_sigma = 0.01,
	.block_jitter_sigma = 0.02,
	.outlier_factor = 3,
};

/* The files of device/sim/model/machines, which the Makefile writes as numbers: of each its name
 * without
 * ".model" and its text, both with a zero at the end. An empty name ends them. */
static const char texts[] = {
#include SIM_MODEL_TEXTS
	0,
};

const char sim_model_names[] = "default, quiet, " SIM_MODEL_NAMES;

const char *sim_model_text(const char *name)
{
	const char *at = texts;
	while (*at) {
		const char *text = at + strlen(at) + 1;
		if (strcmp(at, name) == 0)
			return text;
		at = text + strlen(text) + 1;
	}
	return NULL;
}

int sim_model_builtin(const char *name, struct sim_model *m)
{
	*m = default_model;
	if (strcmp(name, "default") == 0)
		return 0;
	const char *text = sim_model_text(name);
	if (text)
		return sim_model_parse(text, name, m);
	if (strcmp(name, "quiet") != 0)
		return -EINVAL;
	m->jitter_sigma = 0;
	m->block_jitter_sigma = 0;
	snprintf(m->name, sizeof(m->name), "%s", name);
	return 0;
}

/* ------------------------------------------------------------------ whole models */

static int line_of(const struct sim_position *p, const char *key)
{
	size_t i = 0;
	while (strcmp(sim_keys[i].name, key) != 0)
		i++;
	return p->seen[i];
}

/* The text has one of the two keys, because the built-in models are without contradiction. */
static int note_too_large(const struct sim_position *p, const char *key, uint64_t value,
			  const char *limit, uint64_t most)
{
	return err_note(-EINVAL, "%s:%d: %s = %llu is more than %s = %llu", p->where,
			line_of(p, key) ? line_of(p, key) : line_of(p, limit), key,
			(unsigned long long)value, limit, (unsigned long long)most);
}

static int note_needs_data(const struct sim_position *p, const char *key)
{
	return err_note(-EINVAL, "%s:%d: %s needs data = real", p->where, line_of(p, key), key);
}

/* Keys that change nothing without another one. */
static int check_needs(const struct sim_position *p, const struct sim_model *m)
{
	const struct {
		const char *key, *needs;
		bool has;
	} pairs[] = {
		{"memory_policy", "memory_control = 1", m->memory_control},
		{"memory_threshold", "memory_control = 1", m->memory_control},
		{"memory_starvation", "memory_control = 1", m->memory_control},
		{"add_cost", "memory_adds = 1", m->memory_adds},
		{"uplink_devices", "uplink_bandwidth",
		 !m->uplink_devices || m->uplink_bandwidth > 0},
		{"uplink_bandwidth", "uplink_devices", m->uplink_devices},
		{"uplink_peers", "uplink_devices", !m->uplink_peers || m->uplink_devices},
		{"l1_bytes", "l1_bandwidth", !m->l1_bytes || m->l1_bandwidth > 0},
		{"l1_bytes", "l1_latency_ns", !m->l1_bytes || m->l1_latency_ns > 0},
		{"l1_bandwidth", "l1_bytes", m->l1_bytes},
		{"l1_latency_ns", "l1_bytes", m->l1_bytes},
		{"l1_divided", "l1_bytes", m->l1_bytes},
		{"l2_bytes", "l2_units", !m->l2_bytes || m->l2_units},
		{"l2_bytes", "l2_latency_ns", !m->l2_bytes || m->l2_latency_ns > 0},
		{"l2_units", "l2_bytes", m->l2_bytes},
		{"l2_latency_ns", "l2_bytes", m->l2_bytes},
		{"tenants", "memory_control = 0 and queue_wait_ns_per_kib = 0",
		 m->tenants == 1 || (!m->memory_control && !(m->queue_wait_ns_per_kib > 0))},
		{"storage_ns", "storage_bandwidth", m->storage_bandwidth > 0},
		{"joule_per_flop", "idle_watt", m->idle_watt > 0},
		{"joule_per_byte", "idle_watt", m->idle_watt > 0},
		{"cap_watt", "idle_watt", m->idle_watt > 0},
		{"kelvin_per_watt", "idle_watt", m->idle_watt > 0},
		{"kelvin_per_watt", "thermal_s", !(m->kelvin_per_watt > 0) || m->thermal_s > 0},
		{"thermal_s", "kelvin_per_watt", m->kelvin_per_watt > 0},
		{"ambient_celsius", "kelvin_per_watt", m->kelvin_per_watt > 0},
		{"limit_celsius", "kelvin_per_watt", m->kelvin_per_watt > 0},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (line_of(p, pairs[i].key) && !pairs[i].has)
			return err_note(-EINVAL, "%s:%d: %s needs %s", p->where,
					line_of(p, pairs[i].key), pairs[i].key, pairs[i].needs);
	return 0;
}

int sim_model_complete(const struct sim_position *p, struct sim_model *m)
{
	int status = sim_links_complete(p, m);
	if (status)
		return status;
	if (m->priorities == 2)
		return err_note(-EINVAL, "%s:%d: priorities = 2; only 1 and 3 are possible",
				p->where, line_of(p, "priorities"));
	if (m->shared_per_block_bytes > m->shared_per_unit_bytes)
		return note_too_large(p, "shared_per_block_bytes", m->shared_per_block_bytes,
				      "shared_per_unit_bytes", m->shared_per_unit_bytes);
	if (m->llc_bytes > m->memory_bytes)
		return note_too_large(p, "llc_bytes", m->llc_bytes, "memory_bytes",
				      m->memory_bytes);
	m->l1_divided = m->l1_divided && m->l1_bytes;
	if (m->l1_divided && m->shared_per_unit_bytes > m->l1_bytes)
		return note_too_large(p, "shared_per_unit_bytes", m->shared_per_unit_bytes,
				      "l1_bytes", m->l1_bytes);
	if (m->data == SIM_DATA_NONE && m->corrupt_copy_every)
		return note_needs_data(p, "corrupt_copy_every");
	if (m->data == SIM_DATA_NONE && m->corrupt_launch_every)
		return note_needs_data(p, "corrupt_launch_every");
	if (m->tracker_entries && !m->memory_adds)
		return err_note(-EINVAL, "%s:%d: tracker_entries = %u needs memory_adds = 1",
				p->where,
				line_of(p, "tracker_entries") ? line_of(p, "tracker_entries")
							      : line_of(p, "memory_adds"),
				m->tracker_entries);
	return check_needs(p, m);
}

int sim_model_each_line(const char *text, struct sim_position *p,
			int (*read)(struct sim_position *p, char *line, struct sim_model *m),
			struct sim_model *m)
{
	while (*text) {
		char line[SIM_LINE];
		size_t length = strcspn(text, "\n");
		p->line++;
		if (length >= sizeof(line))
			return err_note(-EINVAL, "%s:%d: the line is longer than %zu characters",
					p->where, p->line, sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		line[strcspn(line, "#")] = '\0';
		char *content = sim_model_trim(line);
		int status = *content ? read(p, content, m) : 0;
		if (status)
			return status;
	}
	return 0;
}

/* A model is too large for a small stack. */
static int allocate_model(struct sim_model **m_p)
{
	*m_p = malloc(sizeof(**m_p));
	return *m_p ? 0 : err_note(-ENOMEM, "sim: a model: out of memory");
}

int sim_model_parse(const char *text, const char *where, struct sim_model *model_p)
{
	struct sim_model *m;
	struct sim_position p = {.where = where};
	const char *slash = strrchr(where, '/');
	int status = allocate_model(&m);
	if (status)
		return status;
	*m = default_model;
	status = sim_model_each_line(text, &p, sim_model_read_line, m);
	if (!status)
		status = sim_model_complete(&p, m);
	if (!status) {
		snprintf(m->name, sizeof(m->name), "%.63s", slash ? slash + 1 : where);
		*model_p = *m;
	}
	free(m);
	return status;
}

int sim_model_read_text(const char *what, const char *path, char **text_p)
{
	char *text = malloc(MODEL_FILE_BYTES + 1);
	if (!text)
		return err_note(-ENOMEM, "%s %s: out of memory", what, path);
	FILE *file = fopen(path, "r");
	int status = 0;
	if (!file) {
		status = err_note(-EINVAL, "%s %s: %s", what, path, strerror(errno));
		goto free_text;
	}
	size_t length = fread(text, 1, MODEL_FILE_BYTES + 1, file);
	if (ferror(file))
		status = err_note(-EINVAL, "%s %s: %s", what, path, strerror(errno));
	else if (length > MODEL_FILE_BYTES || memchr(text, '\0', length))
		status = err_note(-EINVAL, "%s %s: not a text file of at most %d bytes", what, path,
				  MODEL_FILE_BYTES);
	fclose(file);
	if (!status) {
		text[length] = '\0';
		*text_p = text;
		return 0;
	}
free_text:
	free(text);
	return status;
}

/* The model of a signature is a file in its folder. */
static const char *file_of(const char *name, char *path, size_t capacity)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	if (strcmp(last, SIM_SIGNATURE) != 0)
		return name;
	snprintf(path, capacity, "%.*s" SIM_OF_SIGNATURE, (int)(last - name), name);
	return path;
}

static int load_named(const char *name, struct sim_model *model_p)
{
	char *text, path[1200];
	if (!strpbrk(name, "/.")) {
		if (sim_model_builtin(name, model_p) == 0)
			return 0;
		return err_note(-EINVAL,
				"sim: unknown model '%.64s'; models: %s, or a file (a name with "
				"'/' or '.')",
				name, sim_model_names);
	}
	const char *file = file_of(name, path, sizeof(path));
	if (file == path && access(file, F_OK) != 0)
		return err_note(-EINVAL,
				"sim: read model %s: %s; './gpusig report FOLDER' makes it of the "
				"records of a run",
				file, strerror(errno));
	int status = sim_model_read_text("sim: read model", file, &text);
	if (status)
		return status;
	status = sim_model_parse(text, file, model_p);
	free(text);
	return status;
}

static int load_unchanged(const char *name, struct sim_model *model_p)
{
	int status = load_named(name, model_p);
	if (status)
		return status;
	snprintf(model_p->base, sizeof(model_p->base), "%s", model_p->name);
	model_p->contents = sim_model_hash(model_p);
	return 0;
}

static int load_changed(const char *spec, size_t length, struct sim_model *m)
{
	char name[1024];
	if (length >= sizeof(name))
		return err_note(-EINVAL, "sim: the model is longer than %zu characters",
				sizeof(name) - 1);
	memcpy(name, spec, length);
	name[length] = '\0';
	int status = load_unchanged(name, m);
	if (!status)
		status = sim_model_override(name, spec + length + 1, m);
	if (status)
		return status;
	const char *slash = strrchr(name, '/');
	snprintf(m->name, sizeof(m->name), "%.63s", slash ? spec + (slash + 1 - name) : spec);
	return 0;
}

int sim_model_load(const char *spec, struct sim_model *model_p)
{
	struct sim_model *m;
	if (!spec)
		spec = "default";
	const size_t length = strcspn(spec, "?");
	if (!spec[length])
		return load_unchanged(spec, model_p);
	int status = allocate_model(&m);
	if (status)
		return status;
	status = load_changed(spec, length, m);
	if (!status)
		*model_p = *m;
	free(m);
	return status;
}
