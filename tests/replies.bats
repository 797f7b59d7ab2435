#!/usr/bin/env bats
# Servers that answer what no server should: hostile ones, or merely odd. The
# fake ones are those of lib/fake.py.

load lib/common
load lib/masters

# fake NAME [tcp]: the server that standard input defines, at $url
fake() {
	rm -f "$T/$1".{sock,py.port} # of another one by that name
	cat >"$T/$1.py"
	if [ "${2-}" = tcp ]; then
		helper /usr/bin/python3 "$top/tests/lib/fake.py" 127.0.0.1:0 \
			"$T/$1.py"
		wait_until exists "$T/$1.py.port"
		at=127.0.0.1:$(cat "$T/$1.py.port")
	else
		helper /usr/bin/python3 "$top/tests/lib/fake.py" \
			"$T/$1.sock" "$T/$1.py"
		wait_until exists "$T/$1.sock"
		url=unix://$T/$1.sock
	fi
}
# verb STATUS VERB ARGUMENT...: the answer is in $output, what was said in
# $stderr
verb() {
	local want=$1

	shift
	run --separate-stderr "$REDLOCK" "$1" -u "$url" "${@:2}"
	[ "$status" = "$want" ] || { echo "status $status: $output$stderr" >&2; return 1; }
}
# with 128 MB of addresses; sanitizers need more
small() { [ -n "${SANITIZED-}" ] || ulimit -v 131072; }

# ---- the primaries of a Cluster ----

