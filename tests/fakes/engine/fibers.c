/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fakes/engine/fibers.h"

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
	void *sanitizer;           /* state that the sanitizer keeps for this fiber */
	struct fake_position here; /* of the waiting thread */
	bool waits;
};

/* The fibers of one CPU thread. */
struct fiber_scheduler {
	struct fiber home; /* the context that started the block */
	struct fiber *current;
	struct fiber *idle;
	const void *home_stack;
	size_t home_stack_bytes;
	void (*call)(void *const *arguments);
	void *const *arguments;
	uint32_t next_thread;
};

_Thread_local struct fake_position fake_here;
static _Thread_local struct fiber_scheduler *scheduler;

/* ------------------------------------------------------------------ switching */

static void sanitizer_start_switch(struct fiber *to)
{
#if defined(__SANITIZE_ADDRESS__)
	const bool home = to == &scheduler->home;
	__sanitizer_start_switch_fiber(&scheduler->current->sanitizer,
				       home ? scheduler->home_stack : to->stack,
				       home ? scheduler->home_stack_bytes : STACK_BYTES);
#elif defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(to->sanitizer, 0);
#else
#endif
}

static void sanitizer_finish_switch(struct fiber *at)
{
#if defined(__SANITIZE_ADDRESS__)
	if (at == &scheduler->home)
		__sanitizer_finish_switch_fiber(at->sanitizer, NULL, NULL);
	else
		__sanitizer_finish_switch_fiber(at->sanitizer, &scheduler->home_stack,
						&scheduler->home_stack_bytes);
#else
#endif
}

static void switch_to(struct fiber *to)
{
	struct fiber *from = scheduler->current;
	sanitizer_start_switch(to);
	scheduler->current = to;
	swapcontext(&from->context, &to->context);
	sanitizer_finish_switch(from);
}

/* ------------------------------------------------------------------ fibers */

/* Threads without a barrier need no stack of their own: the fiber runs one after the other. */
static void fiber_main(void)
{
	struct fiber *self = scheduler->current;
	sanitizer_finish_switch(self);
	for (;;) {
		while (scheduler->next_thread < fake_here.threads) {
			fake_here.thread = scheduler->next_thread++;
			scheduler->call(scheduler->arguments);
		}
		self->waits = false;
		switch_to(&scheduler->home);
	}
}

static struct fiber *create_fiber(void)
{
	struct fiber *f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

static struct fiber *take_idle_fiber(void)
{
	struct fiber *f = scheduler->idle;
	if (!f)
		return create_fiber();
	scheduler->idle = f->next;
	return f;
}

static void return_idle_fiber(struct fiber *f)
{
	f->next = scheduler->idle;
	scheduler->idle = f;
}

static void free_scheduler(void *arg)
{
	struct fiber_scheduler *c = arg;
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

static pthread_key_t scheduler_key;
static void create_scheduler_key(void) { pthread_key_create(&scheduler_key, free_scheduler); }

static void create_scheduler(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, create_scheduler_key);
	scheduler = calloc(1, sizeof(*scheduler));
	if (!scheduler || pthread_setspecific(scheduler_key, scheduler))
		abort();
}

/* ------------------------------------------------------------------ blocks */

void fake_barrier(void)
{
	struct fiber *self = scheduler->current;
	self->waits = true;
	self->here = fake_here;
	switch_to(&scheduler->home);
	fake_here = self->here;
}

/* Resumes a fiber. Returns 1 and adds it to `*list` if it then waits at a barrier. */
static uint32_t resume_fiber(struct fiber *f, struct fiber **list)
{
	switch_to(f);
	if (!f->waits) {
		return_idle_fiber(f);
		return 0;
	}
	f->next = *list;
	*list = f;
	return 1;
}

/* The list was built in reverse order of threads. */
static struct fiber *reverse_list(struct fiber *list)
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

void fake_block_run(void (*call)(void *const *arguments), void *const *arguments, uint32_t threads,
		    uint32_t block, uint32_t blocks)
{
	struct fiber *waiting = NULL;
	uint32_t count = 0;
	if (!scheduler)
		create_scheduler();
#if defined(__SANITIZE_THREAD__)
	scheduler->home.sanitizer = __tsan_get_current_fiber();
#endif
	scheduler->current = &scheduler->home;
	scheduler->call = call;
	scheduler->arguments = arguments;
	scheduler->next_thread = 0;
	while (scheduler->next_thread < threads) {
		fake_here = (struct fake_position){
			.threads = threads, .block = block, .blocks = blocks};
		count += resume_fiber(take_idle_fiber(), &waiting);
	}
	while (waiting) {
		if (count != threads) {
			fprintf(stderr, "fake: %u of %u threads of a block reached a barrier\n",
				count, threads);
			abort();
		}
		struct fiber *list = reverse_list(waiting);
		waiting = NULL;
		count = 0;
		while (list) {
			struct fiber *f = list;
			list = f->next;
			count += resume_fiber(f, &waiting);
		}
	}
}
