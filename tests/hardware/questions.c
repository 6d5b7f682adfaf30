/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What documents leave open about a device, asked of the one that is here. One line an answer: name, answer, unit, remark,
 * with tabs between them. Nothing is asserted.
 *
 *     questions DEVICE        such as cuda or hip:1; GPUSIG_TEST=word asks only those whose names contain the word
 *
 * "while every slot is held": blocks sit in every slot of every unit and leave when a gate opens. A call that does not return
 * meanwhile would wait for ever, so a thread opens the gate after OPEN_NS, the blocks leave by themselves after LEAVE_NS, and
 * the process ends after PROCESS_SECONDS whatever the driver does.
 *
 * Exit 0: all was asked; 1: the device failed; 2: usage; 77: no device, or one whose time is simulated.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/dev.h"
#include "device/kernels.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "tests/hardware/answers.h"

#define OPEN_NS UINT64_C(2000000000)
#define LEAVE_NS UINT64_C(6000000000)
#define ENQUEUE_NS UINT64_C(1000000000)
#define PROCESS_SECONDS 50u
#define MOST_QUEUED 16384u
#define SMALL (UINT64_C(64) << 10)
#define LARGE (UINT64_C(64) << 20)
#define ALL_SLOTS 0u
/* Of a unit: fits its first-level cache where memory is cache, and not what is left where all of it is shared. */
#define CACHED (UINT64_C(64) << 10)
#define READ_LAUNCHES 64u

static struct {
	struct dev *d;
	struct dev_stream *gated, *free; /* `free` has no gate */
	struct dev_event *event;
	struct dev_kernel *hold, *empty, *read;
	struct dev_graph *graph_1, *graph_64;
	char *memory[2], *host[2]; /* of LARGE bytes, DEVICE and PINNED */
	uint32_t *words;           /* flag, arrived, and a value, each in a line of its own */
	uint64_t *start_ns;
	uint32_t slots;
} on;

/* ------------------------------------------------------------------ the gate */

#define FLAG 0u
#define ARRIVED 64u
#define VALUE 128u
#define WORDS 192u

static struct {
	uint32_t *word; /* NULL: open */
	uint64_t shut_ns;
	pthread_t watchdog;
	atomic_bool opened, watchdog_opened;
} gate;

/* The store is what opens it: a call that waits inside the driver may have a lock that dev_post_value() wants. */
static void let_go(void)
{
	__atomic_store_n(gate.word, 1, __ATOMIC_RELEASE);
	dev_post_value(on.d, gate.word, 1);
}

static void *watch(void *unused)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	while (!atomic_load(&gate.opened) && clock_ns() - gate.shut_ns < OPEN_NS)
		nanosleep(&nap, NULL);
	if (atomic_load(&gate.opened))
		return unused;
	atomic_store(&gate.watchdog_opened, true);
	let_go();
	return unused;
}

static int watch_over(uint32_t *word)
{
	gate.word = word;
	gate.shut_ns = clock_ns();
	atomic_store(&gate.opened, false);
	atomic_store(&gate.watchdog_opened, false);
	int rc = pthread_create(&gate.watchdog, NULL, watch, NULL);
	if (rc)
		gate.word = NULL;
	return rc ? err_note(-rc, "no thread to open the gate") : 0;
}

/* All blocks sit in their slots when it returns. */
static int shut(uint32_t blocks)
{
	uint32_t *flag = on.words + FLAG, *arrived = on.words + ARRIVED, grid = blocks == ALL_SLOTS ? on.slots : blocks;
	uint64_t *start_ns = on.start_ns, timeout_ns = LEAVE_NS;
	const void *args[] = { &flag, &arrived, &start_ns, &timeout_ns };
	memset(on.words, 0, WORDS * sizeof(*on.words));
	int rc = watch_over(flag);
	if (!rc)
		rc = dev_launch(on.d, on.gated, on.hold, &(struct dev_launch){ .grid = grid, .args = args });
	while (!rc && __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < grid)
		if (atomic_load(&gate.watchdog_opened))
			rc = err_note(-ETIMEDOUT, "%u of %u blocks came to their slots", *arrived, grid);
	return rc;
}

/* The gate is a value that the stream waits for, and holds no slot where the device needs none for that. */
static int shut_by_value(void)
{
	memset(on.words, 0, WORDS * sizeof(*on.words));
	int rc = watch_over(on.words + VALUE);
	return rc ? rc : dev_wait_value(on.d, on.gated, on.words + VALUE, 1);
}

