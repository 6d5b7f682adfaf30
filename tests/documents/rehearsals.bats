#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Rehearsals on simulated machines: the commands of the documents, as they stand, find the change that they make.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# The commands start the driver, in their folder, without setup and build.
setup_file() {
	# shellcheck disable=SC2016 # the variables are the script's
	printf '#!/bin/sh\nwhere=$PWD\ncd "%s" && exec "%s" -m suite --cwd "$where" "$@"\n' "$root" "$TEST_PYTHON" \
		>"$BATS_FILE_TMPDIR/gpusig"
	chmod +x "$BATS_FILE_TMPDIR/gpusig"
	cd "$BATS_FILE_TMPDIR" || return 1
	commands SIMULATED-MACHINES '## Rehearse a change' | grep ' run ' >runs.sh
	commands FOR-OPERATORS '### Rehearse it' | sed '/gpusig fleet/d' >>runs.sh
	sh -e runs.sh 2>err >&2 || { cat err >&2 && return 1; }
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# commands DOCUMENT HEADING: the first block of code below it.
commands() {
	awk -v heading="$2" '$0 == heading { below = 1 } /^```/ && below && inside++ { exit } below && inside && !/^```/' \
		"$root/docs/$1.md"
}

# documented COMMAND: its line, of both documents.
documented() {
	{ commands SIMULATED-MACHINES '## Rehearse a change' && commands FOR-OPERATORS '### Rehearse it'; } |
		grep "^./gpusig $1"
}

@test "compare finds the change of a model, which --factor model declares, and is no other kind" {
	run --separate-stderr sh -c "$(documented compare)"
	echo "$output"
	[ "$status" = 1 ]
	[[ ${lines[0]} == "1 of "*"GEMM bf16 flop rate"* ]]
	[[ $output == *"model: flops_bf16, declared to differ"*7495500000000*7120725000000* ]]
	run --separate-stderr ./gpusig compare before after
	[[ $output == *"differ in model: flops_bf16, which"* ]]
}

@test "preflight finds it against runs of the same model" {
	run --separate-stderr sh -c "$(documented preflight) --budget 10m"
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *": GEMM bf16 flop rate is "*" lower: "* ]]
	[[ $output != *"device 0 is"* ]]
}

@test "fleet names the slow node and the key that it has of its own" {
	run --separate-stderr sh -c "$(documented fleet)"
	echo "$output"
	[ "$status" = 1 ]
	[[ ${lines[0]} == "1 of 8 nodes is an outlier: node5 (GEMM bf16 flop rate "*" % lower"* ]]
	[[ $output == *"simulated device (h100), 8 nodes"* ]]
	[[ $output == *"model: flops_bf16"*"7120725000000"*"7495500000000 on 7"* ]]
}

@test "compare finds that streams keep copy engines" {
	commands FOR-OPERATORS '### Copy engines after an update' >engines.sh
	run --separate-stderr sh engines.sh
	echo "$output"
	[ "$status" = 1 ]
	[[ $(grep '^2 of 6' <<<"$output") == "2 of 6 headline numbers regress: down (D2H) independent streams by 38 % and up" ]]
	[[ $output == *"model: engine_sticky, declared to differ"* ]]
}

@test "two models are two kinds, and another number of devices is said: one line and 2" {
	./gpusig run --headline --only gemm/efficiency --device sim:h200 --out other
	./gpusig run --headline --only gemm/efficiency --device sim:h100:0-1 --out two
	run --separate-stderr ./gpusig compare before other
	[ "$status" = 2 ]
	[ -z "$output" ]
	[ "$stderr" = "gpusig: different kinds of device cannot be compared: sim:h100?jitter_sigma=0.01: simulated device (h100) and sim:h200: simulated device (h200)" ]
	run --separate-stderr ./gpusig compare before two
	[ "$status" = 2 ]
	[ "$stderr" = "gpusig: different numbers of devices cannot be compared: 1 and 2" ]
}
