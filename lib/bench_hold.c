/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bench_hold.h"

#include <errno.h>

#define AFTERWARDS_LEAST_NS 200000u

static uint32_t now_arrived(const struct hold *h) { return __atomic_load_n(&h->arrived[0], __ATOMIC_ACQUIRE); }

int hold_open(struct hold *h, struct dev *dev, uint32_t most_blocks)
{
	*h = (struct hold){.dev = dev, .most = most_blocks};
	int status = dev_stream_open(dev, dev_props(dev)->priority_normal, &h->stream);
	if (status == 0)
		status = dev_kernel_find(dev, "hold", &h->kernel);
	if (status == 0)
		status = dev_alloc(dev, DEV_MEM_PINNED, 256, (void **)&h->flag);
	if (status == 0)
		status = dev_alloc(dev, DEV_MEM_PINNED, 256, (void **)&h->arrived);
	if (status == 0)
		status = dev_alloc(dev, DEV_MEM_PINNED, most_blocks * sizeof(*h->start_ns), (void **)&h->start_ns);
	return status;
}

void hold_close(struct hold *h)
{
	if (!h->dev)
		return;
	dev_free(h->dev, h->flag);
	dev_free(h->dev, h->arrived);
	dev_free(h->dev, h->start_ns);
	dev_stream_close(h->dev, h->stream);
	*h = (struct hold){0};
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
