#!/usr/bin/env bats
# local: the private server: exactly one, on demand, gone when idle, and nothing
# of whoever started it kept.

load lib/common
eval "common_$(declare -f setup)"
eval "common_$(declare -f teardown)"

setup() {
	common_setup
	export XDG_RUNTIME_DIR=$T/run
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	dir=$XDG_RUNTIME_DIR/redlock
	socket=$dir/redis.sock
	# counts every start there ever was
	mkdir "$T/bin"
	real=$(command -v redis-server)
	printf '#!/bin/sh\necho $$ >>"%s"\nexec "%s" "$@"\n' "$T/starts" "$real" \
		>"$T/bin/redis-server"
	chmod 755 "$T/bin/redis-server"
	starts=$T/starts
}

teardown() {
	kill_helpers
	kill_private
	common_teardown
}

# The private server and its keeper, found by what they were started for.
# (what stands in a server's title differs from version to version)
servers() {
	ss -xlpH src "$socket" | grep -o 'pid=[0-9]*' | cut -d = -f 2
	return 0
}
keepers() {
	local p
	for p in $(by_cmdline lockserver .); do
		grep -qz "^XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR\$" \
			"/proc/$p/environ" 2>/dev/null && echo "$p"
	done
	return 0
}
by_cmdline() { # COMM PATTERN
	local p
	for p in $(grep -lx -- "$1" /proc/[0-9]*/comm 2>/dev/null); do
		p=${p%/comm}
		grep -qaz -- "$2" "$p/cmdline" 2>/dev/null &&
			! grep -q '^State:.Z' "$p/status" 2>/dev/null &&
			echo "${p#/proc/}"
	done
	return 0
}
kill_private() {
	local p
	for p in $(keepers) $(servers); do kill -KILL "$p" || :; done
	wait_until nobody_serves
}
nobody_serves() { [ -z "$(servers)$(keepers)" ]; }
# EXISTS by itself would count as a client, but only while it asks
serves() { [ "$(private ping 2>/dev/null)" = PONG ]; }
private() { redis-cli -s "$socket" "$@"; }
idle_gone() { nobody_serves && [ ! -e "$socket" ]; }
started() { wc -l <"$starts"; }

# As a user types it; the last word of the URL is the idle time.
locally() {
	PATH="$T/bin:$PATH" "$REDLOCK" -u "local:?idle=${idle:-1m}" "$@"
}

@test "local: the first run starts a server, runs, and releases" {
	run -0 --separate-stderr locally -k job -t 30s \
		--result-file "$T/result" -- \
		sh -c 'echo "$REDLOCK_URL $REDLOCK_FENCE"
			redis-cli -s "$0" exists job' "$socket"
	[[ ${lines[0]} =~ ^local:\ [0-9]{16}$ ]]
	[ "${lines[1]}" = 1 ]
	[ -z "$stderr" ]
	[ "$(private exists job)" = 0 ]
	grep -q '"scope":"host"' "$T/result"
	run -0 "$REDLOCK" -u local: -k job -- true
	[ "$(started)" = 1 ]
	[ "$(stat -c %a "$dir")" = 700 ]
	[ "$(servers | wc -l)" = 1 ]
}

@test "local: 40 at once start exactly one server, round after round" {
	local i round
	for round in 1 2 3; do
		: >"$starts"
		for i in {1..40}; do
			locally -q -k job -t 5s -- witness "$T" &
		done
		wait
		[ "$(started)" = 1 ]
		[ "$(servers | wc -l)" = 1 ]
		[ "$(keepers | wc -l)" = 1 ]
		[ "$(holds)" = $((40 * round)) ]
		kill_private # leaves a stale socket, as a crash does
	done
}

@test "local: the server is gone after it has been idle, socket and all" {
	idle=300ms locally -k job -- true
	serves
	wait_until idle_gone
	[ -z "$(ls "$dir" | grep -v '\.lock$')" ]
	idle=300ms locally -k job -- true
	[ "$(started)" = 2 ]
}

