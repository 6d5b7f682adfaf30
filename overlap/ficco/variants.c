/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap/ficco/variants.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>

/* ------------------------------------------------------------------ running */

int variants_body(struct bench_case *c, long variant, uint64_t iterations)
{
	return bench_graph_time(c, ((struct variants *)c->state)->graph[variant], iterations);
}

/* First lays A out for the variant, in every set that will be used. */
static int run_whole(struct bench_case *c, long variant, uint64_t iterations)
{
	struct variants *all = c->state;
	struct work_graph *arrange = all->arrange[variant];
	const bool arranged = all->arranged == arrange;
	for (uint32_t i = 0; !arranged && i < rotation_sets(all->rotation); i++)
		TRY(c->status, work_graph_complete(arrange));
	if (!arranged && all->wash)
		TRY(c->status, work_graph_complete(all->wash));
	all->arranged = arrange;
	return TRY(c->status, variants_body(c, variant, iterations));
}

/* Seconds of the longest GEMM lane, or of the longest of all other lanes. */
static int time_side(struct bench_case *c, long variant, bool gemms)
{
	const struct variants *all = c->state;
	const struct operands *o = &all->operands;
	double longest_s = 0.0, seconds;
	TRY(c->status, work_graph_time(all->graph[variant], &seconds));
	for (uint32_t i = 0; c->status == 0 && i < o->ranks * RANK_LANES; i++) {
		uint32_t kind = i % RANK_LANES, lane = o->rank[i / RANK_LANES].lane[kind];
		if ((kind == LANE_COMPUTE) != gemms)
			continue;
		int status = work_graph_lane_seconds(all->graph[variant], lane, &seconds);
		if (status == 0)
			longest_s = fmax(longest_s, seconds);
		else if (status != -ENOENT)
			c->status = status;
	}
	c->self_seconds += longest_s;
	return c->status;
}

static int time_gemms(struct bench_case *c, long variant) { return time_side(c, variant, true); }

static int time_copies(struct bench_case *c, long variant) { return time_side(c, variant, false); }

static void model_gemms(const struct bench_case *c, long variant, struct bench_model *m)
{
	const struct variants *all = c->state;
	const struct ficco_plan *p = all->plan[variant];
	for (uint32_t d = 0; d < all->operands.devices; d++)
		m->flops += 2.0 * p->all_rows[d] * p->problem.n * p->problem.k;
}

static void model_transfers(const struct bench_case *c, long variant, struct bench_model *m)
{
	const struct variants *all = c->state;
	const struct ficco_plan *p = all->plan[variant];
	for (uint32_t i = 0; i < p->transfer_count; i++)
		if (flow_carries(&all->operands, &p->transfers[i])) {
			m->bytes += (double)(p->transfers[i].count * all->operands.sent_bytes);
			m->messages += 1.0;
		}
	for (uint32_t i = 0; i < p->return_count; i++) {
		m->bytes += (double)(p->returns[i].count * all->operands.sent_bytes);
		m->messages += 1.0;
	}
}

static void model_whole(const struct bench_case *c, long variant, struct bench_model *m)
{
	model_gemms(c, variant, m);
	model_transfers(c, variant, m);
}

/* As much as serial; in how many messages is unknown. */
static void model_library(const struct bench_case *c, long variant, struct bench_model *m)
{
	model_whole(c, FICCO_SERIAL, m);
	m->messages = 0.0;
}

static void model_library_comm(const struct bench_case *c, long variant, struct bench_model *m)
{
	model_transfers(c, FICCO_SERIAL, m);
	m->messages = 0.0;
}

int variants_poison(struct bench_case *c, long variant)
{
	struct variants *all = c->state;
	all->arranged = NULL;
	TRY(c->status, work_graph_complete(all->operands.poison));
	return TRY(c->status, rotation_spread(all->rotation, 1));
}

int variants_check(struct bench_case *c, long variant)
{
	const struct variants *all = c->state;
	TRY(c->status, rotation_collect(all->rotation));
	return TRY(c->status, operands_check(&all->operands, c, all->plan[variant]));
}

/* ------------------------------------------------------------------ the variants */

#define WHOLE(id, label, work)                                                                     \
	[id] = {(label), BENCH_SELF, .arg = (id), .body = run_whole, .model = (work)},
#define PART(id, label, work, time)                                                                \
	[id] = {(label), BENCH_SELF, .arg = (id), .once = (time), .model = (work), REFERENCE},
