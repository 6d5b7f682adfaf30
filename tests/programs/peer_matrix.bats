#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/peer_matrix: every pair of devices, and what each device can inject.

# shellcheck disable=SC2154 # run sets status; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
matrix=$bin/micro/peer_matrix

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf 'data = none\npeer_bandwidth 0>3 = 12.5e9\n' >slow_pair.model
	printf 'like = quiet\nnuma_nodes = 2\ncopy_engines = 8\ncopy_ns = 0\nevent_ns = 0\nvalue_ns = 0\nlaunch_ns = 0\nblock_ns = 0\n' >exact.model
	printf 'far_bandwidth = 5e9\npeer_bandwidth 0>2 = 20e9\npeer_latency_ns 2>0 = 4000\n' >>exact.model
}

# values EXPRESSION: v(route, variant, name) is a derived value of the records in ./records.
values() {
	"$TEST_PYTHON" - "$1" <<'PYTHON'
import json, sys
found = {(c["case"]["route"], d["variant"], d["name"]): d["value"] for c in map(json.loads, open("records", encoding="utf-8"))
         if c["kind"] == "case" for d in c["derived"]}
def v(route, variant="engine", name="bandwidth"):
    return found[route, variant, name]
def near(value, wanted):
    if abs(value / wanted - 1) > 1e-3:
        print(value, "is not", wanted)
    return abs(value / wanted - 1) <= 1e-3
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}

@test "rates are those of the model: pairs, both ways, to and from all, and nodes" {
	"$matrix" --device sim:./exact.model:0-2 --format json --out records >/dev/null
	values 'near(v("0>1"), 50e9) and near(v("0>1", "kernel"), 50e9) and near(v("0>2"), 20e9) and near(v("0>2", "kernel"), 20e9)'
	values 'near(v("2>0"), (1 << 20) / ((1 << 20) / 50e9 + 4e-6)) and near(v("0>1", "engine_both_ways"), 100e9)'
	values 'near(v("1>all", "engine", "injection_bandwidth"), 50e9) and near(v("all>1", "engine", "injection_bandwidth"), 50e9)'
	# Half of what 0 sends goes at 20 GB/s.
	values 'near(v("0>all"), 40e9) and near(v("all>all", "engine", "injection_bandwidth"), 40e9)'
	values 'near(v("numa0>0"), 25e9) and near(v("numa1>0"), 5e9) and near(v("1>numa0"), 5e9) and near(v("1>numa1"), 25e9)'
	# The call that starts a copy takes 200 ns, in which the short one ends.
	values '3.8e-6 < v("2>0", "engine_round_trip", "time") - v("0>1", "engine_round_trip", "time") < 4e-6'
}

@test "a sweep: every pair in one case, the slowest and the median of them" {
	"$matrix" --device sim:./exact.model:0-3 --route each --format json --out records >/dev/null
	values 'near(v("each", "engine", "min_bandwidth"), 20e9) and near(v("each", "kernel", "median_bandwidth"), 50e9)'
	values 'near(v("each", "engine", "pair_bandwidth 0>2"), 20e9) and near(v("each", "engine", "pair_bandwidth 2>1"), 50e9)'
	values 'near(v("each", "kernel", "pair_bandwidth 0>2"), 20e9) and sum(name.startswith("pair_bandwidth") for _, _, name in found) == 24'
	grep -q '"way_0_2":"bytes_per_s=2e+10 hops=1 link=link"' records
}

@test "a sweep finds a copy of any pair that goes wrong, and none where buffers overlap" {
	for every in 1 2 3 5 7; do
		printf 'corrupt_copy_every = %s\n' "$every" >wrong.model
		run "$matrix" --device sim:./wrong.model:0-3 --route each --path engine
		[ "$status" = 1 ]
		[[ $output == *'wrong result: engine, '*': copy '?'>'?': word '* ]]
	done
	"$matrix" --device sim:0-3 --route each --size 8M --min-samples 1 --max-samples 1 --out records >/dev/null
	json '[(c["status"], c["check"]["status"]) for c in cases] == [("ok", "ok")]' <records
}

