/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How near to its bound does attention come, and what does fusing bring?
 *
 * fused is a kernel of ours that keeps no scores: softmax while the keys pass by (arXiv 1805.02867,
 * 2205.14135), the keys of a head cut into parts so that a batch of 1 keeps all units busy
 * (Flash-Decoding), and a second kernel that adds the parts up. It is a baseline without matrix
 * units, in f32 arithmetic. chain is what a library of GEMMs gives: for each KV head Q K^T, whose
 * scores go to memory, a softmax of all rows, and for each KV head P V.
 *
 * Attention of a decoder is causal: no query sees later keys than its own, which is half of the
 * work where there are as many queries as keys. fused leaves the other half out; in chain the
 * softmax masks it, and the GEMMs compute all. Operations are those of keys that are seen, in both.
 *
 * Decode (one query of each head) is limited by reading K and V, which are in no cache, as those of
 * a model's many layers are: every run takes them from rotating buffers (bench/graph/rotation.h).
 * Prefill (as many queries as keys) is limited by arithmetic. Both limits are measured in the same
 * rounds: `read` reads K and V, `gemm` is one large GEMM of the library. No attention is faster
 * than read; one that uses other units than the library may be faster than gemm.
 *
 *     bin/gemm/attention --device host --type f32 --phase decode-16K,prefill-256
 */
#include "gemm/attention/runs.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

/* Most that operands and scores take of memory, without the copies of K and V. */
#define MEMORY_SHARE 0.25

static const struct axis axes[] = {
	BENCH_PLAIN_TYPES(.quick = "f32,bf16"),
	{.name = "phase",
	 .help = "decode-KEYS: one query of each head; prefill-KEYS: KEYS queries",
	 .kind = AXIS_WORD,
	 .accept = attention_accept,
	 .quick = "decode-1K,decode-16K,prefill-256",
	 .simulated = "decode-256,decode-1K,prefill-32",
	 .full = "decode-1K,decode-4K,decode-16K,prefill-32,prefill-256,prefill-1K",
	 .gpu_class = "decode-4K,decode-64K,prefill-2K",
	 .gpu_class_full = "decode-1K,decode-4K,decode-16K,decode-64K,decode-256K,prefill-512,"
			   "prefill-2K,prefill-4K"},
	{.name = "mask",
	 .help = "of prefill: causal, or none, as in encoders and image models",
	 .kind = AXIS_WORD,
	 .words = attention_masks,
	 .quick = "causal",
	 .full = "causal,none"},
	{.name = "heads",
	 .help = "KV heads, each of 4 query heads of depth 128",
	 .kind = AXIS_COUNT,
	 .quick = "8",
	 .min = 1,
	 .max = 1024},
	{.name = "batch",
	 .help = "sequences",
	 .kind = AXIS_COUNT,
	 .quick = "1",
	 .full = "1,8",
	 .min = 1,
	 .max = 65536},
	{0}};

static int admit(const struct bench_case *c)
{
	const unsigned type = axis_index(c, "type");
	struct attention a = {0};
	if (type != DEV_F32 && type != DEV_BF16)
		return err_note(-ENOTSUP, "attention is measured in f32 and bf16");
	if (!(dev_props(c->dev)->gemm_types >> type & 1))
		return err_note(-ENOTSUP, "%s GEMM is not supported on this device",
				dev_type_names[type]);
	const int status = attention_size_axes(&a, c);
	if (status == 0 && a.decodes && axis_index(c, "mask") == ATTENTION_UNMASKED)
		return err_note(-EINVAL, "the one query of decode sees all keys: --mask causal "
					 "hides nothing from it, and is how it is measured");
	const double needed = 2.0 * (double)a.k_bytes + (double)a.scores_bytes;
	if (status == 0 && needed > MEMORY_SHARE * (double)dev_props(c->dev)->memory_bytes)
		return err_note(-ENOMEM,
				"K, V and the chain's scores of %.3g GB exceed a quarter "
				"of the device's memory",
				1e-9 * needed);
	return status;
}

/* ------------------------------------------------------------------ what it moves and computes */

/* Q is read and the result written once. */
static void model_fused(const struct bench_case *c, long arg, struct bench_model *m)
{
	const struct attention_runs *s = c->state;
	const struct attention *a = &s->attention;
	m->flops = attention_flops(a);
	m->bytes = 2.0 * (double)a->k_bytes + (double)a->q_bytes + (double)s->out_bytes;
}

/* All scores are written, by the softmax too, and read; those that are seen are read twice. */
static void model_chain(const struct bench_case *c, long arg, struct bench_model *m)
{
	const struct attention *a = &((const struct attention_runs *)c->state)->attention;
	m->flops = attention_flops(a);
	m->bytes = 2.0 * (double)a->k_bytes + 2.0 * (double)a->q_bytes +
		   (3.0 + attention_seen_share(a)) * (double)a->scores_bytes;
}

