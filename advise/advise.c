/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_model.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NAME_OF_TYPE(type, name, bytes, result_bytes) [type] = name,
#define NAME_OF_OP(op, name) [ADVISE_##op] = name,
#define NAME_OF_WAY(way, name) [ADVISE_##way] = name,
#define NAME_OF_YIELD(yield, name) [ADVISE_##yield] = name,
#define NAME_OF_INPUT(input, name) [ADVISE_##input] = name,
#define NAME_OF_SCHEDULE(schedule, name, more) [ADVISE_##schedule] = name,
const char *const advise_types[ADVISE_TYPES + 1] = {ADVISE_TYPE_LIST(NAME_OF_TYPE)};
const char *const advise_ops[ADVISE_OPS + 1] = {[ADVISE_GEMM_AR] = "gemm-ar",
						ADVISE_OP_LIST(NAME_OF_OP)};
const char *const advise_schedules[ADVISE_SCHEDULES + 1] = {
	ADVISE_SCHEDULE_LIST(NAME_OF_SCHEDULE, NAME_OF_SCHEDULE, ADVISE_NO_MORE)};
const char *const advise_copy_methods[ADVISE_COPY_METHODS + 1] = {"engine", "kernel"};
const char *const advise_ways[ADVISE_WAYS + 1] = {ADVISE_WAY_LIST(NAME_OF_WAY)};
const char *const advise_inputs[ADVISE_INPUTS + 1] = {ADVISE_INPUT_LIST(NAME_OF_INPUT)};
const char *const advise_links[ADVISE_LINKS + 1] = {"peer", "up", "down"};
const char *const advise_directions[ADVISE_DIRECTIONS + 1] = {"peer", "up", "down", "local"};
const char *const advise_yields[ADVISE_YIELDS + 1] = {ADVISE_YIELD_LIST(NAME_OF_YIELD)};

/* An addition reads two operands and writes one; the largest measured one is in memory. */
static double memory_byte_per_s(const struct advise_machine *m)
{
	unsigned last = m->reduce.points - 1;
	return m->reduce.points > 1 ? 3 * m->reduce.x[last] / m->reduce.y[last] : 0;
}

void advise_prepare(struct advise_machine *m)
{
#define BYTES_OF_TYPE(type, name, bytes, result_bytes) [type] = {bytes, result_bytes},
	static const double bytes[ADVISE_TYPES][2] = {ADVISE_TYPE_LIST(BYTES_OF_TYPE)};
	for (unsigned t = 0; t < ADVISE_TYPES; t++) {
		const struct gemm_limits limits = {m->cache_bytes, memory_byte_per_s(m),
						   bytes[t][0], bytes[t][1], m->units};
		if (m->gemm[t].samples > 0)
			gemm_prepare_model(&m->gemm[t], &limits);
		for (unsigned way = 0; way < ADVISE_WAYS; way++)
			for (unsigned method = 0; method < ADVISE_COPY_METHODS; method++)
				early_prepare(&m->gain[way][method][t]);
	}
	m->prepared = true;
}

static int type_known(const struct advise_machine *m, enum advise_type type)
{
	if (!m->prepared)
		return err_note(-EINVAL, "advise_prepare() was not called");
	if ((unsigned)type >= ADVISE_TYPES)
		return err_note(-EINVAL, "unknown type %d; types: 0 to %d", (int)type,
				(int)ADVISE_TYPES - 1);
	if (m->gemm[type].samples == 0)
		return err_note(-ENODATA, "no %s GEMM was measured", advise_types[type]);
	return 0;
}

static bool copy_measured(const struct advise_machine *m, enum advise_copy_method copy_method,
			  enum advise_link link)
{
	return m->copy[copy_method][link].points > 0;
}

static bool method_asked(const struct advise_question *q, enum advise_copy_method copy_method)
{
	return q->copy_methods == 0 || q->copy_methods & 1u << copy_method;
}

#define MIB 1048576.0

/* The rate of long copies does not follow from that of short ones. */
static int copies_long_enough(const struct advise_view *v)
{
	double longest = 0;
	for (unsigned method = 0; method < ADVISE_COPY_METHODS; method++) {
		const struct advise_curve *copy = &v->machine->copy[method][v->link];
		if (copy_measured(v->machine, method, v->link) && method_asked(v->question, method))
			longest = fmax(longest, copy->x[copy->points - 1]);
	}
	if (longest == 0)
		return err_note(-ENODATA, "no copy was measured over link %s",
				advise_links[v->link]);
	if (v->shard_bytes > ADVISE_MAX_EXTRAPOLATION * longest)
		return err_note(-ENODATA,
				"the longest copy over link %s has %.4g MiB, and this needs %.4g",
				advise_links[v->link], longest / MIB, v->shard_bytes / MIB);
	return 0;
}

