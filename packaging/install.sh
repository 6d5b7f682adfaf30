#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install.sh install|uninstall DESTDIR PREFIX [BIN VERSION FILE...]: what `make install` and `make uninstall` do. Starts in the
# root.
#
#   PREFIX/bin/gpusig                   a relative link, so that the prefix may be moved
#   PREFIX/lib/gpusig                   the command with suite/, reports/, VERSION, and in bin/ each FILE of BIN: the programs
#   PREFIX/share/man/man1/gpusig*.1     made of --help
#   PREFIX/share/doc/gpusig
#   PREFIX/share/bash-completion/completions/gpusig
#
# An installed copy writes nothing there. DESTDIR stands in front of PREFIX for who packs, and is in no file. With STRIP=1
# programs have no symbols.
set -eu
umask 022

refuse() { echo "install: $*" >&2 && exit 2; }

action=$1
case $3 in /*) ;; *) refuse "PREFIX is '$3', not an absolute path" ;; esac
prefix=$2$3
home=$prefix/lib/gpusig
pages=$prefix/share/man/man1
doc=$prefix/share/doc/gpusig
completion=$prefix/share/bash-completion/completions/gpusig

# What another version installed goes first, for programs and pages may have gone; what is not ours stays.
uninstall() {
	if [ -e "$home" ]; then
		[ -f "$home/VERSION" ] || [ -d "$home/suite" ] || refuse "$home is no copy of gpusig: it is left as it is"
		rm -rf "$home"
	fi
	[ ! -L "$prefix/bin/gpusig" ] || rm "$prefix/bin/gpusig"
	rm -f "$pages/gpusig.1" "$pages"/gpusig-*.1 "$completion"
	rm -rf "$doc"
}

# texts FILE...: into the copy, under their names. There, the command is found on the PATH.
texts() {
	for file; do
		mkdir -p "$(dirname "$home/$file")"
		sed 's|\./gpusig|gpusig|g' "$file" >"$home/$file"
		[ ! -x "$file" ] || chmod 755 "$home/$file"
	done
}

# Python files are compiled now, as nobody may write there later. A file that was changed since is read again.
compile() {
	if ! python=$(sh suite/find_python.sh --any 2>/dev/null); then
		echo "skip: manual pages and compiled Python files (no Python 3.9 or later)"
		return
	fi
	(cd "$home" && "$python" -m compileall -q --invalidation-mode checked-hash suite reports)
	"$python" packaging/man_pages.py --version "$version" --bin "$home/bin" "$pages"
}

install_all() {
	# shellcheck disable=SC2046 # no name has a blank
	texts gpusig $(find suite reports -type f ! -path '*/__pycache__/*' ! -path 'reports/reference/*' ! -name '.*')
	echo "$version" >"$home/VERSION"
	for file; do install -D ${STRIP:+-s} "$bin/$file" "$home/bin/$file"; done
	mkdir -p "$prefix/bin" "$doc" "${completion%/*}"
	ln -s ../lib/gpusig/gpusig "$prefix/bin/gpusig"
	install -m 644 packaging/completion.bash "$completion"
	for file in README.md LICENSE $(find docs -type f ! -path 'docs/gallery/*' ! -name '.*'); do
		install -D -m "$([ -x "$file" ] && echo 755 || echo 644)" "$file" "$doc/$file"
	done
	compile
}

case $action in
uninstall) uninstall ;;
install)
	bin=$4
	version=$5
	shift 5
	for file; do [ -x "$bin/$file" ] || refuse "$bin has no $file"; done
	if [ -e "$prefix/bin/gpusig" ] && [ ! -L "$prefix/bin/gpusig" ]; then
		refuse "$prefix/bin/gpusig is another program: it is left as it is"
	fi
	uninstall
	install_all "$@"
	;;
*) refuse "'$action' is not install or uninstall" ;;
esac
