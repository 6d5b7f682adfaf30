/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/hip/hip_smi.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/hip/rocm_smi_list.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct hip_smi hip_smi;

static const struct dynlib_symbol symbols[] = {
	{"rsmi_init", &hip_smi.init, false},
	{"rsmi_status_string", &hip_smi.status_string, false},
	{"rsmi_num_monitor_devices", &hip_smi.count, false},
	{"rsmi_dev_pci_id_get", &hip_smi.pci_id, false},
	{"rsmi_dev_ecc_enabled_get", &hip_smi.ecc_enabled, true},
	{"rsmi_dev_power_get", &hip_smi.power, true},
	{"rsmi_dev_power_ave_get", &hip_smi.power_average, true},
	{"rsmi_dev_power_cap_get", &hip_smi.power_cap, true},
	{"rsmi_dev_energy_count_get", &hip_smi.energy, true},
	{"rsmi_dev_temp_metric_get", &hip_smi.temperature, true},
	{"rsmi_dev_gpu_clk_freq_get", &hip_smi.clocks, true},
	{"rsmi_dev_pci_bandwidth_get", &hip_smi.links, true},
	{"rsmi_dev_ecc_count_get", &hip_smi.ecc_errors, true},
	{"rsmi_dev_unique_id_get", &hip_smi.unique_id, true},
	{"rsmi_dev_serial_number_get", &hip_smi.serial, true},
	{"rsmi_dev_vbios_version_get", &hip_smi.vbios, true},
	{"rsmi_version_str_get", &hip_smi.version, true},
	{"rsmi_dev_xgmi_hive_id_get", &hip_smi.hive, true},
	{"rsmi_topo_get_link_type", &hip_smi.link_type, true},
	{"rsmi_minmax_bandwidth_get", &hip_smi.link_rates, true},
	{"rsmi_is_P2P_accessible", &hip_smi.accessible, true},
	{"rsmi_dev_memory_reserved_pages_get", &hip_smi.pages, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
				    "librocm_smi64.so.5", "librocm_smi64.so.1",
				    "librocm_smi64.so",   NULL};
static const char *const folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct dynlib library = {
	.title = "ROCm SMI", .files = files, .folders = folders, .symbols = symbols};

const char *hip_smi_reason(rsmi_abi_status result)
{
	const char *text = NULL;
	if (result == HIP_SMI_NO_FUNCTION)
		return "this version of ROCm SMI has no function for it";
	if (result == HIP_SMI_NO_VALUE)
		return "ROCm SMI reports no current value";
	if (result == RSMI_ABI_NOT_SUPPORTED || result == RSMI_ABI_NOT_YET_IMPLEMENTED)
		return "not supported by this device (ROCm SMI)";
	return hip_smi.status_string(result, &text) == RSMI_ABI_SUCCESS && text
		       ? text
		       : "unknown error of ROCm SMI";
}

static void append_number(struct dev_telemetry_list *r, const char *name, const char *unit,
			  double value, rsmi_abi_status result)
{
	if (result == RSMI_ABI_SUCCESS)
		dev_telemetry_number(r, name, unit, value);
	else
		dev_telemetry_unknown(r, name, unit, hip_smi_reason(result));
}

static void append_text(struct dev_telemetry_list *r, const char *name, const char *value,
			rsmi_abi_status result)
{
	if (result == RSMI_ABI_SUCCESS)
		dev_telemetry_text(r, name, value);
	else
		dev_telemetry_unknown(r, name, "", hip_smi_reason(result));
}

static void append_clocks(struct dev_telemetry_list *r, uint32_t device, unsigned kind,
			  const char *name, const char *name_max)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	const rsmi_abi_status result =
		hip_smi.clocks ? hip_smi.clocks(device, kind, &raw) : HIP_SMI_NO_FUNCTION;
	rocm_smi_list(&raw, &list);
	const bool known = list.current < list.count;
	append_number(r, name, "Hz", known ? (double)list.hz[list.current] : 0,
		      result  ? result
		      : known ? 0
			      : HIP_SMI_NO_VALUE);
	uint64_t max_hz = 0;
	for (uint32_t i = 0; i < list.count; i++)
		max_hz = list.hz[i] > max_hz ? list.hz[i] : max_hz;
	append_number(r, name_max, "Hz", (double)max_hz,
		      result   ? result
		      : max_hz ? 0
			       : HIP_SMI_NO_VALUE);
}

