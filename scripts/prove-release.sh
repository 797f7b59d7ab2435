#!/bin/sh
# SPDX-License-Identifier: MIT
# Called by `make prove-release`: runs every check of a release on one commit, one
# after another, and writes docs/tested.md.
#
#   scripts/prove-release.sh [LEG...]     runs all legs that have not passed on this
#                                         commit, or those of them that are named
#   scripts/prove-release.sh --list       names the legs
#
# It tests HEAD in a clone, build-prove/tree, so you can go on working here. What is
# slow to build (OpenSSL, servers, fresh systems) stays there for the next commit. May
# be stopped at any time: the leg that was running begins again the next time. On
# another machine it goes on from the report. A leg that this machine cannot run is
# named in the report, with the reason.
# The status is 1 if a leg failed.
set -u
cd "$(dirname "$0")/.." || exit
self=$PWD/scripts/prove-release.sh

# ---- parameters: from the environment or, by `make prove-release NAME=VALUE`, from
# the command line. Other values than those of the last time begin anew. ----

: "${SEED:=}" # the first time that of the report, or a new one; then that of the last time
: "${SIM_ONE:=200000}"            # schedules on one server, on three, on five
: "${SIM_THREE:=50000}"
: "${SIM_FIVE:=50000}"
: "${COMPARE_STEPS:=1000000}"     # requests to the small Redis and to a real server
: "${HOSTILE_RUNS:=22000}"
: "${FUZZ_SECONDS:=600}"          # each target
: "${FAULTS_HOLDS:=30000}"
: "${FAULTS_SECONDS:=300}"        # at a time, until there were so many holds
: "${SOAK_SECONDS:=7200}"
parameters="SIM_ONE=$SIM_ONE SIM_THREE=$SIM_THREE SIM_FIVE=$SIM_FIVE
COMPARE_STEPS=$COMPARE_STEPS HOSTILE_RUNS=$HOSTILE_RUNS FUZZ_SECONDS=$FUZZ_SECONDS
FAULTS_HOLDS=$FAULTS_HOLDS SOAK_SECONDS=$SOAK_SECONDS"

# NAME MINUTES TARGET [READS...]: the time limit, the target of ./bootstrap whose
# packages the leg needs, and all that it reads, if that is little: its result stands
# for every commit in which that is the same. (Else: all but the report.)
compared='src/base src/lock src/lua src/net tests/sim :!tests/sim/rules'
simulated="$compared :!tests/sim/compare.c"
runs='src :!src/cli/show :!src/cli/query.c :!src/cli/query.h' # of a command, not looks
legs="
lint                  30   lint
strict-1              30   check
strict-2              30   check
strict-3              30   check
interop               20   check-interop
sim-one              180   check            $simulated
sim-three            360   check            $simulated
sim-five             720   check            $simulated
sim-twins            180   check
compare               60   check            $compared
mutants               60   mutants
mutants-lua          720   mutants
mutants-core         360   mutants
model                 90   model            tests/model
hiredis1              30   check-hiredis1
asan                 180   check-asan
tsan                 240   check-tsan
valgrind              90   check-valgrind
hostile              120   check-hostile    src tests/hostile
fuzz                 120   fuzz             src tests/fuzz
faults               180   check-faults     src tests/lib tests/faults.bats
soak                 150   check            $runs tests/lib tests/soak
upgrade               30   check-upgrade
versions-redis-6.0    60   check-versions
versions-redis-6.2    60   check-versions
versions-redis-7.2    60   check-versions
versions-redis-8.0    60   check-versions
versions-redis-8.0.6  60   check-versions
versions-valkey-7.2   60   check-versions
versions-valkey-8.0   60   check-versions
versions-valkey-8.1   60   check-versions
versions-valkey-9.1   60   check-versions
versions-redict-7.3   60   check-versions
systems-bullseye      60   check-systems
systems-trixie        60   check-systems
systems-sid           60   check-systems
static                60   check-static
aarch64               60   check-aarch64
image                 30   check-image
deb                   60   check-deb
packages              30   check-packages
distcheck             60   distcheck
release              120   release
install               60   check-release
reproducible         120   release
"

say() { echo "prove-release: $*"; }

# ---- the legs: what each runs, in the clone ----

# Tests mostly wait; under a sanitizer they also compute. (More at once save 15 s of 5
# minutes, and the tests wait for each other instead of for what they are about.)
many() { make -j $((4 * $(nproc))) "$@"; }
some() { make -j $((2 * $(nproc))) "$@"; }
figure() { echo "prove: $*"; } # for the report
sum() { echo $(($(echo "${1:-0}" | paste -sd +))); } # of lines

