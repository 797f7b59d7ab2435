#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds one file for any Linux, with TLS and everything else linked in:
#
#   scripts/static.sh [ARCH]     makes redlock-static-ARCH (x86_64, aarch64)
#   scripts/static.sh --update   looks up today's source packages (static.sources)
#
# musl, hiredis, libuuid and OpenSSL are built once for each ARCH from Debian's
# source packages, into build-static/ARCH. The same sources make the same bytes.
# To build for another architecture, its compiler (gcc-aarch64-linux-gnu) and headers
# (linux-libc-dev-arm64-cross) must be there.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
sources=$top/packaging/static.sources
. scripts/private-apt.sh

say() { echo "static: $*"; }
each() { grep -v '^#' "$sources"; } # NAME VERSION SHA256 LICENSE
version_of() { each | awk -v name="$1" '$1 == name { print $2 }'; }

apt() { private_apt_open "$top/build-static/apt" bookworm deb-src security; }

mkdir -p build-static
if [ "${1-}" = --update ]; then
	rm -rf build-static/apt build-static/new
	apt
	mkdir build-static/new
	{
		grep '^#' "$sources"
		each | while read -r name _ _ license; do
			# some mirrors lack the sources of the security updates
			(
				cd build-static/new
				for package in "$name" "$name/bookworm"; do
					private_apt source --dsc-only --download-only "$package" && break
				done
			)
			dsc=$(echo "build-static/new/${name}"_*.dsc)
			sum=$(sha256sum <"$dsc")
			version=${dsc%.dsc}
			echo "$name ${version##*_} ${sum%% *} $license"
		done
	} >"$sources.new"
	mv "$sources.new" "$sources"
	rm -r build-static/new
	exit
fi

arch=${1:-$(uname -m)}
case $arch in
x86_64) openssl_target=linux-x86_64 flags=-O2 ;;
# -mno-outline-atomics: libgcc's would ask glibc for the processor's features
aarch64) openssl_target=linux-aarch64 flags='-O2 -mno-outline-atomics' ;;
*)
	say "no recipe for $arch: x86_64 or aarch64" >&2
	exit 64
	;;
esac
cross='' headers=/usr/include asm=/usr/include/$(uname -m)-linux-gnu/asm
if [ "$arch" != "$(uname -m)" ]; then
	cross=$arch-linux-gnu-
	headers=/usr/$arch-linux-gnu/include asm=$headers/asm
fi
command -v "${cross}gcc" >/dev/null || {
	say "no ${cross}gcc (Debian: apt-get install gcc-$arch-linux-gnu)" >&2
	exit 69
}
prefix=$top/build-static/$arch
work=$prefix/work
jobs=${JOBS:-$(nproc)}
# The bytes must not depend on time and place: OpenSSL keeps its compiler flags, so
# they must not have a path of this machine. The libraries are built once and so do
# not get the date of a commit.
export SOURCE_DATE_EPOCH=1
unset MAKEFLAGS MAKELEVEL MFLAGS CFLAGS CPPFLAGS LDFLAGS CC
PATH=$prefix/bin:$PATH
cc=$arch-static-cc
mkdir -p "$prefix/bin"
cat >"$prefix/bin/$cc" <<-END
	#!/bin/sh
	exec '$prefix/bin/musl-gcc' $flags '-ffile-prefix-map=$top=.' "\$@"
END
chmod +x "$prefix/bin/$cc"

