/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the cost of a decision of advise/advise.h by number of devices, for a machine from
 * standard input.
 *
 *     ./gpusig advise signature.json --format machine | build/release-HASH/tests/peers/advise_cost
 *     ->   {"prepare_s": ..., "decision_s": {"2": ..., "8": ..., "64": ...}}
 */
#include "advise/advise.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <stdio.h>

enum { DECISIONS = 2000 };

static struct advise_machine machine;

static int read_machine(void)
{
	char line[512];
	int status = 0;
	while (status == 0 && fgets(line, sizeof(line), stdin))
		status = advise_parse_line(&machine, line);
	return status;
}

/* The mean over different questions. */
static int decision_seconds(uint32_t devices, enum advise_type type, double *seconds_p)
{
	struct advise_advice advice;
	uint64_t begin = clock_ns();
	for (uint32_t i = 0; i < DECISIONS; i++) {
		struct advise_question q = {4096 + 64 * (i % 61),
					    1024 + 64 * (i % 67),
					    512 + 64 * (i % 71),
					    devices,
					    (enum advise_op)(i % ADVISE_OPS),
					    type,
					    0};
		int status = advise(&machine, &q, &advice);
		if (status)
			return status;
	}
	*seconds_p = 1e-9 * (double)(clock_ns() - begin) / DECISIONS;
	return 0;
}

int main(void)
{
	static const uint32_t devices[] = {2, 4, 8, 16, 64};
	unsigned type = 0;
	int status = read_machine();
	uint64_t begin = clock_ns();
	advise_prepare(&machine);
	double prepare_s = 1e-9 * (double)(clock_ns() - begin);
	while (type < ADVISE_TYPES - 1 && machine.gemm[type].samples == 0)
		type++;
	for (size_t i = 0; status == 0 && i < sizeof(devices) / sizeof(devices[0]); i++) {
		double seconds = 0;
		status = decision_seconds(devices[i], (enum advise_type)type, &seconds);
		if (status)
			break;
		if (i == 0)
			printf("{\"prepare_s\": %.3g, \"GEMMs\": %u, \"decision_s\": {", prepare_s,
			       machine.gemm[type].samples);
		printf("%s\"%u\": %.3g", i ? ", " : "", devices[i], seconds);
	}
	if (status == 0)
		printf("}}\n");
	else
		err_print("%s", err_text());
	return status != 0;
}
