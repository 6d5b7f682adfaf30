/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FiCCO's schedules, executed symbolically: an element is a name made of device, group, row and
 * column. Runs every operation and number of devices, with shapes that divide evenly and shapes
 * that do not. In every order that the dependencies allow, no GEMM reads data that has not arrived,
 * every element is computed once, every partial sum is added once, and bytes are conserved.
 */
#include "lib/rng.h"
#include "tests/unit/overlap/ficco_plans.h"

/* ------------------------------------------------------------------ symbols */

/* The name of an element of A: device of origin, receiver, row of the group, column; 0 is no
 * element. */
static uint32_t element_name(uint32_t origin, uint32_t to, uint32_t row, uint32_t column)
{
	return 1 + (((origin * MAX_DEVICES + to) * 1024 + row) * 128 + column);
}

/* An element of staging memory or C: how many columns it sums, and a bit for every device whose
 * partial sum it contains. */
struct cell {
	uint32_t columns, terms;
};

struct world {
	const struct ficco_plan *p;
	uint32_t *a[MAX_DEVICES], *send[MAX_DEVICES]; /* names */
	struct cell *c[MAX_DEVICES], *staging[MAX_DEVICES];
	bool *sent, *computed, *reduced, *returned;
	uint32_t wrong;
};

static uint32_t name_destination(const struct ficco_plan *p, uint32_t to)
{
	return p->problem.op == FICCO_AG_GEMM ? 0 : to;
}

/* Lays out what a device sends: group after group, each in slabs. */
static void lay_out_sources(struct world *w, uint32_t d)
{
	const struct ficco_plan *p = w->p;
	uint64_t at = 0;
	uint32_t groups = p->problem.op == FICCO_AG_GEMM ? 1 : p->problem.devices;
	for (uint32_t to = 0; p->send_elements[d] && to < groups; to++) {
		uint32_t rows = p->problem.op == FICCO_AG_GEMM ? p->rows[d][d] : p->rows[to][d];
		for (uint32_t slab = 0; slab < p->k_steps; slab++)
			for (uint32_t row = 0; row < rows; row++)
				for (uint32_t k = ficco_part_begin(p->problem.k, p->k_steps, slab);
				     k < ficco_part_begin(p->problem.k, p->k_steps, slab + 1); k++)
					w->send[d][at++] = element_name(d, to, row, k);
	}
	expect(at == p->send_elements[d]);
}

static uint64_t a_index(const struct ficco_plan *p, uint32_t device, uint32_t row, uint32_t column)
{
	uint32_t slab = 0;
	while (ficco_part_begin(p->problem.k, p->k_steps, slab + 1) <= column)
		slab++;
	uint32_t from = ficco_part_begin(p->problem.k, p->k_steps, slab),
		 to = ficco_part_begin(p->problem.k, p->k_steps, slab + 1);
	return (uint64_t)p->all_rows[device] * from + (uint64_t)row * (to - from) + (column - from);
}

/* At the start A holds the device's own rows; with sums all rows. */
static void lay_out_a(struct world *w)
{
	const struct ficco_plan *p = w->p;
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		bool there = ficco_sums(p->problem.op) || chunk->group == chunk->device;
		for (uint32_t row = 0; there && row < chunk->rows; row++)
			for (uint32_t k = 0; k < p->problem.k; k++)
				w->a[chunk->device][a_index(p, chunk->device, chunk->at + row, k)] =
					element_name(chunk->group,
						     name_destination(p, chunk->device),
						     chunk->first + row, k);
	}
}

static void make_world(struct world *w, const struct ficco_plan *p)
{
	*w = (struct world){.p = p};
	for (uint32_t d = 0; d < p->problem.devices; d++) {
		w->a[d] = calloc((uint64_t)p->all_rows[d] * p->problem.k, sizeof(*w->a[d]));
		w->send[d] = calloc(p->send_elements[d] + 1, sizeof(*w->send[d]));
		w->c[d] = calloc((uint64_t)p->all_rows[d] * p->problem.n, sizeof(*w->c[d]));
		w->staging[d] = calloc(p->staging_elements[d] + 1, sizeof(*w->staging[d]));
		require(w->a[d] && w->send[d] && w->c[d] && w->staging[d]);
		lay_out_sources(w, d);
	}
	w->sent = calloc(p->transfer_count + 1, sizeof(bool));
	w->computed = calloc(p->piece_count + 1, sizeof(bool));
	w->reduced = calloc(p->reduction_count + 1, sizeof(bool));
	w->returned = calloc(p->return_count + 1, sizeof(bool));
	require(w->sent && w->computed && w->reduced && w->returned);
	lay_out_a(w);
}

