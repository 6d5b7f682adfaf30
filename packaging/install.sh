#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install.sh install|uninstall DESTDIR PREFIX [BIN VERSION FILE...]: what `make install` and `make uninstall` do. Starts in the
# root.
#
#   PREFIX/bin/gpusig                   a relative link, so that the prefix may be moved
#   PREFIX/lib/gpusig                   the command with suite/, reports/, VERSION, and in bin/ each FILE of BIN: the programs
#   PREFIX/lib/gpusig/INSTALLED         the list of all that was installed: nothing else is ever removed or replaced
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
to=$2$3
list=lib/gpusig/INSTALLED
command=bin/gpusig
target=../lib/gpusig/gpusig # of the command

is_there() { [ -e "$1" ] || [ -L "$1" ]; }
has_list() { [ ! -L "$to/$list" ] && [ -f "$to/$list" ]; }

# Print the installed files, a path under PREFIX a line. A link that now leads elsewhere is not ours.
installed() {
	has_list || return 0
	grep -E '^(bin/gpusig|(lib|share/doc)/gpusig/.*|share/man/man1/gpusig[^/]*\.1|share/bash-completion/completions/gpusig)$' \
		"$to/$list" | grep -Ev '(^|/)\.\.(/|$)' |
		while IFS= read -r file; do
			[ "$file" = $command ] && [ "$(readlink "$to/$file")" != $target ] || echo "$file"
		done
}

# The places of ours that something is in, under PREFIX.
places() {
	for place in $command lib/gpusig share/doc/gpusig share/bash-completion/completions/gpusig; do
		! is_there "$to/$place" || echo "$place"
	done
	for page in "$to"/share/man/man1/gpusig.1 "$to"/share/man/man1/gpusig-*.1; do
		! is_there "$page" || { echo 'share/man/man1/gpusig*.1' && break; }
	done
}

# Print the remedy for files that no list names.
remedy() {
	if has_list; then
		echo 'move it away, or take another PREFIX'
	else
		echo "an earlier version of gpusig kept no list: remove what is of it by hand, or with 'make uninstall' of that" \
			"version; in $to are $(places | paste -sd ' ')"
	fi
}

# The list goes last, so that it names what an uninstall that is cut short leaves.
remove_files() { installed | grep -vx $list | while IFS= read -r file; do rm -f "$to/$file"; done; }

remove_empty_folders() {
	for folder in lib/gpusig share/doc/gpusig; do
		[ -L "$to/$folder" ] || [ ! -d "$to/$folder" ] || find "$to/$folder" -depth -type d -empty -delete
	done
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
	if ! python=$(sh suite/setup/find_python.sh --any 2>/dev/null); then
		echo "skip: manual pages and compiled Python files (no Python 3.9 or later)"
		return
	fi
	(cd "$home" && "$python" -m compileall -q --invalidation-mode checked-hash suite reports)
	"$python" packaging/man_pages.py --version "$version" --bin "$home/bin" "$prefix/share/man/man1"
}

# Everything, into an empty folder.
make_all() {
	home=$prefix/lib/gpusig
	doc=$prefix/share/doc/gpusig
	completion=$prefix/share/bash-completion/completions/gpusig
	# shellcheck disable=SC2046 # no name has a blank
	texts gpusig $(find suite reports -type f ! -path '*/__pycache__/*' ! -path 'reports/reference/*' ! -name '.*')
	echo "$version" >"$home/VERSION"
	for file; do install -D ${STRIP:+-s} "$bin/$file" "$home/bin/$file"; done
	mkdir -p "$prefix/bin" "$doc" "${completion%/*}"
	ln -s $target "$prefix/$command"
	install -m 644 packaging/completion.bash "$completion"
	for file in README.md LICENSE $(find docs -type f ! -path 'docs/gallery/*' ! -name '.*'); do
		install -D -m "$([ -x "$file" ] && echo 755 || echo 644)" "$file" "$doc/$file"
	done
	compile
	: >"$prefix/$list"
	(cd "$prefix" && find . ! -type d | sed 's|^\./||' | sort) >"$made/list"
	cp "$made/list" "$prefix/$list"
}

# The command is a link to ../lib, which is elsewhere where bin is a link to a folder of another parent.
refuse_bin_elsewhere() {
	[ "$(cd -P "$to/bin/../lib" 2>/dev/null && pwd)" != "$(cd -P "$to/lib" && pwd)" ] || return 0
	remove_empty_folders
	refuse "$to/bin is a link, and $to/bin/../lib is not $to/lib: the command would not find its copy"
}

# Remove the files of another version first, as programs may be gone now; leave files that are not ours. Folders may be links.
replace_all() {
	installed | sort >"$made/before"
	sort "$made/list" | comm -23 - "$made/before" | while IFS= read -r file; do
		! is_there "$to/$file" || refuse "$to/$file is there and in no list of what was installed: it is left as it is; $(remedy)"
	done
	(cd "$prefix" && find . -type d) | while IFS= read -r folder; do
		mkdir -p "$to/$folder" || { remove_empty_folders && exit 1; }
	done
	refuse_bin_elsewhere
	remove_files
	cp "$made/list" "$to/$list"
	grep -vx $list "$made/list" | while IFS= read -r file; do cp -P "$prefix/$file" "$to/$file"; done
	remove_empty_folders
}

case $action in
uninstall)
	if has_list; then
		remove_files
		rm "$to/$list"
		remove_empty_folders
	elif [ -n "$(places)" ]; then
		refuse "$to/$list is missing, which says what was installed: nothing is removed; $(remedy)"
	fi
	;;
install)
	bin=$4
	version=$5
	shift 5
	for file; do [ -x "$bin/$file" ] || refuse "$bin has no $file"; done
	mkdir -p "$to"
	made=$(mktemp -d "$to/.gpusig.XXXXXX")
	trap 'rm -rf "$made"' EXIT
	trap 'exit 1' HUP INT TERM
	prefix=$made/prefix
	make_all "$@"
	replace_all
	;;
*) refuse "'$action' is not install or uninstall" ;;
esac
