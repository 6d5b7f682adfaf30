/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev.h"
#include "device/backends.h"
#include "device/dev_checked.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In the order of --list. The harness chooses the default. */
static const struct dev_ops *const backends[] = {
	&cuda_ops, &hip_ops, &host_ops, &sim_ops, NULL,
};

_Static_assert(DEV_CHECKED > DEV_CAP_ALL, "DEV_CHECKED is not the bit of a capability");

#ifdef GPUSIG_CHECKED
const uint32_t dev_want_by_build = DEV_CHECKED;
#else
const uint32_t dev_want_by_build = 0;
#endif

#define INDEX_LIMIT 65536u

struct spec {
	const struct dev_ops *ops;
	char model[1024]; /* "" for none */
	size_t count;
	unsigned index[DEV_MAX];
};

/* ------------------------------------------------------------------ the table */

/* Slots are compared as bytes: ISO C has no cast from a function pointer to an object pointer. */
typedef void (*slot_fn)(void);
#define SLOT(member)                                                                               \
	{                                                                                          \
#member, offsetof(struct dev_ops, member)                                          \
	}

int dev_ops_check(const struct dev_ops *ops)
{
	static const struct {
		const char *name;
		size_t offset;
	} required[] = {
		SLOT(probe),
		SLOT(open),
		SLOT(close),
		SLOT(clock_ns),
		SLOT(alloc),
		SLOT(free),
		SLOT(copy),
		SLOT(fill),
		SLOT(stream_open),
		SLOT(stream_close),
		SLOT(stream_sync),
		SLOT(stream_query),
		SLOT(stream_wait),
		SLOT(event_open),
		SLOT(event_close),
		SLOT(event_record),
		SLOT(event_query),
		SLOT(event_sync),
		SLOT(event_elapsed_ns),
		SLOT(kernel_find),
		SLOT(occupancy),
		SLOT(launch),
	};
	static const slot_fn none;
	if (!ops->name || !ops->name[0])
		return err_note(-EINVAL, "a device backend has no name");
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		if (memcmp((const char *)ops + required[i].offset, &none, sizeof(none)) == 0)
			return err_note(-EINVAL, "device backend %s lacks the required slot '%s'",
					ops->name, required[i].name);
	return 0;
}

size_t dev_backends(struct dev_backend_info *info, size_t capacity)
{
	size_t i;
	for (i = 0; backends[i] && i < capacity; i++) {
		unsigned count = 0;
		err_clear();
		int status = dev_ops_check(backends[i]);
		if (!status)
			status = backends[i]->probe(&count);
		info[i].name = backends[i]->name;
		info[i].devices = status ? 0 : count;
		info[i].why[0] = '\0';
		if (!info[i].devices)
			text_fit(info[i].why, sizeof(info[i].why), "%s",
				 err_text()[0] ? err_text() : "no reason given");
	}
	err_clear();
	while (backends[i])
		i++;
	return i;
}

const char *dev_backend_models(const char *backend)
{
	for (size_t i = 0; backends[i]; i++)
		if (strcmp(backends[i]->name, backend) == 0)
			return backends[i]->models;
	return NULL;
}

/* ------------------------------------------------------------------ specs */

static void note_unknown_backend(const char *spec, size_t name_length)
{
	char known[256] = "";
	size_t used = 0;
	for (size_t i = 0; backends[i] && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 backends[i]->name);
	err_note(-EINVAL, "device '%s': unknown backend '%.*s'; backends: %s", spec,
		 (int)name_length, spec, known);
}

static bool has_only_index_characters(const char *text, size_t length)
{
	return strspn(text, "0123456789,-") >= length;
}

static int parse_index(const char **at_p, unsigned *index_p)
{
	const char *at = *at_p;
	unsigned value = 0;
	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (unsigned)(*at - '0');
		if (value >= INDEX_LIMIT)
			return -EINVAL;
	}
	*at_p = at;
	*index_p = value;
	return 0;
}

