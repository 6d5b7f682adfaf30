/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/cuda/cuda_nvml.h"
#include "device/gpu/gpu_links.h"
#include "lib/err.h"
#include "lib/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *text, size_t capacity, const char *from)
{
	snprintf(text, capacity, "%s", from);
}

/* The first reason is kept. */
static void note_why(char *why, size_t capacity, const char *what, nvml_status result)
{
	if (!why[0])
		text_fit(why, capacity, "%s: %s", what, cuda_nvml_reason(result));
}

/* ------------------------------------------------------------------ PCIe */

static void append_pcie(struct dev_links *links, struct nvmlDevice_st *device)
{
	struct dev_link *link = gpu_link_append(links, "PCIe");
	if (!link)
		return;
	const struct {
		const char *name;
		nvml_number_fn *read;
		unsigned *value;
	} numbers[] = {
		{"generation", cuda_nvml.generation, &link->generation},
		{"lanes", cuda_nvml.width, &link->lanes},
		{"maximum generation", cuda_nvml.generation_max, &link->generation_max},
		{"maximum lanes", cuda_nvml.width_max, &link->lanes_max},
		{"the device's generation", cuda_nvml.device_generation_max,
		 &link->device_generation_max},
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const nvml_status result = numbers[i].read
						   ? numbers[i].read(device, numbers[i].value)
						   : CUDA_NVML_NO_FUNCTION;
		if (result != NVML_ABI_SUCCESS)
			note_why(link->why, sizeof(link->why), numbers[i].name, result);
	}
	link->state = link->generation || link->lanes ? DEV_LINK_UP : DEV_LINK_UNKNOWN;
	link->end = DEV_LINK_TO_HOST;
}

/* ------------------------------------------------------------------ NVLink */

/* nvmlNvlinkVersion_t */
static const char *version_name(unsigned version)
{
	static const char *const names[] = {"",    "1.0", "2.0", "2.2", "3.0",
					    "3.1", "4.0", "5.0", "6.0"};
	return version < sizeof(names) / sizeof(names[0]) ? names[version] : "";
}

/* NVML writes eight digits of the domain, the drivers four. */
static void format_bus(const nvml_pci_info *pci, char *text, size_t capacity)
{
	const char *function = strrchr(pci->text, '.');
	snprintf(text, capacity, "%04x:%02x:%02x.%c", pci->domain, pci->bus, pci->device,
		 function && isdigit((unsigned char)function[1]) ? function[1] : '0');
}

static void read_end(struct dev_link *link, struct nvmlDevice_st *device)
{
	unsigned type = 0;
	nvml_pci_info pci;
	memset(&pci, 0, sizeof(pci));
	nvml_status result = cuda_nvml.link_end ? cuda_nvml.link_end(device, link->number, &type)
						: CUDA_NVML_NO_FUNCTION;
	if (result != NVML_ABI_SUCCESS)
		note_why(link->why, sizeof(link->why), "the other end", result);
	else if (type == NVML_ABI_LINK_TO_GPU)
		link->end = DEV_LINK_TO_DEVICE;
	else if (type == NVML_ABI_LINK_TO_SWITCH)
		link->end = DEV_LINK_TO_SWITCH;
	else if (type == NVML_ABI_LINK_TO_NPU)
		link->end = DEV_LINK_TO_HOST;
	result = cuda_nvml.link_pci ? cuda_nvml.link_pci(device, link->number, &pci)
				    : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		format_bus(&pci, link->end_bus, sizeof(link->end_bus));
	else
		note_why(link->why, sizeof(link->why), "the address of the other end", result);
}

/* Field 164 is of one link; what is older knows one speed of all. */
static void read_rate(struct dev_link *link, struct nvmlDevice_st *device)
{
	nvml_field field[2];
	memset(field, 0, sizeof(field));
	field[0].field = NVML_ABI_LINK_SPEED;
	field[0].scope = link->number;
	field[1].field = NVML_ABI_LINK_SPEED_COMMON;
	nvml_status result =
		cuda_nvml.fields ? cuda_nvml.fields(device, 2, field) : CUDA_NVML_NO_FUNCTION;
	for (int i = 0; i < 2 && result == NVML_ABI_SUCCESS; i++)
		if (field[i].status == NVML_ABI_SUCCESS &&
		    field[i].type == NVML_ABI_VALUE_UNSIGNED && field[i].value.number) {
			link->in_bytes_per_s = link->out_bytes_per_s = 1e6 * field[i].value.number;
			return;
		}
	note_why(link->why, sizeof(link->why), "the rate",
		 result == NVML_ABI_SUCCESS ? NVML_ABI_NOT_SUPPORTED : result);
}

/* The counters that the device has, together. */
static void read_errors(struct dev_link *link, struct nvmlDevice_st *device)
{
	static const unsigned counters[] = {NVML_ABI_LINK_REPLAYS, NVML_ABI_LINK_RECOVERIES,
					    NVML_ABI_LINK_CRC_FLIT};
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		unsigned long long count = 0;
		nvml_link_errors_fn *read = cuda_nvml.link_errors;
		if (read && read(device, link->number, counters[i], &count) == NVML_ABI_SUCCESS)
			link->errors = (isnan(link->errors) ? 0 : link->errors) + (double)count;
	}
}

