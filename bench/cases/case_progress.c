/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cases/case_progress.h"
#include "bench/cases/cases.h"
#include "bench/quantities/quantities.h"
#include "bench/run/point.h"
#include "lib/err.h"
#include "lib/units.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int case_progress_open(struct case_progress *p, const char *path)
{
	*p = (struct case_progress){.fd = -1};
	if (!path)
		return 0;
	p->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	return p->fd < 0 ? err_note(-errno, "--progress %s: %s", path, strerror(errno)) : 0;
}

void case_progress_close(struct case_progress *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void put_last(struct json *j, const struct case_progress *p)
{
	char text[40];
	if (!p->last) {
		json_null(j, "last");
		return;
	}
	json_object_begin(j, "last");
	json_string(j, "metric", p->last->metric);
	json_string(j, "text", units_show(text, sizeof(text), p->value, p->unit));
	json_object_end(j);
}

void case_progress_begin(struct bench_run *r, size_t number, size_t of)
{
	struct json whole = {0}, *j = &whole;
	if (r->cases->progress.fd < 0)
		return;
	json_object_begin(j, NULL);
	json_integer(j, "number", number);
	json_integer(j, "of", of);
	json_string(j, "key", r->key);
	put_last(j, &r->cases->progress);
	json_object_end(j);
	if (json_finish(j) || ftruncate(r->cases->progress.fd, 0) ||
	    pwrite(r->cases->progress.fd, j->text, j->length, 0) < 0)
		case_progress_close(&r->cases->progress);
	json_free(j);
}

void case_progress_end(struct bench_run *r)
{
	if (r->cases->progress.fd < 0)
		return;
	for (const struct bench_metric *m = r->b->primary; m && m->metric; m++) {
		const struct bench_derived *d = bench_find_metric(r, m);
		if (!d || !isfinite(d->value) || !bench_derived_valid(r, d) ||
		    !bench_is_headline(r, m))
			continue;
		r->cases->progress.last = m;
		r->cases->progress.value = d->value;
		snprintf(r->cases->progress.unit, sizeof(r->cases->progress.unit), "%s", d->unit);
	}
}
