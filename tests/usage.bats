#!/usr/bin/env bats
# What may be typed, what is said about it, and what the command gets: every bad
# input is one line and the right status and leaves nothing behind; every exit
# status is produced once; the command runs as it would without redlock.

load lib/common
load lib/refusal

# What the grammar refuses stands in full in unit/t-opts.c, t-endpoint.c and
# t-units.c; here are the status, the line and the server that nobody asked.

# Somebody holds job until the test ends.
hold() { # [redlock option...]
	helper "$REDLOCK" -u "$url" -k job "$@" -- sleep 60
	wait_until held job
}

# One JSON line, as in the manual: result OUTCOME STATUS [no]
result() {
	result_line "$@" &&
		as_in_manual "$(<"$T/result")" >/dev/null
}
result_line() {
	local fence='"fence":[0-9]{10,16},'
	local token='"token":"[0-9a-f-]{36}",'
	[ "${3-yes}" = yes ] || fence=
	[ "$1" != ran-unlocked ] || token=
	[ "$(wc -l <"$T/result")" = 1 ] && grep -Eqx "\{\"schema\":\
\"redlock\.result/1\",\"outcome\":\"$1\",\"exit\":$2,\"key\":\"job\",$fence\
$token\"scope\":\"shared\",\"waited_ms\":[0-9]+,\
\"held_ms\":[0-9]+\}" "$T/result" && return
	echo "wanted $1 $2, got:" >&2
	cat "$T/result" >&2
	return 1
}

# ---- options ----

@test "what may not be typed: one line that names it, status 64, no question" {
	marker
	refused 64 "unknown option '--frobnicate'; see redlock --help" \
		-u "$url" -k job --frobnicate -- "${cmd[@]}"
	refused 64 "did you mean '--no-wait'?" -u "$url" -k job --nowait -- \
		"${cmd[@]}"
	refused 64 "'-w' needs a value" -u "$url" -k job -w
	refused 64 'no key' -u "$url" -- "${cmd[@]}"
	refused 64 'no command' -u "$url" -k job --
	refused 64 "'backup'" backup -k job -- "${cmd[@]}"
	refused 64 'key is empty' -u "$url" -k '' -- "${cmd[@]}"
	refused 64 'the same server' -u "$url" -u "$url" -k job -- "${cmd[@]}"
	refused 64 '-s and -N' -u "$url" -k job -s -N 2 -- "${cmd[@]}"
	refused 64 'not a duration' -u "$url" -k job -t '30 s' -- "${cmd[@]}"
	refused 64 200ms -u "$url" -k job -t 199ms -- "${cmd[@]}"
	refused 64 --allow-long-ttl -u "$url" -k job -t 86400001ms -- "${cmd[@]}"
	refused 64 -K -u "$url" -k job -t 10s -K 5001ms -- "${cmd[@]}"
	refused 64 "-E '256'" -u "$url" -k job -E 256 -- "${cmd[@]}"
	refused 64 'of fail|run' -u "$url" -k job --on-unavailable maybe -- \
		"${cmd[@]}"
	untouched
}

@test "a number without a unit means seconds; units add up" {
	for v in 1.5 1500ms 1s500ms 1.5s; do
		run -0 --separate-stderr redlock -k job -t "$v" -- \
			redis-cli -s "$T/a.sock" pttl job
		[ "$output" -le 1500 ]
		[ "$output" -gt 1200 ]
	done
	for v in 1h30m 0.0625d 90m 5400; do
		run -0 redlock -k job -t "$v" -- redis-cli -s "$T/a.sock" \
			pttl job
		[ "$output" -le 5400000 ]
		[ "$output" -gt 5399000 ]
	done
	run -0 redlock -k job -t 25h --allow-long-ttl -- \
		redis-cli -s "$T/a.sock" pttl job
	[ "$output" -gt 86400000 ]
}

@test "a bad value is shown in one line without control bytes" {
	local bad=$'x\ny\e[31m\r'
	marker
	for o in --ttl --wait --kill-after --node-timeout \
		--conflict-exit-code --on-unavailable "--x$bad"; do
		refused 64 "" -u "$url" -k job "$o=$bad" -- "${cmd[@]}"
	done
	untouched
	refuses 64 "" "$bad"
	refuses 64 "" -u "$url" -k job -c true "$bad"
	refuses 64 "" -u "$bad" -k job -- "${cmd[@]}"
	refuses 78 "" -u "$url" -k job --password-file "$T/$bad" -- "${cmd[@]}"
	refuses 78 "" -u "$url" -k job --result-file "$T/no/$bad" -- "${cmd[@]}"
}

# ---- keys ----

@test "a key of 64 KiB works, a longer one is refused" {
	local k
	k=$(printf '%65536s' | tr ' ' k)
	marker
	# the kernel itself refuses an argument of 128 KiB and more
	refuses 64 '65537 bytes' -u "$url" -k "${k}k" -- "${cmd[@]}"
	refuses 64 '131000 bytes' -u "$url" -k "$k${k:0:65464}" -- "${cmd[@]}"
	run -0 redlock -k "$k" -- redis-cli -s "$T/a.sock" dbsize
	[ "$output" = 2 ]
	run -0 redlock -k "$k" -- sh -c 'printf %s "$REDLOCK_KEY" | wc -c'
	[ "$output" -eq 65536 ]
}

