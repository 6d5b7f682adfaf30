#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/copy_queue on simulated engines of known laws, and where there is none.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

# queue CHANGES OPTIONS: the records of a simulated device whose model has these changes.
queue() {
	local changes=$1
	shift
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/copy_queue" --device "sim:quiet?$changes" --direction up \
		--min-samples 4 --max-samples 4 --warm-up 0 --format json "$@"
	echo "$changes: $status $stderr"
}

@test "the order in which engines take copies is found, with few and many, shared and not" {
	local engines order sticky priority=0 switch_ns=0
	for engines in 1 2 3 5; do
		for order in ready_first enqueued_first stream_first round_robin; do
			for sticky in 0 1; do
				queue "copy_engines=$engines,engine_order=$order,engine_sticky=$sticky,engine_priority=$priority,engine_switch_ns=$switch_ns"
				[ "$status" = 0 ]
				json "[r['facts']['engine_order'] for r in cases] == ['$order']" \
					"[r['facts']['priority_effect'] for r in cases] == [('no effect here', 'yes')[$priority]]" \
					"[abs(d['value'] - $switch_ns * 1e-9) < 1e-9 for r in cases for d in r['derived']
						if d['name'] == 'switch_time'] == [True]" \
					"all(m['observed'] for r in cases for m in r['mechanism'])" <<<"$output"
				priority=$((1 - priority))
				switch_ns=$((switch_ns == 0 ? 4000 : 0))
			done
			priority=$((1 - priority)) # so that each order meets both with sticky engines and without
		done
	done
}

@test "a small copy waits for all of a bulk, for a chunk or for none of it, as engines are" {
	share() { # VARIANT CONDITION
		json "[$2 for r in cases for d in r['derived'] if d['name'] == 'wait_share' and d['variant'] == '$1'
			for share in [d['value']]] == [True]" <<<"$output"
	}
	queue copy_engines=2,host_engines=1
	share behind_bulk '1 < share < 1.05'
	share behind_bulk_priority '1 < share < 1.05'
	share behind_bulk_opposite 'share < 0.05'
	share behind_bulk_kernel 'share < 0.05'
	share behind_chunks '0.06 < share < 0.1' # one of 16 and the launch of what follows
	queue copy_engines=2,host_engines=1,engine_order=stream_first
	share behind_chunks '1 < share < 1.3' # 16 copies each have a latency
	share behind_chunks_priority '1 < share < 1.3'
	queue copy_engines=2,host_engines=1,engine_order=stream_first,engine_priority=1
	share behind_chunks '1 < share < 1.3'
	share behind_chunks_priority '0.06 < share < 0.1'
	queue copy_engines=2
	share behind_bulk 'share < 0.05'
}

@test "without an engine, with too many, and with too little memory it says so" {
	queue copy_engines=0
	[ "$status" = 77 ]
	[[ $stderr == *'does not support copy_engine'* ]]
	queue copy_engines=14
	[ "$status" = 0 ]
	json '[(r["facts"]["engine_order"], r["facts"]["priority_effect"]) for r in cases] == [("not measured", "not measured")]' \
		'["first_ready" in r["facts"]["not_measured"] and "more copies run at once" in r["facts"]["not_measured"] for r in cases] == [True]' \
		'[d["name"] for r in cases for d in r["derived"] if d["name"] in ("turn", "switch_time")] == []' <<<"$output"
	queue copy_engines=1 --size 1G
	[ "$status" = 77 ]
	[[ $stderr == *'exceed the device'* ]]
	queue copy_engines=1 --size 1M --small 128K
	[ "$status" = 2 ]
	[[ $stderr == *'a small copy of 131072 bytes is more than 1/16 of the bulk'* ]]
	queue 'copy_engines=1,priorities=1'
	[ "$status" = 0 ]
	json '["priority" in r["facts"]["not_measured"] for r in cases] == [True]' <<<"$output"
}
