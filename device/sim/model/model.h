/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model: the keys of a simulated machine, each of which is a field. What they mean is said by the
 * laws, of which device/sim/README.md has a list; reading.h says how models are written.
 */
#ifndef GPUSIG_SIM_MODEL_H
#define GPUSIG_SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_SLOW_DOWNS 16
#define SIM_UNITS 1024
#define SIM_ENGINES 64
#define SIM_PAIRS 4032 /* all of 64 devices */
#define SIM_TORUS_DIMENSIONS 3
/* Without data, copies and fills of more bytes move nothing. */
#define SIM_MOVED_BYTES (64u << 10)

enum { SIM_DATA_REAL, SIM_DATA_NONE };
/* engine_order (machine/engines.h). */
enum { SIM_READY_FIRST, SIM_ENQUEUED_FIRST, SIM_STREAM_FIRST, SIM_ROUND_ROBIN };

/* One ordered pair of devices, by index; NaN: as every pair. */
struct sim_pair {
	uint8_t from, to;
	bool linked; /* in a file of links, or with `links = pairs` */
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
	uint32_t engine_order; /* SIM_READY_FIRST ... */
	uint32_t engine_priority, engine_sticky; /* 0 or 1 */
	uint32_t priorities;                     /* 3 or 1 */
	uint32_t max_queued;
	uint32_t tracker_entries; /* tiles that the tracker counts at once; 0: it has none */
	uint32_t llc_tracked;     /* 0: always warm */
	uint32_t llc_writes;      /* 1: through */
	uint32_t engine_cache;    /* 1: copies of engines go through it */
	uint32_t numa_nodes;      /* of the host */
	uint32_t tenants;         /* TENANTS (machine/traffic.c) */
	uint32_t uplink_devices, uplink_peers; /* UPLINKS (machine/uplinks.c) */
	uint32_t memory_adds;                  /* 1: it adds what is written to it */
	uint32_t memory_control; /* 1: how classes of traffic share memory can be changed */
	uint32_t memory_policy;  /* enum dev_memory_policy: fair or compute-first */
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
	double gemm_ns;                        /* of a GEMM, beyond launch_ns; 0 in "default" */
	double gemm_block_ns;      /* of a block of it, beyond block_ns; 0 in "default" */
	double gemm_traffic_share; /* of its tiles' bytes, that pass the cache; 1 */
	/* latencies, ns */
	double launch_ns, copy_ns, engine_switch_ns, block_ns, event_ns, value_ns;
	double batch_copy_ns; /* of a batch's copies after its first, in place of copy_ns */
	double tracker_ns;    /* from the last write of a tile to its copy; 0 in "default" */
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
	double injection_bandwidth;             /* 0: peer_bandwidth */
	double far_bandwidth, uplink_bandwidth; /* one way */
	double storage_bandwidth, storage_ns;   /* STORAGE; 0, as in "default": there is none */
	double flops_f32, flops_f64;            /* of one unit */
	/* Rates of GEMMs in these types; 0, as in "default": there are none. */
	double flops_tf32, flops_f16, flops_bf16, flops_f8;
	double flops_mxf8, flops_mxf4, flops_nvf4, flops_i8; /* of i8 op/s */
	double block_share, gemm_efficiency, engine_weight;
	/* MEMORY */
	double memory_threshold, memory_starvation;
	double queue_wait_ns_per_kib;
	double add_cost; /* memory's time for a byte that it adds / for one that is written */
	double clock_hz;
	/* POWER; all 0, as in "default": the device has no such law */
	double idle_watt, joule_per_flop, joule_per_byte;
	double cap_watt; /* 0: none */
	double kelvin_per_watt, thermal_s, ambient_celsius;
	double limit_celsius; /* 0: none */
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
