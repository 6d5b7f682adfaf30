#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# gemm/attention on simulated devices whose laws are known, and with results that are wrong.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'
# Nothing but memory costs time, 1 byte a nanosecond; the cache holds nothing.
MEMORY='like = quiet
data = none
memory_bytes = 64G
host_memory_bytes = 64G
launch_ns = 0
block_ns = 0
event_ns = 0
jitter_sigma = 0
block_jitter_sigma = 0
memory_bandwidth = 1e9
llc_bytes = 4096
llc_bandwidth = 1e15
unit_bandwidth = 1e15
flops_f32 = 1e18
flops_bf16 = 1e18
gemm_efficiency = 1
block_share = 1'

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# model NAME LINES: writes ./NAME.sim, like MEMORY but for these lines.
model() {
	printf '%s\n%s\n' "$MEMORY" "$2" >"$1.sim"
}

# measure DEVICE OPTIONS
measure() {
	local device=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	run --separate-stderr timeout "$HANGS_S" "$bin/gemm/attention" --device "$device" $QUICK "$@"
	echo "$device $*: $status $stderr"
}

# says EXPRESSION...: of the only case, where t[variant] is its median in seconds, d[name, variant] a derived value, f its facts.
says() {
	local each checks=()
	for each; do
		checks+=("[$each for c in cases for f in [c['facts']] for t in [{v['name']: v['median_s'] for v in c['variants']}]
			for d in [{(x['name'], x['variant']): x['value'] for x in c['derived']}] for near in [lambda x, y: abs(x - y) < 0.002 * abs(y)]] == [True]")
	done
	json "${checks[@]}" <<<"$output"
}

@test "decode takes the time of its bytes: K, V, the queries, and twice the parts; the chain also four times the scores" {
	model memory ''
	# type, bytes of a number, keys, KV heads, sequences
	while read -r type size keys heads batch; do
		measure sim:./memory.sim --type "$type" --phase "decode-$keys" --heads "$heads" --batch "$batch"
		[ "$status" = 0 ]
		local all=$((heads * batch)) rows=$((4 * heads * batch))
		local kv=$((2 * all * keys * 128 * size)) q=$((rows * 128 * size)) result=$((rows * 128 * 4)) scores=$((rows * keys * size))
		says "f['kv_bytes'] == $kv and f['score_bytes'] == $scores and 1 <= f['parts'] <= $keys / 64" \
			"near(t['read'], 1e-9 * $kv)" \
			"near(t['fused'], 1e-9 * ($kv + $q + $result + 2 * f['parts'] * $rows * 132 * 4))" \
			"near(t['chain'], 1e-9 * ($kv + 2 * $q + 4 * $scores))" \
			"near(d['bandwidth', 'chain'], 1e9) and near(d['bandwidth', 'fused'], ($kv + $q + $result) / t['fused'])" \
			"near(d['read_share', 'fused'], t['read'] / t['fused']) and near(d['fused_speedup', 'fused'], t['chain'] / t['fused'])" \
			"d['roofline_share', 'fused'] == d['read_share', 'fused']"
	done <<-'EOF2'
		f32 4 4096 8 1
		bf16 2 16384 8 1
		bf16 2 1024 2 3
	EOF2
}

@test "prefill takes the time of its arithmetic, in f32 as the peak of multiply-adds, as the chain in the type of its GEMMs" {
	MEMORY=$(grep -v 'memory_bandwidth\|flops' <<<"$MEMORY")
	model flops $'memory_bandwidth = 1e15\nflops_f32 = 1e9\nflops_bf16 = 4e9\nunits = 8\ngemm_tile = 64'
	# 4 * 4 heads * 512 rows of a head * 128 keys * 128 deep, on 8 units
	for type in f32 bf16; do
		measure sim:./flops.sim --type "$type" --phase prefill-128 --mask none --heads 4
		[ "$status" = 0 ]
		local flops=$((4 * 4 * 4 * 128 * 128 * 128)) gemm=8e9
		[ "$type" = f32 ] || gemm=32e9
		says "near(t['fused'], $flops / 8e9)" "near(t['chain'], $flops / $gemm)" "near(d['flop_rate', 'gemm'], $gemm)" \
			"near(d['gemm_share', 'fused'], 8e9 / $gemm)" "near(d['roofline_share', 'chain'], 1)"
	done
	# Half of the time without a mask, for many keys: the first query sees one key, the next two.
	while read -r keys half; do
		measure sim:./flops.sim --type f32 --phase "prefill-$keys" --mask none,causal --heads 2
		[ "$status" = 0 ]
		local pairs=$((keys * (keys + 1) / 2))
		json "[near(c['fused'], 4 * 2 * 4 * 128 * $pairs / 8e9) and near(c['fused'] / n['fused'], $half) and near(c['chain'], n['chain']) and
			near(rate, 8e9) and near(share, $pairs / $keys ** 2)
			for near in [lambda x, y: abs(x - y) < 0.002 * y] for n, c in [[{v['name']: v['median_s'] for v in c['variants']} for c in cases]]
			for d in [{(x['name'], x['variant']): x['value'] for x in cases[1]['derived']}]
			for rate, share in [(d['flop_rate', 'fused'], d['roofline_share', 'chain'])]] == [True]" <<<"$output"
	done <<-'EOF2'
		128 0.50390625
		512 0.50097656
		4096 0.50012207
	EOF2
}

