/* SPDX-License-Identifier: BSD-3-Clause */
#include "micro/neighbour/neighbour.h"
#include "lib/err.h"

#include <errno.h>
#include <string.h>

static bool is_virtual(const struct bench_case *c) { return dev_can(c->dev, DEV_CAP_VIRTUAL_TIME); }

int neighbour_admit(const struct bench_case *c, const struct neighbour_spec *spec)
{
	if (is_virtual(c) && c->devices->count < 2)
		return err_note(-ENOTSUP, "in virtual time there is no other process: the "
					  "neighbour works on a second device, such as "
					  "--device 'sim:default?tenants=2:0,1'");
	if (is_virtual(c) && (neighbour_sees_only(spec->sees) || strcmp(spec->group, "none") != 0))
		return err_note(-ENOTSUP, "in virtual time the neighbour is no process, which "
					  "--sees and --group are for");
	return workload_admit(c, &spec->work);
}

int neighbour_open(struct neighbour *n, struct bench_case *c, struct work_lanes *lanes,
		   const struct neighbour_spec *spec)
{
	struct workload_spec work = spec->work;
	const struct neighbour_process_spec process = {.work = workload_names[work.kind],
						       .type = dev_type_names[work.type],
						       .sees = spec->sees,
						       .group = spec->group};
	work.device = (unsigned)c->devices->count - 1;
	return is_virtual(c) ? TRY(c->status, workload_open(&n->work, c, lanes, &work))
			     : TRY(c->status, neighbour_process_open(c, &process, &n->process));
}

void neighbour_close(struct neighbour *n) { neighbour_process_close(n->process); }

int neighbour_begin(struct neighbour *n, struct bench_case *c, struct dev_stream *stream)
{
	n->samples++;
	if (n->process)
		return TRY(c->status, neighbour_process_begin(n->process));
	workload_start(&n->work, c);
	return TRY(c->status, dev_stream_wait(c->dev, stream, n->work.begin));
}

int neighbour_keep(struct neighbour *n, struct bench_case *c, struct dev_event *end)
{
	while (c->status == 0 && !n->process &&
	       (end ? dev_event_query(c->dev, end) == -EAGAIN : workload_is_due(&n->work))) {
		workload_follow(&n->work, c);
		n->pieces++;
	}
	return c->status;
}

int neighbour_end(struct neighbour *n, struct bench_case *c)
{
	uint64_t pieces = 1; /* the second of the two that are queued */
	const int ended = n->process ? neighbour_process_end(n->process, &pieces)
				     : dev_stream_sync(n->work.dev, n->work.stream);
	n->pieces += pieces;
	return TRY(c->status, ended);
}

int neighbour_verify(const struct neighbour *n, struct bench_case *c, uint64_t uses)
{
	bench_mechanism_of(c, uses, "neighbour_works_meanwhile", n->pieces >= n->samples,
			   "%llu pieces of its work ended in %llu samples",
			   (unsigned long long)n->pieces, (unsigned long long)n->samples);
	return c->status;
}

const char *neighbour_device(const struct neighbour *n)
{
	return n->process ? neighbour_process_device(n->process) : dev_props(n->work.dev)->name;
}
