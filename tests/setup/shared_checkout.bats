#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Nodes that share a checkout: one build for those that start at once, a build elsewhere, folders that differ by node.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../fleet/checkout

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON # found once
}

@test "four starts in the same second on a fresh checkout: one builds, three wait and say so, all run" {
	small_checkout checkout
	export BUILD_UNTIL=$PWD/go
	for node in 1 2 3 4; do
		start "node$node" env "SLURMD_NODENAME=node$node" checkout/gpusig run --budget 1s --out 'fleet/%h'
	done
	# shellcheck disable=SC2016 # for wait_for
	wait_for '[ "$(cat ./*.err | grep -c waiting)" = 3 ]'
	touch go
	all_ended
	tail -n 3 ./*.err
	[ "$(cat ./*.code)" = "$(printf '0\n0\n0\n0')" ]
	[ "$(cat checkout/build/builds)" = "$(printf 'begun\nended')" ]
	[ "$(cat ./*.err | grep -c '^gpusig: building')" = 1 ]
	[ "$(cat ./*.err | grep -c '^gpusig: waiting for process [0-9]* of node[1-4], which builds in ')" = 3 ]
	[ "$(ls fleet)" = "$(printf 'node1\nnode2\nnode3\nnode4')" ]
	for node in 1 2 3 4; do [ -s "fleet/node$node/signature.json" ]; done
}

@test "a builder that is killed leaves no lock, and the next one builds" {
	small_checkout checkout
	export BUILD_UNTIL=$PWD/go
	checkout/gpusig run --budget 1s --out one 2>one.err 3>&- &
	wait_for '[ -s checkout/build/builds ]'
	builder=$(sed -n 's/.*"process": *\([0-9]*\).*/\1/p' checkout/build/lock)
	start two env checkout/gpusig run --budget 1s --out two
	wait_for 'grep -q waiting two.err'
	kill -9 "$builder"
	touch go
	wait $! || true
	all_ended
	tail -n 3 ./*.err
	[ "$(cat two.code)" = 0 ]
	[ -s two/signature.json ]
}

@test "a checkout that cannot be written, with nothing built: one line says what to do; GPUSIG_BUILD is that" {
	[ "$(id -u)" = 0 ] || skip 'needs root to mount'
	small_checkout checkout
	mount --bind checkout checkout && mount -o remount,bind,ro checkout || skip 'cannot mount'
	run --separate-stderr checkout/gpusig run --budget 1s --out one
	first=$status words=$stderr
	mkdir elsewhere
	run --separate-stderr env GPUSIG_BUILD=elsewhere checkout/gpusig run --budget 1s --out two
	umount checkout
	echo "$words" "$stderr"
	[ "$first" = 77 ]
	[[ $words == "gpusig: nothing is built, and it cannot be built here: "*"; GPUSIG_BUILD=DIR is another folder to build in" ]]
	[ "$(wc -l <<<"$words")" = 1 ]
	[ "$status" = 0 ]
	[ -s two/signature.json ]
	[ ! -e checkout/build ]
	[ ! -e checkout/bin ]
	[ -e elsewhere/bin/micro/a ]
	[ -s elsewhere/make.log ]
}

@test "a folder to build in with a space in its name, or for test, is refused" {
	small_checkout checkout
	run --separate-stderr env GPUSIG_BUILD='a b' checkout/gpusig run --budget 1s
	[ "$status" = 2 ]
	[[ $stderr == "gpusig: GPUSIG_BUILD is '$PWD/a b': make builds in no folder with a space in its name" ]]
	run --separate-stderr env GPUSIG_BUILD=there checkout/gpusig test
	[ "$status" = 2 ]
	[ "$stderr" = 'gpusig: test builds in the checkout: unset GPUSIG_BUILD' ]
}

@test "another task of a job on the same node is refused before anything is built" {
	small_checkout checkout
	for name in SLURM_LOCALID OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID FLUX_TASK_LOCAL_ID; do
		run --separate-stderr env "$name=1" checkout/gpusig run --budget 1s --out one
		[ "$status" = 2 ]
		[ "$stderr" = "gpusig: $name is 1: two runs on a node disturb each other; start one a node, as with srun --ntasks-per-node=1" ]
	done
	run --separate-stderr env SLURM_LOCALID=1 checkout/gpusig ab '' 'nice' --repeats 2
	[ "$status" = 2 ]
	[ ! -e checkout/build ]
	SLURM_LOCALID=0 checkout/gpusig run --budget 1s --out one 2>/dev/null
}

# ---- names of folders

@test "%h is the node, %p the process, %% a percent sign; another letter is refused with these" {
	fake micro/a steady
	export SLURMD_NODENAME=node7
	measures run --budget 1s --out '50%%-%h' 2>/dev/null
	[ -s '50%-node7/records.jsonl' ]
	measures run --budget 1s --repeats 1 --out '%h-series' 2>/dev/null
	[ -s node7-series/run-1/records.jsonl ]
	run --separate-stderr suite ab '' 'nice' --budget 1s --repeats 1 --out '%h/%p'
	[ -s "$(echo node7/*)/A/run-1/records.jsonl" ]
	refused <<-'TABLE'
		2|run --budget 1s --out %x|--out '%x': unknown '%x'; %h is the node, %p the process, %% a percent sign
		2|run --budget 1s --out a%|--out 'a%': unknown '%'; %h is the node, %p the process, %% a percent sign
		2|run --budget 1s --out fleet/%H|--out 'fleet/%H': unknown '%H'; %h is the node, %p the process, %% a percent sign
		2|run --budget 1s --out %1h|--out '%1h': unknown '%1'; %h is the node, %p the process, %% a percent sign
	TABLE
}

# The names that others become: tests/suite/test_naming.py.
@test "a name of a node that is hostile becomes a safe one, and stays as it is in the provenance" {
	[ -x "${GPUSIG_BIN:-$root/bin}/micro/launch" ] || skip 'nothing is built'
	mkdir here
	export SLURMD_NODENAME=$'../..\n-rf'
	suite run --device sim --only micro/launch --headline --budget 10m --out "$PWD/here/%h" 2>/dev/null
	[[ $(ls -A here) =~ ^[A-Za-z0-9_][A-Za-z0-9._-]*-[0-9a-f]{8}$ ]]
	json '[r["provenance"]["environment"]["SLURMD_NODENAME"] for r in rows if r["kind"] == "run"][:1] == ["../..\n-rf"]' <here/*/records.jsonl
}