@test "a causal mask saves the chain nothing but what its softmax reads, and has no meaning in decode" {
	model memory ''
	measure sim:./memory.sim --type f32 --phase prefill-128 --mask none,causal --heads 2
	[ "$status" = 0 ]
	local kv=$((2 * 2 * 128 * 128 * 4)) q=$((2 * 512 * 128 * 4)) scores=$((2 * 512 * 128 * 4)) seen='129 / 256'
	json "[near(n['fused'], c['fused']) and near(n['chain'] - c['chain'], 1e-9 * $scores * (1 - $seen)) and
		near(c['chain'] * rate, $kv + 2 * $q + (3 + $seen) * $scores)
		for near in [lambda x, y: abs(x - y) < 0.002 * y] for n, c in [[{v['name']: v['median_s'] for v in c['variants']} for c in cases]]
		for rate in [x['value'] for x in cases[1]['derived'] if (x['name'], x['variant']) == ('bandwidth', 'chain')]] == [True]" <<<"$output"
	measure sim:./memory.sim --type f32 --phase decode-256,prefill-32 --mask none,causal
	[ "$status" = 0 ]
	json '["decode-256" in c["key"] and "mask=none" in c["key"] for c in cases if c["status"] != "ok"] == [True]' \
		'len(cases) == 4 and "skipped" in [c["status"] for c in cases]' <<<"$output"
	measure sim:./memory.sim --phase decode-256 --mask none
	[ "$status" = 2 ]
	[[ $stderr == *'decode sees all keys: --mask causal'* ]]
	measure sim:./memory.sim --mask tree
	[ "$status" = 2 ]
	[[ $stderr == *"'tree'; values: causal none"* ]]
}

@test "K and V of decode are in no cache: it takes as long as without one, and prefill does not" {
	local base=$'like = quiet\nevent_ns = 0\nmemory_bandwidth = 5e9\njitter_sigma = 0\nblock_jitter_sigma = 0\n' phase
	printf '%sllc_tracked = 1\nllc_writes = through\n' "$base" >tracks.model
	printf '%sllc_bytes = 1024\n' "$base" >without.model
	for phase in decode-1K prefill-128; do
		measure sim:./tracks.model --phase "$phase" --heads 2 --variant fused,read
		[ "$status" = 0 ] && printf '%s\n' "$output" >$phase
		measure sim:./without.model --phase "$phase" --heads 2 --variant fused,read
		[ "$status" = 0 ] && printf '%s\n' "$output" >>$phase
	done
	json '[abs(a["read"] - b["read"]) < 0.01 * b["read"] and a["fused"] > 0.95 * b["fused"] for a, b in
		[[{v["name"]: v["median_s"] for v in c["variants"]} for c in cases]]] == [True]' 'cases[0]["facts"]["operand_sets"] >= 2' <decode-1K
	json '[a["read"] < 0.8 * b["read"] for a, b in [[{v["name"]: v["median_s"] for v in c["variants"]} for c in cases]]] == [True]' \
		'"operand_sets" not in cases[0]["facts"]' <prefill-128
	printf '%sllc_bytes = 0\n' "$base" >unknown.model
	measure sim:./unknown.model --phase decode-1K
	[ "$status" = 77 ] || [ "$status" = 3 ]
	[[ $output$stderr == *"last-level cache is unknown"* ]]
}

@test "a wrong result is found, whichever kernel or GEMM it comes from" {
	# With 1 the second kernel's fault may undo the first one's: it flips the same bit.
	for every in 2 3 5; do
		printf 'like = quiet\ncorrupt_launch_every = %d\n' $every >wrong.model
		for variant in fused chain; do
			for phase in decode-256 prefill-32; do
				measure sim:./wrong.model --phase "$phase" --variant "$variant"
				[ "$status" = 1 ]
				json "cases[0]['check']['status'] == 'wrong' or cases[0]['status'] == 'failed'" <<<"$output"
			done
		done
	done
}

@test "results are right in either type on the host and on GPUs that are fake, with several sequences and odd heads" {
	# shellcheck disable=SC2046 # a list of words
	measure host $(budget_for host 60s) --phase prefill-32,prefill-96,decode-96 --mask causal,none --heads 3 --batch 2
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json "[c['check']['status'] for c in cases if c['status'] != 'skipped'] == 5 * ['ok']" <<<"$output"
	need_fakes
	for device in cuda hip; do
		run --separate-stderr env "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL "$HANGS_S" "$bin/gemm/attention" --device "$device" \
			--format json --budget 10m --min-samples 1 --max-samples 1 --warm-up 0 --no-references --phase decode-96,prefill-32 --heads 3 --type f32,bf16
		[ "$status" = 0 ] || [ "$status" = 3 ]
		json "none([c['key'] for c in cases if c['check']['status'] != 'ok'])" 'len(cases) == 4' <<<"$output"
	done
}

@test "what is no attention, and what a device cannot do, is said" {
	measure sim:quiet --phase decode-100
	[ "$status" = 2 ]
	[[ $stderr == *'decode-KEYS and prefill-KEYS'*'multiple of 32'* ]]
	measure sim:quiet --type f64
	[ "$status" = 77 ] || [ "$status" = 3 ]
	[[ $stderr == *'in f32 and bf16'* ]]
	measure sim:h100 --phase prefill-256K --type bf16
	[[ $output == *"exceed a quarter of the device's memory"* ]]
}
