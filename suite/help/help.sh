#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# help.sh [COMMAND | words [WORD] | --commands]: what ./gpusig says of itself, without a Python. suite/help/ has a text for each
# command, the overview, whose list of commands is the only one, and what is true of all commands; reports/page/words.txt is the
# glossary. Starts in the root.
set -u
texts=suite/help

refuse() { echo "gpusig: $*" >&2 && exit 2; }
commands() {
	found='' listing=''
	while read -r word _; do
		case $word in
		All) listing=1 ;;
		'') [ -z "$found" ] || break ;;
		*) [ -z "$listing" ] || found="$found${found:+ }$word" ;;
		esac
	done <"$texts/overview.txt"
	echo "$found"
}
refuse_topic() { refuse "unknown topic '$1'; topics: $(commands) words"; }

# The entries of which a spelling contains the word $1 in lower or upper case, at most 80 columns wide. awk may count bytes: a
# character of UTF-8 has one byte that is not among \200 to \277.
words() {
	wanted=$1 LC_ALL=C awk '
	function columns(text) { gsub(/[\200-\277]/, "", text); return length(text) }
	BEGIN { wanted = tolower(ENVIRON["wanted"]) }
	/^[ \t]*(#|$)/ { next }
	{
		cut = index($0, " = ")
		if (!cut || !index(tolower(substr($0, 1, cut - 1)), wanted)) next
		line = ""
		term = substr($0, 1, cut - 1)
		sub(/,.*/, "", term)
		gsub(/[][]/, "", term)
		count = split(term ": " substr($0, cut + 3), word, /[ \t]+/)
		for (i = 1; i <= count; i++) {
			if (line != "" && columns(line " " word[i]) > 80) { print line; line = "    " word[i] }
			else line = line (line == "" ? "" : " ") word[i]
		}
		print line
		found = 1
	}
	END { exit !found }' reports/page/words.txt
}

case ${1-} in
'')
	cat "$texts/overview.txt" "$texts/general.txt"
	exit
	;;
--commands) commands && exit ;;
words)
	[ $# -le 2 ] || refuse "help words takes one word, not also '$3'"
	[ -r reports/page/words.txt ] || refuse 'no help on words: this copy has no reports/page/words.txt'
	words "${2-}"
	code=$?
	[ $code != 1 ] || refuse "no term contains '${2-}'; ./gpusig help words lists all"
	exit $code
	;;
--help | -h) topic=help ;;
overview | general | */*) refuse_topic "$1" ;;
*) topic=$1 ;;
esac
[ -f "$texts/$topic.txt" ] || refuse_topic "$topic"
[ $# = 1 ] || refuse "help takes one command, not also '$2'"
cat "$texts/$topic.txt"
