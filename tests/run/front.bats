#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The front door and the driver behind it, with programs that misbehave on demand.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

records() { cat "$BATS_TEST_TMPDIR/$1/records.jsonl"; }

# Every line whole, no case twice among those that were done.
sound() {
	records "$1" | json 'len(rows) > 0' '(lambda k: len(k) == len(set(k)))([(r["program"], r["key"]) for r in rows if r["kind"] == "case" and r["status"] == "ok"])'
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON # found once
}

# ---- the command line

# narrow TEXT: no line of it has more than 80 characters.
narrow() {
	local line
	while IFS= read -r line; do
		echo "# ${#line} $line"
		[ "${#line}" -le 80 ] || return 1
	done <<<"$1"
}

@test "help is on stdout, names every command, the exit codes and the environment, and fits 80 columns" {
	run --separate-stderr "$root/gpusig" help
	[ "$status" = 0 ]
	[ -z "$stderr" ]
	narrow "$output"
	for word in run compare ab export report advise list test help 'help words' 'Exit codes' GPUSIG_PYTHON --no-install; do
		[[ $output == *"$word"* ]]
	done
	said=$output
	for words in --help -h; do
		run --separate-stderr "$root/gpusig" $words
		[ "$status" = 0 ]
		[ "$output" = "$said" ]
	done
}

@test "help of a command has its options, examples and exit codes, and --help prints the same" {
	for command in $(cd "$root" && sh suite/help/help.sh --commands); do
		[ -f "$root/suite/help/$command.txt" ]
		echo "# $command"
		run --separate-stderr "$root/gpusig" help "$command"
		[ "$status" = 0 ]
		[ -z "$stderr" ]
		narrow "$output"
		[[ $output == "usage: ./gpusig $command"*Examples:*"./gpusig $command"*'Exit codes:'*' 0 '* ]]
		said=$output
		[ "$command" = run ] || [ "${GPUSIG_TEST_ALL:-}" = 1 ] || continue
		run --separate-stderr "$root/gpusig" "$command" --help
		[ "$status" = 0 ]
		[ "$output" = "$said" ]
	done
	run --separate-stderr "$root/gpusig" run --budget nonsense -h
	[ "$status" = 0 ]
	[ "$output" = "$(cat "$root/suite/help/run.txt")" ]
}

@test "help of run names the programs that take --shape" {
	[ -d "$root/bin/gemm" ] || skip 'nothing is built'
	count=0
	while read -r program; do
		"$root/bin/$program" --about | grep -q '"gemm_shapes":true' || continue
		grep -q "${program}[ ,.]" "$root/suite/help/run.txt"
		count=$((count + 1))
	done < <(bin=$root/bin programs)
	[ "$count" = 9 ]
}

