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
	echo 'echo interop >>"$T/ran"; echo "# PASS:  7"; echo "# SKIP:  1"
		echo "SKIP: tests/x.bats 3 a | b # SKIP no such library"' >"$T/legs/check-interop"
	echo 'echo hiredis1 >>"$T/ran"; echo "# PASS:  2"; echo "# FAIL:  1"
		echo "not ok 3 this one"; exit 1' >"$T/legs/check-hiredis1"
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
	[[ $(<docs/tested.md) = *$'## hiredis1 failed\n\n    not ok 3 this one'* ]]
	grep -qx '    redlock 1.2.3' docs/tested.md

	# what passed is not run again; the report is no change of the tree
	echo 'echo "# PASS:  3"' >"$T/legs/check-hiredis1"
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
