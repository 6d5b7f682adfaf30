#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Programs of micro/ on devices whose truth is known, and on devices that lack what a number is about.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# model NAME LINES: writes ./NAME.sim, like the quiet one but for these lines.
model() { printf 'like = quiet\n%s\n' "$2" >"$1.sim"; }

# measure PROGRAM DEVICES OPTIONS
measure() {
	local program=$1 devices=$2
	shift 2
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$bin/$program" --device "$devices" $QUICK $(budget_for "$devices" 1s) "$@"
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

# The law: blocks of a wave start and end together, and the late one comes when the host has seen that they run.
@test "the wait for a slot is a share of the block that it waits for: one, less what ran before" {
	model sharing 'block_share = 0.25'
	for device in sim:quiet sim:./sharing.sim 'sim:quiet?flops_f32=0.1x' sim:h100 sim:mi300x; do
		measure micro/occupancy "$device" --shared 0
		json '[(0.9 < d["value"] < 1, d["unit"], d["ci_low"] is not None) for r in cases for d in r["derived"]
			if d["name"] == "slot_wait_share" and d["variant"] == "loaded_wait"] == [(True, "", True)]' \
			'[r["facts"]["load_waves"] for r in cases] == [3]' <<<"$output"
	done
	# a block that takes ten times as long has the same microseconds before the late one comes
	measure micro/occupancy 'sim:quiet?flops_f32=0.1x' --shared 0
	json '[d["value"] > 0.995 for r in cases for d in r["derived"] if d["name"] == "slot_wait_share"] == [True]' <<<"$output"
	measure micro/occupancy sim:quiet --shared 48K
	json '[abs(d["value"]) < 1e-6 for r in cases for d in r["derived"] if d["name"] == "slot_wait_share"] == [True]' \
		'[r["facts"]["load_waves"] for r in cases] == [24]' <<<"$output"
}

@test "a load that is over before the late block comes gives no wait" {
	model brief 'flops_f32 = 1e18
host_sync_ns = 100000'
	measure micro/priority sim:./brief.sim
	[ "$status" = 3 ]
	json 'all(not d["valid"] for r in cases for d in r["derived"])' \
		'[m["observed"] for r in cases for m in r["mechanism"]] == [False]' <<<"$output"
}

# singles: each variant with so many times of single operations, those of no positive length in brackets.
singles() {
	"$TEST_PYTHON" -I -S -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    for v in row.get("variants", []) if row["kind"] == "case" else []:
        times = v.get("singles_s", [])
        print(v["name"], len(times), sum(t <= 0 for t in times))'
}

@test "single operations are timed alone where time is real, unless every execution is checked" {
	measure micro/launch host
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
	singles <<<"$output" >host
	cat host
	for name in enqueue round_trip sync_idle event_round_trip trigger; do
		read -r _ count wrong < <(grep "^$name " host)
		[ "$count" -ge 100 ] && [ "$count" -le 1000 ] && [ "$wrong" -eq 0 ]
	done
	grep -qx "back_to_back 0 0" host
	measure micro/launch sim:quiet
	[ "$status" -eq 0 ]
	[ "$(singles <<<"$output" | grep -vc ' 0 0$')" -eq 0 ]
	measure micro/launch host --check every
	[ "$(singles <<<"$output" | grep -vc ' 0 0$')" -eq 0 ]
}

@test "only small copies are timed alone" {
	for size in 4K 1M; do
		measure micro/copy_path host --direction up --size $size
		singles <<<"$output" | grep '^engine_round_trip ' >$size
	done
	cat 4K 1M
	[ "$(grep -c ' 0 0$' 4K)" -eq 0 ]
	grep -qx 'engine_round_trip 0 0' 1M
}

@test "without priorities no block is more urgent than the load, and occupancy measures no wait" {
	model flat 'lacks = priority'
	measure micro/occupancy sim:./flat.sim --shared 0
	json '[v["name"] for v in cases[0]["variants"]] == ["load"] and not any("wait" in d["name"] for d in cases[0]["derived"])' \
		'[v["name"] for v in cases[0]["variants_not_supported"]] == ["loaded_wait", "idle_wait"] and cases[0]["facts"]["not_measured"] == "loaded_wait, idle_wait: the device has one stream priority"' <<<"$output"
	measure micro/occupancy sim:./flat.sim --shared 0 --variant loaded_wait
	[ "$status" = 77 ]
}

