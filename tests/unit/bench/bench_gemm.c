/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of GEMMs, type by type: what rounding makes of a right one passes, also in pieces of
 * K and on units that cut sums off; a wrong row is found, and in wide types a wrong element. C is
 * computed here, so no device needs the type.
 */
#include "bench/bench_gemm.h"
#include "bench/bench_alloc.h"
#include "bench/bench_element.h"
#include "lib/err.h"
#include "tests/unit/bench/scene.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { M = 48, N = 40, K = 2048, PIECES = 64 };

static double load_element(enum dev_type type, const void *x, size_t i)
{
	return element_load(type, x, i);
}

static void store_element(enum dev_type type, void *x, size_t i, double value)
{
	element_store(dev_types[type].result, x, i, value);
}

static double value_of_a(const struct bench_gemm *p, size_t row, size_t k)
{
	return element_at(&p->host_a, (uint32_t)row, (uint32_t)k);
}

static double value_of_b(const struct bench_gemm *p, size_t k, size_t column)
{
	return p->b_transposed ? element_at(&p->host_b, (uint32_t)column, (uint32_t)k)
			       : element_at(&p->host_b, (uint32_t)k, (uint32_t)column);
}

static float cut_off(double x)
{
	float y = (float)x;
	return fabs((double)y) > fabs(x) ? nextafterf(y, 0.0f) : y;
}

/* C on the host as a device might have it: sums of f32 kept in order, cut off at every eighth
 * product if asked, and C rounded after each of so many pieces. */
static void multiply_on_host(const struct bench_gemm *p, void *c, unsigned pieces, bool cutting)
{
	enum dev_type result = dev_types[p->type].result;
	for (size_t i = 0; i < M * N; i++) {
		double sum = 0.0;
		for (size_t k = 0; k < K; k++) {
			sum += value_of_a(p, i / N, k) * value_of_b(p, k, i % N);
			if (p->type != DEV_F64 && p->type != DEV_I8 && (!cutting || k % 8 == 7))
				sum = (double)(cutting ? cut_off(sum) : (float)sum);
			if ((k + 1) % (K / pieces) == 0) {
				store_element(result, c, i, sum);
				sum = load_element(result, c, i);
			}
		}
	}
}

static unsigned opened, right, pieces_right, cut_right, elements_found, rows_found, unwritten_found;

static bool check_passes(const struct bench_gemm *p, struct bench_case *c, const void *host_c,
			 uint32_t writes)
{
	TRY(c->status, dev_upload(c->dev, p->c, host_c, M * N * p->result_bytes));
	return c->status == 0 && bench_gemm_check(p, c, writes) == 0;
}

static bool check_fails(const struct bench_gemm *p, struct bench_case *c, const void *host_c,
			const char *where)
{
	TRY(c->status, dev_upload(c->dev, p->c, host_c, M * N * p->result_bytes));
	return c->status == 0 && bench_gemm_check(p, c, 1) == -EBADMSG &&
	       strstr(err_text(), where) != NULL;
}

static void scene_every_type(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct bench_gemm p;
		char *host_c = bench_alloc_host(c, M * N * sizeof(double));
		if (bench_gemm_open(&p, c, c->dev, &shape, (enum dev_type)type))
			return;
		size_t row = N * p.result_bytes;
		opened++;
		multiply_on_host(&p, host_c, PIECES, false);
		pieces_right += check_passes(&p, c, host_c, PIECES);
		multiply_on_host(&p, host_c, 1, true);
		cut_right += check_passes(&p, c, host_c, 1);
		multiply_on_host(&p, host_c, 1, false);
		right += check_passes(&p, c, host_c, 1);
		char *one = host_c + 7 * row, kept[sizeof(double)];
		memcpy(kept, one, p.result_bytes);
		memset(one, 0x7f, p.result_bytes);
		unwritten_found += check_fails(&p, c, host_c, "row 7:");
		store_element(dev_types[type].result, one, 0, 0.25 * sqrt(K));
		elements_found += check_fails(&p, c, host_c, "row 7:");
		memcpy(one, kept, p.result_bytes);
		/* Each of some rows is replaced by the next one, of which one may nearly agree
		 * by chance. */
		memmove(host_c + 4 * row, host_c + 5 * row, 8 * row);
		rows_found += check_fails(&p, c, host_c, "row");
	}
}

