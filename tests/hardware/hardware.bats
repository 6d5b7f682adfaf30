#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# Rehearsal of the checks for a machine with a GPU: the script itself, and that its peers compile.

# shellcheck disable=SC2154 # run sets status and output; helpers sets root
load ../bats/helpers

setup() { cd "$root" || return 1; }

build=$root/$(make -sC "$root" --no-print-directory config | sed -n 's/^build //p')

# questions DEVICE LINES [WORD]: every line has its four columns and every name is there once. Of all questions, or those with the word.
questions() {
	run --separate-stderr env "LD_LIBRARY_PATH=$build/fakes" GPUSIG_TEST="${3:-}" timeout -s KILL "$HANGS_S" "$build/tests/hardware/questions" "$1" 290
	echo "$1: $status"$'\n'"$output$stderr"
	[ "$status" = 0 ]
	[ "$(awk -F '\t' 'NF != 4 || $1 == "" || $2 == ""' <<<"$output")" = "" ]
	[ "$(cut -f 1 <<<"$output" | sort | uniq -d)" = "" ]
	[ "$(grep -c . <<<"$output")" = "$2" ]
}

# The conformance tests that check.sh builds and runs here.
ONE_UNIT='UNITS=conformance_units'

setup_file() {
	make -C "$root" --no-print-directory all units fakes "$ONE_UNIT" "${build#"$root/"}"/tests/hardware/{questions,hold_device}
}

@test "check.sh goes on after a stage that fails, counts, and leaves a summary and the evidence" {
	mkdir "$BATS_TEST_TMPDIR/path"
	# shellcheck disable=SC2016 # $2 is the stand-in's
	printf '#!/bin/sh\n[ "$2" = racecheck ] || echo "ok 1"\necho "========= ERROR SUMMARY: 0 errors"\n[ "$2" != synccheck ]\n' >"$BATS_TEST_TMPDIR/path/compute-sanitizer"
	printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/path/nvcc" # the last test compiles the peers
	chmod +x "$BATS_TEST_TMPDIR/path/compute-sanitizer" "$BATS_TEST_TMPDIR/path/nvcc"
	# The build stays the one it is, though there is an nvcc now.
	run env PATH="$BATS_TEST_TMPDIR/path:$PATH" "$ONE_UNIT" "HAVE_NVCC=$(make -s config | sed -n 's/^nvcc //p')" \
		tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine build checkers conformance
	echo "$output"
	[ "$status" = 1 ]
	[ "$(ls "$BATS_TEST_TMPDIR/out")" = "$(printf 'evidence.tar.gz\nsummary.txt')" ]
	[[ $output == *"$(cat "$BATS_TEST_TMPDIR/out/summary.txt")" ]]
	grep -q '^checkers *FAILED (1)' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^synccheck tiled/counters_grow: FAILED (1)' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^racecheck kernels/copy: FAILED (no rule ran)' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^memcheck: 20 of 20 without a finding' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^initcheck: 18 of 18 without a finding' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^conformance_units *sim:0,1 *[1-9][0-9]* ok *0 not ok' "$BATS_TEST_TMPDIR/out/summary.txt"
	tar -tzf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" | grep -qxF ./conformance/conformance_units-sim-0-1.tap
}

@test "the limits of a call add up to nine minutes at most, as the table says" {
	for call in 1 2 3 4 5; do
		run tests/hardware/check.sh -n -c "$call" "$BATS_TEST_TMPDIR/out"
		echo "$output"
		[ "$status" = 0 ]
		sum=$(awk '/^at most/ { print $3 }' <<<"$output")
		[ "$sum" -le 540 ]
		[ "$sum" = "$(awk '!/^at most/ { sum += $2 } END { print sum }' <<<"$output")" ]
		stages=$(awk '!/^at most/ { print $1 }' <<<"$output" | paste -sd ' ')
		grep -qF "| \`-c $call\` | \`$stages\` | $sum s |" tests/hardware/README.md
	done
	[ ! -e "$BATS_TEST_TMPDIR/out/summary.txt" ]
	run tests/hardware/check.sh -c 6 "$BATS_TEST_TMPDIR/out"
	[ "$status" = 2 ]
	run tests/hardware/check.sh -c 1 "$BATS_TEST_TMPDIR/out" machine
	[ "$status" = 2 ]
	run tests/hardware/check.sh "$BATS_TEST_TMPDIR/out" run:long
	[ "$status" = 2 ]
	[[ $output == *"'long' is not a number"* ]]
}

