/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_registry.h"
#include "device/dev_registered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct address_table memory, handles;
static struct registered *closed_streams; /* those with work left when they were closed */
static struct dev_checks *checked_devices;

static int unlock_and_return(int status)
{
	pthread_mutex_unlock(&lock);
	return status;
}

/* ------------------------------------------------------------------ finding handles */

/* Lock held, as in all static functions from here on. */
static int note_not_open(const struct dev *d, enum handle_kind kind, const void *handle)
{
	static const char *const names[HANDLE_KINDS] = {"stream", "event", "graph"};
	return d ? err_note(-EINVAL, "%s:%u: %p is not an open %s of this device", d->ops->name,
			    d->index, handle, names[kind])
		 : err_note(-EINVAL, "%p is not an open %s", handle, names[kind]);
}

static struct registered *find_handle(const struct dev *d, enum handle_kind kind,
				      const void *handle)
{
	struct registered *r = address_table_find(&handles, handle);
	return r && r->kind == kind && (!d || r->dev == d) ? r : NULL;
}

static int take_misuse(struct dev *d)
{
	int status = err_kept(&d->checks->misuse);
	d->checks->misuse = (struct err_first){0};
	return status;
}

static int check_handle(struct dev *d, enum handle_kind kind, const void *handle,
			struct registered **r_p)
{
	struct registered *r = find_handle(d, kind, handle);
	int status = d ? take_misuse(d) : 0;
	if (!status && !r)
		status = note_not_open(d, kind, handle);
	if (!status)
		*r_p = r;
	return status;
}

/* ------------------------------------------------------------------ forgetting */

static void destroy_memory(struct registered_memory *m)
{
	for (size_t i = 0; m->graph_count && i < handles.count; i++) {
		struct registered *r = handles.at[i].item;
		registered_graph_forget(r->kind == HANDLE_GRAPH ? r : r->capturing, m);
	}
	free(m->uses);
	free(m);
}

/* Takes the stream out; nothing remains of it but, where `keep_uses`, what its work uses. */
static void remove_stream(struct registered *stream, bool keep_uses)
{
	address_table_remove(&handles, stream->handle);
	for (size_t i = 0; i < handles.count; i++) {
		struct registered *r = handles.at[i].item;
		if (r->stream == stream)
			r->stream = NULL;
	}
	registered_graph_free(stream->capturing);
	stream->capturing = NULL;
	stream->handle = NULL;
	if (keep_uses) {
		stream->next_closed = closed_streams;
		closed_streams = stream;
	} else {
		registered_stream_free(stream, &memory);
	}
}

static void remove_handle(struct registered *r)
{
	address_table_remove(&handles, r->handle);
	if (r->kind == HANDLE_GRAPH) {
		registered_graph_free(r);
		return;
	}
	free(r);
}

static void remove_handles_of(const struct dev *d)
{
	for (size_t i = handles.count; i-- > 0;) {
		struct registered *r = handles.at[i].item;
		if (r->dev == d && r->kind == HANDLE_STREAM)
			remove_stream(r, false);
		else if (r->dev == d)
			remove_handle(r);
	}
	for (struct registered **at = &closed_streams; *at;) {
		struct registered *r = *at;
		if (r->dev != d) {
			at = &r->next_closed;
			continue;
		}
		*at = r->next_closed;
		registered_stream_free(r, &memory);
	}
}

static void remove_memory_of(const struct dev *d)
{
	for (size_t i = memory.count; i-- > 0;) {
		struct registered_memory *m = memory.at[i].item;
		if (m->owner != d)
			continue;
		address_table_remove(&memory, m->start);
		destroy_memory(m);
	}
}

/* ------------------------------------------------------------------ devices. Lock not held from
 * here on. */

void registry_add_device(struct dev_checks *c)
{
	pthread_mutex_lock(&lock);
	c->next = checked_devices;
	checked_devices = c;
	pthread_mutex_unlock(&lock);
}

void registry_remove_device(struct dev_checks *c)
{
	pthread_mutex_lock(&lock);
	struct dev_checks **at = &checked_devices;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (struct dev_checks *other = checked_devices; other; other = other->next)
		for (size_t i = 0; i < other->peer_count; i++)
			if (other->peers[i] == c->dev)
				other->peers[i--] = other->peers[--other->peer_count];
	remove_handles_of(c->dev);
	remove_memory_of(c->dev);
	pthread_mutex_unlock(&lock);
}

static bool has_access(const struct dev *d, const struct dev *owner)
{
	bool found = d == owner;
	for (size_t i = 0; i < d->checks->peer_count && !found; i++)
		found = d->checks->peers[i] == owner;
	return found;
}

