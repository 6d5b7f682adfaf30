#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A GEMM concurrent with a collective, by every method: right results, known truth on the simulated device, and what is not possible
# is said.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

program=${GPUSIG_BIN:-$root/bin}/overlap/collective
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --format json'
ONE=(--min-samples 1 --max-samples 1) # where results are looked at, not times

# measure DEVICES OPTIONS
measure() {
	local devices=$1
	shift
	# shellcheck disable=SC2046,SC2086 # lists of words
	run --separate-stderr timeout "$HANGS_S" "$program" --device "$devices" $QUICK $(budget_for "$devices" 0.1s) "$@"
	echo "$devices $*: $status $stderr"
}

# Engines and blocks share nothing but the units, of which a block takes one: the bandwidth of memory is out of the way.
UNITS='like = quiet
data = none
units = 8
slots_per_unit = 1
copy_engines = 8
memory_bandwidth = 1e15
llc_bandwidth = 1e15
unit_bandwidth = 1e12
peer_bandwidth = 20e9'

# model LINES: writes ./model.sim, UNITS but for these lines
model() { printf '%s\n%s\n' "$UNITS" "$1" >"$BATS_TEST_TMPDIR/model.sim"; }

# Every case, its derived values by name and variant, and its medians.
each='for r in cases for d in [{(x["name"], x["variant"]): x["value"] for x in r["derived"]}]
	for t in [{v["name"]: v["median_s"] for v in r["variants"]}]'

# on_fakes DEVICE OPTIONS: on the fakes of the vendors' libraries, whose times mean nothing.
on_fakes() {
	local device=$1
	shift
	need_fakes
	LD_LIBRARY_PATH=$(fakes) measure "$device" --budget 10m --type f32 --shape n64 --mflop 1 --size 64K "$@"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'all(r["status"] == "ok" and r["check"]["status"] == "ok" for r in cases)' <<<"$output"
}

# The methods that were measured.
methods='[v["name"] for v in r["variants"] if "_" not in v["name"]]'

@test "every collective by every method leaves the right values concurrent with a right GEMM, on 2 to 7 devices" {
	for last in 1 2 6; do
		measure "sim:0-$last" --type f32 --shape 96x80x64 --size 4K,100K,1M --blocks 0,3 "${ONE[@]}"
		[ "$status" = 0 ]
		json 'len(cases) == 4 * 3 * 2' \
			'all(r["status"] == "ok" and r["check"]["status"] == "ok" and all(m["observed"] for m in r["mechanism"]) for r in cases)' \
			'all({"engine", "kernel"} < {v["name"] for v in r["variants"]} for r in cases)' <<<"$output"
	done
}

@test "on the host, with the cores divided" {
	[ "$(nproc)" -ge 2 ] || skip "two devices need two cores"
	measure host:0,1 --shape n64 --size 64K --budget 10m "${ONE[@]}"
	[ "$status" = 0 ] || [ "$status" = 3 ]
	json 'sum(r["check"]["status"] == "ok" for r in cases) == 4' <<<"$output"
}

@test "a collective that brings a wrong bit and a wrong GEMM are found" {
	cd "$BATS_TEST_TMPDIR"
	printf 'like = quiet\ncorrupt_copy_every = 1\n' >model.sim
	measure sim:./model.sim:0,1 --type f32 --shape n64 --size 8K --collective all-gather --method engine
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: "*"element "* ]]
	printf 'like = quiet\ncorrupt_launch_every = 1\n' >model.sim
	measure sim:./model.sim:0,1 --type f32 --shape n64 --size 8K --collective all-gather --method engine
	[ "$status" = 1 ]
	[[ $stderr == *"wrong result: "*"row "* ]]
}

