/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libcufile of release 1.20, as cufile.h of its package says, and its library where that was asked
 * without a GPU: parameters that it does not know are refused, those that were set hold from the
 * start on, and after a start that failed nothing may be called (the library hangs). Stricter than
 * it: memory that was not registered is refused, where the library takes a buffer of its own.
 *
 * FAKE_NVFS is the version of nvidia-fs, 2.26 by default; 0: not loaded. FAKE_CUFILE_ON is the
 * number of a parameter that the configuration file has on. FAKE_FAIL applies.
 */
#include "tests/fakes/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SUCCESS = 0,
	NOT_INITIALIZED = 5001,
	RANGE_ERROR = 5014,
	CONTEXT_MISMATCH = 5015,
	MAPPING_RANGE = 5017,
	FILE_TYPE = 5018,
	OPEN_FLAG = 5019,
	INVALID_VALUE = 5022,
	ALREADY_REGISTERED = 5023,
	NOT_REGISTERED = 5024,
	ALREADY_OPEN = 5026,
	HANDLE_NOT_REGISTERED = 5027,
	HANDLE_ALREADY_REGISTERED = 5028
};
enum { ALLOW_COMPAT = 1, PROFILE_NVTX = 5, PARAMETERS = 14 };
enum { OPAQUE_FD = 1, BLOCK = 4096, MOST = 256 };

typedef struct {
	int error, cuda_error;
} cufile_error;

struct descriptor {
	unsigned type;
	union {
		int file;
		void *handle;
	} of;
	const void *operations;
};

