/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librocm_smi64 as of ROCm 7: constant telemetry; FAKE_FAIL makes calls fail, FAKE_BOARD changes
 * links and errors of memory. Without it every board has PCIe 4 x16 and is in one hive.
 */
#include "tests/fakes/board.h"
#include "tests/fakes/driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static uint32_t device_count(void)
{
	const char *text = getenv("FAKE_GPUS");
	return text && *text ? (uint32_t)strtoul(text, NULL, 10) : 2;
}

static int smi_enter(const char *function, uint32_t device)
{
	int status = driver_fault(function);
	if (status)
		return status;
	return !initialised ? INIT_ERROR : device < device_count() ? SUCCESS : INVALID_ARGS;
}

static int set_output(int status, uint64_t *value_p, uint64_t value)
{
	if (status == SUCCESS)
		*value_p = value;
	return status;
}

/* As documented: of a text that does not fit as much as fits is written, without an end. */
static int set_text_output(int status, char *text, uint32_t capacity, const char *value)
{
	size_t bytes = strlen(value) + 1;
	if (status == SUCCESS && (!text || capacity == 0))
		return INVALID_ARGS;
	if (status == SUCCESS)
		memcpy(text, value, bytes < capacity ? bytes : capacity);
	return status == SUCCESS && bytes > capacity ? INSUFFICIENT_SIZE : status;
}

#pragma GCC visibility push(default)

int rsmi_init(uint64_t flags)
{
	int status = driver_fault(__func__);
	initialised |= status == SUCCESS;
	return status;
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
	*devices = device_count();
	return driver_fault(__func__);
}

/* Bits 8 to 15 hold the bus. As the fake driver's. */
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *id)
{
	return set_output(smi_enter(__func__, device), id, (uint64_t)fake_pci_bus(device) << 8);
}

/* RSMI_GPU_BLOCK_UMC is 1, RSMI_GPU_BLOCK_SDMA is 2: both have ECC. */
int rsmi_dev_ecc_enabled_get(uint32_t device, uint64_t *blocks)
{
	return set_output(smi_enter(__func__, device), blocks, 3);
}

/* RSMI_GPU_BLOCK_FUSE, 0x2000, is the last block; those above HDP without XGMI, 0x80, count
 * nothing. */
int rsmi_dev_ecc_count_get(uint32_t device, uint64_t block, struct errors *errors)
{
	int status = smi_enter(__func__, device);
	if (status == SUCCESS && (!errors || block == 0 || (block & (block - 1))))
		status = INVALID_ARGS;
	if (status == SUCCESS && block > 0x40 && block != 0x80)
		status = NOT_SUPPORTED;
	if (status == SUCCESS)
		*errors = (struct errors){
			.correctable = block == 1 ? fake_board(device, 0, "ecc_corrected") : 0,
			.uncorrectable = block == 1 ? fake_board(device, 0, "ecc_uncorrected") : 0};
	return status;
}

int rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, unsigned *kind)
{
	*kind = 1; /* RSMI_CURRENT_POWER */
	return set_output(smi_enter(__func__, device), microwatts, 123456789);
}

/* In units of 15.3 microjoules, of that power since the system started. */
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *microjoules, uint64_t *at_ns)
{
	struct timespec now;
	int status = smi_enter(__func__, device);
	if (status || !count || !at_ns)
		return status ? status : INVALID_ARGS;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	*count = (uint64_t)(123.456789e6 / 15.3 * 1e-9 * (double)*at_ns);
	if (microjoules)
		*microjoules = 15.3f;
	return SUCCESS;
}

int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
	int status = smi_enter(__func__, device);
	return set_output(!status && sensor ? NOT_SUPPORTED : status, microwatts, 500000000);
}

int rsmi_dev_temp_metric_get(uint32_t device, uint32_t sensor, unsigned metric,
			     int64_t *millidegrees)
{
	int status = smi_enter(__func__, device);
	if (!status && (metric || sensor > 1)) /* RSMI_TEMP_CURRENT; edge and junction */
		status = NOT_SUPPORTED;
	if (!status)
		*millidegrees = sensor ? 45000 : 41000;
	return status;
}

/* RSMI_CLK_TYPE_SYS is 0, RSMI_CLK_TYPE_MEM 4. */
int rsmi_dev_gpu_clk_freq_get(uint32_t device, unsigned kind, struct frequencies *f)
{
	int status = smi_enter(__func__, device);
	if (!status && kind != 0 && kind != 4)
		status = NOT_SUPPORTED;
	if (!status)
		*f = (struct frequencies){.num_supported = 2,
					  .current = 1,
					  .frequency = {500000000, kind ? 1600000000 : 1700000000}};
	return status;
}

