#!/bin/sh
# SPDX-License-Identifier: MIT
# hiredis1.sh DIR: hiredis 1.x, of Debian 13, to build redlock against, as an
# archive: DIR/lib/pkgconfig is for PKG_CONFIG_PATH. It is built from Debian's
# source, for the archive in Debian's package wants the C library of Debian 13.
set -eu
. "$(dirname "$0")/private-apt.sh"

dir=${1:?usage: scripts/hiredis1.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

private_apt_open "$dir/apt" trixie deb-src
cd "$dir"
private_apt source --download-only hiredis
# (Debian's patches change its tests and how it is installed)
tar -xzf hiredis_*.orig.tar.gz
MAKEFLAGS='' make -s -C hiredis-*/ WARNINGS='' PREFIX="$dir" \
	LIBRARY_PATH=lib INCLUDE_PATH=include/hiredis install >/dev/null
# only the archive, as redlock is linked by default
rm -rf apt hiredis-*/ lib/*.so*
