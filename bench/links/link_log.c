/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/links/link_log.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of a variant that are kept: a record of all pairs of 128 nodes stays below 32 MiB, which
 * is what reports read of a line. */
#define MAX_NUMBERS (UINT64_C(1) << 17)
#define MIN_PASSES 16

int link_log_open(struct link_log *log, unsigned variants, size_t links)
{
	size_t capacity = links ? MAX_NUMBERS / links : 0;
	capacity = capacity > LINK_LOG_PASSES ? LINK_LOG_PASSES : capacity;
	capacity = capacity < MIN_PASSES ? MIN_PASSES : capacity;
	*log = (struct link_log){.links = links, .capacity = capacity, .variants = variants};
	for (unsigned v = 0; v < log->variants; v++) {
		struct link_log_passes *p = &log->of[v];
		p->seconds = calloc(capacity, sizeof(*p->seconds));
		p->by_link = calloc(capacity, (links + 1) * sizeof(*p->by_link));
		p->taken = calloc(capacity, sizeof(*p->taken));
		if (!p->seconds || !p->by_link || !p->taken)
			return err_note(-ENOMEM, "the times of %zu links: out of memory", links);
	}
	return 0;
}

void link_log_close(struct link_log *log)
{
	for (unsigned v = 0; v < log->variants; v++) {
		free(log->of[v].seconds);
		free(log->of[v].by_link);
		free(log->of[v].taken);
	}
	*log = (struct link_log){0};
}

void link_log_add(struct link_log *log, unsigned variant, double seconds, const double *by_link,
		  bool checked)
{
	struct link_log_passes *p = &log->of[variant];
	if (checked && p->added >= log->capacity)
		return;
	size_t at = p->added++ % log->capacity;
	p->seconds[at] = seconds;
	p->taken[at] = false;
	memcpy(p->by_link + at * log->links, by_link, log->links * sizeof(*by_link));
}

/* The number of the oldest pass that is kept. */
static size_t find_oldest(const struct link_log *log, const struct link_log_passes *p)
{
	return p->added > log->capacity ? p->added - log->capacity : 0;
}

void link_log_take(struct link_log *log, unsigned variant, double seconds)
{
	struct link_log_passes *p = &log->of[variant];
	size_t oldest = find_oldest(log, p), from = p->cursor > oldest ? p->cursor : oldest;
	for (size_t i = from; i < p->added; i++) {
		size_t at = i % log->capacity;
		if (p->seconds[at] != seconds)
			continue;
		p->taken[at] = true;
		p->cursor = i + 1;
		return;
	}
}

size_t link_log_count(const struct link_log *log, unsigned variant)
{
	const struct link_log_passes *p = &log->of[variant];
	size_t count = 0;
	for (size_t i = find_oldest(log, p); i < p->added; i++)
		count += p->taken[i % log->capacity];
	return count;
}

const double *link_log_of_pass(const struct link_log *log, unsigned variant, size_t index)
{
	const struct link_log_passes *p = &log->of[variant];
	for (size_t i = find_oldest(log, p); i < p->added; i++) {
		size_t at = i % log->capacity;
		if (p->taken[at] && index-- == 0)
			return p->by_link + at * log->links;
	}
	return NULL;
}

void link_log_of_link(const struct link_log *log, unsigned variant, size_t link, double *seconds)
{
	const struct link_log_passes *p = &log->of[variant];
	size_t count = 0;
	for (size_t i = find_oldest(log, p); i < p->added; i++) {
		size_t at = i % log->capacity;
		if (p->taken[at])
			seconds[count++] = p->by_link[at * log->links + link];
	}
}
