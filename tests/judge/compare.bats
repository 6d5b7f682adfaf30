#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# compare: from runs on a simulated device, whose truth is known, to a verdict.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# Five equal runs before, five more, and five with GEMMs slowed down by a tenth; with four metrics five a side can decide.
setup_file() {
	local where=$BATS_FILE_TMPDIR name number slow
	for name in before equal slower; do
		slow=
		[ "$name" != slower ] || slow='slow_down = gemm 1.1'
		printf 'like = default\ndata = none\nmemory_bytes = 192G\ngemm_tile = 1024\njitter_sigma = 0.003\nblock_jitter_sigma = 0.003\n%s\n' "$slow" >"$where/m.model"
		for number in 1 2 3 4 5; do
			mkdir -p "$where/$name/run-$number"
			"${GPUSIG_BIN:-$root/bin}/gemm/efficiency" --device "sim:$where/m.model" --headline --max-samples 10 \
				--seed "${#name}0$number" --out "$where/$name/run-$number/records.jsonl" >&2 || return 1
		done
	done
	signatures "$where"/*/run-*
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# In the folder of the file, where the runs are.
compare() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" compare "$@"); }

@test "a slowdown is a regression: 1, in words, and of what is slower alone" {
	run --separate-stderr compare before slower --format json --html page.html
	[ "$status" = 1 ]
	json 'rows[0]["outcome"]["verdict"] == "regress"' \
		'{m["label"]: m["verdict"] for m in rows[0]["metrics"]} == {"GEMM f32 flop rate": "regress", "GEMM f64 flop rate": "regress",
		  "peak f32 flop rate": "equivalent", "peak f64 flop rate": "equivalent"}' \
		'all(0.89 < m["change"]["low"] <= m["change"]["high"] < 0.93 for m in rows[0]["metrics"][:2])' < <(tr -d '\n' <<<"$output")
	run --separate-stderr compare before slower --html ''
	[ "$status" = 1 ]
	[[ ${lines[0]} == "2 of 4 headline numbers regress: GEMM f"*" flop rate by "* ]]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
}

@test "the other way round it is an improvement, and 0" {
	run --separate-stderr compare slower before --html ''
	[ "$status" = 0 ]
	[[ ${lines[0]} == "No regression: 2 of 4 headline numbers improve (GEMM f"* ]]
}

@test "equal runs are equivalent, and 0; one run a side is inconclusive, and 3" {
	run --separate-stderr compare before equal --html ''
	[ "$status" = 0 ]
	[[ ${lines[0]} == "No regression: each of 4 headline numbers is equivalent"* ]]
	run --separate-stderr compare before/run-1 slower/run-1 --html ''
	[ "$status" = 3 ]
	[[ ${output//$'\n'/ } == "Inconclusive: GEMM f"*" lower"*"1 run a side cannot exclude chance"* ]]
}

@test "a control that moved withholds the verdict" {
	run --separate-stderr compare before slower --control 'gemm_f64_*' --html ''
	[ "$status" = 3 ]
	[[ ${lines[0]} == "Inconclusive: a control moved"* ]]
	run --separate-stderr compare before slower --control 'peak_*' --html ''
	[ "$status" = 1 ]
}

@test "a control that was measured next to each run is no headline number" {
	cp -r before/run-1 a && cp -r before/run-2 a/control
	cp -r slower/run-1 b && cp -r slower/run-2 b/control
	run --separate-stderr compare a b --format json --html ''
	[ "$status" = 3 ]
	json 'all("@control" not in m["name"] for m in rows[0]["metrics"])' \
		'any(m["name"].endswith("gemm_f32_flop_rate@control") for m in rows[0]["control"]["metrics"])' < <(tr -d '\n' <<<"$output")
	rm -r a b
}

@test "JSON fits its schema, and JUnit has a case a metric" {
	python=$(sh "$root/suite/setup/find_python.sh" jsonschema) || skip 'no Python with jsonschema'
	for after in equal slower before/run-2; do
		compare before/run-1 before/run-3 vs "$after" --format json --html '' >"to-${after##*/}.json" || [ $? != 2 ]
	done
	here=$PWD
	(cd "$root" && "$python" -c 'import pathlib, sys
from reports.records.validate import validate_file
sys.exit(any([validate_file(pathlib.Path(path)) for path in sys.argv[1:]]))' "$here"/to-{equal,slower,run-2}.json)
	compare before slower --format junit --html '' >junit.xml || [ $? = 1 ]
	"$TEST_PYTHON" -c 'import xml.etree.ElementTree as t
cases = list(t.parse("junit.xml").iter("testcase"))
assert sum(c.find("failure") is not None for c in cases) == 2 and len(cases) >= 4, [t.tostring(c) for c in cases]'
}

@test "the noise floor of equal runs is kept, and used" {
	run --separate-stderr compare --aa before equal --repeats 5 --out noise.json
	[ "$status" = 0 ]
	[[ $output == *"False-alarm rate, least effect that matters 2.0 %"* ]]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
	python=$(sh "$root/suite/setup/find_python.sh" jsonschema) && (cd "$root" && "$python" -m reports.records.validate "$BATS_FILE_TMPDIR/noise.json")
	run --separate-stderr compare before slower --noise noise.json --format json --html ''
	[ "$status" = 1 ]
	json 'rows[0]["settings"]["noise"] == "noise.json"' < <(tr -d '\n' <<<"$output")
}

@test "a page is written where it is wanted, and the answer does not need it" {
	compare --aa before equal --repeats 5 --out noise.json
	run --separate-stderr compare before equal --noise noise.json --html sub.html
	[ "$status" = 0 ]
	if [[ $stderr == *jinja2* ]]; then skip 'no jinja2'; fi
	[[ $stderr == "gpusig: full comparison: $PWD/sub.html" ]]
	grep -qF 'To repeat it: <code>./gpusig compare before equal --noise noise.json --html sub.html</code>' sub.html
	run --separate-stderr compare before equal --html nowhere/page.html
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write $PWD/nowhere/page.html: No such file or directory" ]]
	[[ $output == "No regression"* ]]
	mkfifo pipe
	run --separate-stderr compare before equal --html pipe
	[ "$status" = 1 ]
	[[ $stderr == *"it is not a regular file" ]]
}

@test "an answer that cannot be written is one line and 1" {
	[ -e /dev/full ] || skip 'no /dev/full'
	to_full() { "$root/gpusig" compare before equal --html '' >/dev/full; }
	run --separate-stderr to_full
	[ "$status" = 1 ]
	[[ $stderr == "gpusig: write to stdout: No space left on device" ]]
}