static void rounding_passes_and_errors_fail(void)
{
	expect(run_scene(scene_every_type) == 0);
	expect(opened == DEV_TYPES && right == DEV_TYPES && pieces_right == DEV_TYPES);
	/* No device truncates f32 or f64, so these checks are the strict ones. */
	expect(cut_right >= DEV_TYPES - 2);
	expect(rows_found == DEV_TYPES && unwritten_found == DEV_TYPES);
	expect(elements_found >= 3);
}

/* ------------------------------------------------------------------ integers */

static unsigned integers_right, off_by_one, least, most;

/* Every element of C off by one, alone, is found in its row. */
static void scene_integers(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	int32_t host_c[M * N];
	struct bench_gemm p;
	if (bench_gemm_open(&p, c, c->dev, &shape, DEV_I8))
		return;
	for (size_t i = 0; i < M * K; i++) {
		least += value_of_a(&p, i / K, i % K) < -126;
		most += value_of_a(&p, i / K, i % K) > 126;
	}
	for (size_t i = 0; i < M * N; i++) {
		int64_t sum = 0;
		for (size_t k = 0; k < K; k++)
			sum += (int64_t)value_of_a(&p, i / N, k) *
			       (int64_t)value_of_b(&p, k, i % N);
		host_c[i] = (int32_t)sum;
	}
	integers_right = check_passes(&p, c, (const char *)host_c, 1);
	for (size_t i = 0; i < M * N; i++) {
		char where[24];
		snprintf(where, sizeof(where), "row %zu:", i / N);
		host_c[i]++;
		off_by_one += check_fails(&p, c, host_c, where);
		host_c[i]--;
	}
}

static void integers_are_exact(void)
{
	expect(run_scene(scene_integers) == 0);
	expect(integers_right == 1 && off_by_one == M * N);
	expect(least > 0 && most > 0);
}

/* ------------------------------------------------------------------ scales */

/* Faults of a device that reads A. */
enum fault { RIGHT, NEXT_BLOCK, NEXT_ROW, TURNED, SWAPPED_HALVES, NO_SCALES, FAULTS };
static unsigned scaled_right, faults_found, faults_planted;

static double faulty_a(const struct bench_gemm *p, const uint8_t *a, const uint8_t *scales,
		       enum fault fault, uint32_t row, uint32_t k)
{
	const struct dev_type_traits *t = &dev_types[p->type];
	const uint32_t blocks = K / t->block, block = k / t->block;
	const uint32_t at[FAULTS] = {[RIGHT] = row * blocks + block,
				     [NEXT_BLOCK] = row * blocks + (block + 1) % blocks,
				     [NEXT_ROW] = (row + 1) % M * blocks + block,
				     [TURNED] = block * M + row,
				     [SWAPPED_HALVES] = row * blocks + block};
	const uint32_t element = row * K + (fault == SWAPPED_HALVES ? k ^ 1 : k);
	const double scale =
		fault == NO_SCALES ? 1.0 : (double)dev_scale_value(t->scale, scales[at[fault]]);
	return load_element(p->type, a, element) * scale;
}

static void multiply_faulty(const struct bench_gemm *p, const uint8_t *a, const uint8_t *scales,
			    enum fault fault, void *host_c)
{
	static double row_of_a[K];
	for (uint32_t i = 0; i < M; i++) {
		for (uint32_t k = 0; k < K; k++)
			row_of_a[k] = faulty_a(p, a, scales, fault, i, k);
		for (uint32_t j = 0; j < N; j++) {
			double sum = 0.0;
			for (uint32_t k = 0; k < K; k++)
				sum += row_of_a[k] * value_of_b(p, k, j);
			store_element(p->type, host_c, i * N + j, sum);
		}
	}
}

static void scene_scales(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct bench_gemm p;
		if (!dev_types[type].block)
			continue;
		char *host_c = bench_alloc_host(c, M * N * sizeof(double));
		if (bench_gemm_open(&p, c, c->dev, &shape, (enum dev_type)type))
			return;
		uint8_t *a = bench_alloc_host(c, p.a_bytes),
			*scales = bench_alloc_host(c, p.a_scale_bytes);
		TRY(c->status, dev_download(c->dev, a, p.a, p.a_bytes));
		TRY(c->status, dev_download(c->dev, scales, p.a_scales, p.a_scale_bytes));
		for (unsigned fault = RIGHT; fault < FAULTS && !c->status; fault++) {
			multiply_faulty(&p, a, scales, (enum fault)fault, host_c);
			if (fault == RIGHT)
				scaled_right += check_passes(&p, c, host_c, 1);
			else
				faults_found += check_fails(&p, c, host_c, "row ");
			faults_planted += fault != RIGHT;
		}
	}
}