static void free_world(struct world *w)
{
	for (uint32_t d = 0; d < w->p->problem.devices; d++) {
		free(w->a[d]);
		free(w->send[d]);
		free(w->c[d]);
		free(w->staging[d]);
	}
	free(w->sent);
	free(w->computed);
	free(w->reduced);
	free(w->returned);
}

static bool try_transfer(struct world *w, size_t i)
{
	const struct ficco_plan *p = w->p;
	const struct ficco_transfer *t = &p->transfers[i];
	if (w->sent[i] || (t->piece != FICCO_NONE && !w->computed[t->piece]))
		return false;
	for (size_t before = 0; before < i; before++)
		if (p->transfers[before].from == t->from && p->transfers[before].link == t->link &&
		    p->transfers[before].to == t->to && !w->sent[before])
			return false;
	for (uint64_t e = 0; e < t->count; e++) {
		if (ficco_sums(p->problem.op)) {
			w->wrong += w->c[t->from][t->from_offset + e].columns != p->problem.k;
			w->wrong += w->staging[t->to][t->to_offset + e].terms != 0;
			w->staging[t->to][t->to_offset + e] = w->c[t->from][t->from_offset + e];
		} else {
			w->wrong += w->a[t->to][t->to_offset + e] != 0;
			w->a[t->to][t->to_offset + e] = w->send[t->from][t->from_offset + e];
		}
	}
	return w->sent[i] = true;
}

/* The name of the first element that must be at a row of a device. */
static uint32_t expected_name(const struct ficco_plan *p, uint32_t device, uint32_t row,
			      uint32_t column)
{
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		if (chunk->device == device && row - chunk->at < chunk->rows)
			return element_name(chunk->group, name_destination(p, device),
					    chunk->first + row - chunk->at, column);
	}
	return 0;
}

static bool try_piece(struct world *w, size_t i)
{
	const struct ficco_plan *p = w->p;
	const struct ficco_piece *g = &p->pieces[i];
	bool ready = !w->computed[i] &&
		     (i == 0 || p->pieces[i - 1].device != g->device || w->computed[i - 1]);
	for (uint32_t t = 0; t < g->transfers; t++)
		ready = ready && w->sent[g->first_transfer + t];
	if (!ready)
		return false;
	for (uint32_t row = 0; row < g->rows; row++) {
		uint32_t first = expected_name(p, g->device, g->row + row, g->column);
		for (uint32_t k = 0; k < g->columns; k++)
			w->wrong += w->a[g->device][g->a_offset + (uint64_t)row * g->columns + k] !=
				    first + k;
		for (uint32_t n = 0; n < p->problem.n; n++) {
			struct cell *cell =
				&w->c[g->device][(uint64_t)(g->row + row) * p->problem.n + n];
			w->wrong += cell->columns != g->column;
			cell->columns += g->columns;
			cell->terms = 1u << g->device;
		}
	}
	return w->computed[i] = true;
}

static bool try_reduction(struct world *w, size_t i)
{
	const struct ficco_plan *p = w->p;
	const struct ficco_reduction *r = &p->reductions[i];
	bool ready = !w->reduced[i] &&
		     (i == 0 || p->reductions[i - 1].device != r->device || w->reduced[i - 1]);
	for (int t = 0; t < 2; t++)
		ready = ready && (r->transfer[t] == FICCO_NONE || w->sent[r->transfer[t]]);
	if (!ready || (r->piece != FICCO_NONE && !w->computed[r->piece]))
		return false;
	struct cell *to = r->to_staging ? w->staging[r->device] : w->c[r->device];
	for (uint64_t e = 0; e < r->count; e++) {
		const struct cell *from = &w->staging[r->device][r->from_offset + e];
		struct cell *sum = &to[r->to_offset + e];
		w->wrong += from->terms == 0 || sum->terms == 0 || (from->terms & sum->terms) != 0;
		w->wrong += from->columns != p->problem.k || sum->columns != p->problem.k;
		sum->terms |= from->terms;
	}
	return w->reduced[i] = true;
}

