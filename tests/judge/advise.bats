#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# ./gpusig advise: a run on the simulated device, then questions to its signature, alone and next to another one.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

question='--m 4096 --n 4096 --k 4096 --devices 8 --op ag-gemm --type f32'

setup_file() {
	local root=${BATS_TEST_DIRNAME%/tests/*}
	cd "$root" || return 1
	mkdir -p "$BATS_FILE_TMPDIR/run"
	bin/gemm/efficiency --device sim --shape n256,n512,g1,g5,g6 --type f32 --max-samples 10 --out "$BATS_FILE_TMPDIR/run/records.jsonl" >&2
	bin/micro/copy_path --device sim --direction up,down --path engine,kernel,kernel_1,kernel_2,kernel_4 --size 4K:16M:x16 --max-samples 10 \
		--out "$BATS_FILE_TMPDIR/run/records.jsonl" >&2
	bin/micro/copy_chunks --device sim --direction up,down --max-samples 10 --out "$BATS_FILE_TMPDIR/run/records.jsonl" >&2
	"$TEST_PYTHON" -m suite report "$BATS_FILE_TMPDIR/run" >&2 || [ $? = 77 ]
	early_runs >&2
}

# early: what advice on sending C early needs, of two simulated GPUs. unseen: GEMMs and sends of other shapes.
early_runs() {
	local device=sim:h100:0,1 early=$BATS_FILE_TMPDIR/early unseen=$BATS_FILE_TMPDIR/unseen
	mkdir -p "$early" "$unseen"
	bin/overlap/trigger --device $device --type f32 --direction exchange --max-samples 10 --out "$early/records.jsonl" \
		--shape 4096x4096x256,4096x4096x1024,4096x4096x4096,8192x8192x512,2048x4096x2048,8192x4096x4096
	bin/gemm/efficiency --device $device --type f32 --max-samples 10 --out "$early/records.jsonl" \
		--shape 4096x4096x256,4096x4096x1024,4096x4096x4096,8192x8192x512,8192x8192x2048,2048x4096x2048,8192x4096x4096
	bin/micro/copy_path --device $device --direction peer --path engine,kernel --size 4K:64M:x16 --max-samples 10 --out "$early/records.jsonl"
	bin/overlap/trigger --device $device --type f32 --direction exchange --max-samples 10 --out "$unseen/records.jsonl" \
		--shape 4096x4096x512,4096x4096x2048,8192x8192x1024,4096x8192x1024
	for folder in "$early" "$unseen"; do
		"$TEST_PYTHON" -m suite report "$folder" || [ $? = 77 ]
	done
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

@test "advise says in which chunks to copy in bulk: in none where engines are free" {
	advise
	[ "$status" = 0 ]
	for way in 'up (H2D)' 'down (D2H)'; do [[ $output == *"bulk $way"*'no need of chunks: a copy of 4 KiB takes'* ]]; done
	advise --format machine
	[ "$(grep -c '^chunk up kernel ' <<<"$output")" = 3 ]
	[ "$(grep -c '^chunkwaits ' <<<"$output")" = 2 ]
	run --separate-stderr here advise . --chunks
	[ "$status" = 0 ]
	[[ $output == 'bulk copies of sim'*'bulk up (H2D)'*'bulk down (D2H)'*'note: simulated'* ]]
	run --separate-stderr here advise "$BATS_FILE_TMPDIR/early" --chunks
	[ "$status" = 77 ]
	[[ $stderr == *'no copies in chunks were measured (the program did not run); measure them with ./gpusig run --only micro/copy_chunks'* ]]
}

@test "advise --format json is one object as its schema says, best first" {
	advise --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/advice.json"
	printf '%s\n' "$output" | tr -d '\n' | json 'rows[0]["candidates"] == sorted(rows[0]["candidates"], key=lambda c: c["predicted_s"] * (1 + rows[0]["error"] * (c["schedule"] != "serial")))' \
		'rows[0]["pick"]["schedule"] == rows[0]["candidates"][0]["schedule"]'
	cd "$root"
	run --separate-stderr "$(sh suite/setup/find_python.sh)" -m reports.records.validate "$BATS_TEST_TMPDIR/advice.json"
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
		2|--devices 1|communication needs 2
		2|--m 0|not a whole number
		2|--format xml|table json machine
		2|--sides 3|unknown option '--sides'
		77|--type bf16|has no GEMM of bf16, so there is nothing to advise; its types: f32 f64
		77|--type f64|run gemm/efficiency --type f64
		2|--chunks|--chunks takes no --format, and no option of a GEMM
		2|--format machine .|--format machine takes one signature, not 2
		2|nowhere.json|nowhere.json: No such file
		1|records.jsonl|records.jsonl: several JSON objects where one belongs
	TABLE
	# shellcheck disable=SC2086
	run --separate-stderr here advise records.jsonl $question
	[ "$status" = 1 ]
	# shellcheck disable=SC2086
	run --separate-stderr here advise nowhere.json $question
	[ "$status" = 2 ]
	[[ $stderr == *"No such file"* ]]
}

# Every way at every shape of a run: the predicted gain / the measured one, its error, and whether it is said to pay.
@test "advise predicts what sending C early gains at shapes that it has not seen" {
	"$TEST_PYTHON" - "$root" "$BATS_FILE_TMPDIR" <<-'PYTHON'
		import json, statistics, subprocess, sys
		from pathlib import Path
		root, folder = map(Path, sys.argv[1:])
		sys.path.insert(0, str(root))
		from reports.judge.advise import read_signature
		from reports.advice.early import points_of
		off, rows, decided = [], {}, 0
		for p in points_of(read_signature(folder / "unseen")):
		    rows.setdefault((p["m"], p["n"], p["k"]), {})[p["way"]] = p["gain"]
		assert len(rows) == 4, rows
		for sides, measured in rows.items():
		    words = [w for name, side in zip("mnk", sides) for w in ("--" + name, str(side))]
		    run = subprocess.run([sys.executable, "-m", "suite", "advise", str(folder / "early"), *words, "--devices", "2",
		                          "--op", "gemm-rs", "--type", "f32", "--format", "json"], cwd=root, stdout=subprocess.PIPE, check=True)
		    early = json.loads(run.stdout)["early"]
		    print(sides, measured, early["text"])
		    ways = {w["way"]: w for w in early["ways"] if w["points"]}
		    assert {"trigger", "trigger-staggered", "split"} <= set(measured) <= set(ways), (measured, ways)
		    assert early["best"] is None or measured[early["best"]] > 0.97 * max(measured.values()), (early, measured)
		    for name, gain in measured.items():
		        off.append(abs(ways[name]["gain"] / gain - 1))
		        assert ways[name]["pays"] in (gain > 1, None), (name, gain, ways[name])
		        decided += ways[name]["pays"] is not None
		assert decided >= 6 and len(off) >= 12 and max(off) < 0.15 and statistics.median(off) < 0.03, off
	PYTHON
}

@test "advise says whether a trigger pays, or why it cannot say" {
	cd "$BATS_FILE_TMPDIR/early"
	while IFS='|' read -r words text; do
		# shellcheck disable=SC2086 # words are several
		run --separate-stderr here advise . --devices 2 --type f32 $words
		echo "$output"
		[ "$status" = 0 ]
		[[ $(tr -s ' \n' ' ' <<<"$output") == *"$text"* ]]
	done <<-'TABLE'
		--op gemm-rs --m 4096 --n 4096 --k 512| expected to gain 1.2
		--op gemm-rs --m 4096 --n 4096 --k 512|a trigger (software) 1.
		--op gemm-ar --m 4096 --n 4096 --k 512| over whole-then-send for this shape;
		--op gemm-rs --m 4096 --n 4096 --k 65536|trigger No prediction for a trigger (software), a staggered trigger (software)
	TABLE
	# shellcheck disable=SC2086
	run --separate-stderr here advise . $question
	[ "$status" = 0 ]
	[[ $output != *trigger* ]]
	advise --op gemm-rs "$BATS_FILE_TMPDIR/run"
	[ "$status" = 0 ]
	[[ $(tr -s ' \n' ' ' <<<"$output") == *"The gain of a trigger or of remote stores is not known: overlap/trigger has no value for this type (the program did not run)."* ]]
}

# Thinned signatures once had 4 KiB as the longest copy between devices.
@test "advise has an answer for the built-in models, the same from the signature as from the records" {
	for model in h100 mi300x; do
		mkdir "$BATS_TEST_TMPDIR/$model"
		cd "$BATS_TEST_TMPDIR/$model"
		for program in 'micro/copy_path' 'gemm/efficiency --type bf16' 'gemm/split --type bf16' micro/launch; do
			# shellcheck disable=SC2086 # a program and its options
			"$root"/bin/$program --device "sim:$model:0-7" --max-samples 10 --out records.jsonl >/dev/null
		done
		(cd "$root" && "$TEST_PYTHON" -m suite report "$BATS_TEST_TMPDIR/$model" >/dev/null) || [ $? = 77 ]
		run here advise . --m 4096 --n 11008 --k 4096 --devices 8 --op ag-gemm --type bf16
		echo "$output"
		[ "$status" = 0 ]
		(cd "$root" && "$TEST_PYTHON" -c 'import pathlib, sys
from reports.judge import advise as advise_command
from reports.records import record_file
from reports.signature import signature
from reports.advice.machine import machine_of
folder = pathlib.Path(sys.argv[1])
written = machine_of(advise_command.read_signature(folder))
measured = machine_of(signature.build(record_file.read(folder / "records.jsonl")).json)
assert (written.lines, written.notes) == (measured.lines, measured.notes)
assert sum(line.startswith("copy ") for line in written.lines) > 20, written.lines' "$BATS_TEST_TMPDIR/$model")
	done
}

# slow.json, a signature whose GEMMs take four times as long, and none.json, one without any.
others() {
	"$TEST_PYTHON" -I -S -c 'import json, sys
signature = json.load(open("signature.json"))
for row in signature["programs"]["gemm/efficiency"]["results"]["rates"]: row["value"] /= 4
json.dump(signature, open(sys.argv[1] + "/slow.json", "w"))
signature["programs"].pop("gemm/efficiency")
json.dump(signature, open(sys.argv[1] + "/none.json", "w"))' "$BATS_TEST_TMPDIR"
}

@test "advise compares several signatures in 80 columns, the fastest first" {
	others
	advise "$BATS_TEST_TMPDIR/slow.json" "$BATS_TEST_TMPDIR/none.json"
	echo "$output"
	[ "$status" = 0 ]
	[ -z "$stderr" ]
	told=$(tr -s ' \n' ' ' <<<"$output")
	[[ $told == *"signature.json is predicted to be "*" times as fast as "*slow.json*"GEMM alone transfers alone serial signature.json: simulated"*slow.json:*none.json:*"no answer: the signature lacks measurements"*"notes on signature.json: - "*"words: ./gpusig help words"* ]]
	[[ $output != *...* ]]
	run ! env LC_ALL=C.UTF-8 grep -E '^.{81}' <<<"$output"
}

@test "advise --format json of several signatures is one object as its schema says" {
	others
	# shellcheck disable=SC2086 # question is several words
	GPUSIG_BIN=$root/bin run --separate-stderr "$root/gpusig" advise "$BATS_TEST_TMPDIR/slow.json" $question . --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/advice.json"
	tr -d '\n' <"$BATS_TEST_TMPDIR/advice.json" | json 'rows[0]["schema"] == "gpusig.advice_comparison"' \
		'[m["signature"][-9:] for m in rows[0]["comparison"]["machines"]] == [".", "slow.json"]'
	cd "$root"
	run --separate-stderr "$(sh suite/setup/find_python.sh)" -m reports.records.validate "$BATS_TEST_TMPDIR/advice.json"
	[ "$status" = 0 ] || [[ $stderr == *jsonschema* ]]
}

@test "advise ends as one signature does when none has an answer, with a line for each" {
	others
	advise --type bf16 "$BATS_TEST_TMPDIR/slow.json" "$BATS_TEST_TMPDIR/none.json"
	[ "$status" = 77 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 3 ]
}

@test "wrong options of advise are reported before anything is built" {
	export GPUSIG_BIN=$BATS_TEST_TMPDIR/none
	for words in '--m 1' '. --m x' '. . --format machine' '. --op ag-gemm'; do
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

# write is err_print()'s, which it never calls.
@test "the library for runtimes allocates nothing, and reads and prints nothing" {
	command -v nm >/dev/null || skip "no nm"
	run nm -D --undefined-only "$root/bin/libgpusig_advise.so"
	[ "$status" = 0 ]
	[[ $output == *snprintf* ]]
	run ! grep -Ew '(malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|fopen|open|read|printf|puts|pthread_[a-z_]+)(@.*)?' <<<"$output"
}