@test "help on what there is not is one line with what there is, and 2" {
	for words in nonsense overview general ../help/run 'run list' 'words a b'; do
		# shellcheck disable=SC2086 # words is a command line
		run --separate-stderr "$root/gpusig" help $words
		[ "$status" = 2 ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" = 1 ]
	done
	run --separate-stderr "$root/gpusig" help nonsense
	[ "$stderr" = "gpusig: unknown topic 'nonsense'; topics: $(cd "$root" && sh suite/help/help.sh --commands) words" ]
}

@test "help words explains every word of the file, or those that contain one, without a Python" {
	only_commands awk
	run --separate-stderr env PATH="$PWD/few" GPUSIG_PYTHON=/dev/null/none "$root/gpusig" help words
	[ "$status" = 0 ]
	[ -z "$stderr" ]
	narrow "$output"
	[ "$(grep -c '^[^ ]' <<<"$output")" = "$(grep -c '^[^#]' "$root/reports/page/words.txt")" ]
	[ "$(tr -d '\n ' <<<"$output")" = "$(grep '^[^#]' "$root/reports/page/words.txt" | sed -e 's/ = /:/' -e 's/^\([^,:]*\),[^:]*:/\1:/' |
		awk -F: -v OFS=: '{ gsub(/[][]/, "", $1) } 1' | tr -d '\n ')" ]
	run --separate-stderr "$root/gpusig" help words dil
	[ "$status" = 0 ]
	[[ $output == DIL:* ]]
	run ! grep '^[^ D]' <<<"$output"
	run --separate-stderr "$root/gpusig" help words 'no such word'
	[ "$status" = 2 ]
	[ -z "$output" ]
	[ "$stderr" = "gpusig: no term contains 'no such word'; ./gpusig help words lists all" ]
}

@test "a folder that was deleted meanwhile is one line, and nothing is written elsewhere" {
	mkdir gone && cd gone && rmdir ../gone
	run --separate-stderr "$root/gpusig" run --budget 1s
	[ "$status" = 2 ]
	[[ ${stderr##*$'\n'} == "gpusig: the current folder is not there any more" ]]
}

@test "the words are wrapped by characters, comments and empty lines are left out" {
	mkdir -p reports/page && cp -rp "$root/suite" "$root/gpusig" .
	printf '# a = comment\n\n  # b = another\nx = %s%s\n± = 1 = 2\n' "$(printf 'é é %.0s' {1..19})" 'é ab' >reports/page/words.txt
	run --separate-stderr ./gpusig help words
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 3 ]
	[ "${#lines[0]}" = 80 ]
	[ "${lines[1]}" = '    ab' ]
	[ "${lines[2]}" = '±: 1 = 2' ]
	rm reports/page/words.txt
	run --separate-stderr ./gpusig help words
	[ "$status" = 2 ]
	[ "$stderr" = 'gpusig: no help on words: this copy has no reports/page/words.txt' ]
}

@test "version is one line on stdout, and what is compiled into programs" {
	run --separate-stderr "$root/gpusig" --version
	[ "$status" = 0 ]
	[ -z "$stderr" ]
	[[ $output == 'gpusig '+([0-9A-Za-z.+~]) ]]
	[ "$(make -sC "$root" --no-print-directory config HAVE_HWLOC=0 HAVE_MPI=0 HAVE_NVCC=0 | grep '^version ')" = "version ${output#gpusig }" ]
}

@test "an answer of the front door that cannot be written is 1, a refusal keeps its code, and nothing else is said" {
	for words in --version --bindir; do
		run bash -c "'$root/gpusig' $words 2>&1 >/dev/full"
		echo "# $words: $status: $output"
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
	done
	for words in '' frobnicate 'test --only units'; do
		run bash -c "GPUSIG_BUILD=elsewhere '$root/gpusig' $words 2>/dev/full"
		echo "# $words: $status: $output"
		[ "$status" = 2 ]
		[ -z "$output" ]
	done
}

@test "a version follows tag, commits since and changes, in a checkout and in what git archive packs of it" {
	command -v git >/dev/null || skip 'no git'
	said() { (cd "${1:-here}" && sh suite/setup/version.sh); }
	commit() { git -C here -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q --allow-empty --date="2031-02-03T12:00:00Z" -m a; }
	mkdir -p here/suite/setup 'an archive' && cp "$root/suite/setup/version.sh" here/suite/setup && cp "$root/VERSION" "$root/.gitattributes" here
	[ "$(said)" = unknown ] # neither git nor an archive
	git init -q here && git -C here add -A
	GIT_COMMITTER_DATE=2031-02-03T12:00:00Z commit
	archived() { rm -rf 'an archive' && mkdir 'an archive' && git -C here archive HEAD | tar -x -C 'an archive' && said 'an archive'; }
	hash=$(git -C here rev-parse --short=10 HEAD)
	[ "$(said)" = "0~git20310203.$hash" ]
	[ "$(archived)" = "0~git20310203.$hash" ]
	echo '# changed' >>here/suite/setup/version.sh
	[ "$(said)" = "0~git20310203.$hash+dirty" ]
	git -C here checkout -q .
	git -C here tag v1.2
	[ "$(said)" = 1.2 ]
	[ "$(archived)" = 1.2 ]
	commit
	[ "$(said)" = "1.2+1.g$(git -C here rev-parse --short=10 HEAD)" ]
	git -C here tag v1.3-rc1
	[ "$(said)" = '1.3~rc1' ]
	echo 1.3 >'an archive/VERSION' # as `make install` writes it
	[ "$(said 'an archive')" = 1.3 ]
}

@test "no command is the usage on stderr and 2: first the three that most people want, then all, then where there is more" {
	run --separate-stderr "$root/gpusig"
	[ "$status" = 2 ]
	[ -z "$output" ]
	[[ $stderr == usage:*'./gpusig run '*'./gpusig compare BEFORE AFTER'*'./gpusig advise '*'All commands:'*'help COMMAND'*'help words'* ]]
	narrow "$stderr"
}

@test "an unknown command is 2 and names what exists" {
	run --separate-stderr "$root/gpusig" benchmark
	[ "$status" = 2 ]
	[ -z "$output" ]
	[[ $stderr == *"unknown command 'benchmark'"*run*list* ]]
}

@test "what a command does not take is 2 and one line, also at the front door" {
	fake micro/a steady
	fake gemm/b steady
	run --separate-stderr "$root/gpusig" list --markup
	[ "$status" = 2 ]
	[ -z "$output" ]
	[[ $stderr == gpusig:* ]]
	[ "${#stderr_lines[@]}" = 1 ]
	refused <<-'TABLE'
		2|list --markup|
		2|list stray|unknown program 'stray'; programs: gemm/b micro/a
		2|list --verbos|
		2|run --devices host|
		2|run --budget|
		2|run stray|
		2|run --bud 5s|
		2|run --seed|
		2|run --seed -1|
		2|run --seed 1x|
		2|run --seed 18446744073709551616|
		2|run --only|
		2|run --only micro/nothing* --out results|gemm/b micro/a
		2|run --out a --resume b|
		2|run --budget 0s --out bad|--budget '0s'
		2|run --budget '5 s' --out bad|--budget '5 s'
		2|run --budget 99999999h --out bad|--budget '99999999h'
		2|run --budget nan --out bad|--budget 'nan'
		2|run --budget '' --out bad|--budget ''
		2|test --fast|
		2|report|
		2|report --open|
		2|report a b|
		2|model|
		2|model a b|
		2|advise|
		2|advise --m 1|
	TABLE
}

@test "list has a program's question and needs in 80 columns, its headline metrics on request, and all in Markdown" {
	fake micro/a steady
	fake gemm/b steady
	run --separate-stderr suite list
	[ "$status" = 0 ]
	[ "$output" = $'program  question\ngemm/b   what is gemm/b?\n           needs: copy_engine\nmicro/a  what is micro/a?\n           needs: copy_engine' ]
	for words in 'm*' ${GPUSIG_TEST_ALL:+micro/a a}; do
		run --separate-stderr suite list "$words"
		[ "$status" = 0 ]
		[[ $output == *micro/a*'what is micro/a?'*'needs: copy_engine'*'headline metrics: fake_rate' ]]
		[[ $output != *gemm/b* ]]
	done
	[ "${GPUSIG_TEST_ALL:-}" = 1 ] || return 0
	run --separate-stderr suite list -v
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 7 ]
	[ "${lines[3]}" = '           headline metrics: fake_rate' ]
	run --separate-stderr suite list --markdown
	[ "$status" = 0 ]
	[ "${lines[2]}" = '| gemm/b | what is gemm/b? | copy_engine | fake_rate |' ]
}

@test "list of the programs of this build fits 80 columns" {
	only_with_all
	[ -d "$root/bin" ] || skip 'nothing is built'
	for words in -v overlap/ficco; do
		# shellcheck disable=SC2086 # words may be none
		GPUSIG_BIN=$root/bin run --separate-stderr suite list $words
		[ "$status" = 0 ]
		narrow "$output"
		[ "$words" = overlap/ficco ] || [[ $output == *$'\nmodels for --device sim:MODEL: default, quiet, '*mi300x* ]]
	done
}

# ---- the device

@test "the default device is the first of cuda, hip, host that is here, with the reason, and --only takes names and globs" {
	fake micro/a steady
	fake gemm/b steady
	fake gemm/c steady
	measures run --budget 1s --only a --only 'gemm/b*' --out on-host 2>words
	grep -q '^gpusig: device host (' words && grep -q '^gpusig: no cuda: no driver' words
	records on-host | json '{r["program"] for r in rows} == {"micro/a", "gemm/b"}'
	FAKE_DEVICES='host=1 sim=1 cuda=0 hip=2' measures run --budget 1s --only micro/a --out on-hip 2>words
	grep -q 'device hip (' words
	records on-hip | json 'rows[0]["device"][0]["spec"] == "hip"' '{r["program"] for r in rows} == {"micro/a"}'
}

@test "a device that is absent, unknown or taken by no program is one line, and nothing is written" {
	fake micro/a absent
	fake micro/b absent
	fake micro/c usage
	refused <<-'TABLE'
		77|run --device cuda:0 --out results|'cuda:0' is not available: no driver; found here: host sim
		2|run --device metal --out results|host sim cuda hip
		77|run --device sim:2 --only a --only b --out results|--device 'sim:2': needs 2 devices; host is 1
		2|run --device sim:nothing --only c --out results|
	TABLE
	[ -x "$root/bin/micro/priority" ] || return 0
	mkdir -p real/micro
	ln -s "$root/bin/micro/priority" "$root/bin/micro/launch" real/micro/
	GPUSIG_BIN=$PWD/real refused <<-'TABLE'
		2,77|run --device sim:nothing --out results|sim:nothing
		2,77|run --device host:9999 --out results|host:9999
		2,77|run --device host:x --out results|host:x
		2,77|run --device sim:: --out results|sim::
	TABLE
}

# ---- what programs can do to a run

@test "a program that cannot run here is a skip with its reason, and the run is fine" {
	only_with_all
	fake micro/a steady
	fake micro/b absent
	run --separate-stderr suite run --budget 2s --out results
	[ "$status" != 1 ]
	[[ $stderr == *"skipped micro/b: needs 2 devices; host is 1"* ]]
	json 'rows[0]["outcomes"]["micro/b"]["reason"] == "needs 2 devices; host is 1"' < <(tr -d '\n' <results/plan.json)
	records results | json '[(r["status"], r["exit"], r["by"]) for r in rows if r["program"] == "micro/b"] == [("skipped", 77, "driver")]'
	json '[(e["program"], e["key"], e["reason"]) for e in rows[0]["not_measured"]] == [("micro/b", None, "needs 2 devices; host is 1")]' < <(tr -d '\n' <results/signature.json)
	[[ $output == *"micro/b: skipped: needs 2 devices; host is 1"* ]]
	run --separate-stderr suite run --resume results
	records results | json '[r["kind"] for r in rows if r["program"] == "micro/b"] == ["end"] * 2'
}

@test "a program that was not built is a skip with its reason, on a resumed run too, until it is" {
	only_with_all
	cp -rp "$root/suite" "$root/reports" .
	mkdir -p collectives topology micro && touch collectives/allreduce.c micro/a.c topology/node.c
	fake micro/a steady
	unset GPUSIG_BIN
	here() { "$TEST_PYTHON" -m suite "$@"; }
	run --separate-stderr here run --budget 1s --out results
	[ "$status" = 0 ]
	[[ $stderr == *"skipped collectives/allreduce: not built: needs MPI"*"skipped topology/node: not built: needs hwloc"* ]]
	[[ $output == *"collectives/allreduce: skipped: not built: needs MPI"* ]]
	json '{(e["program"], e["reason"]) for e in rows[0]["not_measured"]} == {("collectives/allreduce", "not built: needs MPI"), ("topology/node", "not built: needs hwloc")}' < <(tr -d '\n' <results/signature.json)
	run --separate-stderr here list
	[ "$status" = 0 ]
	[[ $output == *"collectives/allreduce"*"not built: needs MPI"* ]]
	run --separate-stderr here run --only 'collectives/*' --out none
	[ "$status" = 77 ]
	[ "$stderr" = "gpusig: collectives/allreduce is not built: needs MPI" ]
	[ ! -e none ]
	fake topology/node steady
	unset GPUSIG_BIN
	run --separate-stderr here run --resume results
	json '{e["program"] for e in rows[0]["not_measured"]} == {"collectives/allreduce"}' < <(tr -d '\n' <results/signature.json)
}

@test "a program that crashes, dies within a line, hangs, is wrong or cannot start fails alone, and the others run" {
	fake micro/a crash
	fake micro/b partial
	fake micro/c deaf
	fake micro/d wrong
	printf '\177ELF garbage' >"$GPUSIG_BIN/micro/e"
	chmod +x "$GPUSIG_BIN/micro/e"
	fake micro/f steady
	run --separate-stderr measures run --budget 2s --out results # c never ends
	[ "$status" = 1 ]
	[[ $stderr == *"failed micro/a: ended by signal 11"* ]]
	[[ $stderr == *"failed micro/b: ended by signal 9"* ]]
	[[ $stderr == *"failed micro/c: time limit"* ]]
	[[ $stderr == *"failed micro/d: wrong result"* ]]
	[[ $stderr == *"failed micro/e: cannot be started: Exec format error"* ]]
	sound results
	grep -q '"ver$' results/records.cut # the line is taken out before the next one writes
	records results | json '{r["program"][-1:] + "=" + r["status"] for r in rows if r["kind"] == "end"} == {
		*(name + "=failed" for name in "abcde"), "f=ok"}' \
		'[r["reason"] for r in rows if r["kind"] == "end" and r["program"] == "micro/c"][0].startswith("time limit")'
	if python=$(unset GPUSIG_PYTHON && sh "$root/suite/setup/find_python.sh" jsonschema 2>/dev/null); then
		grep '"by": "driver"' results/records.jsonl >by_driver
		"$python" "$root/tests/bats/fits_schema.py" "$root/reports/schema/record.schema.json" by_driver
	fi
}

@test "a program stopped at its limit is a failure in the records, though it calls itself interrupted" {
	only_with_all
	fake micro/a hang
	run --separate-stderr suite run --budget 1s --out results
	[ "$status" = 1 ]
	records results | json '[(r["status"], r.get("by")) for r in rows if r["kind"] == "end"] == [("interrupted", None), ("failed", "driver")]' \
		'len({r["run"] for r in rows}) == 1'
	[[ $output == *"micro/a: failed: time limit"* ]]
}

# beside SHARE WORD...: measures, where others have this share of a program's time from its third case on, and had all before.
beside() {
	(cd "$root" && SHARE=$1 exec "$TEST_PYTHON" -c 'import os, pathlib, runpy
from suite.run import launch, libraries, plan, report, starvation
records = pathlib.Path(os.environ["BATS_TEST_TMPDIR"], "results", "records.jsonl")
def share(*_):
    return float(os.environ["SHARE"]) if records.exists() and records.read_text().count("\"case\", ") >= 3 else 1.0
plan.GRACE_S, launch._PATIENCE = 0.1, float("inf")
starvation.share_of_others = share
libraries.offer = lambda: None
report.build = lambda *given, **named: 0
runpy.run_module("suite", run_name="__main__", alter_sys=True)' --cwd "$BATS_TEST_TMPDIR" "${@:2}")
}

@test "a program that is stopped because others had the cores is no failure: 3, and --resume goes on with it" {
	fake micro/a hang
	run --separate-stderr beside 0.2 run --budget 1s --out results
	[ "$status" = 3 ]
	[[ $stderr == *"programs: 1 interrupted"* ]]
	[[ $stderr == *"interrupted micro/a: did not get the processor: others had it for 20 % of its time"* ]]
	[[ $stderr == *"on a quieter machine, go on with: ./gpusig run --resume "*results* ]]
	records results | json '[(r["status"], r.get("by")) for r in rows if r["kind"] == "end"] == [("interrupted", None), ("interrupted", "driver")]' \
		'len({r["run"] for r in rows}) == 1'
	fake micro/a steady
	run --separate-stderr measures run --resume results
	[ "$status" = 0 ]
	sound results
}

@test "a program that hangs while few others run has failed: 1" {
	fake micro/a hang
	run --separate-stderr beside 0.05 run --budget 1s --out results
	[ "$status" = 1 ]
	[[ $stderr == *"failed micro/a: time limit: stopped after"* ]]
	records results | json '[(r["status"], r.get("by")) for r in rows if r["kind"] == "end"] == [("interrupted", None), ("failed", "driver")]'
}

@test "nothing valid is 3" {
	fake micro/b invalid
	run --separate-stderr measures run --budget 1s --out invalid
	[ "$status" = 3 ]
}

@test "a program that cannot describe itself is listed as such, and listing fails" {
	fake micro/a mute
	run --separate-stderr suite list
	[ "$status" = 1 ]
	[[ $output == *"--about is not understood"* ]]
}

@test "the time a program leaves goes to the others, by share" {
	only_with_all
	for name in a b c; do fake "micro/$name" steady; done
	fake micro/d slow
	measures run --budget 10m --out results 2>/dev/null || true # so much that a busy machine changes little
	records results | json '(lambda budget_s: budget_s("micro/d") > 2 * budget_s("micro/a"))(lambda name: [
		float(r["argv"][r["argv"].index("--budget") + 1].rstrip("s")) for r in by_program[name] if r["kind"] == "run"][0])'
}

