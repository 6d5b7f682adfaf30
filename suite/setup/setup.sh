#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# setup.sh [--no-install] read|advise|run|program|test|all|lab|peers|simgrid|installed [LEVEL...]: install what
# packages.txt names for this, and for these further levels, and this machine lacks, where that is allowed. Exit 0 when
# everything of levels "must" and "build" is here, else 77 and one line. All messages go to stderr.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
# A name server that does not answer costs each package its time limit.
RES_OPTIONS=timeout:1
export PATH RES_OPTIONS DEBIAN_FRONTEND=noninteractive

say() { echo "gpusig: $*" >&2; }

install=1
[ "${GPUSIG_NO_INSTALL:-0}" = 0 ] || install=0
[ "$1" = --no-install ] && install=0 && shift
asked=$1
shift
case $asked in
read) levels='must report' ;;
advise) levels='must build report' ;;
run) levels='must build report part extra' ;;
program) levels='must build program' ;;
test) levels='must build report part extra program test' ;;
all) levels='must build report part extra program test all' ;;
lab) levels='must build report part extra program test all lab simgrid' ;;
peers) levels='must build part extra peers' ;;
simgrid) levels='must build part extra simgrid' ;;
installed) levels='must report extra installed' ;;
*) say "setup.sh: '$asked' is not read, advise, run, program, test, all, lab, peers, simgrid or installed" && exit 2 ;;
esac
levels="$levels $*"

manager=
for manager in apt-get dnf zypper apk pacman ''; do
	[ -n "$manager" ] && command -v "$manager" >/dev/null && break
done

case $manager in # install_rows tries once more itself
apt-get) quickly='-o Acquire::Retries=0 -o Acquire::http::Timeout=15' ;;
dnf) quickly='--setopt=retries=1 --setopt=timeout=15' ;;
*) quickly='' ;;
esac

# one line per row of packages.txt that matters: level probe packages-of-this-manager what-is-lost
rows() {
	while read -r level probe apt dnf zypper apk pacman lost; do
		case " $levels " in *" $level "*) ;; *) continue ;; esac
		case $manager in
		apt-get) packages=$apt ;; dnf) packages=$dnf ;; zypper) packages=$zypper ;;
		apk) packages=$apk ;; pacman) packages=$pacman ;; *) packages=- ;;
		esac
		echo "$level $probe $packages $lost"
	done <"$here/packages.txt"
}

