/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All algorithms on one network, and which is fastest at which size. Times are straight lines over
 * bytes, so the fastest algorithms form the lower envelope, and the sizes where they change are
 * exact.
 */
#ifndef GPUSIG_CANDIDATES_H
#define GPUSIG_CANDIDATES_H

#include "lib/err.h"
#include "topology/torus/cost_model.h"

enum { CANDIDATES_MAX = 32 };

/* Times are exact but for rounding: what differs by less is a tie. */
#define CANDIDATES_TIE 1e-9

struct candidate {
	const char *name; /* NULL past the last */
	int status;       /* 0, or -ENOTSUP; `why` has the text */
	char why[ERR_TEXT];
	struct cost_model model;
};

struct candidates {
	struct network network;
	enum schedule_ports ports;
	struct candidate list[CANDIDATES_MAX + 1];
};

/* -ENOMEM. An algorithm that does not support the shape is not an error; its status says so. */
int candidates_make(const struct network *network, enum schedule_ports ports,
		    struct candidates *c_p);
void candidates_free(struct candidates *c);

const struct candidate *candidates_find(const struct candidates *c, const char *name);

/* The fastest at a size; of equal ones the first. NULL when none is supported. */
const struct candidate *candidates_best(const struct candidates *c,
					const struct cost_model_costs *costs, double bytes);

/* The range of sizes at which `mine` is at least as fast as every other; INFINITY when it has no
 * end. False when there is no such size. */
bool candidates_wins(const struct candidates *c, const struct candidate *mine,
		     const struct cost_model_costs *costs, double *from_p, double *to_p);

/* "swing-b", or "tie of ring and bucket": all that are fastest at a size. Returns `text`. */
char *candidates_show_best(const struct candidates *c, const struct cost_model_costs *costs,
			   double bytes, char *text, size_t capacity);

/* "swing-l, from 9362 swing-b, from 12345678 tie of ring and bucket": the envelope in bytes.
 * Returns `text`. */
char *candidates_show(const struct candidates *c, const struct cost_model_costs *costs, char *text,
		      size_t capacity);

#endif
