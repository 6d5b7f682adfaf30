/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "device/dev_libraries.h"
#include "lib/err.h"
#include "lib/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ISO C has no cast from an object pointer to a function pointer. */
static void set_slot(const struct dynlib_symbol *s, void *function)
{
	memcpy(s->slot, &function, sizeof(function));
}

static void clear_slots(const struct dynlib *l)
{
	for (const struct dynlib_symbol *s = l->symbols; s && s->name; s++)
		set_slot(s, NULL);
}

static void add_reason(struct dynlib *l, const char *reason)
{
	if (strstr(l->why, reason)) /* of a file that is found in two ways */
		return;
	text_fit_more(l->why, sizeof(l->why), "%s%s", l->why[0] ? "; " : "", reason);
}

/* ------------------------------------------------------------------ one file */

/* A file that exists but cannot be loaded is the better explanation, so its error is kept. */
static void *load_file(struct dynlib *l, const char *name)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *cause = handle ? NULL : dlerror();
	const size_t length = strlen(name);
	const bool absent = cause && strncmp(cause, name, length) == 0 &&
			    strstr(cause + length, "No such file");
	char reason[ERR_TEXT];
	if (cause && !absent) {
		text_fit(reason, sizeof(reason), "%s cannot be loaded: %s", l->title, cause);
		add_reason(l, reason);
	}
	return handle;
}

/* A file has one handle, under whatever names it is opened. */
static bool was_passed(const struct dynlib *l, const void *handle)
{
	for (size_t i = 0; i < COUNT(l->passed); i++)
		if (l->passed[i] == handle)
			return true;
	return false;
}

static void remember_path(struct dynlib *l, void *handle)
{
	struct link_map *map = NULL;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(l->path, sizeof(l->path), "%s", map->l_name);
}

static bool fill_slots(struct dynlib *l, void *handle)
{
	char reason[ERR_TEXT];
	for (const struct dynlib_symbol *s = l->symbols; s && s->name; s++) {
		void *function = dlsym(handle, s->name);
		set_slot(s, function);
		if (function || s->optional)
			continue;
		text_fit(reason, sizeof(reason), "%s has no function %s (%s)", l->title, s->name,
			 l->path);
		add_reason(l, reason);
		clear_slots(l);
		return false;
	}
	return true;
}

/* True if the loader gave it the other library's file that is in use, or if it needs none. */
static bool is_above(struct dynlib *l, void *handle)
{
	const struct dynlib_symbol *first = l->above->symbols;
	void *function = dlsym(handle, first->name), *in_use;
	Dl_info other;
	memcpy(&in_use, first->slot, sizeof(in_use));
	if (!function || !in_use || function == in_use)
		return true;
	err_note(-ENODEV, "%s (%s) uses %s, which is not in use", l->title, l->path,
		 dladdr(function, &other) ? other.dli_fname : "another file");
	return false;
}

/* Its threads may run and its descriptors be open, so it is not closed. */
static void pass_over(struct dynlib *l, void *handle)
{
	for (size_t i = 0; i < COUNT(l->passed); i++)
		if (!l->passed[i]) {
			l->passed[i] = handle;
			break;
		}
	add_reason(l, err_text());
	clear_slots(l);
	l->path[0] = '\0';
}

static void list_as_opened(const struct dynlib *l)
{
	char text[sizeof(l->path) + sizeof(l->why) + 8];
	text_fit(text, sizeof(text), "%s%s%s%s", l->path, l->why[0] ? " (" : "", l->why,
		 l->why[0] ? ")" : "");
	dev_library_add(text);
}

/* True if the search is over; the status is then set. `path` is `file` or has a folder before
 * it. */
static bool try_file(struct dynlib *l, const char *path, const char *const *file)
{
	if (l->looks)
		return access(path, R_OK) == 0;
	const unsigned bit = 1u << (file - l->files);
	void *handle = l->lacking & bit ? NULL : load_file(l, path);
	if (!handle || was_passed(l, handle))
		return false;
	remember_path(l, handle);
	if (!fill_slots(l, handle)) {
		dlclose(handle);
		l->lacking |= bit;
		return false;
	}
	l->status = l->above && !is_above(l, handle) ? -ENODEV : l->start ? l->start() : 0;
	if (l->status == -ENODEV) {
		pass_over(l, handle);
		return false;
	}
	if (l->status)
		text_fit(l->why, sizeof(l->why), "%s", err_text());
	else
		list_as_opened(l);
	return true;
}