# Puts the sources of NAME into $work/NAME, verified by Debian's signature and by our
# checksum.
fetch() { # NAME
	mkdir -p "$top/build-static/sources" "$work"
	version=$(version_of "$1")
	(
		cd "$top/build-static/sources"
		dsc=${1}_${version#*:}.dsc
		if [ ! -e "$dsc" ]; then
			{ apt && private_apt source --download-only "$1=$version"; } || {
				rm -rf "$top/build-static/apt"
				say "cannot get $1 $version: if Debian has a later one," \
					"scripts/static.sh --update writes it down" >&2
				exit 69
			}
		fi
		each | awk -v name="$1" -v dsc="$dsc" '$1 == name { print $3 "  " dsc }' |
			sha256sum --quiet -c -
		rm -rf "${work:?}/$1"
		dpkg-source --no-check -x "$dsc" "$work/$1" >/dev/null
		# autotools must not remake what Debian's patches have touched
		find "$work/$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	)
}
# Runs build_NAME unless that was done for these sources.
once() { # NAME
	stamp=$prefix/$1.$(version_of "$1")
	[ ! -e "$stamp" ] || return 0
	say "$arch: $1 $(version_of "$1")"
	fetch "$1"
	(cd "$work/$1" && "build_$(echo "$1" | tr - _)") >"$prefix/$1.log" 2>&1 || {
		tail -n 30 "$prefix/$1.log" >&2
		say "$1 does not build: see $prefix/$1.log" >&2
		exit 70
	}
	rm -rf "${work:?}/$1"
	: >"$stamp"
}
# chains of &&: under `||` the shell ignores set -e
build_musl() {
	CC=${cross}gcc AR=${cross}ar RANLIB=${cross}ranlib CFLAGS="$flags -ffile-prefix-map=$top=." \
		./configure --target="$arch" --prefix="$prefix" \
		--syslibdir="$prefix/lib" --disable-shared --enable-wrapper=gcc &&
		make -j "$jobs" AR="${cross}ar" RANLIB="${cross}ranlib" install &&
		# the kernel's headers, which musl lacks
		ln -sfn "$headers/linux" "$prefix/include/linux" &&
		ln -sfn "$headers/asm-generic" "$prefix/include/asm-generic" &&
		ln -sfn "$asm" "$prefix/include/asm"
}
build_hiredis() {
	make -j "$jobs" static hiredis.pc CC="$cc" OPTIMIZATION=-O2 DEBUG='' \
		PREFIX="$prefix" LIBRARY_PATH=lib INCLUDE_PATH=include/hiredis &&
		mkdir -p "$prefix/include/hiredis" "$prefix/lib/pkgconfig" &&
		cp ./*.h "$prefix/include/hiredis" &&
		cp libhiredis.a "$prefix/lib" &&
		cp hiredis.pc "$prefix/lib/pkgconfig"
}
build_util_linux() {
	./configure --host="$arch-linux-musl" CC="$cc" CFLAGS=-O2 \
		--prefix="$prefix" --disable-all-programs --enable-libuuid \
		--disable-shared --enable-static --disable-nls --without-python &&
		make -j "$jobs" install
}
build_openssl() {
	# Only what a client of TLS 1.2 and 1.3 needs. It loads nothing at run time and
	# does not read the machine's openssl.cnf, which is for another version. The
	# security level is 2, as in Debian.
	./Configure "$openssl_target" no-shared no-dso no-engine no-async no-tests \
		no-legacy no-autoload-config no-ui-console no-afalgeng no-comp no-dtls \
		no-ssl3 no-tls1 no-tls1_1 no-srp no-psk no-ct no-cms no-cmp no-ts no-ocsp \
		no-idea no-seed no-camellia no-aria no-bf no-cast no-rc2 no-rc4 no-md4 \
		no-mdc2 no-rmd160 no-whirlpool no-gost no-sm2 no-sm3 no-sm4 no-ec2m \
		no-siphash no-scrypt no-rfc3779 \
		--prefix=/usr --libdir=lib --openssldir=/etc/ssl \
		CC="$cc" CFLAGS='-O2 -DOPENSSL_TLS_SECURITY_LEVEL=2' &&
		make -j "$jobs" build_libs &&
		make install_dev DESTDIR="$PWD/installed" &&
		sed -i "s,^prefix=.*,prefix=$prefix," installed/usr/lib/pkgconfig/*.pc &&
		cp -r installed/usr/include installed/usr/lib "$prefix"
}

once musl
once hiredis
once util-linux
once openssl

say "$arch: redlock"
[ -e Makefile ] || ./configure -q
make -s distdir
version=$(sed -n 's/^AC_INIT(\[redlock\], \[\([^]]*\).*/\1/p' configure.ac)
rm -rf "$prefix/redlock"
mv "redlock-$version" "$prefix/redlock"
cd "$prefix/redlock"
PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig PKG_CONFIG_PATH='' \
	./configure -q --host="$arch-linux-musl" --with-openssl=static CC="$prefix/bin/$cc" \
	CFLAGS=-O2 LDFLAGS=-static
make -s -j "$jobs" redlock >make.log
"${cross}strip" -o "$top/redlock-static-$arch" redlock
ls -l "$top/redlock-static-$arch"
