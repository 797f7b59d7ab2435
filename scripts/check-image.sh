#!/bin/sh
# SPDX-License-Identifier: MIT
# check-image.sh STATIC-FILE: builds the image of Containerfile and runs it as an
# engine does: as PID 1, in a root of its own, as the image's user. Needs root.
#
# Downloads nothing: the certificates are copied from this machine.
set -eu
static=$(realpath "${1:?usage: scripts/check-image.sh STATIC-FILE}")
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
server='' container=''

say() { echo "check-image: $*"; }
die() { say "$*" >&2; exit 1; }
build() { command buildah --root "$dir/store" --runroot "$dir/run" --storage-driver vfs "$@"; }
leave() {
	[ -z "$container" ] || build umount "$container" >/dev/null || :
	[ -z "$server" ] || kill "$server"
	rm -rf "$dir"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM # leave, too

mkdir -p "$dir/context" "$dir/alpine/etc/ssl"
cp Containerfile "$dir/context"
cp "$static" "$dir/context/redlock-static"
cp -RL /etc/ssl/certs "$dir/alpine/etc/ssl"
build bud -q --isolation chroot --build-context "docker.io/library/alpine:3=$dir/alpine" \
	-t redlock "$dir/context" >/dev/null
container=$(build from redlock)
root=$(build mount "$container")
config=$(build inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "$container")
[ "$config" = '65534:65534 [/redlock]' ] || die "user and entry point are '$config'"
[ -s "$root/etc/ssl/certs/ca-certificates.crt" ] || die 'it has no certificates'
mkdir "$root/proc" # which engines make

redis-server --port 0 --unixsocket "$dir/s" --unixsocketperm 777 --save '' --dir "$dir" >"$dir/log" &
server=$!
chmod 755 "$dir"
: >"$root/s"
url=unix:///s
run() { # ARGUMENTS OF THE IMAGE: instead of this shell
	# shellcheck disable=SC2016 # the dollars are those of the inner shell
	exec unshare -m -p -f --kill-child sh -c 'mount -t proc proc "$1/proc" && mount --bind "$2" "$1/s" || exit
		root=$1
		shift 2
		exec chroot --userspec=65534:65534 "$root" /redlock "$@"' sh "$root" "$dir/s" "$@"
}
until_says() { # WANTED COMMAND...
	wanted=$1
	shift
	for _ in $(seq 100); do
		[ "$("$@" 2>/dev/null)" != "$wanted" ] || return 0
		sleep 0.1
	done
	die "waited 10 s for $wanted from $*"
}
ask() { redis-cli -s "$dir/s" "$@"; }
until_says PONG ask ping

say 'a run'
(run -u $url -k job -- /redlock -u $url inspect job) >/dev/null || die "status $?"
[ "$(ask exists job)" = 0 ] || die 'the lock was not released'

say 'stop'
ask set other held >/dev/null # by somebody else
run -u $url -k job -- /redlock -u $url wait other -q &
unshare=$!
until_says 1 ask exists job
read -r pid _ <"/proc/$unshare/task/$unshare/children" || : # (no newline)
kill -TERM "$pid"
code=0
for _ in $(seq 100); do
	kill -0 "$unshare" 2>/dev/null || break
	sleep 0.1
done
kill -KILL "$unshare" 2>/dev/null || :
wait "$unshare" || code=$?
[ $code = 143 ] || die "ended with $code, not 143"
[ "$(ask exists job)" = 0 ] || die 'the lock was not released'
say 'good'
