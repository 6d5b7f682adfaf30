/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_check.h"
#include "bench/bench_alloc.h"
#include "bench/bench_run.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Share of the time since the first sample for checks: a tenth of the time without them. */
#define CHECK_SHARE (1.0 / 11.0)
/* Executions of a variant over a destroyed result that find an error of one in a hundred in 99 % of
 * all runs. A short run has more time for them. */
#define ENOUGH_CHECKS 459
#define SHORT_RUN_SHARE 0.25
#define SHORT_RUN_S 0.5

const char *const bench_check_words[] = {"off", "end", "rounds", "every", NULL};

/* ---------------------------------------------------------------- fingerprints */

/* Adds up words on one device. */
struct bench_adder {
	struct dev *dev;
	struct dev_stream *stream;
	struct dev_kernel *read;
	uint32_t *sum;
};

struct bench_fingerprint {
	unsigned variant;
	struct dev *dev;
	const void *at;
	uint64_t bytes;
	bool known; /* `sum` is that of a right result */
	uint32_t sum;
	unsigned sums;                    /* so many were taken; the first may have loaded code */
	double began_s, compare_s, sum_s; /* compare_s: with sum_s; sum_s: the least */
};

static struct bench_adder *find_adder(struct bench_case *c, struct dev *dev)
{
	struct bench_current *now = &c->run->current;
	struct bench_adder *grown;
	for (size_t i = 0; i < now->adder_count; i++)
		if (now->adders[i].dev == dev)
			return &now->adders[i];
	struct bench_adder new = {.dev = dev, .stream = c->stream};
	if (dev != c->dev)
		new.stream = bench_stream_on(c, dev, dev_props(dev)->priority_normal);
	new.sum = bench_alloc_on(c, dev, DEV_MEM_DEVICE, DEV_KERNEL_ALIGN);
	grown = vec_grow(now->adders, now->adder_count, &now->adder_capacity, sizeof(*grown));
	if (bench_status(c) || !grown || dev_kernel_find(dev, "read", &new.read))
		return NULL;
	now->adders = grown;
	grown[now->adder_count] = new;
	return &grown[now->adder_count++];
}

/* False: the device has no sum to give; whoever asked compares, and hears of a device's error. */
static bool take_sum(struct bench_case *c, const struct bench_fingerprint *f, uint32_t *sum_p)
{
	struct bench_adder *a = find_adder(c, f->dev);
	uint32_t reps = 1;
	if (!a || dev_fill(a->dev, a->stream, a->sum, 0, DEV_KERNEL_ALIGN))
		return false;
	const void *const args[] = {&f->at, &f->bytes, &reps, &a->sum};
	const struct dev_launch launch = {.grid = dev_wave_blocks(a->dev, a->read), .args = args};
	return dev_launch(a->dev, a->stream, a->read, &launch) == 0 &&
	       dev_stream_sync(a->dev, a->stream) == 0 &&
	       dev_download(a->dev, sum_p, a->sum, sizeof(*sum_p)) == 0;
}

static bool can_read(struct bench_case *c, const void *at, uint64_t bytes)
{
	struct bench_memory memory;
	return (uintptr_t)at % DEV_KERNEL_ALIGN == 0 && bytes % DEV_KERNEL_ALIGN == 0 &&
	       bench_memory_find(c, at, &memory) && memory.kind != DEV_MEM_PAGEABLE;
}

/* NULL: there is none, and no memory for it. */
static struct bench_fingerprint *find_fingerprint(struct bench_case *c, struct dev *dev,
						  const void *at, uint64_t bytes)
{
	struct bench_current *now = &c->run->current;
	struct bench_fingerprint *f;
	for (f = now->fingerprints; f < now->fingerprints + now->fingerprint_count; f++)
		if (f->variant == now->checking && f->dev == dev && f->at == at &&
		    f->bytes == bytes)
			return f;
	f = vec_grow(now->fingerprints, now->fingerprint_count, &now->fingerprint_capacity,
		     sizeof(*f));
	if (!f)
		return NULL;
	now->fingerprints = f;
	f += now->fingerprint_count++;
	*f = (struct bench_fingerprint){
		.variant = now->checking, .dev = dev, .at = at, .bytes = bytes};
	return f;
}

/* The least so far: others may have had the core meanwhile, and that is no reason to check less. */
static void learn_cost(double *least_s, double took_s)
{
	if (*least_s == 0.0 || took_s < *least_s)
		*least_s = took_s;
}

bool bench_known_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes)
{
	struct bench_current *now = &c->run->current;
	struct bench_fingerprint *f = NULL;
	uint32_t sum;
	if (now->in_samples && can_read(c, at, bytes))
		f = find_fingerprint(c, dev, at, bytes);
	if (!f)
		return false;
	f->began_s = bench_time(c->run);
	if (!f->known || f->sum_s >= f->compare_s || !take_sum(c, f, &sum))
		return false;
	now->passed_known = now->passed_known || sum == f->sum;
	return sum == f->sum;
}

