/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every function of the fake HIP runtime begins and ends with.
 */
#ifndef FAKES_HIP_ENTRY_H
#define FAKES_HIP_ENTRY_H

#include "tests/fakes/engine.h"

/* As hipRuntimeGetVersion() gives it. */
int hip_version(void);

/* FAKE_FAIL, and whether there is such a device. */
int hip_enter_device(const char *function, int device, struct fake_gpu **g_p);

/* With the calling thread's device, which has not failed. */
int hip_enter(const char *function, struct fake_gpu **g_p);

/* Keep a result for hipGetLastError() and return it. */
int hip_leave(int rc);

#endif
