/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FiCCO's schedules, carried out by symbols: what is computed is told apart by device, group, row and column, for every operation
 * and number of devices, shapes that divide and shapes that don't. Whatever order the dependencies leave open, no product reads
 * what has not come, every element is computed once, every term is added once, and bytes are conserved. Beside it the counts
 * of the paper and its model of links.
 */
#include "lib/err.h"
#include "lib/rng.h"
#include "overlap/schedules/plan.h"
#include "tests/unit/test.h"

#include <errno.h>

enum { MOST = 8 };

static const struct {
	uint32_t m, n, k;
} shapes[] = {{64, 3, 64}, {131, 5, 17}, {97, 2, 41}, {576, 4, 8}};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct overlap_plan *plan_of(enum overlap_op op, uint32_t devices, unsigned shape, enum overlap_schedule schedule)
{
	struct overlap_problem o = {op, devices, shapes[shape].m, shapes[shape].n, shapes[shape].k, 7};
	struct overlap_plan *p = NULL;
	int status = overlap_plan_open(&o, schedule, &p);
	if (status && status != -ENOTSUP && op != OVERLAP_A2A_GEMM_UNEVEN)
		printf("# %s %s on %u: %s\n", overlap_ops[op], overlap_schedules[schedule], devices, err_text());
	expect(status == 0 || status == -ENOTSUP || op == OVERLAP_A2A_GEMM_UNEVEN);
	return p;
}

static void for_all(void (*look)(const struct overlap_plan *p))
{
	unsigned seen = 0;
	for (unsigned op = 0; op < OVERLAP_OPS; op++)
		for (uint32_t devices = 2; devices <= MOST; devices++)
			for (unsigned shape = 0; shape < SHAPES; shape++)
				for (unsigned s = 0; s < OVERLAP_SCHEDULES; s++) {
					struct overlap_plan *p = plan_of((enum overlap_op)op, devices, shape, (enum overlap_schedule)s);
					if (p) {
						look(p);
						seen++;
					}
					overlap_plan_close(p);
				}
	expect(seen > 500);
}

/* ------------------------------------------------------------------ symbols */

/* Who computed or sent an element: 0 is nothing. In A: device of origin, row of the group, column. In staging memory and C: a bit
 * for every device whose term is in, and how many columns of it. */
static uint32_t name(uint32_t origin, uint32_t to, uint32_t row, uint32_t column)
{
	return 1 + (((origin * MOST + to) * 1024 + row) * 128 + column);
}

struct cell {
	uint32_t columns, terms;
};

struct world {
	const struct overlap_plan *p;
	uint32_t *a[MOST], *send[MOST];  /* names */
	struct cell *c[MOST], *staging[MOST];
	bool *sent, *computed, *reduced;
	uint32_t wrong;
};

static uint32_t destination(const struct overlap_plan *p, uint32_t to) { return p->problem.op == OVERLAP_AG_GEMM ? 0 : to; }

/* What a device sends, as the layout says: group after group, each in slabs. */
static void lay_out_sources(struct world *w, uint32_t d)
{
	const struct overlap_plan *p = w->p;
	uint64_t at = 0;
	uint32_t groups = p->problem.op == OVERLAP_AG_GEMM ? 1 : p->problem.devices;
	for (uint32_t to = 0; p->send_elements[d] && to < groups; to++) {
		uint32_t rows = p->problem.op == OVERLAP_AG_GEMM ? p->rows[d][d] : p->rows[to][d];
		for (uint32_t slab = 0; slab < p->k_steps; slab++)
			for (uint32_t row = 0; row < rows; row++)
				for (uint32_t k = overlap_cut(p->problem.k, p->k_steps, slab);
				     k < overlap_cut(p->problem.k, p->k_steps, slab + 1); k++)
					w->send[d][at++] = name(d, to, row, k);
	}
	expect(at == p->send_elements[d]);
}

