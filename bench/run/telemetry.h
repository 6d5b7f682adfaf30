/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Telemetry of a device at one moment: which board it is, its clocks, power and temperature, and
 * why it throttles.
 */
#ifndef GPUSIG_TELEMETRY_H
#define GPUSIG_TELEMETRY_H

#include "device/dev.h"
#include "lib/json.h"

struct bench_telemetry {
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count;
};

/* A failure is a sample without a value. */
void bench_telemetry_read(struct dev *dev, struct bench_telemetry *s);

/* True if the device has a driver that would know why it throttles, which may not tell. */
bool bench_telemetry_lists_throttle(const struct bench_telemetry *s);

/* The reason why it throttles, or NULL when it does not. */
const char *bench_telemetry_throttle(const struct bench_telemetry *s);

/* Seconds of thermal throttling so far; NaN: unknown. */
double bench_telemetry_thermal_s(const struct bench_telemetry *s);

/* Write which board it is, as the fields "uuid", "serial" and "vbios"; an unknown one is there with
 * its reason. */
void bench_telemetry_write_identity(struct json *j, const struct bench_telemetry *s);

/* Write the other samples, or those that change between cases, as the object "state". */
void bench_telemetry_write(struct json *j, const struct bench_telemetry *s, bool only_changing);

#endif
