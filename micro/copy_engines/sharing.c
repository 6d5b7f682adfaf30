/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/copy_engines/sharing.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>

/* As a mean of observations, fewer are one. */
#define ONE_ENGINE 1.5
/* A bit for each stream but the first. */
#define ALL_OTHERS ((1u << ENGINE_STREAMS) - 2)

void observe(struct observed *o, double x)
{
	if (o->count < sizeof(o->x) / sizeof(o->x[0]))
		o->x[o->count++] = x;
}

double observed_mean(const struct observed *o)
{
	double sum = 0.0;
	for (size_t i = 0; i < o->count; i++)
		sum += o->x[i];
	return o->count ? sum / (double)o->count : NAN;
}

int sharing_observe(struct sharing *s, const struct engine_streams *e, const struct work_graph *g,
		    unsigned rotated)
{
	double bulk_s = 0.0, short_s = 0.0, last_s = 0.0;
	unsigned waited = 0;
	int status = engine_streams_seconds(e, g, 0, &bulk_s);
	for (unsigned i = 1; status == 0 && i < ENGINE_STREAMS; i++) {
		TRY(status, engine_streams_seconds(e, g, i, &short_s));
		const bool waits = short_s > bulk_s;
		s->in[rotated].waited[i] += waits;
		waited += waits;
		last_s = waits ? last_s : fmax(last_s, short_s);
	}
	if (status)
		return status;
	s->in[rotated].runs++;
	s->idle_s += bulk_s - last_s;
	observe(&s->in[rotated].independent, 1.0 - (double)waited / ENGINE_STREAMS);
	return 0;
}

/* A bit for each stream that waited in most runs. */
static unsigned those_that_wait(const struct sharing *s, unsigned rotated)
{
	unsigned streams = 0;
	for (unsigned i = 1; i < ENGINE_STREAMS; i++)
		streams |= (unsigned)(2 * s->in[rotated].waited[i] > s->in[rotated].runs) << i;
	return streams;
}

static const char *name_streams(unsigned streams, char *text, size_t bytes)
{
	size_t used = (size_t)snprintf(text, bytes, "%s", streams ? "" : "none");
	for (unsigned i = 1; i < ENGINE_STREAMS; i++)
		if (streams >> i & 1)
			used += (size_t)snprintf(text + used, bytes - used, "%s%u", used ? "," : "",
						 i);
	return text;
}

static const char *name_law(unsigned in_order, unsigned rotated, double engines)
{
	if (engines < ONE_ENGINE)
		return "one engine";
	if (!in_order && !rotated)
		return engines < ENGINE_STREAMS ? "no" : "not known";
	/* A second engine answers, so some stream does not share the first one's. */
	if (in_order == ALL_OTHERS || rotated == ALL_OTHERS)
		return "unclear: copies were held up by something else";
	return in_order == rotated ? "yes" : "no: assigned in the order of enqueueing";
}

static void put_facts(const struct sharing *s, struct bench_case *c, double engines)
{
	char one[4 * ENGINE_STREAMS], other[4 * ENGINE_STREAMS];
	const unsigned in_order = those_that_wait(s, 0), rotated = those_that_wait(s, 1);
	bench_fact_text(c, "sticky", name_law(in_order, rotated, engines));
	bench_fact_format(c, "streams_behind_stream_0", "%s; enqueued in another order: %s",
			  name_streams(in_order, one, sizeof(one)),
			  name_streams(rotated, other, sizeof(other)));
}

void sharing_derive(const struct sharing *s, struct bench_case *c, unsigned first, double engines,
		    double short_s, bool one_way)
{
	static const char formula[] = "1 - streams whose short copy ends after the bulk copy / 8";
	const unsigned runs = s->in[0].runs + s->in[1].runs;
	const bool known = engines >= 1.0 && s->in[0].runs && s->in[1].runs;
	const bool fit = !(engines > ONE_ENGINE && s->idle_s < short_s * runs);
	for (unsigned i = 0; i < 2; i++) {
		const struct observed *o = &s->in[i].independent;
		const struct bench_quantity of = {BENCH_OBSERVED, {BENCH_OF(first + i)}};
		if (fit)
			TRY(c->status,
			    bench_derive_samples(c, "independent_streams", (int)(first + i), "",
						 UINT64_C(1) << (first + i), o->x, o->count,
						 formula));
		else
			bench_no_value(
				c, "independent_streams", (int)(first + i), &of, formula,
				"short copies one after the other take as long as the bulk copy: "
				"choose a larger size");
	}
	if (known && fit && one_way)
		put_facts(s, c, engines);
}
