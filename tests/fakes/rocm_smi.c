/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librocm_smi64 as of ROCm 7: what the board says of itself; always the same, but for FAKE_FAIL.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/driver.h"

enum { SUCCESS = 0, INVALID_ARGS = 1, NOT_SUPPORTED = 2, INIT_ERROR = 8, INSUFFICIENT_SIZE = 11 };

#define FREQUENCIES 33

struct frequencies {
	bool has_deep_sleep;
	uint32_t num_supported, current;
	uint64_t frequency[FREQUENCIES];
};

struct bandwidth {
	struct frequencies transfer_rate;
	uint32_t lanes[FREQUENCIES];
};

struct errors {
	uint64_t correctable, uncorrectable;
};

static bool initialised;

static uint32_t count(void)
{
	const char *text = getenv("FAKE_GPUS");
	return text && *text ? (uint32_t)strtoul(text, NULL, 10) : 2;
}

static int enter(const char *function, uint32_t device)
{
	int rc = driver_fault(function);
	if (rc)
		return rc;
	return !initialised ? INIT_ERROR : device < count() ? SUCCESS : INVALID_ARGS;
}

static int give(int rc, uint64_t *value_p, uint64_t value)
{
	if (rc == SUCCESS)
		*value_p = value;
	return rc;
}

static int give_text(int rc, char *text, uint32_t room, const char *value)
{
	if (rc == SUCCESS && room <= strlen(value))
		rc = INSUFFICIENT_SIZE;
	if (rc == SUCCESS)
		memcpy(text, value, strlen(value) + 1);
	return rc;
}

#pragma GCC visibility push(default)

int rsmi_init(uint64_t flags)
{
	int rc = driver_fault(__func__);
	(void)flags;
	initialised |= rc == SUCCESS;
	return rc;
}

int rsmi_status_string(int status, const char **text)
{
	*text = status == SUCCESS         ? "RSMI_STATUS_SUCCESS"
	        : status == NOT_SUPPORTED ? "RSMI_STATUS_NOT_SUPPORTED"
	        : status == INVALID_ARGS  ? "RSMI_STATUS_INVALID_ARGS"
	        : status == INIT_ERROR    ? "RSMI_STATUS_INIT_ERROR"
	                                  : "RSMI_STATUS_UNKNOWN_ERROR";
	return SUCCESS;
}

int rsmi_num_monitor_devices(uint32_t *devices)
{
	*devices = count();
	return driver_fault(__func__);
}

/* The bus is in bits 8 to 15; the driver's addresses are 0000:01:00.0 and up. */
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id) { return give(enter(__func__, device), id, (uint64_t)(device + 1) << 8); }

/* Of RSMI_GPU_BLOCK_UMC, 1, and RSMI_GPU_BLOCK_SDMA, 2. */
int rsmi_dev_ecc_enabled_get(uint32_t device, uint64_t *blocks) { return give(enter(__func__, device), blocks, 3); }

int rsmi_dev_ecc_count_get(uint32_t device, uint64_t block, struct errors *errors)
{
	*errors = (struct errors){.correctable = 7, .uncorrectable = block == 1 ? 2 : 0};
	return enter(__func__, device);
}

int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, unsigned *kind)
{
	*kind = 1; /* RSMI_CURRENT_POWER */
	return give(enter(__func__, device), microwatts, 123456789);
}

int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
	int rc = enter(__func__, device);
	return give(!rc && sensor ? NOT_SUPPORTED : rc, microwatts, 500000000);
}

int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, unsigned metric, int64_t *millidegrees)
{
	int rc = enter(__func__, device);
	if (!rc && (metric || sensor > 1)) /* RSMI_TEMP_CURRENT; edge and junction */
		rc = NOT_SUPPORTED;
	if (!rc)
		*millidegrees = sensor ? 45000 : 41000;
	return rc;
}

/* RSMI_CLK_TYPE_SYS is 0, RSMI_CLK_TYPE_MEM 4. */
int rsmi_dev_gpu_clk_freq_get(uint32_t device, unsigned kind, struct frequencies *f)
{
	int rc = enter(__func__, device);
	if (!rc && kind != 0 && kind != 4)
		rc = NOT_SUPPORTED;
	if (!rc)
		*f = (struct frequencies){.num_supported = 2, .current = 1, .frequency = {500000000, kind ? 1600000000 : 1700000000}};
	return rc;
}

int rsmi_dev_pci_bandwidth_get(uint32_t device, struct bandwidth *b)
{
	int rc = enter(__func__, device);
	if (!rc)
		*b = (struct bandwidth){.transfer_rate = {.num_supported = 2, .current = 0, .frequency = {8000000000, 16000000000}},
		                        .lanes = {16, 16}};
	return rc;
}

int rsmi_dev_vbios_version_get(uint32_t device, char *text, uint32_t room)
{
	return give_text(enter(__func__, device), text, room, "113-FAKE-001");
}

int rsmi_version_str_get(unsigned component, char *text, uint32_t room)
{
	int rc = driver_fault(__func__);
	return give_text(!rc && component ? INVALID_ARGS : rc, text, room, "6.10.fake");
}
