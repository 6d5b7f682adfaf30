#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# preflight: nodes that are simulated, fake, or this host, with a known fault; what hangs or is stopped leaves nothing.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
FEW='--only micro/copy_path --only micro/launch --only micro/peer_matrix --only topology/node'

# Two runs of a node of two simulated devices, in a folder.
setup_file() {
	cd "$root" || return 1
	# shellcheck disable=SC2086 # FEW is a list of words
	"$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" run --device sim:h100:0-1 --headline $FEW --repeats 2 --budget 10m \
		--out reference 2>"$BATS_FILE_TMPDIR/err" || { cat "$BATS_FILE_TMPDIR/err" && return 1; }
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# The simulated node takes two seconds of a core; on a machine that others use that may be minutes.
patiently() { preflight --budget 10m "$@"; }

preflight() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" preflight "$@"); }

# After `run`: a machine so busy that nothing was decided within the budget, which is an answer, too.
too_busy() { [ "$status" = 3 ] && [[ $stderr == *"preflight: not finished within "* ]]; }

# A program of this name in $GPUSIG_BIN that is a script.
program() {
	export GPUSIG_BIN=$BATS_TEST_TMPDIR/bin
	mkdir -p "$GPUSIG_BIN/${1%/*}"
	{ echo '#!/bin/sh' && cat; } >"$GPUSIG_BIN/$1"
	chmod +x "$GPUSIG_BIN/$1"
}

# micro/launch alone.
few() {
	export GPUSIG_BIN=$BATS_TEST_TMPDIR/bin
	mkdir -p "$GPUSIG_BIN/micro"
	ln -s "$bin/micro/launch" "$GPUSIG_BIN/micro/"
}

# A program that hangs sleeps for $NAP, which no other test does.
export NAP=299.$$
hang_runs() { pgrep -f "sleep $NAP\$" >/dev/null; }

@test "a node as the reference is healthy: 0 and one line; --quiet says nothing; a run is a reference" {
	run --separate-stderr patiently --reference reference
	[ "$status" = 0 ]
	[[ ${lines[1]} == "gpusig preflight: "*": healthy: 2 devices of --device sim:h100:0-1; "*" headline numbers within noise"* ]]
	[[ ${lines[0]} == *"simulated: this says nothing about a machine" ]]
	[ "${#lines[@]}" = 2 ]
	run --separate-stderr patiently --reference reference/run-2 --quiet
	[ "$status" = 0 ]
	[ -z "$output$stderr" ]
}

@test "slow links between devices are bad, after a repeat, and nothing else is; JSON fits its schema" {
	run --separate-stderr patiently --reference reference --device 'sim:h100?peer_bandwidth=0.8x:0-1' --format json
	[ "$status" = 1 ]
	json 'rows[0]["outcome"] == "bad" and [c["outcome"] for c in rows[0]["checks"]] == ["ok", "ok", "ok", "bad"]' \
		'{m["name"].rpartition("/")[2] for m in rows[0]["metrics"] if m["outcome"] == "bad"} == {"peer_engine_bandwidth",
		  "peer_both_ways_engine_bandwidth", "peer_kernel_bandwidth", "pair_min_bandwidth", "pair_median_bandwidth", "all_to_all_engine_injection",
		  "all_to_all_kernel_injection"}' \
		'all(0.18 < m["worse"] < 0.22 and m["tries"] == 2 for m in rows[0]["metrics"] if m["outcome"] == "bad")' \
		'all(m["tries"] == 1 for m in rows[0]["metrics"] if m["name"].startswith("micro/launch"))' < <(tr -d '\n' <<<"$output")
	python=$(sh "$root/suite/setup/find_python.sh" jsonschema) || skip 'skipped: no Python with jsonschema'
	printf '%s\n' "$output" >preflight.json
	(cd "$root" && "$python" -m reports.records.validate "$BATS_FILE_TMPDIR/preflight.json")
}

@test "a device of which half the operations take twice as long is not healthy" {
	printf 'like = quiet\n' >outlier.model
	measures --cwd "$PWD" run --device sim:./outlier.model --headline --only micro/memory --budget 10m --out steady
	signatures "$PWD/steady"
	printf 'like = quiet\noutlier_probability = 0.5\noutlier_factor = 2\n' >outlier.model
	run --separate-stderr patiently --reference steady --device sim:./outlier.model
	echo "$output"
	[ "$status" = 3 ]
	# A reading of the clock may be one of those operations.
	[[ $output =~ ": unknown: ".*": its own values range from allowed to not allowed" ||
		$output =~ ": unknown: ".*": throttled: core clock" ]]
	[[ $output != *healthy* ]]
}

