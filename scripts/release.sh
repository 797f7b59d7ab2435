#!/bin/sh
# SPDX-License-Identifier: MIT
# Called by `make release VERSION=x` in a built git checkout, and by `make lint`:
#
#   scripts/release.sh --check VERSION [REDLOCK]
#                                  do version, NEWS, manual, changelog and tag agree?
#   scripts/release.sh VERSION     checks the same, then makes release/:
#
#   redlock-VERSION.tar.gz                 the source, with configure
#   redlock-VERSION-linux-ARCH             the static files, for x86_64 and aarch64
#   redlock_VERSION-*.deb                  for Debian and Ubuntu
#   redlock-VERSION.cdx.json               what is linked into the static files (CycloneDX)
#   SHA256SUMS
#
# The same commit makes the same bytes.
set -eu
cd "$(dirname "$0")/.."

bad=0
say() {
	echo "release: $*" >&2
	bad=1
}

# Prints the day, or nothing without git or its history.
last_change() { # FILE
	[ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] || return 0
	if git diff --quiet HEAD -- "$1"; then
		git log -1 --format=%cs -- "$1"
	else
		date +%F
	fi
}

check() { # VERSION REDLOCK
	told=$("$2" --version | sed -n '1s/^redlock \([^ ,]*\).*/\1/p')
	[ "$told" = "$1" ] || say "redlock --version says $told, not $1 (configure.ac)"
	news=$(sed -n '1s/^redlock //p' NEWS)
	[ "$news" = "$1" ] || say "NEWS begins with $news, not $1"
	for page in man/*.[1-8]; do
		date=$(sed -n 's/^\.Dd //p' "$page")
		date -d "$date" >/dev/null 2>&1 || {
			say "$page: no date: .Dd $date"
			continue
		}
		# the date must not be older than the last change
		changed=$(last_change "$page")
		[ -z "$changed" ] || [ ! "$(date -d "$date" +%Y%m%d)" -lt "$(date -d "$changed" +%Y%m%d)" ] ||
			say "$page: .Dd $date, but it was changed on $changed"
	done
	deb=$(sed -n '1s/^redlock (\([^)-]*\).*/\1/p' debian/changelog)
	[ "$deb" = "$1" ] || say "debian/changelog begins with $deb, not $1"
	for recipe in packaging/redlock.spec packaging/APKBUILD packaging/PKGBUILD; do
		of=$(sed -n 's/^\(Version: *\|pkgver=\)//p' $recipe)
		[ "$of" = "$1" ] || say "$recipe is for $of, not $1"
	done
	# file names in the README, which people copy
	of=$(grep -o '\(redlock[-_]\|VERSION=\)[0-9][0-9.]*[0-9]' README.md |
		sed 's/.*[-_=]//' | sort -u | paste -sd ' ' -)
	[ "$of" = "$1" ] || say "README.md names files of $of, not $1"
	tag=$(git tag --points-at HEAD 2>/dev/null | grep '^v' | head -n 1) || tag=
	[ -z "$tag" ] || [ "$tag" = "v$1" ] || say "the tag is $tag, not v$1"
	[ $bad = 0 ] || exit 1
}

# The libraries in the static files. Name, version and checksum of each source are in
# packaging/static.sources.
list_linked() { # VERSION
	printf '{\n  "bomFormat": "CycloneDX",\n  "specVersion": "1.5",\n  "version": 1,\n'
	printf '  "metadata": {"component": {"type": "application", "name": "redlock", "version": "%s",\n' "$1"
	printf '    "licenses": [{"license": {"id": "MIT"}}]}},\n  "components": ['
	comma=
	while read -r name version sha256 license; do
		case $name in '' | '#'*) continue ;; esac
		printf '%s\n    {"type": "library", "name": "%s", "version": "%s",\n' "$comma" "$name" "$version"
		printf '      "licenses": [{"license": {"id": "%s"}}],\n' "$license"
		printf '      "hashes": [{"alg": "SHA-256", "content": "%s"}]}' "$sha256"
		comma=,
	done <packaging/static.sources
	printf '\n  ]\n}\n'
}

if [ "$1" = --check ]; then
	check "$2" "${3-./redlock}"
	exit
fi
check "$1" ./redlock
version=$1
git diff --quiet HEAD || {
	say 'changes that are not committed would be in the files: commit them first'
	exit 1
}
rm -rf release
mkdir release
for arch in x86_64 aarch64; do
	scripts/static.sh "$arch"
	cp "redlock-static-$arch" "release/redlock-$version-linux-$arch"
done
${MAKE:-make} -s deb # makes the tarball as well
cp "redlock-$version.tar.gz" redlock_"$version"-*.deb release
list_linked "$version" >"release/redlock-$version.cdx.json"
(cd release && sha256sum -- * >../SHA256SUMS.new && mv ../SHA256SUMS.new SHA256SUMS)
ls -l release
