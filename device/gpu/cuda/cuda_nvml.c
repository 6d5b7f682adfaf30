/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cuda_nvml.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

struct cuda_nvml cuda_nvml;

static const struct dynlib_symbol symbols[] = {
	{"nvmlInit_v2", &cuda_nvml.init, false},
	{"nvmlErrorString", &cuda_nvml.error_string, false},
	{"nvmlDeviceGetHandleByPciBusId_v2", &cuda_nvml.by_bus, false},
	{"nvmlSystemGetDriverVersion", &cuda_nvml.driver, true},
	{"nvmlDeviceGetUUID", &cuda_nvml.uuid, true},
	{"nvmlDeviceGetSerial", &cuda_nvml.serial, true},
	{"nvmlDeviceGetVbiosVersion", &cuda_nvml.vbios, true},
	{"nvmlDeviceGetClockInfo", &cuda_nvml.clock, true},
	{"nvmlDeviceGetMaxClockInfo", &cuda_nvml.clock_max, true},
	{"nvmlDeviceGetTemperature", &cuda_nvml.temperature, true},
	{"nvmlDeviceGetPowerUsage", &cuda_nvml.power, true},
	{"nvmlDeviceGetEnforcedPowerLimit", &cuda_nvml.power_limit, true},
	{"nvmlDeviceGetTotalEnergyConsumption", &cuda_nvml.energy, true},
	{"nvmlDeviceGetCurrPcieLinkGeneration", &cuda_nvml.generation, true},
	{"nvmlDeviceGetCurrPcieLinkWidth", &cuda_nvml.width, true},
	{"nvmlDeviceGetMaxPcieLinkGeneration", &cuda_nvml.generation_max, true},
	{"nvmlDeviceGetMaxPcieLinkWidth", &cuda_nvml.width_max, true},
	{"nvmlDeviceGetPersistenceMode", &cuda_nvml.persistence, true},
	{"nvmlDeviceGetComputeMode", &cuda_nvml.compute_mode, true},
	{"nvmlDeviceGetEccMode", &cuda_nvml.ecc, true},
	{"nvmlDeviceGetMigMode", &cuda_nvml.mig, true},
	{"nvmlDeviceGetCurrentClocksEventReasons", &cuda_nvml.event_reasons, true},
	{"nvmlDeviceGetCurrentClocksThrottleReasons", &cuda_nvml.throttle_reasons, true},
	{"nvmlDeviceGetTotalEccErrors", &cuda_nvml.ecc_errors, true},
	{"nvmlDeviceGetViolationStatus", &cuda_nvml.violation, true},
	{"nvmlDeviceGetGpuMaxPcieLinkGeneration", &cuda_nvml.device_generation_max, true},
	{"nvmlDeviceGetNvLinkState", &cuda_nvml.link_state, true},
	{"nvmlDeviceGetNvLinkVersion", &cuda_nvml.link_version, true},
	{"nvmlDeviceGetNvLinkCapability", &cuda_nvml.link_capability, true},
	{"nvmlDeviceGetNvLinkRemoteDeviceType", &cuda_nvml.link_end, true},
	{"nvmlDeviceGetNvLinkRemotePciInfo_v2", &cuda_nvml.link_pci, true},
	{"nvmlDeviceGetNvLinkErrorCounter", &cuda_nvml.link_errors, true},
	{"nvmlDeviceGetTopologyCommonAncestor", &cuda_nvml.ancestor, true},
	{"nvmlDeviceGetP2PStatus", &cuda_nvml.p2p, true},
	{"nvmlDeviceGetFieldValues", &cuda_nvml.fields, true},
	{"nvmlDeviceGetRemappedRows", &cuda_nvml.remapped, true},
	{"nvmlDeviceGetRetiredPages", &cuda_nvml.retired, true},
	{"nvmlDeviceGetRetiredPagesPendingStatus", &cuda_nvml.pages_pending, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
static struct dynlib library = {.title = "NVML", .files = files, .symbols = symbols};

const char *cuda_nvml_reason(nvml_status result)
{
	if (result == CUDA_NVML_NO_FUNCTION)
		return "this version of NVML has no function for it";
	return result == NVML_ABI_NOT_SUPPORTED ? "not supported by this device (NVML)"
						: cuda_nvml.error_string(result);
}

/* Samples that are numbers; two kinds of function read them. */
static const struct number_sample {
	const char *name, *unit;
	nvml_number_fn **plain;
	nvml_of_kind_fn **of_kind;
	unsigned kind;
	double scale;
} numbers[] = {
	{"sm_clock", "Hz", NULL, &cuda_nvml.clock, NVML_ABI_CLOCK_SM, 1e6},
	{"memory_clock", "Hz", NULL, &cuda_nvml.clock, NVML_ABI_CLOCK_MEM, 1e6},
	{"sm_clock_max", "Hz", NULL, &cuda_nvml.clock_max, NVML_ABI_CLOCK_SM, 1e6},
	{"memory_clock_max", "Hz", NULL, &cuda_nvml.clock_max, NVML_ABI_CLOCK_MEM, 1e6},
	{"power", "W", &cuda_nvml.power, NULL, 0, 1e-3},
	{"power_limit", "W", &cuda_nvml.power_limit, NULL, 0, 1e-3},
	{"temperature", "degC", NULL, &cuda_nvml.temperature, NVML_ABI_TEMPERATURE_GPU, 1},
	{"pcie_generation", "", &cuda_nvml.generation, NULL, 0, 1},
	{"pcie_generation_max", "", &cuda_nvml.generation_max, NULL, 0, 1},
	{"pcie_width", "", &cuda_nvml.width, NULL, 0, 1},
	{"pcie_width_max", "", &cuda_nvml.width_max, NULL, 0, 1},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void append_number(struct dev_telemetry_list *r, struct nvmlDevice_st *device,
			  const struct number_sample *n)
{
	unsigned value = 0;
	nvml_status result = CUDA_NVML_NO_FUNCTION;
	if (n->plain && *n->plain)
		result = (*n->plain)(device, &value);
	else if (n->of_kind && *n->of_kind)
		result = (*n->of_kind)(device, n->kind, &value);
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_number(r, n->name, n->unit, n->scale * value);
	else
		dev_telemetry_unknown(r, n->name, n->unit, cuda_nvml_reason(result));
}

/* NVML counts thousandths of a joule since the driver was loaded. */
static void append_energy(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	unsigned long long millijoules = 0;
	const nvml_status result =
		cuda_nvml.energy ? cuda_nvml.energy(device, &millijoules) : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_number(r, "energy", "J", 1e-3 * (double)millijoules);
	else
		dev_telemetry_unknown(r, "energy", "J", cuda_nvml_reason(result));
}

static void append_ecc_errors(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	unsigned long long count = 0;
	const nvml_status result =
		cuda_nvml.ecc_errors ? cuda_nvml.ecc_errors(device, NVML_ABI_ERROR_UNCORRECTED,
							    NVML_ABI_VOLATILE_ECC, &count)
				     : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_number(r, "ecc_errors", "", (double)count);
	else
		dev_telemetry_unknown(r, "ecc_errors", "", cuda_nvml_reason(result));
}

static void append_thermal_time(struct dev_telemetry_list *r, struct nvmlDevice_st *device)
{
	struct nvml_violation heat = {0};
	const nvml_status result =
		cuda_nvml.violation ? cuda_nvml.violation(device, NVML_ABI_POLICY_THERMAL, &heat)
				    : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_number(r, "thermal_time", "s", 1e-9 * (double)heat.violation_ns);
	else
		dev_telemetry_unknown(r, "thermal_time", "s", cuda_nvml_reason(result));
}

struct reason_name {
	unsigned bit;
	const char *word;
};

/* Faults: too hot, or the power supply is too weak. */
static const struct reason_name slowdowns[] = {
	{NVML_ABI_HW_SLOWDOWN, "hardware slowdown"},
	{NVML_ABI_SW_THERMAL, "thermal slowdown"},
	{NVML_ABI_HW_THERMAL, "hardware thermal slowdown"},
	{NVML_ABI_HW_POWER_BRAKE, "power brake"},
};

/* Settings: the board runs at its power limit, or at fixed clocks. */
static const struct reason_name settings[] = {
	{NVML_ABI_APPLICATION_CLOCKS, "application clocks"},
	{NVML_ABI_SW_POWER_CAP, "power cap"},
	{NVML_ABI_SYNC_BOOST, "sync boost"},
	{NVML_ABI_DISPLAY_CLOCK, "display clock"},
};
enum {
	SLOWDOWNS = sizeof(slowdowns) / sizeof(slowdowns[0]),
	SETTINGS = sizeof(settings) / sizeof(settings[0])
};

static unsigned long long reason_bits(const struct reason_name *words, size_t count)
{
	unsigned long long bits = 0;
	for (size_t i = 0; i < count; i++)
		bits |= words[i].bit;
	return bits;
}

/* Joins the words of the mask's bits; bits of the mask that are in `unnamed` are appended as a
 * number. */
static void format_reasons(unsigned long long mask, const struct reason_name *words, size_t count,
			   unsigned long long unnamed, char *text, size_t capacity)
{
	size_t used = 0;
	for (size_t i = 0; i < count && used < capacity; i++)
		if (mask & words[i].bit)
			used += (size_t)snprintf(text + used, capacity - used, "%s%s",
						 used ? ", " : "", words[i].word);
	if (mask & unnamed && used < capacity)
		used += (size_t)snprintf(text + used, capacity - used, "%sreason 0x%llx",
					 used ? ", " : "", mask & unnamed);
	if (!used)
		snprintf(text, capacity, "none");
}

static nvml_status read_reasons(struct nvmlDevice_st *device, unsigned long long *mask_p)
{
	nvml_mask_fn *read =
		cuda_nvml.event_reasons ? cuda_nvml.event_reasons : cuda_nvml.throttle_reasons;
	return read ? read(device, mask_p) : CUDA_NVML_NO_FUNCTION;
}

/* A reason without a name here counts as a fault. */
static nvml_status read_throttle(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	unsigned long long mask = 0;
	unsigned long long named =
		NVML_ABI_IDLE | reason_bits(slowdowns, SLOWDOWNS) | reason_bits(settings, SETTINGS);
	const nvml_status result = read_reasons(device, &mask);
	if (result == NVML_ABI_SUCCESS)
		format_reasons(mask, slowdowns, SLOWDOWNS, ~named, text, capacity);
	return result;
}

static nvml_status read_clock_reason(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	unsigned long long mask = 0;
	const nvml_status result = read_reasons(device, &mask);
	if (result == NVML_ABI_SUCCESS)
		format_reasons(mask, settings, SETTINGS, 0, text, capacity);
	return result;
}

static void format_on_off(unsigned mode, char *text, size_t capacity)
{
	snprintf(text, capacity, "%s", mode ? "on" : "off");
}

/* The present mode; the mode after the next reset is ignored. */
static nvml_status read_on_off(nvml_two_numbers_fn *read, struct nvmlDevice_st *device, char *text,
			       size_t capacity)
{
	unsigned now = 0, next = 0;
	const nvml_status result = read ? read(device, &now, &next) : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		format_on_off(now, text, capacity);
	return result;
}

static nvml_status read_ecc(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return read_on_off(cuda_nvml.ecc, device, text, capacity);
}

static nvml_status read_mig(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return read_on_off(cuda_nvml.mig, device, text, capacity);
}

static nvml_status read_persistence(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	unsigned mode = 0;
	const nvml_status result = cuda_nvml.persistence ? cuda_nvml.persistence(device, &mode)
							 : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		format_on_off(mode, text, capacity);
	return result;
}

static nvml_status read_compute_mode(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	unsigned mode = 0;
	const nvml_status result = cuda_nvml.compute_mode ? cuda_nvml.compute_mode(device, &mode)
							  : CUDA_NVML_NO_FUNCTION;
	if (result != NVML_ABI_SUCCESS)
		return result;
	if (mode == NVML_ABI_COMPUTE_DEFAULT)
		snprintf(text, capacity, "default");
	else if (mode == NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS)
		snprintf(text, capacity, "exclusive process");
	else if (mode == NVML_ABI_COMPUTE_PROHIBITED)
		snprintf(text, capacity, "prohibited");
	else
		snprintf(text, capacity, "mode %u", mode);
	return result;
}

static nvml_status read_driver(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return cuda_nvml.driver ? cuda_nvml.driver(text, (unsigned)capacity)
				: CUDA_NVML_NO_FUNCTION;
}

static nvml_status read_uuid(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return cuda_nvml.uuid ? cuda_nvml.uuid(device, text, (unsigned)capacity)
			      : CUDA_NVML_NO_FUNCTION;
}

static nvml_status read_serial(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return cuda_nvml.serial ? cuda_nvml.serial(device, text, (unsigned)capacity)
				: CUDA_NVML_NO_FUNCTION;
}

static nvml_status read_vbios(struct nvmlDevice_st *device, char *text, size_t capacity)
{
	return cuda_nvml.vbios ? cuda_nvml.vbios(device, text, (unsigned)capacity)
			       : CUDA_NVML_NO_FUNCTION;
}

static const struct text_sample {
	const char *name;
	nvml_status (*read)(struct nvmlDevice_st *device, char *text, size_t capacity);
} texts[] = {
	{"throttle", read_throttle},
	{"clock_reason", read_clock_reason},
	{"ecc", read_ecc},
	{"mig", read_mig},
	{"persistence", read_persistence},
	{"compute_mode", read_compute_mode},
	{"driver", read_driver},
	{"uuid", read_uuid},
	{"serial", read_serial},
	{"vbios", read_vbios},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static void append_text(struct dev_telemetry_list *r, struct nvmlDevice_st *device,
			const struct text_sample *t)
{
	char text[128] = "";
	const nvml_status result = t->read(device, text, sizeof(text));
	if (result == NVML_ABI_SUCCESS)
		dev_telemetry_text(r, t->name, text);
	else
		dev_telemetry_unknown(r, t->name, "", cuda_nvml_reason(result));
}

/* NVML stays initialised until the process ends, since initialising takes long. */
static nvml_status started;
static void start_nvml(void) { started = cuda_nvml.init(); }

int cuda_nvml_find(const char *bus, struct nvmlDevice_st **device_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int status = dynlib_open(&library);
	if (status)
		return status;
	pthread_once(&once, start_nvml);
	if (started != NVML_ABI_SUCCESS)
		return err_note(-ENODEV, "nvmlInit_v2: %s", cuda_nvml.error_string(started));
	const nvml_status result = cuda_nvml.by_bus(bus, device_p);
	return result == NVML_ABI_SUCCESS
		       ? 0
		       : err_note(-ENODEV, "nvmlDeviceGetHandleByPciBusId_v2: %s",
				  cuda_nvml.error_string(result));
}

static void append_all_unknown(struct dev_telemetry_list *r, const char *why)
{
	for (size_t i = 0; i < NUMBERS; i++)
		dev_telemetry_unknown(r, numbers[i].name, numbers[i].unit, why);
	dev_telemetry_unknown(r, "energy", "J", why);
	dev_telemetry_unknown(r, "ecc_errors", "", why);
	dev_telemetry_unknown(r, "thermal_time", "s", why);
	for (size_t i = 0; i < TEXTS; i++)
		dev_telemetry_unknown(r, texts[i].name, "", why);
}

static int read_telemetry(const char *bus, struct dev_telemetry *samples, size_t capacity,
			  size_t *count_p)
{
	struct dev_telemetry_list r = {.samples = samples, .capacity = capacity, .count = *count_p};
	struct nvmlDevice_st *device = NULL;
	if (cuda_nvml_find(bus, &device)) {
		append_all_unknown(&r, err_text());
		*count_p = r.count;
		return 0;
	}
	for (size_t i = 0; i < NUMBERS; i++)
		append_number(&r, device, &numbers[i]);
	append_energy(&r, device);
	append_ecc_errors(&r, device);
	append_thermal_time(&r, device);
	for (size_t i = 0; i < TEXTS; i++)
		append_text(&r, device, &texts[i]);
	*count_p = r.count;
	return 0;
}

const struct gpu_management cuda_management = {
	.read = read_telemetry, .links = cuda_links, .path = cuda_path, .health = cuda_health};