run_leg() { # NAME
	case $1 in
	lint) make lint ;;
	strict-*) many check-strict ;;
	interop) some check-interop ;;
	sim-one) tests/sim/sim --runs "$SIM_ONE" --from "${SEED}000000" ;;
	sim-three) tests/sim/sim --nodes 3 --runs "$SIM_THREE" --from "${SEED}000000" ;;
	sim-five) tests/sim/sim --nodes 5 --runs "$SIM_FIVE" --from "${SEED}000000" ;;
	sim-twins) SIM_SEED=$SEED make check-sim ;;
	compare) compare ;;
	mutants) make mutants ;;
	mutants-*) make "$1" ;;
	model) make model ;;
	hiredis1) some check-hiredis1 ;;
	asan | tsan) SIM_SEED=$SEED some "check-$1" ;;
	valgrind) some check-valgrind ;;
	hostile) make check-hostile HOSTILE_RUNS="$HOSTILE_RUNS" HOSTILE_SEED="$SEED" ;;
	fuzz) fuzz ;;
	faults) faults ;;
	soak) make check-soak SOAK_SECONDS="$SOAK_SECONDS" ;;
	upgrade) make check-upgrade ;;
	versions-*) make check-versions VERSIONS="${1#versions-}" ;;
	systems-*) make check-systems SYSTEMS="${1#systems-}" ;;
	static)
		scripts/static.sh &&
			many check REDLOCK="$PWD/build-static/$(uname -m)/redlock/redlock"
		;;
	deb | image | packages | aarch64) make "check-$1" ;;
	distcheck) many distcheck ;;
	release) make release VERSION="$(version)" && rm -rf ../release && cp -r release .. ;;
	install) needs_release && scripts/check-release.sh ../release ;;
	reproducible) needs_release && reproducible ;;
	esac
}
version() { sed -n 's/^AC_INIT(\[redlock\], \[\([^]]*\).*/\1/p' configure.ac; }

compare() {
	dir=$(mktemp -d) || return
	redis-server --port 0 --unixsocket "$dir/s" --save '' --dir "$dir" >"$dir/log" 2>&1 &
	for _ in $(seq 100); do
		redis-cli -s "$dir/s" ping >/dev/null 2>&1 && break
		sleep 0.1
	done
	tests/sim/sim --differ "$dir/s" "$COMPARE_STEPS" "$SEED" &&
		tests/sim/sim --plain "$COMPARE_STEPS" "$SEED"
	code=$?
	kill $!
	rm -rf "$dir"
	[ $code = 0 ] && figure "twice $COMPARE_STEPS requests"
}
fuzz() {
	make fuzz FUZZ_SECONDS="$FUZZ_SECONDS" 2>&1 | tee fuzz.said
	# the status of a pipe is that of tee
	units=$(sed -n 's/^stat::number_of_executed_units: *//p' fuzz.said)
	targets=$(sed -n 's/^FUZZ = //p' tests/local.mk | wc -w)
	[ "$(echo "$units" | wc -w)" = "$targets" ] || return
	figure "$(sum "$units") inputs for $targets targets"
}
faults() {
	held=0 run=0
	while [ $held -lt "$FAULTS_HOLDS" ]; do
		REDLOCK_SEED=$((SEED + run)) \
			make check-faults FAULTS_SECONDS="$FAULTS_SECONDS" || return
		more=$(sum "$(sed -n 's/^# \([0-9]*\) holds.*/\1/p' tests/faults.log)")
		[ "$more" -gt 0 ] || return
		held=$((held + more)) run=$((run + 1))
	done
	figure "$held holds"
}
needs_release() {
	[ -e ../release/SHA256SUMS ] || {
		echo 'skipped: the leg release has not passed'
		return 77
	}
}
# The same files from a second clone, at another place, time and umask; only the
# sources of the libraries are the same download.
reproducible() {
	dir=$(mktemp -d) || return
	(
		umask 027
		export TZ=Asia/Tokyo LC_ALL=C JOBS=1
		git clone -q . "$dir/elsewhere" && cd "$dir/elsewhere" &&
			mkdir build-static && cp -r "$OLDPWD/build-static/sources" build-static &&
			./bootstrap release VERSION="$(version)" &&
			diff "$OLDPWD/../release/SHA256SUMS" release/SHA256SUMS
	)
	code=$?
	rm -rf "$dir"
	return $code
}

