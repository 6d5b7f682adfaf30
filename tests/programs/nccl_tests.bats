#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# The flags and the table of nccl-tests: what the flags mean, what is refused, and that parsers of the table read it.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
PROGRAMS='device_allreduce device_allgather device_reduce_scatter device_all_to_all'

# table PROGRAM OPTIONS: `run` in this format.
table() {
	local program=$1
	shift
	run --separate-stderr timeout "$HANGS_S" "$bin/collectives/$program" --format nccl-tests "$@"
	echo "$program $*: $status $stderr"
	echo "$output"
}

# parsed FILE CHECK...: what tests/bats/nccl_tests_parsers.py finds in it, as json checks it.
parsed() {
	"$TEST_PYTHON" "$root/tests/bats/nccl_tests_parsers.py" "$1" | json "${@:2}"
}

@test "every number of the table is that of the records, and busbw has the factors of nccl-tests" {
	for program in $PROGRAMS; do
		table "$program" --device sim -g 3 -b 3K -e 768K -f 4 -n 7 -w 1 --seed 4 --out "$BATS_TEST_TMPDIR/$program.jsonl"
		[ "$status" = 0 ]
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$program.txt"
		"$TEST_PYTHON" "$root/tests/bats/nccl_tests_rows.py" "$BATS_TEST_TMPDIR/$program.jsonl" "$BATS_TEST_TMPDIR/$program.txt"
	done
}

# first_columns FILE: size and count of the rows of its first table.
first_columns() { sed '/^# Out of bounds/q' "$1" | awk '/^ *[0-9]/ { print $1, $2 }'; }

# theirs PARTS LAST: the same as nccl-tests has them of floats, from 4 by 2 to LAST.
theirs() {
	for ((size = 4; size <= $2; size *= 2)); do
		elements=$((size / 4))
		count=$(($1 > 1 ? elements / $1 & ~3 : elements))
		echo $((count * $1 * 4)) $count
	done
}

@test "-b 4 -e 8G -f 2 has the rows of nccl-tests, rounded as there, for every program of devices" {
	for program in $PROGRAMS; do
		for devices in 2 3; do
			table "$program" --device sim -g "$devices" -b 4 -e 1M -f 2 -n 6 -w 1 --out "$BATS_TEST_TMPDIR/records"
			[ "$status" = 0 ]
			printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/table"
			case $program in *allreduce) parts=1 ;; *) parts=$devices ;; esac
			diff <(first_columns "$BATS_TEST_TMPDIR/table") <(theirs $parts 1048576)
			[[ $output == *' minBytes 4 maxBytes 1048576 step: 2(factor) '* ]]
			[[ $output == *'# Out of bounds values : 0 OK'* ]]
			[ "$parts" = 1 ] || grep -Eq '^# 8 B float.*: skipped: 8 bytes are too few for . equal parts' "$BATS_TEST_TMPDIR/table"
			parsed "$BATS_TEST_TMPDIR/table" 'all(busbw == 0 for size, busbw in rows[0]["by_heading"] if size == 0)'
			run --separate-stderr "$bin/collectives/$program" --device sim -g "$devices" -b 4 -e 8G -f 2 --list
			[ "$status" = 0 ]
			[ "${#lines[@]}" = 32 ]
		done
	done
}

@test "compare reads rows of 0 bytes and takes no number from them" {
	for seed in 1 2; do
		table device_allgather --device sim -g 3 -b 8 -e 64 -f 2 -n 6 --seed $seed --algorithm ring
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$seed.txt"
	done
	cd "$BATS_TEST_TMPDIR"
	GPUSIG_BIN=$bin run --separate-stderr "$root/gpusig" compare 1.txt 2.txt --format json --html ''
	[ "$status" = 3 ]
	output=$(tr -d '\n' <<<"$output")
	json '{m["name"].split("/")[-2] for m in rows[0]["metrics"]} == {"48"}' <<<"$output"
}

@test "a table of nothing but rows of 0 bytes was not checked" {
	table device_allgather --device sim -g 2 -b 8 -e 32 -f 2 -n 6 --algorithm ring
	[ "$status" = 0 ]
	table device_allgather --device sim -g 3 -b 8 -e 32 -f 2 -n 6 --algorithm ring
	[ "$status" = 77 ]
	[[ $output != *' OK'* ]]
}

