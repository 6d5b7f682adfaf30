/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schedule that a machine should take for a GEMM C (m x n) = A (m x k) B (k x n) and its
 * communication, looked up in a table that was made on that machine's model:
 *
 *     ./gpusig advise SIGNATURE --compile --m 256:16384 --n 4096,11008 --k 4096 \
 *             --devices 8 --op ag-gemm,gemm-rs --type bf16 >node.advice
 *
 *     struct advise_table *table;
 *     const struct advise_grid *grid;
 *     struct advise_choice choice;
 *     status = advise_read("node.advice", &table);                        once
 *     status = advise_find(table, "ag-gemm", "bf16", 8, &grid);           once
 *     status = advise(grid, 4000, 11008, 4096, &choice);                  for every GEMM
 *
 * advise() allocates nothing, locks nothing, does no input or output, and may run in many threads
 * at once. It costs a search in each side and an exponential for each way. docs/examples/runtime is
 * a program that uses it. To have it in another project, take the folder advise/ with lib/err,
 * lib/text.h and lib/text_fit.c.
 *
 * Names of operations, types, schedules, copy methods and cuts are those of the file: there is no
 * list of them here. A way is a schedule with a copy method and a cut: of the rows of C, or of its
 * columns, which is for GEMMs of few rows and gives a column-major C (overlap/ficco). Functions
 * return 0 or -errno with a text (lib/err.h), and what they give belongs to the table.
 *
 * The file is text, its words with blanks between them. Lines that begin with # say what they like,
 * from the second line on.
 *
 *     gpusig advice 1
 *     error 0.034
 *     chunk down kernel 8388608 0.00021 0.95
 *     grid ag-gemm bf16 8
 *     ways serial/engine serial/kernel shard/engine
 *     m 256 512
 *     n 4096
 *     k 1024 2048
 *     0.00012 0.00013 0.00011
 *     0.00021 0.00022 0.00020
 *     0.00020 0.00023 -
 *     0.00038 0.00041 0.00036
 *     end
 *
 * error    once: half of the ratios between the times of two schedules, at points, are predicted
 *          within this share of themselves; "-": nobody knows
 * chunk    the members of struct advise_chunk; at most one for each direction
 * grid     operation, type, devices. The lines up to the next one are its own: 1 to ADVISE_WAYS
 *          ways, SCHEDULE/COPY-METHOD of rows or SCHEDULE/COPY-METHOD/CUT; rising sides, 1 to
 *          ADVISE_SIDES numbers each; then a line for every point, k running fastest, then n: the
 *          seconds of each way, "-" where it is impossible
 * end      the last line, without which the file was cut
 */
#ifndef GPUSIG_ADVISE_H
#define GPUSIG_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ADVISE_WAYS = 64,      /* of a grid */
	ADVISE_SIDES = 256,    /* numbers of a side of a grid */
	ADVISE_GRIDS = 1024,   /* of a table */
	ADVISE_CHUNKS = 16,    /* of a table */
	ADVISE_BYTES = 1 << 25 /* of a file */
};

struct advise_table;
struct advise_grid; /* one operation, type and number of devices */

/* Reads a file, which must be a regular one, and checks all of it. Takes up to 13 times its size
 * of memory. The text of an error does not have the path.
 * -EINVAL, "line 12: ...": it is malformed, was cut, or is of another version. -EFBIG: it has more
 * than ADVISE_BYTES. -ENOMEM, and the errors of open() and read(). */
int advise_read(const char *path, struct advise_table **table_p);

void advise_free(struct advise_table *t); /* NULL is accepted */

/* -ENOENT: the table has no such grid; the text says which ones it has. */
int advise_find(const struct advise_table *t, const char *op, const char *type, unsigned devices,
		const struct advise_grid **grid_p);

struct advise_way {
	const char *schedule, *copy_method, *cut;
};

struct advise_choice {
	const char *schedule, *copy_method, *cut; /* of the fastest way; of equals the first */
	double seconds;                           /* predicted, as all here */
	double serial_seconds; /* the fastest way of the schedule "serial"; NaN: there is none */
	/* Every other schedule is slower by more than the table's error, here and at each point
	 * used. False where the error is unknown. */
	bool decided;
};

/* The fastest way. Between the points of the grid the logarithm of the time is linear in the
 * logarithm of each side; at a point it is the point's. A way that is impossible at a point used is
 * none. -ERANGE: a side is outside the grid's, or is not the only one that the grid has. -ENODATA:
 * no way is possible. */
int advise(const struct advise_grid *g, double m, double n, double k,
	   struct advise_choice *choice_p);

/* For a runtime that cannot take every way: the ways of a grid, and the predicted seconds of each
 * in their order, NaN where it is impossible. `seconds` has room for all. Errors of advise(), but
 * never -ENODATA. */
const struct advise_way *advise_ways(const struct advise_grid *g, unsigned *count_p);
int advise_seconds(const struct advise_grid *g, double m, double n, double k, double *seconds);

/* The chunks in which to copy in bulk, so that a small copy in the same direction need not wait for
 * all of it. */
struct advise_chunk {
	const char *direction;
	const char *between; /* what stands between two chunks: nothing, event, value, kernel */
	uint64_t bytes;
	double wait_seconds; /* of the small copy */
	double rate_kept;    /* share of the rate of the bulk in one piece */
};

/* NULL: no chunks are advised for copies of this direction. */
const struct advise_chunk *advise_chunk(const struct advise_table *t, const char *direction);

#endif
