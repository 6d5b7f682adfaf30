#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A headline number is one case of every default list for a kind of device, quick or full.

# shellcheck disable=SC2154 # run sets status; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# on DEVICE...: compare the lists of every program, and add what was found to `seen`.
on() {
	local device name drivers
	need_fakes
	drivers=$(fakes)
	for device in "$@"; do
		for name in $(programs); do
			for list in quick full; do
				echo "$name $list"
				# shellcheck disable=SC2046 # the option or nothing
				LD_LIBRARY_PATH=$drivers "$bin/$name" --device "$device" --list --format json $([ $list = quick ] || echo --full) 2>err || true
			done
		done >lists
		"$TEST_PYTHON" -I -S -c 'import json, sys
found = {}
for line in open("lists", encoding="utf-8"):
    if line.startswith("{"):
        now += json.loads(line)["headlines"]
    else:
        name, which = line.split()
        now = found.setdefault(name, {}).setdefault(which, [])
for name, lists in found.items():
    quick, full = sorted(lists["quick"]), sorted(lists["full"])
    if quick != full:
        sys.exit(f"{name} on {sys.argv[1]}: the quick list has {quick}, the full one {full}")
    if len(set(quick)) < len(quick):
        sys.exit(f"{name} on {sys.argv[1]}: two cases of one headline number: {quick}")
    for headline in quick:
        print(f"{name}/{headline}")' "$device" >>"$BATS_FILE_TMPDIR/seen"
	done
}

# Several devices, since their lists hold those of one and more.
@test "of the host" { on host:0,1; }
@test "of simulated devices" { on sim:0,1; }
@test "of the fake GPU, which is too small to be GPU-class" { on cuda:0,1; }

# A device without data has the lists of GPU-class devices, whatever its size.
@test "of GPU-class devices" {
	printf '%s\n' 'like = quiet' 'data = none' 'memory_bytes = 192G' >a.model
	printf 'flops_%s = 1e12\n' i8 mxf8 mxf4 nvf4 >>a.model
	on "sim:$PWD/a.model:0,1"
	"$bin/gemm/efficiency" --device "sim:$PWD/a.model" --list >list
	grep -qx 'type=f32 shape=square mflop=2000000' list
	"$bin/gemm/efficiency" --device sim:quiet --list >list
	run ! grep -q square list
}

# The type that a GPU is bought for: that of its matrix units.
@test "GEMMs of headline numbers are of bf16 on a GPU that has them, else of f32" {
	for want in 'sim:h100:0,1 bf16' 'sim:t3:0,1 f32' 'sim:quiet:0,1 f32' 'host:0,1 f32'; do
		for name in gemm/split micro/contention micro/copy_contention overlap/ficco overlap/out_of_core overlap/pair \
			overlap/trigger; do
			"$bin/$name" --device "${want% *}" --list --format json | grep -v '"headlines":\[\]' >list
			[ -s list ]
			run ! grep -v "[\" ]type=${want#* }[\" ]" list
		done
	done
}

# A whole wave of copying blocks holds every slot of a GPU; elsewhere a kernel has few blocks, if more than one.
@test "a copy kernel beside a GEMM has an eighth of a GPU's units" {
	printf '%s\n' 'like = quiet' 'data = none' >a.model
	for want in "sim:$PWD/a.model kernel:units/8" 'sim:quiet kernel' 'host kernel'; do
		"$bin/overlap/pair" --device "${want% *}" --list --format json >list
		grep overlap_efficiency_kernel list | grep -q "copy-method=${want#* } .*"
	done
}

@test "every one is a case somewhere" {
	[ -s "$BATS_FILE_TMPDIR/seen" ] || skip 'needs the tests above'
	for name in $(programs); do "$bin/$name" --about; done | "$TEST_PYTHON" -I -S -c 'import json, sys
for about in map(json.loads, sys.stdin):
    for headline in about["primary"]:
        print(about["name"] + "/" + headline)' | sort >all
	run comm -23 all <(sort -u "$BATS_FILE_TMPDIR/seen")
	[ -z "$output" ] || { echo "no device has a case of: $output" && return 1; }
}
