#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A run whose terminal is closed, or whose output nobody reads, is measured and reported to the end.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON # found once
	fake micro/a steady
	fake micro/b steady
}

on_terminal() { "$TEST_PYTHON" -I -S "$root/tests/bats/on_terminal.py" "$@"; }

# complete CASES: so many cases, whole lines, and a report of them.
complete() {
	json 'len(cases) == '"$1" 'rows[-1]["kind"] == "end"' <results/records.jsonl
	json 'rows[0]["schema"] == "gpusig.signature"' < <(tr -d '\n' <results/signature.json)
}

@test "a reader of the output that ends does not end the run" {
	"$root/gpusig" run --budget 20s --out results 2>&1 | head -n 1
	codes=("${PIPESTATUS[@]}")
	[ "${codes[0]}" = 0 ]
	complete 16
}

@test "closed descriptors are no place for records, and their output is dropped" {
	"$root/gpusig" run --budget 20s --out results <&- >&- 2>&-
	complete 16
	rm -r results
	suite run --budget 20s --out results <&- >&- 2>&-
	complete 16
	! grep -l '^gpusig: ' results/*.json* results/lock || return 1
}

@test "a full disk under the output does not end the run" {
	suite run --budget 20s --out results >/dev/full 2>/dev/full
	complete 16
}

@test "a terminal that is closed stops the run, which reports first" {
	fake micro/a hang
	code=0
	on_terminal results/records.jsonl "$root/gpusig" run --budget 10m --out results || code=$?
	[ "$code" = 129 ]
	json '[(r["program"], r["status"]) for r in rows if r["kind"] == "end"] == [("micro/a", "interrupted"), ("micro/b", "skipped")]' \
		<results/records.jsonl
	[ -s results/signature.json ]
}

@test "under nohup a run outlives its terminal" {
	fake micro/a slow
	on_terminal results/records.jsonl sh -c "trap '' HUP; exec \"\$0\" \"\$@\"" "$root/gpusig" run --budget 60s --out results
	complete 16
}

# The report begins, writes its process to the file `begun`, and waits for the file `go`.
slow_report() {
	cp -rp "$root/suite" "$root/reports" .
	sed -i 's/^if __name__ == "__main__":$/&\n    import os, time; Path("begin").write_text(str(os.getpid())); Path("begin").rename("begun")\n    while not Path("go").exists(): time.sleep(0.05)/' \
		suite/commands/report.py
	"$TEST_PYTHON" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])' "$TEST_PYTHON" -m suite run --budget 20s --out results >said 2>words 3>&- &
	driver=$!
	until [ -e begun ]; do sleep 0.1; done
}

@test "SIGINT during the report: it is completed first" {
	slow_report
	kill -s INT -- -$driver
	sleep 0.3
	touch go
	code=0
	wait $driver || code=$?
	[ "$code" = 130 ]
	complete 16
}

@test "SIGINT to the report alone: it is completed" {
	slow_report
	kill -s INT "$(<begun)"
	sleep 0.3
	touch go
	wait $driver
	complete 16
}

@test "a second SIGINT does not wait for the report" {
	slow_report
	kill -s INT -- -$driver
	# Two that wait for a busy processor are one.
	while grep -qE '^(Sig|Shd)Pnd:.*[1-9a-f]' "/proc/$driver/status"; do sleep 0.1; done
	sleep 0.3
	kill -s INT -- -$driver
	code=0
	wait $driver || code=$?
	[ "$code" = 130 ]
	[ ! -e results/signature.json ]
	run ! grep Traceback words
}
