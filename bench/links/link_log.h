/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A log of the time of every link in every pass over all links; the harness knows only their sum.
 *
 * A case also runs passes that are not samples: calibration, warm-up, checks, and samples that are
 * taken again. link_log_take() marks the pass that a sample was made from; only such passes count.
 * The log keeps the last passes: LINK_LOG_PASSES of few links, fewer of many. A pass of a check may
 * follow the samples hundreds of times, so it takes no place that another one has.
 */
#ifndef GPUSIG_LINK_LOG_H
#define GPUSIG_LINK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINK_LOG_PASSES = 512, LINK_LOG_VARIANTS = 8 };

struct link_log {
	size_t links, capacity; /* passes of a variant that are kept */
	unsigned variants;
	struct link_log_passes {
		size_t added, cursor; /* the next one to compare with a sample */
		double *seconds, *by_link;
		bool *taken;
	} of[LINK_LOG_VARIANTS];
};

/* -ENOMEM. Close it also after an error. */
int link_log_open(struct link_log *log, unsigned variants, size_t links);
void link_log_close(struct link_log *log);

/* A pass that took `seconds`, and the time of every link in it. `checked`: results were destroyed
 * before it, as before every pass of a check, and before a sample only with --check every. */
void link_log_add(struct link_log *log, unsigned variant, double seconds, const double *by_link,
		  bool checked);

/* A sample took `seconds`, exactly: marks its pass. Samples come in the order of their passes.
 * Nothing is marked where the pass is not kept any more. */
void link_log_take(struct link_log *log, unsigned variant, double seconds);

/* Number of passes taken; and the seconds of one link in each of them, in order. */
size_t link_log_count(const struct link_log *log, unsigned variant);
void link_log_of_link(const struct link_log *log, unsigned variant, size_t link, double *seconds);

/* The times of all links in taken pass `index`. */
const double *link_log_of_pass(const struct link_log *log, unsigned variant, size_t index);

#endif
