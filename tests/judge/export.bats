#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# export: from a run on a simulated device to the formats of other tools. tests/adapters has those tools.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

formats='prometheus junit gbench csv reframe'

setup_file() {
	measures --cwd "$BATS_FILE_TMPDIR" run --device sim:h100 --only micro/launch --headline --repeats 2 --budget 10m --out runs >&2 || return 1
	signatures "$BATS_FILE_TMPDIR"/runs/run-*
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# Run the module that ./gpusig export starts, or with `front` as the first word the front door.
export_to() {
	local module=reports
	[ "$1" != front ] || { module=suite && shift; }
	(cd "$root" && case $module in
	suite) exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" export --to "$@" ;;
	*) exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" export --to "$@" ;;
	esac)
}

@test "every format is on stdout, or in a file with the same bytes" {
	for format in $formats; do
		export_to "$format" runs/run-1 >"said.$format"
		[ -s "said.$format" ]
	done
	export_to prometheus runs/run-1/signature.json --out file.prom
	cmp file.prom said.prometheus
}

@test "a folder of runs is a series, and one run where a format takes one" {
	run --separate-stderr export_to csv runs
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 3 ]
	run --separate-stderr export_to prometheus runs
	[ "$status" = 0 ]
	[[ $stderr == "gpusig: export: runs/run-1 is left out: Prometheus takes the newest run of "* ]]
}

@test "--only chooses headline numbers" {
	run --separate-stderr export_to csv runs --only 'launch_enq*'
	[ "$status" = 0 ]
	[[ ${lines[0]} == *,doubtful,wrong_results,micro/launch/launch_enqueue ]]
}

@test "a wrong format, a missing run and a file that cannot be written are one line each" {
	refused <<-TABLE
		2|export --to influx runs|gpusig: export: unknown format 'influx'; formats: $formats astra-sim
		2|export --to csv|gpusig: export needs a run: ./gpusig export --to csv SIGNATURE
		2|export --to csv nowhere|gpusig: nowhere is not there
		1|export --to csv runs/run-1 --out no/such.csv|gpusig: export: cannot write $PWD/no/such.csv: No such file or directory
		1|export --to csv runs/run-1 --out /dev/null|gpusig: export: cannot write /dev/null: it is not a regular file
		2|export --to csv runs --format json|
		2|export --to csv runs --only nothing*|gpusig: export: no headline number matches nothing*
		2|export --to reframe runs|gpusig: a ReFrame test has one run as its reference, not 2
		2|export --to astra-sim runs/run-1|gpusig: export: astra-sim is several files, so it needs --out FOLDER
		2|export --to astra-sim runs/run-1 --out sim --only gemm*|gpusig: export: astra-sim has no --only
		2|export --to astra-sim runs --out sim|gpusig: ASTRA-sim's inputs are of one run, not 2
		77|export --to astra-sim runs/run-1 --out sim|gpusig: export: runs/run-1 is of one device, but ASTRA-sim's networks have two or more: measure with --device KIND:0-7
	TABLE
	[ -c /dev/null ]
}

@test "a file is replaced, not written over: who has it open reads the old one to its end" {
	echo old >whole.prom
	exec 5<whole.prom
	export_to front prometheus runs/run-1 --out whole.prom
	[ "$(cat <&5)" = old ]
	exec 5<&-
	grep -q '^gpusig_run_info{' whole.prom
	[ -z "$(find . -maxdepth 1 -name '.whole.prom.*')" ]
}

@test "with a broken run among others the others are exported, and it is named" {
	cp -r runs broken
	echo '{' >broken/run-2/signature.json
	run --separate-stderr export_to csv broken
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 2 ]
	[[ $stderr == "gpusig: export: left out: broken/run-2: signature.json: not JSON" ]]
	rm -r broken
}

@test "inputs of ASTRA-sim are files in a folder, and say what they are from" {
	mkdir devices
	for words in 'micro/peer_matrix --route each,spread,exchange' 'micro/memory --headline' \
		'collectives/device_allreduce --algorithm ring --size 32,16M'; do
		# shellcheck disable=SC2086 # a program and its options
		(set -- $words && "${GPUSIG_BIN:-$root/bin}/$1" --device sim:mi300x:0-3 --format json --budget 10m "${@:2}") >>devices/records.jsonl
	done
	signatures "$PWD/devices"
	run --separate-stderr export_to astra-sim devices --out inputs
	[ "$status" = 0 ]
	[ -z "$output" ]
	[[ ${stderr_lines[0]} == "gpusig: export: devices: not measured, so left out: reduce-scatter-implementation, "* ]]
	[[ ${stderr_lines[1]} == *"assumed or ASTRA-sim's default: scheduling-policy, "*", roofline-enabled, memory-type" ]]
	grep -qx 'topology: \[ FullyConnected \]' inputs/network.yml
	grep -q '^# bandwidth: measured: micro/peer_matrix, median of 12 pairs by kernel' inputs/network.yml
	json 'rows[0]["all-reduce-implementation"] == ["ring"]' \
		'rows[0]["gpusig"]["sources"]["local-mem-bw"].startswith("measured")' < <(tr -d '\n' <inputs/system.json)
	[ -s inputs/remote_memory.json ]
	run --separate-stderr export_to astra-sim devices --out no/such
	[ "$status" = 1 ]
	[[ $stderr == *"gpusig: export: cannot write $PWD/no/such/network.yml: No such file or directory" ]]
}
