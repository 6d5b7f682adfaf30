#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# find_python.sh [--any] [MODULE...]: print a Python 3.9 or later that has these modules, by default those of level
# "report" in packages.txt, and if one has them those of level "extra" too; /usr/bin/python3 first. With --any: failing
# that, any Python 3.9 or later. Exit 1 and one line on stderr when there is none.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

any=
[ "${1-}" = --any ] && any=--any && shift
modules=$*
more=
[ -n "$modules" ] || while read -r level probe _; do
	case $level/$probe in
	report/py:*) modules="$modules ${probe#py:}" ;;
	extra/py:*) more="$more ${probe#py:}" ;;
	esac
done <"$here/packages.txt"

# Finds modules without importing them: ten times as fast.
# shellcheck disable=SC2086 # modules is a list of words
has_modules() {
	"$1" -c 'import importlib.util as u, sys
sys.exit(sys.version_info < (3, 9) or any(u.find_spec(m) is None for m in sys.argv[1:]))' $2 >/dev/null 2>&1
}

candidates() {
	[ -n "${GPUSIG_PYTHON-}" ] && echo "$GPUSIG_PYTHON" && return
	echo /usr/bin/python3
	command -v python3
	for minor in 13 12 11 10 9; do command -v "python3.$minor"; done
}

for wanted in ${more:+"$modules$more"} "$modules" ${any:+""}; do
	for python in $(candidates); do
		if has_modules "$python" "$wanted"; then
			echo "$python"
			exit 0
		fi
	done
done
echo "gpusig: no Python 3.9 or later with ${modules# }" >&2
exit 1
