/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_alloc.h"
#include "bench/bench_run.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const bench_grades[BENCH_GRADES] = {"noisy", "contended"};

/* A wider relative interval of the median is flagged as noise. */
#define NOISY_ABOVE 0.10
/* Ratio of the core clock around a case to the highest of the run; clocks of quiet machines
 * agree within a few percent. */
#define THROTTLED_BELOW 0.85
/* Fewer hardware queues than programs have streams. */
#define QUEUES_BELOW 8u
/* Share of the sampling time with thermal throttling. */
#define THERMAL_ABOVE 0.01
/* Shares of the process's cores that others may take before the case counts as contended. Up to 5 %
 * of stolen time headline numbers of a virtual machine were as far from their median as without. */
#define OTHERS_ABOVE 0.10
#define STOLEN_ABOVE 0.05
/* From one mark of the load to the next, at least. */
#define LATELY_S 1.0
/* Share of a variant's samples whose threads waited for others. The median of all of them is then
 * that of at least two thirds of the others. */
#define WAITED_ABOVE 0.25

/* ------------------------------------------------------------------ flags and mechanisms */

/* Fail the case if it cannot keep a statement about itself: without its flag it would look
 * valid. */
void bench_fail_without_memory(struct bench_case *c, const char *what, const char *name)
{
	bench_status_add(c, err_note(-ENOMEM, "%s %s: out of memory", what, name));
}

/* NULL without memory; then the case fails. */
static const struct bench_mechanism *add_mechanism(struct bench_case *c, const char *name,
						   bool observed, const char *format, va_list args)
{
	struct bench_current *now = &c->run->current;
	struct bench_mechanism *grown = vec_grow(now->mechanisms, now->mechanism_count,
						 &now->mechanism_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(c, "mechanism", name);
		return NULL;
	}
	now->mechanisms = grown;
	struct bench_mechanism *mechanism = &grown[now->mechanism_count++];
	text_fit(mechanism->name, sizeof(mechanism->name), "%s", name);
	mechanism->observed = observed;
	text_vfit(mechanism->detail, sizeof(mechanism->detail), format, args);
	return mechanism;
}

void bench_mechanism(struct bench_case *c, const char *name, bool observed, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_mechanism *mechanism = add_mechanism(c, name, observed, format, args);
	va_end(args);
	if (mechanism && !observed)
		bench_flag_variant(c->run, "mechanism", -1, "%s: %s", mechanism->name,
				   mechanism->detail);
}

void bench_mechanism_of(struct bench_case *c, uint64_t uses, const char *name, bool observed,
			const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const struct bench_mechanism *mechanism = add_mechanism(c, name, observed, format, args);
	va_end(args);
	for (unsigned v = 0; mechanism && !observed && v < c->run->variant_count; v++)
		if (uses >> v & 1 && bench_variant_on(c, v))
			bench_flag_variant(c->run, "mechanism", (int)v, "%s: %s", mechanism->name,
					   mechanism->detail);
}

bool bench_is_grade(const struct bench_flag *f)
{
	for (size_t i = 0; i < BENCH_GRADES; i++)
		if (strcmp(f->flag, bench_grades[i]) == 0)
			return true;
	return false;
}

static void add_flag(struct bench_run *r, const char *flag, int variant, const char *quantity,
		     const char *format, va_list args)
{
	struct bench_current *now = &r->current;
	struct bench_flag *grown =
		vec_grow(now->flags, now->flag_count, &now->flag_capacity, sizeof(*grown));
	if (!grown) {
		bench_fail_without_memory(&r->c, "flag", flag);
		return;
	}
	now->flags = grown;
	struct bench_flag *f = &grown[now->flag_count++];
	f->flag = flag;
	f->variant = variant;
	text_fit(f->quantity, sizeof(f->quantity), "%s", quantity);
	text_vfit(f->reason, sizeof(f->reason), format, args);
}

void bench_flag(struct bench_case *c, const char *flag, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_flag(c->run, flag, -1, "", format, args);
	va_end(args);
}

void bench_flag_variant(struct bench_run *r, const char *flag, int variant, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_flag(r, flag, variant, "", format, args);
	va_end(args);
}

