#!/usr/bin/env bats
# Where settings come from besides the command line: the two files and the
# variables; what is wrong with a file, and what is shown of it.
# What the options do to a URL has a test of its own, tests/unit/t-server.c.

load lib/common
load lib/refusal

# with_system TEXT COMMAND...: with an /etc/redlock/config that says so. In a
# namespace, /etc is made anew of links to what is in it.
with_system() {
	local text=$1
	shift
	local as=-rm
	[ "$(id -u)" != 0 ] || as=-m
	TEXT=$text unshare $as sh -c '
		mkdir -p "$T/etc" && mount --bind /etc "$T/etc" &&
		mount -t tmpfs none /etc || exit 99
		ln -s "$T"/etc/* /etc/
		rm -f /etc/redlock
		mkdir /etc/redlock
		printf "%s\n" "$TEXT" >/etc/redlock/config
		"$@"
		got=$?
		umount /etc && umount "$T/etc"
		exit $got' sh "$@"
}
needs_system() {
	with_system '' true 2>/dev/null ||
		skip "this machine lets nobody mount a file system of their own"
}

pttl() { # what -t was: seconds of the lease left, rounded up
	echo $((($("$REDLOCK" "$@" -k job -- redis-cli -s "$T/a.sock" pttl job) + 999) / 1000))
}

# ---- what a file may say ----

@test "a file sets what options would, by the same names" {
	file <<-END
		# comment = yes
		  # and another

		url=$url
		 ttl =	5m${_:+ }
		conflict-exit-code = 42
		quiet = yes
		no-describe = no
	END
	[ "$(pttl)" = 300 ]
	helper "$REDLOCK" -k job -- sleep 60
	wait_until held job
	run -42 --separate-stderr "$REDLOCK" -n -k job -- true
	run -42 --separate-stderr "$REDLOCK" -k job -w 200ms -- true
	[ "${#stderr_lines[@]}" = 1 ] # quiet: nothing of the waiting
}

@test "a value is taken literally: no quotes, no comments, blanks inside" {
	file <<-END
		url = $url
		reason =  "a" = 'b' # c${_:+  }
	END
	"$REDLOCK" -k job -- sh -c '
		redis-cli -s "$T/a.sock" --raw hvals "job:redlock:{job}:state" >"$T/who"'
	grep -qxF "reason \"a\" = 'b' # c" "$T/who"
}

@test "line ends of DOS, a mark of UTF-8, no newline at the end: all accepted" {
	file < <(printf '\xef\xbb\xbf# x\r\nurl = %s \r\n\r\nttl = 7m\r\nconflict-exit-code = 42' \
		"$url")
	[ "$(pttl)" = 420 ]
	run -0 "$REDLOCK" --version -v
	[[ $output = *"conflict-exit-code = 42  ($mine:5)"* ]]
	file < <(printf 'ttl = 8m\r')
	[ "$(pttl -u "$url")" = 480 ]
	file < <(:)
	[ "$(pttl -u "$url")" = 30 ]
}

@test "every option but four can be in a file" {
	local name value n=0
	"$REDLOCK" --help |
		sed -n 's/^  .* --\([a-z-]*\) \([^ ]*\)  .*/\1 \2/p' >"$T/options"
	while read -r name value <&4; do
		case $value in
		'') value=yes ;;
		DUR | *'|DUR') value=10s ;;
		*'|'*) value=${value##*|} ;;
		N) value=2 ;;
		SIGNAL) value=INT ;;
		FILE | DIR) value=/etc/hosts ;;
		URL) value=local: ;;
		esac
		file <<<"$name = $value"
		case $name in
		key | command | help | version)
			bad_file "$mine:1: '$name' can only be used on the command line"
			continue
			;;
		esac
		run -0 "$REDLOCK" --version -v
		# here -v takes the place of both
		[[ $name = quiet || $name = verbose || $output = *"$name = $value  ($mine:1)"* ]]
		n=$((n + 1))
	done 4<"$T/options"
	[ "$n" -gt 30 ]
}

# ---- who wins ----