static int add_index(const char *text, struct spec *s, unsigned index)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->index[i] == index)
			return err_note(-EINVAL, "device '%s': index %u is listed twice", text,
					index);
	if (s->count == DEV_MAX)
		return err_note(-EINVAL, "device '%s': more than %d devices", text, DEV_MAX);
	s->index[s->count++] = index;
	return 0;
}

static int parse_indices(const char *text, const char *at, struct spec *s)
{
	for (;;) {
		unsigned from, to;
		if (parse_index(&at, &from))
			break;
		to = from;
		if (*at == '-') {
			at++;
			if (parse_index(&at, &to) || to < from)
				break;
		}
		for (unsigned i = from; i <= to; i++) {
			int status = add_index(text, s, i);
			if (status)
				return status;
		}
		if (*at == '\0')
			return 0;
		if (*at++ != ',')
			break;
	}
	return err_note(-EINVAL,
			"device '%s': malformed index list; write I, I,J or I-J with I < %u", text,
			INDEX_LIMIT);
}

/* Up to the indices. What follows a '?' may have colons of its own. */
static size_t model_length(const char *rest)
{
	const size_t length = strcspn(rest, ":");
	const char *last = strrchr(rest, ':');
	if (!memchr(rest, '?', length))
		return length;
	return last && last[1] && has_only_index_characters(last + 1, strlen(last + 1))
		       ? (size_t)(last - rest)
		       : strlen(rest);
}

static int parse_spec(const char *text, struct spec *s)
{
	size_t name = strcspn(text, ":");
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; backends[i]; i++)
		if (strlen(backends[i]->name) == name &&
		    strncmp(backends[i]->name, text, name) == 0)
			s->ops = backends[i];
	if (!s->ops) {
		note_unknown_backend(text, name);
		return -EINVAL;
	}
	const char *rest = text + name;
	if (*rest == ':' && !has_only_index_characters(rest + 1, strcspn(rest + 1, ":"))) {
		size_t model = model_length(++rest);
		if (model >= sizeof(s->model))
			return err_note(
				-EINVAL,
				"device '%.64s...': the model is longer than %zu characters", text,
				sizeof(s->model) - 1);
		memcpy(s->model, rest, model);
		rest += model;
	}
	return *rest == ':' ? parse_indices(text, rest + 1, s) : add_index(text, s, 0);
}

/* ------------------------------------------------------------------ open and close */

static int check_indices(const char *text, const struct spec *s)
{
	unsigned usable = 0;
	err_clear();
	int status = s->ops->probe(&usable);
	if (status)
		return status;
	if (!usable)
		return err_note(-ENODEV, "device '%s': %s has no usable device: %s", text,
				s->ops->name, err_text()[0] ? err_text() : "no reason given");
	for (size_t i = 0; i < s->count; i++) {
		if (s->index[i] < usable)
			continue;
		if (usable == 1)
			return err_note(-ENODEV, "device '%s': no device %s:%u; devices: %s:0",
					text, s->ops->name, s->index[i], s->ops->name);
		return err_note(-ENODEV, "device '%s': no device %s:%u; devices: %s:0-%u", text,
				s->ops->name, s->index[i], s->ops->name, usable - 1);
	}
	return 0;
}

static int open_one(const struct spec *s, size_t i, uint32_t want, struct dev_set *set)
{
	int status = s->ops->open(s->model[0] ? s->model : NULL, s->index[i], (unsigned)s->count,
				  want & ~DEV_CHECKED, &set->dev[i]);
	if (status)
		return status;
	set->count++;
	return want & DEV_CHECKED && !s->ops->always_checked ? dev_check_operations(set->dev[i])
							     : 0;
}

