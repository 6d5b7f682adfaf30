/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_links.h"
#include "device/gpu/hip/hip_smi.h"
#include "device/gpu/hip/rocm_smi_list.h"
#include "lib/err.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note_why(char *why, size_t capacity, const char *what, rsmi_abi_status result)
{
	if (!why[0])
		text_fit(why, capacity, "%s: %s", what, hip_smi_reason(result));
}

/* ------------------------------------------------------------------ links */

rsmi_abi_status hip_smi_pcie(uint32_t device, struct dev_link *link)
{
	rsmi_abi_links raw;
	struct rocm_smi_list list;
	memset(&raw, 0, sizeof(raw));
	const rsmi_abi_status result =
		hip_smi.links ? hip_smi.links(device, &raw) : HIP_SMI_NO_FUNCTION;
	if (result != RSMI_ABI_SUCCESS)
		return result;
	rocm_smi_links(&raw, &list);
	for (uint32_t i = 0; i < list.count; i++) {
		const unsigned generation = rocm_smi_pcie_generation(list.hz[i]);
		if (generation > link->generation_max)
			link->generation_max = generation;
		if (list.lanes[i] > link->lanes_max)
			link->lanes_max = list.lanes[i];
	}
	if (list.current < list.count) {
		link->generation = rocm_smi_pcie_generation(list.hz[list.current]);
		link->lanes = list.lanes[list.current];
	}
	return result;
}

static void append_pcie(struct dev_links *links, uint32_t device)
{
	struct dev_link *link = gpu_link_append(links, "PCIe");
	if (!link)
		return;
	const rsmi_abi_status result = hip_smi_pcie(device, link);
	if (result != RSMI_ABI_SUCCESS || !link->generation || !link->lanes)
		note_why(link->why, sizeof(link->why), "generation and lanes",
			 result == RSMI_ABI_SUCCESS ? HIP_SMI_NO_VALUE : result);
	link->state = link->generation || link->lanes ? DEV_LINK_UP : DEV_LINK_UNKNOWN;
	link->end = DEV_LINK_TO_HOST;
}

