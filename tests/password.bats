#!/usr/bin/env bats
# Where passwords come from, and that nobody sees them: --password-file,
# REDISCLI_AUTH, --askpass, --password-command.

load lib/common
load lib/refusal

# ---- files and variables ----

@test "a password file that cannot be used is refused before anything else" {
	marker
	local f=$T/pw
	refuses 78 "$f" -u "$url" -k job --password-file "$f" -- "${cmd[@]}"
	mkdir "$f"
	refuses 78 "$f" -u "$url" -k job --password-file "$f" -- "${cmd[@]}"
	rmdir "$f"
	(umask 077; : >"$f")
	refuses 78 "$f" -u "$url" -k job --password-file "$f" -- "${cmd[@]}"
	echo secret-in-file >"$f"
	for mode in 640 604 620 602 610 601 644 666 777; do
		chmod $mode "$f"
		refused 78 "chmod 600" -u "$url" -k job --password-file "$f" -- \
			"${cmd[@]}"
		not grep -q secret-in-file "$T/err"
	done
	untouched
}

# Owned by root: this user cannot change who may read it, so it is accepted.
@test "a secret is read as it is mounted: by Kubernetes, Docker, systemd, a pipe" {
	need_user
	need_root
	echo s3cret >"$T/b.auth"
	node_start b --requirepass s3cret --unixsocketperm 777
	chmod 755 "$T"
	as_app() { setpriv --reuid 54321 --regid 54321 --groups 1234 "$@"; }
	reads() { # NAME
		HOME=/nonexistent run -0 as_app "$REDLOCK" -n -u "unix://$T/b.sock" \
			-k job --password-file "$1" -- echo ran
		[ "$output" = ran ]
	}
	for name in kubernetes docker systemd; do
		echo s3cret >"$T/$name"
	done
	chown 0:1234 "$T/kubernetes"
	chmod 440 "$T/kubernetes"
	reads "$T/kubernetes"
	chmod 444 "$T/docker"
	reads "$T/docker"
	chmod 400 "$T/systemd"
	if command -v setfacl >/dev/null && setfacl -m u:54321:r "$T/systemd"; then
		reads "$T/systemd"
	fi
	# what others can change is always refused
	chmod 464 "$T/docker"
	run -78 as_app "$REDLOCK" -n -u "unix://$T/b.sock" -k job \
		--password-file "$T/docker" -- touch "$T/ran"
	[[ $output = *"'$T/docker' is writable by others: chmod go-w"* ]]
	chmod 444 "$T/docker"
	chown 54322 "$T/docker"
	run -78 as_app "$REDLOCK" -n -u "unix://$T/b.sock" -k job \
		--password-file "$T/docker" -- touch "$T/ran"
	[[ $output = *"belongs to another user (54322), who may change it"* ]]
	[ ! -e "$T/ran" ]
	# root's shell made the pipe, and this user has it
	HOME=/nonexistent run -0 as_app "$REDLOCK" -n -u "unix://$T/b.sock" \
		-k job --password-file <(echo s3cret) -- echo ran
	[ "$output" = ran ]
}

@test "root's own secret on a read-only mount is read: nobody could chmod it" {
	echo s3cret >"$T/secret"
	chmod 444 "$T/secret"
	unshare -rm mount --bind "$T" "$T" 2>/dev/null || skip "no mounts here"
	echo s3cret >"$T/b.auth"
	node_start b --requirepass s3cret
	run -78 unshare -rm "$REDLOCK" -n -u "unix://$T/b.sock" -k job \
		--password-file "$T/secret" -- echo ran
	[[ $output = *"is yours and accessible to others: chmod 600"* ]]
	mkdir "$T/ro"
	cp -p "$T/secret" "$T/ro"
	run -0 unshare -rm sh -c 'mount --bind "$1/ro" "$1/ro" &&
		mount -o remount,bind,ro "$1/ro" && exec "$2" -n \
		-u "unix://$1/b.sock" -k job --password-file "$1/ro/secret" -- echo ran' \
		sh "$T" "$REDLOCK"
	[ "$output" = ran ]
}

