#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Options of ./gpusig run that reach into programs and report, with real programs on the simulated device.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# cases PROGRAM: the keys of its cases that are ok.
cases() {
	"$TEST_PYTHON" -c 'import json, sys
[print(r["key"]) for r in map(json.loads, open("out/records.jsonl"))
 if r["kind"] == "case" and r["status"] == "ok" and r["program"] == sys.argv[1]]' "$1"
}

@test "--shape is measured in addition, by every program that takes shapes, and by a resumed run" {
	measures run --device sim:quiet --budget 10m --only overlap/out_of_core --only overlap/ficco --only micro/launch \
		--shape 64x128x64 --shape 128x64x64 --shape 64x128x64 --out out 2>err
	for program in overlap/out_of_core overlap/ficco; do
		[ "$(cases "$program" | grep -c 'shape=64x128x64 ')" -gt 0 ]
		[ "$(cases "$program" | grep -c 'shape=128x64x64 ')" -gt 0 ]
		[ "$(cases "$program" | grep -cv 'shape=[0-9]*x')" -gt 0 ]
	done
	refused <<<'2|run --resume out --shape 64x64x64|--shape 64x64x64 contradicts the run that is resumed, which has 64x128x64 128x64x64'
	measures run --resume out --shape 64x128x64 --shape 128x64x64 2>err
}

# types: the types of the cases of a run's records, by program.
types() {
	"$TEST_PYTHON" -I -S -c 'import json
found = {}
for row in map(json.loads, open("out/records.jsonl", encoding="utf-8")):
    if row["kind"] == "case":
        found.setdefault(row["program"], set()).add(row["case"].get("type"))
print(*(f"{program}={sorted(map(str, kinds))}" for program, kinds in sorted(found.items())))'
}

@test "--type is of every program with GEMMs, and of a resumed run" {
	measures run --device sim:h100 --budget 4 --only gemm/split --only micro/contention --only micro/launch \
		--type f16,f64 --type f16 --out out 2>err
	[ "$(types)" = "gemm/split=['f16', 'f64'] micro/contention=['f16', 'f64'] micro/launch=['None']" ]
	refused <<<'2|run --resume out --type bf16|--type bf16 contradicts the run that is resumed, which has f16 f64'
	measures run --resume out --type f16,f64 2>err
}

@test "a --type that the device lacks is 2 and one line with those that it has" {
	refused <<-'EOF'
		2|run --device sim --only gemm/split --type bf16,f32 --out none|--type bf16: the GEMMs of sim are of f32, f64
		2|run --device sim --only gemm/split --type f32,foo --out none|--type foo: the GEMMs of sim are of f32, f64
		2|run --device sim --only gemm/split --type f32, --out none|argument --type: 'f32,' is not a list of types, such as bf16,f32
		2|run --device sim --only micro/launch --type f32 --out none|no program of this run takes --type
	EOF
	[ ! -e none ]
}

@test "a --shape that is none, or that no program takes, is 2 and one line, and so is a --nice that is none" {
	for shape in n512 64x64 64x64x0 64x64x64x64 1e3x1x1 64x64x99999999; do
		echo "2|run --device sim --shape $shape --out none|argument --shape: '$shape' is not MxNxK"
	done >table
	for word in 20 -21 x '' 1.5 +3; do
		echo "2|run --device sim --nice='$word' --out none|argument --nice: '$word' is not a priority from -20 to 19"
	done >>table
	echo '2|run --device sim --only micro/launch --shape 64x64x64 --out none|no program of this run takes --shape' >>table
	refused <table
}

@test "the last line says how far a run can be trusted, and --strict makes doubt exit 3" {
	suite run --device sim:quiet --budget 10m --only micro/launch --strict --out good >said 2>err
	[[ $(sed '1,/^How far can/d' said | paste -sd ' ' | tr -s ' ') == *'This run is good enough to keep as a baseline: '*' headline numbers are valid, and nothing'* ]]
	# the case of a headline number does not run
	head -n 1 good/records.jsonl >rest
	grep '"kind":"end"' good/records.jsonl >>rest
	cp rest good/records.jsonl
	suite report good >said || [ $? = 3 ]
	[[ $(sed '1,/^How far can/d' said | paste -sd ' ' | tr -s ' ') == *'Nothing is known about this machine: 0 of '*'did not run); give it a larger --budget.' ]]
	run suite report good --strict
	[ "$status" = 3 ]
}

