#!/usr/bin/env bats
# Lists that must agree, and the layers of the source.

load lib/common

@test "--help, manual, completions and exit statuses agree with the code" {
	cd "$top"
	run -0 scripts/check-docs.sh "$REDLOCK"
}

# In a copy: what is told of it must be one of the lines. FILE SED TOLD
plant() {
	sed "$2" "$1" >"$T/planted"
	! cmp -s "$1" "$T/planted" || { echo "not planted: $2 in $1" >&2; return 1; }
	cp "$T/planted" "$1"
	told+=("$1$3")
}
@test "what they disagree in is found, one way and the other" {
	told=()
	mkdir "$T/tree"
	cd "$T/tree"
	cp -r "$top"/{README.md,completions,man,scripts,src} .
	m=man/redlock.1 b=completions/bash/redlock z=completions/zsh/_redlock
	f=completions/fish/redlock.fish
	# the run form
	plant $m 's/^\.It Fl n , Fl -no-wait$/.It Fl n , Fl -no-await/' \
		', OPTIONS: missing option: run -n --no-wait'
	told+=("$m, OPTIONS: unknown option: run -n --no-await")
	plant $m 's/^\.It Fl w , Fl -wait Ar duration/.It Fl w , Fl -wait/' \
		', OPTIONS: unknown option: run -w --wait'
	plant $b '/--shared-scope: all/d' ': missing option: run --shared-scope'
	plant $z 's/\[alone\]/[alone]:word: /' \
		': unknown option: run -x --exclusive value'
	plant $f "s/ -l tls-verify -x -a 'full ca none'/ -l tls-verify -x/" \
		': --tls-verify: the values are not full|ca|none'
	plant $f 's/ --orphans / /' \
		', __redlock_command: missing option that takes a value: --orphans'
	# verbs
	plant $m 's/^\.Ss inspect$/.Ss inspekt/' ', VERBS: missing verb: inspect'
	told+=("$m, VERBS: unknown verb: inspekt")
	plant $m 's/^\.It Fl -confirm Ar key$/.It Fl -confirn Ar key/' \
		', VERBS: missing option: force-release --confirm value'
	told+=("$m, VERBS: unknown option: force-release --confirn value")
	plant $m 's/^\.It Fl -grace Ar duration$/.It Fl -grace/' \
		', VERBS: unknown option: force-release --grace'
	plant $m 's/^\.It Fl -foreign$/&\n.It Fl -askpas/' \
		', VERBS: force-release: takes no --askpas'
	plant $m 's/^\.Fl -max-waiters , Fl -supersede ,/.Fl -max-waiters ,/' \
		', VERBS: lock: --supersede is not named'
	plant $b 's/^\tdoctor$/\tdoktor/' ': missing verb: doctor'
	told+=("$b: unknown verb: doktor")
	plant $z 's/--json\[/--jsn[/' ': missing option: list --json'
	told+=("$z: unknown option: list --jsn")
	plant $z "s/^\t'wait:/\t'wate:/" ': missing verb: wait'
	plant $f "s/'__redlock_takes unlock extend'/'__redlock_takes unlock'/" \
		': missing option: extend --token value'
	plant $f '/-n __redlock_first .* -a top /d' ': missing verb: top'
	plant README.md 's/redlock history/redlock story/' ': missing verb: history'
	# the rest
	plant $m 's|^\.Ss redlock.list/1|.Ss redlock.list/2|' \
		', JSON: missing schema: redlock.list/1'
	told+=("$m, JSON: unknown schema: redlock.list/2")
	plant $m 's/^\.It 124$/.It 123/' ', EXIT STATUS: missing exit status: 124'
	plant $m 's/^\.It Li sni=/.It Li snj=/' ', SERVERS: unknown option of a URL: snj'
	plant $m 's/^\.It Ev REDLOCK_FENCE$/.It Ev REDLOCK_FENS/' \
		', ENVIRONMENT: missing variable for the command: REDLOCK_FENCE'
	plant $m 's/^\.It Ev XDG_RUNTIME_DIR$/.It Ev XDG_DIR/' \
		', ENVIRONMENT: missing variable that is read: XDG_RUNTIME_DIR'
	run -1 scripts/check-docs.sh "$REDLOCK"
	for line in "${told[@]}"; do
		grep -qxF -- "$line" <<<"$output" ||
			{ echo "$output"; echo "not told: $line"; return 1; } >&2
	done
}

@test "no file includes or calls against the layers" {
	cd "$top"
	run -0 scripts/check-layers.sh
}

# ---- the examples of README.md ----

block() { # LANGUAGE TEXT: the block of it that has the text
	awk -v language="$1" -v text="$2" '
		inside && /^```$/ { if (found) print block; inside = 0 }
		inside { block = block $0 "\n"; found = found || index($0, text) }
		$0 == "```" language { inside = 1; found = 0; block = "" }' \
		"$top/README.md"
}
# Commands of an example, which note who holds KEY while they run.
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
# What unlock leaves for a keeper to hear of goes by itself.
forget_words() {
	cli a --raw keys '*:grant:*' | xargs -r redis-cli -s "$T/a.sock" del
}
ran() { # COMMAND...: each under one lock
	local held

	held=$(sed -n '1s/.* //p' steps)
	[ ${#held} = 36 ]
	[ "$(cat steps)" = "$(printf "%s $held\n" "$@")" ]
}

@test "README: the rest of a script" {
	steps nightly dump-database upload
	block sh '--keep-for $$' >script
	for sh in sh bash; do
		"$sh" script 3>&-
		ran dump-database upload
		wait_until free nightly
		rm steps
	done
}

@test "README: a Makefile" {
	command -v make >/dev/null || skip "no make"
	steps site render publish
	block make 'redlock lock site' >Makefile
	make site
	ran render publish
	free site
	forget_words
}

@test "README: a job of GitHub Actions, each step a shell" {
	steps deploy-production migrate.sh deploy.sh
	export GITHUB_ENV=$T/env
	block yaml 'redlock lock deploy-production' | awk '
		/- run: / { n++; sub(/.*- run: \|?/, "") }
		/^ *(if|steps):/ { next }
		n { print >("step." n) }'
	for i in 1 2 3 4 5; do
		(
			set -a
			[ ! -e "$GITHUB_ENV" ] || . "$GITHUB_ENV"
			exec bash -e "step.$i"
		)
	done
	[ ! -e step.6 ]
	ran migrate.sh deploy.sh
	free deploy-production
	forget_words
}
