#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check.sh [OPTIONS] OUT_DIR [STAGE[:PARAMETER]]...
#
# All checks of a machine with a GPU in one command, without root, network or bats.
#
#   -d DEVICE   such as cuda, of which all devices are used, or a list such as
#               cuda:0,2 (the first of cuda, hip and host that is here)
#   -t SECONDS  no stage starts or goes on when so many have passed (540)
#   -c CALL     the stages of a call; their limits add up to at most 540 s:
#               1 the backend, questions, every program and the headline, 2 peers,
#               3 five minutes of ./gpusig run, 4 equal runs, 5 checkers
#   -n          print stages and limits, no more
#   -p          take the programs of build/hardware (pack.sh); this is also done
#               where make or a C compiler is missing
#   -h, --help  print this
#
# Stages; without any: machine build conformance programs checkers
#
#   machine          what it is (nothing is changed: no clocks, power or modes)
#   build[:S]        the programs, the unit tests, and the peers where nvcc is, in
#                    S seconds (240)
#   conformance[:S]  every conformance test on the first device, and on the first
#                    two where there are several, those of the collectives on all
#                    too, in S seconds (240)
#   programs[:S]     every program for S seconds (2), of GPUs on the first two;
#                    pairs of devices and collectives on all
#   checkers         NVIDIA's compute-sanitizer, all four tools, over the tests of
#                    the kernels
#   run[:S]          ./gpusig run for S seconds (300) on all GPUs, installing
#                    nothing
#   questions        what documents leave open: one line an answer, nothing is
#                    asserted
#   peers[:ROUNDS]   tests/peers/gpu_peers.py (5)
#   aa[:A-B[:S]]     runs A to B (1-7) of ./gpusig run, S seconds each (60), and
#                    their spread
#
# Every stage has a time limit; equal runs that can't end in SECONDS are refused.
# A stage that fails stops no other. OUT_DIR gets summary.txt, which is printed
# last, and the logs and records of all stages as evidence.tar.gz (in parts where
# it exceeds 15 MiB); both are written again after every stage. The summary lists
# which numbers lie outside the expectations of docs/BACKENDS.md.
#
# While stages run, one more process has all GPUs open and does nothing, so that
# the driver stays initialised between programs, and compiled kernels are kept in
# GPUSIG_KERNEL_CACHE, by default a folder of this command's own. GPUSIG_VERSION
# names the version where there is no git. Programs in build/carry, such as
# nvbandwidth, are peers built elsewhere.
#
# Exit codes: 0 ok, 1 a stage failed, 2 wrong usage.
set -u

# The comment above.
usage() { sed -n '3s/^#/usage:/p; 4,/^[^#]/s/^# \{0,1\}//p' "$0"; }
refuse() { echo "check.sh: $*; see check.sh --help" >&2 && exit 2; }

device='' most_s=540 inside='' call='' is_dry='' packed=''
while getopts :c:d:hnpt:I:-: option; do
	case $option in
	c) call=$OPTARG ;;
	n) is_dry=yes ;;
	p) packed=yes ;;
	d) device=$OPTARG ;;
	t) most_s=$OPTARG ;;
	I) inside=$OPTARG ;; # one stage, in a process of its own; OUT_DIR is then where its logs go
	h) usage && exit 0 ;;
	-)
		[ "$OPTARG" = help ] || refuse "unknown option '--$OPTARG'"
		usage && exit 0
		;;
	:) refuse "-$OPTARG needs a value" ;;
	*) refuse "unknown option '-$OPTARG'" ;;
	esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
	usage | head -n 1 >&2
	exit 2
fi
mkdir -p "$1" || exit 1
out=$(cd -- "$1" && pwd) || exit 1
shift
self=$(readlink -f -- "$0")
cd -- "$(dirname -- "$self")/../.." || exit 1

can_build() { command -v make >/dev/null && command -v "${CC:-cc}" >/dev/null; }

# pack.sh makes a tree like this one, with its own check.sh.
if [ ! -f packed.txt ] && { [ -n "$packed" ] || ! can_build; }; then
	if [ -f build/hardware/packed.txt ]; then
		set -- "$out" "$@"
		[ -z "$call" ] || set -- -c "$call" "$@"
		exec sh build/hardware/tests/hardware/check.sh -t "$most_s" ${device:+-d "$device"} ${is_dry:+-n} "$@"
	elif [ -n "$packed" ]; then
		echo "check.sh: there is no build/hardware; tests/hardware/pack.sh makes it" >&2
		exit 2
	fi
