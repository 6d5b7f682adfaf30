#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A soak checks every execution, again and again until its time is over.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

measured() { json "$@" <results/records.jsonl; }

@test "a wrong result in a later pass is 1 and counted, and the soak goes on with that program and the others" {
	fake micro/a flaky
	fake micro/b steady
	run --separate-stderr suite run --soak 15s --out results
	[ "$status" = 1 ]
	measured '[r["status"] for r in by_program["micro/a"] if r.get("key") == "size=4096"].count("failed") == 1' \
		'by_program["micro/a"][-1]["status"] == "ok" and by_program["micro/b"][-1]["status"] == "ok"' \
		'sum(r["kind"] == "run" for r in by_program["micro/a"]) > 2 and sum(r["kind"] == "run" for r in by_program["micro/b"]) > 2' \
		'all("--check every" in " ".join(r["argv"]) for r in rows if r["kind"] == "run")'
	[[ $stderr == *"failed micro/a: wrong result"* ]]
	total=$("$TEST_PYTHON" -c 'import json
checks = [(r["program"], r["check"]) for r in map(json.loads, open("results/records.jsonl")) if r["kind"] == "case"]
print(sum(c["checked"] for _, c in checks), "of", sum(c["timed"] for _, c in checks), "timed executions were checked;",
      "wrong: micro/a 1 of", sum(c["checked"] for name, c in checks if name == "micro/a"))')
	grep -qxF "gpusig: soak: $total" <<<"$stderr"
}

@test "a soak that finds nothing wrong is 0, is kept by a resumed run, and ends when its time is over" {
	fake micro/a slow
	suite run --soak 12s --out results >said 2>err 3>&- &
	until grep -q '"kind": "case"' results/records.jsonl 2>/dev/null; do sleep 0.1; done
	kill -s TERM "$(driver results)"
	wait $! || [ $? = 143 ]
	json 'rows[0]["soak"] is True and rows[0]["budget_s"] == 12' < <(tr -d '\n' <results/plan.json)
	for options in '--soak 13s' '--budget 12s'; do
		# shellcheck disable=SC2086 # options is a list of words
		run --separate-stderr suite run --resume results $options
		[ "$status" = 2 ]
		[[ $stderr == "gpusig: ${options%s}.0 s contradicts the run that is resumed, which has "*"12.0 s" ]]
	done
	run --separate-stderr suite run --resume results --soak 12s
	[ "$status" = 0 ]
	measured 'len(cases) > 8 and all("every" in r["argv"] for r in rows if r["kind"] == "run")' \
		'sum(c["key"] == "size=1024" for c in cases) > 1'
	before=$(wc -l <results/records.jsonl)
	run --separate-stderr suite run --resume results
	[ "$status" = 0 ]
	[[ $stderr == *"nothing left to measure"*"timed executions were checked; wrong: none"* ]]
	[[ $stderr != *scorecard* ]]
	[ "$before" = "$(wc -l <results/records.jsonl)" ]
}

@test "a soak of what can't run here is 3" {
	fake micro/a absent
	run --separate-stderr suite run --soak 1s --out results
	[ "$status" = 3 ]
	[[ $stderr == *"soak: 0 of 0 timed executions were checked; wrong: none"* ]]
}

@test "--soak is a duration, and excludes --budget" {
	fake micro/a steady
	run --separate-stderr suite run --soak 5x --out results
	[ "$status" = 2 ]
	[[ $stderr == "gpusig: --soak '5x' is not a duration such as 90, 90s, 2m or 1h" ]]
	run --separate-stderr suite run --soak 5s --budget 5s --out results
	[ "$status" = 2 ]
	[[ $stderr == "gpusig: --soak is the time to measure for, too: leave out --budget" ]]
	fake micro/a slow
	suite run --budget 1s --out results 2>err
	run --separate-stderr suite run --resume results --soak 1s
	[ "$status" = 2 ]
	[[ $stderr == "gpusig: --soak 1.0 s contradicts the run that is resumed, which has none" ]]
}
