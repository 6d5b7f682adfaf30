#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What is true of every program, asked of every binary found: a new one is tested on the day it appears.
# GPUSIG_BIN=DIR tests the programs of another build, such as one with sanitizers.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--budget 0.05s --min-samples 6 --max-samples 6'

setup_file() {
	if [ -z "$(programs)" ]; then
		echo "no programs in $bin: run make first" >&2
		return 1
	fi
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	able=0
	unable=
}

programs() { (cd "$bin" && find . -mindepth 2 -maxdepth 2 -type f -perm -u+x | sed 's|^\./||' | sort); }

# About to test a program: when the test fails, the last such line names it.
now() { echo "program: $*"; }

# measure PROGRAM --device DEVICE OPTIONS: `run` of a measurement, on several devices where it needs them, or as ranks.
measure() {
	local name=$1 device=$3 about
	shift 3
	about=$("$bin/$name" --about)
	case $about in
	*'"mpi"'*) run --separate-stderr mpirun -np 2 "$bin/$name" --device "$device" "$@" ;;
	*'"min_devices":1,'*) run --separate-stderr "$bin/$name" --device "$device" "$@" ;;
	*) run --separate-stderr "$bin/$name" --device "$device:0,1" "$@" ;;
	esac
}

# After measure: true when the program could run here. What could not is shown as a comment of the test.
could_run() {
	if [ "$status" = 77 ]; then
		[ -n "$stderr" ]
		unable="${unable}$1: ${stderr_lines[-1]}; "
		echo "# skip $1: ${stderr_lines[-1]}" >&3
		return 1
	fi
	able=$((able + 1))
}

