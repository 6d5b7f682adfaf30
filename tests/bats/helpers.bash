# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Functions for bats files: paths, fake programs, exit code 77 as a skip, checks of JSON lines.

bats_require_minimum_version 1.5.0

# shellcheck disable=SC2034 # used by the files that load this
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd)
export GPUSIG_NO_INSTALL=1
# Programs under test must not take the cores from other tests, which would end at their time limits.
GPUSIG_NICE=$(nice)
export GPUSIG_NICE

# A program that takes longer hangs: far above what any takes on a busy machine.
# shellcheck disable=SC2034 # used by the files that load this
HANGS_S=300

# The process that counts a test's limit may miss that the test ended, where that was at once, as a skipped test does. Bats 1.8 then
# waits for all of the limit. This one looks every few seconds.
if [[ $BATS_VERSION == 1.8.* ]]; then
	bats_start_timeout_countdown() { # LIMIT_S
		local left=$1 test=$$
		# shellcheck disable=SC2064 # the test is known now
		trap "bats_timeout_trap $test" ABRT
		(
			trap 'kill $!; exit 0' ABRT
			while [ "$left" -gt 0 ]; do
				sleep "$((left < 5 ? left : 5))" &
				wait
				kill -0 "$test" || exit 0
				left=$((left - 5))
			done
			kill -ABRT "$test" && bats_kill_childprocesses_of "$test"
		) &>/dev/null &
	}
fi

# Exported once per file, since finding a Python takes longer than most programs, as does a shim that looks for the real one.
if [ -z "${TEST_PYTHON:-}" ]; then
	TEST_PYTHON=$(sh "$root/suite/setup/find_python.sh" --any)
	TEST_PYTHON=$("$TEST_PYTHON" -c 'import sys; print(sys.executable)')
	export TEST_PYTHON
fi

# Every program in $bin, which the file sets, as FOLDER/NAME.
# shellcheck disable=SC2154
programs() { (cd "$bin" && find . -mindepth 2 -maxdepth 2 -type f -perm -u+x | sed 's|^\./||' | sort); }

# For tests that take long and seldom fail.
only_with_all() { [ "${GPUSIG_TEST_ALL:-0}" = 1 ] || skip 'only in ./gpusig test --all'; }

# budget_for DEVICES TIME: the option --budget; nothing on a simulated device, where cases take what they take.
budget_for() { [[ $1 == sim* ]] || echo "--budget $2"; }

# The folder that has the fake drivers of the programs tested, or those without one function.
fakes() { echo "$(readlink -f "${GPUSIG_BIN:-$root/bin}")/../fakes${1:+-without-$1}"; }

need_fakes() { [ -e "$(fakes)/libcuda.so.1" ] || make -C "$root" --no-print-directory fakes; }

# without FUNCTION: sets `drivers` to the folder of fake drivers that lack it, of the build that is tested.
without() {
	[ -z "${GPUSIG_BIN:-}" ] || skip 'drivers are made for the build of bin alone'
	make -C "$root" --no-print-directory fakes "WITHOUT=$1" >/dev/null
	# shellcheck disable=SC2034 # used by the files that load this
	drivers=$(fakes "$1")
	[ -e "$drivers/libcuda.so.1" ] || skip 'bin is not of the build that make has now'
}

# fake NAME BEHAVIOUR: creates a program FOLDER/NAME in $GPUSIG_BIN with a behaviour of fake_program.py.
fake() {
	export GPUSIG_BIN=${GPUSIG_BIN:-$BATS_TEST_TMPDIR/bin}
	mkdir -p "$GPUSIG_BIN/${1%/*}"
	printf '#!/bin/sh\n%s="%s" %s="%s" %s="%s" %s="%s"\n. "%s"\n' name "$1" behaviour "$2" python "$TEST_PYTHON" \
		program "$root/tests/bats/fake_program.py" "$root/tests/bats/fake_program.sh" >"$GPUSIG_BIN/$1"
	chmod +x "$GPUSIG_BIN/$1"
}

