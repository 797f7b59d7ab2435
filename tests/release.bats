#!/usr/bin/env bats
# What must be so before a release, and stay so afterwards: the report of
# `make prove-release`, and the lists of docs/compatibility.md.

load lib/common

# ---- make prove-release ----

# A tree in which the legs do what the files in $T/legs say: a Makefile that runs
# them, and a bootstrap that says what is missing.
proving() {
	unset MAKEFLAGS MFLAGS MAKELEVEL
	export HOME=$T GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	mkdir -p "$T/tree/scripts" "$T/tree/docs" "$T/legs"
	cd "$T/tree"
	cp "$top/scripts/prove-release.sh" scripts
	printf '#!/bin/sh\n[ "$1" != --missing ] || cat "%s/missing-$2"\n' "$T" >bootstrap
	printf '#!/bin/sh\necho redlock 1.2.3\n' >redlock
	chmod +x bootstrap redlock
	printf 'check Makefile: ;\n%%:\n\t@sh "%s/legs/$@"\n' "$T" >Makefile
	: >"$T/missing-lint"
	: >"$T/missing-check-interop"
	: >"$T/missing-check-hiredis1"
	echo 'spin ' >"$T/missing-model"
	echo 'echo lint >>"$T/ran"' >"$T/legs/lint"
	# (the first line is of test-suite.log, which a failure shows)
	echo 'echo interop >>"$T/ran"; echo "# PASS:  6"
		echo "Testsuite summary for x"; echo "# PASS:  7"; echo "# SKIP:  1"
		echo "SKIP: tests/x.bats 3 a | b # SKIP no such library"' >"$T/legs/check-interop"
	echo 'echo hiredis1 >>"$T/ran"
		echo "Testsuite summary for x"; echo "# PASS:  2"; echo "# FAIL:  1"
		echo "not ok 3 this one"; echo "FAIL: it"; echo "# it said this"; echo that; exit 1' >"$T/legs/check-hiredis1"
	export T
	printf '/build-*\n' >.gitignore
	git init -q
	git add .
	git commit -qm one
}
prove() { run "-$1" scripts/prove-release.sh lint interop model hiredis1; }

@test "prove-release reports what passed, failed, cannot run, and goes on from there" {
	command -v git >/dev/null || skip 'no git'
	proving
	prove 1
	[ "$(<"$T/ran")" = $'lint\ninterop\nhiredis1' ]
	grep -qxF '| lint | passed |  | < 1 |' docs/tested.md
	grep -qxF '| interop | passed | 7 tests passed, 0 failed, 1 skipped | < 1 |' docs/tested.md
	grep -qxF '| interop | a \| b | no such library |' docs/tested.md
	grep -qxF '| model | cannot run | not installed: spin |  |' docs/tested.md
	grep -qxF '| hiredis1 | FAILED | 2 tests passed, 1 failed, 0 skipped | < 1 |' docs/tested.md
	grep -qxF '| fuzz | not run yet |  |  |' docs/tested.md
	grep -qF -- "- Commit: $(git rev-parse HEAD)," docs/tested.md
	grep -qx -- '- .* legs: 2 passed, 1 failed, 1 cannot run on this machine, .*' docs/tested.md
	[[ $(<docs/tested.md) = *$'## hiredis1 failed\n\n    not ok 3 this one\n    FAIL: it\n    # it said this\n\n'* ]]
	grep -qx '    redlock 1.2.3' docs/tested.md

	# what passed is not run again; the report is no change of the tree
	echo 'echo "Testsuite summary for x"; echo "# PASS:  3"' >"$T/legs/check-hiredis1"
	prove 0
	[[ $output = *'lint: passed before'*'interop: passed before'* ]]
	[ "$(<"$T/ran")" = $'lint\ninterop\nhiredis1' ]
	grep -qxF '| hiredis1 | passed | 3 tests passed, 0 failed, 0 skipped | < 1 |' docs/tested.md

	# other numbers, and another commit, begin anew
	SIM_ONE=5 run -0 scripts/prove-release.sh lint
	[ "$(<"$T/ran")" = $'lint\ninterop\nhiredis1\nlint' ]
	grep -qxF '| interop | not run yet |  |  |' docs/tested.md
	echo >>Makefile
	run -1 scripts/prove-release.sh lint
	[[ $output = *'not committed'* ]]
	git commit -qam two
	run -0 scripts/prove-release.sh lint
	[ "$(<"$T/ran")" = $'lint\ninterop\nhiredis1\nlint\nlint' ]

	# a commit of the report changes nothing; one of anything else does, except
	# for what reads little; and another machine goes on from the report
	: >"$T/missing-model"
	echo 'echo model >>"$T/ran"; echo "Testsuite summary for x"; echo "# PASS:  9"
		echo "SKIP: tests/x.bats 4 b # SKIP no spin"' >"$T/legs/model"
	: >"$T/ran"
	git add docs
	git commit -qm report
	run -0 scripts/prove-release.sh lint model
	[ "$(<"$T/ran")" = model ]
	grep -qxF "| lint | passed |  (at $(git rev-parse --short HEAD~1)) | < 1 |" docs/tested.md
	git tag old
	git commit -qam report
	rm -r build-prove/results
	echo >docs/new
	git add docs/new
	git commit -qm three
	run -0 scripts/prove-release.sh lint model
	[ "$(<"$T/ran")" = $'model\nlint' ]
	grep -qxF "| model | passed | 9 tests passed, 0 failed, 0 skipped (at $(git rev-parse --short old)) | < 1 |" docs/tested.md
	grep -qxF '| model | b | no spin |' docs/tested.md
	mkdir -p tests/model
	echo >tests/model/new
	git add tests
	git commit -qm four
	run -0 scripts/prove-release.sh model
	[ "$(<"$T/ran")" = $'model\nlint\nmodel' ]
	run -64 scripts/prove-release.sh lind
}

