/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/graph/rotation.h"
#include "device/kernels.h"
#include "lib/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The sets between two uses of one, over the last-level cache. */
#define CACHES UINT64_C(2)
/* Sets begin at multiples of it. */
#define SET_ALIGN UINT64_C(4096)

/* An allocation of the program and its copies, one after the other. */
struct region {
	struct bench_memory home;
	struct dev_stream *stream; /* of its device */
	char *copies;
	uint64_t stride;
};

/* Graphs that only bypass caches have a rotation of their own, which follows that of the others. */
struct rotation {
	struct bench_case *c;
	struct region *regions;
	size_t region_count;
	uint32_t sets, next;
	uint64_t set_bytes;
	struct rotation *head, *further;
	struct rotation *latest; /* of the head: whose set was taken last */
};

const char *const rotation_operands[] = {"warm", "cold", NULL};

/* ------------------------------------------------------------------ how many sets */

/* True if the device's last-level cache caches this memory. */
static bool is_cached(const struct bench_memory *m)
{
	return m->kind == DEV_MEM_DEVICE || dev_can(m->dev, DEV_CAP_HOST_ACCESS);
}

static int order_ranges(const void *a, const void *b)
{
	const struct rotation_range *x = a, *y = b;
	return ((const char *)x->at > (const char *)y->at) -
	       ((const char *)x->at < (const char *)y->at);
}

/* Bytes in at least one of the ranges, which it sorts. */
static uint64_t union_bytes(struct rotation_range *ranges, size_t count)
{
	const char *end = NULL;
	uint64_t bytes = 0;
	qsort(ranges, count, sizeof(*ranges), order_ranges);
	for (size_t i = 0; i < count; i++) {
		const char *from = ranges[i].at, *to = from + ranges[i].bytes;
		from = end && from < end ? end : from;
		if (to > from) {
			bytes += (uint64_t)(to - from);
			end = to;
		}
	}
	return bytes;
}

/* Bytes of a device's memory that a run brings into its cache; `scratch` has space for its ranges.
 * What bypasses counts where there is nothing else. */
static int run_bytes(const struct bench_case *c, const struct rotation_run *run,
		     const struct dev *dev, struct rotation_range *scratch, uint64_t *bytes_p)
{
	struct bench_memory m;
	size_t count = 0;
	bool all = true;
	for (size_t i = 0; i < run->count; i++)
		all = all && run->ranges[i].bypasses;
	for (size_t i = 0; i < run->count; i++) {
		if (!bench_memory_find(c, run->ranges[i].at, &m) ||
		    (const char *)run->ranges[i].at + run->ranges[i].bytes > m.start + m.bytes)
			return err_note(-EINVAL, "an operand is not in an allocation of the case");
		if (m.dev == dev && is_cached(&m) && (all || !run->ranges[i].bypasses))
			scratch[count++] = run->ranges[i];
	}
	*bytes_p = union_bytes(scratch, count);
	return 0;
}

/* Raises *sets_p to what the device needs. */
static int sets_of_device(const struct bench_case *c, const struct dev *dev,
			  const struct rotation_run *runs, size_t count,
			  struct rotation_range *scratch, uint64_t *sets_p)
{
	uint64_t llc = dev_props(dev)->llc_bytes, least = UINT64_MAX, bytes = 0;
	for (size_t i = 0; i < count; i++) {
		int status = run_bytes(c, &runs[i], dev, scratch, &bytes);
		if (status)
			return status;
		least = bytes && bytes < least ? bytes : least;
	}
	if (least == UINT64_MAX)
		return 0;
	if (llc == 0)
		return err_note(-ENOTSUP,
				"cold operands: the size of the device's last-level cache is "
				"unknown");
	uint64_t sets = 1 + (CACHES * llc + least - 1) / least;
	*sets_p = sets > *sets_p ? sets : *sets_p;
	return 0;
}

static int count_sets(const struct rotation *r, const struct rotation_run *runs, size_t count,
		      uint64_t *sets_p)
{
	const struct dev_set *all = r->c->devices;
	size_t longest = 1;
	for (size_t i = 0; i < count; i++)
		longest = runs[i].count > longest ? runs[i].count : longest;
	struct rotation_range *scratch = malloc(longest * sizeof(*scratch));
	int status = 0;
	if (!scratch)
		return err_note(-ENOMEM, "%zu operands: out of memory", longest);
	for (size_t i = 0; status == 0 && i < all->count; i++)
		status = sets_of_device(r->c, all->dev[i], runs, count, scratch, sets_p);
	free(scratch);
	return status;
}

