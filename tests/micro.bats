#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What the programs of micro/ say of devices whose truth is known, and of devices that lack what a number is about.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --budget 1s --format json'

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# model NAME LINES: writes ./NAME.sim, like the quiet one but for these lines.
model() { printf 'like = quiet\n%s\n' "$2" >"$1.sim"; }

# measure PROGRAM DEVICES OPTIONS
measure() {
	local program=$1 devices=$2
	shift 2
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout 120 "$bin/$program" --device "$devices" $QUICK "$@"
	echo "$program $devices $*: $status $stderr"
}

# numbers: what was measured and derived, without names of models and hosts.
numbers() {
	"$TEST_PYTHON" -I -S -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row["kind"] == "case":
        print(row["case"], [(v["name"], v["median_s"]) for v in row["variants"]],
              [(d["name"], d["variant"], d["value"]) for d in row["derived"]])'
}

@test "a wait is the same however wrong the offset of the device's timer is" {
	model known 'stamp_error_ns = 0'
	model fast 'stamp_error_ns = 50000'
	model slow 'stamp_error_ns = -50000'
	for program in micro/occupancy micro/priority; do
		measure $program sim:./known.sim
		[ "$status" = 0 ]
		numbers <<<"$output" >known
		[ -s known ]
		for device in fast slow; do
			measure $program sim:./$device.sim
			numbers <<<"$output" | diff known -
		done
	done
}

@test "a late block waits for a wave of the load, and for nothing where slots are free" {
	measure micro/occupancy sim:quiet --shared 0,48K
	# The load has 3 waves, the first of which has run for some 2 us. A unit has 8 slots and 64 KiB: a claim of 48 leaves 7 slots.
	json '[d["value"] > 0.97 / 3 * v["median_s"] and d["value"] < v["median_s"] / 3 for r in cases if r["case"]["shared"] == 0
		for v in r["variants"] if v["name"] == "load" for d in r["derived"] if d["name"] == "slot_wait"] == [True]' \
		'[abs(d["value"]) < 1e-12 for r in cases if r["case"]["shared"] > 0 for d in r["derived"] if d["name"] == "slot_wait"] == [True]' \
		'all(m["observed"] for r in cases for m in r["mechanism"])' <<<"$output"
}

@test "a load that is over before the late block comes gives no wait" {
	model brief 'flops_f32 = 1e18
host_sync_ns = 100000'
	measure micro/priority sim:./brief.sim
	[ "$status" = 3 ]
	json 'all(not d["valid"] for r in cases for d in r["derived"])' \
		'[m["observed"] for r in cases for m in r["mechanism"]] == [False]' <<<"$output"
}

@test "what a formula gives is no measurement" {
	measure micro/occupancy sim:quiet --shared 0
	json '[d["modelled"] for r in cases for d in r["derived"] if d["name"] == "residents_by_formula"] == [True]' \
		'not any(d["modelled"] for r in cases for d in r["derived"] if d["name"] != "residents_by_formula")' <<<"$output"
	measure micro/reduce sim:quiet --direction local --size 64K
	json '{d["name"] for r in cases for d in r["derived"] if d["modelled"]} == {"moved_bytes"}' <<<"$output"
}
