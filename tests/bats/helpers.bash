# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What several bats files need: the tree, the programs, fakes of them, and 77 as a skip.

bats_require_minimum_version 1.5.0

# shellcheck disable=SC2034 # used by the files that load this
root=$(cd -- "$BATS_TEST_DIRNAME/.." && pwd)
export GPUSIG_NO_INSTALL=1

# fake NAME BEHAVIOUR: a program FOLDER/NAME in $GPUSIG_BIN that behaves so (fake_program.py).
fake() {
	export GPUSIG_BIN=${GPUSIG_BIN:-$BATS_TEST_TMPDIR/bin}
	mkdir -p "$GPUSIG_BIN/${1%/*}"
	printf '#!/bin/sh\nexec "%s" -S -E "%s" "%s" "%s" "$@"\n' \
		"$(sh "$root/suite/find_python.sh" --any)" "$root/tests/bats/fake_program.py" "$1" "$2" >"$GPUSIG_BIN/$1"
	chmod +x "$GPUSIG_BIN/$1"
}

# The driver without the front door, for tests that say nothing about setting up and building.
suite() {
	(cd "$root" && exec "$(sh suite/find_python.sh --any)" -m suite --cwd "$BATS_TEST_TMPDIR" "$@")
}

# After `run`: a program that cannot run here is a skip with its reason.
# shellcheck disable=SC2154 # status, stderr and output are set by run
skip_if_77() {
	[ "$status" != 77 ] || skip "$(printf '%s\n' "${stderr:-$output}" | tail -n 1)"
}

# json EXPRESSION: stdin as JSON lines in the list `rows`; fails when the Python expression is false.
json() {
	"$(sh "$root/suite/find_python.sh" --any)" -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin if line.strip()]
verdict = eval(sys.argv[1])
if verdict is not True: sys.exit(f"{sys.argv[1]} is {verdict!r}")' "$1"
}
