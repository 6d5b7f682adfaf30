#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Collectives on real ranks: every algorithm gives exact results on every number of ranks, and nothing that goes wrong hangs.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}/collectives
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
QUICK='--min-samples 1 --max-samples 1 --warm-up 0 --budget 10m --format json'

setup() {
	[ -x "$bin/allreduce" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
}

# ranks N PROGRAM OPTIONS: `run` under mpirun.
ranks() {
	local count=$1 program=$2
	shift 2
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" mpirun -n "$count" "$bin/$program" $QUICK "$@"
}

# exact N PROGRAM OPTIONS: every case ran, was checked on every rank, and sent what its schedules say. Numbers of so few samples
# are flagged: 3.
exact() {
	ranks "$@"
	echo "$*: $status $stderr"
	[ "$status" = 3 ]
	json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"])
		for r in rows if r["kind"] == "case") and any(r["kind"] == "case" for r in rows)' <<<"$output"
}

# bound HOSTS SHARED CORES...: ranks on these hosts and bound to these cores are flagged with this, "" for not.
bound() {
	local hosts=$1 shared=$2
	shift 2
	RANK_HOSTS=$hosts RANK_CORES="$*" LD_PRELOAD="$BATS_TEST_TMPDIR/bind.so" ranks $# allreduce --algorithm ring --size 1K
	echo "$hosts: $*: $stderr"
	json '(rows[0]["provenance"]["cpu_quota"] or 8) >= 8' <<<"$output" || skip "a CPU quota grants fewer cores"
	json "cases and all([f['reason'].partition(':')[0] for f in r['validity']['flags'] if f['flag'] == 'oversubscribed']
		== [w for w in ['$shared'] if w] for r in cases)" <<<"$output"
}

@test "every allreduce is exact on 2 to 8 ranks, also with fewer elements than ranks" {
	for p in 2 3 4 5 8; do
		exact "$p" allreduce --size 8,1000,64K
	done
}

@test "every allreduce is exact on tori, with one port and with all" {
	for shape in 4x2 3x2; do
		exact $((${shape//x/*})) allreduce --shape "$shape" --ports one,all --size 8,10000
	done
}

@test "a process that no launcher started needs no daemon and no folder of the MPI library" {
	TMPDIR=/proc/self run --separate-stderr timeout "$HANGS_S" "$bin/allreduce" --device host:5-1
	[ "$status" = 2 ]
	[ "${#stderr_lines[@]}" = 1 ]
}

@test "ranks on cores of their own measure how far apart these are, others do not" {
	[ "$(nproc)" -ge 2 ] || skip "there is one core"
	latency='{c["surroundings"].get("core_latency_s") for c in cases}'
	for program in allreduce pairs; do
		ranks 2 "$program" --size 4K
		json "cases and all(1e-9 < s < 0.1 for s in $latency)" <<<"$output"
	done
	ranks $(($(nproc) + 1)) allreduce --size 4K
	json "$latency == {None}" <<<"$output"
}

@test "single collectives of up to 1 MiB are timed alone, unless ranks share cores" {
	[ "$(nproc)" -ge 2 ] || skip "there is one core"
	singles='{(r["key"].rpartition("=")[2], len(v.get("singles_s", [])) >= 20, all(s > 0 for s in v.get("singles_s", [])))
		for r in cases for v in r["variants"]}'
	ranks 2 allreduce --algorithm ring,library --size 8K,1M,2M
	json "$singles == {('8192', True, True), ('1048576', True, True), ('2097152', False, True)}" <<<"$output"
	ranks 2 allreduce --algorithm ring --size 8K --check every
	json "$singles == {('8192', False, True)}" <<<"$output"
	ranks $(($(nproc) + 1)) allreduce --algorithm ring --size 8K
	json "$singles == {('8192', False, True)}" <<<"$output"
}

@test "ranks that share no memory measure without a latency" {
	[ "$(nproc)" -ge 2 ] || skip "there is one core"
	unshare -pf --mount-proc true 2>/dev/null || skip "no process may have a namespace of its own"
	words="$bin/allreduce $QUICK --size 4K --ports one"
	# shellcheck disable=SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" mpirun -n 1 $words : -n 1 unshare -pf --mount-proc $words
	json 'len(cases) == 1 and "core_latency_s" not in cases[0]["surroundings"]' <<<"$output"
}

@test "types and operations" {
	exact 4 allreduce --type i32,i64,f32,f64 --op sum,max --size 4K --algorithm ring,swing-b,library
}

@test "reduce-scatter and all-gather leave every chunk on its rank" {
	for p in 2 3 5 8; do
		exact "$p" reduce_scatter --size 8,1000,64K
		exact "$p" allgather --size 8,1000,64K
	done
}

@test "the algorithm that ran is echoed by what was sent" {
	exact 4 allreduce --algorithm swing-b,ring --size 4096
	json '[m["name"] for r in rows if r["kind"] == "case" for m in r["mechanism"]] == ["ring ran", "swing-b ran"]' <<<"$output"
	json 'all("6 messages and 6144 bytes" in m["detail"] for r in rows if r["kind"] == "case" for m in r["mechanism"]
		if m["name"] == "ring ran")' <<<"$output"
	json 'all("4 messages and 6144 bytes" in m["detail"] for r in rows if r["kind"] == "case" for m in r["mechanism"]
		if m["name"] == "swing-b ran")' <<<"$output"
}