@test "a password from a pipe works for every server and every nested run" {
	echo s3cret | tee "$T/b.auth" >"$T/c.auth"
	node_start b --requirepass s3cret
	node_start c --requirepass s3cret
	REDLOCK_URL="unix://$T/b.sock unix://$T/c.sock" run -0 "$REDLOCK" -q -n \
		--restart-guard off -k job --password-file <(sleep 0.1; echo s3cret) -- \
		"$REDLOCK" -q -n --restart-guard off -k other -- echo ran
	[ "$output" = ran ]
	run -0 "$REDLOCK" -q -n -u "unix://$T/b.sock" -k job \
		--password-file /dev/fd/7 -- echo ran 7< <(echo s3cret)
	[ "$output" = ran ]
}

@test "a password variable with a line break says what to do" {
	REDISCLI_AUTH=$'s3cret\n' run -78 redlock -k job -- touch "$T/ran"
	[[ $output = *'REDISCLI_AUTH has a line break in it: '*'$(cat FILE)'* ]]
	[[ $output != *s3cret* ]]
}

@test "a password file that this user may not read is refused" {
	need_user
	(umask 777; : >"$T/pw")
	chmod 755 "$T"
	run -78 --separate-stderr as_user "$REDLOCK" -u "$url" -k job \
		--password-file "$T/pw" -- touch "$T/ran"
	printf '%s\n' "$stderr" >"$T/err"
	one_line "$T/pw"
	[ ! -e "$T/ran" ]
	untouched
}

@test "a user without any password is refused" {
	marker
	refuses 78 "'joe'" -u "$url" -k job --user joe -- "${cmd[@]}"
}

@test "a user with the keys of one prefix has every kind of lock there, and no other" {
	local kind

	# shellcheck disable=SC2046 # words
	cli a acl setuser shop on '>pw' '~shop:*' '~{shop}*' \
		$(rights_in_manual) >/dev/null
	url=unix://shop:pw@$T/a.sock
	for kind in -x -s '-N 2' '--min-hold 1ms' '--once-per 1ms' '--revision 1' \
		--supersede '--priority high'; do
		redlock -n -k shop:nightly -k '{shop}:x' $kind -- true
	done
	start -k shop:nightly -- sleep 61.5
	wait_until held shop:nightly
	run -75 redlock -k shop:nightly -w 50ms -- true
	run -0 "$REDLOCK" inspect -u "$url" shop:nightly
	kill "$tool"
	wait_until free shop:nightly
	run -0 "$REDLOCK" history -u "$url" shop:nightly
	run -77 redlock -n -k other -- true
	[[ $output == *'no right to a key'*'it needs ~KEY ~KEY:redlock:*'*NOPERM* ]]
	# that of the lock itself, but not those of its companions
	cli a acl setuser shop resetkeys '~shop:nightly' >/dev/null
	run -77 redlock -n -k shop:nightly -- true
	[[ $output == *'it needs ~KEY ~KEY:redlock:*'* ]]
}

