# SPDX-License-Identifier: MIT
# What every .bats file begins with: `load lib/common`.
#
# Each test gets a directory ($T), a redis-server on a unix socket in it (node a, at
# $url), a mark in the environment that identifies stray processes, and the witness,
# which notices by flock(2), not by a clock, when two commands run at once. Every test
# ends with four asserts: no witness error, increasing fences (the witness checks),
# no process of ours left, no lock left on any server.
#
# Node a is lent: all tests of a file share it, and find it empty. So is any other node
# that is started without options. A test may do anything to it: a server that was
# killed, frozen or configured, or has new users, is replaced for the next test.

command -v bats_require_minimum_version >/dev/null || {
	echo 'the tests need bats 1.7 or newer (Debian 12 has it)' >&2
	exit 1
}
bats_require_minimum_version 1.5.0

top=${BATS_TEST_DIRNAME%/*}
REDLOCK=${REDLOCK:-$top/redlock}
TEST_BIN=${TEST_BIN:-$top/tests/lib}
export PATH="$TEST_BIN:$PATH"
export LC_ALL=C.UTF-8 # output is compared byte by byte

setup() {
	trace_failures
	common_begin
}
teardown() { common_end; }
teardown_file() { kill_servers "$BATS_FILE_TMPDIR"; }
# bats saves the stack before each command, which takes longer than the command.
# Saving it when a command fails is enough.
trace_failures() {
	trap - DEBUG
	trap note_failure ERR
}
note_failure() {
	bats_check_status_from_trap
	[ -n "${BATS_DEBUG_LAST_STACK_TRACE_IS_VALID-}" ] ||
		bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}
# (bats runs date)
get_mills_since_epoch() { now_ms; }

common_begin() {
	BATS_TEST_RETRIES=0 # unless the test says may_need_another_try
	nodes=
	borrow a
	case ${SANITIZED-} in asan | tsan) report_to_files ;; esac
	export T REDLOCK_TEST_ID=$T
	unset REDLOCK_URL REDIS_URL REDISCLI_AUTH SSL_CERT_FILE SSL_CERT_DIR
	export XDG_CONFIG_HOME=$T/settings # does not exist unless a test makes it
	url=unix://$T/a.sock
}

# What a sanitizer finds in a guard or a keeper would be read by nobody. TSan's builds are
# ten times slower and may lose a lease of half a second; a finding is never excused.
# (UBSan, which is in ASan's builds, ends the process, but knows no such files.)
report_to_files() {
	[ "$SANITIZED" = asan ] || BATS_TEST_RETRIES=1
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$T/found
	export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}log_path=$T/found
}

common_end() {
	local failed=0 n

	# a frozen server would not answer the asserts
	for n in $nodes; do node_thaw "$n" 2>/dev/null || true; done
	for n in $shared_nodes; do shared node_thaw "$n" 2>/dev/null || true; done
	# helpers of a failed test first, so that the asserts see redlock's own
	kill_helpers
	# (that a process was killed while it was looked through for leaks is no
	# finding)
	[ -z "${SANITIZED-}" ] || grep -hvE \
		'^==[0-9]+==Unable to get registers from thread [0-9]+\.$' "$T"/found.* \
		>>"$T/errors" 2>/dev/null || true
	[ ! -s "$T/errors" ] || {
		cat "$T/errors" >&2
		failed=1
		BATS_TEST_RETRIES=0
	}
	[ -n "${BATS_TEST_COMPLETED-}" ] || {
		failed=1
		for n in "$T"/err "$T"/err.*; do
			[ ! -s "$n" ] || sed "s/^/${n##*/} said: /" "$n"
		done
	}
	what_is_left || {
		failed=1
		list_processes | while read -r n _; do kill -KILL "$n"; done
	}
	return_lent $failed
	# after a success nothing is left
	[ ! -e "$T" ] || {
		for n in $nodes; do node_kill "$n"; done
		[ -z "$launched" ] || kill_servers "$T"
		rm -rf "$T"
	}
	[ $failed = 0 ] || tell_of_another_try
	return $failed
}

