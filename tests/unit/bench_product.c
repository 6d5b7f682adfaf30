/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of products, type by type: what rounding makes of a right one passes, also in pieces of K and on units that cut
 * sums off; a wrong row is found, and in wide types a wrong element. C is computed here, so no device needs the type.
 */
#include "lib/bench_own.h"
#include "lib/bench_product.h"
#include "lib/err.h"
#include "lib/small_float.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { M = 48, N = 40, K = 2048, PIECES = 64 };

static void (*scene)(struct bench_case *c);

static int setup(struct bench_case *c)
{
	scene(c);
	return own_status(c);
}

static int play(void (*what)(struct bench_case *c))
{
	static const struct bench stage = {.name = "test/stage", .question = "is it the product?", .formula = "none",
	                                   .timed = "nothing", .setup = setup};
	char *argv[] = {"stage", "--device", "sim", "--out", "/dev/null", NULL};
	int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
	scene = what;
	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	int code = bench_main(&stage, 5, argv);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(nowhere);
	close(kept);
	return code;
}

static double at(enum dev_type type, const void *x, size_t i)
{
	switch (type) {
	case DEV_F64:
		return ((const double *)x)[i];
	case DEV_F16:
		return (double)small_f16_value(((const uint16_t *)x)[i]);
	case DEV_BF16:
		return (double)small_bf16_value(((const uint16_t *)x)[i]);
	case DEV_F8:
		return (double)small_f8_value(((const uint8_t *)x)[i]);
	default:
		return (double)((const float *)x)[i];
	}
}

static void put(enum dev_type type, void *x, size_t i, double value)
{
	if (type == DEV_F64)
		((double *)x)[i] = value;
	else if (type == DEV_F16)
		((uint16_t *)x)[i] = small_f16((float)value);
	else if (type == DEV_BF16 || type == DEV_F8)
		((uint16_t *)x)[i] = small_bf16((float)value);
	else
		((float *)x)[i] = (float)value;
}

static float cut_off(double x)
{
	float y = (float)x;
	return fabs((double)y) > fabs(x) ? nextafterf(y, 0.0f) : y;
}

/* C on the host as a device might have it: sums of f32 kept in order, cut off at every eighth product if asked, and C
 * rounded after each of so many pieces. */
static void multiply(const struct product *p, void *c, unsigned pieces, bool cutting)
{
	enum dev_type result = p->type == DEV_F8 ? DEV_BF16 : p->type;
	for (size_t i = 0; i < M * N; i++) {
		double sum = 0.0;
		for (size_t k = 0; k < K; k++) {
			size_t b = p->b_transposed ? i % N * K + k : k * N + i % N;
			sum += at(p->type, p->host_a, i / N * K + k) * at(p->type, p->host_b, b);
			if (p->type != DEV_F64 && (!cutting || k % 8 == 7))
				sum = (double)(cutting ? cut_off(sum) : (float)sum);
			if ((k + 1) % (K / pieces) == 0) {
				put(result, c, i, sum);
				sum = at(result, c, i);
			}
		}
	}
}

static unsigned opened, right, pieces_right, cut_right, elements_found, rows_found, unwritten_found;

static bool verdict(const struct product *p, struct bench_case *c, const void *host_c, uint32_t writes)
{
	own_result(c, dev_upload(c->dev, p->c, host_c, M * N * p->result_bytes));
	return own_status(c) == 0 && product_check(p, c, writes) == 0;
}

static bool found(const struct product *p, struct bench_case *c, const void *host_c, const char *where)
{
	own_result(c, dev_upload(c->dev, p->c, host_c, M * N * p->result_bytes));
	return own_status(c) == 0 && product_check(p, c, 1) == -EBADMSG && strstr(err_text(), where) != NULL;
}

static void every_type(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct product p;
		char *host_c = own_host(c, M * N * sizeof(double));
		if (product_open(&p, c, &shape, (enum dev_type)type))
			return;
		size_t row = N * p.result_bytes;
		opened++;
		multiply(&p, host_c, PIECES, false);
		pieces_right += verdict(&p, c, host_c, PIECES);
		multiply(&p, host_c, 1, true);
		cut_right += verdict(&p, c, host_c, 1);
		multiply(&p, host_c, 1, false);
		right += verdict(&p, c, host_c, 1);
		char *one = host_c + 7 * row, kept[sizeof(double)];
		memcpy(kept, one, p.result_bytes);
		memset(one, 0x7f, p.result_bytes);
		unwritten_found += found(&p, c, host_c, "row 7 ");
		put(type == DEV_F8 ? DEV_BF16 : (enum dev_type)type, one, 0, 0.25 * sqrt(K));
		elements_found += found(&p, c, host_c, "row 7 ");
		memcpy(one, kept, p.result_bytes);
		/* Each of some rows is the one below: by chance one of them may nearly agree. */
		memmove(host_c + 4 * row, host_c + 5 * row, 8 * row);
		rows_found += found(&p, c, host_c, "row");
	}
}

