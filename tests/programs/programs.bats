#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Properties of every program, checked for every binary found: a new one is tested on the day it appears.
# GPUSIG_BIN=DIR tests the programs of another build, such as one with sanitizers.

# shellcheck disable=SC2030,SC2031,SC2154 # ask and measure set status, stderr and lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0'
TWO='--min-samples 2 --max-samples 2 --warm-up 0' # where a case's lines are looked at, not its statistics
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# Runs that several tests look at are measured once, on the simulated device, into a folder a program: `about`, `cases` (all keys),
# `few` (all but two, to be given as done), `status` and `said` of a run of everything, and of a few cases with one seed `first` and
# `second`, which both went to `out`, the second beside `tablev`, and `table`; how those runs ended; and `other` of another seed for
# some. A program that can't run there has `status` 77 alone.
setup_file() {
	if [ -z "$(programs)" ]; then
		echo "no programs in $bin: run make first" >&2
		return 1
	fi
	local name
	for name in $(asked); do
		measure_once "$name" || return 1
	done
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	able=0
	unable=
	turns=0
}

# A test that fails says how the last program that it asked ended.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -e err.txt ] || { echo "status: ${status-}" && head -c 2000 err.txt; }
}

# in_turn: for loops over wrong values. True of every third, and since this counts on from program to program, each gets some of
# the values, and each value goes to some of the programs.
in_turn() {
	turns=$((turns + 1))
	[ $((turns % 3)) = 0 ]
}

# Some programs of each kind, or all where there are few: for what the harness answers alone.
some() {
	if [ "$(programs | wc -l)" -lt 5 ]; then
		programs
	else
		programs | grep -x -e micro/memory -e overlap/pair -e collectives/allreduce -e collectives/device_allreduce
	fi
}

# For what differs from program to program, but for the first tests and tests/golden: all with --all.
asked() { if [ "${GPUSIG_TEST_ALL:-}" = 1 ]; then programs; else some; fi; }

# Folder in which measure_once puts a program's output.
folder_of() { echo "$BATS_FILE_TMPDIR/${1//\//-}"; }

measure_once() {
	local here
	here=$(folder_of "$1")
	mkdir "$here" && cd "$here" || return 1
	"$bin/$1" --about >about || return 1
	# shellcheck disable=SC2086 # QUICK is a list of options
	{
		measure "$1" sim $QUICK --budget 0.05s --format json
		echo "$status" >status
		cp out.txt said
		cp err.txt stderr
		[ "$status" != 77 ] || return 0
		measure "$1" sim --list && cp out.txt cases
		tail -n +3 cases >few
		measure "$1" sim $TWO --done few --seed 5 --format json --out out && cp out.txt first
		echo "$status" >ended
		measure "$1" sim $TWO --done few --seed 5 -v --out out && cp out.txt tablev
		echo "$status" >>ended
		tail -n "+$(($(wc -l <first) + 1))" out >second
		measure "$1" sim $TWO --done few --seed 5 && cp out.txt table
		echo "$status" >>ended
		# one program that differs is enough
		if some | grep -qxF "$1"; then measure "$1" sim $TWO --done few --seed 6 --format json && cp out.txt other; fi
	}
}

# About to test a program: when the test fails, the last such line names it.
now() {
	echo "program: $*"
	name=$1
	here=$(folder_of "$1")
}

# ask COMMAND...: status, stderr, lines and stderr_lines, as `run --separate-stderr` sets them at ten times the cost; out.txt and
# err.txt have all of it. Always true.
ask() {
	status=0
	"$@" >out.txt 2>err.txt </dev/null || status=$?
	mapfile -t lines <out.txt
	mapfile -t stderr_lines <err.txt
	IFS= read -rd '' stderr <err.txt || true
}

# For tests of thousands of starts that say themselves what failed: without what bats notes at each command, which takes longer
# than a start.
untraced() { trap - DEBUG; }

