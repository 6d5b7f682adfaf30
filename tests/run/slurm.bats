#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# Under a real Slurm of four nodes. They are four daemons of one machine, so what is real is Slurm, srun, the one checkout and the
# runs; that a node is slower is simulated, by the model of its device.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers
load ../fleet/checkout
load ../fleet/cluster

setup_file() {
	brought slurmctld slurmd munged srun
	cluster=$BATS_FILE_TMPDIR/cluster
	start_cluster "$cluster" 4 || {
		tail -n 5 "$cluster"/*.log
		return 1
	}
	export cluster
}

teardown_file() { [ -z "${cluster:-}" ] || stop_cluster; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON # found once
	bin=$(readlink -f "${GPUSIG_BIN:-$root/bin}")
	[ -x "$bin/micro/launch" ] || skip 'nothing is built'
}

on_nodes() { timeout "$HANGS_S" srun --overcommit -N4 --ntasks-per-node=1 "$@" 3>&-; }

@test "srun on a fresh checkout: one build, four complete runs, each in the folder of its node and with the job in its provenance" {
	small_checkout checkout "$bin/micro/launch"
	on_nodes checkout/gpusig run --device sim --budget 1s --out 'fleet/%h' >out 2>err
	cat err
	[ "$(cat checkout/build/builds)" = "$(printf 'begun\nended')" ]
	[ "$(grep -c 'gpusig: building' err)" = 1 ]
	[ "$(ls fleet)" = "$(printf 'node1\nnode2\nnode3\nnode4')" ]
	for node in 1 2 3 4; do
		[ -s "fleet/node$node/signature.json" ]
		node=node$node json '{tuple(r["provenance"]["environment"][n] for n in ("SLURMD_NODENAME", "SLURM_JOB_NODELIST", "SLURM_JOB_PARTITION"))
			for r in rows if r["kind"] == "run"} == {(__import__("os").environ["node"], "node[1-4]", "all")}' \
			'all(r["provenance"]["environment"]["SLURM_JOB_ID"].isdigit() for r in rows if r["kind"] == "run")' \
			<"fleet/node$node/records.jsonl"
	done
}

@test "srun with two tasks a node: one of each runs, the other is refused" {
	small_checkout checkout
	run timeout "$HANGS_S" srun --overcommit -N2 --ntasks-per-node=2 checkout/gpusig run --budget 1s --out 'fleet/%h' 3>&-
	[ "$(grep -c 'SLURM_LOCALID is 1: two runs on a node disturb each other' <<<"$output")" = 2 ]
	[ "$(ls fleet)" = "$(printf 'node1\nnode2')" ]
	for node in 1 2; do [ -s "fleet/node$node/signature.json" ]; done
}

@test "a fleet under srun whose node3 has slower memory, simulated: fleet names it" {
	[ -f "$root/suite/help/fleet.txt" ] || skip 'no fleet command in this version'
	for node in node1 node2 node3 node4; do
		mkdir -p "models/$node"
		bandwidth=1.6e12
		[ "$node" != node3 ] || bandwidth=0.6e12
		printf 'memory_bandwidth = %s\n' "$bandwidth" >"models/$node/gpu.sim"
	done
	# shellcheck disable=SC2016 # for the nodes
	GPUSIG_BIN=$bin on_nodes sh -c 'exec "$1/gpusig" run --device "sim:$2/models/$SLURMD_NODENAME/gpu.sim" --headline \
		--only micro/memory --only micro/launch --budget 2s --out "$2/fleet/%h"' sh "$root" "$PWD" >out 2>err || { tail err && false; }
	run --separate-stderr "$root/gpusig" fleet fleet --html fleet.html
	echo "$output" "$stderr"
	[ "$status" = 1 ]
	[[ $output == *node3* ]]
	run --separate-stderr "$root/gpusig" fleet fleet --format exclude
	[ "$output" = '--exclude=node3' ]
}

@test "ranks of a run within a job of two nodes start on its own node, not on those of the job" {
	[ -x "$bin/collectives/allreduce" ] || skip 'collectives/ is not built: no MPI'
	command -v mpirun >/dev/null || skip 'no mpirun'
	mkdir front
	printf '#!/bin/sh\necho "$*" >>"%s/launched"\nexit 1\n' "$PWD" >front/srun # what mpirun would start ranks with
	chmod +x front/srun
	GPUSIG_BIN=$bin timeout "$HANGS_S" srun --overcommit -N2 --ntasks-per-node=1 env PATH="$PWD/front:$PATH" "$root/gpusig" run --device host \
		--only collectives/allreduce --budget 2s --out "$PWD/fleet/%h" >out 2>err 3>&- || [ $? = 3 ] || { tail err && false; }
	[ ! -e launched ]
	for node in 1 2; do
		# On a busy machine its numbers may be invalid; they were taken, by ranks that found each other.
		json '{r["status"] for r in rows if r["kind"] == "end"} <= {"ok", "invalid"}' '{r["status"] for r in cases} == {"ok"}' \
			<"fleet/node$node/records.jsonl"
	done
}

@test "srun on a fresh copy of the real checkout: everything is compiled once, and four runs are complete" {
	copy_checkout checkout
	unset GPUSIG_BIN
	CFLAGS=-O0 PROGRAMS='micro/launch micro/memory' on_nodes checkout/gpusig run --device sim --only 'micro/*' --budget 2s \
		--out 'fleet/%h' >out 2>err || { tail err && false; }
	[ "$(grep -c 'gpusig: building' err)" = 1 ]
	[ "$(grep -c 'gpusig: waiting for process [0-9]* of node' err)" = 3 ]
	for node in 1 2 3 4; do
		# The others of micro/ were not built, to save time, and are skipped with that reason.
		json '{r["program"] for r in rows if r["kind"] == "end" and r["status"] == "ok"} == {"micro/launch", "micro/memory"}' \
			'{r["status"] for r in rows if r["kind"] == "end"} == {"ok", "skipped"}' <"fleet/node$node/records.jsonl"
	done
}