@test "before it starts, a run says how long it takes where the budget is too short for its programs" {
	only_with_all
	for name in a b c d; do fake "micro/$name" steady; done
	run --separate-stderr measures run --device host --budget 2s --out short
	[ "$status" = 0 ]
	[ "${stderr_lines[1]}" = "gpusig: measuring 4 programs for 2.0 s, into $PWD/short" ]
	# how long, which follows from how fast this machine opens a device: test_plan
	[[ ${stderr_lines[2]} == 'gpusig: every program gets at least 1 s: this takes about '*' s' ]]
	[[ ${stderr_lines[3]} == '[curves 1/4] micro/a (1.0 s)' ]]
	run --separate-stderr measures run --device host --headline --budget 2s --out headline
	[[ ${stderr_lines[2]} == 'gpusig: every program gets at least 0.1 s: this takes about '*' s' ]]
	run --separate-stderr measures run --device host --soak 2s --only a --out soak
	[ "${stderr_lines[1]}" = "gpusig: soaking 1 program for 2.0 s, into $PWD/soak" ]
	[[ $stderr != *'every program gets'* ]]
	run --separate-stderr measures run --device host --budget 10m --out long
	[[ $stderr != *'every program gets'* ]]
	run --separate-stderr measures run --device sim --budget 1s --repeats 1 --out several
	[ "${stderr_lines[0]}" = 'gpusig: device sim (asked for), 4 programs' ]
	[ "${stderr_lines[1]}" = "gpusig: measuring 1 run of about 4 s each, into $PWD/several" ]
	run --separate-stderr measures run --device sim:0-7 --budget 1s --out eight
	[[ ${stderr_lines[2]} == 'gpusig: every program gets at least 1 s: this takes about '*' s' ]]
}

