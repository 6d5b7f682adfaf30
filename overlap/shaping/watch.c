/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/shaping/watch.h"
#include "lib/bench_gate.h"
#include "lib/stats.h"

#include <errno.h>
#include <math.h>

/* Enough for a median that one odd round does not move. */
enum { ROUNDS = 5, PAIRS_MOST = ROUNDS * SHAPING_ITERATIONS_MOST };

static double median(double *x, unsigned n)
{
	stats_sort(x, n);
	return stats_median(x, n);
}

int watch_rounds(struct loop *l, const struct loop_round *r, struct watch *w_p)
{
	double rate[ROUNDS], wait[PAIRS_MOST], gemm[PAIRS_MOST], comm[PAIRS_MOST];
	struct watch w = {.in_order = true};
	unsigned pairs = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct loop_trace t;
		int status = loop_watch(l, r, &t);
		if (status)
			return status;
		rate[round] = shaping_overlap_rate(t.gemm, t.comm, l->iterations);
		w.in_order = w.in_order && shaping_in_order(t.gemm, t.comm, l->iterations);
		w.resolution_ns = fmax(w.resolution_ns, t.resolution_ns);
		for (unsigned i = 0; i + 1 < l->iterations; i++, pairs++) {
			double ready = i ? fmax(t.gemm[i].end, t.comm[i - 1].end) : t.gemm[i].end;
			wait[pairs] = t.comm[i].begin - ready;
			comm[pairs] = t.comm[i].end - t.comm[i].begin;
			gemm[pairs] = t.gemm[i + 1].end - t.gemm[i + 1].begin;
		}
	}
	w.overlap_rate = median(rate, ROUNDS);
	w.wait_ns = median(wait, pairs);
	w.gemm_ns = median(gemm, pairs);
	w.comm_ns = median(comm, pairs);
	*w_p = w;
	return 0;
}

int watch_queues(struct loop *l, enum loop_queue queue, bool *apart_p)
{
	struct dev_stream *own = l->queue[LOOP_SAME], *other = l->queue[queue];
	int status = gate_shut(l->gate, l->dev, own);
	if (status == 0)
		status = dev_event_record(l->dev, own, l->origin);
	if (status == 0)
		status = message_send(&l->comm, other, l->message[0], NULL, NULL);
	int passed = dev_stream_sync(l->dev, other);
	bool held = status == 0 && dev_event_query(l->dev, l->origin) == -EAGAIN;
	int opened = gate_release(l->gate);
	int drained = dev_stream_sync(l->dev, own);
	status = status ? status : passed ? passed : opened && opened != -ETIMEDOUT ? opened : drained;
	if (status == 0)
		*apart_p = held && opened == 0;
	return status;
}
