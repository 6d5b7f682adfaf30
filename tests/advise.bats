#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ./gpusig advise: a run on the simulated device, then questions to its signature.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

question='--m 4096 --n 4096 --k 4096 --devices 8 --op ag-gemm --type f32'

setup_file() {
	local root=${BATS_TEST_DIRNAME%/tests}
	cd "$root" || return 1
	mkdir -p "$BATS_FILE_TMPDIR/run"
	bin/gemm/efficiency --device sim --shape n256,n512,g1,g5,g6 --type f32 --max-samples 10 --out "$BATS_FILE_TMPDIR/run/records.jsonl" >&2
	bin/micro/copy_path --device sim --direction up,down --path engine,kernel,kernel_1,kernel_2,kernel_4 --size 4K:16M:x16 --max-samples 10 \
		--out "$BATS_FILE_TMPDIR/run/records.jsonl" >&2
	"$TEST_PYTHON" -m reports build "$BATS_FILE_TMPDIR/run" >&2 || [ $? = 77 ]
}

setup() {
	cd "$BATS_FILE_TMPDIR/run" || return 1
}

# The driver without the front door, where the test is.
here() { (here=$PWD && cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$here" "$@"); }

advise() {
	# shellcheck disable=SC2086 # question is several words
	run --separate-stderr here advise signature.json $question "$@"
}

@test "advise prints a table with the pick, all schedules and the reason" {
	advise
	[ "$status" = 0 ]
	for word in schedule 'copy method' 'expected error' 'as fast' 'score' 'overlap/ficco has no value' 'shared memory' priority allreduce why serial shard uniform-fused-1d hetero-fused-1d \
		hetero-unfused-1d uniform-fused-2d engine kernel 'note: simulated'; do [[ $output == *"$word"* ]]; done
}

@test "advise --format json is one object as its schema says, best first" {
	advise --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/advice.json"
	printf '%s\n' "$output" | tr -d '\n' | json 'rows[0]["candidates"] == sorted(rows[0]["candidates"], key=lambda c: c["predicted_s"] * (1 + rows[0]["error"] * (c["schedule"] != "serial")))' \
		'rows[0]["pick"]["schedule"] == rows[0]["candidates"][0]["schedule"]'
	cd "$root"
	run --separate-stderr "$(sh suite/find_python.sh)" -m reports validate "$BATS_TEST_TMPDIR/advice.json"
	[ "$status" = 0 ] || [[ $stderr == *jsonschema* ]]
}

@test "advise takes the folder of a run too, and gives what a runtime reads" {
	GPUSIG_BIN=$root/bin run --separate-stderr "$root/gpusig" advise . --format machine
	[ "$status" = 0 ]
	[[ $output == *"gemm f32 256 256 256 0 "* ]]
	[[ $output == *"copy engine up 4096 "* ]]
}

@test "advise refuses with one line and the right code" {
	while IFS='|' read -r code words text; do
		echo "# $words"
		# shellcheck disable=SC2086 # words are several
		advise $words
		echo "# $stderr"
		[ "$status" = "$code" ]
		[ -z "$output" ]
		[ "$(printf '%s\n' "$stderr" | wc -l)" = 1 ]
		[[ $stderr == "gpusig: "*"$text"* ]]
	done <<-'TABLE'
		2|--op gather|choices: ag-gemm gemm-rs a2a-gemm gemm-ar
		2|--type i8|choices: f32 f64 tf32 f16 bf16 f8
		2|--devices 1|communication takes two
		2|--m 0|not a whole number
		2|--format xml|table json machine
		2|--sides 3|unrecognized
		77|--type bf16|has no GEMM of bf16, so there is nothing to advise; its types: f32 f64
		77|--type f64|run gemm/efficiency --type f64
	TABLE
	# shellcheck disable=SC2086
	run --separate-stderr here advise records.jsonl $question
	[ "$status" = 1 ]
	# shellcheck disable=SC2086
	run --separate-stderr here advise nowhere.json $question
	[ "$status" = 2 ]
	[[ $stderr == *"No such file"* ]]
}

# write is err_print()'s, which it never calls.
@test "the library for runtimes allocates nothing, and reads and prints nothing" {
	command -v nm >/dev/null || skip "no nm"
	run nm -D --undefined-only "$root/bin/libgpusig_advise.so"
	[ "$status" = 0 ]
	[[ $output == *snprintf* ]]
	run ! grep -Ew '(malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|fopen|open|read|printf|puts|pthread_[a-z_]+)(@.*)?' <<<"$output"
}