library_is_here() {
	# shellcheck disable=SC2231 # $1 is a pattern
	for folder in /usr/lib /usr/lib64 /usr/local/lib* /opt/*/lib /usr/lib/*-linux-* /lib/*-linux-* \
		$(echo "${LD_LIBRARY_PATH-}" | tr : ' '); do
		for file in "$folder"/$1; do
			[ -e "$file" ] && return
		done
	done
	return 1
}

font_is_here() {
	find /usr/share/fonts /usr/local/share/fonts "${XDG_DATA_HOME:-${HOME-}/.local/share}/fonts" "${HOME-}/.fonts" \
		-name "$1.ttf" 2>/dev/null | grep -q .
}

# modules_without PYTHON [MODULE...]: those of the rows, or of these, that it lacks; one start of Python finds them all.
modules_without() {
	python_asked=$1
	shift
	# shellcheck disable=SC2046 # a list of words
	[ $# -gt 0 ] || set -- $(rows | while read -r _ probe _; do case $probe in py:*) echo "${probe#py:}" ;; esac; done)
	"$python_asked" -c 'import importlib.util as u, sys
print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])' "$@"
}

# The modules to install. The package manager's belong to /usr/bin/python3: where the chosen Python is another one and
# lacks some, that one gets all of them, and is chosen from then on.
missing_modules() {
	python=$(sh "$here/find_python.sh" --any 2>/dev/null) || { echo all && return; }
	absent=$(modules_without "$python")
	if [ -n "$absent" ] && [ -z "${GPUSIG_PYTHON-}" ] && [ "$python" != /usr/bin/python3 ] && [ -x /usr/bin/python3 ]; then
		absent=$(modules_without /usr/bin/python3)
	fi
	echo "$absent"
}

# program_runs FOLDER/NAME: its libraries are here, and mpirun where it needs that, or it was not built at all.
program_runs() {
	program=${GPUSIG_BIN:-$here/../../bin}/$1
	[ -e "$program" ] || return 0
	case $1 in collectives/*) command -v mpirun || return ;; esac
	! ldd "$program" 2>&1 | grep -Eq 'not found|Error loading'
}

is_here() {
	name=${1#*:}
	case $1 in
	cmd:python3) sh "$here/find_python.sh" --any ;;
	cmd:mpicc) command -v mpicc && command -v mpirun ;;
	cmd:chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
	cmd:*) command -v "$name" ;;
	header:*) echo "#include <$name>" | cc -E -x c - ;;
	lib:*) library_is_here "lib$name*.so*" ;;
	font:*) font_is_here "$name" ;;
	program:*) program_runs "$name" ;;
	py:*) case " $absent_modules " in *" $name "* | ' all ') return 1 ;; esac ;;
	esac >/dev/null 2>&1
}

# The rows whose probe fails. A failed installation is not tried again on every start of this node; `make clean` deletes
# that list.
missing() {
	absent_modules=$(missing_modules)
	rows | while read -r level probe packages lost; do
		is_here "$probe" || echo "$level $probe $packages $lost"
	done
}

cannot_install=${GPUSIG_BUILD:-$here/../../build}/cannot-install
not_tried() {
	while read -r level probe rest; do
		grep -qxF "$(uname -n) $manager $probe" "$cannot_install" 2>/dev/null || echo "$level $probe $rest"
	done
}
remember() {
	mkdir -p "${cannot_install%/*}" 2>/dev/null || return
	while read -r _ probe _; do echo "$(uname -n) $manager $probe"; done >>"$cannot_install"
}

names() { while read -r _ _ packages _; do [ "$packages" = - ] || echo "$packages"; done | tr ',\n' '  '; }

# Others may install on this machine at the same time: several runs that start at once, or the system's own updates.
lock_s=600
# patiently COMMAND...: again while the manager says in the log that another one has its lock, which not every one waits for.
patiently() {
	until_s=$(($(date +%s) + lock_s))
	until : >"$log.last" && "$@" >"$log.last" 2>&1 </dev/null; do
		cat "$log.last" >>"$log"
		if [ "$(date +%s)" -ge "$until_s" ] || ! grep -qi 'could not get lock\|unable to lock\|is locked by' "$log.last"; then
			rm -f "$log.last"
			return 1
		fi
		sleep 2
	done
	cat "$log.last" >>"$log"
	rm -f "$log.last"
}

with_manager() {
	case $manager in
	apt-get) echo "apt-get install -y --no-install-recommends" ;;
	dnf) echo "dnf install -y --setopt=install_weak_deps=False" ;;
	zypper) echo "zypper --non-interactive install --no-recommends" ;;
	apk) echo "apk add" ;;
	pacman) echo "pacman -S --noconfirm --needed" ;;
	esac
}

# shellcheck disable=SC2086 # $sudo is a list of words
refresh() {
	case $manager in
	apt-get) patiently $sudo apt-get -q update $quickly ;;
	apk) patiently $sudo apk update ;;
	pacman) patiently $sudo pacman -Sy ;;
	*) true ;;
	esac
}

lists_are_missing() { [ "$manager" = apt-get ] && ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; }

# no_network LOG: as apt-get, dnf and zypper, apk, pacman and pip say it.
no_network() {
	grep -Eqi 'failure resolving|failure in name resolution|could not resolve|temporary error \(try again' "$1" ||
		grep -Eqi 'unreachable|unable to connect|connection.* timed out' "$1"
}

# All rows at once; on failure once more with fresh lists; then row by row, so that one missing package does not
# prevent the others. Without a network each try would take half a minute.
install_rows() {
	lists_are_missing && refresh && lists_are_missing && no_network "$log" && return
	# shellcheck disable=SC2046,SC2086 # lists of words
	{
		patiently $sudo $(with_manager) $(echo "$1" | names) $quickly && return
		no_network "$log" && return
		lists_are_missing || refresh
		patiently $sudo $(with_manager) $(echo "$1" | names) $quickly && return
		echo "$1" | while read -r row; do
			patiently $sudo $(with_manager) $(echo "$row" | names) $quickly
		done
	}
}

may_install() {
	[ "$install" = 1 ] && [ -n "$manager" ] || return 1
	sudo=''
	[ "$(id -u)" = 0 ] && return
	sudo="sudo -n env RES_OPTIONS=$RES_OPTIONS"
	command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# install_command ROWS: the line for a user to type.
install_command() {
	packages=$(echo "$1" | names)
	packages=${packages% }
	[ -z "$packages" ] || echo "$([ "$(id -u)" = 0 ] || echo 'sudo ')$(with_manager) $packages"
}

# Install what one call of the package manager can, and report it. Sets `to_type` if the user has to type it.
install_missing() {
	to_install=$(echo "$wanting" | not_tried)
	packages=$(echo "$to_install" | names)
	packages=${packages% }
	[ -n "$packages" ] || return
	if ! may_install; then
		to_type=$(install_command "$to_install")
		return
	fi
	log=$(mktemp "${TMPDIR:-/tmp}/gpusig-install.XXXXXX") || exit 77
	say "installing with $manager: $packages"
	started=$(date +%s)
	install_rows "$to_install"
	took_s=$(($(date +%s) - started))
	wanting=$(missing)
	if [ -z "$wanting" ]; then
		say "installed in $took_s s"
		rm -f "$log"
		return
	fi
	echo "$wanting" | remember 2>/dev/null
	why=
	if no_network "$log"; then why='no network: ' install=0 to_type=$(install_command "$wanting"); fi
	say "${why}not everything could be installed in $took_s s; what $manager said is in $log"
}

# tool_is_here PROBE FOLDER: by itself, or in the folder where pip was to put it.
tool_is_here() {
	case $1 in lib:*) file="lib${1#*:}.so" ;; *) file=${1#*:} ;; esac
	find "$2"/* -name "$file" 2>/dev/null | grep -q . && return # not the folder itself
	case $1 in
	py:*) python=$(sh "$here/find_python.sh" --any 2>/dev/null) && [ -z "$(modules_without "$python" "${1#py:}")" ] ;;
	*) is_here "$1" ;;
	esac
}

# rows_of HOW: the rows of the wanted levels that pip brings, or that are unpacked.
rows_of() {
	while read -r level rest; do
		case "$level $levels " in *"-$1 "*" ${level%-*} "*) echo "$rest" ;; esac
	done <"$here/packages.txt"
}

# Commands and modules for tests that come with Python packages, into build/tools: needs no administrator, and is tried once.
# After the package manager, which brings pip itself and the commands without which a package is of no use.
bring_tools() {
	rows_of pip | while read -r probe needed packages _ _ _ lost; do
		tools=$here/../../build/tools/${packages%%,*}
		is_here "cmd:$needed" || continue
		tool_is_here "$probe" "$tools" && continue
		if [ "$install" = 1 ] && [ ! -e "$tools" ]; then with_pip "$probe" "$packages" "$tools"; fi
		tool_is_here "$probe" "$tools" || say "without ${probe#*:}: $lost"
	done
}

# Commands for tests whose packages would start a service: they are unpacked into build/tools, with what they need and is missing.
# Needs apt-get, no administrator, and is tried once.
bring_unpacked() {
	rows_of unpack | while read -r probe packages _ _ _ _ lost; do
		tools=$here/../../build/tools/${packages%%,*}
		tool_is_here "$probe" "$tools" && continue
		if [ "$install" = 1 ] && [ "$manager" = apt-get ] && [ ! -e "$tools" ]; then unpack "$probe" "$packages" "$tools"; fi
		tool_is_here "$probe" "$tools" || say "without ${probe#*:}: $lost"
	done
}

# unpack PROBE PACKAGES FOLDER
unpack() {
	mkdir -p "$3/packages" && log=$3.log || return
	say "unpacking into build/tools: $2"
	# shellcheck disable=SC2046,SC2086 # lists of words
	{
		lists_are_missing && may_install && refresh
		apt-get -q -s install --no-install-recommends $(echo "$2" | tr ',' ' ') >"$3/plan" &&
			(cd "$3/packages" && apt-get -q $quickly download $(awk '$1 == "Inst" { print $2 }' ../plan)) &&
			for package in "$3"/packages/*.deb; do dpkg-deb -x "$package" "$3"; done
		# Names that Debian's alternatives would create.
		for file in "$3"/usr/sbin/*-wlm; do [ ! -e "$file" ] || ln -s "${file##*/}" "${file%-wlm}"; done
	} >"$log" 2>&1 </dev/null
	rm -rf "$3/packages" "$3/plan"
	tool_is_here "$1" "$3" && return
	no_network "$log" && install=0
	say "it could not be unpacked; what apt-get said is in build/tools/${3##*/}.log"
}

