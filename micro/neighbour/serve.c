/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbour's side: a program of one case, which works when it is told to.
 */
#include "lib/err.h"
#include "micro/contention/workload.h"
#include "micro/neighbour/page.h"
#include "micro/neighbour/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct axis axes[] = {
	{"work", "workload", AXIS_WORD, .words = workload_names, .quick = "gemm"},
	BENCH_GEMM_TYPES(.quick = "main"),
	{"page", "file of the page", AXIS_COUNT, .quick = "3"},
	{0}};

struct server {
	struct workload work;
	struct neighbour_page *page;
};

struct workload_spec neighbour_work(const struct bench_case *c, enum workload_kind kind)
{
	const bool copies = kind == WORKLOAD_ENGINE || kind == WORKLOAD_KERNEL;
	return (struct workload_spec){.kind = kind,
				      .direction = copies ? WORKLOAD_UP : WORKLOAD_LOCAL,
				      .type = (enum dev_type)axis_index(c, "type")};
}

static int map_page(struct server *s, int file)
{
	void *page = mmap(NULL, sizeof(*s->page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		return err_note(-errno, "the neighbour's page: %s", strerror(errno));
	s->page = page;
	return 0;
}

static int setup(struct bench_case *c)
{
	struct server *s = c->state;
	const unsigned last = (unsigned)c->devices->count - 1;
	struct workload_spec spec = neighbour_work(c, (enum workload_kind)axis_index(c, "work"));
	const struct dev_props *p = dev_props(c->devices->dev[last]);
	spec.device = last;
	TRY(c->status, map_page(s, (int)axis_u64(c, "page")));
	TRY(c->status, workload_admit(c, &spec));
	TRY(c->status, workload_open(&s->work, c, bench_lanes(c), &spec));
	if (c->status == 0)
		snprintf(s->page->device, sizeof(s->page->device), "%s%s%s", p->name,
			 p->bus[0] ? ", " : "", p->bus);
	return c->status;
}

static void work_until_told(struct bench_case *c, struct server *s)
{
	workload_start(&s->work, c);
	while (workload_follow(&s->work, c) == 0 && s->page->wanted == NEIGHBOUR_WORKS) {
		s->page->pieces++;
		s->page->state = NEIGHBOUR_WORKS;
	}
	TRY(c->status, dev_stream_sync(s->work.dev, s->work.stream));
}

static int work_on_demand(struct bench_case *c, long arg, uint64_t iterations)
{
	struct server *s = c->state;
	while (c->status == 0) {
		s->page->state = NEIGHBOUR_IDLE;
		if (s->page->wanted == NEIGHBOUR_WORKS)
			work_until_told(c, s);
		else
			usleep(NEIGHBOUR_POLL_US);
	}
	return c->status;
}

static const struct bench_variant variants[] = {{"serve", BENCH_SELF, .body = work_on_demand}, {0}};

static const struct bench server = {
	.name = "micro/neighbour",
	.question = "what is the neighbour told to do?",
	.formula = "none",
	.timed = "nothing",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE,
	.axes = axes,
	.variants = variants,
	.state_bytes = sizeof(struct server),
	.setup = setup,
};

bool neighbour_process_is(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], NEIGHBOUR_ARGUMENT) == 0;
}

int neighbour_process_main(int argc, char **argv)
{
	return bench_main(&server, argc - 1, argv + 1);
}