@test "--help of the scripts is on stdout and fits 80 columns, and an unknown option is one line and 2" {
	for script in check pack nvbandwidth; do
		for words in --help -h; do
			run --separate-stderr "tests/hardware/$script.sh" "$words"
			[ "$status" = 0 ]
			[ -z "$stderr" ]
			[[ $output == "usage: $script.sh "* ]]
			[ "${#lines[@]}" -gt 5 ]
			[[ $output != *'set -'* ]]
			run ! grep -E '^#|^.{81}' <<<"$output"
		done
		for words in -x --helpless; do
			run --separate-stderr "tests/hardware/$script.sh" "$words"
			[ "$status" = 2 ]
			[ -z "$output" ]
			[ "$stderr" = "$script.sh: unknown option '$words'; see $script.sh --help" ]
		done
	done
	run --separate-stderr tests/hardware/check.sh -c
	[ "$status" = 2 ]
	[ "$stderr" = 'check.sh: -c needs a value; see check.sh --help' ]
	tests/hardware/check.sh --help >"$BATS_TEST_TMPDIR/help"
	stages=$(sed -n 's/^stage_\([a-z]*\)() {.*/\1/p' tests/hardware/check.sh | grep -v packed)
	[ "$(wc -w <<<"$stages")" -gt 8 ]
	for stage in $stages; do grep -Eq "^  $stage(\[:| )" "$BATS_TEST_TMPDIR/help"; done
}

@test "check.sh starts nothing after its time, and knows its stages" {
	run tests/hardware/check.sh -d sim -t 5 "$BATS_TEST_TMPDIR/out" machine
	[ "$status" = 1 ]
	[[ $output == *"not started: 5 s are over"* ]]
	run tests/hardware/check.sh "$BATS_TEST_TMPDIR/out" machine nonsense
	[ "$status" = 2 ]
	[[ $output == *"no stage 'nonsense'"* ]]
}

