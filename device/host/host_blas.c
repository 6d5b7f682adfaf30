/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_blas.h"
#include "lib/clock.h"
#include "lib/err.h"

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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Large enough to run from packed panels, small enough for 2 ms per GEMM. */
#define TRIAL_SIZE 640
#define TRIAL_NS 15000000u
#define TRIAL_LIMIT_MS 1000
/* What OpenBLAS maps for a call, and keeps for the next one. */
#define BUFFER_BYTES ((size_t)128 << 20)

/* A library's file names, and the environment variables that set its kernel set and its number of
 * threads. */
struct library {
	const char *name;
	const char *files[3];
	const char *set_variable;
	const char *threads_variable;
};

static const struct library libraries[] = {
	{"openblas",
	 {"libopenblas.so.0", "libopenblas.so"},
	 "OPENBLAS_CORETYPE",
	 "OPENBLAS_NUM_THREADS"},
	{"blis", {"libblis.so.4", "libblis.so.3"}, "BLIS_ARCH_TYPE", "BLIS_NUM_THREADS"},
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

enum isa { ANY, AVX2, AVX512, AVX512_BF16 };

/* Kernel sets worth timing; NULL is the library's own choice. BLIS only knows numbers; if a version
 * numbers its sets differently, the trial fails or times another set, and both are harmless. */
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

static bool cpu_supports(enum isa needs)
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
		return cpu_supports(AVX512) && __builtin_cpu_supports("avx512bf16");
	}
#endif
	return needs == ANY;
}

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

/* How many buffers could be mapped, up to `count`. `buffers` is scratch. */
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

static bool load_candidate(const struct candidate *c, struct host_blas *blas)
{
	void *handle = open_library(&libraries[c->library], c->set);
	if (!handle)
		return false;
	blas->handle = handle;
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

/* ------------------------------------------------------------------ timing candidates */

static uint64_t best_sgemm_ns(const struct host_blas *blas)
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
		blas->sgemm("N", "N", &n, &n, &n, &one, m, &n, m + count, &n, &zero, m + 2 * count,
			    &n);
		const uint64_t took = clock_ns() - start;
		best = took < best ? took : best;
	}
	free(m);
	return best;
}

/* Runs in the child. Its output is discarded, because libraries print before they abort. */
static void child_time_candidate(const struct candidate *c, int result)
{
	struct host_blas blas = {.text = ""};
	int null = open("/dev/null", O_WRONLY);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (!load_candidate(c, &blas) || reserve_buffers(blas.handle, 1))
		_exit(1);
	const uint64_t took = best_sgemm_ns(&blas);
	_exit(write(result, &took, sizeof(took)) == sizeof(took) ? 0 : 1);
}

/* Best time of a GEMM in ns; 0 if the candidate cannot run. */
static uint64_t time_in_child(const struct candidate *c)
{
	int ends[2];
	uint64_t took = 0;
	if (pipe2(ends, O_CLOEXEC))
		return 0;
	pid_t child = fork();
	if (child == 0)
		child_time_candidate(c, ends[1]);
	close(ends[1]);
	if (child > 0) {
		struct pollfd ready = {.fd = ends[0], .events = POLLIN};
		if (poll(&ready, 1, TRIAL_LIMIT_MS) != 1 ||
		    read(ends[0], &took, sizeof(took)) != sizeof(took)) {
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

static const struct candidate *fastest_candidate(void)
{
	const struct candidate *best = NULL;
	uint64_t best_ns = UINT64_MAX;
	for (size_t i = 0; i < CANDIDATES; i++) {
		const uint64_t took =
			cpu_supports(candidates[i].needs) ? time_in_child(&candidates[i]) : 0;
		/* A difference within 2 % is noise: the earlier candidate wins, so that every run
		 * makes the same choice. */
		if (took == 0 || (best && (double)took > 0.98 * (double)best_ns))
			continue;
		best = &candidates[i];
		best_ns = took;
	}
	return best;
}

/* ------------------------------------------------------------------ choosing */

static int choose_by_name(const char *wish, struct candidate *c)
{
	const size_t length = strcspn(wish, ":");
	for (unsigned i = 0; i < LIBRARIES; i++) {
		if (strlen(libraries[i].name) != length ||
		    strncmp(libraries[i].name, wish, length) != 0)
			continue;
		*c = (struct candidate){.library = i,
					.set = wish[length] ? wish + length + 1 : NULL};
		return 0;
	}
	return err_note(-ENOENT,
			"unknown GPUSIG_BLAS '%s'; values: openblas[:SET], blis[:NUMBER], none",
			wish);
}

static int choose_candidate(struct candidate *c, bool *timed_p)
{
	const char *wish = getenv("GPUSIG_BLAS");
	const struct candidate *best;
	*timed_p = true;
	if (wish && strcmp(wish, "none") == 0)
		return err_note(-ENOENT, "no BLAS: GPUSIG_BLAS is none");
	if (wish && wish[0])
		return choose_by_name(wish, c);
	if (has_one_thread() && (best = fastest_candidate()) != NULL) {
		*c = *best;
		return 0;
	}
	*timed_p = false;
	*c = (struct candidate){.set = cpu_supports(AVX512) ? "SkylakeX"
				       : cpu_supports(AVX2) ? "Haswell"
							    : NULL};
	return 0;
}

static struct host_blas opened;
static int opened_status;
static char opened_why[256];

static void open_chosen(void)
{
	struct candidate c = {0};
	bool timed;
	opened_status = choose_candidate(&c, &timed);
	if (!opened_status && !load_candidate(&c, &opened) &&
	    (timed || !load_candidate(&(struct candidate){.library = 1}, &opened)))
		opened_status =
			err_note(-ENOENT, "no BLAS: cannot load libopenblas.so.0 or libblis.so.4");
	if (opened_status)
		snprintf(opened_why, sizeof(opened_why), "%s", err_text());
	else if (!timed)
		strncat(opened.text, " (not timed)", sizeof(opened.text) - strlen(opened.text) - 1);
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