@test "a key may have any bytes, is used as it is and shown escaped" {
	for k in $'a\nb' $'a\r\nb' ' ' $'\t' $'\e[31mred\e[0m' 'schlüssel' \
		$'\xff\xfe' $'\xc3' '*?[a]' "it's" 'say "x"' '\' '$(id)' '%s%n' \
		$'\xe2\x80\xae' -- -k '{"a":1}'; do
		redlock "--key=$k" -- sh -c '
			printf %s "$REDLOCK_KEY" >"$0/key"
			redis-cli -s "$0/a.sock" exists "$1"' "$T" "$k" \
			>"$T/out" 2>"$T/err"
		[ "$(cat "$T/out")" = 1 ]
		[ ! -s "$T/err" ]
		printf %s "$k" | cmp - "$T/key"
		cli a set "$k" other px 10000 >/dev/null
		run -75 --separate-stderr redlock -n "--key=$k" -- touch "$T/ran"
		printf '%s\n' "$stderr" >"$T/err"
		one_line 'not acquired'
		[ ! -e "$T/ran" ]
		cli a flushall >/dev/null
	done
}

@test "keys with braces are accepted, and are different locks" {
	local keys=('{}' 'a}b' '{a}{b}' '{' '}' '{a' '}{a}' '{}a' '{{a}}')
	for k in "${keys[@]}"; do
		helper "$REDLOCK" -u "$url" -k "$k" -- sleep 60
		wait_until held "$k"
	done
	for k in "${keys[@]}"; do
		run -75 redlock -n -k "$k" -- true
	done
	[ "$(cli a --raw keys '*redlock:*state' | wc -l)" = "${#keys[@]}" ]
}

@test "-n, and -w 0, is one try that leaves nothing behind" {
	hold
	cli a config resetstat >/dev/null
	run -75 redlock -q -n -k job -- touch "$T/ran"
	run -75 redlock -q -w 0 -k job -- touch "$T/ran"
	[ ! -e "$T/ran" ]
	[ "$(scripts_run a)" = 2 ]
	[ "$(cli a dbsize)" = 2 ]
}

# ---- the server ----

@test "a mistyped URL: 64 from -u, 78 from REDLOCK_URL, with a correct form" {
	local u says

	marker
	while read -r u says; do
		refused 64 "': $says" -n -u "$u" -k job -- "${cmd[@]}"
		REDLOCK_URL=$u refused 78 "REDLOCK_URL" -n -k job -- "${cmd[@]}"
	done <<-'END'
		h:6379 not a URL: write redis://h:6379
		redsi://h unsupported URL; did you mean redis://?
		rediss://h?cacrt=/c unknown option 'cacrt'; did you mean 'cacert'?
		redis://h:x the port
		redis-sentinel://h missing master name: add /NAME after the Sentinels
	END
	refused 64 "': empty URL" -n -u '' -k job -- "${cmd[@]}"
	untouched
}

@test "well-formed URLs of every kind reach the server" {
	local port=$((20000 + RANDOM % 10000))
	node_start tcp --port "$port" --bind 127.0.0.1 ::1
	cli tcp config set requirepass 'p@ss/w?d%' >/dev/null
	local pw=p%40ss%2Fw%3Fd%25
	(umask 077 && echo 'p@ss/w?d%' >"$T/pw")
	local u one_form
	while read -r u one_form; do
		REDLOCK_URL=$u run -0 --separate-stderr "$REDLOCK" -n -k job -- \
			sh -c 'echo "$REDLOCK_URL"'
		[ "$output" = "$one_form" ]
		[ -z "$stderr" ]
	done <<-END
		redis://:$pw@127.0.0.1:$port redis://:$pw@127.0.0.1:$port
		redis://$pw@LOCALHOST:$port/ redis://:$pw@localhost:$port
		valkey://default:$pw@127.0.0.1:$port/0 redis://default:$pw@127.0.0.1:$port
		redis://127.0.0.1:$port?password-file=$T/p%77 redis://127.0.0.1:$port?password-file=$T/pw
		unix://$T/a.sock $url
		unix://$T/%61.sock?db=0 $url
		unix://$T/a.sock?db=3 $url?db=3
	END
	REDISCLI_AUTH='p@ss/w?d%' run -0 "$REDLOCK" -u "redis://127.0.0.1:$port/7" \
		-n -k job -- redis-cli -p "$port" -n 7 exists job
	[ "${lines[-1]}" = 1 ]
	REDISCLI_AUTH='p@ss/w?d%' cli tcp config set requirepass '' >/dev/null
}

@test "the default server is named in a message, and -u comes first" {
	# an empty variable is as none; whether a server is at 6379 is not ours
	run env REDLOCK_URL= "$REDLOCK" -n -k "usage.bats $T" -- true
	[[ ${lines[0]} = *"no -u and no REDLOCK_URL"*"redis://127.0.0.1:6379"* ]]
	REDLOCK_URL=redis://127.0.0.1:1 run -0 redlock -n -k job -- \
		sh -c 'echo "$REDLOCK_URL"'
	[ "$output" = "$url" ]
}

@test "REDIS_URL comes last, before the default server, and one line says so" {
	local says="redlock: no -u and no REDLOCK_URL: using REDIS_URL: $T/a.sock"

	export REDIS_URL=$url?db=3
	run -0 --separate-stderr "$REDLOCK" -n -k job -- sh -c 'echo "$REDLOCK_URL"'
	[ "$output" = "$url?db=3" ]
	[ "$stderr" = "$says" ]
	run -0 --separate-stderr "$REDLOCK" -q -n -k job -- true
	[ -z "$stderr" ]
	run -1 --separate-stderr "$REDLOCK" inspect job
	[ "$stderr" = "$says" ]
	run -0 --separate-stderr "$REDLOCK" doctor --config
	[[ $output = *"url = $url?db=3  (REDIS_URL)"* ]]
	# a password in it is shown nowhere
	REDIS_URL=redis://:hush@127.0.0.1:1 run -69 "$REDLOCK" -n -k job -- true
	[[ $output = *"using REDIS_URL: 127.0.0.1:1"* && $output != *hush* ]]
	# all others come first, whatever is wrong with it
	export REDIS_URL=redis://h:x
	marker
	says 78 "REDIS_URL: 'redis://h:***" "$REDLOCK" -n -k job -- "${cmd[@]}"
	REDLOCK_URL=$url "$REDLOCK" -n -k job -- true
	redlock -n -k job -- true
	file <<<"url = $url"
	run -0 --separate-stderr "$REDLOCK" -n -k job -- true
	[ -z "$stderr" ]
}

