#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# debootstrap.sh [--keep] [FOLDER]: ./gpusig on a machine that has nothing.
#
# Makes a smallest Debian 12 in FOLDER (default: a new one in /tmp, removed at the end unless --keep), clones this
# repository into it, and runs `./gpusig run --budget 60s` twice and `./gpusig test` there. Prints what took how long.
# Needs root and debootstrap, and takes mirrors and proxies from this machine's apt. Not part of ./gpusig test.
# FRESH_STEPS chooses the steps: run again test, or also program, which is `./gpusig test --program micro/memory`.
set -eu
repository=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

keep=0
[ "${1-}" = --keep ] && keep=1 && shift
folder=${1:-$(mktemp -d "${TMPDIR:-/tmp}/gpusig-fresh.XXXXXX")}
steps=${FRESH_STEPS:-run again test}

say() { echo "fresh: $*" >&2; }
clean_up() { [ "$keep" = 1 ] || rm -rf --one-file-system "$folder"; }
trap clean_up EXIT
trap 'exit 130' INT TERM

[ "$(id -u)" = 0 ] || { say "needs root" && exit 77; }
command -v debootstrap >/dev/null || { say "debootstrap is not installed" && exit 77; }
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
	sed -n 's/^bookworm //p' | head -n 1)
[ -n "$mirror" ] || { say "apt knows no mirror of Debian 12" && exit 77; }

timed() {
	what=$1
	shift
	begun=$(date +%s)
	code=0
	"$@" || code=$?
	times="$times
  $(($(date +%s) - begun)) s  $what (exit $code)"
}

make_root() {
	if [ ! -e "$folder/etc/debian_version" ]; then
		debootstrap --variant=minbase bookworm "$folder" "$mirror" >"$folder.log" 2>&1
	fi
	# Sources of packages; nothing else of this machine.
	rm -f "$folder/etc/apt/sources.list"
	cp -r /etc/apt/sources.list* "$folder/etc/apt/"
	grep -lsE '^Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* | while read -r file; do
		cp "$file" "$folder/etc/apt/apt.conf.d/"
	done
	mkdir -p "$folder/usr/share/keyrings"
	cp -n /usr/share/keyrings/debian-* "$folder/usr/share/keyrings/"
	cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
	rm -rf "$folder/root/gpusig"
	git clone -q --no-hardlinks "$repository" "$folder/root/gpusig"
}

# The mounts belong to a name space of their own and are gone when the command ends, however it ends.
inside() {
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount sh -c 'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
		exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
		sh -c "cd /root/gpusig && $2"' sh "$folder" "$1"
}

times=
timed "debootstrap and clone" make_root
for step in $steps; do
	case $step in
	run) timed "first ./gpusig run --budget 60s" inside './gpusig run --budget 60s' ;;
	again) timed "second ./gpusig run --budget 60s" inside './gpusig run --budget 60s' ;;
	program) timed "./gpusig test --program micro/memory" inside './gpusig test --program micro/memory' ;;
	test) timed "./gpusig test" inside ./gpusig\ test ;;
	*) timed "$step" inside "$step" ;;
	esac
done
say "on $(cat "$folder/etc/debian_version"):$times"
