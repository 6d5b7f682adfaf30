/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads names, link and rate of a network adapter, a PCI device, as Linux has them in /sys, and
 * what the ports of adapters have sent.
 */
#ifndef GPUSIG_NETWORK_ADAPTER_H
#define GPUSIG_NETWORK_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#define NETWORK_PORTS_MAX 64

struct network_port {
	char name[32];       /* of an interface: "ens1f0"; of a port for verbs, as UCX has it:
				"mlx5_0:1" */
	uint64_t sent_bytes; /* so far, with headers. Verbs pass by the interface of their adapter.
			      */
	double bytes_per_s;  /* nominal, one way; 0: unknown, or down */
};

/* `folder` is as /sys/class: interfaces of hardware, or where there are none, as in a container,
 * all but the loopback; and ports for verbs. Returns how many, NETWORK_PORTS_MAX at most, in order
 * of kind and name. */
size_t network_ports_read(const char *folder, struct network_port *ports);

#endif
