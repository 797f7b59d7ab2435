#!/usr/bin/env bats
# Nothing is used that Redis 6.0 does not know: tests/lib/versions.py asks the
# server at hand, which must be a newer one.

load lib/common

oldest() { # COMMAND... FILE.lua...
	[ "$(cli a command docs get | wc -l)" -gt 1 ] ||
		skip "a server that does not tell since when there is what"
	/usr/bin/python3 "$top/tests/lib/versions.py" 6.0.0 "$T/a.sock" "$@"
}
taken() { [ -n "$(cli a -n 1 get job)" ]; }
# By whatever ran here, but not by the test itself.
commands_run() {
	cli a info commandstats | tr -d '\r' |
		sed -n 's/^cmdstat_\([a-z]*\).*/\1/p' |
		grep -vx 'info\|config\|command\|ping\|exists' | sort -u
}

@test "the scripts use no command, option or function newer than Redis 6.0" {
	# (those name what the others use: see doctor.bats)
	# shellcheck disable=SC2046 # words
	oldest $(ls "$top"/src/lua/*.lua | grep -v '/\(rights\|no-writes\).lua')
}

@test "the client sends no command newer than Redis 6.0" {
	cli a acl setuser joe on '>pw' '~*' +@all >/dev/null
	(umask 077; echo pw >"$T/pw")
	url="unix://$T/a.sock?db=1"
	local who=(-k job --user joe --password-file "$T/pw")
	start "${who[@]}" -- sleep 61.5
	wait_until taken
	helper "$REDLOCK" -u "$url" "${who[@]}" -w 10s -- true 2>"$T/err.1"
	local waiter=$! names
	wait_until contains "$T/err.1" waiting
	kill -TERM "$tool"
	wait "$waiter"
	finish
	mapfile -t names < <(commands_run)
	[[ " ${names[*]} " == *' auth '*' evalsha '*' select '* ]]
	[[ " ${names[*]} " == *' blpop '* ]]
	oldest "${names[@]}"
	cli a flushall >/dev/null
}