# ---- the folder

@test "a folder that cannot be made, and what is no run to resume, are one clear line" {
	fake micro/a steady
	touch file
	mkdir empty
	refused <<-TABLE
		1|run --budget 1s --out /proc/results|cannot make the folder /proc/results:
		1|run --budget 1s --out file|cannot make the folder $PWD/file:
		1|run --budget 1s --out file/results|cannot make the folder $PWD/file/results:
		2|run --budget 1s --out ''|--out: an empty name is not a folder
		2|run --budget 1s --resume ''|--resume: an empty name is not a folder
		2|run --resume empty|holds no run to resume
		2|run --resume absent|'absent' is not a folder
	TABLE
}

@test "the end of a run fits 80 columns and says where the page is" {
	fake micro/a steady
	fake micro/b absent
	run --separate-stderr suite run --budget 1s --out results
	[ "$status" = 0 ]
	for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
	[ ! -e results/report.html ] || [[ ${stderr_lines[-1]} == *"results/report.html" ]]
}

@test "two runs in one folder: the second is refused" {
	only_with_all
	fake micro/a hang
	measures run --budget 10m --out results 2>/dev/null 3>&- &
	until [ -s results/records.jsonl ]; do sleep 0.1; done
	refused <<<'1|run --resume results|in use by another run (process '
	kill "$(driver results)"
	wait $! || true # not plain wait: the limit of bats is a child too
	sound results
}

@test "a full disk stops the run with one clear line, whole records and 1" {
	mkdir full
	mount -t tmpfs -o size=256k tmpfs full 2>/dev/null || skip "no permission to mount a small file system"
	fake micro/a steady
	fake micro/b greedy
	fake micro/c steady
	run --separate-stderr measures run --budget 3s --out full/results
	cp -r full/results results
	umount full
	[ "$status" = 1 ]
	[[ $stderr == *"No space left on device"*"--resume"* ]]
	sound results
	records results | json '"micro/a" in {r["program"] for r in rows} and "micro/c" not in {r["program"] for r in rows}'
}