#define REFERENCE .reference = true, .always = true
#define SCHEDULE(id, label, ...) WHOLE(FICCO_##id, label, model_whole)
#define BASELINE_PARTS(id, label, ...)                                                             \
	PART(VARIANTS_GEMM, "gemm", model_gemms, NULL)                                             \
	PART(VARIANTS_COMM, "communication", model_transfers, NULL)
#define PARTS(id, label, ...)                                                                      \
	PART(VARIANT_##id##_GEMMS, label "-gemms", model_gemms, NULL)                              \
	PART(VARIANT_##id##_TRANSFERS, label "-transfers", model_transfers, NULL)                  \
	PART(VARIANT_##id##_GEMMS_CONCURRENT, label "-gemms-concurrent", model_gemms, time_gemms)  \
	PART(VARIANT_##id##_TRANSFERS_CONCURRENT, label "-transfers-concurrent", model_transfers,  \
	     time_copies)
const struct bench_variant ficco_variants[VARIANTS_ALL + 1] = {
	FICCO_SCHEDULE_TABLE(SCHEDULE, SCHEDULE)                 /**/
	FICCO_SCHEDULE_TABLE(BASELINE_PARTS, PARTS)              /**/
	WHOLE(VARIANTS_LIBRARY, "serial-library", model_library) /**/
	PART(VARIANTS_LIBRARY_COMM, "communication-library", model_library_comm, NULL)};

#define BASELINE_PARTS_OF(id, ...) [FICCO_##id] = {VARIANTS_GEMM, VARIANTS_COMM},
#define PARTS_OF(id, ...) [FICCO_##id] = {FICCO_PARTS_ENUM(id, __VA_ARGS__)},
const struct ficco_parts ficco_parts[FICCO_SCHEDULES] = {
	FICCO_SCHEDULE_TABLE(BASELINE_PARTS_OF, PARTS_OF)};

/* ------------------------------------------------------------------ set-up */

static void note_skipped(struct variants *all, const char *name)
{
	text_fit_more(all->skipped, sizeof(all->skipped), "%s%s", all->skipped[0] ? " " : "", name);
	text_fit(all->skipped_why, sizeof(all->skipped_why), "%s", err_text());
}

static void turn_off(struct bench_case *c, unsigned schedule)
{
	const struct ficco_parts *of = &ficco_parts[schedule];
	bench_variant_off(c, schedule);
	bench_variant_off(c, of->gemms);
	bench_variant_off(c, of->transfers);
	bench_variant_off(c, of->gemms_concurrent);
	bench_variant_off(c, of->transfers_concurrent);
}

static void skip_schedule(struct bench_case *c, unsigned schedule)
{
	turn_off(c, schedule);
	note_skipped(c->state, ficco_schedules[schedule]);
}

static int check_any_left(const struct bench_case *c)
{
	const char *why = ((struct variants *)c->state)->skipped_why;
	bool any = bench_variant_on(c, VARIANTS_LIBRARY);
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		any = any || bench_variant_on(c, s);
	return any ? 0 : err_note(-ENOTSUP, "%s", why[0] ? why : err_text());
}

/* Skips a schedule that the plan or the devices refuse, but serial: the references need it. */
static void open_plan(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		      enum ficco_schedule schedule)
{
	struct variants *all = c->state;
	int status = ficco_plan_open(problem, schedule, &all->plan[schedule]);
	TRY(status, flow_admit(all->plan[schedule], type, all->blocks));
	const bool refused = status == -EINVAL || status == -ENOTSUP;
	if (refused && schedule != FICCO_SERIAL)
		skip_schedule(c, schedule);
	else
		TRY(c->status, refused ? err_note(-ENOTSUP, "%s", err_text()) : status);
}

/* Skips a schedule with too many operations for a queue. */
static void open_flow(struct bench_case *c, unsigned s, unsigned variant, enum flow_part part)
{
	struct variants *all = c->state;
	all->plan[variant] = all->plan[s];
	if (c->status || !bench_variant_on(c, variant))
		return;
	const int status = flow_open(&all->operands, c, all->plan[variant], part, all->blocks,
				     &all->graph[variant]);
	if (status == -ENOTSUP)
		skip_schedule(c, s);
	else
		TRY(c->status, status);
}

/* The sides of concurrent parts share a graph. */
static void open_parts(struct bench_case *c, unsigned s)
{
	struct variants *all = c->state;
	const struct ficco_parts *of = &ficco_parts[s];
	open_flow(c, s, of->gemms, FLOW_GEMMS);
	open_flow(c, s, of->transfers, FLOW_TRANSFERS);
	if (!of->gemms_concurrent)
		return;
	open_flow(c, s, of->gemms_concurrent, FLOW_CONCURRENT);
	all->plan[of->transfers_concurrent] = all->plan[s];
	all->graph[of->transfers_concurrent] = all->graph[of->gemms_concurrent];
}

/* Without the library, or where it cannot do the problem, only its own variants are missing. */
static void open_library(struct bench_case *c, const struct ficco_problem *problem,
			 enum dev_type type)
{
	struct variants *all = c->state;
	struct ficco_library *l = &all->library;
	const bool has = bench_variant_on(c, VARIANTS_LIBRARY) && c->devices->count > 1 &&
			 dev_can(c->dev, DEV_CAP_COLLECTIVES);
	int status = has ? library_open(l, c, problem, type)
			 : err_note(-ENOTSUP, "these devices have no collectives library");
	TRY(status, library_graph(l, &all->operands, c, true, &all->graph[VARIANTS_LIBRARY]));
	TRY(status, library_graph(l, &all->operands, c, false, &all->graph[VARIANTS_LIBRARY_COMM]));
	all->plan[VARIANTS_LIBRARY] = l->plan;
	if (status == 0)
		return;
	if (status != -ENOTSUP)
		TRY(c->status, status);
	else if (has)
		note_skipped(all, ficco_variants[VARIANTS_LIBRARY].name);
	all->graph[VARIANTS_LIBRARY] = all->graph[VARIANTS_LIBRARY_COMM] = NULL;
	l->comm = NULL;
	bench_variant_off(c, VARIANTS_LIBRARY);
	bench_variant_off(c, VARIANTS_LIBRARY_COMM);
}

/* Arranging is not a run: it is not timed, and what it touches is washed out of the caches. */
static int rotate_operands(struct bench_case *c)
{
	struct variants *all = c->state;
	uint32_t lanes[DEV_MAX];
	TRY(c->status, bench_rotate_cold(c, all->graph, VARIANTS_ALL, &all->rotation));
	if (c->status || !all->rotation)
		return c->status;
	for (unsigned v = 0; v < VARIANTS_ALL; v++)
		if (all->arrange[v])
			TRY(c->status, rotation_attach(all->rotation, all->arrange[v]));
	for (uint32_t i = 0; i < all->operands.devices; i++)
		lanes[i] = all->operands.rank[i].lane[LANE_SETUP];
	all->wash = rotation_wash(c, all->operands.lanes, lanes);
	return c->status;
}

int variants_open(struct bench_case *c, const struct ficco_problem *problem, enum dev_type type,
		  uint32_t blocks)
{
	struct variants *all = c->state;
	bool columns_cut = false;
	all->blocks = blocks;
	for (unsigned s = 0; c->status == 0 && s < FICCO_SCHEDULES; s++) {
		if (s == FICCO_SERIAL || bench_variant_on(c, s))
			open_plan(c, problem, type, (enum ficco_schedule)s);
		else
			turn_off(c, s);
		columns_cut |=
			c->status == 0 && bench_variant_on(c, s) && all->plan[s]->k_steps > 1;
	}
	TRY(c->status, check_any_left(c));
	TRY(c->status, bench_enable_peers(c));
	TRY(c->status,
	    operands_open(&all->operands, c, all->plan[FICCO_SERIAL], type, columns_cut));
	if (bench_checked(c))
		TRY(c->status, operands_expect(&all->operands, c));
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		open_flow(c, s, s, FLOW_WHOLE);
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		open_parts(c, s);
	if (c->status == 0)
		open_library(c, problem, type);
	for (unsigned v = 0; c->status == 0 && v < VARIANTS_ALL; v++)
		if (bench_variant_on(c, v) && !ficco_variants[v].reference)
			all->arrange[v] = operands_arrange(&all->operands, c, all->plan[v]);
	TRY(c->status, check_any_left(c));
	return TRY(c->status, rotate_operands(c));
}

void variants_teardown(struct bench_case *c)
{
	struct variants *all = c->state;
	for (unsigned s = 0; s < FICCO_SCHEDULES; s++)
		ficco_plan_close(all->plan[s]);
	ficco_plan_close(all->library.plan);
}
