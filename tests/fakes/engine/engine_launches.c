/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FAKE_LAUNCHES: logs every kernel launch, for tests of how programs launch.
 */
#include "tests/fakes/engine/engine.h"
#include "tests/fakes/kernels.h"

#include <stdio.h>
#include <stdlib.h>

void fake_log_launch(const struct fake_function *f, uint32_t grid, uint32_t wave)
{
	const char *path = getenv("FAKE_LAUNCHES");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s grid %u wave %u carveout %d\n", f->kernel->name, grid, wave, f->carveout);
	fclose(file);
}
