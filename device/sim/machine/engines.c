/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/engines.h"
#include "device/sim/machine/copies.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/memory.h"
#include "device/sim/machine/streams.h"

#include <string.h>

static enum sim_copy_class class_of(const struct op *op)
{
	if (!op->stream->dev->model.host_engines)
		return SIM_COPY_INSIDE;
	enum sim_copy_class class = SIM_COPY_INSIDE;
	for (unsigned i = 0; i < op->traffics && class != SIM_COPY_UP; i++) {
		const struct op_traffic *t = &op->work->traffic[i];
		if (t->at->kind == DEV_MEM_PINNED)
			class = t->write ? SIM_COPY_UP : SIM_COPY_DOWN;
	}
	return class;
}

static uint32_t engines_of(const struct sim_model *m, enum sim_copy_class class)
{
	const bool limited = class != SIM_COPY_INSIDE && m->host_engines < m->copy_engines;
	return limited ? m->host_engines : m->copy_engines;
}

static uint64_t name_of(const struct op *op) { return op->stream->order + 1; }

/* The engine that would take the copy now; NULL: it waits for one. */
static struct sim_engine *engine_for(struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	const enum sim_copy_class class = class_of(op);
	struct sim_engine *engines = d->engines.of[class], *idle = NULL;
	const uint32_t count = engines_of(&d->model, class);
	if (d->model.engine_sticky) {
		uint8_t *own = &op->stream->engine[class];
		if (!*own)
			*own = (uint8_t)(1 + d->engines.assigned[class]++ % count);
		return engines[*own - 1].busy ? NULL : &engines[*own - 1];
	}
	for (uint32_t i = count; i-- > 0;) {
		if (engines[i].busy)
			continue;
		if (engines[i].served == name_of(op))
			return &engines[i];
		idle = &engines[i];
	}
	return idle;
}

/* Streams to pass until that of the copy, from the one that was served last. */
static uint64_t turns_until(const struct op *op)
{
	return name_of(op) - op->stream->dev->engines.served[class_of(op)] - 1;
}

static bool goes_before(const struct op *a, const struct sim_engine *engine_of_a,
			const struct op *b, const struct sim_engine *engine_of_b)
{
	const struct sim_model *m = &a->stream->dev->model;
	const bool a_stays = engine_of_a->served == name_of(a),
		   b_stays = engine_of_b->served == name_of(b);
	if (m->engine_priority && a->stream->priority != b->stream->priority)
		return a->stream->priority > b->stream->priority;
	if (m->engine_order == SIM_STREAM_FIRST && a_stays != b_stays)
		return a_stays;
	if (m->engine_order == SIM_ROUND_ROBIN && class_of(a) == class_of(b))
		return turns_until(a) < turns_until(b);
	if (m->engine_order == SIM_ENQUEUED_FIRST)
		return a->serial < b->serial;
	return a->ready_number < b->ready_number;
}

struct op *sim_engines_take(struct sim_dev *d, bool *switches_p)
{
	struct op *first = NULL;
	struct sim_engine *its = NULL;
	for (struct op *op = d->copies_ready; op && d->engines.busy < d->model.copy_engines;
	     op = op->ready_next) {
		struct sim_engine *engine = engine_for(op);
		if (engine && (!first || goes_before(op, engine, first, its))) {
			first = op;
			its = engine;
		}
	}
	if (!first)
		return NULL;
	*switches_p = its->served && its->served != name_of(first);
	its->served = d->engines.served[class_of(first)] = name_of(first);
	its->busy = true;
	d->engines.busy++;
	first->engine = its;
	sim_ready_remove(&d->copies_ready, first);
	return first;
}

void sim_engines_forget(struct sim_dev *d)
{
	memset(&d->engines, 0, sizeof(d->engines));
	for (struct dev_stream *s = d->streams; s; s = s->next)
		memset(s->engine, 0, sizeof(s->engine));
}
