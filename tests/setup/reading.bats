#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Commands that only read, in a checkout that was never built, for root on a machine that has neither compiler nor make nor MPI,
# and a package manager that says what it was asked for.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../fleet/checkout

questions=('compare before after' 'fleet runs' 'export --to prometheus before' 'report runs/before' 'scorecard before after')
mix=(scorecard before after --workload mix)
advise=(advise before --m 4096 --n 4096 --k 4096 --devices 8 --op ag-gemm --type f32)

setup_file() {
	local bin=${GPUSIG_BIN:-$root/bin} where=$BATS_FILE_TMPDIR side device
	[ -x "$bin/gemm/efficiency" ] || skip 'nothing is built'
	for side in before after; do
		mkdir -p "$where/runs/$side" && ln -s "runs/$side" "$where/$side"
		device="--device sim --seed ${#side} --max-samples 10 --out $where/runs/$side/records.jsonl"
		# shellcheck disable=SC2086 # several words
		"$bin/gemm/efficiency" $device --shape n256,n512,g1,g5,g6 --type f32 >&2 && "$bin/micro/copy_path" $device \
			--direction up,down --path engine,kernel,kernel_1,kernel_2,kernel_4 --size 4K:16M:x16 >&2 || return 1
		(cd "$root" && "$TEST_PYTHON" -m suite report "$where/$side" >&2) || [ $? = 77 ]
	done
	echo 'gemm 700x900x800 f32 count=100' >"$where/mix"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -r "$BATS_FILE_TMPDIR"/* .
	mkdir -p few checkout/lib
	cp -rp "$root/gpusig" "$root/suite" "$root/reports" "$root/Makefile" checkout
	for command in sh dirname readlink date mktemp tr grep tail rm mkdir nproc cat ls uname find sleep; do
		ln -s "$(command -v "$command")" few/
	done
	printf '#!/bin/sh\necho 0\n' >few/id
	printf '#!/bin/sh\necho "$*" >>"%s/apt.log"\nexit 100\n' "$PWD" >few/apt-get
	chmod +x few/id few/apt-get
	python=$TEST_PYTHON
}

bare() { run --separate-stderr env -i PATH="$PWD/few" GPUSIG_PYTHON="$python" "$@"; }

# reads COMMAND...: answers with 0, or 3 where two runs are few, asks for no package and builds nothing.
reads() {
	"$python" -c 'import jinja2' || skip 'no jinja2'
	bare checkout/gpusig "$@"
	echo "$stderr"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	[ -n "$output" ]
	[ ! -e apt.log ]
	[ ! -e checkout/build ]
}

@test "compare needs no compiler" {
	reads compare before after
	[[ $output == *gemm/efficiency/flop_rate* ]]
	[ -s compare.html ]
}

@test "fleet needs no compiler" {
	reads fleet runs
	[[ $output == *'2 nodes'* ]]
	[ -s fleet.html ]
}

@test "export needs no compiler" {
	reads export --to prometheus before
	[[ $output == *'gpusig_cases{'* ]]
}

@test "report needs no compiler" {
	rm before/signature.json before/report.html
	reads report before
	[ -s before/signature.json ]
	[ -s before/report.html ]
}

@test "scorecard needs no compiler" {
	reads scorecard before after
	[ -s scorecard.html ]
}

@test "advise, predict and scorecard --workload need none where their programs are, also older than their sources" {
	for program in overlap/ficco overlap/trigger gemm/efficiency; do
		mkdir -p "checkout/bin/${program%/*}" && cp -p "${GPUSIG_BIN:-$root/bin}/$program" "checkout/bin/$program"
	done
	reads "${advise[@]}"
	[[ $output == *'expected error'* ]]
	reads "${mix[@]}"
	[[ $output == *'700x900x800'* ]]
	reads predict sim:h100:0,1 --html '' overlap/ficco --shape 512x512x512
	[[ $output == *'sim:h100:0,1, 2 devices'* ]]
	touch -d '1 hour' checkout/lib/err.c
	bare GPUSIG_NO_INSTALL=1 checkout/gpusig "${advise[@]}"
	[ "$status" = 0 ]
	[[ ${stderr_lines[0]} == 'gpusig: without cc, make: nothing can be built; to install it, run: '* ]]
	[ "${stderr_lines[1]}" = 'gpusig: using the programs as they were built' ]
}

@test "advise without its programs asks for a compiler and for make, and where it gets none is 77 and a line" {
	for words in "${advise[*]}" "${mix[*]}"; do
		# shellcheck disable=SC2086 # words is a command line
		bare GPUSIG_NO_INSTALL=1 checkout/gpusig $words
		[ "$status" = 77 ]
		[ -z "$output" ]
		[[ $stderr == 'gpusig: without cc, make: nothing can be built; to install it, run: apt-get install -y '*' gcc libc6-dev make' ]]
	done
	[ ! -e apt.log ]
	bare checkout/gpusig "${advise[@]}"
	[ "$status" = 77 ]
	[ "$(grep -c 'install -y .* gcc libc6-dev make -o' apt.log)" -ge 1 ]
	[ "$(grep -c 'openmpi\|hwloc\|git\|openblas' apt.log)" = 0 ]
}

@test "the programs of advice are built alone" {
	only_with_all
	command -v make >/dev/null && command -v cc >/dev/null || skip 'no make or no cc'
	copy_checkout checkout
	run --separate-stderr checkout/gpusig "${advise[@]}"
	echo "$stderr"
	[ "$status" = 0 ]
	[[ $output == *'expected error'* ]]
	[ "$(find checkout/build/release-*/bin -type f | sed 's|.*/bin/||' | sort | paste -sd ' ')" = 'gemm/efficiency overlap/ficco overlap/trigger' ]
}

@test "without a Python each is 77 and one line with what to install, and nothing is installed" {
	python=/dev/null/python
	for program in overlap/ficco overlap/trigger gemm/efficiency; do
		mkdir -p "checkout/bin/${program%/*}" && : >"checkout/bin/$program" && chmod +x "checkout/bin/$program"
	done
	for words in "${questions[@]}" "${mix[*]}" "${advise[*]}"; do
		# shellcheck disable=SC2086 # words is a command line
		bare checkout/gpusig $words
		echo "$words: $stderr"
		[ "$status" = 77 ]
		[ -z "$output" ]
		[[ $stderr == 'gpusig: without python3: '*'; to install it, run: apt-get install -y '*' python3 python3-jinja2' ]]
		[ "${#stderr_lines[@]}" = 1 ]
	done
	[ ! -e apt.log ]
}

@test "without jinja2 they answer all the same, say that it makes pages, and install nothing" {
	only_with_all
	"$TEST_PYTHON" -m venv --without-pip bare || skip 'this Python makes no virtual environment'
	python=$PWD/bare/bin/python3
	for words in "${questions[@]}"; do
		# shellcheck disable=SC2086 # words is a command line
		bare checkout/gpusig $words
		echo "$words: $stderr"
		case $words in report*) [ "$status" = 77 ] ;; *) [ "$status" = 0 ] || [ "$status" = 3 ] ;; esac
		[ -n "$output" ]
		case $words in export*) ;; *) [[ $stderr == *'needs the Python package jinja2'* ]] ;; esac
	done
	[ ! -e apt.log ]
}
