/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_libraries.h"
#include "lib/err.h"
#include "lib/text.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char added[DEV_LIBRARIES_MAX][2 * ERR_TEXT];
static size_t added_count; /* both guarded by the lock */

void dev_library_add(const char *path)
{
	pthread_mutex_lock(&lock);
	if (added_count < DEV_LIBRARIES_MAX)
		text_fit(added[added_count++], sizeof(added[0]), "%s", path);
	pthread_mutex_unlock(&lock);
}

size_t dev_libraries(const char **paths, size_t capacity)
{
	pthread_mutex_lock(&lock);
	const size_t count = added_count;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < count && i < capacity; i++)
		paths[i] = added[i];
	return count;
}