@test "check.sh adds to the loader's path what it found, and no empty entry where it found nothing" {
	mkdir "$BATS_TEST_TMPDIR/path"
	printf '#!/bin/sh\n' | tee "$BATS_TEST_TMPDIR/path/ldconfig" >"$BATS_TEST_TMPDIR/path/find"
	chmod +x "$BATS_TEST_TMPDIR"/path/*
	run env LD_LIBRARY_PATH=/dev/null/none PATH="$BATS_TEST_TMPDIR/path:$PATH" tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine
	echo "$output"
	tar -xzOf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" ./machine.log >"$BATS_TEST_TMPDIR/machine.log"
	grep -qx LD_LIBRARY_PATH=/dev/null/none "$BATS_TEST_TMPDIR/machine.log"
	run ! grep '^NVCC_APPEND_FLAGS=.*-L ' "$BATS_TEST_TMPDIR/machine.log"
}

@test "check.sh finds a toolkit's libraries behind links, and takes no stubs for them" {
	toolkit=$BATS_TEST_TMPDIR/toolkit
	mkdir -p "$toolkit/bin" "$toolkit/targets/lib/stubs" "$BATS_TEST_TMPDIR/path"
	ln -s targets/lib "$toolkit/lib64"
	touch "$toolkit/targets/lib/libnvrtc.so.13" "$toolkit/targets/lib/stubs/libcublasLt.so" "$toolkit/targets/lib/stubs/libnccl.so"
	printf '#!/bin/sh\n' | tee "$BATS_TEST_TMPDIR/path/ldconfig" "$BATS_TEST_TMPDIR/path/python3" >"$toolkit/bin/nvcc"
	chmod +x "$BATS_TEST_TMPDIR"/path/* "$toolkit/bin/nvcc"
	env -u LD_LIBRARY_PATH PATH="$toolkit/bin:$BATS_TEST_TMPDIR/path:$PATH" \
		tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine
	tar -xzOf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" ./machine.log | grep -qx "LD_LIBRARY_PATH=$toolkit/lib64"
}

# Stands for nvcc: all that it is asked for.
@test "check.sh gives the linker a name for a library of Python's packages" {
	packages=$BATS_TEST_TMPDIR/packages/nvidia/cu13
	mkdir -p "$packages/lib" "$BATS_TEST_TMPDIR/path" "$BATS_TEST_TMPDIR/bin"
	echo 'int answer(void) { return 42; }' | cc -shared -x c - -Wl,-soname,libcublasLt.so.13 -o "$packages/lib/libcublasLt.so.13"
	touch "$packages/lib/libnvrtc.so.13" # is found first, in the same folder
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/path/ldconfig"
	printf '#!/bin/sh\necho %s/packages\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/path/python3"
	cat >"$BATS_TEST_TMPDIR/bin/nvcc" <<-'END'
		#!/bin/sh
		echo 'int answer(void); int main(void) { return answer() != 42; }' >"$GUEST.c"
		exec cc "$GUEST.c" -o "$GUEST" -lcublasLt $NVCC_APPEND_FLAGS
	END
	chmod +x "$BATS_TEST_TMPDIR"/path/* "$BATS_TEST_TMPDIR/bin/nvcc"
	env -u LD_LIBRARY_PATH "GUEST=$BATS_TEST_TMPDIR/guest" PATH="$BATS_TEST_TMPDIR/bin:$BATS_TEST_TMPDIR/path:$PATH" \
		tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine
	LD_LIBRARY_PATH=$packages/lib "$BATS_TEST_TMPDIR/guest"
}

@test "check.sh refuses equal runs that its time can't hold, and those it can't count" {
	run tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine aa:1-8
	echo "$output"
	[ "$status" = 2 ]
	[[ $output == *"aa:1-8:60 takes up to 600 s, and 540 s is the most"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/out/summary.txt" ]
	for wrong in aa:1- aa:x-2 aa:3-2 aa:1-2:x aa:1-2:3:4; do
		run tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" "$wrong"
		[ "$status" = 2 ]
		[[ $output == *"'$wrong' is not aa:FIRST-LAST:SECONDS"* ]]
	done
	run tests/hardware/check.sh -d sim -t 30 "$BATS_TEST_TMPDIR/out" aa:1-1:20
	[ "$status" = 2 ]
	run tests/hardware/check.sh -d sim -t 3 "$BATS_TEST_TMPDIR/out" aa:1-7
	[ "$status" = 2 ]
}

@test "a run that is out of time leaves its headline in the summary" {
	run tests/hardware/check.sh -d host -t 15 "$BATS_TEST_TMPDIR/out" run:60
	cat "$BATS_TEST_TMPDIR/out/summary.txt"
	[ "$status" = 1 ]
	grep -q '^run  *OUT OF TIME' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q 'headline numbers' "$BATS_TEST_TMPDIR/out/summary.txt"
}

@test "what documents leave open is asked of the host, and of a fake driver where it could hang" {
	questions host 10 _behind_a_
	grep -q $'^graphs_of_1_behind_a_block\tnone\tnot supported\t.' <<<"$output"
	questions hip 2 gemm_adds
	grep -q $'^gemm_adds_to_pinned_memory\tno\t-\t.*pinned memory$' <<<"$output"
	questions cuda 3 gemm_
	grep -q $'^gemm_adds_to_pinned_memory\tyes\t-\t$' <<<"$output"
	grep -q $'^gemm_that_adds_to_one_that_writes\t[0-9.e+]*\tratio\t1024 x 1024 x 64: ' <<<"$output"
	questions cuda 2 device_free_while
	# Freeing waits for the device, as documented: without the thread that opens the gate this would hang.
	grep -q $'^device_free_while_every_slot_is_held\t[0-9.e+]*\tus\tdid not return before the gate opened$' <<<"$output"
}

@test "what documents leave open is asked of fake drivers, and all of it ends" {
	questions hip 41
	questions cuda 41
	grep -q $'^event_after_a_copy_up_while_anothers_is_held\tno\t-\tended only after' <<<"$output"
	grep -q $'^pcie_link_after_copies\t5 x16\tgeneration, lanes\tof 5 x16, ' <<<"$output"
	grep -q $'^links_to_devices\t4\tlinks up\t0 down; NVLink 3.0 to a device 0000:02:00.0 at 2.58e+10 byte/s ' <<<"$output"
	grep -q $'^memory_errors\t0\tecc_uncorrected\tecc_corrected 0 ' <<<"$output"
	grep -q $'^timer_step\t[1-9][0-9.e-]*\ts\t$' <<<"$output"
	grep -q $'^read_from_cache_with_both_in_turns\t[1-9][0-9.e+]*\tus\ta launch$' <<<"$output"
	grep -q $'^local_copy_64KiB_while_every_slot_is_held\tno\t-\tended only after' <<<"$output"
	grep -q $'^device_free_while_every_slot_is_held\t[0-9.e+]*\tus\tdid not return before the gate opened$' <<<"$output"
	names=$(expected_metrics | sed -n 's|^questions/||p')
	[ "$(wc -w <<<"$names")" -gt 8 ]
	for name in $names; do grep -q "^$name"$'\t' <<<"$output" || { echo "no question: $name" && false; }; done
}

# The metrics of the table of expectations.
# shellcheck disable=SC2016 # of Markdown
expected_metrics() { sed -n '/^| metric | unit |/,/^$/s/^| `\([^`]*\)`.*/\1/p' docs/BACKENDS.md; }

# lists_case PROGRAM QUANTITY{variant=V,AXIS=VALUE}: an H200 has a case with these values, or no axis is named.
lists_case() {
	cases=$("bin/$1" --device sim:h200 --list)
	for word in $(sed 's/.*{//; s/}//; s/variant=[^,]*//' <<<"$2" | tr , ' '); do cases=$(grep -E "(^| )$word( |$)" <<<"$cases") || return; done
}

@test "what is expected of a program is a headline number or a fact of it, or one of its values" {
	names=$(expected_metrics | grep -v '^questions/')
	[ "$(wc -l <<<"$names")" -gt 40 ]
	while read -r name; do
		program=$(cut -d / -f 1-2 <<<"$name") quantity=$(cut -d / -f 3- <<<"$name")
		case $quantity in
		*_queued_max) grep -q "\"$quantity\"" micro/launch.c ;;
		*'{'*) grep -rq "\"${quantity%%'{'*}\"" "$program".c "$program" bench && lists_case "$program" "$quantity" ;;
		*) "bin/$program" --about | grep -q "\"$quantity\"" ;;
		esac || { echo "nothing gives $name" && false; }
	done <<<"$names"
}

