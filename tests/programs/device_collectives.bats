#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Collectives among the devices of one process: exact for every algorithm, and what can't be done is said.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

programs=${GPUSIG_BIN:-$root/bin}/collectives
program=$programs/device_allreduce
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$program" --device "$devices" $QUICK $(budget_for "$devices" 0.1s) "$@"
	echo "$devices $*: $status $stderr"
}

@test "every algorithm is exact on 2 to 8 devices, also with fewer chunks than devices, and is the one that ran" {
	for last in 1 2 3 4 5 6 7; do
		measure "sim:0-$last" --size 4,1000,64K
		[ "$status" = 0 ]
		json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"])
			for r in rows if r["kind"] == "case") and sum(r["kind"] == "case" for r in rows) == 3' <<<"$output"
		json 'all(v["name"] + " ran" in [m["name"] for m in r["mechanism"]] for r in rows if r["kind"] == "case"
			for v in r["variants"])' <<<"$output"
	done
}

@test "on the host, with the cores divided" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	measure host:0,1 --size 1000,64K
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "single collectives of up to 1 MiB are timed alone" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	measure host:0,1 --algorithm ring --size 8K,2M
	json 'all(("singles_s" in r["variants"][0]) == (r["variants"][0]["model"]["bytes"] <= 2**20) for r in cases)' <<<"$output"
}

@test "the copies of ring and of Swing on four devices" {
	measure sim:0-3 --algorithm swing-b,ring --size 4096
	json '[m["name"] for r in rows if r["kind"] == "case" for m in r["mechanism"]][:2] == ["ring ran", "swing-b ran"]' \
		'"24 copies and 24576 bytes" in rows[1]["mechanism"][0]["detail"]' \
		'"16 copies and 24576 bytes" in rows[1]["mechanism"][1]["detail"]' <<<"$output"
}

@test "on a full mesh direct and several rings use the links that one ring leaves" {
	measure sim:mi300x:0-7 --algorithm direct,ring,multi-ring --size 256M
	json 'all(t["direct"] * 6 < t["ring"] and t["multi-ring"] * 5 < t["ring"]
		for t in [{v["name"]: v["median_s"] for v in cases[0]["variants"]}])' <<<"$output"
}

@test "bus bandwidth counts as its users do" {
	measure sim:0-3 --algorithm ring --size 1M
	json 'all(abs(next(d["value"] for d in r["derived"] if d["name"] == "bus_bandwidth") * r["variants"][0]["median_s"]
		/ (1.5 * 2**20) - 1) < 1e-6 for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "an unknown algorithm is 2, and those that exist are named" {
	measure sim:0,1 --algorithm foo
	[ "$status" = 2 ]
	[ -z "$output" ]
	[[ $stderr == *"'foo'"*ring*swing-b*library* ]]
	measure sim:0,1 --size 0
	[ "$status" = 2 ]
}

@test "one device is 77" {
	measure sim
	[ "$status" = 77 ]
	[ -z "$output" ]
	[[ $stderr == *"needs 2 devices"* ]]
}

@test "devices that are no peers keep the library's rows: it goes through the host" {
	need_fakes
	for device in cuda:0,1 hip:0,1; do
		FAKE_BOARD=peers=0 LD_LIBRARY_PATH=$(fakes) measure "$device" --size 2K --budget 10m
		[ "$status" = 0 ] || [ "$status" = 3 ]
		json 'all([v["name"] for v in r["variants"]] == ["library", "library-efficiency", "library-calls"] and
			r["check"]["status"] == "ok" and {"ring", "library-zero-cta"} <= set(r["facts"]["skipped"].split()) and "no peer access" in r["facts"]["skipped_why"] for r in rows if r["kind"] == "case")' \
			'sum(r["kind"] == "case" for r in rows) == 1' <<<"$output"
		FAKE_BOARD=peers=0 LD_LIBRARY_PATH=$(fakes) measure "$device" --size 2K --algorithm ring
		[ "$status" = 77 ]
		[[ $stderr == *'has no peer access to the memory of'* ]]
	done
}

