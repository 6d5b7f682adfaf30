/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of attention: what rounding makes of a right result passes, in either type and also
 * where scores and weights are rounded to bf16 between the steps; a key too few, a wrong value, a
 * row that was not written or is another's are found. Results are computed here in float, from the
 * operands on the device.
 */
#include "gemm/attention/attention.h"
#include "lib/err.h"
#include "tests/unit/bench/scene.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { DEPTH = DEV_ATTENTION_DEPTH, HEADS = 2, KEYS = 512, ROWS = HEADS * 4 };

static float round_to(enum dev_type type, float x)
{
	char bytes[8];
	element_store(type, bytes, 0, (double)x);
	return (float)element_load(type, bytes, 0);
}

/* Attends to `keys` keys, with scores and weights rounded to `between`. */
static void attend_on_host(const struct attention *a, const float *q, const float *kv,
			   uint32_t keys, enum dev_type between, float *out)
{
	for (uint32_t row = 0; row < ROWS; row++, q += DEPTH, out += DEPTH) {
		const float *k = kv + (size_t)(row / a->rows) * KEYS * DEPTH,
			    *v = k + (size_t)HEADS * KEYS * DEPTH;
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
	char elements[ROWS * DEPTH * sizeof(float)];
	void *at = bench_alloc(c, DEV_MEM_DEVICE, sizeof(elements));
	for (size_t i = 0; i < ROWS * DEPTH; i++)
		element_store(type, elements, i, (double)out[i]);
	if (!at ||
	    TRY(c->status, dev_upload(c->dev, at, elements, ROWS * DEPTH * dev_type_bytes(type))))
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
	float out[(ROWS + 1) * DEPTH];
	TRY(c->status, attention_size(&a, c->dev, type, true, HEADS, KEYS));
	if (c->status || attention_open(&a, c))
		return;
	const float *q = download_floats(c, type, a.q, ROWS * DEPTH),
		    *kv = download_floats(c, type, a.kv, (size_t)2 * HEADS * KEYS * DEPTH);
	if (!q || !kv)
		return;
	attend_on_host(&a, q, kv, KEYS, DEV_F32, out);
	right += check_result(&a, c, out, DEV_F32) == 0;
	attend_on_host(&a, q, kv, KEYS, type, out);
	right += check_result(&a, c, out, type) == 0;

	attend_on_host(&a, q, kv, KEYS - 1, DEV_F32, out);
	expect_wrong(&a, c, out, DEV_F32, "times the rounding error bound");
	attend_on_host(&a, q, kv, KEYS / 2, DEV_F32, out);
	expect_wrong(&a, c, out, type, "times the rounding error bound");
	attend_on_host(&a, q, kv, KEYS, DEV_F32, out);
	const float kept = out[a.checked[3] * DEPTH + 5];
	out[a.checked[3] * DEPTH + 5] += 0.01f;
	expect_wrong(&a, c, out, type, "column 5 is");
	out[a.checked[3] * DEPTH + 5] = NAN;
	expect_wrong(&a, c, out, DEV_F32, "column 5 is nan");
	out[a.checked[3] * DEPTH + 5] = kept;
	memset(out + 6 * DEPTH, 0x7f, sizeof(float) * DEPTH);
	expect_wrong(&a, c, out, type, "row 6 column 0");
	attend_on_host(&a, q, kv, KEYS, DEV_F32, out);
	memmove(out, out + DEPTH, sizeof(float) * (ROWS - 1) * DEPTH);
	expect_wrong(&a, c, out, type, "times the rounding error bound");
}

static void scene_both_types(struct bench_case *c)
{
	try_type(c, DEV_F32);
	try_type(c, DEV_BF16);
}

static void rounding_passes_and_faults_are_found(void)
{
	expect(run_scene(scene_both_types) == 0);
	expect(right == 4 && found == 12 && told == 12);
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
	expect(attention_size(&a, NULL, DEV_BF16, false, 3, 64) == 0);
	expect(a.rows == 256 && a.q_bytes == UINT64_C(3) * 256 * 128 * 2 &&
	       a.k_bytes == UINT64_C(3) * 64 * 128 * 2 &&
	       a.scores_bytes == UINT64_C(3) * 256 * 64 * 2);
	expect(fabs(attention_flops(&a) - 4.0 * 3 * 256 * 64 * 128) < 1.0);
	expect(attention_size(&a, NULL, DEV_F32, false, 1 << 20, 1 << 20) == -ENOTSUP);
}

int main(void)
{
	test(words_are_phases);
	test(sizes_are_of_all_heads);
	test(rounding_passes_and_faults_are_found);
	return test_done();
}
