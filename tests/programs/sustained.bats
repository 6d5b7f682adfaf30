#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# Loads for minutes, of gemm/sustained, on simulated machines whose power and heat are known laws.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# sustained KEYS OPTIONS: the records of ten minutes on a machine of 3.6 Tflop/s at the full clock, with these keys of POWER.
sustained() {
	local keys=$1
	shift
	# shellcheck disable=SC2086 # lines
	printf '%s\n' 'like = quiet' 'data = none' 'launch_ns = 0' 'block_ns = 0' 'memory_bandwidth = 1e15' 'llc_bandwidth = 1e15' \
		'unit_bandwidth = 1e15' 'block_share = 1' $keys >machine.sim
	run --separate-stderr timeout "$HANGS_S" "$bin/${program:-gemm/sustained}" --device "sim:./machine.sim${devices:-}" --type f32 \
		--shape n4096 --mflop 0 --minutes 10 --format json "$@"
	echo "$keys: $status $stderr"
}

# truth IDLE JOULE CAP KELVIN TAU AMBIENT LIMIT CONDITION...: conditions on what the records say (of NAME, `why` of NAME, course) and
# on the law: the parts f1 and f2 of the clock, watts w1 and w2, and the time when heat begins.
truth() {
	"$TEST_PYTHON" - "$@" <<-'PY' "$output"
		import json, math, sys
		idle, joule, cap, kelvin, tau, ambient, limit = map(float, sys.argv[1:8])
		conditions, records = sys.argv[8:-1], [json.loads(line) for line in sys.argv[-1].splitlines()]
		rate = 3.6e12
		def clock(watt):
		    return min(1.0, ((watt - idle) / (joule * rate)) ** (1 / 3))
		f1, w2 = clock(cap), (limit - ambient) / kelvin
		w1, f2 = idle + joule * rate * f1**3, clock(w2)
		start, end = ambient + kelvin * idle, ambient + kelvin * w1
		begins = tau * math.log((end - start) / (end - limit)) if end > limit else math.inf
		[case] = [r for r in records if r["kind"] == "case"]
		derived = {d["name"]: d for d in case["derived"]}
		def of(name): return derived[name]["value"]
		def why(name): return derived[name]["reason"]
		def near(name, wanted, part=0.01): return abs(of(name) - wanted) <= part * abs(wanted)
		def in_interval(name): return derived[name]["ci_low"] <= of(name) <= derived[name]["ci_high"]
		course = {name: row["values"] for name, row in case.get("course", {}).items()}
		for condition in conditions:
		    if not eval(condition):
		        sys.exit("%s\n%s" % (condition, json.dumps({n: d["value"] for n, d in derived.items()})))
	PY
}

# Samples before the load heat the machine for at most a second; a window has two.
recovers() { # SEED JITTER
	sustained 'idle_watt=100 joule_per_flop=100e-12 cap_watt=400 kelvin_per_watt=0.1 thermal_s=60 ambient_celsius=30 limit_celsius=65'" jitter_sigma=$2" --seed "$1"
	[ "$status" = 0 ]
	truth 100 100e-12 400 0.1 60 30 65 \
		'abs(of("time_to_throttle") - begins) < 5' \
		'near("rate_before", f1 * rate)' 'in_interval("rate_before")' 'near("rate_after", f2 * rate)' \
		'near("clock_before", f1 * 1.5e9)' 'near("clock_after", f2 * 1.5e9)' 'near("sustained_clock", f2 * 1.5e9)' \
		'near("sustained_flop_rate", f2 * rate)' 'near("power", w2)' 'near("power_cap_share", w2 / cap)' \
		'near("energy_per_flop", w2 / (f2 * rate))' 'near("idle_power", idle)' \
		'near("temperature_end", limit)' 'near("thermal_time_constant", tau, 0.03)' \
		'len(set(map(len, course.values()))) == 1' '100 < len(course["time"]) <= 300' 'abs(course["time"][-1] - 600) < 3' \
		'case["validity"]["valid"]' 'case["facts"]["energy_source"] == "a counter of energy"'
}

