#!/usr/bin/env bats
# local: the private server: exactly one, on demand, gone when idle, the same
# again after it was killed, and without anything of the process that started it.

load lib/common
load lib/namespace
eval "common_$(declare -f setup)"
eval "common_$(declare -f teardown)"

setup() {
	common_setup
	dir=$T/redlock
	socket=$dir/redis.sock
	# counts every start there ever was
	mkdir "$T/bin"
	real=$(command -v redis-server)
	counting redis-server
	starts=$T/starts
}

teardown() {
	kill_helpers
	kill_private
	common_teardown
}

# A server of that name that notes its start, and its name. NAME
counting() {
	cat >"$T/bin/$1" <<-SH
		#!/bin/sh
		echo "$1" >>"$T/starts"
		unset LD_PRELOAD # is for redlock
		exec "$real" "\$@"
	SH
	chmod 755 "$T/bin/$1"
}

# The private server and its keeper, by where they are, and by our mark.
servers() { kit called redis-server --at "$dir/aof."; }
keepers() { kit called lockserver --mark "$T"; }
kill_private() {
	local p
	for p in $(keepers) $(servers); do kill -KILL "$p" || :; done
	wait_until nobody_serves
}
nobody_serves() { [ -z "$(servers)$(keepers)" ]; }
serves() { [ "$(private ping 2>/dev/null)" = PONG ]; }
private() {
	case $1 in
	-*) redis-cli -s "$socket" "$@" ;;
	*) kit ask "${socket%.sock}" "$@" ;;
	esac
}
# The lock file stays, because it may be in use.
idle_gone() { nobody_serves && [ "$(ls -A "$dir")" = redis.sock.lock ]; }
started() { wc -l <"$starts"; }
has_started() { [ "$(started)" = "$1" ]; }

# As a user types it.
locally() {
	PATH="$T/bin:$PATH" REDLOCK_URL=$(local_url) \
		${within:+"${within[@]}"} "$REDLOCK" "$@"
}
local_url() { echo "local:?dir=$dir&idle=${idle:-1m}"; }

# A holder in the background, $holder, until `end_hold`. [OPTION...]
hold_until_told() {
	rm -f "$T/started" "$T/enough"
	# as our own child, not that of a shell in between
	PATH="$T/bin:$PATH" helper ${within:+"${within[@]}"} "$REDLOCK" \
		-u "$(local_url)" -k job "$@" -- witness "$T" --started "$T/started" \
		--until "$T/enough" 2>"$T/err"
	holder=${helpers##* }
	wait_until exists "$T/started"
}
end_hold() {
	touch "$T/enough"
	ends_with 0
}

# ---- its life ----

@test "local: the first run starts a server, runs, and releases" {
	run -0 --separate-stderr locally -k job -t 30s \
		--result-file "$T/result" -- \
		sh -c 'echo "$REDLOCK_URL $REDLOCK_FENCE"
			redis-cli -s "$0" exists job' "$socket"
	[[ ${lines[0]} =~ ^local:\?dir=$dir\ [0-9]{16}$ ]]
	[ "${lines[1]}" = 1 ]
	[ -z "$stderr" ]
	[ "$(private exists job)" = 0 ]
	grep -q '"scope":"host"' "$T/result"
	run -0 "$REDLOCK" -u "local:?dir=$dir" -k job -- true
	[ "$(started)" = 1 ]
	[ "$(stat -c %a "$dir")" = 700 ]
	[ "$(servers | wc -l)" = 1 ]
}

@test "local: 40 at once start exactly one server, round after round" {
	local i round
	for round in 1 2; do
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

@test "local: an idle server goes, with its socket and its file" {
	idle=300ms locally -k job -- true
	[ "$(started)" = 1 ]
	wait_until idle_gone
	idle=300ms locally -k job -- true
	[ "$(started)" = 2 ]
	wait_until idle_gone
}

# How often the keeper has asked.
looked() {
	local stats

	stats=$(private info commandstats)
	[[ ! $stats =~ cmdstat_client[^:]*:calls=([0-9]+), ]] ||
		echo "${BASH_REMATCH[1]}"
}
has_looked() { [ "$(looked)" -ge "$1" ]; }
@test "local: a server is not idle while a lock is held or waited for" {
	local server
	idle=100ms hold_until_told -t 5s
	wait_until has_looked 6
	[ "$(started)" = 1 ]
	idle=100ms locally -q -k job -t 5s -- witness "$T" --hold 1 2>/dev/null &
	wait_until in_line 1
	wait_until has_looked $(($(looked) + 6))
	end_hold
	wait
	[ "$(holds)" = 2 ]
	[ "$(started)" = 1 ]
	wait_until idle_gone
	# a lock without a client: its holder was killed, guard and all
	idle=100ms locally -k other -- sh -c \
		'redis-cli -s "$0" set dead token >/dev/null' "$socket"
	server=$(servers)
	wait_until has_looked $(($(looked) + 6)) # over several idle times
	[ "$(servers)" = "$server" ]
	private del dead >/dev/null
	wait_until idle_gone
	# nor while it knows what no older run may follow
	idle=100ms locally -k job --revision 5 -- true
	server=$(servers)
	wait_until has_looked 6
	[ "$(servers)" = "$server" ]
	private hdel 'job:redlock:{job}:state' revision >/dev/null
	wait_until idle_gone
	# nor while it knows for which label it ran
	idle=100ms locally -k job --once-for v1 -- true
	server=$(servers)
	wait_until has_looked 6
	[ "$(servers)" = "$server" ]
	private hdel 'job:redlock:{job}:state' label >/dev/null
	wait_until idle_gone
}
in_line() { [ "$(private zcount 'job:redlock:{job}:queue' 0 +inf)" = "$1" ]; }

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
		for n in {1..15}; do
			idle=10ms locally -q -k job -t 5s -- witness "$T" ||
				echo "run failed: $?" >>"$T/errors"
			pause 0.0$((RANDOM % 6))
		done
	}
	for i in 1 2 3; do worker & done
	wait
	[ "$(holds)" = 45 ]
	[ "$(servers | wc -l)" -le 1 ]
	wait_until idle_gone
}

