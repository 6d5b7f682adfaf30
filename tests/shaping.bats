#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The pipeline of GEMMs and communications: what residency and priority do where time is virtual and slots are counted.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

program=${GPUSIG_BIN:-$root/bin}/overlap/shaping
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --budget 1s --format json'

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# 4 units of 2 slots. A tile of 16 x 16 of the GEMM 64 x 448 x 64 takes about 37 us, 112 tiles 14 waves.
	printf '%s\n' 'like = quiet' 'units = 4' 'slots_per_unit = 2' 'shared_per_block_bytes = 64K' 'gemm_tile = 16' \
		'launch_ns = 200' 'flops_f32 = 4e9' >slots.model
}

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout 120 "$program" --device "$devices" $QUICK "$@"
	echo "$devices $*: $status $stderr"
}

# about EXPRESSION: of the only case, where d(NAME, VARIANT) is a derived value and t(VARIANT) a time.
about() {
	json "(lambda c: (lambda d, t: $1)(
		lambda n, v: next(x['value'] for x in c['derived'] if x['name'] == n and x['variant'] == v),
		lambda v: next(x['median_s'] for x in c['variants'] if x['name'] == v)))(
		next(r for r in rows if r['kind'] == 'case'))" <<<"$output"
}

@test "the first block waits for whole waves; with priority for one block; with free slots besides, for nothing" {
	measure sim:./slots.model --scenario mb-a2a --shared SHARED --blocks 4 --mflop 4
	[ "$status" = 0 ]
	about "d('first_comm_block', 'overlap') > 10 * 37e-6"
	about "36e-6 < d('first_comm_block', 'priority') < 40e-6"
	about "d('first_comm_block', 'shaped_priority') < 3e-6"
	# Blocks start in order: what waits behind pending blocks of the same priority can't use a slot that is free.
	about "d('first_comm_block', 'shaped') > 10 * 37e-6"
}

@test "a claim costs what the residents that it takes away gave" {
	measure sim:./slots.model --scenario mb-a2a --shared SHARED --blocks 4 --mflop 4
	about "1.99 < d('claim_cost', 'gemm_shaped') < 2.01 and d('normalised_time', 'shaped_priority') > 1.9"
	json 'next(r for r in rows if r["kind"] == "case")["facts"]["max_residents"] == 1' <<<"$output"
	measure sim:./slots.model --scenario mb-a2a --shared SHARED/2 --blocks 4 --mflop 4
	about "0.999 < d('claim_cost', 'gemm_shaped') < 1.001"
}

@test "starved communication is serial, and no setting beats the bounds" {
	for scenario in cb-ar mb-ar cb-a2a mb-a2a; do
		measure sim:./slots.model --scenario "$scenario" --shared SHARED --blocks 4 --mflop 4
		[ "$status" = 0 ]
		about "d('time_ratio', 'overlap') < 1.005"
		about "all(d('time_ratio', v) > 0.995 * d('time_ratio_pipelined', None) >= 0.995 * d('time_ratio_min', None)
			for v in ('overlap', 'shaped', 'priority', 'shaped_priority'))"
		about "all(0 <= d('overlap_rate', v) <= 5 / 6 for v in ('overlap', 'shaped', 'priority', 'shaped_priority'))"
		about "all(t(v) > max(t('gemm_alone'), t('comm_alone')) for v in ('overlap', 'priority'))"
	done
}

@test "every variant keeps the order, also with 2 and with 12 iterations and on several devices" {
	for devices in sim sim:0-2 host:0,1; do
		for iterations in 2 3 12; do
			[ "$iterations" != 3 ] || [ "${GPUSIG_TEST_ALL:-}" = 1 ] || continue
			measure "$devices" --scenario cb-ar,mb-a2a --shared SHARED/4 --mflop 4 --iterations "$iterations"
			[ "$status" = 0 ] || [ "$status" = 3 ]
			json 'all(sum(m["name"] == "order_is_kept" for m in r["mechanism"]) == 4 and all(m["observed"] for m in r["mechanism"])
				and r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' <<<"$output"
		done
	done
}

@test "one device is called a stand-in, several are called peers" {
	for devices in 'sim stand-in' 'sim:0,1 peers' 'sim:0-8 peers'; do
		measure "${devices% *}" --scenario mb-ar --shared 0 --mflop 4
		json "all(r['facts']['exchange'].startswith('${devices#* }:') for r in rows if r['kind'] == 'case')" <<<"$output"
	done
}

@test "without tiles only the claim of nothing is measured, without priority only equal streams" {
	printf '%s\n' 'like = quiet' 'lacks = gemm_tiled priority' 'priorities = 1' >plain.model
	measure sim:./plain.model --scenario cb-ar --shared 0,SHARED/2 --mflop 4
	[ "$status" = 0 ]
	json '[r["status"] for r in rows if r["kind"] == "case" and r["case"]["shared"] > 0] == ["skipped"]' <<<"$output"
	json '[v["name"] for r in rows if r["kind"] == "case" for v in r["variants"]] == [
		"gemm_alone", "comm_alone", "serial", "overlap"]' <<<"$output"
	[[ $output == *"shared memory cannot be claimed"* ]]
}

@test "a wrong GEMM or a wrong message is a failure" {
	for every in 1 7; do
		printf '%s\n' 'like = quiet' "corrupt_launch_every = $every" >wrong.model
		measure sim:./wrong.model --scenario mb-ar --shared 0 --mflop 4
		[ "$status" = 1 ]
		[[ $stderr == *"wrong result"* ]]
	done
}

@test "a loop of one iteration, too many or no blocks is refused" {
	for words in '--iterations 1' '--iterations 129' '--blocks 0' '--mflop 0' '--scenario cb' '--shared x'; do
		# shellcheck disable=SC2086 # words is a command line
		measure sim $words
		[ "$status" = 2 ]
	done
}

@test "a round that is longer than a queue is skipped" {
	printf '%s\n' 'like = quiet' 'max_queued = 64' >short.model
	measure sim:./short.model --scenario cb-ar --shared 0 --mflop 4 --iterations 6,8
	[ "$status" = 0 ]
	json '[r["status"] for r in rows if r["kind"] == "case"] == ["ok", "skipped"]' <<<"$output"
	[[ $output == *"queue entries"* ]]
}
