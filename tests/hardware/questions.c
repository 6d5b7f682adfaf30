/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures properties of a device that its documents leave open. Prints one line per answer: name,
 * answer, unit, remark, separated by tabs. Asserts nothing.
 *
 *     questions DEVICE [SECONDS]    such as cuda or hip:1; GPUSIG_TEST=word selects the names
 *                                   that contain the word
 *
 * The process ends after so many seconds, 50 unless said, whatever the driver does.
 *
 * Exit 0: all questions were asked; 1: the device failed; 2: usage; 77: no device, or a simulated
 * one.
 */
#include "device/dev.h"
#include "device/kernels.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/units.h"
#include "tests/hardware/answers.h"
#include "tests/hardware/questions/adding.h"
#include "tests/hardware/questions/links.h"
#include "tests/hardware/questions/slot_gate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENQUEUE_NS UINT64_C(1000000000)
#define MAX_QUEUED 16384u
#define SMALL (UINT64_C(64) << 10)
#define LARGE (UINT64_C(64) << 20)
/* Bytes per unit: they fit into the first-level cache when all its memory is cache, and not when
 * all of it is shared memory. */
#define CACHED (UINT64_C(64) << 10)
#define READ_LAUNCHES 64u

/* ------------------------------------------------- does a call return while every slot is held? */

static struct {
	void *memory;
	struct dev_stream *stream;
	struct dev_event *event;
	struct dev_graph *graph;
} created;

static int allocate_pinned(void)
{
	return dev_alloc(dut.dev, DEV_MEM_PINNED, SMALL, &created.memory);
}
static int allocate_device(void)
{
	return dev_alloc(dut.dev, DEV_MEM_DEVICE, SMALL, &created.memory);
}
static int allocate_large(void)
{
	return dev_alloc(dut.dev, DEV_MEM_DEVICE, LARGE, &created.memory);
}
static int open_event(void) { return dev_event_open(dut.dev, &created.event); }
static int open_stream(void)
{
	return dev_stream_open(dut.dev, dev_props(dut.dev)->priority_normal, &created.stream);
}
static int copy_on_host(void)
{
	return dev_copy(dut.dev, dut.gated, dut.host[1], dut.host[0], SMALL);
}

static int free_memory(void)
{
	int status = dev_free(dut.dev, created.memory);
	created.memory = NULL;
	return status;
}

static int make_graph(struct dev_graph **graph_p, unsigned launches)
{
	int status = dev_graph_begin(dut.dev, dut.ungated);
	if (status)
		return status;
	for (unsigned i = 0; i < launches && !status; i++)
		status = dev_launch(dut.dev, dut.ungated, dut.empty,
				    &(struct dev_launch){.grid = 1});
	struct dev_graph *graph = NULL;
	int ended = dev_graph_end(dut.dev, dut.ungated, &graph);
	if (!status && !ended)
		*graph_p = graph;
	else
		dev_graph_close(dut.dev, graph);
	return status ? status : ended;
}

static int capture_graph(void) { return make_graph(&created.graph, 64); }

static int free_created(void)
{
	int status = created.memory ? dev_free(dut.dev, created.memory) : 0;
	dev_event_close(dut.dev, created.event);
	dev_stream_close(dut.dev, created.stream);
	dev_graph_close(dut.dev, created.graph);
	memset(&created, 0, sizeof(created));
	return status;
}

static void measure_call_while_held(const char *name, uint32_t blocks, int (*prepare)(void),
				    int (*call)(void))
{
	int status = prepare ? prepare() : 0;
	status = status ? status : slot_gate_hold(blocks);
	uint64_t start_ns = clock_ns();
	status = status ? status : call();
	double took_us = 1e-3 * (double)(clock_ns() - start_ns);
	bool returned = slot_gate_is_shut();
	int opened = slot_gate_open(), given = free_created();
	status = status ? status : opened ? opened : given;
	if (status)
		no_answer(name, status);
	else
		answer_number(name, took_us, "us",
			      returned ? "returned meanwhile"
				       : "did not return before the gate opened");
}

/* ------------------------------------------------------ how many operations does a stream hold? */

static int queue_launch(void)
{
	return dev_launch(dut.dev, dut.gated, dut.empty, &(struct dev_launch){.grid = 1});
}
static int queue_graph(void) { return dev_graph_launch(dut.dev, dut.gated, dut.graph_1); }
static int queue_large_graph(void) { return dev_graph_launch(dut.dev, dut.gated, dut.graph_64); }
static int queue_copy_up(void)
{
	return dev_copy(dut.dev, dut.gated, dut.memory[0], dut.host[0], 4096);
}
static int queue_local_copy(void)
{
	return dev_copy(dut.dev, dut.gated, dut.memory[1], dut.memory[0], 4096);
}
static int queue_event_record(void) { return dev_event_record(dut.dev, dut.gated, dut.event); }

