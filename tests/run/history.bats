#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# run --history: a run a night in one folder, each compared with those before it.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

night() { suite run --device 'sim:h100?jitter_sigma=0.01' --headline --only gemm/efficiency --history 'nights of %h' "$@"; }

@test "three nights, each in a folder of its own, and what they say" {
	[ -x "${GPUSIG_BIN:-$root/bin}/gemm/efficiency" ] || skip 'gemm/efficiency is not built'
	run --separate-stderr night
	[ "$status" = 0 ]
	[[ ${stderr##*$'\n'} == 'gpusig: '*' is the first run in '*': later ones are compared with it' ]]
	refused <<<"3|compare $(printf "'%s'" nights*)|is a history of one run; two or more tell"
	run --separate-stderr night
	[ "$status" = 0 ]
	[[ ${stderr##*$'\n'} == 'gpusig: '*' against 1 run before it: '* ]]
	run --separate-stderr night
	[ "$status" = 0 ]
	[[ ${stderr##*$'\n'} == 'gpusig: '*' against 2 runs before it: '* ]]
	[ "$(find nights* -mindepth 1 -maxdepth 1 -name '20*Z*' | wc -l)" = 3 ]
	[ "$(find nights* -name signature.json | wc -l)" = 3 ]
	[ "$(cat nights*/*/plan.json | grep '"seed"' | sort -u | wc -l)" = 3 ]
	run --separate-stderr suite compare nights*
	[ "$status" = 3 ]
	[[ $output == '3 runs, and steps are only searched for in 12 or more;'* ]]
}

@test "a run of another kind or number of devices is refused before it is measured" {
	[ -x "${GPUSIG_BIN:-$root/bin}/gemm/efficiency" ] || skip 'gemm/efficiency is not built'
	run --separate-stderr night
	[ "$status" = 0 ]
	folder=$(echo "$PWD"/nights*)
	refused <<-TABLE
		2|run --device sim:a100 --headline --only gemm/efficiency --history '${folder##*/}'|gpusig: $folder: another kind of device: simulated device (h100) before, simulated device (a100) now; --history takes another folder for this run
		2|run --device sim:h100:0-1 --headline --only gemm/efficiency --history '${folder##*/}'|$folder: another number of devices: 1 before, 2 now; --history takes another folder
		2|run --device host --headline --only gemm/efficiency --history '${folder##*/}'|$folder: another kind of device: simulated device (h100) before
	TABLE
	cp -r "$folder"/20* "$folder/30000101T000000Z" # the newest one that can be read tells, also without its plan
	truncate -s 100 "$folder/30000101T000000Z/signature.json"
	rm "$folder"/*/plan.json
	refused <<<"2|run --device sim:a100 --headline --only gemm/efficiency --history '${folder##*/}'|another kind of device"
	truncate -s 100 "$folder"/*/signature.json
	run --separate-stderr suite run --device sim:a100 --headline --only gemm/efficiency --history "$folder"
	[ "$status" = 0 ]
}

@test "a night for which there is no space says so and is not called the first" {
	mkdir full
	mount -t tmpfs -o size=16k tmpfs full 2>/dev/null || skip "no permission to mount a small file system"
	GPUSIG_BIN=$PWD/bin
	fake micro/b greedy
	run --separate-stderr measures run --history full
	umount full
	[ "$status" = 1 ]
	[[ ${stderr##*$'\n'} == "gpusig: when it can be written, go on with: ./gpusig run --resume $PWD/full/20"*Z ]]
}

@test "a night that was interrupted is left out and named, and goes on with --resume" {
	GPUSIG_BIN=$PWD/bin
	fake micro/a hang
	measures run --budget 10m --history nights >said 2>err 3>&- &
	until grep -q '"kind": "case"' nights/*/records.jsonl 2>/dev/null; do sleep 0.1; done
	night=$(echo nights/*)
	kill -s TERM "$(driver "$night")"
	wait $! || [ $? = 143 ]
	grep -q "go on with: ./gpusig run --resume $PWD/$night\$" err
	FAKE_HANGS_IN=nowhere measures run --budget 2s --history nights || true
	run --separate-stderr suite compare nights
	[ "$status" = 2 ]
	[[ $stderr == *"$night is not complete"* ]]
	FAKE_HANGS_IN=nowhere measures run --resume "$night" 2>err || [ $? = 3 ]
	json 'rows[-1]["kind"] == "end"' <"$night/records.jsonl"
}

@test "what --history goes with" {
	GPUSIG_BIN=$PWD/bin
	fake micro/a steady
	refused <<-'TABLE'
		2|run --history a --out b|--history adds one run to a folder: leave out --out
		2|run --history a --resume b|--history adds one run to a folder: leave out --resume
		2|run --history a --repeats 3|--history adds one run to a folder: leave out --repeats
		2|run --history a --soak 1m|--soak looks for wrong results, not for numbers: leave out --history
		2|run --history ''|--history: an empty name is not a folder
		2|ab A B --history a|unknown option '--history'
		1|run --device host --history /dev/null/a|cannot make the folder /dev/null/a: Not a directory
	TABLE
}