# At the end of a test: when no program could run here the test is a skip.
some_could_run() { [ "$able" -gt 0 ] || skip "$unable"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# axes PROGRAM: lines "NAME words|byte|count FIRST-VALUE" from the run record on the simulated device.
axes() {
	measure "$1" --device sim --budget 0.01s --min-samples 6 --max-samples 6 --format json
	could_run "$1" || return 0
	[ "$status" = 0 ]
	printf '%s\n' "${lines[0]}" | "$(sh "$root/suite/find_python.sh" --any)" -c 'import json, sys
for axis in json.loads(sys.stdin.readline())["axes"]:
    first = axis["values"][0]
    print(axis["name"], "words" if isinstance(first, str) else "byte" if axis["unit"] == "byte" else "count", first)'
}

@test "--help is on stdout, nothing on stderr, exit 0" {
	for name in $(programs); do
		now "$name"
		for word in --help -h; do
			run --separate-stderr "$bin/$name" $word
			[ "$status" = 0 ]
			[ -z "$stderr" ]
			[[ $output == "$name: "* ]]
			for option in --device --budget --seed --check --format --out --done --full --list; do
				[[ $output == *"$option "* ]]
			done
		done
		run --separate-stderr "$bin/$name" --version
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		[[ $output == *"$name"* ]]
	done
}

@test "--about is one JSON object with name, question, formula, needs, share and primary metrics" {
	for name in $(programs); do
		now "$name"
		run --separate-stderr "$bin/$name" --about
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		printf '%s\n' "$output" | json "len(rows) == 1 and rows[0]['name'] == '$name'"
		printf '%s\n' "$output" | json 'rows[0]["question"].endswith("?") and len(rows[0]["formula"]) > 0'
		printf '%s\n' "$output" | json 'isinstance(rows[0]["needs"], list) and isinstance(rows[0]["primary"], list)'
		printf '%s\n' "$output" | json 'rows[0]["share"] > 0 and rows[0]["min_devices"] >= 1'
	done
}

@test "--devices is one JSON line a backend; host and sim have one at least" {
	for name in $(programs); do
		now "$name"
		run --separate-stderr "$bin/$name" --devices
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		printf '%s\n' "$output" | json '{r["name"] for r in rows if r["devices"] > 0} >= {"host", "sim"}'
		printf '%s\n' "$output" | json 'all(r["why"] for r in rows if r["devices"] == 0)'
	done
}

@test "an unknown option is 2, is named on stderr, and stdout stays empty" {
	for name in $(programs); do
		now "$name"
		for word in --frobnicate --devic -x stray --help=yes; do
			run --separate-stderr "$bin/$name" "$word"
			[ "$status" = 2 ]
			[ -z "$output" ]
			[[ $stderr == *"${word%%=*}"* ]]
			[ "${#stderr_lines[@]}" = 1 ]
		done
	done
}

@test "a missing or malformed value of a common option is 2 and names the option" {
	for name in $(programs); do
		now "$name"
		for words in --budget '--budget x' '--budget 0' '--budget -1s' '--budget 1e400' '--seed' '--seed -1' '--seed 1x' \
			'--seed 18446744073709551616' '--format xml' '--check maybe' '--min-samples 0' '--max-samples 99999999999' \
			'--goal 0' '--goal nan' '--device' '--out' '--done'; do
			echo "options: $words"
			# shellcheck disable=SC2086 # words is a command line
			run --separate-stderr "$bin/$name" $words
			[ "$status" = 2 ]
			[ -z "$output" ]
			[[ $stderr == *"${words%% *}"* ]]
		done
		run --separate-stderr "$bin/$name" --done /nonexistent/file
		[ "$status" = 2 ]
		[[ $stderr == *"/nonexistent/file"* ]]
	done
}

@test "an unknown device is 2 and what exists is named" {
	for name in $(programs); do
		now "$name"
		for device in metal 'host:' 'host:x' 'host:5-1' 'host:99999999999999999999' '' 'sim:no-such-model' ':0'; do
			echo "device: '$device'"
			run --separate-stderr "$bin/$name" --device "$device"
			[ "$status" = 2 ] || [ "$device" = sim:no-such-model ]
			[ "$status" != 0 ]
			[ -z "$output" ]
			[ -n "$stderr" ]
		done
		run --separate-stderr "$bin/$name" --device metal
		[[ $stderr == *metal*host*sim* ]]
	done
}

@test "a device that is absent is 77 with a reason, never another device" {
	for name in $(programs); do
		now "$name"
		absent=$("$bin/$name" --devices | sed -n 's/.*"name": *"\([a-z]*\)", *"devices": *0,.*/\1/p')
		for device in $absent; do
			run --separate-stderr "$bin/$name" --device "$device" --format json
			[ "$status" = 77 ]
			[ -z "$output" ]
			[[ $stderr == *"$device"* ]]
			able=1
		done
	done
	unable='every backend of this build has a device here'
	some_could_run
}

@test "a device beyond those that are there is 77, and what is here is named" {
	for name in $(programs); do
		now "$name"
		run --separate-stderr "$bin/$name" --device sim:64
		[ "$status" = 77 ]
		[ -z "$output" ]
		[[ $stderr == *"there is no sim:64, only sim:0-63; here: "*host*sim* ]]
	done
}

@test "without --device it is a GPU where there is one, else the host, and the program says which" {
	for name in $(programs); do
		now "$name"
		run --separate-stderr "$bin/$name" --budget 0.01s --min-samples 1 --max-samples 1
		[ "$status" != 77 ] || continue
		default=$("$bin/$name" --devices | sed -n '/"devices":0/d; s/.*"name":"\([a-z]*\)".*/\1/p' | grep -vx -e host -e sim | head -n 1)
		printf '%s\n' "$output" | grep -q "^# ${default:-host} is the default here"
		able=1
	done
	some_could_run
}

@test "on the simulated device every program gives records that fit the schema" {
	schema=$root/reports/schema/record.schema.json
	for name in $(programs); do
		now "$name"
		# shellcheck disable=SC2086 # QUICK is a list of options
		measure "$name" --device sim $QUICK --format json
		could_run "$name" || continue
		[ "$status" = 0 ]
		printf '%s\n' "$output" >>records
		printf '%s\n' "$output" | json 'rows[0]["kind"] == "run" and rows[-1]["kind"] == "end"'
		printf '%s\n' "$output" | json 'any(r["kind"] == "case" and r["status"] == "ok" for r in rows)'
		printf '%s\n' "$output" | json "all(r['schema'] == 'gpusig.record' and r['program'] == '$name' for r in rows)"
		printf '%s\n' "$output" | json 'all(r["kind"] != "case" or r["check"]["status"] != "failed" for r in rows)'
	done
	some_could_run
	[ -e "$schema" ] || skip 'no reports/schema/record.schema.json'
	python=$(sh "$root/suite/find_python.sh" jsonschema) || skip 'no Python with jsonschema'
	"$python" "$root/tests/bats/fits_schema.py" "$schema" records
}

@test "the same seed gives the same case lines, another seed does not" {
	different=0
	for name in $(programs); do
		now "$name"
		# shellcheck disable=SC2086 # QUICK is a list of options
		measure "$name" --device sim $QUICK --seed 5 --format json
		could_run "$name" || continue
		printf '%s\n' "$output" | grep '"kind": *"case"' >first
		# shellcheck disable=SC2086
		measure "$name" --device sim $QUICK --seed 5 --format json
		printf '%s\n' "$output" | grep '"kind": *"case"' >second
		diff first second | cut -c1-400
		cmp first second
		# shellcheck disable=SC2086
		measure "$name" --device sim $QUICK --seed 6 --format json
		printf '%s\n' "$output" | grep '"kind": *"case"' >second
		cmp -s first second || different=$((different + 1))
	done
	some_could_run
	[ "$different" -gt 0 ]
}

@test "a malformed or unknown value of an axis is 2, names the axis, and lists the words there are" {
	for name in $(programs); do
		now "$name"
		axes "$name" >axes.txt
		while read -r axis kind _; do
			for value in 0x 4Q -1 99999999999999999999 '' 4K:1K 1,,2 ',' 18446744073709551615G 1: :1 \
				1:2:x0 1:2:x1 no-such-word; do
				echo "axis: --$axis '$value' ($kind)"
				run --separate-stderr "$bin/$name" --device sim "--$axis" "$value"
				[ "$status" = 2 ]
				[ -z "$output" ]
				[[ $stderr == *"$axis"* ]]
			done
			[ "$kind" != words ] || [[ $stderr == *"only "* ]]
			run --separate-stderr "$bin/$name" --device sim "--$axis"
			[ "$status" = 2 ]
		done <axes.txt
	done
}

@test "a size beyond the memory is 2 or 77 with a reason, not a result" {
	for name in $(programs); do
		now "$name"
		axes "$name" >axes.txt
		while read -r axis kind _; do
			[ "$kind" = byte ] || continue
			for value in 1000T 15000000T; do
				echo "axis: --$axis $value"
				run --separate-stderr timeout 20 "$bin/$name" --device sim --budget 0.05s --format json "--$axis" "$value"
				[ "$status" = 2 ] || [ "$status" = 77 ]
				[ -n "$stderr" ]
				able=1
			done
		done <axes.txt
	done
	unable='no program has an axis in bytes'
	some_could_run
}

@test "records that cannot be written are one clear line and a failure" {
	for name in $(programs); do
		now "$name"
		for place in /dev/full /nonexistent/records; do
			# shellcheck disable=SC2086 # QUICK is a list of options
			measure "$name" --device sim $QUICK --out "$place"
			could_run "$name" || continue
			[ "$status" = 1 ]
			[[ $stderr == *"$place"* ]]
		done
		# shellcheck disable=SC2086
		run --separate-stderr sh -c "'$bin/$name' --device sim $QUICK --format json >/dev/full"
		[ "$status" = 1 ] || [ "$status" = 77 ]
		[[ $stderr == *stdout* ]] || [ "$status" = 77 ]
	done
	some_could_run
}

@test "--out and --format json say the same, and --out appends" {
	for name in $(programs); do
		now "$name"
		rm -f out
		# shellcheck disable=SC2086 # QUICK is a list of options
		measure "$name" --device sim $QUICK --format json --out out
		could_run "$name" || continue
		printf '%s\n' "$output" | cmp - out
		# shellcheck disable=SC2086
		measure "$name" --device sim $QUICK --out out
		json 'sum(r["kind"] == "end" for r in rows) == 2' <out
	done
	some_could_run
}

@test "--list names the cases, --done leaves them out" {
	for name in $(programs); do
		now "$name"
		measure "$name" --device sim --list
		could_run "$name" || continue
		[ "$status" = 0 ]
		printf '%s\n' "$output" >all
		# A program without axes has one case, and its key is empty.
		[ -s all ]
		[ -z "$(sort all | uniq -d)" ]
		tail -n +2 all >'done'
		measure "$name" --device sim --list --done 'done'
		[ "$output" = "$(head -n 1 all)" ]
		# shellcheck disable=SC2086 # QUICK is a list of options
		measure "$name" --device sim $QUICK --format json --done 'done'
		printf '%s\n' "$output" | json "rows[-1]['cases']['already_done'] == $(wc -l <'done')"
		printf '%s\n' "$output" | json "all(r['key'] not in open('done').read().splitlines() for r in rows if r['kind'] == 'case')"
	done
	some_could_run
}

@test "SIGINT ends the records properly, and the program dies of the signal" {
	for name in $(programs); do
		now "$name"
		rm -f out
		"$bin/$name" --device host --budget 20s --full --out out >words 2>&1 3>&- &
		pid=$!
		for _ in $(seq 200); do
			[ -s out ] || ! kill -0 $pid 2>/dev/null || sleep 0.05
		done
		kill -INT $pid 2>/dev/null || true
		code=0
		wait $pid || code=$?
		[ "$code" != 77 ] || continue
		cat words
		able=1
		json 'rows[0]["kind"] == "run" and rows[-1]["kind"] == "end"' <out
		# A program may have been through before the signal came.
		[ "$code" = 0 ] || [ "$code" = 130 ]
		[ "$code" = 0 ] || json 'rows[-1]["status"] == "interrupted"' <out
	done
	unable='no program runs on the host'
	some_could_run
}

@test "the budget is kept on the host" {
	for name in $(programs); do
		now "$name"
		started=$(date +%s%N)
		measure "$name" --device host --budget 1s --out out
		took=$((($(date +%s%N) - started) / 1000000))
		could_run "$name" || continue
		echo "took $took ms"
		[ "$status" = 0 ] || [ "$status" = 3 ]
		[ "$took" -lt 16000 ] # a second, five for the least number of samples, and a neighbour on both cores
	done
	some_could_run
}