@test "more ranks than cores are flagged" {
	exact $(($(nproc --all) + 1)) allreduce --algorithm ring --size 1K
	json 'all("oversubscribed" in [f["flag"] for f in r["validity"]["flags"]] for r in rows if r["kind"] == "case")' <<<"$output"
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/records"
	fits_schema "$BATS_TEST_TMPDIR/records"
}

@test "ranks that are bound to fewer cores than they are are flagged, on every host" {
	mpicc -shared -fPIC -o "$BATS_TEST_TMPDIR/bind.so" "$root/tests/bats/bind_ranks.c"
	local here="0 0 0 0" there="0 1 1 1"
	bound "$here" "" 0 1 2345
	bound "$here" "2 ranks share 1 core" 0 0 1234567
	bound "$here" "3 ranks share 2 cores" 0 01 01 2345
	bound "$here" "4 ranks share 1 core" 0 0 0 0
	bound "$there" "" 0 0 1
	bound "$there" "2 ranks share 1 core" 0 1 1 234
}

# sh -c "$says" sh NAME TEXT FILE COMMAND...: the command, in a namespace of mounts in which the file says this.
# shellcheck disable=SC2016 # sh expands it
says='echo "$2" >"$1.said" && mount --bind "$1.said" "$3" && shift 3 && exec "$@"'

@test "two ranks on the threads of one core, and on a quota of one, are flagged" {
	[ "$(nproc)" = 2 ] || skip "not two processors"
	unshare -m true 2>/dev/null || skip "no process may have mounts of its own"
	local siblings=/sys/devices/system/cpu/cpu0/topology/thread_siblings_list
	[ -e "$siblings" ] || skip "the kernel tells no threads of a core"
	cd "$BATS_TEST_TMPDIR"
	exact 2 allreduce --algorithm ring --size 1K
	json 'all("oversubscribed" not in [f["flag"] for f in r["validity"]["flags"]] for r in cases)' <<<"$output"
	local limits=("threads 0-1 $siblings") group
	group=$(sed -n 's|^0::||p' /proc/self/cgroup)
	for limit in "/sys/fs/cgroup$group/cpu.max|100000 100000" "/sys/fs/cgroup/cpu/cpu.cfs_quota_us|100000"; do
		[ ! -e "${limit%|*}" ] || limits+=("quota ${limit#*|} ${limit%|*}")
	done
	for limit in "${limits[@]}"; do
		read -r name rest <<<"$limit"
		# shellcheck disable=SC2086 # QUICK is a list of words
		run --separate-stderr unshare -m sh -c "$says" sh "$name" "${rest% *}" "${rest##* }" mpirun -n 2 "$bin/allreduce" $QUICK \
			--algorithm ring --size 1K
		echo "$limit: $status $stderr"
		[ "$status" = 3 ]
		json 'all(["2 ranks share 1 core: most of the time is scheduling"] == [f["reason"] for f in r["validity"]["flags"]
			if f["flag"] == "oversubscribed"] for r in cases)' <<<"$output"
		[ "$name" = threads ] || json 'rows[0]["provenance"]["cpu_quota"] == 1' <<<"$output"
	done
	[ "${#limits[@]}" -gt 1 ]
}

@test "the options of nccl-tests" {
	run --separate-stderr mpirun -n 2 "$bin/allreduce" -b 32 -e 128 -f 2 -n 7 -w 1 -c 1 --algorithm ring --budget 10m --format json
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json '[r["case"]["size"] for r in rows if r["kind"] == "case"] == [32, 64, 128]' \
		'all(v["n"] == 7 - r["surroundings"].get("rounds_left_out", 0) for r in rows if r["kind"] == "case" for v in r["variants"])' <<<"$output"
	run --separate-stderr mpirun -n 2 "$bin/allreduce" -c 0 -b 64 -e 64 -n 7 -w 1 --algorithm ring --budget 10m --format json
	json 'all(r["check"]["status"] == "skipped" for r in rows if r["kind"] == "case")' <<<"$output"
}

@test "bad input is 2, one line, and names what exists" {
	while read -r words; do
		# shellcheck disable=SC2086 # words are words
		run --separate-stderr mpirun -n 6 "$bin/allreduce" $words
		echo "$words: $status $stderr"
		[ "$status" = 2 ]
		[ "$(grep -c '^gpusig:' <<<"$stderr")" = 1 ]
		[ -z "$output" ]
	done <<-'END'
		--algorithm foo
		--shape 3x3
		--shape 2x
		--algorithm rd-b --shape 3x2
		--algorithm swing-b --shape 3x2
		--size 9
		--size 16G
		--type f16
		-b
		-e 5
		-c 2
		-n many
	END
}