@test "--user and --password-file work with an ACL of the least rights" {
	local most=($(rights_in_manual) +auth)

	marker
	(umask 077; printf 'pw of joe\n' >"$T/pw")
	cli a acl setuser joe on '>pw of joe' '~job' '~job:redlock:*' \
		"${most[@]}" >/dev/null
	redlock -k job --user joe --password-file "$T/pw" -n -- true
	# in line behind a holder, with every option that asks the server more
	start -k job --user joe --password-file "$T/pw" -- sleep 61.5
	wait_until held job
	for i in 1 2; do
		helper "$REDLOCK" -u "$url" -k job --user joe --password-file \
			"$T/pw" --supersede --max-waiters 5 -w 10s -- true \
			2>"$T/err.$i"
		local waiter=$!
		wait_until contains "$T/err.$i" waiting
	done
	grep -q superseded "$T/err.1" || wait_until contains "$T/err.1" superseded
	kill -TERM "$tool"
	wait "$waiter"
	finish
	# every kind of lock; a server that forgot its data gets them back
	for kind in -s '-N 2' '--min-hold 1ms' '--once-per 1ms' '--revision 1'; do
		redlock -k job -t 400ms $kind --user joe --password-file \
			"$T/pw" -- sh -c "redis-cli -s '$T/a.sock' flushall
			'$REDLOCK' -u '$url' -k job -t 400ms $kind -w 5s \
				--user joe --password-file '$T/pw' -- sleep 0.2" \
			2>"$T/err.kind"
		not grep -i 'noperm\|permission' "$T/err.kind"
	done
	wait_until lock_is_free
	cli a flushall >/dev/null
	cli a acl setuser joe -pexpire -set >/dev/null
	refuses 77 "$T/a.sock" -u "$url" -n -k job --user joe \
		--password-file "$T/pw" -- "${cmd[@]}"
	cli a acl setuser joe +pexpire +set -eval -evalsha >/dev/null
	refuses 77 "$T/a.sock" -u "$url" -n -k job --user joe \
		--password-file "$T/pw" -- "${cmd[@]}"
	not grep -q 'pw of joe' "$T/err"
}

@test "a refused password takes no lock as the server's default user" {
	marker
	(umask 077; printf 'wrong\n' >"$T/pw")
	cli a acl setuser joe on '>right' '~*' +@all >/dev/null
	run -77 redlock -n -k job --user joe --password-file "$T/pw" -- \
		"${cmd[@]}"
	[ ! -e "$T/ran" ]
	free job
}

@test "REDISCLI_AUTH is used, reaches the command, and yields to the URL" {
	marker
	cli a acl setuser joe on '>joes' '~*' +@all >/dev/null
	cli a config set requirepass 'from env' >/dev/null
	export REDISCLI_AUTH='from env'
	run -0 redlock -n -k job -- sh -c 'echo "$REDISCLI_AUTH"'
	[ "$output" = 'from env' ]
	local port=$((20000 + RANDOM % 10000))
	node_start tcp --port "$port" 2>/dev/null
	cli tcp config set requirepass 'from url' >/dev/null
	run -0 "$REDLOCK" -u "redis://from%20url@127.0.0.1:$port" -n -k job -- \
		true
	REDISCLI_AUTH='from url' cli tcp config set requirepass '' >/dev/null
	REDISCLI_AUTH=joes run -0 redlock --user joe -n -k job -- true
	cli a flushall >/dev/null
	REDISCLI_AUTH=wrong run -77 redlock -n -k job -- "${cmd[@]}"
	(unset REDISCLI_AUTH && ! redlock -n -k job -- "${cmd[@]}")
	[ ! -e "$T/ran" ]
	[ "$(cli a dbsize)" = 0 ]
	cli a config set requirepass '' >/dev/null
}

@test "a password in -u is overwritten in argv, for guard and tool" {
	local pid port=$((20000 + RANDOM % 10000))
	node_start tcp --port "$port"
	for form in "-u" "-u=" "--url="; do
		local args=("${form/-u=/-u}redis://default:hunter2@127.0.0.1:$port")
		[ "$form" != -u ] ||
			args=(-u "redis://default:hunter2@127.0.0.1:$port")
		"$REDLOCK" -v "${args[@]}" -k job -t 300ms -- \
			sh -c 'tool=$(awk "{ print \$4 }" "/proc/$PPID/stat")
				tr "\0" " " <"/proc/$tool/cmdline"
				tr "\0" " " <"/proc/$PPID/cmdline"' >"$T/out" 2>"$T/err"
		grep -qF "*@127.0.0.1:$port" "$T/out"
		grep -q 'lockguard: ' "$T/out"
		not grep hunter2 "$T/out" "$T/err"
		[ -s "$T/err" ]
	done
}

