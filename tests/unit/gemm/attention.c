/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of attention: what rounding makes of a right result passes, in either type and also
 * where scores and weights are rounded to bf16 between the steps; a key too few, a wrong value, a
 * row that was not written or is another's are found, and of a causal mask one that hides nothing
 * or is off by one key. Results are computed here in float, from the operands on the device.
 */
#include "gemm/attention/attention.h"
#include "lib/err.h"
#include "tests/unit/bench/scene.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { DEPTH = DEV_ATTENTION_DEPTH, HEADS = 2, KEYS = 512, ROWS = HEADS * 4, PROMPT = 64 };

static float round_to(enum dev_type type, float x)
{
	char bytes[8];
	element_store(type, bytes, 0, (double)x);
	return (float)element_load(type, bytes, 0);
}

/* Keys that a row attends to, one position after the other. */
static uint32_t all_keys(uint32_t position) { return KEYS; }
static uint32_t all_but_one(uint32_t position) { return KEYS - 1; }
static uint32_t half_of_keys(uint32_t position) { return KEYS / 2; }
static uint32_t up_to_its_own(uint32_t position) { return position + 1; }
static uint32_t all_of_prompt(uint32_t position) { return PROMPT; }
static uint32_t one_too_few(uint32_t position) { return position ? position : 1; }
static uint32_t one_too_many(uint32_t position)
{
	return position + 2 < PROMPT ? position + 2 : PROMPT;
}

/* Scores and weights are rounded to `between`. */
static void attend_on_host(const struct attention *a, const float *q, const float *kv,
			   uint32_t (*keys_of)(uint32_t position), enum dev_type between,
			   float *out)
{
	for (uint32_t row = 0; row < HEADS * a->rows; row++, q += DEPTH, out += DEPTH) {
		const float *k = kv + (size_t)(row / a->rows) * a->keys * DEPTH,
			    *v = k + (size_t)HEADS * a->keys * DEPTH;
		const uint32_t keys = keys_of(row % a->rows / ATTENTION_GROUP);
		float p[KEYS], sum = 0.0f;
		for (uint32_t j = 0; j < keys; j++) {
			float s = 0.0f;
			for (uint32_t i = 0; i < DEPTH; i++)
				s += q[i] * k[j * DEPTH + i];
			p[j] = expf(round_to(between, s / sqrtf(DEPTH)));
			sum += p[j];
		}
		memset(out, 0, DEPTH * sizeof(*out));
		for (uint32_t j = 0; j < keys; j++)
			for (uint32_t i = 0; i < DEPTH; i++)
				out[i] += round_to(between, p[j] / sum) * v[j * DEPTH + i];
	}
}

static float *download_floats(struct bench_case *c, enum dev_type type, const void *at,
			      size_t count)
{
	void *elements = bench_alloc_host(c, count * sizeof(float));
	float *x = bench_alloc_host(c, count * sizeof(*x));
	if (c->status ||
	    TRY(c->status, dev_download(c->dev, elements, at, count * dev_type_bytes(type))))
		return NULL;
	for (size_t i = 0; i < count; i++)
		x[i] = (float)element_load(type, elements, i);
	return x;
}

/* Returns what the check says of a result, as numbers of that type. */
static int check_result(const struct attention *a, struct bench_case *c, const float *out,
			enum dev_type type)
{
	const size_t count = (size_t)HEADS * a->rows * DEPTH, bytes = count * dev_type_bytes(type);
	void *elements = bench_alloc_host(c, bytes), *at = bench_alloc(c, DEV_MEM_DEVICE, bytes);
	for (size_t i = 0; c->status == 0 && i < count; i++)
		element_store(type, elements, i, (double)out[i]);
	if (c->status || TRY(c->status, dev_upload(c->dev, at, elements, bytes)))
		return c->status;
	return attention_check(a, c, at, type);
}

static unsigned right, found, told;

static void expect_wrong(const struct attention *a, struct bench_case *c, const float *out,
			 enum dev_type type, const char *words)
{
	found += check_result(a, c, out, type) == -EBADMSG;
	told += strstr(err_text(), words) != NULL;
}

