#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/link_contention where nothing is simulated, and with input that it cannot measure. tests/method/test_link_contention.py
# has the shares of simulated machines.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

links() { timeout "$HANGS_S" "${GPUSIG_BIN:-$root/bin}/micro/link_contention" --min-samples 6 --max-samples 6 --warm-up 0 "$@"; }

@test "a host's devices copy at once, and their buses are unknown" {
	run --separate-stderr links --device host:0,1 --size 1M --format json
	[ "$status" != 1 ]
	json 'len(cases) == 3 and {c["status"] for c in cases} == {"ok"} and {c["check"]["status"] for c in cases} == {"ok"}' \
		'{c["facts"]["pair_0_1"].split()[1] for c in cases} == {"topology=unknown"}' \
		'all("pairs_that_differ" not in c["facts"] and c["facts"]["topology_not_known"] for c in cases)' <<<"$output"
}

# The fake boards are 0000:01:00.0 and 0000:02:00.0, of which their driver says that they meet at a host bridge.
@test "the port that GPUs share is the system's, or else where their driver says that they meet" {
	need_fakes
	cd "$BATS_TEST_TMPDIR"
	local port=sys/pci0000:00/0000:00:01.1 vendor
	mkdir -p "$port/0000:01:00.0" "$port/0000:02:00.0" none
	for vendor in cuda hip; do
		LD_LIBRARY_PATH=$(fakes) GPUSIG_PCI_DEVICES=$port run --separate-stderr links --device "$vendor:0,1" --direction up --size 64K --format json
		json 'cases[0]["facts"]["pair_0_1"].endswith(" topology=shared port=0000:00:01.1")' 'cases[0]["check"]["status"] == "ok"' <<<"$output"
	done
	LD_LIBRARY_PATH=$(fakes) GPUSIG_PCI_DEVICES=none run --separate-stderr links --device cuda:0,1 --direction up --size 64K --format json
	json 'cases[0]["facts"]["pair_0_1"].endswith(" topology=apart")' <<<"$output"
}

@test "what cannot be measured is one line" {
	run --separate-stderr links --device sim
	[ "$status" = 77 ]
	[[ $stderr == *"needs 2 devices; sim has 1"* ]]
	run --separate-stderr links --device 'sim:quiet?copy_engines=0:0,1'
	[ "$status" = 77 ]
	[[ $stderr == *"does not support copy_engine"* ]]
	run --separate-stderr links --device 'sim:quiet?lacks=peer:0,1'
	[ "$status" = 77 ]
	[[ $stderr == *"does not support peer"* ]]
	run --separate-stderr links --device sim:quiet:0,1 --size 1G --direction up
	[ "$status" = 77 ]
	[[ $output == *"skipped: "*"memory"* ]]
	run --separate-stderr links --device sim:quiet:0,1 --direction sideways
	[ "$status" = 2 ]
	[[ $stderr == *"up"*"both"* ]]
}

@test "a copy of any device or direction that goes wrong is found" {
	local every
	for every in 1 2 3 5; do
		run --separate-stderr links --device "sim:quiet?corrupt_copy_every=$every:0-2" --size 64K --format json
		[ "$status" = 1 ]
		json 'all(c["check"]["status"] == "failed" for c in cases)' <<<"$output"
	done
}

@test "one variant alone, without the pairs" {
	run --separate-stderr links --device sim:quiet:0,1 --direction both --size 64K --variant all --format json
	[ "$status" = 0 ]
	json '{d["variant"] for c in cases for d in c["derived"]} == {"all"}' 'not any(f.startswith("pair_") for c in cases for f in c["facts"])' \
		<<<"$output"
}