@test "a password typed in the wrong place appears in no message" {
	local secret=redis://joe:hunter2@h.example
	marker
	refuses 64 "unknown verb 'redis://***@h.example'" "$secret" -k job -- \
		"${cmd[@]}"
	refuses 64 "-t 'redis://***@h.example'" -u "$url" -k job -t "$secret"
	refuses 64 "('redis://***@h.example')" -u "$url" -k job -c true "$secret"
	refuses 64 "unknown option '--uri'" --uri="$secret" -k job -- "${cmd[@]}"
	refuses 64 "'redis://***@h.example' and" -u "$secret" -u "$secret" -k job \
		-- "${cmd[@]}"
	refuses 64 "'redis://***@h.example' is a URL" -k job "$secret" true
	not grep -q hunter2 "$T/err"
}

@test "no message, refusal or -v line shows a password" {
	local port=$((20000 + RANDOM % 10000))
	for u in "redis://joe:hunter2@127.0.0.1:$port" \
		"redis://:hunter2@127.0.0.1:x" "redis://:hun/ter2@h" \
		"redis://:hunter2@h?x=1" "redis://:hunter2@[::1" \
		"rediss://:hunter2@h" "joe:hunter2@h" "http://:hunter2@h" \
		"redis://:a@hunter2@h" "redis:/joe:hunter2@h" \
		"redis://h?password=hunter2" "redis://h?pasword=hun&ter2" \
		"unix://:hun/ter2@/s" "local:hunter2@"; do
		run ! --separate-stderr "$REDLOCK" -v -n -u "$u" -k job -- true
		[ -n "$stderr" ]
		[[ $stderr$output != *hunter2* && $stderr != *ter2* ]]
		REDLOCK_URL=$u run ! --separate-stderr "$REDLOCK" -v -n -k job -- \
			true
		[[ $stderr$output != *hunter2* && $stderr != *ter2* ]]
	done
	cli a config set requirepass hunter3 >/dev/null
	REDISCLI_AUTH=hunter2 run -77 --separate-stderr redlock -v -n -k job -- \
		true
	[[ $stderr != *hunter2* ]]
	REDISCLI_AUTH=hunter3 cli a config set requirepass '' >/dev/null
}

# ---- --askpass ----

# ask STEP... -- [OPTION...]: on a terminal
ask() {
	local steps=()
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	pty "${steps[@]}" -- "$REDLOCK" -n -u "$url" --askpass -k job "$@"
}

@test "--askpass asks once, shows nothing of it, and the lock is acquired" {
	cli a acl setuser joe on '>hunter2 x' '~*' +@all >/dev/null
	run -0 ask "wait:Password for joe at $T/a.sock: " 'send:hunter2 x\n' \
		-- --user joe -- sh -c 'echo ran; stty -a </dev/tty'
	[[ $output = *ran* && $output = *' echo '* && $output != *hunter2* ]]
	cli a config set requirepass hunter3 >/dev/null
	run -0 ask "wait:Password for default at $T/a.sock: " 'send:hunter3\n' \
		-- -- echo ran
	[[ $output = *ran* && $output != *hunter3* ]]
	run -77 ask 'wait:: ' 'send:wrong\n' -- -- echo ran
	[[ $output != *ran* ]]
	# it is asked for on the terminal, whatever standard input and output are
	run -0 ask 'wait:: ' 'send:hunter3\n' -- -- true </dev/null
	run -0 pty 'wait:: ' 'send:hunter3\n' "file:$T/done" -- sh -c \
		'echo data | "$0" -n -u "$1" --askpass -k job -- cat >"$T/got" 2>&1
		: >"$T/done"' "$REDLOCK" "$url"
	[ "$(cat "$T/got")" = data ]
	REDISCLI_AUTH=hunter3 cli a config set requirepass '' >/dev/null
}

@test "--askpass without a terminal names the other ways" {
	says 78 "--password-file or REDISCLI_AUTH" setsid -w "$REDLOCK" -n -u "$url" \
		--askpass -k job -- touch "$T/ran"
}

