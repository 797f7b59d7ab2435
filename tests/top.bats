#!/usr/bin/env bats
# redlock top: all locks, refreshed; and the terminal restored, however it
# ends.

load lib/common
load lib/cluster
load lib/masters

setup_file() { cluster_start; }

# A lock as redlock leaves it: NODE KEY [HOST [TTL [WAITERS]]]
forge() {
	local i

	forge_holder "${@:1:4}"
	for ((i = 0; i < ${5-0}; i++)); do
		cli "$1" zadd "$2:redlock:{$2}:queue" "179000000000000$i" \
			"w$i"$' 30000 1 -\nhost x\n' >/dev/null
	done
}
# on_screen STATUS STEP... -- ARGUMENT...: `redlock top` on a terminal of $size;
# what was written to it is in $T/raw, the pid in $T/pid, and what it showed in
# the end in $screen.
size=24x80
on_screen() {
	local want=$1 steps=() got=0

	shift
	while [ "$1" != -- ]; do steps+=("$1"); shift; done
	shift
	LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=${NO_COLOR-1} pty "size:$size" "${steps[@]}" -- \
		sh -c 'trap : INT; stty -g >"$T/before"; echo $$ >"$T/shell"
		"$@"
		got=$?
		stty -g >"$T/after"; echo over; exit $got' - \
		"$REDLOCK" top -u "$url" "$@" >"$T/raw" 2>"$T/pty.err" || got=$?
	[ "$got" = "$want" ] || { echo "ended with $got" >&2; cat "$T/pty.err" "$T/raw" >&2; return 1; }
	screen=$(vt "$size" <"$T/raw" 2>"$T/vt.err") || [ "${was_resized-}" ] ||
		{ cat "$T/vt.err" "$T/raw" >&2; return 1; }
}
# The terminal is restored, and nothing is left on it.
restored() {
	cmp "$T/before" "$T/after" || return
	case $size in ?x*) ;; *)
		[ "$(vt "$size" main <"$T/raw" | grep -v '^[A-Z]')" = over ] ||
			{ vt "$size" main <"$T/raw" >&2; return 1; } ;;
	esac
	# cursor and wrapping are back, the other screen is left last
	[[ $(tr -d '\n' <"$T/raw") == *$'\e[?7h\e[?25h\e[?1049l'*over* ]]
}
pid_of_top='pgrep -P $(cat $T/shell) -x redlock'
row() { grep -E -- "$1" <<<"$screen" || { echo "$screen" >&2; return 1; }; }
rows() { sed -n '4,$p' <<<"$screen" | grep -E ' (held|free) ' | awk '{ print $1 }' | tr '\n' ' '; }

# ---- what is shown ----

@test "a row for each lock, as list shows it, and its lease as a bar" {
	USER=ann LOGNAME=ann start -q -k job -t 20s -- sleep 61.3
	wait_until held job
	forge a another db1 60000 3
	size=24x110
	on_screen 0 'wait:LEFT' 'wait:another' 'run:sleep 1.2' 'send:q' --
	restored
	row '^redlock top  2 locks, 3 waiting .*[0-9][0-9]:[0-9][0-9]:[0-9][0-9] [A-Z]+$'
	row '^KEY▴ +STATE +HOLDER +PID +USER +COMMAND +HELD +LEFT +WAITING +LEASE *$'
	row "^another  held +db1 +12 +ann +backup.sh +[0-9]+d[0-9]+h +5[0-9]s +3 +█████████[█░]$"
	row "^job      held +$(hostname | cut -c 1-6).* +$tool +ann +sleep +[12]s +1[0-9]s +0 +█████████[█░]$"
	row '^q quit  \? help'
	cli a flushall >/dev/null
	kill "$tool"
}

@test "two long keys that differ at their ends alone look different" {
	local k=app:production:deployments:cluster-of-the-north:service

	forge a "$k:eu-1" db1 60000 0
	forge a "$k:eu-2" db1 60000 0
	forge a "日本語${k#app}:eu-1" db1 60000 0
	on_screen 0 'wait:LEFT' 'wait:eu-2' 'run:sleep 1.2' 'send:q' --
	row '^app:p.*….*e:eu-1 +held'
	row '^app:p.*….*e:eu-2 +held'
	row '^日本語:.*….*e:eu-1 +held'
	cli a flushall >/dev/null
}

