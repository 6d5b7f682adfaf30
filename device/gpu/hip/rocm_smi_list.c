/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/hip/rocm_smi_list.h"

#include <stdio.h>
#include <string.h>

static bool has_new_layout(const struct rsmi_new_frequencies *f)
{
	unsigned char flag;
	memcpy(&flag, f, 1);
	return flag <= 1 && f->count > 0 && f->count <= RSMI_ABI_NEW_FREQUENCIES &&
	       f->current < f->count;
}

static void copy_list(uint32_t count, uint32_t capacity, uint32_t current, const uint64_t *hz,
		      struct rocm_smi_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = count < capacity ? count : capacity;
	list->current = current;
	memcpy(list->hz, hz, list->count * sizeof(*hz));
}

void rocm_smi_list(const rsmi_abi_frequencies *raw, struct rocm_smi_list *list)
{
	if (has_new_layout(&raw->new))
		copy_list(raw->new.count, RSMI_ABI_NEW_FREQUENCIES, raw->new.current, raw->new.hz,
			  list);
	else
		copy_list(raw->old.count, RSMI_ABI_OLD_FREQUENCIES, raw->old.current, raw->old.hz,
			  list);
}

void rocm_smi_links(const rsmi_abi_links *raw, struct rocm_smi_list *list)
{
	rsmi_abi_frequencies rates;
	memcpy(&rates, raw, sizeof(rates));
	rocm_smi_list(&rates, list);
	memcpy(list->lanes, has_new_layout(&raw->new.rates) ? raw->new.lanes : raw->old.lanes,
	       list->count * sizeof(list->lanes[0]));
}

unsigned rocm_smi_pcie_generation(uint64_t transfers_per_s)
{
	static const uint64_t of_generation[] = {2500000000u,  5000000000u,  8000000000u,
						 16000000000u, 32000000000u, 64000000000u};
	for (unsigned i = 0; i < sizeof(of_generation) / sizeof(of_generation[0]); i++)
		if (transfers_per_s == of_generation[i])
			return i + 1;
	return 0;
}

bool rocm_smi_pci_id(const char *bus, uint64_t *id_p)
{
	unsigned domain, number, device, function;
	if (sscanf(bus, "%x:%x:%x.%x", &domain, &number, &device, &function) != 4 ||
	    number > 0xff || device > 0x1f || function > 7)
		return false;
	*id_p = (uint64_t)domain << 32 | number << 8 | device << 3 | function;
	return true;
}