static uint64_t a_place(const struct overlap_plan *p, uint32_t device, uint32_t row, uint32_t column)
{
	uint32_t slab = 0;
	while (overlap_cut(p->problem.k, p->k_steps, slab + 1) <= column)
		slab++;
	uint32_t from = overlap_cut(p->problem.k, p->k_steps, slab), to = overlap_cut(p->problem.k, p->k_steps, slab + 1);
	return (uint64_t)p->all_rows[device] * from + (uint64_t)row * (to - from) + (column - from);
}

/* A holds a device's own rows from the start; for gemm-rs all of it. */
static void lay_out_a(struct world *w)
{
	const struct overlap_plan *p = w->p;
	for (size_t i = 0; i < p->block_count; i++) {
		const struct overlap_block *b = &p->blocks[i];
		bool there = p->problem.op == OVERLAP_GEMM_RS || b->group == b->device;
		for (uint32_t row = 0; there && row < b->rows; row++)
			for (uint32_t k = 0; k < p->problem.k; k++)
				w->a[b->device][a_place(p, b->device, b->at + row, k)] =
					name(b->group, destination(p, b->device), b->first + row, k);
	}
}

static void make_world(struct world *w, const struct overlap_plan *p)
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
	require(w->sent && w->computed && w->reduced);
	lay_out_a(w);
}

static void end_world(struct world *w)
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
}

static bool send(struct world *w, size_t i)
{
	const struct overlap_plan *p = w->p;
	const struct overlap_transfer *t = &p->transfers[i];
	if (w->sent[i] || (t->piece != OVERLAP_NONE && !w->computed[t->piece]))
		return false;
	for (size_t before = 0; before < i; before++)
		if (p->transfers[before].from == t->from && p->transfers[before].link == t->link &&
		    p->transfers[before].to == t->to && !w->sent[before])
			return false;
	for (uint64_t e = 0; e < t->count; e++) {
		if (p->problem.op == OVERLAP_GEMM_RS) {
			w->wrong += w->c[t->from][t->from_at + e].columns != p->problem.k;
			w->wrong += w->staging[t->to][t->to_at + e].terms != 0;
			w->staging[t->to][t->to_at + e] = w->c[t->from][t->from_at + e];
		} else {
			w->wrong += w->a[t->to][t->to_at + e] != 0;
			w->a[t->to][t->to_at + e] = w->send[t->from][t->from_at + e];
		}
	}
	return w->sent[i] = true;
}

/* The row of a group that stands at a row of a device. */
static uint32_t expected(const struct overlap_plan *p, uint32_t device, uint32_t row, uint32_t column)
{
	for (size_t i = 0; i < p->block_count; i++) {
		const struct overlap_block *b = &p->blocks[i];
		if (b->device == device && row - b->at < b->rows)
			return name(b->group, destination(p, device), b->first + row - b->at, column);
	}
	return 0;
}

static bool compute(struct world *w, size_t i)
{
	const struct overlap_plan *p = w->p;
	const struct overlap_piece *g = &p->pieces[i];
	bool ready = !w->computed[i] && (i == 0 || p->pieces[i - 1].device != g->device || w->computed[i - 1]);
	for (uint32_t t = 0; t < g->transfers; t++)
		ready = ready && w->sent[g->first_transfer + t];
	if (!ready)
		return false;
	for (uint32_t row = 0; row < g->rows; row++) {
		uint32_t first = expected(p, g->device, g->row + row, g->column);
		for (uint32_t k = 0; k < g->columns; k++)
			w->wrong += w->a[g->device][g->a_at + (uint64_t)row * g->lda + k] != first + k;
		for (uint32_t n = 0; n < p->problem.n; n++) {
			struct cell *cell = &w->c[g->device][(uint64_t)(g->row + row) * p->problem.n + n];
			w->wrong += g->adds ? cell->columns != g->column : cell->columns != 0 || g->column != 0;
			cell->columns += g->columns;
			cell->terms = 1u << g->device;
		}
	}
	return w->computed[i] = true;
}

