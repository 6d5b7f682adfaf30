/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/kernels.h"

#define GPUSIG_ON_CPU
#include "device/kernels.cu"

#ifndef FAKE_KERNEL_TABLE
/* Made from the text above by kernel_table.awk: a function for every kernel that takes its arguments by address, and the table. */
#include "kernel_table.inc"
#endif
