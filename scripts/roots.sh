#!/bin/sh
# SPDX-License-Identifier: MIT
# roots.sh SUITE...: builds this tree on other releases of Debian (bullseye, trixie,
# sid), and runs the unit tests and tests/run.bats there. Each release gets a root in
# build-roots/SUITE, made by debootstrap and used again the next time. The tests need
# a newer bats than Debian 11 has, so this machine's is copied.
#
# Needs root, namespaces and mounts; without them it says so and ends with status 77.
set -u
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 3,7p' "$0" >&2; exit 64; }
cd "$(dirname "$0")/.." || exit
. scripts/private-apt.sh
dir=$PWD/build-roots

cannot() { echo "roots.sh: skipped: $*"; exit 77; }

[ "$(id -u)" = 0 ] || cannot "needs root"
for program in debootstrap bats; do
	command -v "$program" >/dev/null || cannot "no $program"
done
unshare -m -p -f true 2>/dev/null || cannot "no namespaces"

make_root() { # SUITE
	[ ! -e "$dir/$1/made" ] || return 0
	rm -rf "${dir:?}/$1"
	mkdir -p "$dir"
	private_root "$dir/$1" "$1" --include=ca-certificates || return
	: >"$dir/$1/made"
}
lend_bats() { # ROOT
	dpkg -L bats | while read -r file; do
		[ ! -f "$file" ] || (cd / && cp --parents -a ".$file" "$1")
	done
}
within() { # ROOT COMMAND
	# shellcheck disable=SC2016 # the dollars are those of the inner shell
	unshare -m -p -f sh -c '
		mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" &&
		mount --bind /dev/shm "$1/dev/shm" &&
		exec chroot "$1" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
			JOBS="$3" sh -c "cd /src && $2"' \
		sh "$1" "$2" "${JOBS:-$(nproc)}"
}
try_suite() { # SUITE
	root=$dir/$1
	rm -rf "$root/src"
	mkdir -p "$root/src"
	git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$root/src"
	private_network "$root"
	within "$root" './bootstrap && ./redlock --version &&
		./bootstrap check TESTS=' && lend_bats "$root" || return
	units=$(cd "$root/src" && printf '%s ' tests/unit/t-*.c | sed 's/\.c / /g')
	within "$root" "make -j\$JOBS check TESTS='$units tests/run.bats'"
}

bad=0
for suite; do
	if ! make_root "$suite"; then
		cannot "$suite: no root could be made"
	elif try_suite "$suite" >"$dir/$suite.said" 2>&1; then
		verdict=passed
	else
		tail -n 30 "$dir/$suite.said"
		bad=1 verdict=FAILED
	fi
	grep -E '^(not ok|# (PASS|FAIL|SKIP|ERROR):)' "$dir/$suite.said"
	echo "$suite: $verdict"
done
exit $bad