int dev_open(const char *spec, uint32_t want, struct dev_set *set_p)
{
	struct spec s;
	struct dev_set set = {0};
	if (!spec || !set_p)
		return err_note(-EINVAL, "open a device: the spec or the result pointer is NULL");
	int status = parse_spec(spec, &s);
	if (status)
		return status;
	status = dev_ops_check(s.ops);
	if (!status)
		status = check_indices(spec, &s);
	if (status)
		return status;
	for (size_t i = 0; i < s.count; i++) {
		status = open_one(&s, i, want, &set);
		if (status) {
			char cause[ERR_TEXT];
			snprintf(cause, sizeof(cause), "%s", err_text());
			dev_close(&set);
			return err_note(status, "%s", cause);
		}
	}
	err_clear(); /* of what a device may lack */
	*set_p = set;
	return 0;
}

void dev_close(struct dev_set *set)
{
	if (!set)
		return;
	for (int i = 0; i < DEV_COMM_POLICIES; i++) {
		if (set->comm[i])
			set->comm[i]->ops->comm_close(set->comm[i]);
		set->comm[i] = NULL;
	}
	while (set->count > 0) {
		struct dev *d = set->dev[--set->count];
		set->dev[set->count] = NULL;
		d->ops->close(d);
	}
}

/* ------------------------------------------------------------------ optional slots */

int dev_note_not_supported(const struct dev *d, const char *what)
{
	return err_note(-ENOTSUP, "%s:%u: %s is not supported", d->ops->name, d->index, what);
}

static int note_value_too_large(uint32_t value)
{
	return err_note(-EINVAL, "value %lu is above the maximum of %lu", (unsigned long)value,
			(unsigned long)DEV_VALUE_MAX);
}

int dev_alloc(struct dev *d, enum dev_mem kind, uint64_t bytes, void **ptr_p)
{
	if (kind == DEV_MEM_PAGEABLE && !dev_can(d, DEV_CAP_PAGEABLE))
		return dev_note_not_supported(d, "pageable memory");
	return d->ops->alloc(d, kind, bytes, ptr_p);
}

uint32_t dev_wave_blocks(struct dev *d, struct dev_kernel *k)
{
	uint32_t resident;
	if (dev_occupancy(d, k, 0, 0, &resident))
		return 0;
	const uint64_t fit = (uint64_t)d->props.units * resident;
	return fit < d->props.busy_blocks ? (uint32_t)fit : d->props.busy_blocks;
}

uint32_t dev_pass_blocks(const struct dev *d, uint64_t bytes)
{
	const uint64_t each = d->props.pass_block_bytes;
	if (!each)
		return 0;
	/* Some drivers count the threads of a launch in 32 bits. */
	const uint64_t blocks = (bytes + each - 1) / each,
		       most = UINT32_MAX / d->props.block_threads;
	return (uint32_t)(blocks < most ? blocks : most);
}

static bool ranges_overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
	const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
	return first < second ? second - first < a_bytes : first - second < b_bytes;
}

int dev_check_batch(size_t count, void *const *dsts, const void *const *srcs, const uint64_t *bytes)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (ranges_overlap(dsts[i], bytes[i], srcs[j], bytes[j]) ||
			    (i < j && ranges_overlap(dsts[i], bytes[i], dsts[j], bytes[j])))
				return err_note(-EINVAL,
						"a batch of %zu copies: ranges of number %zu and "
						"%zu overlap",
						count, i, j);
	return 0;
}

int dev_copy_batch(struct dev *d, struct dev_stream *s, size_t count, void *const *dsts,
		   const void *const *srcs, const uint64_t *bytes)
{
	if (!dev_can(d, DEV_CAP_COPY_BATCH) || !d->ops->copy_batch)
		return dev_note_not_supported(d, "copy_batch");
	if (count == 0 || count > DEV_BATCH_MAX)
		return err_note(-EINVAL, "a batch of %zu copies: 1 to %d are possible", count,
				DEV_BATCH_MAX);
	for (size_t i = 0; i < count; i++)
		if (bytes[i] == 0)
			return err_note(-EINVAL, "a batch of %zu copies: number %zu has 0 bytes",
					count, i);
	return d->ops->copy_batch(d, s, count, dsts, srcs, bytes);
}

