#!/usr/bin/env bats
# A server that asks for a password, or gives a user few rights.

load lib/common

# One of the numbers in node a's INFO; 0: it has none. PATTERN, of sed
number_of_a() {
	local n

	n=$(cli a info all | sed -n "s/^$1\\([0-9]*\\).*/\\1/p")
	echo "${n:-0}"
}
# (before 6.2 they are not counted)
refused_auths() { number_of_a 'cmdstat_auth:.*,failed_calls='; }
connections() { number_of_a 'total_connections_received:'; }
# turned_away N [OPTION...]: status 77 after one connection, on which AUTH was sent N times
turned_away() {
	local auths connections more

	auths=$(refused_auths)
	connections=$(connections)
	run -77 redlock -k job "${@:2}" -- witness "$T"
	# two of them are ours, who look
	more=$(($(refused_auths) - auths))
	[ "$more" = "$1" ] || ! server_is_at_least 6.2
	[ "$(connections)" = $((connections + 3)) ]
	[ "$(holds)" = 0 ]
}

@test "a wrong password, or none, is refused at once: status 77 and no retry" {
	secure
	echo wrong >"$T/password"
	echo secret >"$T/a.auth"
	cli a acl setuser default resetpass '>secret' on
	# how long a run takes just now
	began=$(now_ms)
	REDISCLI_AUTH=secret redlock -k other -- true
	one=$(($(now_ms) - began))
	began=$(now_ms)
	turned_away 1 --user app --password-file "$T/password"
	[[ $output = *WRONGPASS* ]]
	turned_away 1 --password-file "$T/password"
	[[ $output = *WRONGPASS* ]]
	turned_away 1 --password-file "$T/password" -k one -k two -k three
	[[ $output = *WRONGPASS* ]]
	REDISCLI_AUTH='' turned_away 0
	[[ $output = *'the server requires a password'* ]]
	# with retries, one of them would take 5 s
	below "$(($(now_ms) - began))" $((3000 + 4 * one))
}

@test "with a wrong password each verb tries it once, and says 77" {
	local auths more verb

	server_is_at_least 6.2 || skip "the server does not count them"
	secure
	cli a acl setuser default resetpass '>secret' on
	echo secret >"$T/a.auth"
	for verb in "list" "list --prometheus" "inspect job" "history job" \
		"history job --since 1d" "history job --last-success 1d" \
		"wait job" "doctor" "top --json" "lock job" "lock job --hold" \
		"lock job --keep-for $$" "unlock job --token x" \
		"extend job -w 0 --token 11111111-1111-4111-8111-111111111111" "force-release job --confirm job" \
		"force-release job --now --confirm job"; do
		auths=$(refused_auths)
		# shellcheck disable=SC2086 # words
		REDISCLI_AUTH=wrong run "$REDLOCK" $verb -u "$url"
		case $verb in
		*--last-success*) [ "$status" = 3 ] ;; # a check: unknown
		*) [ "$status" = 77 ] ;;
		esac
		more=$(($(refused_auths) - auths))
		[ "$more" = 1 ] || { echo "$verb: $more"; false; }
	done
}

# The server then runs for its default user what came behind the AUTH.
@test "a wrong password where none is needed: nothing runs, nothing stays" {
	secure
	warm a
	echo wrong >"$T/password"
	turned_away 1 --user app --password-file "$T/password"
	[[ $output = *WRONGPASS* ]]
	# it was granted, and is given back: on that connection
	[ "$(scripts_run a)" = 2 ]
	unset_on a job
}

@test "missing rights are refused at once with 77: EVAL, or a command in a script" {
	secure
	cli a acl setuser app -eval -evalsha
	run -77 redlock -k job --user app --password-file "$T/password" -- witness "$T"
	cli a acl setuser app +eval +evalsha -pexpire -set
	run -77 redlock -k job --user app --password-file "$T/password" -- witness "$T"
	cli a acl setuser app +@all resetkeys '~other*'
	run -77 redlock -k job --user app --password-file "$T/password" -- witness "$T"
	[ "$(holds)" = 0 ]
}

@test "a user without the right to the line does not wait outside it: status 77" {
	secure
	cli a acl setuser app -zadd
	hold 60000
	run -77 timeout 20 "$REDLOCK" -u "$url" -k job --user app \
		--password-file "$T/password" -w 10s -- touch "$T/ran"
	[[ $output = *zadd* || $output = *'The user executing'* ]]
	[ ! -e "$T/ran" ]
}

@test "a server without AUTH repeats the password: redlock does not" {
	node_start b --rename-command AUTH ''
	echo hunter2 >"$T/password"
	chmod 600 "$T/password"
	run -78 "$REDLOCK" -v -u "unix://$T/b.sock" -k job \
		--password-file "$T/password" -- witness "$T"
	[[ $output != *hunter2* ]]
	[[ $output = *'AUTH was refused'* || $output = *'unknown command'* ]]
	# it repeats 128 bytes, with blanks for line breaks
	printf 'hunter2%0200d\n' 0 >"$T/password"
	user=(--user "$(printf 'u%.0s' {1..100})")
	for verb in "inspect job" doctor list "wait job" "lock job" \
		"history job" "-c true -k job -n"; do
		# shellcheck disable=SC2086 # words
		run "$REDLOCK" $verb -u "unix://$T/b.sock" \
			--password-file "$T/password" "${user[@]}"
		[ "$status" != 0 ]
		[[ $output = *'AUTH was refused'* && $output != *hunter2* ]]
	done
	run -78 "$REDLOCK" -u "unix://:hunter2%0Dopen@$T/b.sock" -k job -n -- true
	[[ $output = *'AUTH was refused'* && $output != *open* ]]
}

