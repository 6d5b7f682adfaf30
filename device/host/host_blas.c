/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_blas.h"
#include "lib/err.h"
#include "lib/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* OpenBLAS maps as much for a call, and keeps it for the next one. */
#define BUFFER_BYTES ((size_t)128 << 20)

/* A library's file names, and the environment variables that set its kernel set and its number of
 * threads. */
struct library {
	const char *name;
	const char *files[3];
	const char *set_variable;
	const char *threads_variable;
};

enum { OPENBLAS, BLIS, LIBRARIES };

static const struct library libraries[LIBRARIES] = {
	[OPENBLAS] = {"openblas",
		      {"libopenblas.so.0", "libopenblas.so"},
		      "OPENBLAS_CORETYPE",
		      "OPENBLAS_NUM_THREADS"},
	[BLIS] = {"blis", {"libblis.so.4", "libblis.so.3"}, "BLIS_ARCH_TYPE", "BLIS_NUM_THREADS"},
};

/* ------------------------------------------------------------------ loading */

static void *find_symbol(void *handle, const char *name) { return dlsym(handle, name); }

/* ISO C has no cast from an object pointer to a function pointer. */
#define FUNCTION(handle, name, pointer)                                                            \
	do {                                                                                       \
		void *found = find_symbol(handle, name);                                           \
		memcpy(&(pointer), &found, sizeof(found));                                         \
	} while (0)

static void *open_library(const struct library *l, const char *set)
{
	void *handle = NULL;
	const char *before = getenv(l->set_variable);
	char *kept = before ? strdup(before) : NULL;
	if (set)
		setenv(l->set_variable, set, 1);
	setenv(l->threads_variable, "1", 1);
	for (size_t i = 0; l->files[i] && !handle; i++)
		handle = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
	void (*bli_init)(void) = NULL;
	void (*set_threads)(int) = NULL;
	if (handle) {
		FUNCTION(handle, "bli_init", bli_init);
		FUNCTION(handle, "openblas_set_num_threads", set_threads);
	}
	if (bli_init)
		bli_init();
	if (set_threads)
		set_threads(1);
	if (kept)
		setenv(l->set_variable, kept, 1);
	else
		unsetenv(l->set_variable);
	free(kept);
	return handle;
}

static bool address_space_is_limited(void)
{
	struct rlimit all, data;
	return getrlimit(RLIMIT_AS, &all) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
	       (all.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY);
}