@test "system file, user's file, REDLOCK_URL, command line: the later wins" {
	needs_system
	local system="url = unix://$T/none.sock
		ttl = 1m
		wait = 100ms
		conflict-exit-code = 41"
	file <<<"ttl = 2m"
	run -69 with_system "$system" "$REDLOCK" -n -k job -- true
	[[ $output = *"$T/none.sock"* ]]
	with_system "$system" env REDLOCK_URL="$url" "$REDLOCK" -k job -- \
		redis-cli -s "$T/a.sock" pttl job >"$T/out"
	[ "$(cat "$T/out")" -gt 60000 ]
	file <<<"url = $url"
	with_system "$system" "$REDLOCK" -k job -- \
		redis-cli -s "$T/a.sock" pttl job >"$T/out"
	[ "$(cat "$T/out")" -le 60000 ]
	with_system "$system" "$REDLOCK" -t 3m -k job -- \
		redis-cli -s "$T/a.sock" pttl job >"$T/out"
	[ "$(cat "$T/out")" -gt 120000 ]
	file <<<"url = unix://$T/none.sock"
	with_system "$system" env REDLOCK_URL="unix://$T/none.sock" \
		"$REDLOCK" -u "$url" -k job -- true
	# an empty variable says nothing
	run -69 env REDLOCK_URL= "$REDLOCK" -n -k job -- true
	# -w of the system's file, its status, and the user's -n in its place
	helper "$REDLOCK" -u "$url" -k job -- sleep 60
	wait_until held job
	run -41 with_system "$system" "$REDLOCK" -u "$url" -k job -- true
	[[ $output = *"not acquired within"* ]]
	file <<<"no-wait = yes"
	run -41 with_system "$system" "$REDLOCK" -u "$url" -k job -- true
	[[ $output != *"not acquired within"* ]]
	file <<<"no-wait = no"
	run -41 with_system "$system" "$REDLOCK" -u "$url" -k job -- true
	[[ $output = *"not acquired within"* ]]
	run -0 with_system "$system" "$REDLOCK" --version -v
	[[ $output = *"wait = 100ms  (/etc/redlock/config:3)"*"no-wait = no  ($mine:1)"* ]]
}

@test "no in the user's file takes back what the system's file says" {
	needs_system
	file <<<"no-wait = no"
	helper "$REDLOCK" -u "$url" -k job -- sleep 0.2
	wait_until held job
	with_system "no-wait = yes" "$REDLOCK" -u "$url" -k job -- true
	file <<<"verbose = no"
	run -0 with_system "verbose = yes" "$REDLOCK" --version
	[[ $output != *"url ="* ]]
	run -0 with_system "verbose = yes" "$REDLOCK" --version -v
	[[ $output = *"url = redis://127.0.0.1:6379  (default)"* ]]
}

@test "the system's file is found, and checked like the user's" {
	needs_system
	run -0 with_system "ttl = 5m" "$REDLOCK" --version -v
	[[ $output = *"ttl = 5m  (/etc/redlock/config:1)"* ]]
	for text in 'nonsense = 1' 'ttl = 100ms' 'url = redis://:hunter2@h'; do
		says 78 /etc/redlock/config with_system "$text" \
			"$REDLOCK" -n -k job -- touch "$T/ran"
		not grep -q hunter2 "$T/err"
	done
	# of two errors the first is reported
	file <<<"other = 1"
	says 78 /etc/redlock/config:1 with_system 'nonsense = 1' \
		"$REDLOCK" -n -k job -- touch "$T/ran"
}

@test "HOME is used without XDG_CONFIG_HOME; relative paths are ignored" {
	file <<<"ttl = 5m"
	mkdir "$T/home"
	cp -r "$XDG_CONFIG_HOME" "$T/home/.config"
	unset XDG_CONFIG_HOME
	[ "$(HOME=$T/home pttl -u "$url")" = 300 ]
	[ "$(XDG_CONFIG_HOME='' HOME=$T/home pttl -u "$url")" = 300 ]
	[ "$(XDG_CONFIG_HOME=$T/none HOME=$T/home pttl -u "$url")" = 30 ]
	cd "$T/home"
	[ "$(XDG_CONFIG_HOME=.config HOME=$T/home pttl -u "$url")" = 300 ]
	[ "$(XDG_CONFIG_HOME=.config HOME=. pttl -u "$url")" = 30 ]
	[ "$(env -u HOME "$REDLOCK" -u "$url" -k job -- echo ok)" = ok ]
	for home in '' / /dev/null /nonexistent; do
		[ "$(HOME=$home "$REDLOCK" -u "$url" -k job -- echo ok)" = ok ]
	done
}