@test "local: the server keeps and shares nothing of the caller's" {
	local s k p said
	exec 9>"$T/mine"
	mkdir "$T/mydir"
	# ends although the server lives on: it has no end of the pipe
	run -0 bash -c 'cd "$1/mydir" && umask 000 && trap "" HUP INT PIPE &&
		PATH="$1/bin:$PATH" "$2" -u "$3" -k job -- echo ran | cat' \
		- "$T" "$REDLOCK" "$(local_url)"
	exec 9>&-
	[ "$output" = ran ]
	s=$(servers) k=$(keepers)
	[ -n "$s" ] && [ -n "$k" ]
	[ "$(readlink "/proc/$k/cwd")" = "$dir" ]
	[[ $(readlink "/proc/$s/cwd") = "$dir"/aof.* ]]
	for p in $s $k; do
		[ "$(readlink "/proc/$p/fd/0")" = /dev/null ]
		ls -l "/proc/$p/fd" | not grep -F "$T/mine"
		# session and group are the keeper's own; no terminal
		set -- $(sed 's/.*) //' "/proc/$p/stat")
		[ "$3" = "$k" ]
		[ "$4" = "$k" ]
		[ "$5" = 0 ]
		[ "$(awk '/^Umask/ {print $2}' "/proc/$p/status")" = 0077 ]
		# (every process starts with what the caller blocked)
		[ "$(awk '/^SigBlk/ {print $2}' "/proc/$s/status")" = \
			0000000000000000 ]
	done
	# what the server writes, its keeper reads
	said=$(readlink "/proc/$s/fd/1")
	[[ $said = pipe:* ]]
	[ "$(readlink "/proc/$s/fd/2")" = "$said" ]
	[ "$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -cF "$said")" = 3 ]
	# besides, quiet, it holds nothing but /dev/null and what it waits for
	run -0 eval 'for fd in /proc/$k/fd/*; do readlink "$fd"; done | sort'
	[ "$output" = "/dev/null
/dev/null
/dev/null
anon_inode:[signalfd]
anon_inode:inotify
$said" ]
	set -- $(sed -n 's/^SigIgn:.//p' "/proc/$k/status")
	# but for 32 and 33, which belong to the C library
	[ $((0x$1 & ~0x180000000)) = 0 ]
	# a directory that goes away is nobody's concern
	rmdir "$T/mydir"
	locally -k job -- true
}

@test "local: a terminal's hang-up and Ctrl-C do not reach the server" {
	command -v setsid >/dev/null || skip "needs setsid"
	setsid sh -c 'PATH="$1/bin:$PATH" "$2" -u "$3" -k job -- true
		kill -HUP 0' - "$T" "$REDLOCK" "$(local_url)" || :
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

# ---- it is killed ----

# Whom to kill: "server", "keeper", or "both", as the end of a cgroup does.
kill_the() {
	local pids pid dying
	case $1 in
	server) pids=$(servers) ;;
	keeper) pids=$(keepers) ;;
	both) pids="$(keepers) $(servers)" ;;
	esac
	dying="$pids $(servers)" # the server dies with its keeper
	kill -KILL $pids
	# one that is dying may still take a connection
	for pid in $dying; do wait_until gone "$pid"; done
}

