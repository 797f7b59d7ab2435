# SPDX-License-Identifier: MIT
# A network (and mounts) of a test's own: `load lib/namespace` after lib/common.

# A namespace with a loopback of its own: `within COMMAND...` runs there.
private_net() {
	[ "$(id -u)" = 0 ] || skip 'needs root for a network namespace'
	unshare -n -m true 2>/dev/null || skip 'may not make a network namespace'
	helper unshare -n -m sleep 600
	space=$!
	within=(nsenter -t "$space" -n -m)
	wait_until separate
	"${within[@]}" ip link set lo up || skip 'no ip(8)'
}
separate() { [ "$(readlink "/proc/$space/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
within=
pass_all() { "${within[@]}" nft flush ruleset; }
