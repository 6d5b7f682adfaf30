/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/nccl_tests/nccl_tests_table.h"
#include "lib/provenance.h"
#include "lib/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct nccl_tests_rank nccl_tests_rank_here(void)
{
	struct nccl_tests_rank rank = {.process = (int)getpid(), .name = "host memory"};
	provenance_host(rank.host, sizeof(rank.host), '_');
	return rank;
}

struct nccl_tests_rank nccl_tests_rank_of(const struct dev *dev)
{
	const struct dev_props *p = dev_props(dev);
	struct nccl_tests_rank rank = nccl_tests_rank_here();
	rank.device = dev->index;
	text_fit(rank.name, sizeof(rank.name), "%s", p->name);
	/* Without the function, as nccl-tests prints it. */
	snprintf(rank.bus, sizeof(rank.bus), "%.*s", (int)strcspn(p->bus, "."), p->bus);
	if (!dev_can(dev, DEV_CAP_VIRTUAL_TIME))
		return rank;
	rank.process = 0;
	snprintf(rank.host, sizeof(rank.host), "simulated");
	return rank;
}