void bench_note_right(struct bench_case *c, struct dev *dev, const void *at, uint64_t bytes)
{
	struct bench_current *now = &c->run->current;
	struct bench_fingerprint *f = NULL;
	now->compared = true;
	if (now->in_samples && can_read(c, at, bytes))
		f = find_fingerprint(c, dev, at, bytes);
	if (!f)
		return;
	double compared_s = bench_time(c->run);
	f->compare_s = compared_s - f->began_s;
	if (f->sums > 1 && f->sum_s >= 2.0 * f->compare_s)
		return;
	f->known = take_sum(c, f, &f->sum);
	f->sums++;
	learn_cost(&f->sum_s, bench_time(c->run) - compared_s);
	if (f->known && f->sum_s < f->compare_s)
		now->saved_s += f->compare_s;
}

static bool host_reads(struct bench_case *c, const struct dev *dev, const void *at)
{
	struct bench_memory memory;
	return dev_can(dev, DEV_CAP_HOST_ACCESS) ||
	       (bench_memory_find(c, at, &memory) && memory.kind != DEV_MEM_DEVICE);
}

static int read_by_parts(struct bench_reader *r, const void *at, uint64_t bytes,
			 const void **found_p)
{
	if (!r->large)
		r->large = malloc(bytes);
	*found_p = r->large;
	return r->large ? dev_download(r->dev, r->large, at, bytes)
			: err_note(-ENOMEM, "a result of %" PRIu64 " bytes: out of memory", bytes);
}

int bench_read(struct bench_case *c, struct bench_reader *r, const void *at, uint64_t bytes,
	       const void **found_p)
{
	int status = 0;
	*found_p = at;
	if (host_reads(c, r->dev, at))
		return 0;
	if (bytes > BENCH_READ_PINNED)
		return read_by_parts(r, at, bytes, found_p);
	if (!r->stream)
		status = dev_stream_open(r->dev, dev_props(r->dev)->priority_normal, &r->stream);
	if (status == 0 && !r->pinned)
		status = dev_alloc(r->dev, DEV_MEM_PINNED, bytes, &r->pinned);
	if (status == 0)
		status = dev_copy(r->dev, r->stream, r->pinned, at, bytes);
	*found_p = r->pinned;
	return status ? status : dev_stream_sync(r->dev, r->stream);
}

void bench_read_end(struct bench_reader *r)
{
	if (r->stream)
		dev_stream_close(r->dev, r->stream);
	if (r->pinned)
		dev_free(r->dev, r->pinned);
	free(r->large);
}

/* ---------------------------------------------------------------- checks */

bool bench_has_results(const struct bench_case *c)
{
	bool results = true;
	for (size_t i = 0; i < c->devices->count; i++)
		results = results && !dev_can(c->devices->dev[i], DEV_CAP_TIME_ONLY);
	return results;
}

bool bench_checked(const struct bench_case *c) { return c->run->o.check != BENCH_CHECK_OFF; }

bool bench_single_pass(const struct bench_case *c) { return c->run->current.single_pass; }

/* `when`: "" or ", sample 7". */
static int check_result(struct bench_run *r, unsigned variant, const char *when)
{
	struct bench_current *now = &r->current;
	int status = bench_call_check(r, variant);
	if (status != -EBADMSG)
		return status;
	now->check_status = "failed";
	now->wrong = (int)variant;
	text_fit(now->check_detail, sizeof(now->check_detail), "%s%s: %s",
		 r->b->variants[variant].name, when, err_text());
	return err_note(-EBADMSG, "wrong result: %s", now->check_detail);
}

int bench_check_poison(struct bench_run *r, unsigned variant)
{
	return r->o.check == BENCH_CHECK_EVERY && bench_has_check(r, variant)
		       ? bench_call_poison(r, variant)
		       : 0;
}

/* Every variant has its part of the case's time for checks, or cheap ones would leave no time for
 * dear ones. The first check of each, of which nobody knows how long it takes, waits until the run
 * as a whole has time. Virtual time knows no haste: samples 1, 2, 4, 8 and so on. */
static bool is_due(struct bench_run *r, unsigned variant, uint32_t round)
{
	const struct bench_samples *s = &r->current.samples[variant];
	if (r->o.check != BENCH_CHECK_ROUNDS)
		return r->o.check == BENCH_CHECK_EVERY;
	if (bench_virtual(r))
		return (round & (round + 1)) == 0;
	double took_s = bench_time(r) - r->current.warm_s;
	if (s->checked == 0)
		return r->checks_s <= CHECK_SHARE * (r->sampled_s + took_s);
	return s->checks_s + s->next_check_s <= CHECK_SHARE * took_s / r->current.variants_on;
}

/* By fingerprint where that is known to be cheaper. Learns what the next one takes. */
static int check_quickly(struct bench_run *r, unsigned variant, const char *when)
{
	struct bench_current *now = &r->current;
	struct bench_samples *s = &now->samples[variant];
	double begin_s = bench_time(r);
	now->checking = variant;
	now->in_samples = true;
	now->compared = now->passed_known = false;
	now->saved_s = 0.0;
	int status = check_result(r, variant, when);
	now->in_samples = false;
	learn_cost(&s->next_check_s, bench_time(r) - begin_s - now->saved_s);
	now->fingerprinted += now->passed_known && !now->compared;
	return status;
}

