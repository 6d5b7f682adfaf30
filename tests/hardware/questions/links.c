/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/hardware/questions/links.h"
#include "lib/text.h"
#include "tests/hardware/answers.h"

#include <math.h>
#include <string.h>

static void answer_unknown(const char *name, const char *why)
{
	print_answer(name, "none", "not supported", why[0] ? why : "the driver tells none");
}

int report_pcie_link(const char *name, struct dev *d)
{
	struct dev_links links;
	char value[48], remark[256];
	const int status = dev_links_read(d, &links);
	const struct dev_link *link = &links.link[0];
	if (status)
		return status;
	if (links.count == 0 || link->state != DEV_LINK_UP) {
		answer_unknown(name, links.count ? link->why : "");
	} else {
		snprintf(value, sizeof(value), "%u x%u", link->generation, link->lanes);
		text_fit(remark, sizeof(remark), "of %u x%u, NUMA node %d %s", link->generation_max,
			 link->lanes_max, links.numa_node, link->why);
		print_answer(name, value, "generation, lanes", remark);
	}
	return 0;
}

int report_device_links(const char *name, struct dev *d)
{
	static const char *const ends[] = {"an unknown end", "the host", "a device", "a switch"};
	struct dev_links links;
	const struct dev_link *first = NULL;
	unsigned up = 0, down = 0;
	char remark[256] = "";
	const int status = dev_links_read(d, &links);
	for (size_t i = 1; i < links.count && !status; i++) {
		up += links.link[i].state == DEV_LINK_UP;
		down += links.link[i].state == DEV_LINK_DOWN;
		first = first ? first : &links.link[i];
	}
	if (first)
		text_fit(remark, sizeof(remark), "%u down; %s %s to %s %s at %.3g byte/s %s", down,
			 first->kind, first->version, ends[first->end], first->end_bus,
			 first->in_bytes_per_s, first->why);
	if (status)
		return status;
	if (links.count == 0)
		answer_unknown(name, "");
	else
		answer_number(name, up, "links up", remark);
	return 0;
}

int report_memory_errors(const char *name, struct dev *d)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count = 0, used = 0;
	char remark[400] = "";
	const int status = dev_health_read(d, samples, &count);
	if (status)
		return status;
	for (size_t i = 1; i < count && used < sizeof(remark); i++)
		used += (size_t)snprintf(remark + used, sizeof(remark) - used, "%s %.0f ",
					 samples[i].name, samples[i].number);
	if (count == 0 || isnan(samples[0].number))
		answer_unknown(name, count ? samples[0].why : "");
	else
		answer_number(name, samples[0].number, samples[0].name, remark);
	return 0;
}
