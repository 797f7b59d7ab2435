#!/bin/sh
# SPDX-License-Identifier: MIT
# check-packages.sh TARBALL DIR: builds the packages of packaging/ from the tarball,
# in DIR: the RPM with rpmbuild, Arch's with makepkg. Alpine's abuild runs only on
# Alpine, so the functions of its recipe are called directly. Each package must have
# the same files as the Debian package.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
tarball=$(readlink -f "${1:?usage: scripts/check-packages.sh TARBALL DIR}")
rm -rf "$2"
mkdir -p "$2"
cd "$2"

say() { echo "check-packages: $*"; }
holds() { # LIST WHAT...: each is in the list of files
	list=$1
	shift
	for file in bin/redlock man/man1/redlock.1 man/man5/redlock-json.5 \
		man/man7/redlock-servers.7 bash-completion/completions/redlock \
		zsh/site-functions/_redlock fish/vendor_completions.d/redlock.fish "$@"; do
		grep -q "/$file\(\.gz\)\?$" "$list" || {
			say "no $file in $list" >&2
			exit 1
		}
	done
}
unit=systemd/system/redlock@.service

say rpmbuild
mkdir rpm
cp "$tarball" rpm
# the packages that it requires have other names here
rpmbuild --quiet -bb --nodeps --define "_topdir $PWD/rpm" --define "_sourcedir $PWD/rpm" \
	"$top/packaging/redlock.spec" >rpm.log 2>&1 || {
	tail -n 30 rpm.log >&2
	exit 1
}
rpm -qlp rpm/RPMS/*/redlock-[0-9]*.rpm >rpm.list
holds rpm.list "$unit" LICENSE
rpm -qp --requires rpm/RPMS/*/redlock-[0-9]*.rpm | grep -q '^openssl-libs'

say makepkg
mkdir arch
cp "$tarball" "$top/packaging/PKGBUILD" arch
user=nobody # makepkg refuses root
[ "$(id -u)" != 0 ] || chown -R $user arch .
(
	cd arch
	# pacman does not know what is installed here
	set -- makepkg --nodeps --skipinteg
	[ "$(id -u)" != 0 ] || set -- setpriv --reuid $user --regid nogroup --clear-groups env HOME="$PWD" "$@"
	"$@" >../arch.log 2>&1
) || {
	tail -n 30 arch.log >&2
	exit 1
}
tar -tf arch/redlock-*.pkg.tar* | sed 's,^,/,' >arch.list
holds arch.list "$unit" redlock/LICENSE

say APKBUILD
mkdir alpine
tar -C alpine -xf "$tarball"
# shellcheck disable=SC2016 # abuild also sources the file and calls these
sh -ec '. "$0"; cd "alpine/redlock-$pkgver"; pkgdir=$PWD/../root; build; check; package' \
	"$top/packaging/APKBUILD" >alpine.log 2>&1 || {
	tail -n 30 alpine.log >&2
	exit 1
}
find alpine/root -type f >alpine.list
holds alpine.list
say good
