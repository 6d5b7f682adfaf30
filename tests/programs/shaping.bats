#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# The pipeline of GEMMs and communications: what residency and priority do where time is virtual and slots are counted.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

program=${GPUSIG_BIN:-$root/bin}/overlap/shaping
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'
ONE=(--min-samples 1 --max-samples 1) # where results are looked at, or times that nothing makes differ

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# 4 units of 2 slots. A tile of 16 x 16 of the GEMM 64 x 448 x 64 takes about 37 us, 112 tiles 14 waves.
	printf '%s\n' 'like = quiet' 'units = 4' 'slots_per_unit = 2' 'shared_per_block_bytes = 64K' 'gemm_tile = 16' \
		'launch_ns = 200' 'flops_f32 = 4e9' >slots.model
	# No block ever slows another one; only slots can be missing: 8 here, 1024 there.
	printf '%s\n' 'like = quiet' 'units = 4' 'slots_per_unit = 2' 'block_share = 0.5' 'shared_per_block_bytes = 64K' \
		'launch_ns = 100' 'block_ns = 100' 'event_ns = 0' 'value_ns = 0' 'memory_bandwidth = 1e15' 'llc_bandwidth = 1e15' 'max_queued = 4096' >few.model
	sed 's/^units = 4/units = 64/; s/^slots_per_unit = 2/slots_per_unit = 16/; s/^block_share = .*/block_share = 0.0625/' few.model \
		>many.model
}

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$program" --device "$devices" $QUICK $(budget_for "$devices" 1s) "$@"
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
	measure sim:./slots.model --tile own --scenario mb-a2a --shared SHARED --blocks 4 --mflop 4
	[ "$status" = 0 ]
	about "d('first_comm_block', 'overlap') > 10 * 37e-6"
	about "36e-6 < d('first_comm_block', 'priority') < 40e-6"
	about "d('first_comm_block', 'shaped_priority') < 3e-6"
	# Blocks start in order: what waits behind pending blocks of the same priority can't use a slot that is free.
	about "d('first_comm_block', 'shaped') > 10 * 37e-6"
}

@test "a claim costs what the residents that it takes away gave" {
	measure sim:./slots.model --tile own --scenario mb-a2a --shared SHARED --blocks 4 --mflop 4
	about "1.99 < d('claim_cost', 'gemm_shaped') < 2.01 and d('normalised_time', 'shaped_priority') > 1.9"
	json 'next(r for r in rows if r["kind"] == "case")["facts"]["shaped_residents"] == 1' <<<"$output"
	measure sim:./slots.model --tile own --scenario mb-a2a --shared SHARED/2 --blocks 4 --mflop 4
	about "0.999 < d('claim_cost', 'gemm_shaped') < 1.001"
}

@test "starved communication is serial, and no setting beats the bounds" {
	for scenario in cb-ar mb-ar cb-a2a mb-a2a; do
		measure sim:./slots.model --tile own --scenario "$scenario" --shared SHARED --blocks 4 --mflop 4
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
			measure "$devices" --scenario cb-ar,mb-a2a --shared SHARED/4 --mflop 4 --iterations "$iterations" "${ONE[@]}"
			[ "$status" = 0 ] || [ "$status" = 3 ]
			json 'all(sum(m["name"] == "order_is_kept" for m in r["mechanism"]) == 4 and all(m["observed"] for m in r["mechanism"])
				and r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' <<<"$output"
		done
	done
}

@test "where nothing is shared every loss is 1.00, of every variant, and the time is the pipeline's" {
	for devices in sim:./many.model sim:./many.model:0-2; do
		measure "$devices" --shared SHARED/8 --mflop 4 --tile own,64x64x64
		[ "$status" = 0 ]
		json 'len(cases) == 8' 'none([(r["case"], x["name"], x["variant"], x["value"]) for r in cases for x in r["derived"]
			if x["name"].endswith("_CIL") and not abs(x["value"] - 1) < 1e-6])' \
			'all(sum(x["name"].endswith("_CIL") and x["rounds"] == 9 and x["ci_low"] <= x["value"] <= x["ci_high"]
				for x in r["derived"]) == 8 for r in cases)' <<<"$output"
	done
	measure sim:./many.model --scenario mb-ar --shared SHARED/8 --mflop 40 --tile 64x64x32 --iterations 16
	about "all(abs(d('time_ratio', v) / d('time_ratio_pipelined', None) - 1) < 0.01
		for v in ('overlap', 'shaped', 'priority', 'shaped_priority'))"
}

@test "the loss of a shaped GEMM is that of the same GEMM: the claim's cost is not in it" {
	measure sim:./slots.model --tile own --scenario mb-a2a --shared SHARED --blocks 4 --mflop 4
	about "d('claim_cost', 'gemm_shaped') > 1.99 and abs(d('gemm_CIL', 'shaped_priority') - 1) < 0.02"
}

@test "the time when both run is at most (i-1)/i, and 90 % with many iterations" {
	for iterations in 2 8 128; do
		measure sim:./many.model --scenario mb-ar --shared 0 --mflop 40 --tile 64x64x32 --blocks 8 --iterations "$iterations" "${ONE[@]}"
		about "all(d('overlap_rate', v) <= d('overlap_rate_pipelined', None) <= ($iterations - 1) / $iterations
			for v in ('overlap', 'priority'))"
	done
	about "all(d('overlap_rate', v) >= 0.9 for v in ('overlap', 'priority'))"
}

