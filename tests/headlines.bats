#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A headline number is one case of every default list for a kind of device, quick or full.

# shellcheck disable=SC2154 # run sets status; helpers sets root
load bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# headlines NAME DEVICE [--full]: each headline number as often as a case of the default lists gives it.
headlines() {
	local name=$1 device=$2
	shift 2
	LD_LIBRARY_PATH=$(fakes) "$bin/$name" --device "$device" --list --format json "$@" 2>err |
		"$TEST_PYTHON" -c 'import json, sys; [print(h) for line in sys.stdin for h in json.loads(line)["headlines"]]' | sort
}

# on DEVICE...: compare the lists of every program, and add what was found to `seen`.
on() {
	local device name
	need_fakes
	for device in "$@"; do
		for name in $(programs); do
			headlines "$name" "$device" >quick
			headlines "$name" "$device" --full >full
			diff quick full || { echo "$name on $device: quick and full lists differ" && return 1; }
			[ -z "$(uniq -d quick)" ] || { echo "$name on $device: two cases of $(uniq -d quick)" && return 1; }
			sed "s|^|$name/|" quick >>"$BATS_FILE_TMPDIR/seen"
		done
	done
}

# Several devices, since their lists hold those of one and more.
@test "of the host" { on host:0,1; }
@test "of simulated devices" { on sim:0,1; }
@test "of the fake GPU, which is too small to be GPU-class" { on cuda:0,1; }

# A device without data has the lists of GPU-class devices, whatever its size.
@test "of GPU-class devices" {
	printf '%s\n' 'like = quiet' 'data = none' 'memory_bytes = 192G' >a.model
	on "sim:$PWD/a.model:0,1"
	"$bin/gemm/efficiency" --device "sim:$PWD/a.model" --list >list
	grep -qx 'type=f32 shape=n8192 mflop=2000000' list
	"$bin/gemm/efficiency" --device sim:quiet --list >list
	run ! grep -q n8192 list
}

@test "every one is a case somewhere" {
	[ -s "$BATS_FILE_TMPDIR/seen" ] || skip 'needs the tests above'
	for name in $(programs); do
		"$bin/$name" --about | "$TEST_PYTHON" -c 'import json, sys
about = json.load(sys.stdin)
[print(about["name"] + "/" + h) for h in about["primary"]]'
	done | sort >all
	run comm -23 all <(sort -u "$BATS_FILE_TMPDIR/seen")
	[ -z "$output" ] || { echo "no device has a case of: $output" && return 1; }
}