static int add_peer(struct dev *d, struct dev *other)
{
	if (has_access(d, other))
		return 0;
	if (d->checks->peer_count == DEV_MAX)
		return err_note(-EMFILE, "%s:%u: more than %d peers", d->ops->name, d->index,
				DEV_MAX);
	d->checks->peers[d->checks->peer_count++] = other;
	return 0;
}

int registry_add_peers(struct dev *d, struct dev *other)
{
	pthread_mutex_lock(&lock);
	int status = add_peer(d, other);
	return unlock_and_return(status ? status : add_peer(other, d));
}

/* ------------------------------------------------------------------ handles */

static int add_handle(const struct registered *handle)
{
	struct registered *r = malloc(sizeof(*r));
	int status = r ? 0 : -ENOMEM;
	if (!status) {
		*r = *handle;
		pthread_mutex_lock(&lock);
		status = unlock_and_return(address_table_add(&handles, r->handle, r));
	}
	if (!status)
		return 0;
	free(r);
	return err_note(status, "check a handle: out of memory");
}

int registry_add_handle(struct dev *d, enum handle_kind kind, void *handle)
{
	return add_handle(&(struct registered){.kind = kind, .handle = handle, .dev = d});
}

int registry_check_handle(struct dev *d, enum handle_kind kind, const void *handle)
{
	struct registered *r;
	pthread_mutex_lock(&lock);
	return unlock_and_return(check_handle(d, kind, handle, &r));
}

bool registry_remove_handle(struct dev *d, enum handle_kind kind, void *handle)
{
	pthread_mutex_lock(&lock);
	struct registered *r = find_handle(d, kind, handle);
	if (!r)
		err_keep(&d->checks->misuse, note_not_open(d, kind, handle));
	else if (kind == HANDLE_STREAM)
		remove_stream(r, registered_stream_busy(r));
	else
		remove_handle(r);
	pthread_mutex_unlock(&lock);
	return r != NULL;
}

void registry_add_kernel(struct dev *d, const char *name, struct dev_kernel *k)
{
	size_t count;
	const struct kernel_signature *first = kernel_signatures(&count),
				      *signature = kernel_signature_named(name);
	pthread_mutex_lock(&lock);
	if (signature)
		d->checks->kernels[signature - first] = k;
	pthread_mutex_unlock(&lock);
}

const struct kernel_signature *registry_signature(struct dev *d, const struct dev_kernel *k)
{
	size_t count, i = 0;
	const struct kernel_signature *signatures = kernel_signatures(&count);
	pthread_mutex_lock(&lock);
	while (i < count && (!k || d->checks->kernels[i] != k))
		i++;
	pthread_mutex_unlock(&lock);
	if (i < count)
		return &signatures[i];
	err_note(-EINVAL, "%s:%u: %p is not a kernel of this device", d->ops->name, d->index,
		 (const void *)k);
	return NULL;
}

/* ------------------------------------------------------------------ memory */

int registry_add_memory(struct dev *d, enum dev_mem kind, void *ptr, uint64_t bytes)
{
	struct registered_memory *m = malloc(sizeof(*m));
	int status = m ? 0 : -ENOMEM;
	if (!status) {
		*m = (struct registered_memory){
			.start = ptr, .bytes = bytes, .kind = kind, .owner = d};
		pthread_mutex_lock(&lock);
		status = unlock_and_return(address_table_add(&memory, ptr, m));
	}
	if (!status)
		return 0;
	free(m);
	return err_note(status, "check an allocation: out of memory");
}

int registry_take_memory(struct dev *d, void *ptr, struct registered_memory **m_p)
{
	pthread_mutex_lock(&lock);
	struct registered_memory *m = address_table_find(&memory, ptr);
	int status = take_misuse(d);
	if (!status && (!m || m->owner != d))
		status = err_note(-EFAULT,
				  "%s:%u: free %p: no allocation of this device starts there",
				  d->ops->name, d->index, ptr);
	if (!status && registered_memory_in_use(m))
		status = err_note(-EBUSY, "%s:%u: free %p: queued work or a graph still uses it",
				  d->ops->name, d->index, ptr);
	if (!status) {
		address_table_remove(&memory, ptr);
		m->use_count = 0;
		*m_p = m;
	}
	return unlock_and_return(status);
}

void registry_end_free(struct registered_memory *m, bool freed)
{
	pthread_mutex_lock(&lock);
	if (freed || address_table_add(&memory, m->start, m))
		destroy_memory(m);
	pthread_mutex_unlock(&lock);
}