static void wrong_scales_are_found(void)
{
	expect(run_scene(scene_scales) == 0);
	expect(scaled_right == 3 && faults_planted == 3 * (FAULTS - 1));
	expect(faults_found == faults_planted);
}

/* ------------------------------------------------------------------ exact operands */

static unsigned seen_values, other_values, wrong_sums;

static void count_values(const struct bench_gemm *p)
{
	for (size_t i = 0; i < (M + N) * K; i++) {
		double quarters = 4.0 * (i < M * K ? value_of_a(p, i / K, i % K)
						   : value_of_b(p, i % K, i / K - M));
		int value = (int)quarters;
		bool is_one = abs(value) <= 3 && !(fabs(quarters - value) > 0);
		other_values += !is_one;
		seen_values |= is_one ? 1u << (value + 3) : 0;
	}
}

/* The device's sums of f32 against sums of whole sixteenths. */
static void scene_exact_operands(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	float found[M * N];
	struct bench_gemm p;
	if (bench_gemm_open_exact(&p, c, c->dev, &shape, DEV_F32))
		return;
	count_values(&p);
	const struct dev_gemm gemm = bench_gemm_whole(&p);
	TRY(c->status, dev_gemm(c->dev, c->stream, &gemm));
	TRY(c->status, dev_stream_sync(c->dev, c->stream));
	TRY(c->status, dev_download(c->dev, found, p.c, sizeof(found)));
	for (size_t i = 0; i < M * N; i++) {
		int64_t sixteenths = 0;
		for (size_t k = 0; k < K; k++)
			sixteenths += (int64_t)(16.0 * value_of_a(&p, i / N, k) *
						value_of_b(&p, k, i % N));
		wrong_sums += fabs(16.0 * (double)found[i] - (double)sixteenths) > 0;
	}
}

static void sums_of_exact_operands_do_not_round(void)
{
	expect(run_scene(scene_exact_operands) == 0);
	expect(seen_values == 0x7f && other_values == 0);
	expect(wrong_sums == 0);
}

enum { LONG_K = 65536, SIDE = 16 };

/* C of f8 as Ada and Hopper make it with fast accumulation: after every 32 products 13 bits of
 * mantissa are left of the sum. */
static void multiply_fast(const struct bench_gemm *p, void *c)
{
	for (size_t i = 0; i < SIDE * SIDE; i++) {
		float sum = 0.0f;
		for (size_t k = 0; k < LONG_K; k++) {
			sum += (float)(value_of_a(p, i / SIDE, k) * value_of_b(p, k, i % SIDE));
			uint32_t bits;
			memcpy(&bits, &sum, sizeof(bits));
			bits &= k % 32 == 31 ? ~UINT32_C(0x3ff) : UINT32_MAX;
			memcpy(&sum, &bits, sizeof(sum));
		}
		store_element(DEV_F8, c, i, (double)sum);
	}
}

static int fast_as_fast, fast_as_exact, fast_shifted;

static void scene_fast_sums(struct bench_case *c)
{
	static const struct shape shape = {SIDE, SIDE, LONG_K, 1};
	uint16_t host_c[SIDE * SIDE];
	struct bench_gemm p;
	if (bench_gemm_open(&p, c, c->dev, &shape, DEV_F8))
		return;
	multiply_fast(&p, host_c);
	TRY(c->status, dev_upload(c->dev, p.c, host_c, sizeof(host_c)));
	fast_as_exact = bench_gemm_check(&p, c, 1);
	p.fast_accumulation = true;
	fast_as_fast = bench_gemm_check(&p, c, 1);
	memmove(host_c, host_c + SIDE, sizeof(host_c) / 2);
	TRY(c->status, dev_upload(c->dev, p.c, host_c, sizeof(host_c)));
	fast_shifted = bench_gemm_check(&p, c, 1);
}

static void fast_accumulation_is_allowed_on_request(void)
{
	expect(run_scene(scene_fast_sums) == 0);
	expect(fast_as_fast == 0);
	expect(fast_as_exact == -EBADMSG && fast_shifted == -EBADMSG);
}

/* Operands of more than a period, in every type: the device has what the host knows, and in the
 * part that repeats a wrong element of C is found as well as elsewhere. */
enum { LONG_M = 600, FEW = 16, LONG_ROW = 1024 };
static unsigned long_opened, long_same, long_right, last_found;