@test "-b 4 -e 8G -f 2 is what programs of ranks take" {
	[ -x "$bin/collectives/allreduce" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
	for program in allreduce allgather reduce_scatter pairs; do
		for ranks in 2 3; do
			run --separate-stderr timeout "$HANGS_S" mpirun -n $ranks "$bin/collectives/$program" -b 4 -e 8G -f 2 --list
			[ "$status" = 0 ]
			[ "${#lines[@]}" = 32 ]
			if [ "$program" = pairs ]; then
				run --separate-stderr timeout "$HANGS_S" mpirun -n $ranks "$bin/collectives/pairs" --size 4,2G --format json
				json 'sorted(r["case"]["size"] for r in cases if "a message has 8" in r.get("reason", "")) == [4, 2**31]' <<<"$output"
				continue
			fi
			run --separate-stderr timeout "$HANGS_S" mpirun -n $ranks "$bin/collectives/$program" -b 4 -e 4K -f 4 -n 6 -w 1 \
				--algorithm library --format json
			[ "$status" = 0 ] || [ "$status" = 3 ]
			case $program in allreduce) parts=1 ;; *) parts=$ranks ;; esac
			json "sorted(int(r['variants'][0]['model']['bytes']) for r in rows if r['kind'] == 'case' and r['status'] == 'ok') == (
				[n for n in ((size // (16 * $parts if $parts > 1 else 4)) * (16 * $parts if $parts > 1 else 4)
				for size in (4, 16, 64, 256, 1024, 4096)) if n])" <<<"$output"
		done
	done
}

@test "the same seed gives the same bytes, and records that only their arguments tell from others" {
	table device_allgather --device sim:0,1 -b 4K -e 4K -n 6 --seed 9 --algorithm ring --out "$BATS_TEST_TMPDIR/a"
	first=$output
	table device_allgather --device sim:0,1 -b 4K -e 4K -n 6 --seed 9 --algorithm ring
	[ "$output" = "$first" ]
	"$bin/collectives/device_allgather" --device sim:0,1 --size 4K --min-samples 6 --max-samples 6 --seed 9 --algorithm ring \
		--format json | grep '"kind":"case"' >"$BATS_TEST_TMPDIR/b"
	grep '"kind":"case"' "$BATS_TEST_TMPDIR/a" | cmp - "$BATS_TEST_TMPDIR/b"
}

@test "the heading is that of nccl-tests to the byte, where both measure out of place" {
	table device_all_to_all --device sim -g 2 -b 1M -e 1M -n 6 --algorithm pairwise
	[ "$status" = 0 ]
	diff <(grep -A 2 'out-of-place  ' "$root/tests/reports/foreign/nccl_tests_all_reduce.txt") <(grep -A 2 'out-of-place  ' <<<"$output")
	[[ $output == *'# Simulated: nothing below is a measurement'* ]]
	[[ $output == *'# Only out-of-place was measured; the columns of in-place are N/A'* ]]
}

@test "parsers of the table read it" {
	for program in $PROGRAMS; do
		table "$program" --device sim -g 4 -b 64K -e 1M -f 4 -n 6 --algorithm ring,pairwise
		[ "$status" = 2 ] # no program has both
		case $program in *all_to_all) algorithm=pairwise ;; *) algorithm=ring ;; esac
		table "$program" --device sim -g 4 -b 64K -e 1M -f 4 -n 6 -w 1 --algorithm "$algorithm"
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/table"
		parsed "$BATS_TEST_TMPDIR/table" 'rows[0]["average"] > 0' 'rows[0]["out_of_bounds"] == [0, "OK"]' \
			'[size for size, _ in rows[0]["by_heading"]] == [2**16, 2**18, 2**20]' \
			'[busbw for _, busbw in rows[0]["by_heading"]] == rows[0]["from_the_end"] == rows[0]["first_columns"]' \
			'abs(sum(rows[0]["from_the_end"]) / 3 - rows[0]["average"]) < 0.011' \
			'rows[0]["devices"] == ["simulated"] * 4' 'rows[0]["settings"] == [1, 4, 2**16, 2**20]'
	done
}

