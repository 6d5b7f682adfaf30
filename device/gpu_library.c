/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/err.h"

/* The folder with its variable replaced, and the file. False where the variable is not set. */
static bool path_in(const char *folder, const char *file, char *path, size_t room)
{
	char name[64];
	const char *value = "";
	if (folder[0] == '$') {
		const size_t length = strcspn(folder, "/");
		snprintf(name, sizeof(name), "%.*s", (int)length - 1, folder + 1);
		value = getenv(name);
		folder += length;
		if (!value || !value[0])
			return false;
	}
	return snprintf(path, room, "%s%s/%s", value, folder, file) < (int)room;
}

/* A file that is there and can't be loaded is worth more words than one that is not there. */
static void *open_file(struct gpu_library *l, const char *name)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *cause = handle ? NULL : dlerror();
	const size_t length = strlen(name);
	const bool absent = cause && strncmp(cause, name, length) == 0 && strstr(cause + length, "No such file");
	if (cause && !absent && !l->why[0])
		snprintf(l->why, sizeof(l->why), "%s can't be loaded: %s", l->title, cause);
	return handle;
}

static void *find_file(struct gpu_library *l)
{
	char path[512];
	void *handle = NULL;
	for (const char *const *file = l->files; *file && !handle; file++)
		handle = open_file(l, *file);
	for (const char *const *folder = l->folders; folder && *folder; folder++)
		for (const char *const *file = l->files; *file && !handle; file++)
			if (path_in(*folder, *file, path, sizeof(path)))
				handle = open_file(l, path);
	return handle;
}

static void list_names(struct gpu_library *l)
{
	size_t used = (size_t)snprintf(l->why, sizeof(l->why), "%s is not here: no ", l->title);
	for (const char *const *file = l->files; *file && used < sizeof(l->why); file++)
		used += (size_t)snprintf(l->why + used, sizeof(l->why) - used, "%s%s", file == l->files ? "" : ", ", *file);
}

static void note_path(struct gpu_library *l, void *handle)
{
	struct link_map *map = NULL;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(l->path, sizeof(l->path), "%s", map->l_name);
}

/* ISO C has no cast from an object pointer to a function pointer. */
static void set_slot(const struct gpu_symbol *s, void *function) { memcpy(s->slot, &function, sizeof(function)); }

static int open_first_time(struct gpu_library *l)
{
	void *handle = find_file(l);
	l->absent = !handle && !l->why[0];
	if (l->absent)
		list_names(l);
	if (!handle)
		return -ENODEV;
	l->why[0] = '\0';
	note_path(l, handle);
	for (const struct gpu_symbol *s = l->symbols; s && s->name && !l->why[0]; s++) {
		void *function = dlsym(handle, s->name);
		set_slot(s, function);
		if (!function && !s->optional)
			snprintf(l->why, sizeof(l->why), "%s has no function %s (%s)", l->title, s->name, l->path);
	}
	if (!l->why[0])
		return 0;
	for (const struct gpu_symbol *s = l->symbols; s && s->name; s++)
		set_slot(s, NULL);
	dlclose(handle);
	return -ENODEV;
}

static int start(struct gpu_library *l)
{
	int rc = l->start ? l->start() : 0;
	if (rc)
		snprintf(l->why, sizeof(l->why), "%s", err_text());
	return rc;
}

int gpu_library_open(struct gpu_library *l)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (!l->tried) {
		l->rc = open_first_time(l);
		if (!l->rc)
			l->rc = start(l);
		l->tried = true;
	}
	pthread_mutex_unlock(&lock);
	return l->rc ? err_note(l->rc, "%s", l->why) : 0;
}
