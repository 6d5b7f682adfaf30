/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled kernels, kept for other processes in the folder named by GPUSIG_KERNEL_CACHE. Without
 * that variable nothing is kept.
 *
 * Each entry is one file that contains its whole key: compiler and version, options (the
 * architecture among them), source. An entry is used when the whole key is equal, its checksum is
 * right, and it is a regular file that belongs to this user and that nobody else may write, so that
 * no code of others is run. Every other file is ignored, and a failed write is not an error.
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

/* True with an image, which the caller frees with free(). A zero byte, not counted in *bytes_p,
 * follows the image. */
bool kernel_cache_find(const struct kernel_cache_key *key, void **image_p, size_t *bytes_p);

/* Creates the folder if needed. Several processes may write the same entry at the same time. */
void kernel_cache_keep(const struct kernel_cache_key *key, const void *image, size_t bytes);

#endif