static void format_bus(uint64_t id, char *text, size_t capacity)
{
	snprintf(text, capacity, "%04x:%02x:%02x.%x", (unsigned)(id >> 32),
		 (unsigned)(id >> 8 & 0xff), (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

/* 0: the device is in no hive, or the library cannot tell. */
static uint64_t hive_of(uint32_t device)
{
	uint64_t hive = 0;
	return hip_smi.hive && hip_smi.hive(device, &hive) == RSMI_ABI_SUCCESS ? hive : 0;
}

static void read_rate(uint32_t device, uint32_t other, double *bytes_per_s, char *why,
		      size_t capacity)
{
	uint64_t least = 0, most = 0;
	const rsmi_abi_status result = hip_smi.link_rates
					       ? hip_smi.link_rates(device, other, &least, &most)
					       : HIP_SMI_NO_FUNCTION;
	if (result == RSMI_ABI_SUCCESS && most)
		*bytes_per_s = 1e6 * (double)most;
	else
		note_why(why, capacity, "the rate",
			 result == RSMI_ABI_SUCCESS ? HIP_SMI_NO_VALUE : result);
}

/* The library reports one link of all lanes to each device of the same hive. Where it names
 * another kind although the hive is the same, the link is down. */
static void append_xgmi(struct dev_links *links, uint32_t device, uint32_t other)
{
	uint64_t hops = 0, id = 0;
	unsigned kind = 0;
	const uint64_t hive = hive_of(device);
	const rsmi_abi_status result = hip_smi.link_type(device, other, &hops, &kind);
	const bool up = result == RSMI_ABI_SUCCESS && kind == RSMI_ABI_LINK_XGMI;
	if (!up && (!hive || hive_of(other) != hive))
		return;
	struct dev_link *link = gpu_link_append(links, "xGMI");
	if (!link)
		return;
	link->number = other;
	link->state = up ? DEV_LINK_UP : DEV_LINK_DOWN;
	link->end = DEV_LINK_TO_DEVICE;
	if (hip_smi.pci_id(other, &id) == RSMI_ABI_SUCCESS)
		format_bus(id, link->end_bus, sizeof(link->end_bus));
	if (up)
		read_rate(device, other, &link->in_bytes_per_s, link->why, sizeof(link->why));
	link->out_bytes_per_s = link->in_bytes_per_s;
}

void hip_links(const char *bus, struct dev_links *links)
{
	uint32_t device = 0, count = 0;
	if (hip_smi_find(bus, &device)) {
		struct dev_link *unknown = gpu_link_append(links, "PCIe");
		if (unknown) {
			unknown->end = DEV_LINK_TO_HOST;
			text_fit(unknown->why, sizeof(unknown->why), "%s", err_text());
		}
		return;
	}
	append_pcie(links, device);
	if (!hip_smi.link_type) {
		struct dev_link *unknown = gpu_link_append(links, "xGMI");
		if (unknown)
			note_why(unknown->why, sizeof(unknown->why), "links to devices",
				 HIP_SMI_NO_FUNCTION);
		return;
	}
	if (hip_smi.count(&count) != RSMI_ABI_SUCCESS)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (i != device)
			append_xgmi(links, device, i);
}

/* ------------------------------------------------------------------ paths */

void hip_path(const char *bus, const char *other_bus, struct dev_path *path)
{
	uint32_t device = 0, other = 0;
	uint64_t hops = 0;
	unsigned kind = 0;
	bool accessible = false;
	if (hip_smi_find(bus, &device) || hip_smi_find(other_bus, &other)) {
		text_fit(path->why, sizeof(path->why), "%s", err_text());
		return;
	}
	rsmi_abi_status result = hip_smi.link_type ? hip_smi.link_type(device, other, &hops, &kind)
						   : HIP_SMI_NO_FUNCTION;
	if (result == RSMI_ABI_SUCCESS) {
		path->hops = (unsigned)hops;
		snprintf(path->kind, sizeof(path->kind), "%s",
			 kind == RSMI_ABI_LINK_XGMI   ? "xGMI"
			 : kind == RSMI_ABI_LINK_PCIE ? "PCIe"
						      : "");
		/* The library counts two hops through one node's processor. */
		if (kind == RSMI_ABI_LINK_PCIE)
			snprintf(path->meet, sizeof(path->meet), "%s",
				 hops <= 2 ? "numa_node" : "system");
		if (kind == RSMI_ABI_LINK_XGMI)
			read_rate(device, other, &path->bytes_per_s, path->why, sizeof(path->why));
	} else {
		note_why(path->why, sizeof(path->why), "the kind of link", result);
	}
	result = hip_smi.accessible ? hip_smi.accessible(device, other, &accessible)
				    : HIP_SMI_NO_FUNCTION;
	if (result == RSMI_ABI_SUCCESS)
		snprintf(path->access, sizeof(path->access), "%s",
			 accessible ? "yes" : "not_supported");
	else
		note_why(path->why, sizeof(path->why), "access", result);
}

/* ------------------------------------------------------------------ errors of memory */

static void append_count(struct dev_telemetry_list *r, const char *name, rsmi_abi_status result,
			 double value)
{
	if (result == RSMI_ABI_SUCCESS)
		dev_telemetry_number(r, name, "", value);
	else
		dev_telemetry_unknown(r, name, "", hip_smi_reason(result));
}

/* Without records the number alone is asked for. It may change before the second call. */
static rsmi_abi_status read_pages(uint32_t device, rsmi_abi_page **pages_p, uint32_t *count_p)
{
	if (!hip_smi.pages)
		return HIP_SMI_NO_FUNCTION;
	rsmi_abi_status result = hip_smi.pages(device, count_p, NULL);
	if (result != RSMI_ABI_SUCCESS || *count_p == 0)
		return result;
	*pages_p = calloc(*count_p, sizeof(**pages_p));
	if (!*pages_p)
		return HIP_SMI_NO_VALUE;
	result = hip_smi.pages(device, count_p, *pages_p);
	return result == RSMI_ABI_INSUFFICIENT_SIZE ? RSMI_ABI_SUCCESS : result;
}

static void append_pages(struct dev_telemetry_list *r, uint32_t device)
{
	rsmi_abi_page *pages = NULL;
	uint32_t count = 0, of_status[3] = {0};
	const rsmi_abi_status result = read_pages(device, &pages, &count);
	for (uint32_t i = 0; pages && i < count; i++)
		if (pages[i].status <= RSMI_ABI_PAGE_UNRESERVABLE)
			of_status[pages[i].status]++;
	free(pages);
	append_count(r, "pages_retired", result, of_status[RSMI_ABI_PAGE_RESERVED]);
	append_count(r, "pages_pending", result, of_status[RSMI_ABI_PAGE_PENDING]);
	append_count(r, "pages_failed", result, of_status[RSMI_ABI_PAGE_UNRESERVABLE]);
}

void hip_health(const char *bus, struct dev_telemetry *samples, size_t capacity, size_t *count_p)
{
	struct dev_telemetry_list r = {.samples = samples, .capacity = capacity, .count = *count_p};
	struct rsmi_errors errors = {0};
	uint32_t device = 0;
	if (hip_smi_find(bus, &device)) {
		dev_telemetry_unknown(&r, "ecc_uncorrected", "", err_text());
		dev_telemetry_unknown(&r, "ecc_corrected", "", err_text());
	} else {
		const rsmi_abi_status result =
			hip_smi.ecc_errors ? hip_smi.ecc_errors(device, RSMI_ABI_BLOCK_UMC, &errors)
					   : HIP_SMI_NO_FUNCTION;
		append_count(&r, "ecc_uncorrected", result, (double)errors.uncorrected);
		append_count(&r, "ecc_corrected", result, (double)errors.corrected);
		append_pages(&r, device);
	}
	*count_p = r.count;
}