fi
packed=''
[ -f packed.txt ] && packed=yes && export GPUSIG_BIN="$PWD/bin"

config() { if [ -n "$packed" ]; then cat packed.txt; else make -s --no-print-directory config 2>/dev/null; fi; }
field() { config | sed -n "s/^$1 //p"; }
devices_of() { bin/micro/memory --devices 2>/dev/null | sed -n "s/^{\"name\":\"$1\",\"devices\":\([0-9]*\).*/\1/p"; }
is_gpu() { case $device in cuda* | hip*) ;; *) return 1 ;; esac; }

# $pair: the first two devices; $all: all of them; $whole: what a run is of. A list that -d names is taken as it
# is. Parts of the host's cores, and simulated devices, are as many as one likes: two are enough, and one a run.
name_lists() {
	pair=$device all=$device whole=$device count=$(devices_of "$device")
	[ "${count:-1}" -gt 1 ] || return 0
	pair=$device:0,1 all=$device:0,1
	is_gpu || return 0
	[ "$count" = 2 ] || all=$device:0-$((count - 1))
	whole=$all
}

programs_in() { find -L "$1" -type f -perm -u+x ! -name '*.*' | sort; }

outcome() {
	case $1 in
	0) echo ok ;;
	3) echo 'nothing valid' ;;
	77) echo 'cannot run here' ;;
	124 | 137) echo 'OUT OF TIME' ;;
	*) echo "FAILED ($1)" ;;
	esac
}

# ------------------------------------------------------------------ the stages: say() is for the summary

say() { echo "$*" | cut -c1-190 >>"$out/$inside.summary"; }
say_lines() { while read -r line; do say "  $line"; done; }

stage_machine() {
	say "$(lscpu | sed -n 's/^Model name: *//p'), $(nproc) cores, $(free -g | awk '/^Mem/ { print $2 }') GiB, $(uname -r)"
	fields=index,name,pci.bus_id,driver_version,memory.used,clocks.sm,clocks.max.sm
	nvidia-smi --format=csv,noheader --query-gpu=$fields 2>/dev/null | say_lines
	for tool in cc make nvcc python3 mpicc compute-sanitizer cuobjdump; do
		command -v "$tool" >/dev/null || say "not here: $tool"
	done
	for command in 'uname -a' 'cat /etc/os-release' lscpu 'free -g' 'ldd --version' 'cc --version' 'nvcc --version' \
		'python3 --version' nvidia-smi 'nvidia-smi topo -m' 'rocm-smi --showallinfo' 'compute-sanitizer --version' 'ldconfig -p' \
		'nvidia-smi -q -d MEMORY,UTILIZATION,ECC,TEMPERATURE,POWER,CLOCK,COMPUTE,PERFORMANCE' env; do
		printf '\n$ %s\n' "$command"
		command -v "${command%% *}" >/dev/null && $command 2>&1
	done
}

# Nothing is built of what was packed; whether it starts here is asked.
stage_packed() {
	say "packed: version $(field version), $(field machine), for glibc $(field glibc) or later; here $(uname -m)," \
		"$(ldd --version 2>/dev/null | head -n 1)"
	bin/micro/memory --devices >"$out/devices.txt" 2>&1
	code=$?
	say_lines <"$out/devices.txt"
	return "$code"
}

stage_build() {
	[ -z "$packed" ] || { stage_packed; return; }
	make -j"$(nproc)" all units || return
	say "version $(field version), $(field build), mpi $(field mpi), hwloc $(field hwloc), nvcc $(field nvcc)"
	bin/micro/memory --devices | say_lines
	command -v nvcc >/dev/null || { say 'no nvcc: no peers built' && return; }
	make -k -j"$(nproc)" gpu-peers || { say 'not all peers could be built' && return 1; }
}

