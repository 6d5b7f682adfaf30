#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# The folder of a run where a file cannot be written, or is not what the driver takes it for.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup_file() {
	local BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	export GPUSIG_BIN=$BATS_FILE_TMPDIR/bin
	fake micro/a steady
	measures run --budget 2s --out run 2>/dev/null
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

teardown() { ! mountpoint -q disk || umount disk; }

# A run that ended, in this folder, as yet without a report.
first_run() { cp -r "$BATS_FILE_TMPDIR/run" "${1:-results}"; }

disk() {
	mkdir disk
	mount -t tmpfs -o size=2m tmpfs disk 2>/dev/null || skip "no permission to mount a small file system"
}

# ---- the report

@test "a file of the report that cannot be written is 1 and named, and the others are written" {
	for name in signature.json machine.model metrics.csv timings.csv report.html; do
		first_run "$name"
		mkdir "$name/$name"
	done
	cd "$root"
	run --separate-stderr "$TEST_PYTHON" -c 'import sys
from pathlib import Path
from suite.commands.report import build_folder
for folder in Path(sys.argv[1]).iterdir(): print(folder.name, build_folder(folder, False))' "$BATS_TEST_TMPDIR"
	[ "$status" = 0 ]
	cd "$BATS_TEST_TMPDIR"
	for name in signature.json machine.model metrics.csv timings.csv report.html; do
		grep -qx "$name 1" <<<"$output"
		[[ $stderr == *"cannot write $PWD/$name/$name: Is a directory"* ]]
		for other in signature.json machine.model metrics.csv timings.csv; do [ "$other" = "$name" ] || [ -s "$name/$other" ]; done
	done
}

@test "a resumed run that cannot write the page names no other one as new" {
	first_run
	mkdir results/report.html
	run --separate-stderr suite run --resume results
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write $PWD/results/report.html: Is a directory"* ]]
	[[ $stderr != *"full report"* ]]
}

@test "a prediction that cannot be written is 1, and the page is made" {
	first_run
	mkdir results/prediction.json
	run --separate-stderr suite run --resume results
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write $PWD/results/prediction.json: Is a directory"* ]]
}

@test "a disk without space for the report keeps none of earlier records" {
	disk
	first_run disk/results
	touch disk/results/signature.json disk/results/report.html
	dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null || true
	run --separate-stderr suite report disk/results
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write $PWD/disk/results/signature.json: No space left on device"* ]]
	[ ! -e disk/results/signature.json ]
}

@test "a report of earlier records that cannot be deleted is named as such" {
	disk
	first_run disk/results
	touch disk/results/signature.json
	mount -o remount,ro disk
	run --separate-stderr suite report disk/results
	[ "$status" = 1 ]
	[[ $stderr == *"cannot write $PWD/disk/results/metrics.csv: Read-only file system"* ]]
	[[ $stderr == *"disk/results/signature.json is of earlier records"*"cannot be deleted: Read-only file system"* ]]
	[ "$(grep -c 'signature.json is of earlier records' <<<"$stderr")" = 1 ]
	run --separate-stderr suite run --resume disk/results
	[ "$status" = 1 ]
	[[ $stderr != *"full report"* ]]
}

# A run is resumed, and its report does nothing but end with this code.
resume_with_report() {
	first_run
	touch results/report.html
	cp -rp "$root/suite" "$root/reports" .
	printf 'raise SystemExit(%d)\n' "$1" >suite/commands/report.py
	run --separate-stderr "$TEST_PYTHON" -m suite run --resume results
}

@test "a report that ends in the middle leaves no page of earlier records" {
	resume_with_report 1
	[ "$status" = 1 ]
	[ ! -e results/report.html ]
	[ ! -e results/signature.json ]
	[[ $stderr != *"full report"* ]]
}

@test "records of two machines are 1, and the report of one of them is kept and named" {
	resume_with_report 2
	[ "$status" = 1 ]
	[[ $stderr == *"results/report.html is of earlier records; it is kept"* ]]
	[[ $stderr != *"full report"* ]]
}

