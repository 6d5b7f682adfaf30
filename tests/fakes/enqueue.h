/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fake drivers export this function for the fakes of the vendor's other libraries. It runs
 * their work on the driver's streams, as blocks.
 */
#ifndef FAKES_ENQUEUE_H
#define FAKES_ENQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Runs one block of work. Blocks of a launch run concurrently and share one copy of the argument.
 */
typedef void fake_work(uint32_t block, uint32_t blocks, void *argument);

/* Enqueues work on a stream of the driver and returns the driver's result. */
FAKE_EXPORT int fake_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument,
			     size_t bytes);

/* Memory of a device, as the driver's functions allocate and free it. */
FAKE_EXPORT int fake_allocate(unsigned device, size_t bytes, void **ptr_p);
FAKE_EXPORT int fake_release(unsigned device, void *ptr);

/* The device that is current on the calling thread. */
FAKE_EXPORT int fake_current_device(unsigned *device_p);

/* True if all of this lies in one allocation of device memory. */
FAKE_EXPORT bool fake_is_device_memory(const void *ptr, size_t bytes);

/* True if the device reaches the memory of others. */
FAKE_EXPORT bool fake_reaches_peers(unsigned device);

/* Copy on a stream of a device, as the driver's asynchronous copies do; write a value, and wait
 * until one is reached. */
FAKE_EXPORT int fake_stream_copy(unsigned device, void *stream, void *dst, const void *src,
				 size_t bytes);
FAKE_EXPORT int fake_value_write(void *stream, uint32_t *at, uint32_t value);
FAKE_EXPORT int fake_value_wait(void *stream, uint32_t *at, uint32_t value);

#endif
