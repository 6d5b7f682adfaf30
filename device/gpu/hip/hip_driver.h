/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The HIP runtime library: opening it, its errors as errno, its devices. The rest of struct
 * gpu_driver is in hip.c.
 */
#ifndef GPUSIG_HIP_DRIVER_H
#define GPUSIG_HIP_DRIVER_H

#include "device/gpu/gpu.h"
#include "device/gpu/hip/hip_abi.h"

#include <stdint.h>

/* Set by hip_load(); optional functions stay NULL where the runtime lacks them. */
#define SLOT(name, arguments) int(*name) arguments;
extern struct hip_api {
	HIP_FUNCTIONS(SLOT)
	HIP_OPTIONAL_FUNCTIONS(SLOT)
	const char *(*hipGetErrorName)(int);
	const char *(*hipGetErrorString)(int);
} hip_api;
#undef SLOT

/* The errno of a result other than HIP_OK, with a text that has the function's name. */
int hip_note_failure(int result, const char *function);

static inline int hip_check_result(int result, const char *function)
{
	return result == HIP_OK ? 0 : hip_note_failure(result, function);
}

/* Calls a function of the runtime; 0 or an errno whose text has the function's name. */
#define HIP_CALL(function, ...) hip_check_result(hip_api.function(__VA_ARGS__), #function)

/* As the members of struct gpu_driver with these names. */
int hip_load(void);
int hip_count(unsigned *count_p);
int hip_traits(unsigned index, struct gpu_traits *traits_p);
int hip_context_open(unsigned index, void **context_p);
void hip_context_close(unsigned index, void *context);
int hip_context_use(unsigned index, void *context);

#endif