@test "a server without its replicas is reachable: nothing runs without the lock" {
	heeded_by_scripts
	node_start b --min-replicas-to-write 1
	run -69 "$REDLOCK" -u "unix://$T/b.sock" -k job -n --on-unavailable run \
		-- witness "$T"
	[[ $output = *NOREPLICAS* ]]
	[ "$(holds)" = 0 ]
}

@test "a password rotated during a hold is read again from its file" {
	secure
	hold 800 --user app --password-file "$T/password"
	cli a acl setuser app resetpass '>new'
	cli a client kill user app
	wait_until contains "$T/err" WRONGPASS
	(umask 077 && echo new >"$T/password.new")
	mv "$T/password.new" "$T/password"
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
}

# as a secret that is mounted: a new file takes its place
rotate_file() { # PASSWORD
	(umask 077 && echo "$1" >"$T/password.new")
	mv "$T/password.new" "$T/password"
}

@test "a waiter whose password is rotated before its file keeps its place, and runs" {
	secure
	login=(--user app --password-file "$T/password")
	hold open -t 30s "${login[@]}"
	waiter 1 10 -w 1m "${login[@]}"
	waiter 2 10 -k other "${login[@]}"
	helper "$REDLOCK" -u "$url" wait job "${login[@]}" 2>"$T/err.3"
	waiters="$waiters $!"
	wait_until contains "$T/err.3" 'waiting: held by'
	wait_until in_line 2
	cli a acl setuser app resetpass '>new'
	cli a client kill user app
	for n in 1 2 3; do wait_until contains "$T/err.$n" WRONGPASS; done
	# who comes now has never logged in
	run -77 redlock -k job "${login[@]}" -- true
	pause 1.2
	rotate_file new
	# the holder renews in 5 s, and is not disturbed
	end_hold
	all_waiters_ran
	for n in 1 2 3; do [ "$(grep -c WRONGPASS "$T/err.$n")" = 1 ]; done
	lacks "$T/err.1" BLPOP
	[ "$(holds)" = 3 ]
}

@test "a waiter whose password was withdrawn gives up when -w is over: status 77" {
	secure
	hold open -t 30s
	helper "$REDLOCK" -u "$url" -k job -w 2500ms --user app \
		--password-file "$T/password" -- true 2>"$T/err.1"
	pid=$!
	wait_until in_line 1
	cli a acl setuser app resetpass
	cli a client kill user app
	ended_as "$pid" 77
	grep -q 'gave up after 2.[0-9]s: .*WRONGPASS' "$T/err.1"
	end_hold
}

# ends_in_outage OPTION...: a run whose server goes away, with its data, before its
# command ends; all that it said is in $output
ends_in_outage() {
	local from=$(now_ms)

	# (the pipe of `run` must not stay open)
	run -0 redlock -k job "$@" -- sh -c \
		"echo runs >>'$T/runs'; redis-cli -s '$T/b.sock' shutdown save; true"
	below "$(($(now_ms) - from))" 2500
	[[ $output = *'the release was not confirmed: '*'cannot connect'*'; its guard goes on releasing for up to '* ]]
}

@test "a run that ends in an outage takes 1 s; its guard releases the lock later" {
	node_b --dbfilename b.rdb
	ends_in_outage -t 30s --once-per 1h
	pause 1.5
	not no_process_left
	node_start b --dbfilename b.rdb
	wait_until unset_on b job
	wait_until no_process_left
	# as the run itself would have released it
	run -0 redlock -k job --once-per 1h -- touch "$T/again"
	[[ $output = *'already ran on '* ]]
	run -0 redlock history --json job
	[[ $output = *'"outcome":"ran"'* ]]
}

@test "a run that ends in an outage that lasts leaves no process behind its lease" {
	node_b --dbfilename b.rdb
	from=$(now_ms)
	ends_in_outage -t 3s
	not no_process_left
	wait_until no_process_left
	below "$(($(now_ms) - from))" 5000
	# and a run inside another is not one that its command has left
	node_start b --dbfilename b.rdb
	node_start c
	run -0 "$REDLOCK" -u "unix://$T/c.sock" -k outer --orphans wait -- \
		"$REDLOCK" -u "$url" -k job -t 30s -- \
		redis-cli -s "$T/b.sock" shutdown save
	[[ $output = *'its guard goes on releasing'* ]]
	node_start b --dbfilename b.rdb
	wait_until no_process_left
}

# killed_in_outage: redlock is killed while its server is away; $guard is on its own
killed_in_outage() {
	hold open -t 30s
	guard=$(guard_of "$holder")
	cli b shutdown save || true
	# a service manager sends it to all that is left of a service
	kill -TERM "$guard"
	kill -9 "$holder"
	wait_until contains "$T/err" 'command killed'
	kill -TERM "$guard"
	wait_until eval '[ "$(cat "/proc/$guard/comm")" = lockkeeper ]'
}

@test "redlock is killed in an outage: its guard releases the lock afterwards" {
	node_b --dbfilename b.rdb
	killed_in_outage
	node_start b --dbfilename b.rdb
	wait_until unset_on b job
	wait_until no_process_left
	# from then on, who stops a service does not wait for it
	rm "$T/err"
	killed_in_outage
	kill -TERM "$guard"
	wait_until no_process_left
}

@test "a right withdrawn during a hold and restored in time ends nothing" {
	secure
	hold 800 --user app --password-file "$T/password"
	cli a acl setuser app -eval -evalsha
	wait_until contains "$T/err" NOPERM
	cli a acl setuser app +eval +evalsha
	wait_until contains "$T/err" 'renewed again'
	ends_with 0
}

@test "a password withdrawn for good ends the command by the deadline, not before" {
	secure
	hold 9000 -t 600ms --user app --password-file "$T/password"
	locked_out cli a acl setuser app resetpass
}