@test "--askpass refuses an empty password, and one that is too long" {
	local long
	long=$(printf '%5000s' | tr ' ' x)
	run -78 ask 'wait:: ' 'send:\n' -- -- touch "$T/ran"
	[[ $output = *"no password entered"* ]]
	run -78 ask 'wait:: ' 'send:^D' -- -- touch "$T/ran"
	[[ $output = *"no password entered"* ]]
	run -78 ask 'wait:: ' "send:$long\n" -- -- touch "$T/ran"
	[[ $output = *"longer than the 4094 bytes"* ]]
	[ ! -e "$T/ran" ]
	[ "$(cli a dbsize)" = 0 ]
}

# The terminal is sane: it shows what is typed.
sane='stty -a </dev/tty | grep -q " echo "'

@test "--askpass interrupted leaves the terminal as it was, and no lock" {
	local sig
	for sig in INT TERM HUP QUIT ALRM USR1; do
		rm -f "$T/pid"
		run -0 pty 'wait:: ' "run:kill -$sig \$(cat $T/pid)" -- sh -c '
			sh -c "echo \$\$ >$T/pid
				exec \"$2\" -n -u $1 --askpass -k job touch $T/ran"
			echo "status $?"
			'"$sane"' && echo sane' sh "$url" "$REDLOCK"
		[[ $output = *"status $((128 + $(kill -l $sig)))"*sane* ]]
	done
	run -130 ask 'wait:: ' 'send:half a pass^C' -- -- touch "$T/ran"
	[[ $output != *half* ]]
	[ ! -e "$T/ran" ]
	[ "$(cli a dbsize)" = 0 ]
}

@test "--askpass stopped leaves the terminal, and asks again when it goes on" {
	cli a config set requirepass hunter3 >/dev/null
	run -0 pty 'wait:: ' 'send:half^Z' 'wait:stopped' 'wait:Password' 'wait:: ' \
		'send:hunter3\n' -- bash -c 'set -m
		"$0" -n -u "$1" --askpass -k job -- echo ran
		'"$sane"' && echo stopped and sane
		fg' "$REDLOCK" "$url"
	[[ $output = *"stopped and sane"*ran* && $output != *half* ]]
	# in the background it waits to come to the front
	run -0 pty 'wait:started' 'wait:: ' 'send:hunter3\n' -- bash -c 'set -m
		"$0" -n -u "$1" --askpass -k job -- echo ran &
		while ! grep -q "^State:.T" /proc/$!/status; do :; done
		'"$sane"' && echo started
		fg' "$REDLOCK" "$url"
	[[ $output = *started*Password*ran* ]]
	REDISCLI_AUTH=hunter3 cli a config set requirepass '' >/dev/null
}

@test "--askpass and --password-file from one source exclude each other" {
	echo hunter2 >"$T/pw"
	chmod 600 "$T/pw"
	says 64 "--askpass and --password-file" "$REDLOCK" -n -u "$url" --askpass \
		--password-file "$T/pw" -k job -- touch "$T/ran"
	file < <(printf 'askpass = yes\npassword-file = %s\n' "$T/pw")
	bad_file "$mine:1: --askpass and --password-file"
	# what is typed is in the place of what a file says
	file <<<"askpass = yes"
	cli a acl setuser joe on '>hunter2' '~*' +@all >/dev/null
	"$REDLOCK" -n -u "$url" --user joe --password-file "$T/pw" -k job -- true
	file <<<"password-file = /none"
	run -0 ask 'wait:: ' 'send:hunter2\n' -- --user joe -- echo ran
	# and a URL with a password needs nothing of a file
	"$REDLOCK" -n -u "$(sed 's,://,&joe:hunter2@,' <<<"$url")" -k job -- true
}

# ---- --password-command ----

# $T/tell prints the password of `app`, counts that in $T/runs, and does what
# $T/does says before.
tells() {
	secure
	: >"$T/does"
	cat >"$T/tell" <<-'END'
		#!/bin/sh
		echo "$*" >>"$T/runs"
		. "$T/does"
		head -n1 "$T/password"
		echo "the second line"
	END
	chmod +x "$T/tell"
	told=(--user app --password-command "$T/tell")
}
runs() { wc -l <"$T/runs"; }
app_is_in() { cli a client list | grep -qw 'user=app'; }
has_run() { [ "$(runs)" -ge "$1" ]; }

