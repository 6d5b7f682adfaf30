#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# gemm/grouped against a simulated device on which it is known what starting a GEMM, its bytes and its flops cost.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

# 8 units; a tile has 8 rows and columns; caches are far faster than memory, and hold all operands.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf '%s\n' 'like = quiet' 'event_ns = 0' 'block_ns = 0' 'units = 8' 'slots_per_unit = 1' 'block_share = 1' 'memory_latency_ns = 0' \
		'llc_latency_ns = 0' 'unit_bandwidth = 1e15' 'llc_bandwidth = 1e14' 'llc_bytes = 32M' 'gemm_efficiency = 1' 'gemm_tile = 8' \
		'llc_tracked = 1' 'llc_writes = through' >known.model
	{ cat known.model && printf '%s\n' 'launch_ns = 20000' 'memory_bandwidth = 10e9' 'flops_f32 = 1e12'; } >memory.model
	{ cat known.model && printf '%s\n' 'launch_ns = 0' 'memory_bandwidth = 1e13' 'flops_f32 = 1e9'; } >arithmetic.model
}

measure() {
	run --separate-stderr timeout "$HANGS_S" "$bin/gemm/grouped" --min-samples 6 --max-samples 10 --warm-up 2 --format json "$@"
	echo "$*: $status $stderr"
}

times='{v["name"]: v["median_s"] for v in cases[0]["variants"]}'
derived='{(d["name"], d["variant"]): d["value"] for d in cases[0]["derived"]}'

@test "where memory limits, one operation saves the starts of all others" {
	measure --device sim:./memory.model --type f32 --experts 6 --rows 8 --routing even --weights 64x256
	[ "$status" = 0 ]
	json "[(t['serial'], d['speedup', 'grouped']) for t in [$times] for d in [$derived]
		for bytes_s in [4 * (48 * 256 + 6 * 256 * 64 + 48 * 64) / 10e9]
		if abs(t['serial'] / (6 * 20e-6 + bytes_s) - 1) > 0.05 or abs(t['grouped'] / (20e-6 + bytes_s) - 1) > 0.05
		or abs(t['read'] / (20e-6 + 4 * 6 * 256 * 64 / 10e9) - 1) > 0.05
		or abs(d['speedup', 'grouped'] * t['grouped'] / t['serial'] - 1) > 0.02] == []" \
		'cases[0]["check"]["status"] == "ok" and cases[0]["facts"]["operand_sets"] > 100' <<<"$output"
}

# A GEMM has 4 tiles on 8 units, all of them have 32, which the units share.
@test "where arithmetic limits, groups fill the units that one GEMM leaves idle" {
	measure --device sim:./arithmetic.model --type f32 --experts 8 --rows 8 --routing even --weights 32x512
	[ "$status" = 0 ]
	json "[(t, tile_s) for t in [$times] for tile_s in [2 * 8 * 8 * 512 / 1e9]
		if abs(t['serial'] / (8 * tile_s) - 1) > 0.05 or abs(t['grouped'] / (4 * tile_s) - 1) > 0.05
		or abs(t['streams'] / (4 * tile_s) - 1) > 0.05 or abs(t['whole'] / (4 * tile_s) - 1) > 0.05] == []" \
		"abs(($derived)['share_of_bound', 'grouped'] - 1) < 0.05 and abs(($derived)['share_of_bound', 'serial'] - 0.5) < 0.03" <<<"$output"
}

@test "uneven experts have the same rows in all, and those without rows read no weights" {
	measure --device sim:./memory.model --type f32 --experts 32 --rows 1 --routing even,uneven --weights 64x256
	[ "$status" = 0 ]
	json '{c["case"]["routing"]: (c["facts"]["least_rows"], c["facts"]["m"]) for c in cases} == {"even": (1, 32), "uneven": (0, 32)}' \
		'[c["facts"]["most_rows"] > 1 for c in cases if c["case"]["routing"] == "uneven"] == [True]' \
		'len(set(m[v]["bytes"] for c in cases for m in [{v["name"]: v["model"] for v in c["variants"]}] for v in ("serial", "grouped"))) == 2' \
		'[c["check"]["status"] for c in cases] == ["ok", "ok"]' <<<"$output"
}

@test "a wrong result of any way is found" {
	printf '%s\n' 'like = quiet' 'corrupt_launch_every = 1' >wrong.model
	for variant in serial streams grouped; do
		measure --device sim:./wrong.model --experts 2 --rows 8 --routing even --weights 64x64 --variant $variant
		[ "$status" = 1 ]
		[[ $stderr == *"wrong result: $variant"*"group "* ]]
	done
}

@test "what cannot be is refused, or left out with the reason" {
	measure --device sim --experts 65
	[ "$status" = 2 ]
	measure --device sim --weights 64
	[ "$status" = 2 ]
	[[ $stderr == *"unknown weights '64'; values: NxK"* ]]
	measure --device sim:h100 --type f8 --rows 4,16
	[ "$status" = 0 ]
	json 'sorted((c["case"]["rows"], c["status"]) for c in cases if c["case"]["routing"] == "even") == [(4, "skipped"), (16, "ok")]' \
		'none([c["reason"] for c in cases if c["status"] == "skipped" and "multiples of 16" not in c["reason"]])' <<<"$output"
}
