/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list of links as the vendors' management libraries fill it.
 */
#ifndef GPUSIG_GPU_LINKS_H
#define GPUSIG_GPU_LINKS_H

#include "device/dev.h"

/* Another link of this kind, of which nothing else is known. NULL: the list is full. */
struct dev_link *gpu_link_append(struct dev_links *links, const char *kind);

#endif
