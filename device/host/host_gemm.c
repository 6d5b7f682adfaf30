/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_gemm.h"

/* Rows and columns of a library tile, about. A partial tile costs as much as a whole one. */
#define TILE 16u
/* Packing one element costs about as much as this many multiply-adds. Measured with C in two
 * halves: in f64, upper and lower halves were 3 % faster than left and right ones, although B is
 * packed twice; in f32, left and right halves were up to 4 % faster. */
#define PACKING_A_F32 21.0
#define PACKING_A_F64 26.0
#define PACKING_B 22.0
/* Starting blocks on several units costs about as much as this many multiply-adds (4 us). */
#define STARTING 5e5
/* Columns of C that are added at once. */
#define ADDING_COLUMNS 512u

/* Tiles along one side of the largest of `parts` blocks. */
static double count_tiles(uint32_t total, uint32_t parts)
{
	const uint32_t largest = total / parts + (total % parts > 0);
	const uint32_t tiles = largest / TILE + (largest % TILE > 0);
	return (double)tiles;
}

/* Estimated time of a cut, in multiply-adds per element of k. */
static double estimate_cut_cost(const struct dev_gemm *g, uint32_t units, uint32_t rows,
				uint32_t columns)
{
	const uint64_t blocks = (uint64_t)rows * columns, waves = (blocks + units - 1) / units;
	const double height = count_tiles(g->m, rows), width = count_tiles(g->n, columns);
	const double one = height * width * TILE * TILE;
	const double packing_a = g->type == DEV_F32 ? PACKING_A_F32 : PACKING_A_F64;
	const double packing = TILE * (packing_a * height + PACKING_B * width);
	return (double)waves * (one + packing) + (blocks > 1 ? STARTING / g->k : 0);
}

void host_gemm_cut(struct host_gemm *job, uint32_t units)
{
	const struct dev_gemm *g = &job->g;
	const uint64_t min_blocks = g->blocks ? g->blocks : 1;
	const uint64_t max_blocks = g->blocks ? min_blocks + min_blocks / 8 : 2 * (uint64_t)units;
	double best = 0;
	job->rows = job->columns = 0;
	if (g->groups) {
		const uint32_t groups = dev_gemm_groups(g),
			       wanted = 2 * units / (groups ? groups : 1) + 1;
		job->rows = g->groups;
		job->columns = wanted < g->n ? wanted : g->n;
		return;
	}
	if (g->tile_k) {
		job->rows = (g->m - 1) / DEV_GEMM_TILE + 1;
		job->columns = (g->n - 1) / DEV_GEMM_TILE + 1;
		return;
	}
	for (uint64_t rows = 1; rows <= g->m && rows <= max_blocks; rows++) {
		const uint64_t first = (min_blocks + rows - 1) / rows;
		for (uint64_t columns = first; columns <= g->n && rows * columns <= max_blocks;
		     columns++) {
			const double now =
				estimate_cut_cost(g, units, (uint32_t)rows, (uint32_t)columns);
			if (job->rows && now >= best)
				continue;
			best = now;
			job->rows = (uint32_t)rows;
			job->columns = (uint32_t)columns;
		}
	}
	if (job->rows == 0) {
		job->rows = g->m;
		job->columns = g->n;
	}
}

uint32_t host_gemm_blocks(const struct host_gemm *job)
{
	const uint32_t parts = job->rows * job->columns;
	return job->g.grid && job->g.grid < parts ? job->g.grid : parts;
}

uint64_t host_gemm_claim(const struct dev_gemm *g)
{
	return dev_gemm_tile_bytes(g) + g->shared_bytes;
}

struct range {
	uint32_t start, count;
};