/* Counts the calls that return while a gate holds the stream. */
static void count_queue_entries(const char *name, int (*hold)(void), int (*call)(void))
{
	char remark[160] = "no call waited: the stream holds more";
	uint32_t queued = 0;
	int status = hold();
	uint64_t start_ns = clock_ns();
	for (; !status && queued < MAX_QUEUED && clock_ns() - start_ns < ENQUEUE_NS; queued++) {
		status = call();
		if (status || !slot_gate_is_shut())
			break;
	}
	if (!status && !slot_gate_is_shut())
		snprintf(remark, sizeof(remark), "the next call waited until the gate opened");
	else if (status)
		snprintf(remark, sizeof(remark), "the next call failed: %.120s", err_text());
	int opened = slot_gate_open();
	if (opened || (status && queued == 0))
		no_answer(name, status ? status : opened);
	else
		answer_number(name, queued, "operations", remark);
}

static int hold_by_one_block(void) { return slot_gate_hold(1); }

/* ------------------------------------------------- does work progress while other work is held? */

static int copy_local_small(void)
{
	return dev_copy(dut.dev, dut.ungated, dut.memory[1], dut.memory[0], SMALL);
}
static int copy_local(void)
{
	return dev_copy(dut.dev, dut.ungated, dut.memory[1], dut.memory[0], LARGE);
}
static int copy_up(void)
{
	return dev_copy(dut.dev, dut.ungated, dut.memory[1], dut.host[0], LARGE);
}
static int copy_down(void)
{
	return dev_copy(dut.dev, dut.ungated, dut.host[1], dut.memory[0], LARGE);
}
static int launch_ungated(void)
{
	return dev_launch(dut.dev, dut.ungated, dut.empty, &(struct dev_launch){.grid = 1});
}
static int fill_memory(void) { return dev_fill(dut.dev, dut.ungated, dut.memory[1], 1, LARGE); }
static int write_device(void)
{
	return dev_write_value(dut.dev, dut.ungated, (uint32_t *)(void *)dut.memory[1], 1);
}
static int write_pinned(void)
{
	return dev_write_value(dut.dev, dut.ungated, dut.words + DUT_VALUE, 1);
}

static int wait_pinned(void)
{
	int status = dev_wait_value(dut.dev, dut.ungated, dut.words + DUT_VALUE, 1);
	return status ? status : dev_post_value(dut.dev, dut.words + DUT_VALUE, 1);
}

static int hold_every_slot(void) { return slot_gate_hold(SLOT_GATE_ALL_SLOTS); }

/* One stream has ended `work`; a copy up is held in the other. */
static int hold_copy_up(int (*work)(void))
{
	int status = work();
	status = status ? status : dev_stream_sync(dut.dev, dut.ungated);
	status = status ? status : slot_gate_hold_by_value();
	return status ? status : queue_copy_up();
}
static int hold_copy_up_after_copy_up(void) { return hold_copy_up(copy_up); }
static int hold_copy_up_after_copy_down(void) { return hold_copy_up(copy_down); }
static int hold_copy_up_after_kernel(void) { return hold_copy_up(launch_ungated); }
static int only_an_event(void) { return 0; }

static void measure_progress_while_held(const char *name, int (*hold)(void), int (*enqueue)(void))
{
	int status = hold(), done = -EAGAIN;
	uint64_t start_ns = clock_ns();
	status = status ? status : enqueue();
	bool call_returned = slot_gate_is_shut();
	status = status ? status : dev_event_record(dut.dev, dut.ungated, dut.event);
	while (!status && done == -EAGAIN && slot_gate_is_shut() &&
	       clock_ns() - start_ns < ENQUEUE_NS)
		done = dev_event_query(dut.dev, dut.event);
	double took_us = 1e-3 * (double)(clock_ns() - start_ns);
	bool progressed = done == 0 && slot_gate_is_shut();
	int opened = slot_gate_open();
	status = status ? status : done && done != -EAGAIN ? done : opened;
	if (status)
		no_answer(name, status);
	else if (progressed)
		answer_number(name, took_us, "us", "ended meanwhile");
	else
		print_answer(name, "no", "-",
			     call_returned ? "ended only after what was held"
					   : "the call itself waited");
}

