/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVML's functions, and a device among its handles. cuda_nvml.c opens the library and samples
 * telemetry; cuda_links.c reads links and paths, cuda_health.c the errors of memory.
 */
#ifndef GPUSIG_CUDA_NVML_H
#define GPUSIG_CUDA_NVML_H

#include "device/dev_telemetry_list.h"
#include "device/gpu/cuda/nvml_abi.h"

/* Set once cuda_nvml_find() returned 0. What this version of the library lacks is NULL; the first
 * row never is. */
extern struct cuda_nvml {
	nvml_init_fn *init;
	nvml_error_string_fn *error_string;
	nvml_by_bus_fn *by_bus;
	nvml_driver_fn *driver;
	nvml_text_fn *uuid, *serial, *vbios;
	nvml_of_kind_fn *clock, *clock_max, *temperature;
	nvml_number_fn *power, *power_limit, *generation, *width, *generation_max, *width_max,
		*device_generation_max, *persistence, *compute_mode, *pages_pending;
	nvml_two_numbers_fn *ecc, *mig;
	nvml_mask_fn *event_reasons, *throttle_reasons;
	nvml_wide_fn *energy;
	nvml_errors_fn *ecc_errors;
	nvml_violation_fn *violation;
	nvml_link_number_fn *link_state, *link_version, *link_end;
	nvml_link_capability_fn *link_capability;
	nvml_link_errors_fn *link_errors;
	nvml_link_pci_fn *link_pci;
	nvml_ancestor_fn *ancestor;
	nvml_p2p_fn *p2p;
	nvml_fields_fn *fields;
	nvml_remapped_fn *remapped;
	nvml_retired_fn *retired;
} cuda_nvml;

/* Not a status of NVML: this version lacks the function. */
#define CUDA_NVML_NO_FUNCTION 0xfffffffeu

const char *cuda_nvml_reason(nvml_status result);

/* The device at a PCI address. -ENODEV: no library, it does not start, or has no such device. */
int cuda_nvml_find(const char *bus, struct nvmlDevice_st **device_p);

/* Members of struct gpu_management (device/gpu/gpu.h). */
void cuda_links(const char *bus, struct dev_links *links);
void cuda_path(const char *bus, const char *other_bus, struct dev_path *path);
void cuda_health(const char *bus, struct dev_telemetry *samples, size_t capacity, size_t *count_p);

#endif