# Says why this machine cannot run a leg, or nothing.
cannot() { # NAME TARGET
	case $1 in
	versions-redis-6.2 | versions-redis-7.2 | versions-valkey-7.2)
		echo 'no release of Debian has this server'
		return
		;;
	systems-* | deb | image | install)
		[ "$(id -u)" = 0 ] || { echo 'needs root'; return; }
		unshare -m -p -f true 2>/dev/null || { echo 'may not make namespaces'; return; }
		;;
	model)
		[ "$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)" -gt 2200 ] ||
			{ echo 'needs 2.1 GB of memory'; return; }
		;;
	esac
	lacking=$(./bootstrap --missing "$2")
	[ -z "$lacking" ] || echo "not installed: ${lacking% }"
}

# ---- their results: in $state, that is $results/COMMIT, NAME.log, and NAME.done with
# a line of VERDICT, seconds, and counts or the reason, with tabs between ----

# What a log says about how much was tested: the sums of automake, or TAP, and what
# each tool says itself.
counts() { # LOG
	awk '
		function add(text) { said = said (said ? "; " : "") text }
		# (VERBOSE shows test-suite.log, too, which has the same sums)
		/^Testsuite summary for / { counted = 1 }
		counted && /^# (PASS|XFAIL|FAIL|ERROR|XPASS|SKIP):/ { n[$2] += $3; sums = 1 }
		/^# ERROR:/ { counted = 0 }
		/^ok [0-9]+/ { tap[/# (SKIP|skip)/ ? "SKIP:" : "PASS:"]++ }
		/^not ok [0-9]+/ { tap["FAIL:"]++ }
		/^ok [0-9]+ - [0-9]+ schedules/ { sub(/^ok [0-9]+ - /, ""); add($0) }
		/^[0-9]+ mutants, / || /^[0-9]+ runs, .*wrong; at most/ ||
		    /^[0-9]+ passed, [0-9]+ failed, / { add($0) }
		/^prove: / { add(substr($0, 8)) }
		END {
			if (!sums)
				for (i in tap)
					n[i] = tap[i]
			failed = n["FAIL:"] + n["ERROR:"] + n["XPASS:"]
			if (!said || sums)
				if (n["PASS:"] + failed + n["SKIP:"])
					add(n["PASS:"] + 0 " tests passed, " failed + 0 \
					    " failed, " n["SKIP:"] + 0 " skipped")
			print said
		}' "$1"
}
# What was skipped, "TESTS<TAB>REASON"; one test is named.
skipped() { # LOG
	sed -n -e 's/^SKIP: [^ ]* [0-9]* *\(.*\) # SKIP *\(.*\)/\1\t\2/p' \
		-e 's/^ok [0-9]* *\(.*\) # skip *\(.*\)/\1\t\2/p' "$1" |
		awk -F '\t' '
			{ n[$2]++; name[$2] = $1 }
			END { for (r in n) print (n[r] > 1 ? n[r] " tests" : name[r]) "\t" r }' |
		sort
}
finish() { # NAME VERDICT SECONDS TEXT
	[ ! -e "$state/$1.log" ] || skipped "$state/$1.log" >"$state/$1.skipped"
	printf '%s\t%s\t%s\n' "$2" "$3" "$4" >"$state/$1.done"
	say "$1: $2, $(($3 / 60)) min${4:+: $4}"
	write_report
}
child=
stop() {
	trap - INT TERM HUP
	[ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null
	say 'stopped; the next time goes on from here'
	exit 130
}
try_leg() { # NAME MINUTES TARGET
	log=$state/$1.log begun=$(date +%s)
	why=$(cd "$tree" && cannot "$1" "$3")
	if [ -n "$why" ]; then
		finish "$1" 'cannot run' 0 "$why"
		return
	fi
	say "$1, at most $2 min"
	# a shell lets what it starts with & ignore INT and QUIT
	env --default-signal=INT,QUIT timeout -k 60 "$2m" "$self" --run "$1" "$SEED" \
		>"$log" 2>&1 </dev/null &
	child=$!
	code=0
	wait $child || code=$?
	child=
	took=$(($(date +%s) - begun)) of=$(counts "$log")
	if [ $code = 124 ] || { [ $code = 137 ] && [ $took -ge $(($2 * 60)) ]; }; then
		finish "$1" FAILED $took "not over after $2 minutes${of:+; $of}"
	elif [ $code = 77 ] || tail -n 5 "$log" | grep -q 'Error 77$'; then
		finish "$1" 'cannot run' $took \
			"$(sed -n 's/.*skipped: //p' "$log" | tail -n 1)"
	elif [ $code != 0 ]; then
		finish "$1" FAILED $took "$of"
	elif case $of in '0 tests passed, 0 failed, '[1-9]*) ;; *) false ;; esac; then
		finish "$1" 'cannot run' $took "$of: $(skipped "$log" | head -n 1 | cut -f 2)"
	else
		finish "$1" passed $took "$of"
	fi
}

# Takes the result from another commit in which all that the leg reads is the same.
taken_over() { # NAME READS...
	name=$1
	shift
	[ "$name" != release ] || return # install and reproducible need its files
	[ $# -gt 0 ] || set -- . ':!docs/tested.md'
	for other in "$results"/*; do
		grep -qs '^passed' "$other/$name.done" || continue
		git diff --quiet "${other##*/}" "$commit" -- \
			"$@" configure.ac Makefile.am scripts/embed-lua.sh 2>/dev/null || continue
		short=$(git rev-parse --short "${other##*/}")
		sed "/ (at [0-9a-f]*)\$/!s/\$/ (at $short)/" "$other/$name.done" >"$state/$name.done"
		cp "$other/$name".[ls]* "$state" 2>/dev/null # log, skipped
		say "$name: passed at $short, where all that it reads is the same"
		return
	done
	return 1
}

# What the report says that was not run here: the same, without the logs.
recall() {
	report=docs/tested.md
	whole=$(sed -n 's/^- Commit: \([0-9a-f]*\),.*/\1/p' $report)
	sed -n 's/^| \([a-z0-9.-]*\) | passed | \(.*\) | \(< \)\?\([0-9]*\) |$/\1\t\3\4\t\2/p' $report |
		while IFS='	' read -r name took of; do
			[ "${took#<}" = "$took" ] || took=0
			at=$(echo "$of" | sed -n 's/.* (at \([0-9a-f]*\))$/\1/p')
			at=$results/$(git rev-parse "${at:-$whole}") || continue
			[ ! -e "$at/$name.done" ] || continue
			mkdir -p "$at"
			printf 'passed\t%s\t%s\n' $((took * 60)) "$of" >"$at/$name.done"
			sed -n "s/^| $name | \(.*\) | \(.*\) |\$/\1\t\2/p" $report |
				grep -v '^passed' >"$at/$name.skipped"
		done
}

# ---- the clone ----

prepare() {
	said=$(sed -n 's/^- Seed: //p' docs/tested.md 2>/dev/null)
	numbers=$(echo "$parameters" | paste -sd ' ')
	[ "$(cat "$results/parameters" 2>/dev/null)" = "$parameters" ] || {
		rm -rf "$results"
		mkdir -p "$results"
		[ -n "$SEED" ] || [ "${said#*; }" != "$numbers" ] || SEED=${said%%;*}
		echo "$parameters" >"$results/parameters"
		echo "${SEED:-$(date +%s)}" >"$results/seed"
	}
	mkdir -p "$state"
	SEED=$(cat "$results/seed")
	[ "$said" != "$SEED; $numbers" ] || recall
	[ -e "$tree/.git" ] || git clone -q . "$tree" || exit
	if [ "$(cat build-prove/built 2>/dev/null)" != "$commit" ]; then
		say "building $commit"
		rm -rf build-prove/built build-prove/release
		(
			cd "$tree" && git fetch -q ../.. HEAD &&
				git checkout -q --force --detach "$commit" &&
				git clean -xdfq -e 'build-*' &&
				./bootstrap && make -j "$(nproc)" check TESTS=
		) >"$state/build.log" 2>&1 || {
			tail -n 20 "$state/build.log" >&2
			say "it does not build: see $state/build.log" >&2
			exit 1
		}
		echo "$commit" >build-prove/built
	fi
	versions >"$state/versions"
}
versions() {
	(. /etc/os-release && echo "$PRETTY_NAME, $(uname -srm), $(nproc) processors, $(
		awk '/^MemTotal:/ { print int($2 / 1048576 + 0.5) }' /proc/meminfo) GB")
	"$tree/redlock" --version
	for program in gcc clang redis-server bats valgrind shellcheck python3; do
		"$program" --version 2>/dev/null | head -n 1
	done
	spin -V 2>/dev/null
}

# ---- docs/tested.md ----

cell() { printf '%s' "$1" | tr -d '\000-\010\013-\037\177' | sed 's/|/\\|/g; s/</\&lt;/g'; }
minutes() { # SECONDS
	if [ "$1" -ge 60 ]; then echo $((($1 + 30) / 60)); else echo '< 1'; fi
}
write_report() {
	report=docs/tested.md
	{
		rows='' passed=0 failed=0 unable=0 waiting=0 total=0 all=0
		while read -r name _; do
			[ -n "$name" ] || continue
			all=$((all + 1)) verdict='not run yet' seconds=0 of='' took=''
			[ ! -e "$state/$name.done" ] ||
				IFS='	' read -r verdict seconds of <"$state/$name.done"
			case $verdict in
			passed) passed=$((passed + 1)) took=$(minutes "$seconds") ;;
			FAILED) failed=$((failed + 1)) took=$(minutes "$seconds") ;;
			cannot*) unable=$((unable + 1)) ;;
			*) waiting=$((waiting + 1)) ;;
			esac
			total=$((total + seconds))
			rows="$rows
