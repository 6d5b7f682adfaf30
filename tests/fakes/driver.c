/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/driver.h"
#include "tests/fakes/faults.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stores a function of the driver, which is loaded anyway. */
static void find_function(const char *name, void *function_p)
{
	void *driver = dlopen(fake_driver_file, RTLD_NOW | RTLD_NOLOAD);
	void *symbol = driver ? dlsym(driver, name) : NULL;
	if (!symbol) {
		fprintf(stderr, "fake: %s is not the fake driver, or is not loaded\n",
			fake_driver_file);
		abort();
	}
	memcpy(function_p, &symbol, sizeof(symbol));
	dlclose(driver);
}

int driver_enqueue(void *stream, uint32_t blocks, fake_work *work, const void *argument,
		   size_t bytes)
{
	int (*enqueue)(void *, uint32_t, fake_work *, const void *, size_t) = NULL;
	find_function("fake_enqueue", &enqueue);
	return enqueue(stream, blocks, work, argument, bytes);
}

int driver_allocate(unsigned device, size_t bytes, void **ptr_p)
{
	int (*allocate)(unsigned, size_t, void **) = NULL;
	find_function("fake_allocate", &allocate);
	return allocate(device, bytes, ptr_p);
}

int driver_release(unsigned device, void *ptr)
{
	int (*release)(unsigned, void *) = NULL;
	find_function("fake_release", &release);
	return release(device, ptr);
}

int driver_current_device(unsigned *device_p)
{
	int (*current_device)(unsigned *) = NULL;
	find_function("fake_current_device", &current_device);
	return current_device(device_p);
}

bool driver_is_device_memory(const void *ptr, size_t bytes)
{
	bool (*is_device)(const void *, size_t) = NULL;
	find_function("fake_is_device_memory", &is_device);
	return is_device(ptr, bytes);
}

bool driver_reaches_peers(unsigned device)
{
	bool (*reaches)(unsigned) = NULL;
	find_function("fake_reaches_peers", &reaches);
	return reaches(device);
}

int driver_copy(unsigned device, void *stream, void *dst, const void *src, size_t bytes)
{
	int (*copy)(unsigned, void *, void *, const void *, size_t) = NULL;
	find_function("fake_stream_copy", &copy);
	return copy(device, stream, dst, src, bytes);
}

int driver_write_value(void *stream, uint32_t *at, uint32_t value)
{
	int (*write_value)(void *, uint32_t *, uint32_t) = NULL;
	find_function("fake_value_write", &write_value);
	return write_value(stream, at, value);
}

int driver_wait_value(void *stream, uint32_t *at, uint32_t value)
{
	int (*wait_value)(void *, uint32_t *, uint32_t) = NULL;
	find_function("fake_value_wait", &wait_value);
	return wait_value(stream, at, value);
}

static int result_number(const char *result) { return (int)strtol(result, NULL, 10); }

int driver_fault(const char *function) { return fake_fault(function, result_number); }