@test "--nice is the priority of what measures, and in the records" {
	measures run --device sim:quiet --budget 10m --only micro/launch --nice 7 --out out >said 2>err
	grep -q '^gpusig: device sim:quiet (asked for), seed 1, nice 7$' err
	json '[r["provenance"]["nice"] for r in rows if r["kind"] == "run"] == [7]' <out/records.jsonl
	GPUSIG_NICE=8 measures run --device sim:quiet --budget 10m --only micro/launch --out eight >said 2>err
	grep -q 'seed 1, nice 8$' err
	(unset GPUSIG_NICE && measures run --device sim:quiet --budget 10m --only micro/launch --out sim >said 2>err)
	(unset GPUSIG_NICE && measures run --device host --only topology/torus --out torus >said 2>err || [ $? = 3 ])
	for out in sim torus; do # they time nothing, so that even root's priority is not raised
		json "[r['provenance']['nice'] for r in rows if r['kind'] == 'run'] == [$(nice)]" <$out/records.jsonl
	done
}

# names SIGNATURE: every headline number, there or missing.
names() {
	"$TEST_PYTHON" -c 'import json, sys
s = json.load(open(sys.argv[1]))
print(*sorted([n for n, m in s["metrics"].items() if m["primary"]] +
              [e["program"] + "/" + e["metric"] for e in s["primary_missing"]]), sep="\n")' "$1"
}

@test "two runs of one machine have the same headline names, whatever time they had and whatever was noisy" {
	for device in 'sim:default?data=none' host; do
		kind=${device%%:*}
		chosen=(--only gemm/efficiency --only micro/copy_path)
		[ "$kind" = host ] || chosen+=(--only micro/memory) # a host's last-level cache may be too large for so little time
		measures run --device "$device" --budget 1s "${chosen[@]}" --out "short-$kind" >said 2>err || [ $? = 3 ]
		measures run --device "$device" --budget 3s --seed 2 "${chosen[@]}" --out "long-$kind" >said 2>err || [ $? = 3 ]
		signatures "$PWD/short-$kind" "$PWD/long-$kind"
		names "short-$kind/signature.json" >a
		names "long-$kind/signature.json" >b
		diff a b
		[ "$(wc -l <a)" -gt 8 ]
	done
}

# is_small DIR: its signature and its page are, and the files beside them hold every value and every variant of the records.
is_small() {
	"$TEST_PYTHON" -c 'import collections, csv, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
sizes = {name: (folder / name).stat().st_size for name in ("signature.json", "report.html") if (folder / name).exists()}
print(sizes)
assert sizes["signature.json"] <= 1_000_000 and sizes.get("report.html", 0) <= 3_000_000, sizes
tries, hidden = {}, {}
for record in map(json.loads, open(folder / "records.jsonl")):
    if record["kind"] == "run":
        hidden[record["run"], record["program"]] = record["references"]
    elif record["kind"] == "case":
        tries.setdefault((record["program"], record["key"]), []).append(record)
def names(record):
    shown = [d for d in record["derived"] if d["variant"] not in hidden[record["run"], record["program"]]]
    return {(d["variant"], d["name"], sum(e["variant"] == d["variant"] and e["name"] == d["name"] for e in shown[:i]))
            for i, d in enumerate(shown)}
rows = {name: list(csv.DictReader(open(folder / name, newline=""), strict=True)) for name in ("metrics.csv", "timings.csv")}
given = {name: collections.Counter((row["program"], row["case"]) for row in rows[name]) for name in rows}
for case, records in tries.items():
    measured = [r for r in records if r["status"] == "ok"] or records[-1:]
    values, timings = set().union(*map(names, measured)), {len(r["variants"]) for r in measured}
    assert given["metrics.csv"][case] == len(values), (case, values)
    assert given["timings.csv"][case] in timings, (case, timings)
assert given["metrics.csv"] and all(set(given[name]) <= set(tries) for name in given)
assert all(None not in row and None not in row.values() for name in rows for row in rows[name])' "$1"
}

@test "what a run leaves is small, and loses no value of the records" {
	suite run --device sim:0-3 --budget 4s --only gemm/split --only overlap/pair --only topology/torus \
		--out out >said 2>err || [ $? = 3 ]
	is_small out
}