# ---- a file that cannot serve ----

@test "a malformed line is refused with file and line" {
	local text
	for text in nonsense '= 5' ' =' 'ttl 5m' '[section]' '"ttl" = 5m' 'TTL=5m' \
		'-t = 5m' '--ttl = 5m' 'ttl: 5m' $'\e[31m = 1' $'a\tb = 1'; do
		file < <(printf 'quiet = yes\n\n%s\nttl = 1ms\n' "$text")
		bad_file "redlock: $mine:3: "
	done
}

@test "settings that a verb has no option for do not concern it" {
	local token

	token=$(redlock lock -t 60s job)
	export REDLOCK_KILL_AFTER=20s REDLOCK_MAX_HOLD=1s REDLOCK_MIN_HOLD=2s
	redlock extend --token "$token" job
	run redlock doctor -q
	[ "$status" != 78 ]
	run -78 redlock -k other -- true
	unset REDLOCK_KILL_AFTER REDLOCK_MAX_HOLD REDLOCK_MIN_HOLD
	export REDLOCK_NO_WAIT=yes
	(sleep 0.5; redlock unlock --token "$token" job) &
	redlock wait job
	wait
	file <<<'wait = 300ms'
	hold open -t 30s -w 1m
	run -75 timeout 20 "$REDLOCK" -u "$url" wait job
	[[ $output == *'not free within 300ms'* ]]
	end_hold
	rm "$mine"
	run -69 redlock -u "unix://$T/none.sock" -v unlock --token x job
	[[ $output == *'gave up after 5'* ]]
}

@test "a line without its name does not show a password" {
	local text
	for text in 'redis://:SECRET@h/0?timeout=5s' 'url redis://:SECRET@h?timeout=5s' \
		'url: redis://:SECRET=@h' 'password SECRET=' 'SECRET/x='; do
		file <<<"$text"
		bad_file "$mine:1: expected 'name = value'"
		not grep -q SECRET "$T/err"
	done
}

@test "an unknown name is refused, and the nearest one suggested" {
	file <<<"tll = 5m"
	bad_file "$mine:1: unknown option 'tll': did you mean 'ttl'?"
	file <<<"no_wait = yes"
	bad_file "did you mean 'no-wait'?"
	file <<<"frobnicate = 1"
	bad_file "$mine:1: unknown option 'frobnicate'"
	not grep -q 'did you' "$T/err"
}

@test "a name as it is typed, or as a variable: the message has the one to write" {
	local name meant

	while read -r meant name; do
		file <<<"$name = 5s"
		bad_file "$mine:1: unknown option '$name': write the long name without dashes: $meant"
	done <<-'END'
		ttl -t
		ttl --ttl
		ttl t
		ttl REDLOCK_TTL
		url REDLOCK_URL
		url export REDLOCK_URL
		no-wait -n
	END
	file <<<"--frob = 1"
	bad_file "unknown option '--frob'"
	lacks "$T/err" 'long name'
}

@test "a comment behind a value is refused, and the line says where it belongs" {
	local line own='a comment needs a line of its own'

	for line in 'ttl = 30s # x' $'slots = 2\t# two' 'orphans = kill # all' 'quiet = yes #'; do
		file <<<"$line"
		bad_file "$mine:1: ${line%% =*} "
		contains "$T/err" "$own"
	done
	file <<<"url = $url # main"
	says 78 "$mine:1: '$url # main': $own" "$REDLOCK" -k job -- touch "$T/ran"
}

@test "a bad value is refused by the option's name in the file" {
	local line
	for line in 'ttl = soon' 'wait =' 'slots = 0' 'orphans = eat' 'quiet = maybe' \
		'quiet = YEP' 'quiet =' 'user =' 'node-timeout = 0' \
		'tls-verify = off' 'wait-replicas = 101' 'cacert = ca.pem' \
		'restart-guard = on' 'restart-guard =' \
		'password-file = ~/pw' 'sni ='; do
		file <<<"$line"
		bad_file "$mine:1: ${line%% =*}"
	done
	file <<<"ttl = 100ms"
	bad_file "$mine:1: -t: must be at least 200ms"
}