# ---- resuming

@test "after kill -9 of the driver nothing is lost or repeated, and --out is relative to where the user is" {
	for name in a c; do fake "micro/$name" steady; done
	fake micro/b hang
	mkdir -p here "with space" && ln -s "$root/gpusig" here/door
	(cd "with space" && exec ../here/door run --budget 10m --out 'the results' 2>/dev/null 3>&-) &
	results='with space/the results'
	until [ "$(grep -c '"kind": "case"' "$results/records.jsonl" 2>/dev/null)" = 11 ]; do sleep 0.1; done # 8 of a, 3 of b
	kill -9 $!
	fake micro/b steady
	before=$(wc -l <"$results/records.jsonl")
	head -n "$before" "$results/records.jsonl" >kept
	run --separate-stderr measures run --resume "$results"
	[ "$status" = 0 ]
	sound "$results"
	head -n "$before" "$results/records.jsonl" | cmp - kept
	records "$results" | json 'sorted((r["program"], r["key"]) for r in rows if r["kind"] == "case") == sorted((f"micro/{p}", f"size={1 << n}") for p in "abc" for n in range(10, 18))' \
		'[r["program"] for r in rows if r["kind"] == "run"].count("micro/a") == 1'
}

@test "an incomplete last line is cut off and kept next to the records" {
	only_with_all
	fake micro/a steady
	measures run --budget 1s --out results 2>/dev/null || true
	printf '{"schema": "gpusig.re' >>results/records.jsonl
	run --separate-stderr measures run --resume results
	[[ $stderr == *"incomplete last record of 21 bytes"* ]]
	sound results
	grep -q '"gpusig.re$' results/records.cut
}

@test "failed cases are measured again, done ones are not" {
	only_with_all
	fake micro/a wrong
	export FAKE_HEALED=$BATS_TEST_TMPDIR/healed
	measures run --budget 1s --out results 2>/dev/null || true
	touch healed
	run --separate-stderr measures run --resume results
	[ "$status" != 1 ]
	records results | json '[r["status"] for r in rows if r["kind"] == "case"] == ["ok"] * 2 + ["failed"] + ["ok"] * 6'
}

@test "what the budget left out is measured only with a new --budget" {
	only_with_all
	fake micro/a slow
	measures run --budget 1s --out results 2>/dev/null || true
	run --separate-stderr measures run --resume results
	[[ $stderr == *"nothing left to measure"*"did not fit into the time budget"*"--budget"* ]]
	measures run --resume results --budget 10m 2>/dev/null || true
	sound results
	records results | json 'sum(r["kind"] == "case" for r in rows) == 8'
}

@test "a folder that holds a run is not written into, and a resumed run keeps device and seed" {
	fake micro/a slow
	measures run --budget 1s --device sim --seed 7 --out results 2>/dev/null
	for copy in 1 2 3 4; do cp -r results "copy-$copy"; done # each is locked until the process ends
	refused <<-'TABLE'
		2|run --budget 1s --out results|--resume
		2|run --resume copy-1 --device host|--device host contradicts
		2|run --resume copy-2 --seed 8|--seed 8 contradicts
		2|run --resume copy-3 --full|--full yes contradicts
		2|run --resume copy-4 --only a|--only a contradicts
	TABLE
	measures run --resume results --budget 10m --seed 7 2>/dev/null
	records results | json 'all("sim" in r["argv"] and r["argv"][r["argv"].index("--seed") + 1] == "7" for r in rows if r["kind"] == "run")' \
		'sum(r["kind"] == "run" for r in rows) == 2'
}

@test "after kill -9 of a program the others run, and a resumed run repeats only what it had not done" {
	only_with_all
	fake micro/a hang
	fake micro/b steady
	measures run --budget 10m --out results 2>words 3>&- &
	until grep -q '"child": *[0-9]' results/lock && [ "$(grep -c '"kind": "case"' results/records.jsonl)" = 3 ]; do sleep 0.1; done 2>/dev/null
	kill -9 "$(sed -n 's/.*"child": *\([0-9]*\).*/\1/p' results/lock)"
	code=0
	wait $! || code=$?
	[ "$code" = 1 ]
	grep -q 'failed micro/a: ended by signal 9' words
	sound results
	[ "$(records results | grep -c '"kind": "case"')" = 11 ]
	fake micro/a steady
	run --separate-stderr measures run --resume results
	[ "$status" = 0 ]
	sound results
	records results | json 'sum(r["kind"] == "case" for r in rows) == 16'
	[[ $stderr != *micro/b:* ]]
}

@test "a second SIGINT does not wait for a program that ignores the first" {
	only_with_all
	fake micro/a deaf
	"$TEST_PYTHON" -c 'import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv.pop(1))
from suite import __main__ as driver
from suite.run import launch
launch._STOP_GRACE_S = 1e6  # the program would get so long
sys.exit(driver.main(sys.argv[1:]))' "$root" run --budget 10m --out results 2>words 3>&- &
	until [ "$(grep -c '"kind": "case"' results/records.jsonl 2>/dev/null)" = 3 ]; do sleep 0.1; done
	kill -s INT $!
	until [ -e results/records.jsonl.asked ]; do sleep 0.1; done
	kill -s INT $!
	code=0
	wait $! || code=$?
	[ "$code" = 130 ]
	sound results
}

@test "what a full disk left out is measured when there is space again" {
	only_with_all
	mkdir full
	mount -t tmpfs -o size=256k tmpfs full 2>/dev/null || skip "no permission to mount a small file system"
	fake micro/a steady
	fake micro/b greedy
	measures run --budget 3s --out full/results 2>/dev/null || true
	cp -r full/results results
	umount full
	fake micro/b steady
	run --separate-stderr suite run --resume results
	[ "$status" = 0 ]
	sound results
	records results | json '[r["program"] for r in rows if r["kind"] == "run"].count("micro/a") == 1'
	[ -s results/report.html ] || [ -s results/signature.json ]
}