@test "nobody answers at the default server: all verbs name the ways to give one" {
	local verb

	unshare --user --net true 2>/dev/null || skip "no network namespaces here"
	for verb in '-n -k job -- true' 'lock -n job' 'inspect job' 'list' \
		'history job' 'wait -w 0 job' 'doctor' 'unlock job --token 1' \
		'extend job --token 1' 'force-release job --confirm job'; do
		# (some of them ask again for a while)
		unshare --user --net "$REDLOCK" $verb >"$T/${verb%% *}" 2>&1 3>&- &
	done
	wait
	for verb in -n lock inspect list history wait doctor unlock extend force-release; do
		output=$(<"$T/$verb")
		[[ $output = *" -u"*"REDLOCK_URL"*"configuration file"* ]] || {
			echo "$verb: $output" >&2
			return 1
		}
		[[ $verb = doctor || $output = *"local:"* ]]
	done
}

@test "a URL without -u is refused, not run as a command, with its password hidden" {
	marker
	refuses 64 "is -u missing" -k job redis://joe:hush@h "${cmd[@]}"
	run ! contains "$T/err" hush
	refuses 64 "unknown option '--url'" -k job --url:redis://:hush@h -- \
		"${cmd[@]}"
	run ! contains "$T/err" hush
}

@test "a run that ends before any question also writes its result file" {
	local was='{"outcome":"ran"}'

	echo "$was" >"$T/result"
	run -78 redlock -k job --password-file "$T/none" \
		--result-file "$T/result" -- true
	grep -x '{"schema":"redlock.result/1","outcome":"failed","exit":78,.*}' \
		"$T/result"
}

# ---- every exit status, once by name; see src/cli/command.h ----

@test "each status of command.h has a test of its name here" {
	local n
	for n in $(sed -n 's/^\tSTATUS_[A-Z_]* = \([0-9]*\).*/\1/p' \
		"$top/src/cli/command.h"); do
		grep -q "^@test \"status $n " "$BATS_TEST_FILENAME"
	done
	[ -n "$n" ]
}

@test "status 0 when the command succeeded" {
	run -0 --separate-stderr redlock --result-file "$T/result" -k job -- true
	[ -z "$output$stderr" ]
	result ran 0
}

@test "status 1 (redlock inspect): nobody holds the lock" {
	run -1 "$REDLOCK" inspect -u "$url" nobody
}

@test "status 2 (inspect --max-age): it is held for longer" {
	hold
	run -2 "$REDLOCK" inspect -u "$url" --max-age 1ms job
	run -0 "$REDLOCK" inspect -u "$url" --max-age 1h job
}

@test "status 3 (inspect --max-age): unknown, as no server answers" {
	run -3 "$REDLOCK" inspect -u "unix://$T/none" --max-age 1h job
}

@test "status 64 when the command line is wrong" {
	refuses 64 --frob -u "$url" -k job --frob -- touch "$T/ran"
}

@test "status 69 when no server answers, with the ways to name one" {
	marker
	refuses 69 "$T/none.sock" -n -u "unix://$T/none.sock" -k job \
		--result-file "$T/result" -- "${cmd[@]}"
	result unavailable 69 no
	refuses 69 127.0.0.1:1 -w 100ms -u redis://127.0.0.1:1 -k job -- \
		"${cmd[@]}"
	refuses 69 name.invalid -n -u redis://name.invalid -k job -- \
		"${cmd[@]}"
}

@test "status 69 when the server is silent names it and its time-out" {
	local got=0
	node_freeze a
	redlock -n --node-timeout 100ms -k job -- touch "$T/ran" \
		2>"$T/err" || got=$?
	node_thaw a # before anything can fail: the kit asks it at the end
	[ "$got" = 69 ]
	one_line "$T/a.sock"
	[ ! -e "$T/ran" ]
	wait_until free job
}

@test "status 70 when the machine refuses what the lease needs" {
	marker
	(ulimit -i 0 && redlock -k job -- "${cmd[@]}") 2>"$T/err" || status=$?
	[ "$status" = 70 ]
	one_line deadman
	[ ! -e "$T/ran" ]
	free job
	status=0
	"$REDLOCK" --version >/dev/full 2>"$T/err" || status=$?
	[ "$status" = 70 ]
	one_line 'standard output'
	status=0
	"$REDLOCK" --help >/dev/full 2>"$T/err" || status=$?
	[ "$status" = 70 ]
	one_line 'standard output'
}

@test "status 75 when the lock is held, at once and after waiting" {
	hold
	run -75 --separate-stderr redlock -n -k job --result-file "$T/result" \
		-- touch "$T/ran"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"job: not acquired"*"held by "*"@$(hostname) since "*", sleep; see: redlock inspect job" ]]
	result busy 75 no
	run -75 --separate-stderr redlock -w 50ms -k job \
		--result-file "$T/result" -- touch "$T/ran"
	[[ $stderr = *"job: not acquired within "* ]]
	result timeout 75 no
	[ -z "$output" ]
	[ ! -e "$T/ran" ]
}

@test "status 75 becomes what -E says, 0 included" {
	hold
	for n in 0 1 42 255; do
		run -"$n" redlock -q -n -E "$n" -k job \
			--result-file "$T/result" -- touch "$T/ran"
		result busy "$n" no
	done
	[ ! -e "$T/ran" ]
}

@test "status 77 when the server refuses the password" {
	marker
	cli a config set requirepass right >/dev/null
	REDISCLI_AUTH=wrong run -77 --separate-stderr redlock -k job \
		--result-file "$T/result" -- "${cmd[@]}"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"$T/a.sock: "*'(WRONGPASS '* ]]
	result unavailable 77 no
	[ ! -e "$T/ran" ]
	REDISCLI_AUTH=right cli a config set requirepass '' >/dev/null
}