# ---- what others prepared

@test "a link among the files of a run is refused by name, and nothing is written" {
	mkdir planted resumed
	echo precious >elsewhere
	mkdir logs.elsewhere
	for name in records.jsonl records.cut plan.json plan.json.new lock logs kernels logs/micro-a.log logs/micro-a.done \
		logs/progress.json signature.json machine.model metrics.csv timings.csv prediction.json report.html; do
		for target in absent elsewhere logs.elsewhere; do
			for folder in planted resumed; do
				where=$folder/${name//\//-}-$target
				if [ $folder = planted ]; then mkdir "$where"; else first_run "$where"; fi
				[[ $name != logs/* ]] || mkdir -p "$where/logs"
				rm -rf "${where:?}/$name"
				ln -s "$PWD/$target" "$where/$name"
				option=--out
				[ $folder = planted ] || option=--resume
				echo "2|run --budget 1s $option $where|$PWD/$where/$name is a link; "
			done
		done
	done >table
	refused <table
	[ "$(cat elsewhere)" = precious ]
	[ ! -e absent ]
	[ -z "$(ls logs.elsewhere)" ]
}

@test "a pipe in place of a file is refused, too, and not waited for" {
	mkdir planted
	mkfifo planted/plan.json
	refused <<<'2|run --budget 1s --resume planted|planted/plan.json is a special file; '
}

# Every file and folder of a run that decides how it goes on.
for_each_place() { # COMMAND...: with the place and a folder that is resumed
	for place in . plan.json records.jsonl lock logs logs/micro-a.log kernels; do
		where=resumed-${place//\//-}
		first_run "$where"
		mkdir "$where/kernels"
		"$@" "$where/$place" "$where"
	done
}

may_be_written() {
	chmod g+w "$1"
	echo "2|run --budget 1s --resume $2|gpusig: $PWD/${1%/.} may be written by others: look through it, then chmod -R go-w $PWD/$2"
}

of_another_user() {
	chown 65534 "$1"
	echo "2|run --budget 1s --resume $2|gpusig: $PWD/${1%/.} belongs to $(id -un 65534): only the user of a run may resume it"
}

@test "what others may write is not gone on with" {
	for_each_place may_be_written >table
	refused <table
	chmod -R go-w resumed-.
	measures run --resume resumed-. 2>/dev/null
}

@test "what another user owns is not gone on with, by root neither" {
	[ "$(id -u)" = 0 ] || skip 'only root gives a file to another user'
	for_each_place of_another_user >table
	refused <table
}

@test "another user does not go on with what is root's" {
	[ "$(id -u)" = 0 ] || skip 'only root starts a program as another user'
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" 2>/dev/null || true
	first_run
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	as_nobody test -r "$PWD/results/plan.json" -a -r "$root/suite/run/run.py" || skip 'the folders of the tests are closed to others'
	run as_nobody env --chdir="$root" "$TEST_PYTHON" -m suite --cwd "$PWD" run --resume results
	[ "$status" = 2 ]
	[[ $output == *"$PWD/results belongs to root: only the user of a run may resume it" ]]
}

@test "a command that a plan holds is not run" {
	first_run
	sed -i 's|"setting": ""|"setting": "touch '"$PWD"'/ran"|; s|"outcomes": {|"outcomes": {}, "before": {|' results/plan.json
	grep -q "touch $PWD/ran" results/plan.json
	: >results/records.jsonl
	refused <<<"2|run --resume results|$PWD/results is a run of ab, with 'touch $PWD/ran' in front of every program: resume the folder"
	[ ! -e ran ]
}

@test "a folder in the place where a plan is first written is 1 and named, before anything is measured" {
	for options in '' '--repeats 1'; do
		mkdir -p planted/plan.json.new planted/repeats.json.new
		# shellcheck disable=SC2086 # words are options
		run --separate-stderr measures run --budget 1s --out planted $options
		[ "$status" = 1 ]
		[[ $stderr == *"gpusig: cannot write $PWD/planted/"*".json.new: Is a directory"* && $stderr != *space* ]]
		[ ! -e planted/records.jsonl ]
		rm -r planted
	done
}

# from_another_machine WORD...: a run that is not complete and that another machine began. Sets `records` to its first ones.
from_another_machine() {
	[ -x "$root/bin/micro/launch" ] || skip 'nothing is built'
	export GPUSIG_BIN=$root/bin
	measures run --budget 1s --headline --out results "$@" 2>/dev/null
	records=$(find results -name records.jsonl | sort | head -n 1)
	sed -i '/"kind":"end"/d; s/"hostname":"[^"]*"/"hostname":"node9"/' "$records"
	before=$(cksum <"$records")
}

refused_for_the_machine() {
	run --separate-stderr suite run --resume results
	[ "$status" = 2 ]
	[[ ${stderr_lines[-1]} == "gpusig: $PWD/${records%/*}: records of different machines do not mix: node9 and "*"; measure into a new folder" ]]
	[ "$before" = "$(cksum <"$records")" ]
}

@test "a run that is resumed on another machine measures nothing there" {
	from_another_machine --device sim --only launch
	refused_for_the_machine
	[ -z "$(find results -newer results/plan.json -name '*.log')" ]
	sed -i "s/\"hostname\":\"node9\"/\"hostname\":\"$(uname -n)\"/" results/records.jsonl
	run --separate-stderr measures run --resume results
	[ "$status" = 0 ]
	[ "$(grep -c '"kind":"end"' results/records.jsonl)" -gt 0 ]
}

@test "a run of ranks that is resumed on another machine measures nothing there, either" {
	[ -x "$root/bin/collectives/allreduce" ] || skip 'not built'
	from_another_machine --device host --only collectives/allreduce
	refused_for_the_machine
}

@test "of several runs the first is that of the machine, also where it is complete" {
	from_another_machine --device sim --only launch --repeats 2
	rm -r results/run-2
	sed -i '/"run-2",*/d; s/"run-1",/"run-1"/' results/repeats.json
	refused_for_the_machine
	[ ! -e results/run-2/records.jsonl ]
}

# Two programs of a run that another machine began; asked where it is, the first says only the words given, and ends with 1.
first_program_says() {
	export GPUSIG_BIN=$PWD/bin
	fake micro/a steady
	fake micro/b steady
	measures run --budget 1s --out results 2>/dev/null
	records=results/records.jsonl
	sed -i '/"kind": "end"/d; s/"hostname": "[^"]*"/"hostname": "node9"/' $records
	before=$(cksum <$records)
	say_instead a "$1"
}

say_instead() {
	printf '%s\n' "$2" >said
	sed -i "2i case \$* in *--format*) cat '$PWD/said'; exit 1 ;; esac" "bin/micro/$1"
}

@test "only a run record that names a machine says which one it is: without, the next program is asked" {
	for words in 'no device' '{"kind": "run"}' '{"kind": "run", "provenance": {"hostname": null}}' '{"kind": "end"}' '[]'; do
		first_program_says "$words"
		refused_for_the_machine
		rm -r results bin
	done
}

@test "where no program says which machine this is, nothing is measured" {
	first_program_says 'no device'
	say_instead b 'no device'
	run --separate-stderr suite run --resume results
	[ "$status" = 1 ]
	[ "${stderr_lines[-1]}" = "gpusig: $PWD/results: no program says which machine this is, so that nothing is measured" ]
	[ "$before" = "$(cksum <$records)" ]
}

@test "nobody else may write what a run wrote, whatever the umask" {
	(umask 000 && suite run --budget 2s --out results >said 2>err)
	[ -s results/signature.json ]
	[ -z "$(find results -perm /022)" ]
}

@test "the folder itself may be a link, and files honour the umask" {
	mkdir target
	ln -s target results
	(umask 027 && suite run --budget 2s --out results >said 2>err)
	[ -s target/records.jsonl ]
	[ -s target/signature.json ]
	[ -z "$(find target -mindepth 1 -perm /027)" ]
}