/* ------------------------------------------------------------------ opening */

static struct region *find_region(const struct rotation *r, const void *at)
{
	const char *byte = at;
	for (size_t i = 0; i < r->region_count; i++) {
		struct region *region = &r->regions[i];
		if (byte >= region->home.start && byte < region->home.start + region->home.bytes)
			return region;
	}
	return NULL;
}

static uint64_t padded_bytes(uint64_t bytes)
{
	return (bytes + SET_ALIGN - 1) / SET_ALIGN * SET_ALIGN;
}

static void list_regions(struct rotation *r, const struct rotation_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < runs[i].count; k++) {
			struct region *region = &r->regions[r->region_count];
			if (find_region(r, runs[i].ranges[k].at) ||
			    !bench_memory_find(r->c, runs[i].ranges[k].at, &region->home))
				continue;
			region->stride = padded_bytes(region->home.bytes);
			r->set_bytes += region->home.bytes;
			r->region_count++;
		}
}

/* Check the memory of all rotations so far. */
static int check_memory(const struct rotation *head, const struct dev *dev)
{
	double limit = 0.5 * (double)dev_props(dev)->memory_bytes, needed = 0.0;
	uint64_t sets = 0;
	for (const struct rotation *r = head; r; r = r->further) {
		sets += r->sets;
		for (size_t i = 0; i < r->region_count; i++)
			if (r->regions[i].home.dev == dev && is_cached(&r->regions[i].home))
				needed += (double)r->regions[i].stride * (double)r->sets;
	}
	if (needed > limit)
		return err_note(-ENOTSUP,
				"cold operands: %llu sets need %.3g GB, over half of the device's "
				"memory",
				(unsigned long long)sets, 1e-9 * needed);
	return 0;
}

static void open_stream(const struct rotation *r, struct region *region)
{
	struct dev *dev = region->home.dev;
	region->stream = dev == r->c->dev ? r->c->stream : NULL;
	for (const struct region *at = r->regions; !region->stream && at < region; at++)
		region->stream = at->home.dev == dev ? at->stream : NULL;
	if (!region->stream)
		region->stream = bench_stream_on(r->c, dev, dev_props(dev)->priority_normal);
}

static int copy_set(const struct rotation *r, bool to_home, uint32_t set)
{
	int status = 0;
	if (!bench_has_results(r->c))
		return 0;
	for (size_t i = 0; status == 0 && i < r->region_count; i++) {
		const struct region *region = &r->regions[i];
		char *copy = region->copies + set % r->sets * region->stride,
		     *to = to_home ? region->home.start : copy;
		const char *from = to_home ? copy : region->home.start;
		if (region->home.kind == DEV_MEM_PINNED)
			memcpy(to, from, region->home.bytes);
		else
			status = dev_copy(region->home.dev, region->stream, to, from,
					  region->home.bytes);
	}
	for (size_t i = 0; i < r->region_count; i++) {
		int synced = dev_stream_sync(r->regions[i].home.dev, r->regions[i].stream);
		status = status ? status : synced;
	}
	return status;
}

static int allocate_sets(struct rotation *r)
{
	for (size_t i = 0; i < r->region_count; i++) {
		struct region *region = &r->regions[i];
		open_stream(r, region);
		region->copies = bench_alloc_on(r->c, region->home.dev, region->home.kind,
						region->stride * r->sets);
	}
	for (uint32_t set = 0; r->c->status == 0 && set < r->sets; set++)
		TRY(r->c->status, copy_set(r, false, set));
	return r->c->status;
}

static int count_and_list(struct rotation *r, const struct rotation_run *runs, size_t count)
{
	uint64_t sets = 2;
	int status = count_sets(r, runs, count, &sets);
	if (status == 0 && sets > UINT32_MAX / 2)
		status = err_note(-ENOTSUP, "cold operands: %llu sets are too many",
				  (unsigned long long)sets);
	r->sets = (uint32_t)sets;
	if (status == 0)
		list_regions(r, runs, count);
	return status;
}