@test "an unsupported algorithm is skipped and named; alone it is 77 with the reason" {
	measure sim:0-2 --algorithm rd-b,ring --size 1000
	[ "$status" = 0 ]
	json '[v["name"] for v in rows[1]["variants"]] == ["ring"] and rows[1]["facts"]["skipped"] == "rd-b"' <<<"$output"
	measure sim:0-2 --algorithm rd-b --size 1000
	[ "$status" = 77 ]
	[[ $stderr == *"power of 2"* ]]
}

@test "an addition that goes wrong is 1, with the device and the element" {
	printf 'like = quiet\ncorrupt_launch_every = 1\n' >"$BATS_TEST_TMPDIR/wrong.model"
	measure "sim:$BATS_TEST_TMPDIR/wrong.model:0,1" --algorithm ring --size 4096
	[ "$status" = 1 ]
	[[ $stderr == *"ring, sample 1: device 0: element "*" is "*", not "* ]]
	json 'rows[1]["status"] == "failed" and rows[1]["check"]["status"] == "failed"' <<<"$output"
}

@test "all-gather, reduce-scatter and all-to-all put every part where it belongs, by every algorithm" {
	for program in "$programs"/device_{allgather,reduce_scatter,all_to_all}; do
		for last in 1 2 3 4 5 6 7; do
			measure "sim:0-$last" --size 128,5000,64K
			[ "$status" = 0 ]
			json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"])
				for r in rows if r["kind"] == "case") and sum(r["kind"] == "case" for r in rows) == 3' \
				"all(r['facts']['vector_bytes'] == r['case']['size'] // (16 * ($last + 1)) * 16 * ($last + 1) for r in rows if r['kind'] == 'case')" <<<"$output"
			json 'all(v["name"] + " ran" in [m["name"] for m in r["mechanism"]] for r in rows if r["kind"] == "case"
				for v in r["variants"])' <<<"$output"
		done
	done
}

