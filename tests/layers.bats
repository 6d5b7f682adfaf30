#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The rules of tests/lint/layers.py hold, and each of them catches what it is for.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

layers() { "$(sh "$root/suite/find_python.sh" --any)" "$root/tests/lint/layers.py" "$@"; }

# catches RULE FILE TEXT: a tree with this file breaks the rule, and the message names the file and a line.
catches() {
	mkdir -p "$BATS_TEST_TMPDIR/tree/$(dirname "$2")"
	printf '%b\n' "$3" >"$BATS_TEST_TMPDIR/tree/$2"
	run layers --root "$BATS_TEST_TMPDIR/tree" "$1"
	rm -r "$BATS_TEST_TMPDIR/tree"
	echo "$1: $output"
	[ "$status" = 1 ]
	[[ $output == "$2":[0-9]*:*"$1"* ]]
}

# allows RULE FILE TEXT: the same, and no breach.
allows() {
	mkdir -p "$BATS_TEST_TMPDIR/tree/$(dirname "$2")"
	printf '%b\n' "$3" >"$BATS_TEST_TMPDIR/tree/$2"
	run layers --root "$BATS_TEST_TMPDIR/tree" "$1"
	rm -r "$BATS_TEST_TMPDIR/tree"
	echo "$1: $output"
	[ "$status" = 0 ]
}

@test "the tree keeps every rule" {
	run layers
	echo "$output"
	[ "$status" = 0 ]
}

@test "an unknown rule is 2 and the rules are named" {
	run layers no-such-rule
	[ "$status" = 2 ]
	[[ $output == *no-vendors* ]]
}

@test "dependencies that point up or sideways are caught" {
	catches layers lib/stats.c '#include "device/dev.h"'
	catches layers lib/stats.c '#include "bench/axis.h"'
	catches layers advise/advise.c '#include "lib/json.h"'
	catches layers device/dev.c '#include "device/host/host.h"'
	catches layers device/host/host.c '#include "bench/bench.h"'
	catches layers device/host/host.c '#include "device/gpu/gpu.h"'
	catches layers device/gpu/gpu.c '#include "device/gpu/cuda/cuda_abi.h"'
	catches layers device/gpu/cuda/cuda.c '#include "device/gpu/hip/hip_abi.h"'
	catches layers bench/bench.c '#include "micro/launch/depth.h"'
	catches layers bench/bench.c '#include "device/sim/sim.h"'
	catches layers micro/a.c '#include "gemm/b.h"'
	catches layers micro/a.c '#include "device/sim/sim.h"'
	catches layers overlap/ficco/a.c '#include "tests/x.h"'
	catches layers device/gpu/kernels/a.inc '#include "tests/x.h"'
	catches layers topology/a.c '#include "collectives/mpi.h"'
	catches layers collectives/schedules/a.c '#include "bench/bench.h"'
	allows layers bench/bench_run.h '#include "device/dev.h"'
	allows layers device/host/host.c '#include "lib/err.h"\n#include "device/host/host.h"\n#include <stdio.h>'
	allows layers device/gpu/cuda/cuda.c '#include "device/gpu/gpu.h"\n#include "device/gpu/cuda/cuda_abi.h"'
	allows layers topology/torus.c '#include "collectives/schedules/ring.h"'
	allows layers micro/launch/a.c '#include "micro/launch/b.h"\n#include "bench/bench.h"'
	catches driver-needs-nothing suite/a.py 'import numpy'
	allows driver-needs-nothing suite/a.py 'import json\nfrom suite import plan'
}

@test "machine differences in program folders are caught" {
	catches no-conditionals micro/a.c '#if HAVE_X'
	catches no-conditionals micro/a.c '#ifdef __linux__'
	catches no-vendors lib/a.c 'int cuda_devices;'
	catches no-vendors gemm/a.c '/* text */ const char *x = "NVIDIA";'
	allows no-conditionals overlap/ficco/a.h '#ifndef A_H'
	allows no-vendors lib/a.c 'int chips; double ship;'
}

@test "writing, leaving, unsafe calls and foreign clocks are caught" {
	catches three-writers lib/stats.c '\tfprintf(stderr, "x");'
	catches three-writers micro/a.c '\texit(1);'
	allows three-writers lib/stats.c '\tsnprintf(text, sizeof(text), "x"); /* not printf("x") */'
	allows three-writers bench/out.c '\tprintf("x");'
	catches no-unsafe-calls lib/a.c '\tint n = atoi(text);'
	catches no-unsafe-calls device/a.c '\tsprintf(text, "x");'
	allows no-unsafe-calls lib/a.c '\tsnprintf(text, 3, "x");'
	catches no-shell micro/a.c '\tFILE *f = popen("x", "r");'
	catches no-unseeded-random micro/a.c '\tint n = rand();'
	catches no-wall-clock-timing micro/a.c '\tclock_gettime(CLOCK_REALTIME, &t);'
}

