#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# The programs on GPUs that are fake (tests/fakes): what is missing is named, what fails is in the records, nothing hangs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}
QUICK='--budget 10m --min-samples 1 --max-samples 1 --warm-up 0 --format json'
SMALL='--footprint 64K,96K,128K,160K --min-samples 6 --max-samples 6' # four short cases of micro/latency
TINY='--footprint 64K'

setup_file() { need_fakes; }

# program NAME DEVICE OPTIONS: `run` of a program on the fakes, or those in $drivers; what it is to fail by is in the environment.
program() {
	local name=$1 device=$2
	shift 2
	# shellcheck disable=SC2086 # QUICK is a list of words
	run --separate-stderr env "LD_LIBRARY_PATH=${drivers:-$(fakes)}" timeout -s KILL "$HANGS_S" "$bin/$name" --device "$device" $QUICK "$@"
	echo "$name $device $*: $status $stderr"
}

# After program: 77, one line on stderr that has all the words, and no records.
cannot_run() {
	[ "$status" = 77 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 1 ]
	for word in "$@"; do [[ $stderr == *"$word"* ]]; done
}

# Nothing on a fake is worth its numbers: a run that is flagged throughout is as good as another.
ran() { [ "$status" = 0 ] || [ "$status" = 3 ]; }

cases() { json "$@" <<<"$output"; }

# lost CAUSE: every case of the four failed by it.
lost() {
	[ "$status" = 1 ]
	cases "[r['status'] for r in rows if r['kind'] == 'case'] == ['failed'] * 4 and rows[-1]['kind'] == 'end'" \
		"all('$1' in r['reason'] for r in rows if r['kind'] == 'case')" \
		"rows[-1]['exit'] == 1 and rows[-1]['cases']['failed'] == 4"
}

@test "a named shape takes 50 ms at most by the nominal rate, and what a display does is said" {
	FAKE_BOARD=f64_divisor=6400 program gemm/efficiency cuda --shape square --type f64 --mflop 2000000 --variant gemm
	ran
	cases "rows[1]['facts']['m'] == rows[1]['facts']['k'] <= 256" "rows[1]['facts']['m'] * rows[1]['facts']['scaled_down_by'] == 8192"
	for device in cuda hip; do
		FAKE_BOARD=display=1 program micro/memory $device --footprint 64K
		ran
		cases "'display' in rows[0]['device'][0]['shares']"
		FAKE_BOARD=display=1,f64_divisor=6400 program gemm/efficiency $device --shape n16384 --type f64
		cases "rows[1]['status'] == 'skipped' and 'kills kernels' in rows[1]['reason']"
	done
}

@test "types with scales are multiplied where the library has them, as it lays them out, and elsewhere it is named" {
	FAKE_BOARD=sm_major=10 program gemm/efficiency cuda --shape n128,256x64x512 --type i8,mxf8,nvf4 --mflop 0
	ran
	cases "[r['case']['type'] for r in rows if r['kind'] == 'case' and r['check']['status'] == 'ok'] == ['i8'] * 2 + ['mxf8'] * 2 + ['nvf4'] * 2" \
		"{d['unit'] for r in rows if r['kind'] == 'case' and r['case']['type'] == 'i8' for d in r['derived'] if d['name'] == 'op_rate'} == {'op/s'}"
	FAKE_ARCH=gfx950 program gemm/efficiency hip --shape n128,256x64x512 --type i8,mxf8,mxf4 --mflop 0
	ran
	cases "[r['check']['status'] for r in rows if r['kind'] == 'case'] == ['ok'] * 6"
	FAKE_BOARD=sm_major=10 program gemm/efficiency cuda --shape n128 --type mxf4
	[ "$status" = 77 ] && [[ $stderr == *'mxf4 GEMM is not supported on this device, with cuBLASLt 13.0.0'* ]]
	program gemm/efficiency cuda --shape n128 --type nvf4
	[ "$status" = 77 ] && [[ $stderr == *'nvf4 GEMM is not supported on this device'* ]]
	FAKE_FAIL=cublasLtMatmulAlgoGetHeuristic=15 program gemm/efficiency cuda --shape n128 --type i8
	[ "$status" = 77 ] && [[ $stderr == *'no i8: cublasLtMatmulAlgoGetHeuristic'* ]]
	units=$(readlink -f "$bin")/../tests/unit
	[ -x "$units/conformance_gemm" ] || skip 'the unit tests are not built'
	for device in cuda hip; do
		run env "LD_LIBRARY_PATH=$(fakes)" FAKE_BOARD=sm_major=10 FAKE_ARCH=gfx950 "$units/conformance_gemm" $device
		echo "$output"
		[ "$status" = 0 ]
		[[ $output == *"ok 8 $device: gemm_multiplies_mxf8"$'\n'* ]]
	done
}

@test "without a driver it is 77 and what is missing is named" {
	for device in cuda hip; do
		"$bin/micro/memory" --devices | grep -q "\"name\":\"$device\",\"devices\":0," || skip "there is a GPU here"
		drivers=/dev/null/none program micro/memory $device
		cannot_run "$device"
	done
	drivers=/dev/null/none program micro/memory cuda
	cannot_run 'libcuda'
}

@test "a driver without a device is 77" {
	for device in cuda hip; do
		FAKE_GPUS=0 program micro/memory $device
		cannot_run "$device" 'is installed' 'finds no GPU'
	done
}

# links FOLDER NAME...: a folder with these of the fakes.
links() {
	mkdir -p "$1"
	for name in "${@:2}"; do ln -s "$(fakes)/$name" "$1"; done
}

