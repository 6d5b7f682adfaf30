/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function of the fake CUDA driver begins with one of these. They apply FAKE_FAIL, then check
 * that the function may be called now: 0, or the result to return.
 */
#ifndef FAKES_CUDA_ENTRY_H
#define FAKES_CUDA_ENTRY_H

#include "tests/fakes/engine/engine.h"

/* The driver's version: FAKE_DRIVER_VERSION. */
int cuda_driver_version(void);

int cuda_enter_driver(const char *function);

/* For functions that take a CUdevice, which is an index. */
int cuda_enter_device(const char *function, int device, struct fake_gpu **g_p);

/* For functions that use the calling thread's context. A failed context is an error. */
int cuda_enter(const char *function, struct fake_gpu **g_p);

#endif
