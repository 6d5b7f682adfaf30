/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sampling/checks.h"
#include "bench/run/notes.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Share of the time since the first sample for checks: a tenth of the time without them. */
#define CHECK_SHARE (1.0 / 11.0)
/* Executions of a variant over a destroyed result that find an error of one in a hundred in 99 % of
 * all runs. A short run has more time for them. */
#define ENOUGH_CHECKS 459
#define SHORT_RUN_SHARE 0.25
#define SHORT_RUN_S 0.5

void bench_checks_clear(struct bench_run *r)
{
	struct checks *x = r->checks;
	memset(x->of, 0, sizeof(x->of));
	x->status = "none";
	x->detail[0] = '\0';
	x->wrong = -1;
	x->fingerprinted = x->fingerprint_count = x->adder_count = x->expected_count = 0;
}

void bench_checks_free(struct bench_run *r)
{
	free(r->checks->expected);
	free(r->checks->fingerprints);
	free(r->checks->adders);
}

bool bench_has_check(const struct bench_run *r, unsigned variant)
{
	return !r->b->variants[variant].reference &&
	       (bench_brings_check(r, variant) || bench_expects(r, variant));
}

bool bench_has_checks(const struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++)
		if (bench_has_check(r, v))
			return true;
	return false;
}

static int poison(struct bench_run *r, unsigned variant)
{
	if (bench_brings_poison(r, variant))
		return bench_call_poison(r, variant);
	if (r->checks->expected_count == 0)
		return 0;
	int status = bench_expected_poison(r, variant);
	return status ? status : dev_stream_sync(r->c.dev, r->c.stream);
}

/* `when`: "" or ", sample 7". */
static int check_result(struct bench_run *r, unsigned variant, const char *when)
{
	struct checks *now = r->checks;
	int status = !bench_has_check(r, variant)     ? 0
		     : bench_brings_check(r, variant) ? bench_call_check(r, variant)
						      : bench_expected_check(r, variant);
	if (status != -EBADMSG)
		return status;
	now->status = "failed";
	now->wrong = (int)variant;
	text_fit(now->detail, sizeof(now->detail), "%s%s: %s", r->b->variants[variant].name, when,
		 err_text());
	return err_note(-EBADMSG, "wrong result: %s", now->detail);
}

int bench_check_poison(struct bench_run *r, unsigned variant)
{
	return r->o.check == BENCH_CHECK_EVERY && bench_has_check(r, variant) ? poison(r, variant)
									      : 0;
}

/* Every variant has its part of the case's time for checks, or cheap ones would leave no time for
 * dear ones. The first check of each, of which nobody knows how long it takes, waits until the run
 * as a whole has time. Virtual time knows no haste: samples 1, 2, 4, 8 and so on. */
static bool is_due(struct bench_run *r, unsigned variant, uint32_t round)
{
	const struct bench_checked *s = &r->checks->of[variant];
	if (r->o.check != BENCH_CHECK_ROUNDS)
		return r->o.check == BENCH_CHECK_EVERY;
	if (bench_virtual(r))
		return (round & (round + 1)) == 0;
	double took_s = bench_time(r) - r->sampling->warm_s;
	if (s->checked == 0)
		return r->checks->checks_s <= CHECK_SHARE * (r->sampling->sampled_s + took_s);
	return s->checks_s + s->next_check_s <= CHECK_SHARE * took_s / r->sampling->variants_on;
}

/* By fingerprint where that is known to be cheaper. Learns what the next one takes. */
static int check_quickly(struct bench_run *r, unsigned variant, const char *when)
{
	struct checks *now = r->checks;
	struct bench_checked *s = &now->of[variant];
	double begin_s = bench_time(r);
	now->checking = variant;
	now->in_samples = true;
	now->compared = now->passed_known = false;
	now->saved_s = 0.0;
	int status = check_result(r, variant, when);
	now->in_samples = false;
	bench_learn_cost(&s->next_check_s, bench_time(r) - begin_s - now->saved_s);
	now->fingerprinted += now->passed_known && !now->compared;
	return status;
}

int bench_check_sample(struct bench_run *r, unsigned variant, uint32_t round)
{
	struct bench_checked *s = &r->checks->of[variant];
	char when[32];
	if (!bench_has_check(r, variant))
		return 0;
	s->timed += r->sampling->samples[variant].iterations;
	if (!is_due(r, variant, round))
		return 0;
	snprintf(when, sizeof(when), ", sample %u", round + 1);
	double begin_s = bench_time(r);
	int status = check_quickly(r, variant, when);
	double took_s = fmin(bench_time(r) - begin_s, 2.0 * s->next_check_s + r->checks->saved_s);
	s->checked++;
	s->checks_s += took_s;
	r->checks->checks_s += took_s;
	return status;
}

/* ---------------------------------------------------------------- after the samples */