# as many, each with one slot or more, at ports where nobody listens
cluster_of() { # N
	echo "$1" >"$T/primaries"
	[ ! -e "$T/cluster.py" ] || return 0
	fake cluster tcp <<-END
		def answer(words):
		    if words[0] != b'CLUSTER':
		        return usual(words)
		    n = int(open('$T/primaries').read())
		    each = 16384 // n
		    return [[i * each, i * each + each - 1,
		             ['127.77.%d.%d' % (i // 250, i % 250 + 1), 1, 'id']]
		            for i in range(n)]
	END
	url=redis-cluster://$at
}

@test "a Cluster of 1000 primaries is scanned; a larger one is refused with a line" {
	small
	cluster_of 1000
	verb 69 list
	[[ $stderr == *'127.77.'*'cannot connect'* ]]
	cluster_of 1001
	verb 78 list
	[[ $stderr == *"$at: CLUSTER SLOTS: more than 1000 primaries" ]]
	verb 78 list --json
	verb 78 doctor
	[[ $stderr == *"$at: CLUSTER SLOTS: more than 1000 primaries" ]]
	cluster_of 16384
	url=$url?timeout=20s # the fake one is slow to say so much
	verb 78 list
	[[ $stderr == *'more than 1000 primaries' ]]
}

@test "CLUSTER SLOTS that says a slot twice, none, or nonsense is refused" {
	fake slots tcp <<-END
		def answer(words):
		    return eval(open('$T/said').read()) if words[0] == b'CLUSTER' else usual(words)
	END
	url=redis-cluster://$at
	while read -r name said; do
		echo "$said" >"$T/said"
		verb 78 list
		echo "$name: $stderr"
		[[ $stderr == *"$at: CLUSTER SLOTS: "* ]]
		[ -z "$output" ]
	done <<-'END'
		twice [[0, 16383, ['', port]], [0, 16383, ['', port]]]
		none []
		word b'+OK\r\n'
		high [[0, 16384, ['', port]]]
		back [[9, 1, ['', port]]]
		huge [[0, 9223372036854775807, ['', port]]]
		port [[0, 16383, ['', 0]]]
		ports [[0, 16383, ['', 65536]]]
		flat [0, 16383]
		deep [[[[[[0]]]]]]
	END
}

# ---- more than fits into an answer ----

# N readers of the lock docs, who hold it for 10 minutes, on each server in an
# order of its own
readers() { # N [SERVER]
	seq "$1" | awk -v us=1790000000000000 -v ends="$(($(now_ms) + 600000))" \
		-v seed=$RANDOM -v n="$1" 'BEGIN {
		key = "docs:redlock:{docs}:state"
		print "SET docs shared:" us " PX 600000"
		print "HSET", key, "v 2 fence", us, "born", us, "trail \" " us "\""
	} {
		end = ends + $1 * seed % 997
		if (end > last) {
			last = end
			who = "tok-" $1
		}
		printf "HSET %s hold:tok-%d \"%.0f 1 \" who:tok-%d \"0 %s 1790000000000 600000\\n600000 1 r\\nhost web%d\\npid %d\\nuser ann\\ncommand read.sh\\nreason %0100d\\n\"\n", key, $1, end, $1, us, $1 % 7, $1, 0
	} END {
		printf "HSET %s slot:0 \"shared:%s %d %s 600000 %s\"\n", key, us, n, us, who
	}' | cli "${2-a}" --pipe >/dev/null
}
json() { # EXPRESSION: `d` is the document
	as_in_manual "$output" 'd = docs[0]
assert '"$1"', d' >/dev/null
}

@test "8000 readers of a lock: every verb shows some, and how many more there are" {
	readers 8000
	forge_holder a other
	verb 0 inspect docs
	[ -z "$stderr" ]
	[ "$(grep -c '^  and reader ' <<<"$output")" = 199 ]
	[ "$(grep '^  and .* more' <<<"$output")" = '  and 7800 more' ]
	verb 0 inspect --json docs
	json "d['holders'] == 8000 and len(d['others']) == 199"
	verb 0 list
	[ -z "$stderr" ]
	grep -Eq '^docs +reading +web[0-6] \+7999 ' <<<"$output"
	grep -Eq '^other +held +web1 ' <<<"$output"
	verb 75 wait docs -w 3s
	[[ $stderr == *'and 7999 other readers'* ]]
	timeout 20 "$REDLOCK" top --json -u "$url" 2>"$T/err" 3>&- | head -n 2 | tail -n 1 >"$T/doc"
	output=$(cat "$T/doc")
	json "[l['key'] for l in d['locks']] == ['docs', 'other'] and d['locks'][0]['holders'] == 8000 and d['nodes'][0]['state'] == 'up'"
	cli a flushall >/dev/null
}

@test "of 500 readers, each of three servers knows others: they hold the lock" {
	several 3
	for n in a b c; do readers 500 $n; done
	verb 75 wait docs -w 3s
	verb 0 list
	grep -Eq '^docs +reading +web[0-6] \+499 ' <<<"$output"
	verb 0 inspect docs
	[[ $output != *minority* && $output != *'problems'* ]]
	verb 0 force-release docs --confirm docs --now
	verb 0 wait docs -w 2s
	for n in a b c; do cli $n flushall >/dev/null; done
}

@test "8000 readers of a lock are asked to stop, and then it is taken from all" {
	readers 8000
	verb 0 force-release docs --confirm docs --grace 500ms --node-timeout 10s
	[[ $stderr == *'and 7800 more'*'asked all 8000 holders to stop'*'the lock was taken away'* ]]
	free docs
	word() { cli a lindex "docs:redlock:{docs}:grant:tok-$1" -1; }
	for n in 1 4000 8000; do [[ $(word $n) == 'taken'* ]]; done
	verb 1 inspect docs
	[ "$("$REDLOCK" history -u "$url" --json docs | grep -c '"outcome":"forced"')" = 100 ]
	cli a flushall >/dev/null
}

@test "1000 slots with the longest records: shown, counted and taken" {
	seq 0 999 | awk -v us=1790000000000000 -v ends="$(($(now_ms) + 600000))" '
	BEGIN {
		key = "job:redlock:{job}:state"
		print "SET job tok-0 PX 600000"
		print "HSET", key, "v 2 fence", us, "born", us, "trail \" " us "\""
	} {
		printf "HSET %s slot:%d \"tok-%d 1 %s 600000 tok-%d\" hold:tok-%d \"%s 1 \" who:tok-%d \"%d %s 1790000000000 600000\\n600000 1000 -\\nhost h\\nx %01000d\\n\"\n", key, $1, $1, us, $1, $1, ends, $1, $1, us, 0
	}' | cli a --pipe >/dev/null
	verb 0 inspect job
	[ "$(grep '^  and .* more' <<<"$output")" = '  and 800 more' ]
	verb 0 list
	grep -Eq '^job +held +h \+999 ' <<<"$output"
	verb 0 force-release job --confirm job --now
	verb 0 list
	[ -z "$output" ]
	cli a flushall >/dev/null
}

@test "keys of 60 kB, of which few fit into an answer, hide no others" {
	forge_holder a job
	cli a eval "local state = redis.call('dump', KEYS[1])
		for i = 10, 39 do
			local key = i .. string.rep('0', 60000)
			redis.call('set', key, 'tok', 'px', 60000)
			redis.call('restore', key .. ':redlock:{' .. key .. '}:state', 0, state)
		end" 1 "$(state_of job)" >/dev/null
	verb 0 list --json
	json "len(d['locks']) == 31 and d['locks'][-1]['key'] == 'job'"
	[ -z "$stderr" ]
	verb 0 doctor
	[[ $output == *'31 held, 31 fence counters, no problems'* ]]
	cli a flushall >/dev/null
}

@test "an overlong lock hides no others, nor does its server count as down" {
	fake long <<-'END'
		names = ['%s:redlock:{%s}:state' % (k, k) for k in 'abcdefghijklmnopqrst']
		def answer(words):
		    if words[0] == b'SCAN':
		        return ['0', names]
		    if words[0] == b'EVALSHA' and words[3] == b'g':
		        return b'$2000000\r\n' + 2000000 * b'x' + b'\r\n'
		    if words[0] == b'EVALSHA':
		        return view('tok')
		    return usual(words)
	END
	verb 0 list
	[ "$(wc -l <<<"$output")" = 20 ] # and the titles
	[[ $stderr == *'1 lock cannot be read: '*'reply too long' ]]
	verb 78 inspect g
	[[ $stderr == *': reply too long' ]]
	verb 0 inspect h
	timeout 20 "$REDLOCK" top --json -u "$url" 2>"$T/err" 3>&- | head -n 2 | tail -n 1 >"$T/doc"
	output=$(cat "$T/doc")
	json "len(d['locks']) == 19 and d['nodes'][0]['state'] == 'up'"
}

# ---- Sentinels of two minds ----

@test "a grant of the old master does not count once a search finds the new one" {
	local new n sentinels=

	node_start b
	for n in a b; do
		fake "master-$n" tcp <<-END
			def answer(words):
			    return forward('$T/$n.sock', words)
		END
		[ $n = a ] || new=${at#*:}
	done
	# one that is slow and knows it; one that still names the old master to a
	# search and to the first question after that; one that is mute
	fake first tcp <<-END
		import asyncio
		async def slow():
		    await asyncio.sleep(0.1)
		    return ['127.0.0.1', '$new']
		def answer(words):
		    return (asyncio.ensure_future(slow()) if words[1] == b'get-master-addr-by-name'
		            else Error('NOPERM'))
	END
	sentinels=$at
	fake second tcp <<-END
		asked = 0
		def answer(words):
		    global asked
		    if words[1] != b'get-master-addr-by-name':
		        return Error('NOPERM')
		    asked += 1
		    return ['127.0.0.1', '$(cat "$T/master-a.py.port")' if asked <= 2 else '$new']
	END
	sentinels=$sentinels,$at
	fake third tcp <<<"answer = lambda words: None"
	sentinels=$sentinels,$at
	url=unix://$T/b.sock
	hold open -t 10s
	# what it asked may reach the new master late, and then has the lock for -t
	run --separate-stderr "$REDLOCK" -vv -u "redis-sentinel://$sentinels/g" -t 2s -w 3s \
		-k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	[ "$status" = 75 ] || { echo "$status: $stderr" >&2; false; }
	[[ $stderr == *"granted after"* ]]
	cli a flushall # nobody could release it there
	end_hold
}

# ---- invalid hosts ----

steers() { grep -aq $'[\x01-\x08\x0b-\x1f\x7f]' <<<"$output$stderr"; }

@test "a host from a Sentinel, CLUSTER SLOTS or MOVED cannot control the terminal" {
	local evil='\x1b]0;evil\x07\x1b[31mhost' verb

	node_start b
	fake sentinel tcp <<-END
		def answer(words):
		    return ['$evil', '6379'] if words[0] == b'SENTINEL' else usual(words)
	END
	url="redis-sentinel://$at/g unix://$T/a.sock unix://$T/b.sock"
	run --separate-stderr "$REDLOCK" -u "$url" -n -k job -v -- true
	not steers
	verb 1 inspect job
	not steers
	[[ $output == *"Sentinel $at: the master's address that it reports is not a host and port"* ]]
	fake cluster tcp <<-END
		def answer(words):
		    if words[0] == b'CLUSTER':
		        return [[0, 16383, ['$evil', 6379]]]
		    if words[0] in (b'EVAL', b'EVALSHA', b'BLPOP'):
		        return Error('MOVED 7 $evil:6379')
		    return usual(words)
	END
	url="redis-cluster://$at unix://$T/a.sock unix://$T/b.sock"
	for verb in 'inspect job' list 'list --json' 'history job' 'doctor job'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr "$REDLOCK" $verb -u "$url"
		not steers
		[ "$verb" = 'history job' ] ||
			[[ $output$stderr == *'not a host and port'* || $output$stderr == *'not a range of slots'* ]]
	done
	url=redis-cluster://$at
	verb 69 inspect job
	[[ $stderr == *'MOVED 7 \x1b]0;evil\x07\x1b[31mhost:6379; not a host and port'* ]]
	run -69 --separate-stderr "$REDLOCK" -u "$url" -w 500ms -k job -- true
	not steers
	[[ $stderr == *'not a host and port'* ]]
}

@test "a Cluster that does not know a node's name: says what to set" {
	fake unnamed tcp <<-'END'
		def answer(words):
		    if words[0] in (b'EVAL', b'EVALSHA', b'BLPOP'):
		        return Error('MOVED 7 ?:6379')
		    return usual(words)
	END
	run -69 --separate-stderr "$REDLOCK" -u "redis-cluster://$at" -n -k job -- true
	[[ $stderr == *'MOVED 7 ?:6379; the Cluster does not tell the address of that node (cluster-announce-hostname'* ]]
}

# ---- answers without end ----

@test "a SCAN that never ends is given up, with a line" {
	fake circle <<-'END'
		asked = 0
		def answer(words):
		    global asked
		    if words[0] != b'SCAN':
		        return usual(words)
		    asked += 1
		    return [str(asked % 7 + 1), ['job:redlock:{job}:state']]
	END
	verb 69 list
	[[ $stderr == *"$T/circle.sock: SCAN does not finish" ]]
}

@test "a SCAN with ever new cursors is given up after a while; what it found is shown" {
	preloading clockshim.so
	echo 0 0 >"$T/clock"
	fake endless <<-END
		import os
		asked = 0
		def answer(words):
		    global asked
		    if words[0] == b'SCAN':
		        asked += 1
		        if asked == 9: # a minute later
		            open('$T/clock.new', 'w').write('61000 0\\n')
		            os.rename('$T/clock.new', '$T/clock')
		        return [str(asked), ['job:redlock:{job}:state'] if asked == 1 else []]
		    if words[0] == b'EVALSHA':
		        return view('a')
		    return usual(words)
	END
	export CLOCKSHIM=$T/clock
	LD_PRELOAD=$(shim clockshim.so) verb 69 list --json
	json "not d['complete'] and 'gave up after 1m' in d['error'] and [k['key'] for k in d['locks']] == ['job']"
}

@test "a server that falls silent: each verb ends in time, and claims no answer" {
	local from nth silence want arguments

	redlock lock job -t 1h >"$T/token"
	redlock inspect job >/dev/null # the server knows the script now
	# as the real server until the NTH request that begins so, then silent
	fake silent <<-END
		from_on, left = None, 0
		def answer(words):
		    global from_on, left
		    now = open('$T/from').read() # another one begins anew
		    if now != from_on:
		        from_on, left = now, int(now.split(':')[0])
		    left -= left > 0 and b' '.join(words).startswith(now.split(':')[1].encode())
		    return forward('$T/a.sock', words) if left > 0 else None
	END
	while IFS=: read -r nth silence want arguments; do
		echo "$nth:$silence:$arguments" >"$T/from"
		from=$(now_ms)
		# shellcheck disable=SC2086 # words
		verb "$want" $arguments --node-timeout 500ms
		echo "$arguments, silent from $silence on: $(($(now_ms) - from)) ms"
		below $(($(now_ms) - from)) 1900
		[[ $output$stderr == *'no answer within 500ms (--node-timeout)'* ||
			$output == *'has fallen silent'* ||
			$output$stderr == *': gave up after '* ]]
		[[ $output != *' no problems'* ]]
	done <<-'END'
		1:INFO:69:doctor
		1:SCAN:1:doctor
		1:SCAN:69:list --prometheus
		2:EVALSHA:69:inspect job other
		1:EVALSHA:69:wait job -w 100ms
		2:EVALSHA:69:force-release job --confirm job --now
		2:EVALSHA:69:unlock job -w 500ms --token 11111111-1111-4111-8111-111111111111
	END
	"$REDLOCK" unlock -u "unix://$T/a.sock" job --token "$(cat "$T/token")"
}

@test "a reply of the wrong shape is an error, never an empty answer" {
	local reply n=0 forms runner

	fake odd <<-END
		Nil = b'\$-1\r\n'
		def answer(words):
		    return eval(open('$T/said').read()) if words[0][:4] in (b'SCAN', b'EVAL') else usual(words)
	END
	for reply in "b'+OK\r\n'" Nil 0 "[]" "['0']" "[[], []]" "['0', 'job']" "['0', [[]]]" \
		"['x' * 30, []]" "['', []]"; do
		echo "$reply" >"$T/said"
		# each verb meets each kind of reply, one of them at a time
		case $((n++ % 3)) in
		0)
			verb 69 list
			[[ $stderr == *"$T/odd.sock: SCAN: unexpected reply" && $stderr != *'no locks'* ]]
			;;
		1)
			verb 69 list --json
			json "not d['complete'] and d['nodes'][0]['state'] == 'down'"
			;;
		2)
			verb 69 list --prometheus
			[[ $output == *$'\nredlock_complete 0\n'* && $output == *'} 0' || $output == *'} 0'$'\n'* ]]
			;;
		esac
	done
	forms=('inspect job' 'history job' 'wait -w 0 job' 'unlock job -w 0.2 --token t'
		'force-release job --confirm job')
	for reply in "b'+view\r\n'" "b'+history\r\n'" "b'+yes\r\n'" Nil "['view']" "['history']" \
		"['view', 1, 1000, 0, [], 0, -1, 0]" "['view', 1, 1000, [0], [], 0, -1, 0]" \
		"['view', 1, 1000, [], [], 0, -1]" "['history', 1]" "['history', 1, '', 2]" "['history', 1, '', ['1', 2]]"; do
		echo "$reply" >"$T/said"
		helper "$REDLOCK" -u "$url" -k job -w 0.2 -- touch "$T/ran" 2>"$T/err"
		runner=$!
		for i in 1 2; do
			verb 69 ${forms[n++ % 5]}
			[[ $stderr == *"unexpected reply from redlock's script"* ]]
		done
		ended_as "$runner" 69
	done
	[ ! -e "$T/ran" ]
}