int dev_file_open(struct dev *d, int file, struct dev_file *f)
{
	if (!dev_can(d, DEV_CAP_FILE_READ) || !d->ops->file_read)
		return dev_note_not_supported(d, "file_open");
	*f = (struct dev_file){.file = file};
	return d->ops->file_open ? d->ops->file_open(d, f) : 0;
}

void dev_file_close(struct dev *d, struct dev_file *f)
{
	if (f->handle && d->ops->file_close)
		d->ops->file_close(d, f);
	f->handle = NULL;
}

int dev_file_read(struct dev *d, struct dev_stream *s, const struct dev_file *f, uint64_t offset,
		  void *dst, uint64_t bytes)
{
	if (!dev_can(d, DEV_CAP_FILE_READ) || !d->ops->file_read)
		return dev_note_not_supported(d, "file_read");
	if (bytes == 0)
		return err_note(-EINVAL, "a read of a file has 0 bytes");
	return d->ops->file_read(d, s, f, offset, dst, bytes);
}

int dev_clock_rate(struct dev *d, double *hz_p)
{
	return d->ops->clock_rate ? d->ops->clock_rate(d, hz_p)
				  : dev_note_not_supported(d, "clock_rate");
}

int dev_stream_units(struct dev *d, struct dev_stream *s, uint32_t first, uint32_t count)
{
	const uint32_t units = d->props.units;
	if (!dev_can(d, DEV_CAP_UNIT_MASK))
		return dev_note_not_supported(d, "stream_units");
	if (count == 0 || first >= units || count > units - first)
		return err_note(-EINVAL,
				"stream_units: %u units from unit %u on; the device has %u", count,
				first, units);
	return d->ops->stream_units(d, s, first, count);
}

int dev_wait_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	if (!d->ops->wait_value)
		return dev_note_not_supported(d, "wait_value");
	return value > DEV_VALUE_MAX ? note_value_too_large(value)
				     : d->ops->wait_value(d, s, at, value);
}

int dev_write_value(struct dev *d, struct dev_stream *s, uint32_t *at, uint32_t value)
{
	if (!d->ops->write_value)
		return dev_note_not_supported(d, "write_value");
	return value > DEV_VALUE_MAX ? note_value_too_large(value)
				     : d->ops->write_value(d, s, at, value);
}

int dev_post_value(struct dev *d, uint32_t *at, uint32_t value)
{
	if (!d->ops->post_value)
		return dev_note_not_supported(d, "post_value");
	return value > DEV_VALUE_MAX ? note_value_too_large(value)
				     : d->ops->post_value(d, at, value);
}

int dev_telemetry_read(struct dev *d, struct dev_telemetry *samples, size_t *count_p)
{
	if (d->ops->telemetry_read)
		return d->ops->telemetry_read(d, samples, count_p);
	*count_p = 0;
	return 0;
}

int dev_peer_enable(struct dev *d, struct dev *other)
{
	if (!d->ops->peer_enable)
		return dev_note_not_supported(d, "peer_enable");
	if (strcmp(d->ops->name, other->ops->name) != 0)
		return err_note(-ENOTSUP, "%s:%u and %s:%u: no peer access between backends",
				d->ops->name, d->index, other->ops->name, other->index);
	if (!d->checks != !other->checks)
		return err_note(-EINVAL,
				"%s:%u and %s:%u: one was opened with DEV_CHECKED, the "
				"other without",
				d->ops->name, d->index, other->ops->name, other->index);
	return d->ops->peer_enable(d, other);
}

int dev_graph_begin(struct dev *d, struct dev_stream *s)
{
	return d->ops->graph_begin ? d->ops->graph_begin(d, s)
				   : dev_note_not_supported(d, "graph_begin");
}

int dev_graph_end(struct dev *d, struct dev_stream *s, struct dev_graph **g_p)
{
	return d->ops->graph_end ? d->ops->graph_end(d, s, g_p)
				 : dev_note_not_supported(d, "graph_end");
}