| $name | $verdict | ${of:+$(cell "$of")} | $took |"
		done <<-END
			$legs
		END
		cat <<-END
			# Tested

			Written by \`make prove-release\`, which runs every check of a release on one commit.

			- Commit: $commit, of $(git log -1 --format=%cs "$commit")
			- Finished: $(date -u '+%F %H:%M') UTC, after $((total / 60)) minutes of tests
			- Seed: $SEED; $(echo "$parameters" | paste -sd ' ')
			- $all legs: $passed passed, $failed failed, $unable cannot run on this machine, $waiting not run yet

			| leg | result | counts, or why not | minutes |
			|---|---|---|---|$rows

			"At" names another commit in which all that the leg reads is the same.

			The whole suite of the legs strict-1 to strict-3 runs against the redis-server named here:

		END
		sed 's/^/    /' "$state/versions"
		list_failures
		list_skipped
	} >"$report.new" && mv "$report.new" "$report"
}
list_failures() {
	grep -l '^FAILED' "$state"/*.done 2>/dev/null | while read -r name; do
		name=${name##*/}
		name=${name%.done}
		printf '\n## %s failed\n\n' "$name"
		{
			awk '/^(not ok|FAIL:|ERROR:|SURVIVED|.*: FAILED|.*: error)/ {
					print
					if (/^not ok/)
						said = 12
					found = 1
				}
				said-- > 0 && /^#/
				END { exit !found }' "$state/$name.log" ||
				tail -n 10 "$state/$name.log"
		} | head -n 60 | tr -d '\000-\010\013-\037\177' | cut -c 1-160 | sed 's/^/    /'
	done
}
list_skipped() {
	for list in "$state"/*.skipped; do
		name=${list##*/}
		sed "s/^/${name%.skipped}	/" "$list"
	done >"$state/skipped" 2>/dev/null
	[ -s "$state/skipped" ] || return 0
	printf '\n## Skipped tests\n\n| leg | tests | reason |\n|---|---|---|\n'
	while IFS='	' read -r name tests reason; do
		echo "| $name | $(cell "$tests") | $(cell "$reason") |"
	done <"$state/skipped"
}

# ---- from the command line ----

# what make told the make that called us is not for those that we call
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
if [ "${1-}" = --run ]; then
	SEED=$3
	export VERBOSE=1 # a failed test tells all in the log
	cd build-prove/tree && run_leg "$2"
	exit
fi
if [ "${1-}" = --list ]; then
	echo "$legs" | awk 'NF { print $1 }'
	exit
fi
for name; do
	echo "$legs" | awk -v name="$name" '$1 == name { found = 1 } END { exit !found }' || {
		say "$name: no such leg; see --list" >&2
		exit 64
	}
done
git diff --quiet HEAD -- . ':!docs/tested.md' || {
	say 'changes that are not committed would not be tested: commit them first' >&2
	exit 1
}
commit=$(git rev-parse HEAD)
mkdir -p build-prove
tree=$PWD/build-prove/tree results=$PWD/build-prove/results
state=$results/$commit
exec 9>build-prove/lock
flock -n 9 || {
	say 'another one is running here' >&2
	exit 75
}
trap stop INT TERM HUP
prepare
while read -r name limit target reads; do
	[ -n "$name" ] || continue
	case " $* " in '  ' | *" $name "*) ;; *) continue ;; esac
	# shellcheck disable=SC2086 # words
	if grep -q '^passed' "$state/$name.done" 2>/dev/null; then
		say "$name: passed before"
	elif ! taken_over "$name" $reads; then
		try_leg "$name" "$limit" "$target" 9>&- </dev/null
	fi
done <<END
$legs
END
write_report
say 'see docs/tested.md'
! grep -q '^FAILED' "$state"/*.done