# With an odd number of samples the median of rates is the rate of the median.
@test "their bus bandwidth counts as that of nccl-tests, of the bytes that were sent" {
	for name in device_allgather:ring device_reduce_scatter:ring device_all_to_all:pairwise; do
		program=$programs/${name%:*}
		measure sim:0-2 --algorithm "${name#*:}" --size 1M --min-samples 11 --max-samples 11
		json 'all(abs(next(d["value"] for d in r["derived"] if d["name"] == "bus_bandwidth") * r["variants"][0]["median_s"]
			/ (2 / 3 * (2**20 // 48 * 48)) - 1) < 1e-6 for r in rows if r["kind"] == "case")' <<<"$output"
	done
}

@test "a part that is damaged on its way is 1, with the device and the element" {
	printf 'like = quiet\ncorrupt_copy_every = 1\n' >"$BATS_TEST_TMPDIR/wrong.model"
	for name in device_allgather:ring device_reduce_scatter:ring device_all_to_all:spread-out; do
		program=$programs/${name%:*}
		measure "sim:$BATS_TEST_TMPDIR/wrong.model:0,1" --algorithm "${name#*:}" --size 4096
		[ "$status" = 1 ]
		[[ $stderr == *": device 0: element "*" is "*", not "* ]]
	done
}

@test "the messages of an all-to-all of four devices" {
	program=$programs/device_all_to_all
	measure sim:0-3 --size 4096
	json '[m["name"] for m in rows[1]["mechanism"]][:2] == ["pairwise ran", "spread-out ran"]' \
		'all("16 copies and 16384 bytes" in m["detail"] for m in rows[1]["mechanism"][:2])' <<<"$output"
}

# on_fakes PROGRAM DEVICE OPTIONS: `run` on the fakes of the vendors' libraries, whose times mean nothing.
on_fakes() {
	local name=$1 device=$2
	shift 2
	need_fakes
	run --separate-stderr env "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL "$HANGS_S" "$programs/../$name" --device "$device" \
		--budget 10m --min-samples 6 --max-samples 6 --warm-up 0 --format json "$@"
	echo "$name $device $*: $status $stderr"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" and r["facts"]["skipped"] in ("", "serial-library", "library", "library library-calls")
		if "skipped" in r["facts"] else r["status"] == "ok" for r in rows if r["kind"] == "case")' <<<"$output"
}

SHAPING='overlap/shaping cuda:0,1 --scenario mb-ar,mb-a2a --shared 0 --tile 64x64x32 --grid 3 --blocks 2 --mflop 1 --iterations 2'
FICCO='overlap/ficco cuda:0,1 --op ag-gemm,gemm-rs,a2a-gemm --shape 96x32x32 --type f32 --copy-method engine --schedule serial,shard,serial-library'

# A second communicator would fail, and so would a gate's sample that waited for the library.
@test "the vendor's library connects the devices before a gate is shut, and has one communicator for all cases" {
	export FAKE_FAIL=ncclCommInitAll:2=1
	for name in allreduce allgather reduce_scatter all_to_all; do
		on_fakes "collectives/device_$name" cuda:0,1 --size 2K,128K,2M --algorithm library
		json 'sum("library" in [v["name"] for v in r["variants"]] for r in rows if r["kind"] == "case") == 3' \
			'not [f for r in rows if r["kind"] == "case" for f in r["validity"]["flags"] if f["flag"] == "gate"]' <<<"$output"
	done
	# shellcheck disable=SC2086 # a list of words
	on_fakes $SHAPING --variant serial,library_serial,library_overlap
	json 'all("library_overlap" in [v["name"] for v in r["variants"]] for r in rows if r["kind"] == "case")' \
		'not [f for r in rows if r["kind"] == "case" for f in r["validity"]["flags"] if f["flag"] == "gate"]' <<<"$output"
	# shellcheck disable=SC2086
	on_fakes $FICCO
	json 'all("serial-library" in [v["name"] for v in r["variants"]] for r in rows if r["kind"] == "case")' \
		'not [f for r in rows if r["kind"] == "case" for f in r["validity"]["flags"] if f["flag"] == "gate"]' <<<"$output"
}

# It fails when it is opened, or when it connects the devices.
@test "where the vendor's library fails its own variants are missing, with its words" {
	for function in ncclCommInitAll ncclGroupEnd; do
		export FAKE_FAIL=$function=1
		on_fakes collectives/device_allreduce cuda:0,1 --size 2K,128K --algorithm ring,library
		json '[([v["name"] for v in r["variants"]], r["facts"]["skipped"], r["facts"]["skipped_why"].endswith("'$function': unhandled cuda error"))
			for r in rows if r["kind"] == "case"] == 2 * [(["ring"], "library", True)]' <<<"$output"
		# shellcheck disable=SC2086 # a list of words
		on_fakes $SHAPING --variant serial,overlap,library_serial,library_overlap
		json 'not any(v["name"].startswith("library") for r in rows if r["kind"] == "case" for v in r["variants"])' \
			'all(r["facts"]["library_not_measured"] == "'$function': unhandled cuda error" for r in rows if r["kind"] == "case")' <<<"$output"
		# shellcheck disable=SC2086
		on_fakes $FICCO
		json 'not any("library" in v["name"] for r in rows if r["kind"] == "case" for v in r["variants"])' \
			'all(r["facts"]["skipped_why"].endswith("'$function': unhandled cuda error") for r in rows if r["kind"] == "case")' <<<"$output"
	done
	# At the second of its variants, which have one communicator.
	export FAKE_FAIL=ncclLaunchKernel:3=3
	on_fakes collectives/device_allreduce cuda:0,1 --size 64K --algorithm ring,library,library-calls
	json '[([v["name"] for v in r["variants"]], r["facts"]["skipped"]) for r in rows if r["kind"] == "case"] == [(["ring"], "library library-calls")]' <<<"$output"
	run env "LD_LIBRARY_PATH=$(fakes)" FAKE_FAIL=ncclCommInitAll=1 "$program" --device cuda:0,1 --algorithm library --size 2K --budget 1m
	[ "$status" = 77 ]
	[[ $output == *'ncclCommInitAll: unhandled cuda error'* ]]
}

