/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fake drivers export beside the vendor's functions, for the fakes of the vendor's other libraries: their work runs on
 * the driver's streams, as blocks.
 */
#ifndef FAKES_ENQUEUE_H
#define FAKES_ENQUEUE_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* One block of work; blocks run at the same time. The argument is the launch's own copy, the same for all its blocks. */
typedef void fake_work(uint32_t block, uint32_t blocks, void *argument);

/* Enqueue on a stream of the driver. The driver's result. */
FAKE_EXPORT int fake_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument, size_t bytes);

#endif
