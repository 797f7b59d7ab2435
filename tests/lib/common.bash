# SPDX-License-Identifier: MIT
# What every .bats file begins with: `load lib/common`.
#
# Each test gets a directory ($T), real redis-servers on unix sockets in it, an
# environment mark by which stray processes are found, and the witness, which
# knows by flock(2) and not by any clock whether two commands ran at once. Every
# test ends with four asserts: no witness error, fences increased (the witness
# checks), no process of ours left, no lock left on any server.

bats_require_minimum_version 1.5.0

top=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
REDLOCK=${REDLOCK:-$top/redlock}
TEST_BIN=${TEST_BIN:-$top/tests/lib}
export PATH="$TEST_BIN:$PATH"

setup() {
	# A machine that stands still for a second may end a lease: once more,
	# and the log says so. RETRIES=0 forbids it; two commands at once are
	# never excused.
	BATS_TEST_RETRIES=${RETRIES-1}
	T=$(mktemp -d "${TMPDIR:-/tmp}/rl.XXXXXX")
	export T
	export REDLOCK_TEST_ID=$T
	unset REDLOCK_URL REDISCLI_AUTH XDG_RUNTIME_DIR SSL_CERT_FILE SSL_CERT_DIR
	export XDG_CONFIG_HOME=$T/settings # nobody's, unless a test makes it
	nodes=
	node_start a
	url=unix://$T/a.sock
}

teardown() {
	local failed=0 n

	# a frozen server would not answer the asserts
	for n in $nodes; do node_thaw "$n" 2>/dev/null || true; done
	# helpers of a failed test first, so that the asserts see redlock's own
	kill_helpers
	[ ! -s "$T/errors" ] || {
		cat "$T/errors" >&2
		failed=1
		BATS_TEST_RETRIES=0
	}
	wait_until no_process_left || {
		list_processes >&2
		list_processes | while read -r n _; do kill -KILL "$n"; done
		failed=1
	}
	for n in $nodes; do
		wait_until no_lock_left "$n" || {
			echo "a lock is left on node $n:" >&2
			cli "$n" keys '*' >&2
			failed=1
		}
	done
	for n in $nodes; do node_kill "$n"; done
	rm -rf "$T"
	if [ -z "${BATS_TEST_COMPLETED-}" ] || [ $failed != 0 ]; then
		[ "${BATS_TEST_TRY_NUMBER-1}" -gt "$BATS_TEST_RETRIES" ] ||
			{ echo "failed, and is tried again: $BATS_TEST_NAME"
			cat "$BATS_OUT"; } | sed 's/^/# /' >&3
	fi
	return $failed
}

# ---- redlock ----

# As a user types it, but with the test's server.
redlock() { "$REDLOCK" -u "$url" "$@"; }

# redlock ARGUMENTS in the background as $tool, with every signal at its default
# (a shell makes its background jobs ignore two), stderr in $T/err.
start() {
	launch --default all "$REDLOCK" -u "$url" "$@" 2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
}
finish() { # its exit status is then $status
	status=0
	wait "$tool" || status=$?
}
lock_is_free() { free job; }

# hold MS [OPTION...]: redlock in the background as $holder, in the namespace
# `within` if there is one, until its command, the witness, runs as $worker.
hold() {
	start_hold "$@"
	wait_until exists "$T/started"
	worker=$(cat "$T/started")
}
start_hold() {
	local ms=$1

	shift
	rm -f "$T/started"
	helper ${within:+"${within[@]}"} "$REDLOCK" -u "$url" -k job -t 1s "$@" \
		-- witness "$T" --hold "$ms" --spawn --started "$T/started" \
		2>"$T/err"
	holder=$!
}
ends_with() { # STATUS: how the holder ended
	local got=0

	wait "$holder" || got=$?
	[ "$got" = "$1" ] || {
		echo "the holder ended with $got, not with $1:" >&2
		cat "$T/err" >&2
		return 1
	}
}

# ---- servers ----

