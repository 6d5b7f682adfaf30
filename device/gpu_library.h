/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A vendor's library, opened with dlopen: where it may lie, and the functions wanted of it.
 *
 *     static struct {
 *             int (*init)(unsigned flags);
 *             int (*graph)(void **graph_p);
 *     } api;
 *     static const struct gpu_symbol symbols[] = {
 *             {"cuInit", &api.init, false}, {"cuGraphCreate", &api.graph, true}, {NULL, NULL, false},
 *     };
 *     static const char *const files[] = {"libcuda.so.1", NULL};
 *     static struct gpu_library library = {.title = "the CUDA driver", .files = files, .symbols = symbols};
 *
 *     int rc = gpu_library_open(&library);
 */
#ifndef GPUSIG_GPU_LIBRARY_H
#define GPUSIG_GPU_LIBRARY_H

#include <stdbool.h>

/* `slot` is the address of a pointer to the function. It stays NULL where the library lacks an optional function. */
struct gpu_symbol {
	const char *name;
	void *slot;
	bool optional;
};

/* A library lives as long as the process. */
struct gpu_library {
	const char *title;                /* as messages call it */
	const char *const *files;         /* names, best first; NULL ends the list */
	const char *const *folders;       /* NULL, or a list that ends with NULL; "$CUDA_HOME/lib64" begins with what the
	                                     environment says, and is left out where that is unset */
	const struct gpu_symbol *symbols; /* NULL, or a list that ends with a name of NULL */
	int (*start)(void);               /* NULL, or what has to be done once when the slots are set; its answer, with its text,
	                                     is then that of gpu_library_open(), and the library stays open; it
	                                     can't open another library */
	/* Of gpu_library_open(). */
	bool tried;
	int rc;
	bool absent;                      /* there is no file of any of the names */
	char path[256];                   /* the file that was opened */
	char why[400];                    /* else: why not */
};

/* Open it and fill all slots. All names are looked for as the loader does, so that LD_LIBRARY_PATH decides where it is set,
 * then in each folder. Once in a process: later calls return the first one's answer and its text. Any thread, at any time;
 * slots are set when the call returns 0.
 * -ENODEV, with a text that tells apart: no file of any of the names; a file that can't be loaded, and why; a file that
 * lacks a function, and which. Slots are then NULL. Else what start() says. */
int gpu_library_open(struct gpu_library *library);

#endif
