#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pack.sh [OUT_DIR]
#
# Pack what check.sh needs on a machine that has no compiler, make, git, MPI or
# hwloc, in one folder (build/hardware) and as OUT_DIR.tar.gz: programs and
# conformance tests, stripped and without MPI and hwloc, the peers that are
# built, ./gpusig with suite/ and reports/, and packed.txt, which says what they
# are and the oldest C library they run with. OUT_DIR/tests/hardware/check.sh
# starts it.
#
# NVCC_ARCH=sm_90 builds the peers, where nvcc is. Files in build/carry, such as
# nvbandwidth, are taken as peers.
#
# Exit codes: 0 ok, 1 above 64 MiB, or OUT_DIR is something else, 2 wrong usage.
set -u

# The comment above is the help.
case ${1-} in
-h | --help) sed -n '3s/^#/usage:/p; 4,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
-*) echo "pack.sh: unknown option '$1'; see pack.sh --help" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { echo "pack.sh: one folder, not also '$2'; see pack.sh --help" >&2 && exit 2; }

most_bytes=67108864
cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.." || exit 1
out=${1:-build/hardware}
if [ -e "$out" ] && [ ! -f "$out/packed.txt" ]; then
	echo "pack.sh: $out is here and was not made by pack.sh" >&2
	exit 1
fi

with_make() { ${MAKE:-make} --no-print-directory HAVE_MPI=0 HAVE_HWLOC=0 LINK=build/without-bin "$@"; }
build=$(with_make -s config | sed -n 's/^build //p')
asked=$(for source in tests/hardware/*.c; do echo "$build/${source%.c}"; done)
# shellcheck disable=SC2086 # a list of words
with_make -j"$(nproc)" all units 'UNITS=conformance*' $asked || exit
[ -z "${NVCC_ARCH-}" ] || with_make -j"$(nproc)" gpu-peers "NVCC_ARCH=$NVCC_ARCH" || exit

copy() { # TO FILE...: those that are files
	mkdir -p "$out/$1" || exit
	to=$out/$1
	shift
	for file; do
		[ ! -f "$file" ] || cp -L "$file" "$to/" || exit
	done
}

rm -rf "$out" "$out.tar.gz"
for folder in "$build"/bin/*/; do
	copy "bin/$(basename "$folder")" "$folder"*
done
copy bin "$build"/bin/*.so
copy tests/unit "$build"/tests/unit/conformance*
copy tests/hardware "$build"/tests/hardware/* tests/hardware/check.sh tests/hardware/spread.py \
	tests/hardware/expectations.py tests/hardware/README.md
copy docs docs/BACKENDS.md
copy tests/peers tests/peers/*.py
copy gpu-peers "$build"/gpu-peers/* build/carry/*
copy . gpusig LICENSE
cp -R suite reports "$out/" || exit
find "$out" -name __pycache__ -prune -exec rm -r {} +
find "$out/bin" "$out/tests" -name '*.d' -exec rm {} +

binaries() { find "$out/bin" "$out/tests/unit" "$out/tests/hardware" -type f -perm -u+x ! -name '*.sh' ! -name '*.py'; }
binaries | xargs strip 2>/dev/null
glibc=$(binaries | xargs objdump -T 2>/dev/null | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -n 1)
{
	with_make -s config | sed 's/^build .*/build ./'
	echo "glibc ${glibc:-unknown}"
	echo "machine $(uname -m)"
} >"$out/packed.txt"
tar -C "$out" -czf "$out.tar.gz" . || exit

bytes=$(du -sb "$out" | cut -f 1)
peers=$(find "$out/gpu-peers" -type f -exec basename {} \; | sort | paste -sd ' ')
echo "$out: $((bytes >> 20)) MiB, $(($(wc -c <"$out.tar.gz") >> 20)) MiB as archive;" \
	"$(sed -n 's/^version //p' "$out/packed.txt"), glibc ${glibc:-unknown} or later, peers: ${peers:-none}"
if [ "$bytes" -gt "$most_bytes" ]; then
	echo "pack.sh: more than 64 MiB" >&2
	exit 1
fi
