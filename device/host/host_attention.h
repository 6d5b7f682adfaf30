/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of attention and softmax (device/kernels.h) on this CPU; host_kernels.c lists them.
 */
#ifndef GPUSIG_HOST_ATTENTION_H
#define GPUSIG_HOST_ATTENTION_H

#include "device/host/host_block.h"

int attention_f32_run(const struct host_block *b);
int attention_bf16_run(const struct host_block *b);
int attention_merge_run(const struct host_block *b);
int softmax_f32_run(const struct host_block *b);
int softmax_bf16_run(const struct host_block *b);

#endif