/* A sum must be complete, and overwrite a partial sum of the receiver that has left. */
static bool try_return(struct world *w, size_t i)
{
	const struct ficco_plan *p = w->p;
	const struct ficco_return *r = &p->returns[i];
	const uint32_t all = (1u << p->problem.devices) - 1;
	bool ready = !w->returned[i] && w->reduced[r->reduction];
	for (size_t before = 0; before < i; before++)
		ready = ready && (p->returns[before].from != r->from ||
				  p->returns[before].link != r->link || w->returned[before]);
	if (!ready)
		return false;
	for (uint32_t t = 0; t < p->transfer_count; t++) {
		const struct ficco_transfer *left = &p->transfers[t];
		w->wrong += left->from == r->to && !w->sent[t] &&
			    left->from_offset < r->to_offset + r->count &&
			    r->to_offset < left->from_offset + left->count;
	}
	for (uint64_t e = 0; e < r->count; e++) {
		const struct cell *sum = &w->c[r->from][r->from_offset + e];
		struct cell *to = &w->c[r->to][r->to_offset + e];
		w->wrong += sum->terms != all || to->terms != 1u << r->to;
		*to = *sum;
	}
	return w->returned[i] = true;
}

static bool try_work(struct world *w, size_t i)
{
	const struct ficco_plan *p = w->p;
	if (i < p->transfer_count)
		return try_transfer(w, i);
	i -= p->transfer_count;
	if (i < p->piece_count)
		return try_piece(w, i);
	i -= p->piece_count;
	return i < p->reduction_count ? try_reduction(w, i) : try_return(w, i - p->reduction_count);
}

/* Executes everything that is ready, in random order, until nothing is ready. */
static void execute_in_random_order(struct world *w, struct rng *r)
{
	const struct ficco_plan *p = w->p;
	size_t all = p->transfer_count + p->piece_count + p->reduction_count + p->return_count,
	       done = 0, before;
	do {
		before = done;
		uint64_t start = rng_below(r, all), stride = rng_below(r, 2) ? 1 : all - 1;
		for (size_t n = 0; n < all; n++) {
			done += try_work(w, (size_t)((start + n * stride) % all));
		}
	} while (done > before);
	expect(done == all);
}

static void check_results(struct world *w)
{
	const struct ficco_plan *p = w->p;
	bool sums = ficco_sums(p->problem.op), returns = p->problem.op == FICCO_GEMM_AR;
	uint32_t all = (1u << p->problem.devices) - 1;
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		for (uint32_t row = 0; row < chunk->rows; row++)
			for (uint32_t n = 0; n < p->problem.n; n++) {
				const struct cell *cell =
					&w->c[chunk->device]
					     [(uint64_t)(chunk->at + row) * p->problem.n + n];
				w->wrong += cell->columns != p->problem.k;
				w->wrong += sums && (returns || chunk->group == chunk->device) &&
					    cell->terms != all;
			}
	}
	expect(w->wrong == 0);
	if (w->wrong)
		printf("# %s %s on %u, %ux%ux%u: %u wrong\n", ficco_ops[p->problem.op],
		       ficco_schedules[p->schedule], p->problem.devices, p->problem.m, p->problem.n,
		       p->problem.k, w->wrong);
}

static void execute_symbolically(const struct ficco_plan *p)
{
	struct rng r;
	struct world w;
	rng_seed(&r, p->problem.devices, p->schedule);
	if ((uint64_t)p->problem.m * p->problem.k * p->problem.devices > 60000 &&
	    p->problem.devices % 3)
		return; /* large shapes only for some numbers of devices */
	make_world(&w, p);
	execute_in_random_order(&w, &r);
	check_results(&w);
	free_world(&w);
}

static void every_order_gives_the_result(void) { for_all_plans(execute_symbolically); }

/* ------------------------------------------------------------------ layout and conservation */

