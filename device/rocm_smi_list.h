/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ROCm SMI's answers mean: lists whose layout depends on the version, PCI addresses as numbers.
 */
#ifndef GPUSIG_ROCM_SMI_LIST_H
#define GPUSIG_ROCM_SMI_LIST_H

#include "device/rocm_smi_abi.h"

struct rocm_smi_list {
	uint32_t count, current; /* current >= count: none is named */
	uint64_t hz[RSMI_ABI_NEW_FREQUENCIES];
	uint32_t lanes[RSMI_ABI_NEW_FREQUENCIES]; /* of links */
};

/* The answer was zero before the call. The new layout begins with a flag, where the old one has its count: what begins with
 * more than 1, or does not go on as a count and an index below it, is old. */
void rocm_smi_list(const rsmi_abi_frequencies *raw, struct rocm_smi_list *list);
void rocm_smi_links(const rsmi_abi_links *raw, struct rocm_smi_list *list);

/* The generation of PCI Express whose lanes do this many transfers a second; 0 is none that we know. */
unsigned rocm_smi_generation(uint64_t transfers_per_s);

/* What domain, bus, device and function are in a number of the library's; the rest names partitions. */
#define ROCM_SMI_PLACE 0xffffffff0000ffffu
bool rocm_smi_place(const char *bus, uint64_t *place_p); /* of "0000:c1:00.0" */

#endif
