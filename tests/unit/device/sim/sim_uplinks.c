/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uplinks of simulated devices: the rates of device/sim/machine/uplinks.c, to the picosecond.
 */
#include "tests/unit/device/sim/sim.h"

#define PICOSECOND 1e-3
#define DEVICES 4
#define BYTES (UINT64_C(1) << 20)
static const double bytes = (double)BYTES;

/* A link alone has 10 bytes/ns into the device and 5 out of it. */
#define UPLINKS PLAIN "uplink_devices = 2\nuplink_bandwidth = "

static struct {
	struct dev_stream *in[DEVICES], *out[DEVICES];
	char *memory[DEVICES], *host[DEVICES];
} node;

static void begin_node(const char *model)
{
	if (sim.set.count)
		dev_close(&sim.set);
	ok(sim_try(model, ":0-3"));
	for (size_t i = 0; i < DEVICES; i++) {
		struct dev *d = sim.set.dev[i];
		node.memory[i] = alloc_memory_on(d, DEV_MEM_DEVICE, 4 * BYTES);
		node.host[i] = alloc_memory_on(d, DEV_MEM_PINNED, 2 * BYTES);
		ok(dev_stream_open(d, 0, &node.in[i]));
		ok(dev_stream_open(d, 0, &node.out[i]));
		for (size_t k = 0; k < DEVICES; k++)
			ok(dev_peer_enable(d, sim.set.dev[k]));
	}
}

struct route {
	size_t by;
	char to; /* 'i' from the host, 'o' to the host, or a device's number */
};

static void enqueue_route(const struct route *r)
{
	struct dev *d = sim.set.dev[r->by];
	if (r->to == 'i')
		ok(dev_copy(d, node.in[r->by], node.memory[r->by], node.host[r->by], BYTES));
	else if (r->to == 'o')
		ok(dev_copy(d, node.out[r->by], node.host[r->by] + BYTES,
			    node.memory[r->by] + BYTES, BYTES));
	else
		ok(dev_copy(d, node.out[r->by], node.memory[r->to - '0'] + 2 * BYTES,
			    node.memory[r->by] + BYTES, BYTES));
}

/* Time of each route when all start at once, without copy_ns. */
static void at_once(const struct route *routes, size_t count, double *ns)
{
	struct span span[8];
	for (size_t i = 0; i < count; i++) {
		struct dev_stream *s = (routes[i].to == 'i' ? node.in : node.out)[routes[i].by];
		span[i] = (struct span){0};
		ok(dev_event_open(sim.set.dev[routes[i].by], &span[i].from));
		ok(dev_event_open(sim.set.dev[routes[i].by], &span[i].to));
		ok(dev_event_record(sim.set.dev[routes[i].by], s, span[i].from));
		enqueue_route(&routes[i]);
		ok(dev_event_record(sim.set.dev[routes[i].by], s, span[i].to));
	}
	for (size_t i = 0; i < count; i++) {
		struct dev *d = sim.set.dev[routes[i].by];
		ok(dev_event_sync(d, span[i].to));
		ok(dev_event_elapsed_ns(d, span[i].from, span[i].to, &ns[i]));
		ns[i] -= 1000;
		dev_event_close(d, span[i].from);
		dev_event_close(d, span[i].to);
	}
}

static void devices_behind_one_switch_share_its_uplink(void)
{
	static const struct route one[] = {{0, 'i'}}, near[] = {{0, 'i'}, {1, 'i'}},
				  far[] = {{0, 'i'}, {2, 'i'}},
				  all[] = {{0, 'i'}, {1, 'i'}, {2, 'i'}};
	double ns[3];
	begin_node(UPLINKS "12e9\n");
	at_once(one, 1, ns);
	expect_near(ns[0], bytes / 10, PICOSECOND);
	at_once(near, 2, ns);
	expect_near(ns[0], bytes / 6, PICOSECOND);
	expect_near(ns[1], bytes / 6, PICOSECOND);
	at_once(far, 2, ns);
	expect_near(ns[0], bytes / 10, PICOSECOND);
	expect_near(ns[1], bytes / 10, PICOSECOND);
	at_once(all, 3, ns);
	expect_near(ns[0], bytes / 6, PICOSECOND);
	expect_near(ns[1], bytes / 6, PICOSECOND);
	expect_near(ns[2], bytes / 10, PICOSECOND);
	/* Without the keys nothing is shared. */
	begin_node(PLAIN);
	at_once(near, 2, ns);
	expect_near(ns[0], bytes / 10, PICOSECOND);
	sim_end();
}

