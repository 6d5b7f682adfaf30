/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The architecture of AMD's fakes, as a device's properties have it: FAKE_ARCH.
 */
#ifndef FAKES_ARCH_H
#define FAKES_ARCH_H

#include <stdlib.h>

static inline const char *fake_hip_arch(void)
{
	const char *arch = getenv("FAKE_ARCH");
	return arch ? arch : "gfx90a:sramecc+:xnack-";
}

#endif
