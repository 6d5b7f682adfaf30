/* SPDX-License-Identifier: BSD-3-Clause
 *
 * layers TABLE OP TYPE DEVICES MxNxK...: the schedule that a table of advice gives each layer.
 *
 *     4096x11008x4096 hetero-fused-1d engine rows 0.000718 serial 0.00092 decided
 *
 * Seconds are predicted; "-": no serial schedule is in the table. README.md has how to build it.
 */
#include "advise/advise.h"
#include "lib/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int print_layer(const struct advise_grid *grid, const char *layer)
{
	double m, n, k;
	struct advise_choice choice;
	if (sscanf(layer, "%lfx%lfx%lf", &m, &n, &k) != 3) {
		fprintf(stderr, "layers: '%s' is no MxNxK\n", layer);
		return 1;
	}
	if (advise(grid, m, n, k, &choice)) {
		fprintf(stderr, "layers: %s: %s\n", layer, err_text());
		return 1;
	}
	printf("%s %s %s %s %.3g serial ", layer, choice.schedule, choice.copy_method, choice.cut,
	       choice.seconds);
	if (isnan(choice.serial_seconds))
		printf("-");
	else
		printf("%.3g", choice.serial_seconds);
	printf(" %s\n", choice.decided ? "decided" : "undecided");
	return 0;
}

int main(int count, char **words)
{
	struct advise_table *table;
	const struct advise_grid *grid = NULL;
	int failed = 0;
	if (count < 6) {
		fprintf(stderr, "usage: layers TABLE OP TYPE DEVICES MxNxK...\n");
		return 2;
	}
	if (advise_read(words[1], &table)) {
		fprintf(stderr, "layers: %s: %s\n", words[1], err_text());
		return 1;
	}
	if (advise_find(table, words[2], words[3], (unsigned)strtoul(words[4], NULL, 10), &grid)) {
		fprintf(stderr, "layers: %s: %s\n", words[1], err_text());
		failed = 1;
	}
	for (int i = 5; grid && i < count; i++)
		failed |= print_layer(grid, words[i]);
	advise_free(table);
	return failed;
}