@test "a device that fails under the questions ends them with 1, a simulated or absent one with 77" {
	run env "LD_LIBRARY_PATH=$build/fakes" FAKE_LOST=12 timeout "$HANGS_S" "$build/tests/hardware/questions" cuda
	echo "$output"
	[ "$status" = 1 ]
	run --separate-stderr env "LD_LIBRARY_PATH=$build/fakes" FAKE_LOST=300 timeout "$HANGS_S" "$build/tests/hardware/questions" cuda
	echo "$output"
	[ "$status" = 1 ]
	grep -q $'^opening_the_device\t' <<<"$output"
	grep -q $'^event_open_while_every_slot_is_held\tnone\terror\tcuda:0 is lost: .' <<<"$output"
	run timeout "$HANGS_S" "$build/tests/hardware/questions" sim
	[ "$status" = 77 ]
	run timeout "$HANGS_S" "$build/tests/hardware/questions" host:7,8
	[ "$status" = 1 ]
	for words in '' 'sim 0' 'sim 5x' 'sim 5 5'; do
		# shellcheck disable=SC2086 # a list of words
		run timeout "$HANGS_S" "$build/tests/hardware/questions" $words
		[ "$status" = 2 ]
		[ "$output" = 'usage: questions DEVICE [SECONDS]' ]
	done
	run env "LD_LIBRARY_PATH=$build/fakes" FAKE_GPUS=0 timeout "$HANGS_S" "$build/tests/hardware/questions" cuda
	echo "$output"
	[ "$status" = 77 ]
}

