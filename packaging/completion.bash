# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Completes the commands of gpusig and their options, both as its help has them; all else as file names.
_gpusig() {
	local word=${COMP_WORDS[COMP_CWORD]} words
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$("$1" help --commands 2>/dev/null) --help --version --bindir"
	elif [[ $word == -* ]]; then
		words=$("$1" help "${COMP_WORDS[1]}" 2>/dev/null | grep -oE '^ {2}--?[a-z][a-z-]*|, --?[a-z-]+|--[a-z-]+ [A-Z]( |$)' | grep -oE -- '--?[a-z][a-z-]*')
	elif [ "${COMP_WORDS[1]}" = help ] && [ "$COMP_CWORD" = 2 ]; then
		words="$("$1" help --commands 2>/dev/null) words"
	else
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _gpusig gpusig
