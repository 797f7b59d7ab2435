#!/usr/bin/env bats
# The static file of `make static`, in a root directory that holds nothing else
# than a CA bundle and /proc: no C library, no shell, no passwd, no resolv.conf. The
# command that it runs there is itself.

load lib/common
load lib/tls
load lib/namespace

file=$top/redlock-static-$(uname -m)

setup_file() {
	[ ! -x "$file" ] || certs_make
}
eval "common_$(declare -f setup)"
setup() {
	common_setup
	[ -x "$file" ] ||
		skip "no ${file##*/} here: make static (ten minutes at first, then seconds)"
	own=(-m)
	[ "$(id -u)" = 0 ] || own=(-m -U -r)
	unshare "${own[@]}" true 2>/dev/null || skip 'may not make a mount namespace'
	root=$T/root
	mkdir -p "$root/proc" "$root/etc/ssl/certs"
	cp "$file" "$root/redlock"
	cp "$certs/ca.crt" "$root/etc/ssl/certs/ca-certificates.crt"
	chmod -R a+rX "$T"
	as=0:0
}

# /redlock ARGUMENT... in that root, which is read-only, as $as; the environment is
# empty but for the mark of the test.
inside() {
	${within:+"${within[@]}"} unshare "${own[@]}" sh -c '
		mark=REDLOCK_TEST_ID=$REDLOCK_TEST_ID as=$1 root=$2
		shift 2
		mount --bind "$root" "$root" &&
		mount --rbind /proc "$root/proc" &&
		mount -o remount,bind,ro "$root" &&
		cd "$root" &&
		{ [ ! -d tmp ] || mount -t tmpfs -o mode=1777 none tmp; } &&
		exec env -i "$mark" "$(command -v chroot)" --userspec="$as" . /redlock "$@"' \
		sh "$as" "$root" "$@"
}
# -u URL...: takes a lock, and shows its holder from inside
takes_a_lock() {
	run -0 --separate-stderr inside -k job --restart-guard off "$@" -- \
		/redlock inspect job --json "$@"
	[ -z "$stderr" ]
	[[ $output = *'"state":"held"'* ]]
}

@test "static file: it shows what it was built from" {
	run -0 --separate-stderr inside --version
	[[ $output = *$'\nTLS: OpenSSL '*', linked in'* ]]
	[[ $output = *$'\nlibc: not glibc'* ]]
	not ldd "$file"
	not grep -aq "$top" "$file"
}

@test "static file: locks over TCP, over TLS with a name, and on three servers" {
	local n urls=()

	node_start_tls b server
	takes_a_lock -u "$(tcp_url b)"
	# by the CA bundle of the root
	takes_a_lock -u "$(tls_url b sni=redis.test)"
	run -77 --separate-stderr inside -k job -u "$(tls_url b sni=elsewhere.test)" -- /redlock
	node_start_tls c stranger
	run -77 --separate-stderr inside -k job -u "$(tls_url c sni=redis.test)" -- /redlock
	for n in c d; do node_start_tls $n server; done
	for n in b c d; do urls+=(-u "$(tls_url $n)"); done
	takes_a_lock "${urls[@]}"
}

@test "static file: the CA bundle is found where Fedora and SUSE have it" {
	local place

	node_start_tls b server
	for place in etc/pki/tls/certs/ca-bundle.crt etc/ssl/ca-bundle.pem etc/ssl/cert.pem; do
		rm -r "$root/etc"
		run -77 --separate-stderr inside -k job -u "$(tls_url b)" -- /redlock
		mkdir -p "$root/${place%/*}"
		cp "$certs/ca.crt" "$root/$place"
		takes_a_lock -u "$(tls_url b)"
	done
	# a directory with hashed names
	rm -r "$root/etc"
	mkdir -p "$root/etc/ssl"
	cp -rL "$certs/cadir" "$root/etc/ssl/certs"
	takes_a_lock -u "$(tls_url b)"
}

@test "static file: works for a user without a name, a HOME or a writable directory" {
	node_start_tls b server
	[ "$(id -u)" != 0 ] || as=54321:54321
	takes_a_lock -u "$(tcp_url b)"
	[ "$(id -u)" != 0 ] || [[ $output = *'"user":"54321"'* ]]
	run -0 --separate-stderr inside history job --json -u "$(tcp_url b)"
	[[ $output = *'"outcome":"ran"'* ]]
}

@test "static file: names come from /etc/hosts, or from DNS" {
	private_net
	via=("${within[@]}")
	node_launch b --bind 127.0.0.1 --port 6379
	kit await "$T/b" PONG ping
	via=()
	run -69 --separate-stderr inside -n -k job -u redis://cache.test -- /redlock
	echo '127.0.0.1 cache.test' >"$root/etc/hosts"
	takes_a_lock -u redis://cache.test
	rm "$root/etc/hosts"
	# where there is no resolv.conf, the server is asked that runs here
	helper "${within[@]}" /usr/bin/python3 -IS "$top/tests/lib/dns.py" cache.test 127.0.0.1 >"$T/dns"
	wait_until contains "$T/dns" ready
	takes_a_lock -u redis://cache.test
}

@test "static file: local: says what is missing" {
	run -78 --separate-stderr inside -u local: -k job -- /redlock
	[[ $stderr = *"/tmp"* ]]
	mkdir "$root/tmp"
	run -78 --separate-stderr inside -u local: -k job -- /redlock
	[[ $stderr = *'local: needs redis-server, valkey-server or '* ]]
}