void bench_flag_value(struct bench_case *c, const char *name, int variant, const char *flag,
		      const char *format, ...)
{
	struct bench_derived *d = bench_find_derived(c->run, name, variant);
	va_list args;
	if (!d)
		return;
	d->flagged = true;
	va_start(args, format);
	add_flag(c->run, flag, variant, name, format, args);
	va_end(args);
}

bool bench_flag_concerns(const struct bench_flag *f, int variant)
{
	return !f->quantity[0] && (f->variant == -1 || f->variant == variant);
}

bool bench_flagged(const struct bench_run *r, int variant)
{
	for (size_t i = 0; i < r->current.flag_count; i++)
		if (!bench_is_grade(&r->current.flags[i]) &&
		    bench_flag_concerns(&r->current.flags[i], variant))
			return true;
	return false;
}

bool bench_graded(const struct bench_run *r, int variant, const char *grade)
{
	for (size_t i = 0; i < r->current.flag_count; i++)
		if (strcmp(r->current.flags[i].flag, grade) == 0 &&
		    bench_flag_concerns(&r->current.flags[i], variant))
			return true;
	return false;
}

bool bench_case_valid(const struct bench_run *r)
{
	for (size_t i = 0; i < r->current.flag_count; i++)
		if (!bench_is_grade(&r->current.flags[i]))
			return false;
	return true;
}

/* ------------------------------------------------------------------ a case */

