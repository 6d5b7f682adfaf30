/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who slows whom? For every pair of {compute, memory, engine copy, kernel copy, gemm}: how much longer each one takes
 * while the other runs. CIL, contention inefficiency loss, is our working definition of FiCCO's (arXiv 2512.10236):
 * CIL(x | y) = time of x beside y / time of x alone; 1 is no loss, 2 is what taking turns would give.
 *
 * Timed: pieces of x by the device's events, in x's own stream. The partner starts first and is fed from its own stream
 * until x has ended, so x never runs alone. A piece repeats its work until it takes a millisecond, as often beside as alone;
 * products are large enough to occupy every unit, and buffers exceed the last-level cache, so that memory is really shared.
 *
 *     bin/micro/contention --device host --pair compute+memory,engine+gemm
 */
#include "lib/bench_own.h"
#include "lib/err.h"
#include "micro/contention/actor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Odd ones are about y. */
enum { X_ALONE, Y_ALONE, X_BESIDE_Y, Y_BESIDE_X };

static int parse_pair(const char *word, enum actor_kind pair[2])
{
	char text[32];
	for (unsigned x = 0; x < ACTOR_KINDS; x++) {
		for (unsigned y = 0; y < ACTOR_KINDS; y++) {
			snprintf(text, sizeof(text), "%s+%s", actor_names[x], actor_names[y]);
			if (strcmp(text, word) != 0)
				continue;
			pair[0] = (enum actor_kind)x;
			pair[1] = (enum actor_kind)y;
			return 0;
		}
	}
	return err_note(-EINVAL, "there is no pair '%s', only X+Y of compute memory engine kernel gemm", word);
}

static int accept(const char *word)
{
	enum actor_kind unused[2];
	return parse_pair(word, unused);
}

static const struct axis axes[] = {
	{.name = "pair", .help = "X+Y of compute, memory, engine, kernel, gemm", .kind = AXIS_WORD, .accept = accept,
	 .quick = "compute+compute,compute+memory,compute+engine,compute+kernel,compute+gemm,memory+memory,memory+engine,"
	          "memory+kernel,memory+gemm,engine+engine,engine+kernel,engine+gemm,kernel+kernel,kernel+gemm,gemm+gemm"},
	{0}};

static const struct bench_variant variants[] = {
	{.name = "x_alone", .timing = BENCH_SELF}, {.name = "y_alone", .timing = BENCH_SELF},
	{.name = "x_beside_y", .timing = BENCH_SELF}, {.name = "y_beside_x", .timing = BENCH_SELF}, {0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_beside_engine", "CIL", "y_beside_x", "pair=engine+gemm", "median", "", "lower"},
	{"cil_gemm_beside_kernel", "CIL", "y_beside_x", "pair=kernel+gemm", "median", "", "lower"},
	{0}};

struct state {
	struct actor actor[2];
};

static struct state *state(const struct bench_case *c) { return c->state; }

static int setup(struct bench_case *c)
{
	struct actor *actor = state(c)->actor;
	enum actor_kind pair[2];
	int status = parse_pair(bench_word(c, "pair"), pair);
	if (status == 0)
		status = actor_open(&actor[0], c, pair[0]);
	return status ? status : actor_open(&actor[1], c, pair[1]);
}

static int step(struct bench_case *c, struct actor *a, unsigned which)
{
	int status = actor_piece(a, c);
	return status ? status : dev_event_record(c->dev, a->stream, a->step[which]);
}

static int start_partner(struct bench_case *c, struct actor *x, struct actor *y)
{
	int status = dev_event_record(c->dev, y->stream, y->begin);
	if (status == 0)
		status = step(c, y, 0);
	if (status == 0)
		status = step(c, y, 1);
	return status ? status : dev_stream_wait(c->dev, x->stream, y->begin);
}

/* Two pieces of y are always queued; when one ends the next is added, until x has ended. */
static int feed(struct bench_case *c, struct actor *x, struct actor *y)
{
	for (unsigned i = 0;; i ^= 1) {
		int status = dev_event_query(c->dev, x->end);
		if (status != -EAGAIN)
			return status;
		status = dev_event_sync(c->dev, y->step[i]);
		if (status == 0)
			status = step(c, y, i);
		if (status)
			return status;
	}
}

static int measure(struct bench_case *c, struct actor *x, struct actor *y, bool beside, uint64_t iterations)
{
	double ns = 0.0;
	int status = beside ? start_partner(c, x, y) : 0;
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->begin);
	for (uint64_t i = 0; status == 0 && i < iterations; i++)
		status = actor_piece(x, c);
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->end);
	if (status == 0 && beside)
		status = feed(c, x, y);
	int drained = dev_stream_sync(c->dev, x->stream);
	int partner = beside ? dev_stream_sync(c->dev, y->stream) : 0;
	status = status ? status : drained ? drained : partner;
	if (status == 0)
		status = dev_event_elapsed_ns(c->dev, x->begin, x->end, &ns);
	c->self_seconds = 1e-9 * ns;
	return status;
}

