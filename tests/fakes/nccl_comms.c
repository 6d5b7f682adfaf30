/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators, their configuration, and memory that is registered with them. What is registered
 * as a symmetric window must be memory of ncclMemAlloc(), of every rank in the same order and size.
 */
#include "tests/fakes/driver.h"
#include "tests/fakes/nccl.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_BYTES 128
#define CONFIG_MAGIC 0xcafebeefu
#define UNSET INT_MIN
#define WINDOW_SYMMETRIC 1
#define WINDOW_ALIGNMENT 4096

struct id {
	char bytes[ID_BYTES];
};

/* ncclConfig_t of the newest release, which appends to it. */
struct config {
	size_t size;
	unsigned magic, version;
	int blocking, cgaClusterSize, minCTAs, maxCTAs;
	const char *netName;
	int splitShare, trafficClass;
	const char *commName;
	int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs;
	int nChannelsPerNetPeer, nvlinkCentricSched; /* 2.28 */
	int graphUsageMode, numRmaCtx;               /* 2.29 */
	int maxP2pPeers, graphStreamOrdering;        /* 2.30 */
};

/* sizeof(ncclConfig_t) of releases */
static const struct {
	int version;
	size_t bytes;
} config_sizes[] = {{23000, 96}, {22900, 88}, {22800, 80}, {22700, 72}, {21700, 48}};

/* Memory of ncclMemAlloc(). */
struct memory {
	struct memory *next;
	char *start;
	size_t bytes;
	unsigned device;
};

struct window {
	struct window *next;
	char *start;
	size_t bytes;
	int number, flags;
	const struct memory *memory;
};