/* ------------------------------------------------------------- copies in graphs, cache, telemetry
 */

static bool holds_only(const char *at, char byte, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (at[i] != byte)
			return false;
	return true;
}

/* A vendor's call that cannot be captured may be missing in the graph without an error. */
static void check_copy_capture(const char *name, bool up)
{
	char *from = up ? dut.host[0] : dut.memory[0];
	memset(dut.host[0], 0x5a, SMALL);
	memset(dut.host[1], 0, SMALL);
	struct dev_graph *graph = NULL;
	int status = dev_copy(dut.dev, dut.ungated, dut.memory[0], dut.host[0], SMALL);
	status = status ? status : dev_fill(dut.dev, dut.ungated, dut.memory[1], 0, SMALL);
	status = status ? status : dev_stream_sync(dut.dev, dut.ungated);
	status = status ? status : dev_graph_begin(dut.dev, dut.ungated);
	if (!status) {
		status = dev_copy(dut.dev, dut.ungated, dut.memory[1], from, SMALL);
		int ended = dev_graph_end(dut.dev, dut.ungated, &graph);
		status = status ? status : ended;
	}
	status = status ? status : dev_graph_launch(dut.dev, dut.ungated, graph);
	status =
		status ? status : dev_copy(dut.dev, dut.ungated, dut.host[1], dut.memory[1], SMALL);
	status = status ? status : dev_stream_sync(dut.dev, dut.ungated);
	dev_graph_close(dut.dev, graph);
	if (status)
		no_answer(name, status);
	else
		print_answer(name, holds_only(dut.host[1], 0x5a, SMALL) ? "yes" : "no", "-", "");
}

enum carveout { ALL_SHARED, ALL_CACHE, ALTERNATING };

/* Launches that read CACHED bytes per unit repeatedly. */
static int read_with_carveout(enum carveout carveout, struct dev_event *end)
{
	const void *from = dut.memory[0];
	uint64_t bytes = CACHED * dev_props(dut.dev)->units;
	uint32_t *sink = dut.words + DUT_VALUE, reps = 16;
	const void *args[] = {&from, &bytes, &reps, &sink};
	int status = dev_event_record(dut.dev, dut.ungated, dut.event);
	for (unsigned i = 0; i < READ_LAUNCHES && !status; i++) {
		bool cache = carveout == ALL_CACHE || (carveout == ALTERNATING && i % 2 == 1);
		struct dev_launch l = {.grid = dev_props(dut.dev)->busy_blocks,
				       .args = args,
				       .prefer_cache = cache};
		status = dev_launch(dut.dev, dut.ungated, dut.read, &l);
	}
	status = status ? status : dev_event_record(dut.dev, dut.ungated, end);
	return status ? status : dev_stream_sync(dut.dev, dut.ungated);
}

static void measure_carveout_read(const char *name, enum carveout carveout)
{
	struct dev_event *end = NULL;
	double min_ns = INFINITY, ns = 0;
	int status =
		!dev_can(dut.dev, DEV_CAP_CARVEOUT) || CACHED * dev_props(dut.dev)->units > LARGE
			? err_note(-ENOTSUP, "the device does not divide memory between cache and "
					     "shared memory")
			: dev_event_open(dut.dev, &end);
	for (unsigned i = 0; i < 5 && !status; i++) {
		status = read_with_carveout(carveout, end);
		status = status ? status : dev_event_elapsed_ns(dut.dev, dut.event, end, &ns);
		min_ns = fmin(min_ns, ns);
	}
	dev_event_close(dut.dev, end);
	if (status)
		no_answer(name, status);
	else
		answer_number(name, 1e-3 * min_ns / READ_LAUNCHES, "us", "a launch");
}

static void report_telemetry(const char *name)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count = 0;
	int status = dev_telemetry_read(dut.dev, samples, &count);
	for (size_t i = 0; i < count && !status; i++) {
		const struct dev_telemetry *r = &samples[i];
		if (strcmp(r->name, name) != 0)
			continue;
		if (r->number == r->number)
			answer_number(name, r->number, r->unit, "");
		else
			print_answer(name, r->text[0] ? r->text : "none", r->unit, r->why);
		return;
	}
	print_answer(name, "none", status ? "error" : "not supported",
		     status ? err_text() : "the device has no such reading");
}

static void report_board(const char *name, int (*report)(const char *, struct dev *))
{
	const int status = report(name, dut.dev);
	if (status)
		no_answer(name, status);
}

/* ------------------------------------------------------------------ all of them */

