#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# GEMM and transfer at once: right results from every transfer, known truth on the simulated device, and what is not supported is said.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

program=${GPUSIG_BIN:-$root/bin}/overlap/pair
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'
ONE=(--min-samples 1 --max-samples 1) # where results are looked at, not times

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$program" --device "$devices" $QUICK $(budget_for "$devices" 0.1s) "$@"
	echo "$devices $*: $status $stderr"
}

# model LINES: writes ./model.sim, like the quiet one but for these lines
model() { printf 'like = quiet\n%s\n' "$1" >"$BATS_TEST_TMPDIR/model.sim"; }

@test "every transfer by every copy method brings the right bytes concurrent with a right GEMM, on 2 to 5 devices" {
	local last sizes methods
	for last in 1 2 4; do
		# Slots and sizes have nothing to do with how many devices there are.
		[ "$last" = 2 ] && sizes=8K,512K methods=engine,kernel,kernel:1,kernel:units/2 || sizes=64K methods=engine,kernel
		measure "sim:0-$last" --shape 96x80x64 --size "$sizes" --copy-method "$methods" "${ONE[@]}"
		[ "$status" = 0 ]
		json "len(cases) == 7 * len('$sizes'.split(',')) * len('$methods'.split(','))" \
			'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"])
				for r in cases)' <<<"$output"
	done
}

@test "on the host, with the cores divided" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	measure host:0,1 --shape n64 --size 64K --transfer up,peer --budget 10m "${ONE[@]}"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'sum(r["kind"] == "case" and r["check"]["status"] == "ok" for r in rows) == 4' <<<"$output"
}

@test "a transfer that goes first has started all of its messages before the GEMM" {
	measure sim:mi300x:0-7 --type bf16 --shape n8192 --mflop 0 --size 64M --transfer all-gather --copy-method kernel:32
	[ "$status" = 0 ]
	json '[[d["value"] < 1.1 for d in r["derived"] if d["name"] == "CIL" and d["variant"] == v] for r in rows if r["kind"] == "case"
		for v in ("transfer_in_transfer_first", "transfer_in_gemm_first")] == [[True], [False]]' <<<"$output"
}

@test "a transfer that brings a wrong bit and a wrong GEMM are found" {
	cd "$BATS_TEST_TMPDIR"
	model 'corrupt_copy_every = 1'
	measure sim:./model.sim:0,1 --shape n64 --size 8K --transfer all-to-all --copy-method engine
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: "* ]]
	model 'corrupt_launch_every = 1'
	measure sim:./model.sim --shape n64 --size 8K --transfer up --copy-method engine
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: "*"row "* ]]
}

@test "an engine that shares nothing with the GEMM hides behind it: S is ideal and no side slows down" {
	cd "$BATS_TEST_TMPDIR"
	model 'llc_bandwidth = 1e15
memory_bandwidth = 1e15
host_bandwidth = 1e15'
	measure sim:./model.sim --shape n256 --size 0.5x,1x,2x --transfer up --copy-method engine
	[ "$status" = 0 ]
	json 'all(abs(d["value"] - 1) < 0.05 for r in rows if r["kind"] == "case" for d in r["derived"]
		if d["name"] in ("fraction_of_ideal", "fraction_of_bound", "CIL"))' <<<"$output"
	json '[(r["facts"]["class"], r["facts"]["slowed_side_gemm_first"], r["facts"]["slowed_side_transfer_first"]) for r in rows
		if r["kind"] == "case"] == [(c, "neither", "neither") for c in ("G-long", "GC-equal", "C-long")]' <<<"$output"
}

# The numerator and the denominator of a CIL are the same work, from the event before it to its end.
@test "where nothing is shared every CIL is 1 to the last digits, and the orders tie" {
	cd "$BATS_TEST_TMPDIR"
	model 'llc_bandwidth = 1e15
memory_bandwidth = 1e15
host_bandwidth = 1e15'
	for what in "sim:./model.sim --transfer up,down" "sim:./model.sim:0-2 --transfer peer,all-gather,all-to-all"; do
		# shellcheck disable=SC2086 # a device and options
		measure $what --shape n64,n256 --size 64K,1x --copy-method engine
		[ "$status" = 0 ]
		json 'all(abs(d["value"] - 1) < 1e-9 and d["ci_low"] is not None and d["rounds"] >= 6 for r in rows if r["kind"] == "case"
			for d in r["derived"] if d["name"] == "CIL")' \
			'sum(d["name"] == "CIL" for r in rows if r["kind"] == "case" for d in r["derived"]) in (32, 48)' <<<"$output"
		json '{r["facts"]["better_order"] for r in rows if r["kind"] == "case" and r["case"]["shape"] == "n256"} == {"tie"}' \
			<<<"$output"
	done
}

@test "a kernel that waits for slots gains nothing, and the side that came second is slowed" {
	cd "$BATS_TEST_TMPDIR"
	model 'units = 1
slots_per_unit = 1'
	measure sim:./model.sim --shape n256 --size 1x --transfer local --copy-method kernel
	json 'all(abs(d["value"]) < 0.1 for r in rows if r["kind"] == "case" for d in r["derived"]
		if d["name"] == "fraction_of_ideal")' <<<"$output"
	json 'next(r["facts"] for r in rows if r["kind"] == "case")["slowed_side_gemm_first"] == "transfer"' \
		'next(r["facts"] for r in rows if r["kind"] == "case")["slowed_side_transfer_first"] == "gemm"' <<<"$output"
}