static bool reduce(struct world *w, size_t i)
{
	const struct overlap_plan *p = w->p;
	const struct overlap_reduction *r = &p->reductions[i];
	bool ready = !w->reduced[i] && (i == 0 || p->reductions[i - 1].device != r->device || w->reduced[i - 1]);
	for (int t = 0; t < 2; t++)
		ready = ready && (r->transfer[t] == OVERLAP_NONE || w->sent[r->transfer[t]]);
	if (!ready || (r->piece != OVERLAP_NONE && !w->computed[r->piece]))
		return false;
	struct cell *to = r->to_staging ? w->staging[r->device] : w->c[r->device];
	for (uint64_t e = 0; e < r->count; e++) {
		const struct cell *from = &w->staging[r->device][r->from_at + e];
		struct cell *sum = &to[r->to_at + e];
		w->wrong += from->terms == 0 || sum->terms == 0 || (from->terms & sum->terms) != 0;
		w->wrong += from->columns != p->problem.k || sum->columns != p->problem.k;
		sum->terms |= from->terms;
	}
	return w->reduced[i] = true;
}

/* All that is ready happens in random order, until nothing is. */
static void carry_out(struct world *w, struct rng *r)
{
	const struct overlap_plan *p = w->p;
	size_t all = p->transfer_count + p->piece_count + p->reduction_count, done = 0, before;
	do {
		before = done;
		uint64_t start = rng_below(r, all), stride = rng_below(r, 2) ? 1 : all - 1;
		for (size_t n = 0; n < all; n++) {
			size_t i = (size_t)((start + n * stride) % all);
			bool is_transfer = i < p->transfer_count, is_piece = !is_transfer && i - p->transfer_count < p->piece_count;
			done += is_transfer ? send(w, i)
			        : is_piece ? compute(w, i - p->transfer_count)
			                   : reduce(w, i - p->transfer_count - p->piece_count);
		}
	} while (done > before);
	expect(done == all);
}

static void look_at_results(struct world *w)
{
	const struct overlap_plan *p = w->p;
	bool sums = p->problem.op == OVERLAP_GEMM_RS;
	uint32_t all = (1u << p->problem.devices) - 1;
	for (size_t i = 0; i < p->block_count; i++) {
		const struct overlap_block *b = &p->blocks[i];
		for (uint32_t row = 0; row < b->rows; row++)
			for (uint32_t n = 0; n < p->problem.n; n++) {
				const struct cell *cell = &w->c[b->device][(uint64_t)(b->at + row) * p->problem.n + n];
				w->wrong += cell->columns != p->problem.k;
				w->wrong += sums && b->group == b->device && cell->terms != all;
			}
	}
	expect(w->wrong == 0);
	if (w->wrong)
		printf("# %s %s on %u, %ux%ux%u: %u wrong\n", overlap_ops[p->problem.op], overlap_schedules[p->schedule],
		       p->problem.devices, p->problem.m, p->problem.n, p->problem.k, w->wrong);
}

static void symbolic(const struct overlap_plan *p)
{
	struct rng r;
	struct world w;
	rng_seed(&r, p->problem.devices, p->schedule);
	if ((uint64_t)p->problem.m * p->problem.k * p->problem.devices > 60000 && p->problem.devices % 3)
		return; /* the large ones for some numbers of devices only */
	make_world(&w, p);
	carry_out(&w, &r);
	look_at_results(&w);
	end_world(&w);
}

static void every_order_gives_the_product(void) { for_all(symbolic); }

/* ------------------------------------------------------------------ layout and conservation */

static void blocks_cover(const struct overlap_plan *p)
{
	uint32_t at = 0, device = 0, wrong = 0;
	uint32_t rows[MOST][MOST] = {{0}};
	for (size_t i = 0; i < p->block_count; i++) {
		const struct overlap_block *b = &p->blocks[i];
		if (b->device != device) {
			wrong += at != p->all_rows[device];
			device = b->device;
			at = 0;
		}
		wrong += b->at != at || b->rows == 0 || b->first != rows[b->device][b->group];
		at += b->rows;
		rows[b->device][b->group] += b->rows;
	}
	wrong += at != p->all_rows[device] || device + 1 != p->problem.devices;
	for (uint32_t d = 0; d < p->problem.devices; d++)
		for (uint32_t r = 0; r < p->problem.devices; r++)
			wrong += rows[d][r] != p->rows[d][r];
	expect(wrong == 0);
}

