/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds: a GEMM on every device that takes part and a transfer, each alone, one after the other,
 * or both at once.
 *
 * Each device has a stream for GEMMs and one for transfers. A round is enqueued while a gate blocks
 * the stream of the first side. Behind the gate the device records a begin event, and the stream of
 * the second side waits for this event and records two more. So the first side starts first, by the
 * time that these events take, and both sides are in the round from its start. In a serial round
 * both sides are in the stream for GEMMs.
 *
 * Times are from the devices' own events, from the begin event to the end of a side, or of the
 * later side. Clocks of different devices need not agree: with several devices the longest of their
 * times counts. One write of the host opens the gate for all devices.
 */
#ifndef GPUSIG_PAIR_RUN_H
#define GPUSIG_PAIR_RUN_H

#include "bench/bench_gemm.h"
#include "overlap/pair/transfer.h"

enum round_kind {
	PAIR_RUN_GEMM,
	PAIR_RUN_TRANSFER,
	PAIR_RUN_SERIAL,
	PAIR_RUN_GEMM_FIRST,
	PAIR_RUN_TRANSFER_FIRST
};

/* What a round has on one device. */
struct pair_device {
	struct dev *dev;
	struct bench_gemm gemm;
	struct dev_event *begin, *extra, *gemm_end, *transfer_end;
};

struct pair_run {
	size_t count;
	struct pair_device *device;
	struct dev_stream **compute, **traffic; /* one of each for every device */
	struct transfer transfer;
	struct gate *gate;
};

struct round_times {
	double gemm_s, transfer_s, all_s; /* 0 for a side that is not in the round */
};

/* In setup: opens the GEMM of the case's axes on all devices that send. The case owns everything.
 * Runs each side once without a gate, because loading code at the first use may wait for all
 * queues. `bytes`: the transfer size until transfer_resize(). */
int pair_run_open(struct pair_run *r, struct bench_case *c, enum transfer_kind kind,
		  const struct copy_method *method, uint64_t bytes);

/* Runs one round; waits for its end. */
int pair_run_run(struct pair_run *r, enum round_kind kind, struct round_times *times_p);

/* In verify_mechanism: does the whole transfer complete while the streams of GEMMs are blocked? */
int pair_run_verify_independent(struct pair_run *r, struct bench_case *c);

/* As the callbacks poison and check; wait. */
int pair_run_poison(struct pair_run *r, struct bench_case *c);
int pair_run_check_gemms(struct pair_run *r, struct bench_case *c);

#endif