@test "more locks than fit in memory: as many are shown, and a line says so" {
	fake many <<-'END'
		asked = 0
		def answer(words):
		    global asked
		    if words[0] == b'SCAN':
		        asked += 1
		        keys = ['%d-%d-%060000d' % (asked, i, 0) for i in range(8)]
		        return [str(asked % 80), ['%s:redlock:{%s}:state' % (k, k) for k in keys]]
		    if words[0] == b'EVALSHA':
		        return ['view', 1, 1, -1, -1, ['none', '', -2], [], [], [], 1, 0, -1, '', '', '', '']
		    return usual(words)
	END
	run --separate-stderr sh -c "'$REDLOCK' list -u '$url' | wc -l"
	[ "$output" = 560 ] # with the titles
	[[ $stderr == *'there are more than these 559 locks' ]]
}

@test "a view with more than was asked for is read as far as that" {
	fake view <<-'END'
		def answer(words):
		    if words[0] == b'EVALSHA':
		        many = view('a')
		        many[6] = [[i, 't%d' % i, 1, 9, -1, ''] for i in range(6000)]
		        many[7] = [['t%d' % i, i, 1009, 1, 1, 9, '', '9 9999 -\n', ''] for i in range(6000)]
		        many[8] = [['w%d 1 1 -\n' % i, i, i] for i in range(6000)]
		        many[9] = 6000
		        return many
		    return usual(words)
	END
	verb 0 inspect --json job
	json "d['holders'] == 6000 and len(d['others']) == 199 and d['in_line'] == 6000 and len(d['waiters']) == 200"
}

