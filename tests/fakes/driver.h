/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connects the fake of another vendor library (BLAS, NCCL, NVML) to the fake driver, which its
 * caller has loaded before.
 */
#ifndef FAKES_DRIVER_H
#define FAKES_DRIVER_H

#include "tests/fakes/enqueue.h"

/* The driver's file name, from driver_cuda.c or driver_hip.c. */
extern const char *const fake_driver_file;

/* Calls fake_enqueue() of that driver. */
int driver_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument,
		   size_t bytes);

/* Call fake_allocate() and fake_release() of that driver. */
int driver_allocate(unsigned device, size_t bytes, void **ptr_p);
int driver_release(unsigned device, void *ptr);

/* Call fake_current_device(), fake_is_device_memory(), fake_reaches_peers(), fake_stream_copy(),
 * fake_value_write() and fake_value_wait() of that driver. */
int driver_current_device(unsigned *device_p);
bool driver_is_device_memory(const void *ptr, size_t bytes);
bool driver_reaches_peers(unsigned device);
int driver_copy(unsigned device, void *stream, void *dst, const void *src, size_t bytes);
int driver_write_value(void *stream, uint32_t *at, uint32_t value);
int driver_wait_value(void *stream, uint32_t *at, uint32_t value);

/* Applies FAKE_FAIL; the result is given as a number, since these libraries' results have no names
 * here. */
int driver_fault(const char *function);

#endif
