#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# scorecard: from runs of simulated machines, whose truth is known, to who is best at what, for which work and at which price.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# Two machines, three runs each: "hot" has GEMMs that take 1.5 times as long, and memory that is twice as fast.
setup_file() {
	local where=$BATS_FILE_TMPDIR bin=${GPUSIG_BIN:-$root/bin} name run model
	printf 'like = default\ndata = none\nmemory_bytes = 192G\ngemm_tile = 512\njitter_sigma = 0.003\nblock_jitter_sigma = 0.003\n' |
		tee "$where/plain.model" >"$where/hot.model"
	printf 'slow_down = gemm 1.5\nmemory_bandwidth = 4e11\n' >>"$where/hot.model"
	for name in plain hot; do
		for run in 1 2 3; do
			mkdir -p "$where/$name/run-$run"
			model="--device sim:$where/$name.model --max-samples 10 --seed $((run + ${#name} * 10)) --format json"
			# shellcheck disable=SC2086 # several words
			{
				"$bin/gemm/efficiency" $model --type f32 \
					--shape square,n1024,512x512x512,1024x512x2048,512x2048x1024,256x1024x512
				"$bin/micro/memory" $model --op triad
				"$bin/micro/launch" $model
				"$bin/micro/copy_path" $model --direction up --size 64K:16M:x16 --path engine
			} >"$where/$name/run-$run/records.jsonl" || return 1
		done
	done
	signatures "$where"/*/run-*
	printf 'gemm 700x900x800 f32 count=100\nmemory triad 1G\nlaunch 1000\ncopy up 1M\n' >"$where/mix"
	printf 'plain 100 EUR 300W\nhot 90 EUR 200W\nhot2 0 EUR\nnobody 1 EUR\n' >"$where/prices"
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# In the folder of the file, where the runs are.
gpusig() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" "$@"); }
scorecard() { gpusig scorecard "$@"; }

@test "each machine is best at what it was made better at" {
	run --separate-stderr scorecard plain hot --format json --html ''
	[ "$status" = 0 ]
	json '[m["best"] for m in rows[0]["metrics"] if "gemm_f" in m["name"]] == [["plain"]]' \
		'[m["best"] for m in rows[0]["metrics"] if m["name"] == "micro/memory/memory_triad_bandwidth"] == [["hot"]]' \
		'rows[0]["counts"]["questions"] == 4' 'none([m["name"] for m in rows[0]["metrics"] if not m["unit"] and m["best"]])' \
		'all(0.63 < m["ratios"]["hot"]["value"] < 0.71 for m in rows[0]["metrics"] if "gemm_f" in m["name"])' \
		'any("Simulated" in s for s in rows[0]["sentences"])' < <(tr -d '\n' <<<"$output")
	run --separate-stderr scorecard plain hot --html ''
	[ "$status" = 0 ]
	[[ ${lines[0]} == "Of 4 questions, one vote each: "* ]]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
}

@test "a machine against itself is 1 in every number, item and total" {
	run --separate-stderr scorecard A=plain B=plain --workload mix --format json --html ''
	[ "$status" = 0 ]
	json 'all(r["low"] <= 1 <= r["high"] for m in rows[0]["metrics"] for r in m["ratios"].values() if r)' \
		'"answered by ./gpusig compare plain plain" in rows[0]["sentences"][0]' \
		'none([s for s in rows[0]["sentences"] if "one vote each" in s])' \
		'none([m["name"] for m in rows[0]["metrics"] if m["verdict"] == "best"])' 'len(rows[0]["workload"]["items"]) == 4' \
		'all(own["speed"]["low"] <= 1 <= own["speed"]["high"] for line in [*rows[0]["workload"]["items"], rows[0]["workload"]["total"]]
		  for own in line["machines"].values())' 'any("one machine, measured once" in n for n in rows[0]["notes"])' \
		< <(tr -d '\n' <<<"$output")
}

@test "a machine has the last part of its path as its name, and --base takes either" {
	run --separate-stderr scorecard "$PWD/plain" hot known:sim-h100 --base "$PWD/plain" --format json --html ''
	json '{m["name"] for m in rows[0]["machines"]} == {"hot", "known:sim-h100", "plain"}' 'rows[0]["settings"]["base"] == "plain"' \
		< <(tr -d '\n' <<<"$output")
	run --separate-stderr scorecard plain hot/run-1 plain/run-1 --format json --html ''
	json '{m["name"] for m in rows[0]["machines"]} == {"hot/run-1", "plain", "plain/run-1"}' < <(tr -d '\n' <<<"$output")
}

@test "the order of the machines changes nothing" {
	scorecard plain hot hot2=hot/run-1 --workload mix --price prices --format json --html '' >one.json
	scorecard hot2=hot/run-1 hot plain --workload mix --price prices --format json --html '' >other.json
	"$TEST_PYTHON" -c 'import json
one, other = (json.load(open(name)) for name in ("one.json", "other.json"))
for card in (one, other):
    card["machines"].sort(key=lambda machine: machine["name"])
    card["price"]["notes"].sort(key=lambda note: note.partition("machines: ")[0])
    card["price"]["notes"] = [note.partition("machines: ")[0] for note in card["price"]["notes"]]
assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)'
}

@test "a mix is predicted, and prices are weighed; what is wrong in them is named" {
	run --separate-stderr scorecard plain hot hot2=hot/run-1 --workload mix --price prices --format json --html page.html
	[ "$status" = 0 ]
	json 'rows[0]["workload"]["items"][0]["best"] == ["plain"]' '"hot" in rows[0]["workload"]["items"][1]["best"]' \
		'rows[0]["price"]["criteria"] == ["speed", "price", "power"]' \
		'any("a price of 0" in n for n in rows[0]["price"]["notes"])' 'any("nobody" in n for n in rows[0]["price"]["notes"])' \
		< <(tr -d '\n' <<<"$output")
	if python=$(sh "$root/suite/setup/find_python.sh" jsonschema); then
		echo "$output" >card.json
		(cd "$root" && "$python" -m reports.records.validate "$BATS_FILE_TMPDIR/card.json")
	fi
	[ ! -e page.html ] || { grep -q 'Run rules' page.html && ! grep -q '<script' page.html; }
}

@test "what a machine cannot answer has a reason, and no total" {
	printf 'launch 10\nmessage allreduce 1M devices=2\n' >impossible
	run --separate-stderr scorecard plain hot --workload impossible --format json --html ''
	[ "$status" = 0 ]
	json 'rows[0]["workload"]["total"]["machines"]["hot"]["seconds"] is None' 'rows[0]["workload"]["common_items"] == 1' \
		'"measured alone" in rows[0]["workload"]["items"][1]["machines"]["hot"]["reason"]' < <(tr -d '\n' <<<"$output")
}

@test "what is not measured has the command that measures it" {
	printf 'gemm 700x900x800 f64 count=100\nmemory triad 1G\n' >unmeasured
	run --separate-stderr scorecard plain hot --workload unmeasured --html ''
	[ "$status" = 0 ]
	[[ $(tr '\n' ' ' <<<"$output") == *"To measure what hot lacks: ./gpusig run --device sim:$BATS_FILE_TMPDIR/hot.model --shape 700x900x800 --out hot-mix "* ]]
}

@test "a machine alone stands next to the known ones of its sort" {
	run --separate-stderr scorecard plain --html alone.html
	[ "$status" = 0 ]
	[[ ${lines[0]} == "Next to "*" known machines, in "* ]]
	[[ $output == *known:sim-h100* ]]
	[[ $stderr == *jinja2* ]] || grep -qF '<h1>How good is plain next to known machines?</h1>' alone.html
	[[ $output != *known:h100* ]]
	run scorecard known:
	[ "$status" = 0 ]
	[[ $output == *"known:h100: NVIDIA H100 80GB HBM3; measured 2026-11-26, "* ]]
}

@test "a run says how to see it next to known machines" {
	run --separate-stderr gpusig run --device sim --only micro/launch --budget 1s --out run
	[ "$status" = 0 ]
	[[ $stderr == *"gpusig: next to known machines: ./gpusig scorecard $PWD/run" ]]
}

@test "wrong usage is one line, and 2" {
	printf 'gemm 1x1 f32\n' >wrong
	mkdir -p empty
	refused <<-'TABLE'
		2|scorecard|needs a machine
		2|scorecard plain known:h100 --html ''|a simulated and a measured machine cannot be compared
		2|scorecard plain known:nothing --html ''|known: h100
		2|scorecard plain nowhere --html ''|
		2|scorecard plain hot --base cold --html ''|
		2|scorecard plain hot --workload wrong --html ''|
		2|scorecard plain hot --workload nowhere --html ''|
		2|scorecard A=plain A=hot --html ''|
		2|scorecard plain hot --price nowhere --html ''|
		2|scorecard plain hot --format csv --html ''|
		2|scorecard plain hot --nonsense --html ''|
		2|scorecard plain empty --html ''|
		2|scorecard plain mix --html ''|
	TABLE
}

@test "a simulated machine and a measured one do not stand side by side" {
	mkdir -p here
	"${GPUSIG_BIN:-$root/bin}/micro/launch" --device host --min-samples 1 --max-samples 1 --format json >here/records.jsonl || [ $? = 3 ]
	signatures "$PWD/here"
	run --separate-stderr scorecard plain here --html ''
	[ "$status" = 2 ]
	[[ $stderr == *"a simulated and a measured machine cannot be compared"* ]]
}

@test "nothing in common is 3; a page that cannot be written is 1" {
	for name in launch efficiency; do
		mkdir -p "only-$name"
		grep -E "\"program\": ?\"[a-z]+/$name\"" plain/run-1/records.jsonl >"only-$name/records.jsonl"
	done
	signatures "$PWD/only-launch" "$PWD/only-efficiency"
	run --separate-stderr scorecard only-launch only-efficiency --html ''
	[ "$status" = 3 ]
	[[ ${lines[0]} == "No headline number could be compared."* ]]
	"$TEST_PYTHON" -c 'import jinja2' 2>/dev/null || skip 'skipped: no jinja2'
	run --separate-stderr scorecard plain hot --html page.html
	grep -qF 'To repeat it: <code>./gpusig scorecard plain hot --html page.html</code>' page.html
	run --separate-stderr scorecard plain hot --html nowhere/page.html
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write"* ]]
}