@test "history: a server knows what ended but not who holds the lock: both are shown" {
	fake half <<-'END'
		def answer(words):
		    if words[0] == b'EVAL' and b"'history'" in words[1]:
		        return ['history', '2000', '', ['1000', ['token', 't', 'fence', '7',
		                'held_ms', '10', 'outcome', 'ran']]]
		    if words[0] == b'EVAL':
		        return Error('ERR not today')
		    return usual(words)
	END
	verb 0 history job
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[1]} = *' 7 '*' ran' ]]
	[ "$stderr" = "redlock: job: the present holder is unknown: $T/half.sock: ERR not today" ]
	verb 0 history --json job
	json "d['fence'] == 7 and d['outcome'] == 'ran'"
	[[ $stderr = *': the present holder is unknown: '* ]]
	# which the check does not ask
	verb 0 history --last-success 1h job
	[ -z "$stderr" ]
}

# ---- where the password goes ----

# sends_on KNOWN HOW: a node that sends all who ask for a lock to the one called
# `other`, and says that KNOWN, a list of [HOST, PORT], are the Cluster
sends_on() {
	echo "$1" >"$T/known"
	echo "$2" >"$T/how"
	[ ! -e "$T/node.py" ] || return 0
	fake node tcp <<-END
		def answer(words):
		    if words[:2] == [b'CLUSTER', b'NODES']:
		        return ''.join('%040x %s:%d@1%s master - 0 0 1 connected\n'
		                       % (n, host, port, name) for n, (host, port, name)
		                       in enumerate(eval(open('$T/known').read())))
		    if words[:2] == [b'CLUSTER', b'SLOTS']:
		        return [[0, 16383, ['', port]]]
		    if words[0] in (b'EVAL', b'EVALSHA', b'BLPOP'):
		        return Error(open('$T/how').read().strip() + ' 7 $other')
		    return usual(words)
	END
	url=redis-cluster://joe:hush@$at
}

