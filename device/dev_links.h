/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links of a device to the host and to other devices, and errors of its memory, as the device's
 * driver reports them. Part of the contract in device/dev.h, which includes this file.
 *
 * Reading takes up to some milliseconds and waits for nothing that is queued. A backend without
 * the operation reports nothing.
 */
#ifndef GPUSIG_DEV_LINKS_H
#define GPUSIG_DEV_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct dev;
struct dev_telemetry;

enum dev_link_state {
	DEV_LINK_UNKNOWN, /* the entry stands for all links of its kind; `why` is the reason */
	DEV_LINK_UP,
	DEV_LINK_DOWN
};

enum dev_link_end { DEV_LINK_TO_UNKNOWN, DEV_LINK_TO_HOST, DEV_LINK_TO_DEVICE, DEV_LINK_TO_SWITCH };

/* One link. 0 and "" are unknown. */
struct dev_link {
	char kind[16]; /* as the field calls it: "PCIe", "NVLink", "xGMI"; "link" of a
			  simulated device */
	enum dev_link_state state;
	enum dev_link_end end; /* a link that is down may not tell */
	char end_bus[32];      /* PCI address of the device or switch there: "0000:c1:00.0" */
	unsigned number;       /* as the driver numbers the links of this kind */
	char version[8];       /* of kinds that have one: "4.0"; of PCIe "" */
	/* PCIe. An idle link may run at a lower generation than it can, and some at fewer lanes:
	 * only what is read while the device copies is what the link can do. The maximum is that
	 * of the device in its place; the device's own maximum is that in any place. */
	unsigned generation, generation_max, device_generation_max;
	unsigned lanes, lanes_max;
	double in_bytes_per_s, out_bytes_per_s; /* into the device and out of it; of PCIe 0 */
	double errors; /* replays, recoveries, checksum errors that it counted; NaN: unknown */
	char why[512]; /* what of the above is unknown, and the reason; else "" */
};

#define DEV_LINKS_MAX 64

/* The driver gives DEVICE memory away as a dma-buf, which the driver of a network adapter may take.
 * Whether that one does is not asked. */
enum dev_dma_buf { DEV_DMA_BUF_UNKNOWN, DEV_DMA_BUF_YES, DEV_DMA_BUF_NO };

struct dev_links {
	int numa_node; /* the host's memory node next to the device; -1: unknown */
	/* The device shares the host's memory, or reaches it coherently over a link that need not
	 * be listed: what its PCIe link can do limits no copy. */
	bool coherent_host;
	enum dev_dma_buf dma_buf;
	size_t count;
	struct dev_link link[DEV_LINKS_MAX];
};

/* The links of a device, PCIe first, or else the one to the host. What is known not to be a link of
 * this board is left out. */
int dev_links_read(struct dev *d, struct dev_links *links);

/* The file of /sys that shows the kernel's module by which network adapters reach DEVICE memory
 * themselves: the first that is there of ops->peer_memory_files. NULL: none is, or the backend has
 * no such list. `root` is "" for this machine. */
const char *dev_peer_memory_file(const struct dev *d, const char *root);

/* Connection of two devices of one backend. "" and 0 are unknown. */
struct dev_path {
	char kind[16];   /* of the links between them, or of those to a switch between them */
	char meet[32];   /* where their ways to the host meet: "device", "switch", "switches",
			    "host_bridge", "numa_node", "system" */
	char access[32]; /* to each other's memory: "yes", or why not, in one word */
	unsigned hops;
	double bytes_per_s; /* from the first to the other, of all direct links between them */
	char why[512];      /* what is unknown, and the reason; else "" */
};
int dev_path_read(struct dev *d, struct dev *other, struct dev_path *path);

/* State of the ways of two devices to the host: with a part in common below the root complex, or
 * not. */
enum dev_upstream_state { DEV_UPSTREAM_UNKNOWN, DEV_UPSTREAM_SHARED, DEV_UPSTREAM_APART };
struct dev_upstream {
	enum dev_upstream_state state;
	char port[32]; /* PCI address of the last port that both pass; "" unknown */
	char why[128]; /* it is unknown, or "" */
};

/* As Linux shows the buses of both, or else as the driver says where they meet; that of a
 * "numa_node" leaves it open, as some drivers look no closer. Unknown in a virtual machine, where a
 * hypervisor shows buses of its own, unless time is virtual. A folder in GPUSIG_PCI_DEVICES stands
 * for /sys/bus/pci/devices, and is believed there, too. */
int dev_upstream_read(struct dev *d, struct dev *other, struct dev_upstream *upstream);

/* The nominal rates of what joins a device to the host or to another device: no copy of many bytes
 * is faster, and headers of packets make every copy slower. Links are taken to carry both ways at
 * once. */
struct dev_link_limit {
	char link[48];                          /* "PCIe 5 x16", "18 NVLink 4.0", "link" */
	double in_bytes_per_s, out_bytes_per_s; /* into the device and out of it */
};

/* -ENODATA with a text: the driver does not tell. Of PCIe the rates are those of the highest
 * generation and of all lanes that the device has in its place, whatever an idle link does now.
 * Between devices without links of their own they are those of the slower PCIe link. */
int dev_host_limit_read(struct dev *d, struct dev_link_limit *limit);
int dev_peer_limit_read(struct dev *d, struct dev *other, struct dev_link_limit *limit);

/* Rate of a PCIe link in one direction: its transfers less their coding, 8b/10b up to generation 2,
 * 128b/130b up to generation 5 and none in generation 6 (PCI Express Base Specification 6.0). 0:
 * unknown generation. */
double dev_pcie_bytes_per_s(unsigned generation, unsigned lanes);

/* Errors of the device's memory. Samples as of dev_telemetry_read(), at most DEV_TELEMETRY_MAX, of
 * which a device reports some:
 *
 *     ecc_uncorrected, ecc_corrected              since the driver was loaded
 *     ecc_uncorrected_total, ecc_corrected_total  since the board was made
 *     rows_remapped_uncorrected, .._corrected     rows of memory replaced by spare ones, by cause
 *     row_remap_pending, row_remap_failed         1: yes
 *     pages_retired_uncorrected, .._corrected, pages_retired   pages out of use, by cause, or all
 *     pages_pending                               to be taken out of use at the next reset; where
 *                                                 the driver does not count them, 1: some
 *     pages_failed                                that could not be taken out of use
 */
int dev_health_read(struct dev *d, struct dev_telemetry *samples, size_t *count_p);

#endif
