#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A contention inefficiency loss is the time of something next to something else over the time of the same thing alone. So on a device
# that shares nothing it is 1.00, in every program that reports one.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# Start-up: what a program does between the starts of the two sides is in one side's time and not in both. Events and values cost
# nothing here, so it is a launch (400 ns at most) of the 100 us that a side takes. The model has no data, for this is about times.
TOLERANCE=0.004

# Programs with a quantity of that name, from their sources: FOLDER/PROGRAM.
programs() {
	(cd "$root" && grep -rlE '"[A-Za-z_]*CIL[A-Za-z_]*"' --include='*.c' micro gemm overlap) |
		sed -E 's|^([a-z]+)/([a-z_0-9]+)[/.].*|\1/\2|' | sort -u
}

# Options with which the two sides share no units, which the model can't express: an engine copy with a GEMM; or a short list.
options() {
	case $1 in
	micro/contention) echo '--pair engine+gemm' ;;
	micro/copy_contention) echo '--type f32 --copy-method engine' ;;
	overlap/collective) echo '--type f32 --shape n256 --collective all-gather,all-to-all --method engine' ;;
	micro/neighbour) echo '--neighbour memory' ;;
	overlap/pair) echo '--shape n256 --mflop 4' ;;
	overlap/ficco) echo '--shape g1 --mflop 4' ;;
	overlap/shaping) echo '--scenario cb-ar,mb-a2a --mflop 4' ;;
	esac
}

@test "where nothing is shared nothing is lost, in any program that reports a CIL" {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf '%s\n' 'like = quiet' 'units = 64' 'slots_per_unit = 64' 'copy_engines = 8' 'block_ns = 5000' 'memory_bandwidth = 1e15' \
		'llc_bandwidth = 1e15' 'unit_bandwidth = 1e14' 'host_bandwidth = 1e15' 'event_ns = 0' 'value_ns = 0' \
		'storage_bandwidth = 5e9' \
		'data = none' >free.model
	for program in $(programs); do
		# shellcheck disable=SC2046 # options are words
		run --separate-stderr timeout "$HANGS_S" "${GPUSIG_BIN:-$root/bin}/$program" --device sim:./free.model:0-3 --warm-up 0 --min-samples 6 \
			--max-samples 6 --format json $(options "$program")
		echo "$program: $status $stderr"
		[ "$status" = 0 ]
		json 'sum("CIL" in x["name"] for r in cases for x in r.get("derived", [])) > 0' \
			"none([(r['case'], x['name'], x['variant'], x['value']) for r in cases for x in r.get('derived', [])
				if 'CIL' in x['name'] and not (x['ci_low'] is not None and x['ci_low'] - $TOLERANCE <= 1 <= x['ci_high'] + $TOLERANCE)])" <<<"$output"
	done
}

@test "the search finds the programs" {
	run programs
	[[ $output == *overlap/shaping* && $output == *overlap/pair* && $output == *overlap/ficco* && $output == *micro/contention* ]]
}
