#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Schedules of a GEMM and its communication: every one computes C, times keep to what they are made of, and what can't
# be done is said.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

program=${GPUSIG_BIN:-$root/bin}/overlap/ficco
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --budget 10m --format json'
ONE=(--min-samples 1 --max-samples 1) # where results are looked at, not times
ALL=ag-gemm,gemm-rs,a2a-gemm,a2a-gemm-uneven
SIX=serial,shard,uniform-fused-1d,hetero-fused-1d,hetero-unfused-1d,uniform-fused-2d

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" "$program" --device "$devices" $QUICK "$@"
	echo "$devices $*: $status $stderr"
}

# model LINE...: a simulated machine that is "quiet" but for these lines
model() {
	printf '%s\n' 'like = quiet' "$@" >"$BATS_TEST_TMPDIR/a.model"
	machine=sim:$BATS_TEST_TMPDIR/a.model
}

# all_right CASES: so many, all of them ok and checked
all_right() {
	json "[(r['status'], r['check']['status']) for r in rows if r['kind'] == 'case'] == $1 * [('ok', 'ok')]" <<<"$output"
}

@test "as scripts call it, on the host with the cores divided" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	measure host:0,1 --shape g5 --mflop 20 --schedule $SIX --op ag-gemm --copy-method engine,kernel "${ONE[@]}"
	skip_if_77
	[ "$status" = 0 ] || [ "$status" = 3 ]
	all_right 2
}

@test "every schedule computes C on 2 to 8 devices, engine and kernel" {
	for last in 1 2 4 7; do
		measure "sim:quiet:0-$last" --op $ALL --shape 130x64x192 --copy-method engine "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 4
	done
	measure sim:quiet:0-3 --op $ALL --shape 64x128x256 --copy-method kernel --blocks 3 "${ONE[@]}"
	[ "$status" = 0 ]
	all_right 4
	json 'all(r["facts"]["copy_blocks"] == 3 for r in rows if r["kind"] == "case")' <<<"$output"
}

# With slow links a GEMM that doesn't wait reads data that isn't there; with slow units a transfer leaves too early.
@test "nothing starts before what it depends on, whichever is the slower" {
	model 'peer_bandwidth = 1e7' 'link_up_bandwidth = 1e7' 'link_down_bandwidth = 1e7'
	for devices in "" :0-3; do
		measure "$machine$devices" --op $ALL --shape 64x64x64 "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 8
	done
	model 'flops_f32 = 1e8' 'memory_bandwidth = 1e9'
	for devices in "" :0-3; do
		measure "$machine$devices" --op $ALL --shape 64x64x64 --copy-method engine "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 4
	done
}

@test "gemm-ar gives every device the sum, whichever is the slower; it is gemm-rs and what returns, and needs devices" {
	for last in 1 2 4 7; do
		measure "sim:quiet:0-$last" --op gemm-ar --shape 130x64x192 "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 2
	done
	for slow in 'peer_bandwidth = 1e7' 'memory_bandwidth = 1e7' 'flops_f32 = 1e5'; do
		model "$slow"
		measure "$machine:0-3" --op gemm-ar --shape 64x64x64 "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 2
	done
	measure sim:quiet:0-3 --op gemm-rs,gemm-ar --shape 64x64x64 --copy-method engine
	json '[[v["model"]["bytes"] for v in r["variants"]][:1] for r in cases] == [[4 * 3 / 4 * 64 * 64 * 4], [2 * 4 * 3 / 4 * 64 * 64 * 4]]' \
		'(lambda rs, ar: all(ar[s] > rs[s] for s in ("serial", "shard", "uniform-fused-1d", "communication")))(
			*({v["name"]: v["median_s"] for v in r["variants"]} for r in cases))' <<<"$output"
	measure sim:quiet --op gemm-ar --shape 64x64x64 --copy-method engine
	[ "$status" = 77 ]
	[[ $stderr == *"gemm-ar needs several devices"* ]]
}

