/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnvidia-ml: constant telemetry; FAKE_FAIL, FAKE_CLOCK_REASONS, FAKE_THERMAL_NS, FAKE_SERIAL and
 * FAKE_BOARD change it. Without FAKE_BOARD a board has PCIe 5 x16, and four NVLinks to the other
 * boards in turn; a lone board's lead nowhere.
 */
#include "tests/fakes/board.h"
#include "tests/fakes/driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static struct device devices[256];
static bool initialised;

/* The injected fault; or an error before nvmlInit_v2() and of what is no handle. */
static int nvml_enter(const char *function, const struct device *device)
{
	int status = driver_fault(function);
	if (status)
		return status;
	if (!initialised)
		return UNINITIALIZED;
	return device >= devices && device < devices + 256 ? SUCCESS : INVALID_ARGUMENT;
}

static unsigned nvml_device_count(void)
{
	const char *text = getenv("FAKE_GPUS");
	return text && *text ? (unsigned)strtoul(text, NULL, 10) : 2;
}

static unsigned long long env_u64(const char *name, unsigned long long fallback)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : fallback;
}

/* NULL is an invalid argument. */
static int nvml_set(int status, unsigned *value_p, unsigned value)
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

/* In millijoules, of that power since the system started. */
int nvmlDeviceGetTotalEnergyConsumption(struct device *device, unsigned long long *millijoules)
{
	struct timespec now;
	int status = nvml_enter(__func__, device);
	if (status || !millijoules)
		return status ? status : INVALID_ARGUMENT;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*millijoules = (unsigned long long)(123.456 * (1e3 * (double)now.tv_sec +
						       1e-6 * (double)now.tv_nsec));
	return SUCCESS;
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
	int status = nvml_enter(__func__, device);
	if (!status && !fake_board(device->board, 0, "mig"))
		status = NOT_SUPPORTED;
	if (!status)
		*now = *next = 1;
	return status;
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

enum { MAX_LINKS = 18 };

static unsigned board_setting(const struct device *d, const char *key, unsigned fallback)
{
	return (unsigned)fake_board(d->board, fallback, "%s", key);
}

/* ------------------------------------------------------------------ which link leads where */

static unsigned link_count(const struct device *d) { return board_setting(d, "nvlinks", 4); }

static bool has_switch(const struct device *d) { return board_setting(d, "nvlink_switch", 0); }

/* The other boards in turn. */
static unsigned peer_of(const struct device *d, unsigned link)
{
	return (d->board + 1 + link % (nvml_device_count() - 1)) % nvml_device_count();
}

static bool link_is_up(const struct device *d, unsigned link)
{
	return (has_switch(d) || nvml_device_count() > 1) &&
	       link < board_setting(d, "nvlinks_of_board", MAX_LINKS) &&
	       fake_board(d->board, 1, "nvlink_%u", link);
}

/* As documented, a device without NVLink does not support the call whatever the link. */
static int enter_link(const char *function, const struct device *d, unsigned link)
{
	int status = nvml_enter(function, d);
	if (status == SUCCESS && link_count(d) == 0)
		status = NOT_SUPPORTED;
	return status == SUCCESS && link >= link_count(d) ? INVALID_ARGUMENT : status;
}

static int enter_active_link(const char *function, const struct device *d, unsigned link)
{
	int status = enter_link(function, d, link);
	return status == SUCCESS && !link_is_up(d, link) ? NOT_SUPPORTED : status;
}

/* NVML_FEATURE_ENABLED is 1. */
int nvmlDeviceGetNvLinkState(struct device *d, unsigned link, unsigned *active)
{
	int status = enter_link(__func__, d, link);
	return nvml_set(status, active, status == SUCCESS && link_is_up(d, link));
}

/* NVML_NVLINK_VERSION_3_0 is 4. */
int nvmlDeviceGetNvLinkVersion(struct device *d, unsigned link, unsigned *version)
{
	return nvml_set(enter_link(__func__, d, link), version, 4);
}

/* NVML_NVLINK_CAP_VALID is 5. */
int nvmlDeviceGetNvLinkCapability(struct device *d, unsigned link, unsigned capability,
				  unsigned *result)
{
	int status = enter_link(__func__, d, link);
	if (status == SUCCESS && capability > 5)
		status = INVALID_ARGUMENT;
	return nvml_set(status, result,
			status == SUCCESS &&
				(capability != 5 ||
				 link < board_setting(d, "nvlinks_of_board", MAX_LINKS)));
}

/* A GPU is 0, a switch 2. */
int nvmlDeviceGetNvLinkRemoteDeviceType(struct device *d, unsigned link, unsigned *type)
{
	int status = enter_active_link(__func__, d, link);
	return nvml_set(status, type, status == SUCCESS && has_switch(d) ? 2 : 0);
}

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, ids, subsystem;
	char text[32];
};

