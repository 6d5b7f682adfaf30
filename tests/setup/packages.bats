#!/usr/bin/env bats
# bats file_tags=lab
# SPDX-License-Identifier: BSD-3-Clause
# The Debian package and the container, built and used for real: with GPUSIG_TEST_PACKAGES=1, as they take minutes, and skipped where
# their tools are not here.
#
# A root of a smallest Debian, for the package to be installed in and the container to start from, needs root and debootstrap.
# GPUSIG_TEST_BASE names another base image of the container, which buildah has or can pull.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# These run one after the other, for the second test installs what the first built.
setup_file() {
	[ "${GPUSIG_TEST_PACKAGES:-0}" = 1 ] || return 0
	local root=${BATS_TEST_DIRNAME%/tests/*}
	folder=$(mktemp -d "${TMPDIR:-/tmp}/gpusig-packages.XXXXXX")
	export folder
	git clone -q "$root" "$folder/gpusig" || return
	# With what was not committed yet.
	(cd "$root" && git ls-files -z -co --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T -) | tar -x -C "$folder/gpusig"
}

teardown_file() { [ -z "${folder:-}" ] || rm -rf --one-file-system "$folder"; }

setup() {
	[ "${GPUSIG_TEST_PACKAGES:-0}" = 1 ] || skip 'takes minutes: only with GPUSIG_TEST_PACKAGES=1'
	command -v git >/dev/null || skip 'git is not installed'
	cd "$folder/gpusig" || return 1
}

# in_debian COMMAND...: in the root $folder/debian, which is made at the first call.
in_debian() {
	[ "$(id -u)" = 0 ] || skip 'a fresh Debian is made by root alone'
	command -v debootstrap >/dev/null || skip 'debootstrap is not installed'
	mkdir -p "$folder/debian"
	printf '#!/bin/sh\nset -e\n%s\ntouch /done\n' "$*" >"$folder/step"
	[ ! -d "$folder/debian/usr" ] || install "$folder/step" "$folder/debian/step"
	rm -f "$folder/debian/done"
	FRESH_STEPS=${FRESH_STEPS-/step} tests/fresh/debootstrap.sh --keep "$folder/debian"
	[ "${FRESH_STEPS-}" = true ] || [ -e "$folder/debian/done" ]
}

@test "dpkg-buildpackage makes a package that runs, of the version of the commit, without a word of lintian" {
	command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || skip 'dpkg-buildpackage and debhelper are not installed'
	run dpkg-checkbuilddeps
	[ "$status" = 0 ] || skip "$output"
	dpkg-buildpackage -us -uc -b >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" && return 1; }
	[ "$(grep -c 'lib/provenance\.c' "$folder/log")" = 1 ] # nothing is built twice
	package=$(echo "$folder"/gpusig_*.deb)
	[ "$(dpkg-deb -f "$package" Version)" = "$(sh suite/setup/version.sh)" ]
	dpkg-deb -x "$package" "$folder/there"
	cd "$folder"
	GPUSIG_PYTHON=$TEST_PYTHON "$folder/there/usr/bin/gpusig" run --device sim:h100 --budget 3s --only micro/copy_path --out results
	[ -s results/signature.json ]
	[ -f "$folder/there/usr/share/man/man1/gpusig-run.1.gz" ]
	run ! grep -rlF "$folder" "$folder/there"
	command -v lintian >/dev/null || skip 'built, but lintian is not installed'
	run lintian --allow-root --info --pedantic --display-info "$folder"/gpusig_*.changes
	[[ $output != *[EWIP]': gpusig'* ]]
}

@test "the package is installed in a fresh Debian, and its gpusig runs there as nobody" {
	package=$(echo "$folder"/gpusig_*.deb)
	[ -f "$package" ] || skip 'no package was built'
	FRESH_STEPS=true in_debian
	cp "$package" "$folder/debian/gpusig.deb"
	in_debian 'export DEBIAN_FRONTEND=noninteractive; apt-get -q update; apt-get -q install -y --no-install-recommends /gpusig.deb python3-jinja2
		cd /tmp; chmod 1777 .; find /usr -newer /step ! -type d >/tmp/before
		setpriv --reuid=65534 --clear-groups gpusig run --device sim:h100:0,1 --budget 5s --only micro/copy_path --only gemm/efficiency --out a
		setpriv --reuid=65534 --clear-groups gpusig report a
		test -s a/report.html; if command -v cc || command -v make; then exit 1; fi
		gpusig list; find /usr -newer /step ! -type d | diff /tmp/before -
		apt-get -q purge -y gpusig; test ! -e /usr/lib/gpusig'
}

@test "the container is built and run" {
	command -v buildah >/dev/null || skip 'buildah is not installed'
	local tool=(buildah --root "$folder/storage" --runroot "$folder/running" --storage-driver vfs)
	base=${GPUSIG_TEST_BASE:-}
	if [ -z "$base" ]; then
		FRESH_STEPS=true in_debian
		rm -rf "$folder/debian/root/gpusig"
		tar -C "$folder/debian" -cf "$folder/debian.tar" .
		container=$("${tool[@]}" from scratch)
		"${tool[@]}" add "$container" "$folder/debian.tar" / >/dev/null
		"${tool[@]}" commit -q "$container" localhost/debian
		base=localhost/debian
	fi
	"${tool[@]}" bud --isolation=chroot --build-arg "BASE=$base" -t gpusig -f Containerfile . >"$folder/log" 2>&1 || {
		tail -n 20 "$folder/log" && return 1
	}
	container=$("${tool[@]}" from localhost/gpusig)
	[ "$("${tool[@]}" run --isolation=chroot "$container" -- gpusig --version)" = "gpusig $(sh suite/setup/version.sh)" ]
	mkdir "$folder/out" && chmod 777 "$folder/out" && chmod 755 "$folder"
	# shellcheck disable=SC2016 # expanded inside
	"${tool[@]}" run --isolation=chroot -v "$folder/out:/out" "$container" -- sh -c '[ "$(id -un)" = gpusig ] &&
		! command -v cc >/dev/null && gpusig run --device sim:h100 --budget 3s --only micro/copy_path --out a'
	[ -s "$folder/out/a/report.html" ]
	"${tool[@]}" rm --all >/dev/null
}
