#!/usr/bin/env bats
# Lists that must agree, the layers of the source, the tests that faults.md names, and the
# examples in README and manual.

load lib/common

@test "--help, manual, completions and exit statuses agree with the code" {
	cd "$top"
	run -0 scripts/check-docs.sh "$REDLOCK"
}

# FILE SED LINE: changes a copy; LINE must be among the output
plant() {
	sed "$2" "$1" >"$T/planted"
	! cmp -s "$1" "$T/planted" || { echo "not planted: $2 in $1" >&2; return 1; }
	cp "$T/planted" "$1"
	told+=("$1$3")
}
@test "check-docs.sh finds each difference, in both directions" {
	told=()
	mkdir "$T/tree"
	cd "$T/tree"
	cp -r "$top"/{README.md,completions,configure.ac,man,scripts,src} .
	m=man/redlock.1 b=completions/bash/redlock z=completions/zsh/_redlock
	f=completions/fish/redlock.fish
	# the run form
	plant $m 's/^\.It Fl n , Fl -no-wait$/.It Fl n , Fl -no-await/' \
		', OPTIONS: missing option: run -n --no-wait'
	told+=("$m, OPTIONS: unknown option: run -n --no-await")
	plant $m 's/^\.It Fl w , Fl -wait Ar duration/.It Fl w , Fl -wait/' \
		', OPTIONS: unknown option: run -w --wait'
	plant $b '/--shared-scope: all/d' ': missing option: run --shared-scope'
	plant $z 's/\[hold the lock alone\]/[hold the lock alone]:word: /' \
		': unknown option: run -x --exclusive value'
	plant $f "s/ -l tls-verify -x -a 'full ca none'/ -l tls-verify -x/" \
		': --tls-verify: the values are not full|ca|none'
	# verbs
	plant $m 's/^\.Ss inspect$/.Ss inspekt/' ', VERBS: missing verb: inspect'
	told+=("$m, VERBS: unknown verb: inspekt")
	plant $m 's/^\.It Fl -confirm Ar key$/.It Fl -confirn Ar key/' \
		', VERBS: missing option: force-release --confirm value'
	told+=("$m, VERBS: unknown option: force-release --confirn value")
	plant $m 's/^\.It Fl -last-success Ar duration$/.It Fl -last-success/' \
		', VERBS: unknown option: history --last-success'
	plant $m 's/^\.It Fl -foreign$/&\n.It Fl -askpas/' \
		', VERBS: force-release: takes no --askpas'
	plant $m 's/^\.Fl -max-waiters , Fl -supersede ,/.Fl -max-waiters ,/' \
		', VERBS: lock: --supersede is not named'
	plant $b 's/^\tdoctor$/\tdoktor/' ': missing verb: doctor'
	told+=("$b: unknown verb: doktor")
	plant $z 's/--json\[/--jsn[/' ': missing option: list --json'
	told+=("$z: unknown option: list --jsn")
	plant $z "s/^\t'wait:/\t'wate:/" ': missing verb: wait'
	plant $f "s/'__redlock_takes unlock extend /'__redlock_takes unlock /" \
		': missing option: extend --token value'
	plant $f '/-n __redlock_first .* -a top /d' ': missing verb: top'
	plant README.md 's/redlock history/redlock story/' ': missing verb: history'
	# the rest
	plant man/redlock-json.5 's|^\.Ss redlock.list/1|.Ss redlock.list/2|' \
		': missing schema: redlock.list/1'
	told+=("man/redlock-json.5: unknown schema: redlock.list/2")
	plant $m 's/^\.It 124$/.It 123/' ', EXIT STATUS: missing exit status: 124'
	plant README.md 's/^| | redlock [0-9.]*/| | redlock 0.1/' \
		': unknown version in the table: 0.1'
	plant README.md 's/^| 77, 78 |/| 77 |/' ': missing exit status: 78'
	plant $m 's/^\.It Li sni=/.It Li snj=/' ', SERVERS: unknown option of a URL: snj'
	plant $m 's/^\.It Ev REDLOCK_FENCE$/.It Ev REDLOCK_FENS/' \
		', ENVIRONMENT: missing variable for the command: REDLOCK_FENCE'
	plant $m 's/Ev XDG_CONFIG_HOME/Ev XDG_DIR/' \
		', ENVIRONMENT: missing variable that is read: XDG_CONFIG_HOME'
	run -1 scripts/check-docs.sh "$REDLOCK"
	for line in "${told[@]}"; do
		[[ $'\n'$output$'\n' == *$'\n'"$line"$'\n'* ]] ||
			{ echo "$output"; echo "not told: $line"; return 1; } >&2
	done
}

