/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Readings that a device and its driver report about themselves. Part of the contract in
 * device/dev.h, which includes this file.
 */
#ifndef GPUSIG_DEV_TELEMETRY_H
#define GPUSIG_DEV_TELEMETRY_H

#include <stddef.h>

struct dev;

/* One telemetry sample: a number with its unit, or a text, or the reason why it is not known. */
struct dev_telemetry {
	char name[40];  /* "sm_clock", "power", "throttle", ...; once in a list */
	char unit[16];  /* "Hz", "W", ...; "" for texts and counts */
	double number;  /* NaN: `text` holds the value, or it is unknown */
	char text[256]; /* "" with NaN: unknown */
	char why[256];  /* why it is unknown; else "" */
};
#define DEV_TELEMETRY_MAX 32

/* Sample the present state: clocks, power, temperature, why the clock is throttled, ECC, link,
 * memory node. Fills at most DEV_TELEMETRY_MAX samples and sets *count_p. A value that cannot be
 * read is listed with the reason. Takes up to some milliseconds; waits for nothing that is queued.
 * A backend without the operation gives 0 samples. */
int dev_telemetry_read(struct dev *d, struct dev_telemetry *samples, size_t *count_p);

#endif
