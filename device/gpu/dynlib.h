/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A vendor's library, opened with dlopen: where it may lie, and which functions are needed.
 *
 *     static struct {
 *             int (*init)(unsigned flags);
 *             int (*graph)(void **graph_p);
 *     } api;
 *     static const struct dynlib_symbol symbols[] = {
 *             {"cuInit", &api.init, false},
 *             {"cuGraphCreate", &api.graph, true},
 *             {NULL, NULL, false},
 *     };
 *     static const char *const files[] = {"libcuda.so.1", NULL};
 *     static struct dynlib library = {
 *             .title = "the CUDA driver", .files = files, .symbols = symbols};
 *
 *     int status = dynlib_open(&library);
 */
#ifndef GPUSIG_DYNLIB_H
#define GPUSIG_DYNLIB_H

#include "lib/err.h"

#include <stdbool.h>

/* `slot` is the address of a function pointer. It stays NULL where the library lacks an optional
 * function. */
struct dynlib_symbol {
	const char *name;
	void *slot;
	bool optional;
};

/* A library stays open until the process ends. */
struct dynlib {
	const char *title;        /* its name in messages */
	const char *const *files; /* names, preferred first; ends with NULL */
	/* NULL, or a list that ends with NULL. "$CUDA_HOME/lib64" begins with an environment
	 * variable, and is skipped where that is unset. */
	const char *const *folders;
	/* NULL, or a library that is open: the folder of its file is then the only place. */
	const struct dynlib *next_to;
	/* NULL, or a library that this one may need. Where that is open, its folder is searched
	 * before 4, and a file to which the loader gave another file of it, such as one that was
	 * passed over, is passed over: its first symbol tells. */
	const struct dynlib *above;
	const struct dynlib_symbol *symbols; /* NULL, or a list that ends with a NULL name */
	/* NULL, or called when the slots are set. dynlib_open() returns its result and text, and
	 * the library stays open; but after -ENODEV, this library does not fit the machine, the
	 * next file is tried, if there is one. It must not open another library. */
	int (*start)(void);
	/* Set by dynlib_open(). */
	bool tried;
	int status;
	bool absent;        /* no file of any of the names exists */
	bool looks;         /* dynlib_is_named() is at work */
	char path[256];     /* the file that was opened */
	char why[ERR_TEXT]; /* why it failed, and before each file that was passed over */
	unsigned lacking;   /* bits of `files`: names under which a function was missing */
	void *passed[8];    /* handles of files that were passed over, which stay open */
};

/* Open the library and fill all slots. Where it is looked for:
 *
 *  1. the folders that the environment variable GPUSIG_LIBRARIES lists, with colons between them;
 *  2. those of LD_LIBRARY_PATH, where the loader finds whatever a library needs before it looks
 *     anywhere else;
 *  3. `folders` that begin with a variable;
 *  4. for each name, so that the newest release wins: the loader's own search, the other `folders`,
 *     and those that GPUSIG_PYTHON_LIBRARIES lists, which ./gpusig sets.
 *
 * In each folder of 1 to 3 all names are tried.
 *
 * A file that was passed over stays open, and under its name (soname) the loader gives it to every
 * library that needs it. A second file of that name is opened all the same, but libraries above it
 * are then refused. Where the user names the second file's folder in GPUSIG_LIBRARIES, it is the
 * first, and all are to be had.
 *
 * The work is done once in a process: later calls return the first result and its text. The path is
 * among dev_libraries(). Any thread may call it at any time; slots are set when it returns 0.
 * -ENODEV, with a text that says which: no file of any of the names; a file that cannot be loaded,
 * and why; a file that lacks a function, and which, after which that name is not looked for
 * elsewhere; what start() said of every file; which file of another library it uses. Slots are then
 * NULL. Otherwise the result of start().
 */
int dynlib_open(struct dynlib *library);

/* Before dynlib_open(), by one thread: whether there is such a file in 1 to 3, which the user
 * names. Opens nothing. */
bool dynlib_is_named(struct dynlib *library);

#endif