/* The scale of element k of a row of so many; 1 where the type has none. */
static double scale_at(enum dev_type type, const uint8_t *scales, uint32_t columns, uint32_t row,
		       uint32_t k)
{
	const struct dev_type_traits *t = &dev_types[type];
	return t->block ? (double)dev_scale_value(t->scale,
						  scales[row * (columns / t->block) + k / t->block])
			: 1.0;
}

static bool device_has_values(const struct bench_gemm *p, struct bench_case *c)
{
	char *a = bench_alloc_host(c, p->a_bytes);
	uint8_t *scales = bench_alloc_host(c, p->a_scale_bytes + 1);
	TRY(c->status, dev_download(c->dev, a, p->a, p->a_bytes));
	if (p->a_scales)
		TRY(c->status, dev_download(c->dev, scales, p->a_scales, p->a_scale_bytes));
	for (uint32_t i = 0; i < LONG_M * LONG_ROW; i++) {
		const uint32_t row = i / LONG_ROW, k = i % LONG_ROW;
		const double value =
			load_element(p->type, a, i) * scale_at(p->type, scales, LONG_ROW, row, k);
		if (c->status || fabs(value - value_of_a(p, row, k)) > 0)
			return false;
	}
	return true;
}

static void scene_periods(struct bench_case *c)
{
	static const struct shape shape = {LONG_M, FEW, LONG_ROW, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct bench_gemm p;
		if (bench_gemm_open(&p, c, c->dev, &shape, (enum dev_type)type))
			return;
		char *host_c = bench_alloc_host(c, p.c_bytes);
		long_opened++;
		long_same += device_has_values(&p, c);
		for (size_t i = 0; i < LONG_M * FEW; i++) {
			double sum = 0.0;
			for (size_t k = 0; k < LONG_ROW; k++)
				sum += value_of_a(&p, i / FEW, k) * value_of_b(&p, k, i % FEW);
			store_element((enum dev_type)type, host_c, i, sum);
		}
		TRY(c->status, dev_upload(c->dev, p.c, host_c, p.c_bytes));
		long_right += c->status == 0 && bench_gemm_check(&p, c, 1) == 0;
		store_element((enum dev_type)type, host_c, LONG_M * FEW - 1, 0.25 * sqrt(LONG_ROW));
		TRY(c->status, dev_upload(c->dev, p.c, host_c, p.c_bytes));
		last_found += bench_gemm_check(&p, c, 1) == -EBADMSG &&
			      strstr(err_text(), "row 599:") != NULL;
	}
}

static void operands_repeat(void)
{
	expect(LONG_M * LONG_ROW > 2 * BENCH_GEMM_PERIOD);
	expect(run_scene(scene_periods) == 0);
	expect(long_opened == DEV_TYPES && long_same == DEV_TYPES && long_right == DEV_TYPES);
	expect(last_found >= 3);
}

static void matrices_times_vectors(void)
{
	const float rows[] = {1, 2, 3, 4, 5, 6};
	const struct element_matrix x = {DEV_F32, rows, 2, 3, 0};
	const double t[] = {1, 10, 100};
	double y[] = {1000, 2000}, transposed[] = {0, 0, 1};
	element_gemv(&x, false, t, y);
	expect(y[0] == 1321 && y[1] == 2654);
	element_gemv(&x, true, t, transposed);
	expect(transposed[0] == 41 && transposed[1] == 52 && transposed[2] == 64);
}

/* As long as the loops unroll, and with periods that end within rows. */
static void matrices_that_repeat(void)
{
	enum { ROWS = 5, COLUMNS = 2100, PERIOD = 1999 };
	static double elements[ROWS * COLUMNS], t[COLUMNS], y[2][COLUMNS];
	for (int i = 0; i < ROWS * COLUMNS; i++)
		elements[i] = i % PERIOD % 17;
	for (int i = 0; i < COLUMNS; i++)
		t[i] = i % 5;
	for (int turned = 0; turned < 2; turned++) {
		const struct element_matrix whole = {DEV_F64, elements, ROWS, COLUMNS, 0},
					    repeats = {DEV_F64, elements, ROWS, COLUMNS, PERIOD};
		memset(y, 0, sizeof(y));
		element_gemv(&repeats, turned, t, y[0]);
		for (uint32_t row = 0; row < ROWS; row++)
			for (uint32_t column = 0; column < COLUMNS; column++) {
				expect(element_at(&whole, row, column) ==
				       element_at(&repeats, row, column));
				y[1][turned ? column : row] +=
					element_at(&whole, row, column) * t[turned ? row : column];
			}
		expect(memcmp(y[0], y[1], sizeof(y[0])) == 0);
	}
}