# measure PROGRAM DEVICE OPTIONS: ask of a measurement, on several devices where it needs them, or as ranks.
measure() {
	local name=$1 device=$2 about
	read -r about <"$(folder_of "$1")/about"
	shift 2
	case $about in
	*'"mpi"'*) ask mpirun -np 2 "$bin/$name" --device "$device" "$@" ;;
	*'"min_devices":1,'*) ask "$bin/$name" --device "$device" "$@" ;;
	*) ask "$bin/$name" --device "$device:0,1" "$@" ;;
	esac
}

# True when the program could run on the simulated device.
could_run() {
	if [ "$(<"$here/status")" = 77 ]; then
		unable="${unable}$name: $(why "$(<"$here/stderr")"); "
		return 1
	fi
	able=$((able + 1))
}

# At the end of a test: when no program could run here the test is a skip.
some_could_run() { [ "$able" -gt 0 ] || skip "$unable"; }

# axes: lines "NAME words|byte|count" of the program's axes, from its run record; none where it can't run.
axes() {
	[ "$(<"$here/status")" = 77 ] || head -n 1 "$here/said" | "$TEST_PYTHON" -I -S -c 'import json, sys
for axis in json.loads(sys.stdin.readline())["axes"]:
    first = axis["values"][0]
    print(axis["name"], "words" if isinstance(first, str) else "byte" if axis["unit"] == "byte" else "count")'
}

@test "--help is on stdout, nothing on stderr, exit 0" {
	untraced
	for name in $(programs); do
		now "$name"
		for word in --help -h; do
			[ "$word" = --help ] || in_turn || continue
			ask "$bin/$name" $word
			[ "$status" = 0 ] && [ -z "$stderr" ] && [[ ${lines[0]} == "$name: "* ]] || {
				echo "$word: $status $stderr" && false
			}
			for option in --device --budget --seed --check --format --out --done --cases --verbose --headline --full --list; do
				[[ ${lines[*]} == *"$option "* ]] || { echo "$word does not tell $option" && false; }
			done
		done
		ask "$bin/$name" --version
		[ "$status" = 0 ] && [ -z "$stderr" ] && [[ ${lines[*]} == *"$name"* ]] || { echo "--version: $status $stderr" && false; }
	done
}

@test "--about is one JSON object with name, question, formula, needs, share and primary metrics" {
	for name in $(programs); do
		now "$name"
		ask "$bin/$name" --about
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		[ "${#lines[@]}" = 1 ]
		printf '{"asked": "%s", "said": %s}\n' "$name" "${lines[0]}" >>all
	done
	json 'none([r for r in rows if r["said"]["name"] != r["asked"]])' \
		'none([r for r in rows if not r["said"]["question"].endswith("?") or not r["said"]["formula"]])' \
		'none([r for r in rows if not isinstance(r["said"]["needs"], list) or not isinstance(r["said"]["primary"], list)])' \
		'none([r for r in rows if not (r["said"]["share"] > 0 and r["said"]["min_devices"] >= 1)])' <all
}

@test "--devices is one JSON line a backend; host and sim have one at least" {
	for name in $(programs); do
		now "$name"
		ask "$bin/$name" --devices
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		printf '{"asked": "%s", "said": [%s]}\n' "$name" "$(paste -sd, out.txt)" >>all
	done
	json 'none([r for r in rows if not {d["name"] for d in r["said"] if d["devices"] > 0} >= {"host", "sim"}])' \
		'none([r for r in rows if not all(d["why"] for d in r["said"] if d["devices"] == 0)])' \
		'none([r for r in rows if {d["name"] for d in r["said"] if "mi300x" in d.get("models", "")} != {"sim"}])' <all
}

@test "an unknown option is 2, is named on stderr, and stdout stays empty" {
	for name in $(some); do
		now "$name"
		for word in --frobnicate --devic -x --help=yes stray; do
			in_turn || [ "$word" = --frobnicate ] || continue
			ask "$bin/$name" "$word"
			[ "$status" = 2 ]
			[ ! -s out.txt ]
			[[ $stderr == *"${word%%=*}"* ]]
			[ "${#stderr_lines[@]}" = 1 ]
		done
	done
}