# Many newcomers at once, with a lock that is held: none gets it.
storm() {
	local i pids=
	for i in {1..5}; do
		newcomer &
		pids="$pids $!"
	done
	wait $pids
}
newcomer() {
	local got=0
	locally -q -n -k job -t 20s -- witness "$T" 2>"$T/newcomer.$BASHPID" ||
		got=$?
	[ "$got" = 75 ] && return
	echo "a newcomer ended with $got:" >>"$T/errors"
	cat "$T/newcomer.$BASHPID" >>"$T/errors"
}

@test "local: a server that is killed forgets no lock: nobody runs beside the holder" {
	local whom n=0
	for whom in server both keeper server; do
		n=$((n + 1))
		hold_until_told -t 20s
		locally -q -k job -t 20s -- witness "$T" 2>/dev/null &
		local waiter=$!
		wait_until in_line 1
		kill_the $whom
		storm
		end_hold
		wait $waiter
		lacks "$T/err" 'was missing'
		[ "$(holds)" = $((2 * n)) ]
	done
	[ "$(started)" = $((n + 1)) ]
	[ "$(servers | wc -l)" = 1 ]
	[ ! -s "$T/errors" ]
}

@test "local: a holder is not disturbed by a server that is killed and is back" {
	local n
	hold_until_told -t 1s
	for n in 2 3 4; do
		kill_the server
		wait_until has_started $n
		wait_until serves
	done
	end_hold
	lacks "$T/err" 'was missing\|lease lost\|killed the\|SIGTERM'
	[ "$(private exists job)" = 0 ]
}

# When it ends by itself, in ms since 1970, as the server has it.
ends_at() {
	private eval "local t = redis.call('time') return
		t[1] * 1000 + math.floor(t[2] / 1000) +
		redis.call('pttl', 'job')" 0
}
@test "local: a lock that no process holds outlives its server, and ends when it should" {
	local token fence was whom
	token=$(locally lock -n -t 1h job)
	was=$(ends_at)
	fence=$(private hget 'job:redlock:{job}:state' fence)
	for whom in server keeper both; do
		kill_the $whom
		wait_until nobody_serves
		storm
		# (rounded down twice)
		at_least $(($(ends_at) - was)) -1
		at_least 1 $(($(ends_at) - was))
		[ "$(private get job)" = "$token" ]
		[ "$(private hget 'job:redlock:{job}:state' fence)" = "$fence" ]
	done
	locally extend -t 2h --token "$token" job
	at_least "$(ends_at)" $((was + 3000000))
	kill_the both
	wait_until nobody_serves
	locally unlock --token "$token" job
	locally -n -k job -- witness "$T"
}

@test "local: no command runs before the server has written its answer to disk" {
	command -v strace >/dev/null || skip "needs strace"
	# the last write before the answer to the acquire is the one to the file
	printf '#!/bin/sh\nexec strace -qq -o "%s" -s 200 -e trace=write,writev "%s" "$@"\n' \
		"$T/trace" "$real" >"$T/bin/redis-server"
	locally -n -k job -- true
	grep -q 'write' "$T/trace"
	awk '/MULTI.*[Ss][Ee][Tt].*job/ { in_file = 1 }
		/granted/ { answered = 1; exit }
		END { exit !answered || !in_file }' "$T/trace"
}

@test "local: a lock that is granted while the idle server is stopped is not forgotten" {
	preloading inject.so
	# the server was asked twice, and is about to be stopped
	LD_PRELOAD=$(shim inject.so) INJECT=send:1:0 INJECT_TEXT=SHUTDOWN \
		INJECT_MARK=$T/hit idle=100ms locally -k first -- true
	wait_until exists "$T/hit"
	[ -S "$socket.idle" ]
	[ ! -e "$socket" ]
	# by a run that had found the socket just before
	"$REDLOCK" lock -n -t 1h -u "unix://$socket.idle" job
	rm "$T/hit"
	wait_until nobody_serves
	storm
	[ "$(started)" = 2 ]
}