/* ------------------------------------------------------------------ where files are */

/* In the folder whose name is the first `length` characters of `base`, and `below`. */
static bool try_in_folder(struct dynlib *l, const char *base, size_t length, const char *below,
			  const char *const *file)
{
	char path[512];
	return snprintf(path, sizeof(path), "%.*s%s/%s", (int)length, base, below, *file) <
		       (int)sizeof(path) &&
	       try_file(l, path, file);
}

static bool try_all_in_folder(struct dynlib *l, const char *base, size_t length, const char *below)
{
	bool over = false;
	for (const char *const *file = l->files; *file && !over; file++)
		over = try_in_folder(l, base, length, below, file);
	return over;
}

/* The next folder of a list with these characters between them; NULL at its end. */
static const char *next_folder(const char **list_p, const char *between, size_t *length_p)
{
	const char *folder = *list_p;
	if (!folder)
		return NULL;
	folder += strspn(folder, between);
	*length_p = strcspn(folder, between);
	*list_p = folder + *length_p;
	return *length_p ? folder : NULL;
}

static bool try_listed_folders(struct dynlib *l, const char *list, const char *between)
{
	const char *folder;
	size_t length;
	bool over = false;
	while (!over && (folder = next_folder(&list, between, &length)) != NULL)
		over = try_all_in_folder(l, folder, length, "");
	return over;
}

static bool try_variables_folder(struct dynlib *l, const char *folder)
{
	char name[64];
	const size_t length = strcspn(folder, "/");
	snprintf(name, sizeof(name), "%.*s", (int)length - 1, folder + 1);
	const char *value = getenv(name);
	return value && value[0] && try_all_in_folder(l, value, strlen(value), folder + length);
}

static bool try_named_folders(struct dynlib *l)
{
	bool over = try_listed_folders(l, getenv("GPUSIG_LIBRARIES"), ":") ||
		    try_listed_folders(l, getenv("LD_LIBRARY_PATH"), ":;");
	for (const char *const *folder = l->folders; folder && *folder && !over; folder++)
		over = (*folder)[0] == '$' && try_variables_folder(l, *folder);
	return over;
}

static bool try_everywhere(struct dynlib *l, const char *const *file)
{
	const char *list = getenv("GPUSIG_PYTHON_LIBRARIES"), *listed;
	size_t length;
	bool over = try_file(l, *file, file);
	for (const char *const *folder = l->folders; folder && *folder && !over; folder++)
		over = (*folder)[0] != '$' && try_in_folder(l, "", 0, *folder, file);
	while (!over && (listed = next_folder(&list, ":", &length)) != NULL)
		over = try_in_folder(l, listed, length, "", file);
	return over;
}

static bool try_next_to(struct dynlib *l, const struct dynlib *other)
{
	const char *slash = strrchr(other->path, '/');
	return slash && try_all_in_folder(l, other->path, (size_t)(slash - other->path), "");
}

static bool try_all_files(struct dynlib *l)
{
	if (l->next_to)
		return try_next_to(l, l->next_to);
	bool over = try_named_folders(l);
	if (!over && l->above)
		over = try_next_to(l, l->above);
	for (const char *const *file = l->files; *file && !over; file++)
		over = try_everywhere(l, file);
	return over;
}

static void list_names(struct dynlib *l)
{
	text_fit(l->why, sizeof(l->why), "%s is not installed: no ", l->title);
	for (const char *const *file = l->files; *file; file++)
		text_fit_more(l->why, sizeof(l->why), "%s%s", file == l->files ? "" : ", ", *file);
}

static void open_first_time(struct dynlib *l)
{
	if (try_all_files(l))
		return;
	l->status = -ENODEV;
	l->absent = !l->why[0];
	if (l->absent)
		list_names(l);
}

int dynlib_open(struct dynlib *l)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (!l->tried)
		open_first_time(l);
	l->tried = true;
	pthread_mutex_unlock(&lock);
	return l->status ? err_note(l->status, "%s", l->why) : 0;
}

bool dynlib_is_named(struct dynlib *l)
{
	l->looks = true;
	const bool found = try_named_folders(l);
	l->looks = false;
	return found;
}