static int admit(const struct advise_machine *m, const struct advise_question *q)
{
	int status = type_known(m, q->type);
	if (status)
		return status;
	if ((unsigned)q->op >= ADVISE_OPS)
		return err_note(-EINVAL, "unknown operation %d; operations: 0 to %d", (int)q->op,
				(int)ADVISE_OPS - 1);
	if (q->m == 0 || q->n == 0 || q->k == 0)
		return err_note(-EINVAL, "a GEMM of %u x %u x %u has a side of 0", q->m, q->n,
				q->k);
	if (q->devices < 2)
		return err_note(-EINVAL, "devices %u: communication needs 2 or more", q->devices);
	if (q->devices > ADVISE_DEVICES)
		return err_note(-ERANGE, "%u devices exceed the maximum of %d", q->devices,
				ADVISE_DEVICES);
	return 0;
}

int advise_gemm_seconds(const struct advise_machine *m, enum advise_type type,
			struct advise_shape shape, double *seconds_p, bool *extrapolated_p)
{
	int status = type_known(m, type);
	if (status)
		return status;
	if (!(shape.m >= 1) || !(shape.n >= 1) || !(shape.k >= 1))
		return err_note(-EINVAL, "a GEMM of %g x %g x %g has a side below 1", shape.m,
				shape.n, shape.k);
	*extrapolated_p = false;
	*seconds_p = gemm_seconds(&m->gemm[type], shape, extrapolated_p);
	return 0;
}

double advise_gemm_error(const struct advise_machine *m, enum advise_type type)
{
	return type_known(m, type) ? INFINITY : m->gemm[type].error;
}

/* A schedule that cuts the GEMM relies on more predictions, so its time is increased by their
 * error. */
static double charged_seconds(const struct advise_advice *a, const struct advise_candidate *c)
{
	return c->schedule == ADVISE_SERIAL ? c->seconds : c->seconds * (1 + a->error);
}

/* On equal predicted times, fewer operations win. */
static bool candidate_better(const struct advise_advice *all, const struct advise_candidate *a,
			     const struct advise_candidate *b)
{
	double left = charged_seconds(all, a), right = charged_seconds(all, b);
	if (left < right || left > right)
		return left < right;
	return a->gemms + a->copies < b->gemms + b->copies;
}

static void insert_candidate(struct advise_advice *a, const struct advise_candidate *c)
{
	unsigned at = a->candidates++;
	for (; at > 0 && candidate_better(a, c, &a->candidate[at - 1]); at--)
		a->candidate[at] = a->candidate[at - 1];
	a->candidate[at] = *c;
}

static bool schedule_applies(enum advise_schedule schedule, const struct advise_view *v)
{
	const struct advise_question *q = v->question;
	bool rows_cut = schedule != ADVISE_SERIAL && schedule != ADVISE_SHARD &&
			schedule != ADVISE_UNIFORM_FUSED_2D;
	uint64_t parts = rows_cut                    ? (uint64_t)q->devices * q->devices
			 : schedule == ADVISE_SERIAL ? 1
						     : q->devices;
	if (schedule == ADVISE_UNIFORM_FUSED_2D)
		return v->arriving && q->k >= q->devices;
	return q->m >= parts;
}

int advise(const struct advise_machine *m, const struct advise_question *q,
	   struct advise_advice *advice_p)
{
	struct advise_view view;
	struct advise_advice a = {.gemm_s = 0};
	int status = admit(m, q);
	if (status)
		return status;
	schedule_view(&view, m, q);
	status = copies_long_enough(&view);
	if (status)
		return status;
	a.link = view.link;
	a.error = m->gemm[q->type].error;
	a.expected_error = fmax(a.error, m->schedule_error);
	for (unsigned i = 0; i < ADVISE_SCHEDULES * ADVISE_COPY_METHODS; i++) {
		struct advise_candidate c = {.schedule = i / ADVISE_COPY_METHODS,
					     .copy_method = i % ADVISE_COPY_METHODS};
		if (!method_asked(q, c.copy_method) ||
		    !copy_measured(m, c.copy_method, view.link) ||
		    !schedule_applies(c.schedule, &view))
			continue;
		double tail_s = schedule_predict(&view, &c);
		if (c.schedule == ADVISE_SERIAL) {
			double comm_s = c.comm_s + tail_s;
			a.comm_s = a.gemm_s > 0 ? fmin(a.comm_s, comm_s) : comm_s;
			a.gemm_s = c.gemm_s;
		}
		insert_candidate(&a, &c);
	}
	a.extrapolated = a.candidate[0].extrapolated;
	advise_find_needs(&view, &a);
	early_advise(&view, &a);
	advise_pick_settings(&view, &a);
	advise_explain(&a);
	*advice_p = a;
	return 0;
}

size_t advise_machine_bytes(void) { return sizeof(struct advise_machine); }
size_t advise_question_bytes(void) { return sizeof(struct advise_question); }
size_t advise_advice_bytes(void) { return sizeof(struct advise_advice); }
size_t advise_copy_chunk_bytes(void) { return sizeof(struct advise_copy_chunk); }
