#!/usr/bin/env bats
# TLS: whom redlock believes, what it says when it does not, and that the lock
# is kept over it as over a plain connection. Real certificates, real servers.

load lib/common
load lib/tls

setup_file() { certs_make; }

# refused STATUS TEXT ARGUMENT...: one line, and the command did not run
refused() {
	local want=$1 text=$2 got=0

	shift 2
	timeout 20 "$REDLOCK" -k job "$@" -- touch "$T/ran" 2>"$T/err" ||
		got=$?
	[ "$got" = "$want" ] && [ ! -e "$T/ran" ] &&
		[ "$(grep -v ' waiting' "$T/err" | wc -l)" = 1 ] &&
		grep -qF -- "$text" "$T/err" && return
	echo "wanted $want with '$text', got $got for: $*" >&2
	cat "$T/err" >&2
	return 1
}
# redlock under this URL runs its command; what it says is in $T/err
accepted() {
	"$REDLOCK" -k job "$@" -- true 2>"$T/err" && [ ! -s "$T/err" ] && return
	cat "$T/err" >&2
	return 1
}
ca() { echo "cacert=$certs/ca.crt"; }

# Starts a holder, $tool, whose command ends on demand.
keep() {
	start -k job -t 1s -- witness "$T" --hold 60000 --started "$T/started"
	wait_until exists "$T/started"
}
ended() { # by TERM
	kill -TERM "$tool"
	finish
	[ "$status" = 143 ]
	rm "$T/started"
}

# ---- whom to believe ----

@test "a certificate is accepted if the CA signed it for the host of the URL" {
	node_start_tls b server
	accepted -u "$(tls_url b "$(ca)")"
	accepted -u "$(tls_url b)" --cacert "$certs/ca.crt"
	accepted -u "$(tls_url b "cacertdir=$certs/cadir")"
	accepted -u "$(tls_url b)" --cacertdir "$certs/cadir"
	accepted -u "$(tls_url b | sed s/rediss:/valkeys:/)" \
		--cacert "$certs/ca.crt"
}

@test "a certificate by an intermediate is accepted; another name: only tls-verify=ca" {
	node_start_tls b chained
	accepted -u "$(tls_url b "$(ca)")"
	node_start_tls c elsewhere
	accepted -u "$(tls_url c "$(ca)" tls-verify=ca)"
	accepted -u "$(tls_url c "$(ca)")" --tls-verify ca
}

@test "a certificate for another name is refused at once, with status 77" {
	node_start_tls b elsewhere
	refused 77 "is not valid for '$address'" -u "$(tls_url b "$(ca)")"
	grep -q -- --sni "$T/err"
	# and at its own name it is fine
	accepted -u "$(tls_url b "$(ca)" sni=elsewhere.test)"
	accepted -u "$(tls_url b "$(ca)")" --sni elsewhere.test
	refused 77 "for 'redis.test'" -u "$(tls_url b "$(ca)" sni=redis.test)"
	# fence and history of the runs that were fine
	[ "$(cli b dbsize)" = 2 ]
}

@test "an unknown CA is refused, also with tls-verify=ca, and --cacert is named" {
	node_start_tls b stranger
	refused 77 'certificate' -u "$(tls_url b "$(ca)")"
	grep -q -- --cacert "$T/err"
	refused 77 'certificate' -u "$(tls_url b "$(ca)" tls-verify=ca)"
	accepted -u "$(tls_url b "cacert=$certs/other-ca.crt")"
}

@test "this machine's CAs are used if none is given, and no others" {
	node_start_tls b server
	refused 77 'certificate' -u "$(tls_url b)"
	SSL_CERT_FILE=$certs/ca.crt accepted -u "$(tls_url b)"
	SSL_CERT_DIR=$certs/cadir accepted -u "$(tls_url b)"
}

@test "an expired certificate is refused" {
	node_start_tls b expired
	refused 77 "expired; renew the server's certificate, or set" -u "$(tls_url b "$(ca)")"
}

@test "with tls-verify=none anybody is accepted, and each run says so once" {
	node_start_tls b stranger
	run -0 --separate-stderr "$REDLOCK" -u "$(tls_url b tls-verify=none)" \
		-k job -- echo ran
	[ "$output" = ran ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *tls-verify=none* ]]
}

@test "a server that requires a client certificate says so, and accepts one" {
	local mine="cert=$certs/client.crt&key=$certs/client.key"

	node_start_tls b server --tls-auth-clients yes
	refused 77 '--cert' -u "$(tls_url b "$(ca)")"
	accepted -u "$(tls_url b "$(ca)" "$mine")"
	accepted -u "$(tls_url b "$(ca)")" --cert "$certs/client.crt" \
		--key-file "$certs/client.key"
	refused 77 'refused the TLS handshake because of our certificate (--cert): ' \
		-u "$(tls_url b "$(ca)")" --cert "$certs/stranger.crt" --key-file "$certs/stranger.key"
}