@test "ten minutes find when heat lowers the clock, and rate, power and energy before and after" {
	local seed
	recovers 1 0
	for seed in 1 2 3 4 5; do recovers "$seed" 0.03; done
	echo "$output" >records.jsonl
	fits_schema records.jsonl
}

@test "a device at its power cap alone does not throttle, in any of ten seeds" {
	local seed
	for seed in 1 2 3 4 5 6 7 8 9 10; do
		sustained 'idle_watt=100 joule_per_flop=100e-12 cap_watt=300 kelvin_per_watt=0.1 thermal_s=60 ambient_celsius=30 jitter_sigma=0.05' --seed "$seed"
		truth 100 100e-12 300 0.1 60 30 1e9 \
			'of("time_to_throttle") is None' '"did not fall by" in why("time_to_throttle")' 'of("rate_before") is None' \
			'near("sustained_flop_rate", f1 * rate)' 'near("power", 300)' 'near("power_cap_share", 1)' \
			'near("energy_per_flop", 300 / (f1 * rate))' 'near("temperature_end", 60)' 'near("thermal_time_constant", 60, 0.05)'
	done
}

@test "without sensors there are rates alone, and the reason" {
	sustained ''
	[ "$status" = 0 ]
	truth 1 1e-30 1e9 1 1 0 1e9 'near("sustained_flop_rate", rate)' 'of("power") is None' \
		'why("power") == "the device has no sensor for it"' 'why("energy_per_flop") == why("power")' \
		'why("temperature_end") == why("power")' \
		'"did not fall" in why("time_to_throttle")' 'sorted(course) == ["rate", "time"]'
}

@test "a load after another begins hot: its samples are flagged, and not its minutes" {
	sustained 'idle_watt=100 joule_per_flop=100e-12 cap_watt=400 kelvin_per_watt=0.1 thermal_s=60 ambient_celsius=30 limit_celsius=65' \
		--shape n4096,n2048
	[ "$status" = 0 ]
	output=$(grep -v '"shape":"n4096"' <<<"$output")
	truth 100 100e-12 400 0.1 60 30 65 'near("rate_after", f2 * rate) if of("time_to_throttle") else near("sustained_flop_rate", f2 * rate)' \
		'near("energy_per_flop", w2 / (f2 * rate))' 'near("temperature_end", limit)' 'derived["sustained_flop_rate"]["valid"]' \
		'{f["quantity"] for f in case["validity"]["flags"]} == {"time", "flop_rate", "sustained_share"}' \
		'{f["flag"] for f in case["validity"]["flags"]} == {"throttled"}' 'not derived["sustained_share"]["valid"]'
}

# The allreduce takes a thousandth of the GEMM's time, and its bytes no energy.
@test "ten minutes of GEMMs concurrent with an allreduce are those of the GEMMs" {
	program=overlap/sustained devices=:0,1 sustained 'idle_watt=100 joule_per_flop=100e-12 cap_watt=400 kelvin_per_watt=0.1 thermal_s=60 ambient_celsius=30 limit_celsius=65 jitter_sigma=0.02' \
		--method engine
	[ "$status" = 0 ]
	truth 100 100e-12 400 0.1 60 30 65 'abs(of("time_to_throttle") - begins) < 5' 'near("rate_before", f1 * rate, 0.02)' \
		'near("rate_after", f2 * rate, 0.02)' 'near("energy_per_flop", w2 / (f2 * rate), 0.02)' 'near("power", w2)' \
		'near("temperature_end", limit)' 'all(m["observed"] for m in case["mechanism"])' 'near("time_ratio", 1, 0.02)'
}

