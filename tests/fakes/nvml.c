/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnvidia-ml: constant telemetry; FAKE_FAIL, FAKE_CLOCK_REASONS, FAKE_THERMAL_NS, FAKE_SERIAL and
 * FAKE_BOARD change it. Links and errors of memory are in nvml_board.c.
 */
#include "tests/fakes/board.h"
#include "tests/fakes/driver.h"
#include "tests/fakes/nvml_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device devices[256];
static bool initialised;

int nvml_enter(const char *function, const struct device *device)
{
	int status = driver_fault(function);
	if (status)
		return status;
	if (!initialised)
		return UNINITIALIZED;
	return device >= devices && device < devices + 256 ? SUCCESS : INVALID_ARGUMENT;
}

unsigned nvml_device_count(void)
{
	const char *text = getenv("FAKE_GPUS");
	return text && *text ? (unsigned)strtoul(text, NULL, 10) : 2;
}

static unsigned long long env_u64(const char *name, unsigned long long fallback)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : fallback;
}

int nvml_set(int status, unsigned *value_p, unsigned value)
{
	if (status == SUCCESS && !value_p)
		return INVALID_ARGUMENT;
	if (status == SUCCESS)
		*value_p = value;
	return status;
}

/* As documented, the text must fit with its end; NULL is an invalid argument. */
static int set_text_output(int status, char *text, unsigned capacity, const char *value)
{
	if (status == SUCCESS && !text)
		status = INVALID_ARGUMENT;
	if (status == SUCCESS && capacity <= strlen(value))
		status = INSUFFICIENT_SIZE;
	if (status == SUCCESS)
		memcpy(text, value, strlen(value) + 1);
	return status;
}

#pragma GCC visibility push(default)

int nvmlInit_v2(void)
{
	int status = driver_fault(__func__);
	initialised |= status == SUCCESS;
	return status;
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

int nvmlDeviceGetHandleByPciBusId_v2(const char *text, struct device **device)
{
	unsigned domain, bus;
	int status = nvml_enter(__func__, devices);
	if (status)
		return status;
	if (sscanf(text, "%x:%x:", &domain, &bus) != 2)
		return INVALID_ARGUMENT;
	const unsigned board = bus - fake_pci_bus(0);
	if (domain || bus < fake_pci_bus(0) || board >= nvml_device_count() || board > 255)
		return NOT_FOUND;
	*device = &devices[board];
	(*device)->board = board;
	return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned capacity)
{
	return set_text_output(nvml_enter(__func__, devices), text, capacity, "580.0.fake");
}

/* The driver's, in lower case. */
int nvmlDeviceGetUUID(struct device *device, char *text, unsigned capacity)
{
	char uuid[64] = "";
	int status = nvml_enter(__func__, device);
	if (status == SUCCESS)
		snprintf(uuid, sizeof(uuid), "GPU-0fae0000-0000-4000-8000-0000000000%02x",
			 device->board + 1);
	return set_text_output(status, text, capacity, uuid);
}

/* 13 digits, as on boards with an InfoROM; others are not supported (FAKE_SERIAL=none). */
int nvmlDeviceGetSerial(struct device *device, char *text, unsigned capacity)
{
	const char *kind = getenv("FAKE_SERIAL");
	char serial[30] = "";
	int status = nvml_enter(__func__, device);
	if (status == SUCCESS && kind && strcmp(kind, "none") == 0)
		status = NOT_SUPPORTED;
	if (status == SUCCESS)
		snprintf(serial, sizeof(serial), "16547200010%02u", device->board + 1);
	return set_text_output(status, text, capacity, serial);
}

int nvmlDeviceGetVbiosVersion(struct device *device, char *text, unsigned capacity)
{
	return set_text_output(nvml_enter(__func__, device), text, capacity, "96.00.00.00.01");
}

/* NVML_CLOCK_SM is 1, NVML_CLOCK_MEM 2; MHz. */
int nvmlDeviceGetClockInfo(struct device *device, unsigned kind, unsigned *mhz)
{
	return nvml_set(nvml_enter(__func__, device), mhz,
			kind == 1   ? 1500
			: kind == 2 ? 2600
				    : 345);
}

int nvmlDeviceGetMaxClockInfo(struct device *device, unsigned kind, unsigned *mhz)
{
	return nvml_set(nvml_enter(__func__, device), mhz,
			kind == 1   ? 1980
			: kind == 2 ? 2619
				    : 1980);
}

int nvmlDeviceGetTemperature(struct device *device, unsigned sensor, unsigned *celsius)
{
	int status = nvml_enter(__func__, device);
	return nvml_set(!status && sensor ? INVALID_ARGUMENT : status, celsius, 41);
}

int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts)
{
	return nvml_set(nvml_enter(__func__, device), milliwatts, 123456);
}

int nvmlDeviceGetEnforcedPowerLimit(struct device *device, unsigned *milliwatts)
{
	return nvml_set(nvml_enter(__func__, device), milliwatts, 700000);
}

int nvmlDeviceGetPersistenceMode(struct device *device, unsigned *value)
{
	return nvml_set(nvml_enter(__func__, device), value, 1);
}
int nvmlDeviceGetComputeMode(struct device *device, unsigned *value)
{
	return nvml_set(nvml_enter(__func__, device), value, 0);
}

int nvmlDeviceGetEccMode(struct device *device, unsigned *now, unsigned *next)
{
	*next = 1;
	return nvml_set(nvml_enter(__func__, device), now, 1);
}

int nvmlDeviceGetMigMode(struct device *device, unsigned *now, unsigned *next)
{
	(void)now, (void)next;
	int status = nvml_enter(__func__, device);
	return status ? status : NOT_SUPPORTED;
}

/* nvmlClocksEventReasonSwPowerCap by default. */
int nvmlDeviceGetCurrentClocksEventReasons(struct device *device, unsigned long long *mask)
{
	*mask = env_u64("FAKE_CLOCK_REASONS", 0x4);
	return nvml_enter(__func__, device);
}

struct violation {
	unsigned long long reference_us, violation_ns;
};

/* Policy 0 is NVML_PERF_POLICY_POWER, 1 is NVML_PERF_POLICY_THERMAL. The board is always at its
 * power cap. */
int nvmlDeviceGetViolationStatus(struct device *device, unsigned policy,
				 struct violation *violation)
{
	static _Atomic unsigned long long calls;
	int status = nvml_enter(__func__, device);
	if (status || policy > 11)
		return status ? status : INVALID_ARGUMENT;
	calls++;
	violation->reference_us = 1000 * calls;
	violation->violation_ns = policy == 0   ? 1000000 * calls
				  : policy == 1 ? env_u64("FAKE_THERMAL_NS", 0) * calls
						: 0;
	return SUCCESS;
}
