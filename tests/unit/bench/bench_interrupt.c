/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals end a run in which a call never returns, as in a library that spins.
 */
#include "bench/bench.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int first, second;

static int hang_once(struct bench_case *c, long unused)
{
	raise(first);
	if (second)
		raise(second);
	while (first)
		pause();
	return 0;
}

static const struct bench bench = {
	.name = "test/interrupt",
	.question = "does it end?",
	.formula = "none",
	.timed = "nothing",
	.variants = (const struct bench_variant[]){{.name = "hangs"}, {.name = NULL}},
	.once = hang_once,
};

/* The signal that ended the run; 0: it exited. */
static int ended_by(int first_signal, int second_signal, const char *records)
{
	int status = 0;
	first = first_signal;
	second = second_signal;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(TEST_HANGS_S);
		_exit(run_captured(&bench, NULL, "--device", "sim", "--out", records));
	}
	expect(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_second_signal_ends_at_once_whichever_it_is(void)
{
	expect(ended_by(SIGINT, SIGINT, "/dev/null") == SIGINT);
	expect(ended_by(SIGINT, SIGTERM, "/dev/null") == SIGTERM);
	expect(ended_by(SIGTERM, SIGINT, "/dev/null") == SIGINT);
}

static void one_signal_ends_a_call_that_does_not_return(void)
{
	char path[] = "/tmp/gpusig-interrupt-XXXXXX", text[16384] = "";
	int fd = mkstemp(path);
	require(fd >= 0);
	expect(ended_by(SIGTERM, 0, path) == SIGTERM);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	close(fd);
	unlink(path);
	require(length > 0);
	expect(strstr(text, "\"kind\":\"run\"") != NULL && text[length - 1] == '\n');
}

int main(void)
{
	test(a_second_signal_ends_at_once_whichever_it_is);
	test(one_signal_ends_a_call_that_does_not_return);
	return test_done();
}
