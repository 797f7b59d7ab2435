# SPDX-License-Identifier: MIT
# A network (and mounts) of a test's own: `load lib/namespace` after lib/common.

# Makes a namespace with a loopback; `"${within[@]}" COMMAND...` runs there.
private_net() {
	local own=(-n -m) enter=(-n -m)

	if [ "$(id -u)" != 0 ]; then # root inside, then
		own=(-U -r -n -m)
		enter=(-U --preserve-credentials -n -m)
	fi
	unshare "${own[@]}" true 2>/dev/null ||
		skip 'may not make a network namespace'
	helper unshare "${own[@]}" sleep 600
	space=$!
	within=(nsenter -t "$space" "${enter[@]}")
	wait_until separate
	"${within[@]}" ip link set lo up || skip 'no ip(8)'
}
# The same with only mounts of its own.
private_mounts() {
	[ "$(id -u)" = 0 ] || skip 'needs root for a mount namespace'
	unshare -m true 2>/dev/null || skip 'may not make a mount namespace'
	helper unshare -m sleep 600
	space=$!
	within=(nsenter -t "$space" -m)
	wait_until separate
}
separate() { [ "$(readlink "/proc/$space/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
within=
pass_all() { "${within[@]}" nft flush ruleset; }