stage_conformance() {
	failed=0
	name_lists
	mkdir -p "$out/conformance"
	each_s=$((${1:-240} * 3 / 8)) # one that hangs leaves time for the others
	for binary in $(programs_in "$(field build)/tests/unit" | grep '/conformance'); do
		lists=$(printf '%s\n' "$device" "$pair" | uniq)
		case $binary in */conformance_collectives) lists=$(printf '%s\n' "$lists" "$all" | uniq) ;; esac
		for list in $lists; do
			name=${binary##*/} tap=$out/conformance/${binary##*/}-$(echo "$list" | tr ':,' '--').tap
			timeout --foreground -k 5 "$each_s" "$binary" "$list" >"$tap" 2>&1
			code=$?
			[ "$code" = 0 ] || failed=1
			say "$(printf '%-20s %-10s %3s ok %3s not ok %3s skipped  %s' "$name" "$list" \
				"$(grep '^ok' "$tap" | grep -vc '# SKIP')" "$(grep -c '^not ok' "$tap")" "$(grep -c '# SKIP' "$tap")" \
				"$(outcome "$code")")"
			grep -B4 '^not ok' "$tap" | head -n 12 | say_lines
		done
	done
	return "$failed"
}

stage_programs() {
	failed=0 each_s=$((15 + 15 * ${1:-2})) # one that hangs leaves time for the others
	mkdir -p "$out/programs"
	name_lists
	for binary in $(programs_in bin); do
		name=${binary#bin/} on=$device
		is_gpu && on=$pair
		case $name$("$binary" --about) in
		*'"needs":['*'"mpi"'*) continue ;;
		micro/peer_matrix* | *'"min_devices":'[2-9]*) on=$all ;;
		esac
		file=$out/programs/$(echo "$name" | tr / -)
		timeout --foreground -k 5 "$each_s" "$binary" --device "$on" --budget "${1:-2}s" --out "$file.jsonl" >"$file.txt" 2>&1
		code=$?
		case $code in 0 | 3 | 77) ;; *) failed=1 ;; esac
		say "$(printf '%-28s %-8s %-15s %3s cases, %2s flagged numbers  %s' "$name" "$on" "$(outcome "$code")" \
			"$(grep -sc '"kind":"case"' "$file.jsonl")" "$(grep -c '^ *invalid' "$file.txt")" \
			"$([ "$code" = 0 ] || tail -n 1 "$file.txt")")"
		grep '^ *mechanism .*: ' "$file.txt" | grep -v ': observed' | head -n 3 | say_lines
	done
	return "$failed"
}

# Few rules a process: a tool slows what it watches by much, and a rule that then waits too long is a failure of its own.
# The backend asks for kernels that an image may lack, and reads every result of the driver itself.
check_rules() { # TOOL RULES
	option='' log=$out/checkers/$1-$(echo "$2" | tr / -).txt
	[ "$1" != memcheck ] || option=--report-api-errors=no
	trap 'kill "$rule"' TERM # this timeout's process group is its own
	GPUSIG_TEST=${2#*/} timeout -k 5 80 compute-sanitizer --tool "$1" ${option:+"$option"} --error-exitcode 99 \
		--print-limit 20 "$unit/conformance_${2%/*}" "$device" >"$log" 2>&1 &
	rule=$!
	wait "$rule"
	echo $? >"$log.code"
}

# initcheck did not get to the end of what awaits the counters of a kernel within 80 s (H100 and H200, CUDA 13.0): it seems to
# let kernels run one after the other.
has_check() { case "$1 $2" in 'initcheck tiled/a_kernel' | 'initcheck tiled/rows_behind') return 1 ;; esac; }