@test "--password-command: the first line is the password; quoting as in the shell" {
	tells
	token=$(printf 't%.0s' {1..4000})
	cli a acl setuser app resetpass ">$token" >/dev/null
	echo "$token" >"$T/password"
	run -0 redlock -vv --user app -k job --password-command \
		"'$T/tell' a\\ b \"c  'd'\" '\$HOME' *;e \"\\\"\\x\"" -- \
		sh -c 'env; cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " "'
	[[ $output != *tttttt* ]]
	[[ $output = *"REDLOCK_PASSWORD_COMMAND='$T/tell' a"* ]]
	[ "$(cat "$T/runs")" = "a b c  'd' \$HOME *;e \"\\x" ]
	for verb in "list" "wait job" "history job"; do
		# shellcheck disable=SC2086 # words
		run -0 redlock $verb "${told[@]}"
	done
	# a nested run, a variable, a file; and a URL with a password needs none
	run -0 redlock -k job "${told[@]}" -- "$REDLOCK" -k job -- \
		"$REDLOCK" inspect job
	REDLOCK_PASSWORD_COMMAND=$T/tell run -0 redlock --user app -k job -- true
	mkdir -p "$T/settings/redlock"
	echo "password-command = $T/tell" >"$T/settings/redlock/config"
	run -0 redlock --user app -k job -- true
	: >"$T/runs"
	run -77 "$REDLOCK" -u "unix://app:x@$T/a.sock" -k job -- true
	[ "$(runs)" = 0 ]
}

@test "--password-command: a failure at the start is one line, 78, without a question" {
	tells
	while IFS=@ read -r does what; do
		echo "$does" >"$T/does"
		run -78 redlock -k job "${told[@]}" -- touch "$T/ran"
		[ "${#lines[@]}" = 1 ]
		[[ $output = *"password command '$T/tell': $what"* ]] || {
			echo "$does: $output" >&2
			return 1
		}
	done <<-'END'
		exit 3@ended with status 3
		kill -9 $$@killed by signal 9
		exit@it printed no password
		printf 'a\0b\n'; exit@a NUL byte
		head -c 17000 /dev/zero | tr '\0' x; exit@it printed a line longer than 16384
	END
	run -78 redlock -k job --password-command "$T/none x" -- true
	[[ $output = *"password command '$T/none': No such file or directory"* ]]
	for bad in '' ' ' "a 'b" 'a "b'; do
		run -64 redlock -k job --password-command "$bad" -- true
	done
	for also in --askpass "--password-file=$T/password"; do
		run -64 redlock -k job --password-command true "$also" -- true
		[[ $output = *'--password-command and --'*' cannot be combined' ]]
	done
	run -64 redlock -u local: -k job --password-command true -- true
	[ ! -e "$T/ran" ]
}

@test "a refused password: what a shell would have done, or quotes, are named" {
	local wrong='wrong user name or password, or the user is disabled (WRONGPASS: '
	local how said

	secure
	while IFS=@ read -r how said; do
		run -77 redlock -n -k job --user app --password-command "$how" -- \
			touch "$T/ran"
		[[ $output = *"$wrong$said)" ]]
	done <<-'END'
		echo old | cat@no shell was run: '|' was passed on as it is; write sh -c '...'
		echo $HOME@no shell was run: '$HOME' was passed on as it is; write sh -c '...'
		echo "$(cat /x)"@no shell was run: '$(cat' was passed on as it is; write sh -c '...'
	END
	run -78 redlock -n -k job --user app --password-command 'cat /no/file | cat' -- true
	[[ $output = *"ended with status 1 (no shell was run: '|' was"* ]]
	for how in "echo 'a|\$b'" 'sh -c "echo $T"' 'echo a$ b&c'; do
		run -77 redlock -n -k job --user app --password-command "$how" -- true
		lacks - 'no shell' <<<"$output"
	done
	for how in "'old'" '"old"'; do
		echo "$how" >"$T/password"
		run -77 redlock -n -k job --user app --password-file "$T/password" -- true
		[[ $output = *"$wrong"'the password in '"$T/password begins and ends with a quote)" ]]
		REDISCLI_AUTH=$how run -77 redlock -n -k job --user app -- true
		[[ $output = *"$wrong"'the password begins and ends with a quote)' ]]
	done
	[ ! -e "$T/ran" ]
}