@test "no file includes or calls against the layers" {
	cd "$top"
	run -0 scripts/check-layers.sh
}
@test "circles of includes and of calls are found, and so is a sleep" {
	local name other

	mkdir -p "$T/src/base" "$T/tests" "$T/bench"
	cd "$T"
	run -0 "$top/scripts/check-layers.sh" .
	printf 'int poll(void *, long, int);\nvoid f(void)\n{\n\t(void)poll(NULL, 0, 1);\n}\n' \
		>src/base/c.c
	run -1 "$top/scripts/check-layers.sh" .
	[ "$output" = 'src/base/c.c:4: do not sleep: wait for an event, up to a deadline' ]
	rm src/base/c.c
	for name in a:b b:a; do
		other=${name#*:} name=${name%:*}
		printf 'void %s(void);\nvoid %s(void);\nvoid %s(void)\n{\n\t%s();\n}\n' \
			$name $other $name $other >src/base/$name.c
		cc -O0 -c -o src/base/$name.o src/base/$name.c
	done
	run -1 "$top/scripts/check-layers.sh" .
	[[ $output = *'calls: input contains a loop:'*base/a.c*base/b.c* ]]
	rm src/base/*
	echo '#include "base/b.h"' >src/base/a.h
	echo '#include "base/a.h"' >src/base/b.h
	run -1 "$top/scripts/check-layers.sh" .
	[[ $output = *'includes: input contains a loop:'* ]]
}

# ---- the tests that docs/faults.md names ----

@test "docs/faults.md names tests that exist, at least one for each fault" {
	local file name rows=0

	while IFS= read -r row; do
		rows=$((rows + 1))
		row=${row% |} # its last column
		row=${row##*[^\\]| }
		while IFS= read -r name; do
			file=${name%%: *}
			file=${file//\`/}
			name=${name#*: }
			name=${name//\\|/|}
			printf '%s\t%s\n' "$file" "$name"
		done <<<"${row//<br>/$'\n'}"
	done < <(grep '^|' "$top/docs/faults.md" | grep -v -e '^|---' -e 'Tests, among others') >"$T/named"
	[ "$rows" -gt 90 ]
	at_least "$(wc -l <"$T/named")" "$rows"
	awk -F '\t' -v tests="$top/tests" '
		!($1 in text) {
			file = tests "/" $1 ".bats"
			text[$1] = ""
			while ((getline line <file) > 0)
				text[$1] = text[$1] line "\n"
		}
		!index(text[$1], $2) {
			print "no such test in " $1 ": " $2
			bad = 1
		}
		END { exit bad }' "$T/named"
}

# ---- the examples of README.md ----

block() { # LANGUAGE TEXT: the block of it that has the text
	awk -v language="$1" -v text="$2" '
		inside && /^```$/ { if (found) print block; inside = 0 }
		inside { block = block $0 "\n"; found = found || index($0, text) }
		$0 == "```" language { inside = 1; found = 0; block = "" }' \
		"$top/README.md"
}
# Stubs for the commands of an example, which record the holder of KEY.
steps() { # KEY COMMAND...
	local key=$1

	shift
	mkdir -p "$T/there"
	cd "$T/there"
	for c; do
		printf '#!/bin/sh\necho "%s $(redis-cli -s "%s" get %s)" >>steps\n' \
			"$c" "$T/a.sock" "$key" >"$c"
		chmod +x "$c"
	done
	ln -s "$REDLOCK" redlock
	export PATH="$T/there:$PATH" REDLOCK_URL=$url
}
ran() { # COMMAND...: each under one lock
	local held

	held=$(sed -n '1s/.* //p' steps)
	[ ${#held} = 36 ]
	[ "$(cat steps)" = "$(printf "%s $held\n" "$@")" ]
}

# The same for two runs at once: one after the other, each under its own lock.
ran_twice() { # COMMAND...
	[ "$(sed 's/ .*//' steps)" = "$(printf '%s\n' "$@" "$@")" ]
	[ -z "$(sed -n 's/^[^ ]* *//p' steps | grep -vxE '.{36}')" ]
	[ "$(sed 's/.* //' steps | uniq -c | tr -s ' ' | cut -d' ' -f2)" = \
		"$#"$'\n'"$#" ]
}
both() { # COMMAND...: twice at the same time
	local one two

	"$@" 3>&- & one=$!
	"$@" 3>&- & two=$!
	wait "$one" && wait "$two"
}
# Directories for PATH in which redlock is not, dies before its first byte, and
# cannot be loaded.
without_redlock() {
	mkdir -p "$T/missing" "$T/killed" "$T/unloadable"
	printf '#!/bin/sh\nkill -9 $$\n' >"$T/killed/redlock"
	printf '#!/no/such/loader\n' >"$T/unloadable/redlock"
	chmod +x "$T/killed/redlock" "$T/unloadable/redlock"
}
no_step_without_redlock() { # COMMAND...
	local how

	without_redlock
	rm -f redlock steps
	for how in missing killed unloadable; do
		not env PATH="$T/$how:$T/there:/usr/bin:/bin" "$@" >/dev/null 2>&1
		[ ! -e steps ] || { echo "$how: went on" >&2; return 1; }
	done
}

# Every line that puts the rest of a script under a lock, wherever it stands.
@test "without redlock, each eval of README, manual, help, examples ends the script" {
	local line how output got n=0

	without_redlock
	{
		cat "$top/README.md" "$top/examples/README.md"
		manual_shows
		help_shows
		sed 's/"\$REDLOCK"/redlock/; s/:\$1"/:x"/' "$top/examples/scripts/deploy.sh"
	} | sed -n 's/^ *\(eval "\$(redlock .*\)/\1/p' >"$T/evals"
	while IFS= read -r line; do
		printf '%s\necho went on\n' "$line" >"$T/script"
		for how in missing killed unloadable; do
			got=0
			output=$(env -i PATH="$T/$how" /bin/sh "$T/script" 2>&1) || got=$?
			[ "$got" -gt 125 ]
			[[ $output != *'went on'* ]] ||
				{ echo "$how: $line" >&2; return 1; }
		done
		n=$((n + 1))
	done <"$T/evals"
	at_least "$n" 5
}

# Debian's cron: /usr/bin:/bin
@test "a crontab of the README or the manual finds the installed redlock" {
	for page in README.md man/redlock.1; do
		awk '/^ *PATH=/ { path = $0 }
			/^ *[0-9*]+( [0-9*]+)+ +redlock / {
				n++
				if (path !~ "[=:]/usr/local/bin:") bad = 1
			}
			END { exit bad || n == 0 }' "$top/$page"
	done
}

@test "README: the rest of a script" {
	steps nightly dump-database upload
	block sh '--keep-for $$' >script
	both sh script
	ran_twice dump-database upload
	wait_until free nightly
	rm steps
	for sh in sh bash; do
		"$sh" script 3>&-
		ran dump-database upload
		wait_until free nightly
		rm steps
	done
	no_step_without_redlock sh script
}

@test "examples: a Makefile, each line a shell" {
	command -v make >/dev/null || skip "no make"
	steps site render publish
	cp "$top/examples/scripts/Makefile" .
	make site
	ran render publish
	free site
	rm steps
	both make site
	ran_twice render publish
	free site
	[ -z "$(find . -name '.token*')" ]
	no_step_without_redlock make site
}

@test "examples: a job of GitHub Actions, each step a shell" {
	steps deploy-production migrate.sh deploy.sh
	awk <"$top/examples/ci/github-steps.yml" '
		/- run: / { n++; sub(/.*- run: \|?/, "") }
		/^ *(if|steps):/ { next }
		n { print >("step." n) }'
	cat >job <<-'END'
		export GITHUB_ENV=$T/env.$$
		for i in 1 2 3 4 5; do
			(
				set -a
				[ ! -e "$GITHUB_ENV" ] || . "$GITHUB_ENV"
				exec bash -e "step.$i"
			) || exit
		done
	END
	export T
	bash job
	[ ! -e step.6 ]
	# the last step comes even if nothing was locked
	bash -e step.5
	ran migrate.sh deploy.sh
	free deploy-production
	rm steps
	both bash job
	ran_twice migrate.sh deploy.sh
	free deploy-production
	no_step_without_redlock bash job
}

# The examples of the manual and --help, as printed there.
manual_shows() {
	sed -n '/^\.Bd -literal/,/^\.Ed/p; s/^\.Dl //p' "$top"/man/redlock*.[157] |
		sed "s/\\\\(aq/'/g; s/\\\\e/\\\\/g; s/\\\\-/-/g"
}
help_shows() {
	local verb

	for verb in '' lock unlock extend inspect list top wait \
		force-release history doctor; do
		"$REDLOCK" $verb --help | sed -n '/^Examples:/,/^$/p'
	done
}
# The command lines in the text and the tables of the README. (Of some verbs it has
# the name only.)
readme_lines() {
	sed '/^```/,/^```/d; /^    /d' "$top/README.md" | tr '\n' ' ' |
		grep -o '`redlock [^`]*`' | tr -d '`' |
		grep -vxE 'redlock (lock|unlock|extend)'
}
# Every command line of ours in the README, the manual and --help, as words, one
# to a line: what stands behind redlock, up to what is the shell's.
examples() {
	{
		sed -n '/^```/,/^```/p; /^    /p' "$top/README.md"
		readme_lines
		manual_shows
		help_shows
	} | /usr/bin/python3 -c '
import json, re, shlex, sys
text = re.sub(r"\\\n\s*", " ", sys.stdin.read())
for line in text.splitlines():
    m = re.match(r"^\s*(?:\$ |[*0-9 ]+ root |ExecStart=/usr/local/bin/|token=\$\(|eval \"\$\()?(redlock [^ ].*)", line)
    if not m or re.match(r"redlock( VERB| \[|:| \d|  )", m.group(1)):
        continue
    words = shlex.shlex(m.group(1).replace("$$", "1"), posix=True, punctuation_chars="();<>|&")
    words.whitespace_split = True
    words.commenters = "#"
    out = []
    try:
        for w in words:
            if set(w) <= set("();<>|&"):
                break
            out.append(w)
    except ValueError:
        pass # a quotation that ends on another line
    print(json.dumps(out))'
}

@test "the manuals have no table that a narrow terminal cuts" {
	# (mdoc does not break the last column of a -column list)
	run ! grep -n '^\.Bl -column' "$top"/man/*.[157]
}

@test "redlock accepts every command line in the README, the manual and --help" {
	examples | sort -u >"$T/examples"
	at_least "$(wc -l <"$T/examples")" 40
	/usr/bin/python3 - "$REDLOCK" "$T/examples" <<'END'
import json, subprocess, sys
bad = 0
for line in open(sys.argv[2], encoding='utf-8'):
    words = json.loads(line)
    # --help ends it behind the options, which are read before
    at = 2 if len(words) > 1 and not words[1].startswith('-') else 1
    r = subprocess.run([sys.argv[1], *words[1:at], '--help', *words[at:]],
                       capture_output=True, text=True)
    if r.returncode != 0:
        print(' '.join(words), r.stderr, sep='\n')
        bad += 1
sys.exit(bad > 0)
END
}

# The same lines, as a shell takes them: without a schedule, a prompt or the
# machine's paths. The scripts, the Makefile, the job of several steps and the
# timer have tests of their own.
shell_lines() {
	{
		sed -n 's/^    //p; /^```sh/,/^```/p' "$top/README.md"
		readme_lines
		sed -n '/^```yaml/,/^```/s/^ *- \(run: exec \)\?\(redlock -k\)/\2/p' "$top/README.md"
		manual_shows
		help_shows | sed -n 's/^  //p'
	} | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' |
		sed -E 's/^\$ //; s/^[0-9*]+( [0-9*]+){4} +(root +)?//
			s|^\./bootstrap --yes && \./||; s|/usr/local/bin/|./|
			s/ +\(with .*\)$//' |
		grep -E '^(eval "\$\()?redlock [a-z-]' | grep -v '^redlock VERB' | sort -u
}
# Our servers for those of the examples, which have no such names here.
as_redlock() {
	cat <<'END'
#!/bin/bash
args=()
for a; do
	case $a in
	redis://[bc]|redis://[bc].example|redis://db[23]) a=unix://$T/${a:8}.sock
		a=${a/.example}; a=${a/db2/b}; a=${a/db3/c} ;;
	redis://cache.example/2) a="unix://$T/a.sock?db=2" ;;
	redis://*) a=unix://$T/a.sock ;;
	local:*) a="local:?dir=$T/local&idle=1s" ;;
	--) args+=(--); shift; break ;;
	esac
	args+=("$a"); shift
done
exec "$REDLOCK" "${args[@]}" "$@"
END
}
# What a line needs: a lock that is held, one that was, or a token.
example_needs() { # LINE
	local key=deploy

	case $1 in
	*' site'*) key=site ;;
	'redlock history nightly'*) key=nightly ;;
	esac
	case $1 in
	*' --token "$REDLOCK_TOKEN"'*)
		REDLOCK_TOKEN=$(redlock lock deploy -t 1m)
		export REDLOCK_TOKEN
		;;
	'redlock extend'* | 'redlock unlock'*)
		token=$(redlock lock "$key" -t 1m)
		export token REDLOCK_TOKEN=$token
		# (the shell's parent is this one)
		tee "token.$BASHPID" <<<"$token" >/dev/null
		;;
	'redlock history'*) redlock -k "$key" true ;;
	'redlock force-release'* | 'redlock inspect'* | 'redlock top'*)
		"$REDLOCK" -k deploy -k nightly -t 3s sleep 600 3>&- &
		other=$!
		wait_until held deploy
		;;
	esac
}
example_runs() { # LINE: with the status that it has when all is well
	local want=0

	case $1 in
	*' --hold '*)
		sh -c "exec $1" 3>&- &
		wait_until held deploy || return
		kill "$!"
		wait "$!" || want=$?
		[ "$want" = 143 ]
		;;
	'redlock top'*' --json')
		sh -c "exec $1" >answer 3>&- &
		wait_until contains answer '"deploy"' || return
		kill "$!"
		wait "$!" || want=$?
		[ "$want" = 143 ]
		;;
	'redlock top' | 'redlock top '*)
		TERM=xterm pty size:24x80 'wait:deploy' send:q -- sh -c "$1"
		;;
	'redlock force-release'*)
		case $1 in
		*--confirm*) sh -c "$1" || return ;;
		*) pty 'wait:type the key again: ' 'send:deploy\n' -- sh -c "$1" || return ;;
		esac
		free deploy
		;;
	*) sh -c "$1" 3>&- ;;
	esac
}

@test "every example line of the README, the manual and --help runs" {
	local line words n=0 other token c

	node_start b
	node_start c
	cli a acl setuser ci on '>secret' '~*' '&*' +@all >/dev/null
	mkdir "$T/bin" "$T/home"
	as_redlock >"$T/bin/redlock"
	ln -s /bin/true "$T/bin/make"
	ln -s ../command "$T/bin/nightly"
	printf '#!/bin/sh\necho "$0 $*" >>"%s/ran"\n' "$T" >"$T/command"
	chmod +x "$T/bin/redlock" "$T/command"
	(umask 077; echo secret >"$T/home/.redis")
	export HOME=$T/home PATH=$T/bin:$PATH T REDLOCK REDLOCK_URL=$url
	export REDLOCK_RESTART_GUARD=off CI_ENVIRONMENT_SLUG=production
	export CI_PIPELINE_IID=42
	shell_lines >"$T/lines"
	at_least "$(wc -l <"$T/lines")" 45
	mkdir "$T/scripts"
	for c in $(grep -oE '(^| )\./[a-z.-]+' "$T/lines" | sort -u) smoke-test.sh; do
		cp "$T/command" "$T/scripts/$c"
	done
	while IFS= read -r line <&4; do
		rm -rf "$T/there" "$T/ran"
		cp -r "$T/scripts" "$T/there"
		cd "$T/there"
		other=
		unset REDLOCK_TOKEN token
		case $line in
		*' -k demo '*) continue ;; # the two terminals: a test of their own
		*unshare*) unshare -pf true 2>/dev/null || continue ;;
		esac
		echo "example: $line"
		example_needs "$line"
		example_runs "$line" || { echo "failed: $line, $?" >&2; return 1; }
		case $line in
		*' -- ./'*) [ -s "$T/ran" ] || { echo "not run: $line" >&2; return 1; } ;;
		esac
		[ -z "$other" ] || { kill "$other" 2>/dev/null || :; wait "$other" || :; }
		cli a flushall >/dev/null
		n=$((n + 1))
	done 4<"$T/lines"
	at_least "$n" 45
	wait_until eval '! pgrep -f "$T/local" >/dev/null'
}

@test "README: two pages" {
	[ "$(wc -l <"$top/README.md")" -le 220 ]
}

# The first commands that a reader types, and what the second terminal shows: figures
# and names differ.
@test "README: the two terminals show what it says" {
	local first second shown

	mkdir "$T/bin"
	as_redlock >"$T/bin/redlock"
	chmod +x "$T/bin/redlock"
	export PATH=$T/bin:$PATH T REDLOCK TERM=xterm
	sed -n '/^## Try it/,/^## Install/s/^    //p' "$top/README.md" >"$T/try"
	first=$(sed -n '1s/^\$ //p' "$T/try")
	second=$(sed -n '2,$s/^\$ //p' "$T/try")
	shown=$(sed -n 's/^\(redlock: .*\)/\1/p' "$T/try")
	[[ $first = 'redlock -u local: '* && $second = 'redlock -u local: '* ]]
	launch --default all sh -c "exec $first" 3>&- &
	helpers="$helpers $!"
	wait_until eval '"$T/bin/redlock" -q inspect -u local: demo >/dev/null 2>&1'
	local first_pid=$!
	# the second line that counts: by then it says since when
	pty size:24x100 "wait:${shown##*: }" "wait:${shown##*: }" "wait:waiting 2s" \
		run:"kill -9 $first_pid" -- sh -c "$second" >"$T/screen"
	shown=$(sed -E 's/[][().*]/\\&/g; s/[0-9]+/[0-9]+/g; s/ann@laptop/[^ ]+@[^ ]+/' <<<"$shown")
	tr '\r' '\n' <"$T/screen" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' >"$T/lines"
	grep -qx "$(sed -n '$p' "$T/try")" "$T/lines"
	grep -qxE "$shown" "$T/lines" || { echo "not shown: $shown" >&2; cat -v "$T/lines" >&2; false; }
	wait "$first_pid" || :
	wait_until eval '! pgrep -f "$T/local" >/dev/null'
}

# (check-deb.sh installs the package; bootstrap.bats has the clone)
@test "README: the released file is installed by the line that it shows" {
	local line file

	unshare -Urm true 2>/dev/null || skip 'may not make a mount namespace'
	line=$(grep -o '`install redlock-[^`]*`' "$top/README.md" | tr -d '`')
	set -- $line
	file=$2
	[ "$3" = /usr/local/bin/redlock ]
	cp "$REDLOCK" "$T/$file"
	cd "$T"
	run -0 unshare -Urm sh -c "mount -t tmpfs none /usr/local/bin && $line &&
		/usr/local/bin/redlock --version"
	[[ $output = "redlock "* ]]
}

@test "the README's timer: the machine whose timer is late does not repeat the work" {
	local line

	line=$(sed -n 's|^ *ExecStart=/usr/local/bin/redlock ||p' "$top/README.md")
	[[ $line = *' -- /usr/local/bin/report' ]]
	line=${line%/usr/local/bin/report}
	for i in 1 2; do
		# shellcheck disable=SC2086 # words
		run -0 redlock $line sh -c "echo ran >>$T/ran"
	done
	[[ $output = *'report: already ran on '* ]]
	[ "$(wc -l <"$T/ran")" = 1 ]
}

@test "pictures of a terminal: each cell has its place, no wider than what is shown" {
	printf 'ab  \033[1mc\033[0m d\r\n' | vt 4x80 svg title >"$T/svg"
	/usr/bin/python3 - "$T/svg" <<'END'
import sys, xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1]).documentElement
at, texts = {}, svg.getElementsByTagName('text')
for t in texts:
    places = [float(x) for x in t.getAttribute('x').split()]
    assert len(places) == len(t.firstChild.data), places
    # a renderer may collapse blanks, or know the first place only
    assert not set(t.firstChild.data) & set(' \xa0'), t.firstChild.data
    at.update({c: x for c, x in zip(t.firstChild.data, places) if c.strip('\xa0')})
letter = at['b'] - at['a']
assert [round((at[c] - at['a']) / letter, 1) for c in 'bcd'] == [1, 4, 6], at
assert float(svg.getAttribute('width')) < 12 * letter + 40, svg.getAttribute('width')
END
	for f in top inspect; do
		not grep -q textLength "$top/docs/$f.svg"
		grep -q '<text x="[0-9.]* [0-9.]* ' "$top/docs/$f.svg"
		not grep -E '<text [^>]*>[^<]*([[:blank:]]|'$'\xc2\xa0'')' "$top/docs/$f.svg"
	done
}