# Every kernel of ours, rules that take long first. Most of the time is the tool's work on the host: one process a core. Out of
# time, what has ended is told.
stage_checkers() {
	command -v compute-sanitizer >/dev/null || { say 'no compute-sanitizer here' && return 77; }
	[ $# = 0 ] || { check_rules "$@" && return; }
	trap : TERM
	failed=0 unit=$(field build)/tests/unit tools='memcheck racecheck initcheck synccheck'
	export unit
	set -- tiled/counters_grow kernels/triad kernels/copy adding/gemm_adds tiled/gemm_of textbook/any_grid textbook/count \
		tiled/rows_behind tiled/a_kernel tiled/in_use kernels/read kernels/write kernels/add kernels/chase kernels/fma mma/sums \
		kernels/kernel kernels/stamp kernels/signal kernels/await
	mkdir -p "$out/checkers"
	for rules; do
		for tool in $tools; do has_check "$tool" "$rules" && echo "checkers:$tool:$rules"; done
	done | xargs -P "$(nproc)" -I RULES sh "$self" -d "$device" -I RULES "$out"
	for tool in $tools; do
		clean=0 checked=0
		for rules; do
			has_check "$tool" "$rules" || continue
			checked=$((checked + 1))
			log=$out/checkers/$tool-$(echo "$rules" | tr / -).txt
			code=$(cat "$log.code" 2>/dev/null || echo 124)
			[ "$code" != 0 ] || grep '^ok' "$log" | grep -qv '# SKIP' || code='no rule ran'
			[ "$code" != 0 ] || grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$log" || code='no summary'
			[ "$code" = 0 ] && clean=$((clean + 1)) && continue
			failed=1
			say "$tool $rules: $(outcome "$code"): $(grep -m1 'SUMMARY\|Error:\|^not ok' "$log" || tail -n 1 "$log")"
		done
		say "$tool: $clean of $checked without a finding"
	done
	return "$failed"
}

# Out of time it gets the signal that ./gpusig gets, and waits for the report that ends a run.
stage_run() {
	trap : TERM
	name_lists
	./gpusig run --no-install --device "$whole" --budget "${1:-300}s" --out "$out/run" >"$out/run/headline.txt"
	code=$?
	sed -n '/^  /p' "$out/run/headline.txt" | say_lines
	say "$(grep '^gpusig: .* cases in ' "$out/run.log")"
	grep '^gpusig: \(skipped\|failed\|without\|missing\)' "$out/run.log" | say_lines
	return "$code"
}

stage_questions() {
	timeout --foreground -k 2 45 "$(field build)/tests/hardware/questions" "$device" >"$out/questions.tsv"
	code=$?
	tr '\t' ' ' <"$out/questions.tsv" | say_lines
	return "$code"
}

stage_peers() {
	python=$(sh suite/setup/find_python.sh --any) || return 77
	folder=$PWD/$(field build)/gpu-peers
	mkdir -p "$folder"
	for carried in build/carry/*; do
		[ -f "$carried" ] && [ ! -e "$folder/${carried##*/}" ] && ln -s "$PWD/$carried" "$folder/"
	done
	"$python" tests/peers/gpu_peers.py --bin bin --peers "$folder" --device "$device" --rounds "${1:-5}" \
		--json "$out/peers.json" >"$out/peers.summary"
}