@test "what a formula gives is no measurement" {
	measure micro/occupancy sim:quiet --shared 0
	json '[d["modelled"] for r in cases for d in r["derived"] if d["name"] == "residents_by_formula"] == [True]' \
		'not any(d["modelled"] for r in cases for d in r["derived"] if d["name"] != "residents_by_formula")' <<<"$output"
	measure micro/reduce sim:quiet --direction local --size 64K
	json '{d["name"] for r in cases for d in r["derived"] if d["modelled"]} == {"moved_bytes"}' <<<"$output"
}

@test "without copy engines nothing is measured as one's, and the reason is given" {
	model none 'copy_engines = 0'
	measure micro/copy_path sim:./none.sim:0,1 --size 64K --direction up,down,local,peer
	[ "$status" = 0 ]
	json 'len(cases) == 4 and all(r["facts"]["not_measured"] ==
		"engine, both_ways, engine_split_4, engine_split_16, engine_round_trip: the device has no copy engines" for r in cases)' \
		'all(v["name"].startswith(("kernel", "read_only", "write_only")) for r in cases for v in r["variants"])' \
		'{v["name"] for v in cases[0]["variants"]} >= {"kernel", "kernel_nt", "kernel_1"}' <<<"$output"
	measure micro/copy_path sim:./none.sim --size 64K --direction up --path engine,both_ways,engine_round_trip
	[ "$status" = 77 ]
	json '[r["reason"] for r in cases] == ["the device has no copy engines"]' <<<"$output"
	measure micro/reduce sim:./none.sim --size 64K --direction local,up
	[ "$status" = 0 ]
	json 'all(r["facts"]["not_measured"].endswith(": the device has no copy engines") and not any("engine" in v["name"] for v in r["variants"]) for r in cases)' <<<"$output"
	measure collectives/device_allreduce sim:./none.sim:0-2 --size 64K
	json 'rows[0]["device"][0]["copy_engines"] == 0 and not any("engine" in m["name"] for r in cases for m in r["mechanism"])' <<<"$output"
}

@test "every copy of an engine is one that was seen to copy while all units were busy" {
	measure micro/copy_path sim:quiet:0,1 --size 64K --direction up,down,local,peer
	json 'len(cases) == 4 and all([(m["name"], m["observed"]) for m in r["mechanism"]] ==
		3 * [("engine_copies_while_units_are_held", True)] + [("engine_copies_back_while_units_are_held", True)] for r in cases)' \
		'all([" of %d bytes " % n in m["detail"] for n, m in zip((65536, 16384, 4096), r["mechanism"])] == 3 * [True] for r in cases)' <<<"$output"
	# Any one of the variants asks for the proof.
	for variant in engine both_ways engine_split_4 engine_split_16 engine_round_trip; do
		measure micro/copy_path sim:quiet --size 64K --direction up --path $variant
		json 'cases[0]["mechanism"][0]["observed"]' <<<"$output"
	done
	for variant in engine_staged engine_staged_16; do
		measure micro/reduce sim:quiet --size 64K --direction up --method $variant
		json 'cases[0]["mechanism"][0]["observed"]' <<<"$output"
	done
}

@test "a two-way bandwidth is that of both copies, and a link of a width gives it" {
	# The model's link down is the one that the device reads by: host to device.
	model link 'link_down_bandwidth = 30e9
link_up_bandwidth = 10e9
peer_bandwidth = 20e9
data = none'
	measure micro/copy_path sim:./link.sim:0,1 --size 64M --direction up,down,peer --path engine,both_ways
	json '(lambda b: all(abs(b[at] / rate - 1) < 0.01 for at, rate in {("up", "engine"): 30e9, ("down", "engine"): 10e9,
		("up", "both_ways"): 20e9, ("down", "both_ways"): 20e9, ("peer", "engine"): 20e9, ("peer", "both_ways"): 40e9}.items()))(
		{(r["case"]["direction"], d["variant"]): d["value"] for r in cases for d in r["derived"] if d["name"] == "bandwidth"})' <<<"$output"
}