@test "columns of C are cut where rows are too few: sums are right, and as many as with rows" {
	for last in 1 3 7; do
		measure "sim:quiet:0-$last" --op gemm-rs,gemm-ar --cut columns --shape 1x4096x64,64x130x64 --copy-method engine "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 4
	done
	measure sim:quiet --op gemm-rs --cut columns --shape 4x192x64 --copy-method engine --peers 3 "${ONE[@]}"
	[ "$status" = 0 ]
	all_right 1
	json '[cases[0]["facts"][name] for name in ("m", "n", "k", "max_columns")] == [4, 192, 64, 192]' <<<"$output"
	measure sim:quiet:0-3 --op gemm-rs,gemm-ar --cut rows,columns --shape 64x128x64 --copy-method engine
	json 'len(cases) == 4 and all(len({r["variants"][0]["model"][what] for r in cases if r["key"].startswith("op=" + op)}) == 1
		for op in ("gemm-rs", "gemm-ar") for what in ("bytes", "flops", "messages"))' <<<"$output"
	model 'flops_bf16 = 1e12' 'flops_f8 = 1e12'
	measure "$machine:0-3" --op gemm-ar --cut columns --type bf16,f8 --shape 16x256x512,8x256x512 "${ONE[@]}"
	[ "$status" = 0 ]
	json '[(r["status"], r.get("check", {}).get("status")) for r in cases].count(("ok", "ok")) == 6' \
		'{r["reason"] for r in cases if r["status"] == "skipped"} == {"8x256x512: the sides of a f8 GEMM must be multiples of 16"}' <<<"$output"
}

# A GEMM takes the time of its bytes here, almost all of which are weights.
@test "cut by columns the weights are read once, cut by rows once for each part" {
	model 'data = none' 'memory_bandwidth = 1e10' 'flops_f32 = 1e15' 'llc_bytes = 64K' 'memory_latency_ns = 0'
	measure "$machine:0-3" --op gemm-rs --cut rows,columns --shape 16x8192x1024 --copy-method engine --schedule shard,hetero-unfused-1d
	[ "$status" = 0 ]
	json '[[round(next(d["value"] for d in r["derived"] if (d["name"], d["variant"]) == ("DIL_gemm", schedule)))
		for schedule in ("shard", "hetero-unfused-1d")] for r in cases] == [[4, 13], [1, 1]]' <<<"$output"
}

@test "sums of bf16 and f8 are added in bf16, on devices and with peers; what no kernel adds is said" {
	model 'flops_bf16 = 1e12' 'flops_f8 = 1e12' 'flops_f16 = 1e12'
	for devices in "" :0-7; do
		measure "$machine$devices" --op gemm-rs --type bf16,f8 --shape 256x64x512 --copy-method engine,kernel "${ONE[@]}"
		[ "$status" = 0 ]
		all_right 4
	done
	measure "$machine:0-3" --op gemm-ar --type bf16,f8 --shape 256x64x512 --copy-method engine,kernel "${ONE[@]}"
	[ "$status" = 0 ]
	all_right 4
	json '{v["model"]["bytes"] for r in cases for v in r["variants"][:1]} == {2 * 4 * 3 / 4 * 256 * 64 * 2}' <<<"$output"
	measure "$machine:0-3" --op gemm-rs --type f16 --shape 256x64x512 --copy-method engine
	[ "$status" = 77 ]
	[[ $stderr == *"gemm-rs of f16 is not supported: kernels add partial sums in f32 and bf16"* ]]
}

@test "one device has its peers in pinned host memory and says so" {
	measure sim:quiet --op $ALL --shape 96x64x64 --copy-method engine --peers 3
	[ "$status" = 0 ]
	all_right 4
	json 'all(r["facts"]["peers_are"] == "pinned host memory" and r["facts"]["ranks"] == 3 for r in rows if r["kind"] == "case")' \
		<<<"$output"
	measure sim:quiet:0,1 --shape 96x64x64 --copy-method engine --op ag-gemm
	json 'rows[1]["facts"]["peers_are"] == "devices" and rows[1]["facts"]["ranks"] == 2' <<<"$output"
}

@test "no schedule beats its own parts, speedups are those of the times, and the best is the fastest" {
	model
	measure "$machine:0-3" --op $ALL --shape 256x64x1024 --copy-method engine
	[ "$status" = 0 ]
	json 'all(t[s] >= (1 - 1e-9) * max(t[s + "-gemms"], t[s + "-transfers"])
		for r in rows if r["kind"] == "case" for t in [{v["name"]: v["median_s"] for v in r["variants"]}]
		for s in t if s + "-gemms" in t)' <<<"$output"
	json 'all(abs(d["value"] * t[d["variant"]] / t["serial"] - 1) < 1e-9
		for r in rows if r["kind"] == "case" for t in [{v["name"]: v["median_s"] for v in r["variants"]}]
		for d in r["derived"] if d["name"] == "S")' <<<"$output"
	json 'all(1 <= d["value"] <= 2 for r in rows if r["kind"] == "case" for d in r["derived"] if d["name"] == "S_ideal")' \
		<<<"$output"
	json "all(min((t[s], s) for s in t if s == 'serial' or s + '-gemms' in t)[1] in r['facts']['best_schedules'].split(', ')
		for r in rows if r['kind'] == 'case' for t in [{v['name']: v['median_s'] for v in r['variants']}])" <<<"$output"
}

