/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/hip/rocm_smi_abi.h against <rocm_smi/rocm_smi.h>, before ROCm
 * 6 or since.
 */
#include <rocm_smi/rocm_smi.h>

#define RSMI_ABI_TYPES
typedef rsmi_frequencies_t rsmi_abi_frequencies;
typedef rsmi_pcie_bandwidth_t rsmi_abi_links;
typedef rsmi_error_count_t rsmi_abi_errors;
typedef rsmi_retired_page_record_t rsmi_abi_page;
#include "device/gpu/hip/rocm_smi_abi.h"
#include "tests/abi/abi.h"

same_value(RSMI_ABI_SUCCESS, RSMI_STATUS_SUCCESS);
same_value(RSMI_ABI_NOT_SUPPORTED, RSMI_STATUS_NOT_SUPPORTED);
same_value(RSMI_ABI_NOT_YET_IMPLEMENTED, RSMI_STATUS_NOT_YET_IMPLEMENTED);
same_value(RSMI_ABI_INSUFFICIENT_SIZE, RSMI_STATUS_INSUFFICIENT_SIZE);
same_value(RSMI_ABI_CLOCK_SYSTEM, RSMI_CLK_TYPE_SYS);
same_value(RSMI_ABI_CLOCK_MEMORY, RSMI_CLK_TYPE_MEM);
same_value(RSMI_ABI_TEMPERATURE_CURRENT, RSMI_TEMP_CURRENT);
same_value(RSMI_ABI_EDGE, RSMI_TEMP_TYPE_EDGE);
same_value(RSMI_ABI_JUNCTION, RSMI_TEMP_TYPE_JUNCTION);
same_value(RSMI_ABI_BLOCK_UMC, RSMI_GPU_BLOCK_UMC);
same_value(RSMI_ABI_DRIVER, RSMI_SW_COMP_DRIVER);
same_value(RSMI_ABI_LINK_PCIE, RSMI_IOLINK_TYPE_PCIEXPRESS);
same_value(RSMI_ABI_LINK_XGMI, RSMI_IOLINK_TYPE_XGMI);
same_value(RSMI_ABI_PAGE_RESERVED, RSMI_MEM_PAGE_STATUS_RESERVED);
same_value(RSMI_ABI_PAGE_PENDING, RSMI_MEM_PAGE_STATUS_PENDING);
same_value(RSMI_ABI_PAGE_UNRESERVABLE, RSMI_MEM_PAGE_STATUS_UNRESERVABLE);

#if RSMI_MAX_NUM_FREQUENCIES == RSMI_ABI_OLD_FREQUENCIES
typedef struct rsmi_old_frequencies our_frequencies;
typedef struct rsmi_old_links our_links;
#else
typedef struct rsmi_new_frequencies our_frequencies;
typedef struct rsmi_new_links our_links;
same_field(our_frequencies, sleeps, rsmi_frequencies_t, has_deep_sleep);
#endif
same_size(our_frequencies, rsmi_frequencies_t);
same_field(our_frequencies, count, rsmi_frequencies_t, num_supported);
same_field(our_frequencies, current, rsmi_frequencies_t, current);
same_field(our_frequencies, hz, rsmi_frequencies_t, frequency);
same_size(our_links, rsmi_pcie_bandwidth_t);
same_field(our_links, rates, rsmi_pcie_bandwidth_t, transfer_rate);
same_field(our_links, lanes, rsmi_pcie_bandwidth_t, lanes);
same_size(struct rsmi_errors, rsmi_error_count_t);
same_field(struct rsmi_errors, corrected, rsmi_error_count_t, correctable_err);
same_field(struct rsmi_errors, uncorrected, rsmi_error_count_t, uncorrectable_err);

same_size(struct rsmi_page, rsmi_retired_page_record_t);
same_field(struct rsmi_page, address, rsmi_retired_page_record_t, page_address);
same_field(struct rsmi_page, bytes, rsmi_retired_page_record_t, page_size);
same_field(struct rsmi_page, status, rsmi_retired_page_record_t, status);

same_function(rsmi_abi_init_fn, rsmi_init);
same_function(rsmi_abi_status_string_fn, rsmi_status_string);
same_function(rsmi_abi_count_fn, rsmi_num_monitor_devices);
same_function(rsmi_abi_number_fn, rsmi_dev_pci_id_get);
same_function(rsmi_abi_number_fn, rsmi_dev_unique_id_get);
same_function(rsmi_abi_number_fn, rsmi_dev_ecc_enabled_get);
same_function(rsmi_abi_sensor_fn, rsmi_dev_power_ave_get);
same_function(rsmi_abi_sensor_fn, rsmi_dev_power_cap_get);
same_function(rsmi_abi_energy_fn, rsmi_dev_energy_count_get);
same_function(rsmi_abi_temperature_fn, rsmi_dev_temp_metric_get);
same_function(rsmi_abi_clocks_fn, rsmi_dev_gpu_clk_freq_get);
same_function(rsmi_abi_links_fn, rsmi_dev_pci_bandwidth_get);
same_function(rsmi_abi_errors_fn, rsmi_dev_ecc_count_get);
same_function(rsmi_abi_text_fn, rsmi_dev_serial_number_get);
same_function(rsmi_abi_text_fn, rsmi_dev_vbios_version_get);
same_function(rsmi_abi_version_fn, rsmi_version_str_get);
same_function(rsmi_abi_number_fn, rsmi_dev_xgmi_hive_id_get);
same_function(rsmi_abi_link_type_fn, rsmi_topo_get_link_type);
same_function(rsmi_abi_link_rates_fn, rsmi_minmax_bandwidth_get);
same_function(rsmi_abi_accessible_fn, rsmi_is_P2P_accessible);
same_function(rsmi_abi_pages_fn, rsmi_dev_memory_reserved_pages_get);
#if RSMI_MAX_NUM_FREQUENCIES != RSMI_ABI_OLD_FREQUENCIES
same_function(rsmi_abi_power_fn, rsmi_dev_power_get);
#endif
