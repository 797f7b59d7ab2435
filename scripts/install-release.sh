#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the released static redlock for this machine.
#
#   RELEASES=https://host/path VERSION=1.0.0 scripts/install-release.sh [DIR]
#
# Reads $RELEASES/v$VERSION/redlock-$VERSION-linux-$ARCH. Its checksum must be that
# in the variable SHA256 or, without it, in SHA256SUMS of the same release; otherwise
# nothing is installed. DIR is /usr/local/bin by default.
set -eu
: "${VERSION:?set VERSION to the release, such as 1.0.0}"
: "${RELEASES:?set RELEASES to the URL above v$VERSION}"
dir=${1:-/usr/local/bin}

say() { echo "install-release: $*" >&2; }

case $(uname -s)/$(uname -m) in
Linux/x86_64 | Linux/amd64) arch=x86_64 ;;
Linux/aarch64 | Linux/arm64) arch=aarch64 ;;
Linux/*)
	say "no released file for $(uname -m): build from source with ./bootstrap"
	exit 69
	;;
*)
	say "redlock runs on Linux only, not on $(uname -s)"
	exit 69
	;;
esac
VERSION=${VERSION#v}
name=redlock-$VERSION-linux-$arch
from=${RELEASES%/}/v$VERSION

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
get() { # NAME
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$scratch/$1" "$from/$1"
	else
		wget -q -O "$scratch/$1" "$from/$1"
	fi || {
		say "cannot download $from/$1"
		exit 69
	}
}
get "$name"
if [ -n "${SHA256-}" ]; then
	sum="$SHA256  $name"
else
	get SHA256SUMS
	sum=$(grep -F "  $name" "$scratch/SHA256SUMS") || {
		say "$from/SHA256SUMS does not name $name"
		exit 65
	}
fi
# BusyBox has -c, not --check
(cd "$scratch" && echo "$sum" | sha256sum -c >/dev/null 2>&1) || {
	say "$name: wrong checksum; nothing is installed"
	exit 65
}
mkdir -p "$dir"
# rename, do not overwrite: a running redlock keeps its file
cp "$scratch/$name" "$dir/.redlock.$$"
chmod 755 "$dir/.redlock.$$"
mv "$dir/.redlock.$$" "$dir/redlock"
"$dir/redlock" --version | head -n 1
