#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# The model of tori against the ranks of a simulator, which carry out the same schedules message by message.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

python=$(sh "$root/suite/setup/find_python.sh" --any)
# Not a shim, which would look for the real one in PATH.
python=$("$python" -c "import sys; print(sys.executable)")

setup() {
	[ -x "$root/bin/topology/torus" ] || skip "topology/torus is not built"
}

simulator() {
	command -v smpirun >/dev/null || skip "no SimGrid (sh suite/setup/setup.sh simgrid)"
	make -C "$root" --no-print-directory smpi >/dev/null
}

# agree SHAPES: the table of model against simulator has a row for every algorithm of every shape, and no miss.
agree() {
	run "$python" "$root/tests/reproduction/swing.py" --shapes "$1" --memory none --keep "$BATS_TEST_TMPDIR/kept" \
		--out "$BATS_TEST_TMPDIR/swing.md"
	echo "$output"
	[ "$status" = 0 ]
	local table
	table=$(sed -n '/^## The model against simulated/,$p' "$BATS_TEST_TMPDIR/swing.md" | grep '^| [0-9]')
	echo "$table"
	[ "$(grep -c ' s | yes |$' <<<"$table")" = $((5 * $(tr , '\n' <<<"$1" | wc -l))) ]
	! grep -E 'miss|not simulated' <<<"$table"
}

@test "model and simulated ranks agree within 2 % on 4x4, 8x8 and 4x16" {
	simulator
	agree 4x4,8x8,4x16
}

@test "model and simulated ranks agree within 2 % on 16x16" {
	simulator
	agree 16x16
}

between() { sed -n '/^## Run times at 32 B/,/^## The model against/p' "$1"; }

@test "the reproduction without a simulator says so, and what the model says of the paper is what the document says" {
	run env PATH="$BATS_TEST_TMPDIR" "$python" "$root/tests/reproduction/swing.py" --memory none \
		--keep "$BATS_TEST_TMPDIR/none" --out "$BATS_TEST_TMPDIR/swing.md"
	[ "$status" = 0 ]
	grep -q '^| 32x32 | bucket | not simulated' "$BATS_TEST_TMPDIR/swing.md"
	grep -q '^| 64x64 | Swing | 1.1843 | 1.1843 |' "$BATS_TEST_TMPDIR/swing.md"
	diff <(between "$BATS_TEST_TMPDIR/swing.md") <(between "$root/docs/reproduction/swing.md")
}

@test "what simulated machines say of FiCCO's links is what the document says" {
	run "$python" "$root/tests/reproduction/ficco.py" --only links --keep "$BATS_TEST_TMPDIR" --out "$BATS_TEST_TMPDIR/ficco.md"
	echo "$output"
	[ "$status" = 0 ]
	# All until the next section.
	diff "$BATS_TEST_TMPDIR/ficco.md" <(sed '/^## Schedules/,$d' "$root/docs/reproduction/ficco.md" | sed -e '${/^$/d;}')
}

@test "./gpusig run has simulated ranks next to the model, or says what they need" {
	[ -x "$root/bin/collectives/allreduce" ] || skip "collectives/ is not built: no MPI"
	run suite run --device host --only '*@simgrid' --only topology/torus --budget 20s --out out
	echo "$output"
	if ! command -v smpirun >/dev/null; then
		[[ $output == *"skipped collectives/allreduce@simgrid: needs SimGrid's smpirun"* ]]
		return
	fi
	[ "$status" = 0 ]
	json 'all(r["check"]["status"] == "ok" and r["validity"]["valid"] for r in rows if r["kind"] == "case"
		and r["program"] == "collectives/allreduce@simgrid") and rows[-1]["status"] == "ok"' <"$BATS_TEST_TMPDIR/out/records.jsonl"
	json '(rows[0]["simulated"] is False and "agree within 0." in
		rows[0]["programs"]["collectives/allreduce@simgrid"]["summary"])' < <(tr -d '\n' <"$BATS_TEST_TMPDIR/out/signature.json")
	run suite run --resume out
	[[ $output == *"nothing left to measure"* ]]
}
