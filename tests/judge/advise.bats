#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# ./gpusig advise: runs on simulated devices, then questions to their signatures, alone and next to each other.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

question='--m 4096 --n 4096 --k 4096 --devices 4 --op ag-gemm --type bf16'

# run: four GPUs, of what a model is made of; links: the same with links that are half as fast; alone: one of them.
setup_file() {
	local root=${BATS_TEST_DIRNAME%/tests/*} programs=() program
	cd "$root" || return 1
	for program in gemm/efficiency micro/copy_path micro/copy_chunks micro/launch micro/memory micro/occupancy micro/peer_matrix; do
		programs+=(--only "$program")
	done
	while read -r name device; do
		"$TEST_PYTHON" -m suite run --device "$device" --budget 10m --nice 0 "${programs[@]}" --out "$BATS_FILE_TMPDIR/$name" >&2 || return 1
	done <<-'TABLE'
		run sim:h100:0-3
		links sim:h100?peer_bandwidth=0.5x,injection_bandwidth=0.5x:0-3
		alone sim:h100:0
	TABLE
	mkdir "$BATS_FILE_TMPDIR/few"
	bin/gemm/efficiency --device sim:h100:0-3 --shape n512 --max-samples 10 --out "$BATS_FILE_TMPDIR/few/records.jsonl" >&2
	"$TEST_PYTHON" -m suite report "$BATS_FILE_TMPDIR/few" >&2 || [ $? = 77 ]
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

@test "advise prints a table with the pick, all schedules and the reason, in 80 columns" {
	advise
	[ "$status" = 0 ]
	for word in decided schedule 'copy method' predicted 'expected error' 'as fast' 'score' 'the run compared no schedules' why serial \
		shard uniform-fused-1d hetero-fused-1d hetero-unfused-1d uniform-fused-2d engine kernel 'note: simulated'; do
		[[ $output == *"$word"* ]]
	done
	run ! env LC_ALL=C.UTF-8 grep -E '^.{81}' <<<"$output"
	advise --op gemm-rs
	[ "$status" = 0 ]
	[[ $(tr -s ' \n' ' ' <<<"$output") == *'early sends '*'over the whole GEMM and then the send'* ]]
}

@test "advise names what the machine itself finds fastest, and its time" {
	advise --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/advice.json"
	"$root/bin/overlap/ficco" --device 'sim:h100?jitter_sigma=0,block_jitter_sigma=0:0-3' --op ag-gemm --type bf16 --shape 4096x4096x4096 \
		--mflop 0 --no-references --min-samples 1 --max-samples 1 --warm-up 0 --format json >"$BATS_TEST_TMPDIR/truth.jsonl"
	"$TEST_PYTHON" - "$BATS_TEST_TMPDIR" <<-'PYTHON'
		import json, sys
		advice = json.load(open(sys.argv[1] + "/advice.json"))
		cases = [r for r in map(json.loads, open(sys.argv[1] + "/truth.jsonl")) if r["kind"] == "case"]
		true = {(v["name"], c["case"]["copy-method"]): v["median_s"] for c in cases for v in c["variants"]}
		told = {(c["schedule"], c["copy_method"]): c["predicted_s"] for c in advice["candidates"]}
		assert told.keys() == true.keys() and len(told) == 12, (told, true)
		off = {way: told[way] / true[way] - 1 for way in told}
		assert max(map(abs, off.values())) < 0.05, off
		pick = advice["pick"]["schedule"], advice["pick"]["copy_method"]
		assert true[pick] <= 1.02 * min(true.values()), (pick, true)
		assert advice["candidates"] == sorted(advice["candidates"], key=lambda c: c["predicted_s"])
	PYTHON
	cd "$root"
	run --separate-stderr "$(sh suite/setup/find_python.sh)" -m reports.records.validate "$BATS_TEST_TMPDIR/advice.json"
	[ "$status" = 0 ] || [[ $stderr == *jsonschema* ]]
}

@test "advise takes the folder of a run too, and a relative folder of programs" {
	cd "$root"
	# shellcheck disable=SC2086
	GPUSIG_BIN=bin run --separate-stderr ./gpusig advise "$BATS_FILE_TMPDIR/run" $question
	[ "$status" = 0 ]
	[[ $output == 'ag-gemm of 4096×4096×4096 bf16 among 4 devices, predicted for sim:h100:0-3'* ]]
}

@test "advise says in which chunks to copy in bulk, without a program" {
	GPUSIG_BIN=$BATS_TEST_TMPDIR/none run --separate-stderr here advise . --chunks
	[ "$status" = 0 ]
	[[ $output == 'bulk copies of sim:h100:0-3'*'bulk up (H2D)'*'copy in chunks of '*'bulk down (D2H)'*'note: simulated'* ]]
	run --separate-stderr here advise "$BATS_FILE_TMPDIR/few" --chunks
	[ "$status" = 77 ]
	[[ $stderr == *'no copies in chunks were measured (the program did not run); measure them with ./gpusig run --only micro/copy_chunks'* ]]
}

@test "advise makes a table that a runtime reads, with the times that it tells itself" {
	command -v cc >/dev/null || skip 'no cc'
	# shellcheck disable=SC2086
	here advise . $question --compile --m 1024:4096:2 --op ag-gemm,gemm-rs >"$BATS_TEST_TMPDIR/node.advice"
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/node.advice")" = 'gpusig advice 1' ]
	grep -q '^# Ratios between ways are off by ' "$BATS_TEST_TMPDIR/node.advice"
	grep -qx 'error -' "$BATS_TEST_TMPDIR/node.advice" # no schedule was measured
	grep -q '^chunk down ' "$BATS_TEST_TMPDIR/node.advice"
	grep -qx 'm 1024 1536 2048 3072 4096' "$BATS_TEST_TMPDIR/node.advice"
	(cd "$root" && cc -std=c11 -D_GNU_SOURCE -I. docs/examples/runtime/layers.c advise/*.c lib/err.c lib/text_fit.c -lm -o "$BATS_TEST_TMPDIR/layers")
	run --separate-stderr "$BATS_TEST_TMPDIR/layers" "$BATS_TEST_TMPDIR/node.advice" gemm-rs bf16 4 2048x4096x4096 2500x4096x4096
	[ "$status" = 0 ]
	read -r _ schedule method cut seconds _ <<<"${lines[0]}"
	advise --op gemm-rs --m 2048 --format json
	json "rows[0]['pick']['schedule'] == '$schedule'" "rows[0]['pick']['copy_method'] == '$method'" "rows[0]['pick']['cut'] == '$cut'" \
		"abs(rows[0]['pick']['predicted_s'] / $seconds - 1) < 0.01" < <(tr -d '\n' <<<"$output")
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
		2|--op gather|values: ag-gemm gemm-rs a2a-gemm a2a-gemm-uneven gemm-ar
		2|--type i9|values: f32 f64 tf32 f16 bf16 f8
		2|--devices 1|not a whole number from 2 to 64
		2|--m 0|not a whole number
		2|--m 4096,8192|one number each without --compile
		2|--op ag-gemm,gemm-rs|one each without --compile
		2|--format xml|table, json
		2|--sides 3|unknown option '--sides'
		2|--chunks|--chunks takes no --compile, and no option of a GEMM
		2|--compile --format json|--compile takes no --format
		2|--compile .|--compile takes one signature, not 2
		2|--compile --m 1:1000000 --n 1:1000000 --k 1:1000000|at most 20000
		77|--m 1|cannot be cut
		2|nowhere.json|nowhere.json: No such file
		1|records.jsonl|records.jsonl: several JSON objects where one belongs
	TABLE
	for folder in alone few; do
		# shellcheck disable=SC2086
		run --separate-stderr here advise "$BATS_FILE_TMPDIR/$folder" $question
		echo "$stderr"
		[ "$status" = 77 ]
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr == *'too little was measured: the times depend on '*' ('*' measured'*')' || $stderr == *'the times depend on '*'(micro/'*')'* ]]
	done
	GPUSIG_BIN=$BATS_TEST_TMPDIR/none advise
	[ "$status" = 77 ]
	[ "$stderr" = 'gpusig: advise: no advice: overlap/ficco is not built; build it with make' ]
}

@test "advise compares several signatures in 80 columns, the fastest first" {
	advise "$BATS_FILE_TMPDIR/links" "$BATS_FILE_TMPDIR/few" --n 512
	echo "$output"
	[ "$status" = 0 ]
	[ -z "$stderr" ]
	told=$(tr -s ' \n' ' ' <<<"$output")
	[[ $told == *"signature.json is predicted to be "*" times as fast as links"*"GEMM alone transfers alone serial signature.json: simulated"*links:*few:*"no answer: "*"notes on signature.json: - "*"words: ./gpusig help words"* ]]
	[[ $output != *...* ]]
	run ! env LC_ALL=C.UTF-8 grep -E '^.{81}' <<<"$output"
}

@test "advise --format json of several signatures is one object as its schema says" {
	# shellcheck disable=SC2086 # question is several words
	run --separate-stderr here advise "$BATS_FILE_TMPDIR/links" $question . --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/advice.json"
	tr -d '\n' <"$BATS_TEST_TMPDIR/advice.json" | json 'rows[0]["schema"] == "gpusig.advice_comparison"' \
		'[m["signature"][-5:] for m in rows[0]["comparison"]["machines"]] == [".", "links"]'
	cd "$root"
	run --separate-stderr "$(sh suite/setup/find_python.sh)" -m reports.records.validate "$BATS_TEST_TMPDIR/advice.json"
	[ "$status" = 0 ] || [[ $stderr == *jsonschema* ]]
}

@test "advise ends as one signature does when none has an answer, with a line for each" {
	# shellcheck disable=SC2086
	run --separate-stderr here advise "$BATS_FILE_TMPDIR/alone" "$BATS_FILE_TMPDIR/few" $question
	[ "$status" = 77 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 2 ]
}

@test "wrong options of advise are reported before anything is built" {
	export GPUSIG_BIN=$BATS_TEST_TMPDIR/none
	for words in '--m 1' '. --m x' '. . --compile' '. --op ag-gemm'; do
		# shellcheck disable=SC2086 # words are several
		run --separate-stderr here --check-options advise $words
		[ "$status" = 2 ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" = 1 ]
	done
	# shellcheck disable=SC2086
	run --separate-stderr here --check-options advise nowhere --no-install $question
	[ "$status" = 0 ]
}