@test "a Cluster that redirects elsewhere: no password goes there, and a line says so" {
	local how other known

	fake other tcp <<-END
		def answer(words):
		    open('$T/heard', 'ab').write(b' '.join(words)[:60] + b'\n')
		    return Error('ERR no')
	END
	other=$at
	for how in MOVED ASK; do
		sends_on "[]" "$how"
		verb 69 inspect job
		echo "$how: $output$stderr"
		[[ $output$stderr == *"redirects to $other, which is not one of its nodes"* ]]
		run -69 --separate-stderr "$REDLOCK" -u "$url" -w 500ms -k job -- true
		[[ $stderr == *"redirects to $other, which is not one of its nodes"* ]]
		[ ! -e "$T/heard" ]
	done
	# by its address, by its name, in whichever line
	for known in "[('127.0.0.9', 1, ''), ('127.0.0.1', ${other#*:}, '')]" \
		"[('127.0.0.9', ${other#*:}, ',127.0.0.1')]"; do
		for how in MOVED ASK; do
			sends_on "$known" "$how"
			run -69 --separate-stderr "$REDLOCK" -u "$url" \
				-w 500ms -k job -- true
			grep -q '^AUTH joe hush' "$T/heard"
			rm "$T/heard"
		done
	done
	# a user without the right sees which one is missing
	fake node tcp <<-END
		def answer(words):
		    if words[0] == b'CLUSTER':
		        return Error("NOPERM User joe has no permissions to run the 'cluster|nodes' command")
		    if words[0] in (b'EVAL', b'EVALSHA', b'BLPOP'):
		        return Error('MOVED 7 $other')
		    return usual(words)
	END
	url=redis-cluster://joe:hush@$at
	run -77 --separate-stderr "$REDLOCK" -u "$url" -w 500ms -k job -- true
	[[ $stderr == *"cannot find out whether $other is a node of the Cluster: "*"'cluster|nodes'"* ]]
	[ ! -e "$T/heard" ]
}

