/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/neighbour/process.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "micro/neighbour/page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60.0

struct neighbour_process {
	pid_t pid; /* 0: it has ended */
	struct neighbour_page *page;
	int page_file, log_file;
};

/* ------------------------------------------------------------------ waiting */

/* The last line that the neighbour wrote. */
static void read_last_line(const struct neighbour_process *n, char *text, size_t capacity)
{
	const ssize_t length = pread(n->log_file, text, capacity - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	char *end = text + strlen(text);
	while (end > text && end[-1] == '\n')
		*--end = '\0';
	const char *line = strrchr(text, '\n');
	if (line)
		memmove(text, line + 1, strlen(line));
}

static int note_ended(struct neighbour_process *n, int error)
{
	char line[512];
	n->pid = 0;
	cpu_load_count_process(0);
	read_last_line(n, line, sizeof(line));
	return err_note(error, "the neighbour ended%s%s", line[0] ? ": " : "", line);
}

/* `error`: of a neighbour that ends meanwhile. */
static int wait_for(struct neighbour_process *n, enum neighbour_state state, double limit_s,
		    int error)
{
	const uint64_t begin_ns = clock_ns();
	while (n->page->state != state) {
		if (n->pid == 0 || waitpid(n->pid, NULL, WNOHANG) != 0)
			return note_ended(n, error);
		if (1e-9 * (double)(clock_ns() - begin_ns) > limit_s)
			return err_note(-EPROTO, "the neighbour did not answer for %g s", limit_s);
		usleep(NEIGHBOUR_POLL_US);
	}
	return 0;
}

/* ------------------------------------------------------------------ starting */

static int open_files(struct neighbour_process *n)
{
	void *page = MAP_FAILED;
	n->page_file = memfd_create("neighbour", 0);
	n->log_file = memfd_create("neighbour-log", MFD_CLOEXEC);
	if (n->page_file >= 0 && n->log_file >= 0 && ftruncate(n->page_file, sizeof(*n->page)) == 0)
		page = mmap(NULL, sizeof(*n->page), PROT_READ | PROT_WRITE, MAP_SHARED,
			    n->page_file, 0);
	if (page == MAP_FAILED)
		return err_note(-errno, "a page for the neighbour: %s", strerror(errno));
	n->page = page;
	return 0;
}

/* Between fork() and exec(): only what a signal handler may call. */
static void join_group(const char *group)
{
	static const char self[] = "0", message[] = "cannot join the control group\n";
	const int file = openat(AT_FDCWD, group, O_WRONLY | O_CLOEXEC);
	if (file >= 0 && write(file, self, sizeof(self) - 1) == sizeof(self) - 1)
		return;
	(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	_exit(1);
}

static void exec_neighbour(const struct neighbour_process *n, const char *group, char **arguments,
			   char **variables)
{
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(nowhere, STDIN_FILENO);
	dup2(nowhere, STDOUT_FILENO);
	dup2(n->log_file, STDERR_FILENO);
	if (group)
		join_group(group);
	execve("/proc/self/exe", arguments, variables);
	_exit(1);
}

/* The environment, with a variable that comes first, so that it is the one that is found. */
static char **environment_with(char *variable)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **all = calloc(count + 2, sizeof(*all));
	if (!all)
		return NULL;
	all[0] = variable;
	memcpy(all + (variable[0] ? 1 : 0), environ, count * sizeof(*all));
	return all;
}

const char *neighbour_sees_only(const char *word)
{
	static const char prefix[] = "only:";
	const size_t length = sizeof(prefix) - 1;
	return strncmp(word, prefix, length) == 0 && word[length] ? word + length : NULL;
}

int neighbour_accept_sees(const char *word)
{
	return strcmp(word, NEIGHBOUR_SEES_SAME) == 0 || neighbour_sees_only(word)
		       ? 0
		       : err_note(-EINVAL,
				  "the neighbour cannot see '%s'; values: same, "
				  "only:DEVICES",
				  word);
}

int neighbour_accept_group(const char *word)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/cgroup.procs", word);
	return strcmp(word, "none") == 0 || access(path, W_OK) == 0
		       ? 0
		       : err_note(-EINVAL,
				  "cannot write %s; values: none, or the folder of a "
				  "control group",
				  path);
}