@test "of options that exclude each other, the last source is blamed" {
	file < <(printf 'shared = yes\nslots = 2\n')
	bad_file "$mine:"
	file <<<'kill-after = 10s'
	says 64 "redlock: -K: must be at most half of -t (500ms); see $mine:1" \
		"$REDLOCK" -u "$url" -k job -t 1s -- touch "$T/ran"
	file <<<'slots = 2'
	says 64 "see $mine:1" "$REDLOCK" -u "$url" -k job -s -- touch "$T/ran"
}

@test "a file that others may write is refused, with the chmod command" {
	local mode
	for mode in 620 602 660 606 622 666 777; do
		file $mode <<<"ttl = 5m"
		bad_file "is writable by others: chmod go-w '$mine'"
	done
	for mode in 400 440 444 600 640 644 755; do
		file $mode <<<"ttl = 5m"
		[ "$(pttl -u "$url")" = 300 ]
	done
}

@test "a file with a password that others may read is refused" {
	local mode
	for mode in 640 604 644 610 601; do
		file $mode <<<"url = redis://:hunter2@127.0.0.1:1"
		bad_file "chmod 600 '$mine'"
		not grep -q hunter2 "$T/err"
		file $mode <<<"url = redis://joe:hunter2@[broken"
		bad_file "chmod 600 '$mine'"
		not grep -q hunter2 "$T/err"
		file $mode <<<"url = unix:///x redis://:hunter2@127.0.0.1:1 local:"
		bad_file "chmod 600 '$mine'"
		file $mode < <(printf 'url = redis://:hunter2@h\nurl = redis://g\n')
		bad_file "a file that holds a password, '$mine' is yours and accessible"
		file $mode <<<"url = unix://$T/a.sock"
		"$REDLOCK" -k job -- true
	done
	file 600 <<<"url = redis://:hunter2@127.0.0.1:1"
	says 69 127.0.0.1:1 "$REDLOCK" -n -k job -- touch "$T/ran"
}

@test "a file of another user is refused, one of root is not" {
	# of a namespace with one user, others have no name
	unshare -rm true 2>/dev/null || skip "no user namespaces here"
	file <<<"ttl = 5m"
	if [ "$(id -u)" = 0 ]; then
		chown 12345 "$mine"
		bad_file "belongs to another user"
	else
		mkdir -p "$T/other/redlock"
		ln -s /etc/hosts "$T/other/redlock/config"
		XDG_CONFIG_HOME=$T/other says 78 "belongs to another user" \
			unshare -rm "$REDLOCK" -u "$url" -k job -- touch "$T/ran"
	fi
}

@test "a link is followed to the file that it names" {
	file <<<"ttl = 5m"
	mv "$mine" "$T/real"
	ln -s "$T/real" "$mine"
	[ "$(pttl -u "$url")" = 300 ]
	chmod 666 "$T/real"
	bad_file "others"
	rm "$T/real"
	bad_file "No such file" # what it should be is not known
	ln -sf config "$mine"
	bad_file "ymbolic link" # musl: Symbolic link loop
}

@test "a file that is not text is refused in one line" {
	mkdir -p "$XDG_CONFIG_HOME/redlock"
	mine=$XDG_CONFIG_HOME/redlock/config
	mkdir "$mine"
	bad_file "'$mine' is not a regular file"
	rmdir "$mine"
	mkfifo "$mine"
	bad_file "'$mine' is not a regular file"
	file < <(printf 'ttl = 5m\nquiet\0 = yes\n')
	bad_file "$mine:2: a NUL byte"
	file < <(printf '\xff\xfet\0t\0l\0')
	bad_file "$mine:1: a NUL byte"
	file < <(head -c 10000 /dev/urandom)
	bad_file "$mine"
	file < <(head -c 10000000 /dev/zero | tr '\0' '#')
	bad_file "'$mine' is larger than 64 KiB"
	file < <(printf 'reason = %100000s\n' x)
	bad_file "'$mine' is larger than 64 KiB"
	file < <(printf '%60000s = 1\n' x)
	bad_file "$mine:1: unknown option"
	file < <(printf 'ttl = %60000s\n' x | tr ' ' x)
	bad_file "$mine:1: "
}

