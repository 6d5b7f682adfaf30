#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# micro/storage: on a simulated machine whose storage is known, with a real file, and where there is none to read.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

storage() { # DEVICE OPTIONS
	local device=$1
	shift
	run --separate-stderr timeout "$HANGS_S" "$bin/micro/storage" --device "$device" --type f32 --min-samples 4 \
		--max-samples 4 --warm-up 0 --format json "$@"
	echo "$device: $status $stderr"
}

value() { # NAME VARIANT CONDITION
	json "[$3 for r in cases for d in r['derived'] if d['name'] == '$1' and d['variant'] == '$2'
		for v in [d['value']]] == [True]" <<<"$output"
}

# Host memory of 20 GB/s: reads of 12 leave 8 to a copy that has 16 alone.
shared='sim:quiet?data=none,host_bandwidth=20e9,link_down_bandwidth=16e9,engine_bandwidth=1e12,storage_bandwidth=12e9'

@test "reads take from a copy what they need of host memory, and from a GEMM nothing" {
	storage "$shared" --into pinned
	[ "$status" = 0 ]
	value CIL copy_with_read '1.97 < v < 2.03'
	value CIL read_with_copy '0.99 < v < 1.01'
	value CIL gemm_with_read '0.99 < v < 1.01'
	value read_bandwidth gemm_with_read '11.8e9 < v < 12.1e9'
	json "all(m['observed'] for r in cases for m in r['mechanism'])" "len(cases[0]['mechanism']) == 4" <<<"$output"
}

@test "reads into the device take nothing of host memory, and their share of the link" {
	storage "$shared" --into device
	[ "$status" = 0 ]
	value CIL copy_with_read '3.95 < v < 4.05'
	value CIL gemm_with_read '0.99 < v < 1.01'
}

@test "a simulated machine without storage is a skip that says so" {
	storage sim:quiet
	[ "$status" = 77 ]
	[[ $stderr == *"storage_bandwidth"* ]]
}

@test "what is read from storage is the file, past the page cache" {
	storage host --folder "$BATS_TEST_TMPDIR" --file 16M --chunk 1M --readers 2 --variant read,copy,copy_with_read,read_with_copy \
		--budget 20s
	skip_if_77
	json "len(cases) == 1" "cases[0]['check']['status'] == 'ok'" \
		"[m['observed'] for m in cases[0]['mechanism'] if m['name'] == 'reads_pass_the_page_cache'] == [True]" \
		"cases[0]['facts']['file_system'] != ''" <<<"$output"
}

@test "the device's own memory needs a device that reads files" {
	storage host --into device
	[ "$status" = 77 ]
	[[ $stderr == *"reads no files"* ]]
}

