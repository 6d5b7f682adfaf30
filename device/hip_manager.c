/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "device/gpu_reading.h"
#include "device/rocm_smi_abi.h"
#include "device/rocm_smi_list.h"
#include "lib/err.h"

static struct {
	rsmi_abi_init_fn *init;
	rsmi_abi_status_string_fn *status_string;
	rsmi_abi_count_fn *count;
	rsmi_abi_number_fn *pci_id, *ecc_enabled;
	rsmi_abi_power_fn *power;
	rsmi_abi_sensor_fn *power_average, *power_cap;
	rsmi_abi_temperature_fn *temperature;
	rsmi_abi_clocks_fn *clocks;
	rsmi_abi_links_fn *links;
	rsmi_abi_errors_fn *ecc_errors;
	rsmi_abi_text_fn *vbios;
	rsmi_abi_version_fn *version;
} smi;

static const struct gpu_symbol symbols[] = {
	{"rsmi_init", &smi.init, false},
	{"rsmi_status_string", &smi.status_string, false},
	{"rsmi_num_monitor_devices", &smi.count, false},
	{"rsmi_dev_pci_id_get", &smi.pci_id, false},
	{"rsmi_dev_ecc_enabled_get", &smi.ecc_enabled, true},
	{"rsmi_dev_power_get", &smi.power, true},
	{"rsmi_dev_power_ave_get", &smi.power_average, true},
	{"rsmi_dev_power_cap_get", &smi.power_cap, true},
	{"rsmi_dev_temp_metric_get", &smi.temperature, true},
	{"rsmi_dev_gpu_clk_freq_get", &smi.clocks, true},
	{"rsmi_dev_pci_bandwidth_get", &smi.links, true},
	{"rsmi_dev_ecc_count_get", &smi.ecc_errors, true},
	{"rsmi_dev_vbios_version_get", &smi.vbios, true},
	{"rsmi_version_str_get", &smi.version, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1",
                                    "librocm_smi64.so", NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct gpu_library library = {.title = "ROCm SMI", .files = files, .folders = folders, .symbols = symbols};

/* Not a status of the library's: the function is not there, or its answer makes no sense. */
#define NO_FUNCTION 0xfffffffeu
#define NO_SENSE 0xfffffffdu

static const char *reason(rsmi_abi_status status)
{
	const char *text = NULL;
	if (status == NO_FUNCTION)
		return "this ROCm SMI has no function for it";
	if (status == NO_SENSE)
		return "ROCm SMI names no current one";
	if (status == RSMI_ABI_NOT_SUPPORTED || status == RSMI_ABI_NOT_YET_IMPLEMENTED)
		return "not supported here (ROCm SMI)";
	return smi.status_string(status, &text) == RSMI_ABI_SUCCESS && text ? text : "ROCm SMI gives an unknown error";
}

static void number(struct gpu_readings *r, const char *name, const char *unit, double value, rsmi_abi_status status)
{
	if (status == RSMI_ABI_SUCCESS)
		gpu_reading_number(r, name, unit, value);
	else
		gpu_reading_unknown(r, name, unit, reason(status));
}

static void text(struct gpu_readings *r, const char *name, const char *value, rsmi_abi_status status)
{
	if (status == RSMI_ABI_SUCCESS)
		gpu_reading_text(r, name, value);
	else
		gpu_reading_unknown(r, name, "", reason(status));
}

static void read_clocks(struct gpu_readings *r, uint32_t device, unsigned kind, const char *name, const char *name_max)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	const rsmi_abi_status status = smi.clocks ? smi.clocks(device, kind, &raw) : NO_FUNCTION;
	rocm_smi_list(&raw, &list);
	const bool known = list.current < list.count;
	number(r, name, "Hz", known ? (double)list.hz[list.current] : 0, status ? status : known ? 0 : NO_SENSE);
	uint64_t most = 0;
	for (uint32_t i = 0; i < list.count; i++)
		most = list.hz[i] > most ? list.hz[i] : most;
	number(r, name_max, "Hz", (double)most, status ? status : most ? 0 : NO_SENSE);
}

static void read_power(struct gpu_readings *r, uint32_t device)
{
	uint64_t microwatts = 0;
	unsigned kind = 0;
	rsmi_abi_status status = smi.power ? smi.power(device, &microwatts, &kind) : NO_FUNCTION;
	if (status != RSMI_ABI_SUCCESS && smi.power_average)
		status = smi.power_average(device, 0, &microwatts);
	number(r, "power", "W", 1e-6 * (double)microwatts, status);
	status = smi.power_cap ? smi.power_cap(device, 0, &microwatts) : NO_FUNCTION;
	number(r, "power_limit", "W", 1e-6 * (double)microwatts, status);
}

/* Newer boards have no sensor at the edge, and one at the hottest place. */
static void read_temperature(struct gpu_readings *r, uint32_t device)
{
	int64_t thousandths = 0;
	rsmi_abi_status status = NO_FUNCTION;
	if (smi.temperature)
		status = smi.temperature(device, RSMI_ABI_EDGE, RSMI_ABI_TEMPERATURE_CURRENT, &thousandths);
	if (status != RSMI_ABI_SUCCESS && smi.temperature)
		status = smi.temperature(device, RSMI_ABI_JUNCTION, RSMI_ABI_TEMPERATURE_CURRENT, &thousandths);
	number(r, "temperature", "degC", 1e-3 * (double)thousandths, status);
}

static void read_link(struct gpu_readings *r, uint32_t device)
{
	rsmi_abi_links raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	const rsmi_abi_status status = smi.links ? smi.links(device, &raw) : NO_FUNCTION;
	rocm_smi_links(&raw, &list);
	const bool known = list.current < list.count;
	const unsigned generation = known ? rocm_smi_generation(list.hz[list.current]) : 0;
	unsigned best = 0;
	uint32_t widest = 0;
	for (uint32_t i = 0; i < list.count; i++) {
		best = rocm_smi_generation(list.hz[i]) > best ? rocm_smi_generation(list.hz[i]) : best;
		widest = list.lanes[i] > widest ? list.lanes[i] : widest;
	}
	number(r, "pcie_generation", "", generation, status ? status : generation ? 0 : NO_SENSE);
	number(r, "pcie_generation_max", "", best, status ? status : best ? 0 : NO_SENSE);
	number(r, "pcie_width", "", known ? list.lanes[list.current] : 0, status ? status : known ? 0 : NO_SENSE);
	number(r, "pcie_width_max", "", widest, status ? status : widest ? 0 : NO_SENSE);
}

static void read_ecc(struct gpu_readings *r, uint32_t device)
{
	struct rsmi_errors errors = {0};
	uint64_t blocks = 0;
	rsmi_abi_status status = smi.ecc_errors ? smi.ecc_errors(device, RSMI_ABI_BLOCK_UMC, &errors) : NO_FUNCTION;
	number(r, "ecc_errors", "", (double)errors.uncorrected, status);
	status = smi.ecc_enabled ? smi.ecc_enabled(device, &blocks) : NO_FUNCTION;
	text(r, "ecc", blocks & RSMI_ABI_BLOCK_UMC ? "on" : "off", status);
}

static void read_names(struct gpu_readings *r, uint32_t device)
{
	char driver[128] = "", vbios[128] = "";
	rsmi_abi_status status = smi.version ? smi.version(RSMI_ABI_DRIVER, driver, sizeof(driver)) : NO_FUNCTION;
	text(r, "driver", driver, status);
	status = smi.vbios ? smi.vbios(device, vbios, sizeof(vbios)) : NO_FUNCTION;
	text(r, "vbios", vbios, status);
}

/* ------------------------------------------------------------------ finding the device */

/* The library stays in use until the process ends, since to start takes long. */
static rsmi_abi_status started;
static void start(void) { started = smi.init(0); }

static int find(const char *bus, uint32_t *device_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t count = 0;
	uint64_t wanted, id = 0;
	int rc = gpu_library_open(&library);
	if (rc)
		return rc;
	pthread_once(&once, start);
	if (started != RSMI_ABI_SUCCESS)
		return err_note(-ENODEV, "rsmi_init: %s", reason(started));
	if (!rocm_smi_place(bus, &wanted))
		return err_note(-EINVAL, "'%s' is no PCI address", bus);
	const rsmi_abi_status status = smi.count(&count);
	if (status != RSMI_ABI_SUCCESS)
		return err_note(-ENODEV, "rsmi_num_monitor_devices: %s", reason(status));
	for (uint32_t i = 0; i < count; i++) {
		if (smi.pci_id(i, &id) != RSMI_ABI_SUCCESS || (id & ROCM_SMI_PLACE) != wanted)
			continue;
		*device_p = i;
		return 0;
	}
	return err_note(-ENODEV, "ROCm SMI knows no device at %s", bus);
}

static void none(struct gpu_readings *r, const char *why)
{
	static const char *const names[][2] = {
		{"sm_clock", "Hz"},      {"sm_clock_max", "Hz"},     {"memory_clock", "Hz"}, {"memory_clock_max", "Hz"},
		{"power", "W"},          {"power_limit", "W"},       {"temperature", "degC"}, {"pcie_generation", ""},
		{"pcie_generation_max", ""}, {"pcie_width", ""},     {"pcie_width_max", ""}, {"ecc_errors", ""},
		{"ecc", ""},             {"driver", ""},             {"vbios", ""},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		gpu_reading_unknown(r, names[i][0], names[i][1], why);
}

static int read_all(const char *bus, struct dev_reading *readings, size_t room, size_t *count_p)
{
	struct gpu_readings r = {.at = readings, .room = room, .count = *count_p};
	uint32_t device = 0;
	if (find(bus, &device)) {
		none(&r, err_text());
	} else {
		read_clocks(&r, device, RSMI_ABI_CLOCK_SYSTEM, "sm_clock", "sm_clock_max");
		read_clocks(&r, device, RSMI_ABI_CLOCK_MEMORY, "memory_clock", "memory_clock_max");
		read_power(&r, device);
		read_temperature(&r, device);
		read_link(&r, device);
		read_ecc(&r, device);
		read_names(&r, device);
	}
	gpu_reading_unknown(&r, "throttle", "", "ROCm SMI does not say");
	gpu_reading_unknown(&r, "clock_reason", "", "ROCm SMI does not say");
	gpu_reading_unknown(&r, "thermal_time", "s", "ROCm SMI does not say");
	*count_p = r.count;
	return 0;
}

const struct gpu_manager hip_manager = {.read = read_all};
