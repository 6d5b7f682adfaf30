/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FAKE_LAUNCHES: a line for every launch of a kernel, for tests that ask how a program launches.
 */
#include "tests/fakes/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/fakes/kernels.h"

void fake_note_launch(const struct fake_function *f, uint32_t grid, uint32_t wave)
{
	const char *path = getenv("FAKE_LAUNCHES");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s grid %u wave %u carveout %d\n", f->kernel->name, grid, wave, f->carveout);
	fclose(file);
}
