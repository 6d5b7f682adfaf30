/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of a wait that no scheduled work can end: which streams wait, and for what.
 */
#include "device/sim/device/calls.h"
#include "device/sim/t3/tracker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT_BYTES 16 /* of "; 99 more" */

/* Streams that do not fit are counted. */
struct blocked_list {
	char text[ERR_TEXT];
	size_t used;
	unsigned listed, left_out;
};

static void __attribute__((format(printf, 2, 3)))
append_text(struct blocked_list *l, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, args);
	va_end(args);
	if (length > 0)
		l->used += (size_t)length;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

static void show_wait(const struct op *op, char *text, size_t size)
{
	if (op->kind == OP_WAIT_VALUE)
		snprintf(text, size, "a value of %u (it is %u)", op->value,
			 *(const uint32_t *)(const void *)op->dst);
	else if (op->kind == OP_WAIT && op->stamp)
		snprintf(text, size, "an event of sim:%u stream %u",
			 op->stamp->stream->dev->base.index, op->stamp->stream->number);
	else if (op->kind == OP_WAIT_TILES)
		snprintf(text, size,
			 "a tracker: %u of %u tiles are incomplete, %u forwards in progress",
			 op->tracker->incomplete, op->tracker->tile_count, op->tracker->forwards);
	else
		snprintf(text, size, "a unit or an engine");
}

static void list_stream(struct blocked_list *l, const struct dev_stream *s)
{
	char wait[80], entry[160];
	show_wait(s->head, wait, sizeof(wait));
	snprintf(entry, sizeof(entry), "%ssim:%u stream %u waits for %s", l->listed ? "; " : "",
		 s->dev->base.index, s->number, wait);
	if (l->left_out || l->used + strlen(entry) + COUNT_BYTES >= sizeof(l->text)) {
		l->left_out++;
		return;
	}
	append_text(l, "%s", entry);
	l->listed++;
}

int sim_note_deadlock(const struct sim_dev *d, const char *what, const struct dev_stream *first)
{
	struct blocked_list l = {.used = 0};
	append_text(&l, "sim:%u: %s: deadlock: ", d->base.index, what);
	if (first->head)
		list_stream(&l, first);
	for (const struct sim_dev *any = sim_machine.devs; any; any = any->next)
		for (const struct dev_stream *s = any->streams; s; s = s->next)
			if (s->head && s != first)
				list_stream(&l, s);
	if (l.left_out)
		append_text(&l, "; %u more", l.left_out);
	return err_note(-EDEADLK, "%s", l.text);
}