@test "what is too long is caught" {
	long=$(printf '\\tx = 1;\\n%.0s' $(seq 46))
	catches function-size lib/a.c "int f(void)\n{\n$long}"
	catches program-size micro/a.c "$(printf '/* */\\n%.0s' $(seq 291))"
	catches file-size device/a.c "$(printf '/* */\\n%.0s' $(seq 481))"
	allows program-size collectives/schedules/a.c "$(printf '/* */\\n%.0s' $(seq 291))"
	catches python-function-size suite/a.py "def f():\n$(printf '    pass\\n%.0s' $(seq 60))"
	catches python-file-size suite/a.py "$(printf '#\\n%.0s' $(seq 401))"
	catches c-line-length lib/a.c "/* $(printf 'x%.0s' $(seq 95)) */"
	allows c-line-length lib/a.c "/* $(printf 'x%.0s' $(seq 94)) */"
	catches c-line-length lib/a.c "\\t/* $(printf 'x%.0s' $(seq 87)) */"
	catches line-length suite/a.py "# $(printf 'x%.0s' $(seq 129))"
}

@test "a folder with too many sources is caught" {
	mkdir -p "$BATS_TEST_TMPDIR/many/device/gpu/cuda" "$BATS_TEST_TMPDIR/many/bench"
	(cd "$BATS_TEST_TMPDIR/many" && touch bench/a{1..35}.c device/gpu/cuda/a{1..10}.c)
	run layers --root "$BATS_TEST_TMPDIR/many" folder-size vendor-folder-size
	[ "$status" = 0 ]
	(cd "$BATS_TEST_TMPDIR/many" && touch bench/b.h device/gpu/cuda/b.h)
	run layers --root "$BATS_TEST_TMPDIR/many" folder-size vendor-folder-size
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *"bench:1: 36 files"* && $output == *"device/gpu/cuda:1: 11 files"* ]]
}

@test "bare names of functions and words that are not the field's are caught" {
	catches function-names device/a.c 'static int kick(void)\n{\n}'
	catches function-names device/a.c 'static struct dev *\nfind(const struct a *x,\n     int (*f)(void))\n{\n}'
	catches function-names device/a.c 'static __attribute__((noinline)) void run(int a) { work(a); }'
	allows function-names device/a.c 'static int start_ready_copies(void)\n{\n}'
	allows function-names micro/a.c 'static int setup(struct bench_case *c)\n{\n}\nint run(void) { return 0; }'
	allows function-names micro/a.c 'static int kick(void);\nstatic int (*run)(void) = start_all;'
	catches include-order lib/a.c '#include <stdio.h>\n#include "lib/a.h"'
	catches include-order lib/a.c '#include "lib/b.h"\n#include "lib/a.h"'
	catches include-order lib/a.h '#include "lib/b.h"\n#include <stdio.h>'
	allows include-order lib/b.c '#include "lib/b.h"\n#include "lib/a.h"\n\n#include <errno.h>\n#include <stdio.h>\n\nint x;'
	catches words lib/a.c 'int crew_size;'
	catches words lib/a.c 'const char *text = "which mover?";'
	catches words suite/a.py 'mover = 1'
	allows words lib/a.c '/* a crew of devices */ int comm_size;'
	run grep -c '^| [^-]* | [^-]* | .* |$' "$root/CONTRIBUTING.md"
	[ "$output" -gt 20 ] && [ "$output" -le 61 ]
}

# Releases of clang-format differ in details. The tree follows that of Debian 12.
@test "C sources are formatted as .clang-format says" {
	[[ $(clang-format --version 2>/dev/null) == *" version 14."* ]] || skip "clang-format 14 is not installed"
	cd "$root"
	run make --no-print-directory format-check
	echo "$output"
	[ "$status" = 0 ]
}

@test "missing licence lines and guards, empty names and stray blanks are caught" {
	catches spdx lib/a.c 'int x;'
	catches file-names lib/utils.c ''
	catches file-names suite/common.py ''
	catches include-guard lib/a.h 'int x;'
	catches no-trailing-blanks lib/a.c 'int x; '
	allows spdx lib/a.c '/* SPDX-License-Identifier: BSD-3-Clause */'
	allows file-names lib/unused.c ''
}
