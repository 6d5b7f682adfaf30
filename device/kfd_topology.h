/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Linux's driver of AMD's GPUs (KFD) says of a GPU's caches: files of lines "name value", below a root,
 * nodes/N/properties and nodes/N/caches/M/properties. The HIP runtime tells of the L2 alone.
 */
#ifndef GPUSIG_KFD_TOPOLOGY_H
#define GPUSIG_KFD_TOPOLOGY_H

#include <stdint.h>

#define KFD_TOPOLOGY "/sys/class/kfd/kfd/topology"

/* The last level of data cache in front of the memory of the GPU at this PCI address ("0000:c1:00.0"), of the whole GPU: all
 * caches of that level, the L2 once for each of its dies. What the driver made of one GPU by partitioning has one address and
 * equal caches; each tells of what it reaches.
 * -ENOENT: the files are missing or unreadable, have no such GPU, or list nothing behind its first level, as older kernels do.
 * -EINVAL: no PCI address. */
int kfd_last_level(const char *root, const char *bus, uint64_t *bytes_p);

#endif