int bench_check_sample(struct bench_run *r, unsigned variant, uint32_t round)
{
	struct bench_samples *s = &r->current.samples[variant];
	char when[32];
	if (!bench_has_check(r, variant))
		return 0;
	s->timed += s->iterations;
	if (!is_due(r, variant, round))
		return 0;
	snprintf(when, sizeof(when), ", sample %u", round + 1);
	double begin_s = bench_time(r);
	int status = check_quickly(r, variant, when);
	double took_s = fmin(bench_time(r) - begin_s, 2.0 * s->next_check_s + r->current.saved_s);
	s->checked++;
	s->checks_s += took_s;
	r->checks_s += took_s;
	return status;
}

/* ---------------------------------------------------------------- after the samples */

static int execute_poisoned(struct bench_run *r, unsigned variant, bool single_pass)
{
	double unused, begin_s = bench_time(r);
	int status = bench_call_poison(r, variant);
	r->current.poisoned = true;
	r->current.single_pass = single_pass;
	if (status == 0)
		status = bench_sample_once(r, variant, 1, false, &unused);
	r->current.poisoned = r->current.single_pass = false;
	learn_cost(&r->current.samples[variant].execute_s, bench_time(r) - begin_s);
	return status;
}

static int check_in_full(struct bench_run *r, unsigned variant)
{
	struct bench_samples *s = &r->current.samples[variant];
	int status = execute_poisoned(r, variant, false);
	double begin_s = bench_time(r);
	if (status == 0)
		status = check_result(r, variant, "");
	if (s->checked == 0)
		learn_cost(&s->next_check_s, bench_time(r) - begin_s);
	s->untimed += bench_has_check(r, variant);
	return status;
}

static int check_another(struct bench_run *r, unsigned variant)
{
	struct bench_samples *s = &r->current.samples[variant];
	char when[48];
	int status = execute_poisoned(r, variant, true);
	snprintf(when, sizeof(when), ", execution %llu after the samples",
		 (unsigned long long)++s->untimed);
	return status ? status : check_quickly(r, variant, when);
}

/* A case that reached its goal early has as much time for checks as the others. */
static double check_time_left(const struct bench_run *r, const struct bench_samples *s)
{
	double allowed_s = CHECK_SHARE * r->sampled_s;
	if (s->untimed < ENOUGH_CHECKS)
		allowed_s = fmax(allowed_s, fmin(SHORT_RUN_SHARE * fmax(r->given_s, r->sampled_s),
						 SHORT_RUN_S));
	return allowed_s - r->checks_s - r->others_s;
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
			const struct bench_samples *s = &r->current.samples[v];
			if (!s->on || !bench_has_check(r, v) ||
			    s->execute_s + s->next_check_s > check_time_left(r, s))
				continue;
			double begin_s = bench_time(r);
			any = true;
			status = check_another(r, v);
			double took_s = bench_time(r) - begin_s,
			       least_s = s->execute_s + s->next_check_s;
			r->others_s += fmax(fmin(took_s, 2.0 * least_s + r->current.saved_s),
					    0.5 * took_s);
		}
	}
	return status;
}

/* A device without data simulates time, which is as right without a result; --check off leaves
 * it open whether what was timed did its work. */
static int leave_unchecked(struct bench_run *r)
{
	const char *why = r->time_only ? "the device simulates time without data" : "--check off";
	r->current.check_status = r->time_only ? "unverified" : "skipped";
	text_fit(r->current.check_detail, sizeof(r->current.check_detail), "%s", why);
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
		if (r->current.samples[v].on)
			status = check_in_full(r, v);
	if (status == 0)
		status = check_others(r);
	if (status == 0)
		r->current.check_status = "ok";
	return status;
}

void bench_check_write(struct bench_run *r)
{
	struct json *j = &r->json;
	uint64_t timed = 0, checked = 0, untimed = 0, least = UINT64_MAX;
	const bool all_poisoned = r->o.check == BENCH_CHECK_EVERY;
	for (unsigned v = 0; v < r->variant_count; v++) {
		const struct bench_samples *s = &r->current.samples[v];
		timed += s->timed;
		checked += s->checked;
		untimed += s->untimed;
		const uint64_t poisoned = s->untimed + (all_poisoned ? s->checked : 0);
		if (s->on && bench_has_check(r, v) && poisoned < least)
			least = poisoned;
	}
	json_object_begin(j, "check");
	json_string(j, "status", r->current.check_status);
	json_string(j, "detail", r->current.check_detail);
	json_number(j, "timed", (double)timed);
	json_number(j, "checked", (double)checked);
	json_number(j, "untimed", (double)untimed);
	json_number(j, "by_fingerprint", (double)r->current.fingerprinted);
	json_number(j, "finds_1_in_100",
		    least == UINT64_MAX ? 0.0 : 1.0 - pow(0.99, (double)least));
	json_object_end(j);
}