bool bench_virtual(const struct bench_run *r)
{
	return dev_can(r->c.dev, DEV_CAP_VIRTUAL_TIME) || (r->b->job && r->b->job->virtual_time);
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static void judge_samples(struct bench_run *r)
{
	if (r->o.check == BENCH_CHECK_EVERY && bench_has_checks(r))
		bench_flag_variant(r, "soak", -1,
				   "--check every: single executions, each with a poisoned output");
	for (unsigned v = 0; v < r->variant_count; v++) {
		struct bench_samples *s = &r->current.samples[v];
		if (!s->on)
			continue;
		double width = stats_relative_width(&s->summary);
		if (r->current.rounds < BENCH_LEAST_SAMPLES && !bench_virtual(r))
			bench_flag_variant(r, "few_samples", (int)v,
					   "%u samples; fewer than %u give no interval",
					   r->current.rounds, BENCH_LEAST_SAMPLES);
		else if (r->current.rounds < r->o.min_samples)
			bench_flag_variant(r, "noisy", (int)v,
					   "%u samples instead of at least %" PRIu64
					   ": raise the budget",
					   r->current.rounds, r->o.min_samples);
		else if (width > NOISY_ABOVE && !s->converged)
			bench_flag_variant(
				r, "noisy", (int)v,
				"the interval of the median is +-%.0f %% after %u samples",
				100.0 * width, r->current.rounds);
	}
}

/* Other work on the host slows down what the host does: every variant where the device's memory
 * is the host's; else the variants that the host times, or whose work it enqueues while they are
 * timed. */
static void flag_contended(struct bench_run *r, const char *who, double share)
{
	if (dev_can(r->c.dev, DEV_CAP_HOST_ACCESS)) {
		bench_flag_variant(r, "contended", -1, "%s took %.0f %% of the cores", who,
				   100.0 * share);
		return;
	}
	for (unsigned v = 0; v < r->variant_count; v++)
		if (r->current.samples[v].on && bench_needs_cores(r, v))
			bench_flag_variant(r, "contended", (int)v,
					   "%s took %.0f %% of the host's cores", who,
					   100.0 * share);
}

unsigned bench_waited(const struct bench_run *r, unsigned variant)
{
	const struct bench_samples *s = &r->current.samples[variant];
	unsigned waited = 0;
	for (uint32_t i = 0; i < r->current.rounds; i++)
		waited += s->waited[i];
	return waited;
}

unsigned bench_disturbed(const struct bench_run *r, unsigned variant)
{
	return r->shared ? bench_waited(r, variant) : 0;
}

/* Samples that were disturbed and could not be replaced by others. */
static void judge_disturbed(struct bench_run *r)
{
	for (unsigned v = 0; v < r->variant_count; v++) {
		const unsigned disturbed = bench_disturbed(r, v);
		if (r->current.samples[v].on && disturbed > WAITED_ABOVE * r->current.rounds)
			bench_flag_variant(
				r, "contended", (int)v,
				"other processes ran on the cores; %u of %u samples waited",
				disturbed, r->current.rounds);
	}
}

static void judge_placement(struct bench_run *r)
{
	const struct bench_placement *p = &r->current.placement;
	if (p->scattered)
		bench_flag_variant(r, "noisy", -1,
				   "the cores were moved every few rounds: core-to-core latency of "
				   "%.0f to %.0f ns",
				   1e9 * p->low_s, 1e9 * p->high_s);
}

/* A few per cent show only in a second or more. */
void bench_note_load(struct bench_run *r, const struct cpu_load *now)
{
	struct cpu_share lately;
	r->shared = cpu_load_between(&r->load[0], now, &lately) && cpu_load_was_shared(&lately);
	r->asked_s = now->wall_s;
	if (now->wall_s - r->load[1].wall_s > LATELY_S) {
		r->load[0] = r->load[1];
		r->load[1] = *now;
	}
}

/* The load while the case was measured; of a case too short for that, up to its end from the latest
 * mark that is far enough back. Unknown where the process is too young for any. */
static void set_load(struct bench_run *r, const struct cpu_load *before,
		     const struct cpu_load *after)
{
	struct cpu_share *load = &r->current.load;
	r->current.load_known = cpu_load_between(before, after, load) ||
				cpu_load_between(&r->load[1], after, load) ||
				cpu_load_between(&r->load[0], after, load);
	bench_note_load(r, after);
}

/* Streams that share a queue run one after the other, or wait for what they need not. */
static void judge_queues(struct bench_run *r)
{
	for (size_t i = 0; bench_has_streams(r) && i < r->set.count; i++) {
		const struct dev_props *p = dev_props(r->set.dev[i]);
		if (p->queues && p->queues < QUEUES_BELOW) {
			bench_flag_variant(
				r, "queues", -1,
				"the environment limits %s to %u queue%s for all streams", p->name,
				p->queues, p->queues == 1 ? "" : "s");
			return;
		}
	}
}

static bool clock_is_low(const struct bench_run *r, double hz)
{
	return hz < THROTTLED_BELOW * r->best_clock_hz;
}

static void judge_surroundings(struct bench_run *r, const struct cpu_load *before,
			       const struct cpu_load *after)
{
	const struct cpu_share *load = &r->current.load;
	double min_hz = fmin(r->current.clock_before_hz, r->current.clock_after_hz);
	/* A device with a driver for it is judged by what that reports, and where that is nothing,
	 * not at all: a power limit lowers the clock, too. */
	if (!bench_telemetry_lists_throttle(&r->current.state) && clock_is_low(r, min_hz))
		bench_flag_variant(r, "throttled", -1,
				   "core clock %.2f GHz, best of this run %.2f GHz", 1e-9 * min_hz,
				   1e-9 * r->best_clock_hz);
	if (bench_virtual(r))
		return;
	judge_placement(r);
	set_load(r, before, after);
	if (!r->current.load_known)
		return;
	if (load->others - load->error > OTHERS_ABOVE)
		flag_contended(r, "other processes", load->others);
	else if (load->stolen - load->error > STOLEN_ABOVE)
		flag_contended(r, "the hypervisor", load->stolen);
	else if (load->held_back > STOLEN_ABOVE)
		flag_contended(r, "the CPU quota of a control group", load->held_back);
	else
		judge_disturbed(r);
}

static void flag_device(struct bench_run *r, size_t d, const char *why)
{
	if (r->current.throttled >> d & 1)
		return;
	r->current.throttled |= UINT64_C(1) << d;
	if (r->set.count == 1)
		bench_flag_variant(r, "throttled", -1, "%s", why);
	else
		bench_flag_variant(r, "throttled", -1, "device %u: %s", r->set.dev[d]->index, why);
}

/* Flag devices that throttle now or did in the last `since_s` seconds (0: no earlier reading).
 * Leaves the telemetry of the first device. */
static void flag_throttled(struct bench_run *r, double since_s)
{
	for (size_t d = r->set.count; d-- > 0;) {
		char reason[96];
		bench_telemetry_read(r->set.dev[d], &r->current.state);
		const char *why = bench_telemetry_throttle(&r->current.state);
		double total_s = bench_telemetry_thermal_s(&r->current.state),
		       throttled_s = total_s - r->current.thermal_s[d];
		r->current.thermal_s[d] = total_s;
		snprintf(reason, sizeof(reason), "thermal throttling in %.2g s of %.2g s",
			 throttled_s, since_s);
		if (!why && since_s > 0 && throttled_s > THERMAL_ABOVE * since_s)
			why = reason;
		if (why)
			flag_device(r, d, why);
	}
}

/* CPU time of the job's other ranks is not that of other processes. */
static struct cpu_load load_of_job(const struct bench_run *r)
{
	return r->b->job ? r->b->job->load() : cpu_load_now();
}

static double read_clock(struct bench_run *r)
{
	double hz;
	if (!dev_can(r->c.dev, DEV_CAP_CLOCK_RATE) || dev_clock_rate(r->c.dev, &hz) != 0)
		return NAN;
	return hz;
}

/* One reading may be low by itself, where what takes it was held up, so a low one is taken again at
 * once and the second counts. */
static double clock_rate(struct bench_run *r)
{
	double hz = read_clock(r);
	if (clock_is_low(r, hz))
		hz = read_clock(r);
	r->best_clock_hz = fmax(r->best_clock_hz, hz);
	return hz;
}

/* The first reading of a run has nothing to be low against but another, which is taken before the
 * seeds of a case, so that the case draws the same wherever it stands. */
static void know_clock(struct bench_run *r)
{
	if (r->best_clock_hz == 0.0)
		r->best_clock_hz = fmax(0.0, read_clock(r));
}

/* Read the clock first: an idle device lowers it while its driver is asked. */
void bench_case_begin(struct bench_run *r)
{
	r->current.clock_before_hz = clock_rate(r);
	flag_throttled(r, 0);
	r->current.warm_s = bench_time(r);
}

static void end_samples(struct bench_run *r)
{
	double since_s = bench_time(r) - r->current.warm_s;
	r->current.clock_after_hz = clock_rate(r);
	flag_throttled(r, since_s);
}

static int measure_case(struct bench_run *r, double seconds)
{
	int status = 0;
	if (r->variant_count) {
		struct cpu_load before = load_of_job(r);
		if (!r->load[0].known)
			r->load[0] = r->load[1] = before;
		status = bench_sample_case(r, seconds);
		if (status == 0)
			end_samples(r);
		struct cpu_load after = load_of_job(r);
		if (status == 0) {
			judge_samples(r);
			judge_queues(r);
			judge_surroundings(r, &before, &after);
			status = bench_check_end(r);
		}
		if (status == 0)
			bench_derive_rates(r);
	}
	if (status == 0 && r->b->verify_mechanism)
		status = r->b->verify_mechanism(&r->c);
	if (status == 0)
		status = bench_derive_rows(r);
	if (status == 0 && r->b->derive)
		status = r->b->derive(&r->c);
	return status;
}

/* End a case, whatever went wrong: queues are drained before memory is freed. Returns the first
 * error, and keeps its text over the later calls. */
static int end_case(struct bench_run *r, bool set_up, int status)
{
	struct err_first first = {0};
	err_keep(&first, status);
	err_keep(&first, dev_stream_sync(r->c.dev, r->c.stream));
	err_keep(&first, bench_resources_sync(r));
	if (set_up && r->b->teardown)
		r->b->teardown(&r->c);
	err_keep(&first, bench_resources_close(r));
	return err_kept(&first);
}

/* Rows whose needs a device lacks are off; that may leave nothing to measure. */
static int skip_unsupported(struct bench_run *r)
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
		snprintf(text, sizeof(text), "the device does not support %s%s%s", dev_cap_names[i],
			 why[0] ? ": " : "", why);
		if (lacking)
			status = bench_variants_skip(&r->c, lacking, text);
	}
	return status;
}