stage_aa() {
	python=$(sh suite/setup/find_python.sh --any) || return 77
	failed=0
	equal_runs "$1"
	name_lists
	for number in $(seq "$first" "$last"); do
		./gpusig run --no-install --device "$whole" --budget "${seconds}s" --out "$out/aa/$number" || failed=1
		"$python" tests/hardware/spread.py "$out"/aa/*/signature.json >"$out/aa.summary"
	done
	return "$failed"
}

parameter_of() { case $1 in *:*) echo "${1#*:}" ;; esac; }

# A-B:S as $first, $last and $seconds
equal_runs() {
	range=${1:-1-7} seconds=60
	case $range in *:*) seconds=${range#*:} range=${range%%:*} ;; esac
	first=${range%-*} last=${range#*-}
}

is_number() { case $1 in '' | *[!0-9]* | ??????*) return 1 ;; esac; }

if [ -n "$inside" ]; then
	parameter=$(parameter_of "$inside")
	inside=${inside%%:*}
	case $inside in
	machine) stage_machine ;;
	build) stage_build ;;
	conformance) stage_conformance "$parameter" ;;
	programs) stage_programs "$parameter" ;;
	checkers) stage_checkers ${parameter:+"${parameter%%:*}" "${parameter#*:}"} ;;
	run) mkdir -p "$out/run" && stage_run "$parameter" ;;
	questions) stage_questions ;;
	peers) stage_peers "$parameter" ;;
	aa) stage_aa "$parameter" ;;
	esac
	exit
fi

# ------------------------------------------------------------------ all of them

limit_of() {
	parameter=$(parameter_of "$1")
	if [ "${1%%:*}" != aa ] && [ -n "$parameter" ] && ! is_number "$parameter"; then
		echo "check.sh: '$1': '$parameter' is not a number" >&2
		return 2
	fi
	case ${1%%:*} in
	machine) echo 20 ;;
	build) echo "${parameter:-240}" ;;
	conformance) echo "${parameter:-240}" ;;
	checkers) echo 360 ;;
	programs) echo $((110 + 30 * ${parameter:-2})) ;;
	run) echo $((60 + ${parameter:-300})) ;;
	questions) echo 50 ;;
	peers) echo $((60 + 90 * ${parameter:-5})) ;;
	aa) limit_of_equal_runs "$parameter" ;;
	*) echo "check.sh: no stage '$1'" >&2 && return 2 ;;
	esac
}

# A run takes up to 15 s more than its budget: programs that start, and the report.
limit_of_equal_runs() {
	equal_runs "$1"
	if ! is_number "$first" || ! is_number "$last" || ! is_number "$seconds" || [ "$first" -gt "$last" ]; then
		echo "check.sh: 'aa:$1' is not aa:FIRST-LAST:SECONDS" >&2
		return 2
	fi
	limit=$(((last - first + 1) * (seconds + 15)))
	if [ "$limit" -gt "$most_s" ]; then
		echo "check.sh: aa:$first-$last:$seconds takes up to $limit s, and $most_s s is the most (-t): fewer runs" >&2
		return 2
	fi
	echo "$limit"
}

# Libraries of a toolkit that the loader does not find by itself: beside nvcc, or in Python's packages.
find_libraries() {
	packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
	toolkit=$(readlink -f "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")/..")
	for name in libnvrtc.so libcublasLt.so libnccl.so; do
		ldconfig -p 2>/dev/null | grep -q "$name" && continue
		file=$(find -H "$toolkit/lib64" "$toolkit/lib" "$packages/nvidia" -name stubs -prune -o -name "$name*" -print \
			2>/dev/null | head -n 1)
		[ -n "$file" ] || continue # an empty entry is the current folder to the loader
		# Packages of Python have no name for the linker, and several libraries in one folder.
		link=${file%/*}
		[ -e "$link/$name" ] || { link=$work/link && mkdir -p "$link" && ln -s "$file" "$link/$name"; }
		export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS-} -L$link -I${file%/*}/../include"
		case :${LD_LIBRARY_PATH-}: in *:"${file%/*}":*) continue ;; esac
		export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${file%/*}"
	done
}

choose_device() {
	[ -n "$device" ] && return
	for device in cuda hip host; do
		[ "$(devices_of "$device")" -gt 0 ] 2>/dev/null && return
	done
}

memory_in_use() { nvidia-smi --query-gpu=memory.used --format=csv,noheader 2>/dev/null | paste -sd, - | grep . || echo unknown; }

summary() {
	for stage; do
		[ -s "$evidence/${stage%%:*}.summary" ] && echo "-- ${stage%%:*}" && cat "$evidence/${stage%%:*}.summary"
	done
	[ -s "$evidence/expectations.txt" ] && echo "-- expectations" && cat "$evidence/expectations.txt"
	echo "-- stages on ${device:-no device}; memory of GPUs in use before: $before, after: $(memory_in_use)"
	cat "$evidence/stages"
	[ -s "$evidence/hold.txt" ] && cat "$evidence/hold.txt"
}

keep() {
	summary "$@" >"$out/summary.txt"
	cp "$out/summary.txt" "$evidence/"
	tar -C "$evidence" -czf "$work/evidence.tar.gz" .
	rm -f "$out"/evidence.tar.gz*
	if [ "$(wc -c <"$work/evidence.tar.gz")" -gt 15728640 ]; then
		split -b 15m "$work/evidence.tar.gz" "$out/evidence.tar.gz."
	else
		mv "$work/evidence.tar.gz" "$out/evidence.tar.gz"
	fi
}

# List the numbers so far that are unexpected.
compare() {
	case $1 in questions | programs | run | aa) ;; *) return ;; esac
	python=$(sh suite/setup/find_python.sh --any 2>&1) || { echo "$python" >"$evidence/expectations.txt" && return; }
	timeout -k 2 30 "$python" tests/hardware/expectations.py "$evidence" >"$evidence/expectations.txt" 2>&1 ||
		echo "the comparison ended with $?" >>"$evidence/expectations.txt"
}

# It reads a pipe that only this script writes to, so it ends with the script, however that ends.
hold_device() {
	binary=$(field build)/tests/hardware/hold_device
	is_gpu || return
	[ -z "$holder" ] && [ -x "$binary" ] && [ ! -e "$work/pipe" ] && mkfifo "$work/pipe" || return
	if nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null | grep -q Exclusive; then
		echo "not held open: its compute mode is for one process" >"$evidence/hold.txt"
		return
	fi
	exec 9<>"$work/pipe"
	name_lists
	"$binary" "$all" <"$work/pipe" >"$evidence/hold.txt" 2>&1 9>&- &
	holder=$!
	for _ in $(seq 200); do
		[ -s "$evidence/hold.txt" ] && break
		sleep 0.1
	done
}

end_hold() {
	[ -n "$holder" ] || return 0
	exec 9>&-
	for _ in $(seq 50); do
		kill -0 "$holder" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$holder" 2>/dev/null
	wait "$holder" || echo "it ended with $?" >>"$evidence/hold.txt"
	holder=''
}

# shellcheck disable=SC2317 # traps call it
leave() {
	trap '' HUP INT TERM
	[ -n "$child" ] && kill "$child" 2>/dev/null && wait "$child"
	end_hold
	printf '%-12s interrupted\n' "${name:-nothing}" >>"$evidence/stages"
	keep "$@"
	exit "$code"
}

stages_of_call() {
	build=build:60 runs=1-6
	[ -z "$packed" ] || { build=build:15 && runs=1-7; }
	case $1 in
	'') echo machine build conformance programs checkers ;;
	1) echo machine "$build" conformance:90 questions programs:1 run:120 ;;
	2) echo machine "$build" peers:4 ;;
	3) echo machine "$build" run:300 ;;
	4) echo "$build" "aa:$runs" ;;
	5) echo machine "$build" checkers ;;
	*) echo "check.sh: no call '$1'; there are 1 to 5" >&2 && return 2 ;;
	esac
}

[ -z "$call" ] || [ $# = 0 ] || { echo "check.sh: stages, or a call (-c), not both" >&2 && exit 2; }
# shellcheck disable=SC2046 # a list of words
[ $# -gt 0 ] || set -- $(stages_of_call "$call")
[ $# -gt 0 ] || exit 2
sum=0
for stage; do
	limit=$(limit_of "$stage") || exit
	[ -z "$is_dry" ] || printf '%-16s %4s s\n' "$stage" "$limit"
	sum=$((sum + limit))
done
if [ -n "$is_dry" ]; then
	printf '%-16s %4s s\n' 'at most' "$sum"
	exit 0
fi
work=$PWD/build/hardware-$$ evidence=$PWD/build/hardware-$$/evidence
mkdir -p "$evidence" || exit 1
holder='' child='' name=''
trap 'end_hold; rm -rf "$work"' EXIT
trap 'code=129; leave "$@"' HUP
trap 'code=130; leave "$@"' INT
trap 'code=143; leave "$@"' TERM
export GPUSIG_KERNEL_CACHE="${GPUSIG_KERNEL_CACHE:-$work/kernels}"
find_libraries
[ -n "$packed" ] || git describe --always >/dev/null 2>&1 || export MAKEFLAGS="version=${GPUSIG_VERSION:-unknown}"
begun=$(date +%s) failed=0 before=$(memory_in_use)
for stage; do
	name=${stage%%:*} started=$(date +%s)
	left=$((most_s - (started - begun))) limit=$(limit_of "$stage")
	[ "$limit" -lt "$left" ] || limit=$left
	if [ "$limit" -le 5 ]; then
		printf '%-12s not started: %s s are over\n' "$name" "$most_s" >>"$evidence/stages"
		failed=1
		keep "$@"
		continue
	fi
	case $packed/$name in /machine | /build) ;; *) choose_device && hold_device ;; esac
	echo "== $stage, at most $limit s"
	timeout -k 20 "$limit" sh "$self" ${device:+-d "$device"} -I "$stage" "$evidence" >"$evidence/$name.log" 2>&1 9>&- &
	child=$!
	wait "$child"
	code=$? child=''
	case $code in 0 | 77) ;; *) failed=1 && tail -n 15 "$evidence/$name.log" | cut -c1-190 ;; esac
	printf '%-12s %-16s %4s s\n' "$name" "$(outcome "$code")" $(($(date +%s) - started)) >>"$evidence/stages"
	compare "$name"
	keep "$@"
done
end_hold
keep "$@"
echo && cat "$out/summary.txt"
exit "$failed"