static void try_type(struct bench_case *c, enum dev_type type)
{
	struct attention a;
	float out[(ROWS + 1) * DEPTH] = {0};
	TRY(c->status, attention_size(&a, c->dev, type, true, true, HEADS, KEYS));
	if (c->status || attention_open(&a, c))
		return;
	const float *q = download_floats(c, type, a.q, ROWS * DEPTH),
		    *kv = download_floats(c, type, a.kv, (size_t)2 * HEADS * KEYS * DEPTH);
	if (!q || !kv)
		return;
	attend_on_host(&a, q, kv, all_keys, DEV_F32, out);
	right += check_result(&a, c, out, DEV_F32) == 0;
	attend_on_host(&a, q, kv, all_keys, type, out);
	right += check_result(&a, c, out, type) == 0;

	attend_on_host(&a, q, kv, all_but_one, DEV_F32, out);
	expect_wrong(&a, c, out, DEV_F32, "times the rounding error bound");
	attend_on_host(&a, q, kv, half_of_keys, DEV_F32, out);
	expect_wrong(&a, c, out, type, "times the rounding error bound");
	attend_on_host(&a, q, kv, all_keys, DEV_F32, out);
	const float kept = out[a.checked[3] * DEPTH + 5];
	out[a.checked[3] * DEPTH + 5] += 0.01f;
	expect_wrong(&a, c, out, type, "column 5 is");
	out[a.checked[3] * DEPTH + 5] = NAN;
	expect_wrong(&a, c, out, DEV_F32, "column 5 is nan");
	out[a.checked[3] * DEPTH + 5] = kept;
	memset(out + 6 * DEPTH, 0x7f, sizeof(float) * DEPTH);
	expect_wrong(&a, c, out, type, "row 6 column 0");
	attend_on_host(&a, q, kv, all_keys, DEV_F32, out);
	memmove(out, out + DEPTH, sizeof(float) * (ROWS - 1) * DEPTH);
	expect_wrong(&a, c, out, type, "times the rounding error bound");
}

static void try_mask(struct bench_case *c, enum dev_type type)
{
	static uint32_t (*const wrong[])(uint32_t) = {all_of_prompt, one_too_few, one_too_many};
	struct attention a;
	TRY(c->status, attention_size(&a, c->dev, type, false, true, HEADS, PROMPT));
	if (c->status || attention_open(&a, c))
		return;
	const size_t count = (size_t)HEADS * a.rows * DEPTH;
	const float *q = download_floats(c, type, a.q, count),
		    *kv = download_floats(c, type, a.kv, (size_t)2 * HEADS * PROMPT * DEPTH);
	float *out = bench_alloc_host(c, count * sizeof(*out));
	if (c->status)
		return;
	attend_on_host(&a, q, kv, up_to_its_own, type, out);
	right += check_result(&a, c, out, type) == 0;
	for (unsigned i = 0; i < 3; i++) {
		attend_on_host(&a, q, kv, wrong[i], type, out);
		expect_wrong(&a, c, out, type, "times the rounding error bound");
	}
}

static void scene_both_types(struct bench_case *c)
{
	try_type(c, DEV_F32);
	try_type(c, DEV_BF16);
	try_mask(c, DEV_F32);
	try_mask(c, DEV_BF16);
}

static void rounding_passes_and_faults_are_found(void)
{
	expect(run_scene(scene_both_types) == 0);
	expect(right == 6 && found == 18 && told == 18);
}

static void words_are_phases(void)
{
	expect(attention_accept("decode-32") == 0 && attention_accept("prefill-16K") == 0);
	expect(attention_accept("decode-33") == -EINVAL && attention_accept("decode-") == -EINVAL &&
	       attention_accept("prefill-0") == -EINVAL &&
	       attention_accept("decode-32M") == -EINVAL && attention_accept("16K") == -EINVAL);
	expect(strstr(err_text(), "decode-KEYS") != NULL);
}

static void sizes_are_of_all_heads(void)
{
	struct attention a;
	expect(attention_size(&a, NULL, DEV_BF16, false, false, 3, 64) == 0);
	expect(a.rows == 256 && a.q_bytes == UINT64_C(3) * 256 * 128 * 2 &&
	       a.k_bytes == UINT64_C(3) * 64 * 128 * 2 &&
	       a.scores_bytes == UINT64_C(3) * 256 * 64 * 2);
	expect(fabs(attention_flops(&a) - 4.0 * 3 * 256 * 64 * 128) < 1.0);
	expect(attention_seen(&a, 0) == 64 && attention_seen(&a, 767) == 64);
	expect(attention_size(&a, NULL, DEV_F32, false, false, 1 << 20, 1 << 20) == -ENOTSUP);
}

static void a_causal_mask_leaves_half_and_the_diagonal(void)
{
	struct attention a;
	double seen = 0;
	expect(attention_size(&a, NULL, DEV_BF16, false, true, 3, 64) == 0);
	expect(attention_seen(&a, 0) == 1 && attention_seen(&a, 3) == 1 &&
	       attention_seen(&a, 4) == 2 && attention_seen(&a, 255) == 64 &&
	       attention_seen(&a, 256) == 1 && attention_seen(&a, 767) == 64);
	for (uint32_t row = 0; row < 3 * 256; row++)
		seen += attention_seen(&a, row);
	expect(fabs(attention_flops(&a) - 4.0 * 128 * seen) < 1.0);
	expect(attention_size(&a, NULL, DEV_BF16, true, true, 3, 64) == 0);
	expect(attention_seen(&a, 0) == 64 && fabs(attention_seen_share(&a) - 1.0) < 1e-12);
}

int main(void)
{
	test(words_are_phases);
	test(sizes_are_of_all_heads);
	test(a_causal_mask_leaves_half_and_the_diagonal);
	test(rounding_passes_and_faults_are_found);
	return test_done();
}