# The first line of a test that may fail on a stalled machine; REASON says why. The
# test then gets a second try, and the log has the output of the first. At most five
# tests of a run get one, counted in $REDLOCK_RETRIED, and none with STRICT=1. Two
# commands at once are never excused.
may_need_another_try() { # REASON
	[ -n "$1" ] || return
	[ -n "${STRICT-}" ] || BATS_TEST_RETRIES=1
}
tell_of_another_try() {
	[ "${BATS_TEST_TRY_NUMBER-1}" -le "$BATS_TEST_RETRIES" ] || return 0
	if [ -n "${REDLOCK_RETRIED-}" ]; then
		echo "$BATS_TEST_FILENAME: $BATS_TEST_DESCRIPTION" \
			>>"$REDLOCK_RETRIED"
		[ "$(wc -l <"$REDLOCK_RETRIED")" -le 5 ] || {
			echo "# more than five tests needed another try" >&3
			BATS_TEST_RETRIES=0
			return
		}
	fi
	{ echo "failed, and is tried again: $BATS_TEST_NAME"
	cat "$BATS_OUT"; } | sed 's/^/# /' >&3
}

# ---- redlock ----

# FILE: its path, or that of a link without blanks, for places where a blank ends it
unblanked() {
	case $1 in
	*[[:blank:]:]*)
		ln -sf "$1" "$T/${1##*/}"
		echo "$T/${1##*/}"
		;;
	*) echo "$1" ;;
	esac
}
# SO: a library of ours, for LD_PRELOAD
shim() { unblanked "$TEST_BIN/$1"; }

# A sanitizer sets limits of its own, needs much address space, and may write files.
limited() { [ -z "${SANITIZED-}" ] || skip "a sanitizer has its own limits"; }
# where a command that cannot be executed is not known before it counts as run
vforks() { [ "${SANITIZED-}" != tsan ] || skip "TSan makes a fork of vfork"; }
# SO: skips the test where redlock cannot be given this library
preloading() {
	[ -z "${SANITIZED:-}" ] || skip "no preloading into a sanitizer build"
	[ -e "$TEST_BIN/$1" ] || skip "no $1"
	! readelf -hW "$REDLOCK" >/dev/null 2>&1 ||
		readelf -lW "$REDLOCK" | grep -q INTERP ||
		skip "no preloading into a static file"
}

# redlock with the test's server
redlock() { "$REDLOCK" -u "$url" "$@"; }
# briefly COMMAND...: what waits for servers is done within less than the time-out
briefly() {
	local token

	token=$("$@" -q lock -t 1m brief)
	"$@" extend -w 900ms --token "$token" brief
	"$@" unlock -w 900ms --token "$token" brief
	"$@" wait -w 900ms brief
}

# PID STATUS: our child ended so. ("run wait" does not work: it waits in a subshell,
# which is not the parent.)
ended_as() {
	local got=0

	wait "$1" || got=$?
	[ "$got" = "$2" ] || {
		echo "process $1 ended with $got, not with $2" >&2
		return 1
	}
}

# redlock ARGUMENTS in the background as $tool, with every signal at its default
# (a shell makes its background jobs ignore two), stderr in $T/err.
start() {
	launch --default all "$REDLOCK" -u "$url" "$@" 2>"$T/err" 3>&- &
	tool=$!
	helpers="$helpers $tool"
}
# COMMAND...: fails if it succeeds ("! COMMAND" alone fails no test)
not() {
	if "$@"; then return 1; fi
}
finish() { # its exit status is then $status
	status=0
	wait "$tool" || status=$?
}
# In the background, until it has seen that the lock is held: waiter N MS [OPTION...]
waiter() {
	local n=$1 ms=$2

	shift 2
	helper "$REDLOCK" -u "$url" -k job -t 1s "$@" -- \
		witness "$T" --hold "$ms" 2>"$T/err.$n"
	waiters="$waiters $!"
	wait_until contains "$T/err.$n" "waiting"
}
waiters=
all_waiters_ran() { # each with status 0
	local pid

	for pid in $waiters; do wait "$pid"; done
}

# min-replicas-to-write
heeded_by_scripts() {
	server_is_at_least 7.0 ||
		skip 'a script may write without replicas (before 7.0)'
}
# A second server, which the url then names: node_b [redis-server OPTION...]
node_b() {
	node_start b "$@"
	url=unix://$T/b.sock
}
lock_is_free() { free job; }
in_line() { [ "$(cli a zcount 'job:redlock:{job}:queue' 0 +inf)" = "$1" ]; } # N wait

