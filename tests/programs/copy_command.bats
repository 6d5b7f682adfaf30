#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# micro/copy_command on simulated devices whose laws are known, and on drivers that lack or refuse what it compares.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0'
# Nothing but the keys of a test: 1e9 byte/s are one byte a nanosecond.
PLAIN='like = quiet
data = none
memory_bytes = 64G
host_memory_bytes = 64G
host_clock_ns = 1
memory_bandwidth = 1e15
host_bandwidth = 1e15
llc_bandwidth = 1e15
engine_bandwidth = 1e15
peer_bandwidth = 50e9'

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# model NAME LINES: writes ./NAME.sim, like PLAIN but for these lines.
model() {
	printf '%s\n%s\n' "$PLAIN" "$2" >"$1.sim"
}

# measure DEVICES OPTIONS: records in ./of
measure() {
	local devices=$1
	shift
	rm -rf of && mkdir of
	# shellcheck disable=SC2086 # a list of words
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/copy_command" --device "$devices" $QUICK --out of/records.jsonl "$@"
	echo "$devices $*: $status $stderr"
}

# results EXPRESSION...: each is true of the results that the report finds in ./of, as r.
results() {
	signatures "$PWD/of"
	"$TEST_PYTHON" -I -S -c 'import json, sys
r = json.load(open("of/signature.json"))["programs"]["micro/copy_command"]["results"]
near = lambda found, wanted, share=1e-3: abs(found - wanted) <= share * abs(wanted)
line = {f["where"]["direction"]: f for f in r["fits"]}
pays = {(p["where"]["direction"], p["variant"]): p["pays_up_to_byte"] for p in r["paying"]}
for text in sys.argv[1:]:
    verdict = eval(text)
    if verdict is not True: sys.exit(f"{text} is {verdict!r}: {r}")' "$@"
}

@test "the line of single copies has the model's fixed time and rate" {
	# copy_ns host_call_ns host_sync_ns GB/s-up GB/s-down peer_latency_ns
	while read -r copy call sync up down peer; do
		model of "copy_ns = $copy
host_call_ns = $call
host_sync_ns = $sync
link_up_bandwidth = ${up}e9
link_down_bandwidth = ${down}e9
peer_latency_ns = $peer"
		measure sim:./of.sim:0,1 --direction up,down,peer --variant each
		[ "$status" = 0 ]
		# A device's link_down carries what goes down to it from the host, which is a copy up (H2D).
		results "near(line['up']['alpha_s'], 1e-9 * ($copy + $call + $sync), 2e-3)" \
			"near(line['down']['alpha_s'], 1e-9 * ($copy + $call + $sync), 2e-3)" \
			"near(line['peer']['alpha_s'], 1e-9 * ($copy + $call + $sync + $peer), 2e-3)" \
			"sorted(round(line[d]['bandwidth'] / 1e9, 1) for d in ('up', 'down')) == sorted([$up, $down])" \
			"near(line['peer']['bandwidth'], 50e9)" "not any(f['poor'] for f in r['fits'])"
	done <<-'EOF'
		3000 200 500 25 12 0
		500 200 500 25 25 4000
		20000 1500 3000 5 60 700
		8000 100 9000 400 50 50
	EOF
}

@test "within a device the line has the rate of an engine" {
	while read -r copy engine; do
		printf '%s\n' "${PLAIN/engine_bandwidth = 1e15/engine_bandwidth = ${engine}e9}" "copy_ns = $copy" >of.sim
		measure sim:./of.sim --direction local --variant each
		[ "$status" = 0 ]
		results "near(line['local']['alpha_s'], 1e-9 * ($copy + 200 + 500), 2e-3)" "near(line['local']['bandwidth'], ${engine}e9)"
	done <<-'EOF'
		1000 20
		4000 150
		15000 700
	EOF
}

@test "a share outside the copy is the fixed part of the law at every size" {
	model of 'copy_ns = 5000
link_up_bandwidth = 20e9
link_down_bandwidth = 20e9'
	measure sim:./of.sim --direction up,down --variant each
	results 'len(r["outside"]) == 16' \
		'all(abs(o["share"] - 5700 / (5700 + o["size_byte"] / 20)) < 1e-4 for o in r["outside"])' \
		'{o["size_byte"]: o["paper"] for o in r["outside"]}[65536] == 0.54'
}

@test "a batch stops paying at the size that follows from the law" {
	while read -r copy batch rate; do
		model of "copy_ns = $copy
batch_copy_ns = $batch
host_call_ns = 100
host_sync_ns = 400
link_up_bandwidth = ${rate}e9
link_down_bandwidth = ${rate}e9"
		measure sim:./of.sim --direction up --variant back_to_back,batch
		[ "$status" = 0 ]
		# 15 (copy - batch) saved of 500 + 16 copy + 16 bytes / rate
		results "near(pays['up', 'batch'], $rate * (15 * ($copy - $batch) / 0.05 - 500 - 16 * $copy) / 16, 5e-3)"
	done <<-'EOF'
		2500 500 25
		2500 0 25
		1000 900 25
		20000 5000 10
		6000 3000 60
	EOF
	for batch in 2500 4000; do # it saves nothing
		model of "copy_ns = 2500
batch_copy_ns = $batch"
		measure sim:./of.sim --direction up --variant back_to_back,batch
		results 'pays["up", "batch"] == 0'
	done
	model of 'copy_ns = 900000
batch_copy_ns = 0'
	measure sim:./of.sim --direction up --size 4K:1M:x4 --variant back_to_back,batch
	results 'pays["up", "batch"] is None'
}

