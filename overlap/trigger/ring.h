/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A reduce-scatter over a ring, as T3's (arXiv 2401.16677), of the C of every device: device i
 * sends to device i-1, and chunk j ends, summed over all devices, at device j.
 *
 * A HOP of a device and bands of a chunk waits until its own rows are finished and the neighbour's
 * sum of them has arrived in its inbox, adds its own rows to it there, and copies the sum to the
 * next inbox. Chunk j starts at device j-1, which only copies, and ends at device j, which only
 * adds. A chunk makes N-1 hops over links. C stays as the GEMM left it.
 *
 * Additions run in the device's lane for adding, copies in that for sending, both in the order of
 * the chunks: staggered, device i begins with chunk i+1 and ends with its own, so that all devices
 * send from the start; else all begin with chunk 0, and a device waits until it has come round.
 */
#ifndef GPUSIG_TRIGGER_RING_H
#define GPUSIG_TRIGGER_RING_H

#include "overlap/trigger/round.h"

/* For each device, the node of the GEMM that finishes a band. */
struct ring_gemms {
	uint32_t of_band[DEV_MAX][PRODUCER_MAX_BANDS];
};

/* Adds all hops to the round's graph: chunk by chunk with SEND_WHOLE, else band by band. */
void ring_add_hops(const struct producers *s, struct producer_round *r,
		   const struct ring_gemms *gemms);

#endif