node_start() { # NAME [redis-server option...]
	local n=$1
	shift
	case " $nodes " in *" $n "*) ;; *) nodes="$nodes $n" ;; esac
	# not marked as ours; bats waits for whoever holds its descriptor 3
	env -u REDLOCK_TEST_ID redis-server --port 0 \
		--unixsocket "$T/$n.sock" --save '' --appendonly no \
		--dir "$T" --daemonize yes --logfile "$T/$n.log" \
		--pidfile "$T/$n.pid" "$@" >/dev/null 3>&-
	wait_until node_answers "$n"
}
node_answers() { [ "$(cli "$1" ping 2>/dev/null)" = PONG ]; }
node_pid() { cat "$T/$1.pid"; }
node_freeze() { kill -STOP "$(node_pid "$1")"; }
node_thaw() { kill -CONT "$(node_pid "$1")"; }
node_kill() {
	local pid
	pid=$(node_pid "$1" 2>/dev/null) || return 0
	kill -KILL "$pid" 2>/dev/null || return 0
	wait_until gone "$pid"
	rm -f "$T/$1.sock" "$T/$1.pid"
}
node_restart() { # NAME [option...]: comes back empty
	node_kill "$1"
	node_start "$@"
}
cli() { # NAME COMMAND...
	local n=$1
	shift
	redis-cli -s "$T/$n.sock" "$@"
}
# A server that has run all our scripts before, as most have: where a test counts
# what goes over the wire. NAME
warm() {
	"$REDLOCK" -q -u "unix://$T/$1.sock" -k warm -t 200ms -- sleep 0.1
	cli "$1" del 'redlock:{warm}:fence:warm' >/dev/null
	cli "$1" config resetstat >/dev/null
}
# How many scripts a server has run: whole, or by a hash that it knows.
scripts_run() { # NAME
	cli "$1" info commandstats | tr -d '\r' | awk -F '[=,]' '
		/^cmdstat_eval:/ { n += $2 }
		/^cmdstat_evalsha:/ { n += $2 - $NF }
		END { print n + 0 }'
}
held() { [ "$(cli a exists "$1")" = 1 ]; }
free() { [ "$(cli a exists "$1")" = 0 ]; }

# ---- waiting for a condition, never for luck ----

wait_until() { # COMMAND...: up to 10 s
	local i
	for ((i = 0; i < 1000; i++)); do
		"$@" && return 0 # not "return": teardown runs in a trap
		sleep 0.01
	done
	echo "waited 10 s for: $*" >&2
	return 1
}
# A zombie is gone: who should reap it may take its time.
gone() {
	local state
	state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)
	[ -z "$state" ] || [ "${state:0:1}" = Z ]
}
stopped() { grep -q '^State:.T' "/proc/$1/status"; }
guard_of() { pgrep -P "$1" | head -n 1; }
exists() { [ -e "$1" ]; }
contains() { grep -q -- "$2" "$1"; } # FILE TEXT
now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }

# ---- the four asserts ----

# Processes that carry this test's mark, but not this shell and its children.
# One grep for all: bats traces every command of a loop, which takes its time.
list_processes() {
	local p
	for p in $(grep -lzx "REDLOCK_TEST_ID=$T" /proc/[0-9]*/environ \
		2>/dev/null); do
		p=${p%/environ}
		[ "${p#/proc/}" != "$BASHPID" ] || continue
		case "$(cat "$p/comm" 2>/dev/null)" in
		redlock | lockguard | witness | sleep | sh) ;;
		*) continue ;;
		esac
		echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline")"
	done
}
no_process_left() { [ -z "$(list_processes)" ]; }
# A fence counter outlives its lock by design, with what belongs to it, and so do
# the latest ticket of --supersede and the mark of --once-per; nothing else does.
no_lock_left() {
	[ -z "$(cli "$1" --raw keys '*' 2>/dev/null |
		grep -v '^redlock:{.*}:\(fence\|newest\|moves\|once\):')" ]
}

# ---- helpers of the test ----

# Background processes to be killed with the test: helper COMMAND...
helpers=
helper() {
	"$@" 3>&- &
	helpers="$helpers $!"
}
kill_helpers() {
	local pid
	for pid in $helpers; do kill -KILL "$pid" 2>/dev/null; done
	for pid in $helpers; do wait "$pid" 2>/dev/null; done
	helpers=
	return 0
}

# How often the command under test (witness "$T", see witness.c) has run.
holds() { cat "$T/counter" 2>/dev/null || echo 0; }
