#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# overlap/units on simulated devices without jitter: what fewer units cost a GEMM, and what units buy a copy, follow from the
# model's keys.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

units() { # DEVICE OPTION...
	"$root/bin/overlap/units" --device "$1" --type f32 "${@:2}" --min-samples 6 --max-samples 6 --format json >records
}

# check <<PROGRAM: Python that has the cases, of() and n().
check() {
	cat - >program
	"$TEST_PYTHON" - <<-'PYTHON'
		import json, math
		cases = [row for row in map(json.loads, open("records")) if row["kind"] == "case"]
		of = lambda c, name, variant: next(d["value"] for d in c["derived"] if d["name"] == name and d["variant"] == variant)
		n = lambda c: int(c["case"]["units"])
		assert cases and all(c["status"] == "ok" for c in cases), [c.get("reason") for c in cases]
		assert all(m["observed"] for c in cases for m in c["mechanism"])
		exec(open("program").read())
	PYTHON
}

# A unit has one slot, so that its tiles, 64 of 512 x 512, run one after the other.
@test "a GEMM that arithmetic limits takes as many rounds of tiles as its units need, on 8 units and on 20" {
	for total in 8 20; do
		printf 'like = quiet\ndata = none\nunits = %s\nslots_per_unit = 1\nblock_share = 1\nflops_f32 = 1e9\n' "$total" >waves.model
		units "sim:./waves.model" --gemm 512x512x512 --units 1,2,3,4,5,6,7 --size 1M
		check <<-PYTHON
			for c in cases:
			    wanted = math.ceil(64 / ($total - n(c))) / math.ceil(64 / $total)
			    found = of(c, 'slowdown', 'gemm_on_rest')
			    assert abs(found / wanted - 1) < 0.01, (n(c), found, wanted)
			assert len(cases) == 7
		PYTHON
	done
}

@test "a copy's bandwidth is that of its units until it is the memory's, on two devices" {
	for keys in 'unit_bandwidth = 20e9' 'unit_bandwidth = 20e9
units = 24
memory_bandwidth = 100e9'; do
		printf 'like = quiet\ndata = none\n%s\n' "$keys" >few.model
		units "sim:./few.model" --gemm 512x512x512 --units 1,2,3,4,5,6,7 --size 256M
		memory=$(sed -n 's/^memory_bandwidth = //p' few.model)
		check <<-PYTHON
			for c in cases:
			    wanted = min(n(c) * 20e9, ${memory:-200e9}) / 2
			    found = of(c, 'bandwidth', 'copy_on_given')
			    assert abs(found / wanted - 1) < 0.01, (n(c), found, wanted)
			    of_all = of(c, 'bandwidth', 'copy') / found
			    assert abs(of(c, 'slowdown', 'copy_on_given') / of_all - 1) < 1e-6
			assert len(cases) == 7
		PYTHON
	done
}

# The law WAVES of device/sim/machine/gemm.c, written a second time: a wave is as square as its units' 8 slots allow. With 8
# units the rows of A of a wave are 2 MiB, more than half of the cache, so that A is read for each of 8 waves; with 7 they
# are 1.75 MiB, and A is read once.
@test "a GEMM that memory limits is faster on fewer units where the cache then holds the rows of a wave" {
	printf 'like = quiet\ndata = none\nllc_tracked = 1\nllc_bytes = 3800K\nllc_bandwidth = 100e12\nunit_bandwidth = 10e12\n' >thrash.model
	printf 'memory_bandwidth = 50e9\nflops_f32 = 10e12\n' >>thrash.model
	sed 's/3800K/256M/' thrash.model >roomy.model
	units sim:./thrash.model --gemm 4096x4096x1024 --units 1,2,3,4,5,6 --size 64M
	check <<-PYTHON
		def bytes_of(units):
		    rows = math.isqrt(8 * units)
		    columns = 8 * units // rows
		    rows = 8 * units // columns
		    a = 1 if rows * 64 * 1024 * 4 <= 3800 * 1024 / 2 else math.ceil(64 / columns)
		    return 4096 * 1024 * 4 * (a + math.ceil(64 / rows)) + 4096 * 4096 * 4
		for c in cases:
		    wanted, found = bytes_of(8 - n(c)) / bytes_of(8), of(c, 'slowdown', 'gemm_on_rest')
		    assert abs(found / wanted - 1) < 0.02, (n(c), found, wanted)
		    assert abs(of(c, 'time', 'gemm') * 50e9 / bytes_of(8) - 1) < 0.02
		assert of(cases[0], 'slowdown', 'gemm_on_rest') < 0.76
	PYTHON
	units sim:./roomy.model --gemm 4096x4096x1024 --units 1,2,3,4 --size 64M
	check <<-PYTHON
		assert all(of(c, 'slowdown', 'gemm_on_rest') > 0.99 for c in cases)
	PYTHON
}

# One tile of the GEMM and one block of the copy fill a unit, and memory is shared by neither.
@test "where the sides share nothing, a reservation takes as long as the longer side on its own units" {
	printf 'like = quiet\ndata = none\nmemory_bandwidth = 1e15\nllc_bandwidth = 1e15\n' >free.model
	units sim:./free.model --gemm 512x512x512 --units 1,2,4,6 --size 1M,16M
	check <<-PYTHON
		for c in cases:
		    alone = {v: of(c, 'time', v) for v in ('gemm', 'copy', 'gemm_on_rest', 'copy_on_given', 'serial', 'reserved')}
		    longer = max(alone['gemm_on_rest'], alone['copy_on_given'])
		    assert abs(alone['reserved'] / longer - 1) < 0.01, (c['key'], alone)
		    for side, own in (('gemm_in_reserved', 'gemm_on_rest'), ('copy_in_reserved', 'copy_on_given')):
		        assert abs(of(c, 'slowdown', side) / of(c, 'slowdown', own) - 1) < 0.005, (c['key'], side)
		    assert abs(of(c, 'S', 'reserved') / (alone['serial'] / longer) - 1) < 0.01
		    assert abs(of(c, 'reservation_speedup', 'reserved') * alone['reserved'] / of(c, 'time', 'concurrent') - 1) < 0.01
		assert len(cases) == 8
	PYTHON
}