int dev_graph_launch(struct dev *d, struct dev_stream *s, struct dev_graph *g)
{
	return d->ops->graph_launch ? d->ops->graph_launch(d, s, g)
				    : dev_note_not_supported(d, "graph_launch");
}

void dev_graph_close(struct dev *d, struct dev_graph *g)
{
	if (g)
		d->ops->graph_close(d, g);
}

static int open_comm(struct dev_set *set, enum dev_comm_policy policy)
{
	if (set->count < 2)
		return err_note(-ENODEV, "collectives need at least two devices, not %zu",
				set->count);
	const struct dev *first = set->dev[0];
	return first->ops->comm_open
		       ? first->ops->comm_open(set->dev, set->count, policy, &set->comm[policy])
		       : dev_note_not_supported(first, "a collectives library");
}

int dev_comm_find(struct dev_set *set, enum dev_comm_policy policy, struct dev_comm **comm_p)
{
	if (!set->comm[policy] && !set->no_comm[policy].status)
		err_keep(&set->no_comm[policy], open_comm(set, policy));
	if (set->comm[policy])
		*comm_p = set->comm[policy];
	return err_kept(&set->no_comm[policy]);
}

int dev_comm_alloc(struct dev_comm *comm, uint64_t bytes, void **ptrs)
{
	return comm->ops->comm_alloc(comm, bytes, ptrs);
}

int dev_comm_free(struct dev_comm *comm, void *const *ptrs)
{
	return comm->ops->comm_free(comm, ptrs);
}

int dev_collective(struct dev_comm *comm, enum dev_collective what,
		   struct dev_stream *const *streams, float *const *from, float *const *to,
		   uint64_t count)
{
	return comm->ops->collective(comm, what, streams, from, to, count);
}

const char *dev_collective_name(enum dev_collective what)
{
	static const char *const names[DEV_COLLECTIVES] = {[DEV_ALLREDUCE] = "allreduce",
							   [DEV_ALLGATHER] = "all-gather",
							   [DEV_REDUCE_SCATTER] = "reduce-scatter",
							   [DEV_ALL_TO_ALL] = "all-to-all"};
	return (unsigned)what < DEV_COLLECTIVES ? names[what] : "?";
}

const char *dev_comm_policy_name(enum dev_comm_policy policy)
{
	static const char *const names[DEV_COMM_POLICIES] = {[DEV_COMM_DEFAULT] = "default",
							     [DEV_COMM_EFFICIENCY] = "efficiency",
							     [DEV_COMM_ZERO_CTA] = "zero-CTA"};
	return names[policy];
}

size_t dev_numa_nodes(struct dev *d, uint32_t *nodes, size_t capacity)
{
	return d->ops->numa_nodes ? d->ops->numa_nodes(d, nodes, capacity) : 0;
}

int dev_alloc_on_node(struct dev *d, uint32_t node, uint64_t bytes, void **ptr_p)
{
	uint32_t nodes[DEV_NUMA_NODES];
	size_t count = dev_numa_nodes(d, nodes, DEV_NUMA_NODES);
	if (count == 0)
		return dev_note_not_supported(d, "alloc_on_node");
	for (size_t i = 0; i < count && i < DEV_NUMA_NODES; i++)
		if (nodes[i] == node)
			return d->ops->alloc_on_node(d, node, bytes, ptr_p);
	return err_note(-ENODEV, "NUMA node %u: not among the %zu nodes with memory for %s:%u",
			node, count, d->ops->name, d->index);
}

int dev_ipc_export(struct dev *d, void *ptr, struct dev_ipc *handle_p)
{
	return d->ops->ipc_export ? d->ops->ipc_export(d, ptr, handle_p)
				  : dev_note_not_supported(d, "ipc_export");
}

int dev_ipc_import(struct dev *d, const struct dev_ipc *handle, uint64_t bytes, void **ptr_p)
{
	return d->ops->ipc_import ? d->ops->ipc_import(d, handle, bytes, ptr_p)
				  : dev_note_not_supported(d, "ipc_import");
}
