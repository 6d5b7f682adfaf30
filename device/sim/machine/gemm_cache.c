/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of GEMM results. A benchmark multiplies the same matrices again and again. Computing the
 * result once and finding it later by a hash of the matrices' contents gives the same bits in a
 * hundredth of the time.
 */
#include "device/sim/machine/gemm_cache.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/op.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_BYTES (256u << 20)

struct sim_gemm_result {
	struct sim_gemm_result *next; /* most recently used first */
	uint64_t key, bytes;
	struct sim_narrow narrow; /* while it is computed */
	bool complete;
	unsigned users;
	/* the values follow */
};

static struct sim_gemm_result *results;
static uint64_t kept_bytes;

static uint64_t hash_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9fb21c651e98df25u;
	return h ^ (h >> 32);
}

static uint64_t hash_rows(uint64_t h, const char *at, uint64_t rows, uint64_t row_bytes,
			  uint64_t stride_bytes)
{
	uint64_t lane[4] = {h, h + 1, h + 2, h + 3}, word;
	for (uint64_t i = 0; i < rows; i++, at += stride_bytes) {
		uint64_t j = 0;
		for (; j + 32 <= row_bytes; j += 32) {
			for (int k = 0; k < 4; k++) {
				memcpy(&word, at + j + 8 * k, 8);
				lane[k] = hash_mix(lane[k], word);
			}
		}
		for (; j < row_bytes; j += 4) {
			uint32_t half = 0;
			memcpy(&half, at + j, row_bytes - j < 4 ? row_bytes - j : 4);
			lane[0] = hash_mix(lane[0], half);
		}
	}
	return hash_mix(hash_mix(lane[0], lane[1]), hash_mix(lane[2], lane[3]));
}

/* Hashes of operands in DEVICE memory that nothing wrote since. The host may write other memory
 * without a call. */
#define REMEMBERED 256u
static struct operand_hash {
	uint64_t version;
	const void *at;
	uint64_t rows, row_bytes, stride_bytes, hash;
} remembered[REMEMBERED];

static uint64_t hash_operand(const struct alloc *in, const void *at, uint64_t rows,
			     uint64_t row_bytes, uint64_t stride_bytes)
{
	const uint64_t place = hash_mix(hash_mix((uintptr_t)at, rows), row_bytes);
	struct operand_hash *r = &remembered[(place ^ place >> 16) % REMEMBERED];
	if (in->kind == DEV_MEM_DEVICE && r->version == in->version && r->at == at &&
	    r->rows == rows && r->row_bytes == row_bytes && r->stride_bytes == stride_bytes)
		return r->hash;
	*r = (struct operand_hash){.version = in->version,
				   .at = at,
				   .rows = rows,
				   .row_bytes = row_bytes,
				   .stride_bytes = stride_bytes,
				   .hash = hash_rows(1, at, rows, row_bytes, stride_bytes)};
	return r->hash;
}

static uint64_t key_of(const struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	const uint32_t block = dev_types[g->type].block;
	const uint32_t b_columns = g->b_transposed ? g->k : g->n;
	uint64_t alpha;
	memcpy(&alpha, &g->alpha, sizeof(alpha));
	const uint64_t words[] = {
		(uint64_t)g->type, sim_narrow_is_rounded(g), g->m, g->n, g->k, alpha};
	uint64_t h = 1 + g->b_transposed, b_rows = g->b_transposed ? g->n : g->k;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = hash_mix(h, words[i]);
	for (uint32_t i = 0; i < g->groups; i++)
		h = hash_mix(h, g->group_rows[i]);
	b_rows *= g->groups ? g->groups : 1;
	h = hash_mix(h,
		     hash_operand(op->work->use[0], g->a, g->m, dev_type_array_bytes(g->type, g->k),
				  dev_type_array_bytes(g->type, g->lda)));
	for (int i = 0; i < 2 && block; i++) {
		const uint64_t bytes = dev_scale_bytes(false, i ? g->n : g->m, g->k / block);
		h = hash_mix(h, hash_operand(op->work->use[3 + i], i ? g->b_scales : g->a_scales, 1,
					     bytes, bytes));
	}
	return hash_mix(h, hash_operand(op->work->use[1], g->b, b_rows,
					dev_type_array_bytes(g->type, b_columns),
					dev_type_array_bytes(g->type, g->ldb)));
}

static uint64_t value_bytes(const struct dev_gemm *g)
{
	return sim_narrow_is_rounded(g) ? dev_type_result_bytes(g->type)
	       : g->type == DEV_F64     ? sizeof(double)
					: sizeof(float);
}

static void evict_result(struct sim_gemm_result **at)
{
	struct sim_gemm_result *p = *at;
	*at = p->next;
	kept_bytes -= p->bytes;
	free(p);
}

/* Evicts unused results, least recently used first. A result that is too large for the cache lives
 * as long as it is used. */
static void evict_until_fits(uint64_t bytes)
{
	while (kept_bytes + bytes > KEEP_BYTES) {
		struct sim_gemm_result **oldest = NULL;
		for (struct sim_gemm_result **at = &results; *at; at = &(*at)->next)
			if ((*at)->users == 0)
				oldest = at;
		if (!oldest)
			return;
		evict_result(oldest);
	}
}

struct sim_gemm_result *sim_gemm_cache_begin(const struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	uint64_t key = key_of(op), bytes = (uint64_t)g->m * g->n * value_bytes(g);
	struct sim_gemm_result *p;
	for (struct sim_gemm_result **at = &results; *at; at = &(*at)->next) {
		p = *at;
		if (p->key != key || p->bytes != bytes || !p->complete)
			continue;
		*at = p->next;
		p->next = results;
		results = p;
		p->users++;
		return p;
	}
	evict_until_fits(bytes);
	p = malloc(sizeof(*p) + bytes);
	if (!p)
		return NULL;
	*p = (struct sim_gemm_result){.next = results, .key = key, .bytes = bytes, .users = 1};
	if (sim_narrow_is(g->type) && !sim_narrow_open(&p->narrow, g)) {
		free(p);
		return NULL;
	}
	results = p;
	kept_bytes += bytes;
	return p;
}

bool sim_gemm_cache_is_complete(const struct sim_gemm_result *p) { return p->complete; }

const struct sim_narrow *sim_gemm_cache_narrow(const struct sim_gemm_result *p)
{
	return &p->narrow;
}

void *sim_gemm_cache_values(struct sim_gemm_result *p) { return p + 1; }

void sim_gemm_cache_end(const struct op *op)
{
	struct sim_gemm_result *p = op->gemm_result;
	if (!p)
		return;
	p->users--;
	sim_narrow_close(&p->narrow);
	/* If a matrix was changed meanwhile, the result belongs to neither content. */
	p->complete = p->complete || (op->blocks_left == 0 && key_of(op) == p->key);
	if (p->users > 0 || (p->complete && kept_bytes <= KEEP_BYTES))
		return;
	struct sim_gemm_result **at = &results;
	while (*at != p)
		at = &(*at)->next;
	evict_result(at);
}

void sim_gemm_cache_clear(void)
{
	while (results)
		evict_result(&results);
}
