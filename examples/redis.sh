# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions that the examples share; source this file.

# redis-cli, for the server that redlock uses: REDLOCK_URL names it.
redis() { # COMMAND...
	# wrong-locks/harness.sh asks for this: stop before this request
	case " ${STOP_BEFORE-} " in *" $1 "*) kill -STOP $$ ;; esac
	case ${REDLOCK_URL-} in
	'') redis-cli "$@" ;;
	unix://*) redis-cli -s "${REDLOCK_URL#unix://}" "$@" ;;
	*) redis-cli -u "$REDLOCK_URL" "$@" ;;
	esac
}

# For the wrong locks: the length of a lease in ms, and what to do while somebody
# else has the lock: ask again in a moment.
# shellcheck disable=SC2034 # they use it
lease=${LEASE:-30000}
busy() {
	echo "waiting for $key" >&2
	sleep 0.05
}

need_redlock() {
	REDLOCK=${REDLOCK:-redlock}
	command -v "$REDLOCK" >/dev/null || {
		echo "$0: no redlock in PATH: REDLOCK=/path/of/redlock $0" >&2
		exit 69
	}
}

# Make a directory $W and, unless REDLOCK_URL is set, start a server in it. At
# the end, kill what is still in the background, and run $at_exit if it is set.
own_server() {
	trap 'trap "" INT TERM; exit 130' INT
	trap 'trap "" INT TERM; exit 143' TERM
	W=$(mktemp -d "${TMPDIR:-/tmp}/redlock-example.XXXXXX")
	trap end_all EXIT
	[ -z "${REDLOCK_URL-}" ] || return 0
	REDLOCK_URL=unix://$W/redis.sock
	export REDLOCK_URL
	redis-server --port 0 --unixsocket "$W/redis.sock" --save '' \
		--dir "$W" --logfile "$W/redis.log" &
	until [ "$(redis ping 2>/dev/null)" = PONG ]; do
		kill -0 $! || exit 69
		sleep 0.01
	done
}
end_all() {
	set +e
	exec 2>/dev/null # bash reports each job that is killed
	jobs -p >"$W/jobs" # in $(), dash lists none
	while read -r pid; do
		# it may be gone, and its number in use by another process
		grep -qx "PPid:.$$" "/proc/$pid/status" || continue
		kill -KILL -"$pid" || kill -KILL "$pid"
	done <"$W/jobs"
	wait
	${at_exit-}
	rm -rf "$W"
}
