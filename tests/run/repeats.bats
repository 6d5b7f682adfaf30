#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# run --repeats: equal runs in one folder; ab: two settings in turn, and their comparison.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

runs_of() { (cd "$1" && find . -name records.jsonl | sort | tr '\n' ' '); }

@test "every repeat is a whole run with a seed and an order of its own" {
	fake micro/a steady
	fake micro/b steady
	fake micro/c steady
	run --separate-stderr measures run --repeats 3 --budget 2s --seed 7 --out results
	[ "$status" = 0 ]
	[ "$(runs_of results)" = "./run-1/records.jsonl ./run-2/records.jsonl ./run-3/records.jsonl " ]
	[[ ${stderr_lines[-1]} == "gpusig: next: ./gpusig compare $PWD/results OTHER for what differs, or ./gpusig scorecard $PWD/results OTHER for which is better" ]]
	for number in 1 2 3; do
		json 'by_program.keys() == {"micro/a", "micro/b", "micro/c"}' \
			"all(r['argv'][r['argv'].index('--seed') + 1] == '$((number + 6))' for r in rows if r['kind'] == 'run')" \
			<"results/run-$number/records.jsonl"
	done
	orders=$(for number in 1 2 3; do sed -n 's/.*"kind": "run".*"program": "\([^"]*\)".*/\1/p' "results/run-$number/records.jsonl" |
		tr '\n' ' ' && echo; done | sort -u | wc -l)
	[ "$orders" -gt 1 ]
	json 'rows[0]["done"] == ["run-1", "run-2", "run-3"]' < <(tr -d '\n' <results/repeats.json)
}

@test "what was stopped goes on where it was, and repeats nothing" {
	fake micro/a hang
	FAKE_HANGS_IN=run-2 measures run --repeats 3 --budget 10m --out results >said 2>err 3>&- &
	until grep -q '"kind": "case"' results/run-2/records.jsonl 2>/dev/null; do sleep 0.1; done
	kill -s TERM "$(driver results)"
	wait $! || [ $? = 143 ]
	grep -q "go on with: ./gpusig run --resume $PWD/results\$" err
	before=$(cksum <results/run-1/records.jsonl)
	run --separate-stderr measures run --resume results --repeats 4
	[ "$status" = 2 ]
	[[ $stderr == "gpusig: --repeats 4 contradicts the runs that are resumed, which are 3" ]]
	FAKE_HANGS_IN=nowhere measures run --resume results 2>err || [ $? = 3 ]
	[ "$before" = "$(cksum <results/run-1/records.jsonl)" ]
	for number in 1 2 3; do
		json 'len({c["key"] for c in cases}) == len(cases) > 2 and rows[-1]["kind"] == "end"' <"results/run-$number/records.jsonl"
	done
}

@test "a driver that was killed between and within runs loses nothing" {
	fake micro/a hang
	cases=0
	for folder in run-1 run-1 run-2; do
		if [ -e results ]; then how='--resume'; else how='--repeats 2 --budget 10m --out'; fi
		# shellcheck disable=SC2086 # a list of words
		FAKE_HANGS_IN=$folder measures run $how results >said 2>err 3>&- &
		[ $folder = run-1 ] || cases=0
		cases=$((cases + 3))
		until [ "$(grep -c '"kind": "case"' results/$folder/records.jsonl 2>/dev/null)" = $cases ]; do sleep 0.1; done
		kill -s KILL "$(driver results)"
		wait $! || [ $? = 137 ]
	done
	FAKE_HANGS_IN=nowhere measures run --resume results 2>err || [ $? = 3 ]
	for number in 1 2; do
		json 'len({c["key"] for c in cases}) == len(cases) > 2 and rows[-1]["kind"] == "end"' <"results/run-$number/records.jsonl"
	done
}

@test "a program that fails in one repeat is 1, named, and ends no other one" {
	fake micro/a steady
	fake micro/b wrong
	run --separate-stderr measures run --repeats 2 --budget 2s --out results
	[ "$status" = 1 ]
	[[ $stderr == *"run-1: failed micro/b"*"run-2: failed micro/b"* ]]
	[[ $stderr != *"run-1: failed micro/a"* ]]
	[ "$(runs_of results)" = "./run-1/records.jsonl ./run-2/records.jsonl " ]
}