int bench_variants_skip(struct bench_case *c, uint64_t variants, const char *why)
{
	struct text names = {0};
	bool others = false;
	for (unsigned v = 0; v < c->run->variant_count; v++) {
		const struct bench_variant *variant = &c->run->b->variants[v];
		if (!bench_variant_on(c, v))
			continue;
		if (!(variants >> v & 1)) {
			others = others || (!variant->reference && !variant->always);
			continue;
		}
		bench_variant_off(c, v);
		text_fit(c->run->current.samples[v].skipped,
			 sizeof(c->run->current.samples[v].skipped), "%s", why);
		text_add(&names, "%s%s", names.length ? ", " : "", variant->name);
	}
	if (names.length) {
		text_add(&names, ": %s", why);
		bench_fact_text(c, "not_measured", text_whole(&names));
	}
	const bool any = names.length > 0;
	text_free(&names);
	return others || !any ? 0 : err_note(-ENOTSUP, "%s", why);
}

/* True if a result may enter a signature: neither the case nor all of its variants are flagged. */
static bool case_is_usable(const struct bench_run *r)
{
	bool any = r->variant_count == 0;
	for (int v = 0; v < (int)r->variant_count; v++)
		any = any || (r->current.samples[v].on && !bench_flagged(r, v));
	return any && !bench_flagged(r, -1);
}