@test "a transfer that is far shorter than the GEMM gives no fraction, and says why" {
	measure sim --shape 64x64x16384 --size 4K --transfer up --copy-method engine
	json 'all(d["value"] is None and d["reason"] for r in rows if r["kind"] == "case" for d in r["derived"]
		if d["name"] == "fraction_of_ideal")' <<<"$output"
	json 'all("is within noise of 1; the limit is 1." in d["reason"] for r in rows if r["kind"] == "case" for d in r["derived"]
		if d["name"] == "fraction_of_ideal")' <<<"$output"
}

@test "the bytes that were found are in the record and take as long as the GEMM" {
	measure sim --shape n256 --size 0.5x,2x --transfer down
	json 'all(r["facts"]["transfer_bytes"] % 4096 == 0 for r in rows if r["kind"] == "case")' <<<"$output"
	json 'all(abs(times["transfer_alone"] / times["gemm_alone"] / float(r["case"]["size"][:-1]) - 1) < 0.15
		for r in rows if r["kind"] == "case" for times in [{v["name"]: v["median_s"] for v in r["variants"]}])' <<<"$output"
}

# multiples: (multiple measured / asked for, flagged "size", passes) of every case of $output.
multiples='[(t["transfer_alone"] / t["gemm_alone"] / float(r["case"]["size"][:-1]), r["facts"]["transfer_passes"],
	[f["reason"] for f in r["validity"]["flags"] if f["flag"] == "size"])
	for r in cases for t in [{v["name"]: v["median_s"] for v in r["variants"]}]]'

@test "a multiple is one to a tenth where memory holds a part of the transfer, which then takes several passes" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' 'like = h100' 'memory_bytes = 1G' >small.model
	measure sim:./small.model:0-2 --type f32 --shape n4096 --size 0.5x,1x,2x --copy-method engine,kernel:units/8 \
		--transfer up,local,all-gather,reduce-scatter
	[ "$status" = 0 ]
	json "all(abs(found - 1) < 0.1 and not why for found, passes, why in $multiples)" \
		"sum(passes > 1 for found, passes, why in $multiples) > 12" 'len(cases) == 24' \
		'all(r["facts"]["transfer_bytes"] // r["facts"]["transfer_passes"] <= 2**30 // 4 for r in cases)' <<<"$output"
	# with results, in a device of 24 MiB whose engines are faster than its units
	model 'memory_bytes = 24M
memory_bandwidth = 1e12
llc_bandwidth = 1e12
engine_bandwidth = 1e12'
	measure sim:./model.sim:0-2 --type f32 --shape n512 --mflop 500 --size 2x --copy-method engine \
		--transfer local,reduce-scatter,all-to-all "${ONE[@]}"
	[ "$status" = 0 ]
	json "all(passes > 1 for found, passes, why in $multiples)" 'len(cases) == 3' \
		'all(r["check"]["status"] == "ok" for r in cases)' <<<"$output"
}

@test "a multiple that cannot be had is flagged with its cause, and none of the case's numbers enter a signature" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' 'like = h100' 'host_bandwidth = 100e6' 'max_queued = 64' 'memory_bytes = 1G' >slow.model
	measure sim:./slow.model --type bf16,f32 --shape n64,n4096 --size 1x --copy-method engine --transfer up,local
	[ "$status" = 0 ]
	json "all((abs(found - 1) < 0.1) == (not why) for found, passes, why in $multiples)" \
		'all(r["validity"]["valid"] == (not r["validity"]["flags"]) for r in cases)' <<<"$output"
	json 'dict((" ".join((r["case"]["type"], r["case"]["shape"], r["case"]["transfer"])), f["reason"].partition(": its ")) for r in cases
			for f in r["validity"]["flags"] if f["variant"] is None and f["flag"] == "size").items() >= {
		"bf16 n64 up": ("the transfer takes 15.8 of the GEMM'"'"'s time, not 1x", ": its ", "4096 bytes are the minimum")}.items()' \
		'any("the most that memory and queue allow" in f["reason"] and r["case"]["transfer"] == "local" for r in cases
			for f in r["validity"]["flags"])' <<<"$output"
}

@test "what one device, or one without engines, can't do is skipped with the reason and the rest goes on" {
	cd "$BATS_TEST_TMPDIR"
	model 'copy_engines = 0
lacks = copy_engine'
	measure sim:./model.sim --shape n64 --size 8K --transfer up,down,local,peer,all-gather,reduce-scatter,all-to-all
	[ "$status" = 0 ]
	json '{r["reason"] for r in rows if r["kind"] == "case" and r["status"] == "skipped" and r["case"]["copy-method"] == "engine"
		and r["case"]["transfer"] == "up"} == {"device 0 of the list has no copy engine"}' <<<"$output"
	json '{r["case"]["transfer"] for r in rows if r["kind"] == "case" and "two devices" in (r.get("reason") or "")} == {
		"peer", "all-gather", "reduce-scatter", "all-to-all"}' <<<"$output"
	json 'sum(r["kind"] == "case" and r["status"] == "ok" for r in rows) == 3' <<<"$output"
	measure sim --shape n64 --size 1000T --transfer up
	[ "$status" = 77 ]
}

@test "groups of blocks that end at one moment on a simulated device end once" {
	run timeout "$HANGS_S" "$program" --device 'sim:h100?units=32:0-3' --copy-method kernel --shape g6 --type bf16
	echo "$output" | tail -3
	[ "$status" = 0 ]
}
