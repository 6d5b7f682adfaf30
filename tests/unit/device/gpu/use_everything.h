/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls every function of device/dev.h once on two devices of one backend, and prints the first
 * failure: "0", or the result, the call and its text.
 */
#ifndef GPUSIG_USE_EVERYTHING_H
#define GPUSIG_USE_EVERYTHING_H

#include "device/dev.h"
#include "device/kernels.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 8192u
#define N 16u

struct test_objects {
	struct dev *d, *other;
	struct dev_stream *s, *other_s;
	struct dev_event *from, *to;
	char *device, *pinned, *on_node, *on_other;
	struct dev_graph *graph;
	struct dev_comm *comm;
};

static const char *failed_call;
static int failed_status;

/* Keeps the first failure only. */
static int keep_first_failure(int status, const char *call)
{
	if (status && !failed_status) {
		failed_status = status;
		failed_call = call;
	}
	return status;
}
#define try(call)                                                                                  \
	do {                                                                                       \
		if (keep_first_failure(call, #call))                                               \
			return;                                                                    \
	} while (0)

static uint32_t first_node(struct dev *d)
{
	uint32_t node = 0;
	dev_numa_nodes(d, &node, 1);
	return node;
}

static void open_objects(struct test_objects *u)
{
	try(dev_alloc(u->d, DEV_MEM_DEVICE, 2 * BYTES, (void **)&u->device));
	try(dev_alloc(u->d, DEV_MEM_PINNED, BYTES, (void **)&u->pinned));
	try(dev_alloc_on_node(u->d, first_node(u->d), BYTES, (void **)&u->on_node));
	try(dev_alloc(u->other, DEV_MEM_DEVICE, BYTES, (void **)&u->on_other));
	try(dev_stream_open(u->d, dev_props(u->d)->priority_high, &u->s));
	try(dev_stream_open(u->other, dev_props(u->other)->priority_normal, &u->other_s));
	try(dev_event_open(u->d, &u->from));
	try(dev_event_open(u->d, &u->to));
}

static void use_streams(struct test_objects *u)
{
	struct dev_kernel *copy;
	char *half = u->device + BYTES;
	uint64_t bytes = BYTES;
	uint32_t reps = 1, blocks;
	double ns = 0;
	const void *args[] = {&half, &u->device, &bytes, &reps};
	const struct dev_launch l = {.grid = 2, .args = args};
	memset(u->pinned, 5, BYTES);
	try(dev_kernel_find(u->d, "copy", &copy));
	try(dev_occupancy(u->d, copy, 0, 1024, &blocks));
	try(dev_event_record(u->d, u->s, u->from));
	try(dev_copy(u->d, u->s, u->device, u->pinned, BYTES));
	try(dev_fill(u->d, u->s, u->device, 6, BYTES / 2));
	try(dev_launch(u->d, u->s, copy, &l));
	try(dev_copy(u->d, u->s, u->device, half, BYTES / 4));
	try(dev_copy(u->d, u->s, u->pinned, half, BYTES));
	/* On CUDA copies within the device are batches of one. */
	void *const batch_to[] = {u->device};
	const void *const batch_from[] = {u->pinned};
	if (strcmp(u->d->ops->name, "hip") == 0)
		try(dev_copy_batch(u->d, u->s, 1, batch_to, batch_from, &bytes));
	try(dev_event_record(u->d, u->s, u->to));
	try(dev_stream_wait(u->other, u->other_s, u->to));
	try(dev_event_sync(u->d, u->to));
	try(dev_event_query(u->d, u->to));
	try(dev_event_elapsed_ns(u->d, u->from, u->to, &ns));
	try(dev_stream_sync(u->d, u->s));
	try(dev_stream_sync(u->other, u->other_s));
	try(u->pinned[0] == 6 && u->pinned[BYTES - 1] == 5 ? 0 : err_note(-EILSEQ, "wrong bytes"));
}

static void use_values(struct test_objects *u)
{
	uint32_t *at = (uint32_t *)(void *)u->pinned;
	*at = 0;
	try(dev_write_value(u->d, u->s, at, 3));
	try(dev_wait_value(u->d, u->s, at, 3));
	try(dev_stream_sync(u->d, u->s));
	try(dev_post_value(u->d, at, 4));
	try(*at == 4 ? 0 : err_note(-EILSEQ, "wrong value"));
}

static void use_gemms(struct test_objects *u)
{
	float *c = (float *)(void *)u->pinned;
	struct dev_gemm g = PACKED_GEMM(N, N, N, .type = DEV_F32, .a = u->pinned + 1024,
					.b = u->pinned + 2048, .c = c);
	for (uint32_t i = 0; i < 3 * N * N; i++)
		c[i] = 1;
	for (int tiled = 0; tiled < 2; tiled++) {
		g.tiled = tiled;
		memset(c, 0, N * N * sizeof(*c));
		try(dev_gemm_prepare(u->d, &g));
		try(dev_gemm(u->d, u->s, &g));
		try(dev_stream_sync(u->d, u->s));
		try(c[0] == (float)N && c[N * N - 1] == (float)N
			    ? 0
			    : err_note(-EILSEQ, "wrong GEMM result"));
	}
}

/* Two groups, by matrices of ones and of twos. */
static void use_grouped_gemm(struct test_objects *u)
{
	float *c = (float *)(void *)u->pinned;
	const struct dev_gemm g =
		PACKED_GEMM(N, N, N, .type = DEV_F32, .a = u->pinned + 1024, .b = u->pinned + 2048,
			    .c = c, .groups = 2, .group_rows = {N / 2, N / 2});
	if (!dev_can(u->d, DEV_CAP_GEMM_GROUPED))
		return;
	for (uint32_t i = 0; i < 512 + 2 * N * N; i++)
		c[i] = i < 512 + N * N ? 1 : 2;
	memset(c, 0, N * N * sizeof(*c));
	try(dev_gemm(u->d, u->s, &g));
	try(dev_stream_sync(u->d, u->s));
	try(c[0] == (float)N && c[N * N - 1] == 2 * (float)N
		    ? 0
		    : err_note(-EILSEQ, "wrong grouped GEMM result"));
}

/* f16, which another library may multiply than f32. */
static void use_narrow_gemm(struct test_objects *u)
{
	uint16_t *c = (uint16_t *)(void *)u->pinned;
	const struct dev_gemm g = PACKED_GEMM(N, N, N, .type = DEV_F16, .a = u->pinned + 1024,
					      .b = u->pinned + 2048, .c = c);
	for (uint32_t i = 0; i < 3 * 512; i++)
		c[i] = 0x3c00;
	try(dev_gemm(u->d, u->s, &g));
	try(dev_stream_sync(u->d, u->s));
	try(c[0] == 0x4c00 && c[N * N - 1] == 0x4c00 ? 0 : err_note(-EILSEQ, "wrong GEMM result"));
}

static void use_graph(struct test_objects *u)
{
	try(dev_graph_begin(u->d, u->s));
	int status = dev_fill(u->d, u->s, u->device, 9, BYTES);
	status = status ? status : dev_copy(u->d, u->s, u->device + BYTES, u->device, BYTES);
	status = status ? status : dev_copy(u->d, u->s, u->pinned, u->device + BYTES, BYTES);
	const int end = dev_graph_end(u->d, u->s, &u->graph);
	try(status);
	try(end);
	try(dev_graph_launch(u->d, u->s, u->graph));
	try(dev_stream_sync(u->d, u->s));
	try(u->pinned[BYTES - 1] == 9 ? 0 : err_note(-EILSEQ, "wrong bytes"));
}

static void use_peers(struct test_objects *u, struct dev_set *set)
{
	struct dev_stream *streams[] = {u->s, u->other_s};
	float *buffers[] = {(float *)(void *)u->device, (float *)(void *)u->on_other},
	      *others[] = {buffers[0] + 64, buffers[1] + 64};
	struct dev_ipc handle;
	void *imported;
	try(dev_peer_enable(u->d, u->other));
	try(dev_fill(u->d, u->s, u->device, 0, BYTES));
	try(dev_copy(u->d, u->s, u->on_other, u->device, BYTES));
	try(dev_stream_sync(u->d, u->s));
	try(dev_ipc_export(u->d, u->device, &handle));
	if (getenv("FAKE_IPC_SELF")) {
		try(dev_ipc_import(u->d, &handle, BYTES, &imported));
		try(dev_free(u->d, imported));
	}
	try(dev_comm_find(set, DEV_COMM_DEFAULT, &u->comm));
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		try(dev_collective(u->comm, (enum dev_collective)what, streams, buffers, others,
				   8));
	try(dev_stream_sync(u->d, u->s));
	try(dev_stream_sync(u->other, u->other_s));
}

static void use_policy(struct test_objects *u, struct dev_set *set)
{
	struct dev_stream *streams[] = {u->s, u->other_s};
	void *from[DEV_MAX] = {NULL}, *to[DEV_MAX] = {NULL};
	try(dev_comm_find(set, DEV_COMM_ZERO_CTA, &u->comm));
	try(dev_comm_alloc(u->comm, BYTES, from));
	try(dev_comm_alloc(u->comm, BYTES, to));
	float *const buffers[] = {from[0], from[1]}, *const others[] = {to[0], to[1]};
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		try(dev_collective(u->comm, (enum dev_collective)what, streams, buffers, others,
				   8));
	try(dev_stream_sync(u->d, u->s));
	try(dev_stream_sync(u->other, u->other_s));
	try(dev_comm_free(u->comm, from)); /* the set frees the rest */
}

static void use_clocks(struct test_objects *u)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	struct dev_links links;
	size_t count;
	double hz;
	try(dev_clock_rate(u->d, &hz));
	try(dev_telemetry_read(u->d, samples, &count));
	try(count > 0 ? 0 : err_note(-EILSEQ, "no telemetry samples"));
	try(dev_links_read(u->d, &links));
	try(links.count > 0 ? 0 : err_note(-EILSEQ, "no links"));
	try(dev_health_read(u->d, samples, &count));
	try(count > 0 ? 0 : err_note(-EILSEQ, "no counts of memory errors"));
}

static void free_objects(struct test_objects *u)
{
	dev_graph_close(u->d, u->graph);
	u->graph = NULL;
	try(dev_free(u->d, u->device));
	try(dev_free(u->d, u->pinned));
	try(dev_free(u->d, u->on_node));
	try(dev_free(u->other, u->on_other));
	dev_event_close(u->d, u->from);
	dev_event_close(u->d, u->to);
	dev_stream_close(u->d, u->s);
	dev_stream_close(u->other, u->other_s);
}

static int use_everything(const char *spec)
{
	struct dev_set set;
	struct test_objects u = {0};
	char text[512] = "";
	alarm(TEST_HANGS_S);
	failed_status = 0;
	keep_first_failure(dev_open(spec, DEV_CAP_ALL | DEV_CHECKED, &set), "dev_open");
	if (!failed_status) {
		u.d = set.dev[0];
		u.other = set.dev[1];
		void (*const parts[])(struct test_objects *) = {
			open_objects,    use_streams,      use_values, use_gemms,
			use_narrow_gemm, use_grouped_gemm, use_graph,  use_clocks};
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !failed_status; i++)
			parts[i](&u);
		if (!failed_status)
			use_peers(&u, &set);
		if (!failed_status)
			use_policy(&u, &set);
		if (!failed_status)
			free_objects(&u);
		snprintf(text, sizeof(text), "%s", err_text());
		dev_close(&set);
	} else {
		snprintf(text, sizeof(text), "%s", err_text());
	}
	if (failed_status)
		printf("%d %s: %s\n", failed_status, failed_call, text);
	else
		printf("0\n");
	return 0;
}

#undef try
#undef BYTES
#undef N

#endif
