/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/devices/team.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>

static int open_member(struct team *t, size_t i)
{
	struct dev *d = t->set->dev[i];
	int status = 0;
	if (!dev_can(d, DEV_CAP_PEER | DEV_CAP_WAIT_VALUE))
		return err_note(-ENOTSUP, "device %zu of the list has no peers, or can't wait for a value", i);
	for (size_t k = 0; status == 0 && k < i; k++)
		status = dev_peer_enable(d, t->set->dev[k]);
	if (status == 0)
		status = dev_stream_open(d, dev_props(d)->priority_normal, &t->stream[i]);
	if (status == 0)
		status = dev_event_open(d, &t->begin[i]);
	return status ? status : dev_event_open(d, &t->end[i]);
}

int team_open(struct team *t, const struct dev_set *set)
{
	*t = (struct team){.set = set};
	int status = gate_open(set->dev[0], GATE_LIMIT_NS, &t->gate);
	for (size_t i = 0; status == 0 && i < set->count; i++)
		status = open_member(t, i);
	return status;
}

void team_close(struct team *t)
{
	if (!t->set)
		return;
	team_sync(t, 0);
	for (size_t i = 0; i < t->set->count; i++) {
		struct dev *d = t->set->dev[i];
		dev_event_close(d, t->begin[i]);
		dev_event_close(d, t->end[i]);
		dev_stream_close(d, t->stream[i]);
	}
	gate_close(t->gate);
	*t = (struct team){0};
}

int team_hold(struct team *t)
{
	int status = 0;
	for (size_t i = 0; status == 0 && i < t->set->count; i++) {
		status = gate_shut(t->gate, t->set->dev[i], t->stream[i]);
		if (status == 0)
			status = dev_event_record(t->set->dev[i], t->stream[i], t->begin[i]);
	}
	return status;
}

/* The first error counts, and so does its text. */
static void keep(int *first, char text[256], int status)
{
	if (*first || !status)
		return;
	*first = status;
	snprintf(text, 256, "%s", err_text());
}

int team_sync(struct team *t, int status)
{
	char text[256] = "";
	int first = 0;
	keep(&first, text, status);
	for (size_t i = 0; i < t->set->count; i++)
		if (t->stream[i])
			keep(&first, text, dev_stream_sync(t->set->dev[i], t->stream[i]));
	return first ? err_note(first, "%s", text) : 0;
}

int team_release(struct team *t, int status, struct team_round *round_p)
{
	struct dev *clock = t->set->dev[0];
	struct team_round round = {0};
	char text[256] = "";
	int first = 0;
	keep(&first, text, status);
	for (size_t i = 0; first == 0 && i < t->set->count; i++)
		keep(&first, text, dev_event_record(t->set->dev[i], t->stream[i], t->end[i]));
	uint64_t released = dev_clock_ns(clock);
	keep(&first, text, gate_release(t->gate));
	keep(&first, text, team_sync(t, 0));
	round.seen_s = 1e-9 * (double)(dev_clock_ns(clock) - released);
	for (size_t i = 0; first == 0 && i < t->set->count; i++) {
		double ns = 0.0;
		keep(&first, text, dev_event_elapsed_ns(t->set->dev[i], t->begin[i], t->end[i], &ns));
		round.longest_s = 1e-9 * ns > round.longest_s ? 1e-9 * ns : round.longest_s;
	}
	if (first)
		return err_note(first, "%s", text);
	*round_p = round;
	return 0;
}