@test "a file that exists but cannot be read is an error" {
	need_user
	if [ "$(id -u)" = 0 ]; then
		chmod 755 "$T"
		cli a config set unixsocketperm 777 >/dev/null 2>&1 || :
		chmod 777 "$T/a.sock"
	fi
	file 000 <<<"ttl = 5m"
	chmod 755 "$XDG_CONFIG_HOME" "${mine%/*}"
	says 78 "'$mine': Permission denied" as_user "$REDLOCK" -u "$url" \
		-k job -- touch "$T/ran"
	# a home that we may not even enter is another user's
	chmod 000 "$XDG_CONFIG_HOME"
	run -0 --separate-stderr as_user "$REDLOCK" -u "$url" -k job -- echo ok
	[ "$output$stderr" = ok ]
	chmod 755 "$XDG_CONFIG_HOME"
}

@test "a system file in a directory without access is an error for everybody" {
	[ "$(id -u)" = 0 ] || skip "needs a second user"
	needs_system
	need_user
	says 78 "'/etc/redlock/config': Permission denied" with_system '' sh -c '
		chmod 700 /etc/redlock
		exec setpriv --reuid 54321 --regid 54321 --clear-groups "$@"' sh \
		"$REDLOCK" -n -u "$url" -k job -- touch "$T/ran"
}

# ---- what is shown ----

@test "--version -v shows each setting and its source" {
	file <<-END
		# mine
		user = joe
		ttl = 90s
		wait = 1m
	END
	export REDLOCK_URL=redis://joe:hunter2@h.example/3
	run -0 --separate-stderr "$REDLOCK" --version -v -t 5m -n
	[ -z "$stderr" ]
	[[ $output = *$'\n'"ttl = 5m  (command line)"$'\n'* ]]
	[[ $output = *$'\n'"no-wait = yes  (command line)"* ]]
	[[ $output = *$'\n'"url = redis://***@h.example/3  (REDLOCK_URL)"* ]]
	[[ $output = *$'\n'"user = joe  ($mine:2)"* ]]
	[[ $output != *hunter2* && $output != *"wait = 1m"* && $output != *90s* ]]
	local all=$output
	run -0 "$REDLOCK" -v -t 5m -n --version
	[ "$output" = "$all" ]
	# without -v only the versions
	run -0 "$REDLOCK" --version
	[[ $output != *" = "* ]]
	unset REDLOCK_URL
	run -0 "$REDLOCK" -v -V
	[[ $output = *$'\n'"url = redis://127.0.0.1:6379  (default)"* ]]
	run -0 "$REDLOCK" -v -V -u redis://:hunter2@h
	[[ $output = *$'\n'"url = redis://***@h  (command line)"* ]]
	file < <(printf 'url = redis://a\n\nurl = redis://:hunter2@b redis://c\n')
	run -0 "$REDLOCK" -v -V --restart-guard off
	[[ $output = *$'\n'"url = redis://a  ($mine:1)"$'\n'"url = redis://***@b  ($mine:3)"$'\n'"url = redis://c  ($mine:3)"$'\n'* ]]
	[[ $output = *$'\n'"restart-guard = off  (command line)"* ]]
	run -0 "$REDLOCK" -v -V -u redis://d -u redis://:hunter2@e
	[[ $output = *$'\n'"url = redis://d  (command line)"$'\n'"url = redis://***@e  (command line)"* ]]
	[[ $output != *"$mine"* && $output != *hunter2* ]]
}

@test "--version -v shows errors in the settings, and the rest" {
	file < <(printf 'ttl = 5m\nfrob = 1\n')
	run -78 --separate-stderr "$REDLOCK" --version -v -u redis://h
	[ -z "$stderr" ]
	[[ $output = "redlock "* ]]
	[[ $output = *$'\n'"ttl = 5m  ($mine:1)"* ]]
	[[ $output = *$'\n'"url = redis://h  (command line)"* ]]
	[[ $output = *$'\n'"broken: $mine:2: unknown option 'frob'"* ]]
	run -0 "$REDLOCK" --version
	[[ $output != *frob* ]]
	run -0 "$REDLOCK" --help
	[[ $output = *--key* ]]
	# the command line is read first
	says 64 --nosuch "$REDLOCK" --nosuch
	says 78 frob "$REDLOCK" -u "$url" -k job -- touch "$T/ran"
}