struct registration {
	struct registration *next;
	void *start;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static struct clique *cliques;
static unsigned long ids;

/* Calls of a group that its end carries out. */
static _Thread_local struct {
	struct clique *opened[RANKS_MAX];
	size_t count, windows;
	struct {
		struct ncclComm *comm;
		struct window window, **window_p;
	} window[2 * RANKS_MAX];
} waiting;

_Noreturn void nccl_crash(const char *what)
{
	fprintf(stderr, "fake: NCCL %d: %s\n", nccl_version(), what);
	abort();
}

int nccl_version(void)
{
	const char *text = getenv("FAKE_NCCL_VERSION");
	return text ? (int)strtol(text, NULL, 10) : 22809;
}

/* A file of an older release has no such function. */
static void need_version(const char *function, int version)
{
	if (nccl_version() < version)
		nccl_crash(function);
}

/* ------------------------------------------------------------------ configuration */

static size_t config_bytes(void)
{
	size_t i = 0;
	while (nccl_version() < config_sizes[i].version)
		i++;
	return config_sizes[i].bytes;
}

/* Takes what the caller's release and this one have in common, as parseCommConfig() does. */
static int read_config(const struct config *given, enum policy *policy_p)
{
	struct config c = {.CTAPolicy = UNSET, .nChannelsPerNetPeer = UNSET};
	size_t bytes = 0;
	memcpy(&bytes, given, sizeof(bytes));
	memcpy(&c, given, bytes < config_bytes() ? bytes : config_bytes());
	if (c.magic != CONFIG_MAGIC)
		return INVALID_ARGUMENT;
	if (c.version < 22700 || nccl_version() < 22700)
		c.CTAPolicy = UNSET;
	if (c.version < 22800 || nccl_version() < 22800)
		c.nChannelsPerNetPeer = UNSET;
	const bool bad = (c.blocking != UNSET && c.blocking != 0 && c.blocking != 1) ||
			 (c.cgaClusterSize != UNSET && c.cgaClusterSize < 0) ||
			 (c.minCTAs != UNSET && c.minCTAs <= 0) ||
			 (c.maxCTAs != UNSET && c.maxCTAs <= 0) || c.minCTAs > c.maxCTAs ||
			 (c.splitShare != UNSET && c.splitShare >> 1) ||
			 (c.CTAPolicy != UNSET &&
			  (c.CTAPolicy < 0 || c.CTAPolicy > (nccl_version() < 22800 ? 1 : 2))) ||
			 (c.nChannelsPerNetPeer != UNSET && c.nChannelsPerNetPeer <= 0);
	if (bad)
		return INVALID_ARGUMENT;
	if (c.blocking == 0)
		nccl_crash("a communicator that does not block");
	*policy_p = c.CTAPolicy == UNSET ? POLICY_DEFAULT : (enum policy)c.CTAPolicy;
	return SUCCESS;
}

/* ------------------------------------------------------------------ communicators */

struct ncclComm *comm_new(struct clique *clique, int rank, unsigned device, enum policy policy)
{
	struct ncclComm *comm = calloc(1, sizeof(*comm));
	if (!comm)
		abort();
	*comm = (struct ncclComm){
		.clique = clique, .rank = rank, .device = device, .policy = policy};
	clique->comms[rank] = comm;
	clique->alive++;
	clique->opened++;
	return comm;
}

static void clique_free(struct clique *q)
{
	pthread_mutex_lock(&lock);
	for (struct clique **at = &cliques; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	free(q);
}

void comm_free(struct ncclComm *comm)
{
	struct clique *q = comm->clique;
	for (int i = 0; i < ALGORITHMS; i++)
		if (comm->memory[i])
			driver_release(comm->device, comm->memory[i]);
	if (q->sync[comm->rank])
		driver_release(comm->device, q->sync[comm->rank]);
	q->sync[comm->rank] = NULL;
	while (comm->windows) {
		struct window *w = comm->windows;
		comm->windows = w->next;
		free(w);
	}
	while (comm->registrations) {
		struct registration *r = comm->registrations;
		comm->registrations = r->next;
		free(r);
	}
	q->comms[comm->rank] = NULL;
	if (--q->alive == 0)
		clique_free(q);
	free(comm);
}

static struct clique *clique_of(const struct id *id)
{
	unsigned long number;
	struct clique *q;
	memcpy(&number, id->bytes, sizeof(number));
	pthread_mutex_lock(&lock);
	for (q = cliques; q && q->id != number; q = q->next)
		;
	pthread_mutex_unlock(&lock);
	return q;
}

static bool holds_device(const struct clique *q, unsigned device)
{
	for (int r = 0; r < RANKS_MAX; r++)
		if (q->comms[r] && q->comms[r]->device == device)
			return true;
	return false;
}

#pragma GCC visibility push(default)

int ncclGetVersion(int *version)
{
	*version = nccl_version();
	return driver_fault(__func__);
}

int ncclGetUniqueId(struct id *id)
{
	int status = driver_fault(__func__);
	struct clique *q = status ? NULL : calloc(1, sizeof(*q));
	if (status || !q)
		return status ? status : SYSTEM_ERROR;
	pthread_mutex_lock(&lock);
	q->id = ++ids;
	q->next = cliques;
	cliques = q;
	pthread_mutex_unlock(&lock);
	memset(id, 0x5a, sizeof(*id));
	memcpy(id->bytes, &q->id, sizeof(q->id));
	return SUCCESS;
}

/* The rank of the current device. The group's end opens it, when all ranks are there. */
int ncclCommInitRankConfig(struct ncclComm **comm_p, int ranks, struct id id, int rank,
			   struct config *config)
{
	enum policy policy = POLICY_DEFAULT;
	unsigned device;
	need_version(__func__, 21400);
	int status = driver_fault(__func__);
	*comm_p = NULL;
	if (!status && config)
		status = read_config(config, &policy);
	struct clique *q = clique_of(&id);
	if (status || !q || ranks < 1 || ranks > RANKS_MAX || rank < 0 || rank >= ranks)
		return nccl_note_error(status ? status : INVALID_ARGUMENT);
	if (driver_current_device(&device))
		return nccl_note_error(UNHANDLED_ERROR);
	if (!nccl_in_group() && ranks > 1)
		nccl_crash("a rank that is opened outside a group waits for the others");
	if ((q->ranks && q->ranks != ranks) || q->comms[rank] || holds_device(q, device))
		return nccl_note_error(INVALID_USAGE);
	q->ranks = ranks;
	*comm_p = comm_new(q, rank, device, policy);
	waiting.opened[waiting.count++ % RANKS_MAX] = q;
	return SUCCESS;
}

#pragma GCC visibility pop

/* ------------------------------------------------------------------ memory */

static struct memory **memory_at(const void *at)
{
	struct memory **m = &memories;
	while (*m &&
	       ((const char *)at < (*m)->start || (const char *)at >= (*m)->start + (*m)->bytes))
		m = &(*m)->next;
	return m;
}

/* True if a window of a communicator that lives is in this memory. */
static bool is_in_a_window(const struct memory *m)
{
	for (const struct clique *q = cliques; q; q = q->next)
		for (int r = 0; r < RANKS_MAX; r++)
			for (const struct window *w = q->comms[r] ? q->comms[r]->windows : NULL; w;
			     w = w->next)
				if (w->memory == m)
					return true;
	return false;
}

static const struct window *window_of(const struct ncclComm *comm, const void *at, size_t bytes)
{
	for (const struct window *w = comm->windows; w; w = w->next) {
		if ((const char *)at < w->start || (const char *)at >= w->start + w->bytes)
			continue;
		if (bytes > (size_t)(w->start + w->bytes - (const char *)at))
			nccl_crash("a buffer begins in a window and ends behind it");
		return w;
	}
	return NULL;
}

static const struct window *window_numbered(const struct ncclComm *comm, int number)
{
	const struct window *w = comm->windows;
	while (w && w->number != number)
		w = w->next;
	return w;
}

void *comm_find_symmetric(const struct ncclComm *comm, const void *at, size_t bytes, int rank)
{
	const struct window *own = window_of(comm, at, bytes);
	if (!own || !(own->flags & WINDOW_SYMMETRIC))
		return NULL;
	const struct window *other = window_numbered(comm->clique->comms[rank], own->number);
	if (!other)
		nccl_crash("a window that a rank has deregistered");
	return other->start + ((const char *)at - own->start);
}

#pragma GCC visibility push(default)

int ncclMemAlloc(void **ptr_p, size_t bytes)
{
	unsigned device;
	void *start;
	need_version(__func__, 21900);
	int status = driver_fault(__func__);
	if (!status && (driver_current_device(&device) || driver_allocate(device, bytes, &start)))
		status = UNHANDLED_ERROR;
	if (status)
		return status;
	struct memory *m = malloc(sizeof(*m));
	if (!m)
		abort();
	pthread_mutex_lock(&lock);
	*m = (struct memory){memories, start, bytes, device};
	memories = m;
	pthread_mutex_unlock(&lock);
	*ptr_p = start;
	return SUCCESS;
}

int ncclMemFree(void *ptr)
{
	int status = driver_fault(__func__);
	if (status)
		return status;
	pthread_mutex_lock(&lock);
	struct memory **at = memory_at(ptr), *m = *at;
	if (!m || m->start != ptr)
		nccl_crash("ncclMemFree() of what ncclMemAlloc() did not give");
	if (is_in_a_window(m))
		nccl_crash("ncclMemFree() of memory with a window");
	*at = m->next;
	pthread_mutex_unlock(&lock);
	status = driver_release(m->device, ptr) ? UNHANDLED_ERROR : SUCCESS;
	free(m);
	return status;
}

int ncclCommRegister(struct ncclComm *comm, void *start, size_t bytes, void **handle_p)
{
	need_version(__func__, 21900);
	int status = driver_fault(__func__);
	if (status || !comm || !start || !bytes)
		return nccl_note_error(status ? status : INVALID_ARGUMENT);
	struct registration *r = malloc(sizeof(*r));
	if (!r)
		abort();
	*r = (struct registration){comm->registrations, start};
	comm->registrations = r;
	*handle_p = r;
	return SUCCESS;
}

int ncclCommDeregister(struct ncclComm *comm, void *handle)
{
	int status = driver_fault(__func__);
	for (struct registration **at = &comm->registrations; *at && !status; at = &(*at)->next)
		if (*at == handle) {
			*at = (*at)->next;
			free(handle);
			return SUCCESS;
		}
	if (!status)
		nccl_crash("ncclCommDeregister() of what is not registered");
	return status;
}

/* The group's end makes the window: it is the same one of all ranks. Memory of cuMemAlloc() has no
 * handle to share. */
int ncclCommWindowRegister(struct ncclComm *comm, void *start, size_t bytes,
			   struct window **window_p, int flags)
{
	need_version(__func__, 22700);
	int status = driver_fault(__func__);
	if (status || !comm || !start || !bytes || !window_p || flags & ~WINDOW_SYMMETRIC)
		return nccl_note_error(status ? status : INVALID_ARGUMENT);
	*window_p = NULL;
	pthread_mutex_lock(&lock);
	const struct memory *m = *memory_at(start);
	pthread_mutex_unlock(&lock);
	if (!m || m->device != comm->device ||
	    bytes > (size_t)(m->start + m->bytes - (char *)start))
		return nccl_note_error(UNHANDLED_ERROR);
	if ((uintptr_t)((char *)start - m->start) % WINDOW_ALIGNMENT)
		return nccl_note_error(INVALID_ARGUMENT);
	if (!nccl_in_group() && comm->clique->ranks > 1)
		nccl_crash("a window that is registered outside a group waits for other ranks");
	if (waiting.windows == 2 * RANKS_MAX)
		return nccl_note_error(INVALID_USAGE);
	waiting.window[waiting.windows].comm = comm;
	waiting.window[waiting.windows].window_p = window_p;
	waiting.window[waiting.windows++].window =
		(struct window){.start = start, .bytes = bytes, .flags = flags, .memory = m};
	return SUCCESS;
}

int ncclCommWindowDeregister(struct ncclComm *comm, struct window *window)
{
	int status = driver_fault(__func__);
	for (struct window **at = &comm->windows; *at && !status; at = &(*at)->next)
		if (*at == window) {
			*at = window->next;
			free(window);
			return SUCCESS;
		}
	if (!status && window)
		nccl_crash("ncclCommWindowDeregister() of what is not registered");
	return status;
}

#pragma GCC visibility pop

/* ------------------------------------------------------------------ the end of a group */

static bool has_symmetric_memory(const struct clique *q)
{
	for (int r = 0; r < q->ranks; r++)
		if (!driver_reaches_peers(q->comms[r]->device))
			return false;
	return true;
}

/* Without symmetric memory releases up to 2.28 register for the own rank alone, and later ones
 * not at all, with success. */
static void open_window(size_t i)
{
	struct ncclComm *comm = waiting.window[i].comm;
	const bool symmetric = has_symmetric_memory(comm->clique);
	if (!symmetric && nccl_version() >= 22900)
		return;
	struct window *w = malloc(sizeof(*w));
	if (!w)
		abort();
	*w = waiting.window[i].window;
	w->flags = symmetric ? w->flags : 0;
	w->number = comm->window_count++;
	w->next = comm->windows;
	comm->windows = w;
	*waiting.window[i].window_p = w;
}

/* Every rank has the latest window of this one. */
static void check_window(const struct ncclComm *comm)
{
	const struct window *own = comm->windows;
	for (int r = 0; own && r < comm->clique->ranks; r++) {
		const struct window *w = window_numbered(comm->clique->comms[r], own->number);
		if (!w || w->bytes != own->bytes || w->flags != own->flags)
			nccl_crash("a window that another rank does not register");
	}
}

int comms_end_group(int status)
{
	if (waiting.count && !status)
		status = driver_fault("ncclCommInitRankFunc");
	for (size_t i = 0; i < waiting.count && !status; i++)
		if (waiting.opened[i]->opened != waiting.opened[i]->ranks)
			nccl_crash("a rank that is never opened");
	for (size_t i = 0; i < waiting.windows && !status; i++)
		open_window(i);
	for (size_t i = 0; i < waiting.windows && !status; i++)
		check_window(waiting.window[i].comm);
	for (size_t i = 0; i < waiting.count && status; i++)
		waiting.opened[i]->failed = true;
	waiting.count = waiting.windows = 0;
	return status;
}
