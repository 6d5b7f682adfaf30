/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host threads that wait for one event of the host backend: more of them than the wake-ups that a
 * thread defers until it has released the lock, so that the last are woken under the lock.
 */
#include "device/host/host_machine.h"
#include "device/host/host_queue.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"

#include <sched.h>
#include <unistd.h>

#define WAITERS 320u /* more than DEFERRED of host_lock.c */

static struct dev_set set;
static struct dev *d;

struct waiting {
	struct dev_event *event;
	pthread_t thread;
	int status;
	unsigned changed;
};

/* Bytes that another thread changes in this function's frame, which lies where the frames of
 * dev_event_sync() lay. */
__attribute__((noinline)) static unsigned count_changed_bytes(void)
{
	volatile unsigned char frame[1024];
	unsigned changed = 0;
	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = 0x5a;
	usleep(10000);
	for (size_t i = 0; i < sizeof(frame); i++)
		changed += frame[i] != 0x5a;
	return changed;
}

static void *wait_for_event(void *argument)
{
	struct waiting *w = argument;
	w->status = dev_event_sync(d, w->event);
	w->changed = count_changed_bytes();
	return NULL;
}

static unsigned count_asleep(const struct dev_event *e)
{
	unsigned count = 0;
	host_lock();
	for (struct host_waiter *w = e->latest->waiters; w; w = w->next)
		count += w->sleeper.asleep;
	host_unlock();
	return count;
}

/* Every thread that it wakes on its core runs before it goes on. */
static void *post_value(void *word)
{
	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
	return dev_post_value(d, word, 1) ? word : NULL;
}

static struct waiting waiting[WAITERS];

static void start_waiters(struct dev_event *e, const int *core)
{
	for (unsigned i = 0; i < WAITERS; i++) {
		waiting[i].event = e;
		ok(cores_thread_start(&waiting[i].thread, core, 1, wait_for_event, &waiting[i]));
	}
	while (count_asleep(e) < WAITERS)
		usleep(1000);
}

static void wake_waiters(void *word, const int *core)
{
	pthread_t poster;
	void *failed;
	ok(cores_thread_start(&poster, core, 1, post_value, word));
	pthread_join(poster, &failed);
	expect(failed == NULL);
	for (unsigned i = 0; i < WAITERS; i++) {
		pthread_join(waiting[i].thread, NULL);
		expect(waiting[i].status == 0 && waiting[i].changed == 0);
	}
}

static void a_woken_thread_leaves_while_others_are_woken(void)
{
	const int *core = ((struct host_dev *)d)->cores;
	struct dev_stream *s;
	struct dev_event *e;
	void *word;
	ok(dev_stream_open(d, 0, &s));
	ok(dev_event_open(d, &e));
	ok(dev_alloc(d, DEV_MEM_PINNED, 256, &word));
	ok(dev_post_value(d, word, 0));
	ok(dev_wait_value(d, s, word, 1));
	ok(dev_event_record(d, s, e));
	start_waiters(e, core);
	wake_waiters(word, core);
	ok(dev_free(d, word));
	dev_event_close(d, e);
	dev_stream_close(d, s);
}

int main(void)
{
	alarm(TEST_HANGS_S);
	if (dev_open("host", 0, &set))
		return 77;
	d = set.dev[0];
	test(a_woken_thread_leaves_while_others_are_woken);
	dev_close(&set);
	return test_done();
}