# begin STAGE: check.sh with it on the fakes, in $script, and the process that keeps the device open, in $holder.
begin() {
	env "LD_LIBRARY_PATH=$build/fakes" GPUSIG_TEST=_free_while tests/hardware/check.sh -d cuda "$BATS_TEST_TMPDIR/out" "$1" \
		>"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	script=$!
	until holder=$(pgrep -P "$script" -f hold_device); do sleep 0.1; done
}

has_ended() {
	while kill -0 "$1" 2>/dev/null; do sleep 0.1; done
}

@test "the device is held open while stages run, and let go however check.sh ends" {
	begin questions
	kill -9 "$script"
	has_ended "$holder"
	rm -r "build/hardware-$script"

	begin questions
	until [ -s "build/hardware-$script/evidence/questions.tsv" ]; do sleep 0.1; done
	kill "$script"
	wait "$script" && false
	[ "$?" = 143 ]
	has_ended "$holder"
	cat "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^questions *interrupted' "$BATS_TEST_TMPDIR/out/summary.txt"
	tar -tzf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" | grep -qxF ./questions.tsv
	[ ! -e "build/hardware-$script" ]

	begin questions
	wait "$script"
	has_ended "$holder"
	grep -q '^2 devices of cuda:0,1 held open, opened in [0-9.]* s$' "$BATS_TEST_TMPDIR/out/summary.txt"
	[ ! -e "build/hardware-$script" ]
}

@test "check.sh keeps compiled kernels in a folder of its own, or in one that is named" {
	tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine
	tar -xzOf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" ./machine.log | grep -q "^GPUSIG_KERNEL_CACHE=$PWD/build/hardware-[0-9]*/kernels$"
	GPUSIG_KERNEL_CACHE=/dev/null/none tests/hardware/check.sh -d sim "$BATS_TEST_TMPDIR/out" machine
	tar -xzOf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" ./machine.log | grep -qx "GPUSIG_KERNEL_CACHE=/dev/null/none"
}

# A machine without compilers, make, git and MPI, with a Python that lacks jinja2, in $bare.
bare_machine() {
	mkdir "$BATS_TEST_TMPDIR/path"
	ln -s /usr/bin/* "$BATS_TEST_TMPDIR/path/"
	(cd "$BATS_TEST_TMPDIR/path" && rm -f make gmake cc c89 c99 gcc* clang* ./*-gcc* git mpicc* mpirun* nvcc strip objdump)
	"$(sh suite/setup/find_python.sh --any)" -m venv --without-pip "$BATS_TEST_TMPDIR/python"
	bare=(env PATH="$BATS_TEST_TMPDIR/path" GPUSIG_PYTHON="$BATS_TEST_TMPDIR/python/bin/python3" CUDA_HOME=/dev/null/none)
}

# The flags are those of the variant that is built without everything, which the test suite has.
pack() {
	HAVE_NVCC=0 tests/hardware/pack.sh "$BATS_FILE_TMPDIR/packed" >"$BATS_FILE_TMPDIR/pack.txt" 2>&1 || { cat "$BATS_FILE_TMPDIR/pack.txt" && return 1; }
	tail -n 1 "$BATS_FILE_TMPDIR/pack.txt"
}

@test "what was packed needs libc, libm and libdl alone, and says which C library" {
	pack
	[ "$(wc -c <"$BATS_FILE_TMPDIR/packed.tar.gz")" -lt 67108864 ]
	cd "$BATS_FILE_TMPDIR/packed"
	[ "$(find tests/unit -type f ! -name 'conformance*')" = "" ]
	grep -q '^glibc 2\.[0-9]*$' packed.txt
	grep -q '^version .' packed.txt
	for file in bin/*/* tests/unit/* tests/hardware/questions tests/hardware/hold_device; do
		needs=$(objdump -p "$file" | sed -n 's/^ *NEEDED *//p' | grep -v '^lib\(c\|m\|dl\|pthread\)\.so' || true)
		[ -z "$needs" ] || { echo "$file needs $needs" && false; }
	done
	mkdir "$BATS_TEST_TMPDIR/other" && touch "$BATS_TEST_TMPDIR/other/file"
	run "$root/tests/hardware/pack.sh" "$BATS_TEST_TMPDIR/other"
	[ "$status" = 1 ]
	[ -e "$BATS_TEST_TMPDIR/other/file" ]
}

