/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/nccl.h"
#include "device/gpu/nccl_abi.h"
#include "device/gpu/vendor_tables.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nccl_functions {
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
	/* For policies; NULL where they are missing. */
	nccl_get_id_fn *get_id;
	nccl_comm_init_rank_config_fn *init_rank_config;
	nccl_mem_alloc_fn *mem_alloc;
	nccl_mem_free_fn *mem_free;
	nccl_comm_register_fn *comm_register;
	nccl_comm_deregister_fn *comm_deregister;
	nccl_window_register_fn *window_register;
	nccl_window_deregister_fn *window_deregister;
	nccl_all_to_all_fn *all_to_all;
};

struct nccl {
	struct dynlib *library;
	const struct nccl_functions *api;
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
			{"ncclGetUniqueId", &(api).get_id, true},                                  \
			{"ncclCommInitRankConfig", &(api).init_rank_config, true},                 \
			{"ncclMemAlloc", &(api).mem_alloc, true},                                  \
			{"ncclMemFree", &(api).mem_free, true},                                    \
			{"ncclCommRegister", &(api).comm_register, true},                          \
			{"ncclCommDeregister", &(api).comm_deregister, true},                      \
			{"ncclCommWindowRegister", &(api).window_register, true},                  \
			{"ncclCommWindowDeregister", &(api).window_deregister, true},              \
			{"ncclAlltoAll", &(api).all_to_all, true}, {NULL, NULL, false},            \
	}

static const char *const nccl_files[] = {"libnccl.so.2", "libnccl.so", NULL};
static const char *const nccl_folders[] = {"$NCCL_HOME/lib", "$CUDA_HOME/lib64", "$CUDA_PATH/lib64",
					   "/usr/local/cuda/lib64", NULL};
static struct nccl_functions nccl_api;
static const struct dynlib_symbol nccl_symbols[] = SYMBOLS(nccl_api);
static struct dynlib nccl_library = {
	.title = "NCCL", .files = nccl_files, .folders = nccl_folders, .symbols = nccl_symbols};
const struct nccl cuda_collectives = {&nccl_library, &nccl_api};

static const char *const rccl_files[] = {"librccl.so.1", "librccl.so", NULL};
static const char *const rccl_folders[] = {"$ROCM_PATH/lib", "/opt/rocm/lib", NULL};
static struct nccl_functions rccl_api;
static const struct dynlib_symbol rccl_symbols[] = SYMBOLS(rccl_api);
static struct dynlib rccl_library = {.title = "RCCL",
				     .files = rccl_files,
				     .folders = rccl_folders,
				     .above = &hip_runtime,
				     .symbols = rccl_symbols};
const struct nccl hip_collectives = {&rccl_library, &rccl_api};

static int note_status(const struct nccl *n, const char *function, nccl_status result)
{
	/* Only the driver knows if a device is lost: "unhandled cuda error" is also what NCCL says
	 * of a driver that it does not support. */
	const int status = result == NCCL_ABI_INVALID_ARGUMENT || result == NCCL_ABI_INVALID_USAGE
				   ? -EINVAL
				   : -ENOTSUP;
	const char *detail = n->api->last_error ? n->api->last_error(NULL) : "";
	if (detail && detail[0])
		return err_note(status, "%s: %s: %s", function, n->api->error_string(result),
				detail);
	return err_note(status, "%s: %s", function, n->api->error_string(result));
}

static int check_status(const struct nccl *n, const char *function, nccl_status result)
{
	return result == NCCL_ABI_SUCCESS ? 0 : note_status(n, function, result);
}

int nccl_load(const struct nccl *n) { return dynlib_open(n->library); }

/* 2.8.4 is 2804 and 2.28.9 is 22809; 0: unknown. */
static int read_version(const struct nccl *n)
{
	int code = 0;
	return n->api->version(&code) == NCCL_ABI_SUCCESS && code > 0 ? code : 0;
}

void nccl_describe(const struct nccl *n, char *text, size_t capacity)
{
	const int code = read_version(n);
	if (!code) {
		snprintf(text, capacity, "%s", n->library->title);
		return;
	}
	const int major = code < 10000 ? code / 1000 : code / 10000;
	const int rest = code < 10000 ? code % 1000 : code % 10000;
	snprintf(text, capacity, "%s %d.%d.%d", n->library->title, major, rest / 100, rest % 100);
}

