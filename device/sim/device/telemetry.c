/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_telemetry_list.h"
#include "device/sim/device/calls.h"

/* Sensors of a board, which a model without POWER does not have. */
int sim_telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	struct sim_dev *d = sim_of(dev);
	const struct sim_model *m = &d->model;
	struct dev_telemetry_list r = {.samples = samples, .capacity = DEV_TELEMETRY_MAX};
	struct sim_power now;
	int status = sim_call_begin(d);
	if (!status && sim_power_now(d, &now)) {
		const bool is_capped = now.clock < 1 && !now.hot;
		dev_telemetry_number(&r, "sm_clock", "Hz", m->clock_hz * now.clock);
		dev_telemetry_number(&r, "sm_clock_max", "Hz", m->clock_hz);
		dev_telemetry_number(&r, "power", "W", now.watt);
		dev_telemetry_number(&r, "energy", "J", now.joule);
		if (m->cap_watt > 0)
			dev_telemetry_number(&r, "power_limit", "W", m->cap_watt);
		else
			dev_telemetry_unknown(&r, "power_limit", "W", "the model has no cap_watt");
		if (m->kelvin_per_watt > 0)
			dev_telemetry_number(&r, "temperature", "degC", now.celsius);
		else
			dev_telemetry_unknown(&r, "temperature", "degC",
					      "the model has no kelvin_per_watt");
		dev_telemetry_number(&r, "thermal_time", "s", 1e-9 * now.hot_ns);
		dev_telemetry_text(&r, "throttle", now.hot ? "thermal slowdown" : "none");
		dev_telemetry_text(&r, "clock_reason", is_capped ? "power cap" : "none");
	}
	if (!status)
		*count_p = r.count;
	return sim_call_end(status);
}