@test "folders that are no storage are refused in one line" {
	if [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
		storage host --folder /dev/shm
		[ "$status" = 77 ]
		[[ $stderr == *"/dev/shm is in memory"* ]]
	fi
	storage host --folder /dev/null/none
	[ "$status" = 2 ]
	storage host --folder /dev/null
	[ "$status" = 2 ]
	[[ $stderr == *"it is a file"* ]]
	storage host --file 3M --chunk 2M
	[ "$status" = 2 ]
	[[ $stderr == *"no multiple"* ]]
}

@test "a file system that would be filled is left alone" {
	storage host --folder "$BATS_TEST_TMPDIR" --file 1023T
	[ "$status" = 77 ]
	[[ $stderr == *" MiB left, less than 8 times"* || $stderr == *"is in memory"* ]]
}

@test "a program that is killed leaves no file" {
	mkdir "$BATS_TEST_TMPDIR/folder"
	"$bin/micro/storage" --device host --type f32 --folder "$BATS_TEST_TMPDIR/folder" --file 16M --variant read,gemm_with_read \
		--budget 60s >"$BATS_TEST_TMPDIR/out" 2>&1 &
	local program=$!
	# The link of an open file says where it is, or was.
	until grep -q "$BATS_TEST_TMPDIR/folder" <(readlink /proc/$program/fd/* 2>/dev/null); do
		kill -0 "$program" || { wait "$program" || skip "$(why "$(cat "$BATS_TEST_TMPDIR/out")")"; }
		sleep 0.1
	done
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/folder")" ]
	kill -KILL "$program"
	wait "$program" || true
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/folder")" ]
}

# on_fakes DEVICE OPTIONS: `storage` with two readers and a small file, on the fakes or those in $drivers.
on_fakes() {
	local device=$1
	shift
	LD_LIBRARY_PATH=${drivers:-$(fakes)} storage "$device" --folder "$BATS_TEST_TMPDIR" --file 2M --chunk 256K --readers 2 \
		--variant read,copy,copy_with_read,read_with_copy "$@"
	[[ $stderr != *" is in memory "* ]] || skip "$(why "$stderr")"
}

@test "a GPU reads into its own memory, past the page cache and the host's memory" {
	need_fakes
	on_fakes cuda --into pinned,device
	json "[m['observed'] for m in cases[1]['mechanism'] if m['name'] == 'reads_pass_the_page_cache'] == [True]" \
		"[c['case']['into'] for c in cases] == ['pinned', 'device']" "all(c['check']['status'] == 'ok' for c in cases)" \
		"'device_reads_files' not in cases[0]['facts']" \
		"cases[1]['facts']['device_reads_files'] == 'by cuFile 1.20 with nvidia-fs 2.26, compatibility mode off'" \
		"any('libcufile.so.0' in path for path in rows[0]['libraries'])" <<<"$output"
}

@test "a GPU whose library would read through the host's memory is a skip that says why" {
	need_fakes
	cd "$BATS_TEST_TMPDIR"
	while IFS='|' read -r setting reason; do
		(export "${setting?}"; on_fakes cuda --into device; [ "$status" = 77 ] && [[ $stderr == *"$reason"* ]])
	done <<-'END'
		FAKE_NVFS=0|cuFileDriverOpen: the kernel's module nvidia-fs is not loaded
		FAKE_CUFILE_ON=2|its configuration has force_compat_mode
		FAKE_CUFILE_ON=12|its configuration has vanilla_posix_io_mode
		FAKE_CUFILE_ON=13|its configuration has gds_fallback_io
		FAKE_FAIL=cuFileSetParameterBool=5022|cuFileSetParameterBool: error (cuFile 5022)
		FAKE_FAIL=cuFileGetParameterBool=5022|cuFileGetParameterBool: error (cuFile 5022)
		FAKE_FAIL=cuFileDriverGetProperties=5004|cuFileDriverGetProperties: error (cuFile 5004)
		FAKE_FAIL=cuFileRead=5008|cuFileRead: not supported of this file, its file system or its drive
		FAKE_FAIL=cuFileHandleRegister=5008|cuFileHandleRegister: not supported of this file, its file system or its drive
		FAKE_FAIL=cuFileBufRegister=5036|cuFileBufRegister: the GPU's memory cannot be pinned
	END
	on_fakes hip --into device
	[ "$status" = 77 ]
	[[ $stderr == *"hipFile is not used"* ]]
	mkdir drivers
	ln -s "$(fakes)"/lib* drivers/
	rm drivers/libcufile.so.0
	drivers=$PWD/drivers on_fakes cuda --into device
	[ "$status" = 77 ]
	[[ $stderr == *"the device reads no files into its memory: "*libcufile.so.0* ]]
}

@test "without reads into the device its library is not started, and a read that fails is an error" {
	need_fakes
	FAKE_FAIL=cuFileDriverOpen=5001 on_fakes cuda --into pinned
	json "cases[0]['check']['status'] == 'ok'" <<<"$output"
	FAKE_FAIL=cuFileRead:9=5010 on_fakes cuda --into device
	[ "$status" = 1 ]
	[[ $stderr == *"cuFileRead: error (cuFile 5010)"* ]]
}