/* Number of buffers, up to `count`, that could be mapped. `buffers` is scratch. */
static unsigned mappable_buffers(void **buffers, unsigned count)
{
	unsigned mapped = 0;
	while (mapped < count &&
	       (buffers[mapped] = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
		mapped++;
	for (unsigned i = 0; i < mapped; i++)
		munmap(buffers[i], BUFFER_BYTES);
	return mapped;
}

/* OpenBLAS tries for ever to map a buffer that exceeds a limit. Where the address space is limited,
 * those of as many calls at once are mapped here, before anything else takes it. One thread at a
 * time. */
static int reserve_buffers(void *handle, unsigned calls)
{
	static unsigned reserved;
	void *(*take)(int) = NULL;
	void (*give)(void *) = NULL;
	FUNCTION(handle, "blas_memory_alloc", take);
	FUNCTION(handle, "blas_memory_free", give);
	if (!take || !give || calls <= reserved || !address_space_is_limited())
		return 0;
	void **buffers = malloc(calls * sizeof(*buffers));
	if (!buffers)
		return err_note(-ENOMEM, "buffers of OpenBLAS: out of memory");
	unsigned wanted = calls - reserved, mappable = mappable_buffers(buffers, wanted);
	for (unsigned i = 0; mappable == wanted && i < calls; i++)
		buffers[i] = take(0);
	for (unsigned i = 0; mappable == wanted && i < calls; i++)
		give(buffers[i]);
	free(buffers);
	if (mappable < wanted)
		return err_note(-ENOMEM,
				"OpenBLAS maps %zu MiB for each of %u threads, and the limit of "
				"address space (ulimit -v) allows %u of them",
				BUFFER_BYTES >> 20, calls, reserved + mappable);
	reserved = calls;
	return 0;
}

static void describe_openblas(void *handle, char *text, size_t capacity)
{
	char *(*config)(void) = NULL, *(*core)(void) = NULL;
	char version[32] = "";
	FUNCTION(handle, "openblas_get_config", config);
	FUNCTION(handle, "openblas_get_corename", core);
	if (!config || sscanf(config(), "OpenBLAS %31s", version) != 1)
		version[0] = '\0';
	snprintf(text, capacity, "OpenBLAS%s%s %s", version[0] ? " " : "", version,
		 core ? core() : "");
}

static void describe_blis(void *handle, char *text, size_t capacity)
{
	const char *(*version)(void) = NULL, *(*name)(int) = NULL;
	int (*query)(void) = NULL;
	FUNCTION(handle, "bli_info_get_version_str", version);
	FUNCTION(handle, "bli_arch_query_id", query);
	FUNCTION(handle, "bli_arch_string", name);
	snprintf(text, capacity, "BLIS %s %s", version ? version() : "",
		 query && name ? name(query()) : "");
}

static struct host_blas opened;

static int load_library(unsigned library, const char *set)
{
	void *handle = open_library(&libraries[library], set);
	if (handle) {
		FUNCTION(handle, "sgemm_", opened.sgemm);
		FUNCTION(handle, "dgemm_", opened.dgemm);
	}
	if (!handle || !opened.sgemm || !opened.dgemm)
		return err_note(-ENOENT, "no BLAS: cannot load libopenblas.so.0 or libblis.so.4");
	opened.handle = handle;
	if (library == OPENBLAS)
		describe_openblas(handle, opened.text, sizeof(opened.text));
	else
		describe_blis(handle, opened.text, sizeof(opened.text));
	return 0;
}

/* ------------------------------------------------------------------ choosing */

const char *host_blas_set(const char *vendor, enum host_isa widest)
{
	switch (widest) {
	case HOST_ISA_AVX512:
		return "SkylakeX";
	case HOST_ISA_AVX2:
		return strcmp(vendor, "AuthenticAMD") == 0 || strcmp(vendor, "HygonGenuine") == 0
			       ? "Zen"
			       : "Haswell";
	case HOST_ISA_OTHER:
		break;
	}
	return NULL;
}

static enum host_isa read_processor(char vendor[13])
{
	vendor[0] = '\0';
#if defined(__x86_64__)
	unsigned highest, words[3];
	if (__get_cpuid(0, &highest, &words[0], &words[2], &words[1])) {
		memcpy(vendor, words, sizeof(words));
		vendor[sizeof(words)] = '\0';
	}
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return HOST_ISA_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return HOST_ISA_AVX2;
#endif
	return HOST_ISA_OTHER;
}

static int load_for_processor(void)
{
	char vendor[13];
	const enum host_isa widest = read_processor(vendor);
	return load_library(OPENBLAS, host_blas_set(vendor, widest)) ? load_library(BLIS, NULL) : 0;
}

static int load_by_name(const char *wish)
{
	const size_t length = strcspn(wish, ":");
	for (unsigned i = 0; i < LIBRARIES; i++)
		if (strlen(libraries[i].name) == length &&
		    strncmp(libraries[i].name, wish, length) == 0)
			return load_library(i, wish[length] ? wish + length + 1 : NULL);
	return err_note(-ENOENT,
			"unknown GPUSIG_BLAS '%s'; values: openblas[:SET], blis[:NUMBER], none",
			wish);
}

static int opened_status;
static char opened_why[ERR_TEXT];

static void open_chosen(void)
{
	const char *wish = getenv("GPUSIG_BLAS");
	if (!wish || !wish[0])
		opened_status = load_for_processor();
	else if (strcmp(wish, "none") == 0)
		opened_status = err_note(-ENOENT, "no BLAS: GPUSIG_BLAS is none");
	else
		opened_status = load_by_name(wish);
	if (opened_status)
		text_fit(opened_why, sizeof(opened_why), "%s", err_text());
}

int host_blas_open(unsigned calls, const struct host_blas **blas_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static pthread_mutex_t reserving = PTHREAD_MUTEX_INITIALIZER;
	pthread_once(&once, open_chosen);
	if (opened_status)
		return err_note(opened_status, "%s", opened_why);
	pthread_mutex_lock(&reserving);
	int status = reserve_buffers(opened.handle, calls);
	pthread_mutex_unlock(&reserving);
	if (status == 0)
		*blas_p = &opened;
	return status;
}
