/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"

#include <errno.h>

/* Looking for the library takes a while, so only callers that want it pay for it. It is started
 * with the first file. */
bool gpu_files_supported(struct gpu_dev *d, uint32_t want)
{
	if (!(want & DEV_CAP_FILE_READ))
		return false;
	if (d->vendor->storage->load() == 0)
		return true;
	dev_keep_lack(&d->dev, DEV_CAP_FILE_READ_BIT);
	return false;
}

int gpu_file_open(struct dev *dev, struct dev_file *f)
{
	struct gpu_dev *d = gpu_of(dev);
	int status = gpu_ctx_use(d);
	if (!status)
		status = d->vendor->storage->file_open(f->file, &f->handle, f->how, sizeof(f->how));
	gpu_ctx_forget();
	return status;
}

void gpu_file_close(struct dev *dev, struct dev_file *f)
{
	gpu_of(dev)->vendor->storage->file_close(f->handle);
	gpu_ctx_forget();
}

/* The allocation, to which nobody else does anything meanwhile but read files into it. */
static int find_memory(struct gpu_dev *d, const void *dst, uint64_t bytes, struct gpu_memory **m_p)
{
	gpu_lock();
	struct gpu_memory *m = *m_p = gpu_memory_find(d, dst, bytes);
	int status = m ? 0 : -EFAULT;
	if (m && (m->kind != DEV_MEM_DEVICE || m->owner != d || m->imported || m->library))
		status = err_note(-ENOTSUP,
				  "%s:%u: files are read into the device's own memory alone",
				  d->vendor->name, d->dev.index);
	gpu_unlock();
	return status;
}

/* Once for an allocation: what is read elsewhere goes through a buffer of the library. */
static int register_memory(struct gpu_dev *d, struct gpu_memory *m)
{
	static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
	int status = 0;
	pthread_mutex_lock(&registering);
	if (!m->takes_files)
		status = d->vendor->storage->memory_open(m->start, m->bytes);
	m->takes_files |= status == 0;
	pthread_mutex_unlock(&registering);
	return status;
}

int gpu_files_forget(const struct gpu_memory *m)
{
	const int status = m->owner->vendor->storage->memory_close(m->start);
	gpu_ctx_forget();
	gpu_ctx_make_current(m->owner);
	return status;
}

int gpu_file_read(struct dev *dev, struct dev_stream *s, const struct dev_file *f, uint64_t offset,
		  void *dst, uint64_t bytes)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_memory *m = NULL;
	int status = gpu_stream_sync(dev, s);
	if (!status)
		status = find_memory(d, dst, bytes, &m);
	if (!status)
		status = register_memory(d, m);
	if (!status)
		status = d->vendor->storage->read(f->handle, m->start, bytes, offset,
						  (uint64_t)((char *)dst - m->start));
	gpu_ctx_forget();
	return status;
}
