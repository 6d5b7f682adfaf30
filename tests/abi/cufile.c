/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled and never run: device/gpu/cuda/cufile_abi.h against <cufile.h>.
 */
#define _GNU_SOURCE /* cufile.h needs loff_t */
#include <cuda.h>
#include <cufile.h>

#define CUFILE_ABI_TYPES
typedef CUfileError_t cufile_result;
typedef CUfileDescr_t cufile_file;
typedef CUfileDrvProps_t cufile_properties;
#include "device/gpu/cuda/cufile_abi.h"
#include "tests/abi/abi.h"

same_value(CUFILE_ABI_SUCCESS, CU_FILE_SUCCESS);
same_value(CUFILE_ABI_NOT_INITIALIZED, CU_FILE_DRIVER_NOT_INITIALIZED);
same_value(CUFILE_ABI_PLATFORM_NOT_SUPPORTED, CU_FILE_PLATFORM_NOT_SUPPORTED);
same_value(CUFILE_ABI_IO_NOT_SUPPORTED, CU_FILE_IO_NOT_SUPPORTED);
same_value(CUFILE_ABI_DEVICE_NOT_SUPPORTED, CU_FILE_DEVICE_NOT_SUPPORTED);
same_value(CUFILE_ABI_CUDA_ERROR, CU_FILE_CUDA_DRIVER_ERROR);
same_value(CUFILE_ABI_INVALID_VALUE, CU_FILE_INVALID_VALUE);
same_value(CUFILE_ABI_PERMISSION_DENIED, CU_FILE_PERMISSION_DENIED);
same_value(CUFILE_ABI_PINNING_FAILED, CU_FILE_GPU_MEMORY_PINNING_FAILED);
same_value(CUFILE_ABI_OPAQUE_FD, CU_FILE_HANDLE_TYPE_OPAQUE_FD);

same_size(struct cufile_abi_result, CUfileError_t);
same_field(struct cufile_abi_result, error, CUfileError_t, err);
same_field(struct cufile_abi_result, cuda_error, CUfileError_t, cu_err);
same_size(struct cufile_abi_file, CUfileDescr_t);
same_field(struct cufile_abi_file, type, CUfileDescr_t, type);
same_field(struct cufile_abi_file, of.file, CUfileDescr_t, handle.fd);
same_field(struct cufile_abi_file, operations, CUfileDescr_t, fs_ops);
same_size(struct cufile_abi_properties, CUfileDrvProps_t);
same_field(struct cufile_abi_properties, nvfs_major, CUfileDrvProps_t, nvfs.major_version);
same_field(struct cufile_abi_properties, nvfs_minor, CUfileDrvProps_t, nvfs.minor_version);

same_function(cufile_get_version_fn, cuFileGetVersion);
same_function(cufile_driver_open_fn, cuFileDriverOpen);
same_function(cufile_get_properties_fn, cuFileDriverGetProperties);
same_function(cufile_handle_register_fn, cuFileHandleRegister);
same_function(cufile_handle_deregister_fn, cuFileHandleDeregister);
same_function(cufile_buffer_register_fn, cuFileBufRegister);
same_function(cufile_buffer_deregister_fn, cuFileBufDeregister);
same_function(cufile_read_fn, cuFileRead);

same_value(CUFILE_ABI_ALLOW_COMPAT_MODE, CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE);
same_value(CUFILE_ABI_FORCE_COMPAT_MODE, CUFILE_PARAM_FORCE_COMPAT_MODE);
same_function(cufile_set_bool_fn, cuFileSetParameterBool);
same_function(cufile_get_bool_fn, cuFileGetParameterBool);

/* 1.20 has the later modes. */
#ifdef CU_FILE_P2P_FLAG_PCI_P2PDMA
same_value(CUFILE_ABI_POSIX_IO_MODE, CUFILE_PARAM_PROPERTIES_POSIX_IO_MODE);
same_value(CUFILE_ABI_FALLBACK_IO, CUFILE_PARAM_GDS_FALLBACK_IO);
#endif