/* All but the own group comes in, and nothing else; where it is even, (G-1)/G of A. */
static void bytes_are_conserved(const struct overlap_plan *p)
{
	uint64_t in[MOST] = {0}, out[MOST] = {0}, width = p->problem.op == OVERLAP_GEMM_RS ? p->problem.n : p->problem.k;
	uint32_t g = p->problem.devices;
	for (size_t i = 0; i < p->transfer_count; i++) {
		in[p->transfers[i].to] += p->transfers[i].count;
		out[p->transfers[i].from] += p->transfers[i].count;
		expect(p->transfers[i].from != p->transfers[i].to && p->transfers[i].count > 0);
	}
	uint64_t given = 0;
	for (uint32_t d = 0; d < g; d++) {
		uint64_t due = p->all_rows[d] - p->rows[d][d];
		if (p->problem.op == OVERLAP_GEMM_RS)
			due = (uint64_t)(g - 1) * p->rows[d][d];
		expect(in[d] == due * width);
		if (p->problem.m % g == 0 && p->problem.op != OVERLAP_A2A_GEMM_UNEVEN)
			expect(g * in[d] == (g - 1) * (uint64_t)p->problem.m * width && out[d] == in[d]);
		given += p->all_rows[d];
	}
	expect(given == (uint64_t)g * p->problem.m);
}

static void look_at_layout(const struct overlap_plan *p)
{
	blocks_cover(p);
	bytes_are_conserved(p);
}

static void layouts_cover_and_bytes_are_conserved(void) { for_all(look_at_layout); }

static void an_uneven_router_is_uneven(void)
{
	struct overlap_plan *p = plan_of(OVERLAP_A2A_GEMM_UNEVEN, 4, 3, OVERLAP_SERIAL);
	struct overlap_plan *again = plan_of(OVERLAP_A2A_GEMM_UNEVEN, 4, 3, OVERLAP_UNIFORM_FUSED_1D);
	require(p && again);
	uint32_t least = UINT32_MAX, most = 0;
	for (uint32_t d = 0; d < 4; d++) {
		uint32_t given = 0;
		for (uint32_t to = 0; to < 4; to++)
			given += p->rows[to][d];
		expect(given == shapes[3].m);
		least = p->all_rows[d] < least ? p->all_rows[d] : least;
		most = p->all_rows[d] > most ? p->all_rows[d] : most;
	}
	expect(most > least);
	expect(memcmp(p->rows, again->rows, sizeof(p->rows)) == 0);
	overlap_plan_close(p);
	overlap_plan_close(again);
}

/* ------------------------------------------------------------------ the paper's counts */

static void count(const struct overlap_plan *p)
{
	uint64_t g = p->problem.devices;
	static const struct {
		bool cut;
		int pieces; /* of a device: 1, G, G+1, or G(G-1)+1 */
	} due[] = {{false, 0}, {false, 1}, {true, 1}, {true, 2}, {true, 3}, {true, 1}};
	uint64_t pieces[] = {1, g, g + 1, g * (g - 1) + 1};
	expect(p->piece_count == g * pieces[due[p->schedule].pieces]);
	expect(p->transfer_count == g * (g - 1) * (due[p->schedule].cut ? g : 1));
	expect(p->steps == (p->schedule == OVERLAP_SERIAL ? 1 : p->schedule == OVERLAP_SHARD ? g - 1 : g));
	uint64_t parts = p->transfer_count / (g * (g - 1));
	expect(p->reduction_count == (p->problem.op == OVERLAP_GEMM_RS ? g * (g - 1) * parts : 0));
	uint64_t in_step[MOST] = {0};
	for (size_t i = 0; i < p->transfer_count; i++)
		in_step[p->transfers[i].step]++;
	for (uint32_t step = 0; step < p->steps; step++)
		expect(in_step[step] == g * (p->schedule == OVERLAP_SHARD ? 1 : g - 1));
}

static void pieces_and_messages_are_counted(void) { for_all(count); }