static void check_chunks_cover(const struct ficco_plan *p)
{
	uint32_t at = 0, device = 0, wrong = 0;
	uint32_t rows[MAX_DEVICES][MAX_DEVICES] = {{0}};
	for (size_t i = 0; i < p->chunk_count; i++) {
		const struct ficco_chunk *chunk = &p->chunks[i];
		if (chunk->device != device) {
			wrong += at != p->all_rows[device];
			device = chunk->device;
			at = 0;
		}
		wrong += chunk->at != at || chunk->rows == 0 ||
			 chunk->first != rows[chunk->device][chunk->group];
		const struct ficco_piece *piece = &p->pieces[chunk->piece];
		wrong += piece->device != chunk->device || piece->column != 0 ||
			 chunk->at < piece->row ||
			 chunk->at + chunk->rows > piece->row + piece->rows;
		at += chunk->rows;
		rows[chunk->device][chunk->group] += chunk->rows;
	}
	wrong += at != p->all_rows[device] || device + 1 != p->problem.devices;
	for (uint32_t d = 0; d < p->problem.devices; d++)
		for (uint32_t r = 0; r < p->problem.devices; r++)
			wrong += rows[d][r] != p->rows[d][r];
	expect(wrong == 0);
}

/* A device receives all groups except its own, and nothing else; with an even shape, (G-1)/G of A.
 */
static void bytes_are_conserved(const struct ficco_plan *p)
{
	uint64_t in[MAX_DEVICES] = {0}, out[MAX_DEVICES] = {0},
		 width = ficco_sums(p->problem.op) ? p->problem.n : p->problem.k;
	uint32_t g = p->problem.devices;
	for (size_t i = 0; i < p->transfer_count; i++) {
		in[p->transfers[i].to] += p->transfers[i].count;
		out[p->transfers[i].from] += p->transfers[i].count;
		expect(p->transfers[i].from != p->transfers[i].to && p->transfers[i].count > 0);
	}
	uint64_t given = 0, returned = 0;
	for (size_t i = 0; i < p->return_count; i++)
		returned += p->returns[i].count;
	expect(returned ==
	       (p->problem.op == FICCO_GEMM_AR ? (g - 1) * (uint64_t)p->problem.m * width : 0));
	for (uint32_t d = 0; d < g; d++) {
		uint64_t due = p->all_rows[d] - p->rows[d][d];
		if (ficco_sums(p->problem.op))
			due = (uint64_t)(g - 1) * p->rows[d][d];
		expect(in[d] == due * width);
		if (p->problem.m % g == 0 && p->problem.op != FICCO_A2A_GEMM_UNEVEN)
			expect(g * in[d] == (g - 1) * (uint64_t)p->problem.m * width &&
			       out[d] == in[d]);
		given += p->all_rows[d];
	}
	expect(given == (uint64_t)g * p->problem.m);
}

static void check_layout(const struct ficco_plan *p)
{
	check_chunks_cover(p);
	bytes_are_conserved(p);
}

static void layouts_cover_and_bytes_are_conserved(void) { for_all_plans(check_layout); }

static void an_uneven_router_is_uneven(void)
{
	struct ficco_plan *p = plan_of(FICCO_A2A_GEMM_UNEVEN, 4, 3, FICCO_SERIAL);
	struct ficco_plan *again = plan_of(FICCO_A2A_GEMM_UNEVEN, 4, 3, FICCO_UNIFORM_FUSED_1D);
	require(p && again);
	uint32_t min_rows = UINT32_MAX, max_rows = 0;
	for (uint32_t d = 0; d < 4; d++) {
		uint32_t given = 0;
		for (uint32_t to = 0; to < 4; to++)
			given += p->rows[to][d];
		expect(given == shapes[3].m);
		min_rows = p->all_rows[d] < min_rows ? p->all_rows[d] : min_rows;
		max_rows = p->all_rows[d] > max_rows ? p->all_rows[d] : max_rows;
	}
	expect(max_rows > min_rows);
	expect(memcmp(p->rows, again->rows, sizeof(p->rows)) == 0);
	ficco_plan_close(p);
	ficco_plan_close(again);
}

/* ------------------------------------------------------------------ refusals */

/* If the rows divide evenly, all-to-all is all-gather with other sources. */
static void an_even_all_to_all_is_the_work_of_an_all_gather(void)
{
	for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++)
		for (unsigned s = 0; s < FICCO_SCHEDULES; s++) {
			enum ficco_schedule schedule = (enum ficco_schedule)s;
			struct ficco_plan *gather =
				plan_of(FICCO_AG_GEMM, devices, MANY_ROWS, schedule);
			for (unsigned op = 0; op < FICCO_OPS; op++) {
				struct ficco_plan *other =
					plan_of((enum ficco_op)op, devices, MANY_ROWS, schedule);
				require(gather);
				if (other)
					expect(ficco_plan_same_work(gather, other) ==
					       (op == FICCO_AG_GEMM || op == FICCO_A2A_GEMM));
				ficco_plan_close(other);
			}
			ficco_plan_close(gather);
		}
}