@test "status 78 when a file or variable is wrong" {
	marker
	REDLOCK_URL=nonsense refuses 78 REDLOCK_URL -k job -- "${cmd[@]}"
	refuses 78 "$T/no/file" -u "$url" -k job --result-file "$T/no/file" \
		-- "${cmd[@]}"
	refuses 78 "$T" -u "$url" -k job --result-file "$T" -- "${cmd[@]}"
}

@test "a database that does not exist: no other database is touched" {
	marker
	refuses 78 'DB index' -n -u "$url?db=999" -k job -- "${cmd[@]}"
}

@test "status 124 when --max-hold ends the command" {
	run redlock -k job --max-hold 50ms --result-file "$T/result" -- sleep 60
	[ "$status" = 124 ]
	[[ $output = *'(--max-hold)'* ]]
	result max-hold 124
}

@test "status 125 when the lease is lost while the command runs" {
	helper "$REDLOCK" -u "$url" -k job -t 4s --result-file "$T/result" \
		-- sh -c 'trap "" TERM; sleep 60; true' 2>"$T/err"
	local pid=$!
	wait_until held job
	cli a set job stolen px 5000 >/dev/null
	wait "$pid" || status=$?
	[ "$status" = 125 ]
	one_line 'job: lease lost'
	result lost 125
	cli a del job >/dev/null
}

@test "status 126 when the command cannot be executed, 127 not found" {
	vforks
	: # the two tests below have the details; this one compares with env(1)
	printf '#!/no/such/interpreter\n' >"$T/bad"
	printf 'text\n' >"$T/plain"
	chmod 755 "$T/bad"
	for c in "$T/bad" "$T/plain" "$T" "$T/none" "$T/plain/x" none.such; do
		local want=0 got=0
		env -- "$c" 2>/dev/null || want=$?
		redlock -k job -- "$c" 2>/dev/null || got=$?
		[ "$got" = "$want" ] || { echo "$c: $got, env: $want" >&2; false; }
	done
}

@test "status 127 C11 a command that does not exist is named, lock free" {
	vforks
	run -127 --separate-stderr redlock -k job --result-file "$T/result" -- \
		"$T/none" arg
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"'$T/none'"*"No such file"* ]]
	result failed 127
	free job
	run -127 --separate-stderr redlock -k job -- none.such.command
	[[ $stderr = *"'none.such.command'"* ]]
	run -127 --separate-stderr redlock -k job -- $'no\nsuch\e[31m'
	[ "${#stderr_lines[@]}" = 1 ]
	free job
}

@test "a command that may not be executed is 126, lock free" {
	vforks
	: >"$T/plain"
	for c in "$T/plain" "$T"; do
		run -126 --separate-stderr redlock -k job \
			--result-file "$T/result" -- "$c"
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr = *"'$c'"*"Permission denied"* ]]
		[ -z "$output" ]
		result failed 126
		free job
	done
}

@test "a script without an interpreter line runs as env(1) runs it" {
	echo 'echo "ran $1"' >"$T/script"
	chmod 755 "$T/script"
	run -0 redlock -k job -- "$T/script" it
	[ "$output" = "ran it" ]
	# found in PATH, with any name and any arguments, each of them one word
	mkdir "$T/bin"
	echo 'printf "<%s>" "$@"' >"$T/bin/-e \$x"
	chmod 755 "$T/bin/-e \$x"
	PATH=$T/bin:$PATH run -0 redlock -k job -- '-e $x' -c '' 'a  b' $'c\nd' '*'
	[ "$output" = $'<-c><><a  b><c\nd><*>' ]
	: >"$T/script"
	run -0 redlock -k job -- "$T/script"
}

@test "the command's own status, 0 to 255, passes through" {
	local n got
	for n in {0..255}; do
		got=0
		redlock -k job -- sh -c "exit $n" || got=$?
		[ "$got" = "$n" ]
	done
	run -3 redlock -k job --result-file "$T/result" -- sh -c 'exit 3'
	result failed 3
}

@test "a command ended by signal n gives 128+n" {
	local n got
	ulimit -c 0
	for n in {1..16} {24..27} 29 30 31 34 64; do
		got=0
		redlock -k job --result-file "$T/result" -- \
			sh -c "kill -$n \$\$" 2>"$T/err" || got=$?
		[ "$got" = $((128 + n)) ]
		[ ! -s "$T/err" ]
		result_line failed $((128 + n))
	done
	result failed $((128 + n))
}

@test "a signal while waiting is reported and ends redlock by that signal" {
	hold
	for sig in TERM HUP; do
		rm -f "$T/err" # what the one before has said
		"$REDLOCK" -u "$url" -k job --result-file "$T/result" -- \
			touch "$T/ran" 2>"$T/err" &
		local pid=$! got=0
		wait_until contains "$T/err" waiting
		kill -$sig $pid
		wait $pid || got=$?
		[ "$got" = $((128 + $(kill -l $sig))) ]
		grep -q 'job: gave up waiting' "$T/err"
		result timeout "$got" no
	done
	[ ! -e "$T/ran" ]
}

# ---- --on-unavailable, --result-file ----

@test "--on-unavailable run runs without a lock, and says so" {
	local dead=unix://$T/none.sock
	REDLOCK_FENCE=7 run -5 --separate-stderr "$REDLOCK" -n -u "$dead" \
		--on-unavailable run -k job --result-file "$T/result" -- \
		sh -c 'echo "fence ${REDLOCK_FENCE-unset}"; exit 5'
	[ "$output" = 'fence unset' ]
	result ran-unlocked 5 no
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *job*"$T/none.sock"*"running WITHOUT the lock" ]]
}

