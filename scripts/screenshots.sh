#!/bin/sh
# SPDX-License-Identifier: MIT
# screenshots.sh [REDLOCK [HELPERS]]: makes docs/top.svg and docs/inspect.svg from
# real runs: three servers, locks, waiters, and a redlock on a terminal
# (tests/lib/pty.c), which tests/lib/vt.c draws. All of it runs in namespaces, with
# the names of a small network. Times differ from run to run.
set -eu
cd "$(dirname "$0")/.."
redlock=$(realpath "${1:-./redlock}")
helpers=$(realpath "${2:-tests/lib}")
for tool in "$redlock" "$helpers/pty" "$helpers/vt"; do
	[ -x "$tool" ] || { echo "$0: no $tool; make check TESTS=" >&2; exit 69; }
done
[ "${SCREENSHOTS-}" ] ||
	SCREENSHOTS=1 exec unshare -Urnm --uts --pid --fork --kill-child \
		--mount-proc "$0" "$redlock" "$helpers"

dir=$(mktemp -d)
# the processes of the namespace end with it
trap 'rm -rf "$dir"' EXIT
export LC_ALL=C.UTF-8 TERM=xterm PATH="$helpers:$PATH" XDG_CONFIG_HOME="$dir"
unset NO_COLOR REDLOCK_URL
ip link set lo up
printf '127.0.0.%d redis-%s\n' 1 a 2 b 3 c >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts
for i in 1 2 3; do
	redis-server --bind "127.0.0.$i" --port 6379 --save '' --appendonly no \
		--dir "$dir" >/dev/null &
done
urls='-u redis://redis-a -u redis://redis-b -u redis://redis-c'
mkdir "$dir/redlock"
echo 'restart-guard = off' >"$dir/redlock/config"
chmod 600 "$dir/redlock/config"

wait_until() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 1000 ] || { echo "gave up waiting for: $*" >&2; exit 1; }
		sleep 0.01
	done
}
for i in 1 2 3; do wait_until redis-cli -h "127.0.0.$i" ping; done

# HOST USER COMMAND OPTION...: in the background; its pid is $last
run() {
	host=$1 user=$2 command=$dir/$3
	shift 3
	printf '#!/bin/sh\nexec sleep 300\n' >"$command"
	chmod 755 "$command"
	# shellcheck disable=SC2086,SC2016 # words; the inner shell expands the rest
	USER=$user LOGNAME=$user unshare --uts sh -c \
		'hostname "$0" && exec "$@"' "$host" "$redlock" -q $urls "$@" \
		-- "$command" 2>/dev/null &
	last=$!
}
seen() { # KEY TEXT
	# shellcheck disable=SC2086
	"$redlock" inspect $urls "$1" | grep -q "$2"
}
held() { wait_until seen "$1" 'held by\|read by'; }

run db-1 postgres pg_dump -k backup:nightly -t 60s --reason 'nightly dump'
held backup:nightly
sleep 5
run build-3 ann deploy.sh -k deploy:web -t 20s --reason 'release 1.4.2'
held deploy:web
frozen=$last
run build-1 ann deploy.sh -k deploy:web
wait_until seen deploy:web 'waiting *1'
run build-7 joe rollback.sh -k deploy:web
run web-2 www migrate -k schema:orders
run web-1 www warm-cache -s -k cache:prices
run web-2 www warm-cache -s -k cache:prices
run web-3 www warm-cache -s -k cache:prices
run ci-4 gitlab-runner e2e-tests -N 3 -k staging:browser
run ci-9 gitlab-runner e2e-tests -N 3 -k staging:browser
run cron-1 root certbot -k certificates -t 5m --reason 'renew certificates'
for key in schema:orders cache:prices staging:browser certificates; do
	held $key
done
wait_until seen deploy:web 'waiting *2'
wait_until seen cache:prices 'and reader'

# A stopped holder, so that its lease runs down.
kill -STOP "$frozen"
sleep 10
draw() { # NAME SIZE TITLE STEP... -- COMMAND...
	name=$1 size=$2 title=$3
	shift 3
	pty "size:$size" "$@" >"$dir/$name.raw"
	vt "$size" svg "$title" <"$dir/$name.raw" >"docs/$name.svg.new"
	mv "docs/$name.svg.new" "docs/$name.svg"
}
mkdir -p docs
# shellcheck disable=SC2086
draw top 14x110 'redlock top: the locks, who holds them, and their leases' \
	'wait:staging' 'run:sleep 0.5' 'send:?' 'wait:space' 'run:sleep 0.7' \
	'send:q' -- "$redlock" top $urls
# shellcheck disable=SC2086,SC2016 # words
draw inspect 30x96 'redlock inspect: a holder, the servers, and two that wait' \
	-- sh -c 'printf "\033[1m\$ redlock inspect deploy:web\033[0m\n"; exec "$@"' - \
	"$redlock" inspect $urls deploy:web