@test "a disk that is full from the start is one line and 1" {
	mkdir full
	mount -t tmpfs -o size=4k tmpfs full 2>/dev/null || skip "no permission to mount a small file system"
	fake micro/a steady
	mkdir full/results && dd if=/dev/zero of=full/filler bs=4k count=4 2>/dev/null || true
	run --separate-stderr measures run --budget 1s --out full/results
	umount full
	[ "$status" = 1 ]
	[[ $stderr == *"No space left on device"* ]]
	[[ $stderr != *Traceback* ]]
}

@test "two new runs in one folder at the same time: one of them runs" {
	only_with_all
	fake micro/a slow
	pids=
	for i in 1 2 3; do
		measures run --budget 10m --out results 2>"words$i" 3>&- &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || true; done
	sound results
	records results | json 'sorted(r["key"] for r in rows if r["kind"] == "case") == sorted(f"size={1 << n}" for n in range(10, 18))'
	[ "$(grep -lE 'in use by another run|already holds a run' words* | wc -l)" = 2 ]
	run ! grep -q Traceback words1 words2 words3
}

# ---- being stopped

stopped_by() {
	fake micro/a hang
	fake micro/b steady
	measures run --budget 10m --out results 2>words 3>&- &
	until grep -q '"kind": "case"' results/records.jsonl 2>/dev/null; do sleep 0.1; done
	kill -s "$1" "$(driver results)"
	code=0
	wait $! || code=$?
	grep -q "stopped by SIG$1; go on with: ./gpusig run --resume" words
	sound results
	records results | json '[(r["program"], r["status"]) for r in rows if r["kind"] == "end"] == [("micro/a", "interrupted"), ("micro/b", "skipped")]'
}

@test "SIGINT: the program ends its records, the run ends with that signal's status" {
	stopped_by INT
	[ "$code" = 130 ]
	[ "${GPUSIG_TEST_ALL:-}" = 1 ] || return 0
	fake micro/a steady
	measures run --resume results 2>/dev/null
	sound results
	records results | json 'sum(r["kind"] == "case" for r in rows) == 16'
}

@test "SIGTERM, as batch systems send it: the same" {
	only_with_all
	stopped_by TERM
	[ "$code" = 143 ]
}

# ---- a machine that lacks things

# A PATH with only the named commands.
only_commands() {
	unset GPUSIG_PYTHON
	mkdir -p few
	for word in sh dirname readlink id date mktemp tr grep tail rm mkdir nproc cat ls "$@"; do
		ln -sf "$(command -v "$word")" few/
	done
}

@test "without a Python and without leave to install: one line to run, and 77" {
	only_commands cc make
	run --separate-stderr env PATH="$PWD/few" GPUSIG_PYTHON=/dev/null/none "$root/gpusig" run --out results
	[ "$status" = 77 ]
	[ -z "$output" ]
	[[ ${stderr_lines[-1]} == "gpusig: without python3"*"; GPUSIG_PYTHON is /dev/null/none"* ]]
	[ ! -e results ]
}

@test "nothing is installed with --no-install or GPUSIG_NO_INSTALL=1" {
	only_commands
	printf '#!/bin/sh\ntouch "%s/installed"\n' "$PWD" >few/apt-get
	chmod +x few/apt-get
	for words in '--no-install run' 'run'; do
		# shellcheck disable=SC2086 # words is a command line
		run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=1 sh "$root/suite/setup/setup.sh" $words
		[ "$status" = 77 ]
		[[ $stderr == *"to install it, run: "*"apt-get install -y"*gcc* ]]
		[ ! -e installed ]
	done
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh "$root/suite/setup/setup.sh" --no-install run
	[ "$status" = 77 ]
	[ ! -e installed ]
}

# A package manager that links commands into few/, knows no git, and refuses a list with an unknown name as a whole.
false_manager() {
	only_commands ln grep cksum sleep uname
	cp -rp "$root/suite" suite
	cat >few/apt-get <<-'APT'
		#!/bin/sh
		echo "$* $RES_OPTIONS" >>apt.log
		case " $* " in *' update '*) exit 0 ;; *' git '*) exit 100 ;; esac
		for word; do
			case $word in
			gcc) ln -sf "$(PATH=/usr/bin:/bin command -v cc)" few/cc ;;
			make) ln -sf "$(PATH=/usr/bin:/bin command -v make)" few/ ;;
			libopenmpi-dev) ln -sf /bin/true few/mpicc && ln -sf /bin/true few/mpirun ;;
			esac
		done
	APT
	printf '#!/bin/sh\necho 0\n' >few/id.new
	rm few/id
	mv few/id.new few/id
	chmod +x few/apt-get few/id
}

@test "a package manager whose lock another process has is asked again until it has it" {
	only_with_all
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || skip 'apt-get has no lists here'
	false_manager
	sed -i '2i[ -e was-locked ] || { touch was-locked; echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7"; exit 100; }' few/apt-get
	ln -sf "$(command -v touch)" few/
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh run
	[ "$status" = 0 ]
	[ -e was-locked ]
	[ -e few/cc ]
	[[ $(head -n 1 apt.log) == install\ -y*\ gcc\ * ]] # the call that was refused, not what follows one that failed
}

@test "one package that cannot be had does not keep the others out, and is not tried again" {
	only_with_all
	false_manager
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh run
	[ "$status" = 0 ]
	[[ $stderr == *"installing with apt-get: gcc libc6-dev make "*git* ]]
	[[ $stderr == *"without git: records do not name the version"* ]]
	[ -e few/cc ]
	[ -e few/make ]
	grep -q 'install -y --no-install-recommends make *-o Acquire::Retries=0 -o [^ ]*Timeout=15 timeout:1$' apt.log
	before=$(wc -l <apt.log)
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh run
	[ "$status" = 0 ]
	[[ $stderr == *"without git"* ]]
	[ "$before" = "$(wc -l <apt.log)" ]
}

