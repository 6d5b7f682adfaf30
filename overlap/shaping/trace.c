/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/trace.h"
#include "bench/bench_gate.h"
#include "lib/stats.h"

#include <errno.h>
#include <math.h>

/* Enough for a median that a single outlier does not move. */
enum { ROUNDS = 5, PAIRS_MAX = ROUNDS * SHAPING_ITERATIONS_MAX };

static double median_of(double *x, unsigned n)
{
	stats_sort(x, n);
	return stats_median(x, n);
}

int trace_rounds(struct pipeline *p, const struct pipeline_round *r, struct trace *w_p)
{
	double rate[ROUNDS], wait[PAIRS_MAX], gemm[PAIRS_MAX], comm[PAIRS_MAX];
	struct trace w = {.in_order = true};
	unsigned pairs = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct pipeline_trace t;
		int status = pipeline_run_traced(p, r, &t);
		if (status)
			return status;
		rate[round] = shaping_overlap_rate(t.gemm, t.comm, p->iterations);
		w.in_order = w.in_order && shaping_in_order(t.gemm, t.comm, p->iterations);
		w.resolution_ns = fmax(w.resolution_ns, t.resolution_ns);
		for (unsigned i = 0; i + 1 < p->iterations; i++, pairs++) {
			double ready = i ? fmax(t.gemm[i].end, t.comm[i - 1].end) : t.gemm[i].end;
			wait[pairs] = t.comm[i].begin - ready;
			comm[pairs] = t.comm[i].end - t.comm[i].begin;
			gemm[pairs] = t.gemm[i + 1].end - t.gemm[i + 1].begin;
		}
	}
	w.overlap_rate = median_of(rate, ROUNDS);
	w.wait_ns = median_of(wait, pairs);
	w.gemm_ns = median_of(gemm, pairs);
	w.comm_ns = median_of(comm, pairs);
	*w_p = w;
	return 0;
}

int trace_queue_independent(struct pipeline *p, enum pipeline_queue queue, bool *independent_p)
{
	struct dev_stream *own = p->queue[PIPELINE_SAME], *other = p->queue[queue];
	int status = gate_shut(p->gate, p->dev, own);
	if (status == 0)
		status = dev_event_record(p->dev, own, p->origin);
	if (status == 0)
		status = comm_load_send(&p->comm, other, p->buffer[0], NULL, NULL);
	int passed = dev_stream_sync(p->dev, other);
	bool blocked = status == 0 && dev_event_query(p->dev, p->origin) == -EAGAIN;
	int released = gate_release(p->gate);
	int drained = dev_stream_sync(p->dev, own);
	status = status                               ? status
		 : passed                             ? passed
		 : released && released != -ETIMEDOUT ? released
						      : drained;
	if (status == 0)
		*independent_p = blocked && released == 0;
	return status;
}
