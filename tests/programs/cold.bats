#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Cold operands are in no cache, whatever ran before, and results are checked in the buffers that were used. On a simulated device
# that tracks its cache the truth is known: what finds nothing there takes as long as on a device that has none.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 12 --warm-up 2 --format json'
PROGRAMS='pair out_of_core trigger shaping ficco'

# Memory is slow, so what passes it shows. What is written back passes it in another operation than the one that wrote, so only
# where writes pass through does every GEMM take what it takes without a cache.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	local base=$'like = quiet\nevent_ns = 0\nmemory_bandwidth = 5e9\n'
	printf '%sllc_tracked = 1\nllc_writes = through\n' "$base" >tracks.model
	printf '%sllc_tracked = 1\n' "$base" >back.model
	printf '%sllc_bytes = 1024\n' "$base" >without.model
	printf '%sllc_bytes = 0\n' "$base" >unknown.model
}

# measure DEVICE PROGRAM OPTIONS: records in DEVICE's file name with .jsonl appended, or in $to
measure() {
	local device=$1 program=$2
	shift 2
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$bin/$program" --device "$device" $QUICK $(budget_for "$device" 2s) "$@"
	echo "$program on $device $*: $status $stderr"
}

# Sizes for which each program has one case; also what is its GEMM alone.
options() {
	case $1 in
	pair) echo --shape n256 --transfer up --copy-method engine --size 1M ;;
	out_of_core) echo --shape n256 --pieces 4 ;;
	trigger) echo --shape n256 --direction local --bands 4 ;;
	shaping) echo --scenario mb-ar --shared 0 --mflop 100 --iterations 3 ;;
	ficco) echo --shape n256 --op ag-gemm --copy-method engine --schedule serial,shard ;;
	esac
}

@test "a GEMM's cold operands pass memory once, and its warm ones never, in the same case" {
	measure sim:./back.model gemm/efficiency --type f32 --shape n256
	[ "$status" = 0 ] && printf '%s\n' "$output" >tracks
	measure sim:./without.model gemm/efficiency --type f32 --shape n256
	[ "$status" = 0 ] && printf '%s\n' "$output" >without
	measure sim:quiet gemm/efficiency --type f32 --shape n256
	[ "$status" = 0 ] && printf '%s\n' "$output" >warm
	cat tracks without warm | json '[all(abs(x - y) < 0.03 * y for x, y in ((a["gemm_cold"], b["gemm"]), (a["gemm"], w["gemm"])))
		and a["gemm_cold"] > 4 * a["gemm"] for a, b, w in [[{v["name"]: v["median_s"] for v in c["variants"]} for c in cases]]] == [True]'
	json '[(d["value"] > 4, d["variant"]) for d in cases[0]["derived"] if d["name"] == "cold_time_ratio"] == [(True, "gemm_cold")]' <tracks
	json 'cases[0]["facts"]["operand_sets"] == 12 and cases[0]["check"]["status"] == "ok"' <tracks
}

@test "the cost of cutting is of cold pieces over the cold whole" {
	measure sim:./tracks.model gemm/split --type f32 --shape n256
	[ "$status" = 0 ]
	json 'all(abs(d["DIL", v + "_cold"] - t[v + "_cold"] / t["whole_cold"]) < 0.02
		and abs(d["cold_time_ratio", v + "_cold"] - t[v + "_cold"] / t[v]) < 0.02 and t[v + "_cold"] > 1.2 * t[v]
		for t in [{v["name"]: v["median_s"] for v in cases[0]["variants"]}]
		for d in [{(x["name"], x["variant"]): x["value"] for x in cases[0]["derived"]}] for v in ("m8", "k8"))' <<<"$output"
}

@test "what brings cold operands about leaves nothing that a schedule has to write back" {
	for op in ag-gemm gemm-rs; do
		for machine in tracks back; do
			measure sim:./$machine.model overlap/ficco --operands cold --shape n256 --op $op --copy-method engine --schedule serial,shard
			[ "$status" = 0 ]
			printf '%s\n' "$output" >$machine
		done
		cat tracks back | json '[all(back[v] < 1.03 * through[v] for v in ("serial", "shard")) for through, back in [[
			{v["name"]: v["median_s"] for v in c["variants"]} for c in cases]]] == [True]'
	done
}

