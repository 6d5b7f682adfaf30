/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/hip/rocm_smi_list.h"
#include "tests/unit/test.h"

static void old_clocks(void)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	raw.old = (struct rsmi_old_frequencies){
		.count = 3, .current = 1, .hz = {500000000, 1502000000, 1700000000}};
	rocm_smi_list(&raw, &list);
	expect(list.count == 3 && list.current == 1 && list.hz[1] == 1502000000 &&
	       list.hz[2] == 1700000000);
}

/* A count of 1 looks like the new layout's flag. */
static void old_clocks_of_one(void)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	for (uint32_t current = 0; current < 2; current++) {
		memset(&raw, 0, sizeof(raw));
		raw.old = (struct rsmi_old_frequencies){
			.count = 1, .current = current, .hz = {900000000}};
		rocm_smi_list(&raw, &list);
		expect(list.count == 1 && list.current == current && list.hz[0] == 900000000);
	}
}

static void new_clocks(void)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		for (uint32_t count = 1; count <= RSMI_ABI_NEW_FREQUENCIES; count++) {
			memset(&raw, 0, sizeof(raw));
			raw.new.sleeps = sleeps;
			raw.new.count = count;
			raw.new.current = count - 1;
			raw.new.hz[count - 1] = 2100000000;
			rocm_smi_list(&raw, &list);
			expect(list.count == count && list.current == count - 1 &&
			       list.hz[count - 1] == 2100000000);
		}
	}
}

static void empty_answers_name_nothing(void)
{
	rsmi_abi_frequencies raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	rocm_smi_list(&raw, &list);
	expect(list.count == 0 && list.current >= list.count);
	memset(&raw, 0xff, sizeof(raw));
	rocm_smi_list(&raw, &list);
	expect(list.count <= RSMI_ABI_NEW_FREQUENCIES && list.current >= list.count);
}

static void links_of_both_layouts(void)
{
	rsmi_abi_links raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	raw.old = (struct rsmi_old_links){
		.rates = {.count = 2, .current = 1, .hz = {2500000000, 16000000000}},
		.lanes = {4, 16}};
	rocm_smi_links(&raw, &list);
	expect(list.count == 2 && list.lanes[0] == 4 && list.lanes[1] == 16);
	memset(&raw, 0, sizeof(raw));
	raw.new = (struct rsmi_new_links){
		.rates = {.count = 2, .current = 1, .hz = {2500000000, 32000000000}},
		.lanes = {1, 8}};
	rocm_smi_links(&raw, &list);
	expect(list.count == 2 && list.lanes[0] == 1 && list.lanes[1] == 8);
	expect(rocm_smi_pcie_generation(list.hz[0]) == 1 &&
	       rocm_smi_pcie_generation(list.hz[1]) == 5);
	expect(rocm_smi_pcie_generation(7) == 0);
}

static void pci_addresses(void)
{
	uint64_t id;
	require(rocm_smi_pci_id("0000:c1:00.0", &id));
	expect(id == 0xc100);
	require(rocm_smi_pci_id("0001:03:1f.7", &id));
	expect(id == 0x1000003ff);
	/* The number of a partition is not part of the PCI id. */
	expect((0x1300003ff & ROCM_SMI_PCI_MASK) == 0x1000003ff);
	expect(!rocm_smi_pci_id("", &id) && !rocm_smi_pci_id("0000:c1", &id) &&
	       !rocm_smi_pci_id("0:100:0.0", &id));
}

int main(void)
{
	test(old_clocks);
	test(old_clocks_of_one);
	test(new_clocks);
	test(empty_answers_name_nothing);
	test(links_of_both_layouts);
	test(pci_addresses);
	return test_done();
}
