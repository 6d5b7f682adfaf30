/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/cases.h"
#include "bench/output/output.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/samples.h"
#include "lib/text.h"

#include <stdio.h>
#include <string.h>

/* The first flag of the variant that is a grade, or is none, as "FLAG: REASON"; NULL: there is
 * none. */
static const char *find_reason(const struct bench_run *r, int variant, bool grade, char *text,
			       size_t capacity)
{
	for (size_t i = 0; i < r->notes->flag_count; i++) {
		const struct bench_flag *f = &r->notes->flags[i];
		if (bench_is_grade(f) != grade || !bench_flag_concerns(f, variant) ||
		    strcmp(f->flag, "unverified") == 0)
			continue;
		text_fit(text, capacity, "%s: %s", f->flag, f->reason);
		return text;
	}
	return NULL;
}

int bench_format_case(struct bench_run *r, const char *status, const char *reason)
{
	const struct bench_format *format = r->o.format;
	char invalid[2 * ERR_TEXT], grade[2 * ERR_TEXT];
	if (strcmp(status, "ok") != 0)
		return format->miss(format->arg, &r->c, status, reason, r->checks->wrong);
	int failed = 0;
	for (unsigned v = 0; failed == 0 && v < r->variant_count; v++) {
		const struct bench_samples *s = &r->sampling->samples[v];
		if (!s->on)
			continue;
		const struct bench_result result = {
			.variant = v,
			.seconds = s->summary.median,
			.samples = s->summary.n,
			.warm_up = r->o.warm_up.given ? (int64_t)r->o.warm_up.rounds : -1,
			.checked = strcmp(r->checks->status, "ok") == 0,
			.invalid = find_reason(r, (int)v, false, invalid, sizeof(invalid)),
			.grade = find_reason(r, (int)v, true, grade, sizeof(grade))};
		failed = format->add(format->arg, &r->c, &result);
	}
	return failed;
}

int bench_format_end(struct bench_run *r)
{
	const struct bench_format *format = r->o.format;
	size_t ran = r->cases->count.ok + r->cases->count.failed + r->cases->count.skipped;
	return format->print(format->arg, &r->c, r->cases->chosen.count - ran, r->interrupted);
}
