/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A test in sixty lines: TAP on stdout; expect goes on, require ends the test, skip says why.
 *
 *     static void adds(void) { expect(1 + 1 == 2); expect_near(0.1 + 0.2, 0.3, 1e-12); }
 *     int main(void) { test(adds); return test_done(); }
 *
 * GPUSIG_TEST=word runs only the tests whose name contains the word; see also test_all().
 */
#ifndef GPUSIG_TEST_H
#define GPUSIG_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int number, failed, failures_here;
	const char *skip;
	jmp_buf leave;
} test_state;

/* For alarm(): what takes longer hangs. Far above what any takes on a busy machine. */
#define TEST_HANGS_S 300u

#define expect(condition)                                                                          \
	((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "expected " #condition))
#define expect_near(got, wanted, tolerance)                                                        \
	test_near(__FILE__, __LINE__, #got, (got), (wanted), (tolerance))
#define expect_str(got, wanted) test_str(__FILE__, __LINE__, #got, (got), (wanted))
#define require(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			test_fail(__FILE__, __LINE__, "required " #condition);                     \
			longjmp(test_state.leave, 1);                                              \
		}                                                                                  \
	} while (0)
#define skip(reason)                                                                               \
	do {                                                                                       \
		test_state.skip = (reason);                                                        \
		longjmp(test_state.leave, 1);                                                      \
	} while (0)
#define test(function) test_run(#function, function)

/* True if tests shall repeat more than every commit needs: GPUSIG_TEST_ALL=1, as ./gpusig test
 * --lab sets it for units. */
static inline int test_all(void)
{
	const char *all = getenv("GPUSIG_TEST_ALL");
	return all && strcmp(all, "1") == 0;
}

static inline void test_fail(const char *file, int line, const char *what)
{
	test_state.failures_here++;
	printf("# %s:%d: %s\n", file, line, what);
}

static inline void test_near(const char *file, int line, const char *what, double got,
			     double wanted, double tolerance)
{
	char text[256];
	if (fabs(got - wanted) <= tolerance)
		return;
	snprintf(text, sizeof(text), "%s is %.17g, not %.17g", what, got, wanted);
	test_fail(file, line, text);
}

static inline void test_str(const char *file, int line, const char *what, const char *got,
			    const char *wanted)
{
	char text[2048];
	if (strcmp(got, wanted) == 0)
		return;
	snprintf(text, sizeof(text), "%s is \"%s\", not \"%s\"", what, got, wanted);
	test_fail(file, line, text);
}

static inline void test_run(const char *name, void (*function)(void))
{
	const char *only = getenv("GPUSIG_TEST");
	if (only && !strstr(name, only))
		return;
	test_state.number++;
	test_state.failures_here = 0;
	test_state.skip = NULL;
	if (!setjmp(test_state.leave))
		function();
	test_state.failed += test_state.failures_here > 0;
	printf("%sok %d %s%s%s\n", test_state.failures_here ? "not " : "", test_state.number, name,
	       test_state.skip ? " # SKIP " : "", test_state.skip ? test_state.skip : "");
	fflush(stdout);
}

static inline int test_done(void)
{
	printf("1..%d\n", test_state.number);
	return test_state.failed > 0;
}

#endif
