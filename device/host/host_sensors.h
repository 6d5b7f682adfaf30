/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sensors of the processors, as the kernel shows them: energy, its limit, temperature.
 *
 * Energy is that of RAPL: the packages and, where they count it apart, their memory. The kernel has
 * the same files for Intel and AMD, below sys/class/powercap/intel-rapl:N. Since 2020 root alone
 * may read the counters. One of them wraps within minutes to an hour, at a value that it tells; so
 * energy is known from the first reading on, if the next one comes before it has wrapped twice.
 *
 * Temperature is the hottest of coretemp's or k10temp's inputs for packages, else of the thermal
 * zones of the processor.
 */
#ifndef GPUSIG_HOST_SENSORS_H
#define GPUSIG_HOST_SENSORS_H

#include "device/dev_telemetry_list.h"

#include <stdint.h>

enum { HOST_ZONES = 64 };

/* Starts as {0}; kept from reading to reading. */
struct host_sensors {
	double joule; /* since the first reading */
	uint64_t last[HOST_ZONES];
	bool known[HOST_ZONES];
};

/* Append "energy", "power_limit" and "temperature", each with its value or the reason why there is
 * none. `root` is "" but in tests. */
void host_sensors_read(struct host_sensors *s, const char *root, struct dev_telemetry_list *r);

#endif