@test "a collective that fails while it is measured fails its case, and is given up" {
	export FAKE_FAIL=ncclGroupEnd:5=1
	need_fakes
	# shellcheck disable=SC2086 # a list of words
	run --separate-stderr env "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL "$HANGS_S" "$program" --device hip:0,1 $QUICK --budget 10m \
		--size 2K,128K --algorithm ring,library
	[ "$status" = 1 ]
	json '[r["status"] for r in rows if r["kind"] == "case"] == ["failed", "ok"]' \
		'rows[1]["reason"] == "ncclGroupEnd: unhandled cuda error"' \
		'rows[2]["facts"]["skipped_why"].endswith("ncclGroupEnd: unhandled cuda error")' <<<"$output"
}

# measure_policies PROGRAM DEVICE OPTIONS: every variant of the library.
measure_policies() {
	local name=$1 device=$2
	shift 2
	need_fakes
	run --separate-stderr env "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL "$HANGS_S" "$programs/device_$name" --device "$device" \
		--budget 10m --min-samples 6 --max-samples 6 --warm-up 0 --format json \
		--algorithm library,library-efficiency,library-zero-cta,library-calls "$@"
	echo "$name $device $*: $status $stderr"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "an all-gather without blocks completes while every unit is held, and its buffers hold the result" {
	measure_policies allgather cuda:0,1 --size 2K,2M
	json 'sum([v["name"] for v in r["variants"]] == ["library", "library-efficiency", "library-zero-cta", "library-calls"]
			for r in rows if r["kind"] == "case") == 2' \
		'all([(m["name"], m["observed"]) for m in r["mechanism"]] ==
			[("completes_while_all_units_are_held", True)] for r in rows if r["kind"] == "case")' \
		'all(r["facts"]["skipped"] == "" for r in rows if r["kind"] == "case")' <<<"$output"
}

# The all-to-all copies a device's part to itself, which takes slots on this driver.
@test "a collective that takes units all the same is no variant without blocks, and that is said in every case" {
	for name in allreduce reduce_scatter all_to_all; do
		measure_policies "$name" cuda:0,1 --size 2K,64K
		json 'all([v["name"] for v in r["variants"]] == ["library", "library-efficiency", "library-calls"] and
			r["facts"]["skipped"] == "library-zero-cta" and "takes units" in r["facts"]["skipped_why"] and not r["mechanism"]
			for r in rows if r["kind"] == "case")' <<<"$output"
	done
	run env "LD_LIBRARY_PATH=$(fakes)" "$program" --device cuda:0,1 --algorithm library-zero-cta --size 2K --budget 1m
	[ "$status" = 77 ]
	[[ $output == *'library-zero-cta: takes units'* ]]
}

@test "an older release has no policy, which is not the default one: skipped, with the release that has it" {
	export FAKE_NCCL_VERSION=21903
	measure_policies allgather cuda:0,1 --size 2K
	json '[(r["facts"]["skipped"], r["facts"]["library"]) for r in rows if r["kind"] == "case"] == [
			("library-efficiency library-zero-cta", "NCCL 2.19.3")]' \
		'all("efficiency'"'"': it is there from 2.27 on" in r["facts"]["skipped_why"] and
			"zero-CTA'"'"': it is there from 2.28 on" in r["facts"]["skipped_why"] for r in rows if r["kind"] == "case")' <<<"$output"
	export FAKE_NCCL_VERSION=22707
	measure_policies allgather hip:0,1 --size 2K
	json '[r["facts"]["skipped"] for r in rows if r["kind"] == "case"] == ["library-zero-cta"]' <<<"$output"
}

@test "devices that share no memory have no windows, in the words of the release" {
	export FAKE_BOARD=peers=0 FAKE_NCCL_VERSION=23007
	measure_policies allgather cuda:0,1 --size 2K
	json 'all(r["facts"]["skipped"] == "library-zero-cta" and
		"NCCL 2.30.7 cannot register memory of these devices" in r["facts"]["skipped_why"] for r in rows if r["kind"] == "case")' <<<"$output"
}