/* The fake switches begin at 0000:F0:00.0; links lead to them in turn. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct device *d, unsigned link, struct pci_info *pci)
{
	int status = enter_active_link(__func__, d, link);
	if (status == SUCCESS && !pci)
		status = INVALID_ARGUMENT;
	if (status != SUCCESS)
		return status;
	memset(pci, 0, sizeof(*pci));
	pci->bus = has_switch(d) ? 0xf0 + link % board_setting(d, "nvlink_switch", 0)
				 : fake_pci_bus(peer_of(d, link));
	snprintf(pci->legacy, sizeof(pci->legacy), "0000:%02X:00.0", pci->bus & 0xff);
	snprintf(pci->text, sizeof(pci->text), "00000000:%02X:00.0", pci->bus & 0xff);
	return SUCCESS;
}

/* Replays are 0, recoveries 1, checksum errors 2 and 3. ECC errors, 4, are of older boards. */
int nvmlDeviceGetNvLinkErrorCounter(struct device *d, unsigned link, unsigned counter,
				    unsigned long long *count)
{
	int status = enter_link(__func__, d, link);
	if (status == SUCCESS && (counter > 4 || !count))
		status = INVALID_ARGUMENT;
	if (status == SUCCESS && counter == 4)
		status = NOT_SUPPORTED;
	if (status == SUCCESS)
		*count = counter == 1 ? fake_board(d->board, 0, "nvlink_recoveries_%u", link) : 0;
	return status;
}

struct field {
	unsigned field, scope;
	long long stamp_us, took_us;
	unsigned type, status;
	union {
		unsigned number;
		unsigned long long wide;
	} value;
};

/* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON is 90, _GET_SPEED of the link in `scope` 164; unsigned
 * integers are of type 1. */
int nvmlDeviceGetFieldValues(struct device *d, int count, struct field *fields)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && (!fields || count <= 0))
		status = INVALID_ARGUMENT;
	for (int i = 0; i < count && status == SUCCESS; i++) {
		fields[i].type = 1;
		fields[i].value.wide = 0;
		fields[i].value.number = 25781;
		if (link_count(d) == 0 || (fields[i].field != 90 && fields[i].field != 164))
			fields[i].status = NOT_SUPPORTED;
		else if (fields[i].field == 164 && fields[i].scope >= link_count(d))
			fields[i].status = INVALID_ARGUMENT;
		else
			fields[i].status = SUCCESS;
	}
	return status;
}

/* ------------------------------------------------------------------ PCIe, paths */

/* With pcie_wakes an idle link reports generation 1 so many times. */
int nvmlDeviceGetCurrPcieLinkGeneration(struct device *d, unsigned *value)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && d->generations_read++ < board_setting(d, "pcie_wakes", 0))
		return nvml_set(status, value, 1);
	return nvml_set(status, value, status ? 0 : board_setting(d, "pcie_generation", 5));
}

int nvmlDeviceGetCurrPcieLinkWidth(struct device *d, unsigned *value)
{
	int status = nvml_enter(__func__, d);
	return nvml_set(status, value, status ? 0 : board_setting(d, "pcie_width", 16));
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct device *d, unsigned *value)
{
	int status = nvml_enter(__func__, d);
	return nvml_set(status, value, status ? 0 : board_setting(d, "pcie_generation_max", 5));
}

