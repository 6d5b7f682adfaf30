#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# A software trigger is compared with the same GEMM first, and what a model gives is marked.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--min-samples 6 --max-samples 6 --warm-up 0 --budget 10m --format json'
ONE=(--min-samples 1 --max-samples 1) # where results are looked at, not times

# measure PROGRAM OPTIONS
measure() {
	local program=$1
	shift
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr timeout "$HANGS_S" "$bin/$program" $QUICK "$@"
	echo "$program $*: $status $stderr"
	[ "$status" = 0 ]
}

# On this shape the simulated device's tiles are three times as fast as its library.
@test "a GEMM of faster tiles is no gain of overlap: S is flagged, and S_tiled and the times stay valid" {
	measure overlap/trigger --device sim:quiet --shape g5 --direction down --bands 4
	json 'all(d["S", "triggered"] > 2 > d["S_ideal", None] and d["S_tiled", "triggered"] < 0.9
		for d in [{(x["name"], x["variant"]): x["value"] for x in rows[1]["derived"]}])' <<<"$output"
	json '([(x["name"], x["variant"]) for x in rows[1]["derived"] if not x["valid"] and x["value"] is not None] ==
		[("S", "whole_tiled_then_send"), ("S", "triggered")])' <<<"$output"
	json '([x["reason"][:8] for x in rows[1]["derived"] if x["name"] == "fraction_of_ideal"] == ["S_ideal "])' <<<"$output"
	json '([(f["flag"], f["variant"], f["quantity"]) for f in rows[1]["validity"]["flags"]] ==
		[("above_bound", v, "S") for v in ("whole_tiled_then_send", "triggered")])' <<<"$output"
}

@test "the gain is of the times: of the same tiles, and of the library's GEMM in bands" {
	measure overlap/trigger --device sim --shape n256,512x512x64 --direction down,local --bands 4
	json 'all(abs(d[s, v] * t[v] / t[serial] - 1) < 0.02 for r in rows if r["kind"] == "case"
		for t in [{v["name"]: v["median_s"] for v in r["variants"]}]
		for d in [{(x["name"], x["variant"]): x["value"] for x in r["derived"]}]
		for s, v, serial in (("S_tiled", "triggered", "whole_tiled_then_send"), ("S", "triggered", "whole_then_send"),
			("S", "split", "whole_then_send")))' <<<"$output"
	json 'all(abs(d["fraction_of_ideal" + of, v] - (d["S" + of, v] - 1) / (d["S_ideal" + of, None] - 1)) < 0.2
		for r in rows if r["kind"] == "case" for d in [{(x["name"], x["variant"]): x["value"] for x in r["derived"]}]
		for of, v in (("", "split"), ("_tiled", "triggered")))' <<<"$output"
}

@test "bands that are no GEMM of their type are left out, with the reason" {
	printf 'like = quiet\nflops_f8 = 1e12\n' >"$BATS_TEST_TMPDIR/f8.sim"
	measure overlap/trigger --device "sim:$BATS_TEST_TMPDIR/f8.sim" --type f8 --shape n128 --direction local --bands 16,8
	json '([(r["status"], r.get("reason")) for r in cases] ==
		[("skipped", "a band of 8 rows; a GEMM of f8 needs multiples of 16"), ("ok", None)])' <<<"$output"
}

@test "stored where it is sent: without a copy it takes as long as its GEMM, and a wrong element is found" {
	measure overlap/trigger --device sim:quiet --shape n256 --direction local --bands 4
	json 'all(abs(t["remote_store"] / t["gemm_tiled"] - 1) < 0.01 < t["triggered"] / t["gemm_counting"] - 1
		for t in [{v["name"]: v["median_s"] for v in rows[1]["variants"]}])' <<<"$output"
	measure overlap/trigger --device sim:quiet:0-2 --shape n256 --direction exchange --bands 6 --variant remote_store,triggered
	json '(cases[0]["facts"]["tiled_gemm_calls"], cases[0]["facts"]["remote_gemm_calls"]) == (2, 3)' <<<"$output"
	printf 'like = quiet\ncorrupt_launch_every = 7\n' >"$BATS_TEST_TMPDIR/corrupt.sim"
	for where in local exchange; do
		run --separate-stderr "$bin/overlap/trigger" --device "sim:$BATS_TEST_TMPDIR/corrupt.sim:0,1" --shape n256 --direction $where --bands 4 \
			--variant remote_store
		echo "$where: $status $output $stderr"
		[ "$status" = 1 ]
	done
}

@test "the sums of a ring are right for any number of devices and bands, and stagger pays" {
	for devices in 0,1 0-2 0-4 0-7; do
		measure overlap/trigger --device "sim:quiet:$devices" --shape 200x64x32 --direction ring --bands 8,31 --operands warm,cold \
			--copy-method engine,kernel "${ONE[@]}"
		json 'len(cases) == 8 and all(r["status"] == "ok" and r["validity"]["valid"] for r in cases)' <<<"$output"
	done
	measure overlap/trigger --device sim:quiet:0-3 --shape n256 --direction ring --bands 4
	json 'all(d["stagger_gain", "triggered"] > 1.1 and d["S_tiled", "triggered_staggered"] > d["S_tiled", "triggered"]
		for d in [{(x["name"], x["variant"]): x["value"] for x in rows[1]["derived"]}])' <<<"$output"
	json 'not {"arrive_add", "remote_store", "first_of_whole"} & {v["name"] for v in rows[1]["variants"]}' <<<"$output"
}

@test "GEMMs of one or more devices that add to a sum make the sum" {
	measure overlap/trigger --device host:0,1 --shape 200x64x32 --direction local,peer,exchange,ring --bands 8,31 --operands cold \
		--variant remote_add,triggered,arrive_add
	json '(len(cases) == 8 and all(r["status"] == "ok" and not [f for f in r["validity"]["flags"] if f["flag"] == "unverified"] for r in cases)
		and all("remote_add" in {v["name"] for v in r["variants"]} and "add_gain" in {x["name"] for x in r["derived"]} for r in cases))' <<<"$output"
}

@test "what has no ring says why" {
	run --separate-stderr "$bin/overlap/trigger" --device sim --direction ring --shape n128 --bands 4
	[ "$status" = 77 ] && [[ $stderr == *"ring needs two devices"* ]]
	measure overlap/trigger --device sim:0,1 --type f64,f32 --shape n128 --direction ring --bands 4
	json '[r.get("reason") for r in cases] == ["the sums of a ring are of f32", None]' <<<"$output"
}

@test "bytes and ratios that a formula gives are marked as a model's" {
	measure overlap/trigger --device sim --shape n256 --direction local --bands 4
	json '{x["name"] for x in rows[1]["derived"] if x["modelled"]} == {"moved_bytes", "t3_model_read_ratio", "t3_model_write_ratio"}' \
		<<<"$output"
	measure micro/reduce --device sim --direction local --size 1M
	json '{x["name"] for x in rows[1]["derived"] if x["modelled"]} == {"moved_bytes"}' <<<"$output"
	measure gemm/split --device sim --shape n128
	json '{x["name"] for x in rows[1]["derived"] if x["modelled"]} == {"traffic_ratio"}' <<<"$output"
}
