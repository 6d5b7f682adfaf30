/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All algorithms on one network: which is fastest at which size. Times are straight lines over bytes, so the fastest
 * ones are a lower envelope and the sizes where they change are exact.
 */
#ifndef GPUSIG_RIVALS_H
#define GPUSIG_RIVALS_H

#include "topology/torus/profile.h"

enum { RIVALS_MOST = 32 };

struct rival {
	const char *name; /* NULL past the last */
	int status;       /* 0, or why the algorithm can't run here: -ENOTSUP; `why` has the text */
	char why[256];
	struct profile profile;
};

struct rivals {
	struct network network;
	enum schedule_ports ports;
	struct rival rivals[RIVALS_MOST + 1];
};

/* -ENOMEM; an algorithm that can't do the shape is no error but has a status. */
int rivals_make(const struct network *network, enum schedule_ports ports, struct rivals *r_p);
void rivals_free(struct rivals *r);

const struct rival *rivals_find(const struct rivals *r, const char *name);

/* The fastest at a size; of equals the first row. NULL when none can run. */
const struct rival *rivals_best(const struct rivals *r, const struct profile_costs *costs, double bytes);

/* The sizes at which `mine` is at least as fast as every other; infinity for no end. False: none above 0. */
bool rivals_wins(const struct rivals *r, const struct rival *mine, const struct profile_costs *costs, double *from_p,
                 double *to_p);

/* "swing-l, from 9362 swing-b, from 12345678 bucket": the envelope in bytes. Returns `text`. */
char *rivals_show(const struct rivals *r, const struct profile_costs *costs, char *text, size_t room);

#endif