static int execute_poisoned(struct bench_run *r, unsigned variant, bool single_pass)
{
	double unused, begin_s = bench_time(r);
	int status = poison(r, variant);
	r->sampling->poisoned = true;
	r->sampling->single_pass = single_pass;
	if (status == 0)
		status = bench_sample_once(r, variant, 1, false, &unused);
	r->sampling->poisoned = r->sampling->single_pass = false;
	bench_learn_cost(&r->checks->of[variant].execute_s, bench_time(r) - begin_s);
	return status;
}

static int check_in_full(struct bench_run *r, unsigned variant)
{
	struct bench_checked *s = &r->checks->of[variant];
	int status = execute_poisoned(r, variant, false);
	double begin_s = bench_time(r);
	if (status == 0)
		status = check_result(r, variant, "");
	if (s->checked == 0)
		bench_learn_cost(&s->next_check_s, bench_time(r) - begin_s);
	s->untimed += bench_has_check(r, variant);
	return status;
}

static int check_another(struct bench_run *r, unsigned variant)
{
	struct bench_checked *s = &r->checks->of[variant];
	char when[48];
	int status = execute_poisoned(r, variant, true);
	snprintf(when, sizeof(when), ", execution %llu after the samples",
		 (unsigned long long)++s->untimed);
	return status ? status : check_quickly(r, variant, when);
}

/* A case that reached its goal early has as much time for checks as the others. */
static double check_time_left(const struct bench_run *r, const struct bench_checked *s)
{
	double allowed_s = CHECK_SHARE * r->sampling->sampled_s;
	if (s->untimed < ENOUGH_CHECKS)
		allowed_s = fmax(allowed_s, fmin(SHORT_RUN_SHARE * fmax(r->sampling->given_s,
									r->sampling->sampled_s),
						 SHORT_RUN_S));
	return allowed_s - r->checks->checks_s - r->checks->others_s;
}

/* A sample has thousands of executions where one is short, and what it left is that of the last
 * one. What the samples' checks of this run left of their time goes to single executions. One that
 * waits for a busy core counts at most twice the least, for that is no reason to check less, but no
 * less than half of what it took, for the user gave a time. */
static int check_others(struct bench_run *r)
{
	int status = 0;
	bool any = r->o.check == BENCH_CHECK_ROUNDS && !bench_virtual(r);
	while (status == 0 && any && !bench_interrupted) {
		any = false;
		for (unsigned v = 0; status == 0 && v < r->variant_count; v++) {
			const struct bench_checked *s = &r->checks->of[v];
			if (!r->sampling->samples[v].on || !bench_has_check(r, v) ||
			    s->execute_s + s->next_check_s > check_time_left(r, s))
				continue;
			double begin_s = bench_time(r);
			any = true;
			status = check_another(r, v);
			double took_s = bench_time(r) - begin_s,
			       least_s = s->execute_s + s->next_check_s;
			r->checks->others_s += fmax(
				fmin(took_s, 2.0 * least_s + r->checks->saved_s), 0.5 * took_s);
		}
	}
	return status;
}

/* A device without data simulates time, which is as right without a result; --check off leaves
 * it open whether what was timed did its work. */
static int leave_unchecked(struct bench_run *r)
{
	const char *why = r->time_only ? "the device simulates time without data" : "--check off";
	r->checks->status = r->time_only ? "unverified" : "skipped";
	text_fit(r->checks->detail, sizeof(r->checks->detail), "%s", why);
	if (!r->time_only)
		bench_flag_variant(r, "unverified", -1, "%s", why);
	return 0;
}

int bench_check_end(struct bench_run *r)
{
	int status = 0;
	if (!bench_has_checks(r))
		return 0;
	if (r->o.check == BENCH_CHECK_OFF)
		return leave_unchecked(r);
	for (unsigned v = 0; status == 0 && v < r->variant_count; v++)
		if (r->sampling->samples[v].on)
			status = check_in_full(r, v);
	if (status == 0)
		status = check_others(r);
	if (status == 0)
		r->checks->status = "ok";
	return status;
}

void bench_check_write(struct json *j, struct bench_run *r)
{
	uint64_t timed = 0, checked = 0, untimed = 0, least = UINT64_MAX;
	const bool all_poisoned = r->o.check == BENCH_CHECK_EVERY;
	for (unsigned v = 0; v < r->variant_count; v++) {
		const struct bench_checked *s = &r->checks->of[v];
		timed += s->timed;
		checked += s->checked;
		untimed += s->untimed;
		const uint64_t poisoned = s->untimed + (all_poisoned ? s->checked : 0);
		if (r->sampling->samples[v].on && bench_has_check(r, v) && poisoned < least)
			least = poisoned;
	}
	json_object_begin(j, "check");
	json_string(j, "status", r->checks->status);
	json_string(j, "detail", r->checks->detail);
	json_number(j, "timed", (double)timed);
	json_number(j, "checked", (double)checked);
	json_number(j, "untimed", (double)untimed);
	json_number(j, "by_fingerprint", (double)r->checks->fingerprinted);
	json_number(j, "finds_1_in_100",
		    least == UINT64_MAX ? 0.0 : 1.0 - pow(0.99, (double)least));
	json_object_end(j);
}