@test "doctor --config: checks every value and shows its source, without a question" {
	file < <(printf 'wait = 10m\nuser = joe\n')
	export REDLOCK_URL=redis://joe:hunter2@h.invalid
	REDLOCK_TTL=45s run -0 --separate-stderr "$REDLOCK" doctor --config -q
	[ -z "$stderr" ]
	[ "$(cut -d ' ' -f 1 <<<"$output" | sort | paste -sd ' ')" = 'quiet ttl url user wait' ]
	REDLOCK_TTL=45s run -0 --separate-stderr "$REDLOCK" doctor --config
	[ -z "$stderr" ]
	for line in "wait = 10m  ($mine:1)" "user = joe  ($mine:2)" \
		'url = redis://***@h.invalid  (REDLOCK_URL)' \
		'ttl = 45s  (REDLOCK_TTL)' 'slots = 1  (default)' \
		'kill-after = 6.7s  (default)' 'signal = TERM  (default)' 'max-hold = not set  (default)' \
		'max-waiters = not set  (default)' 'orphans = leave  (default)' \
		'restart-guard = auto  (default)' 'cacert = not set  (default)' \
		'color = auto  (default)' 'shared = no  (default)' \
		'exclusive = yes  (default)' 'quiet = no  (default)'; do
		grep -qxF -- "$line" <<<"$output"
	done
	# each once, but for those that say the same
	for o in $(sed -n 's/^\t{.\{2,3\}, *"\([a-z-]*\)",.* \(SETTING\|OR_URL\)[,(].*/\1/p' \
		"$top/src/cli/optrows.c"); do
		[[ $o = @(no-wait|verbose) ]] ||
			[ "$(grep -c "^$o = " <<<"$output")" = 1 ]
	done
	[ "$o" = log-format ]
	[[ $output != *hunter2* ]]
	# what is wrong: 78, where it stands, and still all the values
	file <<<'ttl = 5x'
	run -78 --separate-stderr "$REDLOCK" doctor --config
	[[ $stderr = "redlock: $mine:1: ttl '5x': not a duration"* ]]
	grep -qxF 'slots = 1  (default)' <<<"$output"
	file <<<"password-file = $T/none"
	run -78 --separate-stderr "$REDLOCK" doctor --config -u redis://h
	[[ $stderr = *"$T/none"* ]]
	file < <(:)
	run -0 "$REDLOCK" doctor --config -u redis://h.invalid --askpass
	run -64 --separate-stderr "$REDLOCK" list --config
}

@test "doctor --config: reports a variable whose name is nearly that of an option" {
	export REDLOCK_WIAT=5m REDLOCK_SLOT=0 REDLOCK_KEY=a \
		REDLOCK_HELD= REDLOCK_FENCES=1 REDLOCK_SLOT_NAME=a REDLOCK_QUITE_ANOTHER=1
	run -0 --separate-stderr "$REDLOCK" doctor --config -u redis://h
	[ "$stderr" = 'redlock: REDLOCK_WIAT is not used: did you mean REDLOCK_WAIT?' ]
	grep -qxF 'wait = forever  (default)' <<<"$output"
	REDLOCK_MAXHOLD=1h run -0 --separate-stderr "$REDLOCK" doctor --config -u redis://h
	[[ $stderr = *'REDLOCK_MAXHOLD is not used: did you mean REDLOCK_MAX_HOLD?'* ]]
	REDLOCK_WIAT='' run -0 --separate-stderr "$REDLOCK" doctor --config -q -u redis://h
	[ -z "$stderr" ]
}