@test "a folder that is used, or a link in the place of a run, is refused" {
	fake micro/a steady
	mkdir -p used/run-1 elsewhere
	measures run --repeats 2 --budget 1s --out results 2>err
	cp -r results linked
	sed -i 's/"run-2"//; s/"run-1",/"run-1"/' linked/repeats.json
	rm -r linked/run-2 && ln -s "$PWD/elsewhere" linked/run-2
	refused <<-TABLE
		2|run --repeats 2 --budget 1s --out used|used/run-1 is there already; runs go into a new folder
		2|run --budget 1s --out results|results already holds a run; go on with it: --resume $PWD/results
		2|run --repeats 2 --budget 1s --out results|results already holds a run; go on with it: --resume $PWD/results
	TABLE
	run --separate-stderr measures run --resume linked
	[ "$status" = 2 ]
	[[ $stderr == *"linked/run-2 is a link; a run writes to its own files only" ]]
	[ -z "$(ls elsewhere)" ]
}

@test "wrong numbers of repeats are refused, and so is a soak of them" {
	refused <<-'TABLE'
		2|run --repeats 0|'0' is not a number of runs from 1 to 1000; see ./gpusig help run
		2|run --repeats -1|
		2|run --repeats 1001|'1001' is not a number of runs from 1 to 1000; see ./gpusig help run
		2|run --repeats x|'x' is not a number of runs from 1 to 1000; see ./gpusig help run
		2|run --repeats 1.5|'1.5' is not a number of runs from 1 to 1000; see ./gpusig help run
		2|run --repeats ''|'' is not a number of runs from 1 to 1000; see ./gpusig help run
		2|run --repeats 2 --soak 5s|leave out --headline and --repeats
		2|run --device sim --only topology/node --headline|topology/node has no headline number: leave out --headline
	TABLE
}

@test "--headline measures the cases of headline numbers alone" {
	suite run --device sim --only micro/latency --headline --budget 10m --out results 2>err >said
	json 'len(cases) == 2 and len({c["key"] for c in cases}) == 2' \
		'all({"--headline", "--headline-variants"} <= set(r["argv"]) for r in rows if r["kind"] == "run")' \
		<results/records.jsonl
	grep -q "This run is good enough to keep as a baseline: 2 headline numbers are" said
}

@test "a run on a GPU brings a control of the host along" {
	fake micro/launch steady
	fake micro/memory steady
	fake gemm/efficiency steady
	FAKE_DEVICES='host=1 cuda=1' measures run --device cuda --only micro/launch --headline --repeats 2 --budget 1s --out results 2>err
	for number in 1 2; do
		json 'by_program.keys() == {"micro/launch"}' <"results/run-$number/records.jsonl"
		json 'by_program.keys() == {"micro/memory", "gemm/efficiency"}' \
			'{r["argv"][r["argv"].index("--device") + 1] for r in rows if r["kind"] == "run"} == {"host"}' \
			<"results/run-$number/control/records.jsonl"
	done
}

@test "ab measures A B B A, each with its setting, and compares" {
	fake micro/a steady
	run --separate-stderr suite ab '' 'FAKE=1 nice -n 1' --repeats 2 --budget 1s --out results
	[ "$status" = 3 ]
	[ "$(runs_of results)" = "./A/run-1/records.jsonl ./A/run-2/records.jsonl ./B/run-1/records.jsonl ./B/run-2/records.jsonl " ]
	json 'rows[0]["done"] == ["A/run-1", "B/run-1", "B/run-2", "A/run-2"]' 'rows[0]["settings"] == {"A": "", "B": "FAKE=1 nice -n 1"}' \
		< <(tr -d '\n' <results/repeats.json)
	json 'rows[0]["setting"] == "FAKE=1 nice -n 1"' < <(tr -d '\n' <results/B/run-2/plan.json)
	[[ $output == *"Nothing can be judged: there is no headline number."* ]]
}

