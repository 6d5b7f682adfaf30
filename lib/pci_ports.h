/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports that PCI devices pass on their way to the root complex, as Linux has them in /sys.
 */
#ifndef GPUSIG_PCI_PORTS_H
#define GPUSIG_PCI_PORTS_H

#include <stdbool.h>

enum { PCI_ADDRESS = 32 };

/* The last port that the ways from the root complex to both devices have in common, by its PCI
 * address: the upstream port of the switch that both are behind, the root port above it, or the
 * device itself where both are one. "": their ways meet in the root complex alone. `folder` has a
 * link for each device, as /sys/bus/pci/devices. False: one of them is not there. */
bool pci_shared_port(const char *folder, const char *bus, const char *other,
		     char port[PCI_ADDRESS]);

#endif
