/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy method, an axis of programs that copy: by a copy engine, or by thread blocks that take
 * their share of the units.
 *
 *     engine            a copy engine of the device
 *     kernel            a kernel in one wave
 *     kernel:N          a kernel of N blocks
 *     kernel:units/N    a kernel with a block for every N units of the device
 */
#ifndef GPUSIG_COPY_METHOD_H
#define GPUSIG_COPY_METHOD_H

#include "device/dev.h"

struct copy_method {
	bool engine;
	uint32_t blocks, part; /* the N of the two last; 0: not given */
};

/* -EINVAL with a text that lists the valid forms. */
int copy_method_parse(const char *word, struct copy_method *method_p);
int copy_method_accept(const char *word); /* for axis.accept: only checks */

/* Blocks of this kernel on a device, at least 1; of an engine 0, as work_graph_copy() takes it.
 * -ENOENT: the device lacks the kernel. -EIO: it cannot tell what one wave is. */
int copy_method_blocks(const struct copy_method *method, struct dev *dev, const char *kernel,
		       uint32_t *blocks_p);

#endif
