#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# collectives/pairs: every pair of ranks, on one node and across network namespaces that are nodes of their own.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../bats/nodes

bin=${GPUSIG_BIN:-$root/bin}/collectives
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
QUICK='--min-samples 1 --max-samples 1 --warm-up 0 --budget 10m --format json'

setup() {
	[ -x "$bin/pairs" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() { nodes_close; }

# ranks N OPTIONS: `run` on N ranks of this node.
ranks() {
	local count=$1
	shift
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" mpirun -n "$count" "$bin/pairs" $QUICK "$@"
	echo "$count $*: $status $stderr"
}

# ------------------------------------------------------------------ on one node

@test "every pair once in the fewest rounds, verified, and marked as within a node" {
	for ranks in 2 3 4 5 6; do
		ranks "$ranks" --size 4K --window 3 --concurrent yes,no
		[ "$status" = 3 ] # too few samples
		json "all(c['status'] == 'ok' and c['check']['status'] == 'ok' for c in cases) and len(cases) == 2" \
			"all(c['facts']['rounds'] == c['facts']['rounds_of_all_pairs'] == $ranks - (1 - $ranks % 2) for c in cases)" \
			"all(c['facts']['pairs'] == $ranks * ($ranks - 1) // 2 and c['facts']['place'] == 'within a node' for c in cases)" \
			"all({d['name'] for d in c['derived'] if d['name'].startswith('link_latency')} ==
				{'link_latency %d-%d' % (a, b) for b in range($ranks) for a in range(b)} for c in cases)" \
			"rows[0]['primary'] == []" <<<"$output"
	done
	printf '%s\n' "$output" >records
	fits_schema records
}

@test "random matchings are as many as are asked for, follow the seed, and may leave pairs out" {
	for seed in 1 1 2; do
		ranks 6 --size 8 --window 1 --pairing random --rounds 2 --seed $seed
		json 'cases[0]["facts"]["rounds"] == 2 and cases[0]["check"]["status"] == "ok" and 3 <= cases[0]["facts"]["pairs"] <= 6' <<<"$output"
		"$TEST_PYTHON" -c 'import json, sys
case = json.loads(sys.stdin.read().splitlines()[1])
print(*(d["name"] for d in case["derived"] if d["variant"] == "forward" and d["name"].startswith("link_")), sep="\n")' <<<"$output" >>"pairs$seed"
	done
	# Twice the same, and then others.
	diff <(head -n $(($(wc -l <pairs1) / 2)) pairs1) <(tail -n $(($(wc -l <pairs1) / 2)) pairs1)
	run ! diff -q pairs2 <(head -n "$(wc -l <pairs2)" pairs1)
}

@test "one way alone is measured alone" {
	ranks 3 --size 8 --way forward,round_trip
	json '{d["variant"] for d in cases[0]["derived"] if d["name"].startswith("link_")} == {"forward", "round_trip"}' \
		'{d["name"] for d in cases[0]["derived"] if d["variant"] is None} == {"max_latency", "median_latency"}' <<<"$output"
}

@test "every sample of a pair counts, however many checks follow, and no other pass" {
	run --separate-stderr timeout "$HANGS_S" mpirun -n 2 "$bin/pairs" -b 64 -e 128 -f 2 -n 7 -w 3 --budget 10m --format json
	json 'sum(c["check"]["untimed"] for c in cases) >= 8 and len(cases) == 2' \
		'all(d["rounds"] == v["n"] == 7 - c["surroundings"].get("rounds_left_out", 0)
			for c in cases for v in c["variants"] for d in c["derived"]
			if d["variant"] == v["name"] and d["name"].startswith("link_"))' <<<"$output"
}

@test "bad input is 2, one line, and names what exists" {
	while read -r words; do
		[ -n "$words" ] || continue
		# shellcheck disable=SC2086 # words are words
		run --separate-stderr mpirun -n 4 "$bin/pairs" $words
		echo "$words: $status $stderr"
		[ "$status" = 2 ]
		[ "$(grep -c '^gpusig:' <<<"$stderr")" = 1 ]
		[ -z "$output" ]
	done <<-END
		--rounds some
		--rounds 4
		--scope here
		--scope same-rail:0
		--scope within:2
		--size 9
		--way up
		--rounds 0
		--rounds -1
		--pairing ring
		--window 0
		--size 4G
		--concurrent maybe
		-n many
	END
}

@test "one rank alone, ranks of one node as nodes, and a simulated device, are 77 with the reason" {
	run --separate-stderr "$bin/pairs" --size 64
	[ "$status" = 77 ]
	[[ $stderr == *'needs at least 2 ranks'* ]]
	ranks 2 --scope between
	[ "$status" = 77 ]
	[[ $stderr == *'all ranks are on one node: start one on every node (mpirun --map-by ppr:1:node'* ]]
	ranks 2 --device sim
	[ "$status" = 77 ]
}

