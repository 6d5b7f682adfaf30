/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench_case.h"
#include "bench/bench_alloc.h"
#include "bench/cases/cases.h"
#include "bench/output/output.h"
#include "bench/quantities/quantities.h"
#include "bench/run/notes.h"
#include "bench/run/resources.h"
#include "bench/sampling/checks.h"
#include "bench/sampling/rounds.h"
#include "bench/sampling/samples.h"
#include "bench/sampling/surroundings.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void bench_case_clear(struct bench_run *r)
{
	bench_notes_restore(r->notes, &(struct notes){0});
	bench_sampling_clear(r);
	bench_surroundings_clear(r);
	bench_checks_clear(r);
	bench_quantities_restore(r->quantities, 0);
	r->key[0] = '\0';
	r->output->elapsed_s = 0.0;
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

static int measure_case(struct bench_run *r, double seconds)
{
	int status = 0;
	if (r->variant_count) {
		struct cpu_load before = bench_load_now(r);
		if (!r->surroundings->load[0].known)
			r->surroundings->load[0] = r->surroundings->load[1] = before;
		status = bench_sample_case(r, seconds);
		if (status == 0)
			bench_surroundings_end(r);
		struct cpu_load after = bench_load_now(r);
		if (status == 0) {
			bench_judge(r, &before, &after);
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

/* True if a result may enter a signature: neither the case nor all of its variants are flagged. */
static bool case_is_usable(const struct bench_run *r)
{
	bool any = r->variant_count == 0;
	for (int v = 0; v < (int)r->variant_count; v++)
		any = any || (r->sampling->samples[v].on && !bench_flagged(r, v));
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
	int status = bench_skip_unsupported(r);
	if (status == 0 && r->b->setup)
		status = r->b->setup(&r->c);
	status = status ? status : r->c.status;
	for (unsigned v = 0; status == 0 && r->o.no_references && v < r->variant_count; v++)
		if (r->b->variants[v].reference)
			bench_variant_off(&r->c, v);
	if (status == 0 && r->o.headline_variants)
		bench_headline_variants(r);
	return status;
}

int bench_case_run(struct bench_run *r, double seconds)
{
	double start = bench_time(r);
	bool set_up = false;
	bench_know_clock(r);
	rng_seed(&r->c.rng, r->o.seed, hash_text(r->key));
	rng_seed(&r->sampling->order, r->o.seed, ~hash_text(r->key));
	for (size_t d = 0; d < r->set.count; d++)
		dev_reseed(r->set.dev[d], r->o.seed ^ hash_text(r->key));
	memset(r->c.state, 0, r->b->state_bytes);
	r->c.seconds = seconds;
	for (size_t v = 0; v < r->variant_count; v++) {
		unsigned queued = r->b->variants[v].queued;
		r->sampling->samples[v].on = r->selected >> v & 1;
		r->sampling->samples[v].queued = queued ? queued : 1;
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
		status = status ? status : r->c.status;
	}
	status = end_case(r, set_up, status);
	r->output->elapsed_s = bench_time(r) - start;
	if (status == -EINTR && bench_interrupted)
		return status;
	const char *outcome = status == 0 ? "ok" : refused ? "skipped" : "failed";
	r->cases->count.ok += status == 0;
	r->cases->count.skipped += refused;
	r->cases->count.failed += status != 0 && !refused;
	r->cases->count.valid += status == 0 && case_is_usable(r);
	char reason[ERR_TEXT];
	text_fit(reason, sizeof(reason), "%s",
		 err_text()[0] || status == 0 ? err_text() : strerror(-status));
	if (status && !refused)
		err_print("%s %s: %s", r->b->name, r->key, reason);
	return bench_output_case(r, outcome, cause_of(status, refused), reason);
}
