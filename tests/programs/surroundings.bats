#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Programs in odd surroundings: closed standard files, planted links, folders for files, signals, little memory.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --budget 0.05s'
FIRST='--min-samples 2 --max-samples 2 --warm-up 0 --budget 0.001s' # on a simulated device a case or two

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "a closed stdout is an error, and what is printed lands in no file of the program" {
	local turn=0 alone=('>&-' '2>&-' '<&-')
	for name in $(programs); do
		for closed in '>&- 2>&- <&-' "${alone[turn++ % 3]}"; do # what one alone does is the harness's: asked in turn
			echo "program: $name $closed"
			status=0
			sh -c "'$bin/$name' --device sim:0,1 $FIRST --out out --progress progress $closed" >said 2>&1 || status=$?
			[ "$status" != 77 ] || continue 2
			case $closed in
			'>&-'*) [ "$status" = 1 ] ;;
			*) [ "$status" = 0 ] || [ "$status" = 3 ] ;;
			esac
			cat progress >>all
		done
	done
	json 'len(rows) > 0' 'none([r for r in rows if not {"number", "of", "key"} <= set(r)])' <all
	[ -s out ]
	fits_schema out
}

@test "./gpusig works with closed standard files" {
	export GPUSIG_BIN=$bin
	"$root/gpusig" run --device sim --budget 2s --only micro/launch --out "$PWD/out" >&- 2>&- <&-
	for command in list help 'report out' 'test --stages'; do
		for place in '>&-' '>/dev/full'; do
			echo "$command $place"
			status=0
			eval "'$root/gpusig' $command $place" 2>said || status=$?
			[ "$status" = 1 ]
			[ "$(wc -l <said)" = 1 ]
		done
		eval "'$root/gpusig' $command 2>&- <&-" >said
		[ -s said ]
	done
	fits_schema out/records.jsonl
}

# OpenBLAS tries for ever to map what it has no room for. Small stacks, so that nothing else lacks room.
@test "where address space is too small for the BLAS library, programs that need GEMM say so and end" {
	ran=0
	for name in $(programs); do
		"$bin/$name" --version >version
		! grep -q -- -fsanitize version || skip 'sanitizers take more address space than is left'
		# overlap/t3 needs hardware that the host lacks, too.
		needs=$("$bin/$name" --about | sed -n 's/.*"needs": *\[\([^]]*\)\].*/\1/p')
		[[ $needs == *'"gemm"'* && $needs != *'"tracker"'* ]] || continue
		for kilobytes in 200000 400000 900000; do
			echo "program: $name $kilobytes"
			status=0
			# shellcheck disable=SC2086 # a list of options
			(ulimit -s 256 -v "$kilobytes" && GPUSIG_BLAS=openblas exec timeout -s KILL "$HANGS_S" \
				"$bin/$name" --device host:0,1 $QUICK) >said 2>&1 || status=$?
			cat said
			! grep -q 'cannot load libopenblas' said || skip 'no OpenBLAS'
			[ "$status" = 77 ]
			[ "$(wc -l <said)" = 1 ]
			grep -q ' does not support gemm: OpenBLAS maps 128 MiB for each of [0-9]* threads, and the limit of address' said
		done
		ran=1
	done
	[ "$ran" = 1 ]
}
