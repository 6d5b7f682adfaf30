/* SPDX-License-Identifier: BSD-3-Clause
 *
 * device/kernels.cu as numbers, which the Makefile writes: a string of that length is beyond what ISO C promises.
 */
#include "device/gpu.h"

const char gpu_kernels_source[] = {
#include GPU_KERNELS_SOURCE
	0,
};