# with_pip PROBE PACKAGES FOLDER: a command alone, a module with what it imports. What is beside modules, as libraries are, comes
# with a prefix alone.
with_pip() {
	python=$(sh "$here/find_python.sh" --any 2>/dev/null) && mkdir -p "$3" || return
	say "installing with pip, into build/tools: $2"
	case $1 in cmd:*) how='--no-deps --target' ;; lib:*) how=--prefix ;; *) how=--target ;; esac
	# shellcheck disable=SC2046,SC2086 # lists of words
	PIP_RETRIES=1 PIP_DEFAULT_TIMEOUT=15 "$python" -m pip install --quiet $how "$3" $(echo "$2" | tr ',' ' ') \
		>"$3.log" 2>&1 </dev/null && return
	no_network "$3.log" && install=0
	say "it could not be installed; what pip said is in build/tools/${3##*/}.log"
}

to_type=
wanting=$(missing)
[ -z "$wanting" ] || install_missing
needed='' lost=''
while read -r level probe _ why; do
	case $level in must | build) needed="$needed${needed:+, }${probe#*:}" lost=${lost:-$why} ;; esac
done <<END
$wanting
END
if [ -n "$needed" ]; then
	to_type=$(install_command "$wanting")
	case $needed in *python3*) lost=$lost${GPUSIG_PYTHON:+; GPUSIG_PYTHON is $GPUSIG_PYTHON} ;; esac
	say "without $needed: $lost${to_type:+; to install it, run: $to_type}"
	exit 77
fi
[ -z "$to_type" ] || say "missing: to install it, run: $to_type"
[ -z "$wanting" ] || echo "$wanting" | while read -r _ probe _ lost; do say "without ${probe#*:}: $lost"; done
bring_tools
bring_unpacked
exit 0