static int open_gate(void)
{
	if (!gate.word)
		return 0;
	atomic_store(&gate.opened, true);
	pthread_join(gate.watchdog, NULL);
	let_go();
	gate.word = NULL;
	int rc = dev_stream_sync(on.d, on.gated), others = dev_stream_sync(on.d, on.free);
	return rc ? rc : others;
}

static bool is_shut(void) { return !atomic_load(&gate.watchdog_opened); }

/* ------------------------------------------------------------------ does a call return while every slot is held? */

static struct {
	void *memory;
	struct dev_stream *stream;
	struct dev_event *event;
	struct dev_graph *graph;
} got;

static int allocate_pinned(void) { return dev_alloc(on.d, DEV_MEM_PINNED, SMALL, &got.memory); }
static int allocate_device(void) { return dev_alloc(on.d, DEV_MEM_DEVICE, SMALL, &got.memory); }
static int allocate_large(void) { return dev_alloc(on.d, DEV_MEM_DEVICE, LARGE, &got.memory); }
static int open_event(void) { return dev_event_open(on.d, &got.event); }
static int open_stream(void) { return dev_stream_open(on.d, dev_props(on.d)->priority_normal, &got.stream); }
static int copy_on_host(void) { return dev_copy(on.d, on.gated, on.host[1], on.host[0], SMALL); }

static int free_memory(void)
{
	int rc = dev_free(on.d, got.memory);
	got.memory = NULL;
	return rc;
}

static int make_graph(struct dev_graph **graph_p, unsigned launches)
{
	int rc = dev_graph_begin(on.d, on.free);
	if (rc)
		return rc;
	for (unsigned i = 0; i < launches && !rc; i++)
		rc = dev_launch(on.d, on.free, on.empty, &(struct dev_launch){ .grid = 1 });
	struct dev_graph *graph = NULL;
	int ended = dev_graph_end(on.d, on.free, &graph);
	if (!rc && !ended)
		*graph_p = graph;
	else
		dev_graph_close(on.d, graph);
	return rc ? rc : ended;
}

static int note_graph(void) { return make_graph(&got.graph, 64); }

static int give_back(void)
{
	int rc = got.memory ? dev_free(on.d, got.memory) : 0;
	dev_event_close(on.d, got.event);
	dev_stream_close(on.d, got.stream);
	dev_graph_close(on.d, got.graph);
	memset(&got, 0, sizeof(got));
	return rc;
}

static void does_return(const char *name, uint32_t blocks, int (*prepare)(void), int (*call)(void))
{
	int rc = prepare ? prepare() : 0;
	rc = rc ? rc : shut(blocks);
	uint64_t start_ns = clock_ns();
	rc = rc ? rc : call();
	double took_us = 1e-3 * (double)(clock_ns() - start_ns);
	bool returned = is_shut();
	int opened = open_gate(), given = give_back();
	rc = rc ? rc : opened ? opened : given;
	if (rc)
		no_answer(name, rc);
	else
		answer_number(name, took_us, "us", returned ? "returned meanwhile" : "did not return before the gate opened");
}

/* ------------------------------------------------------------------ how much does a stream take? */

static int one_launch(void) { return dev_launch(on.d, on.gated, on.empty, &(struct dev_launch){ .grid = 1 }); }
static int one_graph(void) { return dev_graph_launch(on.d, on.gated, on.graph_1); }
static int one_large_graph(void) { return dev_graph_launch(on.d, on.gated, on.graph_64); }
static int one_copy_up(void) { return dev_copy(on.d, on.gated, on.memory[0], on.host[0], 4096); }
static int one_local_copy(void) { return dev_copy(on.d, on.gated, on.memory[1], on.memory[0], 4096); }
static int one_record(void) { return dev_event_record(on.d, on.gated, on.event); }

/* Calls that return while the stream is held back. */
static void how_many(const char *name, int (*shut_it)(void), int (*call)(void))
{
	char remark[160] = "no call waited: it takes more";
	uint32_t queued = 0;
	int rc = shut_it();
	uint64_t start_ns = clock_ns();
	for (; !rc && queued < MOST_QUEUED && clock_ns() - start_ns < ENQUEUE_NS; queued++) {
		rc = call();
		if (rc || !is_shut())
			break;
	}
	if (!rc && !is_shut())
		snprintf(remark, sizeof(remark), "the next call waited until the gate opened");
	else if (rc)
		snprintf(remark, sizeof(remark), "the next call failed: %.120s", err_text());
	int opened = open_gate();
	if (opened || (rc && queued == 0))
		no_answer(name, rc ? rc : opened);
	else
		answer_number(name, queued, "operations", remark);
}