@test "a runtime without a device is passed over for one that a variable names, and -v says which files are in use" {
	cd "$BATS_TEST_TMPDIR"
	links old libamdhip64.so.5
	links rocm/lib libamdhip64.so.7 libhiprtc.so.7
	export drivers=$PWD/old ROCM_PATH=$PWD/rocm
	# shellcheck disable=SC2086 # TINY is a list of words
	program micro/latency hip $TINY
	ran
	cases "rows[0]['libraries'][:2] == ['$ROCM_PATH/lib/libamdhip64.so.7 (the HIP runtime is installed ($drivers/libamdhip64.so.5) but finds no GPU)',
		'$ROCM_PATH/lib/libhiprtc.so.7 (HIPRTC has no function hiprtcCreateProgram ($drivers/libamdhip64.so.5))']"
	printf "%s\n" "$output" >records
	fits_schema records
	# shellcheck disable=SC2086
	for verbose in '' -v; do
		program micro/latency hip $TINY --format table $verbose
		ran
		# Long lines are broken at spaces.
		[ "$(tr -s '\n# ' ' ' <<<"$output" | grep -o "library $ROCM_PATH/lib/lib" | wc -l)" = "$([ -z "$verbose" ] && echo 0 || echo 2)" ]
	done
	FAKE_GPUS=0 program micro/latency hip
	cannot_run "$ROCM_PATH/lib/libamdhip64.so.7" "$drivers/libamdhip64.so.5"
}

@test "a library to which the loader gives the runtime that was passed over is not used, and named first the usable one serves all" {
	cd "$BATS_TEST_TMPDIR"
	links old without_device/libamdhip64.so.7
	links rocm/lib libamdhip64.so.7 libhiprtc.so.7 libhipblaslt.so.1 librocblas.so.5 librccl.so.1
	gemm='gemm/efficiency hip --shape n64 --type f32,bf16 --variant gemm'
	export drivers=$PWD/old ROCM_PATH=$PWD/rocm
	# shellcheck disable=SC2086 # gemm and TINY are lists of words
	program $gemm
	cannot_run "hip does not support gemm: rocBLAS ($ROCM_PATH/lib/librocblas.so.5) uses "
	# shellcheck disable=SC2086
	program micro/latency hip $TINY
	ran
	cases "rows[0]['libraries'][0].startswith('$ROCM_PATH/lib/libamdhip64.so.7 ')"
	program collectives/device_allreduce hip:0,1 --size 64K
	ran
	cases 'not any("librccl" in l for l in rows[0]["libraries"])' 'not any(v["name"] == "library" for v in rows[1]["variants"])'
	# shellcheck disable=SC2086
	GPUSIG_LIBRARIES=$ROCM_PATH/lib program $gemm
	ran
	cases 'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' \
		"'bf16, i8), rocBLAS 5.0.0 (f32, f64)' in rows[0]['device'][0]['blas']"
}

@test "which architectures HIPRTC compiles for is asked of the library beside it, not of another installation's" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p other
	links rocm libamdhip64.so.7 libhiprtc.so.7
	cc -shared -fPIC -x c -o other/libamd_comgr.so.3 - <<-'END'
		#include <stddef.h>
		unsigned amd_comgr_get_isa_count(size_t *count) { return *count = 1, 0; }
		unsigned amd_comgr_get_isa_name(size_t i, const char **name) { return *name = "amdgcn-amd-amdhsa--gfx900", (unsigned)i; }
	END
	# shellcheck disable=SC2086 # TINY is a list of words
	drivers=$PWD/rocm:$PWD/other program micro/latency hip $TINY
	ran
	cp other/libamd_comgr.so.3 rocm
	drivers=$PWD/rocm program micro/latency hip
	[ "$status" != 0 ]
	[[ $stderr == *'HIPRTC does not support gfx90a'* ]]
}

@test "a driver that is too old is 77, with its version and the least" {
	FAKE_DRIVER_VERSION=11060 program micro/memory cuda
	cannot_run 'CUDA 11.6' 'too old' '11.7'
}

@test "a driver that lacks a function is 77 and names it" {
	without cuStreamWaitValue32_v2
	program micro/memory cuda
	cannot_run 'has no function cuStreamWaitValue32_v2'
}

@test "of the two functions for a device's properties HIP needs one" {
	local function
	for function in hipGetDeviceProperties hipGetDevicePropertiesR0600; do
		without $function
		# shellcheck disable=SC2086 # TINY is a list of words
		program micro/latency hip $TINY
		ran
		cases 'rows[0]["device"][0]["arch"].startswith("gfx90a")'
	done
}

# A first call for the matrices of a set would wait behind the gate, and leave out the variant.
@test "grouped GEMMs are cuBLAS's, in every set of rotating buffers, and without it the others are measured" {
	local small='--experts 4 --rows 16 --weights 64x128'
	# shellcheck disable=SC2086 # a list of words
	program gemm/grouped cuda --type f32,bf16 $small
	ran
	cases '(sorted((r["case"]["type"], r["case"]["routing"], r["check"]["status"], len(r["variants"])) for r in cases) ==
		sorted((t, e, "ok", 5) for t in ("f32", "bf16") for e in ("even", "uneven")))' 'cases[0]["facts"]["operand_sets"] > 2' \
		'"groups: cuBLAS 13.0.0" in rows[0]["device"][0]["blas"]'
	# shellcheck disable=SC2086
	program gemm/grouped cuda --type f8 $small --routing even
	ran
	cases '"grouped: cuda:0: a grouped gemm of f8 is not supported" in cases[0]["facts"]["not_measured"]'
	# shellcheck disable=SC2086
	program gemm/grouped hip --type f32 $small --routing even
	ran
	cases '"no grouped GEMMs for C" in cases[0]["facts"]["not_measured"] and cases[0]["check"]["status"] == "ok"'
	without cublasGemmGroupedBatchedEx
	# shellcheck disable=SC2086
	program gemm/grouped cuda --type f32 $small --routing even
	ran
	cases '"has no function cublasGemmGroupedBatchedEx" in cases[0]["facts"]["not_measured"] and cases[0]["check"]["status"] == "ok"'
}

@test "a capability that is missing has its own reason, and not that of another" {
	FAKE_FAIL=rocblas_create_handle=1,hipblasLtCreate=1 program gemm/efficiency hip
	cannot_run 'hip does not support gemm: rocblas_create_handle'
	FAKE_FAIL=rocblas_create_handle=1,hipblasLtCreate=1 FAKE_BOARD=wait_value=0 program overlap/shaping hip:0,1
	cannot_run 'hip:0,1 does not support wait_value'
	[[ $stderr != *rocblas* ]]
}

