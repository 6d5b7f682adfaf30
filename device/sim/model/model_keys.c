/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contents of a model, key by key: for records, and for a hash.
 */
#include "device/sim/model/reading.h"

#include <math.h>
#include <stdio.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325) /* FNV-1a of 64 bits */
#define HASH_PRIME UINT64_C(0x100000001b3)

double sim_model_field(const struct sim_model *m, const struct sim_key *k)
{
	const void *field = (const char *)m + k->offset;
	if (k->type == KEY_U32)
		return *(const uint32_t *)field;
	return k->type == KEY_REAL ? *(const double *)field : (double)*(const uint64_t *)field;
}

static void put_field(const struct sim_model *m, const struct sim_key *k, dev_model_put *put,
		      void *context)
{
	const void *field = (const char *)m + k->offset;
	if (k->words)
		put(context, k->name, k->words[*(const uint32_t *)field], 0);
	else
		put(context, k->name, NULL, sim_model_field(m, k));
}

static void put_links(const struct sim_model *m, dev_model_put *put, void *context)
{
	static const char *const words[] = {"switch", "mesh", "torus", "torus", "file"};
	char text[64];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", words[m->links]);
	for (unsigned i = 0; m->links == SIM_LINKS_TORUS && i < SIM_TORUS_DIMENSIONS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%c%u", i ? 'x' : ':',
					 m->torus[i]);
	put(context, "links", text, 0);
	for (uint32_t i = 0; i < m->pairs; i++) {
		const struct sim_pair *pair = &m->pair[i];
		const struct {
			const char *key;
			double value;
		} of_pair[] = {{"link", pair->linked ? 1 : NAN},
			       {"peer_bandwidth", pair->bandwidth},
			       {"peer_latency_ns", pair->latency_ns}};
		for (size_t j = 0; j < sizeof(of_pair) / sizeof(of_pair[0]); j++) {
			snprintf(text, sizeof(text), "%s %u>%u", of_pair[j].key, pair->from,
				 pair->to);
			if (!isnan(of_pair[j].value))
				put(context, text, NULL, of_pair[j].value);
		}
	}
}

void sim_model_put_keys(const struct sim_model *m, dev_model_put *put, void *context)
{
	char text[64];
	for (size_t i = 0; i < sim_key_count; i++)
		if (!sim_keys[i].unlisted_at_0 || fabs(sim_model_field(m, &sim_keys[i])) > 0)
			put_field(m, &sim_keys[i], put, context);
	put_links(m, put, context);
	for (uint32_t i = 0; i < m->slow_downs; i++) {
		snprintf(text, sizeof(text), "slow_down %s", m->slow_down[i].what);
		put(context, text, NULL, m->slow_down[i].factor);
	}
	for (size_t i = 0; i < DEV_CAP_COUNT; i++) {
		snprintf(text, sizeof(text), "lacks %s", dev_cap_names[i]);
		if (m->lacks >> i & 1)
			put(context, text, NULL, 1);
	}
}

static void add_to_hash(void *context, const char *key, const char *word, double number)
{
	uint64_t *hash = context;
	char text[160];
	snprintf(text, sizeof(text), "%s=%s%.17g\n", key, word ? word : "", number);
	for (const char *at = text; *at; at++)
		*hash = (*hash ^ (unsigned char)*at) * HASH_PRIME;
}

uint64_t sim_model_hash(const struct sim_model *m)
{
	uint64_t hash = HASH_BASIS;
	sim_model_put_keys(m, add_to_hash, &hash);
	return hash;
}