/* Part `index` of `parts`, in whole tiles if there is at least one for every part. */
static struct range part_range(uint32_t total, uint32_t parts, uint32_t index)
{
	const uint32_t tile = total / parts >= TILE ? TILE : 1;
	const uint64_t tiles = ((uint64_t)total + tile - 1) / tile;
	const uint64_t start = tiles * index / parts * tile,
		       end = tiles * (index + 1) / parts * tile;
	return (struct range){.start = (uint32_t)start,
			      .count = (uint32_t)((end < total ? end : total) - start)};
}

/* The release pairs with the acquire in poll_until() and value_reached(): whoever sees the counter
 * sees the elements, those of all blocks that added to it, because an addition continues the
 * release of those before. Streams that wait for a counter check it when the block has ended. */
static void count_done(const struct dev_gemm *g, struct range row, uint32_t columns)
{
	const uint32_t end = row.start + row.count;
	for (uint32_t at = row.start; at < end;) {
		const uint32_t band = at / g->done_rows, left = g->done_rows - at % g->done_rows;
		const uint32_t rows = left < end - at ? left : end - at;
		__atomic_fetch_add(&g->done[band], rows * columns, __ATOMIC_RELEASE);
		at += rows;
	}
}

static struct range tile_range(uint32_t total, uint32_t index)
{
	const uint32_t start = index * DEV_GEMM_TILE, left = total - start;
	return (struct range){.start = start, .count = left < DEV_GEMM_TILE ? left : DEV_GEMM_TILE};
}

/* Destination of a call of the library, which writes beta * C + A B. */
struct target {
	void *at;
	uint32_t ld;
	double beta;
};

/* Multiplies `depth` columns of A, from `first` on. */
static int multiply_part(const struct host_gemm *job, struct range row, struct range column,
			 uint32_t first, uint32_t depth, struct target to)
{
	const struct dev_gemm *g = &job->g;
	const int m = (int)row.count, n = (int)column.count, k = (int)depth;
	const int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)to.ld;
	const uint64_t at_a = (uint64_t)row.start * g->lda + first;
	const uint64_t at_b = g->b_transposed ? (uint64_t)column.start * g->ldb + first
					      : (uint64_t)first * g->ldb + column.start;
	/* Row-major C = A*B is column-major C' = B'*A'; row-major B transposed is column-major B.
	 */
	const char *order = g->b_transposed ? "T" : "N";
	if (g->type == DEV_I8)
		return host_onednn_multiply(job->onednn, m, n, k, (const int8_t *)g->a + at_a, lda,
					    (const int8_t *)g->b + at_b, ldb, g->b_transposed,
					    (int)to.beta, to.at, ldc);
	if (g->type == DEV_F32) {
		const float alpha = (float)g->alpha, beta = (float)to.beta;
		job->blas->sgemm(order, "N", &n, &m, &k, &alpha, (const float *)g->b + at_b, &ldb,
				 (const float *)g->a + at_a, &lda, &beta, to.at, &ldc);
	} else {
		job->blas->dgemm(order, "N", &n, &m, &k, &g->alpha, (const double *)g->b + at_b,
				 &ldb, (const double *)g->a + at_a, &lda, &to.beta, to.at, &ldc);
	}
	return 0;
}

/* The part of C whose first element this is. */
static void *part_of_c(const struct dev_gemm *g, uint32_t row, uint32_t column)
{
	return (char *)g->c + ((uint64_t)row * g->ldc + column) * dev_type_result_bytes(g->type);
}

/* Each step continues what the one before wrote. */
static int write_part(const struct host_gemm *job, struct range row, struct range column)
{
	const struct dev_gemm *g = &job->g;
	const uint32_t depth = g->tile_k ? g->tile_k : g->k;
	int status = 0;
	for (uint32_t at = 0; at < g->k && !status; at += depth) {
		const struct target c = {.at = part_of_c(g, row.start, column.start),
					 .ld = g->ldc,
					 .beta = at ? 1.0 : g->beta};
		status = multiply_part(job, row, column, at, g->k - at < depth ? g->k - at : depth,
				       c);
	}
	return status;
}

/* ------------------------------------------------------------------ adding to C */

