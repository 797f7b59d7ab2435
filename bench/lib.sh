# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# To be sourced by the bench scripts, in POSIX sh: a directory, servers on a free port
# and on sockets, and the cleanup.

here=$(cd "$(dirname "$0")" && pwd)
redlock=${1:-./redlock}
case $redlock in */*) ;; *) redlock=$(command -v "$redlock" || :) ;; esac
[ -x "$redlock" ] || {
	echo "usage: $0 [path of redlock] [rounds]" >&2
	exit 64
}
redlock=$(cd "$(dirname "$redlock")" && pwd)/$(basename "$redlock")
W=$(mktemp -d "${TMPDIR:-/tmp}/redlock-bench.XXXXXX")
sock=$W/redis.sock
# flock(1) reads its locale's files, which takes as long as a lock
unset LC_ALL LC_CTYPE LC_MESSAGES LANGUAGE
export LANG=C.UTF-8
rt= # see real_time()
etcd_port=
mine= # processes of ours

clean_up() {
	# and what they run: a killed etcdctl or flock leaves it behind
	theirs=$(for p in $mine; do pgrep -P "$p" || :; done)
	# shellcheck disable=SC2086 # lists
	[ -z "$mine" ] || kill -KILL $mine $theirs 2>/dev/null || :
	wait 2>/dev/null
	rm -rf "$W"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What is measured, and its servers, runs before what else this machine does.
real_time() {
	! chrt -f 50 true 2>/dev/null || rt="chrt -f 50"
}

have() { command -v "$1" >/dev/null 2>&1; }
has() { [ -e "$1" ]; }

wait_until() { # COMMAND...: up to 10 s
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || {
			echo "$0: waited 10 s for: $*" >&2
			exit 1
		}
		sleep 0.01
	done
}

soon() { # COMMAND...: the same without a pause
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 200000 ] || {
			echo "$0: waited in vain for: $*" >&2
			exit 1
		}
	done
}

# Tries ports until the server says that it got one.
random_port() {
	echo $((20000 + $(od -An -N2 -tu2 /dev/urandom) % 20000))
}

start_redis() { # with $redis_options, words
	have redis-server || {
		echo "$0: needs redis-server and redis-cli" >&2
		exit 69
	}
	for _ in 1 2 3 4 5; do
		port=$(random_port)
		# shellcheck disable=SC2086
		$rt redis-server --port "$port" --bind 127.0.0.1 --save '' \
			--appendonly no --unixsocket "$sock" --dir "$W" \
			--logfile "$W/redis.log" ${redis_options-} &
		redis=$!
		mine="$mine $redis"
		until redis-cli -s "$sock" ping >/dev/null 2>&1; do
			kill -0 $redis 2>/dev/null || continue 2
			sleep 0.01
		done
		return
	done
	echo "$0: redis-server does not start" >&2
	exit 69
}

# False if etcd is not installed or does not start.
start_etcd() {
	have etcd && have etcdctl || return 1
	etcd_port=$(random_port)
	$rt etcd --data-dir "$W/etcd" --log-level error \
		--listen-client-urls "http://127.0.0.1:$etcd_port" \
		--advertise-client-urls "http://127.0.0.1:$etcd_port" \
		--listen-peer-urls "http://127.0.0.1:$((etcd_port + 1))" \
		>"$W/etcd.log" 2>&1 &
	mine="$mine $!"
	ETCDCTL_API=3
	ETCDCTL_ENDPOINTS=http://127.0.0.1:$etcd_port
	export ETCDCTL_API ETCDCTL_ENDPOINTS
	tries=0
	until etcdctl endpoint health >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || return 1
		sleep 0.1
	done
}

# The locks of two libraries: COMMAND SOCKET PROGRAM ARGUMENT...
cat >"$W/lock.py" <<'SCRIPT'
import subprocess, sys, redis
with redis.Redis(unix_socket_path=sys.argv[1]).lock("job", timeout=30):
    subprocess.call(sys.argv[2:])
SCRIPT
cat >"$W/lock.mjs" <<'SCRIPT'
import { spawn } from "node:child_process";
import Redis from "ioredis";
import Redlock from "redlock";
const [socket, command, ...args] = process.argv.slice(2);
const redis = new Redis(socket);
const redlock = new Redlock([redis], { retryCount: -1 });
await redlock.using(["job"], 30000, () => new Promise(
  (ended) => spawn(command, args).on("close", ended)));
redis.disconnect();
SCRIPT
python=/usr/bin/python3
have_redis_py() { "$python" -c 'import redis' 2>/dev/null; }
get_node_redlock() {
	have node && have npm && npm install --prefix "$W" --silent \
		--no-audit --no-fund redlock@5.0.0-beta.2 ioredis@5.11.1 \
		>/dev/null 2>&1
}

private_kb() { # PID...: together
	for pid; do cat "/proc/$pid/smaps_rollup"; done |
		awk '/^Private_(Clean|Dirty):/ { sum += $2 } END { print sum }'
}

# Children of PID whose name is NAME
child() { # PID NAME
	# shellcheck disable=SC2013 # words
	for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		! grep -qx "$2" "/proc/$p/comm" || echo "$p"
	done
}

switches() { # PID...: context switches of all threads
	for pid; do cat "/proc/$pid/task/"*/status; done |
		awk '/ctxt_switches:/ { sum += $2 } END { print sum }'
}

calls() { # REGEX: of commands: so often the server ran them
	redis-cli -s "$sock" info commandstats |
		sed -nE "s/^cmdstat_($1):calls=([0-9]*),.*/\\2/p" |
		awk '{ sum += $1 } END { print sum + 0 }'
}

race() { # ARGUMENT...: of bench/race.c, which says why if it fails
	$rt "$W/race" "$@" >"$W/raced" || exit 1
	sed "s,$W/,,g" "$W/raced"
}

must_end_with_0() { # PID...: children
	for pid; do
		wait "$pid" && continue
		echo "$0: process $pid: status $?" >&2
		exit 1
	done
}

compile() { # NAME [LIBRARY...]: bench/NAME.c to $W/NAME
	name=$1
	shift
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$W/$name" "$here/$name.c" "$@"
}

# Describes the machine.
machine() {
	echo "$(uname -srm), $(grep -c ^processor /proc/cpuinfo) CPUs," \
		"load $(cut -d' ' -f1 /proc/loadavg), $("$redlock" --version |
			head -n 1), $(redis-server --version | cut -d' ' -f1-3)," \
		"LANG=$LANG, ${rt:-usual priority}"
}

# Numbers on stdin: "median 1.2  most 3.4  of 20"
summary() {
	sort -n | awk '{ v[NR] = $1 } END {
		if (NR == 0) { print "nothing measured"; exit }
		printf "median %.2f  least %.2f  most %.2f  of %d\n",
			v[int((NR + 1) / 2)], v[1], v[NR], NR }'
}