static void an_uplink_carries_both_directions_at_once(void)
{
	static const struct route both[] = {{0, 'i'}, {1, 'o'}}, out[] = {{0, 'o'}, {1, 'o'}};
	double ns[2];
	begin_node(UPLINKS "8e9\n");
	at_once(both, 2, ns);
	expect_near(ns[0], bytes / 8, PICOSECOND);
	expect_near(ns[1], bytes / 5, PICOSECOND);
	at_once(out, 2, ns);
	expect_near(ns[0], bytes / 4, PICOSECOND);
	expect_near(ns[1], bytes / 4, PICOSECOND);
	sim_end();
}

static void copies_between_switches_pass_both_uplinks_where_nothing_else_joins_them(void)
{
	static const struct route within[] = {{0, '1'}}, across[] = {{0, '2'}},
				  with_copies[] = {{0, '2'}, {2, 'i'}, {3, 'i'}},
				  with_out[] = {{0, '2'}, {1, 'o'}};
	double ns[3];
	begin_node(UPLINKS "12e9\nuplink_peers = 1\n");
	at_once(within, 1, ns);
	expect_near(ns[0], bytes / 20, PICOSECOND);
	at_once(across, 1, ns);
	expect_near(ns[0], bytes / 12, PICOSECOND);
	/* The way into the target's switch is shared by three, that out of the source's is not. */
	at_once(with_copies, 3, ns);
	for (size_t i = 0; i < 3; i++)
		expect_near(ns[i], bytes / 4, PICOSECOND);
	at_once(with_out, 2, ns);
	expect_near(ns[1], bytes / 5, PICOSECOND);
	begin_node(UPLINKS "12e9\n");
	at_once(with_copies, 3, ns);
	expect_near(ns[0], bytes / 20, PICOSECOND);
	sim_end();
}

static void paths_say_where_they_meet(void)
{
	struct dev_path path;
	begin_node(UPLINKS "12e9\n");
	ok(dev_path_read(sim.set.dev[0], sim.set.dev[1], &path));
	expect_str(path.meet, "switch");
	ok(dev_path_read(sim.set.dev[1], sim.set.dev[2], &path));
	expect_str(path.meet, "host_bridge");
	begin_node(PLAIN);
	ok(dev_path_read(sim.set.dev[0], sim.set.dev[1], &path));
	expect_str(path.meet, "");
	sim_end();
}

static void keys_without_their_others_are_refused(void)
{
	static const struct {
		const char *spec, *says;
	} bad[] = {
		{"sim:quiet?uplink_devices=2:0", "uplink_devices needs uplink_bandwidth"},
		{"sim:quiet?uplink_bandwidth=1e9:0", "uplink_bandwidth needs uplink_devices"},
		{"sim:quiet?uplink_peers=1:0", "uplink_peers needs uplink_devices"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect(dev_open(bad[i].spec, 0, &sim.set) == -EINVAL);
		expect(strstr(err_text(), bad[i].says));
	}
}

int main(void)
{
	test(devices_behind_one_switch_share_its_uplink);
	test(an_uplink_carries_both_directions_at_once);
	test(copies_between_switches_pass_both_uplinks_where_nothing_else_joins_them);
	test(paths_say_where_they_meet);
	test(keys_without_their_others_are_refused);
	return test_done();
}
