#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# version.sh: print the version of gpusig; starts in the root. It is 1.2 for the tag v1.2 of a release, 1.2+5.gHASH five
# commits later, 0~gitDATE.HASH before the first release, and ends in +dirty where files were changed: words that package
# managers take and sort. A checkout asks git. VERSION has it elsewhere: date, hash and tag in what `git archive` packs, the
# version itself in an installed copy.
set -u

# git need not ask whose checkout it is, for it may be root who installs what a user built. It locks nothing: builds may ask
# at once.
ask() { git --no-optional-locks -c safe.directory="$PWD" "$@" 2>/dev/null; }

from_git() {
	[ -e .git ] && described=$(ask describe --tags --match 'v*' --always --dirty=+dirty --abbrev=10) &&
		day=$(ask log -1 --format=%cs)
}

from_file() {
	{ read -r day hash tag <VERSION; } 2>/dev/null || return
	case $day in \$Format*) return 1 ;; esac # a checkout without git
	[ -n "${hash-}" ] || { echo "$day" && exit; }
	case $tag in v*) described=$tag ;; *) described=$(printf '%.10s' "$hash") ;; esac
}

from_git || from_file || { echo unknown && exit; }
case $described in
v*) echo "${described#v}" | sed 's/-\([0-9]*\)-g/+\1.g/; s/-/~/g' ;;
*) echo "0~git$(echo "$day" | tr -d -).$described" ;;
esac
