#!/bin/sh
# SPDX-License-Identifier: MIT
# check-deb.sh DIR: installs the package that `make deb` left in DIR into a fresh
# Debian 12 and a fresh Debian 13, runs it and its autopkgtest there, upgrades it and
# purges it. Needs root. Keeps the fresh systems in DIR/fresh-SUITE.tar. SUITES names
# others.
set -eu
. "${0%/*}/private-apt.sh"
cd "${1:?usage: scripts/check-deb.sh DIR}"
dir=$PWD
deb=$(echo redlock_*_"$(dpkg --print-architecture)".deb)

say() { echo "check-deb: $*"; }
fail() {
	say "$*" >&2
	exit 1
}
root=$dir/root
leave() {
	umount "$root/proc" 2>/dev/null || :
	rm -rf "$root"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM # leave, too

# What lets one package install on all of them.
needs=$(dpkg-deb -f "$deb" Depends)
[ "$needs" = 'libssl3t64 | libssl3, libc6 (>= 2.34)' ] ||
	fail "$deb needs $needs: build it on Debian 12"
dpkg-deb -f "$deb" Static-Built-Using | grep -q '^hiredis (= .*), util-linux (= .*)' ||
	fail "$deb does not say what is linked in"

make_fresh() { # SUITE
	say "debootstrap $1"
	rm -rf root
	private_root root "$1"
	printf '#!/bin/sh\nexit 101\n' >root/usr/sbin/policy-rc.d
	chmod +x root/usr/sbin/policy-rc.d
	tar -C root -cf fresh.new . && mv fresh.new "fresh-$1.tar"
	rm -rf root
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
files() { (cd "$root" && find . -xdev -name '*redlock*' ! -path './var/lib/apt/*' ! -path './tmp/*' | sort); }

check() { # SUITE
	[ -e "fresh-$1.tar" ] || make_fresh "$1"
	mkdir -p root
	tar -C root -xf "fresh-$1.tar"
	mount -t proc proc root/proc

	say "$1: install $deb"
	cp "$deb" root/tmp
	inside apt-get -qq update
	inside apt-get -qq install -y --no-install-recommends "/tmp/$deb" >"apt-$1.log" 2>&1 || {
		tail "apt-$1.log" >&2
		exit 1
	}
	inside redlock --version
	inside redlock --version | grep -q '^TLS: OpenSSL' # the dependency that nothing links

	say "$1: autopkgtest"
	autopkgtest --timeout-factor 5 --user nobody "$deb" redlock_*.dsc -- chroot "$root"

	say "$1: upgrade"
	dpkg-deb -R "$deb" later
	sed -i 's/^Version: .*/&.1/' later/DEBIAN/control
	dpkg-deb --root-owner-group -b later root/tmp/later.deb >/dev/null
	rm -r later
	inside apt-get -qq install -y /tmp/later.deb >>"apt-$1.log" 2>&1
	inside redlock --version >/dev/null

	say "$1: purge"
	inside apt-get -qq purge -y redlock >>"apt-$1.log" 2>&1
	left=$(files)
	[ -z "$left" ] || fail "$1: left behind: $left"
	leave
}
for suite in ${SUITES:-bookworm trixie}; do check "$suite"; done
say 'good'
