/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans of every schedule, for the tests of overlap/ficco/decomposition.h.
 */
#ifndef GPUSIG_TESTS_FICCO_PLANS_H
#define GPUSIG_TESTS_FICCO_PLANS_H

#include "lib/err.h"
#include "overlap/ficco/decomposition.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { MAX_DEVICES = 8 };

static const struct {
	uint32_t m, n, k;
} shapes[] = {{64, 3, 64}, {131, 5, 17}, {97, 2, 41}, {576, 4, 8}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]), MANY_ROWS = SHAPES - 1 };

/* A plan of shapes[shape]; NULL where the schedule is not defined for the operation, or where a
 * device has too few rows to cut: never with MANY_ROWS, except after the uneven router. */
static inline struct ficco_plan *plan_of(enum ficco_op op, uint32_t devices, unsigned shape,
					 enum ficco_schedule schedule)
{
	struct ficco_problem o = {op, devices, shapes[shape].m, shapes[shape].n, shapes[shape].k,
				  7};
	struct ficco_plan *p = NULL;
	int status = ficco_plan_open(&o, schedule, &p);
	bool few_rows = shape != MANY_ROWS || op == FICCO_A2A_GEMM_UNEVEN;
	bool known = status == 0 || status == -ENOTSUP || (status == -EINVAL && few_rows);
	if (!known)
		printf("# %s %s on %u: %s\n", ficco_ops[op], ficco_schedules[schedule], devices,
		       err_text());
	expect(known);
	return p;
}

/* Visits a plan of every operation, number of devices, shape and schedule. */
static inline void for_all_plans(void (*visit)(const struct ficco_plan *p))
{
	unsigned seen = 0;
	for (unsigned op = 0; op < FICCO_OPS; op++)
		for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++)
			for (unsigned shape = 0; shape < SHAPES; shape++)
				for (unsigned s = 0; s < FICCO_SCHEDULES; s++) {
					struct ficco_plan *p =
						plan_of((enum ficco_op)op, devices, shape,
							(enum ficco_schedule)s);
					if (p) {
						visit(p);
						seen++;
					}
					ficco_plan_close(p);
				}
	expect(seen > 500);
}

#endif
