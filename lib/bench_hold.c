/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_hold.h"
#include "lib/bench_own.h"

#include <errno.h>

#define AFTERWARDS_LEAST_NS 200000u
/* Long for any device, short enough for a person who waits for a proof that fails. */
#define PROOF_TIMEOUT_NS UINT64_C(300000000)

static uint32_t now_arrived(const struct hold *h) { return __atomic_load_n(&h->arrived[0], __ATOMIC_ACQUIRE); }

int hold_open(struct hold *h, struct bench_case *c, uint32_t most_blocks)
{
	*h = (struct hold){.dev = c->dev, .most = most_blocks};
	h->stream = own_stream(c, dev_props(c->dev)->priority_normal);
	h->kernel = own_kernel(c, "hold");
	h->flag = own_memory(c, DEV_MEM_PINNED, 256);
	h->arrived = own_memory(c, DEV_MEM_PINNED, 256);
	h->start_ns = own_memory(c, DEV_MEM_PINNED, most_blocks * sizeof(*h->start_ns));
	return own_status(c);
}

int hold_start(struct hold *h, uint32_t grid, uint64_t shared_bytes, uint64_t timeout_ns)
{
	const void *const args[] = {&h->flag, &h->arrived, &h->start_ns, &timeout_ns};
	struct dev_launch launch = {.grid = grid, .shared_bytes = shared_bytes, .args = args};
	if (grid > h->most)
		return -EINVAL;
	int status = dev_post_value(h->dev, h->flag, 0);
	if (status == 0)
		status = dev_post_value(h->dev, &h->arrived[0], 0);
	if (status == 0)
		status = dev_post_value(h->dev, &h->arrived[1], 0);
	return status ? status : dev_launch(h->dev, h->stream, h->kernel, &launch);
}

int hold_settle(struct hold *h, uint32_t expected, uint64_t patience_ns, uint32_t *arrived_p)
{
	uint64_t start = dev_clock_ns(h->dev), spent = 0;
	while (now_arrived(h) < expected && spent < patience_ns)
		spent = dev_clock_ns(h->dev) - start;
	uint64_t more = spent < AFTERWARDS_LEAST_NS ? AFTERWARDS_LEAST_NS : spent;
	while (dev_clock_ns(h->dev) - start < spent + more)
		;
	*arrived_p = now_arrived(h);
	return 0;
}

int hold_release(struct hold *h, uint32_t *timed_out_p)
{
	uint32_t timed_out = __atomic_load_n(&h->arrived[1], __ATOMIC_ACQUIRE);
	int status = dev_post_value(h->dev, h->flag, 1);
	int drained = dev_stream_sync(h->dev, h->stream);
	if (status == 0 && drained == 0)
		*timed_out_p = timed_out;
	return status ? status : drained;
}

int hold_prove_engine(struct bench_case *c, uint64_t uses, void *to, const void *from, uint64_t bytes)
{
	const struct dev_props *p = dev_props(c->dev);
	uint32_t slots = p->units * p->slots_per_unit, arrived = 0, timed_out = 0;
	struct hold hold;
	if (!dev_can(c->dev, DEV_CAP_COPY_ENGINE | DEV_CAP_WAIT_VALUE))
		return 0;
	int status = hold_open(&hold, c, slots);
	if (status == 0)
		status = hold_start(&hold, slots, 0, PROOF_TIMEOUT_NS);
	if (status)
		return status;
	status = hold_settle(&hold, slots, PROOF_TIMEOUT_NS / 4, &arrived);
	int copied = dev_copy(c->dev, c->stream, to, from, bytes);
	int synced = dev_stream_sync(c->dev, c->stream);
	int released = hold_release(&hold, &timed_out);
	status = status ? status : copied ? copied : synced ? synced : released;
	if (status == 0)
		bench_mechanism_of(c, uses, "engine_copies_while_units_are_held", arrived == slots && timed_out == 0,
		                   "%u of %u slots held, %u gave up before the copy was done", arrived, slots, timed_out);
	return status;
}