@test "a device that is missing is bad, --expect counts without a reference, and a file is one" {
	few
	run --separate-stderr patiently --reference reference/run-1/signature.json --device sim:h100:0
	[ "$status" = 1 ]
	[[ ${lines[0]} == "gpusig preflight: "*": 1 of 2 devices" ]]
	run --separate-stderr patiently --device sim:h100:0-1 --expect 8 --quiet
	[ "$status" = 1 ]
	[[ ${lines[0]} == *": 2 of 8 devices" ]]
}

@test "without a reference numbers are shown, and it is said" {
	few
	run --separate-stderr patiently --device sim:h100:0-1
	[ "$status" = 0 ]
	[[ $output == *"nothing to compare with: give --reference or --noise; numbers are only shown"* ]]
	[[ $output == *launch_round_trip*shown* ]]
}

@test "a noise floor is a reference, and widens what is allowed" {
	"$TEST_PYTHON" - reference/run-1/signature.json <<'PY' >noise.json
import json, sys
metrics = json.load(open(sys.argv[1]))["metrics"]
wanted = {n: m for n, m in metrics.items() if m.get("primary")}
floor = {"4": {"floor": 0.05, "effect": 0.15, "finds": None}}
print(json.dumps({"schema": "gpusig.noise", "version": "1.0.0", "name": "n", "source": "gpusig", "machine": "m",
    "device": "sim:h100:0-1: m", "runs": 30, "repeats": 4, "metrics": [{"name": n, "label": n, "unit": m["unit"], "better": m["better"],
    "scale": "ratio", "runs": 30, "of": 30, "median": m["value"], "by_repeats": floor} for n, m in wanted.items()]}))
PY
	run --separate-stderr patiently --noise noise.json --reference reference --device 'sim:h100?peer_bandwidth=0.9x:0-1'
	[ "$status" = 0 ]
	[[ $output == *"within noise, which is 15 % at most"* ]]
	run --separate-stderr patiently --noise noise.json --device 'sim:h100?peer_bandwidth=0.2x:0-1'
	[ "$status" = 1 ]
	sed 's/"effect": 0.15/"effect": 0.4/' noise.json >wide.json
	run --separate-stderr patiently --noise wide.json --device 'sim:h100:0-1'
	[ "$status" = 3 ]
	[[ $output == *"unknown: "*"its noise would hide a node that is 20 % slower"* ]]
}

@test "wrong use and references that cannot be used are one line and 2" {
	echo '{"schema": "gpusig.signature"}' >broken.json
	few
	for words in '--reference nowhere' '--reference broken.json' '--budget 1s' '--expect many' '--expect 0' '--factor moon --device sim:quiet' \
		'--reference=' 'word' '--device nonsense'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr patiently $words
		echo "$words: $status $output $stderr"
		[ "$status" = 2 ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" = 1 ]
	done
}

@test "nothing is built: without programs it is 77 and one line" {
	export GPUSIG_BIN=$BATS_TEST_TMPDIR/none
	run --separate-stderr "$root/gpusig" preflight
	[ "$status" = 77 ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"builds nothing"* ]]
}

@test "this host: an answer, whatever it is" {
	few
	run --separate-stderr preflight --device host --budget 6s
	echo "$output $stderr"
	[[ $status = 0 || $status = 1 || $status = 3 ]]
	too_busy || [[ $output == *"nothing to compare with"* && $output == *@(launch_round_trip|"no time for")* ]]
}

@test "fake GPUs: a board that is missing is named, a narrow link and rows that wait are found" {
	need_fakes
	export LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(fakes)
	[ -x "$bin/topology/node" ] || skip 'skipped: topology/node is not built'
	mkdir boards
	"$bin/topology/node" --device cuda:0-1 --out boards/records.jsonl >/dev/null
	(cd "$root" && "$TEST_PYTHON" -m suite report "$BATS_FILE_TMPDIR/boards" >/dev/null) || [ $? = 3 ]
	FAKE_GPUS=1 FAKE_BOARD=0.pcie_width=8,0.remap_pending=1 run --separate-stderr patiently --reference boards
	echo "$output"
	[ "$status" = 1 ]
	[[ ${lines[0]} == "gpusig preflight: "*": 1 of 2 devices: GPU-0fae0000-0000-4000-8000-000000000002 is missing" ]]
	[[ $output == *": PCIe below its maximum: cuda:0 has PCIe 5 x8 of x16"* ]]
	[[ $output == *": Memory errors: cuda:0 has 1 remapping of rows that waits for a reset"* ]]
	LD_LIBRARY_PATH=/dev/null/none run --separate-stderr patiently --reference boards
	[ "$status" = 1 ]
	[[ ${lines[0]} == *": 0 of 2 devices: "*"is not available"* ]]
}