@test "bad input is one line that says what exists; what a device lacks is skipped with its reason" {
	declare -A wrong=(["--units 0"]="units" ["--units many"]="units" ["--gemm big"]="compute, memory, MxNxK" ["--size 4K"]="size")
	for options in "${!wrong[@]}"; do
		# shellcheck disable=SC2086 # several options
		run --separate-stderr "$root/bin/overlap/units" --device sim:quiet $options
		[ "$status" = 2 ]
		[[ $stderr == *"${wrong[$options]}"* ]]
		[ "${#stderr_lines[@]}" = 1 ]
	done
	run --separate-stderr "$root/bin/overlap/units" --device sim:quiet --units 8
	[ "$status" = 77 ]
	[[ $stderr == *"8 of 8 units leave none for the GEMM"* ]]
	run --separate-stderr "$root/bin/overlap/units" --device 'sim:quiet?units=1'
	[ "$status" = 77 ]
	printf 'like = quiet\nlacks = unit_mask\n' >whole.model
	run --separate-stderr "$root/bin/overlap/units" --device sim:./whole.model
	[ "$status" = 77 ]
	[[ $stderr == *unit_mask* ]]
}

@test "a wrong byte of the copy and a wrong element of the GEMM are found" {
	printf 'like = quiet\ncorrupt_launch_every = 1\n' >wrong.model
	run --separate-stderr "$root/bin/overlap/units" --device sim:./wrong.model --type f32 --gemm compute --units 1 \
		--min-samples 6 --max-samples 6 --format json
	[ "$status" = 1 ]
	printf '%s\n' "$output" | json 'none([c for c in cases if c["check"]["status"] != "failed"])'
}

# Fake drivers have as many units as the host has cores.
on_a_fake() {
	[ "$(nproc)" -ge 2 ] || skip 'one core'
	need_fakes
	export FAKE_GPUS=1 LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$(fakes)
	few=(--units 1 --type f32 --gemm 64x64x64 --size 1M --min-samples 2 --max-samples 2)
}

keeps_to_its_units() { # DEVICE
	"$root/bin/overlap/units" --device "$1" "${few[@]}" --format json >records || [ "$?" -le 3 ]
	"$TEST_PYTHON" - <<-'PYTHON'
		import json
		case, = [row for row in map(json.loads, open("records")) if row["kind"] == "case"]
		assert [m["observed"] for m in case["mechanism"]] == [True, True], case
		assert case["check"]["status"] == "ok", case["check"]
	PYTHON
}

skips() { # TEXT DEVICE VARIABLE...
	run --separate-stderr env "${@:3}" "$root/bin/overlap/units" --device "$2" "${few[@]}"
	[ "$status" = 77 ]
	[[ $stderr == *"$1"* ]]
}

@test "on a fake AMD GPU the streams keep to their units, and dies are not divided" {
	on_a_fake
	keeps_to_its_units hip
	skips "at multiples of 2" hip FAKE_ARCH=gfx942 FAKE_BOARD=xccs=2
	skips unit_mask hip FAKE_ARCH=gfx942 FAKE_BOARD=xccs=0
	skips unit_mask hip FAKE_ARCH=gfx1100
	run --separate-stderr env FAKE_FAIL=hipExtStreamCreateWithCUMask=2 "$root/bin/overlap/units" --device hip "${few[@]}"
	[[ $stderr == *"hipExtStreamCreateWithCUMask: out of memory"* ]]
	without hipExtStreamCreateWithCUMask
	skips unit_mask hip "LD_LIBRARY_PATH=$drivers"
}

# The slots of the whole device go to whichever stream comes first.
@test "what depends on units of its own is invalid where a driver ignores them, and nothing else" {
	on_a_fake
	FAKE_BOARD=cu_mask=0 "$root/bin/overlap/units" --device hip "${few[@]}" --format json >records || [ "$?" -le 3 ]
	"$TEST_PYTHON" - <<-'PYTHON'
		import json
		case, = [row for row in map(json.loads, open("records")) if row["kind"] == "case"]
		assert [m["observed"] for m in case["mechanism"]] == [True, False], case["mechanism"]
		flagged = {f["variant"] for f in case["validity"]["flags"] if f["flag"] == "mechanism"}
		assert flagged == {"gemm_on_rest", "copy_on_given", "reserved", "gemm_in_reserved", "copy_in_reserved"}, flagged
	PYTHON
}

@test "on a fake NVIDIA GPU the streams keep to their units, and only at its multiples" {
	on_a_fake
	FAKE_BOARD=unit_step=1 keeps_to_its_units cuda
	skips "at multiples of 8" cuda
	for name in cuDevSmResourceSplitByCount cuDevResourceGenerateDesc cuGreenCtxCreate cuGreenCtxStreamCreate; do
		run --separate-stderr env FAKE_BOARD=unit_step=1 "FAKE_FAIL=$name=2" "$root/bin/overlap/units" --device cuda "${few[@]}"
		[ "$status" != 0 ]
		[[ $stderr == *"$name: out of memory"* ]]
	done
	skips unit_mask cuda FAKE_FAIL=cuDeviceGetDevResource=CUDA_ERROR_NOT_SUPPORTED
	without cuGreenCtxStreamCreate
	skips unit_mask cuda "LD_LIBRARY_PATH=$drivers"
}
