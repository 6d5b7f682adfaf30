#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# build.sh [MAKE ARGUMENTS]: run make with short output. The output of make is kept in build/make.log.
set -u

say() { echo "gpusig: $*" >&2; }

if [ ! -w . ] || ! command -v make >/dev/null || ! command -v "${CC:-cc}" >/dev/null; then
	[ -d bin ] || { say "nothing is built, and it cannot be built here" && exit 77; }
	say "using the programs as they were built"
	exit 0
fi

mkdir -p build || exit 1
[ -d bin ] || say "building, with $(nproc 2>/dev/null || echo 1) jobs"
if make -j"$(nproc 2>/dev/null || echo 1)" "$@" >build/make.log 2>&1; then
	grep '^skip: ' build/make.log | while read -r line; do say "$line"; done
	exit 0
fi
say "the build failed; the end of build/make.log:"
tail -n 30 build/make.log >&2
exit 1