@test "--on-unavailable run does not run past a holder or a refusal" {
	hold
	run -75 redlock -n --on-unavailable run -k job -- touch "$T/ran"
	cli a config set requirepass right >/dev/null
	REDISCLI_AUTH=wrong run -77 redlock -n --on-unavailable run -k other \
		-- touch "$T/ran"
	REDISCLI_AUTH=right cli a config set requirepass '' >/dev/null
	[ ! -e "$T/ran" ]
}

@test "the result file is replaced whole, and left alone until the end" {
	printf '%5000s\n' old >"$T/result"
	redlock -k job --result-file "$T/result" -- \
		sh -c 'wc -c <"$0" >"$0.then"' "$T/result"
	[ "$(cat "$T/result.then")" -eq 5001 ]
	result ran 0
}

@test "the result file keeps odd keys exactly" {
	local k=$'q"\\\n\t\x7f ü\xff'
	redlock -k "$k" --result-file "$T/result" -- true
	[ "$(wc -l <"$T/result")" = 1 ]
	grep -qF '"key":"q\"\\\u000a\u0009\u007f ü\ufffd",' "$T/result"
	sed 's/.*"key_b64":"\([^"]*\)".*/\1/' "$T/result" | base64 -d >"$T/key"
	printf %s "$k" | cmp - "$T/key"
	cli a flushall >/dev/null
}

@test "waited_ms and held_ms are correct" {
	helper "$REDLOCK" -u "$url" -k job -- sleep 0.3
	wait_until held job
	redlock -q -k job --result-file "$T/result" -- sleep 0.2
	local line waited held_ms
	line=$(cat "$T/result")
	waited=${line##*waited_ms\":} held_ms=${line##*held_ms\":}
	waited=${waited%%,*} held_ms=${held_ms%\}}
	at_least "$waited" 100
	below "$waited" 2000
	at_least "$held_ms" 200
	below "$held_ms" 2000
}

# ---- what the command gets ----

@test "the environment is the caller's, with our words in place" {
	export REDLOCK_KEY=old REDLOCK_TOKEN=old REDLOCK_FENCE=1
	export ODD=$'a\nb=c' EMPTY= REDLOCK_KEYS=mine
	local ours='^(REDLOCK_(KEY|TOKEN|FENCE|FENCES|SLOT|HELD|URL)|_)='
	env -0 | grep -zvE "$ours" | sort -z >"$T/before"
	redlock -k job -- env -0 >"$T/all"
	grep -zvE "$ours" "$T/all" | sort -z | cmp - "$T/before"
	redlock -k job -- sh -c 'env -0 >"$0/all"
		redis-cli -s "$0/a.sock" --raw get job >"$0/token"
		redis-cli -s "$0/a.sock" --raw hget "job:redlock:{job}:state" fence \
			>"$0/count"' "$T"
	grep -zqx 'REDLOCK_KEY=job' "$T/all"
	grep -zqx "REDLOCK_URL=$url" "$T/all"
	grep -zqx "REDLOCK_TOKEN=$(cat "$T/token")" "$T/all"
	grep -zqx "REDLOCK_FENCE=$(cat "$T/count")" "$T/all"
	grep -zqx "REDLOCK_FENCES=$(cat "$T/count")" "$T/all"
	grep -zqx 'REDLOCK_SLOT=0' "$T/all"
	[ "$(grep -zEc "$ours" "$T/all")" = 8 ] # with _
}

@test "an empty environment works" {
	run -0 env -i "$REDLOCK" -u "$url" -k job -- /usr/bin/env
	[ "${#lines[@]}" = 7 ]
	for l in "${lines[@]}"; do [[ $l = REDLOCK_* ]]; done
	run -0 env -i "$REDLOCK" -u "$url" -k job -- true
	run -0 env -i "$REDLOCK" -u "$url" -k job -c 'echo $0'
	[ "$output" = /bin/sh ]
}

