/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "device/gpu_reading.h"
#include "device/nvml_abi.h"
#include "lib/err.h"

static struct {
	nvml_init_fn *init;
	nvml_error_string_fn *error_string;
	nvml_by_bus_fn *by_bus;
	nvml_driver_fn *driver;
	nvml_text_fn *vbios;
	nvml_of_kind_fn *clock, *clock_max, *temperature;
	nvml_number_fn *power, *power_limit, *generation, *width, *generation_max, *width_max, *persistence, *compute_mode;
	nvml_two_numbers_fn *ecc, *mig;
	nvml_mask_fn *event_reasons, *throttle_reasons;
	nvml_errors_fn *ecc_errors;
	nvml_violation_fn *violation;
} nvml;

static const struct gpu_symbol symbols[] = {
	{"nvmlInit_v2", &nvml.init, false},
	{"nvmlErrorString", &nvml.error_string, false},
	{"nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus, false},
	{"nvmlSystemGetDriverVersion", &nvml.driver, true},
	{"nvmlDeviceGetVbiosVersion", &nvml.vbios, true},
	{"nvmlDeviceGetClockInfo", &nvml.clock, true},
	{"nvmlDeviceGetMaxClockInfo", &nvml.clock_max, true},
	{"nvmlDeviceGetTemperature", &nvml.temperature, true},
	{"nvmlDeviceGetPowerUsage", &nvml.power, true},
	{"nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit, true},
	{"nvmlDeviceGetCurrPcieLinkGeneration", &nvml.generation, true},
	{"nvmlDeviceGetCurrPcieLinkWidth", &nvml.width, true},
	{"nvmlDeviceGetMaxPcieLinkGeneration", &nvml.generation_max, true},
	{"nvmlDeviceGetMaxPcieLinkWidth", &nvml.width_max, true},
	{"nvmlDeviceGetPersistenceMode", &nvml.persistence, true},
	{"nvmlDeviceGetComputeMode", &nvml.compute_mode, true},
	{"nvmlDeviceGetEccMode", &nvml.ecc, true},
	{"nvmlDeviceGetMigMode", &nvml.mig, true},
	{"nvmlDeviceGetCurrentClocksEventReasons", &nvml.event_reasons, true},
	{"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.throttle_reasons, true},
	{"nvmlDeviceGetTotalEccErrors", &nvml.ecc_errors, true},
	{"nvmlDeviceGetViolationStatus", &nvml.violation, true},
	{NULL, NULL, false},
};

static const char *const files[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
static struct gpu_library library = {.title = "NVML", .files = files, .symbols = symbols};

/* Not a status of NVML's: the function is not there. */
#define NO_FUNCTION 0xfffffffeu

static const char *reason(nvml_status status)
{
	if (status == NO_FUNCTION)
		return "this NVML has no function for it";
	return status == NVML_ABI_NOT_SUPPORTED ? "not supported here (NVML)" : nvml.error_string(status);
}

/* What is read as a number: by one of two kinds of function. */
static const struct number {
	const char *name, *unit;
	nvml_number_fn **plain;
	nvml_of_kind_fn **of_kind;
	unsigned kind;
	double scale;
} numbers[] = {
	{"sm_clock", "Hz", NULL, &nvml.clock, NVML_ABI_CLOCK_SM, 1e6},
	{"memory_clock", "Hz", NULL, &nvml.clock, NVML_ABI_CLOCK_MEM, 1e6},
	{"sm_clock_max", "Hz", NULL, &nvml.clock_max, NVML_ABI_CLOCK_SM, 1e6},
	{"memory_clock_max", "Hz", NULL, &nvml.clock_max, NVML_ABI_CLOCK_MEM, 1e6},
	{"power", "W", &nvml.power, NULL, 0, 1e-3},
	{"power_limit", "W", &nvml.power_limit, NULL, 0, 1e-3},
	{"temperature", "degC", NULL, &nvml.temperature, NVML_ABI_TEMPERATURE_GPU, 1},
	{"pcie_generation", "", &nvml.generation, NULL, 0, 1},
	{"pcie_generation_max", "", &nvml.generation_max, NULL, 0, 1},
	{"pcie_width", "", &nvml.width, NULL, 0, 1},
	{"pcie_width_max", "", &nvml.width_max, NULL, 0, 1},
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void read_number(struct gpu_readings *r, struct nvmlDevice_st *device, const struct number *n)
{
	unsigned value = 0;
	nvml_status status = NO_FUNCTION;
	if (n->plain && *n->plain)
		status = (*n->plain)(device, &value);
	else if (n->of_kind && *n->of_kind)
		status = (*n->of_kind)(device, n->kind, &value);
	if (status == NVML_ABI_SUCCESS)
		gpu_reading_number(r, n->name, n->unit, n->scale * value);
	else
		gpu_reading_unknown(r, n->name, n->unit, reason(status));
}

static void read_ecc_errors(struct gpu_readings *r, struct nvmlDevice_st *device)
{
	unsigned long long count = 0;
	const nvml_status status =
		nvml.ecc_errors ? nvml.ecc_errors(device, NVML_ABI_ERROR_UNCORRECTED, NVML_ABI_VOLATILE_ECC, &count) : NO_FUNCTION;
	if (status == NVML_ABI_SUCCESS)
		gpu_reading_number(r, "ecc_errors", "", (double)count);
	else
		gpu_reading_unknown(r, "ecc_errors", "", reason(status));
}

static void read_thermal_time(struct gpu_readings *r, struct nvmlDevice_st *device)
{
	struct nvml_violation heat = {0};
	const nvml_status status = nvml.violation ? nvml.violation(device, NVML_ABI_POLICY_THERMAL, &heat) : NO_FUNCTION;
	if (status == NVML_ABI_SUCCESS)
		gpu_reading_number(r, "thermal_time", "s", 1e-9 * (double)heat.violation_ns);
	else
		gpu_reading_unknown(r, "thermal_time", "s", reason(status));
}

struct reason_word {
	unsigned bit;
	const char *word;
};

/* What should not be: too hot, or the supply can't keep up. */
static const struct reason_word slowdowns[] = {
	{NVML_ABI_HW_SLOWDOWN, "hardware slowdown"},
	{NVML_ABI_SW_THERMAL, "thermal slowdown"},
	{NVML_ABI_HW_THERMAL, "hardware thermal slowdown"},
	{NVML_ABI_HW_POWER_BRAKE, "power brake"},
};

/* What belongs to how the board is set up: it runs at its power limit, or at the clocks it was told. */
static const struct reason_word settings[] = {
	{NVML_ABI_APPLICATION_CLOCKS, "application clocks"},
	{NVML_ABI_SW_POWER_CAP, "power cap"},
	{NVML_ABI_SYNC_BOOST, "sync boost"},
	{NVML_ABI_DISPLAY_CLOCK, "display clock"},
};
enum { SLOWDOWNS = sizeof(slowdowns) / sizeof(slowdowns[0]), SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static unsigned long long bits_of(const struct reason_word *words, size_t count)
{
	unsigned long long bits = 0;
	for (size_t i = 0; i < count; i++)
		bits |= words[i].bit;
	return bits;
}

/* Those that the mask has, and what of `unnamed` it has as a number. */
static void reason_words(unsigned long long mask, const struct reason_word *words, size_t count, unsigned long long unnamed,
                         char *text, size_t room)
{
	size_t used = 0;
	for (size_t i = 0; i < count && used < room; i++)
		if (mask & words[i].bit)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", words[i].word);
	if (mask & unnamed && used < room)
		used += (size_t)snprintf(text + used, room - used, "%sreason 0x%llx", used ? ", " : "", mask & unnamed);
	if (!used)
		snprintf(text, room, "none");
}

static nvml_status read_reasons(struct nvmlDevice_st *device, unsigned long long *mask_p)
{
	nvml_mask_fn *read = nvml.event_reasons ? nvml.event_reasons : nvml.throttle_reasons;
	return read ? read(device, mask_p) : NO_FUNCTION;
}

/* A reason that has no name here counts as one that should not be. */
static nvml_status read_throttle(struct nvmlDevice_st *device, char *text, size_t room)
{
	unsigned long long mask = 0;
	unsigned long long named = NVML_ABI_IDLE | bits_of(slowdowns, SLOWDOWNS) | bits_of(settings, SETTINGS);
	const nvml_status status = read_reasons(device, &mask);
	if (status == NVML_ABI_SUCCESS)
		reason_words(mask, slowdowns, SLOWDOWNS, ~named, text, room);
	return status;
}

static nvml_status read_clock_reason(struct nvmlDevice_st *device, char *text, size_t room)
{
	unsigned long long mask = 0;
	const nvml_status status = read_reasons(device, &mask);
	if (status == NVML_ABI_SUCCESS)
		reason_words(mask, settings, SETTINGS, 0, text, room);
	return status;
}

static void on_or_off(unsigned mode, char *text, size_t room) { snprintf(text, room, "%s", mode ? "on" : "off"); }

/* As it is now; what a reset would bring is not asked. */
static nvml_status read_two(nvml_two_numbers_fn *read, struct nvmlDevice_st *device, char *text, size_t room)
{
	unsigned now = 0, next = 0;
	const nvml_status status = read ? read(device, &now, &next) : NO_FUNCTION;
	if (status == NVML_ABI_SUCCESS)
		on_or_off(now, text, room);
	return status;
}

static nvml_status read_ecc(struct nvmlDevice_st *device, char *text, size_t room)
{
	return read_two(nvml.ecc, device, text, room);
}

static nvml_status read_mig(struct nvmlDevice_st *device, char *text, size_t room)
{
	return read_two(nvml.mig, device, text, room);
}

static nvml_status read_persistence(struct nvmlDevice_st *device, char *text, size_t room)
{
	unsigned mode = 0;
	const nvml_status status = nvml.persistence ? nvml.persistence(device, &mode) : NO_FUNCTION;
	if (status == NVML_ABI_SUCCESS)
		on_or_off(mode, text, room);
	return status;
}

static nvml_status read_compute_mode(struct nvmlDevice_st *device, char *text, size_t room)
{
	unsigned mode = 0;
	const nvml_status status = nvml.compute_mode ? nvml.compute_mode(device, &mode) : NO_FUNCTION;
	if (status != NVML_ABI_SUCCESS)
		return status;
	if (mode == NVML_ABI_COMPUTE_DEFAULT)
		snprintf(text, room, "default");
	else if (mode == NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS)
		snprintf(text, room, "exclusive process");
	else if (mode == NVML_ABI_COMPUTE_PROHIBITED)
		snprintf(text, room, "prohibited");
	else
		snprintf(text, room, "mode %u", mode);
	return status;
}

static nvml_status read_driver(struct nvmlDevice_st *device, char *text, size_t room)
{
	(void)device;
	return nvml.driver ? nvml.driver(text, (unsigned)room) : NO_FUNCTION;
}

static nvml_status read_vbios(struct nvmlDevice_st *device, char *text, size_t room)
{
	return nvml.vbios ? nvml.vbios(device, text, (unsigned)room) : NO_FUNCTION;
}

static const struct text {
	const char *name;
	nvml_status (*read)(struct nvmlDevice_st *device, char *text, size_t room);
} texts[] = {
	{"throttle", read_throttle}, {"clock_reason", read_clock_reason}, {"ecc", read_ecc}, {"mig", read_mig},
	{"persistence", read_persistence},
	{"compute_mode", read_compute_mode}, {"driver", read_driver}, {"vbios", read_vbios},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static void read_one_text(struct gpu_readings *r, struct nvmlDevice_st *device, const struct text *t)
{
	char text[128] = "";
	const nvml_status status = t->read(device, text, sizeof(text));
	if (status == NVML_ABI_SUCCESS)
		gpu_reading_text(r, t->name, text);
	else
		gpu_reading_unknown(r, t->name, "", reason(status));
}

/* NVML counts its users; ours stays until the process ends, since to start takes long. */
static nvml_status started;
static void start(void) { started = nvml.init(); }

static int find(const char *bus, struct nvmlDevice_st **device_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int rc = gpu_library_open(&library);
	if (rc)
		return rc;
	pthread_once(&once, start);
	if (started != NVML_ABI_SUCCESS)
		return err_note(-ENODEV, "nvmlInit_v2: %s", nvml.error_string(started));
	const nvml_status status = nvml.by_bus(bus, device_p);
	return status == NVML_ABI_SUCCESS ? 0 : err_note(-ENODEV, "nvmlDeviceGetHandleByPciBusId_v2: %s", nvml.error_string(status));
}

static void none(struct gpu_readings *r, const char *why)
{
	for (size_t i = 0; i < NUMBERS; i++)
		gpu_reading_unknown(r, numbers[i].name, numbers[i].unit, why);
	gpu_reading_unknown(r, "ecc_errors", "", why);
	gpu_reading_unknown(r, "thermal_time", "s", why);
	for (size_t i = 0; i < TEXTS; i++)
		gpu_reading_unknown(r, texts[i].name, "", why);
}

static int read_all(const char *bus, struct dev_reading *readings, size_t room, size_t *count_p)
{
	struct gpu_readings r = {.at = readings, .room = room, .count = *count_p};
	struct nvmlDevice_st *device = NULL;
	if (find(bus, &device)) {
		none(&r, err_text());
		*count_p = r.count;
		return 0;
	}
	for (size_t i = 0; i < NUMBERS; i++)
		read_number(&r, device, &numbers[i]);
	read_ecc_errors(&r, device);
	read_thermal_time(&r, device);
	for (size_t i = 0; i < TEXTS; i++)
		read_one_text(&r, device, &texts[i]);
	*count_p = r.count;
	return 0;
}

const struct gpu_manager cuda_manager = {.read = read_all};