@test "the time of day has its zone" {
	TZ=Asia/Tokyo on_screen 0 'wait:KEY' 'send:q' --
	[[ $(head -n 1 <<<"$screen") =~ \ [0-2][0-9]:[0-5][0-9]:[0-5][0-9]\ JST$ ]]
}

@test "leases that outlast every clock are shown with their T, the bar at most full" {
	local n

	# who sets an expiry by hand, or writes a record, may write any number
	forge_holder a ages web1 1500000000000000000 900
	n=0
	for ttl in 900 950 60000 4611686018427386880 99999999999999999999; do
		n=$((n + 1))
		forge_holder a "k$n" web1 60000 "$ttl" 4611686018427387903
	done
	on_screen 0 'wait:ages' 'wait:k5' 'send:q' --
	restored
	row '^ages .* 0s +0 +█{10}$'
	row '^k1 .* 0s +0 +█{10}$'
	row '^k2 .* 0s +0 +█{10}$'
	row '^k3 .* [56][0-9]s +0 +█████████[█░]$'
	row '^k4 .* [56][0-9]s +0 +█░{9}$'
	row '^k5 .*  [56][0-9]s +0$'
	"$REDLOCK" list -u "$url" >"$T/list"
	grep -Eq '^ages .* held .* 0s +0$' "$T/list"
	"$REDLOCK" inspect -u "$url" ages k4 >"$T/inspect"
	cli a flushall >/dev/null
}

@test "a change is drawn within two seconds: a lock comes, gets a waiter, goes" {
	forge a first
	on_screen 0 'wait:first' "run:'$REDLOCK' -q -u $url -k second -- sleep 2.5 >$T/null 2>&1 3>&- &" \
		'wait:second' "run:sleep 0.1" \
		'wait:1 lock,' 'send:q' --
	row '^redlock top  1 lock,'
	not grep second <<<"$screen"
	restored
	cli a flushall >/dev/null
}

@test "an unchanged row is not drawn again: a frame has only the changes" {
	forge a job
	on_screen 0 'wait:job' 'run:sleep 3' 'send:q' --
	[ "$(grep -o 'backup.sh' "$T/raw" | wc -l)" -le 5 ] # its lease shrinks
	[ "$(grep -o 'redlock top' "$T/raw" | wc -l)" -le 6 ] # the clock
	[ "$(grep -o 'HOLDER' "$T/raw" | wc -l)" -le 2 ]
	cli a flushall >/dev/null
}

@test "it sorts by key, held, left, waiters, and in reverse" {
	forge a b web1 50000 1
	forge a a web1 40000 3
	forge a c web1 30000 2
	on_screen 0 'wait:KEY' 'wait:web1' 'send:q' --
	[ "$(rows)" = 'a b c ' ]
	on_screen 0 'wait:web1' 'send:r' 'wait:KEY▾' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'c b a ' ]
	on_screen 0 'wait:web1' 'send:ss' 'wait:LEFT▾' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'c a b ' ]
	on_screen 0 'wait:web1' 'send:sss' 'wait:WAITING▾' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'a c b ' ]
	on_screen 0 'wait:web1' 'send:sssr' 'wait:WAITING▴' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'b c a ' ]
	cli a flushall >/dev/null
}

@test "/ filters until Escape; h hides what is not held, w what nobody waits for" {
	forge a deploy web1
	forge a backup db7
	cli a zadd 'idle:redlock:{idle}:queue' 1790000000000000 $'w 30000 1 -\nhost x\n' >/dev/null
	on_screen 0 'wait:backup' 'send:/depX^H^M' 'wait:filter: dep' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'deploy ' ]
	row '^filter: dep$'
	# a host, whatever the case; q is a letter
	on_screen 0 'wait:backup' 'send:/DB' 'wait:filter: ' 'run:sleep 0.2' 'send:^M' 'send:q' --
	[ "$(rows)" = 'backup ' ]
	on_screen 0 'wait:backup' 'send:/q' 'wait:no matching locks' 'send:^[' 'wait:deploy' 'send:q' --
	[ "$(rows)" = 'backup deploy idle ' ]
	on_screen 0 'wait:backup' 'send:h' 'wait:held only' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'backup deploy ' ]
	on_screen 0 'wait:backup' 'send:w' 'wait:waited for only' 'run:sleep 0.2' 'send:q' --
	[ "$(rows)" = 'idle ' ]
	on_screen 0 'wait:idle' 'send:q' -- --waiting
	[ "$(rows)" = 'idle ' ]
	on_screen 0 'wait:deploy' 'send:q' -- 'd*'
	[ "$(rows)" = 'deploy ' ]
	cli a flushall >/dev/null
}