# Numerator and denominator are the same work, from the same event on; in gemm-rs the additions leave the GEMM its slots.
@test "where nothing is shared no side slows the other down, and both have intervals" {
	model 'llc_bandwidth = 1e15' 'memory_bandwidth = 1e15' 'host_bandwidth = 1e15'
	for devices in "" :0,1 :0-3; do
		measure "$machine$devices" --op $ALL --shape 128x64x192 --copy-method engine
		[ "$status" = 0 ]
		json 'all(abs(d["value"] - 1) < 1e-9 and abs(d["ci_low"] - 1) < 1e-9 and abs(d["ci_high"] - 1) < 1e-9 and d["rounds"] == 6
			for r in rows if r["kind"] == "case" for d in r["derived"] if d["name"].startswith("CIL"))' \
			'sum(d["name"] == "CIL_comm" for r in rows if r["kind"] == "case" for d in r["derived"]) == 5 + 4 + 5 + 5' <<<"$output"
	done
}

# Without launch costs and with one link that everything waits for, the order of the pieces makes no difference.
@test "schedules that do not differ tie, all are named, and what can gain nothing has no fraction" {
	model 'peer_bandwidth = 1e7' 'launch_ns = 0' 'copy_ns = 0' 'event_ns = 0' 'value_ns = 0' 'block_ns = 0' 'flops_f32 = 1e15' \
		'memory_bandwidth = 1e15' 'llc_bandwidth = 1e15'
	measure "$machine:0-3" --op ag-gemm --shape 256x64x256 --copy-method engine
	[ "$status" = 0 ]
	json "(rows[1]['facts']['best_schedules'], rows[1]['facts']['tie']) == ('${SIX//,/, }', 'yes')" <<<"$output"
	json 'all(d["value"] is None and "S_ideal 1 is within noise of 1" in d["reason"] for r in cases for d in r["derived"]
		if d["name"] == "fraction_of_ideal")' <<<"$output"
	model 'peer_bandwidth = 1e8'
	measure "$machine:0-3" --op ag-gemm --shape 64x64x64 --copy-method engine
	json '(rows[1]["facts"]["best_schedules"], rows[1]["facts"]["tie"]) == ("serial", "no")' <<<"$output"
}

@test "an even all-to-all says that it is an all-gather once more, with the same times" {
	measure sim:quiet:0-3 --op $ALL --shape 64x64x64,130x64x64 --copy-method engine
	[ "$status" = 0 ]
	json '{(r["case"]["op"], r["case"]["shape"]): r["facts"].get("same_work_as") for r in cases} == {
		(op, shape): "ag-gemm" if op == "a2a-gemm" else None for op in ("ag-gemm", "gemm-rs", "a2a-gemm", "a2a-gemm-uneven")
		for shape in ("64x64x64", "130x64x64")}' <<<"$output"
	json 'all(abs(a["median_s"] / b["median_s"] - 1) < 1e-6 for shape in ("64x64x64", "130x64x64") for a, b in zip(*(
		next(r for r in cases if (r["case"]["op"], r["case"]["shape"]) == (op, shape))["variants"] for op in ("ag-gemm", "a2a-gemm"))))' \
		<<<"$output"
}

# The simulated link is one into and one out of a device, as behind a switch: pieces move as fast as the whole.
@test "behind a switch all ways to communicate take the same time" {
	model 'peer_bandwidth = 1e8' 'launch_ns = 0' 'copy_ns = 0' 'event_ns = 0' 'value_ns = 0' 'block_ns = 0'
	measure "$machine:0-3" --op ag-gemm,a2a-gemm --shape 256x64x256 --copy-method engine
	[ "$status" = 0 ]
	json 'all(abs(d["value"] - 1) < 0.01 for r in rows if r["kind"] == "case" for d in r["derived"] if d["name"] == "DIL_comm")' \
		<<<"$output"
}

@test "messages and bytes are those of the schedule" {
	measure sim:quiet:0-3 --op ag-gemm --shape 64x64x64 --copy-method engine
	json '[v["model"]["messages"] for v in rows[1]["variants"]][:6] == [12, 12, 48, 48, 48, 48]' \
		'{v["model"]["bytes"] for v in rows[1]["variants"] if v["model"]["bytes"]} == {4 * 3 / 4 * 64 * 64 * 4}' <<<"$output"
}