# Runs the driver directly, without setup and build.
suite() {
	(cd "$root" && exec "$TEST_PYTHON" -m suite --cwd "$BATS_TEST_TMPDIR" "$@")
}

# measures WORD...: the same without signature and page, which take longer than fake programs, and with SIGINT as on a terminal.
measures() {
	(cd "$root" && exec "$TEST_PYTHON" -c 'import runpy, signal
from suite.run import libraries, report
signal.signal(signal.SIGINT, signal.default_int_handler)
libraries.offer = lambda: None # looked for with another Python
report.build = lambda *given, **named: 0
runpy.run_module("suite", run_name="__main__", alter_sys=True)' --cwd "$BATS_TEST_TMPDIR" "$@")
}

# signatures FOLDER...: the signature.json of the records in each, without the rest of a report, in one process.
signatures() {
	(cd "$root" && "$TEST_PYTHON" -c 'import pathlib, sys
from reports.records import record_file
from reports.signature import signature
for folder in map(pathlib.Path, sys.argv[1:]):
    (folder / "signature.json").write_text(signature.build(record_file.read(folder / "records.jsonl")).text())' "$@")
}

# refused <<TABLE: what ./gpusig refuses in this folder, a line each: CODE|WORDS|TEXT of the message.
refused() { "$TEST_PYTHON" "$root/tests/bats/refused.py" "$PWD"; }

# driver FOLDER: the process of the driver that has the folder now; empty where none has.
driver() {
	local pid
	pid=$(sed -n 's/.*"driver": *\([0-9]*\).*/\1/p' "$1/lock" 2>/dev/null)
	[ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || echo "$pid"
}

# why TEXT: the last message of gpusig in it. mpirun prints lines around and after that message.
why() {
	local line reason=
	while IFS= read -r line; do
		case $line in
		*gpusig:*) reason=$line ;;
		*[[:alnum:]]*) case $reason in *gpusig:*) ;; *) reason=$line ;; esac ;;
		esac
	done <<<"$1"
	echo "$reason"
}

# After `run`: a program that cannot run here is a skip with its reason.
# shellcheck disable=SC2154 # status, stderr and output are set by run
skip_if_77() {
	[ "$status" != 77 ] || skip "$(why "${stderr:-$output}")"
}

# brought COMMAND...: real tools for tests, in PATH afterwards; a skip where one is not here.
brought() {
	local line found
	found=$("$TEST_PYTHON" "$root/tests/brought.py" "$@" 2>&1) || skip "$found"
	while IFS= read -r line; do export "${line?}"; done <<<"$found"
}

# fits_schema RECORDS: every line of the file does; a skip without jsonschema.
fits_schema() {
	local python
	python=$(sh "$root/suite/setup/find_python.sh" jsonschema) || skip 'no Python with jsonschema'
	"$python" "$root/tests/bats/fits_schema.py" "$root/reports/schema/record.schema.json" "$1"
}

# json EXPRESSION...: stdin as JSON lines in the list `rows`; fails when one of the Python expressions is false. `cases` are the
# rows of that kind; `by_program` has the rows of each program; `none(list)` is true of an empty one, and shows what another has.
json() {
	"$TEST_PYTHON" -I -S -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin if line.strip()]
cases = [row for row in rows if isinstance(row, dict) and row.get("kind") == "case"]
by_program = {}
for row in rows:
    by_program.setdefault(row.get("program") if isinstance(row, dict) else None, []).append(row)
def none(found):
    return not found or [str(one)[:200] for one in list(found)[:8]]
for text in sys.argv[1:]:
    verdict = eval(text)
    if verdict is not True: sys.exit(f"{text} is {verdict!r}")' "$@"
}

# aware.so, to be preloaded: the MPI library says that it takes the memory of NVIDIA's GPUs. A fake GPU's is the host's, so any
# library moves it.
build_aware() { echo 'int MPIX_Query_cuda_support(void) { return 1; }' | cc -x c -shared -fPIC -o aware.so -; }