# The GEMM's time with k of U units taken for a share x of its time is 1 + x k / U of that alone, to a wave of its tiles.
@test "engines take no units and a kernel takes as many as it has blocks: CIL and S come out as the model says" {
	cd "$BATS_TEST_TMPDIR"
	model 'engine_bandwidth = 1e12'
	# The one to the device itself of an all-to-all's four messages takes no time.
	for collective in 'all-gather --blocks 3,6' 'all-to-all --blocks 4,8'; do
		# shellcheck disable=SC2086 # a list of words
		measure sim:./model.sim:0-3 --shape n1024 --mflop 0 --size 16M,32M --collective $collective
		[ "$status" = 0 ]
		json "len(cases) == 4 and all(abs(d[cil] - 1) < 1e-9 $each for cil in
				(('CIL_gemm', 'engine'), ('CIL_comm', 'engine'), ('CIL_comm', 'kernel')))" \
		"all(abs(d['fraction_of_ideal', 'engine'] - 1) < 0.01 $each)" \
		"all(abs(d['CIL_gemm', 'kernel'] - slowed) < 0.04 and abs(d['S', 'kernel'] - (1 + x) / slowed) < 0.06
			$each for x in [t['kernel_alone'] / t['gemm_alone']] for slowed in [1 + x * (3 if r['case']['blocks'] < 5 else 6) / 8])" \
		"all((r['facts'].get('units_left_engine'), r['facts']['units_left_kernel']) ==
			(8 if r['case']['collective'] == 'all-gather' else None, 8 - r['case']['blocks']) $each)" \
		"all(r['facts']['best_methods'] == 'engine' $each)" <<<"$output"
	done
}

@test "the best method flips where an engine is slower than a kernel, and is a tie where nothing tells them apart" {
	cd "$BATS_TEST_TMPDIR"
	model 'engine_bandwidth = 2e9'
	measure sim:./model.sim:0-3 --shape n1024 --mflop 0 --collective all-gather --size 32M --blocks 3
	[ "$status" = 0 ]
	json "[(r['facts']['best_methods'], r['facts']['class_engine'], r['facts']['class_kernel']) $each] == [('kernel', 'C-long', 'G-long')]" \
		"all(d['fraction_of_ideal', 'engine'] > 0.99 > d['fraction_of_ideal', 'kernel'] and t['engine'] > 1.4 * t['kernel'] $each)" \
		<<<"$output"
	# A collective that is far longer than the GEMM takes as long by either.
	model 'engine_bandwidth = 1e12'
	measure sim:./model.sim:0-3 --shape n256 --mflop 0 --collective all-gather --size 32M --blocks 3
	json '[r["facts"]["best_methods"] for r in cases] == ["engine, kernel"]' <<<"$output"
}

# ConCCL, arXiv 2412.14335: DMA collectives reach more of the ideal than kernels that share the units.
@test "where a kernel shares the units an engine reaches at least its fraction of ideal, in every collective" {
	cd "$BATS_TEST_TMPDIR"
	model 'engine_bandwidth = 1e12'
	measure sim:./model.sim:0-3 --shape n1024,32x2048x2048 --mflop 0 --size 16M --blocks 3,6
	[ "$status" = 0 ]
	json "len(cases) == 16 and all(e is None or k is None or e > k - 1e-9 $each
			for e, k in [[d['fraction_of_ideal', m] for m in ('engine', 'kernel')]])" \
		"sum(d['fraction_of_ideal', 'engine'] is not None $each) >= 8" <<<"$output"
}

@test "where nothing is shared every CIL is 1 to the last digits" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' 'like = quiet' 'llc_bandwidth = 1e15' 'memory_bandwidth = 1e15' 'copy_engines = 8' >model.sim
	measure sim:./model.sim:0-2 --type f32 --shape n64,n256 --size 64K,1M --collective all-gather,all-to-all --method engine
	[ "$status" = 0 ]
	json 'sum(d["name"].startswith("CIL") for r in cases for d in r["derived"]) == 16' \
		'all(abs(d["value"] - 1) < 1e-9 for r in cases for d in r["derived"] if d["name"].startswith("CIL"))' <<<"$output"
}