/* "NAME=VALUE" for the neighbour; "" where it sees what this process does. */
static int selecting_variable(const struct bench_case *c, const char *sees, char *text,
			      size_t capacity)
{
	const char *name = c->dev->ops->selecting_variable;
	text[0] = '\0';
	if (!neighbour_sees_only(sees))
		return 0;
	if (!name)
		return err_note(-ENOTSUP, "no variable selects the devices of %s",
				c->dev->ops->name);
	snprintf(text, capacity, "%s=%s", name, neighbour_sees_only(sees));
	return 0;
}

static int start_process(struct neighbour_process *n, const struct bench_case *c,
			 const struct neighbour_process_spec *spec)
{
	char page[16], variable[512], group[4096];
	char *arguments[] = {"neighbour", NEIGHBOUR_ARGUMENT,
			     "--device",  (char *)bench_device_spec(c),
			     "--work",    (char *)spec->work,
			     "--type",    (char *)spec->type,
			     "--page",    page,
			     "--budget",  "1000h",
			     NULL};
	const bool joins = strcmp(spec->group, "none") != 0;
	int status = selecting_variable(c, spec->sees, variable, sizeof(variable));
	if (status)
		return status;
	snprintf(page, sizeof(page), "%d", n->page_file);
	snprintf(group, sizeof(group), "%s/cgroup.procs", spec->group);
	char **variables = environment_with(variable);
	if (!variables)
		return err_note(-ENOMEM, "start the neighbour: out of memory");
	const pid_t pid = fork();
	if (pid == 0)
		exec_neighbour(n, joins ? group : NULL, arguments, variables);
	status = pid < 0 ? err_note(-errno, "start the neighbour: %s", strerror(errno)) : 0;
	free(variables);
	n->pid = pid < 0 ? 0 : pid;
	cpu_load_count_process(n->pid);
	return status;
}

int neighbour_process_open(const struct bench_case *c, const struct neighbour_process_spec *spec,
			   struct neighbour_process **n_p)
{
	struct neighbour_process *n = calloc(1, sizeof(*n));
	if (!n)
		return err_note(-ENOMEM, "start the neighbour: out of memory");
	int status = open_files(n);
	TRY(status, start_process(n, c, spec));
	TRY(status, wait_for(n, NEIGHBOUR_IDLE, LIMIT_S, -ENOTSUP));
	if (status)
		neighbour_process_close(n);
	else
		*n_p = n;
	return status;
}

void neighbour_process_close(struct neighbour_process *n)
{
	if (!n)
		return;
	if (n->pid) {
		kill(n->pid, SIGKILL);
		waitpid(n->pid, NULL, 0);
		cpu_load_count_process(0);
	}
	if (n->page)
		munmap(n->page, sizeof(*n->page));
	if (n->page_file >= 0)
		close(n->page_file);
	if (n->log_file >= 0)
		close(n->log_file);
	free(n);
}

/* ------------------------------------------------------------------ working */

int neighbour_process_begin(struct neighbour_process *n)
{
	n->page->wanted = NEIGHBOUR_WORKS;
	int status = wait_for(n, NEIGHBOUR_WORKS, LIMIT_S, -EPROTO);
	n->page->pieces = 0;
	return status;
}

int neighbour_process_end(struct neighbour_process *n, uint64_t *pieces_p)
{
	*pieces_p = n->page->pieces;
	n->page->wanted = NEIGHBOUR_IDLE;
	return wait_for(n, NEIGHBOUR_IDLE, LIMIT_S, -EPROTO);
}

const char *neighbour_process_device(const struct neighbour_process *n) { return n->page->device; }