# COMMAND... as an unprivileged user: as ourselves, unless we are root
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 54321 --regid 54321 --clear-groups "$@"
	else
		"$@"
	fi
}
need_user() {
	as_user "$REDLOCK" --version >/dev/null 2>&1 ||
		skip "another user cannot run this build"
}

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
# for `unshare -fp --mount-proc`
need_pid_namespace() {
	need_root
	unshare -fp --mount-proc true 2>/dev/null || skip "no PID namespaces"
}

# hold MS [OPTION...]: starts redlock in the background as $holder, in the namespace
# `within` if there is one, and waits until its command, the witness, runs as $worker.
# With MS `open` it holds until end_hold.
hold() {
	start_hold "$@"
	wait_until exists "$T/started"
	read -r worker <"$T/started"
}
start_hold() {
	local long=(--hold "$1")

	[ "$1" != open ] || long=(--until "$T/end")
	shift
	! exists "$T/started" && ! exists "$T/end" || rm -f "$T/started" "$T/end"
	helper ${within:+"${within[@]}"} "$REDLOCK" -u "$url" -k job -t 1s "$@" \
		-- witness "$T" "${long[@]}" --spawn --started "$T/started" \
		2>"$T/err"
	holder=$!
}
end_hold() {
	: >"$T/end"
	ends_with 0
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

# TEXT [STATEMENTS]: each line of TEXT is a JSON document as in the manual; see
# schema.py
as_in_manual() {
	/usr/bin/python3 -IS "$top/tests/lib/schema.py" "$top/man/redlock-json.5" \
		"${@:2}" <<<"$1"
}

# The user `app` of node a, whose password is in $T/password: the tests' own
# redis-cli needs none.
secure() {
	cli a acl setuser app on '>old' '~*' +@all
	echo old >"$T/password"
	chmod 600 "$T/password"
}
# After COMMAND the server cuts off `app`, which can no longer log in. A hold with
# T = 600 ms ends by its deadline, and not before.
locked_out() { # COMMAND...
	local began took

	began=$(now_ms)
	"$@"
	cli a client kill user app
	wait_until gone "$worker"
	took=$(($(now_ms) - began))
	ends_with 125
	at_least "$took" 250
	below "$took" 550
}

# The rights that the manual says a user needs, as words of ACL SETUSER.
rights_in_manual() {
	sed -n '/^ *ACL SETUSER/,/^\.Ed/{/^    /p}' \
		"$top/man/redlock-servers.7" | tr -s ' \n' ' '
}

# ---- servers ----

node_start() { # NAME [redis-server option...]
	if can_borrow "$@"; then
		borrow "$1"
	else
		node_launch "$@"
		kit await "$T/$1" PONG ping
	fi
}
launched= # set if the test has a server of its own
via=() # a prefix for the command, such as `ip netns exec NAME`
node_launch() { # does not wait for the server
	local n=$1
	shift
	case " $nodes " in *" $n "*) ;; *) nodes="$nodes $n" ;; esac
	launched=yes
	# these may be a lent server's
	[ ! -e "$T/$n.log" ] && [ ! -L "$T/$n.log" ] || rm -f "$T/$n".{sock,pid,log}
	( # without our mark; and bats waits until all have closed its descriptor 3
		unset REDLOCK_TEST_ID
		exec "${via[@]}" redis-server --port 0 \
			--unixsocket "$T/$n.sock" --save '' --appendonly no \
			--dir "$T" --daemonize yes --logfile "$T/$n.log" \
			--pidfile "$T/$n.pid" "$@" >/dev/null 3>&-
	)
}
node_answers() { [ "$(cli "$1" ping 2>/dev/null)" = PONG ]; }
node_pid() { cat "$T/$1.pid"; }
node_freeze() { # NAME: returns when it no longer answers
	kill -STOP "$(node_pid "$1")"
	wait_until stopped "$(node_pid "$1")"
}
node_thaw() {
	local pid

	read -r pid <"$T/$1.pid" && kill -CONT "$pid"
}
node_kill() {
	local pid

	{ read -r pid <"$T/$1.pid" && kill -KILL "$pid"; } 2>/dev/null ||
		return 0
	wait_until gone "$pid"
	rm -f "$T/$1.sock" "$T/$1.pid"
}
node_restart() { # NAME [option...]: comes back empty
	node_kill "$1"
	node_start "$@"
}
cli() { # NAME COMMAND...; $T/NAME.auth has the password, if there is one
	local n=$1 auth=()
	shift
	case "$n ${1,,}-${2,,}" in # changes that kit state cannot see
	*\ debug-* | *\ save-* | *\ bgsave-* | *\ replicaof-* | \
		*\ swapdb-* | *\ client-pause)
		: >"$T/$n.spoiled"
		;;
	esac
	case "${1-}" in
	-* | monitor | subscribe | psubscribe)
		[ ! -e "$T/$n.auth" ] ||
			auth=(--no-auth-warning -a "$(<"$T/$n.auth")")
		redis-cli -s "$T/$n.sock" "${auth[@]}" "$@"
		;;
	*) kit ask "$T/$n" "$@" ;;
	esac
}
# Kills the servers in or below DIRECTORY, with or without pid files.
kill_servers() { # DIRECTORY
	local p

	for p in $(find /proc/[0-9]*/cwd -maxdepth 0 \
		\( -lname "$1" -o -lname "$1/*" \) 2>/dev/null); do
		p=${p%/cwd}
		[ "$(cat "$p/comm" 2>/dev/null)" = redis-server ] || continue
		kill -KILL "${p#/proc/}" 2>/dev/null || continue
		wait_until gone "${p#/proc/}"
	done
}