@test "what is missing is named with the reason, and the rest goes on" {
	cd "$BATS_TEST_TMPDIR"
	measure sim:0,1 --shape n64 --size 64K --collective allreduce
	[ "$status" = 0 ]
	json '[r["facts"]["not_measured"] for r in cases] == [
		"library, library-efficiency, library-zero-cta: the device does not support collectives"]' <<<"$output"
	measure sim:0,1 --shape n64 --size 64K --collective allreduce --method library
	[ "$status" = 77 ]
	[[ $stderr == *"the device does not support collectives"* ]]
	measure sim:0,1 --shape n64 --size 64K --collective allreduce --method engine
	json '["not_measured" in r["facts"] for r in cases] == [False]' <<<"$output"
	printf '%s\n' 'like = quiet' 'copy_engines = 0' 'lacks = copy_engine' >model.sim
	measure sim:./model.sim:0,1 --type f32 --shape n64 --size 64K --collective all-gather
	[ "$status" = 0 ]
	json '[("engine: the device has no copy engines; library, " in r["facts"]["not_measured"], r["facts"].get("best_methods"))
		for r in cases] == [(True, None)]' \
		'[[v["name"] for v in r["variants"] if "_" not in v["name"]] for r in cases] == [["kernel"]]' <<<"$output"
	printf '%s\n' 'like = quiet' 'lacks = peer' >model.sim
	measure sim:./model.sim:0,1 --type f32 --shape n64 --size 64K
	[ "$status" = 77 ]
}

@test "bad input is one line: a method that is none, one device, a size that is too small or too large" {
	measure sim:0,1 --method nccl
	[ "$status" = 2 ]
	[[ $stderr == *"engine"*"kernel"*"library"* ]]
	measure sim --shape n64
	[ "$status" = 77 ]
	[[ $stderr == *"2 devices"* ]]
	measure sim:0-31 --shape n64 --size 4K
	[ "$status" = 77 ]
	[[ $stderr == *"4096 bytes are too few for 32 equal parts"* ]]
	measure sim:0,1 --shape n64 --size 1000T
	[ "$status" = 77 ]
	[[ $stderr == *"exceed the device's free memory"* ]]
}

@test "the library's policies are methods like the others, and the one without blocks is proved or skipped" {
	on_fakes cuda:0,1
	json "[($methods, r['facts'].get('not_measured', '').partition(':')[0], r['facts']['library']) for r in cases] == [
			(['engine', 'kernel', 'library', 'library-efficiency', 'library-zero-cta'], '', 'NCCL 2.28.9'), *3 * [(['engine', 'kernel', 'library', 'library-efficiency'], 'library-zero-cta', 'NCCL 2.28.9')]]" \
		'[("completes_while_all_units_are_held", True) in [(m["name"], m["observed"]) for m in r["mechanism"]] for r in cases] == [
			True, False, False, False]' \
		'["units_left_library-zero-cta" in r["facts"] for r in cases] == [True, False, False, False]' \
		'all("takes units" in r["facts"]["not_measured"] for r in cases[1:])' <<<"$output"
	on_fakes hip:0,1 --collective all-gather --method library,library-efficiency
	json "[$methods for r in cases] == [['library', 'library-efficiency']]" <<<"$output"
}

@test "where the library or a policy is missing the others go on, with its words" {
	FAKE_NCCL_VERSION=21903 on_fakes cuda:0,1 --collective all-gather
	json "[$methods for r in cases] == [['engine', 'kernel', 'library']]" \
		'all("it is there from 2.27 on; library-zero-cta: " in r["facts"]["not_measured"] for r in cases)' <<<"$output"
	for function in ncclCommInitAll ncclGroupEnd; do
		FAKE_FAIL=$function=1 on_fakes cuda:0,1 --collective all-gather --method engine,kernel,library
		json "[($methods, r['facts']['not_measured']) for r in cases] == [
			(['engine', 'kernel'], 'library: $function: unhandled cuda error')]" <<<"$output"
	done
}
