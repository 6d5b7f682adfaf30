#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/neighbour: on partitions of a simulated device, where the shares are known, and with a process on the host.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

neighbour() { # DEVICE OPTIONS
	local device=$1
	shift
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/neighbour" --device "$device" --type f32 --min-samples 4 \
		--max-samples 4 --warm-up 0 --format json "$@"
	echo "$device: $status $stderr"
}

cil() { # VARIANT CONDITION
	json "[$2 for r in cases for d in r['derived'] if d['name'] == 'CIL' and d['variant'] == '$1_with_neighbour'
		for cil in [d['value']]] == [True]" <<<"$output"
}

# Memory of 20 GB/s, and ways to the host of 10, which one engine or one triad fills.
model='like=quiet,data=none,memory_bandwidth=20e9,unit_bandwidth=1e12,link_down_bandwidth=10e9,engine_bandwidth=1e12'

@test "partitions of a device take each other half of the memory and of the link, and nothing else" {
	printf '%s\n' "${model//,/$'\n'}" tenants=2 >"$BATS_TEST_TMPDIR/halves.model"
	halves=sim:$BATS_TEST_TMPDIR/halves.model:0,1
	neighbour "$halves" --neighbour memory
	[ "$status" = 0 ]
	cil memory '1.97 < cil < 2.03'
	cil launch '0.99 < cil < 1.01'
	json "all(m['observed'] for r in cases for m in r['mechanism'])" <<<"$output"
	neighbour "$halves" --neighbour engine
	cil copy '1.97 < cil < 2.03'
	neighbour "$halves" --neighbour gemm,memory,engine
	json "max(d['value'] for r in cases for d in r['derived'] if d['name'] == 'CIL' and d['variant'][:4] == 'gemm') < 2.1" \
		<<<"$output"
}

@test "devices of their own take each other nothing" {
	printf '%s\n' "${model//,/$'\n'}" host_bandwidth=1e12 >"$BATS_TEST_TMPDIR/apart.model"
	neighbour "sim:$BATS_TEST_TMPDIR/apart.model:0,1"
	[ "$status" = 0 ]
	json "len([d for r in cases for d in r['derived'] if d['name'] == 'CIL' and abs(d['value'] - 1) < 0.01]) == 12" <<<"$output"
}

@test "in virtual time a neighbour needs a second device" {
	neighbour sim:quiet
	[ "$status" = 77 ]
	[[ $stderr == *"tenants=2:0,1"* ]]
	neighbour sim:quiet:0,1 --sees only:1
	[ "$status" = 77 ]
	[[ $stderr == *"no process"* ]]
}

@test "on the host another process works, and both sides' results are right" {
	neighbour host --neighbour compute --variant launch,launch_with_neighbour
	json "len(cases) == 1" "all(m['observed'] for m in cases[0]['mechanism'])" "cases[0]['check']['status'] == 'ok'" \
		"cases[0]['facts']['neighbour_device'] != ''" <<<"$output"
}

@test "what is no control group, and what a neighbour cannot see, are usage errors that say what can be" {
	neighbour host --group "$BATS_TEST_TMPDIR"
	[ "$status" = 2 ]
	[[ $stderr == *"cgroup.procs; values: none, or "* ]]
	neighbour host --sees 0
	[ "$status" = 2 ]
	[[ $stderr == *"values: same, only:DEVICES"* ]]
	neighbour host --neighbour compute --sees only:0
	[ "$status" = 77 ]
	[[ $stderr == *"no variable selects"* ]]
}

@test "a neighbour that is killed ends the case with the reason" {
	timeout "$HANGS_S" "$bin/micro/neighbour" --device host --type f32 --neighbour compute --variant launch_with_neighbour \
		--budget 60s --format json >"$BATS_TEST_TMPDIR/records" 2>"$BATS_TEST_TMPDIR/errors" &
	local program=$!
	while kill -0 "$program" 2>/dev/null && ! pkill -KILL -P "$(pgrep -P "$program")"; do sleep 0.1; done
	wait "$program" || true
	cat "$BATS_TEST_TMPDIR/errors"
	grep -q 'the neighbour ended' "$BATS_TEST_TMPDIR/errors"
}