@test "a missing or malformed value of a common option is 2 and names the option" {
	untraced
	for name in $(some); do
		now "$name"
		for words in --budget '--budget x' '--budget 0' '--budget -1s' '--budget 1e400' '--seed' '--seed -1' '--seed 1x' \
			'--seed 18446744073709551616' '--format xml' '--check maybe' '--min-samples 0' '--max-samples 99999999999' \
			'--goal 0' '--goal nan' '--device' '--out' '--done' '--cases'; do
			in_turn || continue
			# shellcheck disable=SC2086 # words is a command line
			ask "$bin/$name" $words
			[ "$status" = 2 ] && [ ! -s out.txt ] && [[ $stderr == *"${words%% *}"* ]] || {
				echo "options: $words: $status $stderr" && false
			}
		done
		for option in --done --cases; do
			ask "$bin/$name" "$option" /dev/null/file
			[ "$status" = 2 ] && [[ $stderr == *"$option /dev/null/file"* ]] || {
				echo "option: $option: $status $stderr" && false
			}
		done
	done
}

@test "an unknown device is 2 and what exists is named" {
	for name in $(some); do
		now "$name"
		for device in metal 'host:' 'host:x' 'host:5-1' 'host:99999999999999999999' '' 'sim:no-such-model' ':0'; do
			in_turn || continue
			echo "device: '$device'"
			ask "$bin/$name" --device "$device"
			[ "$status" = 2 ] || [ "$device" = sim:no-such-model ]
			[ "$status" != 0 ]
			[ ! -s out.txt ]
			[ -n "$stderr" ]
			[ "$device" != metal ] || [[ $stderr == *metal*host*sim* ]]
		done
	done
}

@test "a device that is absent is 77 with a reason, never another device" {
	for name in $(some); do
		now "$name"
		absent=$("$bin/$name" --devices | sed -n 's/.*"name": *"\([a-z]*\)", *"devices": *0,.*/\1/p')
		for device in $absent; do
			ask "$bin/$name" --device "$device" --format json
			[ "$status" = 77 ]
			[ ! -s out.txt ]
			[[ $stderr == *"$device"* ]]
			able=1
		done
	done
	unable='every backend of this build has a device here'
	some_could_run
}

@test "a device beyond those that are there is 77, and what is here is named" {
	for name in $(some); do
		now "$name"
		ask "$bin/$name" --device sim:64
		[ "$status" = 77 ]
		[ ! -s out.txt ]
		[[ $stderr == *"no device sim:64; devices: sim:0-63; here: "*host*sim* ]]
	done
}

@test "without --device it is a GPU where there is one, else the host, and the program says which" {
	for name in $(some); do
		now "$name"
		ask "$bin/$name" --list
		[ "$status" != 77 ] || continue
		tail -n +2 out.txt >'done'
		ask "$bin/$name" --budget 0.01s --min-samples 1 --max-samples 1 --done 'done'
		[ "$status" != 77 ] || continue
		cp out.txt said
		default=$("$bin/$name" --devices | sed -n '/"devices":0/d; s/.*"name":"\([a-z]*\)".*/\1/p' | grep -vx -e host -e sim | head -n 1)
		grep -q "^# ${default:-host} is the default here" said
		able=1
	done
	some_could_run
}

@test "on the simulated device every program gives records that fit the schema" {
	for name in $(asked); do
		now "$name"
		could_run || { echo "# skip ${unable%; }" >&3 && unable= && continue; }
		[ "$(<"$here/status")" = 0 ]
		printf '{"program": "%s", "asked": true}\n' "$name" >>all
		cat "$here/said" >>all
		cat "$here/said" >>records
	done
	some_could_run
	json 'none([p for p, said in by_program.items() if said[1]["kind"] != "run" or said[-1]["kind"] != "end"])' \
		'none([p for p, said in by_program.items() if not any(r.get("kind") == "case" and r["status"] == "ok" for r in said)])' \
		'none([p for p, said in by_program.items() if "asked" not in said[0] or any("asked" in r for r in said[1:])])' \
		'none([r for r in rows if "asked" not in r and r["schema"] != "gpusig.record"])' \
		'none([r for r in cases if r["check"]["status"] == "failed"])' <all
	fits_schema records
}

