# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Answers --about and --devices without starting Python; fake_program.py does the rest. Sourced by a script that sets name,
# behaviour, python and program.

# shellcheck disable=SC2154
case $* in
--about)
	[ "$behaviour" != mute ] || exit 1
	printf '{"name": "%s", "question": "what is %s?", "formula": "none", "needs": ["copy_engine"], ' "$name" "$name"
	echo '"min_devices": 1, "share": 1.0, "primary": ["fake_rate"]}'
	;;
--devices)
	for row in ${FAKE_DEVICES:-host=1 sim=1 cuda=0 hip=0}; do
		missing='no driver'
		[ "${row#*=}" = 0 ] || missing=
		printf '{"name": "%s", "devices": %s, "why": "%s"}\n' "${row%=*}" "${row#*=}" "$missing"
	done
	;;
*) exec "$python" -I -S "$program" "$name" "$behaviour" "$@" ;;
esac