@test "a device beyond those that are there is 77, and they are listed" {
	program micro/memory cuda:2
	cannot_run 'no device cuda:2; devices: cuda:0-1'
	FAKE_GPUS=1 program micro/memory hip:0,1
	cannot_run 'no device hip:1; devices: hip:0'
}

@test "without a compiler the kernels are those of the build, and without those it is 77" {
	without nvrtcCompileProgram
	if "$bin/micro/latency" --version | grep -q '^nvcc 1$'; then
		# shellcheck disable=SC2086 # SMALL is a list of words
		program micro/latency cuda $SMALL
		ran
		cases 'rows[0]["device"][0]["driver"].endswith("kernels compiled with the build")' \
			'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")'
	fi
	FAKE_FAIL=cuModuleLoadData=209 program micro/latency cuda
	cannot_run 'NVRTC has no function nvrtcCompileProgram'
}

# driver_text WORD...: after program, what the records say of the driver and its compiler.
driver_text() { for word in "$@"; do cases "'$word' in rows[0]['device'][0]['driver']"; done; }

@test "a compiler too new for the driver is passed over, as is one that fails or whose code the driver refuses" {
	# shellcheck disable=SC2086 # TINY is a list of words
	FAKE_DRIVER_VERSION=12040 program micro/latency cuda $TINY
	ran
	driver_text 'CUDA 12.4, NVRTC 12.4'
	# shellcheck disable=SC2086
	FAKE_FAIL=nvrtcCompileProgram.13=6 program micro/latency cuda $TINY
	ran
	driver_text 'CUDA 13.0, NVRTC 12.4'
	# shellcheck disable=SC2086
	FAKE_FAIL=cuModuleLoadData:1=209 program micro/latency cuda $TINY
	ran
	driver_text 'CUDA 13.0, NVRTC 12.4'
	cases 'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")'
}

@test "AMD's types are multiplied by the library that has them, and the record says by which" {
	for arch in gfx942:sramecc+:xnack- gfx1201; do
		FAKE_ARCH=$arch program gemm/efficiency hip --shape n64 --type f32,bf16,f8 --variant gemm
		ran
		cases "'bf16, f8, i8), rocBLAS 5.0.0 (f32, f64)' in rows[0]['device'][0]['blas']" \
			'[r["facts"]["algorithm"].split()[0] for r in rows if r["kind"] == "case"] == ["rocBLAS\u0027s", "solution", "solution"]' \
			'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")'
	done
	units=$(readlink -f "$bin")/../tests/unit
	[ -x "$units/conformance_gemm" ] || skip 'the unit tests are not built'
	FAKE_ARCH=gfx942 run env "LD_LIBRARY_PATH=$(fakes)" "$units/conformance_gemm" hip
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"hip: gemm_multiplies_f8"$'\n'* ]]
}

@test "a BLAS too new for the driver is passed over for an older one, and where there is none that is told" {
	FAKE_DRIVER_VERSION=12040 program gemm/efficiency cuda --shape n64 --type f32 --variant gemm
	ran
	cases "rows[0]['device'][0]['blas'].startswith('cuBLASLt 12.4.0')" 'rows[1]["check"]["status"] == "ok"' \
		'any("cuBLASLt 13.0 is newer than the driver, which supports CUDA 12.4" in l for l in rows[0]["libraries"])'
	program gemm/efficiency cuda --shape n64 --type f32 --variant gemm
	cases "rows[0]['device'][0]['blas'].startswith('cuBLASLt 13.0.0')"
	cd "$BATS_TEST_TMPDIR"
	links some libcuda.so.1 libnvrtc.so.12 libcublasLt.so.13
	FAKE_DRIVER_VERSION=12040 drivers=$PWD/some program gemm/efficiency cuda --shape n64 --type f32 --variant gemm
	cannot_run gemm
	[[ $stderr == *'cuBLASLt 13.0 is newer than the driver'* || $stderr == *cublasLtCreate* ]] # this machine may have an older one
}

@test "a compiler that the user names comes before a newer one elsewhere" {
	cd "$BATS_TEST_TMPDIR"
	links drivers libcuda.so.1
	links named libnvrtc.so.12
	links found libnvrtc.so.13
	# shellcheck disable=SC2086 # TINY is a list of words
	GPUSIG_LIBRARIES=$PWD/named GPUSIG_PYTHON_LIBRARIES=$PWD/found CUDA_HOME='' drivers=$PWD/drivers program micro/latency cuda $TINY
	ran
	driver_text 'NVRTC 12.4'
}

# After program: the kernels are those of the build, or there are none and NVRTC's failure is told.
built_or_told() {
	if "$bin/micro/memory" --version | grep -q '^nvcc 1$'; then
		ran
		driver_text 'kernels compiled with the build'
	else
		[ "$status" != 0 ] && [[ $stderr == *NVRTC* ]]
	fi
}

@test "where no compiler serves the kernels are those of the build, and where it made none the first cause is told" {
	# shellcheck disable=SC2086 # TINY is a list of words
	FAKE_DRIVER_VERSION=11080 program micro/latency cuda $TINY
	built_or_told
	# shellcheck disable=SC2086
	FAKE_FAIL=nvrtcCompileProgram=6 program micro/latency cuda $TINY
	built_or_told
}

# compiles_nothing: program with every compiler failing; the kernels are a release's all the same.
compiles_nothing() {
	# shellcheck disable=SC2086 # TINY is a list of words
	FAKE_FAIL="$1CompileProgram=6" program micro/latency "$2" $TINY
	ran && driver_text "RTC"
}

