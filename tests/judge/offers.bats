#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Questions of a buyer to offers: a run of every built-in machine answers every piece of the example's mix. Of a default run
# only the programs of which a model is made, and those of messages: seconds a machine.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

machines='a40:0-3 a100:0-3 h100:0-3 h100:0-7 h200:0-7 mi210:0-3 mi250x:0-7 mi300x:0-3 mi300x:0-7'

# In the folder of the test.
here() { (here=$PWD && cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$here" "$@"); }

measure() {
	local programs=()
	for program in gemm/efficiency gemm/split micro/copy_path micro/launch micro/memory micro/occupancy micro/peer_matrix \
		collectives/device_allreduce; do
		programs+=(--only "$program")
	done
	here run --device "sim:$1" --out "$2" --budget 20s "${programs[@]}" --shape 4096x11008x4096 --shape 4096x4096x11008
}

@test "every built-in machine answers every piece of the mix, and nothing that was asked for is extrapolated" {
	cd "$BATS_TEST_TMPDIR"
	for machine in $machines; do
		devices=4
		[ "${machine#*:0-}" = 3 ] || devices=8
		sed "s/devices=4/devices=$devices/" "$root/docs/examples/scorecard/training.mix" >mix
		run measure "$machine" run
		[ "$status" = 0 ] || { echo "$output"; return 1; }
		run --separate-stderr here scorecard A=run B=run --workload mix --format json --html ''
		echo "# $machine: $stderr"
		[ "$status" = 0 ]
		json 'len(rows[0]["workload"]["items"]) == 7' 'rows[0]["workload"]["total"]["machines"]["A"]["low"] > 0' \
			'none([n for i in rows[0]["workload"]["items"] for n in i["machines"]["A"]["notes"] if "extrapolated" in n])' \
			< <(tr -d '\n' <<<"$output")
		rm -r run
	done
}