@test "a key that is encrypted, or accessible to others, is refused with advice" {
	local mine=(--cert "$certs/client.crt" --key-file "$T/key")

	node_start_tls b server
	(umask 077 && openssl pkey -in "$certs/client.key" -aes128 -passout pass:x \
		-out "$T/key")
	refused 78 "'$T/key' is encrypted, and nobody can type its pass phrase" \
		-u "$(tls_url b "$(ca)")" "${mine[@]}"
	cp "$certs/client.key" "$T/key"
	chmod 644 "$T/key"
	refused 78 "--key-file '$T/key' is yours and accessible to others: chmod 600" \
		-u "$(tls_url b "$(ca)")" "${mine[@]}"
	cp "$certs/ca.crt" "$T/ca"
	chmod 666 "$T/ca"
	refused 78 "--cacert '$T/ca' is writable by others: chmod go-w" \
		-u "$(tls_url b)" --cacert "$T/ca"
}

@test "an unknown CA, no common version, another key: each line says what to do" {
	node_start_tls b server
	refused 77 "the certificate of '$address' is from no trusted CA (" \
		-u "$(tls_url b)"
	contains "$T/err" '): give that CA with --cacert$'
	refused 78 "--key-file '$certs/stranger.key' does not belong to --cert '$certs/client.crt'" \
		-u "$(tls_url b "$(ca)")" --cert "$certs/client.crt" \
		--key-file "$certs/stranger.key"
	openssl genpkey -algorithm ED25519 -out "$T/other.key" 2>/dev/null
	chmod 600 "$T/other.key"
	refused 78 "'$T/other.key' does not belong to --cert" \
		-u "$(tls_url b "$(ca)")" --cert "$certs/client.crt" \
		--key-file "$T/other.key"
	node_start_tls c server --tls-protocols TLSv1.1
	refused 77 'no TLS version in common with the server; redlock speaks 1.2 and 1.3' \
		-u "$(tls_url c "$(ca)")"
}

@test "a server that refuses our certificate does not count as unreachable" {
	local i

	# its word for it comes together with its hanging up
	node_start_tls b server --tls-auth-clients yes
	for i in 1 2 3 4 5 6 7 8; do
		refused 77 'refused the TLS handshake' -n \
			--on-unavailable run -u "$(tls_url b "$(ca)")"
	done
}

@test "SSL_CERT_FILE and SSL_CERT_DIR work as in OpenSSL" {
	node_start_tls b server
	mkdir "$T/empty"
	SSL_CERT_FILE=$certs/ca.crt SSL_CERT_DIR=$T/empty accepted \
		-u "$(tls_url b)"
	SSL_CERT_DIR=$T/empty:$certs/cadir accepted -u "$(tls_url b)"
	SSL_CERT_FILE=$(printf '%600s' | tr ' ' x) \
		refused 78 'SSL_CERT_FILE' -u "$(tls_url b)"
}

@test "a file that cannot be used is named before any question: status 78" {
	node_start_tls b server
	refused 78 "'$T/none'" -u "$(tls_url b "cacert=$T/none")"
	: >"$T/empty"
	refused 78 "'$T/empty'" -u "$(tls_url b "cacert=$T/empty")"
	refused 78 "'$certs/ca.key'" -u "$(tls_url b "cacert=$certs/ca.key")"
	mkdir "$T/dir"
	refused 78 "'$T/dir'" -u "$(tls_url b "cacertdir=$T/dir")"
	refused 78 "'$certs/server.key'" -u "$(tls_url b "$(ca)" \
		"cert=$certs/client.crt" "key=$certs/server.key")"
	[ "$(cli b dbsize)" = 0 ]
}

# ---- what is no TLS ----

@test "a port without TLS behind rediss:// is reported as such, without a long wait" {
	node_start_tls b server
	refused 69 'write redis://' -u "rediss://$(cat "$T/b.plain")?$(ca)" -n
}

@test "a port with TLS behind redis:// is reported as such" {
	node_start_tls b server
	refused 69 'write rediss://' -u "redis://$(node_at b)" -n
}

@test "a frozen server is given up within --node-timeout, handshake included" {
	node_start_tls b server
	node_freeze b
	refused 69 'TLS handshake' -u "$(tls_url b "$(ca)")" -n \
		--node-timeout 300ms
	node_thaw b
}

# ---- the plain path ----

