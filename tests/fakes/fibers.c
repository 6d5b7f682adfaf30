/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/fibers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES ((size_t)128 << 10)

struct fiber {
	ucontext_t context;
	struct fiber *next;
	void *stack;
	void *sanitizer; /* what its sanitizer keeps for it */
	struct fake_position here; /* of the thread that waits */
	bool waits;
};

/* The fibers of one thread of the CPU. */
struct crew {
	struct fiber home; /* where the block was started */
	struct fiber *now;
	struct fiber *idle;
	const void *home_stack;
	size_t home_stack_bytes;
	void (*call)(void *const *arguments);
	void *const *arguments;
	uint32_t next_thread;
};

_Thread_local struct fake_position fake_here;
static _Thread_local struct crew *crew;

/* ------------------------------------------------------------------ switching */

static void leave_for(struct fiber *to)
{
#if defined(__SANITIZE_ADDRESS__)
	const bool home = to == &crew->home;
	__sanitizer_start_switch_fiber(&crew->now->sanitizer, home ? crew->home_stack : to->stack,
	                               home ? crew->home_stack_bytes : STACK_BYTES);
#elif defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(to->sanitizer, 0);
#else
	(void)to;
#endif
}

static void arrived(struct fiber *at)
{
#if defined(__SANITIZE_ADDRESS__)
	if (at == &crew->home)
		__sanitizer_finish_switch_fiber(at->sanitizer, NULL, NULL);
	else
		__sanitizer_finish_switch_fiber(at->sanitizer, &crew->home_stack, &crew->home_stack_bytes);
#else
	(void)at;
#endif
}

static void switch_to(struct fiber *to)
{
	struct fiber *from = crew->now;
	leave_for(to);
	crew->now = to;
	swapcontext(&from->context, &to->context);
	arrived(from);
}

/* ------------------------------------------------------------------ fibers */

/* Threads that meet no barrier need no stack of their own: a fiber goes on with the next. */
static void fiber_main(void)
{
	struct fiber *self = crew->now;
	arrived(self);
	for (;;) {
		while (crew->next_thread < fake_here.threads) {
			fake_here.thread = crew->next_thread++;
			crew->call(crew->arguments);
		}
		self->waits = false;
		switch_to(&crew->home);
	}
}

static struct fiber *fiber_new(void)
{
	struct fiber *f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->stack == MAP_FAILED || getcontext(&f->context))
		abort();
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&f->context, fiber_main, 0);
#if defined(__SANITIZE_THREAD__)
	f->sanitizer = __tsan_create_fiber(0);
#endif
	return f;
}

static struct fiber *take_idle(void)
{
	struct fiber *f = crew->idle;
	if (!f)
		return fiber_new();
	crew->idle = f->next;
	return f;
}

static void give_idle(struct fiber *f)
{
	f->next = crew->idle;
	crew->idle = f;
}

static void disband(void *arg)
{
	struct crew *c = arg;
	while (c->idle) {
		struct fiber *f = c->idle;
		c->idle = f->next;
#if defined(__SANITIZE_THREAD__)
		__tsan_destroy_fiber(f->sanitizer);
#endif
		munmap(f->stack, STACK_BYTES);
		free(f);
	}
	free(c);
}

static pthread_key_t key;
static void make_key(void) { pthread_key_create(&key, disband); }

static void assemble(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_key);
	crew = calloc(1, sizeof(*crew));
	if (!crew || pthread_setspecific(key, crew))
		abort();
}

/* ------------------------------------------------------------------ blocks */

void fake_barrier(void)
{
	struct fiber *self = crew->now;
	self->waits = true;
	self->here = fake_here;
	switch_to(&crew->home);
	fake_here = self->here;
}

/* Let a fiber go on; it is kept in `*list` while it waits at a barrier. */
static uint32_t resume(struct fiber *f, struct fiber **list)
{
	switch_to(f);
	if (!f->waits) {
		give_idle(f);
		return 0;
	}
	f->next = *list;
	*list = f;
	return 1;
}

/* In order of threads again, though it was built backwards. */
static struct fiber *reversed(struct fiber *list)
{
	struct fiber *out = NULL;
	while (list) {
		struct fiber *next = list->next;
		list->next = out;
		out = list;
		list = next;
	}
	return out;
}

void fake_block_run(void (*call)(void *const *arguments), void *const *arguments, uint32_t threads, uint32_t block,
                    uint32_t blocks)
{
	struct fiber *waiting = NULL;
	uint32_t count = 0;
	if (!crew)
		assemble();
#if defined(__SANITIZE_THREAD__)
	crew->home.sanitizer = __tsan_get_current_fiber();
#endif
	crew->now = &crew->home;
	crew->call = call;
	crew->arguments = arguments;
	crew->next_thread = 0;
	while (crew->next_thread < threads) {
		fake_here = (struct fake_position){.threads = threads, .block = block, .blocks = blocks};
		count += resume(take_idle(), &waiting);
	}
	while (waiting) {
		if (count != threads) {
			fprintf(stderr, "fake: %u of %u threads of a block came to a barrier\n", count, threads);
			abort();
		}
		struct fiber *list = reversed(waiting);
		waiting = NULL;
		count = 0;
		while (list) {
			struct fiber *f = list;
			list = f->next;
			count += resume(f, &waiting);
		}
	}
}
