/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of the programs device_*: collectives among the devices of one process. A program
 * declares its name, texts, axis, variants and headline numbers, and calls
 * device_collective_main(), which adds the rest.
 *
 * A variant is an algorithm: of collectives/schedules, executed by streams, peer copies and a
 * kernel that adds (schedule_graph.h); for all-to-all of all_to_all_graph.h. "library" is the
 * vendor's own, which is in place like the others (device/dev_collectives.h). One that does not
 * support this number of devices, needs more queue entries than there are, or copies between
 * devices that are not peers, is skipped and named.
 *
 * One collective at a time is enqueued completely before one write of the host releases all
 * devices. Events on each device measure its part; the longest part is the time. So this is the
 * completion latency, not the interval of pipelined calls, and what the calls cost is hidden.
 * host_completion is the time on the host's clock, from its release to the end of its wait.
 * Restoring vectors is not timed.
 *
 * DEVICE_LIBRARY_CALLS is the library's as nccl-tests times it: after one that does not count,
 * DEVICE_ROW_CALLS follow each other without a gate, on the host's clock from before the first call
 * to the end of the wait for all devices; the time is that of one. They are out of place, from the
 * originals to the vectors, so that the result of each can be checked.
 *
 * "library-efficiency" and "library-zero-cta" are the library's with such a policy, each by a
 * communicator of its own and in memory that is registered with it (dev_comm_alloc()). Where the
 * library has no such policy, or takes units with "library-zero-cta" all the same, that variant is
 * skipped with the reason; what was measured is proved by the mechanism
 * completes_while_all_units_are_held.
 *
 * Bandwidths are those of nccl-tests: bytes of the whole vector / time, and bus_bandwidth is 2
 * (p-1)/p of that for an allreduce and (p-1)/p for the others. The programs also take its flags and
 * print its table (collectives/nccl_tests).
 */
#ifndef GPUSIG_DEVICE_COLLECTIVE_H
#define GPUSIG_DEVICE_COLLECTIVE_H

#include "collectives/nccl_tests/nccl_tests_rates.h"

#define DEVICE_LIBRARY_CALLS "library-calls"
#define DEVICE_LIBRARY_EFFICIENCY "library-efficiency"
#define DEVICE_LIBRARY_ZERO_CTA "library-zero-cta"
/* The argument of a row is its policy. */
#define DEVICE_LIBRARY_ROWS                                                                        \
	{NCCL_TESTS_LIBRARY, BENCH_SELF, .body = device_library_body,                              \
	 .check = device_library_check},                                                           \
		{DEVICE_LIBRARY_EFFICIENCY, BENCH_SELF, .arg = DEV_COMM_EFFICIENCY,                \
		 .body = device_library_body, .check = device_library_check},                      \
		{DEVICE_LIBRARY_ZERO_CTA, BENCH_SELF, .arg = DEV_COMM_ZERO_CTA,                    \
		 .body = device_library_body, .check = device_library_check},                      \
	{                                                                                          \
		DEVICE_LIBRARY_CALLS, BENCH_SELF, .once = device_library_calls,                    \
						  .check = device_library_check                    \
	}
int device_library_body(struct bench_case *c, long row, uint64_t iterations);
int device_library_calls(struct bench_case *c, long row);
int device_library_check(struct bench_case *c, long row);

/* As many as nccl-tests makes by default. */
#define DEVICE_ROW_CALLS 20
#define DEVICE_MAX_BYTES (UINT64_C(16) << 30)
#define DEVICE_LARGE "size=16M|256M|2M" /* of headline numbers */

/* The rows of the halves, and the size axis of all but the allreduce: vectors in equal parts,
 * rounded as nccl-tests does. */
extern const struct bench_variant device_half_variants[];
extern const struct axis device_parts_axes[];
#define DEVICE_PARTS_LIMITS                                                                        \
	"one at a time: pipelined calls take less time each; no pipelining within a call"

/* For the end of `timed`. */
#define DEVICE_CALLS_TIMED                                                                         \
	"; library-calls, as nccl-tests: 20 library calls in a row, out of place, launches "       \
	"included, on the host's clock"

/* For `formula`. */
#define DEVICE_PARTS_FORMULA                                                                       \
	"bus_bandwidth = (p-1)/p bytes / time; bandwidth = bytes / time; byte/s; bytes of the "    \
	"whole vector"

int device_collective_main(const struct bench *b, enum dev_collective what, int argc, char **argv);

#endif