@test "ab goes on with the settings that are given again, and runs none that is only in its folder" {
	fake micro/a steady
	suite ab '' "env FAKE='1 2'" --repeats 2 --budget 1s --out results >said 2>err || [ $? = 3 ]
	grep -qx "gpusig: setting A: none" err
	grep -qx "gpusig: setting B: env FAKE='1 2'" err
	rm -r results/B/run-2 # and what it has not done yet is planted
	sed -i '/"B.run-2",*/d' results/repeats.json
	cp -r results planted
	sed -i "s|env FAKE='1 2'|touch $PWD/ran|" planted/repeats.json
	for folder in results planted; do
		setting="env FAKE='\"'\"'1 2'\"'\"'"
		[ $folder = results ] || setting="touch $PWD/ran"
		for command in 'ab --resume' 'run --resume' "ab '' 'FAKE=other' --resume"; do
			echo "2|$command $folder|gpusig: the settings of $PWD/$folder are to be given again, if they are yours: ./gpusig ab --resume $PWD/$folder '' '$setting'"
		done
	done >table
	refused <table
	[ ! -e ran ]
	run --separate-stderr suite ab --resume results '' "env FAKE='1 2'"
	[ "$status" = 3 ]
	[ "$(runs_of results)" = "./A/run-1/records.jsonl ./A/run-2/records.jsonl ./B/run-1/records.jsonl ./B/run-2/records.jsonl " ]
}

@test "ab that was stopped says how it goes on, with its settings" {
	fake micro/a hang
	FAKE_HANGS_IN=B/run-1 measures ab '' 'nice -n 1' --repeats 1 --budget 10m --out results >said 2>err 3>&- &
	until grep -q '"kind": "case"' results/B/run-1/records.jsonl 2>/dev/null; do sleep 0.1; done
	kill -s TERM "$(driver results)"
	wait $! || [ $? = 143 ]
	grep -q "go on with: ./gpusig ab --resume $PWD/results '' 'nice -n 1'\$" err
	sed -i "s|nice -n 1|touch $PWD/ran|" results/B/run-1/plan.json # the part that goes on
	FAKE_HANGS_IN=nowhere measures ab --resume results '' 'nice -n 1' >said 2>err || [ $? = 2 ] # no signatures to compare
	[ ! -e ran ]
	json 'rows[0]["setting"] == "nice -n 1"' < <(tr -d '\n' <results/B/run-1/plan.json)
	json 'len({c["key"] for c in cases}) == len(cases) > 2' <results/B/run-1/records.jsonl
}

@test "a folder of runs is not gone on with where any of them is another user's, before any is" {
	[ "$(id -u)" = 0 ] || skip 'only root gives a file to another user'
	fake micro/a steady
	measures run --repeats 3 --budget 1s --out results 2>err
	chown 65534 results/run-3/plan.json
	sed -i '/"run-2",*/d; s/"run-1",/"run-1"/; /"run-3"/d' results/repeats.json
	refused <<<"2|run --resume results|gpusig: $PWD/results/run-3/plan.json belongs to $(id -un 65534): only the user of a run may resume it"
}

@test "sides, runs and controls of ab that others may write are not gone on with" {
	fake micro/a steady
	measures ab '' 'nice -n 1' --repeats 1 --budget 1s --out results 2>err || [ $? = 2 ] # no signatures to compare
	mkdir results/B/run-1/control
	for place in A B A/run-1 B/run-1/control; do
		cp -r results "${place//\//-}"
		chmod g+w "${place//\//-}/$place"
		echo "2|ab '' 'nice -n 1' --resume ${place//\//-}|gpusig: $PWD/${place//\//-}/$place may be written by others: look through it"
	done >table
	refused <table
}

@test "the environment and the command of a setting reach the programs, and only those of its side" {
	suite ab 'MALLOC_ARENA_MAX=3 env OMP_NUM_THREADS=2' 'taskset -c 0' --device sim --only micro/priority --repeats 1 --budget 1s \
		--headline --out results >said 2>err || [ $? = 3 ]
	json '[r["provenance"]["environment"].get(n) for r in rows if r["kind"] == "run" for n in ("MALLOC_ARENA_MAX", "OMP_NUM_THREADS")] == ["3", "2"]' \
		<results/A/run-1/records.jsonl
	json '[r["provenance"]["affinity"] for r in rows if r["kind"] == "run"] == ["0"]' <results/B/run-1/records.jsonl
	grep -q 'setting: setting' said
}

@test "a setting that is none is refused before anything is written" {
	fake micro/a steady
	refused <<-'TABLE'
		2|ab '' no-such-command --repeats 2 --out results|gpusig: setting 'no-such-command': 'no-such-command' is not a command here
		2|ab A=1 --repeats 2 --out results|gpusig: ab takes two settings, not 1: ./gpusig ab
		2|ab A=1 B=1 --out results|gpusig: ab needs --repeats N, the runs of each setting
	TABLE
}