static void append_nvlink(struct dev_links *links, struct nvmlDevice_st *device, unsigned number,
			  bool up)
{
	struct dev_link *link = gpu_link_append(links, "NVLink");
	unsigned version = 0;
	if (!link)
		return;
	link->number = number;
	link->state = up ? DEV_LINK_UP : DEV_LINK_DOWN;
	read_errors(link, device);
	if (!up)
		return;
	const nvml_status result = cuda_nvml.link_version
					   ? cuda_nvml.link_version(device, number, &version)
					   : CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		copy_text(link->version, sizeof(link->version), version_name(version));
	else
		note_why(link->why, sizeof(link->why), "the version", result);
	read_end(link, device);
	read_rate(link, device);
}

/* A chip may have links that its board does not use. Without an answer a link counts. */
static bool is_of_board(struct nvmlDevice_st *device, unsigned number)
{
	unsigned valid = 1;
	return !cuda_nvml.link_capability ||
	       cuda_nvml.link_capability(device, number, NVML_ABI_LINK_VALID, &valid) !=
		       NVML_ABI_SUCCESS ||
	       valid;
}

/* A number beyond the device's links is an invalid argument or, as all numbers of a device without
 * NVLink, not supported. */
static void append_nvlinks(struct dev_links *links, struct nvmlDevice_st *device)
{
	nvml_status result = cuda_nvml.link_state ? NVML_ABI_SUCCESS : CUDA_NVML_NO_FUNCTION;
	for (unsigned i = 0; i < NVML_ABI_MAX_LINKS && cuda_nvml.link_state; i++) {
		unsigned up = 0;
		result = cuda_nvml.link_state(device, i, &up);
		if (result == NVML_ABI_SUCCESS && is_of_board(device, i))
			append_nvlink(links, device, i, up == NVML_ABI_ENABLED);
		else if (result != NVML_ABI_SUCCESS && result != NVML_ABI_NOT_SUPPORTED &&
			 result != NVML_ABI_INVALID_ARGUMENT)
			break;
	}
	if (result == NVML_ABI_SUCCESS || result == NVML_ABI_NOT_SUPPORTED ||
	    result == NVML_ABI_INVALID_ARGUMENT)
		return;
	struct dev_link *unknown = gpu_link_append(links, "NVLink");
	if (unknown)
		copy_text(unknown->why, sizeof(unknown->why), cuda_nvml_reason(result));
}

void cuda_links(const char *bus, struct dev_links *links)
{
	struct nvmlDevice_st *device = NULL;
	if (cuda_nvml_find(bus, &device)) {
		struct dev_link *unknown = gpu_link_append(links, "PCIe");
		if (unknown) {
			unknown->end = DEV_LINK_TO_HOST;
			copy_text(unknown->why, sizeof(unknown->why), err_text());
		}
		return;
	}
	append_pcie(links, device);
	append_nvlinks(links, device);
}

/* ------------------------------------------------------------------ paths */

/* nvmlGpuTopologyLevel_t in tens. */
static const char *meeting_place(unsigned level)
{
	static const char *const names[] = {"device",      "switch",    "switches",
					    "host_bridge", "numa_node", "system"};
	return level % 10 == 0 && level / 10 < sizeof(names) / sizeof(names[0]) ? names[level / 10]
										: "";
}

/* nvmlGpuP2PStatus_t */
static const char *access_name(unsigned status)
{
	static const char *const names[] = {"yes",
					    "chipset_not_supported",
					    "gpu_not_supported",
					    "topology_not_supported",
					    "disabled_by_regkey",
					    "not_supported"};
	return status < sizeof(names) / sizeof(names[0]) ? names[status] : "";
}

static nvml_status read_p2p(struct nvmlDevice_st *device, struct nvmlDevice_st *other,
			    unsigned index, unsigned *status_p)
{
	return cuda_nvml.p2p ? cuda_nvml.p2p(device, other, index, status_p)
			     : CUDA_NVML_NO_FUNCTION;
}

void cuda_path(const char *bus, const char *other_bus, struct dev_path *path)
{
	struct nvmlDevice_st *device = NULL, *other = NULL;
	unsigned level = 0, access = 0, nvlink = 0;
	if (cuda_nvml_find(bus, &device) || cuda_nvml_find(other_bus, &other)) {
		copy_text(path->why, sizeof(path->why), err_text());
		return;
	}
	nvml_status result = cuda_nvml.ancestor ? cuda_nvml.ancestor(device, other, &level)
						: CUDA_NVML_NO_FUNCTION;
	if (result == NVML_ABI_SUCCESS)
		copy_text(path->meet, sizeof(path->meet), meeting_place(level));
	else
		note_why(path->why, sizeof(path->why), "where they meet", result);
	result = read_p2p(device, other, NVML_ABI_P2P_READ, &access);
	if (result == NVML_ABI_SUCCESS)
		copy_text(path->access, sizeof(path->access), access_name(access));
	else
		note_why(path->why, sizeof(path->why), "access", result);
	result = read_p2p(device, other, NVML_ABI_P2P_NVLINK, &nvlink);
	if (result == NVML_ABI_SUCCESS)
		copy_text(path->kind, sizeof(path->kind),
			  nvlink == NVML_ABI_P2P_OK ? "NVLink" : "PCIe");
	else
		note_why(path->why, sizeof(path->why), "the kind of link", result);
}