@test "a sweep leaves out the pairs that cannot reach each other, and says so" {
	printf '0-1 = 50e9\n2-3 = 50e9\n' >islands.links
	printf 'data = none\nlinks = islands.links\ndevices = 4\n' >islands.model
	"$matrix" --device sim:./islands.model:0-3 --route each --out records >/dev/null
	grep -q '"pairs_not_measured":"0>2: sim:0: no links to sim:2, and 7 more"' records
	json '{d["name"] for c in cases for d in c["derived"] if d["name"].startswith("pair_b")} == {"pair_bandwidth " + p for p in ("0>1", "1>0", "2>3", "3>2")}' <records
}

@test "a list of routes, and what is none" {
	[ "$("$matrix" --device sim:0-3 --route '0>3,3>0' --list)" = $'route=0>3 size=1048576\nroute=3>0 size=1048576' ]
	[ "$("$matrix" --device sim:0-7 --route pairs --list | sort -u | wc -l)" = 56 ]
	run "$matrix" --device sim:0-3 --route '0>4'
	[ "$status" = 2 ]
	[[ $output == *'--route: 0>4: the devices are 0 to 3'* ]]
	run "$matrix" --device sim:0-3 --route '0-3'
	[ "$status" = 2 ]
	[[ $output == *"unknown route '0-3'"* ]]
}

@test "one device has host memory alone, and the record says so" {
	"$matrix" --device sim:quiet --out records >/dev/null
	grep -q '"pairs_not_measured":"there is one device"' records
	[ "$(grep -c '"kind":"case"' records)" = 2 ]
}

@test "a copy that goes wrong is found" {
	printf 'corrupt_launch_every = 1\n' >wrong.model
	run "$matrix" --device sim:./wrong.model:0,1 --route '0>1' --path kernel
	[ "$status" = 1 ]
	[[ $output == *'wrong result: kernel, sample 1: copy 0>1: word '* ]]
}

@test "devices without peer access skip pairs and keep host memory" {
	printf 'lacks = peer\n' >apart.model
	"$matrix" --device sim:./apart.model:0,1 --out records >/dev/null
	"$TEST_PYTHON" -c 'import json
cases = [r for r in map(json.loads, open("records")) if r["kind"] == "case"]
assert {c["case"]["route"]: c["status"] for c in cases} == {"each": "skipped", "0>1": "skipped", "1>0": "skipped", "all>all": "skipped",
    "numa0>0": "ok", "0>numa0": "ok", "numa0>1": "ok", "1>numa0": "ok"}'
}

@test "on this machine: two devices of the host" {
	[ "$(nproc)" -ge 2 ] || skip 'one processor'
	run "$matrix" --device host:0,1 --size 1M --budget 10m --min-samples 1 --max-samples 3 --out records
	[ "$status" = 0 ] || [ "$status" = 3 ]
	[ "$(grep -c '"status":"ok"' records)" -ge 8 ]
}

@test "on GPUs that are fake, a route of each kind" {
	need_fakes
	for device in cuda hip; do
		rm -f records
		run env FAKE_GPUS=3 "LD_LIBRARY_PATH=$(fakes)" "$matrix" --device $device:0-2 --route 'each,2>0,2>all,all>1,all>all,numa0>1,0>numa0' \
			--size 64K --budget 10m --min-samples 1 --max-samples 1 --warm-up 0 --out records
		echo "$device: $status $output"
		[ "$status" = 0 ] || [ "$status" = 3 ]
		json '[(c["status"], c["check"]["status"]) for c in cases] == 7 * [("ok", "ok")]' <records
	done
}

# report MODEL: the default cases on eight simulated devices, ./found its findings, ./run what the terminal says.
report() {
	rm -rf results && mkdir results
	"$matrix" --device "sim:$1:0-7" --min-samples 6 --max-samples 6 --warm-up 0 --out results/records.jsonl >/dev/null
	(cd "$root" && "$TEST_PYTHON" -m suite report "$BATS_TEST_TMPDIR/results") >run
	"$TEST_PYTHON" -c 'import json
print(*("%(head)s %(text)s" % f for f in json.load(open("results/signature.json", encoding="utf-8"))["findings"]), sep="\n")' >found
}

