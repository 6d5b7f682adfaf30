/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Libraries that this process's backends opened at run time, with their files: which file it is
 * depends on the machine, and two releases of a library may be installed.
 */
#ifndef GPUSIG_DEV_LIBRARIES_H
#define GPUSIG_DEV_LIBRARIES_H

#include <stddef.h>

#define DEV_LIBRARIES_MAX 32

/* Paths in the order of opening, each with what was passed over before it, if anything was. Fills
 * at most `capacity`; returns how many there are. The texts stay. Any thread may call. */
size_t dev_libraries(const char **paths, size_t capacity);

/* For backends: add one. What does not fit any more is left out. */
void dev_library_add(const char *path);

#endif
