/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links of a device to the host and to the other devices, and errors of its memory, as facts:
 *
 *     link_0_0: kind=PCIe to=host generation=5 generation_max=5 lanes=8 lanes_max=16 read=busy
 *     link_0_1: kind=NVLink to=device_1 up=4 down=0 version=3.0 bytes_per_s=2.578e+10 errors=0
 *     numa_node_0: 1
 *     path_0_1: kind=NVLink meet=host_bridge access=yes
 *     memory_errors_0: ecc_uncorrected=0 ecc_corrected=3
 *
 * Numbers are places in --device. Links of one kind to the same end are one fact, those to several
 * switches too; `bytes_per_s` is of one of them, one way, and into the device where
 * `out_bytes_per_s` is another; of a path it is from the first to the other, and the path back has
 * a fact, path_1_0, where it differs. What the driver does not tell is left out, and `unknown=` at
 * the end has the reason. A backend that knows nothing of links gives no facts.
 */
#ifndef GPUSIG_LINK_FACTS_H
#define GPUSIG_LINK_FACTS_H

#include "bench/bench.h"

struct device_links {
	struct dev_links links;
	bool busy;      /* PCIe was read while the device copied */
	char brief[60]; /* "PCIe 5 x8 of x16, 4 NVLink"; "" where nothing is known */
};

/* Read the links of a device. An idle PCIe link may run below its maximum, so where it does it is
 * read again during some copies, for at most some tenths of a second. */
int link_facts_read(struct dev *d, struct device_links *links);

/* Add the facts of all devices; `links` has one entry a device. */
int link_facts_report(struct bench_case *c, const struct device_links *links);

#endif