aof() { # the file that is written to
	local all=("$dir"/aof.*/appendonly.aof "$dir"/aof.*/*/*.incr.aof) f
	for f in "${all[@]}"; do [ ! -e "$f" ] || echo "$f"; done | tail -n 1
}
@test "local: a file that ends in the middle of a command is read up to there" {
	local token n
	token=$(locally lock -n -t 1h job)
	for n in 1 7; do
		kill_private
		printf '*3\r\n$3\r\nSET\r\n$3\r\njob\r\n$7\r\nnobo' |
			head -c $((20 + n)) >>"$(aof)"
		storm
		[ "$(private get job)" = "$token" ]
	done
	# also within what belongs together
	locally extend -t 2h --token "$token" job
	kill_private
	truncate -s -3 "$(aof)"
	storm
	[ "$(private get job)" = "$token" ]
}

@test "local: a damaged file does not count as empty: nothing runs, with the reason" {
	locally lock -n -t 1h job
	kill_private
	printf 'no command\r\n*1\r\n$4\r\nPING\r\n' >>"$(aof)"
	PATH="$T/bin:$PATH" refuses 69 'append only file'
	contains "$T/err" "; if nothing runs under its locks, remove '$dir/aof.*'\$"
	rm -r "$dir"/aof.*
	locally -n -k job -- witness "$T"
}

@test "local: a file from before the last boot is not read" {
	mkdir -m 700 "$dir" "$dir/aof.0" "$dir/aof.0/appendonlydir" "$dir/aof.gone"
	echo damaged >"$dir/aof.0/appendonlydir/appendonly.aof.manifest"
	echo damaged >"$dir/aof.0/appendonly.aof"
	mkdir "$T/precious"
	: >"$T/precious/file"
	ln -s "$T/precious" "$dir/aof.1"
	ln -s "$T/precious" "$dir/aof.0/link"
	locally -n -k job -- witness "$T"
	[ "$(ls -d "$dir"/aof.*)" = \
		"$dir/aof.$(cat /proc/sys/kernel/random/boot_id)" ]
	[ -e "$T/precious/file" ]
}

@test "local: the file is written anew before it is large, and is as good then" {
	local token
	token=$(locally lock -n -t 1h job)
	noise 60000 # three times what is left of it
	wait_until is_short_after_more
	wait_until has_ended
	kill_private
	storm
	[ "$(private get job)" = "$token" ]
	locally unlock --token "$token" job
}
noise() { # N
	seq "$1" | awk '{
		printf "*3\r\n$3\r\nSET\r\n$5\r\nnoise\r\n$32\r\n%032d\r\n", $1
	}' | private --pipe >/dev/null
	private del noise >/dev/null
}
# What comes while it is written anew stays in it, until it is twice as large: on
# a slow machine that may be most.
is_short_after_more() {
	is_short && return
	noise 5000
	false
}
is_short() { [ "$(du -sb "$dir"/aof.* | cut -f 1)" -lt 2000000 ]; }
has_ended() {
	private info persistence | grep -q 'aof_rewrite_in_progress:0' &&
		private info persistence | grep -q 'aof_last_bgrewrite_status:ok'
}

# ---- its disk is full ----

# A small disk, as others have a full one: what is in it is seen `within`.
small_disk() {
	private_net
	mkdir -m 700 "$dir"
	"${within[@]}" mount -t tmpfs -o size=256k,mode=700 none "$dir" ||
		skip 'may not mount'
}
fill_disk() {
	"${within[@]}" sh -c 'cat /dev/zero >"$0/full"' "$dir" 2>/dev/null || :
}

@test "local: a full disk is named, and a hold ends as without a server" {
	local key
	small_disk
	hold_until_told -t 2s
	fill_disk
	ends_with 125
	contains "$T/err" 'MISCONF.*No space left on device'
	for key in job other; do
		run -69 --separate-stderr locally -n -k $key -- true
		[[ $stderr = *MISCONF*'No space left on device'* ]]
	done
	"${within[@]}" rm "$dir/full"
	locally -w 10s -k job -- witness "$T"
}

@test "local: a disk that is full from the beginning is named, too" {
	small_disk
	fill_disk
	# before 7.0 it starts, and learns it when it first writes; a guard then goes on
	# releasing until the lease ends
	locally -n -t 1s -k first -- true || :
	run -69 --separate-stderr locally -n -k job -- touch "$T/ran"
	[[ $stderr = *'No space left on device'* ]]
	[ "${#stderr_lines[@]}" = 1 ]
	[ ! -e "$T/ran" ]
	"${within[@]}" rm "$dir/full"
	locally -w 10s -k job -- witness "$T"
}

# ---- there is one server, and no more ----

@test "local: an idle server is gone as soon as its keeper is killed" {
	locally -k job -- true
	serves
	kill_the keeper
	wait_until nobody_serves
	idle=100ms locally -k job -- true
	wait_until idle_gone
}

@test "local: a keeper killed while it holds the server aside is survived" {
	local token
	token=$(locally lock -n -t 1h job)
	kill_the keeper
	wait_until nobody_serves
	mv "$socket" "$socket.idle"
	storm
	[ "$(private get job)" = "$token" ]
	[ "$(servers | wc -l)" = 1 ]
}

@test "local: a server whose socket was removed is replaced at once, without a loss" {
	local token first
	token=$(locally lock -n -t 1h job)
	first=$(servers)
	rm "$socket"
	storm
	[ "$(private get job)" = "$token" ]
	[ "$(servers | wc -l)" = 1 ]
	[ "$(servers)" != "$first" ]
}

@test "local: a server whose directory was removed, or moved, does not stay" {
	locally -k job -- true
	[ -n "$(servers)" ]
	rm -r "$dir"
	wait_until nobody_serves
	locally -k job -- true
	[ -n "$(servers)" ]
	mv "$dir" "$T/elsewhere"
	wait_until nobody_serves
	locally -k job -- true
}

@test "local: a holder whose server goes with its directory sets its lock again" {
	hold_until_told -t 5s
	mv "$dir" "$T/gone" # at one instant: its successor must not go, too
	wait_until contains "$T/err" 'was missing'
	storm
	end_hold
}

@test "local: an unreachable server is left alone, and no second one is started" {
	local first keeper
	locally lock -n -t 1h job
	first=$(servers) keeper=$(keepers)
	kill -STOP $keeper $first
	rm "$socket"
	PATH="$T/bin:$PATH" wanted=1 refuses 69 "'$dir' is in use by a server"
	[ "$(started)" = 1 ]
	kill -CONT $keeper $first
	storm
	[ "$(started)" = 2 ]
}

@test "local: a killed guard does not take the server with it" {
	local guard
	hold_until_told -t 2s
	guard=$(guard_of "$holder")
	[ -n "$guard" ]
	private set other token >/dev/null
	kill -KILL "$guard"
	ends_with 70
	[ "$(private exists other)" = 1 ]
	[ "$(started)" = 1 ]
}

@test "local: a server that a nested run started is not a process left by the command" {
	local how
	for how in wait kill leave; do
		run -0 --separate-stderr timeout 30 "$REDLOCK" -u "$url" -k a \
			--orphans $how -- env PATH="$T/bin:$PATH" \
			"$REDLOCK" -u "$(local_url)" -k b -- true
		[ -z "$stderr" ]
		serves
	done
	[ "$(started)" = 1 ]
}

# ---- where it is ----

# /tmp of a test's own, `within`: nobody else's local: is touched. In there are
# redlock and a server that counts.
private_tmp() {
	[[ $real != /tmp/* ]] || skip "this server's program is in /tmp"
	private_net
	mkdir -m 1777 "$T/tmp"
	mkdir "$T/tmp/bin"
	cp "$REDLOCK" "$T/tmp/redlock"
	printf '#!/bin/sh\necho >>/tmp/starts\nexec "%s" "$@"\n' "$real" \
		>"$T/tmp/bin/redis-server"
	chmod 755 "$T/tmp/bin" "$T/tmp/redlock" "$T/tmp/bin/redis-server"
	: >"$T/tmp/starts"
	chmod 666 "$T/tmp/starts"
	"${within[@]}" mount --bind "$T/tmp" /tmp || skip 'may not mount'
}
# With these variables and no others. [NAME=VALUE...] -- REDLOCK-OPTION...
in_tmp() {
	local vars=()
	while [ "$1" != -- ]; do vars+=("$1"); shift; done
	shift
	"${within[@]}" "${as[@]}" env -i "PATH=/tmp/bin:$PATH" \
		"REDLOCK_TEST_ID=$T" REDLOCK_URL=local: "${vars[@]}" \
		/tmp/redlock "$@"
}
as=()

@test "local: the place depends only on the user: cron, shell and service meet" {
	local vars uid
	private_tmp
	uid=$("${within[@]}" id -u)
	in_tmp -- -k first -- true
	[ -S "$T/tmp/redlock-$uid/redis.sock" ]
	in_tmp XDG_RUNTIME_DIR=/tmp/xdg HOME=/root -- lock -n -t 1h job
	for vars in "" HOME=/nowhere HOME=/tmp TMPDIR=/tmp/bin TMP=/tmp/bin \
		XDG_RUNTIME_DIR=/tmp/bin XDG_CACHE_HOME=/tmp/bin \
		XDG_STATE_HOME=/tmp/bin USER=nobody; do
		run -75 in_tmp $vars -- -n -k job -- true
	done
	[ "$(wc -l <"$T/tmp/starts")" = 1 ]
	[ "$(ls "$T/tmp")" = $'bin\nredlock\nredlock-'"$uid"$'\nstarts' ]
}

@test "local: root with a user's environment uses nothing of the user's" {
	[ "$(id -u)" = 0 ] || skip 'needs root'
	local user=54321
	private_tmp
	as=(setpriv --reuid $user --regid $user --clear-groups)
	in_tmp HOME=/tmp XDG_RUNTIME_DIR=/tmp -- lock -n -t 1h job
	as=()
	in_tmp HOME=/tmp XDG_RUNTIME_DIR=/tmp "USER=somebody" -- -n -k job -- true
	[ "$(stat -c %u "$T/tmp/redlock-$user" "$T/tmp/redlock-0")" = $'54321\n0' ]
	[ -z "$(find "$T/tmp/redlock-$user" ! -user $user)" ]
	# nor when root comes first
	as=(setpriv --reuid 54322 --regid 54322 --clear-groups)
	in_tmp HOME=/tmp -- -n -k job -- true
	[ "$(stat -c %u "$T/tmp/redlock-54322")" = 54322 ]
	# the effective number counts
	as=(setpriv --ruid $user --euid 0)
	run -0 in_tmp -- -n -k euid -- true
	[ "$(wc -l <"$T/tmp/starts")" = 3 ]
}

@test "local: a place that somebody else has taken is refused" {
	local uid mine
	private_tmp
	uid=$("${within[@]}" id -u)
	mine=$T/tmp/redlock-$uid
	squatted() { # TEXT
		run -78 --separate-stderr in_tmp -- -n -k job -- true
		echo "$stderr"
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr = *"'/tmp/redlock-$uid' $1"* ]]
		[ ! -s "$T/tmp/starts" ]
	}
	mkdir -m 700 "$T/tmp/trap"
	ln -s /tmp/trap "$mine"
	squatted 'is a symbolic link'
	rm "$mine"
	ln -s /tmp/nowhere "$mine"
	squatted 'is a symbolic link'
	[ ! -e "$T/tmp/nowhere" ]
	rm "$mine"
	: >"$mine"
	squatted 'is a file'
	rm "$mine"
	[ -z "$(ls "$T/tmp/trap")" ]
	[ "$(id -u)" = 0 ] || return 0
	mkdir -m 777 "$mine"
	chown 54321 "$mine"
	squatted "belongs to user 54321, not to user $uid"
	[[ $stderr = *'local:?dir=PATH'* ]]
	[ -z "$(ls "$mine")" ]
}

@test "local: ?dir= is another place, also for nested runs, and is shown" {
	local other=$T/other
	locally lock -n -t 1h job
	run -0 locally -k outer -- sh -c \
		'"$0" -n -k outer -- "$0" -n -k job -- true; echo $?' "$REDLOCK"
	[[ $output = *75 ]]
	dir=$other locally -n -k job -- true
	[ -S "$other/redis.sock" ]
	# one place, however it is written
	dir=$dir/// run -75 locally -n -k job -- true
	[ "$(started)" = 2 ]
	run -0 "$REDLOCK" -u "local:?dir=$dir//" --version -v
	[[ $output = *"url = local:?dir=$dir"* ]]
	mkdir -m 700 "$T/a place, 'quoted'"
	socket="$T/a place, 'quoted'/redis.sock" \
		dir="$T/a%20place,%20%27quoted%27" locally -n -k job -- true
	[ -S "$T/a place, 'quoted'/redis.sock" ]
}

@test "local: the server can be used whatever the umask was" {
	local i
	need_user
	chmod 711 "$T"
	mkdir -m 1777 "$T/open"
	dir=$T/open/mine socket=$T/open/mine/redis.sock
	for i in 1 2 3; do
		as_user sh -c 'umask 777 && exec "$@"' - \
			"$REDLOCK" -u "$(local_url)" -n -k job -- true
		kill_private
	done
	[ "$(stat -c %a "$dir" "$dir/redis.sock.lock")" = $'700\n600' ]
}

@test "local: programs that clean /tmp leave it alone while it is in use" {
	mkdir "$T/cleaned"
	dir=$T/cleaned/mine socket=$T/cleaned/mine/redis.sock
	tmpfiles() {
		! command -v systemd-tmpfiles >/dev/null ||
			systemd-tmpfiles --clean "$T/clean.conf"
	}
	echo "e $T/cleaned - - - 0" >"$T/clean.conf"
	locally lock -n -t 1h job
	: >"$T/cleaned/old"
	run ! flock -n "$dir" true
	tmpfiles
	[ -S "$socket" ]
	# also when the keeper was killed, and somebody came
	kill_the keeper
	wait_until nobody_serves
	storm
	run ! flock -n "$dir" true
	tmpfiles
	storm
	private del job >/dev/null
	kill_private
	flock -n "$dir" true
	command -v systemd-tmpfiles >/dev/null || return 0
	tmpfiles
	[ ! -e "$dir" ]
	[ ! -e "$T/cleaned/old" ]
}

# ---- what is refused ----

refuses() { # STATUS TEXT, of a run that would start the server
	local got=0
	"$REDLOCK" -u "$(local_url)" -n -k job -- touch "$T/ran" \
		>"$T/out" 2>"$T/err" || got=$?
	[ "$got" = "$1" ] && [ "$(wc -l <"$T/err")" = 1 ] &&
		grep -qF -- "$2" "$T/err" && [ ! -s "$T/out" ] &&
		[ ! -e "$T/ran" ] &&
		[ "$(servers | wc -l)" = "${wanted:-0}" ] && return
	echo "wanted $1 with $2, got $got:" >&2
	cat "$T/err" >&2
	return 1
}

@test "local: a directory that others could replace is refused" {
	mkdir "$T/shared"
	chmod 777 "$T/shared"
	dir=$T/shared/mine refuses 78 "others may rename what is in '$T/shared'"
	mkdir -m 700 "$T/shared/deep"
	dir=$T/shared/deep/mine refuses 78 "others may rename what is in '$T/shared'"
	chmod 1777 "$T/shared"
	"$REDLOCK" -u "local:?dir=$T/shared/mine&idle=1s" -n -k job -- true
}

@test "local: a directory that others can enter, a link, a file: refused" {
	local mode
	mkdir "$dir"
	for mode in 755 710 701 770 777 1777; do
		chmod $mode "$dir"
		refuses 78 "'$dir' is accessible to others"
	done
	rmdir "$dir"
	mkdir -m 700 "$T/elsewhere"
	ln -s "$T/elsewhere" "$dir"
	refuses 78 "'$dir' is a symbolic link"
	rm "$dir"
	: >"$dir"
	refuses 78 "'$dir' is a file"
	dir=$T/none/mine refuses 78 "'$T/none/mine'"
}

@test "local: a directory that somebody else owns is refused" {
	[ "$(id -u)" = 0 ] || skip "only root can give a directory away"
	mkdir -m 700 "$dir"
	chown 65534 "$dir"
	refuses 78 "'$dir' belongs to user 65534, not to user 0"
}

@test "local: a missing server program is reported with the name of its package" {
	mkdir "$T/empty"
	run -78 --separate-stderr env PATH="$T/empty" "$REDLOCK" \
		-u "$(local_url)" -k job -- /bin/touch "$T/ran"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *redis-server*valkey-server*redict-server*PATH*apt-get* ]]
	[ -z "$output" ]
	[ ! -e "$T/ran" ]
	nobody_serves
	# and as soon as there is one, it serves
	locally -k job -- true
}

@test "local: uses redis-server, or else valkey-server, or else redict-server" {
	local name
	for name in redis-server valkey-server redict-server; do
		counting $name
	done
	ln -s "$(type -P true)" "$T/bin/"
	for name in redis-server valkey-server redict-server; do
		# the first of these that there is
		mkdir "$T/$name"
		: >"$starts"
		env PATH="$T/$name:$T/bin" "$REDLOCK" -u "$(local_url)" \
			-n -k job -- true
		[ "$(cat "$starts")" = $name ]
		kill_private
		# and alone
		mv "$T/bin/$name" "$T/$name"
		ln -s "$(type -P true)" "$T/$name/"
		env PATH="$T/$name" "$REDLOCK" -u "$(local_url)" \
			-n -k job -- true
		[ "$(cat "$starts")" = $name$'\n'$name ]
		kill_private
	done
}

@test "local: a server that does not start, or starts late, does not hang redlock" {
	printf '#!/bin/sh\necho "so far"; echo "no: I will not" >&2; exit 1\n' \
		>"$T/bin/redis-server"
	PATH="$T/bin:$PATH" refuses 69 'did not start: no: I will not'
	# more than a pipe holds
	printf '#!/bin/sh\nseq 100000\nexit 127\n' >"$T/bin/redis-server"
	PATH="$T/bin:$PATH" refuses 69 'did not start: 100000'
	printf '#!/bin/sh\nsleep 0.3; exec "%s" "$@"\n' "$real" \
		>"$T/bin/redis-server"
	locally -n -k job -- true
}

# From now on a server that is started does not come up.
hang_servers() {
	printf '#!/bin/sh\ntouch "%s"\nexec sleep 20\n' "$T/hangs" >"$T/bin/redis-server"
}
@test "local: a server that does not come up does not delay -w" {
	local since=$(now_ms)

	hang_servers
	run locally -w 500ms -k job -k other -- touch "$T/ran"
	[ "$status" = 69 ]
	[[ $output == *'did not start in time'* ]] || { echo "$output" >&2; false; }
	below $(($(now_ms) - since)) 3000 # it is given 5 s otherwise
	kill_private
	since=$(now_ms)
	run -69 locally wait -w 500ms job
	below $(($(now_ms) - since)) 3000
	kill_private
	# one that is slow is there for the next run
	printf '#!/bin/sh\nsleep 0.5; exec "%s" "$@"\n' "$real" \
		>"$T/bin/redis-server"
	run -69 locally -w 50ms -k job -- touch "$T/ran"
	wait_until serves
	[ ! -e "$T/ran" ]
}

@test "local: a server that does not come up again: the lease is lost in time, said by redlock" {
	hold_until_told -t 3s
	hang_servers
	kill_private
	ends_with 125
	contains "$T/err" 'lease lost: '
}

@test "local: a short command's release starts a server that was killed" {
	hold_until_told -t 30s
	kill_private
	end_hold
	not contains "$T/err" 'not confirmed'
	locally -n -k job -- true
}

@test "local: a guard killed while the server does not come up leaves no process" {
	PATH="$T/bin:$PATH" helper "$REDLOCK" -u "$(local_url)" -k job -t 12s -- \
		sh -c "sleep 297 & touch $T/started; wait"
	holder=${helpers##* }
	wait_until exists "$T/started"
	hang_servers
	kill_private
	wait_until exists "$T/hangs"
	kill -KILL "$(guard_of "$holder")"
	ends_with 70
	not pgrep -fx 'sleep 297'
}

@test "local: a directory is refused if relative, or too long for a socket" {
	local long=$(printf '%97s' | tr ' ' x)
	long=/${long:1}
	dir=${long%x} socket=
	run -78 "$REDLOCK" -u "local:?dir=/proc/self/nothing" -k job -- true
	run -64 --separate-stderr "$REDLOCK" -u "local:?dir=$long" -k job -- true
	[[ $stderr = *'dir: longer than 96 bytes'* ]]
	run -64 --separate-stderr "$REDLOCK" -u "local:?dir=here" -k job -- true
	[[ $stderr = *'dir: not a full path'* ]]
	# the longest
	long=$T/$(printf '%200s' | tr ' ' x)
	dir=${long:0:96} socket=${long:0:96}/redis.sock
	locally -n -k job -- true
	[ "${#dir}" = 96 ] && [ -S "$socket" ]
	kill_private
}

@test "local: is never used as a fallback" {
	private_tmp
	run -69 "${within[@]}" /tmp/redlock -n -u "unix:///tmp/none.sock" \
		-k job -- true
	[ ! -s "$T/tmp/starts" ]
	[ -z "$(ls -d "$T"/tmp/redlock-* 2>/dev/null)" ]
}

@test "local: a password meant for another server is not sent to this one" {
	REDISCLI_AUTH=secret run -0 --separate-stderr locally -k job -- true
	[ -z "$stderr" ]
}

@test "local: two users have two servers and never meet" {
	[ "$(id -u)" = 0 ] || skip "needs root to become two users"
	private_tmp
	as=(setpriv --reuid 61001 --regid 61001 --clear-groups)
	in_tmp -- lock -n -t 1h job
	# the "same" key: each on its own server
	as=(setpriv --reuid 61002 --regid 61002 --clear-groups)
	in_tmp -- -n -k job -- true
	# and neither may use the other's
	run ! "${within[@]}" "${as[@]}" /tmp/redlock -n \
		-u unix:///tmp/redlock-61001/redis.sock -k job -- true
	run -78 in_tmp -- -u 'local:?dir=/tmp/redlock-61001' -n -k job -- true
}

# ---- a server that hangs, and the environment of its starter ----

@test "local: a server that accepts no connections does not delay -n, -w or TERM" {
	locally -q -k a -- true
	server=$(servers)
	kill -STOP "$server"
	python3 -c 'import socket, sys
while True:
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    s.connect(sys.argv[1])
    s.detach()' "$socket" 2>"$T/full" || contains "$T/full" BlockingIOError
	run -69 timeout -s KILL 20 "$REDLOCK" -u "$(local_url)" -n -k job -- true
	run -69 timeout -s KILL 20 "$REDLOCK" -u "$(local_url)" -w 1s -k job -- true
	helper timeout -s KILL 20 "$REDLOCK" -v -u "$(local_url)" -w 1m -k job -- true 2>"$T/err"
	waiter=$!
	wait_until kit called redlock --mark "$(local_url)"
	pkill -TERM -P "$waiter"
	status=0
	wait "$waiter" || status=$?
	[ "$status" = 143 ] || [ "$status" = 69 ]
	kill -CONT "$server"
	kill_private
}

@test "local: the server inherits no nice value, limits or environment" {
	limited
	local own='^$'
	(
		ulimit -S -n 40 -f 100 -v 4000000
		MINE=1 nice -n 5 "$REDLOCK" -q -u "$(local_url)" -k a -- true
	)
	server=$(servers)
	grep -Eq '^Max open files +(10240|'"$(ulimit -H -n)"') ' "/proc/$server/limits"
	run -1 grep -E '^Max (file size|address space) +[0-9]' "/proc/$server/limits"
	# a server that is started by a script has what that sets
	[ "$(head -c 2 "$(command -v redis-server)")" != '#!' ] ||
		own='^((LD_LIBRARY_PATH|PWD)=|$)'
	run -1 grep -zEavq "$own" "/proc/$server/environ"
	[ "$(ps -o ni= -p "$server" | tr -d ' ')" = 0 ] || [ "$(ulimit -e)" = 0 ]
}
