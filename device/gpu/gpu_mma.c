/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/gpu_dev.h"

#include <string.h>

/* Architectures whose warp-level mma instruction reaches the full rate. sm_90 needs wgmma for
 * that, sm_100 to sm_110 tcgen05, and gfx950 larger matrices; there mma_* stays below it. */
static const char *const full_rate[] = {"sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89", "sm_120",
					"sm_121", "gfx908", "gfx90a", "gfx942", NULL};

static uint32_t types_of(const struct gpu_dev *d, const char *prefix)
{
	const size_t length = strlen(prefix);
	uint32_t types = 0;
	for (size_t i = 0; i < d->kernel_count; i++)
		for (unsigned type = 0; type < DEV_TYPES; type++)
			if (strncmp(d->kernels[i].signature->name, prefix, length) == 0 &&
			    strcmp(d->kernels[i].signature->name + length, dev_type_names[type]) ==
				    0)
				types |= 1u << type;
	return types;
}

/* AMD's names have features after a colon. */
static bool has_full_rate(const char *arch)
{
	const size_t length = strcspn(arch, ":");
	for (const char *const *known = full_rate; *known; known++)
		if (strlen(*known) == length && strncmp(*known, arch, length) == 0)
			return true;
	return false;
}

void gpu_mma_describe(struct gpu_dev *d)
{
	struct dev_props *p = &d->dev.props;
	p->mma_types = types_of(d, "mma_");
	p->wgmma_types = types_of(d, "wgmma_");
	p->mma_peak_types = has_full_rate(d->traits.arch) ? p->mma_types : 0;
}
