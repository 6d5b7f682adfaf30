/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads of a block on one thread of the CPU. They run one after the other, each until it ends or comes to a barrier; at a
 * barrier it keeps its stack, and the next one gets another. Threads that ended before a barrier that others wait at are a
 * mistake in the kernel, and end the process.
 */
#ifndef FAKES_FIBERS_H
#define FAKES_FIBERS_H

#include <stddef.h>
#include <stdint.h>

/* Which thread is running. */
struct fake_position {
	uint32_t thread, threads, block, blocks;
};
extern _Thread_local struct fake_position fake_here;

/* Run call(arguments) as every thread of a block. */
void fake_block_run(void (*call)(void *const *arguments), void *const *arguments, uint32_t threads, uint32_t block,
                    uint32_t blocks);

void fake_barrier(void);

/* The device's timer, and a unit's clock. */
uint64_t fake_ticks(void);
uint64_t fake_cycles(void);

#endif
