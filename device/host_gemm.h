/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GPUSIG_HOST_GEMM_H
#define GPUSIG_HOST_GEMM_H

#include "device/dev.h"
#include "device/host_kernels.h"

struct host_gemm {
	struct dev_gemm g;
};

#endif