static bool is_selected(const char *name)
{
	const char *word = getenv("GPUSIG_TEST");
	return !word || strstr(name, word);
}

#define ASK(question, name, ...) (is_selected(name) ? question(name, __VA_ARGS__) : (void)0)

static void measure_blocking_calls(void)
{
	ASK(measure_call_while_held, "copy_on_host_behind_a_block", 1, NULL, copy_on_host);
	ASK(measure_call_while_held, "pinned_allocation_while_every_slot_is_held",
	    SLOT_GATE_ALL_SLOTS, NULL, allocate_pinned);
	ASK(measure_call_while_held, "device_allocation_64KiB_while_every_slot_is_held",
	    SLOT_GATE_ALL_SLOTS, NULL, allocate_device);
	ASK(measure_call_while_held, "device_allocation_64MiB_while_every_slot_is_held",
	    SLOT_GATE_ALL_SLOTS, NULL, allocate_large);
	ASK(measure_call_while_held, "event_open_while_every_slot_is_held", SLOT_GATE_ALL_SLOTS,
	    NULL, open_event);
	ASK(measure_call_while_held, "stream_open_while_every_slot_is_held", SLOT_GATE_ALL_SLOTS,
	    NULL, open_stream);
	ASK(measure_call_while_held, "graph_made_while_every_slot_is_held", SLOT_GATE_ALL_SLOTS,
	    NULL, capture_graph);
	ASK(measure_call_while_held, "pinned_free_while_every_slot_is_held", SLOT_GATE_ALL_SLOTS,
	    allocate_pinned, free_memory);
	ASK(measure_call_while_held, "device_free_while_every_slot_is_held", SLOT_GATE_ALL_SLOTS,
	    allocate_device, free_memory);
}

static void ask_for_events(void)
{
	ASK(measure_progress_while_held, "event_after_a_copy_up_while_anothers_is_held",
	    hold_copy_up_after_copy_up, only_an_event);
	ASK(measure_progress_while_held, "event_after_a_copy_down_while_anothers_up_is_held",
	    hold_copy_up_after_copy_down, only_an_event);
	ASK(measure_progress_while_held, "event_after_a_kernel_while_anothers_copy_is_held",
	    hold_copy_up_after_kernel, only_an_event);
}

/* Calls that may block come last, so that a driver that never recovers loses no other answer. */
static void answer_all(void)
{
	if (is_selected("timer_step"))
		report_telemetry("timer_step");
	if (is_selected("timer_offset_error"))
		report_telemetry("timer_offset_error");
	ASK(check_copy_capture, "local_copy_is_captured", false);
	ASK(check_copy_capture, "copy_up_is_captured", true);
	ASK(measure_carveout_read, "read_from_cache_with_memory_as_shared", ALL_SHARED);
	ASK(measure_carveout_read, "read_from_cache_with_memory_as_cache", ALL_CACHE);
	ASK(measure_carveout_read, "read_from_cache_with_both_in_turns", ALTERNATING);
	ASK(measure_progress_while_held, "local_copy_64KiB_while_every_slot_is_held",
	    hold_every_slot, copy_local_small);
	ASK(measure_progress_while_held, "local_copy_64MiB_while_every_slot_is_held",
	    hold_every_slot, copy_local);
	ASK(measure_progress_while_held, "copy_up_64MiB_while_every_slot_is_held", hold_every_slot,
	    copy_up);
	ASK(measure_progress_while_held, "copy_down_64MiB_while_every_slot_is_held",
	    hold_every_slot, copy_down);
	ASK(report_board, "pcie_link_after_copies", report_pcie_link);
	ASK(report_board, "links_to_devices", report_device_links);
	ASK(report_board, "memory_errors", report_memory_errors);
	ASK(report_board, "gemm_adds_to_pinned_memory", report_adding_to_pinned);
	ASK(report_board, "gemm_that_adds_to_one_that_writes", report_adding_cost);
	ASK(measure_progress_while_held, "fill_64MiB_while_every_slot_is_held", hold_every_slot,
	    fill_memory);
	ASK(measure_progress_while_held, "value_write_to_pinned_while_every_slot_is_held",
	    hold_every_slot, write_pinned);
	ASK(measure_progress_while_held, "value_write_to_device_while_every_slot_is_held",
	    hold_every_slot, write_device);
	ASK(measure_progress_while_held, "value_wait_while_every_slot_is_held", hold_every_slot,
	    wait_pinned);
	ask_for_events();
	ASK(count_queue_entries, "launches_behind_a_block", hold_by_one_block, queue_launch);
	ASK(count_queue_entries, "launches_behind_a_value", slot_gate_hold_by_value, queue_launch);
	ASK(count_queue_entries, "graphs_of_1_behind_a_block", hold_by_one_block, queue_graph);
	ASK(count_queue_entries, "graphs_of_64_behind_a_block", hold_by_one_block,
	    queue_large_graph);
	ASK(count_queue_entries, "graphs_of_64_behind_a_value", slot_gate_hold_by_value,
	    queue_large_graph);
	ASK(count_queue_entries, "copies_up_behind_a_block", hold_by_one_block, queue_copy_up);
	ASK(count_queue_entries, "local_copies_behind_a_block", hold_by_one_block,
	    queue_local_copy);
	ASK(count_queue_entries, "event_records_behind_a_block", hold_by_one_block,
	    queue_event_record);
	measure_blocking_calls();
}