static int shut_by_block(void) { return shut(1); }

/* ------------------------------------------------------------------ does work progress while every slot is held? */

static int copy_local_small(void) { return dev_copy(on.d, on.free, on.memory[1], on.memory[0], SMALL); }
static int copy_local(void) { return dev_copy(on.d, on.free, on.memory[1], on.memory[0], LARGE); }
static int copy_up(void) { return dev_copy(on.d, on.free, on.memory[1], on.host[0], LARGE); }
static int copy_down(void) { return dev_copy(on.d, on.free, on.host[1], on.memory[0], LARGE); }
static int fill(void) { return dev_fill(on.d, on.free, on.memory[1], 1, LARGE); }
static int write_device(void) { return dev_write_value(on.d, on.free, (uint32_t *)(void *)on.memory[1], 1); }
static int write_pinned(void) { return dev_write_value(on.d, on.free, on.words + VALUE, 1); }

static int wait_pinned(void)
{
	int rc = dev_wait_value(on.d, on.free, on.words + VALUE, 1);
	return rc ? rc : dev_post_value(on.d, on.words + VALUE, 1);
}

static void does_progress(const char *name, int (*enqueue)(void))
{
	int rc = shut(ALL_SLOTS), done = -EAGAIN;
	uint64_t start_ns = clock_ns();
	rc = rc ? rc : enqueue();
	bool call_returned = is_shut();
	rc = rc ? rc : dev_event_record(on.d, on.free, on.event);
	while (!rc && done == -EAGAIN && is_shut() && clock_ns() - start_ns < ENQUEUE_NS)
		done = dev_event_query(on.d, on.event);
	double took_us = 1e-3 * (double)(clock_ns() - start_ns);
	bool progressed = done == 0 && is_shut();
	int opened = open_gate();
	rc = rc ? rc : done && done != -EAGAIN ? done : opened;
	if (rc)
		no_answer(name, rc);
	else if (progressed)
		answer_number(name, took_us, "us", "ended meanwhile");
	else
		answer(name, "no", "-", call_returned ? "ended only after the slots were free" : "the call itself waited");
}

/* ------------------------------------------------------------------ others */

/* 0 when the host sees `byte` throughout. */
static int is_copied(const char *at, char byte, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (at[i] != byte)
			return 1;
	return 0;
}

/* A vendor's call that can't be noted may leave a hole in the graph and say nothing. */
static void is_copy_captured(const char *name, bool up)
{
	char *from = up ? on.host[0] : on.memory[0];
	memset(on.host[0], 0x5a, SMALL);
	memset(on.host[1], 0, SMALL);
	struct dev_graph *graph = NULL;
	int rc = dev_copy(on.d, on.free, on.memory[0], on.host[0], SMALL);
	rc = rc ? rc : dev_fill(on.d, on.free, on.memory[1], 0, SMALL);
	rc = rc ? rc : dev_stream_sync(on.d, on.free);
	rc = rc ? rc : dev_graph_begin(on.d, on.free);
	if (!rc) {
		rc = dev_copy(on.d, on.free, on.memory[1], from, SMALL);
		int ended = dev_graph_end(on.d, on.free, &graph);
		rc = rc ? rc : ended;
	}
	rc = rc ? rc : dev_graph_launch(on.d, on.free, graph);
	rc = rc ? rc : dev_copy(on.d, on.free, on.host[1], on.memory[1], SMALL);
	rc = rc ? rc : dev_stream_sync(on.d, on.free);
	dev_graph_close(on.d, graph);
	if (rc)
		no_answer(name, rc);
	else
		answer(name, is_copied(on.host[1], 0x5a, SMALL) == 0 ? "yes" : "no", "-", "");
}

enum division { ALL_SHARED, ALL_CACHE, IN_TURNS };