@test "without a network nothing is tried again, and the line to type is said, at each start" {
	only_with_all
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || skip 'apt-get has no lists here'
	false_manager
	cat >few/apt-get <<-'APT'
		#!/bin/sh
		echo "$*" >>apt.log
		[ -e swallows ] && echo "E: Failed to fetch http://a/pool/gcc.deb  Unable to connect to a:http:" && exit 100
		echo "E: Failed to fetch http://a/pool/gcc.deb  Temporary failure resolving 'a'"
		exit 100
	APT
	for _ in 1 2; do
		run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
		[ "$status" = 77 ]
		[ "$(wc -l <apt.log)" = 1 ]
		[[ ${stderr_lines[-1]} == 'gpusig: without cc, make: nothing can be built; to install it, run: apt-get install -y '*' gcc '* ]]
	done
	[ "${#stderr_lines[@]}" = 1 ]
	rm -r build
	: >swallows
	ln -s /bin/true few/cc
	ln -s /bin/true few/make
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
	[ "$status" = 0 ]
	[ "$(wc -l <apt.log)" = 2 ] # neither is what would be unpacked
	[[ $stderr == *'no network: not everything could be installed in '*'; what apt-get said'*'missing: to install it, run: apt-get install -y '* ]]
	[[ $stderr != *' with pip'* ]]
}

@test "each level of tests installs what those below it do, and what it alone needs" {
	false_manager
	before=
	for level in program test all lab; do
		run --separate-stderr env PATH="$PWD/few" GPUSIG_PYTHON=/dev/null/python sh suite/setup/setup.sh --no-install "$level"
		[ "$status" = 77 ]
		asked=${stderr##*recommends }
		echo "# $level: $asked"
		case $level in
		program) [ "$asked" = 'gcc libc6-dev make python3 bats' ] ;;
		test) [[ $asked == *python3-jsonschema* && $asked != *python3-pip* && $asked != *scipy* && $asked != *clang-tidy* ]] ;;
		all) [[ $asked == *clang-tidy*python3-pip*python3-scipy* && $asked != *simgrid* ]] ;;
		lab) [[ $asked == *libsimgrid-dev* ]] ;;
		esac
		for package in $before; do [[ " $asked " == *" $package "* ]]; done
		before=$asked
	done
	run --separate-stderr env PATH="$PWD/few" GPUSIG_PYTHON=/dev/null/python sh suite/setup/setup.sh --no-install program part
	[[ $stderr == *bats* && $stderr == *libopenmpi-dev* ]]
}

# A Python that has pip once the package manager brought it, and a pip that says what it was asked for.
false_pip() {
	false_manager
	real=$TEST_PYTHON
	cat >few/python3 <<-PYTHON
		#!/bin/sh
		case "\$1 \$2" in
		'-m pip')
			[ -e has-pip ] || exit 1
			echo "\$*" >>pip.log
			[ ! -e no-index ] || { echo 'no such index' && exit 1; }
			for word; do case \$word in */build/tools/*) mkdir -p "\$word/\$(cat brings)" ;; esac; done
			;;
		*)
			case " \$* " in *' pip '*) [ -e has-pip ] || echo pip ;; esac
			exec "$real" "\$@"
			;;
		esac
	PYTHON
	cat >>few/apt-get <<-'APT'
		case " $* " in *' python3-pip '*) : >has-pip ;; esac
		case " $* " in *' chromium '*) ln -sf /bin/true few/chromium ;; esac
	APT
	chmod +x few/python3
	ln -sf "$(command -v find)" few/
	export GPUSIG_PYTHON=$PWD/few/python3
	echo axe_playwright_python >brings
	sed -i -e '/^[a-z]*-unpack /d' -e '/^[a-z]*-pip /{' -e '/nvdisasm\|axe/!d' -e '}' suite/setup/packages.txt # one of each kind
}

@test "a module for tests comes with pip, after pip and the browser that it needs came in the same call" {
	only_with_all
	false_pip
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh all
	[ "$status" = 0 ]
	[[ $stderr == *"installing with apt-get: "*chromium*python3-pip*"installing with pip, into build/tools: axe-playwright-python"* ]]
	[[ $stderr != *"without axe_playwright_python"* ]]
	[ -d build/tools/axe-playwright-python/axe_playwright_python ]
	[ "$(wc -l <pip.log)" = 1 ]
	grep -q 'install --quiet --target .*/build/tools/axe-playwright-python axe-playwright-python$' pip.log # with what it imports
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh all
	[ "$(wc -l <pip.log)" = 1 ]
	ln -sf /bin/true few/nvcc
	echo nvdisasm >brings
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh all
	[[ $(tail -n 1 pip.log) == *" --no-deps "*"/nvidia-cuda-nvdisasm nvidia-cuda-nvdisasm" ]]
}

@test "a library for tests comes with pip under a prefix, with the packages that it needs beside" {
	only_with_all
	false_pip
	touch has-pip
	echo 'lab-pip lib:far python3 far-rt,far-needs - - - nothing is far' >suite/setup/packages.txt
	echo local/lib/libfar.so >brings
	for _ in 1 2; do
		run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
		[ "$status" = 0 ]
		[[ $stderr != *"without far"* && $(cat pip.log) == *" --prefix "*"/build/tools/far-rt far-rt far-needs" ]]
		[ "$(wc -l <pip.log)" = 1 ]
	done
}

@test "what pip cannot bring is tried once, and each start says what is lost; a run asks for nothing of it" {
	only_with_all
	false_pip
	touch no-index
	for _ in 1 2; do
		run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh all
		[ "$status" = 0 ]
		[[ $stderr == *"without axe_playwright_python: the report's layout, contrast and markup are not checked"* ]]
		[ "$(wc -l <pip.log)" = 1 ]
	done
	grep -qx 'no such index' build/tools/axe-playwright-python.log
	rm -r build
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh --no-install all
	[[ $stderr == *"without axe_playwright_python: "* ]]
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh run
	[[ $stderr != *axe* ]]
	[ "$(wc -l <pip.log)" = 1 ]
}