static void rounding_passes_and_nonsense_does_not(void)
{
	expect(play(every_type) == 0);
	expect(opened == DEV_TYPES && right == DEV_TYPES && pieces_right == DEV_TYPES);
	/* Nobody cuts off f32 and f64: these checks are the strict ones. */
	expect(cut_right >= DEV_TYPES - 2);
	expect(rows_found == DEV_TYPES && unwritten_found == DEV_TYPES);
	expect(elements_found >= 3);
}

enum { LONG_K = 65536, SIDE = 16 };

/* C of f8 as Ada and Hopper make it with fast accumulation: after every 32 products 13 bits of mantissa are left of the sum. */
static void multiply_fast(const struct product *p, void *c)
{
	for (size_t i = 0; i < SIDE * SIDE; i++) {
		float sum = 0.0f;
		for (size_t k = 0; k < LONG_K; k++) {
			sum += (float)(at(DEV_F8, p->host_a, i / SIDE * LONG_K + k) * at(DEV_F8, p->host_b, i % SIDE * LONG_K + k));
			uint32_t bits;
			memcpy(&bits, &sum, sizeof(bits));
			bits &= k % 32 == 31 ? ~UINT32_C(0x3ff) : UINT32_MAX;
			memcpy(&sum, &bits, sizeof(sum));
		}
		put(DEV_F8, c, i, (double)sum);
	}
}

static int fast_as_fast, fast_as_exact, fast_shifted;

static void fast_sums(struct bench_case *c)
{
	static const struct shape shape = {SIDE, SIDE, LONG_K, 1};
	uint16_t host_c[SIDE * SIDE];
	struct product p;
	if (product_open(&p, c, &shape, DEV_F8))
		return;
	multiply_fast(&p, host_c);
	own_result(c, dev_upload(c->dev, p.c, host_c, sizeof(host_c)));
	fast_as_exact = product_check(&p, c, 1);
	p.fast_accumulation = true;
	fast_as_fast = product_check(&p, c, 1);
	memmove(host_c, host_c + SIDE, sizeof(host_c) / 2);
	own_result(c, dev_upload(c->dev, p.c, host_c, sizeof(host_c)));
	fast_shifted = product_check(&p, c, 1);
}

static void fast_sums_are_allowed_where_they_were_asked_for(void)
{
	expect(play(fast_sums) == 0);
	expect(fast_as_fast == 0);
	expect(fast_as_exact == -EBADMSG && fast_shifted == -EBADMSG);
}

/* Pieces of a product are where the whole is, whichever way B lies. */
static unsigned placed;

static void pieces_of_each(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	for (unsigned type = 0; type < DEV_TYPES; type++) {
		struct product p;
		if (product_open(&p, c, &shape, (enum dev_type)type))
			return;
		bool turned = type == DEV_F8;
		const char *a = p.a, *b = p.b, *to = p.c;
		struct dev_gemm m = product_piece(&p, SHAPE_CUT_M, 5, 7), n = product_piece(&p, SHAPE_CUT_N, 5, 7);
		struct dev_gemm k = product_piece(&p, SHAPE_CUT_K, 5, 7);
		placed += m.m == 7 && m.a == a + 5 * K * p.element_bytes && m.b == b && m.c == to + 5 * N * p.result_bytes;
		placed += n.n == 7 && n.a == a && n.b == b + (turned ? 5 * K : 5) * p.element_bytes && n.c == to + 5 * p.result_bytes;
		placed += k.k == 7 && k.a == a + 5 * p.element_bytes && k.b == b + (turned ? 5 : 5 * N) * p.element_bytes &&
		          k.c == to && k.beta == 1.0;
		placed += m.b_transposed == turned && m.ldb == (turned ? K : N) && m.lda == K && m.ldc == N;
	}
}

static bool divided;

static void cuts(struct bench_case *c)
{
	static const struct shape shape = {M, N, K, 1};
	struct product p;
	if (product_open(&p, c, &shape, DEV_F32))
		return;
	divided = product_divides(&p, SHAPE_CUT_M, M) && !product_divides(&p, SHAPE_CUT_N, N + 1);
	p.type = DEV_F8;
	divided = divided && product_divides(&p, SHAPE_CUT_M, 3) && !product_divides(&p, SHAPE_CUT_M, 4) &&
	          product_divides(&p, SHAPE_CUT_K, 128);
}

static void what_can_be_cut(void)
{
	expect(play(cuts) == 0);
	expect(divided);
}

static void pieces_are_placed(void)
{
	expect(play(pieces_of_each) == 0);
	expect(placed == 4 * DEV_TYPES);
}

int main(void)
{
	test(rounding_passes_and_nonsense_does_not);
	test(fast_sums_are_allowed_where_they_were_asked_for);
	test(what_can_be_cut);
	test(pieces_are_placed);
	return test_done();
}