/* Three states: idle, half the lanes, all. */
int rsmi_dev_pci_bandwidth_get(uint32_t device, struct bandwidth *b)
{
	int status = smi_enter(__func__, device);
	if (status == SUCCESS && !b)
		status = INVALID_ARGS;
	if (!status)
		*b = (struct bandwidth){
			.transfer_rate = {.num_supported = 3,
					  .current = fake_board(device, 16, "pcie_width") < 16 ? 1
						     : fake_board(device, 4, "pcie_generation") < 4
							     ? 0
							     : 2,
					  .frequency = {8000000000, 16000000000, 16000000000}},
			.lanes = {16, (uint32_t)fake_board(device, 8, "pcie_width"), 16}};
	return status;
}

/* 0 of a board that is in no hive. */
int rsmi_dev_xgmi_hive_id_get(uint32_t device, uint64_t *hive)
{
	int status = smi_enter(__func__, device);
	if (status == SUCCESS && !hive)
		status = INVALID_ARGS;
	return set_output(status, hive, status ? 0 : fake_board(device, 0xabcd, "hive"));
}

static int smi_enter_pair(const char *function, uint32_t from, uint32_t to)
{
	int status = smi_enter(function, from);
	return !status && to >= device_count() ? INVALID_ARGS : status;
}

static bool xgmi_is_up(uint32_t from, uint32_t to)
{
	const uint64_t hive = fake_board(from, 0xabcd, "hive");
	return hive && hive == fake_board(to, 0xabcd, "hive") && from != to &&
	       fake_board(from, 1, "xgmi_%u", to) && fake_board(to, 1, "xgmi_%u", from);
}

/* RSMI_IOLINK_TYPE_PCIEXPRESS is 1, _XGMI 2. Two hops through one processor. */
int rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t *hops, unsigned *kind)
{
	int status = smi_enter_pair(__func__, from, to);
	if (status == SUCCESS && (!hops || !kind))
		status = INVALID_ARGS;
	if (status == SUCCESS) {
		*hops = xgmi_is_up(from, to) ? 1 : fake_board(from, 2, "hops");
		*kind = xgmi_is_up(from, to) ? 2 : 1;
	}
	return status;
}

/* MB/s; as documented, only between neighbours by xGMI. */
int rsmi_minmax_bandwidth_get(uint32_t from, uint32_t to, uint64_t *least, uint64_t *most)
{
	int status = smi_enter_pair(__func__, from, to);
	if (status == SUCCESS && (!least || !most || !xgmi_is_up(from, to)))
		status = INVALID_ARGS;
	if (status == SUCCESS) {
		*least = 50000;
		*most = fake_board(from, 100000, "xgmi_rate");
	}
	return status;
}

int rsmi_is_P2P_accessible(uint32_t from, uint32_t to, bool *accessible)
{
	int status = smi_enter_pair(__func__, from, to);
	if (status == SUCCESS && !accessible)
		status = INVALID_ARGS;
	if (status == SUCCESS)
		*accessible = fake_board(from, 1, "p2p");
	return status;
}

struct page {
	uint64_t address, size;
	unsigned status;
};

/* Reserved pages are 0, pending 1, unreservable 2. Without records the number alone is set. */
int rsmi_dev_memory_reserved_pages_get(uint32_t device, uint32_t *count, struct page *pages)
{
	static const char *const keys[] = {"pages_retired", "pages_pending", "pages_failed"};
	uint32_t number = 0;
	int status = smi_enter(__func__, device);
	if (status == SUCCESS && !count)
		status = INVALID_ARGS;
	if (status != SUCCESS)
		return status;
	for (unsigned kind = 0; kind < 3; kind++)
		for (uint64_t i = fake_board(device, 0, "%s", keys[kind]); i; i--) {
			if (pages && number < *count)
				pages[number] = (struct page){4096 * i, 4096, kind};
			number++;
		}
	const bool fits = !pages || number <= *count;
	*count = pages && !fits ? *count : number;
	return fits ? SUCCESS : INSUFFICIENT_SIZE;
}

int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
	return set_output(smi_enter(__func__, device), id, 0x0fae000000000001 + device);
}

/* Consumer boards have none: FAKE_SERIAL=none. */
int rsmi_dev_serial_number_get(uint32_t device, char *text, uint32_t capacity)
{
	const char *kind = getenv("FAKE_SERIAL");
	char serial[32];
	int status = smi_enter(__func__, device);
	if (status == SUCCESS && kind && strcmp(kind, "none") == 0)
		status = NOT_SUPPORTED;
	snprintf(serial, sizeof(serial), "PCB0000%02u", device + 1);
	return set_text_output(status, text, capacity, serial);
}

int rsmi_dev_vbios_version_get(uint32_t device, char *text, uint32_t capacity)
{
	return set_text_output(smi_enter(__func__, device), text, capacity, "113-FAKE-001");
}

int rsmi_version_str_get(unsigned component, char *text, uint32_t capacity)
{
	int status = driver_fault(__func__);
	return set_text_output(!status && component ? INVALID_ARGS : status, text, capacity,
			       "6.10.fake");
}
