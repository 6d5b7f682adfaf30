#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The example of a runtime that reads a table of advice: it is built as its README says, and with the library.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
build=("${CC:-cc}" -std=c11 -O1 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror -I"$root" "$root/docs/examples/runtime/layers.c")

setup_file() {
	command -v "${build[0]}" || skip "no ${build[0]}"
	(cd "$root" && "${build[@]}" advise/*.c lib/err.c lib/text_fit.c -lm -o "$BATS_FILE_TMPDIR/layers") >&2
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	layers=$BATS_FILE_TMPDIR/layers
	# Times of serial are m n k / 1e15; another schedule is faster where M is large.
	cat >node.advice <<'END'
gpusig advice 1
error 0.05
grid ag-gemm bf16 8
ways serial/engine serial/kernel shard/engine hetero-fused-1d/kernel/columns
m 1000 4000
n 1000
k 1000 4000
1e-6 2e-6 3e-6 -
4e-6 8e-6 3e-6 9e-6
4e-6 8e-6 3e-6 1e-6
16e-6 32e-6 3e-6 2.9e-6
end
END
}

@test "the command of the README builds it" {
	line=$(grep '^cc ' "$root/docs/examples/runtime/README.md")
	[[ $line == *' -o layers' ]]
	(cd "$root" && eval "${line% -o layers} -Wall -Werror -o '$BATS_TEST_TMPDIR/built'")
	./built node.advice ag-gemm bf16 8 1000x1000x1000
}

@test "each layer gets the fastest schedule at its point, and between points" {
	run --separate-stderr "$layers" node.advice ag-gemm bf16 8 1000x1000x1000 1000x1000x4000 4000x1000x1000 4000x1000x4000 2000x1000x1000
	echo "$output$stderr"
	[ "$status" = 0 ]
	[ "$output" = '1000x1000x1000 serial engine rows 1e-06 serial 1e-06 decided
1000x1000x4000 shard engine rows 3e-06 serial 4e-06 decided
4000x1000x1000 hetero-fused-1d kernel columns 1e-06 serial 4e-06 decided
4000x1000x4000 hetero-fused-1d kernel columns 2.9e-06 serial 1.6e-05 undecided
2000x1000x1000 serial engine rows 2e-06 serial 2e-06 undecided' ]
}

@test "what a table does not have, and a table that was cut, is a line and 1" {
	run --separate-stderr "$layers" node.advice ag-gemm bf16 8 1000x2000x1000 1000x1000x1000
	[ "$status" = 1 ]
	[ "$output" = '1000x1000x1000 serial engine rows 1e-06 serial 1e-06 decided' ]
	[ "$stderr" = 'layers: 1000x2000x1000: n is 2000; the table has 1000 alone' ]
	run --separate-stderr "$layers" node.advice gemm-rs bf16 8 1000x1000x1000
	[ "$status" = 1 ]
	[ "$stderr" = 'layers: node.advice: the table has no gemm-rs bf16 on 8 devices; it has: ag-gemm bf16 8' ]
	sed -i '$d' node.advice
	run --separate-stderr "$layers" node.advice ag-gemm bf16 8 1000x1000x1000
	[ "$status" = 1 ]
	[ "$stderr" = "layers: node.advice: line 11: no \`end\`: the file was cut" ]
	run --separate-stderr "$layers" nowhere ag-gemm bf16 8 1000x1000x1000
	[ "$status" = 1 ]
	[ "$stderr" = 'layers: nowhere: No such file or directory' ]
	run --separate-stderr "$layers" node.advice
	[ "$status" = 2 ]
	[[ $stderr == usage:* ]]
}

# snprintf is of errors, and write of err_print(), which a look-up never calls.
@test "a look-up allocates nothing, locks nothing, and reads and prints nothing" {
	command -v nm >/dev/null || skip 'no nm'
	object=$(readlink -f "$bin")/../pic/advise/advise.o
	[ -e "$object" ] || skip 'no object of advise.c'
	run nm --undefined-only "$object"
	[ "$status" = 0 ]
	[[ $output == *exp* ]]
	[ "$(awk '{ print $2 }' <<<"$output" | grep -Ev '^(_.*|err_(note|add)|exp|log.*|mem.*|snprintf|str.*)$')" = "" ]
}

@test "it links with the library alone" {
	library=$(readlink -f "$bin")/libgpusig_advise.so
	[ -e "$library" ] || skip 'no libgpusig_advise.so'
	"${build[@]}" "$library" "-Wl,-rpath,${library%/*}" -o built
	run ./built node.advice ag-gemm bf16 8 1000x1000x1000
	[ "$status" = 0 ]
	[ "$output" = '1000x1000x1000 serial engine rows 1e-06 serial 1e-06 decided' ]
}
