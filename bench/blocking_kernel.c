/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/blocking_kernel.h"
#include "bench/bench_alloc.h"

#include <errno.h>
#include <inttypes.h>

#define MIN_AFTERWARDS_NS 200000u
/* Long for any device, short enough for a user who waits for a failing check. */
#define VERIFY_TIMEOUT_NS UINT64_C(300000000)
/* A copy takes longer than that only if it moves less than 250 MB/s. */
#define VERIFY_NS_PER_BYTE 4u
/* Nobody decides by size beyond this who copies. */
#define VERIFY_MAX_BYTES (UINT64_C(64) << 20)

/* Pairs with the release of the kernel's blocks: the start times of those counted are visible. */
static uint32_t count_arrived(const struct blocking_kernel *h)
{
	return __atomic_load_n(&h->arrived[0], __ATOMIC_ACQUIRE);
}

int blocking_kernel_open_on(struct blocking_kernel *h, struct bench_case *c, struct dev *dev,
			    uint32_t max_blocks)
{
	*h = (struct blocking_kernel){.dev = dev, .max_blocks = max_blocks};
	h->stream = bench_stream_on(c, dev, dev_props(dev)->priority_low);
	TRY(c->status, dev_kernel_find(dev, "blocking_kernel", &h->kernel));
	h->flag = bench_alloc_on(c, dev, DEV_MEM_PINNED, 256);
	h->arrived = bench_alloc_on(c, dev, DEV_MEM_PINNED, 256);
	h->start_ns = bench_alloc_on(c, dev, DEV_MEM_PINNED, max_blocks * sizeof(*h->start_ns));
	return c->status;
}

int blocking_kernel_open(struct blocking_kernel *h, struct bench_case *c, uint32_t max_blocks)
{
	return blocking_kernel_open_on(h, c, c->dev, max_blocks);
}

int blocking_kernel_start(struct blocking_kernel *h, uint32_t grid, uint64_t shared_bytes,
			  uint64_t timeout_ns)
{
	const void *const args[] = {&h->flag, &h->arrived, &h->start_ns, &timeout_ns};
	struct dev_launch launch = {.grid = grid, .shared_bytes = shared_bytes, .args = args};
	if (grid > h->max_blocks)
		return -EINVAL;
	int status = dev_post_value(h->dev, h->flag, 0);
	if (status == 0)
		status = dev_post_value(h->dev, &h->arrived[0], 0);
	if (status == 0)
		status = dev_post_value(h->dev, &h->arrived[1], 0);
	return status ? status : dev_launch(h->dev, h->stream, h->kernel, &launch);
}

int blocking_kernel_settle(struct blocking_kernel *h, uint32_t expected, uint64_t patience_ns,
			   uint32_t *arrived_p)
{
	uint64_t start = dev_clock_ns(h->dev), spent = 0;
	while (count_arrived(h) < expected && spent < patience_ns)
		spent = dev_clock_ns(h->dev) - start;
	uint64_t more = spent < MIN_AFTERWARDS_NS ? MIN_AFTERWARDS_NS : spent;
	while (dev_clock_ns(h->dev) - start < spent + more)
		;
	*arrived_p = count_arrived(h);
	return 0;
}

int blocking_kernel_release(struct blocking_kernel *h, uint32_t *timed_out_p)
{
	/* Relaxed: a time-out announces nothing. */
	uint32_t timed_out = __atomic_load_n(&h->arrived[1], __ATOMIC_RELAXED);
	int status = dev_post_value(h->dev, h->flag, 1);
	int drained = dev_stream_sync(h->dev, h->stream);
	if (status == 0 && drained == 0)
		*timed_out_p = timed_out;
	return status ? status : drained;
}

int blocking_kernel_need_engine(struct bench_case *c, uint64_t uses)
{
	return dev_can(c->dev, DEV_CAP_COPY_ENGINE)
		       ? 0
		       : bench_variants_skip(c, uses, "the device has no copy engines");
}

static bool any_on(const struct bench_case *c, uint64_t uses)
{
	for (unsigned v = 0; v < bench_variants(c); v++)
		if (uses >> v & 1 && bench_variant_on(c, v))
			return true;
	return false;
}

struct held_copy {
	uint64_t bytes;
	uint32_t slots, arrived, timed_out;
};

