#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/copy_contention on simulated devices without jitter: what advice assumes of its transfers is what overlap/pair
# measures for the same GEMM and the same copies.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf 'like = quiet\nmemory_bandwidth = 100e9\nllc_bytes = 1M\ndata = none\n' >narrow.model
	narrow=sim:$BATS_TEST_TMPDIR/narrow.model
}

# The GEMM of micro/copy_contention here is 512 x 512 x 512. In pair, a transfer four times as long lasts to the GEMM's end.
# A copy within the memory slows that GEMM 6.58 times, which advice once took for peer copies.
@test "the losses that advice uses for peer copies are those that pair measures" {
	mkdir run
	"$root/bin/gemm/efficiency" --device "$narrow:0,1" --shape n512 --type f32 --min-samples 6 --max-samples 6 --out run/records.jsonl
	"$root/bin/micro/copy_path" --device "$narrow:0,1" --direction peer --size 1M,4M --path engine,kernel_1,kernel_nt \
		--min-samples 6 --max-samples 6 --out run/records.jsonl
	"$root/bin/micro/copy_contention" --device "$narrow:0,1" --type f32 --direction local,peer \
		--copy-method engine,kernel:1,kernel --min-samples 6 --max-samples 6 --out run/records.jsonl
	"$root/bin/micro/contention" --device "$narrow:0,1" --pair engine+gemm,kernel+gemm --min-samples 6 --max-samples 6 --out run/records.jsonl
	"$root/bin/overlap/pair" --device "$narrow:0,1" --type f32 --shape n512 --mflop 500 --transfer peer \
		--copy-method engine,kernel:1,kernel --size 4x --min-samples 6 --max-samples 6 --format json >pair.jsonl
	(cd "$root" && { "$TEST_PYTHON" -m suite report "$BATS_TEST_TMPDIR/run" || [ $? = 77 ]; })
	(cd "$root" && "$TEST_PYTHON" -m suite advise "$BATS_TEST_TMPDIR/run" --format machine) >lines
	grep '^cil' lines
	"$TEST_PYTHON" - <<-'PYTHON'
		import json
		lines = [line.split() for line in open("lines") if line.startswith("cil ")]
		pairs = [json.loads(line) for line in open("pair.jsonl") if '"kind":"case"' in line.replace(" ", "")]
		assert len(pairs) == 3, len(pairs)
		for case in pairs:
		    method = case["case"]["copy-method"]
		    blocks = int(case["facts"].get("copy_method_blocks", 0))
		    wanted = {d["variant"]: d["value"] for d in case["derived"] if d["name"] == "CIL"}["gemm_in_transfer_first"]
		    found = min((line for line in lines if line[1] == method.split(":")[0] and line[2:4] == ["peer", "f32"]
		                 and int(line[4]) == blocks), key=lambda line: float(line[5]))
		    print(method, blocks, "pair", wanted, "advice", found[6])
		    assert abs(float(found[6]) / wanted - 1) < 0.01, method
	PYTHON
}

# Nothing is shared: each side takes its part of neither the memory nor the units.
@test "on a device without contention every loss is 1" {
	printf 'like = quiet\nmemory_bandwidth = 1e15\nllc_bandwidth = 1e15\ndata = none\n' >free.model
	run --separate-stderr "$root/bin/micro/copy_contention" --device "sim:$BATS_TEST_TMPDIR/free.model:0,1" --type f32 \
		--direction up,down,local,peer,exchange --copy-method engine --min-samples 6 --max-samples 6 --format json
	[ "$status" = 0 ]
	printf '%s\n' "$output" | json 'len(cases) == 5' \
		'none([d for c in cases for d in c["derived"] if d["name"] == "CIL" and abs(d["value"] - 1) > 0.005])' \
		'sum(d["name"] == "CIL" and d["ci_low"] is not None for c in cases for d in c["derived"]) == 20'
}

@test "what a device lacks is skipped with its reason: engines, peers, types" {
	printf 'like = quiet\ncopy_engines = 0\n' >few.model
	run --separate-stderr "$root/bin/micro/copy_contention" --device "sim:$BATS_TEST_TMPDIR/few.model" --type f32 \
		--direction up,peer --copy-method engine,kernel:1 --min-samples 6 --max-samples 6 --format json
	printf '%s\n' "$output" | json '[c["status"] for c in cases] == ["skipped", "ok", "skipped", "skipped"]' \
		'"copy engine" in cases[0]["reason"]' '"two devices" in cases[3]["reason"]'
	run --separate-stderr "$root/bin/micro/contention" --device "sim:$BATS_TEST_TMPDIR/few.model" --pair engine+gemm,kernel+gemm \
		--min-samples 6 --max-samples 6 --format json
	printf '%s\n' "$output" | json '[c["status"] for c in cases] == ["skipped", "ok"]'
	run --separate-stderr "$root/bin/micro/copy_contention" --device sim:quiet --type bf16 --direction up --copy-method engine \
		--format json
	printf '%s\n' "$output" | json 'cases[0]["status"] == "skipped"' '"bf16" in cases[0]["reason"]'
}

@test "a wrong byte anywhere in a copy is found" {
	printf 'like = quiet\ncorrupt_copy_every = 1\n' >wrong.model
	run --separate-stderr "$root/bin/micro/copy_contention" --device "sim:$BATS_TEST_TMPDIR/wrong.model:0,1" --type f32 \
		--direction up,exchange --copy-method engine --min-samples 6 --max-samples 6 --format json
	[ "$status" = 1 ]
	printf '%s\n' "$output" | json 'len(cases) == 2' 'none([c for c in cases if c["check"]["status"] != "failed"])'
}