@test "arguments arrive byte for byte, options of the command too" {
	local odd=(-k -n --help -- '' ' ' $'a\nb' '*' $'\xff' '$HOME' '\' "'")
	redlock -k job -- printf '%s\0' "${odd[@]}" >"$T/with"
	printf '%s\0' "${odd[@]}" | cmp - "$T/with"
	# without "--" our options end at the first word
	redlock -k job printf '%s\0' "${odd[@]}" | cmp - "$T/with"
}

@test "-c runs \$SHELL -c, or /bin/sh when that is no shell" {
	printf '#!/bin/sh\nprintf "<%%s>" "$@"' >"$T/shell"
	chmod 755 "$T/shell"
	SHELL=$T/shell run -0 redlock -k job -c $'a  "b"\nc'
	[ "$output" = $'<-c><a  "b"\nc>' ]
	SHELL=nonsense run -0 redlock -k job -c 'echo $((6 * 7))'
	[ "$output" = 42 ]
	SHELL='' run -9 redlock -k job -c 'exit 9'
	# as sudo sets it for the account of a service
	for shell in /usr/sbin/nologin /sbin/nologin /bin/false /bin/true \
		/usr/bin/git-shell /no/such/shell "$T" /dev/null /etc/passwd ''; do
		SHELL=$shell run -0 redlock -k job -c 'echo ran'
		[ "$output" = ran ]
	done
	run -0 env -u SHELL "$REDLOCK" -u "$url" -k job -c 'echo ran'
	[ "$output" = ran ]
	run -0 redlock -k job --command 'echo ran'
	[ "$output" = ran ]
}

@test "all of standard input reaches the command" {
	head -c 300000 /dev/urandom >"$T/in"
	redlock -k job -- cat <"$T/in" | cmp - "$T/in"
	cat "$T/in" | redlock -k job -- cat | cmp - "$T/in"
	# none of it is taken by redlock when the command reads none
	{ redlock -k job -- true; cat; } <"$T/in" | cmp - "$T/in"
}

# What a process sees of its descriptors, but for its own view of them.
descriptors() { ls -l /proc/self/fd | sed '1d; /\/proc\//d; s/.*:.. //'; }

@test "the command has the descriptors it would have without redlock" {
	local script='ls -l /proc/self/fd | sed "1d;/\/proc\//d;s/.*:.. //"'
	exec 7<"$BATS_TEST_FILENAME" 8>>"$T/eight"
	: >"$T/list"
	sh -c "$script" </dev/null >>"$T/list" 2>>"$T/eight"
	cp "$T/list" "$T/without"
	: >"$T/list"
	redlock -k job -- sh -c "$script" </dev/null >>"$T/list" 2>>"$T/eight"
	cp "$T/list" "$T/with"
	exec 7<&- 8>&-
	# the sed's and the ls's pipe is a new one each time
	sed -i 's/pipe:.*/pipe/' "$T/with" "$T/without"
	grep -q '7 -> .*usage.bats' "$T/with"
	cmp "$T/with" "$T/without"
}

@test "closed standard descriptors stay closed for the command" {
	for c in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
		eval "redlock -k job -- sh -c 'ls /proc/\$\$/fd >\"\$0\"' \
			'$T/with' $c"
		eval "sh -c 'ls /proc/\$\$/fd >\"\$0\"' '$T/without' $c"
		cmp "$T/with" "$T/without"
	done
}

@test "redlock never writes to standard output in the run form" {
	hold
	run -75 --separate-stderr redlock -v -w 250ms -k job -- echo no
	[ -z "$output" ]
	[[ $stderr = *waiting* ]]
	run -0 --separate-stderr redlock -v -k other -t 200ms -- \
		sh -c 'echo only this; sleep 0.3'
	[ "$output" = 'only this' ]
}

# ---- what is said ----

@test "no messages when all is well; -q and -v change that" {
	# (a shorter lease is complained of where the machine is slow)
	local long=(-k job -t 1s -- sleep 0.8)
	run -0 --separate-stderr redlock "${long[@]}"
	nothing_said - <<<"$stderr"
	run -0 --separate-stderr redlock -v "${long[@]}"
	mapfile -t stderr_lines < <(grep -v 'is short for a server that takes' <<<"$stderr")
	local n=$((${#stderr_lines[@]} - 1))
	[ "$n" -ge 2 ]
	[[ ${stderr_lines[0]} =~ ^'redlock: job: acquired after '[0-9.]+'ms, fence '[0-9]{16}$ ]]
	for ((i = 1; i < n; i++)); do [ "${stderr_lines[i]}" = 'redlock: job: renewed' ]; done
	[[ ${stderr_lines[n]} =~ ^'redlock: job: released, held for '[0-9.]+m?s$ ]]
	# and what goes over the wire
	for v in -vv '-v -v' '--verbose -q -v -v'; do
		run -0 --separate-stderr redlock $v -k job -- true
		[[ ${stderr_lines[0]} =~ ^"redlock: job: $T/a.sock: granted after "[0-9]+' ms'$ ]]
		[[ $stderr = *"$T/a.sock: yes after "* ]]
	done
	run -0 --separate-stderr redlock -vv -q -k job -- true
	[ -z "$stderr" ]
	hold
	run -75 --separate-stderr redlock -k job -w 250ms -- true
	[ "${#stderr_lines[@]}" = 2 ]
	[[ ${stderr_lines[0]} = "redlock: job: waiting up to 250ms (place 1): held by "* ]]
	run -75 --separate-stderr redlock -q -k job -w 250ms -- true
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"not acquired within 250ms: held by "* ]]
}

@test "a command line as one word: -c is suggested, but not for a missing program" {
	vforks
	run -127 --separate-stderr redlock -k job -- 'echo hi'
	[[ $stderr = "redlock: job: 'echo hi' is not in PATH ("*"); \
-c runs a shell command line: redlock -k KEY -c '...'" ]]
	PATH=/usr/bin:/bin run -127 --separate-stderr redlock -k job -- echohi
	[ "$stderr" = "redlock: job: 'echohi' is not in PATH (/usr/bin:/bin)" ]
	run -127 --separate-stderr redlock -k job -- ./echohi
	[ "$stderr" = "redlock: job: cannot execute './echohi': No such file or directory" ]
	run -0 redlock -k job -c 'echo hi'
	[ "$output" = hi ]
}

@test "a word of a shell, or a verb behind the key: the message says what to write" {
	vforks
	local word said

	while read -r word said; do
		run -127 --separate-stderr env PATH=/nowhere "$REDLOCK" -u "$url" \
			-k 'my job' -- "$word" x
		[ "$stderr" = "redlock: my job: $said" ]
	done <<-'END'
		cd 'cd' is for a shell: use -c 'cd ...'
		: ':' is for a shell: use -c ': ...'
		FOO=1 'FOO=1' is for a shell: use -c '...', or env FOO=1 ...
		=1 '=1' is not in PATH (/nowhere)
		inspect 'inspect' is not in PATH (/nowhere); 'inspect' is a verb, which comes first: redlock inspect 'my job'
	END
}

@test "an unquoted empty variable: what follows it becomes no key, command or file" {
	local none=

	marker
	refuses 64 "-k: the key is '--': is a variable empty? quote it" \
		-u "$url" -k $none -- "${cmd[@]}"
	refuses 64 "-c: the command is empty" -u "$url" -k job -c "$none"
	refuses 64 "'--'" -u "$url" -k job --result-file $none -- "${cmd[@]}"
	refuses 64 "the key is '=job': write -k job or --key=job" -u "$url" \
		-k=job -- "${cmd[@]}"
	refuses 64 "runs no command" lock -u "$url" job -- "${cmd[@]}"
}

@test "a script whose interpreter is missing: the message names the interpreter" {
	vforks
	local said="No such file or directory; its first line ends with a carriage return"

	printf '#!/bin/sh\r\necho hi\r\n' >"$T/dos"
	printf '#! /opt/no/such/ruby -w\nputs 1\n' >"$T/ruby"

	chmod +x "$T/dos" "$T/ruby"
	run -127 --separate-stderr redlock -k job -- "$T/dos"
	[[ $stderr = "redlock: job: cannot execute '$T/dos': $said"* ]]
	PATH=/nowhere:$T:$PATH run -127 --separate-stderr redlock -k job -- dos
	[[ $stderr = "redlock: job: cannot execute 'dos': $said"* ]]
	run -127 --separate-stderr redlock -k job -- "$T/ruby"
	[[ $stderr = *": No such file or directory; its interpreter '/opt/no/such/ruby' is missing" ]]
}

@test "-E 0 -q: a held lock is not an error, and silent" {
	hold
	for args in '-n' '-w 100ms' '--max-waiters 0'; do
		run -0 --separate-stderr redlock -q $args -E 0 -k job -- echo no
		[ -z "$output$stderr" ]
		run -0 --separate-stderr redlock $args -E 0 -k job -- echo no
		[[ -z $output && $stderr = *'redlock: job: not acquired'* ]]
		run -75 --separate-stderr redlock -q $args -k job -- echo no
		[[ $stderr = 'redlock: job: not acquired'* ]]
	done
	run -0 --separate-stderr "$REDLOCK" wait -q -E 0 -w 50ms -u "$url" job
	[ -z "$output$stderr" ]
	# what is no conflict is said
	run -69 --separate-stderr "$REDLOCK" -q -n -E 0 -u "unix://$T/none" -k job -- true
	[ -n "$stderr" ]
}

@test "a waiter sees who holds the lock and why, but no arguments" {
	LOGNAME=fred CI_JOB_URL=https://ci/71 helper "$REDLOCK" -u "$url" -k job \
		--reason $'nightly\n\e[31mbackup' -- sleep 61.5
	wait_until held job
	run -75 --separate-stderr redlock -k job -w 150ms -- true
	local since='[0-2][0-9]:[0-5][0-9] [A-Z]{3,5} \([0-9]s\)'
	local who="held by fred@$(hostname) since $since, sleep: nightly "
	who+='\\x1b\[31mbackup, https://ci/71; see: redlock inspect job'
	[[ ${stderr_lines[0]} =~ ^"redlock: job: waiting up to 150ms (place 1): "$who$ ]]
	[[ ${stderr_lines[1]} =~ ^"redlock: job: not acquired within 150ms: "$who$ ]]
	[[ $stderr != *61.5* ]]
	[ "${#stderr_lines[@]}" = 2 ]
}

@test "--no-describe shows nobody anything" {
	LOGNAME=fred CI_JOB_URL=http://ci/1 helper "$REDLOCK" -u "$url" -k job \
		--no-describe --reason secret -- sleep 61.5
	wait_until held job
	run -75 --separate-stderr redlock -k job -n -- true
	[[ $stderr = *"held by an anonymous holder since "* ]]
	[[ $stderr != *$(hostname)* && $stderr != *fred* && $stderr != *secret* ]]
	run -0 cli a --raw hget 'job:redlock:{job}:state' "who:$(cli a get job)"
	[[ -n $output && $output != *fred* && $output != *secret* && $output != *sleep* ]]
	[[ $output != *http* && $output != *$(hostname)* ]]
}

@test "the holder record has host, pid, user, command, reason and CI link" {
	LOGNAME=fred CI_JOB_URL=http://ci/1 helper "$REDLOCK" -u "$url" -k job \
		--reason why -- "$(command -v sleep)" 61.5
	local pid=$!
	wait_until held job
	run -0 cli a --raw hget 'job:redlock:{job}:state' "who:$(cli a get job)"
	# what the scripts add comes first
	[[ $output =~ $'\nprocess '[0-9a-f]{16}$ ]]
	[ "$(sed -e 1,2d -e '/^process /d' <<<"$output")" = "$(printf '%s\n' \
		"host $(hostname)" "pid $pid" 'user fred' 'command sleep' \
		'reason why' 'ci_url http://ci/1')" ]
}

# ---- help ----

@test "--help and -h show every option on standard output" {
	run -0 --separate-stderr "$REDLOCK" --help
	[ -z "$stderr" ]
	local help=$output
	run -0 "$REDLOCK" -h
	[ "$output" = "$help" ]
	run -0 "$REDLOCK" -k job -n --help -- true
	[ "$output" = "$help" ]
	local all=$help verb
	for verb in $(sed -n '/^By hand/,/^$/s/^  \([a-z-]*\) .*/\1/p' \
		<<<"$help"); do
		run -0 --separate-stderr "$REDLOCK" "$verb" --help
		[ -z "$stderr" ]
		[[ $output == "usage: redlock $verb "* ]]
		all+=$'\n'$output
	done
	[ -n "$verb" ]
	for o in $(sed -n 's/^\t{.\{2,3\}, *"\([a-z-]*\)",.*/\1/p' \
		"$top/src/cli/optrows.c"); do
		grep -q -- "--$o" <<<"$all"
	done
	[ "$o" = version ]
	not grep -qE '.{101}' <<<"$help"
}

@test "--help of a verb: options, words, examples, servers, messages; 80 columns" {
	local verb help

	for verb in '' lock unlock extend inspect list top wait force-release \
		history doctor; do
		run -0 "$REDLOCK" $verb --help
		not grep -E '.{81}' <<<"$output"
		[ "$(grep -c '^[A-Z].*:$' <<<"$output")" -ge 4 ]
		[ "$(grep '^[A-Z][a-z]*:$' <<<"$output" | tr -d '\n')" = \
			'Examples:Options:Servers:Messages:' ]
		[ "$(sed -n '/^Examples:/,/^$/p' <<<"$output" | grep -c '^  redlock\|^  eval')" = 2 ]
		[ "$(sed -n '/^Servers:/{n;p}' <<<"$output")" = \
			'  -u, --url URL                     redis://..., local:; repeat for a quorum' ]
	done
	help=$("$REDLOCK" force-release --help | sed -n '/^Options:/,/^$/p')
	[ "${help%%$'\n'-*}" = "Options:
      --token TOKEN                 of a hold, as lock prints it
      --confirm KEY                 the key again, to confirm
      --slot N|NAME                 only the holder of this slot
      --marks                       forget --once-per, --once-for, --revision
      --now                         take it without asking
      --foreign                     also delete a key that is not a redlock lock
  -k, --key KEY                     the Redis key that is the lock
      --grace DUR                   time for the holder to stop (10s)
      --reason TEXT                 text for the holder and for the history" ]
	help=$("$REDLOCK" lock --help | sed -n '/^Options:/,/^$/p')
	[[ $help = *"--max-hold DUR                release it after DUR, status 124"* ]]
	[[ $("$REDLOCK" --help) = *"--max-hold DUR                end the command after DUR, status 124"* ]]
}

@test "a word that other tools use, or the beginning of a verb, names the verb" {
	local word meant

	while read -r word meant; do
		run -64 --separate-stderr "$REDLOCK" "$word"
		[ "$stderr" = "redlock: unknown verb '$word' (did you mean '$meant'?); \
to run a command: redlock -k KEY -- COMMAND" ]
	done <<-END
	ls list
	ps list
	status inspect
	show inspect
	release unlock
	acquire lock
	force-unlock force-release
	config doctor --config
	check doctor
	help --help
	version --version
	hist history
	insp inspect
	force force-release
	END
	run -64 --separate-stderr "$REDLOCK" run
	[ "$stderr" = "redlock: unknown verb 'run'; to run a command: redlock -k KEY -- COMMAND" ]
}

@test "options may stand before the verb; behind a key or -- it is a command" {
	hold
	run -0 "$REDLOCK" -u "$url" --json list
	[[ $output = '{"schema":"redlock.list/1"'* ]]
	run -0 "$REDLOCK" -u "$url" inspect job
	[[ $output = 'job: held by '* ]]
	run -0 "$REDLOCK" -qu"$url" --held list 'jo*'
	[[ $output = *job* ]]
	run -64 "$REDLOCK" --hold -u "$url" list
	[[ $output = *"'redlock list' has no option '--hold'"* ]]
	run -64 "$REDLOCK" -u "$url" -- list
	[[ $output = *"no key"* ]]
	printf '#!/bin/sh\necho mine "$@"\n' >"$T/list"
	chmod +x "$T/list"
	PATH=$T:$PATH run -0 "$REDLOCK" -u "$url" -k other list --json
	[ "$output" = 'mine --json' ]
	PATH=$T:$PATH run -0 "$REDLOCK" -u "$url" --key=other -n -- list x
	[ "$output" = 'mine x' ]
}

@test "flock's names for our options: --timeout, --nonblock, --nb, -e; and -w .5" {
	hold
	for o in '--timeout .1' --timeout=0.1 -w.1 '-w .1s' --nonblock --nb -n; do
		run -75 redlock $o -k job -- true
		[[ $output = *'job: not acquired'* ]]
	done
	run -0 redlock -s -e --timeout .5 -k other -- "$REDLOCK" inspect -u "$url" other
	[[ $output = 'other: held by '* && $output != *reader* ]]
	run -64 "$REDLOCK" --timeou 3 -k job -- true
	[[ $output = *"unknown option '--timeou'"* ]]
	run -64 "$REDLOCK" -k job --nb=1 -- true
	[[ $output = *"option '--nb' takes no value"* ]]
	run -64 redlock -w . -k job -- true
	[[ $output = *"-w '.': not a duration"* ]]
}

@test "--version and -V print versions and guards on standard output" {
	run -0 --separate-stderr "$REDLOCK" --version
	[ -z "$stderr" ]
	[[ ${lines[0]} =~ ^redlock\ [0-9]+\.[0-9]+ ]]
	[[ $output = *"hiredis: built with "*", running "* ]]
	[[ $output = *"guard process: yes"* ]]
	[[ $output = *"kernel deadman: yes"* ]]
	local version=$output
	run -0 "$REDLOCK" -V
	[ "$output" = "$version" ]
}

@test "-n wins over -w, before it and after it, as in flock(1)" {
	helper "$REDLOCK" -u "$url" -k job -- linger until "$T/go"
	holder=$!
	wait_until held job
	run -75 timeout 20 "$REDLOCK" -u "$url" -k job -n -w 60 -- true
	run -75 timeout 20 "$REDLOCK" -u "$url" -k job -w 60 -n -- true
	# in what is weaker it does not
	REDLOCK_NO_WAIT=yes run -75 timeout 20 "$REDLOCK" -u "$url" -k job -w 100ms -- true
	[[ $output = *'100ms'* ]]
	touch "$T/go"
	ended_as "$holder" 0
}

@test "options that cannot be combined: 64, or for a check a line and 3" {
	run --separate-stderr -3 redlock inspect --token x --max-age 1h job
	[ "$output" = 'UNKNOWN: --max-age and --token cannot be combined' ]
	run --separate-stderr -3 redlock inspect --json --max-age 1h job
	[ "$output" = 'UNKNOWN: --max-age and --json cannot be combined' ]
	run --separate-stderr -3 redlock history --since 1h --last-success 1h job
	[ "$output" = 'UNKNOWN: --last-success cannot be combined with --since, --svg or --json' ]
	run --separate-stderr -64 redlock doctor --config --json
	[ -z "$output" ]
	run --separate-stderr -64 redlock inspect --token x job other
	run --separate-stderr -64 redlock history --svg --json job
}