/* Copies while every slot is blocked. */
static int copy_while_held(struct bench_case *c, const struct blocking_copy *copy,
			   struct held_copy *held_p)
{
	const struct dev_props *p = dev_props(copy->dev);
	uint32_t slots = p->units * p->slots_per_unit, arrived = 0, timed_out = 0;
	const uint64_t bytes = copy->bytes < VERIFY_MAX_BYTES ? copy->bytes : VERIFY_MAX_BYTES;
	struct blocking_kernel blocking;
	int status = blocking_kernel_open_on(&blocking, c, copy->dev, slots);
	if (status == 0)
		status = blocking_kernel_start(&blocking, slots, 0,
					       VERIFY_TIMEOUT_NS + VERIFY_NS_PER_BYTE * bytes);
	if (status)
		return status;
	status = blocking_kernel_settle(&blocking, slots, VERIFY_TIMEOUT_NS / 4, &arrived);
	int copied = copy->enqueue ? copy->enqueue(c)
				   : dev_copy(copy->dev, copy->stream, copy->to, copy->from, bytes);
	int synced = dev_stream_sync(copy->dev, copy->stream);
	int released = blocking_kernel_release(&blocking, &timed_out);
	status = status ? status : copied ? copied : synced ? synced : released;
	if (status == 0)
		*held_p = (struct held_copy){bytes, slots, arrived, timed_out};
	return status;
}

/* A device that copies small pieces by a kernel may copy larger ones by an engine, not the reverse,
 * so the pieces of a copy that waits need no proof of their own. The first blocks to exit make room
 * for a short copy, so not all of them have timed out when it is done. In virtual time the model
 * knows the copy method. */
int blocking_kernel_need_local_engine(struct bench_case *c, uint64_t uses, void *to,
				      const void *from, uint64_t bytes)
{
	const struct blocking_copy copy = {c->dev, c->stream, to, from, bytes, NULL};
	struct held_copy held = {0};
	int status = c->status;
	if (status || !any_on(c, uses) || !bench_same_memory(c, to, from) ||
	    !dev_can(c->dev, DEV_CAP_COPY_ENGINE | DEV_CAP_WAIT_VALUE) ||
	    dev_can(c->dev, DEV_CAP_VIRTUAL_TIME))
		return status;
	/* Twice, for a host that is held up meanwhile sees the copy late, too. */
	for (unsigned try = 0; try < 2; try++) {
		status = copy_while_held(c, &copy, &held);
		if (status || held.arrived < held.slots || held.timed_out == 0)
			return status;
	}
	return bench_variants_skip(
		c, uses,
		"no copy engine copies within this device: the copy waited for free units");
}

int blocking_kernel_verify_copy(struct bench_case *c, const struct blocking_copy *copy,
				uint64_t uses, bool back)
{
	const char *name = back ? "engine_copies_back_while_units_are_held"
				: "engine_copies_while_units_are_held";
	struct held_copy held;
	if (!any_on(c, uses))
		return 0;
	if (!dev_can(copy->dev, DEV_CAP_COPY_ENGINE | DEV_CAP_WAIT_VALUE)) {
		bench_mechanism_of(
			c, uses, name, false, "%s",
			dev_can(copy->dev, DEV_CAP_COPY_ENGINE)
				? "not provable: this device cannot release a running block"
				: "the device has no copy engines");
		return 0;
	}
	int status = copy_while_held(c, copy, &held);
	if (status == 0)
		bench_mechanism_of(
			c, uses, name, held.arrived == held.slots && held.timed_out == 0,
			"%u of %u slots blocked, %u blocks timed out before the copy of %" PRIu64
			" bytes was done",
			held.arrived, held.slots, held.timed_out, held.bytes);
	return status;
}

int blocking_kernel_verify_engine(struct bench_case *c, uint64_t uses, void *to, const void *from,
				  uint64_t bytes)
{
	const struct blocking_copy copy = {c->dev, c->stream, to, from, bytes, NULL};
	return blocking_kernel_verify_copy(c, &copy, uses, false);
}

int blocking_kernel_verify_back(struct bench_case *c, uint64_t uses, void *to, const void *from,
				uint64_t bytes)
{
	const struct blocking_copy copy = {c->dev, c->stream, to, from, bytes, NULL};
	return blocking_kernel_verify_copy(c, &copy, uses, true);
}