int nccl_open(const struct nccl *n, const unsigned *indices, size_t count, struct ncclComm **comms)
{
	int list[DEV_MAX];
	struct ncclComm *opened[DEV_MAX];
	int status = nccl_load(n);
	if (status)
		return status;
	if (count == 0 || count > DEV_MAX)
		return err_note(-EINVAL, "%s: %zu devices; supported are 1 to %d",
				n->library->title, count, DEV_MAX);
	for (size_t i = 0; i < count; i++)
		list[i] = (int)indices[i];
	status = check_status(n, "ncclCommInitAll", n->api->init_all(opened, (int)count, list));
	for (size_t i = 0; i < count && !status; i++)
		comms[i] = opened[i];
	return status;
}

/* ------------------------------------------------------------------ policies */

/* An older library ignores the policy, or refuses a value that it does not know. */
static const struct {
	int value, version;
	const char *since;
} policies[DEV_COMM_POLICIES] = {
	[DEV_COMM_DEFAULT] = {NCCL_ABI_CTA_POLICY_DEFAULT, 21900, "2.19"},
	[DEV_COMM_EFFICIENCY] = {NCCL_ABI_CTA_POLICY_EFFICIENCY, 22700, "2.27"},
	[DEV_COMM_ZERO_CTA] = {NCCL_ABI_CTA_POLICY_ZERO, 22800, "2.28"},
};

/* The first function that a policy takes and the library lacks, or NULL. */
static const char *find_missing(const struct nccl_functions *api, enum dev_comm_policy policy)
{
	const struct {
		const char *name;
		bool there, zero, other; /* what takes it */
	} needed[] = {
		{"ncclGetUniqueId", api->get_id, true, true},
		{"ncclCommInitRankConfig", api->init_rank_config, true, true},
		{"ncclMemAlloc", api->mem_alloc, true, true},
		{"ncclMemFree", api->mem_free, true, true},
		{"ncclCommRegister", api->comm_register, false, true},
		{"ncclCommDeregister", api->comm_deregister, false, true},
		{"ncclCommWindowRegister", api->window_register, true, false},
		{"ncclCommWindowDeregister", api->window_deregister, true, false},
		{"ncclAlltoAll", api->all_to_all, true, false},
	};
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!needed[i].there &&
		    (policy == DEV_COMM_ZERO_CTA ? needed[i].zero : needed[i].other))
			return needed[i].name;
	return NULL;
}

int nccl_policy_open(const struct nccl *n, enum dev_comm_policy policy, struct nccl_policy *p)
{
	char library[64];
	nccl_id id;
	int status = nccl_load(n);
	if (status)
		return status;
	nccl_describe(n, library, sizeof(library));
	if (read_version(n) < policies[policy].version)
		return err_note(-ENOTSUP, "%s has no CTA policy '%s': it is there from %s on",
				library, dev_comm_policy_name(policy), policies[policy].since);
	const char *missing = find_missing(n->api, policy);
	if (missing)
		return err_note(-ENOTSUP, "%s: CTA policy '%s' needs %s, which this file lacks",
				library, dev_comm_policy_name(policy), missing);
	if (getenv("NCCL_CTA_POLICY"))
		return err_note(-ENOTSUP,
				"%s: NCCL_CTA_POLICY=%s is the policy of every communicator",
				library, getenv("NCCL_CTA_POLICY"));
	status = check_status(n, "ncclGetUniqueId", n->api->get_id(&id));
	p->policy = policy;
	if (!status)
		memcpy(p->id, &id, sizeof(p->id));
	return status;
}

int nccl_open_rank(const struct nccl *n, const struct nccl_policy *p, size_t ranks, size_t rank,
		   struct ncclComm **comm_p)
{
	const int unset = NCCL_ABI_CONFIG_UNSET;
	nccl_config config = {.size = sizeof(config),
			      .magic = NCCL_ABI_CONFIG_MAGIC,
			      .version = NCCL_ABI_CONFIG_VERSION,
			      .blocking = unset,
			      .cluster_size = unset,
			      .min_ctas = unset,
			      .max_ctas = unset,
			      .split_share = unset,
			      .traffic_class = unset,
			      .collnet_enable = unset,
			      .cta_policy = policies[p->policy].value,
			      .shrink_share = unset,
			      .nvls_ctas = unset};
	nccl_id id;
	memcpy(&id, p->id, sizeof(id));
	return check_status(n, "ncclCommInitRankConfig",
			    n->api->init_rank_config(comm_p, (int)ranks, id, (int)rank, &config));
}

