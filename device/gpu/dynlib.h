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
	const struct dynlib_symbol *symbols; /* NULL, or a list that ends with a NULL name */
	/* NULL, or called once when the slots are set. dynlib_open() returns its result and text,
	 * and the library stays open. It must not open another library. */
	int (*start)(void);
	/* Set by dynlib_open(). */
	bool tried;
	int status;
	bool absent;    /* no file of any of the names exists */
	char path[256]; /* the file that was opened */
	char why[400];  /* why it failed */
};

/* Open the library and fill all slots. The loader's own search comes first for all names, so
 * LD_LIBRARY_PATH has effect where it is set; then each folder; then those that the environment
 * variable GPUSIG_LIBRARIES lists, with colons between them. The work is done once in a process:
 * later calls return the first result and its text. Any thread may call it at any time; slots are
 * set when it returns 0. -ENODEV, with a text that says which: no file of any of the names; a file
 * that cannot be loaded, and why; a file that lacks a function, and which. Slots are then NULL.
 * Otherwise the result of start(). */
int dynlib_open(struct dynlib *library);

#endif
