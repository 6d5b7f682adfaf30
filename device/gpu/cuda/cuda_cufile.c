/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads of files into a GPU's memory by cuFile, past the host's (GPUDirect Storage).
 *
 * By default the library reads into memory of the host and copies from there where it can do no
 * better ("compatibility mode"). Here that is switched off before the library starts, so that it
 * refuses a machine without the kernel's part, and a file of another file system; and what it says
 * of its modes after that is looked at, because its configuration may ask for others. Releases
 * before 1.14 have no function for that, and are not used.
 */
#include "device/gpu/cuda/cuda_driver.h"
#include "device/gpu/cuda/cufile_abi.h"
#include "device/gpu/dynlib.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	cufile_get_version_fn *get_version;
	cufile_set_bool_fn *set_bool;
	cufile_get_bool_fn *get_bool;
	cufile_driver_open_fn *driver_open;
	cufile_get_properties_fn *get_properties;
	cufile_handle_register_fn *handle_register;
	cufile_handle_deregister_fn *handle_deregister;
	cufile_buffer_register_fn *buffer_register;
	cufile_buffer_deregister_fn *buffer_deregister;
	cufile_read_fn *read;
} api;

static const struct dynlib_symbol symbols[] = {
	{"cuFileGetVersion", &api.get_version, false},
	{"cuFileSetParameterBool", &api.set_bool, false},
	{"cuFileGetParameterBool", &api.get_bool, false},
	{"cuFileDriverOpen", &api.driver_open, false},
	{"cuFileDriverGetProperties", &api.get_properties, false},
	{"cuFileHandleRegister", &api.handle_register, false},
	{"cuFileHandleDeregister", &api.handle_deregister, false},
	{"cuFileBufRegister", &api.buffer_register, false},
	{"cuFileBufDeregister", &api.buffer_deregister, false},
	{"cuFileRead", &api.read, false},
	{NULL, NULL, false},
};

static const char *const files[] = {"libcufile.so.0", "libcufile.so", NULL};
static struct dynlib library = {
	.title = "cuFile", .files = files, .folders = cuda_folders, .symbols = symbols};

/* ------------------------------------------------------------------ errors */

static const char *meaning_of(int error)
{
	switch (error) {
	case CUFILE_ABI_NOT_INITIALIZED:
		return "the kernel's module nvidia-fs is not loaded";
	case CUFILE_ABI_PLATFORM_NOT_SUPPORTED:
		return "not supported on this platform";
	case CUFILE_ABI_IO_NOT_SUPPORTED:
		return "not supported of this file, its file system or its drive";
	case CUFILE_ABI_DEVICE_NOT_SUPPORTED:
		return "not supported on this GPU";
	case CUFILE_ABI_PERMISSION_DENIED:
		return "no permission for the driver or the file";
	case CUFILE_ABI_PINNING_FAILED:
		return "the GPU's memory cannot be pinned: its BAR1 may be full";
	default:
		return "error";
	}
}

static int check_result(cufile_result result, const char *function)
{
	if (result.error == CUFILE_ABI_SUCCESS)
		return 0;
	if (result.error == CUFILE_ABI_CUDA_ERROR)
		return cuda_note_failure(result.cuda_error, function);
	return err_note(-ENOTSUP, "%s: %s (cuFile %d)", function, meaning_of(result.error),
			result.error);
}

/* ------------------------------------------------------------------ start */

/* Modes in which the library may read into the host's memory; it knows those of its release. */
static int check_modes(void)
{
	static const struct {
		unsigned parameter;
		bool later; /* than the first release that is used */
		const char *name;
	} modes[] = {{CUFILE_ABI_ALLOW_COMPAT_MODE, false, "allow_compat_mode"},
		     {CUFILE_ABI_FORCE_COMPAT_MODE, false, "force_compat_mode"},
		     {CUFILE_ABI_POSIX_IO_MODE, true, "vanilla_posix_io_mode"},
		     {CUFILE_ABI_FALLBACK_IO, true, "gds_fallback_io"}};
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		bool on = false;
		const cufile_result result = api.get_bool(modes[i].parameter, &on);
		if (modes[i].later && result.error == CUFILE_ABI_INVALID_VALUE)
			continue;
		const int status = check_result(result, "cuFileGetParameterBool");
		if (status || on)
			return status ? status
				      : err_note(-ENOTSUP,
						 "cuFile may read through the host's memory: its "
						 "configuration has %s",
						 modes[i].name);
	}
	return 0;
}

static int try_start(void)
{
	int status = check_result(api.set_bool(CUFILE_ABI_ALLOW_COMPAT_MODE, false),
				  "cuFileSetParameterBool");
	if (!status)
		status = check_result(api.driver_open(), "cuFileDriverOpen");
	return status ? status : check_modes();
}

/* Once: 1.20 hangs in a second start after one that failed. */
static int start_library(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool tried;
	static struct err_first first;
	pthread_mutex_lock(&lock);
	if (!tried)
		err_keep(&first, try_start());
	tried = true;
	const int status = err_kept(&first);
	pthread_mutex_unlock(&lock);
	return status;
}

static int load_library(void) { return dynlib_open(&library); }

/* ------------------------------------------------------------------ files and memory */

static int describe(char *text, size_t capacity)
{
	cufile_properties p = {0};
	int version = 0;
	int status = check_result(api.get_version(&version), "cuFileGetVersion");
	if (!status)
		status = check_result(api.get_properties(&p), "cuFileDriverGetProperties");
	char module[48] = "without nvidia-fs";
	if (p.nvfs_major || p.nvfs_minor)
		snprintf(module, sizeof(module), "with nvidia-fs %u.%u", p.nvfs_major,
			 p.nvfs_minor);
	snprintf(text, capacity, "cuFile %d.%d %s, compatibility mode off", version / 1000,
		 version % 1000 / 10, module);
	return status;
}

static int open_file(int file, void **handle_p, char *text, size_t capacity)
{
	cufile_file f = {.type = CUFILE_ABI_OPAQUE_FD, .of.file = file};
	int status = start_library();
	if (!status)
		status = describe(text, capacity);
	return status ? status
		      : check_result(api.handle_register(handle_p, &f), "cuFileHandleRegister");
}

static void close_file(void *handle) { api.handle_deregister(handle); }

static int open_memory(void *start, uint64_t bytes)
{
	return check_result(api.buffer_register(start, bytes, 0), "cuFileBufRegister");
}

static int close_memory(void *start)
{
	return check_result(api.buffer_deregister(start), "cuFileBufDeregister");
}

/* The library takes no more than the kernel reads at once, and may then read less. */
static int read_file(void *handle, void *start, uint64_t bytes, uint64_t offset, uint64_t at)
{
	for (uint64_t done = 0; done < bytes;) {
		const ssize_t got = api.read(handle, start, bytes - done, (off_t)(offset + done),
					     (off_t)(at + done));
		if (got == 0)
			return err_note(-EIO, "cuFileRead: the file has ended");
		if (got == -1)
			return err_note(-EIO, "cuFileRead: %s", strerror(errno));
		if (got < 0)
			return err_note(got == -CUFILE_ABI_IO_NOT_SUPPORTED ? -ENOTSUP : -EIO,
					"cuFileRead: %s (cuFile %d)", meaning_of((int)-got),
					(int)-got);
		done += (uint64_t)got;
	}
	return 0;
}

const struct gpu_storage cuda_storage = {
	.load = load_library,
	.file_open = open_file,
	.file_close = close_file,
	.memory_open = open_memory,
	.memory_close = close_memory,
	.read = read_file,
};