@test "a variable for every option of a file: before the files, after the command line" {
	file < <(printf 'ttl = 1m\nconflict-exit-code = 3\n')
	export REDLOCK_TTL=2m REDLOCK_NO_WAIT=yes REDLOCK_REASON='a b' REDLOCK_WAIT=
	start_hold 20000 -t 2m
	wait_until exists "$T/started"
	run -3 --separate-stderr "$REDLOCK" -u "$url" -k job -- true
	[[ $stderr = 'redlock: job: not acquired: held by '*', witness: a b; see'* ]]
	kill -KILL "$(cat "$T/started")"
	ends_with 137
	[ "$(pttl -u "$url")" = 120 ]
	[ "$(pttl -u "$url" -t 3m)" = 180 ]
	run -0 "$REDLOCK" doctor --config -u redis://h
	grep -qxF 'no-wait = yes  (REDLOCK_NO_WAIT)' <<<"$output"
	grep -qxF 'reason = a b  (REDLOCK_REASON)' <<<"$output"
	[[ $output != *$'\n'"wait = "* ]]
	says 78 "REDLOCK_TTL: ttl '2y': not a duration" env REDLOCK_TTL=2y \
		"$REDLOCK" -u "$url" -k job -- touch "$T/ran"
	for n in yes on True 1; do
		REDLOCK_SHARED=$n run -0 "$REDLOCK" doctor --config -u redis://h
		grep -qxF "shared = yes  (REDLOCK_SHARED)" <<<"$output"
	done
	for n in no OFF false 0; do
		REDLOCK_SHARED=$n run -0 "$REDLOCK" doctor --config -u redis://h
		grep -qxF "shared = no  (REDLOCK_SHARED)" <<<"$output"
	done
	says 78 "REDLOCK_SHARED: shared 'perhaps': must be yes or no" \
		env REDLOCK_SHARED=perhaps "$REDLOCK" -u "$url" -k job -- touch "$T/ran"
	# what a command is given is no option
	REDLOCK_KEY=other REDLOCK_COMMAND=x REDLOCK_JSON=yes run -0 \
		"$REDLOCK" list -u "$url"
	[[ $output != '{'* ]]
}

# ---- what the plain path costs ----

@test "redlock looks for two files and no others" {
	command -v strace >/dev/null || skip "no strace"
	[ -z "${SANITIZED:-}" ] || skip "a sanitizer and strace do not mix"
	strace -o "$T/trace" "$REDLOCK" -u "$url" -k job -- true
	[ "$(grep -c 'open.*redlock/config' "$T/trace")" = 2 ]
	grep -q 'open.*"/etc/redlock/config".* ENOENT' "$T/trace"
	grep -q "open.*\"$XDG_CONFIG_HOME/redlock/config\".* ENOENT" "$T/trace"
}

# ---- servers ----

@test "--shared-scope in a file for CI refuses servers of this machine only" {
	file <<<"shared-scope = yes"
	for u in local: "$url" redis://127.0.0.1 redis://localhost:1 'redis://[::1]'; do
		says 64 --shared-scope "$REDLOCK" -n -u "$u" -k job -- touch "$T/ran"
		REDLOCK_URL=$u says 78 REDLOCK_URL "$REDLOCK" -n -k job -- \
			touch "$T/ran"
	done
	says 78 127.0.0.1:6379 "$REDLOCK" -n -k job -- touch "$T/ran"
}

@test "a nested redlock needs only the command's REDLOCK_URL" {
	local port=$((20000 + RANDOM % 10000))
	node_start tcp --port "$port" --bind 127.0.0.1
	cli tcp acl setuser joe on '>a b@c' '~*' +@all >/dev/null
	(umask 077; echo 'a b@c' >"$T/pw")
	cd "$T"
	run -0 --separate-stderr "$REDLOCK" -u "redis://127.0.0.1:$port/2" \
		--user joe --password-file pw --node-timeout 900ms -k job -- \
		sh -c 'cd / && echo "$REDLOCK_URL" "$REDLOCK_FENCE" &&
			"$0" -n -k job -- sh -c "echo \$REDLOCK_URL \$REDLOCK_FENCE"' \
		"$REDLOCK"
	[ -z "$stderr" ]
	[ "${lines[0]}" = "${lines[1]}" ]
	[[ $output = *joe*127.0.0.1:"$port"/2*"password-file="*"timeout=900ms"* ]]
	# a password that came by a variable goes on by it, and not in the URL
	REDISCLI_AUTH='a b@c' run -0 "$REDLOCK" -u "redis://127.0.0.1:$port" \
		--user joe -k job -- "$REDLOCK" -n -k job -- \
		sh -c 'echo "$REDLOCK_URL"'
	[[ $output = "redis://joe:@127.0.0.1:$port"* ]]
}