# ---- the servers that are lent ----

lent= # to this test
can_borrow() { # NAME [option...]: not for a node started a second time
	[ $# = 1 ] && [ "$BASH_SUBSHELL" = 0 ] &&
		[ ${#via[@]} = 0 ] && [ -z "${LD_PRELOAD-}" ] &&
		[ "$T" != "$BATS_FILE_TMPDIR" ] && [[ " $nodes " != *" $1 "* ]]
}
borrow() { # NAME
	local at=$BATS_FILE_TMPDIR own=$launched to

	[ -e "$at/$1.fresh" ] || {
		chmod a+x "$BATS_RUN_TMPDIR" # for tests with other users
		T=$at node_launch "$1"
		launched=$own
		kit await "$at/$1" PONG ping
		kit state "$at/$1" >"$at/$1.fresh"
	}
	to=$(kit lend "$at" "$1" $T) || return
	T=$to
	[[ " $nodes " == *" $1 "* ]] || nodes="$nodes $1"
	lent="$lent $1"
}
is_lent() { [ -L "$T/$1.sock" ] && [ ! -e "$T/$1.spoiled" ]; }
# Keeps the lent servers that the test left unchanged; they are empty now. After a
# failed test all are replaced.
return_lent() { # FAILED
	local at=$BATS_FILE_TMPDIR n pid

	for n in $lent; do
		[ "$1" != 0 ] || [ ! -e "$at/$n.fresh" ] || continue
		rm -f "$at/$n.fresh"
		# a test may have killed it
		read -r pid <"$at/$n.pid" && [ "/proc/$pid/cwd" -ef "$at" ] ||
			continue
		shared node_kill "$n"
	done
}

# NAME: makes the server know all scripts, as most servers do, for tests that count
# bytes or commands
warm() {
	"$REDLOCK" -q -u "unix://$T/$1.sock" -k warm -t 900ms -- sleep 0.2
	cli "$1" del 'warm:redlock:{warm}:state' >/dev/null
	cli "$1" config resetstat >/dev/null
}
# How many scripts a server has run, sent whole or called by hash. (The EVAL that
# loads the release script fails, and does not count.)
scripts_run() { # NAME
	local line n=0 whole=0 hashed=0 failed=

	while IFS= read -r line; do # without a process: it is called often
		[[ $line =~ ^cmdstat_(eval|evalsha):calls=([0-9]+) ]] || continue
		((n += BASH_REMATCH[2]))
		case ${BASH_REMATCH[1]} in eval) whole=1 ;; *) hashed=1 ;; esac
		[[ ! $line =~ failed_calls=([0-9]+) ]] ||
			failed=$((failed + BASH_REMATCH[1]))
	done < <(cli "$1" info commandstats)
	# before 6.2 the server does not say how many failed
	[ -n "$failed" ] || failed=$((2 * whole * hashed))
	echo $((n - failed))
}
# What this redis-server is, be it Valkey's: "Redis", "Valkey", "Redict".
server_name() { redis-server --version | cut -d ' ' -f 1; }
server_is_at_least() { # VERSION
	local is

	is=$(redis-server --version | sed 's/.* v=\([0-9.]*\).*/\1/')
	printf '%s\n' "$1" "$is" | sort -V -C
}
# The history on node NAME, the oldest entry first: a line "=ID TOKEN" for each, then
# the lines of the entry. (The first entry is not in the stream yet.)
stored_history() { # NAME [KEY]
	cli "$1" --raw eval "
		local base = KEYS[1] .. ':redlock:{' .. KEYS[1] .. '}:'
		local lines = {}
		local function add(id, token, hold, who)
			lines[#lines + 1] = '=' .. id .. ' ' .. token
			lines[#lines + 1] = hold .. who
		end
		if redis.call('type', base .. 'state').ok == 'hash' then
			local at, token, n, rest = string.match(redis.call('hget',
			    base .. 'state', 'first') or '', '^(%d+) (%S+) (%d+)\n(.*)$')
			if at then
				add(at .. '-0', token, rest:sub(1, n), rest:sub(n + 1))
			end
		end
		for _, e in ipairs(redis.call('xrange', base .. 'log', '-', '+')) do
			local its = {}
			for k = 1, #e[2], 2 do
				its[e[2][k]] = e[2][k + 1]
			end
			add(e[1], its.token or '', its.hold or '', its.who or '')
		end
		return lines" 1 "${2:-job}" | sed '/^$/d'
}
history_has() { # N [NAME [KEY]]: it has N entries
	[ "$(stored_history "${2:-a}" "${3:-job}" | grep -c ^=)" = "$1" ]
}
# The number of the last request of the holder of each of these keys on node a; 0: it
# is not held.
requests() { # KEY...
	cli a --raw eval "
		local all = {}
		for i, key in ipairs(KEYS) do
			all[i] = string.match(redis.call('hget',
			    key .. ':redlock:{' .. key .. '}:state',
			    'hold:' .. (redis.call('get', key) or '')) or '',
			    ' (%d+)') or '0'
		end
		return all" $# "$@"
}
thrice_more() { # KEY...: each has been renewed three times since `was` was asked
	local i now

	mapfile -t now < <(requests "$@")
	for ((i = 0; i < $#; i++)); do
		[ "${was[i]}" != 0 ] && [ "${now[i]}" -ge $((was[i] + 3)) ] || return
	done
}
# For a lock whose holder does not run: its state, and below the holder "tok".
state_of() { # KEY
	case $1 in
	*{*}*) echo "$1:redlock:state" ;;
	*) echo "$1:redlock:{$1}:state" ;;
	esac
}
# The lock KEY held by `tok` for MS more, with a lease of TTL.
forge_holder() { # NODE KEY [HOST [MS [TTL [SINCE]]]]
	local us ms=${4-60000} ttl=${5-60000} ends

	us=$(($(date +%s%N) / 1000))
	ends=$((us / 1000 + ms))
	cli "$1" set "$2" tok px "$ms" >/dev/null
	cli "$1" hset "$(state_of "$2")" v 2 fence "$us" born "$us" trail " $us" \
		slot:0 "tok 1 $us $ttl tok" hold:tok "$ends 1 " \
		who:tok "0 $us ${6-1790000000000} $ttl"$'\n60000 1 -\nhost '"${3-web1}"$'\npid 12\nuser ann\ncommand backup.sh\n' >/dev/null
}
held() { [ "$(cli a exists "$1")" = 1 ]; }
free() { [ "$(cli a exists "$1")" = 0 ]; }

# ---- a server's clock ----

# Starts the node NAME, whose wall clock node_step NAME MS sets that much ahead.
node_start_clock() {
	local shim=$(shim wallclock.so)

	# the server is not of our build, where all is linked with the sanitizer
	[ -e "$shim" ] && [ -z "${SANITIZED-}" ] || {
		shim=$T/wallclock.so
		${CC:-cc} -D_GNU_SOURCE -O1 -shared -fPIC -o "$shim" \
			"$top/tests/lib/wallclock.c" ||
			skip 'no compiler for the clock shim'
	}
	node_step "$1" 0
	# (our launch is, but does not mind)
	ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$shim WALLCLOCK=$T/$1.clock \
		node_start "$1"
	# sanitizers may keep the shim out
	node_step "$1" 5000
	at_least "$(cli "$1" time | head -1)" "$((EPOCHSECONDS + 4))"
	node_step "$1" 0
}
node_step() { wallclock "$T/$1.clock" "$2"; }

# ---- servers that setup_file starts, for all tests of a .bats file ----

# shared COMMAND...: runs a function from above for them; $T is then
# $BATS_FILE_TMPDIR, where they live
shared() { local T=$BATS_FILE_TMPDIR; "$@"; }
# NAME...: these servers, too, must be free of locks after each test
share_nodes() { export shared_nodes="$shared_nodes $*"; }
shared_nodes=${shared_nodes-}
T= # until setup

# ---- waiting for a condition, never for luck ----

wait_until() { # COMMAND...: up to 20 s, however long it takes
	local end=$((SECONDS + 20)) ms=10

	case $1 in # one process polls until it is true
	held) kit await "$T/a" 1 exists "$2" && return 0 ;;
	free) kit await "$T/a" 0 exists "$2" && return 0 ;;
	set_on) kit await "$T/$2" 1 exists "$3" && return 0 ;;
	unset_on) kit await "$T/$2" 0 exists "$3" && return 0 ;;
	lock_is_free) kit await "$T/a" 0 exists job && return 0 ;;
	esac
	while ((SECONDS < end)); do
		"$@" && return 0 # not "return": teardown runs in a trap
		pause 0.0$ms
		# later it polls less often
		((ms < 50)) && ((ms += 5))
	done
	echo "waited 20 s for: $*" >&2
	return 1
}
# Sleeps without a process: nothing is ever written to this pipe.
pause() { # SECONDS
	local never=$BATS_FILE_TMPDIR/never

	[ -p "$never" ] || mkfifo "$never" 2>/dev/null
	read -rt "$1" <>"$never" || true
}
# A zombie is gone if it has no other thread: its parent may reap it late. While
# another thread is still writing to a disk, the sockets of the process still accept
# connections.
gone() {
	local stat fields

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	read -ra fields <<<"${stat##*) }"
	[ "${fields[0]}" = Z ] && [ "${fields[17]}" -le 1 ] # threads
}
stopped() {
	local stat

	read -r stat <"/proc/$1/stat" || return
	stat=${stat##*) }
	[ "${stat:0:1}" = T ]
}
guard_of() { # the first that it starts
	local first=

	read -r first _ 2>/dev/null <"/proc/$1/task/$1/children" || true
	echo $first
}
# A run asks for the lock first, and starts its guard while it waits for the answer.
has_guard() { [ -n "$(guard_of "$1")" ]; }
# Kills redlock and its guard at once, as when a machine dies.
crash() { # PID
	local guard

	wait_until has_guard "$1"
	guard=$(guard_of "$1")
	kill -STOP "$1" # neither may act on the other's death
	wait_until stopped "$1"
	# on a busy machine the deadman may have been quicker
	kill -KILL "$guard" "$1" 2>/dev/null || true
	wait_until gone "$1"
}
exists() { [ -e "$1" ]; }
# In ms. A trap that only makes a file needs no process, which may be killed first.
made_at() { date -r "$1" +%s%3N; }
contains() { # FILE REGEX, mostly without a process
	local line

	case $2 in
	*[\\+?\(\)\{\}\|]*) grep -qs -- "$2" "$1" ;; # other than in bash
	*[].*^\$[]*)
		[ -e "$1" ] && while IFS= read -r line || [ -n "$line" ]; do
			[[ ! $line =~ $2 ]] || return 0
		done <"$1"
		return 1
		;;
	*)
		[ -e "$1" ] && while IFS= read -r line || [ -n "$line" ]; do
			[[ $line != *"$2"* ]] || return 0
		done <"$1"
		return 1
		;;
	esac
}
lacks() { ! grep -- "$2" "$1" >&2; }
set_on() { [ "$(cli "$1" exists "$2")" = 1 ]; } # NODE KEY
unset_on() { [ "$(cli "$1" exists "$2")" = 0 ]; }
# FILE, or - and the text: has no message but, perhaps, that this machine is slow
nothing_said() { ! grep -v -e '^$' -e 'is short for a server that takes' "$1" >&2; }
said_renewed() { # TIMES: a holder with -v said so
	local line n=0

	while read -r line; do
		[[ $line != *'redlock: job: renewed' ]] || ((n += 1))
	done <"$T/err"
	[ "$n" -ge "$1" ]
}
only_renewed() { # and it said nothing else
	! grep -v ': \(acquired after .*\|renewed\|released, .*\)$' "$T/err" |
		grep -v 'is short for a server that takes' >&2
}
at_least() { [ "$1" -ge "$2" ] || { echo "$1 < $2" >&2; return 1; }; }
below() { [ "$1" -lt "$2" ] || { echo "$1 >= $2" >&2; return 1; }; }
now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }

# ---- the four asserts ----

# All four in one process: see kit.c.
what_is_left() {
	local n lend=() at=()

	for n in $nodes; do at+=("$T/$n"); done
	for n in $shared_nodes; do at+=("$BATS_FILE_TMPDIR/$n"); done
	for n in $lent; do
		if is_lent "$n"; then
			lend+=(--lent "$T/$n" "$BATS_FILE_TMPDIR/$n.fresh")
		else
			rm -f "$BATS_FILE_TMPDIR/$n.fresh"
		fi
	done
	kit left "$T" "${lend[@]}" "${at[@]}"
}
# Processes that carry this test's mark, but not this shell and its children.
list_processes() { kit processes "$T"; }
no_process_left() { [ -z "$(list_processes)" ]; }
no_lock_left() { kit locks "$T/$1" >/dev/null; } # NODE
no_lock_left_anywhere() {
	local n

	for n in $nodes; do no_lock_left "$n" || return; done
	for n in $shared_nodes; do shared no_lock_left "$n" || return; done
}

# ---- faults that are known ----

# known_fault REASON [EVIDENCE], at the beginning of a test (after anything that may
# skip it): the rest must fail, with EVIDENCE (for grep -E) in its output or in
# $T/errors, and the test is skipped with REASON. If it passes, or fails otherwise, it
# counts as failed.
known_fault() {
	local got=0

	[ "$BASH_SUBSHELL" = 0 ] || return 0 # this is the rest of the test
	set +e
	(
		trap 'kill_helpers || true' EXIT
		setup() { :; } # it ran already
		set -e
		"$BATS_TEST_NAME"
		[ ! -s "$T/errors" ]
	) >"$T/body" 2>&1 3>/dev/null
	got=$?
	set -e
	[ ! -e "$T/errors" ] || cat "$T/errors" >>"$T/body"
	rm -f "$T/errors"
	cat "$T/body"
	[ "$got" != 0 ] || {
		echo "it passes: take known_fault away ($1)" >&2
		return 1
	}
	grep -qE -- "${2-}" <<<"$(cat "$T/body")" || {
		echo "it fails, but without '$2' ($1)" >&2
		return 1
	}
	skip "known fault: $1"
}

# ---- helpers of the test ----

# helper COMMAND...: in the background, killed when the test ends
helpers=
helper() {
	"$@" 3>&- &
	helpers="$helpers $!"
}
kill_helpers() {
	local pid

	# One that has ended may have left its number to another's process: in a
	# campaign of minutes the kernel runs through all 32768.
	for pid in $(jobs -rp); do
		[[ " $helpers " != *" $pid "* ]] || kill -KILL "$pid" 2>/dev/null
	done
	for pid in $helpers; do wait "$pid" 2>/dev/null; done
	helpers=
	return 0
}

# How often the command under test (witness "$T", see witness.c) has run.
holds() {
	local n=0

	{ read -r n <"$T/counter"; } 2>/dev/null || :
	echo "${n:-0}"
}
