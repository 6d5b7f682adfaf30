/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of device/gpu/kernels/kernels.cu, by name.
 */
#ifndef FAKES_KERNELS_H
#define FAKES_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* The launch bounds that kernels.cu gives its kernels. */
#define FAKE_KERNEL_THREADS 256u
#define FAKE_KERNEL_ARGUMENTS 32

struct fake_kernel {
	const char *name;
	void (*call)(void *const *arguments);
	size_t shared_bytes; /* static, of the kernel's SHARED variables */
	size_t count;
	size_t sizes[FAKE_KERNEL_ARGUMENTS]; /* of the arguments */
	uint32_t addresses;                  /* bit i: argument i is one */
};

/* Ends with a row without a name. */
extern const struct fake_kernel fake_kernels[];

#endif
