#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The rules of tests/lint/layers.py hold. That each catches what it is for: tests/lint/test_layers.py.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

layers() { "$(sh "$root/suite/setup/find_python.sh" --any)" "$root/tests/lint/layers.py" "$@"; }

@test "the tree keeps every rule" {
	run layers
	echo "$output"
	[ "$status" = 0 ]
}

@test "an unknown rule is 2 and the rules are named" {
	run layers no-such-rule
	[ "$status" = 2 ]
	[[ $output == *no-vendors* ]]
}

@test "a folder with too many sources is caught" {
	mkdir -p "$BATS_TEST_TMPDIR/many/"{device/gpu/cuda,bench,tests/reports}
	(cd "$BATS_TEST_TMPDIR/many" && touch bench/a{1..50}.c tests/reports/test_{1..25}.{py,bats} device/gpu/cuda/a{1..15}.c)
	run layers --root "$BATS_TEST_TMPDIR/many" folder-size vendor-folder-size
	[ "$status" = 0 ]
	(cd "$BATS_TEST_TMPDIR/many" && touch bench/b.h tests/reports/b.py device/gpu/cuda/b.h)
	run layers --root "$BATS_TEST_TMPDIR/many" folder-size vendor-folder-size
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *"bench:1: 51 files"* && $output == *"tests/reports:1: 51 files"* && $output == *"device/gpu/cuda:1: 16 files"* ]]
}

@test "several makes at once on one build do not take each other's files" {
	local one makes=()
	for _ in 1 2 3 4 5 6; do
		make -sC "$root" --no-print-directory "build=$BATS_TEST_TMPDIR/build" "$BATS_TEST_TMPDIR/build/config.inc" &
		makes+=($!)
	done
	for one in "${makes[@]}"; do wait "$one"; done
	[ "$(ls "$BATS_TEST_TMPDIR/build")" = config.inc ]
	grep -q '^"version .*\\n"$' "$BATS_TEST_TMPDIR/build/config.inc"
}

@test "make -n changes nothing of what is compiled into programs" {
	local there=(-sC "$root" --no-print-directory "build=$BATS_TEST_TMPDIR/build" "$BATS_TEST_TMPDIR/build/config.inc")
	make "${there[@]}"
	cp "$BATS_TEST_TMPDIR/build/config.inc" "$BATS_TEST_TMPDIR/before"
	make -n "${there[@]}"
	cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/build/config.inc"
	make -sC "$root" --no-print-directory config | sed 's/^build .*//; s/["\\]/\\&/g; s/.*/"&\\n"/' | sort >"$BATS_TEST_TMPDIR/printed"
	comm -23 <(sort "$BATS_TEST_TMPDIR/before") "$BATS_TEST_TMPDIR/printed" | tee "$BATS_TEST_TMPDIR/differs"
	[ ! -s "$BATS_TEST_TMPDIR/differs" ]
}

@test "sanitizers are named in any order, and what can't be built is refused" {
	local san built
	for san in address,undefined undefined,address 'address undefined' 'address,undefined,'; do
		built=$(make -sC "$root" --no-print-directory config "SAN=$san" HAVE_HWLOC=0 HAVE_MPI=0 HAVE_NVCC=0)
		[[ $built == *' -fsanitize=address,undefined -'*$'\nbuild build/release-address-undefined-'+([0-9]) ]]
	done
	for san in address,thread memory thread,,leak; do
		run make -sC "$root" --no-print-directory config "SAN=$san" HAVE_HWLOC=0 HAVE_MPI=0 HAVE_NVCC=0
		[ "$status" != 0 ]
		[[ $output == *"SAN is '$san'"* ]]
	done
}

# Releases of clang-format differ in details. The tree follows that of Debian 12.
@test "C sources are formatted as .clang-format says" {
	only_with_all
	[[ $(clang-format --version 2>/dev/null) == *" version 14."* ]] || skip "clang-format 14 is not installed"
	cd "$root"
	run make --no-print-directory format-check
	echo "$output"
	[ "$status" = 0 ]
}