static void end_all(nccl_comm_end_fn *end, struct ncclComm **comms, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (comms[i])
			end(comms[i]);
		comms[i] = NULL;
	}
}

void nccl_close(const struct nccl *n, struct ncclComm **comms, size_t count)
{
	end_all(n->api->destroy, comms, count);
}

void nccl_abort(const struct nccl *n, struct ncclComm **comms, size_t count)
{
	end_all(n->api->abort, comms, count);
}

/* ------------------------------------------------------------------ memory */

int nccl_memory_alloc(const struct nccl *n, uint64_t bytes, void **ptr_p)
{
	return check_status(n, "ncclMemAlloc", n->api->mem_alloc(ptr_p, bytes));
}

int nccl_memory_free(const struct nccl *n, void *ptr)
{
	return check_status(n, "ncclMemFree", n->api->mem_free(ptr));
}

/* Copy engines write what lies at the same place of every rank's window; with the other policies
 * units read and write, and a window would bring kernels that follow no policy. */
int nccl_register(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		  void *ptr, uint64_t bytes, void **handle_p)
{
	return policy == DEV_COMM_ZERO_CTA
		       ? check_status(n, "ncclCommWindowRegister",
				      n->api->window_register(comm, ptr, bytes,
							      (nccl_window *)(void *)handle_p,
							      NCCL_ABI_WINDOW_SYMMETRIC))
		       : check_status(n, "ncclCommRegister",
				      n->api->comm_register(comm, ptr, bytes, handle_p));
}

int nccl_deregister(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		    void *handle)
{
	return policy == DEV_COMM_ZERO_CTA ? check_status(n, "ncclCommWindowDeregister",
							  n->api->window_deregister(comm, handle))
					   : check_status(n, "ncclCommDeregister",
							  n->api->comm_deregister(comm, handle));
}

/* ------------------------------------------------------------------ collectives */

int nccl_begin(const struct nccl *n)
{
	return check_status(n, "ncclGroupStart", n->api->group_start());
}

int nccl_end(const struct nccl *n) { return check_status(n, "ncclGroupEnd", n->api->group_end()); }

/* Every release has it: a send to and a receive from every rank, which the group call makes one
 * operation. */
static int exchange_parts(const struct nccl *n, struct ncclComm *comm, nccl_stream stream,
			  size_t ranks, const float *from, float *to, uint64_t count)
{
	int status = 0;
	for (size_t peer = 0; peer < ranks && !status; peer++) {
		status = check_status(n, "ncclSend",
				      n->api->send(from + peer * count, count, NCCL_ABI_FLOAT,
						   (int)peer, comm, stream));
		if (!status)
			status = check_status(n, "ncclRecv",
					      n->api->recv(to + peer * count, count, NCCL_ABI_FLOAT,
							   (int)peer, comm, stream));
	}
	return status;
}

/* Sends and receives take units whatever the policy is. */
static int all_to_all(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		      nccl_stream stream, size_t ranks, const float *from, float *to,
		      uint64_t count)
{
	return policy == DEV_COMM_ZERO_CTA
		       ? check_status(
				 n, "ncclAlltoAll",
				 n->api->all_to_all(from, to, count, NCCL_ABI_FLOAT, comm, stream))
		       : exchange_parts(n, comm, stream, ranks, from, to, count);
}

int nccl_collective(const struct nccl *n, enum dev_comm_policy policy, struct ncclComm *comm,
		    void *stream, enum dev_collective what, size_t ranks, const float *from,
		    float *to, uint64_t count)
{
	switch (what) {
	case DEV_ALLREDUCE:
		return check_status(n, "ncclAllReduce",
				    n->api->all_reduce(from, to, count, NCCL_ABI_FLOAT,
						       NCCL_ABI_SUM, comm, stream));
	case DEV_ALLGATHER:
		return check_status(
			n, "ncclAllGather",
			n->api->all_gather(from, to, count, NCCL_ABI_FLOAT, comm, stream));
	case DEV_REDUCE_SCATTER:
		return check_status(n, "ncclReduceScatter",
				    n->api->reduce_scatter(from, to, count, NCCL_ABI_FLOAT,
							   NCCL_ABI_SUM, comm, stream));
	case DEV_ALL_TO_ALL:
		return all_to_all(n, policy, comm, stream, ranks, from, to, count);
	case DEV_COLLECTIVES:
		break;
	}
	return err_note(-EINVAL, "%s: collective %d", n->library->title, (int)what);
}