@test "kernels that were compiled once are kept where the user says so, unless they are damaged" {
	export GPUSIG_KERNEL_CACHE=$BATS_TEST_TMPDIR/kernels
	for vendor in 'nvrtc cuda' 'hiprtc hip'; do
		rm -rf "$GPUSIG_KERNEL_CACHE"
		# shellcheck disable=SC2086
		program micro/latency "${vendor#* }" $TINY
		ran
		# shellcheck disable=SC2086
		compiles_nothing $vendor
		for entry in "$GPUSIG_KERNEL_CACHE"/*; do truncate -s -1 "$entry"; done
		# shellcheck disable=SC2086
		run ! compiles_nothing $vendor
	done
}

@test "programs of a run share compiled kernels, and the run leaves none behind" {
	cd "$BATS_TEST_TMPDIR"
	LD_LIBRARY_PATH=$(fakes) FAKE_COMPILED=$PWD/compiled GPUSIG_BIN=$bin run suite run --device cuda --headline \
		--only micro/launch --only micro/latency --budget 4s --out results
	echo "$output"
	ran
	[ "$(wc -l <compiled)" = 2 ] # and once before, to see that the device opens
	[ ! -e results/kernels ]
}

@test "the peak of narrow types is the fastest loop there is, and bounds GEMMs where it is known to reach what units can do" {
	bounds='[d.get("bound_name") for d in rows[1]["derived"] if d["name"] == "flop_rate" and d["variant"] == "gemm"]'
	program gemm/efficiency cuda --shape n64 --type bf16 --variant gemm,mma_peak,wgmma_peak
	skip_if_77
	cases '[v["name"] for v in rows[1]["variants"]] == ["gemm", "mma_peak", "wgmma_peak"] and rows[1]["check"]["status"] == "ok"' \
		"$bounds == ['measured peak']"
	rates='{d["variant"]: d["value"] for d in rows[1]["derived"] if d["name"] == "flop_rate" and "peak" in d["variant"]}'
	cases "{d['variant']: d['value'] for d in rows[1]['derived'] if d['name'] == 'peak_flop_rate'}.items() <= $rates.items()"
	program gemm/efficiency cuda --shape n64 --type bf16 --variant gemm,mma_peak
	cases "$bounds == [None]" \
		'[d["formula"] for d in rows[1]["derived"] if d["name"] == "fraction_of_peak"][0].endswith("which the units may exceed")'
	program gemm/efficiency hip --shape n64 --type bf16
	cases "$bounds == ['nominal'] and rows[1]['check']['status'] == 'ok'"
}

@test "the peak of i8 is in operations, as its GEMMs are" {
	local known='{(d["name"], d["variant"]): d for d in rows[1]["derived"]}'
	program gemm/efficiency cuda --shape n64 --type i8 --variant gemm,mma_peak,wgmma_peak
	skip_if_77
	cases 'rows[1]["check"]["status"] == "ok"' "not any('flop_rate' in d['name'] for d in rows[1]['derived'])" \
		"{d['unit'] for d in rows[1]['derived'] if 'op_rate' in d['name']} == {'op/s'}" \
		"(lambda k: k['op_rate', 'gemm']['bound'] == max(k['op_rate', v]['value'] for v in ('mma_peak', 'wgmma_peak')))($known)" \
		"(lambda k: k['op_rate', 'gemm']['bound_name'] == 'measured peak')($known)" \
		"(lambda k: [k[n]['value'] for n in k if n[0] == 'peak_op_rate'] == [k['op_rate', 'gemm']['bound']])($known)"
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/records"
	run "$TEST_PYTHON" "$root/tests/method/recompute.py" "$BATS_TEST_TMPDIR/records"
	[ "$status" = 0 ]
	[[ $output == *'bound of op_rate'* && $output != *'not recomputed: gemm'* ]]
	program gemm/efficiency hip --shape n64 --type i8
	cases "('op_rate', 'mma_peak') in $known and rows[1]['check']['status'] == 'ok'"
}

@test "records of programs on GPUs fit the schema, and say what the device is and how it is" {
	for device in cuda hip; do
		for name in micro/occupancy collectives/device_allreduce; do
			several=$("$bin/$name" --about | json 'rows[0]["min_devices"] == 1' || echo :0,1)
			program "$name" "$device$several" --budget 0.1s
			ran
			cases 'any(r["kind"] == "case" and r["status"] == "ok" for r in rows)' \
				"rows[0]['device'][0]['backend'] == '$device' and rows[0]['device'][0]['name'] == 'Fake GPU'" \
				'rows[0]["device"][0]["arch"].startswith(("sm_90", "gfx90a"))' \
				'rows[0]["device"][0]["driver"].startswith(("CUDA 13.0, NVRTC", "HIP 6.4.43482, HIPRTC"))' \
				'{"timer_step", "timer_offset_error", "power"} <= set(rows[0]["device"][0]["state"])'
			printf '%s\n' "$output" >>"$BATS_TEST_TMPDIR/records"
		done
	done
	fits_schema "$BATS_TEST_TMPDIR/records"
}

@test "a neighbour is a process of its own on the device, named by the driver" {
	for device in cuda hip; do
		program micro/neighbour "$device" --neighbour engine --type f32 --variant copy,copy_with_neighbour
		json '[(r["status"], r["check"]["status"], r["facts"]["neighbour_device"]) for r in cases] == [("ok", "ok", "Fake GPU, 0000:01:00.0")]' <<<"$output"
	done
}

# board DEVICE EXPRESSION...: of d, the device in the run record of a case that takes little.
board() {
	local device=$1
	shift
	# shellcheck disable=SC2086 # TINY is a list of options
	program micro/latency "$device" $TINY
	for expression in "$@"; do
		json "(lambda d: $expression)(rows[0]['device'][0])" <<<"$output"
	done
}

@test "a record says which board it was measured on: UUID, serial number, VBIOS" {
	board cuda:1 'd["uuid"] == "GPU-0fae0000-0000-4000-8000-000000000002"' 'd["serial"] == "1654720001002"' \
		'd["vbios"] == "96.00.00.00.01"' 'not {"uuid", "serial", "vbios"} & set(d["state"])'
	board hip:1 'd["uuid"] == "GPU-0fae000000000002"' 'd["serial"] == "PCB000002"' 'd["vbios"] == "113-FAKE-001"'
	board sim '[d["uuid"], d["serial"], d["vbios"]] == [None] * 3'
	board host '[d["uuid"], d["serial"], d["vbios"]] == [None] * 3'
}

@test "a board without a serial number has null, and the reason" {
	for device in cuda hip; do
		FAKE_SERIAL=none board $device 'd["serial"] is None' 'd["state"]["serial"]["reason"].startswith("not supported by this device")' \
			'd["uuid"].startswith("GPU-0fae0000")'
		printf '%s\n' "$output" >>"$BATS_TEST_TMPDIR/records"
	done
	fits_schema "$BATS_TEST_TMPDIR/records"
}

@test "without the management library the driver still gives the UUID, the same one" {
	FAKE_FAIL=nvmlInit_v2=9 board cuda:1 'd["uuid"] == "GPU-0fae0000-0000-4000-8000-000000000002"' \
		'd["serial"] is None and "nvmlInit_v2" in d["state"]["serial"]["reason"]' 'd["vbios"] is None'
	FAKE_FAIL=rsmi_init=8 board hip:1 'd["uuid"] == "GPU-0fae000000000002"' \
		'd["serial"] is None and "rsmi_init" in d["state"]["serial"]["reason"]'
	FAKE_FAIL=nvmlInit_v2=9,cuDeviceGetUuid_v2=1 board cuda 'd["uuid"] is None and d["state"]["uuid"]["reason"] != ""'
	FAKE_FAIL=rsmi_init=8,hipDeviceGetUuid=1 board hip 'd["uuid"] is None and d["state"]["uuid"]["reason"] != ""'
}

@test "GEMMs of the vendors' libraries are right" {
	for device in cuda hip; do
		program gemm/efficiency "$device" --shape n64 --type f32,bf16 --variant gemm
		ran
		cases "[r['check']['status'] for r in rows if r['kind'] == 'case'] == ['ok', 'ok']" \
			"rows[0]['device'][0]['blas'] != ''" \
			"all({'algorithm', 'algorithms_offered', 'algorithms_tried'} <= set(r['facts']) for r in rows if r['kind'] == 'case')"
	done
}

# With a library of AMD's in NVIDIA's folder, as the loader may find NVIDIA's own here.
@test "a library that only a package of Python has is found by a run, unless other folders are named" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p drivers path packages/nvidia/cu13/lib
	ln -s "$(fakes)"/lib* drivers/
	mv drivers/librocm_smi64.so.7 packages/nvidia/cu13/lib/
	printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$PWD/packages" "$(command -v python3)" >path/python3
	chmod +x path/python3
	unset GPUSIG_LIBRARIES
	for out in found missed; do
		[ $out = found ] || export GPUSIG_LIBRARIES=/dev/null/none
		PATH=$PWD/path:$PATH LD_LIBRARY_PATH=$PWD/drivers GPUSIG_BIN=$bin run suite run --device hip --headline \
			--only micro/latency --budget 1s --out $out
		echo "$output"
		ran
	done
	json 'rows[0]["device"][0]["state"]["driver"]["value"] == "6.10.fake"' <found/records.jsonl
	json 'rows[0]["device"][0]["state"]["driver"]["value"] != "6.10.fake"' <missed/records.jsonl # this machine's own, or none
}

@test "memory from one device to the other" {
	for device in cuda hip; do
		program micro/copy_path $device:0,1 --direction peer --size 4K,1M --path engine,kernel
		ran
		cases '[r["status"] for r in rows if r["kind"] == "case"] == ["ok", "ok"]' \
			'all(r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")'
	done
}

@test "copies are compared with the link that the driver tells, and with none where they need not take it" {
	local links='[(r["case"]["direction"], r["facts"].get("link"), r["facts"].get("link_limit_bytes_per_s", 0) // 1e6)
		for r in rows if r["kind"] == "case"]'
	for device in cuda hip; do
		FAKE_BOARD=coherent=0,pcie_width=16 program micro/copy_path $device:0,1 --direction up,down,peer --size 64K --path engine
		ran
		printf '%s\n' "$output" >>"$BATS_TEST_TMPDIR/records"
		case $device in
		cuda) cases "$links == [('up', 'PCIe 5 x16', 63015), ('down', 'PCIe 5 x16', 63015), ('peer', '4 NVLink 3.0', 103124)]" ;;
		hip) cases "$links == [('up', 'PCIe 4 x16', 31507), ('down', 'PCIe 4 x16', 31507), ('peer', 'xGMI', 100000)]" ;;
		esac
		program micro/copy_path $device --direction up,local --size 64K --path engine,kernel
		ran
		cases "[link for _, link, _ in $links] == [None, None]" \
			'none([d for r in cases for d in r["derived"] if d["name"] == "link_share" or d["bound"]])'
	done
	fits_schema "$BATS_TEST_TMPDIR/records"
}

@test "a driver that tells less than its link does makes no copy invalid" {
	FAKE_BOARD=coherent=0,pcie_generation=1,pcie_generation_max=1,pcie_width=1 program micro/copy_path cuda --direction up --size 1M --path engine \
		--min-samples 6 --max-samples 6
	ran
	cases '[r["facts"]["link_exceeded"][:4] for r in rows if r["kind"] == "case"] == ["yes:"]' \
		'none([d for r in cases for d in r["derived"] if d["name"] == "link_share" or d["share"] is not None])' \
		'none([f for r in cases for f in r["validity"]["flags"] if f["flag"] == "above_bound"])'
}

@test "what does not fit into a small memory is left out with the reason, the rest is measured" {
	FAKE_MEMORY_BYTES=$((16 << 20)) program micro/copy_path cuda --direction local --size 4K,64M,1M --path engine,kernel
	ran
	cases '{r["case"]["size"]: r["status"] for r in rows if r["kind"] == "case"} == {4096: "ok", 64 << 20: "skipped", 1 << 20: "ok"}' \
		'all("free memory" in r["reason"] for r in rows if r["kind"] == "case" and r["status"] == "skipped")'
}

@test "a function that fails once fails a case, with the driver's words, and the next one works" {
	local fault called
	for fault in cuMemAlloc_v2:2 gpusig_chase:3; do # the first allocation is the device's own
		called=${fault%%:*}
		called=${called/gpusig_chase/cuLaunchKernel}
		# shellcheck disable=SC2086 # SMALL is a list of words
		FAKE_FAIL=$fault=CUDA_ERROR_INVALID_VALUE program micro/latency cuda $SMALL
		[ "$status" = 1 ]
		[[ $stderr == *"$called: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)"* ]]
		cases '[r["status"] for r in rows if r["kind"] == "case"] == ["failed", "ok", "ok", "ok"]' \
			"'$called: invalid argument' in rows[1]['reason'] and rows[-1]['kind'] == 'end' and rows[-1]['exit'] == 1"
	done
}

@test "what fails while a device is opened is 1 with the driver's words, and no record" {
	for fault in cuLaunchKernel:1 cuStreamSynchronize:1 cuModuleLoadData; do
		FAKE_FAIL=$fault=1 program micro/memory cuda
		[ "$status" = 1 ]
		[ -z "$output" ]
		[[ $stderr == *"open cuda:0: ${fault%:1}: invalid argument"* ]]
	done
}

@test "a device that is lost is said once a case, with the first cause, and the program ends" {
	# shellcheck disable=SC2086 # SMALL is a list of words
	{
		FAKE_KERNEL_FAIL=gpusig_chase program micro/latency cuda $SMALL
		lost 'unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, 719)'
		FAKE_KERNEL_FAIL=gpusig_chase program micro/latency hip $SMALL
		lost 'unspecified launch failure (hipErrorLaunchFailure, 719)'
		FAKE_LOST=12 program micro/latency hip $SMALL
		lost '(hipErrorUnknown, 999)'
		FAKE_FAIL=gpusig_chase:3=700 program micro/latency cuda $SMALL
		lost 'cuLaunchKernel: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)'
		FAKE_FAIL=cuStreamSynchronize:9=719 program micro/latency cuda $SMALL
		lost 'cuStreamSynchronize: unspecified launch failure'
	}
}

# gates_of VARIANT...: what has lost its samples to a gate, and nothing else of the first case.
gates_of() {
	cases "[f['variant'] for f in rows[1]['validity']['flags'] if f['flag'] == 'gate'] == '$*'.split()" \
		"all('opened by its watchdog' in f['reason'] for f in rows[1]['validity']['flags'] if f['flag'] == 'gate')" \
		"not {v['name'] for v in rows[1]['variants']} & set('$*'.split()) and len(rows[1]['variants']) > 0" \
		"[d['variant'] for d in rows[1]['derived'] if d['value'] is None and not d['valid']] == '$*'.split()"
}

@test "launch finds how much a stream takes, and queues no more; its records fit the schema" {
	for device in cuda hip; do
		program micro/launch $device --variant enqueue,back_to_back,graph_launch,graph_enqueue
		ran
		cases 'rows[1]["facts"]["launches_queued_max"] == 504 and rows[1]["facts"]["graphs_queued_max"] == 8' \
			'rows[1]["validity"]["flags"] == [] or all(f["flag"] != "gate" for f in rows[1]["validity"]["flags"])' \
			'[v["name"] for v in rows[1]["variants"]] == ["enqueue", "back_to_back", "graph_launch", "graph_enqueue"]'
		printf '%s\n' "$output" >>"$BATS_TEST_TMPDIR/records"
	done
	fits_schema "$BATS_TEST_TMPDIR/records"
}

@test "with a queue that is shorter than the device says launch does not hang, and what does not fit is flagged" {
	FAKE_QUEUE=24 program micro/launch cuda \
		--variant enqueue,back_to_back,trigger,graph_launch,graph_round_trip,stream_hop
	ran
	gates_of stream_hop graph_launch
	cases 'rows[1]["facts"]["launches_queued_max"] == 8 and rows[1]["facts"]["graphs_queued_max"] == 0'
}

# Programs know no vendor: one of the two for each is enough.
@test "a pipeline's collectives are those of all devices, by kernels and by the vendor's library" {
	local rounds='--tile 64x64x32 --grid 3 --blocks 2 --mflop 1 --iterations 2' library
	library=$(printf ',library_%s' comm_alone serial overlap shaped priority shaped_priority)
	# shellcheck disable=SC2086 # a list of words
	program overlap/shaping cuda:0,1 --scenario mb-ar --shared 0,SHARED/2 $rounds --variant "serial,overlap$library"
	ran
	cases 'all(r["status"] == "ok" and r["check"]["status"] == "ok" for r in rows if r["kind"] == "case")' \
		'[sum(v["name"].startswith("library_") for v in r["variants"]) for r in rows if r["kind"] == "case"] == [4, 6]' \
		'all(m["observed"] for r in rows if r["kind"] == "case" for m in r["mechanism"])'
	# shellcheck disable=SC2086
	program overlap/shaping hip:0,1 --scenario mb-a2a --shared 0 $rounds --variant serial,overlap,library_serial,library_overlap
	ran
	cases '[(r["status"], r["check"]["status"], r["facts"]["library"]) for r in rows if r["kind"] == "case"] == [("ok", "ok", "RCCL 2.28.9")]' \
		'"library_overlap" in [v["name"] for v in rows[1]["variants"]]' \
		'all(m["observed"] for m in rows[1]["mechanism"])'
}

@test "serial with the vendor's collective computes what serial with copies does, and is a second baseline" {
	FAKE_GPUS=3 program overlap/ficco hip:0-2 --op ag-gemm,gemm-rs,a2a-gemm,gemm-ar,a2a-gemm-uneven --shape 96x32x32 --type f32 \
		--copy-method engine --schedule serial,shard,serial-library
	ran
	cases '[(r["status"], r["check"]["status"]) for r in rows if r["kind"] == "case"] == 5 * [("ok", "ok")]' \
		'[r["facts"]["skipped"] for r in rows if r["kind"] == "case"] == ["", "", "", "", "serial-library"]' \
		'all({"serial-library", "communication-library"} <= {v["name"] for v in r["variants"]} for r in rows[1:5])' \
		'all(sorted(d["variant"] for d in r["derived"] if d["name"] == "S_library") == ["serial", "shard"] for r in rows[1:5])' \
		'"groups of unequal size" in rows[5]["facts"]["skipped_why"]'
	FAKE_GPUS=3 program overlap/ficco cuda:0-2 --op gemm-rs,gemm-ar --shape 96x64x64 --type bf16 --copy-method engine \
		--schedule serial,shard,serial-library
	ran
	cases '[(r["status"], r["check"]["status"], r["facts"]["skipped"]) for r in rows if r["kind"] == "case"] == 2 * [("ok", "ok", "serial-library")]' \
		'all("collectives add f32 here" in r["facts"]["skipped_why"] for r in rows if r["kind"] == "case")'
}

@test "few rows are cut by columns, and the vendor's collective does the same" {
	for device in cuda hip; do
		FAKE_GPUS=3 program overlap/ficco $device:0-2 --op gemm-rs,gemm-ar --cut columns --shape 8x192x64 --type f32 \
			--copy-method engine --schedule serial,shard,serial-library
		ran
		cases '[(r["status"], r["check"]["status"], r["facts"]["skipped"]) for r in rows if r["kind"] == "case"] == 2 * [("ok", "ok", "")]'
	done
}

@test "every collective of the vendor's library is measured beside our schedules, and checked" {
	for device in cuda hip; do
		[ "$device" = cuda ] && library=NCCL || library=RCCL
		for name in allreduce:ring allgather:ring reduce_scatter:ring all_to_all:pairwise; do
			program "collectives/device_${name%:*}" "$device:0,1" --size 64K --algorithm "${name#*:},library"
			ran
			cases '[(r["status"], r["check"]["status"], r["facts"]["library"], r["facts"]["skipped"], [v["name"] for v in r["variants"]])
				for r in rows if r["kind"] == "case"] == [("ok", "ok", "'"$library"' 2.28.9", "", ["'"${name#*:}"'", "library"])]' \
				'"library_time_ratio" in [d["name"] for d in rows[1]["derived"]]'
		done
	done
}

@test "nor do programs of several streams and devices" {
	FAKE_QUEUE=24 program overlap/trigger cuda --type f32 --shape 2048x128x64 --direction down --bands 16 --variant gemm_tiled,split,triggered
	ran
	gates_of split triggered
	FAKE_QUEUE=6 program collectives/device_allreduce hip:0,1 --size 4K --algorithm library,ring,bruck
	ran
	gates_of ring bruck
}

@test "a board at its power limit is no throttled one, a hot one is, and reasons may be unknown" {
	throttled() { cases "[f['reason'] for r in rows if r['kind'] == 'case' for f in r['validity']['flags'] if f['flag'] == 'throttled'] $1"; }
	QUICK="$QUICK --warm-up 1"
	FAKE_CLOCK_REASONS=0x15 program micro/latency cuda --footprint 64K
	ran
	throttled '== []'
	cases "rows[1]['state']['clock_reason']['value'] == 'power cap, sync boost'"
	FAKE_CLOCK_REASONS=0x24 program micro/latency cuda --footprint 64K
	throttled "== ['thermal slowdown']"
	FAKE_THERMAL_NS=60000000000 program micro/latency cuda --footprint 64K
	throttled "!= [] and 'thermal throttling in 60 s' in rows[1]['validity']['flags'][0]['reason']"
	FAKE_FAIL=nvmlDeviceGetCurrentClocksEventReasons=3 program micro/latency cuda --footprint 64K
	ran
	cases "rows[1]['state']['throttle']['value'] is None"
}

@test "the last cache of an AMD GPU is what the kernel's files say, and the L2 without them" {
	gpu=$BATS_TEST_TMPDIR/nodes/0
	mkdir -p "$gpu/caches/0" "$gpu/caches/1"
	printf 'simd_count 1216\nlocation_id 256\ndomain 0\nnum_xcc 8\n' >"$gpu/properties"
	printf 'level 2\nsize 4096\ntype 9\n' >"$gpu/caches/0/properties"
	printf 'level 3\nsize 65536\ntype 9\n' >"$gpu/caches/1/properties"
	GPUSIG_KFD_TOPOLOGY=$BATS_TEST_TMPDIR program micro/latency hip --footprint 64K
	cases "rows[0]['device'][0]['llc_bytes'] == 64 << 20"
	GPUSIG_KFD_TOPOLOGY=/dev/null/none program micro/latency hip --footprint 64K
	cases "rows[0]['device'][0]['llc_bytes'] == 1 << 20"
}

@test "where a waiting stream holds a slot, the device and the records of what waits say so" {
	for device in cuda hip; do
		program overlap/trigger "$device" --shape 512x256x16 --bands 4 --direction down --copy-method engine --variant triggered
		ran
		cases "('value_in_queue' in rows[0]['device'][0]['capabilities']) == ('$device' == 'cuda')" \
			"('waits' in rows[1]['facts']) == ('$device' == 'hip')"
	done
}

@test "where the last band is short, the mechanism of trigger's engine is verified within the memory of one band" {
	for device in cuda hip; do
		program overlap/trigger "$device:0,1" --shape 258x64x16 --bands 2 --direction exchange --copy-method engine --variant send_alone,triggered
		ran
		cases "rows[1]['status'] == 'ok' and rows[1]['facts']['band_rows'] == 256 and rows[1]['facts']['bands_sent'] == 2"
	done
}

@test "tiles are stored and added where they are sent, and a ring reduces by trigger, where the board's links allow it" {
	measured() { cases "[v['name'] for v in rows[1]['variants']] == $1" "rows[1]['check']['status'] == 'ok'"; }
	for device in cuda hip; do
		program overlap/trigger "$device" --shape 256x64x16 --bands 2 --direction down --copy-method engine --variant remote_store,triggered
		ran
		measured "['triggered', 'remote_store']"
		FAKE_BOARD=peer_atomics=1 program overlap/trigger "$device:0,1" --shape 512x64x16 --bands 4 --direction peer,ring \
			--copy-method engine --variant triggered,triggered_staggered,remote_store,remote_add
		ran
		cases "all(r['status'] == 'ok' and r['check']['status'] == 'ok' for r in rows if r['kind'] == 'case')" \
			"all(('remote_add' in [v['name'] for v in r['variants']]) == ('$device' == 'cuda') for r in rows if r['kind'] == 'case')" \
			"['triggered_staggered' in [v['name'] for v in r['variants']] for r in rows if r['kind'] == 'case'] == [False, True]"
	done
}

@test "an engine's copies are verified at their own sizes: those that AMD's runtime gives to a kernel are flagged, no others" {
	# kernels_at SIZE...: after program, the sizes of copies for which units were needed.
	kernels_at() {
		cases "sorted({int(m['detail'].split('copy of ')[1].split()[0]) for r in rows if r['kind'] == 'case'
			for m in r['mechanism'] if not m['observed']}) == [$1]"
	}
	local peer='--direction peer --size 64K,4M --path engine,both_ways,engine_split_16'
	# shellcheck disable=SC2086 # peer is a list of words
	program micro/copy_path hip:0,1 $peer
	ran
	kernels_at ''
	cases "all(rows[0]['provenance']['environment'][name] == '0' for name in ('ROC_P2P_SDMA_SIZE', 'GPU_FORCE_BLIT_COPY_SIZE', 'DEBUG_HIP_DYNAMIC_QUEUES'))"
	# shellcheck disable=SC2086
	ROC_P2P_SDMA_SIZE=1024 program micro/copy_path hip:0,1 $peer
	kernels_at '4096, 65536, 262144'
	cases "rows[0]['provenance']['environment']['ROC_P2P_SDMA_SIZE'] == '1024'" \
		"[f['variant'] for f in rows[2]['validity']['flags'] if f['flag'] == 'mechanism'] == ['engine_split_16']"
	ROC_P2P_SDMA_SIZE=1024 program micro/peer_matrix hip:0,1 --route '0>1' --size 4M --path engine,engine_round_trip
	kernels_at '4096'
	ROC_P2P_SDMA_SIZE=1024 program collectives/device_allreduce hip:0,1 --size 64K,8M --algorithm ring
	kernels_at '32768'
	# A device's own part stays in its memory; those of the others are what takes the time.
	ROC_P2P_SDMA_SIZE=1024 program collectives/device_all_to_all hip:0,1 --size 1M,8M --algorithm pairwise
	kernels_at '524288'
	FAKE_DRIVER_VERSION=70000000 GPU_FORCE_BLIT_COPY_SIZE=16 program micro/copy_path hip --direction up,down --size 16K,32K --path engine
	kernels_at '16384'
	FAKE_DRIVER_VERSION=70000000 program micro/copy_path hip --direction up,down --size 16K,32K --path engine
	kernels_at ''
}

@test "where no engine copies within a device, what is about such a copy is left out with the reason, and all else is measured" {
	local why='no copy engine copies within this device: the copy waited for free units'
	# without VARIANTS: the one case lacks them alone, and nothing is flagged.
	without() {
		ran
		cases "[(r['status'], r['facts']['not_measured']) for r in rows if r['kind'] == 'case'] == [('ok', '$1: $why')]" \
			"none([f for r in rows if r['kind'] == 'case' for f in r['validity']['flags'] if f['flag'] == 'mechanism'])"
	}
	program micro/copy_path cuda --direction local --size 64K
	without 'engine, both_ways, engine_split_4, engine_split_16, engine_round_trip'
	program micro/reduce cuda --direction local --size 64K
	without 'engine_staged, engine_staged_16'
	program overlap/trigger cuda --direction local --shape 256x64x16 --bands 2
	without 'split, triggered, copy_then_add'
	# Nothing but such a copy: the case is skipped, and a headline number is none of this machine's.
	program overlap/pair cuda --transfer local --copy-method engine --shape n64 --mflop 1
	[ "$status" = 77 ]
	cases "[(r['status'], r['reason']) for r in rows if r['kind'] == 'case'] == [('skipped', '$why')]"
	program micro/contention cuda --pair engine+gemm
	[ "$status" = 77 ]
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/records.jsonl"
	"$root/gpusig" report --no-install "$BATS_TEST_TMPDIR" || true # nothing valid was measured
	json "[e['reason'] for e in rows[0]['primary_missing'] if e['metric'] == 'cil_gemm_with_local_engine'] == ['$why']" \
		< <(tr -d '\n' <"$BATS_TEST_TMPDIR/signature.json")
	# A device whose engines do: the mechanism tells.
	program micro/copy_path hip --direction local --size 64K --path engine
	ran
	cases "[m['observed'] for m in rows[1]['mechanism']] == [True]"
}

@test "where the user leaves fewer queues than programs have streams, cases with several streams are flagged" {
	# flagged True|False: after program, whether all of its cases are flagged.
	flagged() { cases "[any(f['flag'] == 'queues' for f in r['validity']['flags']) for r in rows if r['kind'] == 'case'] == [$1]"; }
	local copies='--direction up --size 64K --path engine'
	for limit in 'cuda CUDA_DEVICE_MAX_CONNECTIONS' 'hip GPU_MAX_HW_QUEUES'; do
		(
			export "${limit#* }=7"
			program micro/peer_matrix "${limit% *}:0,1" --route '0>1' --size 64K --path engine
			flagged True
			cases "any(f['reason'].endswith(' 7 queues for all streams') for f in rows[1]['validity']['flags'])"
			# shellcheck disable=SC2086 # TINY is a list of words
			program micro/latency "${limit% *}" $TINY
			flagged False
			export "${limit#* }=8"
			# shellcheck disable=SC2086 # copies is a list of words
			program micro/copy_path "${limit% *}" $copies
			flagged False
		)
	done
}

@test "a driver that refuses batches of copies is asked once for each direction" {
	# The second rule counts from the call after the first one's: a second batch fails the case.
	FAKE_FAIL=cuMemcpyBatchAsync_v2:1=801,cuMemcpyBatchAsync_v2:1=226 \
		program micro/copy_path cuda --direction local --size 64K --path engine,kernel
	ran
	cases "rows[1]['status'] == 'ok'"
}