/* Relaxed: who adds to an element reads nothing else through it; count_done() and the end of the
 * block order the elements before what follows. */
static void add_row_f32(float *to, const float *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		float old, sum;
		__atomic_load(&to[i], &old, __ATOMIC_RELAXED);
		do
			sum = old + from[i];
		while (!__atomic_compare_exchange(&to[i], &old, &sum, true, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED));
	}
}

static void add_row_f64(double *to, const double *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		double old, sum;
		__atomic_load(&to[i], &old, __ATOMIC_RELAXED);
		do
			sum = old + from[i];
		while (!__atomic_compare_exchange(&to[i], &old, &sum, true, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED));
	}
}

/* Unsigned, so that sums may wrap. */
static void add_row_i32(uint32_t *to, const uint32_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		__atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
}

/* The library can only write, so it writes to the block's scratch memory. */
static int add_rectangle(const struct host_gemm *job, struct range row, struct range column,
			 void *scratch)
{
	const struct dev_gemm *g = &job->g;
	const struct target to = {.at = scratch, .ld = column.count};
	const int status = multiply_part(job, row, column, 0, g->k, to);
	for (uint32_t i = 0; i < row.count && !status; i++) {
		const uint64_t from = (uint64_t)i * column.count;
		void *c = part_of_c(g, row.start + i, column.start);
		if (g->type == DEV_F32)
			add_row_f32(c, (const float *)scratch + from, column.count);
		else if (g->type == DEV_I8)
			add_row_i32(c, (const uint32_t *)scratch + from, column.count);
		else
			add_row_f64(c, (const double *)scratch + from, column.count);
	}
	return status;
}

/* Rectangles of at most ADDING_COLUMNS columns that fill the scratch memory: the nearer to a
 * square, the less packing. */
static int add_part(const struct host_gemm *job, struct range row, struct range column,
		    void *scratch)
{
	const uint32_t width = column.count < ADDING_COLUMNS ? column.count : ADDING_COLUMNS;
	const uint32_t height =
		(uint32_t)(HOST_SCRATCH_BYTES / (width * dev_type_result_bytes(job->g.type)));
	int status = 0;
	for (uint32_t down = 0; down < row.count; down += height)
		for (uint32_t across = 0; across < column.count && !status; across += width) {
			const uint32_t rows = row.count - down, columns = column.count - across;
			status = add_rectangle(
				job,
				(struct range){.start = row.start + down,
					       .count = rows < height ? rows : height},
				(struct range){.start = column.start + across,
					       .count = columns < width ? columns : width},
				scratch);
		}
	return status;
}

/* A part of the columns of one group, by its own matrix of B. */
static int multiply_group(const struct host_gemm *job, uint32_t group, struct range column)
{
	struct host_gemm own = *job;
	struct range row = {.count = job->g.group_rows[group]};
	for (uint32_t i = 0; i < group; i++)
		row.start += job->g.group_rows[i];
	own.g.b = (const char *)job->g.b +
		  group * dev_gemm_group_stride(&job->g) * dev_type_bytes(job->g.type);
	return row.count ? write_part(&own, row, column) : 0;
}

int host_gemm_run(const struct host_block *b)
{
	const struct host_gemm *job = b->args;
	const struct dev_gemm *g = &job->g;
	const uint32_t parts = job->rows * job->columns;
	int status = 0;
	for (uint32_t part = b->index; part < parts && !status; part += b->grid) {
		const uint32_t down = part / job->columns, across = part % job->columns;
		const struct range row =
			g->tile_k ? tile_range(g->m, down) : part_range(g->m, job->rows, down);
		const struct range column = g->tile_k ? tile_range(g->n, across)
						      : part_range(g->n, job->columns, across);
		status = g->groups ? multiply_group(job, down, column)
			 : g->adds ? add_part(job, row, column, b->scratch)
				   : write_part(job, row, column);
		if (g->done && !status)
			count_done(g, row, column.count);
	}
	return status;
}