static int body(struct bench_case *c, unsigned variant, uint64_t iterations)
{
	struct actor *actor = state(c)->actor;
	bool about_y = variant % 2;
	return measure(c, &actor[about_y], &actor[!about_y], variant >= X_BESIDE_Y, iterations);
}

static void model(const struct bench_case *c, unsigned variant, struct bench_model *m)
{
	actor_model(&state(c)->actor[variant % 2], c, m);
}

static int spoil(struct bench_case *c, unsigned variant)
{
	(void)variant;
	int status = actor_spoil(&state(c)->actor[0], c);
	return status ? status : actor_spoil(&state(c)->actor[1], c);
}

static int check(struct bench_case *c, unsigned variant)
{
	const struct actor *actor = state(c)->actor;
	int status = variant == Y_ALONE ? 0 : actor_check(&actor[0], c);
	return status == 0 && variant != X_ALONE ? actor_check(&actor[1], c) : status;
}

/* Two streams are two queues: y gets through while x's stream is held. Otherwise 'beside' would mean 'after'. */
static int prove(struct bench_case *c)
{
	struct actor *x = &state(c)->actor[0], *y = &state(c)->actor[1];
	struct gate *gate = own_gate(c, GATE_LIMIT_NS);
	int status = own_status(c);
	if (status)
		return status;
	status = gate_shut(gate, c->dev, x->stream);
	if (status == 0)
		status = actor_piece(x, c);
	if (status == 0)
		status = dev_event_record(c->dev, x->stream, x->end);
	if (status == 0)
		status = actor_piece(y, c);
	int passed = dev_stream_sync(c->dev, y->stream);
	bool held = status == 0 && dev_event_query(c->dev, x->end) == -EAGAIN;
	int opened = gate_release(gate);
	int drained = dev_stream_sync(c->dev, x->stream);
	status = status ? status : passed ? passed : opened && opened != -ETIMEDOUT ? opened : drained;
	if (status == 0)
		bench_mechanism(c, "streams_are_independent", held && opened == 0, "the second stream finished while the first was held");
	return status;
}

static int derive(struct bench_case *c)
{
	bench_fact_number(c, "x_repeats", state(c)->actor[0].repeats);
	bench_fact_number(c, "y_repeats", state(c)->actor[1].repeats);
	int status = bench_ratio(c, "CIL", X_BESIDE_Y, X_ALONE, "time of x beside y / time of x alone, block by block");
	return status ? status : bench_ratio(c, "CIL", Y_BESIDE_X, Y_ALONE, "time of y beside x / time of y alone, block by block");
}

static const struct bench bench = {
	.name = "micro/contention",
	.question = "who slows whom when two things run at once?",
	.formula = "CIL(x | y) = time of x beside y / time of x alone; 1 is no loss",
	.timed = "pieces of one actor by device events while the other is kept running; not the partner's start and drain",
	.limits = "the partner is launched first; both use every unit, and on a host device copy engines share the cores",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.share = 2.0,
	.axes = axes,
	.variants = variants,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.setup = setup,
	.body = body,
	.model = model,
	.spoil = spoil,
	.check = check,
	.prove = prove,
	.derive = derive,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
