/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The records behind device/dev_registry.h, and which queued work uses which memory. The registry's
 * lock is held.
 */
#ifndef GPUSIG_DEV_REGISTERED_H
#define GPUSIG_DEV_REGISTERED_H

#include "device/dev_registry.h"
#include "lib/address_table.h"

struct memory_use {
	struct registered *stream;
	uint64_t operation; /* the stream's last one that uses the memory */
};

struct registered_memory {
	char *start;
	uint64_t bytes;
	enum dev_mem kind;
	struct dev *owner;
	unsigned graph_count; /* graphs that use it */
	struct memory_use *uses;
	size_t use_count, use_capacity;
};

/* A handle. Each group of members is of one kind. */
struct registered {
	enum handle_kind kind;
	void *handle; /* NULL: a stream that was closed with work left, or a graph being captured */
	struct dev *dev;

	uint64_t queued, done; /* operations of a stream */
	struct registered *capturing;
	struct registered *next_closed;

	struct registered *stream; /* of an event's latest record; NULL: none, or closed */
	uint64_t operation;

	struct registered_memory **uses; /* by a graph */
	size_t use_count, use_capacity;
};

/* The stream's next operation uses the memory; while the stream is captured, its graph does.
 * -ENOMEM. */
int registered_memory_use(struct registered_memory *m, struct registered *stream);

/* True if queued work or a graph uses the memory; true if the stream has work left. */
bool registered_memory_in_use(const struct registered_memory *m);
bool registered_stream_busy(struct registered *stream);

/* Free a record; it uses no memory any more, that of a stream none of the table `memory`. */
void registered_stream_free(struct registered *stream, const struct address_table *memory);
void registered_graph_free(struct registered *graph); /* NULL is accepted */

/* The graph, or NULL, forgets the memory, which is about to go. */
void registered_graph_forget(struct registered *graph, const struct registered_memory *m);

#endif
