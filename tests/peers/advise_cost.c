/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the cost of a decision of advise/advise.h, in a table of 12 ways and 16 x 16 x 16 sides
 * for 8 devices. Exit 1 if it is above 10 us.
 *
 *     build/release-HASH/tests/peers/advise_cost
 *     ->   {"read_s": ..., "decision_s": ...}
 */
#include "advise/advise.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DECISIONS = 100000, WAYS = 12, VALUES = 16, POINTS = VALUES * VALUES * VALUES };

static void write_table(FILE *file)
{
	fprintf(file, "gpusig advice 1\nerror 0.05\ngrid ag-gemm bf16 8\nways");
	for (int way = 0; way < WAYS; way++)
		fprintf(file, " schedule-%d/%s", way / 2, way % 2 ? "kernel" : "engine");
	for (int side = 0; side < 3; side++) {
		fprintf(file, "\n%c", "mnk"[side]);
		for (int i = 0; i < VALUES; i++)
			fprintf(file, " %.6g", 256 * pow(64, i / (VALUES - 1.0)));
	}
	for (int i = 0; i < POINTS * WAYS; i++)
		fprintf(file, "%c%.6g", i % WAYS ? ' ' : '\n', 1e-4 * (1 + i % 97));
	fprintf(file, "\nend\n");
}

static int measure_cost(const char *path)
{
	struct advise_table *table;
	const struct advise_grid *grid;
	struct advise_choice choice;
	uint64_t begin = clock_ns();
	int status = advise_read(path, &table);
	if (status)
		return status;
	const double read_s = 1e-9 * (double)(clock_ns() - begin);
	TRY(status, advise_find(table, "ag-gemm", "bf16", 8, &grid));
	begin = clock_ns();
	for (int i = 0; i < DECISIONS; i++)
		TRY(status, advise(grid, 257 + 64 * (i % 61), 1025 + 64 * (i % 67),
				   513 + 64 * (i % 71), &choice));
	const double decision_s = 1e-9 * (double)(clock_ns() - begin) / DECISIONS;
	printf("{\"read_s\": %.3g, \"decision_s\": %.3g}\n", read_s, decision_s);
	advise_free(table);
	return status ? status : decision_s > 1e-5 ? err_note(1, "above 10 us") : 0;
}

int main(void)
{
	char path[] = "/tmp/gpusig-advice-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return 1;
	write_table(file);
	int status = fclose(file) ? err_note(1, "%s cannot be written", path) : measure_cost(path);
	unlink(path);
	if (status)
		err_print("%s", err_text());
	return status != 0;
}
