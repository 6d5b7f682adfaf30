/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/links/link_derive.h"
#include "lib/err.h"
#include "lib/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const struct link_quantity *q, unsigned variant)
{
	return q->variants >> variant & 1;
}

static unsigned find_only_variant(const struct link_quantity *q)
{
	unsigned variant = 0;
	while (!is_of(q, variant) && variant + 1 < q->log->variants)
		variant++;
	return variant;
}

static int derive_values(struct bench_case *c, const struct link_quantity *q, const char *name,
			 const double *values, size_t count, const char *formula)
{
	return bench_derive_samples(c, name, q->variant, q->is_latency ? "s" : "byte/s",
				    q->variants, values, count, formula);
}

/* ------------------------------------------------------------------ passes */

void link_derive_take(const struct bench_case *c, struct link_log *log, unsigned variant)
{
	size_t rounds;
	const double *seconds = bench_seconds(c, variant, &rounds);
	for (size_t i = 0; i < rounds; i++)
		link_log_take(log, variant, seconds[i]);
}

/* ------------------------------------------------------------------ values */

/* Values of one link, or of all in a pass, and memory for sorting them. */
struct values {
	double *of, *sorted;
	size_t count;
};

static int open_values(const struct link_quantity *q, struct values *v)
{
	const size_t links = q->log->links * q->log->variants,
		     capacity = links > q->log->capacity ? links : q->log->capacity;
	*v = (struct values){.of = calloc(capacity, sizeof(double)),
			     .sorted = calloc(capacity, sizeof(double))};
	return v->of && v->sorted ? 0
				  : err_note(-ENOMEM, "%zu links: out of memory", q->log->links);
}

static void close_values(struct values *v)
{
	free(v->of);
	free(v->sorted);
}

static double value_of(const struct link_quantity *q, double seconds)
{
	return q->is_latency ? seconds / q->work : q->work / seconds;
}

static void read_link(const struct link_quantity *q, unsigned variant, size_t link,
		      struct values *v)
{
	v->count = link_log_count(q->log, variant);
	link_log_of_link(q->log, variant, link, v->of);
	for (size_t i = 0; i < v->count; i++)
		v->of[i] = value_of(q, v->of[i]);
}

static double median_of(struct values *v)
{
	memcpy(v->sorted, v->of, v->count * sizeof(double));
	stats_sort(v->sorted, v->count);
	return stats_median(v->sorted, v->count);
}

int link_derive_one(struct bench_case *c, const struct link_quantity *q, size_t link,
		    const char *name, const char *formula)
{
	struct values v;
	int status = open_values(q, &v);
	if (status == 0) {
		read_link(q, find_only_variant(q), link, &v);
		status = derive_values(c, q, name, v.of, v.count, formula);
	}
	close_values(&v);
	return status;
}

/* ------------------------------------------------------------------ of all links */

static void read_worst(const struct link_quantity *q, struct values *v)
{
	unsigned worst_variant = 0;
	size_t worst_link = 0;
	double worst = -1.0;
	for (unsigned variant = 0; variant < q->log->variants; variant++) {
		for (size_t k = 0; is_of(q, variant) && k < q->log->links; k++) {
			read_link(q, variant, k, v);
			double median = v->count ? median_of(v) : -1.0;
			if (v->count == 0 ||
			    (worst >= 0.0 && (q->is_latency ? median <= worst : median >= worst)))
				continue;
			worst = median;
			worst_variant = variant;
			worst_link = k;
		}
	}
	read_link(q, worst_variant, worst_link, v);
}

int link_derive_worst(struct bench_case *c, const struct link_quantity *q, const char *name,
		      const char *formula)
{
	struct values v;
	int status = open_values(q, &v);
	if (status == 0) {
		read_worst(q, &v);
		status = derive_values(c, q, name, v.of, v.count, formula);
	}
	close_values(&v);
	return status;
}

static void read_pass(const struct link_quantity *q, size_t index, struct values *v)
{
	v->count = 0;
	for (unsigned variant = 0; variant < q->log->variants; variant++) {
		const double *pass =
			is_of(q, variant) ? link_log_of_pass(q->log, variant, index) : NULL;
		for (size_t k = 0; pass && k < q->log->links; k++)
			v->of[v->count++] = value_of(q, pass[k]);
	}
}

int link_derive_median(struct bench_case *c, const struct link_quantity *q, const char *name,
		       const char *formula)
{
	struct values v;
	size_t passes = q->log->capacity;
	for (unsigned variant = 0; variant < q->log->variants; variant++) {
		size_t count = link_log_count(q->log, variant);
		if (is_of(q, variant) && count < passes)
			passes = count;
	}
	double *medians = calloc(passes + 1, sizeof(*medians));
	int status = open_values(q, &v);
	if (!medians)
		status = err_note(-ENOMEM, "derive %s: out of memory", name);
	for (size_t i = 0; status == 0 && i < passes; i++) {
		read_pass(q, i, &v);
		medians[i] = median_of(&v);
	}
	if (status == 0)
		status = derive_values(c, q, name, medians, passes, formula);
	free(medians);
	close_values(&v);
	return status;
}
