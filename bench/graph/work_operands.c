/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/work_internals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Operands of a node: A, B and C, or the arguments of a kernel. */
#define NODE_OPERANDS_MAX DEV_KERNEL_MAX_ARGS

struct node_operands {
	struct work_operand operand[NODE_OPERANDS_MAX];
	void *kept_at[NODE_OPERANDS_MAX];
	size_t count;
};

/* Pointers of every type have the representation of void pointers. */
static void add_operand(struct node_operands *to, void *kept_at, uint64_t bytes)
{
	struct work_operand *operand = &to->operand[to->count];
	memcpy(&operand->at, kept_at, sizeof(operand->at));
	operand->bytes = bytes;
	to->kept_at[to->count++] = kept_at;
}

static uint64_t matrix_bytes(uint64_t rows, uint64_t columns, uint64_t leading, enum dev_type type)
{
	return dev_type_array_bytes(type, (rows - 1) * leading + columns);
}

static void add_matrices(struct node_operands *to, struct dev_gemm *g)
{
	const enum dev_type each = g->type, result = dev_types[g->type].result;
	const uint64_t matrices = g->groups ? g->groups : 1;
	add_operand(to, &g->a, matrix_bytes(g->m, g->k, g->lda, each));
	add_operand(to, &g->b,
		    matrix_bytes(matrices * (g->b_transposed ? g->n : g->k),
				 g->b_transposed ? g->k : g->n, g->ldb, each));
	add_operand(to, &g->c, matrix_bytes(g->m, g->n, g->ldc, result));
}

static void add_arrays(struct node_operands *to, struct node *n)
{
	for (unsigned i = 0; i < DEV_KERNEL_MAX_ARGS; i++)
		if (n->signature->parameters[i].extent == KERNEL_EXTENT_BYTES ||
		    n->signature->parameters[i].access)
			add_operand(to, &n->args[i].pointer,
				    kernel_args_extent(n->signature, n->args, i, n->grid));
}

static void list_node(struct node_operands *to, struct node *n)
{
	const uint64_t floats_bytes = n->kind == NODE_COLLECTIVE ? n->count * sizeof(float) : 0;
	to->count = 0;
	switch (n->kind) {
	case NODE_COPY:
	case NODE_COPY_ADD:
		add_operand(to, &n->to, n->bytes);
		add_operand(to, &n->from, n->bytes);
		break;
	case NODE_FILL:
		add_operand(to, &n->to, n->bytes);
		break;
	case NODE_GEMM:
		add_matrices(to, &n->gemm);
		break;
	case NODE_KERNEL:
		add_arrays(to, n);
		break;
	case NODE_COLLECTIVE:
		add_operand(to, &n->sent,
			    dev_collective_sends(n->what, n->comm->count) * floats_bytes);
		add_operand(to, &n->received,
			    dev_collective_receives(n->what, n->comm->count) * floats_bytes);
		break;
	case NODE_WAIT_VALUE:
	case NODE_MARK:
	case NODE_ARM:
	case NODE_TRACKED:
		break;
	}
	bool bypasses = n->kind != NODE_GEMM && (n->kind != NODE_KERNEL || n->signature->streaming);
	for (size_t i = 0; i < to->count; i++) {
		to->operand[i].turn = n->turn;
		to->operand[i].bypasses = bypasses;
	}
}

int work_graph_operands(struct work_graph *g, const struct work_operand **operands_p,
			size_t *count_p)
{
	struct node_operands node;
	if (!g->operands) {
		size_t capacity = g->node_count * NODE_OPERANDS_MAX + 1;
		g->operands = calloc(capacity, sizeof(*g->operands));
		g->kept_at = calloc(capacity, sizeof(*g->kept_at));
		if (!g->operands || !g->kept_at)
			return err_note(-ENOMEM, "operands of a graph: out of memory");
		for (size_t i = 0; i < g->node_count; i++) {
			list_node(&node, &g->nodes[i]);
			memcpy(g->operands + g->operand_count, node.operand,
			       node.count * sizeof(*g->operands));
			memcpy(g->kept_at + g->operand_count, node.kept_at,
			       node.count * sizeof(*g->kept_at));
			g->operand_count += node.count;
		}
	}
	*operands_p = g->operands;
	*count_p = g->operand_count;
	return 0;
}

uint32_t work_graph_turns(const struct work_graph *g) { return g->turn + 1; }

void work_graph_turn(struct work_graph *g)
{
	if (g)
		g->turn++;
}

void work_graph_rotate(struct work_graph *g, const struct work_rotation *rotation)
{
	g->rotation = *rotation;
}

void work_rotate(struct work_graph *g)
{
	const struct work_rotation *r = &g->rotation;
	uint32_t first = r->take ? r->take(r->arg, work_graph_turns(g)) : 0;
	for (size_t i = 0; r->take && i < g->operand_count; i++) {
		const struct work_operand *operand = &g->operands[i];
		void *at = r->address(r->arg, first + operand->turn, operand->at);
		memcpy(g->kept_at[i], &at, sizeof(at));
	}
}
