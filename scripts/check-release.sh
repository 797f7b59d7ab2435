#!/bin/sh
# SPDX-License-Identifier: MIT
# check-release.sh DIR: installs from the files of a release in DIR alone, each into a
# fresh Debian: the static file by install-release.sh, the package by apt-get, and the
# source by its own bootstrap. Each redlock then holds a lock there. Checks the sums,
# too, and that the list of what is linked in is complete. Needs root and debootstrap.
# SUITES names other releases than Debian 12 and 13.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "${1:?usage: scripts/check-release.sh DIR}"
dir=$PWD
. "$top/scripts/private-apt.sh"

say() { echo "check-release: $*"; }
cannot() { say "skipped: $*"; exit 77; }
fail() { say "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || cannot 'needs root'
command -v debootstrap >/dev/null || cannot 'no debootstrap'

scratch=$(mktemp -d)
root=$scratch/root server=
leave() {
	[ -z "$server" ] || kill "$server"
	umount "$root/proc" 2>/dev/null || :
	rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM # leave, too

tarball=$(echo redlock-*.tar.gz)
version=${tarball#redlock-}
version=${version%.tar.gz}
sha256sum --quiet -c SHA256SUMS
for file in "$tarball" "redlock-$version-linux-x86_64" "redlock-$version-linux-aarch64" \
	"redlock-$version.cdx.json" "redlock_$version"-*.deb; do
	grep -qF "  $file" SHA256SUMS || fail "$file is not in SHA256SUMS"
done
python3 - "redlock-$version.cdx.json" "$version" <<-'END'
	import json, sys
	bom = json.load(open(sys.argv[1]))
	assert bom['bomFormat'] == 'CycloneDX'
	assert bom['metadata']['component']['version'] == sys.argv[2]
	assert {c['name'] for c in bom['components']} == \
	    {'musl', 'hiredis', 'util-linux', 'openssl'}
	assert all(c['version'] and c['licenses'] and c['hashes'] for c in bom['components'])
END

inside() { chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=1 DEBIAN_FRONTEND=noninteractive "$@"; }
enter() { # SUITE: a fresh system, with a server at /tmp/s
	[ -e "$scratch/$1.tar" ] || {
		private_root "$root" "$1"
		printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
		chmod +x "$root/usr/sbin/policy-rc.d"
		tar -C "$root" -cf "$scratch/$1.tar" .
		rm -rf "$root"
	}
	mkdir "$root"
	tar -C "$root" -xf "$scratch/$1.tar"
	mount -t proc proc "$root/proc"
	redis-server --port 0 --unixsocket "$root/tmp/s" --save '' --dir "$scratch" >"$scratch/log" &
	server=$!
	for _ in $(seq 100); do
		! redis-cli -s "$root/tmp/s" ping >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	fail 'the server does not start'
}
# The installed redlock: its version, and a lock held.
works() { # WHAT
	[ "$(inside redlock --version | sed -n '1s/^redlock //p')" = "$version" ] ||
		fail "$1: not redlock $version"
	# shellcheck disable=SC2016 # the inner shell's
	held=$(inside redlock -u unix:///tmp/s -k job -- sh -c 'echo "$REDLOCK_TOKEN"')
	[ ${#held} = 36 ] || fail "$1: no lock"
	say "$1: installed, and holds a lock"
}
depart() {
	kill "$server"
	wait "$server" || :
	server=
	umount "$root/proc"
	rm -rf "$root"
}
quietly() { "$@" >"$scratch/said" 2>&1 || { tail -n 30 "$scratch/said" >&2; fail "failed: $*"; }; }

mkdir "$scratch/v$version"
cp -- * "$scratch/v$version"
for suite in ${SUITES:-bookworm trixie}; do
	enter "$suite"
	RELEASES=file://$scratch VERSION=$version quietly \
		"$top/scripts/install-release.sh" "$root/usr/local/bin"
	works "$suite, static file"
	depart

	enter "$suite"
	cp "$dir/redlock_$version"-*"_$(dpkg --print-architecture).deb" "$root/tmp"
	quietly inside apt-get -qq update
	quietly inside sh -c 'apt-get -qq install -y --no-install-recommends /tmp/*.deb'
	works "$suite, package"
	depart

	enter "$suite"
	tar -C "$root/tmp" -xf "$tarball"
	quietly inside sh -c "cd /tmp/redlock-$version && ./bootstrap check-unit install"
	works "$suite, source"
	depart
done
say good