@test "prove-release that is stopped ends its leg, which begins again the next time" {
	command -v git >/dev/null || skip 'no git'
	proving
	echo 'echo lint >>"$T/ran"; exec linger' >"$T/legs/lint"
	helper scripts/prove-release.sh lint
	wait_until grep -q lint "$T/ran"
	kill "$!"
	ended_as "$!" 130
	lacks docs/tested.md 'lint | passed'
	echo 'echo again >>"$T/ran"' >"$T/legs/lint"
	run -0 scripts/prove-release.sh lint
	[ "$(<"$T/ran")" = $'lint\nagain' ]
}

# ---- docs/compatibility.md ----

@test "what compatibility.md promises is as listed: options, statuses, JSON, layout" {
	cd "$top"
	scripts/compatibility.sh "$REDLOCK" >"$T/now"
	diff -U 0 tests/compatibility "$T/now" >"$T/diff" || {
		echo 'a line with "-" breaks a promise, one with "+" is a new one:' \
			'see docs/compatibility.md, and make compatibility'
		cat "$T/diff"
		return 1
	} >&2
	# the list has something of each kind
	for line in 'option run -k --key KEY' 'option inspect --json' 'verb lock' \
		'setting ttl REDLOCK_TTL' 'url redis://' 'url tls-verify=' \
		'status 75 BUSY' 'schema redlock.result/1 outcome string' \
		'variable given REDLOCK_FENCE' 'variable read REDIS_URL' 'layout v 2' \
		'layout field hold:TOKEN "ENDS NUMBER FLAG"' \
		'layout key KEY:redlock:{KEY}:queue, a sorted set'; do
		grep -qxF -- "$line" "$T/now"
	done
}

@test "what a promise was about is missed: option, default, status, JSON, layout" {
	cp -r "$top"/{scripts,src,man,docs,tests} "$T" 2>/dev/null || :
	cd "$T"
	sed "s/(75)/(76)/; s/ --max-hold / --max-held /" <<<"$("$REDLOCK" --help)" >help
	printf '#!/bin/sh\n[ "$1" = --help ] && exec cat "%s/help"\nexec "%s" "$@"\n' \
		"$T" "$REDLOCK" >changed
	chmod +x changed
	sed -i 's/STATUS_BUSY = 75/STATUS_BUSY = 74/' src/cli/command.h
	sed -i 's/^\.It Li held_ms Em number$/.It Li held Em number/' man/redlock-json.5
	sed -i '/^\.Ss Given to/,/^\.Ss Read/s/Ev REDLOCK_FENCES$/Ev REDLOCK_FENSES/' man/redlock.1
	sed -i 's/^\(local LAYOUT.* = \)2,/\13,/; s/"FROM TO"/"TO FROM"/' src/lua/start.lua
	scripts/compatibility.sh ./changed >now
	comm -23 tests/compatibility now >gone
	for line in 'option run --max-hold DUR' 'status 75 BUSY' \
		'option run -E --conflict-exit-code N (75)' \
		'schema redlock.result/1 held_ms number' 'variable given REDLOCK_FENCES' \
		'layout v 2' 'layout field readers "FROM TO"'; do
		grep -qxF -- "$line" gone
	done
}

# What a later version may add: fields, flags, lines.
@test "what a version does not know in state and line, it ignores and leaves alone" {
	local later='11111111-1111-4111-8111-111111111111 30000 1 z' state holder waiter

	state=$(state_of job)
	redlock -k job -- true
	cli a hset "$state" colour blue >/dev/null
	hold open
	helper "$REDLOCK" -u "$url" -k job -- \
		witness "$T" --started "$T/second" --until "$T/go"
	waiter=$!
	wait_until in_line 1
	# a waiter behind it
	cli a zadd 'job:redlock:{job}:queue' 9000000000000000 \
		"$later"$'\nhost later\ncolour blue\n' >/dev/null
	run -0 "$REDLOCK" inspect -u "$url" job --json
	as_in_manual "$output" 'assert d["waiters"][1]["host"] == "later"'
	end_hold
	wait_until exists "$T/second"
	[ "$(cli a hget "$state" colour)" = blue ]
	[ "$(cli a zrange 'job:redlock:{job}:queue' 0 -1 | head -n 1)" = "$later" ]
	: >"$T/go"
	ended_as "$waiter" 0
	cli a flushall >/dev/null # it is that waiter's turn
}
