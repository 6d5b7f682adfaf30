# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Fresh checkouts for tests, and commands that run in them at the same time.

# shellcheck disable=SC2154 # helpers sets root
# Copy the files that are in version control, or will be, to a folder of their own.
copy_checkout() {
	mkdir -p "$1"
	(cd "$root" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
		[ ! -e "$file" ] || printf '%s\0' "$file"
	done | tar -c --null -T -) | tar -x -C "$1"
}

# small_checkout FOLDER [PROGRAM]: a checkout whose only program, micro/a, is a script, or this one; its build waits for the file
# BUILD_UNTIL where that is set. What gpusig does around make is what is tested.
small_checkout() {
	mkdir -p "$1"
	cp -rp "$root/gpusig" "$root/suite" "$root/reports" "$1"
	mkdir -p "$1/micro" "$1/made" && : >"$1/micro/a.c"
	if [ $# -gt 1 ]; then
		cp "$2" "$1/made/a"
	else
		GPUSIG_BIN=$PWD/fakes fake micro/a steady
		mv fakes/micro/a "$1/made/a"
	fi
	unset GPUSIG_BIN
	cat >"$1/Makefile" <<-'END'
		.RECIPEPREFIX := >
		BUILD := $(or $(GPUSIG_BUILD),build)
		build := $(BUILD)/one
		LINK := $(if $(GPUSIG_BUILD),$(BUILD)/)bin
		all: built
		> ln -sfnr $(build)/bin $(LINK)
		built: $(build)/bin/micro/a
		$(build)/bin/micro/a: made/a micro/a.c
		> echo begun >>$(BUILD)/builds
		> mkdir -p $(@D)
		> until [ -z "$(BUILD_UNTIL)" ] || [ -e "$(BUILD_UNTIL)" ]; do sleep 0.1; done
		> cp $< $@
		> echo ended >>$(BUILD)/builds
		where:
		> @echo $(build)
		.PHONY: all built where
	END
}

# start NAME COMMAND...: in the background; its output in NAME.out and NAME.err, its exit code in NAME.code.
start() {
	local name=$1
	shift
	("$@" >"$name.out" 2>"$name.err" 3>&- && echo 0 >"$name.code" || echo $? >"$name.code") &
	started="${started:-} $!"
}

all_ended() {
	for pid in $started; do wait "$pid" || true; done
	started=
}

# wait_for CONDITION: or fails, where that hangs.
wait_for() {
	local left=$((HANGS_S * 10))
	until eval "$1"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}