# Memory of 200 GB/s, whose 100 W alone heat the machine; it does not follow the clock, so nothing throttles.
@test "ten minutes of triad have the energy of a byte, and of memory alone" {
	printf '%s\n' 'like = quiet' 'data = none' 'launch_ns = 0' 'block_ns = 0' 'unit_bandwidth = 1e15' 'block_share = 1' \
		'idle_watt = 100' 'joule_per_flop = 1e-12' 'joule_per_byte = 500e-12' 'cap_watt = 150' 'kelvin_per_watt = 0.1' 'thermal_s = 60' \
		'ambient_celsius = 30' 'jitter_sigma = 0.02' >machine.sim
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/sustained" --device sim:./machine.sim --footprint 192M --minutes 10 --format json
	echo "$status $stderr"
	[ "$status" = 0 ]
	truth 100 1e-12 150 0.1 60 30 1e9 'near("sustained_bandwidth", 200e9)' 'near("power", 200)' 'near("power_cap_share", 200 / 150)' \
		'near("energy_per_byte", 200 / 200e9)' 'near("idle_power", 100)' 'near("temperature_end", 50)' \
		'of("time_to_throttle") is None' 'near("thermal_time_constant", 60, 0.05)' 'case["validity"]["valid"]'
}

# Calls of 20 ms are too slow for batches of 38.
@test "a host that is too slow to keep the device busy is found, and nothing of that load is valid" {
	sustained 'host_call_ns=2e7'
	[ "$status" = 3 ]
	truth 1 1e-30 1e9 1 1 0 1e9 '[m["observed"] for m in case["mechanism"]] == [False]' 'not derived["sustained_flop_rate"]["valid"]'
}

# Durations that grow by themselves are nothing that a clock does.
@test "a rate that falls without the clock is no throttling" {
	sustained 'idle_watt=100 joule_per_flop=100e-12 drift_per_s=0.0005'
	[ "$status" = 0 ]
	truth 100 100e-12 1e9 1 1 0 1e9 'derived["time_to_throttle"]["valid"] is False' 'derived["rate_after"]["valid"]' \
		'[f["quantity"] for f in case["validity"]["flags"]] == ["time_to_throttle"]' 'of("clock_after") == of("clock_before")'
}

@test "two seconds have power and energy where there are sensors, and no course" {
	sustained 'idle_watt=100 joule_per_flop=100e-12' --minutes 0 --format json
	[ "$status" = 0 ]
	truth 100 100e-12 1e9 1 1 0 1e9 'near("sustained_flop_rate", rate)' 'near("power", w1, 0.05)' \
		'near("energy_per_flop", w1 / rate, 0.05)' '"time_to_throttle" not in derived' '"course" not in case'
}

# A virtual day takes about half a minute.
@test "a load that is interrupted keeps what was measured" {
	sustained 'idle_watt=100 joule_per_flop=100e-12'
	run --separate-stderr timeout -s INT 4 "$bin/gemm/sustained" --device sim:./machine.sim --type f32 --shape n4096 --mflop 0 \
		--minutes 1440 --format json
	truth 100 100e-12 1e9 1 1 0 1e9 '10 < course["time"][-1] < 86000' 'near("sustained_flop_rate", rate)' 'near("power", w1)' \
		'[r["status"] for r in records if r["kind"] == "end"] == ["interrupted"]'
}

# The fakes' counters grow by 123.456 W, whatever they do and however slow this machine is.
@test "the counters of energy of GPUs give the power, and without them samples do" {
	need_fakes
	for device in cuda hip; do
		for fault in 'none=1 a counter of energy' 'nvmlDeviceGetTotalEnergyConsumption=3,rsmi_dev_energy_count_get=2 samples of power'; do
			run --separate-stderr env FAKE_FAIL="${fault%% *}" LD_LIBRARY_PATH="$(fakes)" timeout "$HANGS_S" "$bin/gemm/sustained" \
				--device "$device" --type f32 --shape n256 --min-samples 1 --max-samples 1 --format json
			echo "$device $fault: $status $stderr"
			truth 1 1 1e9 1 1 0 1e9 'near("power", 123.456)' 'near("power_cap_share", 123.456 / (700 if "cuda" in case["device"] else 500))' \
				"case['facts']['energy_source'] == '${fault#* }'"
		done
	done
}
