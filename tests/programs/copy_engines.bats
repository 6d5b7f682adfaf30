#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/copy_engines where nothing is simulated, and with input that it cannot measure. tests/method/test_copy_engines.py
# has the engines of simulated machines.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

engines() { "$root/bin/micro/copy_engines" --min-samples 6 --max-samples 6 "$@"; }

# engines_that_answer of each case, as a list.
answers='[d["value"] for c in cases for d in c["derived"] if d["name"] == "engines_that_answer"]'

# One copy thread copies down (D2H), another one does the rest. A short copy behind a bulk copy of its thread waits, however
# busy the machine is; one of the other thread may be held up, too.
@test "a host device has one engine each way, and at most two both ways" {
	run --separate-stderr engines --device host:0,1 --direction up,down,local,peer,both --size 1M --format json
	[ "$status" != 1 ]
	json "${answers}[:4] == [1, 1, 1, 1]" "1 <= ${answers}[4] <= 2" \
		'all(c["facts"]["engines_stated"] == 2 for c in cases)' \
		'all(c["facts"]["sticky"] == "one engine" for c in cases[:4])' <<<"$output"
}

# Its direction has one engine, which the driver's stamps alone do not show: events follow copies of other streams.
@test "the fake CUDA driver has one engine up" {
	need_fakes
	LD_LIBRARY_PATH=$(fakes) run --separate-stderr engines --device cuda:0 --direction up --size 1M --format json
	json "$answers == [1]" <<<"$output"
}

# A kernel starts in less time than a bulk copy takes, or the short copy behind it is late though an engine is free.
@test "where short copies come when bulk copies have ended, the number of engines is not valid" {
	run --separate-stderr engines --device sim:h100 --direction local --size 128K --format json
	json '[d["valid"] for c in cases for d in c["derived"] if d["name"] == "engines_that_answer"] == [False]' \
		'["sticky" in c["facts"] for c in cases] == [False]' \
		'{m["name"] for c in cases for m in c["mechanism"] if not m["observed"]} == {"a_short_copy_ends_before_a_bulk_copy"}' \
		<<<"$output"
	run --separate-stderr engines --device sim:h100 --direction local --format json
	json "$answers == [3]" 'all(m["observed"] for c in cases for m in c["mechanism"])' <<<"$output"
}

@test "what cannot be measured is one line, and the others go on" {
	run --separate-stderr engines --device sim:quiet --direction up,peer,peers --size 128K
	[ "$status" = 0 ]
	[[ $output == *"direction=peer size=131072: skipped: a peer copy needs two "* ]]
	[[ $output == *"direction=peers size=131072: skipped: copies to several peers "* ]]
	run --separate-stderr engines --device sim:quiet --direction up --size 1G
	[ "$status" = 77 ]
	[[ $output == *"skipped: 16 sources and targets of "* ]]
	run --separate-stderr engines --device 'sim:quiet?copy_engines=0'
	[ "$status" = 77 ]
	[[ $output == *"the device has no copy engines"* ]]
	run --separate-stderr engines --device sim:quiet --direction sideways
	[ "$status" = 2 ]
	[[ $stderr == *"up"*"peers"* ]]
}

@test "a wrong byte anywhere in a copy is found" {
	run --separate-stderr engines --device 'sim:quiet?corrupt_copy_every=1' --direction up --size 128K --format json
	[ "$status" = 1 ]
	json 'cases[0]["check"]["status"] == "failed"' <<<"$output"
}