@test "no line of a help or a table exceeds 80 characters, columns line up, and -v leaves nothing out" {
	for name in $(asked); do
		now "$name"
		mkdir "$(basename "$here")"
		ask "$bin/$name" --help
		[ "$status" = 0 ]
		cp out.txt "$(basename "$here")/help"
		could_run || continue
		run ! grep -vx '[03]' "$here/ended"
		cp "$here/table" "$here/tablev" "$(basename "$here")"
	done
	some_could_run
	"$TEST_PYTHON" -I -S "$root/tests/bats/check_tables.py" ./*/help ./*/table ./*/tablev
}

@test "the same seed gives the same case lines, another seed does not" {
	different=0
	for name in $(asked); do
		now "$name"
		could_run || continue
		for run in first second; do grep '"kind": *"case"' "$here/$run" >"$run"; done
		diff first second | cut -c1-400
		cmp first second
		[ -e "$here/other" ] || continue
		grep '"kind": *"case"' "$here/other" >other
		cmp -s first other || different=$((different + 1))
	done
	some_could_run
	[ "$different" -gt 0 ]
}

@test "a malformed or unknown value of an axis is 2, names the axis, and lists the words there are" {
	untraced
	for name in $(asked); do
		now "$name"
		axes >axes.txt
		while read -r axis kind; do
			for value in 0x 4Q -1 99999999999999999999 '' 4K:1K 1,,2 ',' 18446744073709551615G 1: :1 \
				1:2:x0 1:2:x1 no-such-word; do
				in_turn || [ "$value" = no-such-word ] || continue
				ask "$bin/$name" --device sim "--$axis" "$value"
				[ "$status" = 2 ] && [ ! -s out.txt ] && [[ $stderr == *"$axis"* ]] || {
					echo "axis: --$axis '$value' ($kind): $status $stderr" && false
				}
			done
			[ "$kind" != words ] || [[ $stderr == *"s: "* ]]
			ask "$bin/$name" --device sim "--$axis"
			[ "$status" = 2 ]
		done <axes.txt
	done
}

@test "a size beyond the memory is 2 or 77 with a reason, not a result" {
	for name in $(asked); do
		now "$name"
		axes >axes.txt
		while read -r axis kind; do
			[ "$kind" = byte ] || continue
			for value in 1000T 15000000T; do
				in_turn || [ "$value" = 1000T ] || continue
				echo "axis: --$axis $value"
				ask timeout "$HANGS_S" "$bin/$name" --device sim --budget 0.05s --format json "--$axis" "$value"
				[ "$status" = 2 ] || [ "$status" = 77 ]
				[ -n "$stderr" ]
				able=1
			done
		done <axes.txt
	done
	unable='no program has an axis in bytes'
	some_could_run
}

@test "pieces that no queue holds are 77, and more than there are rows 2, before any is built" {
	[ -x "$bin/overlap/out_of_core" ] || skip 'not built'
	while IFS='|' read -r code options words; do
		# shellcheck disable=SC2086 # options are words
		run --separate-stderr timeout 30 "$bin/overlap/out_of_core" --device sim --budget 0.05s $options
		echo "$options: $status $stderr"
		[ "$status" = "$code" ]
		[[ $stderr == *"overlap/out_of_core: $words" ]]
	done <<-'TABLE'
		77|--shape 16777216x32x32 --pieces 10000000|needs 30000000 queue entries; the stream holds 1024
		77|--shape 65536x32x32 --pieces 342|needs 1026 queue entries; the stream holds 1024
		2|--shape n256 --pieces 257,4294967295|4294967295 pieces of 256 rows
	TABLE
}

@test "records that cannot be written are one clear line and a failure" {
	for name in $(some); do
		now "$name"
		could_run || continue
		for place in /dev/full /dev/null/records; do
			# shellcheck disable=SC2086 # TWO is a list of options
			measure "$name" sim $TWO --done "$here/few" --out "$place"
			[ "$status" = 1 ]
			[[ $stderr == *"$place"* ]]
		done
		# shellcheck disable=SC2086
		ask sh -c "'$bin/$name' --device sim $TWO --done '$here/few' --format json >/dev/full"
		[ "$status" = 1 ] || [ "$status" = 77 ]
		[[ $stderr == *stdout* ]] || [ "$status" = 77 ]
	done
	some_could_run
}

@test "--out and --format json say the same, and --out appends" {
	for name in $(asked); do
		now "$name"
		could_run || continue
		head -n "$(wc -l <"$here/first")" "$here/out" | cmp - "$here/first"
		[ "$(grep -c '"kind": *"end"' "$here/out")" = 2 ]
	done
	some_could_run
}

@test "--list names the cases, --done leaves them out" {
	for name in $(asked); do
		now "$name"
		could_run || continue
		# A program without axes has one case, and its key is empty.
		[ -s "$here/cases" ]
		[ -z "$(sort "$here/cases" | uniq -d)" ]
		head -n 2 "$here/cases" >two
		measure "$name" sim --list --done "$here/few"
		cmp out.txt two
		printf '{"program": "%s", "asked": %d, "wanted": %s, "listed": %s}\n' "$name" "$(wc -l <"$here/few")" \
			"$(sed 's/.*/"&"/' two | paste -sd, | sed 's/.*/[&]/')" \
			"$(sed 's/.*/"&"/' "$here/cases" | paste -sd, | sed 's/.*/[&]/')" >>all
		cat "$here/first" >>all
	done
	some_could_run
	# Cases are added on a curve with cliffs only after its cases were measured.
	json 'none([p for p, (asked, *said) in by_program.items() if said[-1]["cases"]["already_done"] != asked["asked"]])' \
		'none([p for p, (asked, *said) in by_program.items()
			if not {r["key"] for r in said if r["kind"] == "case"} & set(asked["listed"]) <= set(asked["wanted"])])' \
		'none([p for p, (asked, *said) in by_program.items()
			if "cliff" not in said[0] and not {r["key"] for r in said if r["kind"] == "case"} <= set(asked["wanted"])])' \
		'none([p for p, (asked, *said) in by_program.items() if not any(r["kind"] == "case" for r in said)])' <all
}

