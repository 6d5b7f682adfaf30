#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Options of ./gpusig run that reach into programs and report, with real programs on the simulated device.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# cases PROGRAM: the keys of its cases that are ok.
cases() {
	"$TEST_PYTHON" -c 'import json, sys
[print(r["key"]) for r in map(json.loads, open("out/records.jsonl"))
 if r["kind"] == "case" and r["status"] == "ok" and r["program"] == sys.argv[1]]' "$1"
}

@test "--shape is measured in addition, by every program that takes shapes, and by a resumed run" {
	suite run --device sim:quiet --budget 2s --only gemm/split --only overlap/pair --only micro/launch \
		--shape 64x128x64 --shape 128x64x64 --shape 64x128x64 --out out 2>err
	for program in gemm/split overlap/pair; do
		[ "$(cases "$program" | grep -c 'shape=64x128x64 ')" -gt 0 ]
		[ "$(cases "$program" | grep -c 'shape=128x64x64 ')" -gt 0 ]
		[ "$(cases "$program" | grep -c 'shape=n256 ')" -gt 0 ]
	done
	run suite run --resume out --shape 64x64x64
	[ "$status" = 2 ]
	[ "$output" = 'gpusig: --shape 64x64x64 contradicts the run that is resumed, which has 64x128x64 128x64x64' ]
	suite run --resume out --shape 64x128x64 --shape 128x64x64 2>err
}

@test "a --shape that is none, or that no program takes, is 2 and one line" {
	for shape in n512 64x64 64x64x0 64x64x64x64 1e3x1x1 64x64x99999999; do
		run suite run --device sim --shape "$shape" --out none
		[ "$status" = 2 ]
		[[ $output == "gpusig: argument --shape: '$shape' is not MxNxK"* ]]
	done
	run suite run --device sim --only micro/launch --shape 64x64x64 --out none
	[ "$status" = 2 ]
	[ "$output" = 'gpusig: no program of this run takes --shape' ]
	[ ! -e none ]
}

@test "the last line says how far a run can be trusted, and --strict makes doubt exit 3" {
	suite run --device sim:quiet --budget 1s --only micro/launch --out good >said 2>err
	[[ $(tail -n 2 said | paste -sd ' ') == *'All '*' headline numbers of this run can be used: each is valid, and nothing failed.' ]]
	suite run --device sim:quiet --budget 1s --only micro/launch --strict --out strict >said 2>err
	# the case of a headline number does not run
	head -n 1 good/records.jsonl >rest
	grep '"kind":"end"' good/records.jsonl >>rest
	cp rest good/records.jsonl
	suite report good >said || [ $? = 3 ]
	[[ $(tail -n 2 said | paste -sd ' ') == *'Use this run with care: 0 of '*' headline numbers are valid ('*' did not run); give it a larger --budget.' ]]
	run suite report good --strict
	[ "$status" = 3 ]
}

# names SIGNATURE: every headline number, there or missing.
names() {
	"$TEST_PYTHON" -c 'import json, sys
s = json.load(open(sys.argv[1]))
print(*sorted([n for n, m in s["metrics"].items() if m["primary"]] +
              [e["program"] + "/" + e["metric"] for e in s["primary_missing"]]), sep="\n")' "$1"
}

@test "two runs of one machine have the same headline names, whatever time they had and whatever was noisy" {
	for device in sim ${GPUSIG_TEST_ALL:+host}; do
		suite run --device "$device" --budget 3s --only gemm/efficiency --only micro/memory --only micro/copy_path \
			--out "short-$device" >said 2>err || [ $? = 3 ]
		suite run --device "$device" --budget 6s --seed 2 --only gemm/efficiency --only micro/memory --only micro/copy_path \
			--out "long-$device" >said 2>err || [ $? = 3 ]
		names "short-$device/signature.json" >a
		names "long-$device/signature.json" >b
		diff a b
		[ "$(wc -l <a)" -gt 8 ]
	done
}