@test "every overlap program finds cold operands in no cache: its GEMM alone takes as long as without one" {
	for name in $PROGRAMS; do
		# shellcheck disable=SC2046 # a list of words
		measure sim:./tracks.model "overlap/$name" --operands warm,cold $(options "$name")
		[ "$status" = 0 ] || [ "$status" = 3 ]
		printf '%s\n' "$output" >tracks
		# shellcheck disable=SC2046 # a list of words
		measure sim:./without.model "overlap/$name" --operands warm $(options "$name")
		[ "$status" = 0 ] || [ "$status" = 3 ]
		cat tracks - <<<"$output" | json 'sorted(c["case"]["operands"] for c in cases) == ["cold", "warm", "warm"]' \
			'none([c["key"] for c in cases if not c["status"] == c["check"]["status"] == "ok"])' \
			'[abs(cold - without) < 0.005 * without and cold > 1.5 * warm for warm, cold, without in [[
				next(v["median_s"] for v in c["variants"] if v["name"] in ("gemm", "gemm_alone"))
				for c in sorted(cases[:2], key=lambda c: c["case"]["operands"], reverse=True) + cases[2:]]]] == [True]' \
			'[("operand_sets" in c["facts"]) == (c["case"]["operands"] == "cold") for c in cases] == [True] * 3'
	done
}

@test "also where transfers are concurrent, and among devices" {
	measure sim:./tracks.model:0,1 overlap/pair --shape n256 --transfer peer,reduce-scatter --copy-method engine,kernel --size 256K \
		--operands cold
	[ "$status" = 0 ] || [ "$status" = 3 ]
	printf '%s\n' "$output" >tracks
	measure sim:./without.model:0,1 overlap/pair --shape n256 --transfer peer,reduce-scatter --copy-method engine,kernel --size 256K
	cat tracks - <<<"$output" | json 'len(cases) == 8 and all(abs(a[v] - b[v]) < 0.005 * b[v]
		for x, y in zip(sorted(cases[:4], key=lambda c: c["key"]), sorted(cases[4:], key=lambda c: c["key"]))
		for a, b in [[{v["name"]: v["median_s"] for v in c["variants"]} for c in (x, y)]]
		for v in ("gemm_alone", "gemm_in_gemm_first", "gemm_in_transfer_first"))'
}

@test "a wrong result in a rotating buffer is found" {
	printf 'like = quiet\ncorrupt_launch_every = 1\n' >wrong.model
	for name in $PROGRAMS; do
		# shellcheck disable=SC2046 # a list of words
		measure sim:./wrong.model "overlap/$name" --operands cold $(options "$name")
		[ "$status" = 1 ]
		[[ $stderr == *"wrong result: "* ]]
	done
	measure sim:./wrong.model gemm/efficiency --type f32 --shape n256 --variant gemm_cold
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: gemm_cold"* ]]
}

@test "a cache of unknown size is a reason: the variant is not measured, the case is skipped" {
	measure sim:./unknown.model gemm/efficiency --type f32 --shape n128
	[ "$status" = 0 ]
	json '"last-level cache is unknown" in cases[0]["facts"]["not_measured"]' \
		'{v["name"] for v in cases[0]["variants"]} == {"gemm", "peak"}' <<<"$output"
	measure sim:./unknown.model overlap/pair --shape n64 --transfer up --copy-method engine --size 8K --operands warm,cold
	[ "$status" = 0 ]
	json '({c["case"]["operands"]: (c["status"], "cache is unknown" in (c.get("reason") or "")) for c in cases} ==
		{"warm": ("ok", False), "cold": ("skipped", True)})' <<<"$output"
}

@test "operands beyond the cache need no cold variant, nor does a GEMM that computes for long" {
	measure sim:quiet gemm/efficiency --type f32 --shape 1024x1024x64
	[ "$status" = 0 ]
	json '"exceed the last-level cache" in cases[0]["facts"]["not_measured"]' <<<"$output"
	printf 'like = quiet\nunits = 1\nllc_bytes = 64M\n' >one.model
	measure sim:./one.model gemm/efficiency --type f32 --shape n1024
	[ "$status" = 0 ]
	json '"is negligible" in cases[0]["facts"]["not_measured"]' <<<"$output"
}

@test "on the host results are right in every set that a check looks at" {
	measure host gemm/efficiency --type f32 --shape 64x512x512 --variant gemm,gemm_cold
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'cases[0]["check"]["status"] == "ok" and ("operand_sets" in cases[0]["facts"]) != ("not_measured" in cases[0]["facts"])' <<<"$output"
	measure host overlap/out_of_core --shape n256 --pieces 4 --operands cold
	[ "$status" = 0 ] || [ "$status" = 3 ] || [ "$status" = 77 ]
	json 'all(c["check"]["status"] == "ok" and c["facts"]["operand_sets"] >= 2 for c in cases if c["status"] == "ok")' <<<"$output"
}
