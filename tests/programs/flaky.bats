#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A device that is wrong now and then, and right whenever somebody looks at an extra execution.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

wrong_copy_every() { printf 'like = quiet\ncorrupt_copy_every = %d\n' "$1" >a.model; }

copies() { run --separate-stderr "$bin/micro/copy_path" --device sim:./a.model --direction up --size 64K --path engine "$@"; }

@test "what timed samples left is wrong: 1, though the extra execution at the end is right" {
	wrong_copy_every 7
	copies --check end
	[ "$status" = 0 ]
	copies --format json
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: engine, sample 1: word 8193 is "*", not "* ]]
	json 'rows[1]["cause"] == "wrong_result" and rows[1]["check"]["status"] == "failed" and 0 < rows[1]["check"]["checked"] < rows[1]["check"]["timed"]' <<<"$output"
}

@test "one wrong copy in 101 is found where every execution is checked" {
	wrong_copy_every 101
	copies --check every --format json
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: engine, sample "* ]]
	json 'all(flag["flag"] == "soak" for flag in rows[1]["validity"]["flags"])' <<<"$output"
}
