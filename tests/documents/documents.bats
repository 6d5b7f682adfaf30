#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The documents are right: links lead somewhere, tables are what the programs print, examples compile and run.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
export GPUSIG_BIN=$bin

setup() { cd "$root" || return 1; }

# The benchmark micro/NAME of ADD-A-BENCHMARK, as it stands: $tree/NAME.
build_example() {
	archive=$(dirname "$(readlink -f "$bin")")/libgpusig.a
	[ -e "$archive" ] || skip "no archive next to $bin"
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/micro"
	cp .clang-format "$tree"
	awk -v name="micro/$1\"" '/^```c$/ { text = ""; next } /^```$/ && index(text, name) { printf "%s", text; exit } { text = text $0 "\n" }' \
		docs/ADD-A-BENCHMARK.md >"$tree/micro/$1.c"
	run "$TEST_PYTHON" tests/lint/layers.py --root "$tree"
	echo "$output"
	[ "$status" = 0 ]
	if command -v clang-format; then clang-format --dry-run -Werror "$tree/micro/$1.c"; fi
	run "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wconversion -Werror \
		-I. -pthread "$tree/micro/$1.c" "$archive" -lm -ldl -o "$tree/$1"
	echo "$output"
	[ "$status" = 0 ]
}

@test "every link of the documents leads to a file and a heading, and so do pages that sources name" {
	run "$TEST_PYTHON" tests/lint/links.py
	echo "$output"
	[ "$status" = 0 ]
}

@test "a link to a file or a heading that is not there is named" {
	printf '# Head, of it\n[a](#head-of-it) [b](nowhere.md)\n[c](#head)\n' >"$BATS_TEST_TMPDIR/page.md"
	run "$TEST_PYTHON" tests/lint/links.py "$BATS_TEST_TMPDIR/page.md"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == *"page.md: nowhere.md" && ${lines[1]} == *"page.md: #head" ]]
}

@test "the table of programs is what list prints" {
	run "$TEST_PYTHON" tests/golden/programs_table.py
	echo "$output"
	[ "$status" = 0 ]
}

@test "a row of the table of programs that is stale or missing is named with the command, which puts it right" {
	cp docs/PROGRAMS.md "$BATS_TEST_TMPDIR/PROGRAMS.md"
	sed -i -e '/^| micro\/memory /s/?/ today?/' -e '/^| micro\/launch /d' "$BATS_TEST_TMPDIR/PROGRAMS.md"
	run "$TEST_PYTHON" tests/golden/programs_table.py "$BATS_TEST_TMPDIR/PROGRAMS.md"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 5 ]
	[[ $output == *"- | micro/memory "*"+ | micro/launch "*"+ | micro/memory "*"tests/golden/update PROGRAM" ]]
	"$TEST_PYTHON" tests/golden/programs_table.py --write "$BATS_TEST_TMPDIR/PROGRAMS.md"
	cmp docs/PROGRAMS.md "$BATS_TEST_TMPDIR/PROGRAMS.md"
}

@test "the shortest benchmark of ADD-A-BENCHMARK has at most 32 lines of code, keeps the rules, and finds a wrong result" {
	build_example shortest
	[ "$(grep -cv '^/\*\|^ \*\|^$' "$tree/micro/shortest.c")" -le 32 ]
	run "$tree/shortest" --device sim --size 1M --format json
	[ "$status" = 0 ]
	[[ $output == *'"name":"bandwidth","variant":"engine"'*'"check":{"status":"ok"'* ]]
	run "$tree/shortest" --device 'sim:default?corrupt_copy_every=3' --size 1M
	[ "$status" = 1 ]
	[[ $output == *"wrong result: engine"* ]]
}

@test "the ratio of ADD-A-BENCHMARK keeps the rules, compiles, is found, and is computed once more, as it stands" {
	build_example example
	for device in sim host; do
		"$tree/example" --device "$device" --size 1M --min-samples 6 --max-samples 6 --format json >"$tree/$device.jsonl" ||
			[ $? = 3 ] # a machine with other work
		run "$TEST_PYTHON" tests/method/recompute.py "$tree/$device.jsonl"
		echo "$output"
		[ "$status" = 0 ]
		[[ $output == *"micro/example copy_time_ratio  "* ]]
	done
	run "$tree/example" --device sim
	[ "$status" = 0 ]
	[[ $output == *copy_time_ratio* ]]
}

@test "the simulated machine of SIMULATED-MACHINES.md is a model, and every machine of the gallery is one" {
	sed -n '/^# four.sim$/,/^```$/p' docs/SIMULATED-MACHINES.md | sed '/^```/d' >"$BATS_TEST_TMPDIR/four.sim"
	[ -s "$BATS_TEST_TMPDIR/four.sim" ]
	for model in "$BATS_TEST_TMPDIR/four.sim" "$root"/docs/gallery/*.sim; do
		echo "# $model"
		run "$bin/micro/launch" --device "sim:$model:0-3" --headline --format json
		[ "$status" = 0 ]
	done
}

@test "the gallery names every machine and picture that it has" {
	for file in docs/gallery/*.png docs/gallery/*.sim; do
		grep -q "(${file##*/})" docs/gallery/README.md || { echo "$file" && return 1; }
	done
}