@test "space stops the picture and the questions; a second one continues" {
	forge a job
	on_screen 0 'wait:job' 'send: ' 'wait:paused' 'run:sleep 0.3' \
		"run:redis-cli -s $T/a.sock config resetstat >$T/null" \
		"run:redis-cli -s $T/a.sock del job 'job:redlock:{job}:state'  >$T/null" \
		'run:sleep 1.5' "run:redis-cli -s $T/a.sock info commandstats >$T/stats" \
		'send:?' 'wait:space' 'send: ' 'wait:no locks are held' 'send:q' --
	not grep 'scan\|evalsha' "$T/stats"
	restored
}

@test "300 locks: scrolled by arrows and pages, with the position" {
	seq 100 399 | awk -v us=1790000000000000 -v ends="$(($(now_ms) + 60000))" '{
		print "SET k" $1 " tok PX 60000"
		printf "HSET k%d:redlock:{k%d}:state v 2 fence %s slot:0 \"tok 1 %s 60000 tok\" hold:tok \"%s 1 \" who:tok \"0 %s 1790000000000 60000\\n60000 1 -\\nhost web\\npid 1\\ncommand sleep\\n\"\n", $1, $1, us, us, ends, us
	}' | cli a --pipe >/dev/null
	on_screen 0 'wait:1-20 of 300' 'send:q' --
	[ "$(rows | wc -w)" = 20 ]
	on_screen 0 'wait:1-20 of 300' 'send:^[[B' 'wait:2-21' 'send:^[[6~' 'wait:21-40' \
		'send:^[[A' 'wait:20-39' 'send:^[[5~' 'wait:1-20' 'send:^[OB' 'wait:2-21' \
		'send:^[[F' 'wait:281-300 of 300' 'send:q' --
	[[ "$(rows)" = 'k380 k381 '*'k399 ' ]]
	on_screen 0 'wait:1-20 of 300' 'send:^[[4~' 'wait:281-300' 'send:^[[H' 'wait:1-20' 'send:q' --
	# a new order is shown from its first row on
	on_screen 0 'wait:1-20 of 300' 'send:^[[F' 'wait:281-300' 'send:r' 'wait:1-20 of 300' 'send:q' --
	[[ "$(rows)" = 'k399 k398 '* ]]
	on_screen 0 'wait:1-20 of 300' 'send:^[[F' 'wait:281-300' 'send:s' 'wait:1-20 of 300' 'send:q' --
	cli a flushall >/dev/null
}

@test "it works on a narrow, a wide and a tiny terminal, and follows changes of size" {
	forge a job web1 60000 2
	for size in 24x40 10x132 5x20 3x10 24x200 1x1; do
		on_screen 0 'wait:h' 'run:sleep 0.3' 'send:q' --
		restored
	done
	size=12x60
	was_resized=1 on_screen 0 size:24x100 'wait:LEASE' size:12x60 'run:sleep 0.5' 'send:q' --
	row '^job +held +web1 +backup.sh '
	[[ $screen != *LEASE* ]]
	cli a flushall >/dev/null
}

@test "the help has as many rows as it needs" {
	forge a job
	size=12x40 on_screen 0 'wait:job' 'send:?' 'wait:space pause' 'send:q' --
	row '^q quit  s sort  r reverse  / filter$'
	row '^h held  w waited for  space pause$'
	cli a flushall >/dev/null
}

@test "no bytes of keys, hosts and filters control the terminal" {
	forge a $'e\e[31mvil\a' $'h\e]0;x\a\r\n\xff'
	forge a 'ключ日本語' 'база'
	size=24x110
	on_screen 0 'wait:vil' 'wait:ключ' 'send:q' --
	row '^e\\x1b\[31mvil\\x07  held   h\\x1b\]0;x\\x07\\x0d'
	# wide letters do not shift what follows
	[ "$(grep -o '.*held' <<<"$screen" | tail -n 1 | wc -m)" = \
		"$(($(grep -o '^e.*held' <<<"$screen" | wc -m) - 3))" ]
	tr -d '\r\n' <"$T/raw" | sed 's/\x1b\[[?0-9;]*[A-Za-z]//g' | not grep -aP '[\x00-\x1f]'
	cli a flushall >/dev/null
}