@test "what schedules are held against is measured for those that were chosen, and for no other" {
	measure sim:quiet:0,1 --op ag-gemm --shape 64x64x64 --copy-method engine --schedule shard
	[ "$status" = 0 ]
	json '[v["name"] for v in rows[1]["variants"]] == ["shard", "gemm", "communication", "shard-gemms", "shard-transfers",
		"shard-gemms-concurrent", "shard-transfers-concurrent"]' <<<"$output"
	json '(rows[1]["facts"]["best_schedules"], rows[1]["facts"]["tie"]) == ("shard", "no")' <<<"$output"
}

@test "a schedule that means nothing here is left out by name, with the reason; alone it is 77" {
	measure sim:quiet:0-3 --op gemm-rs --shape 64x64x64 --copy-method engine
	[ "$status" = 0 ]
	json '"uniform-fused-2d" == rows[1]["facts"]["skipped"] and "gemm-rs has nothing to send" in rows[1]["facts"]["skipped_why"]' \
		<<<"$output"
	measure sim:quiet:0-3 --op gemm-rs --shape 64x64x64 --copy-method engine --schedule uniform-fused-2d
	[ "$status" = 77 ]
	[[ $stderr == *"gemm-rs has nothing to send"* ]]
}

@test "shapes that can't be cut and sizes beyond memory are skipped, and the rest goes on" {
	model 'memory_bytes = 16M'
	measure "$machine:0-3" --op ag-gemm --shape 3x64x64,15x64x64,64x64x64,4096x1024x4096 --copy-method engine --schedule $SIX
	[ "$status" = 0 ]
	json '[r["status"] for r in rows if r["kind"] == "case"] == ["skipped", "ok", "ok", "skipped"]' \
		'"M = 3 cannot be cut into 4 parts with a row in each; only gemm-rs and gemm-ar can cut N" in rows[1]["reason"]' \
		'"GB" in rows[4]["reason"]' \
		'rows[2]["facts"]["skipped"] == "uniform-fused-1d hetero-fused-1d hetero-unfused-1d"' <<<"$output"
	measure sim:quiet:0-3 --op ag-gemm,gemm-rs --shape 64x30x30,64x64x64 --copy-method engine,kernel
	json '[r["status"] for r in rows if r["kind"] == "case"] == ["ok", "skipped", "ok", "ok", "skipped", "skipped", "ok", "ok"]' \
		<<<"$output"
}

@test "what does not go together is 2, and what the device lacks 77" {
	for bad in "sim:0,1 --peers 3" "sim --peers 1" "sim --peers 65" "sim --copy-method engine --blocks 4" "sim --op nonsense" \
		"sim:0,1 --op ag-gemm --cut columns" "sim:0,1 --cut sideways" \
		"sim --schedule nonsense"; do
		# shellcheck disable=SC2086 # a device and options
		measure $bad
		[ "$status" = 2 ]
		[ -z "$output" ]
	done
	for what in gemm wait_value; do
		model "lacks = $what"
		measure "$machine:0,1" --shape 64x64x64
		[ "$status" = 77 ]
	done
	model 'lacks = peer'
	measure "$machine:0,1" --shape 64x64x64 --op ag-gemm
	[ "$status" = 77 ]
	[[ $stderr == *"has no peer access"* ]]
	model 'lacks = copy_engine'
	measure "$machine:0,1" --shape 64x64x64 --op ag-gemm
	[ "$status" = 0 ]
	json '[r["status"] for r in rows if r["kind"] == "case"] == ["skipped", "ok"]' <<<"$output"
}

@test "wrong bytes are found" {
	model 'corrupt_copy_every = 40'
	measure "$machine:0-3" --op ag-gemm --shape 64x64x64 --copy-method engine
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result"* ]]
}

# without_data LINE...: a model of time alone, "quiet" but for these lines
without_data() { model 'data = none' "$@"; }

