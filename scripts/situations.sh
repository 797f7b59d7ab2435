#!/bin/bash
# SPDX-License-Identifier: MIT
# situations.sh BEFORE NOW: docs/situations.md, what two builds of redlock print
# in the same situations. All of it is from runs against a server of its own;
# only the names of the host, the user and the socket are replaced.
# shellcheck disable=SC2016 # setups are evaluated later
set -eu

before=$(realpath "$1") now=$(realpath "$2")
dir=$(mktemp -d /tmp/situations.XXXXXX)
cd "$dir"
server=
holder=
n=0
leave() {
	[ -z "$holder" ] || kill "$holder" 2>/dev/null || :
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null || :
	cd /
	rm -rf "$dir"
}
trap leave EXIT

cli() { redis-cli -s "$dir/s" "$@" >/dev/null; }
begin() { # BUILD: a new server, and redlock is this build
	local i

	redis-server --port 0 --unixsocket "$dir/s" --save '' --dir "$dir" \
		>/dev/null &
	server=$!
	for ((i = 0; i < 200; i++)); do
		redis-cli -s "$dir/s" ping >/dev/null 2>&1 && break
		read -rt 0.02 <> <(:) || :
	done
	mkdir -p bin home
	ln -sf "$1" bin/redlock
	printf '#!/bin/sh\nkill -STOP %d\n' "$server" >bin/freeze-server
	chmod +x bin/freeze-server
}
end() {
	[ -z "$holder" ] || {
		kill "$holder" 2>/dev/null || :
		wait "$holder" 2>/dev/null || :
	}
	holder=
	kill -CONT "$server"
	kill -9 "$server"
	wait "$server" 2>/dev/null || :
	rm -rf home result token
}
# for the setups: somebody has deploy
hold() { # [OPTION...]
	local i

	CI_JOB_URL=https://ci.example/jobs/71 CI=1 GITLAB_CI=1 redlock \
		-k deploy --reason 'release 1.4' "$@" -- sleep 60 2>/dev/null &
	holder=$!
	for ((i = 0; i < 200; i++)); do
		[ "$(redis-cli -s "$dir/s" exists deploy)" = 0 ] || return 0
		read -rt 0.02 <> <(:) || :
	done
}
printed() { # BUILD SETUP COMMAND
	local status=0

	begin "$1"
	(
		export PATH=$dir/bin:$PATH HOME=$dir/home
		export REDLOCK_URL=unix://$dir/s
		unset XDG_CONFIG_HOME REDLOCK_TOKEN REDLOCK_KEY
		eval "$2"
		bash -o pipefail -c "$3" 2>&1 </dev/null || status=$?
		[ -z "$holder" ] || kill "$holder" 2>/dev/null || :
		echo "status $status"
	) | sed -e "s|$dir/s\>|/run/redis.sock|g; s|$dir/home|~|g" \
		-e "s/\<$(uname -n)\>/web1/g; s/\<$(id -un)\>/ann/g" |
		tr '\r' '\n' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' |
		fold -s -w 72 | sed 's/ *$//; /./s/^/    /' | head -n "${lines:-12}"
	end
}
situation() { # NEED SETUP COMMAND
	n=$((n + 1))
	printf '## %d. %s\n\n    $ %s\n\nBefore:\n\n' "$n" "$1" "$3"
	printed "$before" "$2" "$3"
	printf '\nNow:\n\n'
	printed "$now" "$2" "$3"
	echo
}

cat <<'END'
# What redlock prints

Forty situations: what the user needs to be told, the command, and what two
builds print. `scripts/situations.sh BEFORE NOW` makes this page from real runs;
long answers are cut after some lines.

END

situation 'The right spelling of a URL' : 'redlock -u reds://cache -k job -- true'
situation 'What a URL must look like' : 'redlock -u ftp://cache -k job -- true'
situation 'What a Sentinel URL lacks' : \
	'redlock -u redis-sentinel://cache -k job -- true'