@test "colors: not with NO_COLOR or --color never; always with --color always" {
	forge a job
	NO_COLOR='' on_screen 0 'wait:job' 'send:q' --
	grep -q $'\e\[32m' "$T/raw"
	NO_COLOR=1 on_screen 0 'wait:job' 'send:q' --
	not grep -q $'\e\[3[0-9]m' "$T/raw"
	NO_COLOR='' on_screen 0 'wait:job' 'send:q' -- --color never
	not grep -q $'\e\[3[0-9]m' "$T/raw"
	NO_COLOR=1 on_screen 0 'wait:job' 'send:q' -- --color always
	grep -q $'\e\[32m' "$T/raw"
	cli a flushall >/dev/null
}

# ---- how it ends ----

@test "every end restores the terminal: q, Ctrl-C, INT, TERM, HUP, QUIT, a crash" {
	forge a job
	on_screen 0 'wait:job' 'send:q' --
	restored
	on_screen 130 'wait:job' 'send:^C' --
	restored
	for sig in INT TERM HUP QUIT ABRT SEGV; do
		on_screen $((128 + $(kill -l "$sig"))) 'wait:job' \
			"run:kill -$sig \$($pid_of_top)" --
		restored
	done
	cli a flushall >/dev/null
}

@test "Ctrl-Z restores the terminal, fg draws everything again" {
	forge a job
	LC_ALL=C.UTF-8 TERM=xterm run -0 pty 'wait:job' 'send:^Z' 'wait:stopped' 'wait:same' \
		'wait:job' 'wait:help' 'send:q' 'wait:over' -- bash -c 'set -m
		stty -g >"$T/before"
		"$0" top -u "$1"
		echo stopped
		stty -g | cmp - "$T/before" && echo same
		fg
		stty -g | cmp - "$T/before" && echo over' "$REDLOCK" "$url"
	[[ $output == *$'\e[?1049l'*stopped*same*$'\e[?1049h'*job*$'\e[?1049l'*over* ]]
	cli a flushall >/dev/null
}

@test "Ctrl-Z does not stop it if no shell could continue it" {
	forge a job
	LC_ALL=C.UTF-8 TERM=xterm run -0 pty 'wait:job' 'send:^Z' 'wait:job' \
		'wait:help' 'send:q' -- "$REDLOCK" top -u "$url"
	cli a flushall >/dev/null
}

@test "stopped by SIGSTOP and continued, it takes the screen again" {
	forge a job
	on_screen 0 'wait:job' "run:$pid_of_top >$T/pid; kill -STOP \$(cat $T/pid); kill -CONT \$(cat $T/pid)" \
		'wait:job' 'send:q' --
	restored
	cli a flushall >/dev/null
}

@test "a terminal that goes away ends it" {
	forge a job
	LC_ALL=C.UTF-8 TERM=xterm run pty 'wait:job' "run:pgrep -f 'redlock top -u $url' >$T/pids" hangup -- \
		"$REDLOCK" top -u "$url"
	[ "$status" != 124 ]
	cli a flushall >/dev/null
}

@test "Ctrl-S does not freeze it" {
	forge a job
	on_screen 0 'wait:job' 'send:^S' 'wait:job' 'send:q' --
	restored
	cli a flushall >/dev/null
}

# ---- servers ----

@test "a server that fails is reported with since when; the rows stay until it is back" {
	node_start b
	url=unix://$T/b.sock
	forge b job
	size=24x120
	on_screen 0 'wait:job' "run:kill -STOP $(node_pid b)" 'wait:is down' 'wait:down for ' \
		"run:kill -CONT $(node_pid b)" 'run:sleep 2.5' 'send:q' --
	row '^job  '
	not grep 'down' <<<"$screen"
	on_screen 0 'wait:job' "run:kill -KILL $(node_pid b)" 'wait:is down' 'wait:down for ' 'send:q' --
	row 'down for [0-9]+s: .*b.sock: '
	row '^job  '
	rm -f "$T/b.pid"
	wait_until eval '! cli b ping 2>/dev/null'
	on_screen 69 -- 2>/dev/null
	grep -q 'cannot connect' "$T/raw"
	not grep -q '1049h' "$T/raw"
}

