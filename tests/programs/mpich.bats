#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Programs of ranks with MPICH, where another MPI is `mpicc`; and with an MPI that is broken.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

RANKS='collectives/allreduce collectives/reduce_scatter collectives/allgather collectives/pairs'
QUICK='--device host --size 4K --min-samples 1 --max-samples 1 --warm-up 0 --budget 10m --format json'

# build FOLDER WORD...: the programs of ranks and one other.
build() {
	GPUSIG_BUILD=$1 make -sC "$root" --no-print-directory -j2 "PROGRAMS=micro/launch $RANKS" "${@:2}"
}

# As a module does it: MPICH's commands are first in PATH, in front of those of the other MPI.
with_mpich() {
	for name in mpicc.mpich mpirun.mpich; do
		command -v "$name" >/dev/null || skip 'no MPICH'
	done
	local commands=$BATS_FILE_TMPDIR/mpich-path
	mkdir -p "$commands"
	for name in mpicc mpirun; do
		printf '#!/bin/sh\nexec %s.mpich "$@"\n' "$name" >"$commands/$name"
		chmod +x "$commands/$name"
	done
	PATH=$commands:$PATH
	export GPUSIG_BIN=$BATS_FILE_TMPDIR/mpich/bin
	[ -e "$GPUSIG_BIN" ] || build "$BATS_FILE_TMPDIR/mpich" WERROR=1
}

@test "ranks give exact results with MPICH, and name it" {
	with_mpich
	for name in $RANKS; do
		# shellcheck disable=SC2086 # QUICK is a list of words
		run --separate-stderr timeout "$HANGS_S" mpirun -n 3 "$GPUSIG_BIN/$name" $QUICK
		echo "$name: $status $stderr"
		[ "$status" = 3 ]
		json 'len(cases) > 0' 'all(r["status"] == "ok" and r["check"]["status"] == "ok" for r in cases)' \
			'all(r["facts"]["library"].startswith("MPICH ") for r in cases)' 'all(r["facts"]["ranks"] == 3 for r in cases)' <<<"$output"
	done
}

@test "with MPICH programs of ranks say what they say with another MPI" {
	with_mpich
	for name in $RANKS; do
		GPUSIG_BIN=$GPUSIG_BIN "$TEST_PYTHON" -c 'import sys
sys.path.insert(0, "'"$root"'/tests/golden")
import golden
name = sys.argv[1]
found = [golden.rounded(line) for line in golden.reduced(golden.records(name))]
kept = golden.golden_of(name).read_text(encoding="utf-8").splitlines()
sys.exit("\n".join([name, *golden.differences(kept, found)]) if golden.differences(kept, found) else 0)' "$name"
	done
}

@test "ranks that another MPI's launcher starts say so" {
	local other
	other=$(command -v mpirun.openmpi) || skip 'no Open MPI'
	with_mpich
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" "$other" --allow-run-as-root --oversubscribe -n 2 "$GPUSIG_BIN/collectives/allreduce" $QUICK
	[ "$status" = 77 ]
	[[ $stderr == *"each of 2 processes is an MPI job of its own: they need the launcher of this build's MPI library, MPICH "* ]]
}

@test "an MPI compiler that says something on the standard output is as good as one that does not" {
	command -v mpicc >/dev/null || skip 'no MPI'
	printf '#!/bin/sh\necho "This module isn'"'"'t supported"\nexec mpicc "$@"\n' >"$BATS_TEST_TMPDIR/mpicc"
	chmod +x "$BATS_TEST_TMPDIR/mpicc"
	run build "$BATS_TEST_TMPDIR/talks" "MPICC=$BATS_TEST_TMPDIR/mpicc" config
	[ "$status" = 0 ]
	[[ $output == *$'\nmpi 1\n'* ]]
	[[ $output =~ "build $BATS_TEST_TMPDIR/talks/release-"[0-9]+$ ]]
}

@test "an MPI that does not build costs the programs of ranks alone, and its words are told" {
	cat >"$BATS_TEST_TMPDIR/mpicc" <<-'END'
		#!/bin/sh
		# The probe's source is the standard input.
		case " $* " in *' - '*) exec cc -fsyntax-only -x c - </dev/null ;; esac
		echo "mpi.h:7:1: error: unknown type name 'MPI_Comm'" >&2
		exit 1
	END
	chmod +x "$BATS_TEST_TMPDIR/mpicc"
	WERROR='' run build "$BATS_TEST_TMPDIR/broken" "MPICC=$BATS_TEST_TMPDIR/mpicc"
	[ "$status" = 0 ]
	local names='collectives/allgather collectives/allreduce collectives/pairs collectives/reduce_scatter'
	local why="they do not build with $BATS_TEST_TMPDIR/mpicc: mpi.h:7:1: error: unknown type name 'MPI_Comm'"
	[[ $output == *"skip: $names ($why)"* ]]
	[ "$(cd "$BATS_TEST_TMPDIR/broken/bin" && echo */*)" = micro/launch ]
	sed -i 's/echo .*/echo "ld: libmpi.so.40: file not recognized" >\&2/' "$BATS_TEST_TMPDIR/mpicc"
	WERROR='' run build "$BATS_TEST_TMPDIR/broken" "MPICC=$BATS_TEST_TMPDIR/mpicc"
	[ "$status" = 0 ]
	[[ $output == *"skip: $names (they do not build with $BATS_TEST_TMPDIR/mpicc: ld: libmpi.so.40: file not recognized)"* ]]
	run build "$BATS_TEST_TMPDIR/broken" "MPICC=$BATS_TEST_TMPDIR/mpicc" HAVE_MPI=1
	[ "$status" != 0 ]
}