/* ------------------------------------------------------------------ the model of links */

/* Steps follow each other; in one, all links work at once, and the one with most to carry decides. On a mesh every pair has its
 * link; behind a switch a device has one way in and one way out, as wide as all of its links together. */
static double link_time(const struct overlap_plan *p, bool mesh)
{
	double all = 0.0, ways = p->problem.devices - 1;
	for (uint32_t step = 0; step < p->steps; step++) {
		double in[MOST] = {0}, out[MOST] = {0}, pair[MOST][MOST] = {{0}}, worst = 0.0;
		for (size_t i = 0; i < p->transfer_count; i++) {
			const struct overlap_transfer *t = &p->transfers[i];
			if (t->step != step)
				continue;
			double amount = (double)t->count;
			pair[t->from][t->to] += amount;
			in[t->to] += amount / ways;
			out[t->from] += amount / ways;
			double here = mesh ? pair[t->from][t->to] : fmax(in[t->to], out[t->from]);
			worst = fmax(worst, here);
		}
		all += worst;
	}
	return all;
}

static void topology_flips_what_peer_to_peer_costs(void)
{
	for (uint32_t g = 2; g <= MOST; g++) {
		struct overlap_problem o = {OVERLAP_AG_GEMM, g, g * g * 3, 16, g * 5, 1};
		struct overlap_plan *direct, *shard;
		require(overlap_plan_open(&o, OVERLAP_SERIAL, &direct) == 0 && overlap_plan_open(&o, OVERLAP_SHARD, &shard) == 0);
		double shard_size = (double)o.m / g * o.k;
		expect_near(link_time(direct, true), shard_size, 0);
		expect_near(link_time(shard, true), (g - 1) * shard_size, 0);
		for (unsigned s = OVERLAP_UNIFORM_FUSED_1D; s < OVERLAP_SCHEDULES; s++) {
			struct overlap_plan *ficco;
			require(overlap_plan_open(&o, (enum overlap_schedule)s, &ficco) == 0);
			expect_near(link_time(ficco, true), shard_size, 0);
			expect_near(link_time(shard, true) / link_time(ficco, true), g - 1, 0);
			expect_near(link_time(shard, false) / link_time(ficco, false), 1, 1e-12);
			overlap_plan_close(ficco);
		}
		overlap_plan_close(direct);
		overlap_plan_close(shard);
	}
}

/* ------------------------------------------------------------------ refusals */

static void refused(struct overlap_problem o, enum overlap_schedule schedule, int wanted, const char *word)
{
	struct overlap_plan *p = NULL;
	err_clear();
	expect(overlap_plan_open(&o, schedule, &p) == wanted);
	expect(p == NULL && strstr(err_text(), word) != NULL);
}

static void what_has_no_meaning_is_refused(void)
{
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 1, 64, 64, 64, 1}, OVERLAP_SERIAL, -EINVAL, "1 devices");
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 65, 6400, 64, 64, 1}, OVERLAP_SERIAL, -EINVAL, "65 devices");
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 4, 64, 0, 64, 1}, OVERLAP_SERIAL, -EINVAL, "is 0");
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 4, 3, 64, 64, 1}, OVERLAP_SERIAL, -EINVAL, "can't be cut");
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 4, 15, 64, 64, 1}, OVERLAP_HETERO_FUSED_1D, -EINVAL, "can't be cut");
	refused((struct overlap_problem){OVERLAP_AG_GEMM, 4, 16, 64, 3, 1}, OVERLAP_UNIFORM_FUSED_2D, -EINVAL, "K of 3");
	refused((struct overlap_problem){OVERLAP_GEMM_RS, 4, 64, 64, 64, 1}, OVERLAP_UNIFORM_FUSED_2D, -ENOTSUP, "gemm-rs");
}

int main(void)
{
	test(every_order_gives_the_product);
	test(layouts_cover_and_bytes_are_conserved);
	test(an_uneven_router_is_uneven);
	test(pieces_and_messages_are_counted);
	test(topology_flips_what_peer_to_peer_costs);
	test(what_has_no_meaning_is_refused);
	return test_done();
}