@test "compare reads tables of several algorithms, each by its name" {
	for seed in 1 2; do
		table device_allreduce --device sim -g 2 -b 4K -e 1M -f 256 -n 6 --seed $seed --algorithm ring,rd-l
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$seed.txt"
	done
	cd "$BATS_TEST_TMPDIR"
	GPUSIG_BIN=$bin run --separate-stderr "$root/gpusig" compare 1.txt 2.txt --format json --html ''
	[ "$status" = 3 ] # one run a side decides nothing
	output=$(tr -d '\n' <<<"$output")
	json '{"device_allreduce_" + a + "/2ranks/float/sum/" + w for a in ("ring", "rd-l") for w in ("4096/in_place_time", "1048576/in_place_busbw")}.issubset(
			m["name"] for m in rows[0]["metrics"])' 'all("out_of_place" not in m["name"] for m in rows[0]["metrics"])' <<<"$output"
	GPUSIG_BIN=$bin run --separate-stderr "$root/gpusig" compare 1.txt "$root/tests/reports/foreign/nccl_tests_all_reduce.txt"
	[ "$status" = 2 ]
	[[ $stderr == *'different tools'* ]]
}

@test "a wrong result is FAILED, in the table of its algorithm" {
	printf 'like = quiet\ncorrupt_copy_every = 1\n' >"$BATS_TEST_TMPDIR/wrong.model"
	table device_allreduce --device "sim:$BATS_TEST_TMPDIR/wrong.model" -g 2 -b 1M -e 2M -f 2 -n 6 --algorithm ring
	[ "$status" = 1 ]
	[[ $output == *'# 1048576 B float sum: failed: wrong result: ring, '* ]]
	[[ $output == *'# Out of bounds values : 2 FAILED'* ]]
	[ "$(grep -c '^ *[0-9]' <<<"$output")" = 0 ]
}

@test "what nobody checked is N/A, not OK" {
	for seed in 2 1; do
		table device_allreduce --device sim -g 2 -c 0 -b 1M -e 1M -n 6 --seed $seed --algorithm ring
		[ "$status" = 3 ]
		printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$seed.txt"
	done
	[[ $output == *'     N/A      N/A     N/A     N/A     N/A'* ]]
	[[ $output == *'# Out of bounds values : N/A not checked'* ]]
	cd "$BATS_TEST_TMPDIR"
	GPUSIG_BIN=$bin run --separate-stderr "$root/gpusig" compare 1.txt 2.txt --format json --html ''
	[ "$status" = 3 ]
	[[ $output == *'every headline number is invalid'* ]]
	printf 'like = quiet\ndata = none\n' >times.model
	table device_allreduce --device sim:times.model -g 2 -b 1M -e 1M -n 6 --algorithm ring
	[ "$status" = 0 ]
	[[ $output == *'# Out of bounds values : N/A no data to check'* ]]
}

@test "a note on a row has the size of the row" {
	table device_reduce_scatter --device sim -g 4 -b 1000 -e 1000 -n 5 --algorithm ring
	[ "$status" = 0 ]
	[[ $output == *$'\n         960 '* ]]
	[[ $output == *'# 960 B float sum: noisy: '* ]]
}

@test "-g without --device takes the first devices of the default" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	run --separate-stderr "$bin/collectives/device_allreduce" --list -g 2 -b 32 -e 128 -f 2
	skip_if_77
	[ "$status" = 0 ]
	[ "$output" = $'size=32\nsize=64\nsize=128' ]
}

@test "bad flags are 2, one line, and name the flag" {
	while read -r part words; do
		# shellcheck disable=SC2086 # words are words
		table device_allgather --device sim $words
		[ "$status" = 2 ]
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr == *"$part"* ]]
		[ -z "$output" ]
	done <<-'END'
		-b -g 2 -b
		--maxbytes -g 2 -b 1 -e 2X
		--size -g 2 -b 8 -e 32G -f 2
		size -g 2 -b 8 -e 8 --size 8
		-m -g 2 -m 2
		-z -g 2 --blocking=1
		-o -g 2 -o sum
		-d -g 2 -d half
		-g -g 0
		-e -g 2 -b 4K -e 2K
		nccl-tests --format nccl
	END
	run --separate-stderr "$bin/micro/memory" --device sim --format nccl-tests
	[ "$status" = 2 ]
	[[ $stderr == *"unknown value 'nccl-tests'; values: table json" ]]
}

@test "what a run has measured is printed when it is interrupted" {
	"$bin/collectives/device_allreduce" --device sim:0-7 -b 4K -e 512M -n 200 --format nccl-tests >"$BATS_TEST_TMPDIR/out" \
		--out "$BATS_TEST_TMPDIR/records" 2>"$BATS_TEST_TMPDIR/err" &
	until grep -q '"kind":"case"' "$BATS_TEST_TMPDIR/records" 2>/dev/null; do sleep 0.1; done
	kill -TERM $!
	wait $! || true
	grep -Eq '^# Interrupted: [0-9]+ of the cases did not run$' "$BATS_TEST_TMPDIR/out"
	! grep -q 'concluded' "$BATS_TEST_TMPDIR/out" || false
	grep -q '^ *4096 ' "$BATS_TEST_TMPDIR/out"
}

