#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# gemm/small_batch against a simulated device whose bandwidth and rate are known: weights pass memory, whatever their size, until
# there are so many rows that arithmetic takes longer.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

# A row of tiles costs what one row does, so tiles have 8 rows. Starting takes no time, and caches are far faster than memory
# and hold all operands of a GEMM, so that it need not read weights twice.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf '%s\n' 'like = quiet' 'event_ns = 0' 'launch_ns = 0' 'block_ns = 0' 'units = 8' 'slots_per_unit = 8' 'memory_latency_ns = 0' \
		'llc_latency_ns = 0' 'unit_bandwidth = 1e15' 'llc_bandwidth = 1e14' 'llc_bytes = 32M' 'memory_bandwidth = 10e9' 'flops_f32 = 50e9' \
		'gemm_efficiency = 1' 'gemm_tile = 8' 'llc_tracked = 1' 'llc_writes = through' >known.model
}

measure() {
	run --separate-stderr timeout "$HANGS_S" "$bin/gemm/small_batch" --min-samples 6 --max-samples 10 --warm-up 2 --format json "$@"
	echo "$*: $status $stderr"
}

@test "few rows take what their bytes take from memory, many what their flops take at the device's rate" {
	measure --device sim:./known.model --rows 1,8,64,256 --weights 512x512,2048x1024
	[ "$status" = 0 ]
	json '[[(c["case"]["rows"], c["case"]["weights"]) for n, k in [map(int, c["case"]["weights"].split("x"))]
		for m in [c["case"]["rows"]]
		for bytes_s, flops_s in [(4 * (m * k + k * n + m * n) / 10e9, 2 * max(m, 8) * n * k / (8 * 50e9))]
		for v in [{x["name"]: x["median_s"] for x in c["variants"]}]
		for d in [{(x["name"], x["variant"]): x["value"] for x in c["derived"]}]
		if not (abs(v["gemm"] - max(bytes_s, flops_s)) < 0.05 * v["gemm"]
			and abs(v["read"] - 4 * k * n / 10e9) < 0.05 * v["read"]
			and c["facts"]["limited_by"] == ("memory" if bytes_s > flops_s else "arithmetic")
			and abs(d["share_of_read", "gemm"] - min(1, bytes_s / flops_s)) < 0.05
			and abs(d["share_of_bound", "gemm"] - 1) < 0.06
			and (m == 1 or abs(d["rows_time_ratio", "gemm"] - max(bytes_s, flops_s) / (4 * (k + k * n + n) / 10e9)) < 0.06
				* d["rows_time_ratio", "gemm"]))] for c in cases] == [[]] * 8' \
		'sorted({c["facts"]["limited_by"] for c in cases}) == ["arithmetic", "memory"]' \
		'[c["check"]["status"] for c in cases] == ["ok"] * 8' <<<"$output"
}

@test "weights that a cache holds are read from memory all the same" {
	measure --device sim:./known.model --rows 8 --weights 256x256
	[ "$status" = 0 ]
	json 'cases[0]["facts"]["operand_sets"] > 30' \
		'abs({v["name"]: v["median_s"] for v in cases[0]["variants"]}["read"] * 10e9 / (4 * 256 * 256) - 1) < 0.05' <<<"$output"
}

@test "a wrong result is found in the buffers that were used" {
	printf '%s\n' 'like = quiet' 'corrupt_launch_every = 1' >wrong.model
	for variant in gemm fewest_rows; do
		measure --device sim:./wrong.model --rows 8 --weights 256x256 --variant $variant
		[ "$status" = 1 ]
		[[ $stderr == *"wrong result: $variant"* ]]
	done
}

@test "what cannot be is refused or skipped with the reason" {
	measure --device sim --weights 300
	[ "$status" = 2 ]
	[[ $stderr == *"unknown weights '300'; values: NxK"* ]]
	measure --device sim --weights 3x4
	[ "$status" = 2 ]
	measure --device sim:h100 --type f8 --rows 1,64
	[ "$status" = 0 ]
	json '{c["case"]["rows"]: c["status"] for c in cases} == {1: "skipped", 64: "ok"}' \
		'none([c["reason"] for c in cases if c["status"] == "skipped" and "multiples of 16" not in c["reason"]])' <<<"$output"
	printf '%s\n' 'like = quiet' 'llc_bytes = 0' >unknown.model
	measure --device sim:./unknown.model --rows 1
	[[ $output$stderr == *"last-level cache is unknown"* ]]
}
