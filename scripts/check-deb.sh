#!/bin/sh
# SPDX-License-Identifier: MIT
# check-deb.sh DIR: installs the package that `make deb` left in DIR into a fresh
# Debian of this machine's release, runs it and its autopkgtest there, upgrades it
# and purges it. Needs root. Keeps the fresh system in DIR/fresh.tar.
set -eu
. "${0%/*}/private-apt.sh"
cd "${1:?usage: scripts/check-deb.sh DIR}"
dir=$PWD
deb=$(echo redlock_*_"$(dpkg --print-architecture)".deb)

say() { echo "check-deb: $*"; }
root=$dir/root
leave() {
	umount "$root/proc" 2>/dev/null || :
	rm -rf "$root"
}
trap leave EXIT

if [ ! -e fresh.tar ]; then
	say 'debootstrap'
	private_root root "$(. /etc/os-release && echo "$VERSION_CODENAME")"
	printf '#!/bin/sh\nexit 101\n' >root/usr/sbin/policy-rc.d
	chmod +x root/usr/sbin/policy-rc.d
	tar -C root -cf fresh.new . && mv fresh.new fresh.tar
	rm -rf root
fi
mkdir -p root
tar -C root -xf fresh.tar
mount -t proc proc root/proc
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
files() { (cd "$root" && find . -xdev -name '*redlock*' ! -path './var/lib/apt/*' ! -path './tmp/*' | sort); }

say "install $deb"
cp "$deb" root/tmp
inside apt-get -qq update
inside apt-get -qq install -y --no-install-recommends "/tmp/$deb" >apt.log 2>&1
inside redlock --version
inside redlock --version | grep -q '^TLS: OpenSSL' # the dependency that nothing links

say 'autopkgtest'
autopkgtest --user nobody "$deb" redlock_*.dsc -- chroot "$root"

say 'upgrade'
dpkg-deb -R "$deb" later
sed -i 's/^Version: .*/&.1/' later/DEBIAN/control
dpkg-deb --root-owner-group -b later root/tmp/later.deb >/dev/null
rm -r later
inside apt-get -qq install -y /tmp/later.deb >>apt.log 2>&1
inside redlock --version >/dev/null

say 'purge'
inside apt-get -qq purge -y redlock >>apt.log 2>&1
left=$(files)
[ -z "$left" ] || {
	say "left behind: $left" >&2
	exit 1
}
say 'good'
