/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of device/gpu/kernels/kernels.cu, which the Makefile writes as numbers: ISO C does not
 * guarantee string literals of that length.
 */
#include "device/gpu/gpu.h"

const char gpu_kernels_source[] = {
#include GPU_KERNELS_SOURCE
	0,
};
