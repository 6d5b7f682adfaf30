/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/sim/machine/power.h"
#include "device/sim/machine/device.h"
#include "device/sim/machine/streams.h"

#include <math.h>

#define CONTROL_NS 10e6
#define LEAST_CLOCK 0.1
#define COOLER_KELVIN 5.0

static double now_ns(void) { return (double)sim_clock.epoch_ns + sim_clock.now_ns; }

void sim_power_open(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	d->power = (struct sim_power){.clock = 1, .watt = m->idle_watt, .since_ns = now_ns()};
	d->power.celsius = m->ambient_celsius + m->kelvin_per_watt * m->idle_watt;
}

static double flops_of(const struct op *op)
{
	const struct dev_gemm *g = &op->work->gemm;
	return op->tiles ? 2.0 * g->m * g->n * g->k : op->block_flops * op->grid;
}

/* Joule of flops at the present clock. */
static double joule_of_flops(const struct sim_dev *d)
{
	return d->model.joule_per_flop * d->power.flops * d->power.clock * d->power.clock;
}

static double heat_cap(const struct sim_model *m)
{
	return (m->limit_celsius - m->ambient_celsius) / m->kelvin_per_watt;
}

/* NaN-free: a cap of 0 is none. */
static double cap_now(const struct sim_dev *d)
{
	const double cap = d->model.cap_watt > 0 ? d->model.cap_watt : INFINITY;
	return d->power.hot ? fmin(cap, heat_cap(&d->model)) : cap;
}

static void set_clock(struct sim_dev *d, double watt_of_flops, double watt_of_others)
{
	struct sim_power *p = &d->power;
	const double left = fmax(0, cap_now(d) - watt_of_others);
	const double at_full = watt_of_flops / (p->clock * p->clock * p->clock);
	p->clock = at_full > left ? fmax(LEAST_CLOCK, cbrt(left / at_full)) : 1;
}

/* The controller looks at what ran since it did so last. */
static void control_clock(struct sim_dev *d)
{
	const struct sim_model *m = &d->model;
	struct sim_power *p = &d->power;
	const double ns = now_ns() - p->since_ns, seconds = 1e-9 * ns;
	if (!(ns > 0))
		return;
	const double watt_of_flops = joule_of_flops(d) / seconds,
		     watt_of_others = m->idle_watt + m->joule_per_byte * p->bytes / seconds;
	p->watt = watt_of_flops + watt_of_others;
	p->joule += p->watt * seconds;
	p->hot_ns += p->hot ? ns : 0;
	if (m->thermal_s > 0) {
		const double end = m->ambient_celsius + m->kelvin_per_watt * p->watt;
		p->celsius += (end - p->celsius) * -expm1(-seconds / m->thermal_s);
	}
	if (m->limit_celsius > 0)
		p->hot = p->celsius >= m->limit_celsius - (p->hot ? COOLER_KELVIN : 0);
	set_clock(d, watt_of_flops, watt_of_others);
	p->since_ns = now_ns();
	p->flops = p->bytes = 0;
}

static bool takes_power(const struct op *op)
{
	return (op->kind == OP_COPY || op->kind == OP_FILL || op->kind == OP_LAUNCH) &&
	       op->stream->dev->model.idle_watt > 0;
}

void sim_power_begin(struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	if (!takes_power(op))
		return;
	if (d->power.busy++ == 0 && now_ns() - d->power.since_ns >= CONTROL_NS)
		control_clock(d);
	op->peak_flops *= d->power.clock;
}

void sim_power_end(const struct op *op)
{
	struct sim_dev *d = op->stream->dev;
	if (!takes_power(op) || !op->started)
		return;
	d->power.busy--;
	d->power.flops += flops_of(op);
	if (now_ns() - d->power.since_ns >= CONTROL_NS)
		control_clock(d);
}

bool sim_power_now(struct sim_dev *d, struct sim_power *now)
{
	if (!(d->model.idle_watt > 0))
		return false;
	if (d->power.busy == 0)
		control_clock(d);
	*now = d->power;
	const double seconds = 1e-9 * (now_ns() - now->since_ns);
	now->joule += d->model.idle_watt * seconds + joule_of_flops(d) +
		      d->model.joule_per_byte * now->bytes;
	return true;
}
