#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# predict: programs on the model of a signature and on changed models. What predictions say is in tests/reports/predict.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

gpusig() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_TEST_TMPDIR" "$@"); }
copies=(micro/copy_path --direction up --path engine --size '64K:16M:x16')

setup() {
	[ -x "${GPUSIG_BIN:-$root/bin}/micro/copy_path" ] || skip 'nothing is built'
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "the model of a signature next to what was measured, as table, JSON and page" {
	mkdir one
	"${GPUSIG_BIN:-$root/bin}"/micro/copy_path --device sim:h100 --max-samples 10 --format json "${copies[@]:1}" --direction up,down,local \
		>one/records.jsonl
	gpusig report one >/dev/null 2>&1 || [ $? = 77 ]
	[ -s one/machine.model ]
	run --separate-stderr gpusig predict one --set link_down_bandwidth=2x,link_up_bandwidth=2x,engine_bandwidth=2x,host_bandwidth=2x --format json \
		"${copies[@]}"
	[ "$status" = 0 ]
	json 'rows[0]["schema"] == "gpusig.predict"' 'rows[0]["machine"]["fitted"] is True' 'rows[0]["error"]["compared"] == 3' \
		'rows[0]["error"]["largest"] < 0.02' 'all(one["changed_s"][0] < one["model_s"] for case in rows[0]["cases"]
		  for one in case["fastest"])' < <(tr -d '\n' <<<"$output")
	run --separate-stderr gpusig predict one --set 'fast link: link_down_bandwidth=2x' --set copy_ns=0.5x --html page.html "${copies[@]}"
	[ "$status" = 0 ]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
	[[ $output == *'fast link (link_down_bandwidth=2x)'*'all together'*'Model against measured'* ]]
	"$TEST_PYTHON" -c 'import jinja2' || skip 'no jinja2'
	grep -q '<h1>.*micro/copy_path' page.html
}

@test "a machine.model that was changed or is not whole is not what predictions are made of" {
	mkdir one
	"${GPUSIG_BIN:-$root/bin}"/micro/launch --device sim:h100 --max-samples 10 --format json >one/records.jsonl
	gpusig report one >/dev/null 2>&1 || [ $? = 77 ]
	tail -n 1 one/machine.model | grep -qE '^# Whole and as fitted: [0-9a-f]{16}$'
	cp one/machine.model made
	gpusig predict one --format json --html '' micro/launch >expected
	# shellcheck disable=SC2016 # $ is an address of sed
	for change in 'd' 's/^launch_ns = .*/launch_ns = 777/' '$d' '1i launch_ns = 5  # a, ±1.2.3 %' '10,$d' '$a new_key = 1'; do
		sed "$change" made >one/machine.model
		gpusig predict one --format json --html '' micro/launch | diff - expected
	done
}

@test "predict without a place for its own files says so" {
	mount -t tmpfs -o size=4k tmpfs "$(mkdir -p full && echo full)" 2>/dev/null || skip 'no permission to mount a small file system'
	mkdir one
	"${GPUSIG_BIN:-$root/bin}"/micro/launch --device sim:h100 --max-samples 10 --format json >one/records.jsonl
	gpusig report one >/dev/null 2>&1 || [ $? = 77 ]
	TMPDIR=$PWD/full run --separate-stderr gpusig predict one --html '' micro/launch
	umount full
	[ "$status" = 1 ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *'predict: cannot write '*'No space left on device'* ]]
}

@test "what cannot be predicted is said in a line" {
	mkdir empty
	echo '{}' >other.json
	printf 'like = quiet\nunits = x\n' >bad.model
	refused <<-'TABLE'
		2|predict|needs a SIGNATURE
		2|predict sim:h100|needs a PROGRAM
		2|predict sim:h100 copy_path|perhaps micro/copy_path
		2|predict sim:h100 micro/nothing|unknown program
		2|predict sim:h10 micro/launch|unknown model 'h10'; models: default
		2|predict sim:./bad.model micro/launch|units = 'x' is not a whole number
		2|predict nowhere micro/launch|No such file
		2|predict cuda:0 micro/launch|No such file or directory; a simulated machine is sim:h100:0-7
		2|predict empty micro/launch|empty/signature.json: No such file
		2|predict '' micro/launch|an empty name is not a signature
		1|predict other.json micro/launch|not a signature
		1|predict bad.model micro/launch|a model file is sim:bad.model:0-7
		2|predict sim:h100 --set peer_bandwith=2x micro/launch|perhaps peer_bandwidth
		2|predict sim:h100 --set units=1.1x micro/launch|units = '145.2' is not a whole number
		2|predict sim:h100 --set launch_ns=-1 micro/launch|outside 0 to
		2|predict sim:h100 --set devices=99 micro/launch|not a number from 1 to 64
		2|predict sim:h100 --set jitter_sigma=1 micro/launch|without noise
		2|predict sim:h100 --set devices=² micro/launch|not a number from 1 to 64
		2|predict sim:h100 --set like=a40 micro/launch|perhaps links uplink_peers; all keys
		2|predict sim:h100 --set 'peer_bandwidth 0>99=2x' micro/launch|--set peer_bandwidth 0>99=2x: peer_bandwidth
		2|predict sim:h100 --sweep launch_ns micro/launch|is not KEY=1x:4x
		2|predict sim:h100 --sweep '' micro/launch|is not KEY=1x:4x
		2|predict sim:h100 --sweep lacks=1:4 micro/launch|its values are words
		2|predict sim:h100 --sweep launch_ns=1x:1e308x micro/launch|two different numbers, from 1e-18 to 1e+18
		2|predict sim:h100 --format xml micro/launch|none of table, json
		2|predict sim:h100 micro/launch --device sim|gives --device to a program itself
		2|predict sim:h100 micro/launch --set launch_ns=2x|--set stands before the PROGRAM
		2|predict sim:h100 micro/launch --cases keys|gives --cases to a program itself
		2|model ''|an empty name is not a signature
		2|predict sim:h100 micro/launch --nothing|unknown option '--nothing'
		77|predict sim:a40 gemm/efficiency --shape n256 --type f8|f8
	TABLE
}

@test "a program of MPI has no model" {
	[ -x "${GPUSIG_BIN:-$root/bin}/collectives/allgather" ] || skip 'no MPI'
	run --separate-stderr gpusig predict sim:h100 collectives/allgather
	[ "$status" = 77 ]
	[[ $stderr == *'ranks of MPI'* ]]
}
