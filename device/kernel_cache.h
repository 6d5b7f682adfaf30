/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled kernels, kept for other processes in the folder that GPUSIG_KERNEL_CACHE names; without that variable nothing is kept.
 *
 * Each entry is a file with its whole key in it: compiler and version, options (the architecture among them), source. An entry
 * serves when all of the key is the same, its checksum holds, and it is a plain file of this user's that nobody else may
 * write: code from others is not run. Anything else is as if it were not there, and what can't be written is not kept.
 */
#ifndef GPUSIG_KERNEL_CACHE_H
#define GPUSIG_KERNEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_cache_key {
	const char *compiler; /* "NVRTC 13.0" */
	const char *const *options;
	int option_count;
	const char *source;
};

/* True with an image to be freed with free(), which a zero byte follows that is not counted. */
bool kernel_cache_find(const struct kernel_cache_key *key, void **image_p, size_t *bytes_p);

/* The folder is made where it is absent. Processes may keep the same entry at the same time. */
void kernel_cache_keep(const struct kernel_cache_key *key, const void *image, size_t bytes);

#endif
