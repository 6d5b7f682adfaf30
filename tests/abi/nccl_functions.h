/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions and values that NCCL and RCCL have in common, each part from the release on that has
 * it.
 */
#ifndef GPUSIG_NCCL_FUNCTIONS_H
#define GPUSIG_NCCL_FUNCTIONS_H

same_value(NCCL_ABI_SUCCESS, ncclSuccess);
same_value(NCCL_ABI_INVALID_ARGUMENT, ncclInvalidArgument);
same_value(NCCL_ABI_INVALID_USAGE, ncclInvalidUsage);
same_value(NCCL_ABI_FLOAT, ncclFloat);
same_value(NCCL_ABI_SUM, ncclSum);

same_function(nccl_get_version_fn, ncclGetVersion);
same_function(nccl_get_error_string_fn, ncclGetErrorString);
#if NCCL_VERSION_CODE >= 21300
same_function(nccl_get_last_error_fn, ncclGetLastError);
#endif
same_function(nccl_comm_init_all_fn, ncclCommInitAll);
same_function(nccl_comm_end_fn, ncclCommDestroy);
same_function(nccl_comm_end_fn, ncclCommAbort);
same_function(nccl_group_fn, ncclGroupStart);
same_function(nccl_group_fn, ncclGroupEnd);
same_function(nccl_all_reduce_fn, ncclAllReduce);
same_function(nccl_reduce_scatter_fn, ncclReduceScatter);
same_function(nccl_all_gather_fn, ncclAllGather);
same_function(nccl_send_fn, ncclSend);
same_function(nccl_recv_fn, ncclRecv);

same_size(struct nccl_abi_id, ncclUniqueId);
same_function(nccl_get_id_fn, ncclGetUniqueId);

/* Older libraries read the part that they have. */
#if NCCL_VERSION_CODE >= 21400
same_field(struct nccl_abi_config, size, ncclConfig_t, size);
same_field(struct nccl_abi_config, magic, ncclConfig_t, magic);
same_field(struct nccl_abi_config, version, ncclConfig_t, version);
same_field(struct nccl_abi_config, blocking, ncclConfig_t, blocking);
same_function(nccl_comm_init_rank_config_fn, ncclCommInitRankConfig);
#endif
#if NCCL_VERSION_CODE >= 21700
same_value(NCCL_ABI_CONFIG_UNSET, NCCL_CONFIG_UNDEF_INT);
same_field(struct nccl_abi_config, cluster_size, ncclConfig_t, cgaClusterSize);
same_field(struct nccl_abi_config, min_ctas, ncclConfig_t, minCTAs);
same_field(struct nccl_abi_config, max_ctas, ncclConfig_t, maxCTAs);
same_field(struct nccl_abi_config, net_name, ncclConfig_t, netName);
#endif
#if NCCL_VERSION_CODE >= 21900
same_field(struct nccl_abi_config, split_share, ncclConfig_t, splitShare);
same_function(nccl_mem_alloc_fn, ncclMemAlloc);
same_function(nccl_mem_free_fn, ncclMemFree);
same_function(nccl_comm_register_fn, ncclCommRegister);
same_function(nccl_comm_deregister_fn, ncclCommDeregister);
#endif
#if NCCL_VERSION_CODE >= 22700
same_field(struct nccl_abi_config, traffic_class, ncclConfig_t, trafficClass);
same_field(struct nccl_abi_config, comm_name, ncclConfig_t, commName);
same_field(struct nccl_abi_config, collnet_enable, ncclConfig_t, collnetEnable);
same_field(struct nccl_abi_config, cta_policy, ncclConfig_t, CTAPolicy);
same_field(struct nccl_abi_config, shrink_share, ncclConfig_t, shrinkShare);
same_field(struct nccl_abi_config, nvls_ctas, ncclConfig_t, nvlsCTAs);
same_value(NCCL_ABI_CTA_POLICY_DEFAULT, NCCL_CTA_POLICY_DEFAULT);
same_value(NCCL_ABI_CTA_POLICY_EFFICIENCY, NCCL_CTA_POLICY_EFFICIENCY);
same_value(NCCL_ABI_WINDOW_SYMMETRIC, NCCL_WIN_COLL_SYMMETRIC);
same_function(nccl_window_register_fn, ncclCommWindowRegister);
same_function(nccl_window_deregister_fn, ncclCommWindowDeregister);
#endif
#if NCCL_VERSION_CODE >= 22800
same_value(NCCL_ABI_CTA_POLICY_ZERO, NCCL_CTA_POLICY_ZERO);
same_function(nccl_all_to_all_fn, ncclAlltoAll);
#endif
#if NCCL_VERSION_CODE >= 22900
same_value(NCCL_ABI_CONFIG_MAGIC, NCCL_API_MAGIC);
#endif

#endif
