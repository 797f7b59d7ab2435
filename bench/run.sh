#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what a lock around `true` costs, for several tools interleaved in one run.
#
#   bench/run.sh [PATH-OF-REDLOCK] [RUNS]
#
# Contenders: flock(1) on a file (the first, which all ratios refer to); redlock
# on a unix socket and on loopback TCP; the static file, if `make static` has
# made it; the bare minimum in C (bench/bare.c); setlock (daemontools). Then, in
# a shorter run: sem (GNU parallel), a shell script around redis-cli, etcdctl
# lock, redis-py's lock, node-redlock; each if it is installed.
#
# "+us" is what a lock costs more than flock, in microseconds. ":limit" is the
# ratio to the bare minimum on the same socket: no lock in Redis can be below 1.
set -eu
. "$(dirname "$0")/lib.sh"
runs=${2:-300}

have flock || { echo "$0: needs flock (util-linux)" >&2; exit 69; }
real_time
start_redis
compile race
compile bare

cat >"$W/script" <<'SCRIPT'
#!/bin/sh
# as in many crontabs: no renewal, no fence, nothing kills the command
token=$$.$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
until [ "$(redis-cli -s "$1" set script "$token" nx px 30000)" = OK ]; do
	sleep 0.1
done
shift_sock=$1
shift
"$@"
status=$?
redis-cli -s "$shift_sock" eval "if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1]) end" 1 script "$token" >/dev/null
exit $status
SCRIPT
chmod +x "$W/script"

machine
echo "$runs runs of each, interleaved; ratios to the first"
echo
set -- "flock $W/file true" \
	"$W/bare $sock y true" \
	"$redlock -u unix://$sock -k x -- true" \
	"$W/bare $port y true" \
	"$redlock -u redis://127.0.0.1:$port -k x -- true"
static=$(dirname "$redlock")/redlock-static
[ ! -x "$static" ] || set -- "$@" "$static -u unix://$sock -k x -- true"
! have setlock || set -- "$@" "setlock $W/file true"
race -l "$runs" "$@"
echo
# far slower, so in a shorter run: otherwise the caches would be cold for all
few=$((runs / 10 + 1))
set -- "flock $W/file true" \
	"$redlock -u redis://127.0.0.1:$port -k x -- true" \
	"$W/script $sock true"
[ ! -x "$static" ] || set -- "$@" "$static -u redis://127.0.0.1:$port -k x -- true"
export HOME="$W" # where sem keeps its files
skipped=
if have sem; then set -- "$@" "sem --id x --fg true"; else skipped="$skipped sem"; fi
if start_etcd; then set -- "$@" "etcdctl lock z true"; else skipped="$skipped etcdctl"; fi
if have_redis_py; then set -- "$@" "$python $W/lock.py $sock true"; else skipped="$skipped redis-py"; fi
if get_node_redlock; then set -- "$@" "node $W/lock.mjs $sock true"; else skipped="$skipped node-redlock"; fi
[ -z "$skipped" ] || echo "not installed:$skipped"
race "$few" "$@"
