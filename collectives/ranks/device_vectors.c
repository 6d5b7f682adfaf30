/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/ranks/device_vectors.h"
#include "device/kernels.h"

#include <dlfcn.h>
#include <string.h>

/* Bytes that one thread block adds. A launch has no more thread blocks than this needs. */
#define THREAD_BLOCK_BYTES 4096u

static uint64_t align_up(uint64_t bytes)
{
	return (bytes + DEV_KERNEL_ALIGN - 1) / DEV_KERNEL_ALIGN * DEV_KERNEL_ALIGN;
}

static bool takes_device_memory(const struct dev *dev)
{
	for (const char *const *name = dev->ops->mpi_queries; name && *name; name++) {
		void *symbol = dlsym(RTLD_DEFAULT, *name);
		int (*query)(void) = NULL;
		memcpy(&query, &symbol, sizeof(query));
		if (query && query() == 1)
			return true;
	}
	return false;
}

int device_vectors_open(struct device_vectors *v, struct dev *dev, uint64_t bytes)
{
	char **const memory[] = {&v->in, &v->out, &v->arrived};
	*v = (struct device_vectors){
		.dev = dev, .direct = takes_device_memory(dev), .bytes = align_up(bytes)};
	int status = dev_stream_open(dev, dev_props(dev)->priority_normal, &v->stream);
	TRY(status, dev_kernel_find(dev, "reduce_add", &v->add));
	for (unsigned i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		void *at = NULL;
		TRY(status, dev_alloc(dev, DEV_MEM_DEVICE, v->bytes, &at));
		*memory[i] = at;
	}
	return status;
}

int device_vectors_stage(struct device_vectors *v, enum dev_mem kind, uint64_t bytes)
{
	void *at = NULL;
	if (bytes <= v->staging_bytes)
		return 0;
	int status = dev_alloc(v->dev, kind, bytes, &at);
	if (status)
		return status;
	dev_free(v->dev, v->staging);
	v->staging = at;
	v->staging_bytes = bytes;
	return 0;
}

void device_vectors_close(struct device_vectors *v)
{
	if (!v->dev)
		return;
	if (v->stream)
		dev_stream_sync(v->dev, v->stream);
	dev_free(v->dev, v->in);
	dev_free(v->dev, v->out);
	dev_free(v->dev, v->arrived);
	dev_free(v->dev, v->staging);
	dev_stream_close(v->dev, v->stream);
	*v = (struct device_vectors){0};
}

void device_vectors_copy(struct device_vectors *v, void *to, const void *from, uint64_t bytes)
{
	if (bytes > 0 && to != from)
		TRY(v->status, dev_copy(v->dev, v->stream, to, from, bytes));
}

void device_vectors_add(struct device_vectors *v, char *to, const char *from, uint64_t bytes)
{
	uint64_t whole = align_up(bytes),
		 blocks = (whole + THREAD_BLOCK_BYTES - 1) / THREAD_BLOCK_BYTES;
	uint32_t reps = 1, max_blocks = dev_wave_blocks(v->dev, v->add);
	const void *const args[] = {&to, &from, &whole, &reps};
	struct dev_launch launch = {.grid = blocks < max_blocks ? (uint32_t)blocks : max_blocks,
				    .args = args};
	if (bytes > 0)
		TRY(v->status, dev_launch(v->dev, v->stream, v->add, &launch));
}

void device_vectors_wait(struct device_vectors *v)
{
	int status = dev_stream_sync(v->dev, v->stream);
	v->status = v->status ? v->status : status;
}

int device_vectors_result(struct device_vectors *v)
{
	device_vectors_wait(v);
	int status = v->status;
	v->status = 0;
	return status;
}
