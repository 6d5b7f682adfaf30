/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/cuda/nvml_abi.h against <nvml.h>.
 */
#include <nvml.h>

#define NVML_ABI_TYPES
typedef nvmlPciInfo_t nvml_pci_info;
typedef nvmlFieldValue_t nvml_field;
#include "device/gpu/cuda/nvml_abi.h"
#include "tests/abi/abi.h"

same_value(NVML_ABI_SUCCESS, NVML_SUCCESS);
same_value(NVML_ABI_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
same_value(NVML_ABI_INVALID_ARGUMENT, NVML_ERROR_INVALID_ARGUMENT);
same_value(NVML_ABI_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
same_value(NVML_ABI_CLOCK_SM, NVML_CLOCK_SM);
same_value(NVML_ABI_CLOCK_MEM, NVML_CLOCK_MEM);
same_value(NVML_ABI_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
same_value(NVML_ABI_ERROR_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
same_value(NVML_ABI_ERROR_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
same_value(NVML_ABI_VOLATILE_ECC, NVML_VOLATILE_ECC);
same_value(NVML_ABI_AGGREGATE_ECC, NVML_AGGREGATE_ECC);
same_value(NVML_ABI_RETIRED_CORRECTED, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS);
same_value(NVML_ABI_RETIRED_UNCORRECTED, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
same_value(NVML_ABI_LINK_VALID, NVML_NVLINK_CAP_VALID);
same_value(NVML_ABI_LINK_REPLAYS, NVML_NVLINK_ERROR_DL_REPLAY);
same_value(NVML_ABI_LINK_RECOVERIES, NVML_NVLINK_ERROR_DL_RECOVERY);
same_value(NVML_ABI_LINK_CRC_FLIT, NVML_NVLINK_ERROR_DL_CRC_FLIT);
same_value(NVML_ABI_P2P_READ, NVML_P2P_CAPS_INDEX_READ);
same_value(NVML_ABI_P2P_NVLINK, NVML_P2P_CAPS_INDEX_NVLINK);
same_value(NVML_ABI_P2P_OK, NVML_P2P_STATUS_OK);
same_value(NVML_ABI_LINK_SPEED_COMMON, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON);
same_value(NVML_ABI_VALUE_UNSIGNED, NVML_VALUE_TYPE_UNSIGNED_INT);
_Static_assert(NVML_ABI_MAX_LINKS >= NVML_NVLINK_MAX_LINKS, "links");
same_size(struct nvml_pci_info, nvmlPciInfo_t);
same_field(struct nvml_pci_info, domain, nvmlPciInfo_t, domain);
same_field(struct nvml_pci_info, bus, nvmlPciInfo_t, bus);
same_field(struct nvml_pci_info, device, nvmlPciInfo_t, device);
same_field(struct nvml_pci_info, text, nvmlPciInfo_t, busId);
same_size(struct nvml_field, nvmlFieldValue_t);
same_field(struct nvml_field, field, nvmlFieldValue_t, fieldId);
same_field(struct nvml_field, type, nvmlFieldValue_t, valueType);
same_field(struct nvml_field, status, nvmlFieldValue_t, nvmlReturn);
same_field(struct nvml_field, value, nvmlFieldValue_t, value);
/* Since CUDA 11. */
#ifdef NVML_FI_DEV_NVLINK_GET_SPEED
same_field(struct nvml_field, scope, nvmlFieldValue_t, scopeId);
same_value(NVML_ABI_LINK_SPEED, NVML_FI_DEV_NVLINK_GET_SPEED);
same_value(NVML_ABI_LINK_TO_GPU, NVML_NVLINK_DEVICE_TYPE_GPU);
same_value(NVML_ABI_LINK_TO_NPU, NVML_NVLINK_DEVICE_TYPE_IBMNPU);
same_value(NVML_ABI_LINK_TO_SWITCH, NVML_NVLINK_DEVICE_TYPE_SWITCH);
same_function(nvml_link_number_fn, nvmlDeviceGetNvLinkRemoteDeviceType);
same_function(nvml_number_fn, nvmlDeviceGetGpuMaxPcieLinkGeneration);
#endif
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
same_function(nvml_wide_fn, nvmlDeviceGetTotalEnergyConsumption);
same_function(nvml_errors_fn, nvmlDeviceGetTotalEccErrors);
same_function(nvml_link_number_fn, nvmlDeviceGetNvLinkState);
same_function(nvml_link_number_fn, nvmlDeviceGetNvLinkVersion);
same_function(nvml_link_capability_fn, nvmlDeviceGetNvLinkCapability);
same_function(nvml_link_errors_fn, nvmlDeviceGetNvLinkErrorCounter);
same_function(nvml_link_pci_fn, nvmlDeviceGetNvLinkRemotePciInfo_v2);
same_function(nvml_ancestor_fn, nvmlDeviceGetTopologyCommonAncestor);
same_function(nvml_p2p_fn, nvmlDeviceGetP2PStatus);
same_function(nvml_fields_fn, nvmlDeviceGetFieldValues);
same_function(nvml_remapped_fn, nvmlDeviceGetRemappedRows);
same_function(nvml_retired_fn, nvmlDeviceGetRetiredPages);
same_function(nvml_number_fn, nvmlDeviceGetRetiredPagesPendingStatus);
