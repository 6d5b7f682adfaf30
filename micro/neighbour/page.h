/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page through which a neighbour is told what to do (micro/neighbour/process.h).
 */
#ifndef GPUSIG_NEIGHBOUR_PAGE_H
#define GPUSIG_NEIGHBOUR_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

enum neighbour_state { NEIGHBOUR_STARTS, NEIGHBOUR_IDLE, NEIGHBOUR_WORKS };

struct neighbour_page {
	_Atomic uint32_t wanted, state; /* enum neighbour_state */
	_Atomic uint64_t pieces;        /* of its work that ended */
	char device[320];               /* written before it is first idle */
};

/* First argument of a neighbour. */
#define NEIGHBOUR_ARGUMENT "neighbour-process"

/* Time between two looks at the page of a side that waits. */
#define NEIGHBOUR_POLL_US 50

#endif
