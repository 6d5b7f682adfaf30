/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table in memory: what advise_read.c makes of a file and advise.c looks up.
 */
#ifndef GPUSIG_ADVISE_TABLE_H
#define GPUSIG_ADVISE_TABLE_H

#include "advise/advise.h"

enum { ADVISE_M, ADVISE_N, ADVISE_K, ADVISE_ALL_SIDES };

struct advise_side {
	unsigned count;
	const double *value, *log; /* rising */
};

struct advise_grid {
	const char *op, *type;
	unsigned devices, ways;
	const struct advise_way *way;
	struct advise_side side[ADVISE_ALL_SIDES];
	const double *log_seconds; /* [m][n][k][way]; NaN: impossible */
	double error;              /* the table's */
};

/* One allocation has all that is pointed to behind it. */
struct advise_table {
	double error; /* NaN: unknown */
	unsigned grids, chunks;
	struct advise_grid grid[ADVISE_GRIDS];
	struct advise_chunk chunk[ADVISE_CHUNKS];
};

#endif
