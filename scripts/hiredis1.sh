#!/bin/sh
# SPDX-License-Identifier: MIT
# hiredis1.sh DIR: builds an archive of Debian 13's hiredis 1.x, to build redlock
# against: set PKG_CONFIG_PATH to DIR/lib/pkgconfig. It is built from source because
# the archive in Debian 13's package needs that release's C library.
set -eu
. "$(dirname "$0")/private-apt.sh"

dir=${1:?usage: scripts/hiredis1.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

private_apt_open "$dir/apt" trixie deb-src
cd "$dir"
private_apt source --download-only hiredis
# without Debian's patches, which change only the tests and the installation
tar -xzf hiredis_*.orig.tar.gz
MAKEFLAGS='' make -s -C hiredis-*/ WARNINGS='' PREFIX="$dir" \
	LIBRARY_PATH=lib INCLUDE_PATH=include/hiredis install >/dev/null
# only the archive: redlock links it by default
rm -rf apt hiredis-*/ lib/*.so*