@test "without data the paper's size takes no memory, mechanisms are verified, and no result is claimed" {
	without_data 'memory_bytes = 192G' 'units = 2' 'slots_per_unit = 1' 'gemm_tile = 4096' 'flops_bf16 = 1e12'
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" "$TEST_PYTHON" -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, file=sys.stderr)
sys.exit(code)' "$program" --device "$machine:0,1" $QUICK --shape g1 --mflop 0 --type bf16 --op ag-gemm --min-samples 1 --max-samples 1
	echo "$status $stderr"
	[ "$status" = 0 ]
	[ "${stderr_lines[-1]}" -lt 256 ]
	json 'len(cases) == 2' 'all(r["status"] == "ok" and (r["facts"]["m"], r["facts"]["n"], r["facts"]["k"]) == (16384, 16384, 131072)
		for r in cases)' \
		'all((r["check"]["status"], r["check"]["checked"], r["check"]["untimed"]) == ("unverified", 0, 0) for r in cases)' \
		'{r["check"]["detail"] for r in cases} == {"the device simulates time without data"}' \
		'all(r["validity"] == {"valid": True, "flags": []} for r in cases)' \
		'{d["name"] for r in cases for d in r["derived"] if not d["valid"]} <= {"fraction_of_ideal"}' \
		'all(m["observed"] for r in cases for m in r["mechanism"])' '[len(r["mechanism"]) > 0 for r in cases] == [True, False]' \
		'all(v["median_s"] > 1 for r in cases for v in r["variants"] if v["name"] in ("serial", "gemm"))' \
		'"time_only" in rows[0]["device"][0]["capabilities"] and rows[0]["options"]["check"] is False' <<<"$output"
}

@test "times without data are those with data" {
	local options='--op ag-gemm,gemm-rs --shape 96x64x192 --copy-method engine,kernel --operands warm,cold --check'
	same_times() { # LIMIT CHECK LINE...
		local limit=$1 check=$2
		shift 2
		model "$@"
		# shellcheck disable=SC2086 # options are words
		measure "$machine:0-2" $options off "${ONE[@]}"
		[ "$status" = 3 ]
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/with.jsonl"
		without_data "$@"
		# shellcheck disable=SC2086
		measure "$machine:0-2" $options "$check" "${ONE[@]}"
		[ "$status" = "$([ "$check" = off ] && echo 3 || echo 0)" ]
		printf '%s\n' "$output" | cat "$BATS_TEST_TMPDIR/with.jsonl" - | json 'len(cases) == 16 and {r["status"] for r in cases} == {"ok"}' \
			"all(abs(a['median_s'] / b['median_s'] - 1) < $limit and a['name'] == b['name']
				for r, s in zip(cases[:8], cases[8:]) for a, b in zip(r['variants'], s['variants']))"
	}
	same_times 1e-6 off 'block_jitter_sigma = 1e-9'
	same_times 0.002 every # blocks that differ by a line count as equal
}

@test "more than memory is skipped without data, too, with the size" {
	without_data 'memory_bytes = 192G' 'units = 2' 'gemm_tile = 4096' 'flops_bf16 = 1e12'
	measure "$machine:0,1" --shape g13 --mflop 0 --type bf16 --op ag-gemm --copy-method engine
	[ "$status" = 77 ]
	json 'cases[0]["status"] == "skipped" and "1607680x57344x8192 needs 2" in cases[0]["reason"]' <<<"$output"
}

@test "64 devices or peers take part" {
	measure sim:quiet --peers 64 --shape 64x64x64 --op ag-gemm,gemm-rs --copy-method engine --schedule serial
	[ "$status" = 0 ]
	all_right 2
	measure sim:quiet:0-63 --shape 64x64x64 --op gemm-rs --copy-method engine --schedule serial "${ONE[@]}"
	[ "$status" = 0 ]
	all_right 1
	json 'cases[0]["facts"]["ranks"] == 64' <<<"$output"
}

@test "--no-references leaves out what schedules are compared with, and their times stay" {
	few=(--device sim:a100:0-3 --op ag-gemm --shape g1 --copy-method engine --format json)
	"$program" "${few[@]}" --no-references >"$BATS_TEST_TMPDIR/few.jsonl"
	"$program" "${few[@]}" >"$BATS_TEST_TMPDIR/all.jsonl"
	cd "$BATS_TEST_TMPDIR"
	"$TEST_PYTHON" -c 'import json
few, every = ({v["name"]: v["median_s"] for r in map(json.loads, open(n)) if r["kind"] == "case" for v in r["variants"]}
              for n in ("few.jsonl", "all.jsonl"))
assert "gemm" in every and "shard-gemms" in every, every
assert set(few) == {n for n in every if n in ("serial", "shard") or n[-2:] in ("1d", "2d")}, few
assert all(abs(few[n] / every[n] - 1) < 0.05 for n in few), (few, every)'
}
