/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/err.h"

/* Large enough to run from packed panels, small enough for 2 ms a product. */
#define TRIAL_SIZE 640
#define TRIAL_NS 15000000u
#define TRIAL_LIMIT_MS 1000

/* What a library is called, and how it is told which kernels to use and to stay in one thread. */
struct library {
	const char *name;
	const char *files[3];
	const char *set_variable;
	const char *threads_variable;
};

static const struct library libraries[] = {
	{"openblas", {"libopenblas.so.0", "libopenblas.so"}, "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"},
	{"blis", {"libblis.so.4", "libblis.so.3"}, "BLIS_ARCH_TYPE", "BLIS_NUM_THREADS"},
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

enum isa { ANY, AVX2, AVX512, AVX512_BF16 };

/* Kernel sets worth trying; NULL is what the library itself chooses. BLIS knows numbers only; where
 * a version counts differently, the trial fails or times what it got, and either is right. */
static const struct candidate {
	unsigned library;
	const char *set;
	enum isa needs;
} candidates[] = {
	{0, NULL, ANY},       {0, "SkylakeX", AVX512}, {0, "Cooperlake", AVX512_BF16},
	{0, "Haswell", AVX2}, {0, "Zen", AVX2},        {1, NULL, ANY},
	{1, "0", AVX512},     {1, "3", AVX2},          {1, "6", AVX2},
};
#define CANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

static bool runs(enum isa needs)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	switch (needs) {
	case ANY:
		return true;
	case AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	case AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
	case AVX512_BF16:
		return runs(AVX512) && __builtin_cpu_supports("avx512bf16");
	}
#endif
	return needs == ANY;
}

/* ------------------------------------------------------------------ loading */

static void *symbol(void *handle, const char *name) { return dlsym(handle, name); }