/* Launches that read CACHED bytes a unit again and again. */
static int read_in(enum division division, struct dev_event *end)
{
	const void *from = on.memory[0];
	uint64_t bytes = CACHED * dev_props(on.d)->units;
	uint32_t *sink = on.words + VALUE, reps = 16;
	const void *args[] = { &from, &bytes, &reps, &sink };
	int rc = dev_event_record(on.d, on.free, on.event);
	for (unsigned i = 0; i < READ_LAUNCHES && !rc; i++) {
		bool cache = division == ALL_CACHE || (division == IN_TURNS && i % 2 == 1);
		struct dev_launch l = { .grid = dev_props(on.d)->busy_blocks, .args = args, .prefer_cache = cache };
		rc = dev_launch(on.d, on.free, on.read, &l);
	}
	rc = rc ? rc : dev_event_record(on.d, on.free, end);
	return rc ? rc : dev_stream_sync(on.d, on.free);
}

static void how_long(const char *name, enum division division)
{
	struct dev_event *end = NULL;
	double least_ns = INFINITY, ns = 0;
	int rc = !dev_can(on.d, DEV_CAP_CARVEOUT) || CACHED * dev_props(on.d)->units > LARGE ?
		err_note(-ENOTSUP, "the device does not divide memory between cache and shared memory") :
		dev_event_open(on.d, &end);
	for (unsigned i = 0; i < 5 && !rc; i++) {
		rc = read_in(division, end);
		rc = rc ? rc : dev_event_elapsed_ns(on.d, on.event, end, &ns);
		least_ns = fmin(least_ns, ns);
	}
	dev_event_close(on.d, end);
	if (rc)
		no_answer(name, rc);
	else
		answer_number(name, 1e-3 * least_ns / READ_LAUNCHES, "us", "a launch");
}

static void says(const char *reading)
{
	struct dev_reading readings[DEV_READINGS];
	size_t count = 0;
	int rc = dev_read_state(on.d, readings, &count);
	for (size_t i = 0; i < count && !rc; i++) {
		const struct dev_reading *r = &readings[i];
		if (strcmp(r->name, reading) != 0)
			continue;
		if (r->number == r->number)
			answer_number(reading, r->number, r->unit, "");
		else
			answer(reading, r->text[0] ? r->text : "none", r->unit, r->why);
		return;
	}
	answer(reading, "none", rc ? "error" : "not supported", rc ? err_text() : "the device has no such reading");
}

/* ------------------------------------------------------------------ all of them */

static bool is_asked(const char *name)
{
	const char *word = getenv("GPUSIG_TEST");
	return !word || strstr(name, word);
}

#define ASK(question, name, ...) (is_asked(name) ? question(name, __VA_ARGS__) : (void)0)

/* What may wait is asked last: a driver that never recovers takes nothing else with it. */
static void ask_all(void)
{
	if (is_asked("timer_step"))
		says("timer_step");
	if (is_asked("timer_offset_error"))
		says("timer_offset_error");
	ASK(is_copy_captured, "local_copy_is_captured", false);
	ASK(is_copy_captured, "copy_up_is_captured", true);
	ASK(how_long, "read_from_cache_with_memory_as_shared", ALL_SHARED);
	ASK(how_long, "read_from_cache_with_memory_as_cache", ALL_CACHE);
	ASK(how_long, "read_from_cache_with_both_in_turns", IN_TURNS);
	ASK(does_progress, "local_copy_64KiB_while_every_slot_is_held", copy_local_small);
	ASK(does_progress, "local_copy_64MiB_while_every_slot_is_held", copy_local);
	ASK(does_progress, "copy_up_64MiB_while_every_slot_is_held", copy_up);
	ASK(does_progress, "copy_down_64MiB_while_every_slot_is_held", copy_down);
	ASK(does_progress, "fill_64MiB_while_every_slot_is_held", fill);
	ASK(does_progress, "value_write_to_pinned_while_every_slot_is_held", write_pinned);
	ASK(does_progress, "value_write_to_device_while_every_slot_is_held", write_device);
	ASK(does_progress, "value_wait_while_every_slot_is_held", wait_pinned);
	ASK(how_many, "launches_behind_a_block", shut_by_block, one_launch);
	ASK(how_many, "launches_behind_a_value", shut_by_value, one_launch);
	ASK(how_many, "graphs_of_1_behind_a_block", shut_by_block, one_graph);
	ASK(how_many, "graphs_of_64_behind_a_block", shut_by_block, one_large_graph);
	ASK(how_many, "graphs_of_64_behind_a_value", shut_by_value, one_large_graph);
	ASK(how_many, "copies_up_behind_a_block", shut_by_block, one_copy_up);
	ASK(how_many, "local_copies_behind_a_block", shut_by_block, one_local_copy);
	ASK(how_many, "event_records_behind_a_block", shut_by_block, one_record);
	ASK(does_return, "copy_on_host_behind_a_block", 1, NULL, copy_on_host);
	ASK(does_return, "pinned_allocation_while_every_slot_is_held", ALL_SLOTS, NULL, allocate_pinned);
	ASK(does_return, "device_allocation_64KiB_while_every_slot_is_held", ALL_SLOTS, NULL, allocate_device);
	ASK(does_return, "device_allocation_64MiB_while_every_slot_is_held", ALL_SLOTS, NULL, allocate_large);
	ASK(does_return, "event_open_while_every_slot_is_held", ALL_SLOTS, NULL, open_event);
	ASK(does_return, "stream_open_while_every_slot_is_held", ALL_SLOTS, NULL, open_stream);
	ASK(does_return, "graph_made_while_every_slot_is_held", ALL_SLOTS, NULL, note_graph);
	ASK(does_return, "pinned_free_while_every_slot_is_held", ALL_SLOTS, allocate_pinned, free_memory);
	ASK(does_return, "device_free_while_every_slot_is_held", ALL_SLOTS, allocate_device, free_memory);
}

