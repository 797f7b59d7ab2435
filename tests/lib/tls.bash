# SPDX-License-Identifier: MIT
# Certificates, and redis-servers that speak TLS: `load lib/tls` after
# lib/common.
#
#	setup_file() { certs_make; }
#
# Each certificate is $certs/NAME.crt with its key in NAME.key, all of P-256:
#
#   ca            signs the others; $certs/cadir is the same, a hashed directory
#   server        for redis.test, localhost, 127.0.0.1 and this file's $address
#   elsewhere     for elsewhere.test only
#   expired       as server, from 2020
#   chained       as server, signed by an intermediate, which is in the same file
#   stranger      as server, signed by other-ca
#   client        for a client only
#
# Measured with two busy cores: certs_make takes 0.2 s, node_start_tls 0.03 s.
# redis-cli never checks the server's name; `openssl s_client -verify_hostname` does.

load lib/servers

# ---- certificates ----

certs_make() { # in setup_file
	local n

	export certs=$BATS_FILE_TMPDIR/certs
	export address=${address:-$(random_address)}
	mkdir -p "$certs/cadir"
	certs_conf >"$certs/conf"
	cert_make ca ca & # signs itself
	cert_make other-ca other-ca &
	wait
	cert_make intermediate ca
	for n in server elsewhere client; do cert_make "$n" ca & done
	cert_make stranger other-ca &
	cert_make chained intermediate &
	cert_expired &
	wait
	cat "$certs/intermediate.crt" >>"$certs/chained.crt"
	ln -s ../ca.crt "$certs/cadir/$(openssl x509 -noout -hash \
		-in "$certs/ca.crt").0"
	for n in ca other-ca server elsewhere expired stranger chained client; do
		[ -s "$certs/$n.crt" ] || { cat "$certs/errors" >&2; return 1; }
	done
}

# The extensions of each. A server's certificate is for clients, too: the servers of a
# group are each other's clients.
certs_conf() {
	local n ours="DNS:redis.test,DNS:localhost,IP:127.0.0.1,IP:$address"

	echo '[req]'
	echo 'distinguished_name = any'
	for n in ca other-ca intermediate; do
		echo "[$n]"
		echo 'basicConstraints = critical,CA:true'
		echo 'keyUsage = critical,keyCertSign,cRLSign'
	done
	for n in server expired chained stranger; do
		cert_section "$n" serverAuth,clientAuth "$ours"
	done
	cert_section elsewhere serverAuth,clientAuth DNS:elsewhere.test
	cert_section client clientAuth DNS:client.test
	# of `openssl ca`
	printf '%s\n' '[any]' 'commonName = supplied' '[sign]' 'policy = any' \
		'default_md = sha256' "database = $certs/index" "serial = $certs/serial"
}
cert_section() { # NAME USES NAMES
	printf '%s\n' "[$1]" 'basicConstraints = critical,CA:false' \
		"extendedKeyUsage = $2" "subjectAltName = $3"
}

cert_make() { # NAME ISSUER
	local issuer=()

	[ "$1" = "$2" ] ||
		issuer=(-CA "$certs/$2.crt" -CAkey "$certs/$2.key")
	cert_ask "$1" -x509 -days 2 -extensions "$1" "${issuer[@]}" \
		-out "$certs/$1.crt"
}
cert_ask() { # NAME [option...]: with a new key
	local n=$1

	shift
	openssl req -config "$certs/conf" -subj "/CN=redlock test $n" -nodes \
		-newkey ec -pkeyopt ec_paramgen_curve:P-256 \
		-keyout "$certs/$n.key" "$@" 2>>"$certs/errors"
}
# `openssl req` and `x509` of version 3.0 only know "from now on".
cert_expired() {
	: >"$certs/index"
	cert_ask expired -out "$certs/expired.req"
	openssl ca -config "$certs/conf" -name sign -batch -notext -create_serial \
		-startdate 20200101000000Z -enddate 20200102000000Z \
		-cert "$certs/ca.crt" -keyfile "$certs/ca.key" \
		-extensions expired -outdir "$certs" -in "$certs/expired.req" \
		-out "$certs/expired.crt" 2>>"$certs/errors"
}

# ---- servers ----

# Listens with TLS at one port, without at the next, and at a unix socket. It requires
# no client certificate, unless started with `--tls-auth-clients yes`.
node_start_tls() { # NAME CERTIFICATE [redis-server option...]
	on_ports 2 tls_node_launch "$@"
}
tls_node_launch() {
	local n=$1 cert=$2

	shift 2
	echo "$address:$port" >"$T/$n.at"
	echo "$address:$((port + 1))" >"$T/$n.plain"
	tls_options "$cert"
	node_launch "$n" --bind "$address" --tls-port "$port" \
		--port $((port + 1)) "${tls_options[@]}" "$@"
	node_bound "$n"
}
tls_options() { # CERTIFICATE: for redis-server, as ${tls_options[@]}
	tls_options=(
		--tls-cert-file "$certs/$1.crt" --tls-key-file "$certs/$1.key"
		--tls-ca-cert-file "$certs/ca.crt" --tls-auth-clients no
	)
}
tls_url() { # NAME [OPTION=VALUE...]
	echo "rediss://$(node_at "$1")$(url_options "${@:2}")"
}
tcp_url() { # the same without TLS
	echo "redis://$(cat "$T/$1.plain")$(url_options "${@:2}")"
}
# tls_cli NAME [redis-cli option...] COMMAND...: redis-cli over TLS
tls_cli() {
	local at

	at=$(node_at "$1")
	redis-cli -h "${at%:*}" -p "${at#*:}" --tls "${@:2}"
}