@test "a Cluster that redirects in a circle is unavailable, to a lease and to a verb" {
	local how

	for how in MOVED ASK; do
		rm -f "$T/asked"
		fake circle tcp <<-END
			def answer(words):
			    if words[0] in (b'EVAL', b'EVALSHA'):
			        open('$T/asked', 'a').write('asked\n')
			        port = open('$T/circle.py.port').read().strip()
			        return Error('$how 7 :' + port)
			    return usual(words)
		END
		url=redis-cluster://$at
		verb 69 inspect job
		[[ $stderr == *"$how 7 "* ]]
		# once, and as often as it is asked again
		[ "$(wc -l <"$T/asked")" = 9 ]
		verb 69 unlock job -w 500ms --token 0123456789abcdef01234567
		run -69 --separate-stderr "$REDLOCK" -u "$url" -n -k job -- true
		[[ $stderr == *"$how 7 "* ]]
	done
}

# ---- anything at all ----

@test "garbled replies: no verb crashes, hangs, grows or controls the terminal" {
	/usr/bin/python3 "$top/tests/hostile/hostile.py" --runs 100 --jobs 4 \
		${SANITIZED:+--memory 256} "$REDLOCK" >"$T/said" || {
		cat "$T/said"
		false
	}
	grep -q '^100 runs, 0 wrong' "$T/said"
}

# ---- proxies ----

# A proxy before node a that closes the connection at a command it does not know,
# as twemproxy does; those that it knows are the words given.
proxy_of_few() {
	fake proxy tcp <<-END
		KNOWN = '$*'.encode().split()
		def answer(words):
		    if words[0].upper() == b'PING':
		        return b'+PONG\r\n'
		    if words[0].upper() not in KNOWN or \
		            words[0][:4].upper() == b'EVAL' and words[2] == b'0':
		        return END
		    return forward('$T/a.sock', words)
	END
	url=redis://$at
}
COMMANDS='EVAL EVALSHA GET DEL PTTL TYPE HGET ZRANGE ZCARD'

@test "unlock behind a proxy that hangs up at INFO: not ours is not released" {
	local token

	token=$("$REDLOCK" -u "$url" lock -t 1m job)
	proxy_of_few $COMMANDS
	verb 0 unlock --token "$token" job
	lock_is_free
	verb 75 unlock --token "$token" job
	[[ $stderr = *"not released: nobody holds it" ]]
}

