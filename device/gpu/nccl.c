/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL and RCCL: one ABI, two libraries, each with a table of its own.
 */
#include "device/gpu/nccl_abi.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct nccl {
	struct dynlib *library;
	nccl_get_version_fn *version;
	nccl_get_error_string_fn *error_string;
	nccl_get_last_error_fn *last_error;
	nccl_comm_init_all_fn *init_all;
	nccl_comm_end_fn *destroy, *abort;
	nccl_group_fn *group_start, *group_end;
	nccl_all_reduce_fn *all_reduce;
	nccl_reduce_scatter_fn *reduce_scatter;
	nccl_all_gather_fn *all_gather;
	nccl_send_fn *send;
	nccl_recv_fn *recv;
};

#define SYMBOLS(api)                                                                               \
	{                                                                                          \
		{"ncclGetVersion", &(api).version, false},                                         \
			{"ncclGetErrorString", &(api).error_string, false},                        \
			{"ncclGetLastError", &(api).last_error, true},                             \
			{"ncclCommInitAll", &(api).init_all, false},                               \
			{"ncclCommDestroy", &(api).destroy, false},                                \
			{"ncclCommAbort", &(api).abort, false},                                    \
			{"ncclGroupStart", &(api).group_start, false},                             \
			{"ncclGroupEnd", &(api).group_end, false},                                 \
			{"ncclAllReduce", &(api).all_reduce, false},                               \
			{"ncclReduceScatter", &(api).reduce_scatter, false},                       \
			{"ncclAllGather", &(api).all_gather, false},                               \
			{"ncclSend", &(api).send, false}, {"ncclRecv", &(api).recv, false},        \
			{NULL, NULL, false},                                                       \
	}

static int note_status(const struct nccl *api, const char *function, nccl_status result)
{
	/* Only the driver knows if a device is lost: "unhandled cuda error" is also what NCCL says
	 * of a driver that it does not support. */
	const int status = result == NCCL_ABI_INVALID_ARGUMENT || result == NCCL_ABI_INVALID_USAGE
				   ? -EINVAL
				   : -ENOTSUP;
	const char *detail = api->last_error ? api->last_error(NULL) : "";
	if (detail && detail[0])
		return err_note(status, "%s: %s: %s", function, api->error_string(result), detail);
	return err_note(status, "%s: %s", function, api->error_string(result));
}

static int check_status(const struct nccl *api, const char *function, nccl_status result)
{
	return result == NCCL_ABI_SUCCESS ? 0 : note_status(api, function, result);
}

/* NCCL encodes 2.8.4 as 2804 and 2.28.9 as 22809. */
static void describe_version(const struct nccl *api, char *text, size_t capacity)
{
	int code = 0;
	if (api->version(&code) != NCCL_ABI_SUCCESS || code <= 0) {
		snprintf(text, capacity, "%s", api->library->title);
		return;
	}
	const int major = code < 10000 ? code / 1000 : code / 10000;
	const int rest = code < 10000 ? code % 1000 : code % 10000;
	snprintf(text, capacity, "%s %d.%d.%d", api->library->title, major, rest / 100, rest % 100);
}

static int open_all(const struct nccl *api, const unsigned *indices, size_t count, void **comms,
		    char *text, size_t capacity)
{
	int list[DEV_MAX];
	struct ncclComm *opened[DEV_MAX];
	int status = dynlib_open(api->library);
	if (status)
		return status;
	if (count == 0 || count > DEV_MAX)
		return err_note(-EINVAL, "%s: %zu devices; supported are 1 to %d",
				api->library->title, count, DEV_MAX);
	for (size_t i = 0; i < count; i++)
		list[i] = (int)indices[i];
	status = check_status(api, "ncclCommInitAll", api->init_all(opened, (int)count, list));
	if (status)
		return status;
	for (size_t i = 0; i < count; i++)
		comms[i] = opened[i];
	describe_version(api, text, capacity);
	return 0;
}

/* A communicator that cannot be ended is leaked. */
static void end_all(nccl_comm_end_fn *end, void **comms, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (comms[i])
			end(comms[i]);
		comms[i] = NULL;
	}
}

/* NCCL has no all-to-all: a send to and a receive from every rank, which the group call makes one
 * operation. */
static int exchange_parts(const struct nccl *api, struct ncclComm *comm, nccl_stream stream,
			  size_t ranks, const float *from, float *to, uint64_t count)
{
	int status = 0;
	for (size_t peer = 0; peer < ranks && !status; peer++) {
		status = check_status(api, "ncclSend",
				      api->send(from + peer * count, count, NCCL_ABI_FLOAT,
						(int)peer, comm, stream));
		if (!status)
			status = check_status(api, "ncclRecv",
					      api->recv(to + peer * count, count, NCCL_ABI_FLOAT,
							(int)peer, comm, stream));
	}
	return status;
}

