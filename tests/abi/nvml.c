/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/cuda/nvml_abi.h against <nvml.h>.
 */
#include <nvml.h>

#include "device/gpu/cuda/nvml_abi.h"
#include "tests/abi/abi.h"

same_value(NVML_ABI_SUCCESS, NVML_SUCCESS);
same_value(NVML_ABI_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
same_value(NVML_ABI_CLOCK_SM, NVML_CLOCK_SM);
same_value(NVML_ABI_CLOCK_MEM, NVML_CLOCK_MEM);
same_value(NVML_ABI_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
same_value(NVML_ABI_ERROR_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
same_value(NVML_ABI_VOLATILE_ECC, NVML_VOLATILE_ECC);
same_value(NVML_ABI_DISABLED, NVML_FEATURE_DISABLED);
same_value(NVML_ABI_ENABLED, NVML_FEATURE_ENABLED);
same_value(NVML_ABI_DISABLED, NVML_DEVICE_MIG_DISABLE);
same_value(NVML_ABI_ENABLED, NVML_DEVICE_MIG_ENABLE);
same_value(NVML_ABI_COMPUTE_DEFAULT, NVML_COMPUTEMODE_DEFAULT);
same_value(NVML_ABI_COMPUTE_PROHIBITED, NVML_COMPUTEMODE_PROHIBITED);
same_value(NVML_ABI_COMPUTE_EXCLUSIVE_PROCESS, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
same_value(NVML_ABI_POLICY_THERMAL, NVML_PERF_POLICY_THERMAL);
_Static_assert(sizeof(struct nvml_violation) == sizeof(nvmlViolationTime_t), "size");
_Static_assert(offsetof(struct nvml_violation, violation_ns) ==
		       offsetof(nvmlViolationTime_t, violationTime),
	       "place");
same_value(NVML_ABI_IDLE, nvmlClocksThrottleReasonGpuIdle);
same_value(NVML_ABI_APPLICATION_CLOCKS, nvmlClocksThrottleReasonApplicationsClocksSetting);
same_value(NVML_ABI_SW_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap);
same_value(NVML_ABI_HW_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown);
same_value(NVML_ABI_SYNC_BOOST, nvmlClocksThrottleReasonSyncBoost);
same_value(NVML_ABI_SW_THERMAL, nvmlClocksThrottleReasonSwThermalSlowdown);
same_value(NVML_ABI_HW_THERMAL, nvmlClocksThrottleReasonHwThermalSlowdown);
same_value(NVML_ABI_HW_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
same_value(NVML_ABI_DISPLAY_CLOCK, nvmlClocksThrottleReasonDisplayClockSetting);

same_function(nvml_init_fn, nvmlInit_v2);
same_function(nvml_error_string_fn, nvmlErrorString);
same_function(nvml_by_bus_fn, nvmlDeviceGetHandleByPciBusId_v2);
same_function(nvml_driver_fn, nvmlSystemGetDriverVersion);
same_function(nvml_text_fn, nvmlDeviceGetUUID);
same_function(nvml_text_fn, nvmlDeviceGetSerial);
same_function(nvml_text_fn, nvmlDeviceGetVbiosVersion);
same_function(nvml_number_fn, nvmlDeviceGetPowerUsage);
same_function(nvml_number_fn, nvmlDeviceGetEnforcedPowerLimit);
same_function(nvml_number_fn, nvmlDeviceGetCurrPcieLinkGeneration);
same_function(nvml_number_fn, nvmlDeviceGetCurrPcieLinkWidth);
same_function(nvml_number_fn, nvmlDeviceGetMaxPcieLinkGeneration);
same_function(nvml_number_fn, nvmlDeviceGetMaxPcieLinkWidth);
same_function(nvml_number_fn, nvmlDeviceGetPersistenceMode);
same_function(nvml_number_fn, nvmlDeviceGetComputeMode);
same_function(nvml_of_kind_fn, nvmlDeviceGetClockInfo);
same_function(nvml_of_kind_fn, nvmlDeviceGetMaxClockInfo);
same_function(nvml_of_kind_fn, nvmlDeviceGetTemperature);
same_function(nvml_two_numbers_fn, nvmlDeviceGetEccMode);
same_function(nvml_two_numbers_fn, nvmlDeviceGetMigMode);
same_function(nvml_mask_fn, nvmlDeviceGetCurrentClocksThrottleReasons);
same_function(nvml_errors_fn, nvmlDeviceGetTotalEccErrors);
