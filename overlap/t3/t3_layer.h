/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sub-layers of transformers that T3 (arXiv 2401.16677) is evaluated with: GEMMs whose results
 * the devices of a tensor-parallel layer reduce. Their hidden dimensions and numbers of tokens are
 * RECALLED, not read in the paper: it has no table of GEMMs that we know of.
 *
 * With H hidden elements and N devices, one device's GEMM has tokens x H results, sums of partial
 * products over all devices, and as its inner side
 *
 *     op      H / N     forward output projection
 *     fc-2    4 H / N   forward second fully connected layer
 *     fc-1    4 H / N   backward first fully connected layer
 *     ip      3 H / N   backward input projection (query, key, value)
 *
 * Results are scattered by rows. Rows are tokens, or if the devices then have more rows each,
 * hidden elements: C transposed, which is the same GEMM with its operands exchanged.
 */
#ifndef GPUSIG_T3_LAYER_H
#define GPUSIG_T3_LAYER_H

#include "bench/shape.h"

/* Values of the axes `model` and `layer`; NULL past the last. */
extern const char *const t3_models[], *const t3_layers[];

/* The GEMM of one of `devices` devices. -ERANGE: it has fewer rows than devices, or no inner side.
 */
int t3_layer_shape(unsigned model, unsigned layer, uint32_t devices, struct shape *shape_p);

#endif