static void append_power(struct dev_telemetry_list *r, uint32_t device)
{
	uint64_t microwatts = 0;
	unsigned kind = 0;
	rsmi_abi_status result =
		hip_smi.power ? hip_smi.power(device, &microwatts, &kind) : HIP_SMI_NO_FUNCTION;
	if (result != RSMI_ABI_SUCCESS && hip_smi.power_average)
		result = hip_smi.power_average(device, 0, &microwatts);
	append_number(r, "power", "W", 1e-6 * (double)microwatts, result);
	result =
		hip_smi.power_cap ? hip_smi.power_cap(device, 0, &microwatts) : HIP_SMI_NO_FUNCTION;
	append_number(r, "power_limit", "W", 1e-6 * (double)microwatts, result);
}

/* Since the driver was loaded. A device without the counter says 0. */
static void append_energy(struct dev_telemetry_list *r, uint32_t device)
{
	uint64_t count = 0, at_ns = 0;
	float microjoules = 0;
	const rsmi_abi_status result =
		hip_smi.energy ? hip_smi.energy(device, &count, &microjoules, &at_ns)
			       : HIP_SMI_NO_FUNCTION;
	append_number(r, "energy", "J", 1e-6 * (double)microjoules * (double)count,
		      result  ? result
		      : count ? RSMI_ABI_SUCCESS
			      : HIP_SMI_NO_VALUE);
}

/* Newer boards have a sensor at the hottest place instead of at the edge. */
static void append_temperature(struct dev_telemetry_list *r, uint32_t device)
{
	int64_t thousandths = 0;
	rsmi_abi_status result = HIP_SMI_NO_FUNCTION;
	if (hip_smi.temperature)
		result = hip_smi.temperature(device, RSMI_ABI_EDGE, RSMI_ABI_TEMPERATURE_CURRENT,
					     &thousandths);
	if (result != RSMI_ABI_SUCCESS && hip_smi.temperature)
		result = hip_smi.temperature(device, RSMI_ABI_JUNCTION,
					     RSMI_ABI_TEMPERATURE_CURRENT, &thousandths);
	append_number(r, "temperature", "degC", 1e-3 * (double)thousandths, result);
}

static void append_link(struct dev_telemetry_list *r, uint32_t device)
{
	struct dev_link link = {.kind = "PCIe"};
	const rsmi_abi_status result = hip_smi_pcie(device, &link);
	const struct {
		const char *name;
		unsigned value;
	} numbers[] = {{"pcie_generation", link.generation},
		       {"pcie_generation_max", link.generation_max},
		       {"pcie_width", link.lanes},
		       {"pcie_width_max", link.lanes_max}};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		append_number(r, numbers[i].name, "", numbers[i].value,
			      result             ? result
			      : numbers[i].value ? RSMI_ABI_SUCCESS
						 : HIP_SMI_NO_VALUE);
}

static void append_ecc(struct dev_telemetry_list *r, uint32_t device)
{
	struct rsmi_errors errors = {0};
	uint64_t blocks = 0;
	rsmi_abi_status result = hip_smi.ecc_errors
					 ? hip_smi.ecc_errors(device, RSMI_ABI_BLOCK_UMC, &errors)
					 : HIP_SMI_NO_FUNCTION;
	append_number(r, "ecc_errors", "", (double)errors.uncorrected, result);
	result = hip_smi.ecc_enabled ? hip_smi.ecc_enabled(device, &blocks) : HIP_SMI_NO_FUNCTION;
	append_text(r, "ecc", blocks & RSMI_ABI_BLOCK_UMC ? "on" : "off", result);
}

/* The unique id is the one in the UUID of AMD's tools. */
static void append_identity(struct dev_telemetry_list *r, uint32_t device)
{
	uint64_t id = 0;
	char uuid[32] = "", serial[128] = "";
	rsmi_abi_status result =
		hip_smi.unique_id ? hip_smi.unique_id(device, &id) : HIP_SMI_NO_FUNCTION;
	snprintf(uuid, sizeof(uuid), "GPU-%016" PRIx64, id);
	append_text(r, "uuid", uuid,
		    result == RSMI_ABI_SUCCESS && id == 0 ? HIP_SMI_NO_VALUE : result);
	result = hip_smi.serial ? hip_smi.serial(device, serial, sizeof(serial))
				: HIP_SMI_NO_FUNCTION;
	append_text(r, "serial", serial,
		    result == RSMI_ABI_SUCCESS && !serial[0] ? HIP_SMI_NO_VALUE : result);
}

