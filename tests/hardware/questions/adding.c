/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/hardware/questions/adding.h"
#include "tests/hardware/answers.h"

#include <math.h>

#define SIDE 1024u
#define DEPTH 64u
#define ROUNDS 5u

struct adding {
	struct dev *d;
	struct dev_stream *s;
	struct dev_event *from, *to;
	void *a, *c;
	struct dev_gemm g;
};

static int open_adding(struct adding *x, struct dev *d, enum dev_mem kind_of_c)
{
	const uint64_t a_bytes = sizeof(float) * SIDE * DEPTH,
		       c_bytes = sizeof(float) * SIDE * SIDE;
	*x = (struct adding){.d = d};
	if (!(dev_props(d)->gemm_adding_types >> DEV_F32 & 1))
		return err_note(-ENOTSUP, "the device has no GEMM of f32 that adds");
	int status = dev_alloc(d, DEV_MEM_DEVICE, a_bytes, &x->a);
	status = status ? status : dev_alloc(d, kind_of_c, c_bytes, &x->c);
	status = status ? status : dev_stream_open(d, dev_props(d)->priority_normal, &x->s);
	status = status ? status : dev_event_open(d, &x->from);
	status = status ? status : dev_event_open(d, &x->to);
	status = status ? status : dev_fill(d, x->s, x->a, 0, a_bytes);
	status = status ? status : dev_fill(d, x->s, x->c, 0, c_bytes);
	x->g = (struct dev_gemm){.type = DEV_F32,
				 .m = SIDE,
				 .n = SIDE,
				 .k = DEPTH,
				 .alpha = 1,
				 .a = x->a,
				 .b = x->a,
				 .c = x->c,
				 .lda = DEPTH,
				 .ldb = SIDE,
				 .ldc = SIDE,
				 .tiled = true};
	return status ? status : dev_stream_sync(d, x->s);
}

static void close_adding(struct adding *x)
{
	dev_event_close(x->d, x->from);
	dev_event_close(x->d, x->to);
	dev_stream_close(x->d, x->s);
	dev_free(x->d, x->a);
	dev_free(x->d, x->c);
}

int report_adding_to_pinned(const char *name, struct dev *d)
{
	struct adding x;
	int status = open_adding(&x, d, DEV_MEM_PINNED);
	if (!status) {
		x.g.adds = true;
		const int added = dev_gemm(d, x.s, &x.g);
		if (added == 0)
			print_answer(name, "yes", "-", "");
		else if (added == -ENOTSUP)
			print_answer(name, "no", "-", err_text());
		status = added == -ENOTSUP ? 0 : added;
	}
	status = status ? status : dev_stream_sync(d, x.s);
	close_adding(&x);
	return status;
}

static int time_gemm(struct adding *x, bool adds, double *min_ns)
{
	double ns = 0;
	x->g.adds = adds;
	int status = dev_event_record(x->d, x->s, x->from);
	status = status ? status : dev_gemm(x->d, x->s, &x->g);
	status = status ? status : dev_event_record(x->d, x->s, x->to);
	status = status ? status : dev_stream_sync(x->d, x->s);
	status = status ? status : dev_event_elapsed_ns(x->d, x->from, x->to, &ns);
	*min_ns = status ? *min_ns : fmin(*min_ns, ns);
	return status;
}

int report_adding_cost(const char *name, struct dev *d)
{
	struct adding x;
	char remark[96];
	double adds_ns = INFINITY, writes_ns = INFINITY;
	int status = open_adding(&x, d, DEV_MEM_DEVICE);
	for (unsigned i = 0; i < ROUNDS && !status; i++) {
		status = time_gemm(&x, false, &writes_ns);
		status = status ? status : time_gemm(&x, true, &adds_ns);
	}
	snprintf(remark, sizeof(remark), "%u x %u x %u: %.4g us that write", SIDE, SIDE, DEPTH,
		 1e-3 * writes_ns);
	if (!status)
		answer_number(name, adds_ns / writes_ns, "ratio", remark);
	close_adding(&x);
	return status;
}
