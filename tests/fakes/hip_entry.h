/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function of the fake HIP runtime begins with one of hip_enter*() and ends with hip_leave().
 */
#ifndef FAKES_HIP_ENTRY_H
#define FAKES_HIP_ENTRY_H

#include "tests/fakes/engine/engine.h"

/* The version that hipRuntimeGetVersion() returns: FAKE_DRIVER_VERSION. */
int hip_version(void);

/* Applies FAKE_FAIL and finds the device: 0, or the result to return. */
int hip_enter_device(const char *function, int device, struct fake_gpu **g_p);

/* The same for the calling thread's device. A failed context is an error. */
int hip_enter(const char *function, struct fake_gpu **g_p);

/* Stores a result for hipGetLastError() and returns it. */
int hip_leave(int status);

#endif