@test "unlock while the server has no room for clients: not ours is not released" {
	local token

	token=$("$REDLOCK" -u "$url" lock -t 1m job)
	"$REDLOCK" -u "$url" unlock --token "$token" job
	mkfifo "$T/commands"
	exec 9<>"$T/commands"
	redis-cli -s "$T/a.sock" <"$T/commands" >"$T/said" 3>&- &
	helpers="$helpers $!"
	echo 'config set maxclients 1' >&9
	wait_until contains "$T/said" OK
	helper "$REDLOCK" unlock -u "$url" -w 20s --token "$token" job 2>"$T/err"
	wait_until contains "$T/err" "the server takes no more connections"
	echo 'config set maxclients 10000' >&9
	exec 9>&-
	ended_as "$!" 75
	contains "$T/err" "not released: nobody holds it"
}

# A proxy, or a name, leads to the new master a little later.
@test "a replica that is behind answers first, then its master" {
	local token

	node_start r --replicaof 127.0.0.1 1
	token=$("$REDLOCK" -u "$url" lock -t 1m job)
	fake moves <<-END
		at = ['$T/r.sock'] + 9 * ['$T/a.sock']
		def opened():
		    global now
		    now = at.pop(0)
		def answer(words):
		    return forward(now, words)
	END
	verb 0 extend --token "$token" job
	[ -z "$stderr" ] # of a wait
	kill_helpers || true
	fake again <"$T/moves.py"
	verb 0 unlock --token "$token" job
	lock_is_free
}

@test "a proxy that hangs up at unknown commands: locks and waiting work" {
	cli a script flush >/dev/null
	proxy_of_few $COMMANDS
	redlock -n -k job -- true
	redlock -n -k other -s -- true
	redlock -n -k other -N 2 -- true
	helper "$REDLOCK" -u "$url" -k job -- linger until "$T/go"
	holder=$!
	wait_until held job
	helper "$REDLOCK" -u "$url" -k job -- true
	waiter=$!
	wait_until in_line 1
	touch "$T/go"
	ended_as $holder 0
	ended_as $waiter 0
}

@test "a proxy that hangs up at unknown commands: doctor works, list says at which" {
	proxy_of_few $COMMANDS
	verb 0 doctor job
	[[ $output = *"BLPOP"*"closes the connection at BLPOP"* ]]
	[[ $output = *"INFO is refused"* && $output = *"SCAN is refused"* ]]
	[[ $output = *"job: free"* ]]
	verb 69 list
	[[ $stderr = *"does not know SCAN" ]]
	verb 1 inspect job
	verb 0 history job
	# PING, GET and no script; then nothing at all
	proxy_of_few GET
	verb 1 doctor job
	[[ $output = *'does not know EVAL'* ]]
	proxy_of_few
	verb 69 inspect job
	[[ $stderr = *'a proxy does that when its server is down, or does not know EVAL' ]]
}

# ---- errors ----

# run and the verbs meet the error that $said is; doctor has cures of its own for
# rights. All tell what it means, and the server's first words; neither where in
# our script it was, nor our arguments.
told() { # STATUS MEANS CURE
	local verb

	printf '%s' "$said" >"$T/errs.said"
	for verb in run wait list inspect doctor; do
		case $verb in
		run) run "$REDLOCK" -u "$url" -n -k job -- touch "$T/ran" ;;
		wait) run "$REDLOCK" wait -u "$url" -w 0 job ;;
		inspect) run "$REDLOCK" inspect -u "$url" job ;;
		*) run "$REDLOCK" $verb -u "$url" ;;
		esac
		echo "$verb: $status: $output"
		[ "$status" = "$1" ] || [ "$verb" = doctor ]
		[ "$status" != 0 ]
		[[ $output == *"$2"* ]]
		[[ $output == *"$3"* ]] || [ "$verb$1" = doctor77 ]
		[[ $output == *"$words"* ]]
		[[ $output != *user_script* && $output != *'local '* ]]
		[[ $output != *'f_0123'* ]]
	done
	[ ! -e "$T/ran" ]
}

