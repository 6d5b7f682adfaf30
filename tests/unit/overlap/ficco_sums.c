/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of overlap/ficco's partial sums in every type that has a kernel for them: it accepts
 * what every schedule computes, and finds one partial sum that is added twice.
 */
#include "device/kernels.h"
#include "lib/err.h"
#include "overlap/ficco/variants.h"
#include "tests/unit/bench/bench_output.h"
#include "tests/unit/test.h"

/* The case's problem, and what became of it. */
static struct {
	struct ficco_problem problem;
	enum dev_type type;
	unsigned right, wrong, missed; /* results accepted; wrong ones found, and not */
} seen;

static int setup(struct bench_case *c)
{
	return TRY(c->status, variants_open(c, &seen.problem, seen.type, 0));
}

static bool finds_wrong(struct bench_case *c, long variant)
{
	const bool found = variants_check(c, variant) == -EBADMSG;
	c->status = 0;
	return found;
}

static void add_range(struct bench_case *c, struct dev *dev, void *to, const void *from,
		      uint64_t bytes)
{
	const uint32_t reps = 1;
	const void *args[] = {&to, &from, &bytes, &reps};
	const struct dev_launch l = {.grid = 1, .args = args};
	struct dev_kernel *kernel;
	TRY(c->status, dev_kernel_find(dev, flow_adding_kernel(seen.type), &kernel));
	TRY(c->status, dev_launch(dev, c->stream, kernel, &l));
	TRY(c->status, dev_stream_sync(dev, c->stream));
}

/* Adds again what a reduction added to C, looks, and restores C. */
static void add_twice(struct bench_case *c, long variant, const struct ficco_reduction *r)
{
	const struct operands *o = &((struct variants *)c->state)->operands;
	const struct ficco_rank *m = &o->rank[r->device];
	const uint64_t each = o->result_bytes, bytes = r->count * each;
	char *to = m->c + r->to_offset * each, *kept = malloc(bytes);
	require(kept);
	TRY(c->status, dev_download(m->dev, kept, to, bytes));
	add_range(c, c->dev, to, m->arrivals + r->from_offset * each, bytes);
	require(c->status == 0);
	if (finds_wrong(c, variant))
		seen.wrong++;
	else
		seen.missed++;
	TRY(c->status, dev_upload(m->dev, to, kept, bytes));
	free(kept);
}

static int check(struct bench_case *c, long variant)
{
	const struct ficco_plan *p = ((struct variants *)c->state)->plan[variant];
	if (variants_check(c, variant))
		return c->status;
	seen.right++;
	for (uint32_t i = 0; i < p->reduction_count; i++)
		if (!p->reductions[i].to_staging && p->reductions[i].device == 0)
			add_twice(c, variant, &p->reductions[i]);
	return c->status;
}

static void sum_on(const char *spec, enum ficco_op op, uint32_t ranks, enum dev_type type)
{
	static const struct axis axes[] = {BENCH_OPERANDS, {0}};
	static const struct bench stage = {.name = "test/stage",
					   .question = "is it right?",
					   .formula = "none",
					   .timed = "nothing",
					   .wants = DEV_CAP_PEER | DEV_CAP_COPY_ENGINE,
					   .axes = axes,
					   .variants = ficco_variants,
					   .state_bytes = sizeof(struct variants),
					   .setup = setup,
					   .body = variants_body,
					   .poison = variants_poison,
					   .check = check,
					   .teardown = variants_teardown};
	memset(&seen, 0, sizeof(seen));
	seen.problem = (struct ficco_problem){op, ranks, 8 * ranks * ranks, 64, 512, 1};
	seen.type = type;
	int code = run_captured(&stage, NULL, "--device", spec, "--out", "/dev/null",
				"--min-samples", "1", "--max-samples", "1");
	printf("# %s %s of %s: %u right, %u wrong, %u missed\n", spec, ficco_ops[op],
	       dev_type_names[type], seen.right, seen.wrong, seen.missed);
	expect(code == 0);
	expect(seen.right >= 5 && seen.wrong >= 5 && seen.missed == 0);
}

#define MODEL "sim:quiet?flops_bf16=1e12,flops_f8=1e12,flops_tf32=1e12"

static void every_type(enum ficco_op op, uint32_t ranks, const char *spec)
{
	for (unsigned type = 0; type < DEV_TYPES; type++)
		if (flow_adding_kernel((enum dev_type)type))
			sum_on(spec, op, ranks, (enum dev_type)type);
}

static void among_two_devices(void) { every_type(FICCO_GEMM_RS, 2, MODEL ":0,1"); }
static void among_eight_devices(void) { every_type(FICCO_GEMM_RS, 8, MODEL ":0-7"); }
static void returned_to_all(void) { every_type(FICCO_GEMM_AR, 4, MODEL ":0-3"); }
static void of_peers_in_host_memory(void) { every_type(FICCO_GEMM_RS, 8, MODEL); }

static void which_types_add(void)
{
	expect(flow_adding_kernel(DEV_F32) && flow_adding_kernel(DEV_TF32));
	expect(flow_adding_kernel(DEV_BF16) && flow_adding_kernel(DEV_F8));
	expect(!flow_adding_kernel(DEV_F16) && !flow_adding_kernel(DEV_F64));
	expect(!flow_adding_kernel(DEV_I8));
}

int main(void)
{
	test(which_types_add);
	test(among_two_devices);
	test(among_eight_devices);
	test(returned_to_all);
	test(of_peers_in_host_memory);
	return test_done();
}
