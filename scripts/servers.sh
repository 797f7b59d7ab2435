#!/bin/sh
# SPDX-License-Identifier: MIT
# servers.sh NAME...: servers to test with, in build-servers/NAME/bin under the
# names redis-server, redis-cli, redis-sentinel and so on, whoever made them:
#
#   redis-6.0  valkey-8.0  redict-7.3  redis-8.0  valkey-8.1
#
# They are Debian's, of other releases than this machine's. Nothing is installed:
# apt gets a configuration, a state and a cache of its own, and the packages are
# only unpacked. The mirror is this machine's. A server that is there already, and
# runs, is left alone.
set -eu
umask 022
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 3,6p' "$0" >&2; exit 64; }
dir=$PWD/build-servers
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
fallback=http://deb.debian.org/debian/

die() { echo "servers.sh: $*" >&2; exit 1; }

# NAME: where it comes from, and how it finds its libraries
#   system  this machine's are the right ones (those of its own redis-server)
#   path    its own come before this machine's
#   loader  all are its own, the C library too
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
	*) die "$1: no such server" ;;
	esac
	[ "$way" != loader ] ||
		libraries='libatomic1 libc6 libcap2 libgcc-s1 libjemalloc2
			liblzf1 libssl3t64 libstdc++6 libsystemd0 libzstd1
			zlib1g'
}

# ---- apt ----

mirror() {
	# shellcheck disable=SC2016 # apt's, not ours
	apt-get indextargets --no-release-info \
		--format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 !~ /-security/ && $2 ~ /\/debian\/?$/ { print $2; exit }'
}
# Of this machine's configuration nothing is read but how to fetch (its proxies):
# what it runs after an update is not ours to run.
update() { # SUITE: at most once a run
	apt=$dir/apt/$1
	export APT_CONFIG="$apt/apt.conf"
	[ ! -d "$apt" ] || return 0
	[ -e "$keyring" ] || die "no $keyring: install debian-archive-keyring"
	mkdir -p "$apt/conf.d" "$apt/preferences.d" "$apt/lists/partial" \
		"$apt/archives/partial"
	: >"$apt/status"
	from=$(unset APT_CONFIG; mirror)
	echo "deb [signed-by=$keyring] ${from:-$fallback} $1 main" \
		>"$apt/sources.list"
	{
		(unset APT_CONFIG; apt-config dump) | grep '^Acquire::' |
			grep -v '^Acquire::\(IndexTargets\|cdrom\)'
		cat <<-END
			Dir::Etc "$apt";
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "conf.d";
			Dir::Etc::netrc "/etc/apt/auth.conf";
			Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
			Dir::State "$apt";
			Dir::State::status "$apt/status";
			Dir::Cache "$apt";
			Dir::Cache::pkgcache "";
			Dir::Cache::srcpkgcache "";
			APT::Sandbox::User "$(id -un)";
		END
	} >"$APT_CONFIG"
	apt-get -qq update || die "no list of the packages of $1"
}

# ---- one server ----

unpack() { # into $root
	update "$suite"
	mkdir -p "$root/debs"
	# shellcheck disable=SC2086 # words
	(cd "$root/debs" && apt-get -qq download "$package" $libraries) ||
		die "cannot fetch $package from $suite"
	for deb in "$root"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
	rm -r "$root/debs"
}
# Their programs are called after their makers: build-servers/NAME/bin gets the
# names that all know. A server looks at the name under which it was started.
link_programs() {
	mkdir -p "$new/bin" "$new/programs"
	for file in "$root"/usr/bin/*; do
		program=redis-${file##*-}
		case $file in */redis-* | */valkey-* | */redict-*) ;; *) continue ;; esac
		case $file in */*-check-*) program=redis-check-${file##*-} ;; esac
		cp -L "$file" "$new/programs/$program"
	done
	# (one program under four names, of which some are in other packages)
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
		# RPATH, not RUNPATH, which is for the program alone and not for
		# the libraries that its libraries need
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