/* Runs every operation once, so that no library loads code while slots are held. */
static int open_dut(void)
{
	int normal = dev_props(dut.dev)->priority_normal, status = 0;
	uint32_t blocks = 0;
	for (unsigned i = 0; i < 2 && !status; i++) {
		status = dev_alloc(dut.dev, DEV_MEM_DEVICE, LARGE, (void **)&dut.memory[i]);
		status = status ? status
				: dev_alloc(dut.dev, DEV_MEM_PINNED, LARGE, (void **)&dut.host[i]);
	}
	status = status ? status : dev_stream_open(dut.dev, normal, &dut.gated);
	status = status ? status : dev_stream_open(dut.dev, normal, &dut.ungated);
	status = status ? status : dev_event_open(dut.dev, &dut.event);
	status = status ? status : dev_kernel_find(dut.dev, "blocking_kernel", &dut.blocking);
	status = status ? status : dev_kernel_find(dut.dev, "empty", &dut.empty);
	status = status ? status : dev_kernel_find(dut.dev, "read", &dut.read);
	status = status ? status : dev_occupancy(dut.dev, dut.blocking, 0, 0, &blocks);
	dut.slots = blocks * dev_props(dut.dev)->units;
	status = status ? status
			: dev_alloc(dut.dev, DEV_MEM_PINNED, DUT_WORDS * sizeof(*dut.words),
				    (void **)&dut.words);
	status = status ? status
			: dev_alloc(dut.dev, DEV_MEM_PINNED, dut.slots * sizeof(*dut.start_ns),
				    (void **)&dut.start_ns);
	if (status)
		return status;
	if (dev_can(dut.dev, DEV_CAP_GRAPH)) {
		status = make_graph(&dut.graph_1, 1);
		status = status ? status : make_graph(&dut.graph_64, 64);
		status = status ? status : dev_graph_launch(dut.dev, dut.ungated, dut.graph_64);
	}
	int (*const warm[])(void) = {copy_local,  copy_up,      copy_down,
				     fill_memory, queue_launch, queue_copy_up};
	for (size_t i = 0; i < sizeof(warm) / sizeof(warm[0]) && !status; i++)
		status = warm[i]();
	status = status ? status : dev_stream_sync(dut.dev, dut.ungated);
	return status ? status : dev_stream_sync(dut.dev, dut.gated);
}

int main(int argc, char **argv)
{
	uint64_t seconds = 50;
	if (argc < 2 || argc > 3 ||
	    (argc == 3 && units_parse_integer(argv[2], 1, 3600, &seconds))) {
		fprintf(stderr, "usage: questions DEVICE [SECONDS]\n");
		return 2;
	}
	struct dev_set set;
	alarm((unsigned)seconds);
	uint64_t start_ns = clock_ns();
	int status = dev_open(argv[1], DEV_CAP_ALL, &set);
	if (status) {
		fprintf(stderr, "questions: %s\n", err_text());
		return status == -ENODEV ? 77 : 1;
	}
	dut.dev = set.dev[0];
	if (dev_can(dut.dev, DEV_CAP_VIRTUAL_TIME)) {
		fprintf(stderr, "questions: the time of %s is simulated\n",
			dev_props(dut.dev)->name);
		return 77;
	}
	answer_number("opening_the_device", 1e-9 * (double)(clock_ns() - start_ns), "s",
		      dev_props(dut.dev)->name);
	status = open_dut();
	if (status) {
		fprintf(stderr, "questions: %s\n", err_text());
		return 1;
	}
	answer_all();
	dev_graph_close(dut.dev, dut.graph_1);
	dev_graph_close(dut.dev, dut.graph_64);
	dev_close(&set);
	return answers_failed;
}