has_less_than() { [ "$(private pttl "$2")" -lt "$1" ]; }
@test "local: a server is not idle while a lock is held or waited for" {
	idle=100ms locally -k job -t 5s -- witness "$T" --hold 700
	[ "$(started)" = 1 ]
	idle=100ms locally -k job -t 500ms -- witness "$T" --hold 700 &
	wait_until serves
	idle=100ms locally -q -k job -t 500ms -- witness "$T" --hold 1
	wait
	[ "$(holds)" = 3 ]
	# a lock without a client: its holder was killed, guard and all
	wait_until idle_gone
	idle=100ms locally -k other -- sh -c \
		'redis-cli -s "$0" set dead token px 2000 >/dev/null' "$socket"
	local server=$(servers)
	wait_until has_less_than 1500 dead
	[ "$(servers)" = "$server" ] # several idle times later
	wait_until idle_gone
}

@test "local: fences grow on across servers that come and go" {
	for i in 1 2 3; do
		idle=20ms locally -k job -- witness "$T"
		wait_until idle_gone
	done
	[ "$(holds)" = 3 ]
	[ "$(started)" = 3 ]
}

@test "local: stopping when idle never loses a lock under churn" {
	local i
	worker() {
		local n
		for n in {1..25}; do
			idle=10ms locally -q -k job -t 5s -- witness "$T" ||
				echo "run failed: $?" >>"$T/errors"
			sleep 0.0$((RANDOM % 6))
		done
	}
	for i in 1 2 3; do worker & done
	wait
	[ "$(holds)" = 75 ]
	[ "$(servers | wc -l)" -le 1 ]
	wait_until idle_gone
}

@test "local: nothing of the caller's is kept open or shared" {
	local s k p
	exec 9>"$T/mine"
	mkdir "$T/dir"
	# ends although the server lives on: it has no end of the pipe
	run -0 bash -c 'cd "$1/dir" && umask 000 && trap "" HUP INT PIPE &&
		PATH="$1/bin:$PATH" "$2" -u local: -k job -- echo ran | cat' \
		- "$T" "$REDLOCK"
	exec 9>&-
	[ "$output" = ran ]
	s=$(servers) k=$(keepers)
	[ -n "$s" ] && [ -n "$k" ]
	for p in $s $k; do
		[ "$(readlink "/proc/$p/cwd")" = / ]
		for fd in 0 1 2; do
			[ "$(readlink "/proc/$p/fd/$fd")" = /dev/null ]
		done
		! ls -l "/proc/$p/fd" | grep -F "$T/mine"
		# session and group are the keeper's own; no terminal
		set -- $(sed 's/.*) //' "/proc/$p/stat")
		[ "$3" = "$k" ]
		[ "$4" = "$k" ]
		[ "$5" = 0 ]
		[ "$(awk '/^Umask/ {print $2}' "/proc/$p/status")" = 0077 ]
	done
	# the keeper, quiet, holds nothing but /dev/null
	[ "$(ls "/proc/$k/fd" | wc -l)" = 3 ]
	set -- $(sed -n 's/^SigIgn:.//p' "/proc/$k/status")
	# but for 32 and 33, which belong to the C library
	[ $((0x$1 & ~0x180000000)) = 0 ]
	# a directory that goes away is nobody's concern
	rmdir "$T/dir"
	locally -k job -- true
}

@test "local: a terminal's hang-up and Ctrl-C do not reach the server" {
	command -v setsid >/dev/null || skip "needs setsid"
	setsid sh -c 'PATH="$1/bin:$PATH" "$2" -u local: -k job -- true
		kill -HUP 0' - "$T" "$REDLOCK" || :
	serves
	[ "$(started)" = 1 ]
}

