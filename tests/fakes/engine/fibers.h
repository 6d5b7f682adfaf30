/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the threads of a block on one CPU thread, one after the other, each until it ends or reaches
 * a barrier. A thread that waits at a barrier keeps its stack; the next thread gets another one. It
 * is an error of the kernel when some threads end before a barrier at which others wait: the
 * process aborts.
 */
#ifndef FAKES_FIBERS_H
#define FAKES_FIBERS_H

#include <stddef.h>
#include <stdint.h>

/* The thread that runs now. */
struct fake_position {
	uint32_t thread, threads, block, blocks;
};
extern _Thread_local struct fake_position fake_here;

/* Runs call(arguments) once for each thread of a block. */
void fake_block_run(void (*call)(void *const *arguments), void *const *arguments, uint32_t threads,
		    uint32_t block, uint32_t blocks);

void fake_barrier(void);

/* The device's timer and a unit's core clock. */
uint64_t fake_ticks(void);
uint64_t fake_cycles(void);

#endif
