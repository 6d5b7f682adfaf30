#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# fleet: from runs on simulated devices, one of which is slow, to the nodes that are off.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# Six nodes, of which one has slow GEMMs. A node more died in the middle.
setup_file() {
	local where=$BATS_FILE_TMPDIR number slow
	for number in 1 2 3 4 5 6; do
		slow=
		[ "$number" != 5 ] || slow='slow_down = gemm 1.5'
		printf 'like = default\ndata = none\nmemory_bytes = 192G\ngemm_tile = 1024\njitter_sigma = 0.003\nblock_jitter_sigma = 0.003\nseed = %d\n%s\n' "$number" "$slow" \
			>"$where/m.model"
		mkdir -p "$where/fleet/node0$number"
		"${GPUSIG_BIN:-$root/bin}/gemm/efficiency" --device "sim:$where/m.model" --headline --max-samples 10 --seed "$number" \
			--out "$where/fleet/node0$number/records.jsonl" >&2 || return 1
	done
	signatures "$where"/fleet/*
	cp -r "$where/fleet" "$where/broken"
	rm "$where/broken/node06/signature.json" "$where/broken/node05/"*.json
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

fleet() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" fleet "$@"); }

@test "the node that is slow is off: 1, in words, and left out as Slurm writes it" {
	run --separate-stderr fleet fleet --html ''
	[ "$status" = 1 ]
	[[ ${lines[0]} == "1 of 6 nodes is an outlier: node05 (2 GEMM rates 33 % lower)." ]]
	[[ $output == *"Leave out: --exclude=node05"* ]]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
	run --separate-stderr fleet fleet --html '' --format nodes
	[ "$status" = 1 ]
	[ "$output" = node05 ]
}

@test "JSON fits its schema, and says in what the node is off" {
	python=$(sh "$root/suite/setup/find_python.sh" jsonschema) || skip 'no Python with jsonschema'
	fleet fleet --format json --html '' >fleet.json || [ $? = 1 ]
	(cd "$root" && "$python" -m reports.records.validate "$BATS_FILE_TMPDIR/fleet.json")
	json '{c["label"] for n in rows[0]["nodes"] for c in n["off"]} == {"GEMM f32 flop rate", "GEMM f64 flop rate"}' \
		'[n["name"] for n in rows[0]["nodes"] if n["off"]] == ["node05"]' < <(tr -d '\n' <fleet.json)
}

@test "nodes that died are named, the rest is judged, and the answer is 3" {
	run --separate-stderr fleet broken --html '' --expect 'node[01-07]'
	[ "$status" = 3 ]
	[[ ${lines[0]} == "Inconclusive: no outlier in what was measured, but of 7 nodes 1 is missing"* ]]
	[[ $output == *"Not fully known: node[05-07]"* ]]
	[[ $output == *"./gpusig report"* ]]
}

@test "a page is written where it is wanted, and the answer does not need it" {
	run --separate-stderr fleet fleet --html page.html
	[ "$status" = 1 ]
	if [[ $stderr == *jinja2* ]]; then skip 'no jinja2'; fi
	[[ $stderr == "gpusig: full report: $PWD/page.html" ]]
	grep -q 'table class="map"' page.html
	grep -qF 'To repeat it: <code>./gpusig fleet fleet --html page.html</code>' page.html
	run --separate-stderr fleet fleet --html nowhere/page.html
	[ "$status" = 1 ]
	[[ $stderr == *"fleet: cannot write $PWD/nowhere/page.html: No such file or directory" ]]
}

@test "the noise floor of a machine is used for its like" {
	(cd "$root" && "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" compare --aa fleet/node0{1,2,3,4,6} --out noise.json)
	run --separate-stderr fleet fleet --html '' --format json --noise noise.json
	[ "$status" = 1 ]
	json 'rows[0]["settings"]["noise"] == "noise.json"' < <(tr -d '\n' <<<"$output")
}

@test "wrong usage is one line and 2" {
	refused <<-'TABLE'
		2|fleet|fleet
		2|fleet nowhere|
		2|fleet fleet --expect n[2-1]|
		2|fleet fleet --effect 0|
		2|fleet fleet --format xml|
	TABLE
}