@test "every verb explains a server's error and says what to do" {
	local said status means cure words
	local sha=0123456789012345678901234567890123456789

	fake errs <<-END
		def answer(words):
		    if words[0] in (b'PING', b'AUTH', b'SELECT', b'ECHO'):
		        return usual(words)
		    if words[0] == b'EVALSHA':
		        return usual(words)
		    return Error(open('$T/errs.said').read())
	END
	while IFS='|' read -r status words rest means cure; do
		said=$words$rest
		told "$status" "$means" "$cure"
		# as in a script, up to 6.2 and from 7.0 on
		[ "$status" = 69 ] || continue
		said="ERR Error running script (call to f_$sha): @user_script:475: @user_script: 475: -$words$rest"
		told "$status" "$means" "$cure"
		said="$words. script: $sha, on @user_script:842."
		told "$status" "$means" "$cure"
	done <<-'END'
		69|OOM command not allowed when used memory > 'maxmemory'|.|grants no new lock|noeviction
		69|MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'|.|whose master is down|redis-sentinel://
		69|NOREPLICAS Not enough good replicas to write|.|until it has enough replicas|min-replicas-to-write
		69|CLUSTERDOWN Hash slot not served||belongs to a Cluster|redis-cluster://
		69|BUSY Redis is busy running a script|. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.|keeps the server from answering|SCRIPT KILL
		69|LOADING Redis is loading the dataset in memory||still loads its data|passes
		69|MISCONF Errors writing to the AOF file: No space left on device||cannot write to its disk|free space
		69|ERR max number of clients reached||no more connections|maxclients
		78|ERR unknown command `EVAL`|, with args beginning with: `local x = 1`, |so redlock cannot|Garnet
		78|MOVED 866 127.0.0.1:7001||belongs to a Cluster|redis-cluster://
		78|ERR script tried accessing undeclared key|, x|only use the keys that they declare|undeclared keys
		77|NOAUTH Authentication required|.|requires a password|--password-file
		77|ERR Protocol error: unauthenticated multibulk length||requires a password|--password-file
		77|WRONGPASS invalid username-password pair or user is disabled|.|wrong user name or password|
		77|NOPERM this user has no permissions to run the 'x' command||lacks a right|redlock doctor
		77|ERR ACL failure in script: User joe has no permissions to run the 'x' command| script: 0123, on @user_script:9.|lacks a right|redlock doctor
	END
}

# A server whose scripts may use only the keys that are in KEYS. As Dragonfly it makes
# an exception of those whose first line begins with "--!df flags=ALLOWED".
strict_server() { # ALLOWED
	cat >"$T/strict.py" <<-'END'
		import asyncio
		import re
		BEFORE = b'''local redis = (function()
		local real, known = redis, {}
		for _, key in ipairs(KEYS) do known[key] = true end
		local all, none = {mget = 1, del = 1, exists = 1}, {time = 1, select = 1}
		local function refused(name, ...)
		for i, key in ipairs(none[name] and {} or all[name] and {...} or {(...)}) do
		if not known[key] then
		return {err = 'ERR script tried accessing undeclared key ' .. key} end end end
		return {
		call = function(...)
		local no = refused(...) if no then error(no.err) end
		return real.call(...) end,
		pcall = function(...) return refused(...) or real.pcall(...) end}
		end)()
		'''

		def answer(words):
		    name = words[0].upper()
		    if name == b'EVALSHA' or name == b'PING':
		        return usual(words)
		    if name == b'BLPOP':
		        return asyncio.get_running_loop().run_in_executor(
		            None, forward, PATH, words)
		    if name == b'EVAL' and not re.match(br'^\s*?--!df flags=ALLOWED\s', words[1]):
		        words[1] = BEFORE + words[1]
		    said = forward(PATH, words)
		    with open(SAID, 'ab') as f:
		        f.write(said)
		    return said
	END
	sed -i "s|PATH|'$T/a.sock'|g; s|SAID|'$T/said'|; s|ALLOWED|$1|" "$T/strict.py"
	helper /usr/bin/python3 "$top/tests/lib/fake.py" "$T/strict.sock" "$T/strict.py"
	wait_until exists "$T/strict.sock"
}

@test "a server that refuses undeclared keys: acquire, renew, wait and release work" {
	strict_server none
	url="unix://$T/strict.sock"
	redlock -q -k job -- true
	redlock -q -k job -t 1s -- witness "$T" --hold 1500
	# (nobody is woken: the waiter looks when the lease could have ended)
	start -q -k job -t 2s -- witness "$T" --hold 300 --started "$T/started"
	wait_until exists "$T/started"
	redlock -q -k job -- witness "$T"
	wait "$tool"
	[ "$(holds)" = 3 ]
	not grep -q undeclared "$T/said"
	# a manual lock works, too
	token=$("$REDLOCK" lock -u "$url" -t 30s job)
	"$REDLOCK" extend -u "$url" -t 40s --token "$token" job
	"$REDLOCK" unlock -u "$url" --token "$token" job
	# readers and slots have no other keys
	redlock -q -k job -s -- true
	redlock -q -k job -N 3 -- true
}

@test "undeclared keys: doctor names the cause; what Dragonfly reads in a script ends it" {
	strict_server none
	url="unix://$T/strict.sock"
	run "$REDLOCK" doctor -u "$url"
	[[ $output = *"waiters are not woken"*"only use the keys that they declare"*\
--default_lua_flags=allow-undeclared-keys* ]]
	kill_helpers || true
	rm "$T/strict.sock"
	strict_server allow-undeclared-keys
	run "$REDLOCK" doctor -u "$url"
	[[ $output = *"handed over and released"* ]]
}
