/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL and RCCL: one ABI, two libraries, each with a table of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/gpu_libraries.h"
#include "device/gpu_library.h"
#include "device/nccl_abi.h"
#include "lib/err.h"

struct nccl {
	struct gpu_library *library;
	nccl_get_version_fn *version;
	nccl_get_error_string_fn *error_string;
	nccl_get_last_error_fn *last_error;
	nccl_comm_init_all_fn *init_all;
	nccl_comm_destroy_fn *destroy;
	nccl_group_fn *group_start, *group_end;
	nccl_all_reduce_fn *all_reduce;
};

#define SYMBOLS(api)                                                                                                           \
	{                                                                                                                      \
		{"ncclGetVersion", &(api).version, false}, {"ncclGetErrorString", &(api).error_string, false},                 \
			{"ncclGetLastError", &(api).last_error, true}, {"ncclCommInitAll", &(api).init_all, false},            \
			{"ncclCommDestroy", &(api).destroy, false}, {"ncclGroupStart", &(api).group_start, false},             \
			{"ncclGroupEnd", &(api).group_end, false}, {"ncclAllReduce", &(api).all_reduce, false},                \
			{NULL, NULL, false},                                                                                   \
	}

static int note(const struct nccl *api, const char *function, nccl_status status)
{
	/* -EIO takes the devices with it, so it is for what may; a system without shared memory is not that. */
	const int code = status == NCCL_ABI_INVALID_ARGUMENT || status == NCCL_ABI_INVALID_USAGE ? -EINVAL
	                 : status == NCCL_ABI_SYSTEM_ERROR                                     ? -ENOTSUP
	                                                                                       : -EIO;
	const char *detail = api->last_error ? api->last_error(NULL) : "";
	if (detail && detail[0])
		return err_note(code, "%s: %s: %s", function, api->error_string(status), detail);
	return err_note(code, "%s: %s", function, api->error_string(status));
}

static int checked(const struct nccl *api, const char *function, nccl_status status)
{
	return status == NCCL_ABI_SUCCESS ? 0 : note(api, function, status);
}

/* 2.8.4 is 2804, 2.28.9 is 22809. */
static void describe(const struct nccl *api, char *text, size_t room)
{
	int code = 0;
	if (api->version(&code) != NCCL_ABI_SUCCESS || code <= 0) {
		snprintf(text, room, "%s", api->library->title);
		return;
	}
	const int major = code < 10000 ? code / 1000 : code / 10000;
	const int rest = code < 10000 ? code % 1000 : code % 10000;
	snprintf(text, room, "%s %d.%d.%d", api->library->title, major, rest / 100, rest % 100);
}

static int open_all(const struct nccl *api, const unsigned *indices, size_t count, void **comms, char *text, size_t room)
{
	int list[DEV_MAX];
	struct ncclComm *opened[DEV_MAX];
	int rc = gpu_library_open(api->library);
	if (rc)
		return rc;
	if (count == 0 || count > DEV_MAX)
		return err_note(-EINVAL, "%s: %zu devices, not 1 to %d", api->library->title, count, DEV_MAX);
	for (size_t i = 0; i < count; i++)
		list[i] = (int)indices[i];
	rc = checked(api, "ncclCommInitAll", api->init_all(opened, (int)count, list));
	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++)
		comms[i] = opened[i];
	describe(api, text, room);
	return 0;
}

/* Nothing else can be done with what can't be destroyed. */
static void close_all(const struct nccl *api, void **comms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (comms[i])
			api->destroy(comms[i]);
}

static int reduce(const struct nccl *api, void *comm, void *stream, float *buffer, uint64_t count)
{
	return checked(api, "ncclAllReduce",
	               api->all_reduce(buffer, buffer, count, NCCL_ABI_FLOAT, NCCL_ABI_SUM, comm, stream));
}

/* ------------------------------------------------------------------ NCCL */

static const char *const nccl_files[] = {"libnccl.so.2", "libnccl.so", NULL};
static const char *const nccl_folders[] = {"$NCCL_HOME/lib", "$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64",
                                           NULL};
static struct gpu_library nccl_library;
static struct nccl nccl = {.library = &nccl_library};
static const struct gpu_symbol nccl_symbols[] = SYMBOLS(nccl);
static struct gpu_library nccl_library = {
	.title = "NCCL", .files = nccl_files, .folders = nccl_folders, .symbols = nccl_symbols};

static int nccl_open(const unsigned *indices, size_t count, void **comms, char *text, size_t room)
{
	return open_all(&nccl, indices, count, comms, text, room);
}
static int nccl_load(void) { return gpu_library_open(&nccl_library); }
static void nccl_close(void **comms, size_t count) { close_all(&nccl, comms, count); }
static int nccl_begin(void) { return checked(&nccl, "ncclGroupStart", nccl.group_start()); }
static int nccl_end(void) { return checked(&nccl, "ncclGroupEnd", nccl.group_end()); }
static int nccl_reduce(void *comm, void *stream, float *buffer, uint64_t count)
{
	return reduce(&nccl, comm, stream, buffer, count);
}

const struct gpu_collectives cuda_collectives = {
	.load = nccl_load, .open = nccl_open, .close = nccl_close, .begin = nccl_begin, .allreduce = nccl_reduce, .end = nccl_end};

/* ------------------------------------------------------------------ RCCL */

static const char *const rccl_files[] = {"librccl.so.1", "librccl.so", NULL};
static const char *const rccl_folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct gpu_library rccl_library;
static struct nccl rccl = {.library = &rccl_library};
static const struct gpu_symbol rccl_symbols[] = SYMBOLS(rccl);
static struct gpu_library rccl_library = {
	.title = "RCCL", .files = rccl_files, .folders = rccl_folders, .symbols = rccl_symbols};

static int rccl_open(const unsigned *indices, size_t count, void **comms, char *text, size_t room)
{
	return open_all(&rccl, indices, count, comms, text, room);
}
static int rccl_load(void) { return gpu_library_open(&rccl_library); }
static void rccl_close(void **comms, size_t count) { close_all(&rccl, comms, count); }
static int rccl_begin(void) { return checked(&rccl, "ncclGroupStart", rccl.group_start()); }
static int rccl_end(void) { return checked(&rccl, "ncclGroupEnd", rccl.group_end()); }
static int rccl_reduce(void *comm, void *stream, float *buffer, uint64_t count)
{
	return reduce(&rccl, comm, stream, buffer, count);
}

const struct gpu_collectives hip_collectives = {
	.load = rccl_load, .open = rccl_open, .close = rccl_close, .begin = rccl_begin, .allreduce = rccl_reduce, .end = rccl_end};