# A launcher binds each of two ranks to a core; what divides the cores was started by hand.
@test "the device of a run is the one of its --device in every order of programs" {
	cd "$BATS_TEST_TMPDIR"
	exact 2 allreduce --device host --size 1K --out ranks
	for device in host host:0,1; do
		# shellcheck disable=SC2086 # QUICK is a list of words
		run "$bin/../micro/launch" --device "$device" $QUICK --out "launch_$device"
		[ "$status" = 3 ]
	done
	for order in 'ranks launch_host launch_host:0,1' 'launch_host ranks launch_host:0,1' 'launch_host:0,1 launch_host ranks' \
		'launch_host launch_host:0,1 ranks' 'ranks launch_host:0,1 launch_host' 'launch_host:0,1 ranks launch_host'; do
		mkdir "in ${order// /-}"
		# shellcheck disable=SC2086 # a list of files
		cat $order >"in ${order// /-}/records.jsonl"
	done
	signatures "$PWD"/in*
	for signature in in*/signature.json; do tr -d '\n' <"$signature" && echo; done >signatures
	head -n 1 launch_host >>signatures
	json '[len(rows), len({json.dumps([row["devices"], row["provenance"]]) for row in rows[:-1]})] == [7, 1]' \
		'rows[0]["devices"]["host[0]"] == rows[-1]["device"][0]' <signatures
}

@test "one rank alone, and a simulated device, are 77 with the reason" {
	run --separate-stderr "$bin/allreduce" --size 64
	[ "$status" = 77 ]
	[[ $stderr == *mpirun* ]]
	run --separate-stderr mpirun -n 2 "$bin/allreduce" --size 64 --device sim
	[ "$status" = 77 ]
}

# One of three ranks gets a signal, and what the job said is in "err"; sets status and victim.
strike_rank() {
	local records=$BATS_TEST_TMPDIR/records
	mpirun -n 3 -x GPUSIG_RANK_LIMIT_S=10 "$bin/allreduce" --max-samples 20 --budget 10m --out "$records" >/dev/null 2>"$BATS_TEST_TMPDIR/err" &
	job=$!
	until grep -q '"kind":"case"' "$records" 2>/dev/null; do sleep 0.1; done
	victim=$(pgrep -P "$job" -f allreduce | tail -n 1)
	kill -s "$1" "$victim"
	status=0
	wait "$job" || status=$?
	kill -9 "$victim" 2>/dev/null || true
	cat "$BATS_TEST_TMPDIR/err"
}

@test "a rank that dies ends the job, and is named" {
	strike_rank KILL
	[ "$status" != 0 ]
	grep -q "rank [0-9].*signal 9" "$BATS_TEST_TMPDIR/err"
}

@test "a rank that is stopped ends the job, and is named" {
	strike_rank STOP
	[ "$status" != 0 ]
	grep -q "rank [0-9] (process $victim) is stopped; ending the job" "$BATS_TEST_TMPDIR/err"
}

@test "options that differ between ranks are 2, in one line" {
	run mpirun -n 1 "$bin/allreduce" --size 4K : -n 2 "$bin/allreduce" --size 8K
	[ "$status" = 2 ]
	[[ $output == *"rank "[12]": was given '8K' where rank 0 has '4K'; all ranks need the same"* ]]
	run mpirun -n 1 "$bin/allreduce" --size 4K : -n 1 "$bin/allreduce" --size 4K --budget 1s
	[ "$status" = 2 ]
	[[ $output == *"rank 1: was given '--budget' where rank 0 has ''"* ]]
	local long
	long=$(printf %300s "" | tr ' ' /)
	run mpirun -n 1 "$bin/allreduce" --out "$long/a" : -n 1 "$bin/allreduce" --out "$long/b"
	[ "$status" = 2 ]
	[[ $output == *"rank 1: was given '$long/b' where rank 0 has '$long/a'; all ranks need the same"* ]]
	long=$(printf %5000s "" | tr ' ' /)
	run mpirun -n 1 "$bin/allreduce" --out "$long" --size 4K : -n 1 "$bin/allreduce" --out "$long" --size 8K
	[ "$status" = 2 ]
	[[ $output == *"rank 1: was given '8K' where rank 0 has '4K'"* ]]
	run mpirun -n 1 -x GPUSIG_RANK_LIMIT_S=soon "$bin/allreduce"
	[ "$status" = 2 ]
	[[ $output == *"GPUSIG_RANK_LIMIT_S is 'soon'; values: 1 to 86400 seconds"* ]]
}

@test "a wrong result is 1, with the rank, the chunk and both values" {
	mpicc -shared -fPIC -o "$BATS_TEST_TMPDIR/corrupt.so" "$root/tests/bats/corrupt_message.c"
	run --separate-stderr mpirun -n 2 -x LD_PRELOAD="$BATS_TEST_TMPDIR/corrupt.so" "$bin/allreduce" --algorithm ring --type i32 \
		--size 4K --budget 10m --format json
	echo "$stderr"
	[ "$status" = 1 ]
	# Rank 1 added the second chunk wrongly, and both ranks have it.
	[[ $stderr == *"ring, sample 1: rank 0: chunk 1 of 2: element 512 is "*", not "* ]]
	json 'rows[1]["status"] == "failed" and rows[1]["check"]["status"] == "failed"' <<<"$output"
}
