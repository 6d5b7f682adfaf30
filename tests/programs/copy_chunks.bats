#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A bulk copy in chunks on simulated devices of which it is known who passes, and what a chunk costs.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

# chunks MODEL_LINES OPTIONS: copies up on a device with these lines in its model.
chunks() {
	printf 'like = quiet\n%b' "$1" >"$BATS_TEST_TMPDIR/chunks.sim"
	shift
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/copy_chunks" --device "sim:$BATS_TEST_TMPDIR/chunks.sim" --direction up \
		--budget 10m --format json "$@"
	echo "$*: $status $stderr"
}

@test "a small copy passes between chunks where the engine changes streams there, and else where something stands between" {
	local order passes
	for order in ready_first:1 round_robin:1 enqueued_first:0 stream_first:0; do
		passes=${order#*:}
		chunks "copy_engines = 1\nengine_order = ${order%:*}\n" --chunk 1M
		[ "$status" = 0 ]
		json "all(abs(d['chunks_waited', 'wait_chunks_' + v] - 1) < 0.1 for v in ('kernel', 'value', 'event')
			for d in [{(x['name'], x['variant']): x['value'] for x in cases[0]['derived']}])" <<<"$output"
		json "all((d['chunks_waited', 'wait_chunks'] < 1.1) == bool($passes) and (d['wait_ratio', 'wait_chunks'] > 0.95) != bool($passes)
			for d in [{(x['name'], x['variant']): x['value'] for x in cases[0]['derived']}])" <<<"$output"
	done
}

@test "with a second engine nothing waits" {
	chunks 'copy_engines = 2\nengine_order = stream_first\n' --chunk 1M
	[ "$status" = 0 ]
	json "all(t['wait_whole'] < 1.1 * t['wait_idle'] for t in [{v['name']: v['median_s'] for v in cases[0]['variants']}])" <<<"$output"
}

# A copy takes 2.5 us beside its bytes, an empty kernel 2 us and 0.5 us, an event 0.1 us, a value 0.2 us.
@test "the rate that is kept is that of the bytes and of what a chunk costs, whatever the number of chunks" {
	chunks 'copy_engines = 1\n' --chunk 256K,1M,4M
	[ "$status" = 0 ]
	json "all(abs(d['rate_kept', v] / (1 / (1 + gap_s / (t['whole'] / r['facts']['chunks']))) - 1) < 0.001
		for r in cases for t in [{v['name']: v['median_s'] for v in r['variants']}]
		for d in [{(x['name'], x['variant']): x['value'] for x in r['derived']}]
		for v, gap_s in (('chunks', 2.5e-6), ('chunks_kernel', 5e-6), ('chunks_event', 2.6e-6), ('chunks_value', 2.7e-6)))" <<<"$output"
	json "[r['facts']['bulk_bytes'] for r in cases] == [1 << 23] * 3" <<<"$output"
	chunks 'copy_engines = 1\n' --chunk 16K
	json "(cases[0]['facts']['chunks'], cases[0]['facts']['bulk_bytes']) == (128, 1 << 21)" <<<"$output"
}

@test "a wait for a bulk that had ended before is none" {
	chunks 'copy_engines = 1\nlaunch_ns = 1e6\n' --chunk 1M
	[ "$status" = 0 ]
	json "{f['variant'] for f in cases[0]['validity']['flags'] if f['flag'] == 'mechanism'} == \
		{'wait_whole', 'wait_chunks', 'wait_chunks_value', 'wait_chunks_event'}" <<<"$output"
}

@test "wrong bytes in the bulk or in the small copy are found" {
	chunks 'copy_engines = 1\ncorrupt_copy_every = 97\n' --chunk 4M
	[ "$status" = 1 ]
	[[ $stderr == *"wrong"* || $output == *'"wrong'* ]]
}

@test "what cannot be is one line: a chunk of more than half of the bulk, no engine" {
	chunks '' --chunk 8M
	[ "$status" = 2 ]
	[[ ${stderr_lines[0]} == *'a bulk of 8388608 bytes is not two chunks of 8388608'* ]]
	chunks 'copy_engines = 0\n' --chunk 1M
	[ "$status" = 77 ]
}
