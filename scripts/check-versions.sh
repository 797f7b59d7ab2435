#!/bin/sh
# SPDX-License-Identifier: MIT
# check-versions.sh [SUITE...]: runs the tests in parallel against the servers in
# VERSIONS (see servers.sh). Prints what failed tests say, and a table; the status is 1
# if a test failed that is not in tests/expected-faults, or passed that is. The output
# of each suite is in build-versions/VERSION until the next run.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
versions=${VERSIONS:-valkey-8.0 redis-6.0 redict-7.3 valkey-8.1 redis-8.0 redis-8.0.6 valkey-9.1}
suites=${*:-readers rollback slots nesting leases keys limits once orphans \
	queue priority messages foreign server rights password masters nodes cluster \
	sentinel doctor tls history local differ}
export REDLOCK="${REDLOCK:-$PWD/redlock}"
export TEST_BIN="${TEST_BIN:-$PWD/tests/lib}"
export top

# shellcheck disable=SC2086 # words
"$top/scripts/servers.sh" $versions
rm -rf build-versions
# shellcheck disable=SC2016 # the dollars are those of the inner shell
for version in $versions; do
	mkdir -p "build-versions/$version"
	for suite in $suites; do echo "$version $suite"; done
done | xargs -P $(($(nproc) * 4)) -n 2 sh -c '
	PATH=$PWD/build-servers/$1/bin:$PATH
	case $2 in
	differ) set -- "$@" "$top/tests/sim.bats" -f "real server agree" ;;
	*) set -- "$@" "$top/tests/$2.bats" ;;
	esac
	said=build-versions/$1/$2.tap
	shift 2
	timeout 1200 bats --tap "$@" >"$said" 2>&1 || :' sh

# shellcheck disable=SC2086 # words
awk -v versions="$versions" -v suites="$suites" '
	function count(what) { n[version, suite, what]++; sum[what]++ }
	function wrong(what, name) {
		print version " " suite ": " what ": " name
		count("failed")
	}
	# a mark for a test that no longer exists
	function expect(i, version, suite) {
		if (version ~ mark_version[i] && suite ~ mark_suite[i] &&
		    !((i, version) in used))
			wrong("no such test", mark_test[i])
	}
	function finish() {
		if (suite != "" && (planned == "" || seen != planned))
			wrong("ended early", seen + 0 " of " planned " tests")
		seen = 0
		planned = ""
	}
	# VERSION SUITE TEST : REASON, the first three regular expressions
	FILENAME ~ /expected-faults$/ {
		if (/^(#|$)/) next
		at = index($0, " : ")
		if (!at || NF < 5) {
			print FILENAME ":" FNR ": not VERSION SUITE TEST : REASON"
			sum["failed"]++
		}
		marks++
		mark_version[marks] = "^(" $1 ")$"
		mark_suite[marks] = "^(" $2 ")$"
		mark_test[marks] = substr($0, length($1 $2) + 3, \
			at - length($1 $2) - 3)
		mark_line[marks] = FILENAME ":" FNR
		next
	}
	FNR == 1 {
		finish()
		parts = split(FILENAME, part, "/")
		version = part[parts - 1]
		suite = part[parts]
		sub(/\.tap$/, "", suite)
	}
	/^1\.\.[0-9]+$/ { planned = substr($0, 4) }
	/^(not )?ok [0-9]+ / {
		seen++
		name = $0
		sub(/^(not )?ok [0-9]+ /, "", name)
		marked = 0
		for (i = 1; i <= marks; i++)
			if (version ~ mark_version[i] && suite ~ mark_suite[i] &&
			    name ~ mark_test[i])
				marked = used[i, version] = i
		if (marked && /^ok/)
			wrong("did not fail, take the mark away", name)
		else if (/^ok .* # skip/)
			count("skipped")
		else if (/^not / && marked)
			count("expected")
		else if (/^not /)
			wrong("failed", name)
		else
			count("passed")
		telling = /^not / && !marked
	}
	/^#/ && telling
	END {
		finish()
		columns = split(versions, column)
		rows = split(suites, row)
		for (i = 1; i <= marks; i++)
			for (c = 1; c <= columns; c++)
				for (r = 1; r <= rows; r++)
					expect(i, version = column[c], \
						suite = row[r])
		printf "\n%-10s", ""
		for (c = 1; c <= columns; c++) printf "  %-18s", column[c]
		print ""
		for (r = 1; r <= rows; r++) {
			printf "%-10s", row[r]
			for (c = 1; c <= columns; c++)
				printf "  %4d %4d %4d %4d", \
				    n[column[c], row[r], "passed"], \
				    n[column[c], row[r], "failed"], \
				    n[column[c], row[r], "skipped"], \
				    n[column[c], row[r], "expected"]
			print ""
		}
		printf "(passed, failed, skipped, failed as expected)\n"
		printf "%d passed, %d failed, %d skipped\n", \
			sum["passed"], sum["failed"], sum["skipped"]
		exit sum["failed"] > 0
	}' "$top/tests/expected-faults" build-versions/*/*.tap
