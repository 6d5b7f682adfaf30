/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void bench_variant_off(struct bench_case *c, unsigned variant)
{
	c->run->sampling->samples[variant].on = false;
}

bool bench_variant_on(const struct bench_case *c, unsigned variant)
{
	return c->run->sampling->samples[variant].on;
}

unsigned bench_variant(const struct bench_case *c, const char *name)
{
	unsigned v = 0;
	while (v < c->run->variant_count && strcmp(c->run->b->variants[v].name, name) != 0)
		v++;
	assert(v < c->run->variant_count);
	return v;
}

unsigned bench_variants(const struct bench_case *c) { return (unsigned)c->run->variant_count; }

const struct bench_variant *bench_row(const struct bench_case *c, unsigned variant)
{
	return &c->run->b->variants[variant];
}

void bench_queue_entries(struct bench_case *c, unsigned variant, unsigned per_iteration)
{
	assert(per_iteration > 0);
	c->run->sampling->samples[variant].queued = per_iteration;
}

void bench_max_iterations(struct bench_case *c, unsigned variant, uint64_t max_iterations)
{
	c->run->sampling->samples[variant].max_iterations = max_iterations ? max_iterations : 1;
}

double bench_median(const struct bench_case *c, unsigned variant)
{
	const struct bench_samples *s = &c->run->sampling->samples[variant];
	return s->on && c->run->sampling->rounds ? s->summary.median : NAN;
}

double bench_best(const struct bench_case *c, unsigned variant)
{
	const struct bench_samples *s = &c->run->sampling->samples[variant];
	return s->on && c->run->sampling->rounds ? s->summary.min : NAN;
}

const double *bench_seconds(const struct bench_case *c, unsigned variant, size_t *rounds_p)
{
	const struct bench_samples *s = &c->run->sampling->samples[variant];
	*rounds_p = s->on ? c->run->sampling->rounds : 0;
	return s->on ? s->seconds : NULL;
}

/* Capabilities that rows need, as a device without them is described; NULL: by their names. */
static const char *const lacking_words[DEV_CAP_COUNT] = {
	[DEV_CAP_COPY_ENGINE_BIT] = "the device has no copy engines",
	[DEV_CAP_COPY_BATCH_BIT] = "the device takes no batch of copies",
	[DEV_CAP_GEMM_GROUPED_BIT] = "the device has no grouped GEMMs",
	[DEV_CAP_PRIORITY_BIT] = "the device has one stream priority",
};

/* Rows whose needs a device lacks are off; that may leave nothing to measure. */
int bench_skip_unsupported(struct bench_run *r)
{
	int status = 0;
	for (enum dev_cap_bit i = 0; status == 0 && i < DEV_CAP_COUNT; i++) {
		uint64_t lacking = 0;
		const char *why = "";
		for (size_t d = 0; d < r->set.count; d++)
			for (unsigned v = 0; v < r->variant_count; v++)
				if (r->b->variants[v].needs >> i & 1 &&
				    !dev_can(r->set.dev[d], 1u << i)) {
					lacking |= UINT64_C(1) << v;
					why = dev_lack_reason(r->set.dev[d], i);
				}
		char text[ERR_TEXT];
		snprintf(text, sizeof(text), "%s%s%s%s",
			 lacking_words[i] ? lacking_words[i] : "the device does not support ",
			 lacking_words[i] ? "" : dev_cap_names[i], why[0] ? ": " : "", why);
		if (lacking)
			status = bench_variants_skip(&r->c, lacking, text);
	}
	return status;
}

int bench_variants_skip(struct bench_case *c, uint64_t variants, const char *why)
{
	struct text names = {0};
	bool others = false, any = false;
	for (unsigned v = 0; v < c->run->variant_count; v++) {
		const struct bench_variant *variant = &c->run->b->variants[v];
		const bool asked = !variant->reference && !variant->always;
		if (!bench_variant_on(c, v))
			continue;
		if (!(variants >> v & 1)) {
			others = others || asked;
			continue;
		}
		any = true;
		bench_variant_off(c, v);
		text_fit(c->run->sampling->samples[v].skipped,
			 sizeof(c->run->sampling->samples[v].skipped), "%s", why);
		if (!variant->always)
			text_add(&names, "%s%s", names.length ? ", " : "", variant->name);
	}
	if (names.length) {
		text_add(&names, ": %s", why);
		bench_fact_append(c->run, "not_measured", text_whole(&names));
	}
	text_free(&names);
	return others || !any ? 0 : err_note(-ENOTSUP, "%s", why);
}

void bench_mechanism_of(struct bench_case *c, uint64_t uses, const char *name, bool observed,
			const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_mechanism *mechanism =
		bench_add_mechanism(c, name, observed, format, args);
	va_end(args);
	for (unsigned v = 0; mechanism && !observed && v < c->run->variant_count; v++)
		if (uses >> v & 1 && bench_variant_on(c, v))
			bench_flag_variant(c->run, "mechanism", (int)v, "%s: %s", mechanism->name,
					   mechanism->detail);
}

/* ---------------------------------------------------------------- callbacks */

static int wait_for_stream(struct bench_run *r, int status)
{
	status = bench_take_status(r, status);
	return status ? status : dev_stream_sync(r->c.dev, r->c.stream);
}

static bool any_restores(const struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++)
		if (r->b->variants[v].restore)
			return true;
	return r->b->restore;
}

/* Waits where one of the variants would, so that what comes before a sample is
 * alike for all. */
int bench_call_restore(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	int (*restore)(struct bench_case * c, long arg) = v->restore ? v->restore : r->b->restore;
	return restore           ? wait_for_stream(r, restore(&r->c, v->arg))
	       : any_restores(r) ? wait_for_stream(r, 0)
				 : 0;
}

bool bench_brings_poison(const struct bench_run *r, unsigned variant)
{
	return r->b->variants[variant].poison || r->b->poison;
}

int bench_call_poison(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	return wait_for_stream(r, (v->poison ? v->poison : r->b->poison)(&r->c, v->arg));
}

bool bench_brings_check(const struct bench_run *r, unsigned variant)
{
	return r->b->variants[variant].check || r->b->check;
}

int bench_call_check(struct bench_run *r, unsigned variant)
{
	const struct bench_variant *v = &r->b->variants[variant];
	return bench_take_status(r, (v->check ? v->check : r->b->check)(&r->c, v->arg));
}

struct bench_model bench_work(const struct bench_case *c, unsigned variant)
{
	const struct bench *b = c->run->b;
	const struct bench_variant *v = &b->variants[variant];
	struct bench_model m = {0};
	if (v->model || b->model)
		(v->model ? v->model : b->model)(c, v->arg, &m);
	else if (b->bytes)
		m.bytes = (double)axis_u64(c, b->bytes);
	return m;
}
