/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/run_delay.h"
#include "lib/clock.h"
#include "lib/cores.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The second number of /proc/self/task/N/schedstat. A thread that ended waits no more. */
static uint64_t read_waited(int fd)
{
	char text[96];
	uint64_t ran = 0, waited = 0;
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2 ? waited : 0;
}

static void forget_threads(struct run_delay *r)
{
	for (size_t i = 0; i < r->threads; i++)
		close(r->fd[i]);
	r->threads = 0;
}

void run_delay_open(struct run_delay *r)
{
	*r = (struct run_delay){.open = true};
	int cores[CORES_MAX];
	DIR *tasks = opendir("/proc/self/task");
	r->cores = (unsigned)cores_allowed(cores);
	if (!tasks || r->cores == 0) {
		if (tasks)
			closedir(tasks);
		return;
	}
	bool complete = true;
	for (struct dirent *task = readdir(tasks); task && complete; task = readdir(tasks)) {
		char path[300];
		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
		int fd = r->threads < RUN_DELAY_THREADS ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		complete = fd >= 0;
		if (complete)
			r->fd[r->threads++] = fd;
	}
	closedir(tasks);
	if (!complete)
		forget_threads(r);
}

void run_delay_close(struct run_delay *r)
{
	forget_threads(r);
	r->open = false;
}

struct run_delay_mark run_delay_now(const struct run_delay *r)
{
	struct run_delay_mark mark = {0};
	struct timespec own;
	struct rusage use;
	if (!r->open)
		return mark;
	for (size_t i = 0; i < r->threads; i++)
		mark.waited_ns += read_waited(r->fd[i]);
	mark.wall_ns = clock_ns();
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
		mark.own_ns = (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec;
	if (getrusage(RUSAGE_SELF, &use) == 0)
		mark.switches = (uint64_t)use.ru_nivcsw;
	return mark;
}

uint64_t run_delay_between(const struct run_delay *r, const struct run_delay_mark *from,
			   const struct run_delay_mark *to)
{
	uint64_t waited = to->waited_ns > from->waited_ns ? to->waited_ns - from->waited_ns : 0;
	uint64_t available = (to->wall_ns - from->wall_ns) * r->cores;
	uint64_t own = to->own_ns - from->own_ns;
	uint64_t unused = available > own ? available - own : 0;
	return waited < unused ? waited : unused;
}
