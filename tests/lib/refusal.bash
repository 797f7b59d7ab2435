# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# How redlock refuses: for usage, config and password.

# file [MODE] <TEXT: the user's file
file() {
	mine=$XDG_CONFIG_HOME/redlock/config
	mkdir -p "${mine%/*}"
	rm -rf "$mine"
	cat >"$mine"
	chmod "${1:-600}" "$mine"
}

# says STATUS TEXT COMMAND...: prints one line with TEXT, and does nothing else.
says() {
	local want=$1 text=$2 got=0
	shift 2
	"$@" >"$T/out" 2>"$T/err" </dev/null || got=$?
	one_line "$text" && [ "$got" = "$want" ] && [ ! -s "$T/out" ] &&
		[ ! -e "$T/ran" ] && return
	printf 'wanted %s with "%s", got %s for:' "$want" "$text" "$got" >&2
	printf ' %q' "${@:1:20}" >&2
	printf '\n' >&2
	cat "$T/out" "$T/err" >&2
	return 1
}
one_line() { # TEXT: stderr is one printable line that contains it
	local line LC_ALL=C

	mapfile line <"$T/err"
	[[ ${#line[@]} = 1 && $line = 'redlock: '*$'\n' && $line = *"$1"* ]] &&
		[[ ${line%$'\n'} != *[[:cntrl:]]* ]]
}
bad_file() { # TEXT: the present file is refused with it
	says 78 "$1" "$REDLOCK" -u "$url" -k job -- touch "$T/ran"
}

# refuses STATUS TEXT ARGUMENT...: as `says`, and there is not even a fence counter
# on the server. Several refusals in a row are faster with `refused` for each and
# `untouched` after the last.
refuses() { refused "$@" && untouched; }
refused() { says "$1" "$2" "$REDLOCK" "${@:3}"; }
untouched() {
	[ "$(cli a dbsize)" = 0 ] || {
		cli a keys '*' >&2
		return 1
	}
}

# The command of a run that must be refused.
marker() { cmd=(touch "$T/ran"); }
