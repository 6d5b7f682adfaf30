/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnvidia-ml: what the board says of itself; always the same, but for FAKE_FAIL, FAKE_CLOCK_REASONS and FAKE_THERMAL_NS.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/driver.h"

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

/* A device's handle is one of these. */
static struct device {
	unsigned bus;
} devices[256];
static bool initialised;

static int enter(const char *function, const struct device *device)
{
	int rc = driver_fault(function);
	if (rc)
		return rc;
	return !initialised ? UNINITIALIZED : device ? SUCCESS : INVALID_ARGUMENT;
}

static unsigned long long environment(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static int give(int rc, unsigned *value_p, unsigned value)
{
	if (rc == SUCCESS)
		*value_p = value;
	return rc;
}

static int give_text(int rc, char *text, unsigned room, const char *value)
{
	if (rc == SUCCESS && room <= strlen(value))
		rc = INSUFFICIENT_SIZE;
	if (rc == SUCCESS)
		memcpy(text, value, strlen(value) + 1);
	return rc;
}

#pragma GCC visibility push(default)

int nvmlInit_v2(void)
{
	int rc = driver_fault(__func__);
	initialised |= rc == SUCCESS;
	return rc;
}

const char *nvmlErrorString(int result)
{
	switch (result) {
	case SUCCESS:
		return "Success";
	case UNINITIALIZED:
		return "Uninitialized";
	case INVALID_ARGUMENT:
		return "Invalid Argument";
	case NOT_SUPPORTED:
		return "Not Supported";
	case NOT_FOUND:
		return "Not Found";
	default:
		return "Unknown Error";
	}
}

/* The driver's addresses are 0000:01:00.0 and up. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *text, struct device **device)
{
	unsigned domain, bus;
	int rc = enter(__func__, devices);
	if (rc)
		return rc;
	if (sscanf(text, "%x:%x:", &domain, &bus) != 2)
		return INVALID_ARGUMENT;
	if (domain || bus == 0 || bus > 255)
		return NOT_FOUND;
	*device = &devices[bus];
	(*device)->bus = bus;
	return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room) { return give_text(enter(__func__, devices), text, room, "580.0.fake"); }

int nvmlDeviceGetVbiosVersion(struct device *device, char *text, unsigned room)
{
	return give_text(enter(__func__, device), text, room, "96.00.00.00.01");
}

/* NVML_CLOCK_SM is 1, NVML_CLOCK_MEM 2; MHz. */
int nvmlDeviceGetClockInfo(struct device *device, unsigned kind, unsigned *mhz)
{
	return give(enter(__func__, device), mhz, kind == 1 ? 1500 : kind == 2 ? 2600 : 345);
}

int nvmlDeviceGetMaxClockInfo(struct device *device, unsigned kind, unsigned *mhz)
{
	return give(enter(__func__, device), mhz, kind == 1 ? 1980 : kind == 2 ? 2619 : 1980);
}

int nvmlDeviceGetTemperature(struct device *device, unsigned sensor, unsigned *celsius)
{
	int rc = enter(__func__, device);
	return give(!rc && sensor ? INVALID_ARGUMENT : rc, celsius, 41);
}

int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts) { return give(enter(__func__, device), milliwatts, 123456); }

int nvmlDeviceGetEnforcedPowerLimit(struct device *device, unsigned *milliwatts)
{
	return give(enter(__func__, device), milliwatts, 700000);
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 4); }
int nvmlDeviceGetCurrPcieLinkWidth(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 8); }
int nvmlDeviceGetMaxPcieLinkGeneration(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 5); }
int nvmlDeviceGetMaxPcieLinkWidth(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 16); }
int nvmlDeviceGetPersistenceMode(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 1); }
int nvmlDeviceGetComputeMode(struct device *device, unsigned *value) { return give(enter(__func__, device), value, 0); }

int nvmlDeviceGetEccMode(struct device *device, unsigned *now, unsigned *next)
{
	*next = 1;
	return give(enter(__func__, device), now, 1);
}

int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *next)
{
	(void)now, (void)next;
	int rc = enter(__func__, device);
	return rc ? rc : NOT_SUPPORTED;
}

/* nvmlClocksEventReasonSwPowerCap, if nobody wants others. */
int nvmlDeviceGetCurrentClocksEventReasons(struct device *device, unsigned long long *mask)
{
	*mask = environment("FAKE_CLOCK_REASONS", 0x4);
	return enter(__func__, device);
}

struct violation {
	unsigned long long reference_us, violation_ns;
};

/* NVML_PERF_POLICY_POWER and NVML_PERF_POLICY_THERMAL are 0 and 1; the board is at its power cap all the time. */
int nvmlDeviceGetViolationStatus(struct device *device, unsigned policy, struct violation *violation)
{
	static _Atomic unsigned long long asked;
	int rc = enter(__func__, device);
	if (rc || policy > 11)
		return rc ? rc : INVALID_ARGUMENT;
	asked++;
	violation->reference_us = 1000 * asked;
	violation->violation_ns = policy == 0 ? 1000000 * asked : policy == 1 ? environment("FAKE_THERMAL_NS", 0) * asked : 0;
	return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(struct device *device, unsigned kind, unsigned counter, unsigned long long *count)
{
	*count = kind == 1 && counter == 0 ? 2 : 0; /* uncorrected, since the driver was loaded */
	return enter(__func__, device);
}
