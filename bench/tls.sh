#!/bin/sh
# SPDX-License-Identifier: MIT
# What a lock around `true` costs over TLS, interleaved in one run: the least
# that an OpenSSL client can do (bench/bare-tls.c, the first, which all ratios
# refer to), redlock with the CA in a file, in a hashed directory and unverified,
# and redlock without TLS.
#
#   bench/tls.sh [PATH-OF-REDLOCK] [RUNS]
set -eu
. "$(dirname "$0")/lib.sh"
runs=${2:-300}

have openssl || { echo "$0: needs openssl" >&2; exit 69; }
real_time
start_redis
compile race
compile bare-tls -lssl -lcrypto

# a CA, and a certificate of it for 127.0.0.1
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
# shellcheck disable=SC2086 # words
openssl req -x509 $new -subj /CN=ca -keyout "$W/ca.key" -out "$W/ca.crt" \
	2>/dev/null
# shellcheck disable=SC2086
openssl req -x509 $new -subj /CN=redis -addext subjectAltName=IP:127.0.0.1 \
	-addext basicConstraints=critical,CA:false -CA "$W/ca.crt" \
	-CAkey "$W/ca.key" -keyout "$W/server.key" -out "$W/server.crt" \
	2>/dev/null
mkdir "$W/cadir"
cp "$W/ca.crt" "$W/cadir/$(openssl x509 -noout -hash -in "$W/ca.crt").0"

for _ in 1 2 3 4 5; do
	tls=$(random_port)
	[ "$(redis-cli -s "$sock" config set tls-cert-file "$W/server.crt" \
		tls-key-file "$W/server.key" tls-ca-cert-file "$W/ca.crt" \
		tls-auth-clients no tls-port "$tls")" != OK ] || break
done

machine
echo "$runs runs of each, interleaved; ratios to the first"
echo
race "$runs" \
	"$W/bare-tls $tls $W/ca.crt y true" \
	"$redlock -u rediss://127.0.0.1:$tls?cacert=$W/ca.crt -k x -- true" \
	"$redlock -u rediss://127.0.0.1:$tls?cacertdir=$W/cadir -k x -- true" \
	"$redlock -q -u rediss://127.0.0.1:$tls?tls-verify=none -k x -- true" \
	"$redlock -u redis://127.0.0.1:$port -k x -- true"