# An apt-get that has packages for `unpack`: each brings a command of its own name, and needs one more package.
false_unpacking() {
	false_manager
	ln -sf "$(command -v awk)" "$(command -v find)" "$(command -v chmod)" few/
	cat >>few/apt-get <<-'APT'
		case "$*" in
		*' -s install '*) for word; do :; done && printf 'Reading\nInst %s (1)\nInst needed (2)\nConf %s\n' "$word" "$word" ;;
		*' download '*) while [ "$1" != download ]; do shift; done && shift && echo "$*" >>"$OLDPWD/downloads.log" && for word; do : >"$word.deb"; done ;;
		esac
	APT
	cat >few/dpkg-deb <<-'DPKG'
		#!/bin/sh
		mkdir -p "$3/usr/sbin" && name=${2##*/} && printf '#!/bin/sh\n' >"$3/usr/sbin/${name%.deb}" && chmod +x "$3/usr/sbin/${name%.deb}"
	DPKG
	chmod +x few/dpkg-deb
	echo 'lab-unpack cmd:daemond first,daemond - - - - nothing is served' >suite/setup/packages.txt
}

@test "what would start a service is unpacked with what it needs, once, and found by tests" {
	only_with_all
	false_unpacking
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh --no-install lab
	[ "$stderr" = 'gpusig: without daemond: nothing is served' ]
	for _ in 1 2; do
		run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
		[ "$status" = 0 ]
		[[ $stderr != *without* ]]
		[ "$(cat downloads.log)" = 'daemond needed' ]
	done
	[ -x build/tools/first/usr/sbin/daemond ]
	mkdir tests && cp "$root/tests/brought.py" tests/
	run "$TEST_PYTHON" tests/brought.py daemond needed sh
	[ "$status" = 0 ]
	[[ ${lines[0]} == "PATH=$PWD/build/tools/first/usr/sbin:"* ]]
	run "$TEST_PYTHON" tests/brought.py nothing
	[ "$status" = 1 ]
	[ "$output" = 'no nothing; sh suite/setup/setup.sh lab brings it' ]
}

@test "without a network what pip brings and what is unpacked are each tried once" {
	only_with_all
	false_unpacking
	for name in apt-get python; do
		cat >few/$name <<-'TRIED'
			#!/bin/sh
			case "$*" in
			*' -s '*) echo 'Inst x' ;;
			*' pip '* | *download*)
				echo "$*" >>"$HOME/tried"
				echo 'Temporary failure in name resolution' >&2
				exit 1
				;;
			esac
		TRIED
		chmod +x few/$name
	done
	for name in one two; do
		echo "lab-pip cmd:$name sh $name - - - $name is lost"
		echo "lab-unpack cmd:$name-d $name-d - - - - $name-d is lost"
	done >suite/setup/packages.txt
	run --separate-stderr env HOME="$PWD" PATH="$PWD/few" GPUSIG_PYTHON="$PWD/few/python" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
	[ "$status" = 0 ]
	cat tried
	[ "$(grep -c ' pip install' tried)-$(grep -c ' download' tried)-$(wc -l <tried)" = 1-1-2 ]
	for name in one two one-d two-d; do [[ $stderr == *"without $name: $name is lost"* ]]; done
}

@test "what cannot be unpacked is tried once, and each start says what is lost" {
	only_with_all
	false_unpacking
	printf '#!/bin/sh\necho no such package >&2\nexit 100\n' >few/apt-get
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
	[ "$status" = 0 ]
	[ "${stderr_lines[1]}" = 'gpusig: it could not be unpacked; what apt-get said is in build/tools/first.log' ]
	grep -q 'no such package' build/tools/first.log
	run --separate-stderr env PATH="$PWD/few" GPUSIG_NO_INSTALL=0 sh suite/setup/setup.sh lab
	[ "$stderr" = 'gpusig: without daemond: nothing is served' ]
}

@test "a font is found below the folders of fonts" {
	only_with_all
	false_manager
	ln -sf "$(command -v find)" few/
	echo 'test font:NoFont-Regular fonts-none - - - - letters' >suite/setup/packages.txt
	HOME=$PWD PATH="$PWD/few" run --separate-stderr sh suite/setup/setup.sh --no-install lab
	[[ $stderr == *"without NoFont-Regular: letters"* ]]
	mkdir -p .local/share/fonts/truetype
	touch .local/share/fonts/truetype/NoFont-Regular.ttf
	HOME=$PWD PATH="$PWD/few" run --separate-stderr sh suite/setup/setup.sh --no-install lab
	[[ $stderr != *NoFont* ]]
}

@test "a second start finds everything here and says nothing" {
	fake micro/a steady
	unset GPUSIG_PYTHON
	"$root/gpusig" list >/dev/null 2>words
	[ ! -s words ] || "$root/gpusig" list >/dev/null 2>words
	cat words
	[ ! -s words ]
}

@test "a Python without any modules measures and writes the signature; one line says why there is no page" {
	only_with_all
	fake micro/a steady
	"$TEST_PYTHON" -m venv --without-pip bare || skip "this Python makes no virtual environment"
	GPUSIG_PYTHON=$PWD/bare/bin/python3 run --separate-stderr "$root/gpusig" run --budget 1s --out results
	[ "$status" = 0 ]
	[ "$(grep -c '^gpusig: report:' <<<"$stderr")" = 1 ]
	[[ $stderr == *"report.html needs the Python package jinja2"*"./gpusig report "*results* ]]
	sound results
	json 'rows[0]["schema"] == "gpusig.signature"' < <(tr -d '\n' <results/signature.json)
	touch results/report.html
	GPUSIG_PYTHON=$PWD/bare/bin/python3 run --separate-stderr "$root/gpusig" report results
	[ "$status" = 77 ]
	[ ! -e results/report.html ] # of other records, it would be a lie
}

@test "no GPUSIG_BIN with programs is 77 and says what to do" {
	mkdir none
	GPUSIG_BIN=$PWD/none refused <<-'TABLE'
		77|list|no programs in
		77|run --budget 1s --out results|make
	TABLE
}

@test "every package that is installed for run or test is one that something uses" {
	# Use of a row, found by its probe: a module that is imported, a command or header that is named.
	while read -r level probe _; do
		case $level in '' | '#'* | peers) continue ;; esac
		word=${probe#*:}
		word=${word%.h}
		case $probe in lib:*) word=lib$word ;; esac
		echo "# $level $probe"
		grep -rqw -e "$word" "$root"/gpusig "$root"/Makefile "$root"/suite/*/*.py "$root"/suite/*/*.sh "$root"/reports "$root"/device \
			"$root"/tests/reports "$root"/tests/adapters "$root"/tests/bats "$root"/tests/*/*.bats
	done <"$root/suite/setup/packages.txt"
}