static void model_read(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->bytes = 2.0 * (double)((const struct attention_runs *)c->state)->attention.k_bytes;
}

static void model_gemm(const struct bench_case *c, long arg, struct bench_model *m)
{
	m->flops = shape_flops(&((const struct attention_runs *)c->state)->gemm.shape);
}

/* ------------------------------------------------------------------ the declaration */

enum { FUSED, CHAIN, READ, GEMM };
static const struct bench_variant variants[] = {
	[FUSED] = {"fused", BENCH_DEVICE, .once = fused_once, .model = model_fused,
		   .poison = fused_poison, .check = fused_check, .queued = 2},
	[CHAIN] = {"chain", BENCH_DEVICE, .once = chain_once, .model = model_chain,
		   .poison = chain_poison, .check = chain_check},
	[READ] = {"read", BENCH_DEVICE, .once = read_once, .model = model_read, .reference = true},
	[GEMM] = {"gemm", BENCH_DEVICE, .once = gemm_once, .model = model_gemm, .reference = true},
	{0}};

static const struct bench_quantity_row quantities[] = {
	{"fused_speedup", BENCH_SPEEDUP, "fused", "chain"},
	{"read_share", BENCH_SPEEDUP, .to = "read"},
	{"gemm_share", BENCH_SHARE, .to = "gemm"},
	{"roofline_share", BENCH_FORMULA, .more_is_better = true},
	{0}};

#define DECODE "type=main phase=decode-16K|decode-64K|decode-1K mask=causal batch=1"
#define PREFILL "type=main phase=prefill-256|prefill-2K|prefill-32 mask=causal batch=1"
static const struct bench_metric primary[] = {
	{"attention_decode_read_share", "read_share", "fused", DECODE},
	{"attention_decode_fused_speedup", "fused_speedup", "fused", DECODE},
	{"attention_causal_prefill_fused_speedup", "fused_speedup", "fused", PREFILL},
	{"attention_causal_prefill_roofline_share", "roofline_share", "chain", PREFILL},
	{0}};

static int setup(struct bench_case *c) { return attention_runs_open(c, CHAIN); }

/* The longer one of what reads K and V and what multiplies as fast as a large GEMM. */
static double share_of_roofline(const struct bench_round *r)
{
	const double of_flops =
		bench_work(r->c, (unsigned)r->variant).flops / bench_work(r->c, GEMM).flops;
	return fmax(r->seconds[READ], r->seconds[GEMM] * of_flops) / r->seconds[r->variant];
}

static int derive(struct bench_case *c)
{
	const struct attention_runs *s = c->state;
	bench_fact_number(c, "kv_bytes", 2.0 * (double)s->attention.k_bytes);
	bench_fact_number(c, "score_bytes", (double)s->attention.scores_bytes);
	bench_fact_number(c, "parts", s->parts);
	rotation_facts(s->cold, c);
	for (unsigned v = 0; variants[v].name; v++) {
		if (variants[v].reference)
			continue;
		const struct bench_quantity q = {
			BENCH_FORMULA, .of = {BENCH_OF(v), BENCH_OF(READ), BENCH_OF(GEMM)},
			.f = share_of_roofline};
		if (bench_variant_on(c, READ))
			bench_bound(c, "bandwidth", (int)v,
				    bench_work(c, v).bytes / bench_best(c, READ),
				    "reading K and V");
		TRY(c->status, bench_derive(c, "roofline_share", (int)v, &q,
					    "max(seconds(read), flops / flop_rate(gemm)) / "
					    "seconds, round by round"));
	}
	return c->status;
}

static const struct bench bench = {
	.name = "gemm/attention",
	.question = "how near to its bound is attention, and what does fusing bring?",
	.formula =
		"bandwidth = bytes of K, V, Q and the result, and of the chain 3 times those of "
		"all scores and once those of keys that are seen / median time; flop_rate = 512 "
		"flop for each key that a query sees / median time; fused_speedup = seconds(chain) "
		"/ seconds(fused); read_share = seconds(read) / seconds; gemm_share = flop_rate / "
		"flop_rate(gemm); roofline_share = max(seconds(read), flops / flop_rate(gemm)) / "
		"seconds",
	.timed = "kernels and GEMMs, in decode on K and V that are in no cache; not allocation",
	.limits =
		"fused is a baseline of ours without matrix units; chain has two GEMMs for each KV "
		"head, not batched, that compute what a mask hides; gemm is no bound for what uses "
		"other units",
	.needs = DEV_CAP_GEMM,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct attention_runs),
	.admit = admit,
	.setup = setup,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