need_pgrep() { command -v pgrep >/dev/null || skip 'skipped: no pgrep (procps)'; }

@test "a driver that hangs is bad within its time, and its process is gone" {
	need_pgrep
	program micro/launch <<<"exec sleep $NAP"
	run --separate-stderr preflight
	[ "$status" = 1 ]
	[[ ${lines[0]} == "gpusig preflight: "*": the driver does not answer within 10 s" ]]
	run --separate-stderr preflight --budget 5s
	[ "$status" = 3 ]
	too_busy || [[ ${lines[0]} == "gpusig preflight: "*": unknown: the driver does not answer within "* ]]
	run ! hang_runs
}

@test "a program that hangs is stopped within the budget, and decides nothing" {
	need_pgrep
	program micro/launch <<-'SH'
		[ "$1" = --devices ] && echo '{"name":"host","devices":1,"why":""}' && exit 0
		case "$*" in *--list*) exit 0 ;; esac
		exec sleep "$NAP"
	SH
	run --separate-stderr preflight --budget 10s
	echo "$output $stderr"
	[ "$status" = 3 ] || [ "$status" = 1 ]
	too_busy || [[ $output == *"micro/launch on host: stopped after "* ]]
	run ! hang_runs
}

@test "SIGTERM and SIGKILL leave no process and no file" {
	need_pgrep
	program micro/launch <<<"exec sleep $NAP"
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir -p "$TMPDIR"
	for signal in TERM KILL; do
		(cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_TEST_TMPDIR" preflight) &
		pid=$!
		until hang_runs; do sleep 0.05; done
		kill -s $signal $pid
		wait $pid && false
		[ $? = $((128 + $(kill -l $signal))) ]
		while hang_runs; do sleep 0.05; done
		[ -z "$(ls -A "$TMPDIR")" ]
	done
}

@test "the shipped prolog drains a bad node with its first reason, and no other" {
	mkdir -p "$BATS_TEST_TMPDIR/path"
	printf '#!/bin/sh\nprintf "%%s|" "$@" >>"%s"\n' "$BATS_TEST_TMPDIR/drained" >"$BATS_TEST_TMPDIR/path/scontrol"
	printf '#!/bin/sh\nexit 0\n' >"$BATS_TEST_TMPDIR/path/logger"
	printf '#!/bin/sh\necho "$@" >>"%s"\necho "gpusig preflight: n17: 7 of 8 devices: GPU-3 is missing"\necho "gpusig preflight: n17: unknown: x"\nexit %s\n' \
		"$BATS_TEST_TMPDIR/asked" "\$CODE" >"$BATS_TEST_TMPDIR/path/gpusig"
	chmod +x "$BATS_TEST_TMPDIR"/path/*
	prolog() {
		env PATH="$BATS_TEST_TMPDIR/path:$PATH" GPUSIG="$BATS_TEST_TMPDIR/path/gpusig" SLURMD_NODENAME=n17 CODE="$1" \
			GPUSIG_REFERENCE='a reference' "$root/docs/examples/preflight/prolog.sh" "${@:2}"
	}
	for code in 0 2 3 77; do prolog $code; done
	[ ! -e "$BATS_TEST_TMPDIR/drained" ]
	run prolog 1
	[ "$status" = 1 ]
	[ "$(cat "$BATS_TEST_TMPDIR/drained")" = 'update|nodename=n17|state=drain|reason=gpusig: 7 of 8 devices: GPU-3 is missing|' ]
	prolog 1 --health
	grep -q 'preflight --quiet --reference a reference$' "$BATS_TEST_TMPDIR/asked"
}

@test "the shipped Kubernetes Job is YAML, and asks what the command takes" {
	"$TEST_PYTHON" -c 'import yaml' 2>/dev/null || skip 'skipped: no python3-yaml'
	"$TEST_PYTHON" - "$root/docs/examples/preflight/job.yaml" <<'PY'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
assert job["kind"] == "Job" and job["apiVersion"] == "batch/v1", job
pod = job["spec"]["template"]["spec"]
assert pod["restartPolicy"] == "Never" and job["spec"]["backoffLimit"] == 0
assert pod["containers"][0]["command"][:2] == ["gpusig", "preflight"]
PY
}