# A call takes so long that nothing else counts: 16 copies, and one wait of each.
@test "every way makes the calls that it says" {
	model slow 'host_call_ns = 100000
host_sync_ns = 0
copy_ns = 1
batch_copy_ns = 1
value_ns = 0'
	measure sim:./slow.sim --direction up --size 4K
	json '({v["name"]: round(v["median_s"] / 1e-4, 1) for r in cases for v in r["variants"]} ==
		{"each": 2, "back_to_back": 17, "batch": 2, "prelaunched": 2, "swap": 4, "turns": 3})' \
		'[r["facts"]["copies"] for r in cases] == [16]' <of/records.jsonl
}

@test "larger copies are fewer at once" {
	measure sim:quiet --direction up --size 4M,16M,64M --variant back_to_back
	json '[r["facts"]["copies"] for r in cases] == [16, 4, 2]' \
		'all(abs(d["value"] * r["facts"]["copies"] / v["median_s"] - 1) < 1e-6 for r in cases for v in r["variants"]
			for d in r["derived"] if d["name"] == "copy_time")' <of/records.jsonl
}

@test "a copy beside the copy back takes half of the time where there are engines for both" {
	for engines in 1 2; do
		model of "copy_engines = $engines"
		measure sim:./of.sim:0,1 --direction up,peer --size 16M --variant swap,turns
		json "all((0.5 < d['value'] < 0.52, 0.98 < d['value'] < 1.02)[$engines == 1] for r in cases for d in r['derived']
			if d['name'] == 'swap_time_ratio')" 'len(cases) == 2' <of/records.jsonl
	done
}

@test "what a device lacks is named and left out" {
	model of 'lacks = copy_batch'
	measure sim:./of.sim --direction up --size 64K
	[ "$status" = 0 ]
	json '[sorted(v["name"] for v in r["variants"]) for r in cases] == [["back_to_back", "each", "prelaunched", "swap", "turns"]]' \
		'([r["facts"]["not_measured"] for r in cases] ==
			["graph: the device does not support graph; batch: the device takes no batch of copies"])' <of/records.jsonl
	model of 'lacks = copy_engine'
	measure sim:./of.sim --direction up --size 64K
	[ "$status" = 77 ]
	[[ $stderr == *'the device has no copy engines'* ]]
	model of 'max_queued = 19'
	measure sim:./of.sim --direction up --size 64K
	[[ $output$stderr == *'a stream takes 19 operations; 20 are needed'* ]]
	measure sim:quiet --direction peer --size 64K
	[[ $output$stderr == *'a peer copy needs two devices'* ]]
}

@test "a wrong copy of any way is found" {
	for way in each back_to_back batch prelaunched swap turns; do
		measure 'sim:quiet?corrupt_copy_every=2' --direction up --size 64K --check every --variant $way
		[ "$status" = 1 ]
	done
}

@test "drivers: a batch that is refused is named, and one that units copy is flagged" {
	need_fakes
	export LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(fakes)
	FAKE_FAIL=cuMemcpyBatchAsync_v2=801 measure cuda:0,1 --direction up --size 64K --budget 2s
	json 'all(r["facts"]["not_measured"].startswith("batch: cuMemcpyBatchAsync: ") for r in cases)' 'len(cases) == 1' <of/records.jsonl
	measure cuda --direction local --size 64K --budget 2s
	[[ $output$stderr == *'no copy engine copies within this device'* ]]
	measure hip --direction local,up --size 64K --budget 4s
	json '({r["case"]["direction"] for r in cases for f in r["validity"]["flags"] if f["flag"] == "mechanism"
		and f["variant"] == "batch"} == {"local"})' '{v["name"] for r in cases for v in r["variants"]} >= {"batch", "graph"}' <of/records.jsonl
}

@test "drivers: either of CUDA's two functions makes a batch, and a runtime without one has none" {
	export LD_LIBRARY_PATH
	without cuMemcpyBatchAsync_v2
	LD_LIBRARY_PATH=$drivers
	measure cuda:0,1 --direction up,peer --size 64K --variant back_to_back,batch --budget 4s
	[ "$status" = 0 ]
	json 'len(cases) == 2' 'all(r["check"]["status"] == "ok" and len(r["variants"]) == 2 for r in cases)' <of/records.jsonl
	without hipMemcpyBatchAsync
	LD_LIBRARY_PATH=$drivers
	measure hip --direction up --size 64K --variant back_to_back,batch --budget 2s
	[ "$status" = 0 ]
	json '[r["facts"]["not_measured"] for r in cases] == ["batch: the device takes no batch of copies"]' <of/records.jsonl
}
