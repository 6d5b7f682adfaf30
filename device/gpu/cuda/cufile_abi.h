/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of cuFile's ABI that we use, of 1.14 (CUDA 12.9) and later. tests/abi/cufile.c compares
 * it with cufile.h.
 */
#ifndef GPUSIG_CUFILE_ABI_H
#define GPUSIG_CUFILE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	CUFILE_ABI_SUCCESS = 0,
	CUFILE_ABI_NOT_INITIALIZED = 5001,
	CUFILE_ABI_PLATFORM_NOT_SUPPORTED = 5007,
	CUFILE_ABI_IO_NOT_SUPPORTED = 5008,
	CUFILE_ABI_DEVICE_NOT_SUPPORTED = 5009,
	CUFILE_ABI_CUDA_ERROR = 5011,
	CUFILE_ABI_INVALID_VALUE = 5022,
	CUFILE_ABI_PERMISSION_DENIED = 5025,
	CUFILE_ABI_PINNING_FAILED = 5036
};

/* Parameters that are on or off; the last two are those of later releases. */
enum {
	CUFILE_ABI_ALLOW_COMPAT_MODE = 1,
	CUFILE_ABI_FORCE_COMPAT_MODE = 2,
	CUFILE_ABI_POSIX_IO_MODE = 12,
	CUFILE_ABI_FALLBACK_IO = 13
};

enum { CUFILE_ABI_OPAQUE_FD = 1 }; /* the type of a file that is a descriptor */

struct cufile_abi_result {
	int error, cuda_error;
};

struct cufile_abi_file {
	unsigned type;
	union {
		int file;
		void *handle;
	} of;
	const void *operations; /* NULL: the kernel's */
};

struct cufile_abi_properties {
	unsigned nvfs_major, nvfs_minor; /* 0: the module nvidia-fs is not loaded */
	size_t poll_bytes, direct_bytes;
	unsigned supported, control, features, cache_bytes, buffer_cache_bytes, pinned_bytes, batch,
		batch_timeout_ms;
};

/* tests/abi defines these as the library's own types, so that it can compare whole prototypes. */
#ifndef CUFILE_ABI_TYPES
typedef struct cufile_abi_result cufile_result;
typedef struct cufile_abi_file cufile_file;
typedef struct cufile_abi_properties cufile_properties;
#endif

typedef cufile_result cufile_get_version_fn(int *);       /* 1000 * major + 10 * minor */
typedef cufile_result cufile_set_bool_fn(unsigned, bool); /* before the driver is open */
typedef cufile_result cufile_get_bool_fn(unsigned, bool *);
typedef cufile_result cufile_driver_open_fn(void);
typedef cufile_result cufile_get_properties_fn(cufile_properties *);
typedef cufile_result cufile_handle_register_fn(void **, cufile_file *);
typedef void cufile_handle_deregister_fn(void *);
/* start of device memory, bytes, flags */
typedef cufile_result cufile_buffer_register_fn(const void *, size_t, int);
typedef cufile_result cufile_buffer_deregister_fn(const void *);
/* handle, start of a registered buffer, bytes, place in the file, place in the buffer; the bytes
 * that were read, -1 with errno, or the negative of an error */
typedef ssize_t cufile_read_fn(void *, void *, size_t, off_t, off_t);

#endif