@test "eight devices: one slow pair is named on the first screen" {
	report ./slow_pair.model
	cat found
	[ "$(wc -l <found)" = 1 ]
	grep -q '^! Slow pair. From device 0 to device 3: 12' run
	[[ $(<found) == 'Slow pair. From device 0 to device 3: 12.'*' GB/s, 0.2'[5-8]' of the usual rate between these 8 devices (by '*').' ]]
	first=$(sed -n '1,/<section/p' results/report.html)
	[[ $first == *'Slow pair.'*'0 to device 3: 12.'* ]]
	"$TEST_PYTHON" -c 'import json, sys
record = [json.loads(line) for line in open("results/records.jsonl", encoding="utf-8")]
cases = [c for c in record if c["kind"] == "case"]
sys.exit(0 if len(cases) == 90 and all(c["status"] == "ok" for c in cases) else 1)'
}

@test "eight equal devices: no pair is named" {
	echo 'data = none' >equal.model
	report ./equal.model
	[ ! -s found ] || [ -z "$(<found)" ]
	[[ $(<results/report.html) != *'Slow pair'* ]]
}

@test "a slow device is named once, not all of its pairs" {
	echo 'data = none' >slow_device.model
	for i in 0 1 2 3 4 6 7; do printf 'peer_bandwidth 5>%s = 20e9\n' "$i"; done >>slow_device.model
	report ./slow_device.model
	[ "$(wc -l <found)" = 1 ]
	[[ $(<found) == 'Slow device. Everything that device 5 sends: '*' GB/s, 0.4'*' of the usual rate between these 8 devices (by '*').' ]]
}

# headline SPEC [LINES OF A MODEL]: what a run of the headline numbers says of the pairs in ./found, and ./said what the terminal says, in ./words as one line.
headline() {
	printf '%b' "${2:-}" >headline.model
	"$root/gpusig" run --headline --only micro/peer_matrix --only micro/copy_path --device "$1" --out results >said
	"$TEST_PYTHON" -c 'import json
print(*("%(head)s %(text)s" % f for f in json.load(open("results/signature.json", encoding="utf-8"))["findings"]), sep="\n")' >found
	tr -s ' \n' ' ' <said >words
}

@test "headline numbers alone: every slow pair, its direction and its share, and what all to all has to do with it" {
	# With an engine for each of the others, whatever the order of copies.
	headline sim:./headline.model:0-3 'data = none\ndevices = 4\ncopy_engines = 4\npeer_bandwidth = 52e9\ninjection_bandwidth = 120e9
memory_bytes = 32G\npeer_bandwidth 0>3 = 13e9\npeer_bandwidth 3>0 = 39e9\npeer_bandwidth 2>1 = 26e9\n'
	cat found
	[ "$(wc -l <found)" = 4 ]
	grep -Eq '^Slow pair. From device 0 to device 3: 1[23](\.[0-9]+)? GB/s, 0.2[45678] of' found
	grep -Eq '^Slow pair. From device 2 to device 1: 2[56](\.[0-9]+)? GB/s, 0.[45][0-9] of' found
	grep -Eq '^Slow pair. From device 3 to device 0: [34][0-9](\.[0-9]+)? GB/s, 0.7[0-9] of' found
	grep -Eq '^All to all. A device sends 3[89].*less than to one device alone .*: 3 times the 1[23].* from device 0 to device 3' found
	grep -Eq 'copies reach 5[12](\.[0-9]+)? GB/s \(median of 12 pairs\)' words
	grep -q '12 of 12 pairs' <(grep 'pair min bandwidth' said)
	grep -q 'as a baseline they would hide what is wrong with the machine: slow pair' words
}

@test "headline numbers alone: machines whose links differ by design have no slow pair" {
	for spec in sim:mi250x:0-7 sim:h100:0-7 sim:a40:0-3; do
		rm -rf results
		headline "$spec"
		echo "$spec: $(<found)"
		[ -z "$(<found)" ]
		grep -q 'good enough to keep as a baseline' words
	done
}
