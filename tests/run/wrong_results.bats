#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Wrong results of a real program, on a simulated device that corrupts copies, reach whatever reads its records.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# Three good runs, and three of the same device when its copies are wrong.
setup_file() {
	local number copies=${GPUSIG_BIN:-$root/bin}/micro/copy_path
	cd "$BATS_FILE_TMPDIR" || return 1
	for number in 1 2 3; do
		printf 'like = quiet\n' >a.model
		"$copies" --device sim:./a.model --headline --seed "$number" --max-samples 10 --format json >"good-$number" || return 1
		printf 'like = quiet\ncorrupt_copy_every = 23\n' >a.model
		! "$copies" --device sim:./a.model --headline --seed "$number" --max-samples 10 --format json >"bad-$number" || return 1
		for kind in good bad; do
			mkdir -p "$kind/run-$number"
			mv "$kind-$number" "$kind/run-$number/records.jsonl"
		done
	done
	signatures "$BATS_FILE_TMPDIR"/*/run-*
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

tells() { (cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_FILE_TMPDIR" "$@"); }

wrong() { grep -c '"cause":"wrong_result"' bad/run-1/records.jsonl; }

@test "records and signature say so in a word, as their schemas have it" {
	[ "$(wrong)" -gt 0 ]
	[ "$(wrong)" = "$(grep -c '"reason":"wrong result: ' bad/run-1/records.jsonl)" ]
	fits_schema bad/run-1/records.jsonl
	json 'all(e["cause"] == "wrong_result" for part in ("not_measured", "primary_missing") for e in rows[0][part])' \
		'len(rows[0]["not_measured"]) > 0 and len(rows[0]["primary_missing"]) > 0' < <(tr -d '\n' <bad/run-1/signature.json)
}

@test "Prometheus counts them, and none where there are none" {
	run --separate-stderr tells export --to prometheus bad/run-1
	[ "$status" = 0 ]
	grep -q "^gpusig_wrong_results{.*program=\"micro/copy_path\"} $(wrong).0\$" <<<"$output"
	[[ $output == *$'\ngpusig_metric_missing{'*'cause="wrong_result"} 1'* ]]
	run --separate-stderr tells export --to prometheus good/run-1
	grep -q '^gpusig_wrong_results{.*program="micro/copy_path"} 0.0$' <<<"$output"
}

@test "in JUnit each is a failure of that type" {
	run --separate-stderr tells export --to junit bad/run-1
	[ "$(grep -c '<failure message="wrong result: .* type="wrong result"' <<<"$output")" = "$(wrong)" ]
	run --separate-stderr tells export --to junit good/run-1
	[[ $output != *'<failure'* ]]
}

@test "report, scorecard, comparison and fleet say it, and none is as good as a clean one" {
	run tells report bad/run-1
	[[ $output == *"micro/copy_path: 1 case failed: "*"wrong result: "* ]]
	[[ $output == *"Something failed or gave a wrong result: do not use this run"* ]]
	run --separate-stderr tells scorecard good bad --format json
	json '[r["machines"]["bad"]["holds"] for r in rows[0]["rules"] if r["rule"].startswith("nothing failed")] == ["no"]' <<<"$(tr -d '\n' <<<"$output")"
	run --separate-stderr tells compare good bad
	[ "$status" = 1 ]
	[[ $(tr -s ' \n' '  ' <<<"$output") == *"Regression: micro/copy_path gave 0 wrong results before and "*" after ("* ]]
	[[ $output == *"its case failed: wrong result: "* ]]
	mkdir -p fleet
	for number in 1 2 3; do
		cp -r "good/run-$number" "fleet/good-$number"
		cp -r "good/run-$number" "fleet/well-$number"
	done
	cp -r bad/run-1 fleet/bad-1
	run --separate-stderr tells fleet fleet
	[ "$status" = 1 ]
	[[ $output == *"1 of 7 nodes is an outlier: bad-1 ($(wrong) wrong results of micro/copy_path)."* ]]
	[[ $(tr -s ' \n' '  ' <<<"$output") == *"bad-1 "*"its case failed: wrong result: "* ]]
}

# Folders good and bad, whose headline numbers are the same; a small copy beside them, in no headline number, is
# wrong in the bad ones.
beside_headlines() {
	local kind number
	[ ! -d beside ] || return 0
	for kind in good bad; do
		printf 'like = quiet\n' >a.model
		[ "$kind" = good ] || printf 'corrupt_copy_every = 23\n' >>a.model
		for number in 1 2 3 4; do
			mkdir -p "beside/$kind/run-$number"
			cp "good/run-$(((number - 1) % 3 + 1))/records.jsonl" "beside/$kind/run-$number/"
			"${GPUSIG_BIN:-$root/bin}/micro/copy_path" --device sim:./a.model --direction local --size 64K --seed "$number" \
				--max-samples 10 --format json >>"beside/$kind/run-$number/records.jsonl" || [ "$kind" = bad ]
		done
	done
	signatures "$PWD"/beside/*/run-*
}