/* *r_p is the head, or NULL. */
static int add_rotation(struct bench_case *c, const struct rotation_run *runs, size_t count,
			struct rotation **r_p)
{
	struct rotation *r = bench_alloc_host(c, sizeof(*r)), *head = *r_p ? *r_p : r;
	size_t ranges = 0;
	for (size_t i = 0; i < count; i++)
		ranges += runs[i].count;
	/* One more than there can be, for list_regions() to look at. */
	struct region *regions = bench_alloc_host(c, (ranges + 1) * sizeof(*regions));
	if (c->status)
		return c->status;
	memset(regions, 0, (ranges + 1) * sizeof(*regions));
	*r = (struct rotation){.c = c, .regions = regions, .head = head};
	head->latest = r;
	if (head != r)
		head->further = r;
	int status = count_and_list(r, runs, count);
	for (size_t i = 0; status == 0 && i < c->devices->count; i++)
		status = check_memory(head, c->devices->dev[i]);
	if (status == 0)
		status = allocate_sets(r);
	*r_p = status ? NULL : head;
	return status;
}

int rotation_open(struct bench_case *c, const struct rotation_run *runs, size_t count,
		  struct rotation **r_p)
{
	*r_p = NULL;
	return add_rotation(c, runs, count, r_p);
}

/* ------------------------------------------------------------------ graphs */

/* The operands of graphs, and the turns that they belong to. */
struct operand_list {
	struct rotation_range *ranges;
	struct rotation_run *turns;
	size_t range_count, turn_count;
};

static int count_operands(struct work_graph *const *graphs, size_t count, struct operand_list *list)
{
	const struct work_operand *unused;
	int status = 0;
	for (size_t i = 0; status == 0 && i < count; i++) {
		size_t operands = 0;
		if (graphs[i])
			status = work_graph_operands(graphs[i], &unused, &operands);
		list->range_count += operands;
		list->turn_count += graphs[i] ? work_graph_turns(graphs[i]) : 0;
	}
	return status;
}

/* After count_operands(), which has allocated what the graph returns. */
static size_t operands_of(struct work_graph *g, const struct work_operand **operands_p)
{
	size_t count = 0;
	return work_graph_operands(g, operands_p, &count) ? 0 : count;
}

static bool only_bypasses(struct work_graph *g)
{
	const struct work_operand *operands;
	bool all = true;
	for (size_t i = 0, count = operands_of(g, &operands); i < count; i++)
		all = all && operands[i].bypasses;
	return all;
}

/* Nodes of a graph are in the order of their turns. */
static void list_graph(struct work_graph *g, struct operand_list *list)
{
	const struct work_operand *o;
	size_t count = operands_of(g, &o), at = 0;
	for (uint32_t turn = 0; turn < work_graph_turns(g); turn++) {
		struct rotation_run *run = &list->turns[list->turn_count++];
		*run = (struct rotation_run){list->ranges + list->range_count, 0};
		for (; at < count && o[at].turn == turn; at++, run->count++)
			list->ranges[list->range_count++] =
				(struct rotation_range){o[at].at, o[at].bytes, o[at].bypasses};
	}
}

static uint32_t take_sets(void *arg, uint32_t turns) { return rotation_take(arg, turns); }

static void *set_address(const void *arg, uint32_t set, const void *home)
{
	return rotation_address(arg, set, home);
}

int rotation_attach(struct rotation *r, struct work_graph *g)
{
	const struct work_rotation rotation = {take_sets, set_address, r};
	const struct work_operand *unused;
	size_t count;
	if (!r)
		return 0;
	int status = TRY(r->c->status, work_graph_operands(g, &unused, &count));
	if (status == 0)
		work_graph_rotate(g, &rotation);
	return status;
}

static struct rotation *newest_rotation(struct rotation *r)
{
	while (r && r->further)
		r = r->further;
	return r;
}

/* A rotation of those graphs that only bypass caches, or of the others; none where there are none.
 */
