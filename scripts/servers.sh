#!/bin/sh
# SPDX-License-Identifier: MIT
# servers.sh NAME...: puts servers to test with into build-servers/NAME/bin, all under
# the names redis-server, redis-cli, redis-sentinel and so on:
#
#   redis-6.0  valkey-8.0  redict-7.3  redis-8.0  valkey-8.1  redis-8.0.6  valkey-9.1
#
# They come from other releases of Debian. The packages are only unpacked, not
# installed. A server that is already there and runs is left alone.
set -eu
umask 022
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 3,6p' "$0" >&2; exit 64; }
. "$(dirname "$0")/private-apt.sh"

dir=$PWD/build-servers

die() { echo "servers.sh: $*" >&2; exit 1; }

# NAME: where it comes from, and which libraries it uses
#   system  this machine's
#   path    its own, where it has any, before this machine's
#   loader  its own only, including the C library
describe() {
	libraries=
	case $1 in
	redis-6.0)
		suite=bullseye way=path package='redis-tools=5:6.0.*'
		libraries='libjemalloc2 liblua5.1-0 liblzf1 libssl1.1
			lua-bitop lua-cjson'
		;;
	valkey-8.0)
		suite=bookworm-backports way=system
		package='valkey-tools=8.0.*'
		;;
	redict-7.3)
		suite=bookworm-backports way=path package='redict-tools=7.3.*'
		libraries=libhiredict1.3.1
		;;
	redis-8.0) suite=trixie way=loader package='redis-tools=5:8.0.*' ;;
	valkey-8.1) suite=trixie way=loader package='valkey-tools=8.1.*' ;;
	redis-8.0.6) suite=sid way=loader package='redis-tools=5:8.0.*' ;;
	valkey-9.1) suite=sid way=loader package='valkey-tools=9.*' ;;
	*) die "$1: no such server" ;;
	esac
	[ "$way" != loader ] ||
		libraries='libatomic1 libc6 libcap2 libgcc-s1 libjemalloc2
			liblzf1 libssl3t64 libstdc++6 libsystemd0 libzstd1
			zlib1g'
}

# ---- one server ----

unpack() { # into $root
	private_apt_open "$dir/apt/$suite" "$suite" deb ||
		die "no list of the packages of $suite"
	mkdir -p "$root/debs"
	# shellcheck disable=SC2086 # words
	(cd "$root/debs" && private_apt download "$package" $libraries) ||
		die "cannot fetch $package from $suite"
	for deb in "$root"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
	rm -r "$root/debs"
}
# Each maker has other names for the programs: build-servers/NAME/bin has the common
# ones. A server looks at the name under which it was started.
link_programs() {
	mkdir -p "$new/bin" "$new/programs"
	for file in "$root"/usr/bin/*; do
		program=redis-${file##*-}
		case $file in */redis-* | */valkey-* | */redict-*) ;; *) continue ;; esac
		case $file in */*-check-*) program=redis-check-${file##*-} ;; esac
		cp -L "$file" "$new/programs/$program"
	done
	# one program under four names, some of which are in other packages
	for program in redis-server redis-sentinel redis-check-aof; do
		ln -f "$new/programs/redis-check-rdb" "$new/programs/$program"
	done
	for file in "$new"/programs/*; do
		place "${file##*/}" # to run
	done
}
place() { # PROGRAM
	case $way in
	system) ln -s "../programs/$1" "$new/bin/$1" ;;
	path)
		cat >"$new/bin/$1" <<-END
			#!/bin/sh
			LD_LIBRARY_PATH=$(library_path) exec $final/programs/$1 "\$@"
		END
		chmod 755 "$new/bin/$1"
		;;
	loader)
		# RPATH, not RUNPATH, which does not apply to the libraries that
		# its libraries need
		patchelf --set-interpreter "$(find "$root" -name 'ld-linux*' |
			head -n 1 | sed "s|^$new|$final|")" --force-rpath \
			--set-rpath "$(library_path)" "$new/programs/$1"
		ln -s "../programs/$1" "$new/bin/$1"
		;;
	esac
}
library_path() { # the directories of libraries, as they will be called
	find "$root" -name '*.so.[0-9]*' -printf '%h\n' | sort -u |
		sed "s|^$new|$final|" | paste -s -d :
}
works() {
	for program in redis-server redis-cli; do
		"$dir/$1/bin/$program" --version >/dev/null 2>&1 || return
	done
}
make_server() { # NAME
	describe "$1"
	[ "$way" != loader ] || command -v patchelf >/dev/null ||
		die "$1 needs patchelf"
	final=$dir/$1
	new=$dir/$1.new
	root=$new/root
	rm -rf "$new" "$final"
	unpack
	link_programs
	mv "$new" "$final"
	works "$1" || die "$1 does not run: $("$final/bin/redis-server" \
		--version 2>&1)"
}

for name; do describe "$name"; done
rm -rf "$dir/apt"
trap 'rm -rf "$dir/apt"' EXIT
for name; do
	works "$name" || make_server "$name"
	printf '%s: %s\n' "$name" "$("$dir/$name/bin/redis-server" --version)"
done