@test "the line that says how to go on is one that works, also where a name has a percent sign" {
	fake micro/a steady
	measures run --budget 1s --out '50%%' 2>/dev/null
	run --separate-stderr measures run --budget 1s --out '50%%'
	[ "$status" = 2 ]
	[[ $stderr == *"go on with it: --resume $PWD/50%%" ]]
	measures run --resume "${stderr##*--resume }" 2>/dev/null
}

@test "runs without --out have folders of their own, also in the same second" {
	fake micro/a steady
	for i in 1 2 3; do SLURMD_NODENAME=node7 start "run$i" measures run --budget 1s; done
	all_ended
	[ "$(cat ./*.code)" = "$(printf '0\n0\n0')" ]
	[ "$(echo gpusig-results-node7-* | wc -w)" = 3 ]
}

@test "a folder in which another run measures is in use, and nothing says to resume it" {
	fake micro/a hang
	measures run --budget 10m --out results 2>/dev/null 3>&- &
	pid=$!
	wait_for '[ -s results/records.jsonl ]'
	for words in '' '--repeats 2'; do
		# shellcheck disable=SC2086 # words are options
		run --separate-stderr measures run --budget 1s --out results $words
		[ "$status" = 1 ]
		[[ $stderr == *"/results is in use by another run (process "* ]]
		[[ $stderr != *resume* ]]
	done
	measuring=$(driver results)
	# The same lock as another node sees it: the process means nothing there.
	changed=$(sed 's/"host": *"[^"]*", *"processes": *"[^"]*"/"host": "node9", "processes": "another"/' results/lock)
	echo "$changed" >results/lock
	run --separate-stderr measures run --resume results
	[ "$status" = 1 ]
	[[ $stderr == *"is in use by another run (process "*" of node9)" ]]
	kill "$measuring"
	wait $pid || true
}