@test "a wrong result without a headline number is off in a fleet and a regression" {
	local side
	beside_headlines
	[ "$(grep -c '"cause":"wrong_result"' beside/bad/run-1/records.jsonl)" = 1 ]
	json 'rows[0]["primary_missing"] == rows[1]["primary_missing"]' \
		'[e["cause"] for e in rows[1]["not_measured"]] == ["wrong_result"] and rows[0]["not_measured"] == []' \
		< <(for side in good bad; do tr -d '\n' <beside/$side/run-1/signature.json && echo; done)

	mkdir -p beside/fleet
	for side in 1 2 3 4; do cp -r "beside/good/run-$side" "beside/fleet/n$side"; done
	run --separate-stderr tells fleet beside/fleet
	[ "$status" = 0 ]
	cp -r beside/bad/run-1 beside/fleet/n9
	run --separate-stderr tells fleet beside/fleet
	[ "$status" = 1 ]
	[[ $output == *"1 of 5 nodes is an outlier: n9 (1 wrong result of micro/copy_path)."* ]]
	[[ $(tr -s ' \n' '  ' <<<"$output") == *"micro/copy_path on sim:"*": wrong result: "* ]]
	run --separate-stderr tells fleet beside/fleet --format exclude
	[ "$status" = 1 ] && [ "$output" = --exclude=n9 ]

	run --separate-stderr tells compare beside/good beside/bad
	[ "$status" = 1 ]
	[[ $(tr -s ' \n' '  ' <<<"$output") == *"Regression: micro/copy_path gave 0 wrong results before and 4 after ("*": wrong result: "* ]]
	run --separate-stderr tells compare beside/good beside/bad --format junit
	[ "$status" = 1 ] && [[ $output == *'<failure message="Regression: micro/copy_path gave '* ]]
	run --separate-stderr tells compare beside/bad beside/good
	[ "$status" = 3 ]
	[[ $(tr -s ' \n' '  ' <<<"$output") == *"micro/copy_path gave 4 wrong results before and 0 after"* ]]
}

@test "every export of them says it on stderr, csv and Google Benchmark's JSON count them, and advice says it" {
	local format side
	beside_headlines
	for side in good bad; do
		mkdir -p "told/$side"
		cp "beside/$side/run-1/signature.json" "told/$side/"
		echo '{"created": "2026-01-02T00:00:00+00:00"}' >"told/$side/plan.json"
	done
	for format in prometheus junit gbench csv reframe; do
		run --separate-stderr tells export --to "$format" told/bad --out "told/bad.$format"
		[ "$status" = 0 ]
		[[ $stderr == "gpusig: export: told/bad has wrong results: micro/copy_path on sim:./a.model: wrong result: "* ]]
		run --separate-stderr tells export --to "$format" told/good --out "told/good.$format"
		[ "$status" = 0 ]
		[[ $stderr != *"wrong result"* ]]
	done
	json 'rows[0]["context"]["wrong_results"] == "1"' 'rows[1]["context"]["wrong_results"] == "0"' \
		< <(for side in bad good; do tr -d '\n' <"told/$side.gbench" && echo; done)
	"$TEST_PYTHON" -c 'import csv, sys
told = [next(csv.DictReader(open(name)))["wrong_results"] for name in sys.argv[1:]]
assert told == ["1", "0"], told' told/bad.csv told/good.csv
	run --separate-stderr tells model told/bad
	[[ $stderr == "gpusig: model: the signature has wrong results: micro/copy_path on sim:./a.model: "* ]]
	run --separate-stderr tells model told/good
	[ -z "$stderr" ]
}

@test "preflight calls the node bad" {
	printf 'like = quiet\ncorrupt_copy_every = 23\n' >a.model
	run --separate-stderr tells preflight --device sim:./a.model --budget 10m
	[ "$status" = 1 ]
	[[ ${lines[0]} == "gpusig preflight: "*": micro/copy_path on sim:"*": wrong result: "* ]]
}

@test "what has wrong results is no reference" {
	run --separate-stderr tells preflight --device sim:quiet --reference bad
	[ "$status" = 2 ]
	[ -z "$output" ] && [ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == "gpusig: leave it out: bad/run-1 has wrong results: micro/copy_path on sim:"*"wrong result: "* ]]
}
