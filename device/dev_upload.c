/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dev_upload() and dev_download(): copies through a pinned bounce buffer.
 */
#include "device/dev.h"

#include <string.h>

#define BOUNCE_BYTES (4u << 20)

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

int dev_upload(struct dev *d, void *dst, const void *src, uint64_t bytes)
{
	struct bounce b;
	if (bytes == 0)
		return 0;
	int status = bounce_open(d, bytes, &b);
	if (status)
		return status;
	for (uint64_t done = 0; !status && done < bytes; done += b.bytes) {
		uint64_t chunk = bytes - done < b.bytes ? bytes - done : b.bytes;
		memcpy(b.pinned, (const char *)src + done, chunk);
		status = bounce_copy(d, &b, (char *)dst + done, b.pinned, chunk);
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
	for (uint64_t done = 0; !status && done < bytes; done += b.bytes) {
		uint64_t chunk = bytes - done < b.bytes ? bytes - done : b.bytes;
		status = bounce_copy(d, &b, b.pinned, (const char *)src + done, chunk);
		if (!status)
			memcpy((char *)dst + done, b.pinned, chunk);
	}
	return bounce_close(d, &b, status);
}