situation 'How to write a password with a percent sign' : \
	'redlock -u redis://:5%@cache -k job -- true'
situation 'That nobody answers, and where' : \
	'redlock -u unix:///run/none.sock -k job -n -- true'
situation 'That no server was named' 'unset REDLOCK_URL' \
	'redlock -k job -n -- true'
situation 'That the lease must have a length' : \
	'redlock -k job --max-hold 0 -- true'
situation 'Half a second, as flock takes it' : 'redlock -k job -w .5 -- echo ran'
situation 'What may be written there' : 'redlock -k job --orphans eat -- true'
situation 'Where a command line belongs' : "redlock -k job 'echo hi'"
situation 'That -u is missing' : 'redlock -k job redis://cache true'
situation 'The name of the verb' : 'redlock ps'
situation 'The name of the verb, from its beginning' : 'redlock hist job'
situation 'Options before the verb' : 'redlock -q list'
situation 'That a broken setting is a failure' \
	'mkdir -p ~/.config/redlock; echo "ttl = soon" >~/.config/redlock/config' \
	'redlock --version -v | tail -n 2'
situation 'All settings, with their sources' 'export REDLOCK_TTL=1m' \
	'redlock doctor --config | grep -v default'
situation 'Who holds the lock, since when, and the job' hold \
	'timeout 2 redlock -k deploy -w 30m -- ./deploy.sh'
situation 'Who is in the way, without a wait' hold \
	'redlock -k deploy -n -- ./deploy.sh'
situation 'Nothing, from cron' hold 'redlock -q -k deploy -n -E 0 -- ./deploy.sh'
situation 'That a lock is kept' 'redlock -k deploy --min-hold 1m -- true' \
	'redlock -k deploy -n -- true'
situation 'That its own token stands in the way' \
	'REDLOCK_TOKEN=$(redlock lock deploy); export REDLOCK_TOKEN' \
	'timeout 2 redlock -k deploy -- true'
situation 'That the work is done already' 'redlock -k job --once-per 1h -- true' \
	'redlock -k job --once-per 1h -- true'
situation 'That the line is too long' hold \
	'redlock -k deploy --max-waiters 0 -- true'
situation 'That all slots are taken' \
	'for i in 1 2; do redlock lock deploy -N 2 >token; done' \
	'redlock -k deploy -N 2 -n -- true'
situation 'That it would wait for itself' : \
	"redlock -k job -s -- redlock -k job -n -- true"
situation 'How long the command has left in an outage' : \
	"redlock -k job -t 3s -- sh -c 'freeze-server; sleep 9'"
situation 'That the command is over time' : \
	'redlock -k job --max-hold 300ms -- sleep 9'
situation 'That the holder has stopped' 'hold -t 1s' \
	'redlock force-release deploy --confirm deploy 2>&1 | tail -n 2'
situation 'That the key must be repeated' hold \
	'redlock force-release deploy 2>&1 | tail -n 1'
situation 'That the key is not a lock of redlock' 'cli set deploy x' \
	'redlock force-release deploy --confirm deploy 2>&1 | tail -n 1'
situation 'That the lock is not held' : \
	'redlock unlock job --token b93cb7c5-24cf-4dec-b6c6-d97c02347cfa'
situation 'That there are no locks' : 'redlock list'
situation 'Whether a lock is held too long' hold \
	'redlock inspect --max-age 10ms deploy'
situation 'Whether a job succeeded' : 'redlock history --last-success 25h job'
situation 'Metrics for monitoring' hold 'redlock list --prometheus | grep -v "#"'
situation 'What is wrong with a lock' 'cli set deploy x' 'redlock inspect deploy'
situation 'That a fence counter was damaged' 'cli hset job:redlock:{job}:state fence x' \
	'redlock -k job -n -- true'
situation 'Only the problems of a server' : 'redlock doctor -q'
lines=14 situation 'The options of a verb, its own first' : \
	'redlock force-release --help'
situation 'What redlock does, step by step' : 'redlock -v -k job -- true'
