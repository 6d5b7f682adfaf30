/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single operations, each timed alone, for percentiles: a sample is the mean of many iterations, in
 * which a slow one does not show.
 */
#include "bench/sampling/rounds.h"
#include "bench/sampling/samples.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SINGLES 1000u
#define FIRST_USES 10u
#define LONGEST_S 0.05 /* of a variant; ten times as long until there are SINGLES_LEAST */
#define SINGLES_LEAST 100u

void bench_single_times(struct bench_case *c, unsigned variant)
{
	c->run->sampling->samples[variant].wants_singles = true;
}

/* One that a watchdog ended is the last: its time says nothing. */
static int time_variant(struct bench_run *r, unsigned v, double limit_s)
{
	struct bench_samples *s = &r->sampling->samples[v];
	const double start = bench_time(r);
	s->singles = malloc(SINGLES * sizeof(*s->singles));
	if (!s->singles)
		return err_note(-ENOMEM, "no memory for the times of single operations");
	for (unsigned i = 0; s->single_count < SINGLES; i++) {
		const double spent = bench_time(r) - start;
		if (spent >= (s->single_count < SINGLES_LEAST ? 10.0 : 1.0) * limit_s)
			break;
		const unsigned overdue = gate_overdue();
		double seconds;
		int status = bench_sample_once(r, v, 1, s->warm, &seconds);
		if (status == 0)
			status = bench_call_restore(r, v);
		if (status)
			return status;
		if (gate_overdue() != overdue || !isfinite(seconds))
			break;
		if (i >= FIRST_USES)
			s->singles[s->single_count++] = seconds;
	}
	return 0;
}

int bench_singles_take(struct bench_run *r, double seconds)
{
	const struct bench_samples *samples = r->sampling->samples;
	unsigned wanting = 0;
	int status = 0;
	if (bench_virtual(r) || r->o.check == BENCH_CHECK_EVERY)
		return 0;
	for (unsigned v = 0; v < r->variant_count; v++)
		wanting += samples[v].on && samples[v].wants_singles;
	for (unsigned v = 0; status == 0 && v < r->variant_count; v++)
		if (samples[v].on && samples[v].wants_singles)
			status = time_variant(r, v, fmin(LONGEST_S, seconds / wanting));
	return status;
}

void bench_singles_write(struct json *j, const struct bench_samples *s)
{
	if (s->single_count == 0)
		return;
	json_array_begin(j, "singles_s");
	for (size_t i = 0; i < s->single_count; i++)
		json_number(j, NULL, s->singles[i]);
	json_array_end(j);
}
