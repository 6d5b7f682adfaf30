/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rounds: a GEMM on every device that takes part and a transfer, each alone, one after the other,
 * or both at once. Each device has a lane for GEMMs and one for transfers, and a round is a graph
 * over them (bench/graph/work_graph.h); in a serial round both sides are in the lane for GEMMs.
 *
 * The rule of two stamps behind: where both sides run at once, the second one waits for the
 * device's begin event, as every lane but the first does, and then records two more events.
 * Recording the begin event may take its own stream longer than the others need to see it. So the
 * first side starts first, by the time that these events take, and both sides are in the round from
 * its start. A transfer of several messages has lanes that start after an event of its first one: a
 * GEMM behind it records three more events.
 *
 * Times are from the devices' own events, from the begin event to the end of the later side; with
 * several devices the longest of their times counts. A side's own time begins, as it does alone, at
 * the event before its work: the begin event, or for the second side the last of those more.
 */
#ifndef GPUSIG_PAIR_RUN_H
#define GPUSIG_PAIR_RUN_H

#include "bench/bench_gemm.h"
#include "overlap/pair/transfer.h"

/* Each side alone, one after the other, both at once in either order. */
enum pair_round { GEMM, TRANSFER, SERIAL, GEMM_FIRST, TRANSFER_FIRST, PAIR_ROUNDS };

/* A case's state. */
struct pair_run {
	struct transfer transfer;
	struct bench_gemm gemm[DEV_MAX]; /* of every device that sends */
	struct work_lanes *lanes;
	uint32_t compute[DEV_MAX], traffic[DEV_MAX]; /* lanes */
	struct work_graph *round[PAIR_ROUNDS];
	/* Lanes of the side that starts second, where both run at once, and the node of the event
	 * before it. */
	const uint32_t *second[PAIR_ROUNDS];
	uint32_t second_start[PAIR_ROUNDS][DEV_MAX];
	double multiple; /* of the GEMM's time that the transfer is to take; 0: its bytes are given
			  */
	struct rotation *rotation;
};

/* Setup: opens everything, on all devices that send; the case owns it. The GEMM and the transfer
 * are those of the case's axes. A size that is a multiple is found by trials of each side alone, of
 * the GEMM with the case's operands, warm or cold; it takes several passes when memory does not
 * suffice for one. Graphs of trials stay, unused, until the case ends. */
int pair_run_open(struct bench_case *c);

/* In derive: flags the case "size" where "transfer_multiple" of TRANSFER says that the transfer
 * takes another multiple of the GEMM's time, by over a tenth. */
void pair_run_verify_size(struct bench_case *c);

/* Callbacks of variants whose `arg` is a round: it runs once, to its end, or to the end of a side
 * where both run at once. */
int pair_time(struct bench_case *c, long round);
int pair_time_gemm(struct bench_case *c, long round);
int pair_time_transfer(struct bench_case *c, long round);

#endif