@test "a message that arrives wrong is 1, with the round, the ranks, the message and the byte" {
	mpicc -shared -fPIC -o corrupt.so "$root/tests/bats/corrupt_pair.c"
	for way in forward backward both_ways; do
		from=$([ "$way" = backward ] && echo 2 || echo 0)
		run --separate-stderr mpirun -n 4 -x LD_PRELOAD="$PWD/corrupt.so" -x CORRUPT_FROM="$from" "$bin/pairs" --size 4K --window 2 --way "$way" \
			--budget 10m --format json
		echo "$way: $status $stderr"
		[ "$status" = 1 ]
		[[ $stderr == *"$way"*"rank 1: round "*", from rank $from: message 1: byte 2048 is "*", not "* ]]
	done
	# Each end of a ping receives.
	run --separate-stderr mpirun -n 4 -x LD_PRELOAD="$PWD/corrupt.so" -x CORRUPT_FROM=3 "$bin/pairs" --way round_trip --budget 10m
	[ "$status" = 1 ]
	[[ $stderr == *"rank 1: round "*", from rank 3: message 0: byte 4 is "* ]]
}

# ------------------------------------------------------------------ on devices

@test "windows of device memory are staged, or given to an MPI library that says it takes them" {
	need_fakes
	export FAKE_GPUS=2
	local drivers
	drivers=$(readlink -f "$(fakes)")
	LD_LIBRARY_PATH=$drivers ranks 2 --device cuda --size 4K --window 3
	json 'cases[0]["status"] == "ok" and cases[0]["check"]["status"] == "ok"' \
		'cases[0]["facts"]["transport"] == "device memory, each window staged through pinned host memory"' \
		'cases[0]["facts"]["rank_devices"] == "cuda:0 cuda:1"' <<<"$output"
	build_aware
	LD_PRELOAD=$PWD/aware.so LD_LIBRARY_PATH=$drivers ranks 2 --device cuda --size 4K --window 3
	json 'cases[0]["status"] == "ok" and cases[0]["check"]["status"] == "ok"' \
		'cases[0]["facts"]["transport"] == "device memory, passed to the MPI library directly"' <<<"$output"
}

# ------------------------------------------------------------------ across nodes

@test "several ranks a node: pairs within and between are never mixed; and the collectives run across nodes" {
	need_nodes
	for scope in between/4/2 within/2/1 same-rail/2/1 cross-rail/2/1 same-rail:1/4/2; do
		IFS=/ read -r scope pairs rounds <<<"$scope"
		# shellcheck disable=SC2086 # QUICK is a list of words
		run --separate-stderr on_nodes -n 4 --map-by ppr:2:node "$bin/pairs" $QUICK --size 4K --scope "$scope"
		echo "$scope: $status $output $stderr"
		json "(cases[0]['facts']['pairs'], cases[0]['facts']['rounds'], cases[0]['check']['status']) == ($pairs, $rounds, 'ok')" \
			"cases[0]['facts']['place'].startswith('within' if '$scope' == 'within' else 'between') and cases[0]['facts']['hosts'] == 'n1 n1 n2 n2'" \
			"cases[0]['facts'].get('rail_of_rank') == {'same-rail': '0 1 0 1', 'cross-rail': '0 1 0 1', 'same-rail:1': '0 0 0 0'}.get('$scope')" \
			"{d['name'].split()[1] for d in cases[0]['derived'] if d['name'].startswith('link_')} == set({
				'between': '0-2 0-3 1-2 1-3', 'within': '0-1 2-3', 'same-rail': '0-2 1-3', 'cross-rail': '0-3 1-2',
				'same-rail:1': '0-2 0-3 1-2 1-3'}['$scope'].split())" <<<"$output"
	done
	for program in allreduce allgather reduce_scatter; do
		[ -x "$bin/$program" ] || continue
		# shellcheck disable=SC2086 # QUICK is a list of words
		run --separate-stderr on_nodes --map-by ppr:1:node "$bin/$program" $QUICK --size 4K --algorithm ring,library
		json 'cases[0]["check"]["status"] == "ok" and rows[0]["job"]["hosts"] == 4' \
			'cases[0]["facts"]["timed"] == "longest of the ranks'"'"' durations"' <<<"$output"
	done
}

# rates: of adapters by the nodes' first ranks, from the records in $output.
rates() {
	json "(lambda rates: $1)({d['name'].removeprefix('adapter_rate '): d['value'] for d in cases[0]['derived'] if d['name'].startswith('adapter_rate')})" \
		"$2" <<<"$output"
}

# Messages that answer wait behind data in the queue of a slow link, so the two directions may come one after the other.
@test "what the adapter of each node sends is its link's rate, and where counters lack what was sent it is said" {
	need_nodes
	node_rate 2 10mbit
	# shellcheck disable=SC2086 # QUICK is a list of words
	set -- "$bin/pairs" $QUICK --way both_ways --size 64K --window 4
	run --separate-stderr on_nodes -n 2 --map-by ppr:1:node "$@"
	echo "$status $output $stderr"
	rates 'sorted(rates) == ["0/eth0", "1/eth0"] and 0.2 * 1.25e6 < rates["1/eth0"] < 1.3 * 1.25e6' \
		'"adapters_not_counted" not in cases[0]["facts"]'
	# shellcheck disable=SC2016 # expanded in the nodes
	run --separate-stderr on_nodes -n 2 --map-by ppr:1:node \
		sh -c '[ "$(hostname)" = n1 ] || mount -t tmpfs none /sys/class/net; exec "$@"' sh "$@"
	echo "$status $output $stderr"
	rates 'list(rates) == ["0/eth0"]' 'cases[0]["facts"]["adapters_not_counted"] == "the node of rank 1: 0 of what its ranks sent"'
	run --separate-stderr on_nodes -n 4 --map-by ppr:2:node "$@" --scope within
	rates 'rates == {}' '"adapters_not_counted" not in cases[0]["facts"]'
}
