/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads names, link and rate of a network adapter, a PCI device, as Linux has them in /sys.
 */
#ifndef GPUSIG_NETWORK_ADAPTER_H
#define GPUSIG_NETWORK_ADAPTER_H

#include <stdbool.h>

enum network_link { NETWORK_LINK_UNKNOWN, NETWORK_LINK_UP, NETWORK_LINK_DOWN };

/* "" and 0 are unknown, or not there. */
struct network_adapter {
	char rdma[64];          /* as verbs call it: "mlx5_0" */
	char interface[32];     /* as the network stack calls it: "ens1f0"; the first of several */
	bool virtual_function;  /* a part of an adapter that this system sees, too */
	unsigned ports;         /* of an adapter for verbs */
	enum network_link link; /* up: of one port at least */
	double bytes_per_s;     /* nominal, one way, of the fastest port that is up */
};

/* `folder` has a link for each device, as /sys/bus/pci/devices. Of an adapter for verbs link and
 * rate are those of its ports, else those of the interface. False: the device is not there. */
bool network_adapter_read(const char *folder, const char *bus, struct network_adapter *adapter);

#endif