/* Everything once, so that no library loads code while slots are held. */
static int prepare(void)
{
	int normal = dev_props(on.d)->priority_normal, rc = 0;
	uint32_t blocks = 0;
	for (unsigned i = 0; i < 2 && !rc; i++) {
		rc = dev_alloc(on.d, DEV_MEM_DEVICE, LARGE, (void **)&on.memory[i]);
		rc = rc ? rc : dev_alloc(on.d, DEV_MEM_PINNED, LARGE, (void **)&on.host[i]);
	}
	rc = rc ? rc : dev_stream_open(on.d, normal, &on.gated);
	rc = rc ? rc : dev_stream_open(on.d, normal, &on.free);
	rc = rc ? rc : dev_event_open(on.d, &on.event);
	rc = rc ? rc : dev_kernel_find(on.d, "hold", &on.hold);
	rc = rc ? rc : dev_kernel_find(on.d, "empty", &on.empty);
	rc = rc ? rc : dev_kernel_find(on.d, "read", &on.read);
	rc = rc ? rc : dev_occupancy(on.d, on.hold, 0, 0, &blocks);
	on.slots = blocks * dev_props(on.d)->units;
	rc = rc ? rc : dev_alloc(on.d, DEV_MEM_PINNED, WORDS * sizeof(*on.words), (void **)&on.words);
	rc = rc ? rc : dev_alloc(on.d, DEV_MEM_PINNED, on.slots * sizeof(*on.start_ns), (void **)&on.start_ns);
	if (rc)
		return rc;
	if (dev_can(on.d, DEV_CAP_GRAPH)) {
		rc = make_graph(&on.graph_1, 1);
		rc = rc ? rc : make_graph(&on.graph_64, 64);
		rc = rc ? rc : dev_graph_launch(on.d, on.free, on.graph_64);
	}
	int (*const warm[])(void) = { copy_local, copy_up, copy_down, fill, one_launch, one_copy_up };
	for (size_t i = 0; i < sizeof(warm) / sizeof(warm[0]) && !rc; i++)
		rc = warm[i]();
	rc = rc ? rc : dev_stream_sync(on.d, on.free);
	return rc ? rc : dev_stream_sync(on.d, on.gated);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: questions DEVICE\n");
		return 2;
	}
	struct dev_set set;
	alarm(PROCESS_SECONDS);
	uint64_t start_ns = clock_ns();
	int rc = dev_open(argv[1], UINT32_MAX, &set);
	if (rc) {
		fprintf(stderr, "questions: %s\n", err_text());
		return rc == -ENODEV ? 77 : 1;
	}
	on.d = set.dev[0];
	if (dev_can(on.d, DEV_CAP_VIRTUAL_TIME)) {
		fprintf(stderr, "questions: the time of %s is simulated\n", dev_props(on.d)->name);
		return 77;
	}
	answer_number("opening_the_device", 1e-9 * (double)(clock_ns() - start_ns), "s", dev_props(on.d)->name);
	rc = prepare();
	if (rc) {
		fprintf(stderr, "questions: %s\n", err_text());
		return 1;
	}
	ask_all();
	dev_graph_close(on.d, on.graph_1);
	dev_graph_close(on.d, on.graph_64);
	dev_close(&set);
	return answers_failed;
}