static void append_versions(struct dev_telemetry_list *r, uint32_t device)
{
	char driver[128] = "", vbios[128] = "";
	rsmi_abi_status result = hip_smi.version
					 ? hip_smi.version(RSMI_ABI_DRIVER, driver, sizeof(driver))
					 : HIP_SMI_NO_FUNCTION;
	append_text(r, "driver", driver, result);
	result = hip_smi.vbios ? hip_smi.vbios(device, vbios, sizeof(vbios)) : HIP_SMI_NO_FUNCTION;
	append_text(r, "vbios", vbios, result);
}

/* ------------------------------------------------------------------ finding the device */

/* The library stays initialised until the process ends, since initialising takes long. */
static rsmi_abi_status started;
static void start_smi(void) { started = hip_smi.init(0); }

int hip_smi_find(const char *bus, uint32_t *device_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t count = 0;
	uint64_t wanted, id = 0;
	int status = dynlib_open(&library);
	if (status)
		return status;
	pthread_once(&once, start_smi);
	if (started != RSMI_ABI_SUCCESS)
		return err_note(-ENODEV, "rsmi_init: %s", hip_smi_reason(started));
	if (!rocm_smi_pci_id(bus, &wanted))
		return err_note(-EINVAL, "'%s' is not a PCI address", bus);
	const rsmi_abi_status result = hip_smi.count(&count);
	if (result != RSMI_ABI_SUCCESS)
		return err_note(-ENODEV, "rsmi_num_monitor_devices: %s", hip_smi_reason(result));
	for (uint32_t i = 0; i < count; i++) {
		if (hip_smi.pci_id(i, &id) != RSMI_ABI_SUCCESS ||
		    (id & ROCM_SMI_PCI_MASK) != wanted)
			continue;
		*device_p = i;
		return 0;
	}
	return err_note(-ENODEV, "ROCm SMI has no device at %s", bus);
}

static void append_all_unknown(struct dev_telemetry_list *r, const char *why)
{
	static const char *const names[][2] = {
		{"sm_clock", "Hz"},
		{"sm_clock_max", "Hz"},
		{"memory_clock", "Hz"},
		{"memory_clock_max", "Hz"},
		{"power", "W"},
		{"power_limit", "W"},
		{"energy", "J"},
		{"temperature", "degC"},
		{"pcie_generation", ""},
		{"pcie_generation_max", ""},
		{"pcie_width", ""},
		{"pcie_width_max", ""},
		{"ecc_errors", ""},
		{"ecc", ""},
		{"uuid", ""},
		{"serial", ""},
		{"driver", ""},
		{"vbios", ""},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dev_telemetry_unknown(r, names[i][0], names[i][1], why);
}

static int read_telemetry(const char *bus, struct dev_telemetry *samples, size_t capacity,
			  size_t *count_p)
{
	struct dev_telemetry_list r = {.samples = samples, .capacity = capacity, .count = *count_p};
	uint32_t device = 0;
	if (hip_smi_find(bus, &device)) {
		append_all_unknown(&r, err_text());
	} else {
		append_clocks(&r, device, RSMI_ABI_CLOCK_SYSTEM, "sm_clock", "sm_clock_max");
		append_clocks(&r, device, RSMI_ABI_CLOCK_MEMORY, "memory_clock",
			      "memory_clock_max");
		append_power(&r, device);
		append_energy(&r, device);
		append_temperature(&r, device);
		append_link(&r, device);
		append_ecc(&r, device);
		append_identity(&r, device);
		append_versions(&r, device);
	}
	dev_telemetry_unknown(&r, "throttle", "", "ROCm SMI does not report it");
	dev_telemetry_unknown(&r, "clock_reason", "", "ROCm SMI does not report it");
	dev_telemetry_unknown(&r, "thermal_time", "s", "ROCm SMI does not report it");
	*count_p = r.count;
	return 0;
}

const struct gpu_management hip_management = {
	.read = read_telemetry, .links = hip_links, .path = hip_path, .health = hip_health};