# lost VARIANT: of each case, by its grid, how much of the time that could be hidden was not.
lost() {
	echo "(lambda case: (lambda d: (d['time_ratio', '$1'] - d['time_ratio_pipelined', None]) / (1 - d['time_ratio_pipelined', None]))(
		{(x['name'], x['variant']): x['value'] for x in case['derived']}))"
}

@test "overlap decays towards serial as the GEMM's grid grows; with priority it comes back when blocks are short" {
	measure sim:./few.model --scenario mb-a2a --shared 0 --blocks 2 --tile 64x64x32 --grid 2,4,6,8,16,32,1024 "${ONE[@]}"
	[ "$status" = 0 ]
	# 8 slots: six blocks leave those that the communication needs, eight leave none.
	json "(lambda at: all(at[g] < 0.01 for g in (2, 4, 6)) and all(at[g] > 0.98 for g in (8, 16, 32, 1024)))(
		{r['case']['grid']: $(lost overlap)(r) for r in cases})" <<<"$output"
	json "(lambda at: at[8] + 1e-9 > at[16] > at[32] > at[1024] and at[1024] < 0.4)({r['case']['grid']: $(lost priority)(r) for r in cases})" \
		<<<"$output"
}

@test "the tile decides how many blocks are resident" {
	# 64x64x32 of f32 are 16 KiB, 64x64x64 are 32 KiB.
	printf '%s\n' 'like = quiet' 'shared_per_unit_bytes = 100K' 'shared_per_block_bytes = 99K' 'shared_reserved_bytes = 1K' \
		'shared_granularity_bytes = 128' 'slots_per_unit = 16' >a40.model
	measure sim:./a40.model --scenario cb-ar --shared 0,8K --mflop 4 --tile 64x64x32,64x64x64
	json '{(r["case"]["tile"], r["case"]["shared"]): r["facts"]["residents"] for r in cases} == {
		("64x64x32", 0): 5, ("64x64x32", 8192): 5, ("64x64x64", 0): 3, ("64x64x64", 8192): 3}' \
		'{r["case"]["tile"]: r["facts"]["shaped_residents"] for r in cases if r["case"]["shared"]} == {"64x64x32": 4, "64x64x64": 2}' \
		<<<"$output"
}

@test "a grid without textbook tiles is refused; in a list with them it is skipped" {
	measure sim --scenario cb-ar --shared 0 --tile own --grid 4 --mflop 4
	[ "$status" = 2 ]
	[[ $stderr == *"a grid needs textbook tiles"* ]]
	measure sim --scenario cb-ar --shared 0 --tile own,64x64x32 --grid 0,2 --mflop 4
	[ "$status" = 0 ]
	json '[r["status"] for r in cases].count("ok") == 3 and len(cases) == 4' <<<"$output"
}

@test "a message is one mb result, or what it is told to be; less than the devices can divide is skipped" {
	# mb is 8192 x 57344 x 8192 over 128, 64 x 448 floats; a part is a multiple of 256 bytes.
	measure sim:0-2 --scenario cb-ar,mb-a2a --shared 0 --mflop 4 --message 0,100000,100 "${ONE[@]}"
	[ "$status" = 0 ]
	json '{(r["case"]["message"], r["facts"]["message_bytes"]) for r in cases if r["status"] == "ok"} == {(0, 114432), (100000, 99840)}' \
		'{r["case"]["message"] for r in cases if r["status"] == "skipped"} == {100}' <<<"$output"
	[[ $output == *"a message of 100 bytes is too short for 3 devices"* ]]
	measure sim:a40:0-3 --scenario cb-ar --shared 0 --mflop 0 --message 0,896M "${ONE[@]}"
	json '[r["facts"]["message_bytes"] for r in cases] == [8192 * 57344 * 4, 8192 * 57344 * 2]' <<<"$output"
}

@test "one device is called a stand-in, several run the collective" {
	for devices in 'sim stand-in' 'sim:0,1 allreduce' 'sim:0-8 allreduce'; do
		measure "${devices% *}" --scenario mb-ar --shared 0 --mflop 4 "${ONE[@]}"
		[ "$status" = 0 ]
		json "all(r['facts']['exchange'].startswith('${devices#* }') for r in rows if r['kind'] == 'case')" <<<"$output"
	done
}

@test "what arrives is checked on every device" {
	# A device's launches: GEMMs, and the kernels of the exchange.
	for every in 1 5 11; do
		for scenario in cb-ar cb-a2a; do
			printf '%s\n' 'like = quiet' "corrupt_launch_every = $every" >wrong.model
			measure sim:./wrong.model:0-3 --scenario "$scenario" --shared 0 --mflop 4
			[ "$status" = 1 ]
			[[ $stderr == *"wrong result"* ]]
		done
	done
}

@test "without tiles only the claim of nothing is measured, without priority only equal streams" {
	printf '%s\n' 'like = quiet' 'lacks = gemm_tiled priority' 'priorities = 1' >plain.model
	measure sim:./plain.model --tile own --scenario cb-ar --shared 0,SHARED/2 --mflop 4
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
	for words in '--iterations 1' '--iterations 129' '--blocks 0' '--mflop -1' '--scenario cb' '--shared x'; do
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
