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
	catches lib-below-device lib/stats.c '#include "device/dev.h"'
	catches device-below-lib device/host.c '#include "lib/bench.h"'
	catches programs-apart micro/a.c '#include "gemm/b.h"'
	catches programs-apart overlap/graph/a.c '#include "tests/x.h"'
	catches programs-apart topology/a.c '#include "collectives/mpi.h"'
	allows lib-below-device lib/bench_run.h '#include "device/dev.h"'
	allows device-below-lib device/host.c '#include "lib/err.h"\n#include <stdio.h>'
	allows programs-apart topology/torus.c '#include "collectives/schedules/ring.h"'
	catches driver-needs-nothing suite/a.py 'import numpy'
	allows driver-needs-nothing suite/a.py 'import json\nfrom suite import plan'
}

@test "machine differences in program folders are caught" {
	catches no-conditionals micro/a.c '#if HAVE_X'
	catches no-conditionals micro/a.c '#ifdef __linux__'
	catches no-vendors lib/a.c 'int cuda_devices;'
	catches no-vendors gemm/a.c '/* text */ const char *x = "NVIDIA";'
	allows no-conditionals overlap/graph/a.h '#ifndef A_H'
	allows no-vendors lib/a.c 'int chips; double ship;'
}

@test "writing, leaving, unsafe calls and foreign clocks are caught" {
	catches three-writers lib/stats.c '\tfprintf(stderr, "x");'
	catches three-writers micro/a.c '\texit(1);'
	allows three-writers lib/stats.c '\tsnprintf(text, sizeof(text), "x"); /* not printf("x") */'
	allows three-writers lib/out.c '\tprintf("x");'
	catches no-unsafe-calls lib/a.c '\tint n = atoi(text);'
	catches no-unsafe-calls device/a.c '\tsprintf(text, "x");'
	allows no-unsafe-calls lib/a.c '\tsnprintf(text, 3, "x");'
	catches no-shell micro/a.c '\tFILE *f = popen("x", "r");'
	catches no-unseeded-random micro/a.c '\tint n = rand();'
	catches no-wall-clock-timing micro/a.c '\tclock_gettime(CLOCK_REALTIME, &t);'
}

@test "what is too long is caught" {
	long=$(printf '\\tx = 1;\\n%.0s' $(seq 61))
	catches function-size lib/a.c "int f(void)\n{\n$long}"
	catches program-size micro/a.c "$(printf '/* */\\n%.0s' $(seq 251))"
	catches file-size device/a.c "$(printf '/* */\\n%.0s' $(seq 501))"
	allows program-size collectives/schedules/a.c "$(printf '/* */\\n%.0s' $(seq 251))"
	catches python-function-size suite/a.py "def f():\n$(printf '    pass\\n%.0s' $(seq 60))"
	catches python-file-size suite/a.py "$(printf '#\\n%.0s' $(seq 401))"
	catches line-length lib/a.c "/* $(printf 'x%.0s' $(seq 130)) */"
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
