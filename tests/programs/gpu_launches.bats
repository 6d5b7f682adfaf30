#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Launches of kernels by the programs, as fake drivers record it (FAKE_LAUNCHES): a line has a kernel, its blocks, and how many of them
# reside at once.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--budget 10m --min-samples 1 --max-samples 1 --warm-up 0 --check off'

setup_file() { need_fakes; }

setup() { launches=$BATS_TEST_TMPDIR/launches; }

# record PROGRAM DEVICE OPTIONS: run it; what it launches is added to $launches.
record() {
	local name=$1 device=$2
	shift 2
	# shellcheck disable=SC2086 # QUICK is a list of words
	run env "LD_LIBRARY_PATH=$(fakes)" "FAKE_LAUNCHES=$launches" timeout -s KILL "$HANGS_S" \
		"$bin/$name" --device "$device" $QUICK "$@"
	echo "$name $device $*: $status $output"
	[ "$status" = 0 ] || [ "$status" = 3 ]
}

# in_one_wave KERNEL...: each of them was launched, never with more blocks than reside, and once with so many.
in_one_wave() {
	for kernel in "$@"; do
		awk -v "name=gpusig_$kernel" '$1 == name { seen++; more += $3 > $5; full += $3 == $5 }
			END { print name, seen + 0, more + 0, full + 0; exit !(seen && !more && full) }' "$launches"
	done
}

# carved KERNEL PERCENT...: its launches asked for these shares of shared memory, each at least once, and for no other.
carved() {
	local kernel=gpusig_$1
	shift
	[ "$(awk -v "name=$kernel" '$1 == name { print $7 }' "$launches" | sort -n | uniq | paste -sd' ')" = "$*" ]
}

@test "kernels that move bytes are launched in one wave of their own, and ask for cache where they measure it" {
	record micro/memory cuda --op read,write,copy,triad --footprint 384K
	in_one_wave read write write_nt copy copy_nt triad triad_nt
	carved read 0 100
	carved copy 0 100
	carved copy_nt 0
	carved write_nt 0
	rm "$launches"
	record micro/memory hip --op copy --footprint 384K
	in_one_wave copy copy_nt
	carved copy -1
	[[ $output != *min_l1* ]]
}

# l1_read: read half of L1, in both variants; sets l1_bytes as the record has it.
l1_read() {
	rm -f "$launches" "$launches.jsonl"
	record micro/memory cuda --op read --footprint L1/2 --out "$launches.jsonl"
	l1_bytes=$("$TEST_PYTHON" -I -S -c 'import json, sys
run, case = (json.loads(line) for line in list(open(sys.argv[1], encoding="utf-8"))[:2])
[device], footprint = run["device"], case["case"]["footprint"]
assert footprint == device["l1_bytes"] * device["units"] // 2, footprint
assert [v["name"] for v in case["variants"]] == ["regular", "regular_min_l1"], case["variants"]
[of] = [p for p in run["primary"] if p["metric"] == "l1_read_bandwidth"]
assert of["variant"] == "regular" and of["where"]["footprint"] == footprint, of
print(device["l1_bytes"])' "$launches.jsonl")
	carved read 0 100
}

@test "where a unit divides memory, L1 is all of it: what may be shared, rounded up; its headline number has it as cache" {
	while read -r shared whole; do
		FAKE_BOARD=shared_per_unit=$shared l1_read
		echo "$shared: $l1_bytes"
		[ "$l1_bytes" = "$whole" ]
	done <<-'END'
		233472 262144
		167936 196608
		102400 131072
		98304 98304
		65536 65536
	END
	rm "$launches"
	record micro/memory cuda --op read --footprint L1/2 --headline --headline-variants
	carved read 0
}

@test "the last-level cache is read with little L1, as the L1 of all units may hold half of it" {
	record micro/memory cuda --op read --footprint LLC/2 --headline --headline-variants
	carved read 100
	[[ $output == *"(case)"*llc_bandwidth* ]]
	record micro/memory hip --op read --footprint LLC/2 --headline --headline-variants
	[[ $output == *regular*"(case)"*llc_bandwidth* && $output != *min_l1* ]]
}

# once BLOCKS KERNEL...: each of them was launched with so many blocks, and never with others.
once() {
	local blocks=$1
	shift
	for kernel in "$@"; do
		awk -v "name=gpusig_$kernel" -v "blocks=$blocks" '$1 == name { seen++; others += $3 != blocks }
			END { print name, seen + 0, others + 0; exit !(seen && !others) }' "$launches"
	done
}

# never TEXT...: no launch has it in its line.
never() {
	for text in "$@"; do
		[ "$(grep -c "$text" "$launches")" = 0 ]
	done
}

@test "copy and triad go over memory once, by a block for each 4 KiB of an array; read and write, and what fits caches, in one wave" {
	for device in cuda hip; do
		record micro/memory "$device" --op copy --footprint 16LLC --check every # 16 MiB: two arrays of 8 MiB
		once 2048 copy_once copy_once_nt
		never "gpusig_copy " "gpusig_copy_nt "
		rm "$launches"
		record micro/memory "$device" --op triad --footprint 17000K --check every # three of 5666.5 KiB, the last block has 2.5
		once 1417 triad_once triad_once_nt
		never "gpusig_triad " "gpusig_triad_nt "
		rm "$launches"
		record micro/memory "$device" --op read,write --footprint 16LLC --check every
		in_one_wave read write write_nt
		never _once
		rm "$launches"
		record micro/memory "$device" --op copy,triad --footprint 15LLC --check every
		in_one_wave copy copy_nt triad triad_nt
		never _once
		rm "$launches"
	done
}

@test "what else fills the device with kernels does so in one wave" {
	record micro/copy_path cuda --direction local --size 64K
	in_one_wave copy copy_nt
	carved copy 100
	rm "$launches"
	record micro/reduce cuda --direction local --size 64K
	in_one_wave triad copy
	rm "$launches"
	record overlap/pair cuda:0,1 --transfer reduce-scatter --copy-method kernel --shape n64 --mflop 1
	in_one_wave reduce_add
}

@test "a peak is of eight whole waves of multiply-adds" {
	record gemm/efficiency cuda --type f32,f64 --shape n64 --variant peak
	for kernel in fma_f32 fma_f64; do
		awk -v "name=gpusig_$kernel" '$1 == name { seen++; other += $3 != 8 * $5 }
			END { print name, seen + 0, other + 0; exit !(seen && !other) }' "$launches"
	done
}

@test "what measures caches asks for shared memory and for cache as well" {
	record micro/latency cuda --footprint 64K
	carved chase 0 100
	[[ $output == *chase_min_l1*latency* ]]
	rm "$launches"
	record micro/latency cuda --footprint 1M
	carved chase 0
}

@test "where nothing is divided nothing is asked for" {
	record micro/latency hip --footprint 64K
	carved chase -1
	[[ $output != *min_l1* ]]
}
