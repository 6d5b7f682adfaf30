/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device: models of machines with one or many devices, in virtual time. It serves
 * tests, which need times that are known, programs without a GPU, and what-if questions. Memory is
 * real, unless the model says `data = none`: copies, kernels and GEMMs do their work at the virtual
 * moment at which they complete. The same calls in the same order give bit-identical times and
 * results.
 *
 * TIME. All simulated devices of the process share one virtual clock, also across dev_sets. It only
 * moves inside calls: each call costs host_call_ns (dev_clock_ns: host_clock_ns), a wait runs to
 * its end and costs host_sync_ns more. So a loop that polls memory must call dev_clock_ns() or
 * dev_event_query(). A wait that no scheduled work can end is -EDEADLK, with a text that says what
 * each stream waits for; streams are numbered in the order of their opening. The work stays queued
 * and may still be released.
 *
 * COST of an operation from the moment when it is the first of its stream. Jitter J is one draw per
 * operation, j one per block.
 *
 *   event record         J * event_ns after the stamp
 *   value wait or write  J * value_ns
 *   copy                 a free engine, then J * (copy_ns + peer + flow of the bytes). At most
 *                        host_engines copies up and as many down have engines at once, where that
 *                        is not 0; a copy that waits for one of them lets later ones pass
 *   fill                 J * (launch_ns + peer + flow of the bytes); takes no engine
 *   launch, gemm         J * launch_ns, then blocks go to units; each takes
 *                        j * J * (block_ns + peer + flow)
 *   chase                as a launch, and block 0 takes j * J * latency for every step. In own
 *                        memory that of the first level that can hold the ring: l1_latency_ns up
 *                        to l1_bytes, l2_latency_ns up to l2_bytes, llc_latency_ns up to
 *                        llc_bytes, else memory_latency_ns. In pinned memory link_latency_ns, and
 *                        in peer memory link_latency_ns + peer
 *
 * `peer` is the sum of peer_latency_ns of the links on the way between the devices between which
 * bytes move; of several ways the largest sum, and 0 where all memory is own or pinned. The start
 * of a chase has none.
 *
 * A flow alone takes the maximum of volume / capacity over everything that it passes:
 *
 *   own memory      every byte read or written: memory_bandwidth; a copy inside it counts twice
 *   cache           instead of own memory, for launches that touch at most llc_bytes of it and are
 *                   not "_nt": llc_bandwidth. The cache is always warm, unless llc_tracked is 1:
 *                   then see CACHE
 *   pinned memory   link_down_bandwidth (read) or link_up_bandwidth (write), and host_bandwidth; on
 *                   another NUMA node than the device's, which is its index modulo numa_nodes,
 *                   far_bandwidth in either direction, too. dev_alloc() takes the device's node
 *   peer memory     peer_bandwidth of every link on the way, injection_bandwidth out of the source
 *                   and into the target, and the other's memory
 *   engine          engine_bandwidth, for copies
 *   unit            unit_bandwidth, l1_bandwidth and the flops_* of the type, each shared by its
 *                   resident blocks; one block gets at most block_share of each
 *   L1, L2          what a launch reads again: LEVELS
 *
 * A GEMM cuts C into tiles of gemm_tile x gemm_tile_columns. The longer side is halved until there
 * are enough blocks, the sums of a tile fit into the registers and, with gemm_tile_min, there is a
 * tile for every unit, but then to no side below that. An edge tile costs a whole one. A tile of
 * r x c moves (r + c) * k elements of A and B and r * c of C (2 r * c with beta) through the cache,
 * each of its own type's bytes, and runs at gemm_efficiency * flops of its type. Matrices larger
 * than llc_bytes also pass memory once (C twice with beta), unless llc_tracked is 1. Where memory
 * adds to C (MEMORY), each of its elements passes that memory once, and no cache, so that A and B
 * alone count as the matrices. `tiled`, counting rows and a transposed B cost nothing. With tile_k
 * the tiles are DEV_GEMM_TILE^2, tile_k costs its claim alone, and the tiles of a block are one
 * flow. Types without a rate of their own (flops_bf16 ...) are -ENOTSUP. Narrow A and B are
 * decoded, tf32 rounded to its bits; every product and sum is rounded to f32, and C to its type, to
 * nearest. A GEMM of a narrow type reads A and B when its first block ends.
 *
 * LEVELS in front of the last-level cache, which a device has where the model has their keys: an L1
 * of l1_bytes in every unit, an L2 of l2_bytes for every l2_units units. Each is empty when a
 * launch begins, and writes pass it. A launch that is not "_nt" has B bytes of own memory for every
 * unit that it has blocks for: all its arrays, divided by those units. What it reads of them in
 * repetitions after the first passes
 *
 *   l1_bandwidth    of its unit, and nothing else, if B is at most l1_bytes; with l1_divided = 1
 *                   shared memory is part of the L1, and without prefer_cache only what
 *                   shared_per_unit_bytes leaves is cache
 *   unit_bandwidth  and nothing else, if not, and B * l2_units is at most l2_bytes
 *
 * A chase finds the same. GEMMs, copies and fills know neither.
 *
 * CACHE, with llc_tracked = 1. The last-level cache of a device holds the llc_bytes of the device's
 * memory that were used last, in at most 512 ranges; what was used first goes first, a range from
 * its start. An operation uses it when it starts: what it reads, then what it writes, each in the
 * order of its arguments (a GEMM: A, B, C), each array as one range; a matrix takes the gaps
 * between its rows along. What counts as no traffic (results, flags, the ring of a chase) does not
 * use it.
 *
 *   read      all bytes pass the cache, and those that are missing memory, too, once for all
 *             repetitions
 *   write     all bytes pass the cache, and none is read from memory. llc_writes = back: they are
 *             dirty, and pass memory with the operation that evicts them. llc_writes = through:
 *             they pass memory at once
 *   too much  An operation whose arrays in this cache have more than llc_bytes finds nothing: in
 *             every repetition all that it reads and writes passes memory, too. With llc_writes =
 *             back, what it leaves dirty passes later, and what was dirty before passes now. But of
 *             a GEMM A, B and C pass a few times, below
 *   "_nt"     bytes pass memory instead of the cache. What is dirty of a range that is read passes
 *             memory first and stays in the cache, clean; of a range that is written the cache
 *             forgets all
 *
 * engine_cache = bypass: copies and fills, with and without engines, pass every cache by as "_nt",
 * and so do kernels and GEMMs that of a peer. engine_cache = through: they use the cache of the
 * device whose memory it is, at its llc_bandwidth. dev_free() and dev_reseed() forget, without
 * traffic.
 *
 * A GEMM M x N x K whose matrices are too much runs in waves. A wave is sm x sn tiles of r x c, as
 * square as the blocks w allow that are resident at once (units * blocks of one unit, at most the
 * grid): sm = floor(sqrt(w)) and sn = floor(w / sm), neither more than C has tiles, and then sm =
 * floor(w / sn), too. Waves go along N first. A passes memory ceil(N / (sn * c)) times, but once
 * if sm * r rows of it take at most half of llc_bytes; B ceil(M / (sm * r)) times, but once if all
 * of it takes at most half of llc_bytes; C once, and once more with beta. That is never more than
 * what the tiles move. Where memory adds to C, C takes no place: then all of llc_bytes counts
 * instead of half. Then the cache has the last of A, B and C, used in this order.
 *
 * TRACKER, with tracker_entries of 1 or more. What a GEMM writes is counted when a block ends, by
 * the rows and columns of its tiles; what a copy or a forward writes, when it ends, by its bytes,
 * of which only whole elements count; by whichever device. A GEMM belongs to the tracker that is
 * armed for C when its launch_ns are over: C then must be part of the matrix, in the same type and
 * with rows of the same distance (else -EINVAL), and its blocks are simulated wave by wave.
 *
 *   arm, wait   take no time of their own. Streams that wait for the same tracker all go on. With
 *               `data = real` arming sets the rows of FORWARD and KEPT to 0
 *   entries     A tile takes one with its first write and gives it back when it is complete. If
 *               none is free it is counted as overflowed, and its writes are counted in memory, at
 *               no cost to them. It gets the entry that is free next, after those that overflowed
 *               before; but if it is complete before, its copy is ready J * memory_latency_ns
 *               later. No write ever waits, and nothing waits for an entry
 *   forward     J * tracker_ns after the tile is complete its copy is ready, but not before those
 *               of tiles that were complete earlier. It takes a free engine as a copy does that was
 *               ready then, and J * (peer + flow of the tile's bytes): read once, written once,
 *               with engine_bandwidth, engine_weight and `slow_down = engine`. J is one draw per
 *               tile. It bypasses all caches and is added as dev_copy_add() does; no fault of the
 *               model counts it. Then it is counted where it arrived
 *   AWAY        The blocks of this device's GEMMs write such rows to the target instead of C: as
 *               much of C's bytes as the tile has of such rows. `peer` of a block is 0 if all its
 *               rows stay. Without `adds` beta must be 0. To a tracked cache all of C stays
 *   too much    Writes beyond `updates` times a tile's elements are not counted, and fail who
 *               writes with -EINVAL: the stream, or of a forward the wait for its tracker
 *
 * A GEMM with first_row computes the rows of tiles in another order, at the same cost.
 *
 * SHARING is max-min fair on every resource. A resource that is full gives all of its flows the
 * same, but less to those that something else holds below that; the copy of an engine gets
 * engine_weight times as much as a block. So each flow is held by its own limit (block_share, the
 * engine) or by one full resource, of which no other flow has more. Rates change only when a flow
 * starts or ends.
 *
 * MEMORY of a device is passed by two classes of traffic. Communication is what copies read and
 * write, with and without engines, what operations of streams of communication do
 * (dev_stream_class()), and what those of another device do there. All else is computing. What
 * passes a cache instead of memory has no class.
 *
 * The model's memory_policy, memory_threshold t and memory_starvation s hold until
 * dev_memory_control() changes them. B is memory_bandwidth, and L the most that the flows of
 * computing can take of it: each no more than alone (blocks that are simulated as one are one
 * flow), those on one unit together no more than it could move for the one that needs memory most,
 * and all no more than B.
 *
 *   fair           both classes share B as SHARING says
 *   compute-first  communication has t * B - L, but at least s * B. Computing has B, but where
 *                  communication has s * B, and at least one flow, (1 - s) * B. Within a class
 *                  SHARING holds
 *
 * While a flow of communication passes memory, the part q of its queue is full: all of it, with
 * compute-first t. A block of computing that meanwhile reads n bytes from its own device's memory,
 * for itself or its cache, takes q * queue_wait_ns_per_kib * n / 1024 longer than it would alone:
 * that is a limit of its own, and sharing may hold it to less. (Accesses leave a queue in the order
 * in which they came. A burst of communication fills what it is let into, and what reads waits
 * behind it, however little bandwidth the burst gets.) J, j and slow_down stretch this time, too.
 *
 * With memory_adds = 1 memory adds what dev_copy_add() and GEMMs with `adds` write to it, at its
 * own device and at others. That takes add_cost times as much of its time as a write, passes links
 * and units as a write, and reads nothing. It passes every cache by: of its range what is dirty
 * passes memory first, and the cache forgets all. Where C's memory does not add, a GEMM with `adds`
 * costs what beta = 1 does, but of a peer's C the read passes neither links nor unit.
 *
 * dev_memory_bytes() counts all of an operation when it starts: a copy or fill when its flow does,
 * a launch after launch_ns. What is added counts once, whatever add_cost is.
 *
 * LINKS between devices are directed. `links` of the model says which ones there are:
 *
 *   switch (default)  from every device to every other one
 *   mesh              the same, and without the key injection_bandwidth nothing limits what all
 *                     links of a device carry together
 *   ring              from device i to i - 1 and i + 1 modulo `devices`
 *   torus:AxB, AxBxC  rings of A devices in the first dimension, of B in the second: device
 *                     x + A * y. The product is `devices`. A way passes the dimensions in their
 *                     order, each in the shorter direction; half of a ring is passed upwards, and
 *                     downwards from coordinate A / 2, as SimGrid does. A ring is the same of one
 *                     dimension
 *   FILE              a name with '/' or '.', relative to the folder of the model: lines
 *                     `0>1 = 50e9 700` are links with their bytes/s and, unless they have
 *                     peer_latency_ns, their latency; `0-1 = ...` is both directions. A way has the
 *                     fewest links, and of several such ways the next device of the lowest number
 *
 * What moves between two devices takes the capacity of every link on the way, and nothing of the
 * devices between. Only a switch has injection_bandwidth without the key. Devices that no links
 * connect cannot be peers (-ENOTSUP). So is an operation that passes more than about 70 links.
 * Links belong to the machine: all that is open shares them. The model of the device that they
 * leave decides what they are, or if several are open with its index, the first one; if none is,
 * the model of the source. The source's model chooses the way.
 *
 * A device reports one link to the host, of kind "link", at the model's rates, and a path to every
 * other device at the least of the bandwidths of its links and what both inject, all divided by the
 * device's draw of open_sigma. Reading takes no time. Jitter makes single copies faster than the
 * link, and with more than some per cent of it, or a negative drift, also a median of few.
 *
 * RESIDENCE. A pending launch of higher priority goes first, then the one that became ready first.
 * If its next block fits on no unit, nothing behind it starts that may use the same units: all, or
 * those of dev_stream_units(), which also count as the units of a GEMM's wave. A block goes to the
 * unit with the fewest residents (the lowest number among equals). A unit has slots_per_unit slots,
 * shared_per_unit_bytes and registers_per_unit_bytes (0: enough). A block takes a slot, its claim
 * of shared memory and block_register_bytes; one of a GEMM also the sums of a tile, r * c floats
 * (f64: doubles), and without tile_k gemm_tile_shared_bytes. Without engines (copy_engines = 0) a
 * copy is a launch of one block per unit.
 *
 * FAILURES. A failure that the model requests drops the rest of its stream until the next sync, as
 * dev.h says. A dropped event record still completes, so that no other stream waits for ever.
 *
 * BLOCKS that begin together and are alike, on units that hold the same, are simulated as one,
 * which changes no time. With block_jitter_sigma each is simulated by itself.
 *
 * DATA. With `data = none` the device has DEV_CAP_TIME_ONLY. With block_jitter_sigma every time is
 * as with data. Without it blocks that differ by a line of memory count as equal, and waves of a
 * launch that nothing disturbs are simulated together, each as long as the others; whoever shares a
 * resource with them does not see the block_ns between waves. That changes times by less than 1 %.
 * Memory is address space, of which the host pays for the pages that are written. Copies and fills
 * of at most SIM_MOVED_BYTES do their work. Larger ones move nothing, kernels move and compute
 * nothing, GEMMs compute nothing, and `chase` follows no ring. Real is what streams write and wait
 * for, what `signal`, `stamp`, `blocking_kernel` and `await` write, and what a GEMM counts in
 * `done`. Fresh memory is 0. The address space that the process may have is the limit, and -ENOMEM
 * says so. A model that corrupts results needs `data = real`.
 *
 * MISUSE is an error. -EFAULT and -EBUSY are as in dev.h. Overlapping copies, misaligned or missing
 * arguments, and a closed or foreign stream, event or kernel are -EINVAL. A ring with an entry that
 * points outside fails its launch with -EFAULT. Closing a stream with queued work drops the work
 * and makes the device's next operation -EBUSY. Fresh memory of real data is filled with 0xa5.
 *
 * MODELS are "default", "quiet" (the same without jitter), those of device/sim/model/machines,
 * which are in the programs, and files: a name with '/' or '.'. A spec may change a model:
 * "NAME?KEY=VALUE", and several with ',' or '&' between. There a number before an 'x' multiplies
 * the model's value: "mi300x?peer_bandwidth=2x,units=152". That of `peer_bandwidth` or
 * `peer_latency_ns` multiplies those of single links as well, and with `links` the model loses all
 * lines of single links.
 *
 * A file has lines `key = value` and comments after '#'. A missing key is as in "default", or as in
 * the model of a first line `like = NAME`. Sizes may end in K, M, G (powers of 1024). Units are
 * base units: bytes, nanoseconds, bytes/s, flop/s. The keys are the fields of struct sim_model, and
 * `slow_down`, `lacks` and `links`. `peer_bandwidth` and `peer_latency_ns` hold for every link, but
 * for those with a line of their own: `peer_bandwidth 0>3 = 12.5e9` is from device 0 to device 3.
 * injection_bandwidth is all that leaves a device for others, or comes from them; without the key
 * it is peer_bandwidth. A model that contradicts itself is refused. `devices` are 0 to devices - 1;
 * to open another one is -ENODEV.
 */
#ifndef GPUSIG_SIM_MODEL_H
#define GPUSIG_SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_SLOW_DOWNS 16
#define SIM_UNITS 1024
#define SIM_PAIRS 4032 /* all of 64 devices */
#define SIM_TORUS_DIMENSIONS 3
/* Without data, copies and fills of more bytes move nothing. */
#define SIM_MOVED_BYTES (64u << 10)

enum { SIM_DATA_REAL, SIM_DATA_NONE };

/* One ordered pair of devices, by index; NaN: as every pair. */
struct sim_pair {
	uint8_t from, to;
	bool linked; /* in a file of links */
	double bandwidth, latency_ns;
	int bandwidth_line, latency_line; /* of the model's text; 0: not there */
};

enum sim_links {
	SIM_LINKS_SWITCH,
	SIM_LINKS_MESH,
	SIM_LINKS_RING, /* as read; then a torus */
	SIM_LINKS_TORUS,
	SIM_LINKS_FILE,
};

struct sim_model {
	char name[64]; /* with the changes of a spec */
	/* As the spec names it, without its changes: */
	char base[64];
	uint64_t contents; /* a hash of every key, wherever it is written */
	uint32_t data;     /* SIM_DATA_ */
	uint32_t devices;  /* that the machine has */
	/* shape */
	uint32_t units, slots_per_unit, copy_engines;
	uint32_t host_engines; /* that copy up, and that copy down, at once; 0: all */
	uint32_t priorities;   /* 3 or 1 */
	uint32_t max_queued;
	uint32_t tracker_entries; /* tiles that the tracker counts at once; 0: it has none */
	uint32_t llc_tracked;     /* 0: always warm */
	uint32_t llc_writes;      /* 1: through */
	uint32_t engine_cache;    /* 1: copies of engines go through it */
	uint32_t numa_nodes;      /* of the host */
	uint32_t memory_adds;     /* 1: it adds what is written to it */
	uint32_t memory_control;  /* 1: how classes of traffic share memory can be changed */
	uint32_t memory_policy;   /* enum dev_memory_policy: fair or compute-first */
	uint64_t shared_per_unit_bytes, shared_per_block_bytes, shared_granularity_bytes,
		shared_reserved_bytes;
	uint64_t memory_bytes, host_memory_bytes, llc_bytes;
	uint64_t l1_bytes,
		l2_bytes; /* of a unit, and of l2_units of them; 0, as in "default": none */
	uint32_t l2_units;
	uint32_t l1_divided;                   /* 1: shared memory is part of the L1 */
	uint64_t registers_per_unit_bytes;     /* 0: they limit nothing */
	uint64_t block_register_bytes;         /* of a block, without the accumulators of a GEMM */
	uint32_t gemm_tile, gemm_tile_columns; /* of the library's GEMM; 0 columns: as rows */
	uint32_t gemm_tile_min;                /* 0: always tiles of that size */
	uint64_t gemm_tile_shared_bytes;       /* that a block of it claims */
	/* latencies, ns */
	double launch_ns, copy_ns, block_ns, event_ns, value_ns;
	double tracker_ns; /* from the last write of a tile to its copy; 0 in "default" */
	/* of one load: 500, 250 and 1000 in "default" */
	double memory_latency_ns, llc_latency_ns, link_latency_ns;
	double l1_latency_ns, l2_latency_ns;
	double peer_latency_ns; /* 0 in "default" */
	double host_call_ns, host_clock_ns, host_sync_ns;
	/* Error of a device's timer: the stamp of a kernel minus dev_clock_ns() of that moment.
	 * Events are free of it. */
	double stamp_error_ns;
	/* rates; host_bandwidth is that of the device that is opened first */
	double memory_bandwidth, llc_bandwidth, host_bandwidth, link_up_bandwidth,
		link_down_bandwidth;
	double l1_bandwidth; /* of one unit */
	double peer_bandwidth, engine_bandwidth, unit_bandwidth;
	double injection_bandwidth; /* 0: peer_bandwidth */
	double far_bandwidth;
	double flops_f32, flops_f64; /* of one unit */
	/* The same of GEMMs in these types; 0, as in "default": the device has none. */
	double flops_tf32, flops_f16, flops_bf16, flops_f8;
	double block_share, gemm_efficiency, engine_weight;
	/* MEMORY */
	double memory_threshold, memory_starvation;
	double queue_wait_ns_per_kib;
	double add_cost; /* memory's time for a byte that it adds / for one that is written */
	double clock_hz;
	/* noise: lognormal factors of mean 1 */
	uint64_t seed;             /* of every case: and what dev_reseed() is given */
	double jitter_sigma;       /* per operation */
	double block_jitter_sigma; /* per block */
	double open_sigma;         /* one draw per opened device, for every duration on it */
	double drift_per_s;        /* durations grow by this fraction per virtual second */
	double outlier_probability, outlier_factor; /* an outlier takes this times as long */
	/* faults, counted per device from 1; 0: never */
	uint64_t fail_alloc_at;  /* this allocation is -ENOMEM */
	uint64_t fail_launch_at; /* this launch or gemm fails when it runs: -EIO at the next sync */
	uint64_t fail_copy_at;   /* the same for a copy */
	uint64_t corrupt_copy_every;   /* one bit of the result of every n-th copy is wrong */
	uint64_t corrupt_launch_every; /* the same for every n-th launch or gemm */
	/* `slow_down = WHAT FACTOR`, repeatable: WHAT is a kernel that moves or computes, "gemm",
	 * "engine" or "fill". Its flow takes FACTOR times as long. */
	struct {
		const char *what;
		double factor;
	} slow_down[SIM_SLOW_DOWNS];
	uint32_t slow_downs;
	enum sim_links links;
	uint32_t torus[SIM_TORUS_DIMENSIONS]; /* devices a side; 1: none */
	struct sim_pair pair[SIM_PAIRS];      /* by `from`, then by `to` */
	uint32_t pairs;
	/* `lacks = gemm priority ...`: capabilities that this device does not have, of
	 * SIM_CAN_LACK. */
	uint32_t lacks;
};

/* The model that a spec names, built in or a file, with its changes; NULL is "default". -EINVAL
 * with a text. */
int sim_model_load(const char *spec, struct sim_model *model_p);

/* Parse a model from text; `where` names it in messages ("where:line: ..."). */
int sim_model_parse(const char *text, const char *where, struct sim_model *model_p);

#endif
