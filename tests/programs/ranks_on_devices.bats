#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Collectives on ranks whose vectors live in their devices' memory: on fake GPUs, whose results are exact or wrong as on real ones,
# and whose times mean nothing.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}/collectives
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export FAKE_GPUS=2
QUICK='--min-samples 1 --max-samples 1 --warm-up 0 --budget 10m --format json'

setup() {
	[ -x "$bin/allreduce" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
	fakes=$(readlink -f "${bin%/*}")
	fakes=${fakes%/*}/fakes
	[ -e "$fakes/libcuda.so.1" ] || skip "no fake GPUs: make fakes"
	aware=
	way=', each message staged through pinned host memory'
}

# takes_device_memory: from here on the MPI library says so.
takes_device_memory() {
	cd "$BATS_TEST_TMPDIR" && build_aware
	aware=$PWD/aware.so
	way=', passed to the MPI library directly'
}

# with RANK NAME=VALUE N PROGRAM OPTIONS: `run` under mpirun; that rank alone has this in its environment.
with() {
	local rank=$1 variable=$2 count=$3 program=$4
	shift 4
	# shellcheck disable=SC2086 # QUICK is a list of words
	# shellcheck disable=SC2016 # the ranks' shells expand it
	LD_PRELOAD=$aware LD_LIBRARY_PATH=$fakes run --separate-stderr timeout "$HANGS_S" mpirun -n "$count" \
		sh -c '[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || export "$2"; shift 2; exec "$@"' sh "$rank" "$variable" \
		"$bin/$program" $QUICK "$@"
	echo "$variable on rank $rank, $count $program $*: $status $stderr"
}

ranks() {
	with none NOTHING= "$@"
}

# exact N PROGRAM OPTIONS: every case ran, was checked on every rank, and sent what its schedules say. Numbers of so few samples
# are flagged: 3.
exact() {
	ranks "$@"
	[ "$status" = 3 ]
	json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"])
		and r["facts"]["transport"] == "device memory'"$way"'"
		for r in rows if r["kind"] == "case") and any(r["kind"] == "case" for r in rows)' <<<"$output"
}

# devices NAMES: whose is which.
devices() {
	json 'all(r["facts"]["rank_devices"] == "'"$1"'" for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "every algorithm is exact with a device a rank, also with less than a chunk per rank and a ragged end" {
	for program in allreduce reduce_scatter allgather; do
		exact 2 "$program" --device cuda --size 8,10000
		devices "cuda:0 cuda:1"
		json 'all(r["facts"]["ranks_on_a_device"] == 1 and not any("share a device" in f["reason"] for f in r["validity"]["flags"])
			for r in rows if r["kind"] == "case")' <<<"$output"
	done
}

@test "and with two ranks a device, which is flagged" {
	for program in allreduce reduce_scatter; do
		exact 4 "$program" --device cuda --size 8,10000
		devices "cuda:0 cuda:1 cuda:0 cuda:1"
		json 'all(r["facts"]["ranks_on_a_device"] == 2 and any(f["flag"] == "oversubscribed" and "share a device" in f["reason"]
			for f in r["validity"]["flags"]) for r in rows if r["kind"] == "case")' <<<"$output"
	done
}

@test "numbers of ranks without a power of 2, tori and several messages at a time" {
	exact 3 allreduce --device cuda --size 10000
	exact 5 reduce_scatter --device cuda --size 10000
	exact 6 allreduce --device cuda --shape 3x2 --ports one,all --size 10000
	exact 8 allreduce --device cuda --shape 2x2x2 --ports all --size 100000
}

@test "where MPI takes device memory it gets it, and every algorithm is exact; the library too" {
	takes_device_memory
	for program in allreduce reduce_scatter allgather; do
		exact 2 "$program" --device cuda --size 8,10004
		exact 3 "$program" --device cuda --size 10004
		json 'all(r["facts"]["library_transport"] == r["facts"]["transport"] for r in rows if r["kind"] == "case")' <<<"$output"
	done
	exact 5 reduce_scatter --device cuda --size 10004
	exact 6 allreduce --device cuda --shape 3x2 --ports one,all --size 10004
	exact 8 allreduce --device cuda --shape 2x2x2 --ports all --size 100000
	exact 2 allgather --device cuda --type i32,i64,f32,f64 --algorithm ring --size 1000
}

@test "an index is for all ranks, and of a list each takes its entry" {
	exact 2 allreduce --device cuda:1 --algorithm ring --size 4K
	devices "cuda:1 cuda:1"
	exact 3 allreduce --device cuda:1,0 --algorithm ring --size 4K
	devices "cuda:1 cuda:0 cuda:1"
	FAKE_GPUS=3 exact 4 allreduce --device cuda --algorithm ring --size 4K
	devices "cuda:0 cuda:1 cuda:2 cuda:0"
}

@test "the library is staged whole, and says so" {
	for program in allreduce reduce_scatter; do
		exact 3 "$program" --device cuda --algorithm library --size 1000,100K
		json 'all("combined by the CPU" in r["facts"]["library_transport"] for r in rows if r["kind"] == "case")' <<<"$output"
	done
	exact 2 allreduce --device cuda --algorithm ring --size 1000
	json 'all("library_transport" not in r["facts"] for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "what nothing adds may be of any type; what no kernel adds is skipped with the reason" {
	exact 2 allgather --device cuda --type i32,i64,f32,f64 --algorithm ring --size 1000
	ranks 2 allreduce --device cuda --type f64 --op sum --size 1000
	[ "$status" = 77 ]
	[[ $output == *"reduction on devices supports only"* ]]
	ranks 2 allreduce --device cuda --op max --size 1000
	[ "$status" = 77 ]
}

@test "a device that is not there is 77, also where one rank alone lacks it" {
	ranks 2 allreduce --device cuda:2 --size 1000
	[ "$status" = 77 ]
	[ -z "$output" ]
	[[ $stderr == *"no device cuda:2; devices: cuda:0-1"* ]]
	with 1 FAKE_GPUS=1 2 allreduce --device cuda:0,1 --size 1000
	[ "$status" = 77 ]
	[[ $output == *"rank 1: "*"no device cuda:1; devices: cuda:0"* ]]
	with 1 LD_LIBRARY_PATH= 2 allreduce --device cuda --size 1000
	[ "$status" = 77 ]
	[[ $output == *"rank 1: no cuda device: "* ]]
}

@test "a malformed list is 2" {
	ranks 2 allreduce --device cuda:x,y: --size 1000
	[ "$status" = 2 ]
	ranks 2 allreduce --device cuda:0,0 --size 1000
	[ "$status" = 2 ]
	[ -z "$output" ]
}

@test "memory that one rank lacks skips the case on all, and the next one runs" {
	with 1 FAKE_MEMORY_BYTES=4000000 2 allreduce --device cuda --algorithm ring,library --size 1000,4M,4K
	[ "$status" = 3 ]
	json '{r["case"]["size"]: r["status"] for r in rows if r["kind"] == "case"} == {1000: "ok", 4096: "ok", 2**22: "skipped"}' <<<"$output"
	[[ $output == *"rank 1: cuda:1: allocate 4194304 bytes"* ]]
	with 1 FAKE_FAIL=cuMemHostAlloc=2 2 allreduce --device cuda --size 1000
	[ "$status" = 77 ]
	[[ $output == *"rank 1: "*"out of memory"* ]]
}

@test "a device that fails in the middle fails the case on all ranks, named, and nobody hangs" {
	for fault in FAKE_KERNEL_FAIL=gpusig_reduce_add FAKE_LOST=20 FAKE_FAIL=cuMemcpyDtoHAsync_v2:5=700; do
		with 1 "$fault" 3 allreduce --device cuda --size 1000,4K
		[ "$status" = 1 ]
		[[ $stderr == *"rank 1: "*"cu"*"CUDA_ERROR"* ]]
		json 'all(r["status"] == "failed" for r in rows if r["kind"] == "case")' <<<"$output"
	done
}

@test "a wrong result is 1, with the rank, the chunk and both values" {
	mpicc -shared -fPIC -o "$BATS_TEST_TMPDIR/corrupt.so" "$root/tests/bats/corrupt_message.c"
	with 1 LD_PRELOAD="$BATS_TEST_TMPDIR/corrupt.so" 2 allreduce --device cuda --algorithm ring --size 4K
	[ "$status" = 1 ]
	[[ $stderr == *"ring, sample 1: rank "*": chunk "*" of 2: element "*" is "*", not "* ]]
	json 'rows[1]["status"] == "failed" and rows[1]["check"]["status"] == "failed"' <<<"$output"
}

@test "on the host nothing has changed: the record says host memory, and no device is a rank's" {
	ranks 2 allreduce --device host --algorithm ring --size 1000
	json 'all(r["facts"]["transport"] == "host memory" and "rank_devices" not in r["facts"] for r in rows
		if r["kind"] == "case") and any(r["kind"] == "case" for r in rows)' <<<"$output"
}
