/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every function of the fake CUDA driver begins with: FAKE_FAIL, then whether it may be called at all.
 */
#ifndef FAKES_CUDA_ENTRY_H
#define FAKES_CUDA_ENTRY_H

#include "tests/fakes/engine.h"

/* What the driver calls its version. */
int cuda_driver_version(void);

int cuda_enter_driver(const char *function);

/* `device` is a CUdevice, a number. */
int cuda_enter_device(const char *function, int device, struct fake_gpu **g_p);

/* With the calling thread's context, which has not failed. */
int cuda_enter(const char *function, struct fake_gpu **g_p);

#endif