@test "local: stale sockets, and a file in the way, are survived" {
	locally -k job -- true
	kill_private
	[ -S "$socket" ]
	locally -k job -- true
	kill_private
	rm -f "$socket"
	echo not a socket >"$socket"
	locally -k job -- true
	kill_private
	: >"$socket.idle" # of a keeper that was killed while it stopped
	idle=100ms locally -k job -- true
	wait_until idle_gone
}

@test "local: a keeper killed while it holds the server aside is survived" {
	locally -k job -- true
	kill -KILL $(keepers)
	mv "$socket" "$socket.idle"
	# the old server lives, unseen and empty; a new one takes its place
	run -0 locally -n -k job -- true
	kill -KILL $(servers)
	wait_until nobody_serves
}

@test "local: a server killed in mid hold is replaced, and the hold heals" {
	local pid first got=0
	locally -k job -t 1s -- witness "$T" --hold 900 --started "$T/started" \
		2>"$T/err" &
	pid=$!
	wait_until exists "$T/started"
	first=$(servers)
	kill -KILL $first $(keepers)
	wait_until contains "$T/err" 'vanished'
	[ "$(private exists job)" = 1 ]
	wait $pid || got=$?
	[ "$got" = 0 ]
	[ "$(holds)" = 1 ]
	[ "$(started)" = 2 ]
	[ "$(private exists job)" = 0 ]
}

@test "local: a server whose socket was removed does not stay for ever" {
	XDG_RUNTIME_DIR=$T/run "$REDLOCK" -u 'local:?idle=200ms' -k job -- true
	s=$(servers)
	[ -n "$s" ]
	rm -r "$dir"
	wait_until nobody_serves
}

@test "local: a killed guard does not take the server with it" {
	local pid guard
	locally -q -k job -t 2s -- sleep 60 &
	pid=$!
	wait_until serves
	wait_until command_of "$pid"
	guard=$(pgrep -P "$(pgrep -P "$pid")") # $pid is this shell's child
	[ -n "$guard" ]
	private set other token px 5000 >/dev/null
	kill -KILL "$guard"
	wait "$pid" || :
	[ "$(private exists other)" = 1 ]
	[ "$(started)" = 1 ]
}
# The guard's command runs.
command_of() { [ "$(private exists job)" = 1 ]; }

@test "local: a server killed in mid hold lets no waiter past the holder" {
	local pid
	locally -q -k job -t 1s -- witness "$T" --hold 900 \
		--started "$T/started" &
	pid=$!
	wait_until exists "$T/started"
	locally -k job -t 1s -- witness "$T" --hold 1 2>"$T/waiter" &
	wait_until contains "$T/waiter" waiting
	kill -KILL $(servers) $(keepers)
	wait $pid
	wait
	[ "$(holds)" = 2 ]
	[ "$(servers | wc -l)" = 1 ]
}

# ---- what is refused ----

refuses() { # STATUS TEXT, of a run that would start the server
	local got=0
	"$REDLOCK" -u local: -n -k job -- touch "$T/ran" >"$T/out" 2>"$T/err" ||
		got=$?
	[ "$got" = "$1" ] && [ "$(wc -l <"$T/err")" = 1 ] &&
		grep -qF -- "$2" "$T/err" && [ ! -s "$T/out" ] &&
		[ ! -e "$T/ran" ] && nobody_serves && return
	echo "wanted $1 with $2, got $got:" >&2
	cat "$T/err" >&2
	return 1
}

@test "local: a directory that others can enter, a link, a file: refused" {
	local mode
	mkdir "$dir"
	for mode in 755 710 701 770 777 1777; do
		chmod $mode "$dir"
		refuses 78 "'$dir'"
	done
	rmdir "$dir"
	mkdir -m 700 "$T/elsewhere"
	ln -s "$T/elsewhere" "$dir"
	refuses 78 "'$dir'"
	rm "$dir"
	: >"$dir"
	refuses 78 "'$dir'"
	rm "$dir"
	XDG_RUNTIME_DIR=$T/none refuses 78 "'$T/none/redlock'"
}

