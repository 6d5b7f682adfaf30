/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "lib/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that exists but cannot be loaded is the better explanation, so its error is kept. */
static void *try_file(struct dynlib *l, const char *name)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *cause = handle ? NULL : dlerror();
	const size_t length = strlen(name);
	const bool absent = cause && strncmp(cause, name, length) == 0 &&
			    strstr(cause + length, "No such file");
	if (cause && !absent && !l->why[0])
		snprintf(l->why, sizeof(l->why), "%s cannot be loaded: %s", l->title, cause);
	return handle;
}

/* In the folder whose name is the first `length` characters of `base`, and `below`. */
static void *try_folder(struct dynlib *l, const char *base, size_t length, const char *below)
{
	char path[512];
	void *handle = NULL;
	for (const char *const *file = l->files; *file && !handle; file++)
		if (snprintf(path, sizeof(path), "%.*s%s/%s", (int)length, base, below, *file) <
		    (int)sizeof(path))
			handle = try_file(l, path);
	return handle;
}

/* NULL where the folder's variable is not set. */
static void *try_named_folder(struct dynlib *l, const char *folder)
{
	char name[64];
	if (folder[0] != '$')
		return try_folder(l, "", 0, folder);
	const size_t length = strcspn(folder, "/");
	snprintf(name, sizeof(name), "%.*s", (int)length - 1, folder + 1);
	const char *value = getenv(name);
	return value && value[0] ? try_folder(l, value, strlen(value), folder + length) : NULL;
}

static void *try_all_files(struct dynlib *l)
{
	void *handle = NULL;
	for (const char *const *file = l->files; *file && !handle; file++)
		handle = try_file(l, *file);
	for (const char *const *folder = l->folders; folder && *folder && !handle; folder++)
		handle = try_named_folder(l, *folder);
	for (const char *list = getenv("GPUSIG_LIBRARIES"); list && *list && !handle;) {
		const size_t length = strcspn(list, ":");
		if (length)
			handle = try_folder(l, list, length, "");
		list += length + (list[length] == ':');
	}
	return handle;
}

static void list_names(struct dynlib *l)
{
	size_t used =
		(size_t)snprintf(l->why, sizeof(l->why), "%s is not installed: no ", l->title);
	for (const char *const *file = l->files; *file && used < sizeof(l->why); file++)
		used += (size_t)snprintf(l->why + used, sizeof(l->why) - used, "%s%s",
					 file == l->files ? "" : ", ", *file);
}

static void remember_path(struct dynlib *l, void *handle)
{
	struct link_map *map = NULL;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(l->path, sizeof(l->path), "%s", map->l_name);
}

/* ISO C has no cast from an object pointer to a function pointer. */
static void set_slot(const struct dynlib_symbol *s, void *function)
{
	memcpy(s->slot, &function, sizeof(function));
}

static int open_first_time(struct dynlib *l)
{
	void *handle = try_all_files(l);
	l->absent = !handle && !l->why[0];
	if (l->absent)
		list_names(l);
	if (!handle)
		return -ENODEV;
	l->why[0] = '\0';
	remember_path(l, handle);
	for (const struct dynlib_symbol *s = l->symbols; s && s->name && !l->why[0]; s++) {
		void *function = dlsym(handle, s->name);
		set_slot(s, function);
		if (!function && !s->optional)
			snprintf(l->why, sizeof(l->why), "%s has no function %s (%s)", l->title,
				 s->name, l->path);
	}
	if (!l->why[0])
		return 0;
	for (const struct dynlib_symbol *s = l->symbols; s && s->name; s++)
		set_slot(s, NULL);
	dlclose(handle);
	return -ENODEV;
}

static int run_start(struct dynlib *l)
{
	int status = l->start ? l->start() : 0;
	if (status)
		snprintf(l->why, sizeof(l->why), "%s", err_text());
	return status;
}

int dynlib_open(struct dynlib *l)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (!l->tried) {
		l->status = open_first_time(l);
		if (!l->status)
			l->status = run_start(l);
		l->tried = true;
	}
	pthread_mutex_unlock(&lock);
	return l->status ? err_note(l->status, "%s", l->why) : 0;
}
