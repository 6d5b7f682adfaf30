/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dev_upload() and dev_download(): copies through a pinned bounce buffer.
 */
#include "device/dev.h"

#include <string.h>

#define BOUNCE_BYTES (4u << 20)
#define OVERLAP_BYTES 4096u

struct bounce {
	struct dev_stream *stream;
	void *pinned;
	uint64_t bytes;
};

static int bounce_open(struct dev *d, uint64_t bytes, struct bounce *b)
{
	b->bytes = bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES;
	int status = dev_stream_open(d, d->props.priority_normal, &b->stream);
	if (status)
		return status;
	status = dev_alloc(d, DEV_MEM_PINNED, b->bytes, &b->pinned);
	if (status)
		dev_stream_close(d, b->stream);
	return status;
}

/* Closing comes after a sync, so it can only fail when the device is already lost. */
static int bounce_close(struct dev *d, struct bounce *b, int status)
{
	dev_stream_close(d, b->stream);
	int freed = dev_free(d, b->pinned);
	return status ? status : freed;
}

static int bounce_copy(struct dev *d, struct bounce *b, void *dst, const void *src, uint64_t bytes)
{
	int status = dev_copy(d, b->stream, dst, src, bytes);
	return status ? status : dev_stream_sync(d, b->stream);
}

struct chunk {
	uint64_t begin, end;
};

/* A chunk begins with the last page of the one before: a range that leaves its allocation is
 * refused even where another allocation follows. */
static struct chunk chunk_after(struct chunk last, const struct bounce *b, uint64_t bytes)
{
	uint64_t begin = last.end ? last.end - OVERLAP_BYTES : 0;
	return (struct chunk){begin, bytes - begin < b->bytes ? bytes : begin + b->bytes};
}

int dev_upload(struct dev *d, void *dst, const void *src, uint64_t bytes)
{
	struct bounce b;
	if (bytes == 0)
		return 0;
	int status = bounce_open(d, bytes, &b);
	if (status)
		return status;
	for (struct chunk c = {0}; !status && c.end < bytes;) {
		c = chunk_after(c, &b, bytes);
		memcpy(b.pinned, (const char *)src + c.begin, c.end - c.begin);
		status = bounce_copy(d, &b, (char *)dst + c.begin, b.pinned, c.end - c.begin);
	}
	return bounce_close(d, &b, status);
}

int dev_download(struct dev *d, void *dst, const void *src, uint64_t bytes)
{
	struct bounce b;
	if (bytes == 0)
		return 0;
	int status = bounce_open(d, bytes, &b);
	if (status)
		return status;
	for (struct chunk c = {0}; !status && c.end < bytes;) {
		c = chunk_after(c, &b, bytes);
		status = bounce_copy(d, &b, b.pinned, (const char *)src + c.begin, c.end - c.begin);
		if (!status)
			memcpy((char *)dst + c.begin, b.pinned, c.end - c.begin);
	}
	return bounce_close(d, &b, status);
}