@test "OpenSSL is loaded only for TLS, and never by the guard" {
	"$REDLOCK" --version | grep -q 'TLS: .*, linked in' && skip 'this build has it linked in'
	local guard

	node_start_tls b server
	url=$(tls_url b "$(ca)")
	keep
	guard=$(guard_of "$tool")
	contains "/proc/$tool/maps" libssl
	run ! contains "/proc/$guard/maps" libssl
	ended
	url=$(tcp_url b)
	keep
	run ! contains "/proc/$tool/maps" libssl
	run ! contains "/proc/$tool/maps" libcrypto
	ended
}

# ---- a lock over it ----

@test "a lock is renewed, waited for in line, and handed over" {
	local i

	node_start_tls b server
	url=$(tls_url b "$(ca)")
	hold 1200
	for i in 1 2 3; do
		helper "$REDLOCK" -u "$url" -k job -t 1s -- witness "$T" --hold 20
	done
	ends_with 0
	wait_until eval '[ "$(holds)" = 4 ]'
}

@test "a connection that breaks during a hold is replaced, also after a server restart" {
	node_start_tls b server
	url=$(tls_url b "$(ca)")
	hold 1500
	cli b client kill type normal >/dev/null
	cli b client kill type normal >/dev/null
	node_kill b
	node_start b --bind "$address" --port 0 \
		--tls-port "$(node_at b | cut -d : -f 2)" \
		--tls-cert-file "$certs/server.crt" \
		--tls-key-file "$certs/server.key" \
		--tls-ca-cert-file "$certs/ca.crt" --tls-auth-clients no
	ends_with 0
	grep -q 'was missing and was restored' "$T/err"
}

@test "a waiter whose CA file is replaced, or is missing for a moment, waits on" {
	node_start_tls b server
	cp "$certs/ca.crt" "$T/ca.crt"
	url=$(tls_url b "cacert=$T/ca.crt")
	token=$(redlock lock -t 1m job)
	start -k job -w 1m -- witness "$T" --hold 1
	wait_until contains "$T/err" 'held by'
	cp "$certs/stranger.crt" "$T/new" && mv "$T/new" "$T/ca.crt"
	cli b client kill type normal >/dev/null
	wait_until contains "$T/err" 'still waiting after .*certificate'
	rm "$T/ca.crt"
	pause 1
	cp "$certs/ca.crt" "$T/new" && mv "$T/new" "$T/ca.crt"
	redlock unlock job --token "$token"
	finish
	[ "$status" = 0 ]
	[ "$(holds)" = 1 ]
}

@test "a client certificate renewed during a hold is used for the next connection" {
	node_start_tls b server --tls-auth-clients yes
	cp "$certs/client.crt" "$certs/client.key" "$T"
	url=$(tls_url b "$(ca)" "cert=$T/client.crt" "key=$T/client.key")
	keep
	# the old one is no longer accepted; the new one is
	cp "$certs/stranger.crt" "$T/new" && mv "$T/new" "$T/client.crt"
	cp "$certs/stranger.key" "$T/new" && mv "$T/new" "$T/client.key"
	cli b client kill type normal >/dev/null
	wait_until contains "$T/err" 'refused the TLS handshake'
	cp "$certs/server.key" "$T/new" && mv "$T/new" "$T/client.key"
	cp "$certs/server.crt" "$T/new" && mv "$T/new" "$T/client.crt"
	wait_until contains "$T/err" 'renewed again'
	ended
}

@test "the longest key, and bytes that come one by one, work over TLS" {
	local long

	long=$(head -c 60000 /dev/zero | tr '\0' k)
	node_start_tls b server
	"$REDLOCK" -u "$(tls_url b "$(ca)")" -k "$long" -- true
	# the proxy speaks to sockets: one that leads to the TLS port
	echo dribble >"$T/mode"
	helper socat_like
	wait_until exists "$T/tls.sock"
	helper proxy "$address:$((port + 10))" "$T/tls.sock" "$T/mode" >/dev/null
	wait_until eval "timeout 5 \"\$REDLOCK\" -q -n -u \
		'rediss://$address:$((port + 10))?$(ca)' -k job -- true"
}
# From a socket to the TLS port, byte by byte.
socat_like() {
	exec /usr/bin/python3 - "$T/tls.sock" "$(node_at b)" <<-'END'
		import asyncio, sys
		host, port = sys.argv[2].split(":")
		async def pump(r, w):
		    while data := await r.read(4096):
		        w.write(data)
		        await w.drain()
		    w.close()
		async def link(r, w):
		    r2, w2 = await asyncio.open_connection(host, int(port))
		    await asyncio.gather(pump(r, w2), pump(r2, w),
		                         return_exceptions=True)
		async def main():
		    s = await asyncio.start_unix_server(link, sys.argv[1])
		    await s.serve_forever()
		asyncio.run(main())
	END
}