@test "three servers, one dead: how many answer is shown, and all locks" {
	several 3
	helper "$REDLOCK" -q -u "$url" -k job -- sleep 61.3
	wait_until have 3
	size=24x120
	on_screen 0 'wait:job' 'wait:3 of 3 servers' "run:kill -KILL $(node_pid c)" \
		'wait:2 of 3 servers' 'run:sleep 1' 'send:q' --
	row '^redlock top  1 lock, 0 waiting  2 of 3 servers'
	row "down for [0-9]+s: .*c.sock"
	row "^job +held"
	rm -f "$T/c.pid"
	kill_helpers || true
	cli a flushall >/dev/null
	cli b flushall >/dev/null
}

@test "a Cluster: shows the keys of all primaries, also after one has failed" {
	cluster_mend
	url=$(cluster_url)
	for key in a b c d e f; do
		helper "$REDLOCK" -q -u "$url" -t 20s -k "$key" -- sleep 61.3
	done
	six() { [ "$("$REDLOCK" list -u "$url" | wc -l)" = 7 ]; }
	wait_until six
	down=$(cluster_owner a)
	size=24x150
	on_screen 0 'wait:6 locks' "run:kill -STOP $(cluster node_pid "$down")" 'wait:down for' \
		'wait:6 locks' 'run:sleep 7' 'send:q' --
	row '^redlock top  6 locks'
	not grep 'down for' <<<"$screen"
	restored
	kill_helpers || true
}

@test "the search for keys takes a tenth of the server's time at most" {
	cli a eval "for i = 1, 300000 do redis.call('set', 'other' .. i, 1) end" 0 >/dev/null
	forge a job
	on_screen 0 'wait:job' "run:redis-cli -s $T/a.sock config resetstat >$T/null" 'run:sleep 6' \
		"run:redis-cli -s $T/a.sock info commandstats >$T/stats" 'send:q' --
	us=$(sed -n 's/^cmdstat_scan:.*usec=\([0-9]*\),.*/\1/p' "$T/stats")
	below "${us:-0}" 1500000
	at_least "$(sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p' "$T/stats")" 4
	cli a flushall >/dev/null
}

# ---- not on a terminal ----

@test "without a terminal, or on a dumb one, it prints once, like list" {
	forge a job
	run -0 --separate-stderr "$REDLOCK" top -u "$url"
	[[ ${lines[0]} == KEY*WAITING && ${lines[1]} == job*held*web1* && ${#lines[@]} = 2 ]]
	[ -z "$stderr" ]
	TERM=dumb run -0 pty -- "$REDLOCK" top -u "$url"
	[[ $output == KEY*job*held* && $output != *$'\e'* ]]
	run -0 --separate-stderr "$REDLOCK" top -u "$url" --waiting
	[ -z "$output" ]
	[[ $stderr = *'no matching locks'* ]]
	cli a flushall >/dev/null
}

@test "--json: a document a second, until nobody reads or a signal comes" {
	forge a job web1 60000 2
	timeout 20 "$REDLOCK" top --json -u "$url" 2>"$T/err" 3>&- | head -n 3 >"$T/docs"
	[ ! -s "$T/err" ]
	[ "$(as_in_manual "$(<"$T/docs")")" = 3 ]
	/usr/bin/python3 - "$T/docs" <<-'END'
	import datetime, json, sys
	d = [json.loads(l) for l in open(sys.argv[1])]
	t = [datetime.datetime.fromisoformat(x['time'].rstrip('Z')).timestamp() for x in d]
	assert all(0.5 < b - a < 2.5 for a, b in zip(t, t[1:])), t
	l = d[-1]['locks'][0]
	assert l['key'] == 'job' and l['in_line'] == 2, l
	END
	launch --default all "$REDLOCK" top --json -u "$url" >"$T/more" 2>"$T/err" 3>&- &
	pid=$!
	helpers="$helpers $pid"
	wait_until eval '[ "$(wc -l <"$T/more")" -ge 1 ]'
	kill -INT "$pid"
	got=0
	wait "$pid" || got=$?
	[ "$got" = 130 ]
	cli a flushall >/dev/null
}