static int collective_with(const struct nccl *api, void *comm, void *stream,
			   enum dev_collective what, size_t ranks, const float *from, float *to,
			   uint64_t count)
{
	switch (what) {
	case DEV_ALLREDUCE:
		return check_status(api, "ncclAllReduce",
				    api->all_reduce(from, to, count, NCCL_ABI_FLOAT, NCCL_ABI_SUM,
						    comm, stream));
	case DEV_ALLGATHER:
		return check_status(api, "ncclAllGather",
				    api->all_gather(from, to, count, NCCL_ABI_FLOAT, comm, stream));
	case DEV_REDUCE_SCATTER:
		return check_status(api, "ncclReduceScatter",
				    api->reduce_scatter(from, to, count, NCCL_ABI_FLOAT,
							NCCL_ABI_SUM, comm, stream));
	case DEV_ALL_TO_ALL:
		return exchange_parts(api, comm, stream, ranks, from, to, count);
	case DEV_COLLECTIVES:
		break;
	}
	return err_note(-EINVAL, "%s: collective %d", api->library->title, (int)what);
}

/* ------------------------------------------------------------------ NCCL */

static const char *const nccl_files[] = {"libnccl.so.2", "libnccl.so", NULL};
static const char *const nccl_folders[] = {"$NCCL_HOME/lib", "$CUDA_HOME/lib64", "$CUDA_PATH/lib64",
					   "/usr/local/cuda/lib64", NULL};
static struct dynlib nccl_library;
static struct nccl nccl = {.library = &nccl_library};
static const struct dynlib_symbol nccl_symbols[] = SYMBOLS(nccl);
static struct dynlib nccl_library = {
	.title = "NCCL", .files = nccl_files, .folders = nccl_folders, .symbols = nccl_symbols};

static int nccl_open(const unsigned *indices, size_t count, void **comms, char *text,
		     size_t capacity)
{
	return open_all(&nccl, indices, count, comms, text, capacity);
}
static int nccl_load(void) { return dynlib_open(&nccl_library); }
static void nccl_close(void **comms, size_t count) { end_all(nccl.destroy, comms, count); }
static void nccl_abort(void **comms, size_t count) { end_all(nccl.abort, comms, count); }
static int nccl_begin(void) { return check_status(&nccl, "ncclGroupStart", nccl.group_start()); }
static int nccl_end(void) { return check_status(&nccl, "ncclGroupEnd", nccl.group_end()); }
static int nccl_collective(void *comm, void *stream, enum dev_collective what, size_t ranks,
			   const float *from, float *to, uint64_t count)
{
	return collective_with(&nccl, comm, stream, what, ranks, from, to, count);
}

const struct gpu_collectives cuda_collectives = {.load = nccl_load,
						 .open = nccl_open,
						 .close = nccl_close,
						 .abort = nccl_abort,
						 .begin = nccl_begin,
						 .collective = nccl_collective,
						 .end = nccl_end};

/* ------------------------------------------------------------------ RCCL */

static const char *const rccl_files[] = {"librccl.so.1", "librccl.so", NULL};
static const char *const rccl_folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct dynlib rccl_library;
static struct nccl rccl = {.library = &rccl_library};
static const struct dynlib_symbol rccl_symbols[] = SYMBOLS(rccl);
static struct dynlib rccl_library = {.title = "RCCL",
				     .files = rccl_files,
				     .folders = rccl_folders,
				     .above = &hip_runtime,
				     .symbols = rccl_symbols};

static int rccl_open(const unsigned *indices, size_t count, void **comms, char *text,
		     size_t capacity)
{
	return open_all(&rccl, indices, count, comms, text, capacity);
}
static int rccl_load(void) { return dynlib_open(&rccl_library); }
static void rccl_close(void **comms, size_t count) { end_all(rccl.destroy, comms, count); }
static void rccl_abort(void **comms, size_t count) { end_all(rccl.abort, comms, count); }
static int rccl_begin(void) { return check_status(&rccl, "ncclGroupStart", rccl.group_start()); }
static int rccl_end(void) { return check_status(&rccl, "ncclGroupEnd", rccl.group_end()); }
static int rccl_collective(void *comm, void *stream, enum dev_collective what, size_t ranks,
			   const float *from, float *to, uint64_t count)
{
	return collective_with(&rccl, comm, stream, what, ranks, from, to, count);
}

const struct gpu_collectives hip_collectives = {.load = rccl_load,
						.open = rccl_open,
						.close = rccl_close,
						.abort = rccl_abort,
						.begin = rccl_begin,
						.collective = rccl_collective,
						.end = rccl_end};