@test "a password of 16 KiB is used, from everywhere; one byte more is refused" {
	local long file=$T/long

	long=$(printf '%16384s' | tr ' ' x)
	secure
	cli a acl setuser app ">$long" >/dev/null
	(umask 077 && printf '%s\n' "$long" >"$file" && cp "$file" "$file.1" &&
		printf 'x%s\n' "$long" >"$file.1")
	redlock -n -k job --user app --password-file "$file" -- true
	redlock -n -k job --user app --password-command "cat $file" -- true
	REDISCLI_AUTH=$long redlock -n -k job --user app -- true
	"$REDLOCK" -n -u "unix://app:$long@$T/a.sock" -k job -- \
		sh -c '"$0" -n -k job -- true' "$REDLOCK"
	marker
	refused 78 "password file '$file.1': longer than 16384 bytes" -n -u "$url" \
		-k job --user app --password-file "$file.1" -- "${cmd[@]}"
	refused 78 'it printed a line longer than 16384' -n -u "$url" \
		-k job --user app --password-command "cat $file.1" -- "${cmd[@]}"
	REDISCLI_AUTH=x$long refused 78 'REDISCLI_AUTH: longer than 16384 bytes' \
		-n -u "$url" -k job --user app -- "${cmd[@]}"
	refused 64 'the password: longer than 16384 bytes' -n \
		-u "unix://app:x$long@$T/a.sock" -k job -- "${cmd[@]}"
}

@test "--password-command runs again during a hold; while it fails the hold goes on" {
	tells
	hold open -t 8s "${told[@]}"
	cli a acl setuser app resetpass '>new' >/dev/null
	echo 'exit 3' >"$T/does"
	sleep 2.1 # what it printed at the start no longer counts
	cli a client kill user app
	wait_until contains "$T/err" "password command '$T/tell': ended with status 3"
	(umask 077 && echo new >"$T/password.new")
	mv "$T/password.new" "$T/password"
	: >"$T/does"
	wait_until contains "$T/err" 'renewed again'
	end_hold
}

@test "--password-command that hangs during a hold: dead by the deadline" {
	tells
	hold 9000 -t 600ms "${told[@]}"
	sleep 2.1 # what it printed at the start no longer counts
	echo 'echo $$ >"$T/hung"; exec sleep 61.7' >"$T/does"
	locked_out true
	# one run, however often it was wanted
	[ "$(runs)" = 2 ]
	kill "$(cat "$T/hung")"
}

@test "--password-command may take longer than a server, at the start and later" {
	tells
	echo 'sleep 1.5' >"$T/does"
	hold open -t 8s --node-timeout 500ms "${told[@]}"
	sleep 2.1
	cli a client kill user app
	wait_until has_run 2
	wait_until app_is_in
	end_hold
	[ "$(runs)" = 2 ]
}

@test "--password-command: the guard uses it, too, when redlock is killed" {
	tells
	hold 60000 -t 20s "${told[@]}"
	sleep 2.1
	kill -9 "$holder"
	wait_until unset_on a job
	has_run 2
}

@test "--password-command: one run answers for several servers" {
	local n

	tells
	for n in b c; do
		node_start $n
		cli $n acl setuser app on '>old' '~*' +@all >/dev/null
	done
	run -0 "$REDLOCK" -u "$url" -u "unix://$T/b.sock" -u "unix://$T/c.sock" \
		-k job --restart-guard off "${told[@]}" -- true
	[ "$(runs)" = 1 ]
}