static int rotate_graphs(struct bench_case *c, struct work_graph *const *graphs, size_t count,
			 bool bypassing, struct operand_list *list, struct rotation **r_p)
{
	list->range_count = list->turn_count = 0;
	for (size_t i = 0; i < count; i++)
		if (graphs[i] && only_bypasses(graphs[i]) == bypassing)
			list_graph(graphs[i], list);
	if (list->turn_count == 0)
		return 0;
	int status = add_rotation(c, list->turns, list->turn_count, r_p);
	for (size_t i = 0; status == 0 && i < count; i++)
		if (graphs[i] && only_bypasses(graphs[i]) == bypassing)
			status = rotation_attach(newest_rotation(*r_p), graphs[i]);
	return status;
}

int bench_rotate(struct bench_case *c, struct work_graph *const *graphs, size_t count,
		 struct rotation **r_p)
{
	struct operand_list list = {0};
	*r_p = NULL;
	TRY(c->status, count_operands(graphs, count, &list));
	list.ranges = bench_alloc_host(c, (list.range_count + 1) * sizeof(*list.ranges));
	list.turns = bench_alloc_host(c, (list.turn_count + 1) * sizeof(*list.turns));
	if (c->status)
		return c->status;
	int status = rotate_graphs(c, graphs, count, false, &list, r_p);
	return status ? status : rotate_graphs(c, graphs, count, true, &list, r_p);
}

int bench_rotate_cold(struct bench_case *c, struct work_graph *const *graphs, size_t count,
		      struct rotation **r_p)
{
	bool cold = c->status == 0 && axis_index(c, "operands") == OPERANDS_COLD;
	return cold ? bench_rotate(c, graphs, count, r_p) : c->status;
}

/* ------------------------------------------------------------------ using */

uint32_t rotation_sets(const struct rotation *r) { return r ? r->sets : 1; }

uint32_t rotation_take(struct rotation *r, uint32_t turns)
{
	uint32_t first = r ? r->next : 0;
	if (!r)
		return 0;
	r->next = (uint32_t)(((uint64_t)first + turns) % r->sets);
	r->head->latest = r;
	return first;
}

void *rotation_address(const struct rotation *r, uint32_t set, const void *home)
{
	const struct region *region = r ? find_region(r, home) : NULL;
	char *copy = region ? region->copies + set % r->sets * region->stride : NULL;
	void *same;
	if (copy)
		return copy + ((const char *)home - region->home.start);
	memcpy(&same, &home, sizeof(same)); /* without its const */
	return same;
}

int rotation_spread(struct rotation *r, uint32_t turns)
{
	int status = r ? dev_stream_sync(r->c->dev, r->c->stream) : 0;
	for (; r; r = r->further)
		for (uint32_t i = 0; status == 0 && i < turns && i < r->sets; i++)
			status = copy_set(r, false, r->next + i);
	return status;
}

int rotation_collect(struct rotation *r)
{
	int status = r ? dev_stream_sync(r->c->dev, r->c->stream) : 0;
	return status || !r ? status
			    : copy_set(r->latest, true, r->latest->next + r->latest->sets - 1);
}

void rotation_facts(const struct rotation *r, struct bench_case *c)
{
	if (!r)
		return;
	bench_fact_number(c, "operand_sets", r->sets);
	bench_fact_number(c, "operand_set_bytes", (double)r->set_bytes);
}

struct work_graph *rotation_wash(struct bench_case *c, struct work_lanes *lanes,
				 const uint32_t *lane_of_device)
{
	struct work_graph *g = bench_graph(c, lanes), *fill = bench_graph(c, lanes);
	for (size_t i = 0; i < c->devices->count; i++) {
		struct dev *dev = c->devices->dev[i];
		const uint64_t bytes = CACHES * padded_bytes(dev_props(dev)->llc_bytes);
		const uint32_t reps = 1;
		char *scratch = bench_alloc_on(c, dev, DEV_MEM_DEVICE, bytes);
		char *sink = bench_alloc_on(c, dev, DEV_MEM_DEVICE, DEV_KERNEL_ALIGN);
		const void *const args[] = {&scratch, &bytes, &reps, &sink};
		if (!scratch || !sink)
			continue;
		work_graph_fill(fill, lane_of_device[i], scratch, 0, bytes);
		work_graph_kernel(g, lane_of_device[i], "read", 0, args);
	}
	bench_graph_prepare(c, fill);
	bench_graph_prepare(c, g);
	return g;
}
