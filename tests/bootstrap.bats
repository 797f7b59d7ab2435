#!/usr/bin/env bats
# ./bootstrap: what it installs, asks and builds, on Debian and elsewhere.

load lib/common

@test "bootstrap says what it installs, asks on a terminal, has --help" {
	mkdir "$T/bin" "$T/tree"
	cp "$top/bootstrap" "$T/tree"
	# a Debian on which nothing is installed, and root
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/dpkg-query"
	printf '#!/bin/sh\n[ "$1" != -u ] || echo 0\n' >"$T/bin/id"
	printf '#!/bin/sh\necho "$@" >>"%s"\nexit 1\n' "$T/apt" >"$T/bin/apt-get"
	chmod +x "$T"/bin/*
	export PATH=$T/bin:$PATH
	unset CI
	run -75 pty 'wait:go on? [Y/n]' 'send:n\n' -- "$T/tree/bootstrap" lint
	[[ $output == *'bootstrap: installing '*clang-format*gcc* ]]
	[ ! -e "$T/apt" ]
	run -1 pty 'wait:go on? [Y/n]' 'send:\n' -- "$T/tree/bootstrap"
	[ -s "$T/apt" ]
	run -1 pty -- "$T/tree/bootstrap" --yes
	[[ $output != *'go on?'* ]]
	run -0 "$T/tree/bootstrap" --help
	[[ $output == *'./bootstrap TARGET...'*'--yes'* && $output != *'set -eu'* ]]
	run -64 "$T/tree/bootstrap" --nonsense
	run -0 "$T/tree/bootstrap" --missing model
	[[ $output == *gcc*spin* && $output != *installing* && $output != *valgrind* ]]
}

# bootstrap in a tree of its own, with a Makefile that tells what is made; PATH
# begins with what stands in for the package tools and sudo.
bootstrap_tree() {
	mkdir "$T/tree" "$T/bin"
	cp "$top/bootstrap" "$T/tree"
	(
		cd "$T/tree"
		printf '%s\n' 'all: ; @:' \
			'install: ; @echo "install D=$(DESTDIR) P=$(prefix)" >>made' \
			'demo check lint: ; @echo "$@ $(CFLAGS)" >>made' >Makefile
		touch -d @1 configure.ac Makefile.am Makefile.in
		touch configure redlock
		touch Makefile
		chmod +x configure redlock
		mkdir scripts
		printf '#!/bin/sh\n' >scripts/demo.sh
		chmod +x scripts/demo.sh
	)
	printf '#!/bin/sh\necho "sudo $*" >>%s\n[ "$1" = -v ] || exec "$@"\n' \
		"$T/tree/made" >"$T/bin/sudo"
	printf '#!/bin/sh\necho "apt-get $*" >>%s\n' "$T/tree/made" >"$T/bin/apt-get"
	# nothing is installed
	printf '#!/bin/sh\nexit 1\n' >"$T/bin/dpkg-query"
	printf '#!/bin/sh\necho 1000\n' >"$T/bin/id"
	chmod +x "$T/bin"/*
}
boot() {
	rm -f "$T/tree/made"
	PATH=$T/bin:$PATH run -0 "$T/tree/bootstrap" "$@"
	made=$(<"$T/tree/made")
}

@test "bootstrap: sudo, NAME=VALUE, DESTDIR, apt's lock, only what the target needs" {
	local made

	unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that tests us
	bootstrap_tree
	boot demo
	[[ $made = *'sudo -v'*'sudo apt-get -o DPkg::Lock::Timeout=300 update'* ]]
	[[ $made = *'sudo env '*' apt-get -o DPkg::Lock::Timeout=300 install -y '*' gcc '* ]]
	[[ $made = *redis-server* && $made != *bats* && $made != *zsh* ]]
	boot lint check CFLAGS='-O1 -g'
	[[ $made = *bats*$'\nlint -O1 -g\ncheck -O1 -g' ]]
	printf '#!/bin/sh\necho installed\n' >"$T/bin/dpkg-query"
	boot install DESTDIR="$T/a b" prefix=/usr
	[ "$made" = "install D=$T/a b P=/usr" ]
	boot install
	[[ $output = *"cron's PATH"*' write /usr/local/bin/redlock,'* ]]
	[ "$made" = $'sudo -v\nsudo make -s install\ninstall D= P=' ]
	boot prefix=/opt install
	[ "$made" = $'sudo -v\nsudo make -s install prefix=/opt\ninstall D= P=/opt' ]
	[[ $output = *' PATH=/opt/bin:'* ]]
	rm "$T/bin/sudo"
	ln -s /bin/false "$T/bin/sudo"
	PATH=$T/bin:$PATH run -69 "$T/tree/bootstrap" install prefix=/opt
	[ "$output" = 'bootstrap: as root, please: make install prefix=/opt' ]
}

# bootstrap on another system, which has the programs and libraries that are named
# (ID may be two words: ID and ID_LIKE).
boot_elsewhere() { # STATUS ID [PROGRAM OR LIBRARY...]
	local status=$1 id=$2 p

	shift 2
	rm -rf "$T/elsewhere" "$T/tree/made"
	mkdir "$T/elsewhere"
	for p in sh tr grep find sort dirname nproc touch "$@"; do
		case $p in
		lib*) ;;
		pkg-config)
			printf '#!/bin/sh\ncase " %s " in *" lib$2 "*) exit 0 ;; esac\nexit 1\n' \
				"$*" >"$T/elsewhere/$p"
			chmod +x "$T/elsewhere/$p"
			;;
		*) ln -sf "$(type -P "$p" || type -P true)" "$T/elsewhere/$p" ;;
		esac
	done
	printf 'ID=%s\nID_LIKE="%s"\n' "${id%% *}" "${id#* }" >"$T/os-release"
	# shellcheck disable=SC2016
	run "-$status" unshare -m sh -c 'mount --bind "$1" "$(readlink -f /etc/os-release)" &&
		shift && PATH=$1 && shift && exec "$@"' - \
		"$T/os-release" "$T/elsewhere" "$T/tree/bootstrap"
}
@test "bootstrap: on Fedora, Arch, Alpine and SUSE it names their packages, or builds" {
	unset MAKEFLAGS MFLAGS MAKELEVEL
	unshare -m true 2>/dev/null || skip 'may not make a mount namespace'
	bootstrap_tree
	local all=(gcc make autoreconf automake pkg-config libhiredis libuuid libopenssl)
	boot_elsewhere 69 'fedora fedora' gcc make
	[[ $output = 'bootstrap: missing: autoreconf automake pkg-config libhiredis libuuid libopenssl; as root, please, and then again '*'dnf install gcc '*' hiredis-devel '* ]]
	boot_elsewhere 69 'rocky rhel centos fedora' "${all[@]/libhiredis/}"
	[[ $output = 'bootstrap: missing: libhiredis; '*'dnf install '* ]]
	boot_elsewhere 69 arch
	[[ $output = *'pacman -S --needed base-devel hiredis '* ]]
	boot_elsewhere 69 alpine
	[[ $output = *'apk add build-base '*' hiredis-dev '*' linux-headers '* ]]
	boot_elsewhere 69 'opensuse-leap suse opensuse'
	[[ $output = *'zypper install gcc '*' libopenssl-devel '* ]]
	boot_elsewhere 69 'plan9 plan9'
	[[ $output = 'bootstrap: missing: gcc '* && $output != *' install '* ]]
	boot_elsewhere 0 'fedora fedora' "${all[@]}"
	[ -z "$output" ]
}
