/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the fake of a vendor's library reaches the fake driver, which its caller has loaded before.
 */
#ifndef FAKES_DRIVER_H
#define FAKES_DRIVER_H

#include "tests/fakes/enqueue.h"

/* The driver's library: driver_cuda.c or driver_hip.c is linked. */
extern const char *const fake_driver_file;

/* fake_enqueue() of that driver. */
int driver_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument, size_t bytes);

/* FAKE_FAIL for a library whose results have no names here: a number. */
int driver_fault(const char *function);

#endif