@test "ranks print it too: who they are, and each shape by itself" {
	[ -x "$bin/collectives/allreduce" ] || skip "collectives/ is not built: no MPI"
	command -v mpirun >/dev/null || skip "no mpirun"
	run --separate-stderr timeout "$HANGS_S" mpirun -n 2 "$bin/collectives/allreduce" -b 64 -e 4K -f 64 -n 6 -w 1 -d double -o max \
		--algorithm ring,library --ports one,all --format nccl-tests
	echo "$status $stderr $output"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/table"
	[ "$(grep '^# Algorithm: ' "$BATS_TEST_TMPDIR/table")" = $'# Algorithm: ring\n# Algorithm: ring all ports\n# Algorithm: library\n# Algorithm: library all ports' ]
	# A row, or the reason why there is none.
	for size in 64 4096; do
		[ "$(grep -Ec "^(# $size B double max: invalid| +$size +$((size / 8)) +double +max +-1 )" "$BATS_TEST_TMPDIR/table")" = 4 ]
	done
	[ "$(grep -c "^#  Rank  [01] Group  0 Pid *[1-9][0-9]* on *$(hostname) device  [01] \[\] host memory$" "$BATS_TEST_TMPDIR/table")" = 8 ]
	run --separate-stderr mpirun -n 2 "$bin/collectives/allgather" -g 2
	[ "$status" = 2 ]
	[[ $stderr == *'-g (--ngpus): a rank has one device: start a rank for each'* ]]
}

# As nccl-tests times it: so many calls in a row, out of place, the calls included.
@test "a table says whether the calls are in its times: they are in those of library-calls" {
	need_fakes
	for device in cuda hip; do
		# shellcheck disable=SC2031 # on a path of its own
		LD_LIBRARY_PATH=$(fakes) table device_allreduce --device "$device" -g 2 -b 2K -e 512K -f 16 -n 6 --budget 10m \
			--algorithm library,library-calls --out "$BATS_TEST_TMPDIR/$device"
		[ "$status" = 0 ]
		[ "$(grep -c '^ *[0-9]' <<<"$output")" = 6 ]
		grep -A 3 -x '# Algorithm: library' <<<"$output" |
			grep -qx '# Time: median of 6 samples, each collective complete before the next begins; calls not included: enqueued beforehand'
		calls=$(grep -A 99 -x '# Algorithm: library-calls' <<<"$output")
		[[ $calls == *' warmup iters: 1 iters: 20 agg iters: 1 validation: 1 '* ]]
		[[ $calls == *$'\n# Time: median of 6 samples of 20 calls in a row, on the host\'s clock; calls included\n'* ]]
		[[ $calls == *$'\n# Only out-of-place was measured; the columns of in-place are N/A\n'*'# Out of bounds values : 0 OK'* ]]
		json 'all(r["check"]["status"] == "ok" and r["facts"]["calls_in_a_row"] == 20 for r in rows if r["kind"] == "case")' \
			'all([v["name"] for v in r["variants"]] == ["library", "library-calls"] for r in rows if r["kind"] == "case")' \
			'all({d["variant"] for d in r["derived"] if d["name"] == "bus_bandwidth"} == {"library", "library-calls"}
				for r in rows if r["kind"] == "case")' <"$BATS_TEST_TMPDIR/$device"
	done
}

@test "every collective of library-calls is checked, and where the library is lacking there is no such table" {
	need_fakes
	for program in $PROGRAMS; do
		LD_LIBRARY_PATH=$(fakes) table "$program" --device cuda -g 2 -b 3K -e 96K -f 32 -n 6 --budget 10m --algorithm library-calls
		[ "$status" = 0 ]
		[[ $output == *'# Out of bounds values : 0 OK'* ]]
		[ "$(grep -c '^ *[0-9]' <<<"$output")" = 2 ]
	done
	table device_allreduce --device sim -g 2 -b 2K -e 2K -n 6 --algorithm ring,library-calls
	[ "$status" = 0 ]
	[[ $output != *library-calls* ]]
}