@test "what was packed runs where nothing can be built: host, and fake GPUs" {
	[ -f "$BATS_FILE_TMPDIR/packed.tar.gz" ] || pack
	bare_machine
	mkdir "$BATS_TEST_TMPDIR/there"
	tar -C "$BATS_TEST_TMPDIR/there" -xzf "$BATS_FILE_TMPDIR/packed.tar.gz"
	cd "$BATS_TEST_TMPDIR/there"
	run "${bare[@]}" tests/hardware/check.sh -d host "$BATS_TEST_TMPDIR/out" machine build run:5
	echo "$output"
	# A program that a busy machine keeps from ending in time is no matter of packing; any other failure is.
	[ "$(grep 'gpusig: failed ' "$BATS_TEST_TMPDIR/out/summary.txt" | grep -vc ': time limit: ')" = 0 ]
	grep -q '^not here: make$' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^packed: version .*, for glibc 2' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^gpusig: [1-9][0-9]* cases in ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q "^nothing is expected of '.*'; the table has H200, " "$BATS_TEST_TMPDIR/out/summary.txt"
	tar -tzf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" >"$BATS_TEST_TMPDIR/list"
	grep -qxF ./run/signature.json "$BATS_TEST_TMPDIR/list"
	run grep report.html "$BATS_TEST_TMPDIR/list"
	[ "$status" = 1 ]

	run "${bare[@]}" "LD_LIBRARY_PATH=$build/fakes" GPUSIG_TEST=cop tests/hardware/check.sh -d cuda "$BATS_TEST_TMPDIR/gpu" \
		machine build conformance questions
	echo "$output"
	[ "$status" = 0 ]
	grep -q '^conformance_memory *cuda *[1-9][0-9]* ok *0 not ok' "$BATS_TEST_TMPDIR/gpu/summary.txt"
	grep -q '^  local_copy_is_captured yes' "$BATS_TEST_TMPDIR/gpu/summary.txt"
	grep -q '^2 devices of cuda:0,1 held open' "$BATS_TEST_TMPDIR/gpu/summary.txt"
}

@test "check.sh takes what was packed where it is told to, or nothing can be built" {
	[ -f "$BATS_FILE_TMPDIR/packed.tar.gz" ] || pack
	bare_machine
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests/hardware" "$tree/build/hardware"
	cp tests/hardware/check.sh "$tree/tests/hardware/"
	run "$tree/tests/hardware/check.sh" -p -n -c 4 "$BATS_TEST_TMPDIR/out"
	[ "$status" = 2 ]
	[[ $output == *"there is no build/hardware; tests/hardware/pack.sh makes it" ]]
	tar -C "$tree/build/hardware" -xzf "$BATS_FILE_TMPDIR/packed.tar.gz"
	run "$tree/tests/hardware/check.sh" -n -c 4 "$BATS_TEST_TMPDIR/out"
	[[ $output == *"aa:1-6 "* ]]
	for call in 1 2 3 4 5; do
		run "$tree/tests/hardware/check.sh" -p -n -c "$call" "$BATS_TEST_TMPDIR/out"
		[[ $output == *"build:15 "* ]]
		[ "$(awk '/^at most/ { print $3 }' <<<"$output")" -le 540 ]
	done
	cd "$BATS_TEST_TMPDIR"
	run "${bare[@]}" tree/tests/hardware/check.sh -d sim -t 60 out build
	echo "$output"
	[ "$status" = 0 ]
	grep -q '^packed: version ' out/summary.txt
}

