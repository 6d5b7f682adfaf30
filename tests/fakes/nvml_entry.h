/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every function of the fake NVML begins and ends with.
 */
#ifndef FAKES_NVML_ENTRY_H
#define FAKES_NVML_ENTRY_H

#include <stdbool.h>

enum {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7
};

/* A device's handle points to one of these. */
struct device {
	unsigned board;
	unsigned generations_read;
};

/* The injected fault; or an error before nvmlInit_v2() and of what is no handle. */
int nvml_enter(const char *function, const struct device *device);

/* FAKE_GPUS */
unsigned nvml_device_count(void);

/* NULL is an invalid argument. */
int nvml_set(int status, unsigned *value_p, unsigned value);

#endif
