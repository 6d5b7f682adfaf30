#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Selection, order and duration of a program's cases.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers
bin=${GPUSIG_BIN:-$root/bin}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# with_headline: of what --list --format json prints, the keys that hold a headline number.
with_headline() {
	"$TEST_PYTHON" -c 'import json, sys
[print(r["key"]) for r in map(json.loads, sys.stdin) if r["headlines"]]'
}

@test "--headline are the cases that hold a headline number, and no others" {
	for name in micro/copy_path micro/memory gemm/efficiency overlap/pair; do
		"$bin/$name" --device sim --list --format json | with_headline >expected
		[ -s expected ]
		"$bin/$name" --device sim --headline --list >found
		diff expected found
	done
	run --separate-stderr "$bin/micro/copy_path" --device sim --headline --size 8K --list
	[ "$status" = 0 ] && [ -z "$output" ]
	[ "$stderr" = 'gpusig: micro/copy_path: no case of these lists holds a headline number' ]
}

@test "--cases measures what the file lists, and refuses what it does not know" {
	printf 'direction=down size=4096\ndirection=up size=65536\n' >some
	"$bin/micro/copy_path" --device sim --size 4K,64K --cases some --format json --out records >/dev/null
	[ "$(grep -c '"kind":"case"' records)" = 2 ]
	grep '"kind":"end"' records | grep -q '"ok":2,'
	echo 'direction=down size=4096' >'done'
	[ "$("$bin/micro/copy_path" --device sim --size 4K,64K --cases some --done 'done' --list)" = 'direction=up size=65536' ]
	echo 'direction=up size=1' >>some
	run "$bin/micro/copy_path" --device sim --size 4K,64K --cases some
	[ "$status" = 2 ]
	[[ $output == *"--cases some: 'direction=up size=1' is not a case of this run" ]]
	run "$bin/micro/copy_path" --device sim --cases nowhere
	[ "$status" = 2 ]
	[[ $output == *'--cases nowhere: No such file or directory' ]]
}

@test "when time is scarce headline cases come first, then curves from coarse to fine" {
	"$bin/micro/copy_path" --device sim --size 4K:64M:x4 --budget 1ms --list >order
	"$bin/micro/copy_path" --device sim --size 4K:64M:x4 --headline --list | sort >headline
	diff headline <(head -n "$(wc -l <headline)" order | sort)
	# sizes 4K 16K 64K 256K 1M 4M 16M 64M: both ends, the middle, then the quarters
	levels=$(sed 's/.*size=//' order | "$TEST_PYTHON" -c 'import sys
level = {4096: 0, 67108864: 0, 262144: 1, 16384: 2, 4194304: 2, 65536: 3, 1048576: 3, 16777216: 3}
print(*[level[int(line)] for line in sys.stdin][int(sys.argv[1]):])' "$(wc -l <headline)")
	[ "$levels" = "$(tr ' ' '\n' <<<"$levels" | sort -n | paste -sd ' ')" ]
	[[ $levels == *1*2*3* ]]
}

@test "with time for all cases, and without a budget, the order is that of the axes" {
	"$bin/micro/memory" --device sim --list >plain
	"$bin/micro/memory" --device sim --list --budget 1h | sort >long
	diff <(sort plain) long
	[ "$(head -n 1 plain)" != "$(tail -n 1 plain)" ]
}

@test "the budget of a simulated device is wall time, and a case of it is the same whatever the budget" {
	options=(--device sim --size "4K,64K,1M" --direction up --min-samples 6 --max-samples 6 --format json)
	"$bin/micro/copy_path" "${options[@]}" >all
	[ "$(grep -c '"kind":"case"' all)" = 3 ]
	"$bin/micro/copy_path" "${options[@]}" --budget 1us >one
	[ "$(grep -c '"kind":"case"' one)" = 1 ]
	grep -q '"out_of_budget":2' one
	key=$(grep -o '"key":"[^"]*"' one)
	diff <(grep '"kind":"case"' one) <(grep -F "$key" all)
	"$bin/micro/copy_path" "${options[@]}" --budget 1h >long
	diff <(grep '"kind":"case"' all | sort) <(grep '"kind":"case"' long | sort)
}

@test "--progress says which case runs and the last headline number" {
	"$bin/micro/memory" --device sim --progress here --op read,copy --min-samples 6 --max-samples 6 --warm-up 0 >/dev/null
	"$TEST_PYTHON" - <<-'END'
		import json
		now = json.load(open("here"))
		assert now["number"] == now["of"] > 1 and now["key"].startswith("op="), now
		assert set(now["last"]) == {"metric", "text"} and now["last"]["text"].endswith(("B/s", "s")), now
	END
	run "$bin/micro/memory" --device sim --progress /dev/null/file
	[ "$status" = 2 ]
	[[ $output == *'--progress /dev/null/file: Not a directory' ]]
}

# without_times FILE: its cases in order of their keys, without what differs from start to start.
without_times() {
	"$TEST_PYTHON" -c 'import json, sys
cases = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "case"]
for r in sorted(cases, key=lambda r: r["key"]):
    print(json.dumps({k: v for k, v in r.items() if k not in ("run", "elapsed_s")}, sort_keys=True))' "$1"
}

@test "on the simulated device a case gives the same bytes alone and after all others" {
	while read -ra words; do
		program=("$bin/${words[0]}" --device sim --min-samples 6 --max-samples 6 --warm-up 0 "${words[@]:1}")
		"${program[@]}" --out whole >/dev/null
		"${program[@]}" --list | sed -n '3p;$p' >some
		tac some | while read -r key; do
			echo "$key" >one
			"${program[@]}" --cases one --out alone >/dev/null
		done
		without_times whole | grep -F -f <(sed 's/.*/"key": "&"/' some) >expected
		without_times alone >found
		[ "$(wc -l <found)" = 2 ]
		cmp expected found
		rm whole alone
	done <<-'END'
		micro/copy_path --size 4K,64K
		micro/latency
		gemm/efficiency --shape n64,n256
		overlap/pair --shape n256
	END
}

@test "cases are added where a curve falls off a cliff, and counted, but not to a list of one's own" {
	"$bin/micro/latency" --device sim:h100 --list >listed
	"$bin/micro/latency" --device sim:h100 --format json >found
	"$TEST_PYTHON" - <<-'END'
		import json
		records = [json.loads(line) for line in open("found")]
		run, end = records[0], records[-1]
		cases = {r["case"]["footprint"]: r for r in records if r["kind"] == "case"}
		listed = [int(line.partition("=")[2]) for line in open("listed")]
		assert run["cliff"]["axis"] == "footprint" and list(cases)[:len(listed)] == listed
		assert end["cases"]["total"] == end["cases"]["ok"] == len(cases) > len(listed)
		llc = run["device"][0]["llc_bytes"]
		below, above = max(x for x in cases if x <= llc), min(x for x in cases if x > llc)
		assert above <= 1.05 * below, (below, above)
	END
	run "$bin/micro/latency" --device sim:h100 --footprint 4K,1G --format json
	[ "$(grep -c '"kind":"case"' <<<"$output")" = 2 ]
}
