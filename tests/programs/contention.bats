#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/copy_contention on simulated devices without jitter: it measures what overlap/pair does of the same GEMM and the
# same copies.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf 'like = quiet\nmemory_bandwidth = 100e9\nllc_bytes = 1M\ndata = none\n' >narrow.model
	narrow=sim:$BATS_TEST_TMPDIR/narrow.model
}

# The GEMM of micro/copy_contention here is 512 x 512 x 512. In pair, a transfer four times as long lasts to the GEMM's end.
@test "the losses of a GEMM to peer copies are those that pair measures" {
	local own="--device $narrow:0,1 --type f32 --copy-method engine,kernel:1,kernel --min-samples 6 --max-samples 6 --format json"
	# shellcheck disable=SC2086 # several words
	{
		"$root/bin/micro/copy_contention" $own --direction peer
		"$root/bin/overlap/pair" $own --shape n512 --mflop 500 --transfer peer --size 4x
	} | json 'len(cases) == 6' 'all(abs(a / b - 1) < 0.01 for a, b in zip(
		[d["value"] for c in cases for d in c["derived"] if d["name"] == "CIL" and d["variant"] == "gemm_with_copy"],
		[d["value"] for c in cases for d in c["derived"] if d["name"] == "CIL" and d["variant"] == "gemm_in_transfer_first"],
		strict=True))'
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