@test "SIGINT ends the records properly, and the program ends with that signal's status" {
	local size
	for name in $(some); do
		now "$name"
		rm -f out
		size=() # where the last-level cache is large, memory of 16 times that takes too long to be touched in one call
		[ "$name" != micro/memory ] || size=(--footprint 24K:256M:x2)
		"$bin/$name" --device host --budget 20s --full "${size[@]}" --out out >words 2>&1 3>&- &
		pid=$!
		while [ ! -s out ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
		kill -INT $pid 2>/dev/null || true
		code=0
		wait $pid || code=$?
		[ "$code" != 77 ] || continue
		cat words
		able=1
		# A program may have been through before the signal came, with whatever a busy machine left valid.
		[ "$code" = 0 ] || [ "$code" = 3 ] || [ "$code" = 130 ]
		printf '{"program": "%s", "exit": %d}\n' "$name" "$code" >>all
		cat out >>all
	done
	unable='no program runs on the host'
	some_could_run
	json 'none([p for p, said in by_program.items() if said[1]["kind"] != "run" or said[-1]["kind"] != "end"])' \
		'none([p for p, said in by_program.items() if (said[0]["exit"] == 130) != (said[-1]["status"] == "interrupted")])' <all
}

# Whatever a busy machine does, the last case was begun before the budget was spent, so those before it took less.
@test "the budget is kept on the host" {
	only_with_all
	for name in $(some); do
		now "$name"
		rm -f out
		measure "$name" host --budget 0.2s --out out
		[ "$status" != 77 ] || { unable="$unable$name: $(why "$stderr"); " && continue; }
		[ "$status" = 0 ] || [ "$status" = 3 ]
		cat out >>all
		able=1
	done
	some_could_run
	json 'none([p for p, said in by_program.items() if sum(r["elapsed_s"] for r in [r for r in said if r["kind"] == "case"][:-1]) > 0.2])' \
		'any(r["cases"]["out_of_budget"] > 0 for r in rows if r["kind"] == "end")' <all
}