/* ISO C has no cast from an object pointer to a function pointer. */
#define FUNCTION(handle, name, pointer)                                                                                \
	do {                                                                                                           \
		void *found = symbol(handle, name);                                                                    \
		memcpy(&(pointer), &found, sizeof(found));                                                             \
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

static void describe_openblas(void *handle, char *text, size_t room)
{
	char *(*config)(void) = NULL, *(*core)(void) = NULL;
	char version[32] = "";
	FUNCTION(handle, "openblas_get_config", config);
	FUNCTION(handle, "openblas_get_corename", core);
	if (!config || sscanf(config(), "OpenBLAS %31s", version) != 1)
		version[0] = '\0';
	snprintf(text, room, "OpenBLAS%s%s %s", version[0] ? " " : "", version, core ? core() : "");
}

static void describe_blis(void *handle, char *text, size_t room)
{
	const char *(*version)(void) = NULL, *(*name)(int) = NULL;
	int (*query)(void) = NULL;
	FUNCTION(handle, "bli_info_get_version_str", version);
	FUNCTION(handle, "bli_arch_query_id", query);
	FUNCTION(handle, "bli_arch_string", name);
	snprintf(text, room, "BLIS %s %s", version ? version() : "", query && name ? name(query()) : "");
}

static bool load(const struct candidate *c, struct host_blas *blas)
{
	void *handle = open_library(&libraries[c->library], c->set);
	if (!handle)
		return false;
	FUNCTION(handle, "sgemm_", blas->sgemm);
	FUNCTION(handle, "dgemm_", blas->dgemm);
	if (!blas->sgemm || !blas->dgemm)
		return false;
	if (c->library == 0)
		describe_openblas(handle, blas->text, sizeof(blas->text));
	else
		describe_blis(handle, blas->text, sizeof(blas->text));
	return true;
}

/* ------------------------------------------------------------------ trying */

/* Best time of a product in nanoseconds. */
static uint64_t best_time(const struct host_blas *blas)
{
	const int n = TRIAL_SIZE;
	const float one = 1, zero = 0;
	const size_t count = (size_t)n * (size_t)n;
	float *m = malloc(3 * count * sizeof(*m));
	uint64_t best = UINT64_MAX;
	if (!m)
		return best;
	for (size_t i = 0; i < 3 * count; i++)
		m[i] = (float)(i % 7) - 3.0f;
	const uint64_t begin = clock_ns();
	for (int i = 0; i < 3 || clock_ns() - begin < TRIAL_NS; i++) {
		const uint64_t start = clock_ns();
		blas->sgemm("N", "N", &n, &n, &n, &one, m, &n, m + count, &n, &zero, m + 2 * count, &n);
		const uint64_t took = clock_ns() - start;
		best = took < best ? took : best;
	}
	free(m);
	return best;
}

/* In the child. Libraries print before they abort. */
static void try_and_exit(const struct candidate *c, int result)
{
	struct host_blas blas = {.text = ""};
	int null = open("/dev/null", O_WRONLY);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (!load(c, &blas))
		_exit(1);
	const uint64_t took = best_time(&blas);
	_exit(write(result, &took, sizeof(took)) == sizeof(took) ? 0 : 1);
}

/* 0 when it can't be had. */
static uint64_t trial(const struct candidate *c)
{
	int ends[2];
	uint64_t took = 0;
	if (pipe2(ends, O_CLOEXEC))
		return 0;
	pid_t child = fork();
	if (child == 0)
		try_and_exit(c, ends[1]);
	close(ends[1]);
	if (child > 0) {
		struct pollfd ready = {.fd = ends[0], .events = POLLIN};
		if (poll(&ready, 1, TRIAL_LIMIT_MS) != 1 || read(ends[0], &took, sizeof(took)) != sizeof(took)) {
			took = 0;
			kill(child, SIGKILL);
		}
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return took;
}

static bool has_one_thread(void)
{
	char line[128];
	int threads = 0;
	FILE *file = fopen("/proc/self/status", "r");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Threads: %d", &threads) == 1)
			break;
	fclose(file);
	return threads == 1;
}

static const struct candidate *fastest(void)
{
	const struct candidate *best = NULL;
	uint64_t best_ns = UINT64_MAX;
	for (size_t i = 0; i < CANDIDATES; i++) {
		const uint64_t took = runs(candidates[i].needs) ? trial(&candidates[i]) : 0;
		/* A tie within 2 % is noise: the earlier one wins, so that the choice repeats. */
		if (took == 0 || (best && (double)took > 0.98 * (double)best_ns))
			continue;
		best = &candidates[i];
		best_ns = took;
	}
	return best;
}

/* ------------------------------------------------------------------ choosing */

static int choose_named(const char *wish, struct candidate *c)
{
	const size_t length = strcspn(wish, ":");
	for (unsigned i = 0; i < LIBRARIES; i++) {
		if (strlen(libraries[i].name) != length || strncmp(libraries[i].name, wish, length) != 0)
			continue;
		*c = (struct candidate){.library = i, .set = wish[length] ? wish + length + 1 : NULL};
		return 0;
	}
	return err_note(-ENOENT, "GPUSIG_BLAS is '%s', not openblas[:SET], blis[:NUMBER] or none", wish);
}

static int choose(struct candidate *c, bool *timed_p)
{
	const char *wish = getenv("GPUSIG_BLAS");
	const struct candidate *best;
	*timed_p = true;
	if (wish && strcmp(wish, "none") == 0)
		return err_note(-ENOENT, "no BLAS: GPUSIG_BLAS is none");
	if (wish && wish[0])
		return choose_named(wish, c);
	if (has_one_thread() && (best = fastest()) != NULL) {
		*c = *best;
		return 0;
	}
	*timed_p = false;
	*c = (struct candidate){.set = runs(AVX512) ? "SkylakeX" : runs(AVX2) ? "Haswell" : NULL};
	return 0;
}

static struct host_blas opened;
static int opened_rc;
static char opened_why[256];

static void open_once(void)
{
	struct candidate c = {0};
	bool timed;
	opened_rc = choose(&c, &timed);
	if (!opened_rc && !load(&c, &opened) && (timed || !load(&(struct candidate){.library = 1}, &opened)))
		opened_rc = err_note(-ENOENT, "no BLAS: neither libopenblas.so.0 nor libblis.so.4 can be used");
	if (opened_rc)
		snprintf(opened_why, sizeof(opened_why), "%s", err_text());
	else if (!timed)
		strncat(opened.text, " (not timed)", sizeof(opened.text) - strlen(opened.text) - 1);
}

int host_blas_open(const struct host_blas **blas_p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, open_once);
	if (opened_rc)
		return err_note(opened_rc, "%s", opened_why);
	*blas_p = &opened;
	return 0;
}
