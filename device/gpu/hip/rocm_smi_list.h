/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decodes ROCm SMI's answers: lists whose layout depends on the version, and PCI addresses as
 * numbers.
 */
#ifndef GPUSIG_ROCM_SMI_LIST_H
#define GPUSIG_ROCM_SMI_LIST_H

#include "device/gpu/hip/rocm_smi_abi.h"

struct rocm_smi_list {
	uint32_t count, current; /* current >= count: the present one is unknown */
	uint64_t hz[RSMI_ABI_NEW_FREQUENCIES];
	uint32_t lanes[RSMI_ABI_NEW_FREQUENCIES]; /* of links */
};

/* `raw` must be zero before the library fills it. The new layout begins with a flag, where the
 * old one has its count. An answer is old when it begins with more than 1, or is not followed by
 * a count and an index below it. */
void rocm_smi_list(const rsmi_abi_frequencies *raw, struct rocm_smi_list *list);
void rocm_smi_links(const rsmi_abi_links *raw, struct rocm_smi_list *list);

/* The generation of PCI Express with this rate per lane; 0 for an unknown rate. */
unsigned rocm_smi_pcie_generation(uint64_t transfers_per_s);

/* The bits of domain, bus, device and function in the library's PCI id; the other bits number
 * partitions. */
#define ROCM_SMI_PCI_MASK 0xffffffff0000ffffu
bool rocm_smi_pci_id(const char *bus, uint64_t *id_p); /* of "0000:c1:00.0" */

#endif
