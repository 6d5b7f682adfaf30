/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Grouped GEMMs by the vendor's library. It reads the addresses of the matrices from the device's
 * memory, so the lists of addresses stay there until the device is closed, and only the first GEMM
 * of a list writes it.
 */
#include "device/backends.h"
#include "device/gpu/gpu_dev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MATRICES = 3 };

/* Addresses of first, second and c of each GEMM. */
struct gpu_pointers {
	struct gpu_pointers *next;
	uint32_t count; /* of GEMMs */
	const void *host[MATRICES * DEV_GEMM_GROUPS];
	void *device;
};

static size_t list_bytes(uint32_t count) { return MATRICES * count * sizeof(void *); }

/* Groups without rows are left out. */
static void list_groups(const struct dev_gemm *g, struct gpu_grouped_problem *p,
			struct gpu_pointers *list)
{
	const uint32_t count = dev_gemm_groups(g);
	const uint64_t each = dev_type_bytes(g->type);
	uint64_t row = 0;
	uint32_t at = 0;
	for (uint32_t i = 0; i < g->groups; row += g->group_rows[i++]) {
		if (g->group_rows[i] == 0)
			continue;
		p->n[at] = (int)g->group_rows[i];
		list->host[at] = (const char *)g->b + i * dev_gemm_group_stride(g) * each;
		list->host[count + at] = (const char *)g->a + row * g->lda * each;
		list->host[2 * count + at] =
			(const char *)g->c + row * g->ldc * dev_type_result_bytes(g->type);
		at++;
	}
	p->count = list->count = count;
}

static struct gpu_pointers *find_list(const struct gpu_dev *d, const struct gpu_pointers *wanted)
{
	struct gpu_pointers *list = d->pointers;
	while (list && (list->count != wanted->count ||
			memcmp(list->host, wanted->host, list_bytes(wanted->count)) != 0))
		list = list->next;
	return list;
}

static int write_list(struct gpu_dev *d, struct gpu_pointers *list)
{
	void *stream = d->internal_stream->handle;
	const size_t bytes = list_bytes(list->count);
	int status = gpu_check(d, d->driver->alloc(bytes, &list->device));
	if (!status)
		status = gpu_check(d, d->driver->copy(stream, list->device, list->host, bytes,
						      GPU_COPY_UP, false));
	return status ? status : gpu_check(d, d->driver->stream_sync(stream));
}

/* Lock held: two threads may multiply the same matrices. */
static int add_list(struct gpu_dev *d, const struct gpu_pointers *wanted,
		    struct gpu_pointers **list_p)
{
	struct gpu_pointers *list = malloc(sizeof(*list));
	if (!list)
		return err_note(-ENOMEM, "grouped GEMM: out of memory");
	*list = *wanted;
	const int status = write_list(d, list);
	if (status) {
		if (list->device)
			d->driver->free(list->device);
		free(list);
		return status;
	}
	list->next = d->pointers;
	d->pointers = *list_p = list;
	return 0;
}

int gpu_grouped(struct gpu_dev *d, struct dev_stream *s, const struct dev_gemm *g)
{
	struct gpu_grouped_problem p = {.each = gpu_gemm_problem(g)};
	struct gpu_pointers wanted = {0}, *list;
	if (g->lda > INT32_MAX || g->ldb > INT32_MAX || g->ldc > INT32_MAX || g->m > INT32_MAX)
		return err_note(-EINVAL, "%s:%u: grouped GEMM: sizes must be below 2^31",
				d->vendor->name, d->dev.index);
	list_groups(g, &p, &wanted);
	int status = gpu_enqueue(d, s);
	if (!status)
		status = gpu_gemm_prepare_stream(d, s, g->type);
	if (status)
		return status;
	gpu_lock();
	list = find_list(d, &wanted);
	if (!list)
		status = gpu_refuse_capture(s, "a first grouped GEMM of these matrices");
	if (!list && !status)
		status = add_list(d, &wanted, &list);
	gpu_unlock();
	if (status)
		return status;
	p.pointers = list->device;
	p.host_pointers = list->host;
	p.each.workspace = s->workspace;
	p.each.workspace_bytes = d->vendor->blas->workspace_bytes;
	return gpu_check(d, d->vendor->blas->run_grouped(d->grouped, s->handle, &p));
}

/* ------------------------------------------------------------------ open and close */

void gpu_grouped_open(struct gpu_dev *d)
{
	struct dev_props *p = &d->dev.props;
	const size_t length = strlen(p->blas);
	uint32_t types = 0;
	const int status =
		d->vendor->blas->grouped_open
			? d->vendor->blas->grouped_open(&d->grouped, &types, p->blas + length,
							sizeof(p->blas) - length)
			: err_note(-ENOTSUP, "its library has no grouped GEMMs for C");
	if (status)
		dev_keep_lack(&d->dev, DEV_CAP_GEMM_GROUPED_BIT);
	p->gemm_grouped_types = p->gemm_types & types;
}

void gpu_grouped_close(struct gpu_dev *d, bool usable)
{
	while (d->pointers) {
		struct gpu_pointers *list = d->pointers;
		d->pointers = list->next;
		if (usable)
			d->driver->free(list->device);
		free(list);
	}
	if (d->grouped)
		d->vendor->blas->grouped_close(d->grouped, usable);
	d->grouped = NULL;
}