/* Cause of the missing result, in a word; NULL: there is a result. */
static const char *cause_of(int status, bool refused)
{
	if (status == 0)
		return NULL;
	if (status == -EBADMSG)
		return "wrong_result";
	if (status == -ENOMEM)
		return "out_of_memory";
	return !refused ? "error" : status == -EINVAL ? "impossible" : "not_supported";
}

static int set_up_case(struct bench_run *r)
{
	int status = skip_unsupported(r);
	if (status == 0 && r->b->setup)
		status = r->b->setup(&r->c);
	status = status ? status : bench_status(&r->c);
	if (status == 0 && r->o.headline_variants)
		bench_headline_variants(r);
	return status;
}

int bench_case_run(struct bench_run *r, double seconds)
{
	double start = bench_time(r);
	bool set_up = false;
	know_clock(r);
	rng_seed(&r->c.rng, r->o.seed, hash_text(r->current.key));
	rng_seed(&r->order, r->o.seed, ~hash_text(r->current.key));
	for (size_t d = 0; d < r->set.count; d++)
		dev_reseed(r->set.dev[d], r->o.seed ^ hash_text(r->current.key));
	memset(r->c.state, 0, r->b->state_bytes);
	r->c.seconds = seconds;
	for (size_t v = 0; v < r->variant_count; v++) {
		unsigned queued = r->b->variants[v].queued;
		r->current.samples[v].on = r->selected >> v & 1;
		r->current.samples[v].queued = queued ? queued : 1;
	}
	err_clear();
	int status = r->b->admit ? r->b->admit(&r->c) : 0;
	if (status == 0) {
		set_up = true;
		status = set_up_case(r);
	}
	bool impossible = status == -EINVAL && !set_up;
	bool refused = status == -ENOTSUP || status == -ENODEV || status == -ENOMEM || impossible;
	if (status == 0) {
		status = measure_case(r, seconds);
		status = status ? status : bench_status(&r->c);
	}
	status = end_case(r, set_up, status);
	r->current.elapsed_s = bench_time(r) - start;
	if (status == -EINTR && bench_interrupted)
		return status;
	const char *outcome = status == 0 ? "ok" : refused ? "skipped" : "failed";
	r->count.ok += status == 0;
	r->count.skipped += refused;
	r->count.failed += status != 0 && !refused;
	r->count.valid += status == 0 && case_is_usable(r);
	char reason[ERR_TEXT];
	text_fit(reason, sizeof(reason), "%s",
		 err_text()[0] || status == 0 ? err_text() : strerror(-status));
	if (status && !refused)
		err_print("%s %s: %s", r->b->name, r->current.key, reason);
	return bench_output_case(r, outcome, cause_of(status, refused), reason);
}