# Unpack into $there, the current folder, with some of the programs: GEMMs take fake GPUs minutes.
some_of_packed() {
	[ -f "$BATS_FILE_TMPDIR/packed.tar.gz" ] || pack
	there=$BATS_TEST_TMPDIR/there
	mkdir "$there" && tar -C "$there" -xzf "$BATS_FILE_TMPDIR/packed.tar.gz"
	cd "$there" || return 1
	for binary in bin/*/*; do
		case " $* " in *" ${binary#bin/} "*) ;; *) rm "$binary" ;; esac
	done
}

# ended STAGE...: as the summary says. That nothing is valid, which may be so on a busy machine, is an end too.
ended() {
	for stage; do grep -Eq "^$stage +(ok|nothing valid) " "$BATS_TEST_TMPDIR/out/summary.txt" || { echo "$stage" && return 1; }; done
}

@test "with several GPUs, all of them are looked at and held" {
	some_of_packed micro/launch micro/memory micro/peer_matrix collectives/device_allreduce
	run env "LD_LIBRARY_PATH=$build/fakes" FAKE_GPUS=3 GPUSIG_TEST=cop tests/hardware/check.sh -d cuda "$BATS_TEST_TMPDIR/out" \
		machine build conformance:90 questions programs:1 run:5 aa:1-2:5
	echo "$output"
	ended machine build conformance questions programs run
	grep -Eq '^aa +(ok|FAILED \(1\)) ' "$BATS_TEST_TMPDIR/out/summary.txt" # 1: a run in which nothing is valid
	grep -q '^conformance_memory *cuda:0,1 *[1-9][0-9]* ok *0 not ok' "$BATS_TEST_TMPDIR/out/summary.txt"
	run ! grep '^conformance_memory *cuda:0-2 ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^conformance_collectives *cuda:0-2 *[1-9][0-9]* ok *0 not ok' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^micro/launch *cuda:0,1 ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^micro/peer_matrix *cuda:0-2 ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^collectives/device_allreduce *cuda:0-2 ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^3 devices of cuda:0-2 held open' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q "^nothing is expected of 'Fake GPU'; the table has H200, " "$BATS_TEST_TMPDIR/out/summary.txt"
	mkdir "$BATS_TEST_TMPDIR/evidence"
	tar -C "$BATS_TEST_TMPDIR/evidence" -xzf "$BATS_TEST_TMPDIR/out/evidence.tar.gz"
	for run in run aa/1 aa/2; do grep -q '"spec":"cuda:0-2"' "$BATS_TEST_TMPDIR/evidence/$run/records.jsonl"; done

	# A list that is named is taken as it is.
	run env "LD_LIBRARY_PATH=$build/fakes" FAKE_GPUS=3 GPUSIG_TEST=cop tests/hardware/check.sh -d cuda:1 "$BATS_TEST_TMPDIR/out" \
		conformance:90 programs:1
	echo "$output"
	ended conformance programs
	grep -q '^micro/peer_matrix *cuda:1 ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^1 device of cuda:1 held open' "$BATS_TEST_TMPDIR/out/summary.txt"
	run ! grep 'cuda:1:' "$BATS_TEST_TMPDIR/out/summary.txt"
}

@test "with one GPU, of either vendor, every stage is about that one" {
	some_of_packed micro/launch micro/memory micro/peer_matrix collectives/device_allreduce
	for vendor in cuda hip; do
		run env "LD_LIBRARY_PATH=$build/fakes" FAKE_GPUS=1 GPUSIG_TEST=cop tests/hardware/check.sh -d "$vendor" "$BATS_TEST_TMPDIR/out" \
			machine build conformance:90 questions programs:1 run:5
		echo "$output"
		ended machine build conformance questions programs run
		grep -q "^collectives/device_allreduce *$vendor *cannot run here" "$BATS_TEST_TMPDIR/out/summary.txt"
		grep -q "^micro/peer_matrix *$vendor " "$BATS_TEST_TMPDIR/out/summary.txt"
		grep -q "^1 device of $vendor held open" "$BATS_TEST_TMPDIR/out/summary.txt"
		run ! grep "$vendor:" "$BATS_TEST_TMPDIR/out/summary.txt"
	done
}

# All programs, since a model's time costs nothing. It has no data, so the conformance tests are of another model.
@test "the calls are rehearsed on the model of an H200, and say what nobody expects" {
	[ -f "$BATS_FILE_TMPDIR/packed.tar.gz" ] || pack
	there=$BATS_TEST_TMPDIR/there
	mkdir "$there" && tar -C "$there" -xzf "$BATS_FILE_TMPDIR/packed.tar.gz"
	cd "$there"
	printf '#!/bin/sh\necho "%s"\n' '{\"what\": \"copy up, engine\", \"value\": 6e10}' >gpu-peers/copies
	chmod +x gpu-peers/copies
	run tests/hardware/check.sh -d sim:h200 "$BATS_TEST_TMPDIR/out" machine build questions programs:1 run:20 aa:1-2:30 peers:1
	echo "$output"
	[ "$status" = 0 ]
	for stage in machine build programs run aa peers; do grep -q "^$stage *ok " "$BATS_TEST_TMPDIR/out/summary.txt"; done
	grep -q '^questions *cannot run here' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^| copy up, engine | [0-9.e+]* | copies | 6e+10 | 1.0' "$BATS_TEST_TMPDIR/out/summary.txt"
	run ! grep -E '^(micro|gemm|overlap|topology)/.* (FAILED|OUT OF TIME)' "$BATS_TEST_TMPDIR/out/summary.txt"
	# The model's link loses nothing to packets, and what it leaves out is no value.
	grep -q '^outside expectation: micro/copy_path/up_engine_bandwidth is .*GB/s, expected .* GB/s: .*(run)$' "$BATS_TEST_TMPDIR/out/summary.txt"
	run ! grep '^outside expectation: gemm/efficiency/gemm_bf16_flop_rate' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -q '^no value: micro/launch/graphs_queued_max: ' "$BATS_TEST_TMPDIR/out/summary.txt"
	grep -Eq '^[1-9][0-9]* outside of [345][0-9] expectations that were compared \(H200\); [1-9][0-9]? without a value$' "$BATS_TEST_TMPDIR/out/summary.txt"
	tar -xzOf "$BATS_TEST_TMPDIR/out/evidence.tar.gz" ./expectations.txt | cmp - <(sed -n '/^-- expectations/,/^-- /{/^-- /!p}' "$BATS_TEST_TMPDIR/out/summary.txt")
}

@test "the spread of equal runs is taken of the primary metrics" {
	for value in 100 104 101; do
		mkdir "$BATS_TEST_TMPDIR/$value"
		cat >"$BATS_TEST_TMPDIR/$value/signature.json" <<-END
			{"metrics": {"a/b/rate": {"value": $value, "unit": "byte/s", "primary": true},
			"a/b/other": {"value": 1, "unit": "s", "primary": false}}}
		END
	done
	run python3 tests/hardware/spread.py "$BATS_TEST_TMPDIR"/1*/signature.json
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[2]}" = '| a/b/rate | 3 | 101 | 100 | 104 | byte/s | 3.96 % |' ]
	[ ${#lines[@]} = 3 ]
}

@test "the peers of NVIDIA GPUs compile" {
	command -v nvcc >/dev/null || skip "no nvcc"
	printf '#include <cublasLt.h>\n#include <cuda_fp8.h>\n' | nvcc -E -x cu - >/dev/null 2>&1 || skip "no headers of cuBLASLt and f8"
	run make gpu-peers NVCC_ARCH=sm_90 WERROR=1
	echo "$output"
	[ "$status" = 0 ]
}
