/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/host/host_queue.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ waiting host threads */

/* Pairs with the release in wake_waiters(): the work is visible. wait_for_wake() then takes the
 * lock as well. */
static bool waiter_is_done(struct host_waiter *w)
{
	return atomic_load_explicit(&w->done, memory_order_acquire);
}

/* Lock held on entry, not on return. Polls first, because waking up takes longer than most
 * launches.
 */
static void wait_for_wake(struct host_waiter **list)
{
	struct host_waiter w = {.next = *list};
	host_sleeper_init(&w.sleeper, -1);
	*list = &w;
	host_unlock();
	const uint64_t start = clock_ns();
	do {
		for (int i = 0; i < 16 && !waiter_is_done(&w); i++)
			host_pause();
	} while (!waiter_is_done(&w) && host_units_polling_is_free() && !host_core_yield() &&
		 clock_ns() - start < HOST_SPIN_NS);
	host_lock();
	if (waiter_is_done(&w))
		host_unlock();
	else
		host_sleep(&w.sleeper);
	host_sleeper_destroy(&w.sleeper);
}

/* ------------------------------------------------------------------ streams */

int host_stream_open(struct dev *dev, int priority, struct dev_stream **s_p)
{
	struct host_dev *d = host_dev_of(dev);
	if (priority < HOST_PRIORITY_LOW || priority > HOST_PRIORITY_HIGH)
		return err_note(-EINVAL, "open a stream: priority %d is not in %d..%d", priority,
				HOST_PRIORITY_LOW, HOST_PRIORITY_HIGH);
	struct dev_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return err_note(-ENOMEM, "open a stream: out of memory");
	s->dev = d;
	s->level = (uint32_t)(priority - HOST_PRIORITY_LOW);
	s->units = d->dev.props.units;
	host_lock();
	int status = host_queue_resize(1, 0);
	if (!status) {
		s->next = d->streams;
		d->streams = s;
	}
	host_unlock();
	if (status) {
		free(s);
		return status;
	}
	*s_p = s;
	return 0;
}

/* Lock held on entry, not on return. */
static void drain_stream(struct dev_stream *s)
{
	if (s->first)
		wait_for_wake(&s->waiters);
	else
		host_unlock();
}

void host_stream_close(struct dev *dev, struct dev_stream *s)
{
	host_lock();
	host_stream_cancel(s);
	drain_stream(s);
	host_lock();
	struct dev_stream **at = &host_dev_of(dev)->streams;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	host_queue_resize(-1, 0);
	host_unlock();
	free(s);
}

int host_stream_sync(struct dev *dev, struct dev_stream *s)
{
	host_lock();
	drain_stream(s);
	host_lock();
	int status = s->failure;
	if (status)
		err_note(status, "%s", s->why);
	s->failure = 0;
	host_unlock();
	return status;
}

int host_stream_query(struct dev *dev, struct dev_stream *s)
{
	host_lock();
	int status = s->first ? -EAGAIN : 0;
	host_unlock();
	return status;
}

int host_stream_units(struct dev *dev, struct dev_stream *s, uint32_t first, uint32_t count)
{
	host_lock();
	const bool busy = s->first != NULL;
	if (!busy) {
		s->first_unit = first;
		s->units = count;
	}
	host_unlock();
	return busy ? err_note(-EBUSY, "host:%u: stream_units: the stream has work", dev->index)
		    : 0;
}

int host_stream_wait(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct host_op *op;
	int status = host_op_begin(s, HOST_OP_WAIT_EVENT, &op);
	if (status)
		return status;
	if (!e->latest || e->latest->done) {
		host_op_abandon(op);
		return 0;
	}
	op->stamp = e->latest;
	op->stamp->refs++;
	host_op_submit(op);
	return 0;
}

/* ------------------------------------------------------------------ events */

int host_event_open(struct dev *dev, struct dev_event **e_p)
{
	struct host_dev *d = host_dev_of(dev);
	struct dev_event *e = calloc(1, sizeof(*e));
	if (!e)
		return err_note(-ENOMEM, "open an event: out of memory");
	e->dev = d;
	host_lock();
	int status = host_queue_resize(0, 1);
	if (!status) {
		e->next = d->events;
		d->events = e;
	}
	host_unlock();
	if (status) {
		free(e);
		return status;
	}
	*e_p = e;
	return 0;
}

void host_event_close(struct dev *dev, struct dev_event *e)
{
	host_lock();
	struct dev_event **at = &host_dev_of(dev)->events;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	host_queue_resize(0, -1);
	host_event_stamp_drop(e->latest);
	host_unlock();
	free(e);
}

int host_event_record(struct dev *dev, struct dev_stream *s, struct dev_event *e)
{
	struct host_op *op;
	int status = host_op_begin(s, HOST_OP_RECORD, &op);
	if (status)
		return status;
	op->stamp = host_event_stamp_take();
	if (!op->stamp) {
		host_op_abandon(op);
		return err_note(-ENOMEM, "record an event: out of memory");
	}
	host_event_stamp_drop(e->latest);
	e->latest = op->stamp;
	op->stamp->refs++;
	host_op_submit(op);
	return 0;
}

int host_event_query(struct dev *dev, struct dev_event *e)
{
	host_lock();
	int status = !e->latest ? -EINVAL : e->latest->done ? 0 : -EAGAIN;
	host_unlock();
	return status == -EINVAL ? err_note(status, "the event was never recorded") : status;
}

int host_event_sync(struct dev *dev, struct dev_event *e)
{
	host_lock();
	if (!e->latest) {
		host_unlock();
		return err_note(-EINVAL, "the event was never recorded");
	}
	if (e->latest->done)
		host_unlock();
	else
		wait_for_wake(&e->latest->waiters);
	return 0;
}

int host_event_elapsed_ns(struct dev *dev, struct dev_event *from, struct dev_event *to,
			  double *ns_p)
{
	int status = 0;
	host_lock();
	if (!from->latest || !to->latest)
		status = -EINVAL;
	else if (!from->latest->done || !to->latest->done)
		status = -EAGAIN;
	else if (to->latest->stamp_ns >= from->latest->stamp_ns)
		*ns_p = (double)(to->latest->stamp_ns - from->latest->stamp_ns);
	else
		*ns_p = -(double)(from->latest->stamp_ns - to->latest->stamp_ns);
	host_unlock();
	return status == -EINVAL ? err_note(status, "the event was never recorded") : status;
}