struct properties {
	unsigned nvfs_major, nvfs_minor;
	size_t poll_bytes, direct_bytes;
	unsigned flags[2], features, sizes[3], batch[2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { CLOSED, OPEN, FAILED } state;
static bool staged[PARAMETERS], is_staged[PARAMETERS];
static struct {
	const char *start;
	size_t bytes; /* 0: free */
} buffers[MOST];
static int open_files[MOST]; /* plus one; 0: free. A handle is the address of one */

static cufile_error make_result(int error) { return (cufile_error){error, 0}; }

__attribute__((noreturn)) static void stop_with(const char *why)
{
	fprintf(stderr, "fake: cuFile: %s\n", why);
	abort();
}

/* The injected fault, or the error of a call that needs the library to be open. */
static int begin_call(const char *function)
{
	if (state == FAILED)
		stop_with("a call after the start has failed");
	const int fault = driver_fault(function);
	return fault ? fault : state == OPEN ? SUCCESS : NOT_INITIALIZED;
}

static bool is_known(unsigned parameter)
{
	return parameter < PARAMETERS && parameter != PROFILE_NVTX;
}

static bool is_on(unsigned parameter)
{
	const char *on = getenv("FAKE_CUFILE_ON");
	if (is_staged[parameter])
		return staged[parameter];
	return on && *on ? strtoul(on, NULL, 10) == parameter : parameter == ALLOW_COMPAT;
}

static const char *nvfs_version(void)
{
	const char *version = getenv("FAKE_NVFS");
	return version && *version ? version : "2.26";
}

#pragma GCC visibility push(default)

cufile_error cuFileGetVersion(int *version)
{
	*version = 1200;
	return make_result(driver_fault(__func__));
}

cufile_error cuFileSetParameterBool(unsigned parameter, bool value)
{
	const int fault = driver_fault(__func__);
	if (fault || state == OPEN || !is_known(parameter))
		return make_result(fault ? fault : state == OPEN ? ALREADY_OPEN : INVALID_VALUE);
	staged[parameter] = value;
	is_staged[parameter] = true;
	return make_result(SUCCESS);
}

cufile_error cuFileGetParameterBool(unsigned parameter, bool *value)
{
	const int fault = driver_fault(__func__);
	if (fault || !is_known(parameter) || !value)
		return make_result(fault ? fault : INVALID_VALUE);
	*value = is_on(parameter);
	return make_result(SUCCESS);
}

cufile_error cuFileDriverOpen(void)
{
	unsigned device;
	int error = begin_call(__func__);
	if (error == NOT_INITIALIZED) {
		const bool module = strcmp(nvfs_version(), "0") != 0;
		error = !module && !is_on(ALLOW_COMPAT)  ? NOT_INITIALIZED
			: driver_current_device(&device) ? CONTEXT_MISMATCH
							 : SUCCESS;
	}
	state = error ? FAILED : OPEN;
	return make_result(error);
}

cufile_error cuFileDriverGetProperties(struct properties *p)
{
	const int error = begin_call(__func__);
	if (error || !p)
		return make_result(error ? error : INVALID_VALUE);
	*p = (struct properties){.direct_bytes = 16384};
	sscanf(nvfs_version(), "%u.%u", &p->nvfs_major, &p->nvfs_minor);
	return make_result(SUCCESS);
}

cufile_error cuFileHandleRegister(void **handle_p, const struct descriptor *d)
{
	struct stat s;
	int error = begin_call(__func__), free_at = -1;
	if (error)
		return make_result(error);
	if (!handle_p || !d || d->type != OPAQUE_FD || d->operations)
		return make_result(INVALID_VALUE);
	if (fstat(d->of.file, &s) || !S_ISREG(s.st_mode))
		return make_result(FILE_TYPE);
	if (!(fcntl(d->of.file, F_GETFL) & O_DIRECT))
		return make_result(OPEN_FLAG);
	pthread_mutex_lock(&lock);
	for (int i = MOST - 1; i >= 0; i--) {
		error = open_files[i] == d->of.file + 1 ? HANDLE_ALREADY_REGISTERED : error;
		free_at = open_files[i] ? free_at : i;
	}
	if (!error && free_at < 0)
		stop_with("too many files");
	if (!error) {
		open_files[free_at] = d->of.file + 1;
		*handle_p = &open_files[free_at];
	}
	pthread_mutex_unlock(&lock);
	return make_result(error);
}

void cuFileHandleDeregister(void *handle)
{
	int *file = handle;
	if (file < open_files || file >= open_files + MOST || *file == 0)
		stop_with("deregisters a file that is not registered");
	if (fcntl(*file - 1, F_GETFL) < 0)
		stop_with("a file was closed before it was deregistered");
	*file = 0;
}

cufile_error cuFileBufRegister(const void *start, size_t bytes, int flags)
{
	const char *from = start;
	int error = begin_call(__func__), free_at = -1;
	if (error || !start || bytes == 0 || flags)
		return make_result(error ? error : INVALID_VALUE);
	if (!driver_is_device_memory(start, bytes))
		return make_result(RANGE_ERROR);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST; i++) {
		const bool meet = from < buffers[i].start + buffers[i].bytes &&
				  buffers[i].start < from + bytes;
		error = buffers[i].bytes && meet ? ALREADY_REGISTERED : error;
		free_at = buffers[i].bytes ? free_at : i;
	}
	if (!error && free_at < 0)
		stop_with("too many buffers");
	if (!error) {
		buffers[free_at].start = from;
		buffers[free_at].bytes = bytes;
	}
	pthread_mutex_unlock(&lock);
	return make_result(error);
}

cufile_error cuFileBufDeregister(const void *start)
{
	int error = begin_call(__func__);
	if (error)
		return make_result(error);
	error = INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST; i++) {
		if (!buffers[i].bytes || buffers[i].start != start)
			continue;
		if (!driver_is_device_memory(start, buffers[i].bytes))
			stop_with("memory was freed before it was deregistered");
		buffers[i].bytes = 0;
		error = SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return make_result(error);
}

/* 0, or why this is no part of a registered buffer. */
static int check_place(const char *start, size_t bytes, off_t at)
{
	int error = NOT_REGISTERED;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST; i++)
		if (buffers[i].bytes && buffers[i].start == start)
			error = at >= 0 && (size_t)at <= buffers[i].bytes &&
						bytes <= buffers[i].bytes - (size_t)at
					? SUCCESS
					: MAPPING_RANGE;
	pthread_mutex_unlock(&lock);
	return error;
}

/* In whole blocks, as the file is open for direct reads alone; what is asked may be any part. */
static ssize_t read_blocks(int file, char *to, size_t bytes, off_t offset)
{
	const off_t before = offset % BLOCK;
	const size_t whole = ((size_t)before + bytes + BLOCK - 1) / BLOCK * BLOCK;
	char *blocks = aligned_alloc(BLOCK, whole);
	if (!blocks)
		stop_with("out of memory");
	ssize_t got = pread(file, blocks, whole, offset - before);
	if (got >= 0) {
		got = got > before ? got - before : 0;
		got = (size_t)got < bytes ? got : (ssize_t)bytes;
		memcpy(to, blocks + before, (size_t)got);
	}
	free(blocks);
	return got < 0 ? -1 : got;
}

ssize_t cuFileRead(void *handle, void *start, size_t bytes, off_t offset, off_t at)
{
	const int *file = handle;
	unsigned device;
	int error = begin_call(__func__);
	if (!error && (file < open_files || file >= open_files + MOST || *file == 0))
		error = HANDLE_NOT_REGISTERED;
	if (!error && driver_current_device(&device))
		error = CONTEXT_MISMATCH;
	if (!error)
		error = check_place(start, bytes, at);
	return error ? -error : read_blocks(*file - 1, (char *)start + at, bytes, offset);
}
