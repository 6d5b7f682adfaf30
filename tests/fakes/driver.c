/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/driver.h"
#include "tests/fakes/faults.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int driver_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument,
		   size_t bytes)
{
	int (*enqueue)(void *, uint32_t, fake_work *, const void *, size_t) = NULL;
	void *driver = dlopen(fake_driver_file, RTLD_NOW | RTLD_NOLOAD);
	void *symbol = driver ? dlsym(driver, "fake_enqueue") : NULL;
	if (!symbol) {
		fprintf(stderr, "fake: %s is not the fake driver, or is not loaded\n",
			fake_driver_file);
		abort();
	}
	memcpy(&enqueue, &symbol, sizeof(enqueue));
	const int status = enqueue(stream, blocks, work, argument, bytes);
	dlclose(driver);
	return status;
}

static int result_number(const char *result) { return (int)strtol(result, NULL, 10); }

int driver_fault(const char *function) { return fake_fault(function, result_number); }
