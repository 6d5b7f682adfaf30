#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# Nodes that share a checkout: what shared_checkout.bats asks of a small one, with the builds of the real one.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../fleet/checkout

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON # found once
}

@test "the real checkout: four starts in the same second compile everything once, and give four complete runs" {
	copy_checkout checkout
	compiler=$(command -v cc)
	mkdir compilers
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\nfor word; do [ "$word" != -c ] || echo >>"%s/compiled"; done\nexec %s "$@"\n' "$PWD" "$compiler" >compilers/cc
	chmod +x compilers/cc
	for node in 1 2 3 4; do
		start "node$node" env PATH="$PWD/compilers:$PATH" CFLAGS=-O0 PROGRAMS=micro/launch "SLURMD_NODENAME=node$node" \
			checkout/gpusig run --device sim --budget 1s --out 'fleet/%h'
	done
	all_ended
	tail -n 3 ./*.err
	[ "$(cat ./*.code)" = "$(printf '0\n0\n0\n0')" ]
	[ "$(cat ./*.err | grep -c '^gpusig: building')" = 1 ]
	objects=$(find checkout/build -name '*.o' | wc -l)
	[ "$objects" -gt 100 ]
	[ "$(wc -l <compiled)" = "$objects" ]
	for node in 1 2 3 4; do [ -s "fleet/node$node/signature.json" ]; done
	[ -z "$(find checkout/build -name '*.o.*')" ] # nothing unfinished is left
}

@test "two makes in one folder at once: both succeed, and what they leave is whole" {
	copy_checkout checkout
	for number in 1 2; do start "make$number" env CFLAGS=-O0 make -C checkout PROGRAMS=micro/launch HAVE_NVCC=0; done
	all_ended
	tail -n 3 ./*.err
	[ "$(cat ./*.code)" = "$(printf '0\n0')" ]
	checkout/bin/micro/launch --about >/dev/null
	[ -z "$(find checkout/build -name '*-[0-9]*' -path '*/obj/*')" ]
	run make -C checkout CFLAGS=-O0 PROGRAMS=micro/launch HAVE_NVCC=0 -q ONLY_ASK=1 built
	[ "$status" = 0 ]
}
