/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA driver library: opening it, its errors as errno, its devices and contexts. The rest of
 * struct gpu_driver is in cuda.c.
 */
#ifndef GPUSIG_CUDA_DRIVER_H
#define GPUSIG_CUDA_DRIVER_H

#include "device/gpu/cuda/cuda_abi.h"
#include "device/gpu/gpu.h"

#include <stdint.h>

/* Set by cuda_load(); optional functions stay NULL where the driver lacks them. */
#define SLOT(name, arguments) int(*name) arguments;
extern struct cuda_api {
	CUDA_FUNCTIONS(SLOT)
	CUDA_OPTIONAL_FUNCTIONS(SLOT)
} cuda_api;
#undef SLOT

/* The errno of a result other than CUDA_OK, with a text that has the function's name. */
int cuda_note_failure(int result, const char *function);

static inline int cuda_check_result(int result, const char *function)
{
	return result == CUDA_OK ? 0 : cuda_note_failure(result, function);
}

/* Calls a function of the driver; 0 or an errno whose text has the function's name. */
#define CUDA_CALL(function, ...) cuda_check_result(cuda_api.function(__VA_ARGS__), #function)

static inline cuda_pointer cuda_device_address(const void *ptr)
{
	return (cuda_pointer)(uintptr_t)ptr;
}

/* As the members of struct gpu_driver with these names. */
int cuda_load(void);
int cuda_count(unsigned *count_p);
int cuda_traits(unsigned index, struct gpu_traits *traits_p);
int cuda_context_open(unsigned index, void **context_p);
void cuda_context_close(unsigned index, void *context);
int cuda_context_use(unsigned index, void *context);

/* Folders in which installations of CUDA have its libraries, for struct dynlib. */
extern const char *const cuda_folders[];

/* True if the driver has all of CUDA_GREEN_FUNCTIONS. */
bool cuda_has_green_contexts(void);

/* In the encoding of struct gpu_target; 0: no driver is open. */
int cuda_version(void);

/* -EINVAL: a library of CUDA `version` is too new for a driver of CUDA `driver`, which takes
 * libraries and machine code of its own major version and of older ones, and PTX of no newer
 * version. 0 where `driver` is 0, unknown. */
int cuda_check_age(const char *title, int version, int driver, bool is_ptx);

#endif
