/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traced rounds of the pipeline: when each GEMM and each communication ran, on every device.
 *
 * A kernel stamps the time just before each part, so its begin is seen on the device's clock, and
 * an event ends each part. Waits and the order of parts need both clocks: the origin is an event
 * between two stamps, and the first of them is taken as its time. So ends appear early and never
 * late, by the time between the two stamps at most, and a correct order is never reported as wrong;
 * waits contain it. What a part takes is the time between two events: from the end of the kernel
 * that stamps to the end of the part. It has no such error.
 */
#ifndef GPUSIG_TRACE_H
#define GPUSIG_TRACE_H

#include "overlap/shaping/pipeline.h"

/* Stamps of a device: around the origin, then at the starts of GEMMs, then of communications. */
enum { TRACE_BEFORE_ORIGIN, TRACE_AFTER_ORIGIN, TRACE_GEMM };

/* True if a loss or a rate needs traced rounds of this variant. */
bool trace_is_needed(unsigned variant);

/* In setup. Returns bench_status(). */
int trace_open(const struct pipeline *p, struct bench_case *c, struct pipeline_trace *trace);

/* Add to a graph: what fixes the origin on every device; a stamp in front of a GEMM; what a part is
 * timed by. */
void trace_add_origins(const struct pipeline *p, struct work_graph *g,
		       struct pipeline_trace *trace);
uint32_t trace_add_stamp(const struct pipeline *p, struct work_graph *g, uint32_t device,
			 unsigned which);
void trace_add_part(struct work_graph *g, struct pipeline_part *part, uint32_t begin, uint32_t end);

/* A graph of one GEMM on every device, with the claim. */
struct work_graph *trace_claiming_gemms(const struct pipeline *p, struct bench_case *c);

#endif
