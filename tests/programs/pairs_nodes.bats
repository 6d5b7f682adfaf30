#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# collectives/pairs finds what is slow between network namespaces that are nodes of their own. It measures, so the machine must be idle.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../bats/nodes

bin=${GPUSIG_BIN:-$root/bin}/collectives
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
SLOW_RATE=10mbit # a quarter of what need_nodes gives

setup() {
	[ -x "$bin/pairs" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() { nodes_close; }

# measure OPTIONS: between four nodes; ./found has the findings of its report.
measure() {
	rm -rf results && mkdir results
	run on_nodes --map-by ppr:1:node "$bin/pairs" --size 64K --window 4 --min-samples 6 --max-samples 6 --warm-up 0 \
		--check end --budget 10m --out "$PWD/results/records.jsonl" "$@"
	echo "$status $output"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	# 3: contended without a repeat, which leaves no headline number.
	(cd "$root" && "$TEST_PYTHON" -m suite report "$BATS_TEST_TMPDIR/results") >built || [ $? = 3 ]
	"$TEST_PYTHON" -c 'import json
print(*("%(head)s %(text)s" % f for f in json.load(open("results/signature.json", encoding="utf-8"))["findings"]
	if f["program"] == "collectives/pairs"), sep="\n", end="")' >found
	cat found
}

@test "four equal nodes: pairs between nodes by name, in three rounds, and nothing is slow" {
	need_nodes
	measure --way forward,backward,both_ways,round_trip
	[ ! -s found ]
	json '[c["facts"][name] for c in cases for name in ("place", "hosts", "rounds", "nodes", "pairs")] == ["between nodes", "n1 n2 n3 n4", 3, 4, 6]' \
		'cases[0]["check"]["status"] == "ok" and rows[0]["job"]["hosts"] == 4' \
		'[p["metric"] for p in rows[0]["primary"]] == ["pairs_min_bandwidth", "pairs_median_bandwidth", "pairs_max_latency"]' <results/records.jsonl
}

@test "the node whose link is slow is found" {
	need_nodes
	node_rate 3 "$SLOW_RATE"
	measure --way forward,backward
	[ "$(wc -l <found)" = 0 ] # one line, without an end
	[[ $(<found) == 'Slow node. Everything that n3 sends and receives: '*'B/s, 0.'*' of the usual rate between these 4 nodes (messages of 64 KiB).' ]]
	first=$(sed -n '1,/<nav id="contents"/p' results/report.html)
	[[ $first == *'Slow node.'*'n3'* ]]
}

@test "the one link that is slow is found" {
	need_nodes
	link_rate 1 4 "$SLOW_RATE"
	measure --way forward,backward
	[ "$(wc -l <found)" = 0 ]
	[[ $(<found) == 'Slow link. From n1 to n4: '*'B/s, 0.'*' of the usual rate between these 4 nodes (messages of 64 KiB).' ]]
}
