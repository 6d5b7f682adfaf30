#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Shares of the nominal rate: on a simulated device they are the value over the model's key.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers
bin=${GPUSIG_BIN:-$root/bin}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# shares MODEL <RECORDS: that every rate of a GEMM, of a loop and of memory has its share of what the model's file
# says, and how many there are.
shares() {
	"$TEST_PYTHON" -I -S -c '
import json, os, sys
folder, name = os.path.split(sys.argv[1])
def keys(name):
    pairs = [line.partition("#")[0].split("=") for line in open(os.path.join(folder, name + ".model")) if "=" in line.partition("#")[0]]
    own = {key.strip(): value.strip() for key, value in pairs if len(key.split()) == 1}
    return {**(keys(own["like"]) if own.get("like") else {}), **own}
model, found = keys(name), 0
for case in map(json.loads, sys.stdin):
    for d in case["derived"] if case["kind"] == "case" else []:
        if d["name"] == "memory_bandwidth":
            nominal = float(model["memory_bandwidth"])
        elif d["name"] == "flop_rate" and d["variant"] in ("gemm", "gemm_cold", "peak"):
            nominal = float(model["flops_" + case["case"]["type"]]) * int(model["units"])
            own = [o["value"] for o in case["derived"] if (o["name"], o["variant"]) == ("fraction_of_nominal", d["variant"])]
            assert len(own) == 1 and abs(own[0] * nominal / d["value"] - 1) < 1e-12, (case["key"], d, own)
        else:
            continue
        assert d["bound_name"] == "nominal" and abs(d["bound"] / nominal - 1) < 1e-12, (name, case["key"], d, nominal)
        assert abs(d["share"] * nominal / d["value"] - 1) < 1e-12, (case["key"], d)
        assert d["valid"] or d["share"] > 1.02, (case["key"], d)
        found += 1
print(found)' "$1"
}

@test "the share of nominal is the value over the model's key, of every built-in model" {
	for file in "$root"/device/sim/model/machines/*.model; do
		model=${file##*/} model=${model%.model}
		"$bin/gemm/efficiency" --device "sim:$model" --shape n1024 --format json >records || [ $? = 3 ]
		"$bin/micro/memory" --device "sim:$model" --op read,triad --footprint 16LLC --format json >>records || [ $? = 3 ]
		found=$(shares "${file%.model}" <records)
		[ "$found" -ge 8 ] || { echo "$model: $found rates" && false; }
	done
}

@test "a rate above the nominal one is flagged where its clock is fixed" {
	run --separate-stderr "$bin/gemm/efficiency" --device 'sim:quiet?slow_down=gemm 0.5' --type f32 --shape n512 --format json
	json 'any("is above nominal" in f["reason"] for r in cases for f in r["validity"]["flags"])' <<<"$output"
}

@test "where the nominal rate is unknown there is no share of it, and the device says why" {
	run --separate-stderr "$bin/micro/memory" --device host --op read --footprint 64K --budget 1 --format json
	json 'rows[0]["device"][0]["nominal"]["memory_bandwidth"] is None' \
		'rows[0]["device"][0]["nominal"]["gemm_flop_rate"] == {}' \
		'rows[0]["device"][0]["nominal"]["unknown"].startswith("the system reports no rate")' \
		'none([d for r in cases for d in r["derived"] if d["bound_name"] == "nominal"])' <<<"$output"
}