/* Lock held. */
static int find_range(const struct dev *d, const struct dev_range *range,
		      struct registered_memory **m_p)
{
	const char *name = d->ops->name;
	struct registered_memory *m = address_table_below(&memory, range->ptr);
	const uint64_t offset = m ? (uint64_t)((uintptr_t)range->ptr - (uintptr_t)m->start) : 0;
	if (!m || offset >= m->bytes || range->bytes > m->bytes - offset)
		return err_note(-EFAULT, "%s:%u: %llu bytes at %p are not inside one allocation",
				name, d->index, (unsigned long long)range->bytes, range->ptr);
	if (!has_access(d, m->owner))
		return err_note(-EFAULT, "%s:%u: %p belongs to %s:%u; peer access is not enabled",
				name, d->index, range->ptr, m->owner->ops->name, m->owner->index);
	if (m->kind == DEV_MEM_PAGEABLE && !range->pageable)
		return err_note(-EFAULT, "%s:%u: %p is pageable memory, which only copies may use",
				name, d->index, range->ptr);
	*m_p = m;
	return 0;
}

int registry_check_range(struct dev *d, const struct dev_range *range)
{
	struct registered_memory *m;
	pthread_mutex_lock(&lock);
	return unlock_and_return(find_range(d, range, &m));
}

/* ------------------------------------------------------------------ queued work */

int registry_enqueue(struct dev *d, struct dev_stream *s, const struct dev_range *ranges,
		     size_t count, struct stream_position *position_p)
{
	struct registered *stream;
	pthread_mutex_lock(&lock);
	int status = check_handle(d, HANDLE_STREAM, s, &stream);
	for (size_t i = 0; i < count && !status; i++) {
		struct registered_memory *m;
		status = find_range(d, &ranges[i], &m);
		if (!status)
			status = registered_memory_use(m, stream);
	}
	if (status)
		return unlock_and_return(status);
	stream->queued += !stream->capturing;
	if (position_p)
		*position_p = (struct stream_position){.stream = s, .operation = stream->queued};
	return unlock_and_return(0);
}

int registry_stream_position(struct dev *d, const struct dev_stream *s,
			     struct stream_position *position_p)
{
	struct registered *stream;
	pthread_mutex_lock(&lock);
	int status = check_handle(d, HANDLE_STREAM, s, &stream);
	if (!status)
		*position_p = (struct stream_position){.stream = s, .operation = stream->queued};
	return unlock_and_return(status);
}

int registry_event_position(const struct dev_event *e, struct stream_position *position_p)
{
	struct registered *event;
	pthread_mutex_lock(&lock);
	int status = check_handle(NULL, HANDLE_EVENT, e, &event);
	if (!status)
		*position_p = (struct stream_position){
			.stream = event->stream ? event->stream->handle : NULL,
			.operation = event->operation};
	return unlock_and_return(status);
}

void registry_mark_done(struct stream_position position)
{
	pthread_mutex_lock(&lock);
	struct registered *stream = find_handle(NULL, HANDLE_STREAM, position.stream);
	if (stream && stream->done < position.operation)
		stream->done = position.operation;
	pthread_mutex_unlock(&lock);
}

void registry_mark_recorded(const struct dev_event *e, struct stream_position position)
{
	pthread_mutex_lock(&lock);
	struct registered *event = find_handle(NULL, HANDLE_EVENT, e);
	if (event) {
		event->stream = find_handle(NULL, HANDLE_STREAM, position.stream);
		event->operation = position.operation;
	}
	pthread_mutex_unlock(&lock);
}

int registry_begin_capture(struct dev *d, struct dev_stream *s)
{
	struct registered *stream, *graph = calloc(1, sizeof(*graph));
	if (!graph)
		return err_note(-ENOMEM, "begin a graph: out of memory");
	graph->kind = HANDLE_GRAPH;
	graph->dev = d;
	pthread_mutex_lock(&lock);
	int status = check_handle(d, HANDLE_STREAM, s, &stream);
	if (status || stream->capturing)
		free(graph);
	else
		stream->capturing = graph;
	return unlock_and_return(status);
}

int registry_end_capture(struct dev *d, struct dev_stream *s, struct dev_graph *g)
{
	pthread_mutex_lock(&lock);
	struct registered *stream = find_handle(d, HANDLE_STREAM, s);
	struct registered *graph = stream ? stream->capturing : NULL;
	int status = 0;
	if (graph) {
		stream->capturing = NULL;
		graph->handle = g;
		status = g ? address_table_add(&handles, g, graph) : -EINVAL;
	}
	if (status)
		registered_graph_free(graph);
	unlock_and_return(0);
	return status && g ? err_note(status, "end a graph: out of memory") : 0;
}
