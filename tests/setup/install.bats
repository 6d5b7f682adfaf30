#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# make install: a gpusig that needs neither the checkout nor a compiler, wherever its prefix is moved, and its manual pages.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

# A user other than root must get into the folders: those of bats, and a TMPDIR of whoever runs the tests, are closed to others.
setup_file() {
	local root=${BATS_TEST_DIRNAME%/tests/*}
	[ -z "${GPUSIG_BIN:-}" ] || return 0
	folder=$(mktemp -d '/tmp/gpusig install.XXXXXX')
	export folder
	chmod 755 "$folder"
	make -sC "$root" --no-print-directory install "DESTDIR=$folder/dest dir" PREFIX=/opt/gpusig >"$folder/said" || return
	mkdir "$folder/moved" "$folder/results" "$folder/tmp"
	mv "$folder/dest dir/opt/gpusig" "$folder/moved/pre fix"
	[ "$(id -u)" != 0 ] || chown nobody "$folder/results" "$folder/tmp"
	mkdir "$folder/few"
	for word in sh dirname readlink id date mktemp tr grep tail rm mkdir cat ls sed paste awk nproc ldd env mpirun; do
		ln -s "$(command -v "$word" || echo /dev/null/none)" "$folder/few/"
	done
	[ ! -e "$folder/few/cc" ] && [ ! -e "$folder/few/make" ] && [ ! -e "$folder/few/git" ]
}

teardown_file() { [ -z "${folder:-}" ] || rm -rf "$folder"; }

setup() {
	[ -z "${GPUSIG_BIN:-}" ] || skip 'what is installed is the build of bin alone'
	prefix="$folder/moved/pre fix"
	cd "$folder/results" || return 1
	export GPUSIG_PYTHON=$TEST_PYTHON
	unset GPUSIG_NO_INSTALL
}

# installed WORD...: the installed command, with few others on the PATH; where root runs the test as nobody and without the checkout.
installed() {
	local words=(env "PATH=$prefix/bin:$folder/few" "TMPDIR=$folder/tmp" HOME=/dev/null/none gpusig "$@")
	if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
		"${words[@]}"
		return
	fi
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount sh -c 'mount -t tmpfs none "$1" && shift && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' sh \
		"$root" "${words[@]}"
}

@test "an installed copy measures a simulated device and reports, compares and advises, without checkout, compiler and root" {
	find "$prefix" -exec stat -c '%n %Y %s' {} + | sort >"$folder/before"
	programs=()
	for program in gemm/efficiency micro/copy_path micro/launch micro/memory micro/occupancy micro/peer_matrix; do # of which a model is made
		programs+=(--only "$program")
	done
	for run in a b; do
		run --separate-stderr installed run --device sim:h100:0,1 --budget 10m "${programs[@]}" --nice 0 --out $run
		echo "$stderr"
		[ "$status" = 0 ]
		[ -s $run/signature.json ]
	done
	[[ $stderr != *"building"* && $stderr != *"install"*"run:"* ]]
	json 'rows[0]["schema"] == "gpusig.signature"' < <(tr -d '\n' <a/signature.json)
	run --separate-stderr installed report a
	[ "$status" = 0 ]
	run --separate-stderr installed compare a b
	[ "$status" = 3 ] # one run a side
	run --separate-stderr installed advise a --m 4096 --n 4096 --k 4096 --devices 2 --op ag-gemm --type bf16
	[ "$status" = 0 ]
	[[ $output == 'ag-gemm of 4096×4096×4096 bf16'* ]]
	find "$prefix" -exec stat -c '%n %Y %s' {} + | sort >"$folder/after"
	cmp "$folder/before" "$folder/after" # nothing is written there
}

@test "an installed copy lists, helps and tells its version and where its programs are" {
	run --separate-stderr installed --version
	[ "$output" = "gpusig $(cat "$prefix/lib/gpusig/VERSION")" ]
	run --separate-stderr installed --bindir
	[ "$output" = "$prefix/lib/gpusig/bin" ]
	[[ $("$output/micro/memory" --version) == "micro/memory, gpusig $(cat "$prefix/lib/gpusig/VERSION")"$'\n'* ]]
	run --separate-stderr installed list
	[ "$status" = 0 ]
	[[ $output == *micro/copy_path*topology/torus* ]]
	run --separate-stderr installed help words DIL
	[[ $output == DIL:* ]]
	for command in $(installed help --commands); do
		run --separate-stderr installed help "$command"
		[ "$status" = 0 ]
		[[ $output == "usage: gpusig $command"* ]]
	done
	run --separate-stderr installed report nothing
	[ "$status" = 2 ]
}

@test "test needs the checkout, and an installed copy says so in one line" {
	run --separate-stderr installed test
	[ "$status" = 77 ]
	[ -z "$output" ]
	[ "$stderr" = 'gpusig: test needs the checkout: an installed copy has neither sources nor tests' ]
}

@test "an installed copy installs nothing and asks for no compiler, whoever starts it" {
	mkdir -p "$BATS_TEST_TMPDIR/few"
	cp -P "$folder/few"/* "$BATS_TEST_TMPDIR/few"
	rm "$BATS_TEST_TMPDIR/few/mpirun"
	printf '#!/bin/sh\ntouch "%s/tried"\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/few/apt-get"
	chmod +x "$BATS_TEST_TMPDIR/few/apt-get"
	run --separate-stderr env -u GPUSIG_NO_INSTALL PATH="$BATS_TEST_TMPDIR/few" "$prefix/bin/gpusig" list
	[ "$status" = 0 ]
	[ ! -e "$BATS_TEST_TMPDIR/tried" ]
	[[ $stderr != *gcc* && $stderr != *make* && $stderr != *hwloc-dev* ]]
	[ ! -e "$prefix/lib/gpusig/bin/collectives/allreduce" ] ||
		[[ $stderr == *'to install it, run: '*openmpi-bin*'without collectives/allreduce: programs of ranks need mpirun and its library'* ]]
	run --separate-stderr env -u GPUSIG_NO_INSTALL PATH="$BATS_TEST_TMPDIR/few" GPUSIG_PYTHON=/dev/null/none "$prefix/bin/gpusig" list
	[ "$status" = 77 ]
	[ ! -e "$BATS_TEST_TMPDIR/tried" ]
	[[ $stderr == *'without python3: '* ]]
}

@test "no installed file names the folder that it was put into, and the command is a relative link" {
	run ! grep -rlF "$folder" "$prefix"
	[ "$(readlink "$prefix/bin/gpusig")" = ../lib/gpusig/gpusig ]
	run ! grep -rlF './gpusig' "$prefix/lib/gpusig/suite/help" "$prefix/share/man"
	[ -z "$(find "$prefix" -perm /022 ! -type l)" ]
programs_of() { (cd "$1" && find . -type f -perm -u+x | sort); }
	[ "$(programs_of "$prefix/lib/gpusig/bin/")" = "$(programs_of "$root/bin/")" ]
}

@test "every command and every program has a manual page with every word of its help" {
	(cd "$prefix/lib/gpusig/bin" && for program in */*; do "./$program" --help >"$folder/${program//\//-}.help" || exit; done)
	"$TEST_PYTHON" - "$root/suite/help" "$prefix/share/man/man1" "$folder" <<-'PYTHON'
		import re, sys
		from pathlib import Path
		texts, pages, folder = map(Path, sys.argv[1:])
		general = (texts / "general.txt").read_text()
		helps = {"gpusig-" + p.stem: p.read_text() for p in [*texts.glob("*.txt"), *folder.glob("*.help")] if p.stem not in ("overview", "general")}
		commands = [name for name in helps if (texts / (name[len("gpusig-"):] + ".txt")).exists()]
		helps["gpusig"] = (texts / "overview.txt").read_text() + general
		ROFF = {r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\(dq": '"', r"\-": "-", r"\&": "", r"\e": "\\"}
		lost = []
		for name, text in helps.items():
		    page = re.sub(r"\\\((?:aq|ga|ha|ti|dq)|\\[-&e]", lambda found: ROFF[found[0]], re.sub(r"\\f[BIP]", "", (pages / (name + ".1")).read_text()))
		    text = re.sub(r"(?m)^(usage|Examples|Exit codes|Exit|Environment variables|All commands|More|Options of every command): *", "", text)
		    program = name[len("gpusig-"):].replace("-", "/", 1)
		    words = [re.sub(r"^(%s):$" % re.escape(program), r"\1", word).rstrip(":") for word in text.replace("./gpusig", "gpusig").split()]
		    options = re.findall(r"(?m)^  (--[\w-]+)", general) if name in commands else []
		    lost += [(name, word) for word in words + options if word not in page and word != program]
		sys.exit(f"lost: {lost[:20]}" if lost or len(commands) < 8 or len(helps) < 20 else 0)
	PYTHON
	for section in NAME SYNOPSIS OPTIONS EXAMPLES 'EXIT STATUS' ENVIRONMENT 'SEE ALSO'; do
		for command in $(cd "$root" && sh suite/help/help.sh --commands); do
			grep -qx ".SH $section" "$prefix/share/man/man1/gpusig-$command.1"
		done
	done
}

@test "manual pages are shown without a warning" {
	command -v groff >/dev/null || command -v mandoc >/dev/null || skip 'neither groff nor mandoc is installed'
	for page in "$prefix"/share/man/man1/*.1; do
		if command -v groff >/dev/null; then
			run --separate-stderr groff -man -Tutf8 -ww -rLL=78n -P-b -P-c -P-o -P-u "$page"
			[ -z "$stderr" ]
			[[ $output == *NAME*SYNOPSIS*'SEE ALSO'* ]]
		fi
		if command -v mandoc >/dev/null; then
			run mandoc -T lint -W warning "$page"
			echo "$output"
			[ -z "$output" ]
		fi
	done
}

@test "completion knows commands and options from the help" {
	# shellcheck disable=SC2016 # expanded inside
	complete_words() {
		env "PATH=$prefix/bin:$PATH" bash -c '. "$1" && shift && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) && _gpusig gpusig &&
			echo "${COMPREPLY[*]}"' bash "$prefix/share/bash-completion/completions/gpusig" gpusig "$@"
	}
	[ "$(complete_words co)" = compare ]
	[ "$(complete_words run --bu)" = --budget ]
	[ "$(complete_words help wo)" = words ]
	[ "$(complete_words advise -- | tr ' ' '\n' | sort | paste -sd ' ')" = '--chunks --compile --devices --format --k --m --n --no-install --op --operands --type' ]
	[ -z "$(complete_words report res)" ] # a file
}

@test "a PREFIX that is not absolute, and what is not ours, are refused and left" {
	install_there() { sh packaging/install.sh install "$BATS_TEST_TMPDIR" "$1" bin 1.0 micro/memory; }
	uninstall_there() { sh packaging/install.sh uninstall "$BATS_TEST_TMPDIR" "$1"; }
	files_there() { (cd "$BATS_TEST_TMPDIR" && find . -type l -printf '%p %l\n' -o -type f -print -exec cat {} + | sort); }
	cd "$root" || return 1
	run install_there opt
	[ "$status" = 2 ]
	[ "$output" = "install: PREFIX is 'opt', not an absolute path" ]
	# Files of an install exist already: a link, a folder of another with a VERSION, documents, a page.
	for place in bin/gpusig lib/gpusig/VERSION share/doc/gpusig/README.md share/man/man1/gpusig.1; do
		mkdir -p "$BATS_TEST_TMPDIR/opt/${place%/*}"
		if [ $place = bin/gpusig ]; then ln -s /bin/true "$BATS_TEST_TMPDIR/opt/$place"; else echo mine >"$BATS_TEST_TMPDIR/opt/$place"; fi
		echo mine >"$BATS_TEST_TMPDIR/opt/${place%/*}/mine"
		before=$(files_there)
		run install_there /opt
		[ "$status" = 2 ]
		remedy="an earlier version of gpusig kept no list: remove what is of it by hand, or with 'make uninstall' of that version; in \
$BATS_TEST_TMPDIR/opt are "
		[[ ${lines[-1]} == "install: $BATS_TEST_TMPDIR/opt/$place is there and in no list of what was installed: it is left as it is; $remedy"* ]]
		run uninstall_there /opt
		[ "$status" = 2 ]
		[[ $output == *"/lib/gpusig/INSTALLED is missing, which says what was installed: nothing is removed; $remedy"* ]]
		[[ " ${output##*" are "} " == *" ${place/%gpusig.1/gpusig*.1} "* || " ${output##*" are "} " == *" ${place%/*} "* ]]
		[ "$before" = "$(files_there)" ]
		rm "$BATS_TEST_TMPDIR/opt/$place"
	done
	run sh packaging/install.sh install "$BATS_TEST_TMPDIR" /opt bin 1.0 micro/none
	[ "$status" = 2 ]
	[ "$output" = 'install: bin has no micro/none' ]
}

@test "uninstall and a later install leave what was put beside, or in the place of, what is installed" {
	there=$BATS_TEST_TMPDIR/opt
	mkdir "$there"
	cp -r "$prefix/." "$there"
	mkdir "$there/lib/gpusig/data"
	for file in lib/gpusig/mine lib/gpusig/data/mine share/doc/gpusig/mine share/man/man1/gpusig-mine.1 share/man/man1/mine.1; do
		echo mine >"$there/$file"
	done
	echo mine >"$BATS_TEST_TMPDIR/outside"
	printf '%s\n' ../outside lib/gpusig/../../../outside share/man/man1/mine.1 "$BATS_TEST_TMPDIR/outside" >>"$there/lib/gpusig/INSTALLED"
	ln -sf /bin/true "$there/bin/gpusig"
	cd "$root"
	run sh packaging/install.sh install "$BATS_TEST_TMPDIR" /opt bin 1.0 micro/memory
	[ "$status" = 2 ]
	[ "${lines[-1]}" = "install: $there/bin/gpusig is there and in no list of what was installed: it is left as it is; move it away, \
or take another PREFIX" ]
	[ -e "$there/lib/gpusig/bin/micro/copy_path" ]
	rm "$there/bin/gpusig"
	sh packaging/install.sh install "$BATS_TEST_TMPDIR" /opt bin 1.0 micro/memory
	[ "$(readlink "$there/bin/gpusig")" = ../lib/gpusig/gpusig ]
	[ "$(cat "$there/lib/gpusig/VERSION")" = 1.0 ]
	[ ! -e "$there/lib/gpusig/bin/micro/copy_path" ] # of the version before
	[ -z "$(find "$there" -name '.gpusig*')" ]
	ln -sf /bin/true "$there/bin/gpusig"
	sh packaging/install.sh uninstall "$BATS_TEST_TMPDIR" /opt
	[ "$(cd "$BATS_TEST_TMPDIR" && find . ! -type d | sort | paste -sd ' ')" = "./opt/bin/gpusig ./opt/lib/gpusig/data/mine ./opt/lib/gpusig/mine \
./opt/share/doc/gpusig/mine ./opt/share/man/man1/gpusig-mine.1 ./opt/share/man/man1/mine.1 ./outside" ]
	sh packaging/install.sh uninstall "$BATS_TEST_TMPDIR" /opt/none
}

@test "uninstall removes all that install made, and nothing else" {
	mkdir -p "$BATS_TEST_TMPDIR/opt/bin" "$BATS_TEST_TMPDIR/opt/share/man/man1"
	touch "$BATS_TEST_TMPDIR/opt/bin/other" "$BATS_TEST_TMPDIR/opt/share/man/man1/other.1"
	cp -r "$prefix/." "$BATS_TEST_TMPDIR/opt"
	sh "$root/packaging/install.sh" uninstall "$BATS_TEST_TMPDIR" /opt
	[ "$(cd "$BATS_TEST_TMPDIR/opt" && find . ! -type d | sort | paste -sd ' ')" = './bin/other ./share/man/man1/other.1' ]
}

# A prefix with folders that are links, as of stow or of a home.
linked_prefix() {
	there=$BATS_TEST_TMPDIR/opt
	mkdir -p "$there/lib64" "$BATS_TEST_TMPDIR/share/man.elsewhere"
	ln -s lib64 "$there/lib"
	ln -s ../share "$there/share"
	ln -s man.elsewhere "$BATS_TEST_TMPDIR/share/man"
	cd "$root" || return 1
}

install_one() { sh packaging/install.sh install "$BATS_TEST_TMPDIR" /opt bin "$1" micro/memory; }

@test "folders of the prefix may be links, also at a later install" {
	linked_prefix
	for version in 1.0 2.0; do
		install_one $version
		[ "$(cat "$there/lib64/gpusig/VERSION")" = $version ]
		[ -s "$BATS_TEST_TMPDIR/share/man.elsewhere/man1/gpusig.1" ]
		[ "$("$there/bin/gpusig" --version)" = "gpusig $version" ]
	done
	sh packaging/install.sh uninstall "$BATS_TEST_TMPDIR" /opt
	[ -z "$(find "$BATS_TEST_TMPDIR" -type f)" ]
	[ -L "$there/lib" ]
	[ -L "$there/share" ]
}

@test "a folder that cannot be made, and a bin of elsewhere, are found before the version before is removed" {
	linked_prefix
	install_one 1.0
	rm "$there/bin/gpusig"
	rmdir "$there/bin"
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s ../bin "$there/bin"
	run install_one 2.0
	[ "$status" = 2 ]
	[ "${lines[-1]}" = "install: $there/bin is a link, and $there/bin/../lib is not $there/lib: the command would not find its copy" ]
	rm "$there/bin"
	ln -sfn ../nowhere "$there/share"
	run install_one 2.0
	[ "$status" = 1 ]
	[ "$(cat "$there/lib/gpusig/VERSION")" = 1.0 ]
	[ -e "$there/lib/gpusig/INSTALLED" ]
}

@test "an install that is cut short is uninstalled, or done again" {
	linked_prefix
	mkdir "$BATS_TEST_TMPDIR/few"
	# shellcheck disable=SC2016 # expanded there
	printf '#!/bin/sh\ncase $* in *VERSION) echo full >&2; exit 1 ;; esac\nexec %s "$@"\n' "$(command -v cp)" >"$BATS_TEST_TMPDIR/few/cp"
	chmod +x "$BATS_TEST_TMPDIR/few/cp"
	for before in nothing 1.0; do
		[ $before = nothing ] || install_one $before
		PATH=$BATS_TEST_TMPDIR/few:$PATH run install_one 2.0
		[ "$status" = 1 ]
		[ "${lines[-1]}" = full ]
		[ -L "$there/bin/gpusig" ]
		[ ! -e "$there/lib/gpusig/VERSION" ]
		[ $before != nothing ] || install_one 3.0
		sh packaging/install.sh uninstall "$BATS_TEST_TMPDIR" /opt
		[ "$(find "$BATS_TEST_TMPDIR" -type f | paste -sd ' ')" = "$BATS_TEST_TMPDIR/few/cp" ]
	done
}