# links VARIANT...: direction, link_share, and share and name of the bound of these variants, of every case.
links() { "$TEST_PYTHON" -c 'import json, sys
for row in map(json.loads, filter(str.strip, sys.stdin)):
    for v in sys.argv[1:] if row["kind"] == "case" else []:
        d = {d["name"]: d for d in row["derived"] if d["variant"] == v}
        print(row["case"]["direction"], v, *("%.2f" % x for x in (d["link_share"]["value"], d["bandwidth"]["share"])),
              "%.3g" % d["bandwidth"]["bound"], d["bandwidth"]["bound_name"], d["bandwidth"]["valid"])' "$@" <<<"$output"; }

@test "a copy is compared with the link that it takes" {
	model link 'link_down_bandwidth = 30e9
link_up_bandwidth = 10e9
peer_bandwidth 1>0 = 20e9
data = none'
	measure micro/copy_path sim:./link.sim:0,1 --size 64M --direction up,down,peer --path engine,both_ways,kernel,kernel_nt
	# The link down is the one that the device reads by: host to device.
	diff - <(links engine both_ways kernel kernel_nt | sort) <<-'END'
		down both_ways 1.00 1.00 2e+10 nominal True
		down engine 1.00 1.00 1e+10 nominal True
		down kernel 1.00 1.00 1e+10 nominal True
		down kernel_nt 1.00 1.00 1e+10 nominal True
		peer both_ways 1.00 1.00 4e+10 nominal True
		peer engine 1.00 1.00 5e+10 nominal True
		peer kernel 1.00 1.00 5e+10 nominal True
		peer kernel_nt 1.00 1.00 5e+10 nominal True
		up both_ways 1.00 1.00 2e+10 nominal True
		up engine 1.00 1.00 3e+10 nominal True
		up kernel 1.00 1.00 3e+10 nominal True
		up kernel_nt 1.00 1.00 3e+10 nominal True
	END
	json '{(r["facts"]["link"], r["facts"]["link_limit_bytes_per_s"], r["facts"]["link_limit_both_ways_bytes_per_s"]) for r in cases
		} == {("link", 30e9, 20e9), ("link", 10e9, 20e9), ("link", 50e9, 40e9)}' <<<"$output"
	model slow 'engine_bandwidth = 5e9
data = none'
	measure micro/copy_path sim:./slow.sim --size 64M --direction up --path engine,kernel
	diff - <(links engine kernel) <<-'END'
		up engine 0.20 0.20 2.5e+10 nominal True
		up kernel 1.00 1.00 2.5e+10 nominal True
	END
}

@test "on a device that is faster than others no copy is faster than its link" {
	for seed in 1 2 3 4; do
		printf '%s\n' 'open_sigma = 0.1' "seed = $seed" 'data = none' >fast.sim
		measure micro/copy_path sim:./fast.sim:0,1 --size 64K,64M --direction up,down,peer
		json 'none([f for r in cases for f in r["validity"]["flags"] if f["flag"] == "above_bound"])' \
			'all(r["facts"]["link_limit_bytes_per_s"] != 25e9 for r in cases)' <<<"$output"
	done
}

@test "a copy within the device, and one on the host's own memory, have no link" {
	measure micro/copy_path sim:quiet --size 1M --direction local --path engine,kernel
	json '[d["name"] for r in cases for d in r["derived"] if d["name"] == "link_share"] + list(cases[0]["facts"]) == []' <<<"$output"
	measure micro/copy_path host --size 64K --direction up,local --path engine,kernel
	json '"link_share" not in {d["name"] for r in cases for d in r["derived"]}' 'none([r for r in cases if "link" in r["facts"]])' \
		<<<"$output"
}

@test "a peer is the second device of the list" {
	measure micro/copy_path sim:quiet:3,1,2 --size 64K --direction up,peer --path engine
	json '[r["facts"].get("peer_index") for r in cases] == [None, 1]' <<<"$output"
}