@test "local: a directory that somebody else owns is refused" {
	[ "$(id -u)" = 0 ] || skip "only root can give a directory away"
	mkdir -m 700 "$dir"
	chown 65534 "$dir"
	refuses 78 "'$dir'"
}

@test "local: no redis-server installed is said, with the package's name" {
	mkdir "$T/empty"
	run -78 --separate-stderr env PATH="$T/empty" "$REDLOCK" -u local: \
		-k job -- /bin/touch "$T/ran"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *redis-server*valkey-server*PATH*apt-get* ]]
	[ -z "$output" ]
	[ ! -e "$T/ran" ]
	nobody_serves
	# and as soon as there is one, it serves
	locally -k job -- true
}

@test "local: valkey-server serves as well" {
	mkdir "$T/valkey"
	mv "$T/bin/redis-server" "$T/valkey/valkey-server"
	ln -s "$(type -P true)" "$T/valkey/"
	run -0 env PATH="$T/valkey" "$REDLOCK" -u local: -k job -- true
	[ "$(started)" = 1 ]
}

@test "local: a server that does not start, or not at once, is no hang" {
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/redis-server"
	PATH="$T/bin:$PATH" refuses 69 'does not start'
	printf '#!/bin/sh\nsleep 0.3; exec "%s" "$@"\n' "$real" \
		>"$T/bin/redis-server"
	locally -n -k job -- true
}

@test "local: a runtime directory too long for a socket is refused" {
	local long=$XDG_RUNTIME_DIR/$(printf '%90s' | tr ' ' x)
	mkdir -m 700 "$long"
	XDG_RUNTIME_DIR=$long refuses 78 XDG_RUNTIME_DIR
	long=$XDG_RUNTIME_DIR/$(printf '%200s' | tr ' ' x)
	mkdir -m 700 "$long"
	XDG_RUNTIME_DIR=$long refuses 78 XDG_RUNTIME_DIR
}

@test "local: is never fallen back to" {
	run -69 "$REDLOCK" -n -u "unix://$T/none.sock" -k job -- true
	[ ! -e "$dir" ]
}

@test "local: a password meant for another server is not sent to this one" {
	REDISCLI_AUTH=secret run -0 --separate-stderr locally -k job -- true
	[ -z "$stderr" ]
}

@test "local: two users have two servers and never meet" {
	[ "$(id -u)" = 0 ] || skip "needs root to become two users"
	command -v setpriv >/dev/null || skip "needs setpriv"
	local a=$((61000 + RANDOM % 2000)) b
	b=$((a + 2000))
	as() {
		local uid=$1
		shift
		env -u XDG_RUNTIME_DIR setpriv --reuid "$uid" --regid "$uid" \
			--clear-groups "$REDLOCK" -u 'local:?idle=300ms' "$@"
	}
	as $a -k job -- true || skip "another user cannot run $REDLOCK"
	# both hold the "same" key at once: each on its own server
	run -0 as $a -n -k job -- env -u XDG_RUNTIME_DIR true
	as $a -k job -- sleep 0.5 &
	wait_until exists "/tmp/redlock-$a/redis.sock"
	run -0 as $b -n -k job -- stat -c %u "/tmp/redlock-$b/redis.sock"
	[ "$output" = $b ]
	# and neither may use the other's
	run ! setpriv --reuid $b --regid $b --clear-groups "$REDLOCK" -n \
		-u "unix:///tmp/redlock-$a/redis.sock" -k job -- true
	wait
	wait_until gone_socket /tmp/redlock-$a/redis.sock
	wait_until gone_socket /tmp/redlock-$b/redis.sock
	rm -rf /tmp/redlock-$a /tmp/redlock-$b
}
gone_socket() { [ ! -e "$1" ]; }
