/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ROCm SMI's functions, and a device among its indices. hip_smi.c opens the library and samples
 * telemetry; hip_links.c reads links and paths, and the errors of memory.
 */
#ifndef GPUSIG_HIP_SMI_H
#define GPUSIG_HIP_SMI_H

#include "device/dev_telemetry_list.h"
#include "device/gpu/hip/rocm_smi_abi.h"

/* Set once hip_smi_find() returned 0. What this version of the library lacks is NULL; the first
 * two rows never are, nor is pci_id. */
extern struct hip_smi {
	rsmi_abi_init_fn *init;
	rsmi_abi_status_string_fn *status_string;
	rsmi_abi_count_fn *count;
	rsmi_abi_number_fn *pci_id, *ecc_enabled, *unique_id, *hive;
	rsmi_abi_power_fn *power;
	rsmi_abi_energy_fn *energy;
	rsmi_abi_sensor_fn *power_average, *power_cap;
	rsmi_abi_temperature_fn *temperature;
	rsmi_abi_clocks_fn *clocks;
	rsmi_abi_links_fn *links;
	rsmi_abi_errors_fn *ecc_errors;
	rsmi_abi_text_fn *serial, *vbios;
	rsmi_abi_version_fn *version;
	rsmi_abi_link_type_fn *link_type;
	rsmi_abi_link_rates_fn *link_rates;
	rsmi_abi_accessible_fn *accessible;
	rsmi_abi_pages_fn *pages;
} hip_smi;

/* Not statuses of the library: this version lacks the function, or its answer has no valid value.
 */
#define HIP_SMI_NO_FUNCTION 0xfffffffeu
#define HIP_SMI_NO_VALUE 0xfffffffdu

const char *hip_smi_reason(rsmi_abi_status result);

/* The device at a PCI address. -ENODEV: no library, it does not start, or has no such device.
 * -EINVAL: not a PCI address. */
int hip_smi_find(const char *bus, uint32_t *device_p);

/* Fills generation and lanes of the link to the host, 0 where the answer has no valid value. */
rsmi_abi_status hip_smi_pcie(uint32_t device, struct dev_link *link);

/* Members of struct gpu_management (device/gpu/gpu.h). */
void hip_links(const char *bus, struct dev_links *links);
void hip_path(const char *bus, const char *other_bus, struct dev_path *path);
void hip_health(const char *bus, struct dev_telemetry *samples, size_t capacity, size_t *count_p);

#endif