@test "a simulated device with narrow types keeps the contract of GEMMs" {
	model narrow 'flops_tf32 = 1e12
flops_f16 = 2e12
flops_bf16 = 4e12
flops_f8 = 8e12
flops_i8 = 16e12
flops_mxf8 = 20e12
flops_mxf4 = 32e12
flops_nvf4 = 40e12
llc_bandwidth = 8e12
unit_bandwidth = 1e12'
	units=$(readlink -f "$bin")/../tests/unit
	[ -x "$units/conformance_gemm" ] || skip 'the unit tests are not built'
	for unit in gemm tiled textbook misuse; do
		run "$units/conformance_$unit" sim:./narrow.sim:0,1
		echo "$unit: $output"
		[ "$status" = 0 ]
	done
	# Every type was multiplied, and faster where the model says so.
	measure gemm/efficiency sim:./narrow.sim --type f32,f64,tf32,f16,bf16,f8,i8,mxf8,mxf4,nvf4 --shape n1024 --variant gemm
	json '{r["check"]["status"] for r in cases} == {"ok"}' \
		'[type for _, type in sorted((d["value"], r["case"]["type"]) for r in cases for d in r["derived"] if d["name"] in ("flop_rate", "op_rate"))
		] == ["f64", "f32", "tf32", "f16", "bf16", "f8", "i8", "mxf8", "mxf4", "nvf4"]' \
		'[(r["case"]["type"], r["variants"][0]["model"]["flops"], r["variants"][0]["model"]["ops"], r["variants"][0]["model"].get("bytes"))
		for r in cases if "ops" in r["variants"][0]["model"]] == [("i8", None, 2 * 1024**3, None)]' \
		'{(d["name"], d["unit"]) for r in cases for d in r["derived"] if d["name"].endswith("p_rate") and r["case"]["type"] == "i8"
		} == {("op_rate", "op/s")}' <<<"$output"
	# A wrong product of integers is found.
	run "$bin/gemm/efficiency" --device 'sim:./narrow.sim?corrupt_launch_every=1' --type i8 --shape n1024 --variant gemm
	[ "$status" = 1 ]
}

@test "a simulated device without copy engines keeps the contract" {
	model none 'copy_engines = 0'
	units=$(readlink -f "$bin")/../tests/unit
	[ -x "$units/conformance" ] || skip 'the unit tests are not built'
	for unit in "$units"/conformance*; do
		run "$unit" sim:./none.sim:0,1
		echo "$unit: $output"
		[ "$status" = 0 ]
	done
}

# value NAME VARIANT: of every case.
value() {
	"$TEST_PYTHON" -I -S -c 'import json, sys
for line in sys.stdin:
    row = json.loads(line)
    for d in row.get("derived", []):
        if (d["name"], str(d["variant"])) == tuple(sys.argv[1:]):
            print(d["value"])' "$@"
}

# within_percent VALUE TRUTH
within_percent() {
	"$TEST_PYTHON" -I -S -c 'import sys
value, truth = map(float, sys.argv[1:])
sys.exit(abs(value / truth - 1) > 0.01)' "$@"
}

@test "memory, caches and peaks are those of the model: neither launch nor what a cache keeps is in them" {
	for device in h100:234.2e9:132:9.8e12:3.35e12:66.92e12 mi300x:127.7e9:304:17.2e12:5.3e12:163.4e12; do
		IFS=: read -r name l1 units llc memory peak <<<"$device"
		measure micro/memory "sim:$name" --op read --footprint L1/2
		within_percent "$(value bandwidth regular <<<"$output")" "$("$TEST_PYTHON" -c "print($l1 * $units)")"
		measure micro/memory "sim:$name" --op read --footprint LLC/2
		within_percent "$(value llc_bandwidth None <<<"$output")" "$llc"
		measure micro/memory "sim:$name" --op triad --footprint 16LLC
		within_percent "$(value memory_bandwidth regular <<<"$output")" "$memory"
		within_percent "$(value memory_bandwidth nontemporal <<<"$output")" "$memory"
		measure gemm/efficiency "sim:$name" --type f32 --shape n1024 --variant peak
		within_percent "$(value flop_rate peak <<<"$output")" "$peak"
	done
}

@test "memory without a cache cannot be listed by caches, and runs with footprints that are given" {
	measure micro/memory 'sim:quiet?llc_bytes=0'
	[ "$status" -eq 77 ]
	[[ $stderr == *"no value applies to this device: specify values"* ]]
	measure micro/memory 'sim:quiet?llc_bytes=0' --footprint 1M --op read
	[ "$status" -eq 0 ]
	measure micro/memory 'sim:quiet?llc_bytes=0' --footprint LLC/2
	[ "$status" -eq 2 ]
}

@test "a peak is that of all units where a unit holds no multiple of the blocks that keep it busy" {
	model six $'units = 10\nslots_per_unit = 6\nblock_share = 0.25\nflops_f32 = 4e11'
	measure gemm/efficiency sim:./six.sim --type f32 --shape n256 --variant peak
	within_percent "$(value flop_rate peak <<<"$output")" 4e12
}

@test "a GEMM that takes as long as a train of others has a sustained rate" {
	measure gemm/sustained sim:h100 --type f32 --shape n8192
	[ "$status" = 0 ]
	within_percent "$(value sustained_flop_rate gemm <<<"$output")" "$(value flop_rate gemm <<<"$output")"
}