/* Group r lies where a library puts what rank r has: at r m / G, on every device. */
static void a_collective_plan_has_groups_in_the_order_of_ranks(void)
{
	for (unsigned op = 0; op < FICCO_OPS; op++)
		for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++) {
			const struct ficco_problem o = {
				(enum ficco_op)op, devices, 24 * devices, 4, 8, 7};
			struct ficco_plan *p = NULL;
			int status = ficco_collective_plan_open(&o, &p);
			expect((status == 0) == (op != FICCO_A2A_GEMM_UNEVEN));
			if (status) {
				expect(status == -ENOTSUP && !p && strstr(err_text(), "unequal"));
				continue;
			}
			check_chunks_cover(p);
			for (uint32_t i = 0; i < p->chunk_count; i++)
				expect(p->chunks[i].at == 24 * p->chunks[i].group);
			expect(p->chunk_count == devices * devices && p->piece_count == devices);
			expect(p->transfer_count == 0 && p->reduction_count == 0 &&
			       p->return_count == 0 && p->pieces[0].rows == 24 * devices &&
			       p->pieces[0].transfers == 0);
			ficco_plan_close(p);
		}
	struct ficco_plan *none = NULL;
	const struct ficco_problem odd = {FICCO_AG_GEMM, 4, 63, 4, 8, 7};
	expect(ficco_collective_plan_open(&odd, &none) == -ENOTSUP && !none);
}

static void expect_refusal(struct ficco_problem o, enum ficco_schedule schedule, int wanted,
			   const char *word)
{
	struct ficco_plan *p = NULL;
	err_clear();
	expect(ficco_plan_open(&o, schedule, &p) == wanted);
	expect(p == NULL && strstr(err_text(), word) != NULL);
}

static void undefined_problems_are_refused(void)
{
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 1, 64, 64, 64, 1}, FICCO_SERIAL,
		       -EINVAL, "1 devices");
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 65, 6400, 64, 64, 1}, FICCO_SERIAL,
		       -EINVAL, "65 devices");
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 4, 64, 0, 64, 1}, FICCO_SERIAL,
		       -EINVAL, "is 0");
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 4, 3, 64, 64, 1}, FICCO_SERIAL,
		       -EINVAL, "cannot be cut");
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 4, 15, 64, 64, 1},
		       FICCO_HETERO_FUSED_1D, -EINVAL, "cannot be cut");
	expect_refusal((struct ficco_problem){FICCO_GEMM_RS, 4, 1, 64, 64, 1}, FICCO_SERIAL,
		       -EINVAL, "M = 1 cannot be cut into 4 parts with a row in each; --cut");
	expect_refusal((struct ficco_problem){FICCO_GEMM_RS, 4, 15, 1, 64, 1, true},
		       FICCO_HETERO_FUSED_1D, -EINVAL,
		       "N = 15 cannot be cut into 16 parts with a column in each");
	expect_refusal((struct ficco_problem){FICCO_AG_GEMM, 4, 16, 64, 3, 1},
		       FICCO_UNIFORM_FUSED_2D, -EINVAL, "K of 3");
	expect_refusal((struct ficco_problem){FICCO_GEMM_RS, 4, 64, 64, 64, 1},
		       FICCO_UNIFORM_FUSED_2D, -ENOTSUP, "gemm-rs");
	expect_refusal((struct ficco_problem){FICCO_GEMM_AR, 4, 64, 64, 64, 1},
		       FICCO_UNIFORM_FUSED_2D, -ENOTSUP, "gemm-ar");
}

int main(void)
{
	test(every_order_gives_the_result);
	test(layouts_cover_and_bytes_are_conserved);
	test(an_uneven_router_is_uneven);
	test(an_even_all_to_all_is_the_work_of_an_all_gather);
	test(a_collective_plan_has_groups_in_the_order_of_ranks);
	test(undefined_problems_are_refused);
	return test_done();
}
