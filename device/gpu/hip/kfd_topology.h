/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cache sizes of a GPU from Linux's driver for AMD GPUs (KFD): files nodes/N/properties and
 * nodes/N/caches/M/properties below a root, with lines "name value". The HIP runtime reports the L2
 * alone.
 */
#ifndef GPUSIG_KFD_TOPOLOGY_H
#define GPUSIG_KFD_TOPOLOGY_H

#include <stdint.h>

#define KFD_TOPOLOGY "/sys/class/kfd/kfd/topology"

/* The size of the last level of data cache of the GPU at this PCI address ("0000:c1:00.0"): the
 * sum over the whole GPU of all caches of that level, with the L2 counted once per die. The
 * partitions of one GPU have one address and equal caches; each reports the caches that it can
 * use. -ENOENT: the files are missing or unreadable, have no such GPU, or list nothing behind
 * its first level, as on older kernels. -EINVAL: not a PCI address. */
int kfd_llc_bytes(const char *root, const char *bus, uint64_t *bytes_p);

#endif