/* Pieces lie where the whole GEMM has them, whichever way B is stored. */
static unsigned placed;

static void scene_pieces(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct bench_gemm p;
		if (bench_gemm_open(&p, c, c->dev, &shape, (enum dev_type)type))
			return;
		bool turned = dev_types[type].multiple > 1;
		const char *a = p.a, *b = p.b, *to = p.c;
		struct dev_gemm m = bench_gemm_piece(&p, SHAPE_CUT_M, 5, 7),
				n = bench_gemm_piece(&p, SHAPE_CUT_N, 5, 7);
		struct dev_gemm k = bench_gemm_piece(&p, SHAPE_CUT_K, 5, 7);
		placed += m.m == 7 && m.a == a + 5 * K * p.element_bytes && m.b == b &&
			  m.c == to + 5 * N * p.result_bytes;
		placed += n.n == 7 && n.a == a &&
			  n.b == b + (turned ? 5 * K : 5) * p.element_bytes &&
			  n.c == to + 5 * p.result_bytes;
		placed += k.k == 7 && k.a == a + 5 * p.element_bytes &&
			  k.b == b + (turned ? 5 : 5 * N) * p.element_bytes && k.c == to &&
			  k.beta == 1.0;
		placed += m.b_transposed == turned && m.ldb == (turned ? K : N) && m.lda == K &&
			  m.ldc == N;
	}
}

/* A device multiplies: by each group's own matrix, which ends in the second period, and all rows by
 * the first one. */
static unsigned groups_right, groups_found;

static void run_whole(struct bench_case *c, const struct bench_gemm *p)
{
	const struct dev_gemm g = bench_gemm_whole(p);
	TRY(c->status, dev_gemm(c->dev, c->stream, &g));
	TRY(c->status, dev_stream_sync(c->dev, c->stream));
}

static void scene_groups(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	static const uint32_t rows[] = {5, 0, 30, 13};
	for (unsigned type = DEV_F32; type <= DEV_F64; type++) {
		struct bench_gemm p;
		if (bench_gemm_open_groups(&p, c, c->dev, &shape, (enum dev_type)type, rows, 4))
			return;
		run_whole(c, &p);
		groups_right += c->status == 0 && bench_gemm_check(&p, c, 1) == 0;
		const struct bench_gemm first = bench_gemm_ungrouped(&p);
		run_whole(c, &first);
		groups_right += c->status == 0 && bench_gemm_check(&first, c, 1) == 0;
		groups_found += bench_gemm_check(&p, c, 1) == -EBADMSG &&
				strstr(err_text(), "group 2: row") != NULL;
		for (uint32_t i = 0; i < 4; i++) {
			const struct bench_gemm own = bench_gemm_group(&p, i);
			if (rows[i])
				run_whole(c, &own);
		}
		groups_right += c->status == 0 && bench_gemm_check(&p, c, 1) == 0;
	}
}

static void groups_have_their_own_matrices(void)
{
	expect(run_scene(scene_groups) == 0);
	expect(groups_right == 6 && groups_found == 2);
}

static bool divided;

static void scene_cuts(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	struct bench_gemm p;
	if (bench_gemm_open(&p, c, c->dev, &shape, DEV_F32))
		return;
	divided = bench_gemm_divides(&p, SHAPE_CUT_M, M) &&
		  !bench_gemm_divides(&p, SHAPE_CUT_N, N + 1);
	p.type = DEV_F8;
	divided = divided && bench_gemm_divides(&p, SHAPE_CUT_M, 3) &&
		  !bench_gemm_divides(&p, SHAPE_CUT_M, 4) &&
		  bench_gemm_divides(&p, SHAPE_CUT_K, 128);
}

static void what_can_be_cut(void)
{
	expect(run_scene(scene_cuts) == 0);
	expect(divided);
}

static void pieces_are_placed(void)
{
	expect(run_scene(scene_pieces) == 0);
	expect(placed == 4 * DEV_TYPES);
}

int main(void)
{
	test(groups_have_their_own_matrices);
	test(matrices_times_vectors);
	test(matrices_that_repeat);
	test(operands_repeat);
	test(rounding_passes_and_errors_fail);
	test(integers_are_exact);
	test(wrong_scales_are_found);
	test(sums_of_exact_operands_do_not_round);
	test(fast_accumulation_is_allowed_on_request);
	test(what_can_be_cut);
	test(pieces_are_placed);
	return test_done();
}
