# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# To be sourced. Gets packages of another release of Debian with an apt that has its
# own sources, lists and cache in one directory. It installs nothing, and verifies
# Debian's signatures as usual.
#
#   private_apt_open DIR SUITE TYPE [security]
#                                     prepares DIR for packages ("deb") or sources
#                                     ("deb-src"), with or without the security
#                                     updates; may be called again
#   private_apt download NAME...      then runs apt-get with that configuration

#   private_root DIR SUITE [OPTION...]
#                                     makes a minimal system of that release in DIR
#                                     with debootstrap, as root; the log is DIR.log
#   private_network DIR               copies what its apt needs to reach the network
#                                     from this machine

private_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

private_apt() { APT_CONFIG=$private_conf apt-get -qq "$@"; }

# The mirrors of this machine, then the public one.
private_mirrors() {
	# shellcheck disable=SC2016 # apt fills them in
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		sed -n 's/^Debian Debian //p' | sort -u
	echo http://deb.debian.org/debian
}

# keeps the machine's proxy and passwords, but not its hooks
private_acquire() {
	apt-config dump | grep '^Acquire::' |
		grep -v '^Acquire::\(IndexTargets\|Languages\)'
}

private_network() { # DIR
	cp /etc/resolv.conf "$1/etc/resolv.conf"
	{
		private_acquire
		echo 'APT::Sandbox::User "root";'
	} >"$1/etc/apt/apt.conf.d/99machine"
}

private_root() { # DIR SUITE [OPTION...]
	private_dir=$1 private_suite=$2
	shift 2
	debootstrap --variant=minbase "$@" "$private_suite" "$private_dir" \
		"$(private_mirrors | head -n 1)" >"$private_dir.log" 2>&1 || {
		tail -n 3 "$private_dir.log" >&2
		return 69
	}
	private_network "$private_dir"
}

private_apt_open() { # DIR SUITE TYPE [security]
	if ! command -v apt-get >/dev/null || [ ! -r "$private_keyring" ]; then
		echo "this needs apt-get and $private_keyring" \
			"(package debian-archive-keyring)" >&2
		return 69
	fi
	if [ -e "$1/opened" ]; then
		private_conf=$(cd "$1" && pwd)/etc/apt.conf
		return
	fi
	mkdir -p "$1/etc" "$1/state/lists/partial" "$1/cache/archives/partial"
	private_dir=$(cd "$1" && pwd)
	private_conf=$private_dir/etc/apt.conf
	{
		private_acquire
		cat <<-END
			Dir::Etc "$private_dir/etc";
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "/dev/null";
			Dir::Etc::sourcelist "$private_dir/etc/sources.list";
			Dir::Etc::sourceparts "/dev/null";
			Dir::Etc::preferences "/dev/null";
			Dir::Etc::preferencesparts "/dev/null";
			Dir::Etc::netrc "/etc/apt/auth.conf";
			Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
			Dir::State "$private_dir/state";
			Dir::State::status "/dev/null";
			Dir::Cache "$private_dir/cache";
			Acquire::Languages "none";
			Acquire::Retries "3";
			APT::Sandbox::User "$(id -un)";
		END
	} >"$private_conf"
	for private_mirror in $(private_mirrors); do
		{
			echo "$3 [signed-by=$private_keyring] $private_mirror $2 main"
			[ "${4-}" != security ] || echo "$3 [signed-by=$private_keyring]" \
				"${private_mirror%/}-security $2-security main"
		} >"$private_dir/etc/sources.list"
		if private_apt -o APT::Update::Error-Mode=any update; then
			: >"$private_dir/opened"
			return
		fi
		echo "$private_mirror: no $2 there, trying the next" >&2
	done
	return 69
}