int nvmlDeviceGetMaxPcieLinkWidth(struct device *d, unsigned *value)
{
	return nvml_set(nvml_enter(__func__, d), value, 16);
}

int nvmlDeviceGetGpuMaxPcieLinkGeneration(struct device *d, unsigned *value)
{
	return nvml_set(nvml_enter(__func__, d), value, 5);
}

/* NVML_TOPOLOGY_HOSTBRIDGE is 30. */
int nvmlDeviceGetTopologyCommonAncestor(struct device *a, struct device *b, unsigned *level)
{
	int status = nvml_enter(__func__, a);
	if (status == SUCCESS)
		status = nvml_enter(__func__, b);
	return nvml_set(status, level, status ? 0 : board_setting(a, "meet", 30));
}

static bool is_joined(const struct device *a, const struct device *b)
{
	for (unsigned i = 0; i < link_count(a); i++)
		if (link_is_up(a, i) && (has_switch(a) || peer_of(a, i) == b->board))
			return true;
	return false;
}

/* NVML_P2P_CAPS_INDEX_NVLINK is 2, _PCI the last; NVML_P2P_STATUS_OK is 0, _NOT_SUPPORTED 5. */
int nvmlDeviceGetP2PStatus(struct device *a, struct device *b, unsigned index, unsigned *result)
{
	int status = nvml_enter(__func__, a);
	if (status == SUCCESS)
		status = nvml_enter(__func__, b);
	if (status == SUCCESS && (index > 4 || a == b))
		status = INVALID_ARGUMENT;
	return nvml_set(status, result,
			status                           ? 0
			: index == 2 && !is_joined(a, b) ? 5
							 : board_setting(a, "p2p", 0));
}

/* ------------------------------------------------------------------ errors of memory */

/* Corrected errors are 0, uncorrected 1; since the driver was
 * loaded 0, since the board was made 1. */
int nvmlDeviceGetTotalEccErrors(struct device *d, unsigned kind, unsigned counter,
				unsigned long long *count)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && (kind > 1 || counter > 1 || !count))
		status = INVALID_ARGUMENT;
	if (status == SUCCESS)
		*count = fake_board(d->board, 0, "ecc_%scorrected%s", kind ? "un" : "",
				    counter ? "_total" : "");
	return status;
}

/* Boards before Ampere retire pages instead: rows=0. */
int nvmlDeviceGetRemappedRows(struct device *d, unsigned *corrected, unsigned *uncorrected,
			      unsigned *pending, unsigned *failed)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && (!corrected || !uncorrected || !pending || !failed))
		status = INVALID_ARGUMENT;
	if (status == SUCCESS && !board_setting(d, "rows", 1))
		status = NOT_SUPPORTED;
	if (status != SUCCESS)
		return status;
	*corrected = board_setting(d, "remapped_corrected", 0);
	*uncorrected = board_setting(d, "remapped_uncorrected", 0);
	*pending = board_setting(d, "remap_pending", 0);
	*failed = board_setting(d, "remap_failed", 0);
	return SUCCESS;
}

/* Two single-bit errors are cause 0, a double-bit error is 1. */
int nvmlDeviceGetRetiredPages(struct device *d, unsigned cause, unsigned *count,
			      unsigned long long *addresses)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && (cause > 1 || !count || (*count && !addresses)))
		status = INVALID_ARGUMENT;
	if (status == SUCCESS && board_setting(d, "rows", 1))
		status = NOT_SUPPORTED;
	if (status != SUCCESS)
		return status;
	const unsigned pages =
		board_setting(d, cause ? "retired_uncorrected" : "retired_corrected", 0);
	const unsigned capacity = *count;
	*count = pages;
	for (unsigned i = 0; i < pages && i < capacity; i++)
		addresses[i] = 0x10000u * (i + 1);
	return capacity < pages ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetRetiredPagesPendingStatus(struct device *d, unsigned *pending)
{
	int status = nvml_enter(__func__, d);
	if (status == SUCCESS && board_setting(d, "rows", 1))
		status = NOT_SUPPORTED;
	return nvml_set(status, pending, status ? 0 : board_setting(d, "retire_pending", 0));
}
